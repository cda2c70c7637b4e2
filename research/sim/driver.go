package sim

import (
	"context"
	"fmt"

	"github.com/sojourn-sched/sojourn"
)

// A driver is the part of a run that deals with the policy: it has the clock, reports
// events and checks answers. The types of a run are layers, each of which embeds the one
// below it and knows nothing of those above:
//
//	engine      what happens at one instant, in its order; offers, kills
//	  faults    nodes that fail and recover, what is lost with them
//	  attempts  from the assignment to the end, with the input on its way
//	  arrivals  the workload, and what the policy is told of it
//	  books     jobs and phases, the tally, the fairness audit, the result
//	  machines  nodes and slots, what holds them, the network
//	  driver    the policy and the clock
type driver struct {
	cfg       *Config
	ctx       context.Context // of the run
	policy    sojourn.Policy
	seeker    sojourn.Seeker    // nil if the policy is none
	preemptor sojourn.Preemptor // nil if the policy is none or is not asked
	waker     sojourn.Waker     // nil if the policy is none
	promiser  sojourn.Promiser  // nil if the policy is none
	admitter  sojourn.Admitter  // nil if the policy is none, or rejected jobs are not offered again
	supports  sojourn.Features  // of the policy

	now     sojourn.Time // never decreases
	events  uint64       // that the policy observed
	version uint64       // of the policy: it changes with events and offers alone, and each adds one
	wake    answer       // of the waker
	barren  []uint64     // by class: the version whose seeker named no slot there
	steps   int          // see stopped
}

// An answer is what NextWake returned, and the version of the policy that did.
type answer struct {
	at      sojourn.Time
	any     bool
	version uint64
}

// newDriver returns the driver of a policy that has observed nothing.
func newDriver(ctx context.Context, cfg *Config) driver {
	if cfg.Gangs != nil {
		unreserved(cfg.Policy)
	}
	d := driver{cfg: cfg, ctx: ctx, policy: cfg.Policy, supports: sojourn.Supports(cfg.Policy), version: 1}
	d.seeker, _ = sojourn.As[sojourn.Seeker](cfg.Policy)
	d.waker, _ = sojourn.As[sojourn.Waker](cfg.Policy)
	d.promiser, _ = sojourn.As[sojourn.Promiser](cfg.Policy)
	if cfg.Retest {
		d.admitter, _ = sojourn.As[sojourn.Admitter](cfg.Policy)
	}
	if cfg.Preempt {
		d.preemptor, _ = sojourn.As[sojourn.Preemptor](cfg.Policy)
	}
	return d
}

// stopped returns an error if the run must end; it checks ctx now and then. Everything
// that may take long calls it: instants, and refusals at one instant.
func (d *driver) stopped() error {
	if d.steps++; d.steps%4096 == 1 && d.ctx.Err() != nil {
		return fmt.Errorf("sim: stopped at %v: %w", d.now, context.Cause(d.ctx))
	}
	return nil
}

// nextWake returns when the policy wants to be woken; false if it does not. It asks again only if the answer may
// have changed: see [sojourn.Waker].
func (d *driver) nextWake() (sojourn.Time, bool) {
	if d.waker == nil {
		return 0, false
	}
	if d.wake.version != d.version {
		at, any := d.waker.NextWake()
		d.wake = answer{at, any, d.version}
	}
	return d.wake.at, d.wake.any
}

func (d *driver) wakeIsDue() bool {
	at, ok := d.nextWake()
	return ok && at <= d.now
}

// seek returns the slot of a class that the seeker wants to be offered; false if it wants none. After such an
// answer it asks again only if that may have changed: see [sojourn.Seeker].
func (d *driver) seek(c sojourn.Class) (sojourn.SlotID, bool) {
	for int(c) >= len(d.barren) {
		d.barren = append(d.barren, 0)
	}
	if d.barren[c] == d.version {
		return 0, false
	}
	id, ok := d.seeker.Seek(c)
	if !ok {
		d.barren[c] = d.version
	}
	return id, ok
}

// tell reports an event that the policy must accept.
func (d *driver) tell(ev sojourn.Event) error {
	ev.At = d.now
	if err := d.observe(ev); err != nil {
		return &PolicyError{d.now, fmt.Sprintf("refused %v", ev), err}
	}
	return nil
}

// observe reports an event of this instant.
func (d *driver) observe(ev sojourn.Event) error {
	ev.At = d.now
	d.version++
	err := d.policy.Observe(ev)
	if err == nil {
		d.events++
	}
	if d.cfg.Hooks.Event != nil {
		d.cfg.Hooks.Event(ev, err)
	}
	return err
}

// breach returns the error for an answer that breaks the contract.
func (d *driver) breach(format string, args ...any) error {
	return &PolicyError{At: d.now, What: fmt.Sprintf(format, args...)}
}
