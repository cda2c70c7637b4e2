package rtmr_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// simulate runs jobs of one map phase on one node. Their estimates differ from the true
// times.
func simulate(t *testing.T, slots int, retest bool, jobs ...*sim.Job) *sim.Result {
	t.Helper()
	res, err := sim.Run(context.Background(), sim.Config{
		Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{slots}}}},
		Jobs: func(yield func(*sim.Job, error) bool) {
			for _, j := range jobs {
				if !yield(j, nil) {
					return
				}
			}
		},
		Policy:  with(rtmr.Options{})(),
		Retest:  retest,
		Records: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func simJob(id sojourn.JobID, at, deadline, estimate, real time.Duration) *sim.Job {
	return &sim.Job{
		Job: sojourn.Job{ID: id, Deadline: sojourn.Time(deadline), Phases: []sojourn.Phase{{Tasks: 1, Estimate: estimate}}},
		At:  sojourn.Time(at), Times: []sim.Times{{Each: real}},
	}
}

// Job 1 might take until 100 s, so job 2 is rejected. Job 1 takes until 10 s. If rejected
// jobs are offered again, job 2 is accepted and ends in time. Job 3 hopes until its
// deadline has passed.
func TestRetest(t *testing.T) {
	jobs := func() []*sim.Job {
		return []*sim.Job{
			simJob(1, 0, 100*time.Second, 100*time.Second, 10*time.Second),
			simJob(2, time.Second, 60*time.Second, 20*time.Second, 20*time.Second),
			simJob(3, 2*time.Second, 5*time.Second, 20*time.Second, 20*time.Second),
		}
	}
	for _, retest := range []bool{false, true} {
		res := simulate(t, 1, retest, jobs()...)
		want := sim.Result{Finished: 1, Rejected: 2, Accepted: 1, Met: 1}
		if retest {
			want = sim.Result{Finished: 2, Rejected: 1, Accepted: 2, Met: 2, Retested: 1}
		}
		got := sim.Result{Finished: res.Finished, Rejected: res.Rejected, Accepted: res.Accepted, Met: res.Met, Retested: res.Retested}
		if got.Finished != want.Finished || got.Rejected != want.Rejected || got.Accepted != want.Accepted || got.Met != want.Met || got.Retested != want.Retested {
			t.Errorf("retest %v: %+v, want %+v", retest, got, want)
		}
	}
}

// Job 1 outlasts its estimate of 10 s, and nothing tells when its slot becomes free. From
// then on its guarantee is void, and so is that of job 2, which waits for the slot.
func TestVoidIsReported(t *testing.T) {
	res := simulate(t, 1, false,
		simJob(1, 0, 11*time.Second, 10*time.Second, 15*time.Second),
		simJob(2, 0, 60*time.Second, 10*time.Second, 10*time.Second),
	)
	if res.Void != 2 || res.Met != 1 {
		t.Errorf("%d void, %d met, want 2 and 1", res.Void, res.Met)
	}
	void := []string{res.JobRecords[0].Void, res.JobRecords[1].Void}
	if slices.ContainsFunc(void, func(s string) bool { return !strings.Contains(s, "outlasts its estimate") }) {
		t.Errorf("reasons = %q", void)
	}
}
