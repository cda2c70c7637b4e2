package trial

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Collect returns a watch for a run of the given number of jobs, without the fairness audit
// and without records. It sees a [][]float64: for each function, its value for each job in
// the order of the workload, or NaN for a job without an outcome.
func Collect(jobs int, of ...func(*sim.JobRecord) float64) Watch {
	return func(cfg *sim.Config) (func() any, error) {
		seen := make([][]float64, len(of))
		for k := range seen {
			seen[k] = make([]float64, jobs)
			for i := range seen[k] {
				seen[k][i] = math.NaN()
			}
		}
		places := places{live: map[sojourn.JobID]int{}}
		cfg.Jobs = places.number(cfg.Jobs)
		cfg.Records, cfg.NoAudit = false, true
		cfg.Hooks.Job = func(j *sim.JobRecord) {
			rank := places.take(j.ID)
			for k, f := range of {
				seen[k][rank] = f(j)
			}
		}
		return func() any { return seen }, nil
	}
}
