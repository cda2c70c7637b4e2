package statuspage

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/forecast"
)

const (
	kept        = time.Second // how long a forecast is kept after it was made
	mostChanges = 8           // that are asked about at once; others are refused
)

var errBusy = errors.New("too many changes are asked about at once: ask again")

// forecasts makes the forecasts of a handler: one at a time, and none that is being made or kept. So all visitors
// together use one processor at most, and those who ask the same one forecast a second.
type forecasts struct {
	asked *asked
	turn  chan struct{} // holds a value while a forecast is made

	mu      sync.Mutex // guards what follows, and whole and at of its values until done
	made    map[change]*made
	latest  map[change]*made // that were made last, for pages, which do not wait
	asking  map[change]bool
	waiting int // of made: those that are being made or wait for that
}

func newForecasts(a *asked) *forecasts {
	return &forecasts{asked: a, turn: newTurn(), made: map[change]*made{}, latest: map[change]*made{}, asking: map[change]bool{}}
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
	done := make(chan *made, 1)
	f.asking[c] = true
	f.mu.Unlock()
	go func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer stop()
		begun, n := time.Now(), &made{}
		defer func() {
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

// made is a forecast that is made, or why there is none.
type made struct {
	done  chan struct{} // closed when it is made, or given up
	whole bool          // it is made; else it was given up, since the visitor who asked for it is gone
	at    time.Time     // when it was made
	took  time.Duration
	*forecast.Forecast
	err error
}

// of returns the forecast for a change. It waits for it unless ctx ends first.
func (f *forecasts) of(ctx context.Context, c change) (*forecast.Forecast, error) {
	for {
		m, own := f.find(c)
		if m == nil {
			return nil, errBusy
		}
		if own {
			f.make(ctx, c, m)
			return m.Forecast, m.err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-m.done:
		}
		if m.whole {
			return m.Forecast, m.err
		}
	}
}

// find returns the forecast for a change that is kept or being made. If there is none, it returns one for the caller to
// make, or nil if too many are being made.
func (f *forecasts) find(c change) (m *made, own bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.made, func(_ change, m *made) bool { return m.whole && time.Since(m.at) >= kept })
	if m := f.made[c]; m != nil {
		return m, false
	}
	if f.waiting >= mostChanges && c != (change{}) {
		return nil, false
	}
	f.waiting++
	m = &made{done: make(chan struct{})}
	f.made[c] = m
	return m, true
}

// make makes a forecast when its turn comes.
func (f *forecasts) make(ctx context.Context, c change, m *made) {
	defer func() { // after a panic of a policy, too
		f.mu.Lock()
		f.waiting--
		if m.at = time.Now(); !m.whole {
			delete(f.made, c)
		}
		f.mu.Unlock()
		close(m.done)
	}()
	select {
	case <-ctx.Done():
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	}
	if m.err = ctx.Err(); m.err != nil {
		return
	}
	q := forecast.Question{Policy: f.asked.another, Draws: draws, MaxTasks: maxTasks, Slots: c.slots, Tasks: c.tasks, Each: c.each}
	if c.policy != "" {
		q.Policy = f.asked.policies[c.policy]
	}
	m.Forecast, m.err = f.asked.watch.Foresee(ctx, q)
	f.mu.Lock()
	defer f.mu.Unlock()
	m.whole = ctx.Err() == nil
}
