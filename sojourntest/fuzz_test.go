package sojourntest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

func FuzzReference(f *testing.F) {
	FuzzEvents(f, func() sojourn.Policy { return newFull(correct) }, fullOptions())
}

// sealReference makes the checksum of a snapshot of the reference policy good.
func sealReference(data []byte) {
	if n := len(data) - 4; n >= 0 {
		binary.BigEndian.PutUint32(data[n:], crc32.ChecksumIEEE(data[:n]))
	}
}

// A forgery is made of a snapshot that a policy saves which has a job on a slot.
func TestForgery(t *testing.T) {
	tests := []struct {
		bug           bug
		name          string
		sealed        bool
		change, forTo string
		want          string // what sojourntest says, "" if it finds no fault
	}{
		{correct, "nothing is changed", true, "", "", ""},
		{correct, "a forgery that makes sense", true, `"Weight":0`, `"Weight":3`, ""},
		{correct, "a forgery that is refused", true, `"Weight":0`, `"Weight":-`, ""},
		{correct, "a job without a description", true, `"Spec":{`, `"Spek":{`, "panics"},
		{restoreHalf, "damage is noticed when the state is replaced", false, `"Weight":0`, `"Weight":3`, "law of snapshots"},
		{restoreMerges, "the past is not forgotten", true, `"Down":{`, `"Dawn":{`, "law of snapshots"},
		{snapshotCounts, "what is saved is another state", true, "", "", "law of snapshots"},
	}
	for _, tc := range tests {
		newPolicy := func() sojourn.Policy { return newFull(tc.bug) }
		o := fullOptions()
		o.Seal = sealReference
		p := newPolicy()
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
			{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 1}},
			{Kind: sojourn.JobAdopted, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: 1}}}},
			{Kind: sojourn.Tick, At: 1e10},
		} {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		p.Assign(1)
		data, _ := p.(full).AppendBinary(nil)
		forged := bytes.Replace(data, []byte(tc.change), []byte(tc.forTo), 1)
		if tc.change != "" && bytes.Equal(forged, data) {
			t.Fatalf("%s: there is no %s in %s", tc.name, tc.change, data)
		}
		r := &recorder{TB: t}
		fg := forgery{t: r, o: &o, newPolicy: newPolicy}
		if tc.sealed {
			forged = fg.seal(forged)
		}
		done := make(chan struct{})
		go func() { // which FailNow ends
			defer close(done)
			// Some sweeps, Ticks and offers: 7 and the others choose the step.
			fg.offer(forged, data, bytes.Repeat([]byte{0, 7, 0, 0, 4, 0, 3, 4, 1, 0, 7, 1, 0, 4}, 20))
		}()
		<-done
		if got := r.text.String(); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: sojourntest says %q, want %q", tc.name, got, tc.want)
		}
	}
}
