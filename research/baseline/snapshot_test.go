package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A forged snapshot is refused, or leaves a policy that continues.
func TestForgedSnapshots(t *testing.T) {
	snapshottest.Attack(t, must(baseline.NewSRPT, baseline.SRPTOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.5, Counted: true}), 600)
	snapshottest.Attack(t, must(baseline.NewLAS, baseline.LASOptions{Reserve: 0.5}), 300)
	snapshottest.Attack(t, must(baseline.NewFSP, baseline.FSPOptions{Reserve: 0.5, Counted: true}), 300)
	snapshottest.Attack(t, must(baseline.NewFSP, baseline.FSPOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewFSP, baseline.FSPOptions{Late: vqueue.LateShare}), 600)
	snapshottest.Attack(t, must(baseline.NewLAS, baseline.LASOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewHUWF, baseline.ListOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewSTF, baseline.ListOptions{}), 600)
	snapshottest.Attack(t, must(baseline.NewLocal, baseline.LocalOptions{}), 300)
	snapshottest.Attack(t, must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{}), 300)
	snapshottest.Attack(t, must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{HoldSlots: true}), 300)
}

// A job takes memory for its started tasks, not for its announced ones.
func TestLargeJob(t *testing.T) {
	for name, newPolicy := range map[string]func() sojourn.Policy{
		"srpt":       must(baseline.NewSRPT, baseline.SRPTOptions{}),
		"reserve":    must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: 0.5, Counted: true}),
		"fsp":        must(baseline.NewFSP, baseline.FSPOptions{}),
		"las":        must(baseline.NewLAS, baseline.LASOptions{}),
		"local":      must(baseline.NewLocal, baseline.LocalOptions{}),
		"huwf":       must(baseline.NewHUWF, baseline.ListOptions{}),
		"htwf":       must(baseline.NewHTWF, baseline.ListOptions{}),
		"stf":        must(baseline.NewSTF, baseline.ListOptions{}),
		"dc":         must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{}),
		"dc holding": must(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{HoldSlots: true}),
	} {
		t.Run(name, func(t *testing.T) { snapshottest.Large(t, newPolicy) })
	}
}

// A job of great weight whose work turns out to be none is virtually complete, although
// its tag was rounded up: it is not kept as finished and late at once.
func TestSnapshotOfRoundedTag(t *testing.T) {
	newPolicy := must(baseline.NewFSP, baseline.FSPOptions{})
	p, restored := newPolicy(), newPolicy()
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Weight: 1<<32 - 1, Phases: []sojourn.Phase{{Tasks: 1}}}},
		{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1}},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
		data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := restored.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
			t.Errorf("after %v: %v", ev, err)
		}
	}
}
