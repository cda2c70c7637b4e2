package trial

import (
	"errors"
	"io"
	"math/big"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/internal/fluid"
)

// FluidKinds returns the fluid policies by name.
func FluidKinds() map[string]fluid.Kind {
	return map[string]fluid.Kind{"ps": fluid.PS, "fsp": fluid.FSP, "srpt": fluid.SRPT, "pfsp": fluid.PFSP}
}

// FluidJobs returns the jobs of a workload in memory as the fluid model has them.
func FluidJobs(w *input.Workload) []fluid.Job {
	var jobs []fluid.Job
	for _, j := range w.Jobs {
		var work time.Duration
		for i := range j.Phases {
			work += j.Times[i].Total(j.Phases[i].Tasks)
		}
		jobs = append(jobs, fluid.Job{At: j.At, Work: work, Weight: j.WeightUnits()})
	}
	return jobs
}

// Fluid returns when each job completes, in nanoseconds, under each of some fluid policies.
// Rounded, it is computed in integers, which cannot hold all times.
func Fluid(terminal io.Writer, slots int, jobs []fluid.Job, names []string, rounded bool) (map[string][]*big.Rat, error) {
	kinds, steps := FluidKinds(), 0
	for _, name := range names {
		steps += fluid.Steps(kinds[name], len(jobs))
	}
	bar := progress.New(terminal, "jobs", steps)
	defer bar.Clear()
	ends := map[string][]*big.Rat{}
	for _, name := range names {
		if !rounded {
			ends[name] = fluid.Completions(kinds[name], slots, jobs, func() { bar.Add(1) })
			continue
		}
		var ok bool
		if ends[name], ok = fluid.Rounded(kinds[name], slots, jobs); !ok {
			return nil, errors.New("times are too long for --rounded, which counts them in units that all of them are multiples of")
		}
	}
	return ends, nil
}
