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
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/kit/release"
)

// started serves jobs on one worker for some time, and returns the jobs whose tasks were started, in their order.
func started(t *testing.T, h *host, stop func(), work func(), d time.Duration) (order []string) {
	ctx, cancel := context.WithCancel(t.Context())
	serving := h.serve(ctx, 1)
	work()
	time.Sleep(d)
	stop()
	cancel()
	serving.Wait()
	for _, id := range h.started {
		job, _, _ := strings.Cut(id, "/")
		order = append(order, job)
	}
	return order
}

// Jobs of a sequence run one after the other, also while one waits for its retry. A policy that knows no sequences runs them as if
// there were none.
func TestSequence(t *testing.T) {
	for _, tc := range []struct {
		name string
		wrap bool
		want []string
	}{
		{"release", true, []string{"a1", "other", "a1", "a2"}},
		{"fifo", false, []string{"a1", "a2", "other", "a1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(1)
			var p sojourn.Policy = must(fifo.New(fifo.Options{}))
			if tc.wrap {
				p = release.New(p)
			}
			stop := open(t, h, p, gate.Options{Workers: 1, Compare: time.Hour})
			got := started(t, h, stop, func() {
				h.add(gate.Job{ID: "a1", Sequence: "a"}, 1, 2*time.Second)
				for _, task := range h.tasks {
					task.failures, task.delay = 1, 5*time.Second
				}
				time.Sleep(time.Second)
				h.add(gate.Job{ID: "a2", Sequence: "a"}, 1, 2*time.Second)
				time.Sleep(100 * time.Millisecond)
				h.add(gate.Job{ID: "other"}, 1, 2*time.Second)
			}, time.Minute)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s: started %v, want %v", tc.name, got, tc.want)
			}
		})
	}
}

// Pools that share what tasks cost get tasks in inverse proportion to it.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		h.costs = map[string]uint64{"dear": 300, "cheap": 100}
		stop := open(t, h, must(fair.New(fair.Options{Order: fair.Service})), gate.Options{Workers: 1, Compare: time.Hour})
		got := started(t, h, stop, func() {
			h.add(gate.Job{ID: "dear", Pool: "dear"}, 200, time.Second)
			h.add(gate.Job{ID: "cheap", Pool: "cheap"}, 200, time.Second)
		}, 100*time.Second)
		dear := 0
		for _, job := range got {
			if job == "dear" {
				dear++
			}
		}
		if len(got) < 99 || dear < 20 || dear > 30 {
			t.Errorf("of %d tasks, %d are of the pool whose tasks cost three times as much, want about 25 of 100", len(got), dear)
		}
	})
}
