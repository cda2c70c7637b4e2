package rtmr

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// If a job ends within Delta of its estimate, the estimates of the jobs behind it stay.
// If it ends further away, they are replaced.
func TestDelta(t *testing.T) {
	for _, tc := range []struct{ delta, end, want int64 }{
		{0, 10, 20}, {0, 9, 19},
		{2, 9, 20}, {2, 8, 20}, {2, 7, 17},
		{30, 1, 20},
	} {
		p, err := New(Options{Booking: Chain, Feedback: true, Delta: time.Duration(tc.delta)})
		if err != nil {
			t.Fatal(err)
		}
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
		for id := range sojourn.JobID(2) {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1 + id, Deadline: 100, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 10}}}})
		}
		a, ok := p.Assign(1)
		if !ok || a.Task.Job != 1 {
			t.Fatalf("Assign = %+v, %v, want job 1", a, ok)
		}
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(tc.end), Task: a.Task, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
		if got := p.ledger.Job(2).Data.mark.e; got != tc.want {
			t.Errorf("delta %d: job 1 ends at %d instead of 10, and job 2 is estimated to end at %d, want %d", tc.delta, tc.end, got, tc.want)
		}
	}
}
