package history

import (
	"errors"
	"strings"
	"testing"
)

// honest is a history in which nothing is wrong: two classes, a retiring slot, a
// barrier, refusals of both kinds.
const honest = firstLine + `
policy: some
@0s SlotAdded 0 node=1 rack=1
@0s SlotAdded 1 node=1 rack=1
@0s SlotAdded 2 node=2 class=1
@0s SlotAdded 3
@0s SlotRemoved 3
@0s JobArrived 1 | 2x10s | 1 class=1
@0s JobArrived 1 | 1 !ErrDuplicateJob
@0s JobArrived 2 | 1 !ErrRejected job=2 misses=2 by=3s
@0s JobArrived 2 | 1 !ErrUnsupported
@0s Assign 0 -> 1/0/0#1
@0s Assign 2 -> none
@0s Assign 1 -> 1/0/1#1
@0s SlotRemoved 1
@5s TaskFailed 1/0/0#1 slot=0
@4s Tick !ErrTimeReversed
@5s TaskFinished 1/0/0#1 slot=0 !ErrStaleAttempt
@5s Assign 0 -> 1/0/0#2
@9s TaskFinished 1/0/1#1 slot=1
@10s TaskFinished 1/0/0#2 slot=0
@10s Assign 2 -> 1/1/0#1
@10s PoolChanged pool=etl weight=2
@10s PoolChanged pool=etl weight=2 !ErrUnsupported
@10s SlotAdded 90 speed=50 !ErrUnsupported
@10s SlotAdded 90 speed=50
`

func TestHonest(t *testing.T) {
	got, err := collect(Check(Read(strings.NewReader(honest), "h")))
	want, readErr := collect(Read(strings.NewReader(honest), "h"))
	if err != nil || readErr != nil || !equal(got, want) {
		t.Errorf("checked %s, error %v\nwant %s, error %v", dump(got), err, dump(want), readErr)
	}
}

// Each line is added to the honest history, and lies.
func TestLies(t *testing.T) {
	for _, tc := range []struct{ lines, reason string }{
		// Time.
		{"@9s Tick", "time goes back from 10s to 9s"},
		{"@11s Assign 0 -> none", "a decision at 11s, but the latest event was at 10s"},
		{"@11s Tick\n@10s Assign 0 -> none", "a decision at 10s, but the latest event was at 11s"},
		{"@11s NodeUp 1 !ErrNodeState\n@11s Assign 0 -> none", "a decision at 11s, but the latest event was at 10s"},

		// Events.
		{"@10s SlotAdded 0", "SlotAdded does not fit, but is recorded as accepted: ErrDuplicateSlot, slot already present"},
		{"@10s JobArrived 2", "JobArrived does not fit, but is recorded as accepted: ErrInvalidJob, invalid job: 0 phases, want 1 to 65536"},
		{"@10s JobArrived 2 | 67108864", "live jobs have more than 67108864 tasks"},
		{"@10s JobArrived 2 | 2\n@11s JobRevised 2 | 67108863", "live jobs have more than 67108864 tasks"},
		{"@10s TaskFinished 9/0/0#1 slot=0", "recorded as accepted: ErrUnknownJob"},
		{"@10s TaskFinished 1/0/0#2 slot=0", "recorded as accepted: ErrStaleAttempt"},
		{"@10s TaskFinished 1/0/0#2 slot=0 !ErrUnknownJob", "TaskFinished is recorded as refused with !ErrUnknownJob instead of !ErrStaleAttempt"},
		{"@10s NodeUp 1 !\"cannot\"", `NodeUp is recorded as refused with !"cannot" instead of !ErrNodeState`},
		{"@10s SlotAdded 7 !ErrUnsupported", "SlotAdded fits, but is recorded as refused: !ErrUnsupported"},
		{"@10s PoolChanged nil", "PoolChanged does not fit, but is recorded as accepted: ErrInvalidPool"},
		{"@10s PoolChanged pool=etl !ErrRejected", "PoolChanged fits, but is recorded as refused: !ErrRejected"},
		{"@10s SlotAdded 7 !ErrDuplicateSlot", "SlotAdded fits, but is recorded as refused: !ErrDuplicateSlot"},
		{"@10s SlotAdded 7 !ErrRejected", "SlotAdded fits, but is recorded as refused: !ErrRejected"},
		{"@10s JobAdopted 7 | 1 !ErrRejected", "JobAdopted fits, but is recorded as refused: !ErrRejected"},
		{"@10s JobCancelled 1 !ErrUnsupported", "JobCancelled fits, but is recorded as refused: !ErrUnsupported"},
		{"@10s EventKind(0)", "EventKind(0) does not fit, but is recorded as accepted: ErrUnknownKind"},

		// Slots of decisions.
		{"@10s Assign 9 -> none", "a decision for slot 9, which is unknown or retiring"},
		{"@10s Assign 3 -> none", "a decision for slot 3, which is unknown or retiring"},
		{"@10s Assign 2 -> none", "a decision for slot 2, which runs 1/1/0#1"},
		{"@10s SlotRemoved 2\n@10s Assign 2 -> none", "a decision for slot 2, which is unknown or retiring"},

		// Tasks of decisions.
		{"@10s Assign 0 -> 9/0/0#1", "task 9/0/0 is assigned to slot 0, but there is no such job"},
		{"@10s Assign 0 -> 1/2/0#1", "but there is no such task"},
		{"@10s Assign 0 -> 1/0/2#1", "but there is no such task"},
		{"@10s Assign 0 -> 1/0/0#3", "but it is done"},
		{"@10s Assign 0 -> 1/1/0#2", "but it runs already or is held"},
		{"@10s JobArrived 2 | 1\n@10s TaskHeld 2/0/0\n@10s Assign 0 -> 2/0/0#1", "but it runs already or is held"},
		{"@10s JobArrived 2 | 1 | 1\n@10s Assign 0 -> 2/1/0#1", "but its phase is not ready"},
		{"@10s JobArrived 2 | 1 class=1\n@10s Assign 0 -> 2/0/0#1", "but its phase is of class 1 and the slot of class 0"},
		{"@10s JobArrived 2 | 1\n@10s Assign 0 -> 2/0/0#2", "but this is attempt 1, not 2"},
		{"@10s JobArrived 2 | 1\n@10s Assign 0 -> 2/0/0#1 slot=1", "but slot 0 was offered"},
		{"@10s JobCancelled 1\n@10s Assign 0 -> 1/1/0#2", "but the job is cancelled"},
	} {
		text := honest + tc.lines + "\n"
		got, err := collect(Check(Read(strings.NewReader(text), "h")))
		last := strings.Count(text, "\n")
		var e *Error
		if !errors.As(err, &e) || e.File != "h" || e.Line != last || e.Column != 1 || !strings.Contains(e.Reason, tc.reason) {
			t.Errorf("%s\ngot  %v\nwant h:%d:1: ...%s...", tc.lines, err, last, tc.reason)
		}
		if len(got) != last-2 {
			t.Errorf("%s: %d entries before the error, want %d", tc.lines, len(got), last-2)
		}
	}
}

// Tasks of jobs that have ended and descriptions that were revised do not count
// against the limit.
func TestCheckForgetsTasks(t *testing.T) {
	const job = "@10s JobArrived 2 | 33554432\n@10s JobRevised 2 | 33554433\n@10s JobCancelled 2\n"
	if _, err := collect(Check(Read(strings.NewReader(honest+job+job), "h"))); err != nil {
		t.Error(err)
	}
}

func TestCheckPassesErrorsOn(t *testing.T) {
	_, err := collect(Check(Read(strings.NewReader(honest+"@x\n"), "h")))
	checkError(t, "@x", err, strings.Count(honest, "\n")+1, 2, "want a time")
}
