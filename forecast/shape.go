package forecast

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// A shape has the deviations that tasks had, sorted.
type shape struct {
	all   []float64
	drawn []float64 // as many of them, drawn with replacement, for this draw
	count []uint32
	sigma float64
}

// draw is the bootstrap [Efron 1979].
func (s *shape) draw(random *rand.Rand) {
	n := len(s.all)
	if s.count == nil {
		s.count, s.drawn = make([]uint32, n), make([]float64, n)
	}
	clear(s.count)
	for i := 0; i < n; i += 2 {
		u := random.Uint64() // two numbers of 32 bits
		s.count[u>>32*uint64(n)>>32]++
		if i+1 < n {
			s.count[u&math.MaxUint32*uint64(n)>>32]++
		}
	}
	at := 0
	for i, c := range s.count {
		for range c {
			s.drawn[at] = s.all[i]
			at++
		}
	}
}

// A part is where a deviation may come from.
type part struct {
	probability float64 // that it does, and is above a bound
	from        []float64
	scale       float64
}

// parts returns where a deviation above a bound may come from: tasks of the kind, those of all kinds, and the normal distribution.
func (m *model) parts(k *kindState, above float64) (own, all part, normal, sigma float64) {
	n, rest := float64(len(k.shape.drawn)), ownShape
	if sigma = k.sigma; k.fixed {
		rest, sigma = 1, math.Sqrt(m.spread)
	}
	own = part{n / (n + rest), k.shape.drawn, 1}
	if !k.fixed && k.shape.sigma > 0 {
		own.scale = k.sigma / k.shape.sigma
	}
	n = float64(len(m.shape.drawn))
	all = part{(1 - own.probability) * (n / (n + ownShape)), m.shape.drawn, 1}
	normal = 1 - own.probability - all.probability
	if !math.IsInf(above, -1) {
		own.cut(above)
		all.cut(above)
		normal *= upper(above / max(sigma, 1e-9))
	}
	return own, all, normal, sigma
}

func (p *part) cut(above float64) {
	n := len(p.from)
	p.from = p.from[sort.SearchFloat64s(p.from, math.Nextafter(above/p.scale, math.Inf(1))):]
	p.probability *= float64(len(p.from)) / float64(max(n, 1))
}

// above returns the probability that a deviation is above a bound.
func (m *model) above(k *kindState, above float64) float64 {
	own, all, normal, _ := m.parts(k, above)
	return own.probability + all.probability + normal
}

// residual draws a deviation above a bound.
func (m *model) residual(k *kindState, random *rand.Rand, above float64) float64 {
	own, all, normal, sigma := m.parts(k, above)
	u := float64(float64(random.Float64()) * (own.probability + all.probability + normal))
	switch {
	case u < own.probability && len(own.from) > 0:
		return float64(own.scale * own.from[random.IntN(len(own.from))])
	case u < own.probability+all.probability && len(all.from) > 0:
		return all.from[random.IntN(len(all.from))]
	}
	return float64(sigma * tail(random, above/max(sigma, 1e-9)))
}

// upper is about the probability that a normal variate is above u.
func upper(u float64) float64 {
	return 1 / (1 + detmath.Exp(float64(u*(1.5976+float64(.070565*float64(u*u))))))
}

// tail draws a normal variate above a bound [Robert 1995].
func tail(r *rand.Rand, above float64) float64 {
	if above < .3 {
		for {
			if z := detmath.Normal(r); z > above {
				return z
			}
		}
	}
	rate := float64((above + math.Sqrt(float64(above*above)+4)) / 2)
	for {
		z := above + detmath.Exponential(r)/rate
		if d := z - rate; detmath.Exponential(r) > float64(d*d/2) {
			return z
		}
	}
}
