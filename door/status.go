package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// Status is what a door does at one instant.
type Status struct {
	InFlight int // requests that may be in the handler
	Running  int // requests that are
	Waiting  int
	Promised int // places in the line that are kept, those of requests whose bodies are being read included
	Admitted uint64
	Refused  uint64 // by this door; not those whose clients have gone
	Closed   bool
	Tenants  []TenantStatus // those that have most here first; at most 100
}

// TenantStatus is what a tenant has here.
type TenantStatus struct {
	Name                       string // as the policy knows it: see "Strangers" in the package comment
	Waiting, Running, Promised int
	Expect                     time.Duration // how long one more request would wait
}

// Status returns what the door does now. Expect of each tenant is asked by itself, so that no request waits for all of them.
func (d *Door) Status() Status {
	d.mu.Lock()
	d.expire(time.Now())
	d.sweep(false)
	st := Status{d.inFlight, d.running, d.waiting, d.promised, d.admitted, d.refused, d.closed, nil}
	list := make([]TenantStatus, 0, len(d.tenants))
	for _, t := range d.tenants { //sojourn:unordered sorted below
		list = append(list, TenantStatus{t.name, t.waiting, t.running, t.kept(), 0})
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b TenantStatus) int {
		return cmp.Or(b.Waiting+b.Running-a.Waiting-a.Running, cmp.Compare(a.Name, b.Name))
	})
	for _, t := range list[:min(len(list), 100)] {
		t.Expect = d.expectPool(t.Name)
		st.Tenants = append(st.Tenants, t)
	}
	return st
}

// SetInFlight changes how many requests may be in the handler. Those that are there go on, and no more are let in while they are as many
// (TestSetInFlightAndBack, TestLaws).
func (d *Door) SetInFlight(n int) error {
	if n < 1 || n > sojourn.MaxSlots {
		return fmt.Errorf("door: InFlight is %d: want 1 to %d", n, sojourn.MaxSlots)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.pool.SetSlots(n, sojourn.Slot{}); err != nil {
		return err
	}
	d.inFlight = n
	return nil
}

// Pause keeps requests of a tenant from being admitted, or lets them on again. What others are told leaves out a tenant
// that is paused, whether so or by [live.Pool.ChangePool]: then from a second on in which others were admitted before it
// (TestExpectBesideAPausedTenant, TestPausedElsewhere). The error is that of ChangePool, if the policy has no pools.
func (d *Door) Pause(tenant string, paused bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := poolName(tenant, d.o.Paths)
	if err := d.pool.ChangePool(name, func(p *sojourn.Pool) { p.Paused = paused }); err != nil {
		return err
	}
	d.setPaused(name, paused)
	return nil
}

// setPaused enters that a pool is paused, or is not.
func (d *Door) setPaused(name string, paused bool) {
	if paused {
		d.paused[name] = true
	} else {
		delete(d.paused, name)
	}
	for _, t := range d.tenants { //sojourn:unordered each by itself
		if t.waiting > 0 && !d.least.Contains(t.id) {
			t.tag = max(t.tag, d.at) // as in package fair: a pause earns nothing
		}
		d.stand(t)
	}
}

// askPaused looks up whether the pool of a tenant, or one around it, is paused, which others than the door may say as well.
func (d *Door) askPaused(name string) {
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		p, ok := d.pool.Settings(name[:i])
		if paused := ok && p.Paused; paused != d.paused[name[:i]] {
			d.setPaused(name[:i], paused)
		}
	}
}

// SetWeight changes the share of a tenant relative to others, which is 1 at first. The errors are those of Pause, and one for a weight out
// of range.
func (d *Door) SetWeight(tenant string, weight float64) error {
	return d.pool.ChangePool(poolName(tenant, d.o.Paths), func(p *sojourn.Pool) { p.Weight = weight })
}

// Close refuses requests that come, with 503, and waits until those that are here have left. If ctx ends first, those that wait are refused,
// and Close returns its cause. If NewFair has made the door, the contexts of those that are in the handler end, and Close waits for them
// as [live.Pool.Close] does. No goroutine of the door is left then. A server is to be shut down after its door (TestShutdown).
//
// A handler that closes the door by which it came would wait for itself: if ctx is that of its request, the error is [live.ErrDeadlock], and the
// door stays open (TestCloseInside).
func (d *Door) Close(ctx context.Context) error {
	if d.inside(ctx) {
		return fmt.Errorf("door: Close waits for the request that calls it: %w", live.ErrDeadlock)
	}
	d.mu.Lock()
	if !d.closed && d.waiting+d.running == 0 {
		close(d.empty)
	}
	d.closed = true
	d.mu.Unlock()
	var err error
	select {
	case <-d.empty:
	case <-ctx.Done():
		err = context.Cause(ctx)
		d.mu.Lock()
		for _, t := range d.tenants { //sojourn:unordered all of them are refused
			for _, p := range slices.Clone(t.line) { // send changes it
				if p.state == waits {
					d.send(p, ErrClosed, 0)
				}
			}
		}
		d.mu.Unlock()
	}
	if d.own {
		err = errors.Join(err, d.pool.Close(ctx))
	}
	return err
}
