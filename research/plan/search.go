package plan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A search looks for a better order near a good one. Its state is a move for each
// phase of a job: tasks are ordered by their M in the good order plus the move of
// their phase. An evaluation is one schedule made.
type search struct {
	*workshop
	rng    *rand.Rand
	left   int       // evaluations
	m      []float64 // of each task in the order that the search starts from
	late   []float64 // the greatest m of each job
	byLate []int32   // jobs, in its order
	moves  []float64 // of each unit, the best so far
	value  float64   // of the schedule that moves make
	trial  []float64
	keys   []float64
	out    layout
	placer *placer
	events *dispatcher

	best      layout // the best schedule of all
	bestValue float64
}

// newSearch returns a search for better schedules than a given one.
func newSearch(w *workshop, best layout, evaluations int) *search {
	s := &search{
		workshop: w, rng: rand.New(rand.NewPCG(w.o.Seed, 0x5a11)), left: evaluations,
		late: make([]float64, len(w.in.Jobs)), moves: make([]float64, len(w.units)), trial: make([]float64, len(w.units)),
		keys: make([]float64, len(w.p)), value: math.Inf(1), out: w.newLayout(),
		placer: newPlacer(w.flat), events: newDispatcher(w.flat),
		best: best, bestValue: w.objective(best),
	}
	return s
}

// decoders make schedules of orders.
var decoders = [...]Planner{insertion, dispatch}

// run spends the evaluations, and returns the best schedule. It spends half of them
// near the order of MarS, in which the tasks of a job are together, and the others
// near the order of the best schedule so far.
func (s *search) run() layout {
	if len(s.units) == 0 {
		return s.best
	}
	s.from(s.middles(s.bound.raw), s.left/2)
	starts := make([]float64, len(s.p))
	for t, at := range s.best.start {
		starts[t] = lp.Seconds(at)
	}
	s.from(starts, s.left)
	return s.best
}

// from spends some evaluations near an order.
func (s *search) from(m []float64, evaluations int) {
	until := s.left - evaluations
	s.m, s.value = m, math.Inf(1)
	clear(s.moves)
	clear(s.trial)
	won := 0 // the decoder of the best order
	for way, p := range decoders {
		if s.left > until && s.evaluate(p) {
			won = way
		}
	}
	span := 0.0
	clear(s.late)
	for t, m := range s.m {
		j := s.units[s.unit[t]].job
		s.late[j] = max(s.late[j], m)
		span = max(span, m)
	}
	s.byLate = s.byLate[:0]
	for j := range s.late {
		s.byLate = append(s.byLate, int32(j))
	}
	slices.SortStableFunc(s.byLate, func(a, b int32) int { return cmp.Compare(s.late[a], s.late[b]) })
	for s.left > until {
		copy(s.trial, s.moves)
		s.move(span)
		way := won
		if s.rng.IntN(4) == 0 {
			way = 1 - won
		}
		if s.evaluate(decoders[way]) {
			copy(s.moves, s.trial)
			won = way
		}
	}
}

// move changes the trial: a job or a phase goes to the place of another that is near it
// in the order, or elsewhere.
func (s *search) move(span float64) {
	scale := span
	for range 1 + s.rng.IntN(10) {
		scale /= 2
	}
	shift := func(j int32, d float64) {
		for i := s.first[j]; i < s.first[j+1]; i++ {
			s.trial[i] += d
		}
	}
	n := len(s.byLate)
	at := s.rng.IntN(n)
	a := s.byLate[at]
	near := func() int32 {
		to := at + 1 + min(s.rng.IntN(1<<s.rng.IntN(5)), n)
		if s.rng.IntN(2) == 0 {
			to = at - (to - at)
		}
		return s.byLate[min(max(to, 0), n-1)]
	}
	position := func(j int32) float64 { return s.late[j] + s.trial[s.first[j+1]-1] }
	switch s.rng.IntN(10) {
	case 0, 1: // a job goes elsewhere
		shift(a, float64(scale*detmath.Normal(s.rng)))
	case 2, 3, 4: // two jobs change places
		b := near()
		d := position(a) - position(b)
		shift(a, -d)
		shift(b, d)
	case 5, 6, 7: // a job goes just before or behind another
		d := position(near()) - position(a)
		shift(a, d+float64(span*1e-3*detmath.Normal(s.rng)))
	case 8: // a phase goes elsewhere
		s.trial[s.rng.IntN(len(s.trial))] += float64(scale * detmath.Normal(s.rng))
	default: // all a little
		for j := range s.in.Jobs {
			shift(int32(j), float64(scale/8*detmath.Normal(s.rng)))
		}
	}
}

// evaluate makes the schedule of the trial, and reports whether it is at least as good
// as the schedule of the moves so far.
func (s *search) evaluate(p Planner) bool {
	s.left--
	for t, i := range s.unit {
		s.keys[t] = s.m[t] + s.trial[i]
	}
	order := lp.Order(s.keys)
	if p == dispatch {
		s.events.run(order, s.out)
	} else {
		s.placer.inOrder(order, eachClass(s.flat, newFirstFit), s.out)
	}
	v := s.objective(s.out)
	if v > s.value {
		return false
	}
	s.value = v
	if v < s.bestValue {
		s.bestValue = v
		s.best, s.out = s.out, s.best
	}
	return true
}
