package pfsp

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Options configure a [Policy]. The zero value is the default. A snapshot may be restored
// under another FairLimit, NoGate, MinProgress or UpdateInterval, and another size of the Reserve.
type Options struct {
	// FairLimit is K, FAIR_LIMIT in Algorithm 3: how many tasks of each phase may start
	// out of turn, so that a job shows early whether it works and how long its tasks take.
	// Nil means 2, the first value that the paper tries; 0 means none, which is best if all
	// sizes that are told are exact.
	FairLimit *int

	// NoGate starts these tasks before anything else, as the paper does. By default one
	// of them may start only if every phase that waits for a slot and comes before it in
	// the virtual order has slack to spare. Without this rule no constant bounds how late
	// a job can be (see the package comment). It is for research.
	NoGate bool

	// Order says which phase is served. The default is Protective, H-PFSP.
	Order Order

	// Late says how to serve phases that have ended in the virtual cluster but not in
	// reality. LateDefault serves phases of exact sizes by LateFirst, and then phases whose
	// sizes are estimates by LateShare. It is for research.
	Late vqueue.Late

	// DefaultTaskTime is how long a task without an estimate is assumed to take until the
	// phase has finished some. Zero means the mean time of the tasks of the phases that
	// have finished on that class of slots, as in the paper (eq. 18), and one minute
	// until there is any. The shape of Figure 5 depends on it.
	DefaultTaskTime time.Duration

	// Alpha is the weight of the estimate so far in the exponentially weighted
	// moving average of eq. (2), in [0, 1), rounded to a multiple of 2^-16. Zero
	// means the mean of all tasks of the phase that have finished; the paper gives
	// no value.
	Alpha float64

	// MinProgress is the progress, in (0, 1], below which a report on a running attempt
	// is ignored. Zero means 0.02, as in the paper (Section II-B).
	MinProgress float64

	// UpdateInterval is the least time between two estimations of a phase (Algorithm 1).
	// Zero means none: a phase is estimated again whenever the number of its finished
	// tasks has doubled.
	UpdateInterval time.Duration

	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for
	// short tasks and for phases that run little: see package kit/reserve. The number of
	// slots is rounded to the nearest whole number, halves up, and is less than all
	// slots. Zero means no reserve. Without Counted the promise is void.
	Reserve float64

	// Counted makes the reserve count which tasks hold the slots, and gives the virtual
	// cluster all slots except the reserved ones: the promise then holds with that number of
	// slots. Short jobs wait longer.
	Counted bool
}

// Order says which phase is served, apart from late ones and from tasks that are
// started out of turn.
type Order uint8

const (
	// Protective serves the phase with the least work left among those whose service
	// delays no other phase beyond its virtual end: PFSP.
	Protective Order = iota
	// FSP serves the phase that ends first in the virtual cluster.
	FSP
)

var orderNames = [...]string{Protective: "protective", FSP: "fsp"}

// String returns "protective" or "fsp".
func (o Order) String() string { return option.Name("Order", orderNames[:], o) }

// MarshalText implements encoding.TextMarshaler.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (o *Order) UnmarshalText(text []byte) error {
	return option.SetName(o, "order", orderNames[:], text)
}

type member = inside.Member

// settings are Options as the policy computes with them.
type settings struct {
	fairLimit   int
	noGate      bool
	order       Order
	late        vqueue.Late
	taskTime    time.Duration // 0: learn
	alpha       uint64        // in 2^-16
	minProgress uint16        // in 1/10000
	interval    time.Duration
	kept        reserve.Options
	member
}

// Supports implements [sojourn.Supporter] for the policy: all features, whatever the options.
func (*settings) Supports() sojourn.Features { return option.Features | sojourn.FeatureParallelism }

// maxFairLimit bounds FairLimit: there is a queue for each number of started tasks
// below it.
const maxFairLimit = 1 << 16

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("pfsp",
		option.Pointed(o.FairLimit, func(n int) error { return option.Range("FairLimit", n, 0, maxFairLimit) }),
		option.Choice("Order", o.Order),
		option.Choice("Late", o.Late),
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0),
		option.Want(o.Alpha >= 0 && o.Alpha < 1, "Alpha", o.Alpha, "0 to below 1"),
		option.Range("MinProgress", o.MinProgress, 0, 1),
		option.AtLeast("UpdateInterval", o.UpdateInterval, 0),
		option.Range("Reserve", o.Reserve, 0, 1))
}

// settle returns valid options with their defaults.
func (o *Options) settle() settings {
	s := settings{
		fairLimit: 2, noGate: o.NoGate, order: o.Order, late: o.Late, taskTime: o.DefaultTaskTime,
		alpha:       uint64(math.Floor(float64(o.Alpha*(1<<16)) + 0.5)),
		minProgress: 200, interval: o.UpdateInterval,
		kept: reserve.Options{Share: reserve.ShareOf(o.Reserve), Counted: o.Counted},
	}
	if o.FairLimit != nil {
		s.fairLimit = *o.FairLimit
	}
	if o.MinProgress > 0 {
		s.minProgress = uint16(math.Ceil(float64(o.MinProgress * 10000)))
	}
	return s
}
