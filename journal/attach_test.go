package journal

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A segment may begin between bytes that are attached and the arrival of their job: they are there after a
// crash, with the job. Bytes whose job did not arrive are not.
func TestAttachBeforeSegment(t *testing.T) {
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{SnapshotBytes: -1})
	for _, id := range []sojourn.JobID{1, 2} {
		if err := j.Attach(id, []byte{byte(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Snapshot(); err != nil {
		t.Fatal(err)
	}
	if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []sojourn.JobID{4, 3, 1} {
		if err := j.Attach(id, []byte{byte(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 4, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]sojourn.Policy{"the same policy": newFIFO(t), "by the facts": newBackward()} {
		j := mustOpen(t, m.crash(0, false, false), p, Options{})
		for id, want := range map[sojourn.JobID]string{1: "\x01", 4: "\x04", 2: "", 3: ""} {
			if got := j.Attached(id); string(got) != want {
				t.Errorf("%s: bytes %x of job %d, want %x: 2 and 3 never arrived", name, got, id, want)
			}
		}
		if len(j.owned) != 2 || j.unborn != nil {
			t.Errorf("%s: %v, %v", name, j.owned, j.unborn)
		}
	}
}
