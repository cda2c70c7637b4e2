package sim

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

const (
	// maxTicks bounds how often a policy may wake at one instant. A Tick and a
	// round without assignment move NextWake into the future. So more than one
	// wake is needed only if timers of one instant assign one after the other.
	maxTicks = 1000

	// maxIdle bounds the instants in a row at which jobs are left, but nothing
	// runs, arrives or starts. Then the jobs wait for slots that do not exist, or
	// the policy waits for something that does not happen.
	maxIdle = 100_000

	// never is an instant that does not come.
	never = sojourn.Time(math.MaxInt64)
)

// A PolicyError says that the policy broke its contract.
type PolicyError struct {
	At   sojourn.Time
	What string // what it did
	Err  error  // what its Observe returned, or nil
}

// Error describes the breach in one line.
func (e *PolicyError) Error() string {
	s := fmt.Sprintf("sim: at %v: the policy %s", e.At, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns e.Err.
func (e *PolicyError) Unwrap() error { return e.Err }

// Run runs a policy on a simulated cluster until nothing is left to do; see the
// package comment for what happens there. It returns an error, and no result, if
// the configuration or a job of the workload is wrong, if Config.Jobs yields an
// error, if ctx ends, or, as a [*PolicyError], if the policy breaks its contract.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	pull, stop := iter.Pull2(cfg.Jobs)
	defer stop()
	e := newEngine(ctx, &cfg, pull)
	if len(cfg.PoolChanges) > 0 {
		if err := sojourn.FeaturePools.Check(e.supports); err != nil {
			return nil, fmt.Errorf("sim: the policy cannot change pools: %w", err)
		}
	}
	if err := e.run(); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// An engine is the state of a run, and does everything that is due; see driver for the
// layers below it.
type engine struct {
	faults
	void    []sojourn.JobID      // scratch
	victims []sojourn.Preemption // scratch
	idle    int                  // see maxIdle
	pools   []sojourn.Event      // what is left of Config.PoolChanges
}

// newEngine returns the state before the first event.
func newEngine(ctx context.Context, cfg *Config, pull func() (*Job, error, bool)) *engine {
	b := newBooks(newMachines(newDriver(ctx, cfg)))
	a := arrivals{books: b, pull: pull, benches: make([]bench, len(b.free))}
	e := &engine{faults: newFaults(attempts{arrivals: a, reports: heap.New(moment.before, moment.prefix)})}
	e.running.Near = e.touch
	e.pools = cfg.PoolChanges
	if !cfg.NoAudit && cfg.Gangs == nil {
		e.audit = newAudit(&e.books)
	}
	return e
}

// run runs the policy to the end.
func (e *engine) run() error {
	for id := range e.slots {
		if e.gangs != nil { // they come and go
			break
		}
		if err := e.addSlot(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	if e.audit != nil {
		e.audit.capacityChanged()
	}
	if err := e.read(); err != nil {
		return err
	}
	for {
		if err := e.stopped(); err != nil {
			return err
		}
		at, ok := e.nextInstant()
		if !ok {
			break
		}
		e.advance(at)
		if err := e.instant(); err != nil {
			return err
		}
	}
	e.conclude()
	return nil
}

// nextInstant returns the next instant at which something happens. It reports
// false if the run is over.
func (e *engine) nextInstant() (sojourn.Time, bool) {
	if e.next == nil && (len(e.jobs) == 0 || e.idle > maxIdle) {
		return 0, false
	}
	at := never
	if first, ok := e.running.First(); ok {
		at = first
	}
	for _, h := range [...]*heap.Heap[moment]{e.reports, e.changes} {
		if m, ok := h.MinKey(); ok {
			at = min(at, m.at)
		}
	}
	if m, ok := e.nextTransfer(); ok {
		at = min(at, m.at)
	}
	if len(e.script) > 0 {
		at = min(at, e.script[0].At)
	}
	if e.next != nil {
		at = min(at, e.next.At)
	}
	if len(e.pools) > 0 {
		at = min(at, e.pools[0].At)
	}
	if len(e.unreleased) > 0 {
		at = min(at, e.unreleased[0].told.Release)
	}
	if len(e.growing) > 0 {
		at = min(at, max(e.growing[0].grows, e.now))
	}
	if wake, ok := e.nextWake(); ok {
		at = min(at, max(wake, e.now))
	}
	return at, at < never
}

// advance moves the clock.
func (e *engine) advance(at sojourn.Time) {
	e.tally.advance(e.now, at)
	e.now = at
}

// instant does everything that is due now, in the order of the same-instant rule.
func (e *engine) instant() error {
	before, done := e.res.Attempts, e.res.Finished
	if err := e.endTransfers(); err != nil {
		return err
	}
	for id, ok := e.running.Pop(e.now); ok; id, ok = e.running.Pop(e.now) {
		if err := e.end(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	for m, ok := e.reports.MinKey(); ok && m.at == e.now; m, ok = e.reports.MinKey() {
		id, _ := e.reports.Min()
		if err := e.reportProgress(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	if err := e.changeNodes(); err != nil {
		return err
	}
	if e.res.Finished > done {
		if err := e.retest(); err != nil {
			return err
		}
	}
	for ; len(e.pools) > 0 && e.pools[0].At == e.now; e.pools = e.pools[1:] {
		if err := e.observe(e.pools[0]); err != nil {
			return fmt.Errorf("sim: the policy does not change a pool: %w", err)
		}
	}
	if err := e.growDue(); err != nil {
		return err
	}
	e.enterDue()
	for e.next != nil && e.next.At == e.now {
		if err := e.arrive(); err != nil {
			return err
		}
	}
	if err := e.settle(); err != nil {
		return err
	}
	e.lookForVoid()
	if e.net != nil {
		if id, ok := e.net.settle(e.now); !ok {
			return outOfRange(&e.slots[id])
		}
	}
	e.idle++
	if _, ok := e.nextTransfer(); ok || e.next != nil || len(e.growing) > 0 || e.running.Len() > 0 || e.res.Attempts > before {
		e.idle = 0
	}
	return nil
}

// settle offers the free slots, and offers them again as long as the policy wakes now
// or wants attempts killed.
func (e *engine) settle() error {
	killed, kills, ticks := 0, 0, 0
	for round := 0; ; round++ {
		if e.wakeIsDue() {
			if ticks++; ticks > maxTicks {
				return e.breach("wakes again and again: %d times at one instant", maxTicks)
			}
			if err := e.tell(sojourn.Event{Kind: sojourn.Tick}); err != nil {
				return err
			}
		} else if round > 0 && killed == 0 {
			return nil
		}
		if err := e.offer(); err != nil {
			return err
		}
		var err error
		if killed, err = e.preempt(); err != nil {
			return err
		}
		if kills += killed; kills > len(e.slots)+maxTicks {
			return e.breach("asked for %d attempts to be killed at one instant, on %d slots", kills, len(e.slots))
		}
	}
}

// lookForVoid records which promises have become void.
func (e *engine) lookForVoid() {
	if e.promiser == nil {
		return
	}
	e.void = e.promiser.AppendVoid(e.void[:0])
	for _, id := range e.void {
		j := e.jobs[id]
		if j == nil || j.record.Void != "" {
			continue
		}
		j.record.Void, _ = e.promiser.Void(id)
		e.res.Void++
	}
}
