package sojourntest

import (
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// The order of arrival keeps the law of turns; a policy for which the latest job goes first breaks it.
func TestPools(t *testing.T) {
	newest := func() sojourn.Policy { return new(newestFirst) }
	for _, tc := range []struct {
		name      string
		newPolicy func() sojourn.Policy
		keeps     bool
	}{
		{"in the order of arrival", func() sojourn.Policy { return newFIFO(correct) }, true},
		{"the newest first", newest, false},
	} {
		failed := 0
		rapid.Check(t, func(t *rapid.T) {
			r := &recorder{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				checkPools(r, t, tc.newPolicy(), PoolOptions{Within: 60})
			}()
			<-done
			if r.failed {
				failed++
				if !strings.Contains(r.text.String(), "law of turns") {
					t.Fatalf("%s: %s, want the law of turns", tc.name, &r.text)
				}
			}
		})
		if tc.keeps != (failed == 0) {
			t.Errorf("%s: %d runs broke the law, want none: %v", tc.name, failed, tc.keeps)
		}
	}
}

// A newestFirst starts the next task of the job that came last. It knows no more of the contract than checkPools needs.
type newestFirst struct{ pending []sojourn.TaskID }

func (p *newestFirst) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobArrived {
		for i := range ev.Job.Phases[0].Tasks {
			p.pending = append(p.pending, sojourn.TaskID{Job: ev.Job.ID, Index: uint32(i)})
		}
	}
	return nil
}

func (p *newestFirst) Assign(slot sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	n := len(p.pending)
	if n == 0 {
		return a, false
	}
	a = sojourn.Assignment{Slot: slot, Task: p.pending[n-1], Attempt: 1}
	p.pending = p.pending[:n-1]
	return a, true
}
