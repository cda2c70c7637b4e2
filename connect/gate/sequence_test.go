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

// A field that the policy does not know takes no other with it: a sequence holds beside a priority that nobody knows.
func TestSequenceBesidePriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(1)
		stop := open(t, h, release.New(must(fifo.New(fifo.Options{}))), gate.Options{Workers: 1, Compare: time.Hour})
		got := started(t, h, stop, func() {
			h.add(gate.Job{ID: "a1", Sequence: "a", Priority: 1}, 1, 2*time.Second)
			for _, task := range h.tasks {
				task.failures, task.delay = 1, 5*time.Second
			}
			time.Sleep(time.Second)
			h.add(gate.Job{ID: "a2", Sequence: "a", Priority: 1}, 1, 2*time.Second)
		}, time.Minute)
		if want := []string{"a1", "a1", "a2"}; !slices.Equal(got, want) {
			t.Errorf("started %v, want %v", got, want)
		}
	})
}

// A gate that starts tells the age of a job also where the policy does not know all of it.
func TestAgeBesidePriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(0)
		h.add(gate.Job{ID: "old", Priority: 1}, 1, time.Second)
		time.Sleep(time.Hour)
		s := &spy{Policy: must(fifo.New(fifo.Options{}))}
		stop := open(t, h, s, gate.Options{Workers: 1})
		synctest.Wait()
		stop()
		if adopted := s.of(sojourn.JobAdopted); len(adopted) != 1 || adopted[0].Service != time.Hour || adopted[0].Job.Priority != 0 {
			t.Errorf("adopted %v, want one job of an hour without its priority", adopted)
		}
	})
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
