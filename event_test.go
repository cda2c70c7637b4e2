package sojourn

import (
	"testing"
	"time"
	"unsafe"
)

// Events are passed by value through every policy: a cache line each. A pointer of
// four bytes makes them smaller.
func TestEventIs64Bytes(t *testing.T) {
	if got, want := unsafe.Sizeof(Event{}), 56+unsafe.Sizeof((*Job)(nil)); got != want {
		t.Errorf("unsafe.Sizeof(Event{}) = %d, want %d", got, want)
	}
}

func TestEventString(t *testing.T) {
	// An event with every field set: each kind shows only those it uses.
	full := Event{
		Cause: CauseSlotLost, Progress: 2500, Attempt: 2, At: Time(90 * time.Second),
		Task: TaskID{Job: 7, Phase: 1, Index: 12}, Slot: Slot{ID: 3, Node: 4, Rack: 5, Class: 1},
		Job: &Job{ID: 7}, Service: time.Second,
	}
	tests := [...]struct {
		kind EventKind
		want string
	}{
		{0, "EventKind(0) at 1m30s"},
		{SlotAdded, "SlotAdded slot 3 node 4 rack 5 class 1 at 1m30s"},
		{SlotRemoved, "SlotRemoved slot 3 at 1m30s"},
		{NodeDown, "NodeDown node 4 at 1m30s"},
		{NodeUp, "NodeUp node 4 at 1m30s"},
		{JobArrived, "JobArrived job 7 at 1m30s"},
		{JobAdopted, "JobAdopted job 7 at 1m30s"},
		{JobRevised, "JobRevised job 7 at 1m30s"},
		{JobCancelled, "JobCancelled job 7 at 1m30s"},
		{TaskHeld, "TaskHeld task 7/1/12 at 1m30s"},
		{TaskReady, "TaskReady task 7/1/12 at 1m30s"},
		{TaskDone, "TaskDone task 7/1/12 at 1m30s"},
		{TaskAdopted, "TaskAdopted task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{TaskProgress, "TaskProgress task 7/1/12 attempt 2 slot 3 progress 2500 at 1m30s"},
		{TaskFinished, "TaskFinished task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{TaskFailed, "TaskFailed task 7/1/12 attempt 2 slot 3 CauseSlotLost at 1m30s"},
		{TaskRefused, "TaskRefused task 7/1/12 attempt 2 slot 3 at 1m30s"},
		{OutputLost, "OutputLost task 7/1/12 attempt 2 at 1m30s"},
		{Tick, "Tick at 1m30s"},
		{numKinds, "EventKind(19) at 1m30s"},
		{255, "EventKind(255) at 1m30s"},
	}
	seen := map[EventKind]bool{}
	for _, tc := range tests {
		ev := full
		ev.Kind = tc.kind
		if got := ev.String(); got != tc.want {
			t.Errorf("%+v: String() = %q, want %q", ev, got, tc.want)
		}
		if want := tc.kind != 0 && tc.kind < numKinds; tc.kind.Valid() != want {
			t.Errorf("EventKind(%d).Valid() = %v, want %v", uint8(tc.kind), !want, want)
		}
		seen[tc.kind] = true
	}
	for k := EventKind(1); k < numKinds; k++ {
		if !seen[k] {
			t.Errorf("no case for %v", k)
		}
	}

	ev := Event{Kind: JobArrived}
	if got, want := ev.String(), "JobArrived without a job at 0s"; got != want {
		t.Errorf("%+v: String() = %q, want %q", ev, got, want)
	}
}

func TestCauseAndLocalityNames(t *testing.T) {
	tests := []struct{ got, want string }{
		{CauseTask.String(), "CauseTask"},
		{CausePreempted.String(), "CausePreempted"},
		{CauseSlotLost.String(), "CauseSlotLost"},
		{Cause(numCauses).String(), "Cause(3)"},
		{AnyNode.String(), "any"},
		{NodeLocal.String(), "node"},
		{RackLocal.String(), "rack"},
		{Remote.String(), "remote"},
		{Locality(4).String(), "invalid"},
	}
	for _, tc := range tests {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
	if !CauseSlotLost.Valid() || Cause(numCauses).Valid() {
		t.Errorf("Valid of the last cause and the one after: %v, %v, want true, false",
			CauseSlotLost.Valid(), Cause(numCauses).Valid())
	}
}
