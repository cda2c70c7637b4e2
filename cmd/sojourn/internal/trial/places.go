package trial

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// places tells the places of jobs in a workload, from 0. It remembers those that a run has
// not told the outcome of.
type places struct {
	live map[sojourn.JobID]int
	next int
}

// number returns the jobs, and records their places.
func (p *places) number(jobs iter.Seq2[*sim.Job, error]) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		for j, err := range jobs {
			if err == nil {
				p.live[j.ID] = p.next
				p.next++
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// take returns the place of a job, and forgets it.
func (p *places) take(id sojourn.JobID) int {
	rank := p.live[id]
	delete(p.live, id)
	return rank
}
