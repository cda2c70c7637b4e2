package live_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/live"
)

// jumping is a journal on a machine whose clock was set.
type jumping struct {
	*journal.Journal
	by atomic.Int64
}

func (c *jumping) Time(wall time.Time) sojourn.Time {
	return c.Journal.Time(wall.Add(time.Duration(c.by.Load())))
}

// The clock of the machine jumps by a year while one task waits for its back-off, a job for its release, and another for its end. Each
// goes on when it is due, in this process and in the next one, and times never go back.
func TestClockIsSet(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, jump := range []time.Duration{year, -year} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			ends := map[string]time.Duration{}
			var begun time.Time
			open := func(by time.Duration) (*live.Pool, *jumping) {
				j := &jumping{Journal: must(journal.Open(must(journal.OpenFiles(dir)), release.New(newFIFO()), journal.Options{}))}
				j.by.Store(int64(by))
				return must(live.New(j, live.Options{Slots: 2, Retry: live.Retry{Attempts: 2, Backoff: time.Hour, MaxBackoff: time.Hour}, Handlers: map[string]live.Handler{
					"h": func(_ context.Context, a live.Task, payload []byte) error {
						if string(payload) == "fails" && a.Attempt == 1 {
							return errors.New("once")
						}
						ends[string(payload)] = time.Since(begun)
						return nil
					}}})), j
			}
			job := func(payload string) live.Job {
				return live.Job{Handler: "h", Payload: []byte(payload), Phases: []live.Phase{{Tasks: 1}}}
			}
			p, j := open(0)
			begun = time.Now()
			later := job("later")
			later.Release = 2 * time.Hour
			must(p.Submit(bg, job("fails")))
			must(p.Submit(bg, later))
			time.Sleep(time.Minute)
			j.by.Store(int64(jump))
			was := p.Status().Now
			time.Sleep(time.Hour)
			if now := p.Status().Now; now.Sub(was) != time.Hour {
				t.Errorf("the clock jumps by %v, and an hour is %v", jump, now.Sub(was))
			}
			last := job("last")
			last.Release = 3 * time.Hour
			must(p.Submit(bg, last))
			time.Sleep(2 * time.Hour)
			if err := errors.Join(p.Suspend(bg), j.Close()); err != nil {
				t.Fatal(err)
			}
			p, j = open(jump) // the clock has jumped for the process: what waits for an instant before it is due, or goes on to wait
			time.Sleep(3 * time.Hour)
			if err := errors.Join(p.Close(bg), j.Close()); err != nil {
				t.Fatal(err)
			}
			most := map[string]time.Duration{"fails": time.Hour, "later": 2 * time.Hour, "last": 4*time.Hour + time.Minute}
			for what, at := range most {
				if got, ok := ends[what]; !ok || got > at || what != "last" && got < at {
					t.Errorf("the clock jumps by %v: %q runs after %v, want %v", jump, what, got, at)
				}
			}
		})
	}
}
