package live_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/live"
)

// Jobs of greater priority go first, a change counts at once and besides other changes, and all of it survives the process.
func TestPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var mu sync.Mutex
		var ran []string
		open := func() (*live.Pool, *journal.Journal) {
			p := must(priority.New(newFIFO, priority.Options{}))
			j := must(journal.Open(must(journal.OpenFiles(dir)), p, journal.Options{}))
			return must(live.New(j, live.Options{Slots: 1, Handlers: map[string]live.Handler{
				"work": func(ctx context.Context, task live.Task, payload []byte) error {
					mu.Lock()
					ran = append(ran, string(payload))
					mu.Unlock()
					return sleep(10*time.Second)(ctx, task)
				},
			}})), j
		}
		p, j := open()
		submit := func(name string, priority int) *live.Handle {
			return must(p.Submit(bg, live.Job{Handler: "work", Payload: []byte(name), Priority: priority, Phases: []live.Phase{{Tasks: 2}}}))
		}
		submit("first", 0)
		low := submit("low", -5)
		submit("high", math.MaxInt32)
		raised := submit("raised", -9)
		if err := errors.Join(raised.SetParallelism(1), raised.SetPriority(7), raised.SetParallelism(2)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if err := errors.Join(p.Suspend(bg), j.Close()); err != nil {
			t.Fatal(err)
		}
		p, j = open()
		for _, h := range p.Handles() {
			if err := h.Wait(bg); err != nil {
				t.Error(err)
			}
		}
		if want := []string{"first", "high", "high", "raised", "raised", "first", "low", "low"}; !slices.Equal(ran, want) {
			t.Errorf("ran %q, want %q", ran, want)
		}
		wantError(t, "SetPriority in a pool that is suspended", low.SetPriority(1), live.ErrClosed)
		if err := errors.Join(p.Close(bg), j.Close()); err != nil {
			t.Error(err)
		}
	})
	inPool(t, live.Options{Slots: 1}, func(t *testing.T, p *live.Pool) {
		h := must(p.Submit(bg, bag(1, sleep(time.Second))))
		wantError(t, "SetPriority of a policy without", h.SetPriority(1), sojourn.ErrUnsupported)
		_, err := p.Submit(bg, live.Job{Priority: 1, Phases: []live.Phase{{Tasks: 1, Run: sleep(0)}}})
		wantError(t, "a priority", err, sojourn.ErrUnsupported)
		if over := int64(math.MaxInt32) + 1; int64(int(over)) == over {
			if h.SetPriority(int(over)) == nil || h.SetPriority(-int(over)-1) == nil {
				t.Error("a priority out of range is accepted")
			}
		}
	})
}
