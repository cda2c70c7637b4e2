package mars

import (
	"math/rand/v2"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// A search looks for a better order near that of the linear program. Its state is
// by how much each phase of a job is moved from where the linear program has it:
// tasks are ordered by their M there and the move of their phase. An evaluation is
// one schedule made.
type search struct {
	*workshop
	rng    *rand.Rand
	left   int       // evaluations
	m      []float64 // of each task in the linear program
	late   []float64 // the greatest m of each job
	moves  []float64 // of each unit, the best so far
	value  float64   // of the best schedule
	best   plan
	trial  []float64
	keys   []float64
	out    plan
	placer *placer
	events *dispatcher
}

// newSearch returns a search from the order of MarS, whose best is a given
// schedule.
func newSearch(w *workshop, best plan, evaluations int) *search {
	s := &search{
		workshop: w, rng: rand.New(rand.NewPCG(w.o.Seed, 0x5a11)), left: evaluations,
		m: w.middles(w.bound.raw), late: make([]float64, len(w.in.Jobs)), moves: make([]float64, len(w.units)), trial: make([]float64, len(w.units)),
		keys: make([]float64, len(w.p)), best: best, value: w.objective(best), out: w.newPlan(),
		placer: newPlacer(w.flat), events: newDispatcher(w.flat),
	}
	for t, m := range s.m {
		j := w.units[w.unit[t]].job
		s.late[j] = max(s.late[j], m)
	}
	return s
}

// run spends the evaluations.
func (s *search) run() {
	if len(s.units) == 0 {
		return
	}
	span := 0.0
	for _, m := range s.late {
		span = max(span, m)
	}
	ways := []Planner{Insertion, Dispatch}
	won := 0 // the way that made the best schedule
	for s.left > 0 {
		copy(s.trial, s.moves)
		s.move(span)
		way := won
		if s.rng.IntN(4) == 0 {
			way = 1 - won
		}
		if s.evaluate(ways[way]) {
			copy(s.moves, s.trial)
			won = way
		}
	}
}

// move changes the trial.
func (s *search) move(span float64) {
	scale := span
	for range 1 + s.rng.IntN(7) {
		scale /= 2
	}
	shift := func(j int32, d float64) {
		for i := s.first[j]; i < s.first[j+1]; i++ {
			s.trial[i] += d
		}
	}
	job := func() int32 { return int32(s.rng.IntN(len(s.in.Jobs))) }
	switch s.rng.IntN(4) {
	case 0: // a job
		shift(job(), float64(scale*detmath.Normal(s.rng)))
	case 1: // two jobs change places
		a, b := job(), job()
		d := s.late[a] + s.trial[s.first[a]] - s.late[b] - s.trial[s.first[b]]
		shift(a, -d)
		shift(b, d)
	case 2: // a phase
		s.trial[s.rng.IntN(len(s.trial))] += float64(scale * detmath.Normal(s.rng))
	default: // all a little
		for j := range s.in.Jobs {
			shift(int32(j), float64(scale/8*detmath.Normal(s.rng)))
		}
	}
}

// evaluate makes the schedule of the trial, and reports whether it is the best or
// as good.
func (s *search) evaluate(p Planner) bool {
	s.left--
	for t, i := range s.unit {
		s.keys[t] = s.m[t] + s.trial[i]
	}
	order := s.sorted(s.keys)
	if p == Dispatch {
		s.events.run(order, s.out)
	} else {
		s.placer.inOrder(order, eachClass(s.flat, newFirstFit), s.out)
	}
	v := s.objective(s.out)
	if v > s.value {
		return false
	}
	s.value = v
	s.best, s.out = s.out, s.best
	return true
}
