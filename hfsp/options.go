package hfsp

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/enum"
	"github.com/sojourn-sched/sojourn/internal/locality"
)

// Options configure a [Policy]. The zero value is the default.
type Options struct {
	// TrainingTasks is t, how many tasks of a phase are run to estimate the time of
	// the others. A phase of fewer tasks is tiny: it counts as of size 0 and is not
	// trained, however long its tasks take: only an estimator that knows its size
	// beforehand changes that. Zero means 5 [HFSP, section IV-A].
	TrainingTasks int

	// TrainingSlots is T, how many slots of each class training tasks may hold at a
	// time by their priority; 0 gives them none. Nil means 10, as in HFSP, section
	// IV-A, for the 40 map and the 20 reduce slots there, and in clusters of other
	// sizes a quarter of the slots, but at least 10, but never more than half of them.
	TrainingSlots *int

	// Delta is how long a training task has to run until its progress says how long
	// it will take: training does not wait for its end. Zero means one minute [HFSP,
	// section IV-A].
	Delta time.Duration

	// Xi is the factor, from 1 to 2^32, by which sizes are assumed to be larger until
	// a phase was trained: large values make untrained jobs wait. Zero means 1
	// [HFSP, section IV-A].
	Xi float64

	// DefaultTaskTime is s_0, the time that a task is assumed to take until the first
	// job has completed. Zero means one minute, as in the authors' implementation.
	DefaultTaskTime time.Duration

	// Estimator, unless nil, returns a new estimator, which replaces the one of the
	// paper, a [Trainer] of Xi and DefaultTaskTime. That one ignores what jobs say of
	// themselves, Phase.Estimate and Phase.Estimates: [NewOracle] believes it.
	Estimator func() Estimator

	// Late says how phases are served that were complete in the virtual cluster
	// before they are in reality. The default, LateShare, is not the paper's: see the
	// package comment.
	Late Late

	// Train says which phase is trained first.
	Train Train

	// SizeUpdate says what becomes of the virtual size when training ends.
	SizeUpdate SizeUpdate

	// VirtualCluster says how the slots are shared in the virtual cluster.
	VirtualCluster VirtualCluster

	// Priority says what the weight of a job does.
	Priority Priority

	// Preemption says whether running tasks are killed for smaller jobs. What is to
	// be killed is only asked for: see [sojourn.Preemptor]. A driver that can kill asks
	// with Wait too: see [Policy.AppendPreemptions] for the one case.
	Preemption Preemption

	// KillFraction spares tasks that have run for more than this fraction of the
	// expected time of their phase's tasks. Zero means that none is spared, as in
	// the paper; .25 does better in all that was measured: see the package comment.
	KillFraction float64

	// KillOnce spares tasks that were killed before.
	KillOnce bool

	// EarlySlots is how many slots of each class may be held by tasks that wait there
	// for the phase before: those that slow start (Phase.After) lets start early. Nil
	// means half of the slots, none of a single one. The paper has no such limit: see the
	// package comment. From EarlyDelay after it became ready, a phase that is held back
	// is given the slots for which there is no other use. Zero means ten minutes.
	//
	// Where a phase comes after one of the same class of slots or a higher one, early
	// tasks never get the last slot of its class in their turn, whatever the limit: the
	// phases that they wait for might never run. Maps and reduces are no such case.
	EarlySlots *int
	EarlyDelay time.Duration

	// NodeDelay is D1, how long a phase whose turn it is lets others go first in wait
	// of a slot on the node of an input, and RackDelay is D2, how long it then waits
	// for one on its rack [Zaharia et al., Delay scheduling, EuroSys 2010]. Zero means
	// not at all.
	NodeDelay, RackDelay time.Duration
}

// Late says how late phases are served; always before those that are not late.
type Late uint8

const (
	LateShare Late = iota // together: the one with the fewest running tasks per weight first, as in PSBS
	LateFirst             // one after the other, in the order of their virtual ends
)

// Train says which of several phases is trained first.
type Train uint8

const (
	SmallestFirst Train = iota // the one of the least initial size [HFSP, algorithm 1]
	FinishStarted              // the one of which most tasks were started, as the authors' implementation does
)

// SizeUpdate says what becomes of the virtual size v of a phase when its initial
// size S_i is replaced.
type SizeUpdate uint8

const (
	// KeepAge changes v by as much as the size of the whole phase changes, but not
	// below 0: what it has aged so far is kept.
	KeepAge SizeUpdate = iota
	// Literal sets v to S_f, as the paper has it: the phase starts anew.
	Literal
)

// VirtualCluster says how the slots are shared in the virtual cluster.
type VirtualCluster uint8

const (
	// Pure shares all slots by weight, without regard to how many slots a phase
	// could use. The order of virtual ends never changes but by a new estimate.
	Pure VirtualCluster = iota
	// MaxMin gives no phase more slots than it has tasks, and shares the rest
	// [HFSP, section III-B]. Its costs grow linearly with the number of phases.
	MaxMin
)

// Priority says what the weight of a job does in the virtual cluster.
type Priority uint8

const (
	// Weights shares the virtual cluster by weight (generalised processor sharing).
	Weights Priority = iota
	// SpeedModifier shares it equally, and lets a job age faster by its weight:
	// the paper's simple approach, in which one job's weight takes nothing from the
	// others.
	SpeedModifier
)

// Preemption says what happens to running tasks when a smaller job comes first.
type Preemption uint8

const (
	Wait Preemption = iota // they run to their end
	Kill                   // they are to be killed, the youngest of the job of the largest virtual size first
)

var (
	lateNames    = [...]string{LateShare: "share", LateFirst: "first"}
	trainNames   = [...]string{SmallestFirst: "smallest-first", FinishStarted: "finish-started"}
	updateNames  = [...]string{KeepAge: "keep-age", Literal: "literal"}
	clusterNames = [...]string{Pure: "pure", MaxMin: "max-min"}
	prioNames    = [...]string{Weights: "weights", SpeedModifier: "speed-modifier"}
	preemptNames = [...]string{Wait: "wait", Kill: "kill"}
)

// String returns "share" or "first".
func (l Late) String() string { return enum.Name("Late", lateNames[:], l) }

// MarshalText implements encoding.TextMarshaler.
func (l Late) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (l *Late) UnmarshalText(text []byte) error { return enum.Set(l, "late rule", lateNames[:], text) }

// String returns "smallest-first" or "finish-started".
func (t Train) String() string { return enum.Name("Train", trainNames[:], t) }

// MarshalText implements encoding.TextMarshaler.
func (t Train) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (t *Train) UnmarshalText(text []byte) error {
	return enum.Set(t, "order of training", trainNames[:], text)
}

// String returns "keep-age" or "literal".
func (u SizeUpdate) String() string { return enum.Name("SizeUpdate", updateNames[:], u) }

// MarshalText implements encoding.TextMarshaler.
func (u SizeUpdate) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (u *SizeUpdate) UnmarshalText(text []byte) error {
	return enum.Set(u, "size update", updateNames[:], text)
}

// String returns "pure" or "max-min".
func (v VirtualCluster) String() string { return enum.Name("VirtualCluster", clusterNames[:], v) }

// MarshalText implements encoding.TextMarshaler.
func (v VirtualCluster) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (v *VirtualCluster) UnmarshalText(text []byte) error {
	return enum.Set(v, "virtual cluster", clusterNames[:], text)
}

// String returns "weights" or "speed-modifier".
func (p Priority) String() string { return enum.Name("Priority", prioNames[:], p) }

// MarshalText implements encoding.TextMarshaler.
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (p *Priority) UnmarshalText(text []byte) error {
	return enum.Set(p, "priority", prioNames[:], text)
}

// String returns "wait" or "kill".
func (p Preemption) String() string { return enum.Name("Preemption", preemptNames[:], p) }

// MarshalText implements encoding.TextMarshaler.
func (p Preemption) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (p *Preemption) UnmarshalText(text []byte) error {
	return enum.Set(p, "preemption", preemptNames[:], text)
}

// Check returns what is wrong with the options, or nil.
func (o *Options) Check() error {
	bad := func(format string, args ...any) error { return fmt.Errorf("hfsp: "+format, args...) }
	switch {
	case o.TrainingTasks < 0 || o.TrainingTasks > math.MaxInt32:
		return bad("%d training tasks", o.TrainingTasks)
	case o.TrainingSlots != nil && *o.TrainingSlots < 0:
		return bad("%d training slots", *o.TrainingSlots)
	case o.EarlySlots != nil && *o.EarlySlots < 0:
		return bad("%d early slots", *o.EarlySlots)
	case o.EarlyDelay < 0:
		return bad("negative early delay %v", o.EarlyDelay)
	case o.Delta < 0:
		return bad("negative delta %v", o.Delta)
	case o.Xi != 0 && !(o.Xi >= 1 && o.Xi < 1<<32):
		return bad("xi %v is not in [1, 2^32)", o.Xi)
	case o.DefaultTaskTime < 0:
		return bad("negative default task time %v", o.DefaultTaskTime)
	case int(o.Late) >= len(lateNames):
		return bad("unknown late rule %v", o.Late)
	case int(o.Train) >= len(trainNames):
		return bad("unknown order of training %v", o.Train)
	case int(o.SizeUpdate) >= len(updateNames):
		return bad("unknown size update %v", o.SizeUpdate)
	case int(o.VirtualCluster) >= len(clusterNames):
		return bad("unknown virtual cluster %v", o.VirtualCluster)
	case int(o.Priority) >= len(prioNames):
		return bad("unknown priority %v", o.Priority)
	case int(o.Preemption) >= len(preemptNames):
		return bad("unknown preemption %v", o.Preemption)
	case !(o.KillFraction >= 0 && o.KillFraction < 1<<32):
		return bad("kill fraction %v is not in [0, 2^32)", o.KillFraction)
	}
	if err := (locality.Delay{Node: o.NodeDelay, Rack: o.RackDelay}).Check(); err != nil {
		return bad("%w", err)
	}
	return nil
}
