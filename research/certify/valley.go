package certify

import (
	"github.com/sojourn-sched/sojourn"
)

// A valley is the convex function of x >= 0
//
//	f(x) = w x + sum over payers of p N1(M),    M = x + m/2 nanoseconds,
//
// where a payer pays all prices of its class.
type valley struct {
	w      float64
	payers []payer
	prices []price
	end    float64 // M is after all prices if x is at least this: f rises by w

	own []price // the prices that the job pays
}

// A payer is work of a task.
type payer struct {
	class sojourn.Class
	p     int64 // nanoseconds
	m     int64 // twice the M at x = 0
}

// releasedAt makes the prices those that a job pays: from its release on or earlier.
func (v *valley) releasedAt(release sojourn.Time) {
	v.own = v.own[:0]
	for _, n := range v.prices {
		if n.from <= release {
			v.own = append(v.own, n)
		}
	}
}

// at returns M - r at x, at least and at most.
func (u *payer) at(n *price, x float64) (least, most float64) {
	half := float64(float64(u.m-2*int64(n.from)) / 2)
	return down(x + down(half)), above(x + above(half))
}

// slope returns numbers that are at most and at least the derivative of f to the right of x,
// w - sum of p N(M). N does not increase: it is greatest at the least M.
func (v *valley) slope(x float64) (least, most float64) {
	var low, high sum
	low.add(1, v.w)
	high.add(1, v.w)
	for k := range v.payers {
		u := &v.payers[k]
		for i := range v.own {
			n := &v.own[i]
			if n.class != u.class {
				continue
			}
			early, late := u.at(n, x)
			i := n.piece(early)
			low.add(-u.p, n.atMost(i, early))
			for i < len(n.t) && n.t[i] <= late {
				i++
			}
			high.add(-u.p, n.atLeast(i, late))
		}
	}
	return low.floor(), high.ceil()
}

// guess returns about the derivative at x.
func (v *valley) guess(x float64) float64 {
	slope := v.w
	for k := range v.payers {
		u := &v.payers[k]
		for i := range v.own {
			n := &v.own[i]
			if n.class != u.class {
				continue
			}
			t := x + float64(float64(u.m-2*int64(n.from))/2)
			slope -= float64(float64(u.p) * n.atLeast(n.piece(t), t))
		}
	}
	return slope
}

// addLowest adds a number to total that is at most the minimum of f.
func (v *valley) addLowest(total *sum) {
	x, loss := lowest(v.slope, v.guess, v.end)
	v.addAt(total, x)
	total.add(-1, loss)
}

// addAt adds a number to total that is at most f(x). N1 does not increase: it is least at the
// greatest M.
func (v *valley) addAt(total *sum, x float64) {
	total.add(1, down(v.w*x))
	for k := range v.payers {
		u := &v.payers[k]
		for i := range v.own {
			if n := &v.own[i]; n.class == u.class {
				_, late := u.at(n, x)
				total.add(u.p, n.after(n.piece(late), late))
			}
		}
	}
}

// lowest returns an x at which a convex f is not greater by more than loss than its minimum over
// x >= 0. slope returns numbers that are at most and at least the derivative of f to the right of
// x. It is at least 0 at end.
//
// Only slope is relied on. f does not fall from x on, where its slope is at least 0. To the left,
// f(b) - f(a) is at most (b-a) times the slope at b, or 0. loss adds this up, until the slope is
// at most 0. The better guess is, which is about the derivative, the less is lost.
func lowest(slope func(x float64) (least, most float64), guess func(x float64) float64, end float64) (x, loss float64) {
	least, _ := slope(0)
	if least >= 0 {
		return 0, 0
	}
	x = rising(slope, root(guess, -least, end), end)
	hi := x
	for step := shortest(x, end); hi > 0; step *= 4 {
		_, most := slope(hi)
		if most <= 0 {
			break
		}
		lo := max(hi-step, 0)
		loss = above(loss + above(above(hi-lo)*most))
		hi = lo
	}
	return x, loss
}

// shortest returns the least way that is looked at near x.
func shortest(x, end float64) float64 { return max(float64(x*0x1p-52), float64(end*0x1p-100)) }

// rising returns the least number near x, or greater, at which the slope is surely at least 0.
func rising(slope func(x float64) (least, most float64), x, end float64) float64 {
	lo, hi := x, x
	step := shortest(x, end)
	for least, _ := slope(hi); least < 0 && hi < end; least, _ = slope(hi) {
		lo, hi = hi, min(hi+step, end)
		step *= 4
	}
	for {
		mid := lo + float64((hi-lo)/2)
		if mid <= lo || mid >= hi || hi-lo <= shortest(hi, end) {
			return hi
		}
		if least, _ := slope(mid); least >= 0 {
			hi = mid
		} else {
			lo = mid
		}
	}
}

// root returns about the least x at which guess, which does not decrease, is at least 0. It is
// -fall at 0 and positive at end. It takes secants, and every third time a bisection.
func root(guess func(x float64) float64, fall, end float64) float64 {
	lo, hi := 0.0, end
	slope, rise := -fall, guess(end)
	for i := range 200 {
		if hi-lo <= shortest(hi, end) {
			break
		}
		mid := lo + float64((hi-lo)/2)
		if i%3 != 2 {
			if secant := lo + float64((hi-lo)*float64(slope/(slope-rise))); secant > lo && secant < hi {
				mid = secant
			}
		}
		if mid <= lo || mid >= hi {
			break
		}
		if s := guess(mid); s < 0 {
			lo, slope = mid, s
		} else {
			hi, rise = mid, s
		}
	}
	return hi
}
