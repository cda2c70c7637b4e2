package gate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A Status is what a gate knows at a moment.
type Status struct {
	Decides bool // false: it waits for another gate, or was not started

	Workers  int      // of the servers that live and take tasks, or as told
	Servers  []Server // that live, by ID; without their tasks
	Held     int      // tasks that wait
	Released int      // tasks that were let go and have not ended
	Orphans  int      // of these, those that take none of Workers: their server is dead, or takes no tasks any more
	Parked   []Parked // by ID

	// Fails is what the queue does not do at the moment, and why, in order. The gate tries again.
	Fails []string
}

// Parked is a task that the policy refuses whatever it is told of its job: its pool is unknown to a strict
// policy, for example. It stays in the queue, and the gate asks the policy again at each comparison.
type Parked struct {
	Task   string
	Job    string
	Reason string
}

// Status returns what the gate knows.
func (g *Gate) Status() Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.books
	s := Status{Decides: g.leads, Workers: b.fleet.workers, Orphans: b.fleet.orphans}
	for _, id := range slices.Sorted(maps.Keys(b.fleet.live)) {
		s.Servers = append(s.Servers, Server{ID: id, Workers: b.fleet.live[id].Workers})
	}
	for i := range b.slots {
		if b.slots[i].task != nil {
			s.Released++
		}
	}
	s.Held = len(b.tasks) - s.Released
	s.Parked = slices.SortedFunc(maps.Values(b.parked), func(x, y Parked) int { return cmp.Compare(x.Task, y.Task) })
	for _, what := range slices.Sorted(maps.Keys(g.fails)) {
		s.Fails = append(s.Fails, fmt.Sprintf("%s: %v", what, g.fails[what]))
	}
	return s
}

// SetWorkers says how many tasks the workers run at a time from now on, whatever the queue tells of its servers. Zero
// means that no task is let go beyond Options.Ahead. What was let go goes on.
func (g *Gate) SetWorkers(n int) error {
	if most := sojourn.MaxSlots - g.opts.Ahead; n < 0 || n > most {
		return fmt.Errorf("gate: %d workers: want 0 to %d", n, most)
	}
	g.mu.Lock()
	g.books.fleet.workers, g.books.fleet.fixed = n, true
	g.books.resize()
	g.mu.Unlock()
	g.rouse()
	return nil
}

// ChangePool changes how a pool is treated: its weight, its limits, and whether it is paused. See
// [sojourn.PoolChanged]. The error wraps [sojourn.ErrInvalidPool], or [sojourn.ErrUnsupported] if the policy has no
// pools; then nothing has changed. The queue does not remember it: tell each gate, and again after a restart.
func (g *Gate) ChangePool(n sojourn.Pool) error {
	n.Min, n.Max = maps.Clone(n.Min), maps.Clone(n.Max)
	g.mu.Lock()
	err := g.books.driver.Observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &n})
	g.mu.Unlock()
	g.rouse()
	return err
}

// rouse makes Run look again.
func (g *Gate) rouse() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
