package ledger

import (
	"reflect"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A job that has ended is used again as one that knows nothing, whatever had become of it. No more than a few are kept.
func TestEndedJobsAreUsedAgain(t *testing.T) {
	l, fresh := &testLedger{t: t}, &testLedger{t: t}
	for _, l := range []*testLedger{l, fresh} {
		l.Supports = sojourn.FeatureHeld
		l.slots(2)
	}
	old := l.arrive(1, sojourn.Phase{Tasks: 2}, sojourn.Phase{Tasks: 3, Class: 1, Held: true})
	old.Data = 7
	l.end(sojourn.TaskFailed, l.Take(old, old.Side(0), 0))
	l.Take(old, old.Side(0), 0)
	l.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	l.end(sojourn.TaskFailed, sojourn.Assignment{Task: sojourn.TaskID{Job: 1}, Attempt: 2})
	again := l.arrive(2, sojourn.Phase{Tasks: 4})
	fresh.jobs.seq = 1
	if want := fresh.arrive(2, sojourn.Phase{Tasks: 4}); again != old || !reflect.DeepEqual(again, want) {
		t.Errorf("used again: %v, as %+v, want %+v", again == old, again, want)
	}
	for id := range sojourn.JobID(3 * mostGone) {
		l.arrive(100+id, sojourn.Phase{Tasks: 1})
	}
	for id := range sojourn.JobID(3 * mostGone) {
		l.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 100 + id}})
	}
	if len(l.gone) != mostGone {
		t.Errorf("%d jobs are kept, want %d", len(l.gone), mostGone)
	}
}
