package sojourn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

func TestEventString(t *testing.T) {
	// An event with every field set: each kind shows only those it uses.
	full := sojourn.Event{
		Cause: sojourn.CauseSlotLost, Progress: 2500, Attempt: 2, At: sojourn.Time(90 * time.Second),
		Task: sojourn.TaskID{Job: 7, Phase: 1, Index: 12}, Slot: sojourn.Slot{ID: 3, Node: 4, Rack: 5, Class: 1},
		Job: &sojourn.Job{ID: 7}, Service: time.Second, Pool: &sojourn.Pool{Name: "etl"},
	}
	tests := [...]struct {
		kind sojourn.EventKind
		want string
	}{
		{0, "EventKind(0) at 1m30s"},
		{sojourn.SlotAdded, "SlotAdded slot 3 node 4 rack 5 class 1 at 1m30s"},
		{sojourn.SlotRemoved, "SlotRemoved slot 3 at 1m30s"},
		{sojourn.NodeDown, "NodeDown node 4 at 1m30s"},
		{sojourn.NodeUp, "NodeUp node 4 at 1m30s"},
		{sojourn.JobArrived, "JobArrived job 7 at 1m30s"},
		{sojourn.JobAdopted, "JobAdopted job 7 at 1m30s"},
		{sojourn.JobRevised, "JobRevised job 7 at 1m30s"},
		{sojourn.JobCancelled, "JobCancelled job 7 at 1m30s"},
		{sojourn.TaskHeld, "TaskHeld task 7/1/12 at 1m30s"},
		{sojourn.TaskReady, "TaskReady task 7/1/12 at 1m30s"},
		{sojourn.TaskDone, "TaskDone task 7/1/12 at 1m30s"},
		{sojourn.TaskAdopted, "TaskAdopted task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{sojourn.TaskProgress, "TaskProgress task 7/1/12 attempt 2 slot 3 progress 2500 at 1m30s"},
		{sojourn.TaskFinished, "TaskFinished task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{sojourn.TaskFailed, "TaskFailed task 7/1/12 attempt 2 slot 3 CauseSlotLost at 1m30s"},
		{sojourn.TaskRefused, "TaskRefused task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{sojourn.OutputLost, "OutputLost task 7/1/12 attempt 2 at 1m30s"},
		{sojourn.Tick, "Tick at 1m30s"},
		{sojourn.TaskPinned, "TaskPinned task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{sojourn.PoolChanged, `PoolChanged pool "etl" at 1m30s`},
		{21, "EventKind(21) at 1m30s"},
		{255, "EventKind(255) at 1m30s"},
	}
	seen := map[sojourn.EventKind]bool{}
	for _, tc := range tests {
		ev := full
		ev.Kind = tc.kind
		if got := ev.String(); got != tc.want {
			t.Errorf("%+v: String() = %q, want %q", ev, got, tc.want)
		}
		if want := !strings.HasPrefix(tc.want, "EventKind("); tc.kind.Valid() != want {
			t.Errorf("EventKind(%d).Valid() = %v, want %v", uint8(tc.kind), !want, want)
		}
		seen[tc.kind] = true
	}
	for n := range 256 {
		if k := sojourn.EventKind(n); k.Valid() && !seen[k] {
			t.Errorf("no case for %v", k)
		}
	}

	ev := sojourn.Event{Kind: sojourn.JobArrived}
	if got, want := ev.String(), "JobArrived without a job at 0s"; got != want {
		t.Errorf("%+v: String() = %q, want %q", ev, got, want)
	}
}

func TestCauseAndLocalityNames(t *testing.T) {
	tests := []struct{ got, want string }{
		{sojourn.CauseTask.String(), "CauseTask"},
		{sojourn.CausePreempted.String(), "CausePreempted"},
		{sojourn.CauseSlotLost.String(), "CauseSlotLost"},
		{sojourn.Cause(3).String(), "Cause(3)"},
		{sojourn.AnyNode.String(), "any"},
		{sojourn.NodeLocal.String(), "node"},
		{sojourn.RackLocal.String(), "rack"},
		{sojourn.Remote.String(), "remote"},
		{sojourn.Locality(7).String(), "Locality(7)"},
	}
	for _, tc := range tests {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
	if !sojourn.CauseSlotLost.Valid() || sojourn.Cause(3).Valid() {
		t.Errorf("Valid of the last cause and the one after: %v, %v, want true, false",
			sojourn.CauseSlotLost.Valid(), sojourn.Cause(3).Valid())
	}
}
