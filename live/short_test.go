package live_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// The example of the package comment: a short job that comes behind a batch waits for the next slot, and not for the batch.
func TestShortJobBehindABatch(t *testing.T) {
	for _, tc := range []struct {
		policy sojourn.Policy
		want   time.Duration
	}{
		{constructors.FIFO.Must(fifo.Options{}), 99550 * time.Millisecond},
		{constructors.LeastWork.Must(leastwork.Options{}), 550 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			pool, err := live.New(tc.policy, live.Options{Slots: 8})
			if err != nil {
				t.Fatal(err)
			}
			submit := func(tasks int, d time.Duration) *live.Handle {
				h, err := pool.Submit(context.Background(), live.Job{Phases: []live.Phase{{Tasks: tasks, Run: func(context.Context, live.Task) error {
					time.Sleep(d)
					return nil
				}}}})
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			submit(800, time.Second)
			time.Sleep(500 * time.Millisecond)
			begin := time.Now()
			if err := submit(1, 50*time.Millisecond).Wait(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begin); got != tc.want {
				t.Errorf("%T: the short job takes %v, want %v", tc.policy, got, tc.want)
			}
			if err := pool.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
