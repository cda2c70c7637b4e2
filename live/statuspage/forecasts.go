package statuspage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/forecast"
)

const (
	kept        = time.Second     // how long a value is kept after it was made
	mostChanges = 8               // that are asked about at once; others are refused
	longest     = 5 * time.Minute // that a forecast may take
)

// forecasts makes the forecasts of a handler.
type forecasts struct {
	*questions
	made memo[change, *forecast.Forecast]

	mu     sync.Mutex
	latest map[change]*foreseen // that were made last, for pages, which do not wait
	asking map[change]bool
}

// foreseen is a forecast that was made for pages, or why there is none.
type foreseen struct {
	at   time.Time // when it was made
	took time.Duration
	*forecast.Forecast
	err error
}

func newForecasts(q *questions) *forecasts {
	return &forecasts{questions: q, made: memo[change, *forecast.Forecast]{most: mostChanges}, latest: map[change]*foreseen{}, asking: map[change]bool{}}
}

var errSoon = errors.New("it is being made: this page shows it when it is there, or when it is loaded again")

// soon returns the forecast for a change if it is made soon enough for a page. It may be older than that of others: a page that renews itself
// uses a twentieth of a processor, and goes on with the last one until the next is there.
func (f *forecasts) soon(ctx context.Context, c change) (*forecast.Forecast, error) {
	f.mu.Lock()
	m, asking := f.latest[c], f.asking[c]
	if m != nil && (time.Since(m.at) < max(5*time.Second, 20*m.took) || asking) {
		f.mu.Unlock()
		return m.Forecast, m.err
	}
	done := make(chan *foreseen, 1)
	f.asking[c] = true
	f.mu.Unlock()
	go func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), longest)
		defer stop()
		begun, n := time.Now(), &foreseen{}
		defer func() {
			if bug := recover(); bug != nil { // of a policy: the program goes on, and the page says so
				n.Forecast, n.err = nil, fmt.Errorf("the forecast has panicked: %v", bug)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			n.at, n.took = time.Now(), time.Since(begun)
			delete(f.asking, c)
			if len(f.latest) >= 4*mostChanges {
				clear(f.latest)
			}
			if n.Forecast != nil || n.err != nil && !errors.Is(n.err, errBusy) {
				f.latest[c] = n
			}
			done <- n
		}()
		n.Forecast, n.err = f.of(ctx, c)
	}()
	wait := time.NewTimer(first)
	defer wait.Stop()
	select {
	case n := <-done:
		return n.Forecast, n.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-wait.C:
	}
	if m != nil {
		return m.Forecast, m.err
	}
	return nil, errSoon
}

// A change is what a forecast is asked about; its zero value is no change.
type change struct {
	policy       string
	slots, tasks int
	each         time.Duration
}

// of returns the forecast for a change. It waits for it unless ctx ends first.
func (f *forecasts) of(ctx context.Context, c change) (*forecast.Forecast, error) {
	return f.made.get(ctx, c, func() (*forecast.Forecast, error) {
		q := forecast.Question{Policy: f.another, Draws: draws, MaxTasks: maxTasks, Slots: c.slots, Tasks: c.tasks, Each: c.each}
		if c.policy != "" {
			q.Policy = f.policies[c.policy]
		}
		return f.watch.Foresee(ctx, q)
	})
}

// partial reports whether a forecast is not of all live jobs.
func partial(f *forecast.Forecast) bool { return f != nil && len(f.Jobs) < f.Live }

// firsts says what a forecast is of while so many tasks are left, "" if it is of all.
func firsts(f *forecast.Forecast, tasks int) string {
	switch {
	case f == nil || !partial(f) && tasks <= maxTasks:
		return ""
	case !partial(f):
		return fmt.Sprintf("The forecast looks at the first %s of %s tasks. Ends behind them follow from how fast a job went until then.", count(maxTasks), count(tasks))
	case len(f.Jobs) == 0:
		return fmt.Sprintf("The forecast looks at %s tasks, and none of the %s jobs ends before these have started.", count(maxTasks), count(f.Live))
	}
	return fmt.Sprintf("Ends are those of the first %s of %s jobs, in the order in which they will be served. The others are left out: where one of them overtakes, an end is later.", count(len(f.Jobs)), count(f.Live))
}
