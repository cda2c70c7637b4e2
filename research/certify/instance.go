package certify

import (
	"cmp"
	"fmt"
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

// delay returns d_u of task u of phase p.
func delay(p *plan.Phase, u int) time.Duration {
	if p.Delays == nil {
		return 0
	}
	return p.Delays[u]
}
