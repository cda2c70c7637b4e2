package gate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/gate"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// Tasks of a greater priority go before those that have waited for longer, under a policy that knows priorities. Under another one they
// run in its order.
func TestPriority(t *testing.T) {
	newFIFO := func() sojourn.Policy { return must(fifo.New(fifo.Options{})) }
	for name, tc := range map[string]struct {
		policy sojourn.Policy
		want   []string
	}{
		"priority": {must(priority.New(newFIFO, priority.Options{})), []string{"usual", "urgent", "urgent", "usual", "usual", "late"}},
		"fifo":     {newFIFO(), []string{"usual", "usual", "usual", "late", "urgent", "urgent"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(1)
			ctx, cancel := context.WithCancel(t.Context())
			serving := h.serve(ctx, 1)
			stop := open(t, h, tc.policy, gate.Options{Workers: 1, Compare: time.Hour})
			h.add(gate.Job{ID: "usual", Pool: "a"}, 3, time.Second)
			time.Sleep(500 * time.Millisecond)
			h.add(gate.Job{ID: "late", Pool: "a", Priority: -1}, 1, time.Second)
			h.add(gate.Job{ID: "urgent", Pool: "a", Priority: 1}, 2, time.Second)
			time.Sleep(time.Minute)
			stop()
			cancel()
			serving.Wait()
			var order []string
			for _, id := range h.started {
				job, _, _ := strings.Cut(id, "/")
				order = append(order, job)
			}
			if !slices.Equal(order, tc.want) {
				t.Errorf("%s: the order is %v, want %v", name, order, tc.want)
			}
		})
	}
}

// A job with a field that the policy does not know keeps all the others: the shorter job goes first.
func TestLessIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		stop := open(t, h, must(baseline.NewSRPT(baseline.SRPTOptions{})), gate.Options{Workers: 1, Compare: time.Hour})
		got := started(t, h, stop, func() {
			h.add(gate.Job{ID: "long", Priority: 1, Estimate: 10 * time.Second}, 1, 10*time.Second)
			h.add(gate.Job{ID: "short", Sequence: "s", Estimate: time.Second}, 1, time.Second)
		}, time.Minute)
		if want := []string{"short", "long"}; !slices.Equal(got, want) {
			t.Errorf("started %v, want %v", got, want)
		}
	})
}
