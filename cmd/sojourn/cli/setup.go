package cli

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/sim"
)

// A setup says what policies are run in: the workload, the cluster, and all that happens
// to jobs and tasks there. What is told and what goes wrong is named as in sim.Config.
type setup struct {
	policies   catalog.Catalog
	source     source
	load       scaledLoad
	locality   locality
	estimates  estimates
	stragglers sim.Stragglers
	faults     sim.Faults
	progress   time.Duration
	preempt    bool
	retest     bool
	seed       uint64
}

// check finds values that no run accepts, and options that need one another.
func (f *setup) check() error {
	slow, bad := f.stragglers, f.faults
	switch {
	case !(slow.Probability >= 0 && slow.Probability <= 1):
		return usagef("--straggler-probability %v is not in [0, 1]", slow.Probability)
	case (slow.Probability > 0) != (slow.Factor != 0):
		return usagef("--straggler-probability and --straggler-factor go together")
	case slow.Factor != 0 && !(slow.Factor >= 1 && slow.Factor <= math.MaxFloat64):
		return usagef("--straggler-factor %v is not a number from 1 on", slow.Factor)
	case !(bad.Task >= 0 && bad.Task < 1):
		return usagef("--fault-task %v is not in [0, 1)", bad.Task)
	case !(bad.Refuse >= 0 && bad.Refuse < 1):
		return usagef("--fault-refuse %v is not in [0, 1)", bad.Refuse)
	case f.progress < 0 || bad.MTBF < 0 || bad.MTTR < 0:
		return usagef("a duration is negative")
	case (bad.MTBF > 0) != (bad.MTTR > 0):
		return usagef("--fault-mtbf and --fault-mttr go together")
	}
	if err := f.locality.check(); err != nil {
		return err
	}
	return f.load.check()
}

// maxSlots is the most slots of a cluster that is simulated: each takes 400 bytes.
const maxSlots = 1 << 20

// open reads the workload and the cluster.
func (f *setup) open(ctx context.Context, stdin io.Reader) (*scenario, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	c, w, err := f.source.open(ctx, stdin, f.seed)
	if err != nil {
		return nil, err
	}
	if n := c.Capacity(); n[0]+n[1] > maxSlots {
		return nil, usagef("cluster %s: %s; what is simulated has at most %s", c.name, count(n[0]+n[1], "slot"), thousands(maxSlots))
	}
	if err := f.locality.checkWorkload(w); err != nil {
		return nil, err
	}
	return &scenario{setup: *f, workload: w, cluster: c}, f.load.apply(w, c)
}

// random reports whether anything depends on the seed.
func (f *setup) random() bool {
	return f.source.gen.given() || f.estimates.Mode == sim.LogNormal && f.estimates.Sigma > 0 ||
		f.stragglers.Probability > 0 || f.faults.Task > 0 || f.faults.Refuse > 0 || f.faults.MTBF > 0
}
