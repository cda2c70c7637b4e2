package flow_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/flow"
)

// A plan says what a run is made of.
type plan struct {
	slots  int // charges that are outstanding at a time, at most
	steps  int
	credit uint64
	window uint64 // of Near, if near
	near   bool   // some work is local, and goes first
	zero   bool   // costs may be 0
	exact  bool   // costs are known at the start, and nothing is lost
	flows  []member
}

type member struct {
	weight, most int64 // most is the greatest cost of a task
	group        int   // 0 stands below the root
}

// A choice is a number below n. Random numbers make choices, or an odometer that makes all of them.
type choice func(n int) int

// A pair of flows that are active side by side. Differences are w_j W_i - w_i W_j, in whole numbers:
// W is the service of tasks that have ended.
type pairOf struct {
	low, high   int64 // of tasks that have ended, since both are active
	behind, far int64 // of tasks that have started
	level       bool  // they were level when they became active
}

// run makes a run of a plan, keeps account of the service of each flow, and returns what breaks a
// promise, or "". share is how much of its bound the worst pair has reached, over any interval.
func run(p plan, next choice) (bad string, since, interval float64) {
	f := flow.New(flow.Options{Credit: p.credit})
	join := func(up flow.Flow, name string, weight int64) flow.Flow {
		n, err := f.Join(up, name, uint64(weight))
		if err != nil {
			panic(err)
		}
		return n
	}
	groups := map[int]flow.Flow{0: flow.Root}
	flows := make([]flow.Flow, len(p.flows))
	for i, m := range p.flows {
		if _, ok := groups[m.group]; !ok {
			groups[m.group] = join(flow.Root, fmt.Sprint("group", m.group), int64(m.group))
		}
		flows[i] = join(groups[m.group], fmt.Sprint(i), m.weight)
		f.SetActive(flows[i], true)
	}
	type task struct {
		of    int
		guess int64
	}
	var (
		busy   []task
		idle   = make([]bool, len(flows))
		served = make([]int64, len(flows)) // ended
		begun  = make([]int64, len(flows)) // started; only if exact
		pairs  = map[[2]int]*pairOf{}
		least  = int64(1)
		fresh  = true // nothing was charged yet
	)
	if p.zero {
		least = 0
	}
	draw := func(most int64) int64 { return least + int64(next(int(most-least+1))) }
	for range p.steps {
		turn, ok := f.Least()
		if p.near {
			local := next(len(flows) + 1) // of one flow, or of none
			turn, ok = f.Near(p.window, func(n flow.Flow) bool { return local < len(flows) && n == flows[local] })
		}
		start := 0
		if ok && len(busy) < p.slots {
			start = 1
		}
		switch c := next(start + 2*len(busy) + len(flows)); {
		case c < start:
			i := 0
			for flows[i] != turn {
				i++
			}
			fresh = false
			guess := draw(p.flows[i].most)
			f.Charge(turn, uint64(guess))
			busy = append(busy, task{i, guess})
			begun[i] += guess
		case c < start+2*len(busy):
			at := (c - start) / 2
			done := busy[at]
			busy = append(busy[:at:at], busy[at+1:]...)
			if (c-start)%2 == 1 && !p.exact {
				f.Refund(flows[done.of], uint64(done.guess))
				break
			}
			cost := done.guess
			if !p.exact {
				cost = draw(p.flows[done.of].most)
			}
			f.Correct(flows[done.of], uint64(done.guess), uint64(cost))
			served[done.of] += max(cost, 1)
		default:
			i := c - start - 2*len(busy)
			idle[i] = !idle[i]
			f.SetActive(flows[i], !idle[i])
		}
		for i := range flows {
			for j := range i {
				x, y, at := p.flows[i], p.flows[j], [2]int{i, j}
				if x.group != y.group || idle[i] || idle[j] {
					delete(pairs, at)
					continue
				}
				d, e := y.weight*served[i]-x.weight*served[j], y.weight*begun[i]-x.weight*begun[j]
				q := pairs[at]
				if q == nil {
					q = &pairOf{d, d, e, e, fresh}
					pairs[at] = q
				}
				q.low, q.high, q.behind, q.far = min(q.low, d), max(q.high, d), min(q.behind, e), max(q.far, e)
				ci, cj := x.most*y.weight, y.most*x.weight
				n, q0 := int64(p.slots), int64(p.window)*x.weight*y.weight
				if q.level {
					up, down := ci+(n-1)*max(ci, cj)+q0, cj+(n-1)*max(ci, cj)+q0
					since = max(since, float64(q.high)/float64(up), float64(-q.low)/float64(down))
					if q.high > up || -q.low > down {
						bad = fmt.Sprintf("flows %d and %d, level before: %d..%d over the product of their weights, want %d..%d", i, j, q.low, q.high, -down, up)
					}
					if p.exact && (q.far > ci+q0 || -q.behind > cj+q0) {
						bad = fmt.Sprintf("flows %d and %d, level before, have started %d..%d over the product of their weights, want %d..%d", i, j, q.behind, q.far, -cj-q0, ci+q0)
					}
				}
				most := 2*n*(ci+cj) + 2*q0 + int64(p.credit)*(x.weight+y.weight)
				interval = max(interval, float64(q.high-q.low)/float64(most))
				if q.high-q.low > most {
					bad = fmt.Sprintf("flows %d and %d: %d apart over the product of their weights, want at most %d", i, j, q.high-q.low, most)
				}
			}
		}
	}
	return bad, since, interval
}

// Flows that stay active side by side get service in proportion to their weights, within the bounds of
// the package comment, in all runs of small plans.
func TestBoundExhaustive(t *testing.T) {
	exhaust(t, 0)
}

// exhaust makes all runs of small plans, with so many steps more.
func exhaust(t *testing.T, more int) {
	for _, p := range []plan{
		{slots: 1, steps: 8, flows: []member{{1, 2, 0}, {1, 1, 0}}},
		{slots: 2, steps: 6, flows: []member{{1, 2, 0}, {2, 1, 0}}},
		{slots: 2, steps: 7, flows: []member{{1, 1, 0}, {3, 1, 0}}, credit: 2},
		{slots: 1, steps: 7, flows: []member{{1, 1, 0}, {1, 1, 0}, {2, 1, 0}}},
		{slots: 2, steps: 6, flows: []member{{1, 1, 1}, {1, 2, 1}, {1, 1, 2}}},
		{slots: 1, steps: 7, flows: []member{{1, 1, 0}, {1, 1, 0}}, zero: true},
		{slots: 3, steps: 7, flows: []member{{1, 2, 0}, {2, 1, 0}}, exact: true},
		{slots: 1, steps: 5, flows: []member{{1, 2, 0}, {2, 1, 0}}, exact: true, near: true, window: 1},
		{slots: 2, steps: 5, flows: []member{{1, 1, 0}, {1, 1, 0}}, near: true, window: 2, credit: 1},
	} {
		p.steps += more
		runs, since, interval := 0, 0.0, 0.0
		var digits, base []int
		for again := true; again; runs++ {
			at := 0
			bad, s, v := run(p, func(n int) int {
				if at == len(digits) {
					digits, base = append(digits, 0), append(base, n)
				}
				at++
				return digits[at-1]
			})
			if bad != "" {
				t.Fatalf("%+v, choices %v: %s", p, digits, bad)
			}
			since, interval = max(since, s), max(interval, v)
			for again = false; len(digits) > 0 && !again; {
				last := len(digits) - 1
				if digits[last]++; digits[last] < base[last] {
					again = true
				} else {
					digits, base = digits[:last], base[:last]
				}
			}
		}
		t.Logf("%+v: %d runs, %.2f of the bound since level, %.2f over any interval", p, runs, since, interval)
	}
}

// The same in long random runs, with weights that differ much, long tasks and short ones, nested flows
// and credit. Thirty runs are made for each check of rapid, and 3,000 at least.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	since, interval := 0.0, 0.0
	for range max(3000, 30*histories.Count(t)) {
		p := plan{slots: 1 + r.IntN(4), steps: 200, zero: r.IntN(4) == 0, exact: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			p.credit = uint64(r.IntN(50))
		}
		if p.near = r.IntN(2) == 0; p.near {
			p.window = []uint64{0, 1, 5, 100}[r.IntN(4)]
		}
		p.zero = p.zero && !p.exact
		for range 2 + r.IntN(4) {
			p.flows = append(p.flows, member{weight: []int64{1, 1, 2, 3, 1000}[r.IntN(5)], most: []int64{1, 2, 7, 100}[r.IntN(4)], group: r.IntN(2) * r.IntN(3)})
		}
		toggles := r.IntN(3) // how readily flows come and go
		bad, s, v := run(p, func(n int) int {
			c := r.IntN(n)
			for range toggles {
				c = min(c, r.IntN(n))
			}
			return c
		})
		if bad != "" {
			t.Fatalf("%+v: %s", p, bad)
		}
		since, interval = max(since, s), max(interval, v)
	}
	t.Logf("%.2f of the bound since level, %.2f over any interval", since, interval)
}
