package live_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
)

// attempts are those of some jobs, in the order in which they started.
type attempts struct {
	mu   sync.Mutex
	now  func() time.Duration
	list []run
}

// A run is an attempt: it started, and ended. Its task could start from ready on.
type run struct {
	name              string
	task              uint32
	ready, start, end time.Duration
}

// job returns a job of tasks that take so long. The first attempts of each task fail, as many as it is told, and
// take longer.
func (l *attempts) job(name string, tasks, failures int, failing, each time.Duration) live.Job {
	ready := make([]time.Duration, tasks)
	return live.Job{Name: name, Phases: []live.Phase{{Tasks: tasks, Run: func(_ context.Context, task live.Task) error {
		l.mu.Lock()
		at := len(l.list)
		l.list = append(l.list, run{name, task.Index, ready[task.Index], l.now(), 0})
		l.mu.Unlock()
		fails := int(task.Attempt) <= failures
		if fails {
			time.Sleep(failing)
		} else {
			time.Sleep(each)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list[at].end = l.now()
		if ready[task.Index] = l.now() + backoff; fails {
			return errors.New("fails")
		}
		return nil
	}}}}
}

const backoff = 15 * ms

// Job a has a task that fails after 40 ms, twice, and runs again 15 ms later; b and c have tasks of 10 ms. The slot
// goes to the job that has had it for the least time. The first failure is not charged until the next
// attempt has ended: so a is served again as soon as it can, although others have had less than 40 ms. The
// second one is charged with it: b and c come first until each has had 80 ms, too.
// Reference: the comment of sojourn.Cause.
func TestRetriesKeepTheirPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(must(fair.New(fair.Options{})), live.Options{Slots: 1, Retry: live.Retry{Attempts: 3, Backoff: backoff, MaxBackoff: backoff}}))
		l := attempts{now: stopwatch()}
		handles := []*live.Handle{
			must(p.Submit(bg, l.job("a", 1, 2, 40*ms, 10*ms))),
			must(p.Submit(bg, l.job("b", 12, 0, 0, 10*ms))),
			must(p.Submit(bg, l.job("c", 12, 0, 0, 10*ms))),
		}
		for _, h := range handles {
			wantError(t, "a job", h.Wait(bg), nil)
		}
		wantError(t, "Close", p.Close(bg), nil)
		got := ""
		for _, r := range l.list {
			got += r.name
		}
		if want := "abcabcbcbcbcbcbcbcabcbcbcbc"; got != want {
			t.Errorf("jobs start in the order %s, want %s", got, want)
		}
		l.check(t, "one slot", 1)
	})
}

// While tasks fail and wait for their next attempt, no slot stays free that a task could use, whatever the number of
// slots, and each task runs as often as it has to.
func TestNothingIdlesBesideRetries(t *testing.T) {
	for slots := 1; slots <= 7; slots++ {
		for _, failing := range []time.Duration{0, ms, 15 * ms, 40 * ms} {
			synctest.Test(t, func(t *testing.T) {
				p := must(live.New(must(fair.New(fair.Options{})), live.Options{Slots: slots, Retry: live.Retry{Attempts: 4, Backoff: backoff, MaxBackoff: backoff}}))
				l := attempts{now: stopwatch()}
				jobs := []live.Job{l.job("a", 4, 1, failing, 10*ms), l.job("b", 6, 0, 0, 3*ms), l.job("c", 3, 3, failing, ms)}
				var handles []*live.Handle
				for _, j := range jobs {
					handles = append(handles, must(p.Submit(bg, j)))
				}
				for _, h := range handles {
					wantError(t, "a job", h.Wait(bg), nil)
				}
				wantError(t, "Close", p.Close(bg), nil)
				if len(l.list) != 4*2+6+3*4 {
					t.Errorf("%d attempts, want 26", len(l.list))
				}
				l.check(t, fmt.Sprintf("%d slots, failures after %v", slots, failing), slots)
			})
		}
	}
}

// check reports instants at which a task could start, and a slot is free.
func (l *attempts) check(t *testing.T, name string, slots int) {
	t.Helper()
	var instants []time.Duration
	for _, r := range l.list {
		instants = append(instants, r.ready, r.end)
	}
	slices.Sort(instants)
	for _, at := range slices.Compact(instants) {
		busy, waiting := 0, 0
		for _, r := range l.list {
			if r.start <= at && at < r.end {
				busy++
			} else if r.ready <= at && at < r.start {
				waiting++
			}
		}
		if busy > slots || busy < slots && waiting > 0 {
			t.Errorf("%s: at %v, %d slots are busy and %d tasks wait", name, at, busy, waiting)
		}
	}
}
