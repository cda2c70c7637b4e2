package rtmr

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options configure a [Policy]. The zero value is the default: exact re-booking, in the
// order of deadlines. A snapshot may be restored under another RequireDeadline; all other
// options must be the same, since promises rest on them.
type Options struct {
	// Booking says how the policy knows when slots become available. The default is
	// Rebook; the paper has Chain. It is for research.
	Booking Booking

	// Order says which of the admitted jobs goes first. The default is EDF
	// [Section IV-B].
	Order Order

	// OnePosition admits a job at the place that Order gives it, or not at all, as
	// the paper does. By default the policy tries other places as well. This
	// accepts more jobs and makes acceptance monotone: a job that would be accepted
	// with one deadline is accepted with any later one. FIFO has only one place.
	// It is for research.
	OnePosition bool

	// Feedback replaces estimates by measured values when a job finishes, for
	// this job and the jobs behind it [Algorithms V and VI], where these are less. It is for Chain;
	// Rebook always uses measured values. It is for research.
	Feedback bool

	// Delta is the least difference between the end of a job and its estimate that
	// causes Feedback. Zero means any difference; the paper takes "a typical map
	// task execution time" [Section V]. It is for research.
	Delta time.Duration

	// Latency is added to the time of every task. It is the longest time for which a
	// free slot may stay idle before its next task, such as the period of heartbeats.
	// With zero, the default, the guarantee holds only if free slots are offered at
	// once.
	Latency time.Duration

	// RequireDeadline refuses jobs without a deadline, and revisions that remove the
	// deadline. By default such jobs are accepted, and run behind all jobs with a
	// deadline.
	RequireDeadline bool

	// MapRate and ReduceRate are the longest times to fetch and process one MiB of
	// input in a map and in a reduce task (c_m^max and c_r^max of Section IV-A, which
	// gives no values). They are used for phases that have sizes but no estimates.
	// Zero means unknown: without Learn, such jobs are not supported.
	MapRate, ReduceRate time.Duration

	// StartUp is the part of a task's time that does not depend on its input. The
	// paper has no such part; with a pure rate, tiny tasks dominate it. Zero is
	// the default.
	StartUp time.Duration

	// Ratio is the largest ratio of a job's intermediate data to its input (eta of
	// Section IV-A). It is used for reduce phases without sizes. Zero means
	// unknown.
	Ratio float64

	// Skew is the greatest factor between the intermediate data of a reduce task and
	// its even share. Zero means that one task may get all of the data: only this
	// needs no assumption. The paper takes 1 without saying so.
	Skew float64

	// Learn raises MapRate, ReduceRate, StartUp and Ratio to the values measured
	// on finished tasks [Section IV-A]. They never fall. Jobs that were admitted
	// keep the estimates of their admission.
	Learn bool

	// PaperReservation lets a reduce task start while the jobs before it need as many
	// slots as are free, as line 10 of Algorithm IV does. Accepted jobs can then miss
	// their deadlines. It is for research.
	PaperReservation bool
}

// A Booking is a way to know when slots become available. It is for research.
type Booking uint8

const (
	// Rebook builds the vectors of slots for each decision, from the running attempts
	// and the tasks that are left.
	Rebook Booking = iota
	// Chain keeps the vectors of each job, as the paper does.
	Chain
)

var bookingNames = [...]string{Rebook: "rebook", Chain: "chain"}

// String returns "rebook" or "chain".
func (b Booking) String() string { return option.Name("Booking", bookingNames[:], b) }

// MarshalText implements encoding.TextMarshaler.
func (b Booking) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (b *Booking) UnmarshalText(text []byte) error {
	return option.SetName(b, "booking", bookingNames[:], text)
}

// An Order is an order of admitted jobs.
type Order uint8

const (
	EDF  Order = iota // the earliest deadline first
	FIFO              // in the order of arrival
)

var orderNames = [...]string{EDF: "edf", FIFO: "fifo"}

// String returns "edf" or "fifo".
func (o Order) String() string { return option.Name("Order", orderNames[:], o) }

// MarshalText implements encoding.TextMarshaler.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (o *Order) UnmarshalText(text []byte) error {
	return option.SetName(o, "order", orderNames[:], text)
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("rtmr",
		option.Choice("Booking", o.Booking),
		option.Choice("Order", o.Order),
		option.Want(o.Booking == Chain || !o.Feedback, "Feedback", o.Feedback, "false, since Booking is %v, which always knows what came true", o.Booking),
		option.AtLeast("Delta", o.Delta, 0),
		option.Want(o.Feedback || o.Delta <= 0, "Delta", o.Delta, "0 without Feedback"),
		option.AtLeast("Latency", o.Latency, 0),
		option.AtLeast("MapRate", o.MapRate, 0),
		option.AtLeast("ReduceRate", o.ReduceRate, 0),
		option.AtLeast("StartUp", o.StartUp, 0),
		option.Range("Ratio", o.Ratio, 0, math.MaxUint32),
		option.OrZero(o.Skew, option.Want(o.Skew >= 1 && o.Skew <= math.MaxUint32, "Skew", o.Skew, "1 to 2^32-1, or 0")))
}

// place returns the place of a job of that deadline.
func (o *Options) place(deadline int64) int64 {
	if o.Order == FIFO {
		return 0
	}
	return deadline
}

// virtual adds the virtual map.
func (o *Options) virtual(en *entry) {
	if o.Booking == Chain && en.tasks[maps] == 0 {
		en.tasks[maps], en.eps[maps] = 1, 0
	}
}
