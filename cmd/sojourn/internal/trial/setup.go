package trial

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Setup says what policies are run in: the workload, the cluster, and all that happens
// to jobs and tasks there. What is told and what goes wrong is named as in sim.Config.
type Setup struct {
	Policies   catalog.Catalog
	Source     input.Source
	Load       input.ScaledLoad
	Locality   Locality
	Estimates  Estimates
	Stragglers sim.Stragglers
	Faults     sim.Faults
	Progress   time.Duration
	Preempt    bool
	Retest     bool
	Gangs      Gangs
	Seed       uint64

	// PoolChanges names a history whose events say how pools change; "" for none.
	PoolChanges string

	// Drop names what jobs lose under policies that do not know it, which refuse such workloads otherwise.
	Drop Dropped
}

// Check finds values that no run accepts, and options that need one another.
func (f *Setup) Check() error {
	slow, bad := f.Stragglers, f.Faults
	switch {
	case !(slow.Probability >= 0 && slow.Probability <= 1):
		return usage.Errorf("--straggler-probability %v is not in [0, 1]", slow.Probability)
	case (slow.Probability > 0) != (slow.Factor != 0):
		return usage.Errorf("--straggler-probability and --straggler-factor go together")
	case slow.Factor != 0 && !(slow.Factor >= 1 && slow.Factor <= math.MaxFloat64):
		return usage.Errorf("--straggler-factor %v is not a number from 1 on", slow.Factor)
	case !(bad.Task >= 0 && bad.Task < 1):
		return usage.Errorf("--fault-task %v is not in [0, 1)", bad.Task)
	case !(bad.Refuse >= 0 && bad.Refuse < 1):
		return usage.Errorf("--fault-refuse %v is not in [0, 1)", bad.Refuse)
	case f.Progress < 0:
		return usage.Errorf("--report-progress %v is negative", f.Progress)
	case bad.MTBF < 0:
		return usage.Errorf("--fault-mtbf %v is negative", bad.MTBF)
	case bad.MTTR < 0:
		return usage.Errorf("--fault-mttr %v is negative", bad.MTTR)
	case (bad.MTBF > 0) != (bad.MTTR > 0):
		return usage.Errorf("--fault-mtbf and --fault-mttr go together")
	}
	if err := f.Gangs.check(f); err != nil {
		return err
	}
	if err := f.Locality.check(); err != nil {
		return err
	}
	return f.Load.Check()
}

// maxSlots is the most slots of a cluster that is simulated: each takes 400 bytes.
const maxSlots = 1 << 20

// Open reads the workload and the cluster.
func (f *Setup) Open(ctx context.Context, stdin io.Reader) (*Scenario, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	c, w, err := f.Source.Open(ctx, stdin, f.Seed)
	if err != nil {
		return nil, err
	}
	slots := 0
	for _, n := range c.Capacity() {
		slots += n
	}
	if slots > maxSlots {
		return nil, usage.Errorf("cluster %s: %s; what is simulated has at most %s", c.Name, format.Count(slots, "slot"), format.Thousands(maxSlots))
	}
	if err := f.Gangs.checkCluster(c); err != nil {
		return nil, err
	}
	if err := f.Locality.checkWorkload(w); err != nil {
		return nil, err
	}
	changes, err := readPoolChanges(f.PoolChanges)
	if err != nil {
		return nil, err
	}
	return &Scenario{Setup: *f, Workload: w, Cluster: c, changes: changes}, f.Load.Apply(w, c)
}

// random reports whether anything depends on the seed.
func (f *Setup) random() bool {
	return f.Source.Gen.Given() || f.Estimates.Mode == sim.LogNormal && f.Estimates.Sigma > 0 ||
		f.Stragglers.Probability > 0 || f.Faults.Task > 0 || f.Faults.Refuse > 0 || f.Faults.MTBF > 0
}
