package certify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// nameOf returns the name of job j of the instance in errors: its ID, or otherwise its place.
func nameOf(in *plan.Instance, j int) string {
	return fmt.Sprintf("job %d", cmp.Or(in.Jobs[j].ID, sojourn.JobID(j)))
}

// jobWeight returns w_j: a weight of zero means 1.
func jobWeight(j *plan.Job) float64 { return cmp.Or(j.Weight, 1) }

// taskWeight returns w_u of task u of phase k.
func taskWeight(j *plan.Job, k, u int) float64 {
	if weights := j.Phases[k].Weights; weights != nil {
		return weights[u]
	}
	return jobWeight(j)
}

// waits reports whether phase k of a job waits for the one before it.
func waits(j *plan.Job, k int) bool {
	return k > 0 && k < len(j.Phases) && !j.Phases[k].NoBarrier
}

// delay returns d_uv from task u of phase p to task v of the next one, of n tasks.
func delay(p *plan.Phase, u, v, n int) time.Duration {
	switch {
	case p.Between != nil:
		return p.Between[u*n+v]
	case p.Delays != nil:
		return p.Delays[u]
	}
	return 0
}

// shortestDelay returns the least d_uv from task u of phase p to those of the next one.
func shortestDelay(p *plan.Phase, u, n int) time.Duration {
	if p.Between == nil {
		return delay(p, u, 0, n)
	}
	return slices.Min(p.Between[u*n : (u+1)*n])
}

// longestTail returns the greatest d_uv + tail_v over the tasks v of the next phase, where
// tail_v is a length of time from S_v on. longest is the greatest tail_v: it decides if all d_uv
// are the same.
func longestTail(p *plan.Phase, u int, tail []time.Duration, longest time.Duration) time.Duration {
	if p.Between == nil {
		return delay(p, u, 0, 0) + longest
	}
	most := time.Duration(0)
	for v, t := range tail {
		most = max(most, delay(p, u, v, len(tail))+t)
	}
	return most
}
