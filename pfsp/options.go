package pfsp

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/enum"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Options configure a [Policy]. The zero value is the default. A snapshot may be restored
// under another FairLimit, NoGate, MinProgress or UpdateInterval.
type Options struct {
	// FairLimit is K, the number of tasks of each phase that may be started out of
	// turn, so that a job shows early whether it works and how long its tasks take:
	// FAIR_LIMIT in Algorithm 3. Nil means 2, the first value that the paper tries;
	// 0 means none.
	FairLimit *int

	// NoGate starts those tasks before anything else, as the paper does. By default
	// one may be started only if every phase before it in the virtual order that
	// waits for a slot has slack to spare: without that there is no constant bound
	// on how late a job can be (see the package comment).
	NoGate bool

	// Order says which phase is served. The default is Protective, H-PFSP.
	Order Order

	// Late says how phases are served that have ended in the virtual cluster but
	// not in reality. LateDefault serves those of exact sizes by LateFirst, and then those
	// whose sizes are estimates by LateShare.
	Late Late

	// DefaultTaskTime is how long a task without an estimate is assumed to take until the
	// phase has finished some. Zero means the mean time of the tasks of the phases that
	// have finished on that class of slots, as in the paper (eq. 18), and one minute
	// before there is any. Figure 5 needs it fixed: its shape depends on it.
	DefaultTaskTime time.Duration

	// Alpha is the weight of the estimate so far in the exponentially weighted
	// moving average of eq. (2), in [0, 1), rounded to a multiple of 2^-16. Zero
	// means the mean of all tasks of the phase that have finished; the paper gives
	// no value.
	Alpha float64

	// MinProgress is the progress below which a report on a running attempt tells
	// nothing, in (0, 1]. Zero means 0.02, as in the paper (Section II-B).
	MinProgress float64

	// UpdateInterval is the least time between two re-estimations of a phase
	// (Algorithm 1). Zero means none: a phase is estimated anew whenever the number
	// of its finished tasks has doubled.
	UpdateInterval time.Duration
}

// Order says which phase is served, apart from late ones and from tasks that are
// started out of turn.
type Order uint8

const (
	// Protective serves the phase with the least work left among those whose service
	// delays nobody beyond its virtual end: PFSP.
	Protective Order = iota
	// FSP serves the phase that ends first in the virtual cluster.
	FSP
)

// Late says how late phases are served; always before those that are not late.
type Late = vqueue.Late

// What [Late] may be.
const (
	LateDefault = vqueue.LateDefault // exact sizes by LateFirst, then estimated ones by LateShare
	LateFirst   = vqueue.LateFirst   // one after the other, in the order of their virtual ends
	LateShare   = vqueue.LateShare   // together: the one with the fewest running tasks per weight first, as in PSBS
)

var orderNames = [...]string{Protective: "protective", FSP: "fsp"}

// String returns "protective" or "fsp".
func (o Order) String() string { return enum.Name("Order", orderNames[:], o) }

// MarshalText implements encoding.TextMarshaler.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (o *Order) UnmarshalText(text []byte) error { return enum.Set(o, "order", orderNames[:], text) }

// settings are Options as the policy computes with them.
type settings struct {
	fairLimit   int
	noGate      bool
	order       Order
	late        Late
	taskTime    time.Duration // 0: learn
	alpha       uint64        // in 2^-16
	minProgress uint16        // in 1/10000
	interval    time.Duration
}

// maxFairLimit bounds FairLimit: there is a queue for each number of started tasks
// below it.
const maxFairLimit = 1 << 16

// resolve checks the options and fills in the defaults.
func (o *Options) resolve() (settings, error) {
	s := settings{
		fairLimit: 2, noGate: o.NoGate, order: o.Order, late: o.Late, taskTime: o.DefaultTaskTime,
		minProgress: 200, interval: o.UpdateInterval,
	}
	if o.FairLimit != nil {
		s.fairLimit = *o.FairLimit
	}
	switch {
	case s.fairLimit < 0 || s.fairLimit > maxFairLimit:
		return s, fmt.Errorf("pfsp: the fair limit %d is not from 0 to %d", s.fairLimit, maxFairLimit)
	case int(o.Order) >= len(orderNames):
		return s, fmt.Errorf("pfsp: unknown order %v", o.Order)
	case o.DefaultTaskTime < 0:
		return s, fmt.Errorf("pfsp: negative default task time %v", o.DefaultTaskTime)
	case !(o.Alpha >= 0 && o.Alpha < 1):
		return s, fmt.Errorf("pfsp: alpha %v is not in [0, 1)", o.Alpha)
	case !(o.MinProgress >= 0 && o.MinProgress <= 1):
		return s, fmt.Errorf("pfsp: the least progress %v is not in (0, 1]", o.MinProgress)
	case o.UpdateInterval < 0:
		return s, fmt.Errorf("pfsp: negative update interval %v", o.UpdateInterval)
	}
	if err := option.Choice("Late", o.Late); err != nil {
		return s, fmt.Errorf("pfsp: %w", err)
	}
	s.alpha = uint64(math.Floor(float64(o.Alpha*(1<<16)) + 0.5))
	if o.MinProgress > 0 {
		s.minProgress = uint16(math.Ceil(float64(o.MinProgress * 10000)))
	}
	return s, nil
}
