package live_test

import (
	"context"
	"runtime/metrics"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// An unsynced store takes what was written for synced.
type unsynced struct{ journal.Store }

func (unsynced) Sync(uint64) error { return nil }

// Neither a Submit nor an end, with the start after it, allocates much, however many jobs are queued: a table that grew by being
// copied would. All jobs are remembered when they have ended.
func TestNoCallMovesATable(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 150,000 jobs")
	}
	const jobs, most = 150_000, 1 << 20
	for name, newPolicy := range map[string]func() sojourn.Policy{
		"fifo":      newFIFO,
		"fair":      pooled.Fair.With(fair.Options{}),
		"leastwork": constructors.LeastWork.With(leastwork.Options{}),
		"durable":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			for try := range 3 { // goroutines of other tests may allocate meanwhile
				submit, end := allocations(t, newPolicy, jobs)
				if t.Logf("Submit: %d bytes, an end and a start: %d", submit, end); submit <= most && end <= most {
					return
				}
				if try == 2 {
					t.Errorf("Submit allocates up to %d bytes, an end and the start after it %d, want at most %d", submit, end, most)
				}
			}
		})
	}
}

// allocations returns the most that a Submit allocates, and an end with the start after it.
func allocations(t *testing.T, newPolicy func() sojourn.Policy, jobs int) (submit, end uint64) {
	o := live.Options{Slots: 1, Remember: 2 * jobs, UnsyncedStarts: true}
	var policy sojourn.Policy
	if newPolicy != nil {
		policy = newPolicy()
	} else {
		j := must(journal.Open(unsynced{must(journal.OpenFiles(t.TempDir()))}, newFIFO(), journal.Options{SnapshotBytes: -1}))
		defer j.Close()
		policy = j
	}
	counter := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	allocated := func() uint64 {
		metrics.Read(counter)
		return counter[0].Value.Uint64()
	}
	var last uint64
	begun, gate := make(chan struct{}), make(chan struct{})
	o.Handlers = map[string]live.Handler{
		"first": func(context.Context, live.Task, []byte) error {
			close(begun)
			<-gate
			last = allocated()
			return nil
		},
		"other": func(context.Context, live.Task, []byte) error { // there is one slot: one after the other
			now := allocated()
			end, last = max(end, now-last), now
			return nil
		},
	}
	p := must(live.New(policy, o))
	must(p.Submit(bg, live.Job{Handler: "first", Phases: []live.Phase{{Tasks: 1}}}))
	<-begun
	var h *live.Handle
	for range jobs {
		before := allocated()
		h = must(p.Submit(bg, live.Job{Handler: "other", Phases: []live.Phase{{Tasks: 1}}}))
		submit = max(submit, allocated()-before)
	}
	close(gate)
	if err := h.Wait(bg); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(bg); err != nil {
		t.Fatal(err)
	}
	return submit, end
}
