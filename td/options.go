package td

import (
	"cmp"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options configure a [Policy]. The zero value is the default. A snapshot may be restored
// under another L, H, HotPolicy, MaxCoScheduled, Demand, DemandOf or DefaultTaskTime.
type Options struct {
	// L is the lower bound: a co-scheduled job should hold L times its demand in
	// slots, rounded up. It is above 0 and at most 1, rounded to a millionth. Zero
	// means 0.7 [Section V-B].
	L float64

	// H is the upper bound: a job that holds H times its demand gets no further slot,
	// unless the slot would stay idle. H is at least 1 and at most 1024, rounded to a
	// millionth. Zero means that it follows from L and the co-scheduled jobs, by
	// Formula (1), and is at least 1. The paper's experiments have 1.3 [Section V].
	H float64

	// Theta is the number of remote reads that make a node a hot spot: while this many
	// tuples of the node are in the hot queue, no further task reads from it. The paper
	// leaves Theta open. Zero means 4, or 1 with SelfTune: reads that share the bandwidth
	// of a node are all slow, and one after the other they end sooner.
	Theta int

	// SplitTime is how long it takes to move the input of one task over an idle
	// network: the size of a split over the bandwidth of a node. A read that was
	// assigned counts for Theta times as long [Section IV-A2]. Zero means SplitSize
	// over Bandwidth.
	SplitTime time.Duration

	// SplitSize is the size of the input of one task, in bytes. Zero means 64 MiB
	// [Section V].
	SplitSize int64

	// Bandwidth is the network bandwidth of a node, in bytes per second. Zero means
	// 12.5 million, which is 100 Mbit/s, or the part of 1 Gbit/s that other traffic
	// leaves.
	Bandwidth float64

	// HotPolicy says what happens when a slot could only read from hot spots. The
	// default is Relaxed.
	HotPolicy HotPolicy

	// MaxCoScheduled is how many jobs may be adult or teenaged at a time. Zero means
	// no limit: Formula (3) sets one already.
	MaxCoScheduled int

	// Demand is the number of slots that each job asks for. It is limited by the number of
	// its tasks, by its Parallelism and by the number of the slots. Zero means 12 % of its
	// tasks, rounded, but at least 5 % and at most 35 % of the slots: Section V-B keeps
	// demands at most 35 of 100 slots.
	Demand uint32

	// DemandOf, unless nil, returns the demand of a job instead, limited likewise; 0 is Demand. It always
	// returns the same for the same job.
	DemandOf func(*sojourn.Job) uint32

	// DefaultTaskTime is how long a task without an estimate is assumed to take until
	// tasks of the job have run close to their input. Zero means one minute.
	DefaultTaskTime time.Duration

	// SelfTune is recommended. It applies the bounds only if they are useful, so that the
	// whole queue ends sooner. A job is raised to its lower bound only if it is late: it
	// would otherwise end later than with L times its demand in slots all the time. A job
	// may exceed its upper bound if the slot would otherwise read remotely. With
	// SelfTune, H is 1.3 and Theta is 1 unless set.
	SelfTune bool

	// AsPrinted follows Algorithms 1 to 3 literally as far as possible, for
	// comparison: see the package comment. Slots stay idle although tasks could run
	// on them. It is for research.
	AsPrinted bool
}

// A HotPolicy says what to do with a slot that could only read from hot spots.
type HotPolicy uint8

const (
	// Relaxed reads from the hot spot that has the fewest reads. No slot stays idle.
	Relaxed HotPolicy = iota
	// Strict leaves the slot idle until a read has ended, so that no node ever serves
	// more than Theta reads.
	Strict
)

var hotPolicyNames = []string{"relaxed", "strict"}

// String returns "relaxed" or "strict".
func (h HotPolicy) String() string { return option.Name("HotPolicy", hotPolicyNames, h) }

// MarshalText implements encoding.TextMarshaler.
func (h HotPolicy) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (h *HotPolicy) UnmarshalText(text []byte) error {
	return option.SetName(h, "policy of hot spots", hotPolicyNames, text)
}

// L and H are stored in millionths, so that bounds are compared in integers.
const million = 1_000_000

// maxH is the greatest H. A bound that large limits no job.
const maxH = 1024

// settings are options in the form in which they are used.
type settings struct {
	Options
	l, h     uint64        // in millionths; h is 0 if it is derived
	lifetime time.Duration // of a tuple in the hot queue
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("td",
		option.Want(o.L >= 0 && o.L <= 1, "L", o.L, "above 0 to 1, or 0 for 0.7"),
		option.OrZero(o.H, option.Want(o.H >= 1 && o.H <= maxH, "H", o.H, "1 to %d, or 0 to derive it", maxH)),
		option.Range("Theta", o.Theta, 0, math.MaxInt32),
		option.AtLeast("SplitTime", o.SplitTime, 0),
		option.AtLeast("SplitSize", o.SplitSize, 0),
		option.Range("Bandwidth", o.Bandwidth, 0, math.MaxFloat64),
		option.Choice("HotPolicy", o.HotPolicy),
		option.AtLeast("MaxCoScheduled", o.MaxCoScheduled, 0),
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0),
		option.Want(!o.SelfTune || !o.AsPrinted, "SelfTune", o.SelfTune, "false with AsPrinted"))
}

// settle returns valid options with their defaults.
func (o Options) settle() settings {
	s := settings{Options: o, l: 700_000, h: uint64(math.RoundToEven(o.H * million))}
	if o.L > 0 {
		s.l = max(1, uint64(math.RoundToEven(o.L*million)))
	}
	if o.SelfTune && s.h == 0 {
		s.h = 1_300_000
	}
	if s.Theta == 0 {
		s.Theta = 4
		if o.SelfTune {
			s.Theta = 1
		}
	}
	if s.SplitSize == 0 {
		s.SplitSize = 64 << 20
	}
	if s.Bandwidth == 0 {
		s.Bandwidth = 12.5e6
	}
	if s.SplitTime == 0 {
		t := math.RoundToEven(float64(s.SplitSize) / s.Bandwidth * float64(time.Second))
		s.SplitTime = time.Duration(max(1, min(t, math.MaxInt64/2)))
	}
	s.lifetime = math.MaxInt64
	if s.SplitTime <= math.MaxInt64/time.Duration(s.Theta) {
		s.lifetime = s.SplitTime * time.Duration(s.Theta)
	}
	return s
}

// taskTime returns the assumed mean time of a task before anything is known about it.
func (s *settings) taskTime(spec *sojourn.Job) time.Duration {
	if w := spec.Phases[0].Work(); w > 0 {
		return w / time.Duration(spec.Phases[0].Tasks)
	}
	return cmp.Or(s.DefaultTaskTime, option.DefaultTaskTime)
}

// demand returns how many of the slots a job asks for.
func (s *settings) demand(spec *sojourn.Job, slots int) int {
	size := spec.Phases[0].Tasks
	want := int(s.Demand)
	if s.DemandOf != nil {
		if own := int(s.DemandOf(spec)); own != 0 {
			want = own
		}
	}
	if want == 0 {
		want = int(min(max((int64(size)*12+50)/100, int64(slots)*5/100), int64(slots)*35/100))
	}
	if n := int64(spec.Parallelism); n > 0 {
		want = int(min(int64(want), n))
	}
	return max(1, min(want, size, slots))
}

// floor returns how many slots a job of the given demand should hold: L times the demand,
// rounded up.
func (s *settings) floor(demand int) int {
	return int((s.l*uint64(demand) + million - 1) / million)
}
