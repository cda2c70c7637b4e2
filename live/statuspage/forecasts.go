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
	waiting int // of made: those that are being made or wait for that
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
