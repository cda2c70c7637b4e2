package live_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// One of a thousand tasks of a job ends its process. It does so three times, and the job is dead, or goes on without it where it may fail. Others
// run twice at most, and only those that ran beside it. The outcome says what happened.
func TestPoisonAmongMany(t *testing.T) {
	poison := sojourn.TaskID{Job: 1, Index: 500}
	for allow, outcome := range []live.Outcome{live.Dead, live.Finished} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			var mu sync.Mutex
			starts := map[sojourn.TaskID]int{}
			dies := make(chan bool, 8)
			o := live.Options{Slots: 8, Handlers: map[string]live.Handler{"work": func(ctx context.Context, task live.Task, _ []byte) error {
				mu.Lock()
				starts[task.TaskID]++
				mu.Unlock()
				if task.TaskID != poison {
					return sleep(time.Second)(ctx, task)
				}
				time.Sleep(time.Millisecond) // those that start with it have begun
				d.end()
				dies <- true
				<-ctx.Done()
				return context.Cause(ctx)
			}}}
			p, j := openDisk(d, o)
			must(p.Submit(bg, live.Job{Handler: "work", MaxFailedTasks: allow, Phases: []live.Phase{{Tasks: 1000}, {Tasks: 1}}}))
			deaths := 0
			for ended := make(chan error); ; {
				h, _ := p.Handle(1)
				go func() { ended <- h.Wait(bg) }()
				select {
				case <-ended:
				case <-dies:
					deaths++
					hardStop(p)
					_ = j.Close()
					<-ended
					p, j = openDisk(d, o)
					continue
				}
				break
			}
			h, _ := p.Handle(1)
			e, _ := h.Ended()
			text := fmt.Sprintf("live: task %v failed: %v: 3 attempts, 2 of them alone", poison, live.ErrDead)
			if outcome == live.Finished {
				text = ""
			}
			if e.Outcome != outcome || e.Err != text || e.FailedTasks != allow || deaths != 3 || starts[poison] != 3 {
				t.Errorf("%d deaths, %d starts of the task that ends the process, %+v, want %v, %q", deaths, starts[poison], e, outcome, text)
			}
			twice := 0
			for id, n := range starts {
				if n > 2 && id != poison {
					t.Errorf("task %v was started %d times", id, n)
				} else if n == 2 {
					twice++
				}
			}
			if twice != 7 || (len(starts) == 1001) != (allow == 1) {
				t.Errorf("%d tasks were started, %d of them twice", len(starts), twice)
			}
			_, _ = p.Close(bg), j.Close()
		})
	}
}
