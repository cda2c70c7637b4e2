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
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	m = m.crash(0, false, false)
	j = mustOpen(t, m, newFIFO(t), Options{})
	if got := j.Attached(1); string(got) != "\x01" {
		t.Errorf("bytes %x of a job that arrived after the segment began, want 01", got)
	}
	if got := j.Attached(2); got != nil {
		t.Errorf("bytes %x of a job that never arrived", got)
	}
}
