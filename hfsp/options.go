package hfsp

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Options configure a [Policy]. The zero value is the default. A snapshot may be restored
// under another TrainingSlots, Delta, Preemption, KillFraction, NodeDelay, RackDelay or Reserve.
type Options struct {
	// TrainingTasks is t, how many tasks of a phase are run to estimate the time of
	// the others. A phase of fewer tasks is tiny: it is not trained and has size 0,
	// however long its tasks take, unless an estimator knows its size beforehand. It pays
	// for its work when it leaves. Zero means 5 [HFSP, section IV-A].
	TrainingTasks int

	// TrainingSlots is T, how many slots of each class training tasks may hold at a
	// time by their priority; 0 gives them none. Nil means a quarter of the slots, at
	// least 10, and never more than half of the slots. HFSP, section IV-A, has 10 for 40
	// map and 20 reduce slots.
	TrainingSlots *int

	// Delta is how long a training task has to run until its progress says how long
	// it will take: training does not wait for its end. Zero means one minute [HFSP,
	// section IV-A].
	Delta time.Duration

	// Xi multiplies the sizes of phases that are not trained yet, from 1 to 2^32: large
	// values make untrained jobs wait. Zero means 1
	// [HFSP, section IV-A].
	Xi float64

	// DefaultTaskTime is s_0, how long a task is assumed to take until tasks have run on
	// that class of slots. Zero means one minute, as in the authors' implementation.
	DefaultTaskTime time.Duration

	// Estimator, unless nil, returns a new estimator. Nil means that of the paper, a
	// [NewTrainer] of Xi and DefaultTaskTime, which ignores Phase.Estimate and
	// Phase.Estimates. [NewOracle] uses them.
	// It is for research.
	Estimator func() Estimator

	// Late says how to serve phases that are complete in the virtual cluster but not
	// in reality: always before phases that are not late. [vqueue.LateDefault] is [vqueue.LateShare], which is not
	// the paper's rule: see the package comment. It is for research.
	Late vqueue.Late

	// Preemption says whether running tasks are killed for smaller jobs. The policy only
	// names the tasks to kill: see [sojourn.Preemptor]. A driver that can kill asks with
	// Wait too, since one case remains: see [Policy.AppendPreemptions]. With Kill no task
	// is killed twice, and none that has run for long. The paper has KillAny.
	Preemption Preemption

	// KillFraction is what Kill may lose of a task: it spares tasks that have run for more
	// than this fraction of the expected time of their phase's tasks. Zero means 0.1. KillAny
	// spares none, whatever the fraction.
	KillFraction float64

	// EarlySlots is how many slots of each class early tasks may hold: tasks that
	// slow start (Phase.After) lets start, and that wait in their slots for the phase
	// before. Nil means half of the slots, and none of a single one. The paper has no such
	// limit: see the package comment. EarlyDelay after it became ready, a phase that is
	// held back gets the slots that have no other use. Zero means ten minutes.
	//
	// If a phase comes after one of the same class of slots or a higher one, early tasks
	// never get the last slot of its class in their turn, whatever the limit: the phases
	// that they wait for might never run. This does not concern maps and reduces.
	EarlySlots *int
	EarlyDelay time.Duration

	// NodeDelay is D1: when it is the turn of a phase, it lets others go first for so
	// long while it waits for a slot on the node of an input. RackDelay is D2, the wait
	// for a slot on the rack after that [Zaharia et al., Delay scheduling, EuroSys 2010].
	// What such waits leave unused is at most a sixteenth of the slot time that the phase's tasks have
	// held near their inputs. Zero means no wait.
	NodeDelay, RackDelay time.Duration

	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for
	// phases that run nothing there: see package kit/reserve. It holds for training, too. The
	// number of slots is rounded to the nearest whole number, halves up, and is less than
	// all slots. Zero means no reserve; 0.01 does well from a hundred slots a class on. It
	// excludes Kill and KillAny, which make room by themselves.
	Reserve float64
}

// Preemption says what happens to running tasks when a smaller job comes first.
type Preemption uint8

const (
	Wait    Preemption = iota // they run to their end
	Kill                      // they are killed, the youngest task of the largest virtual size first, each once at most and only while it is young
	KillAny                   // they are killed, in the same order, however often and however long they have run, as in the paper
)

// killFraction is what KillFraction means if it is 0.
const killFraction = 0.1

var preemptNames = [...]string{Wait: "wait", Kill: "kill", KillAny: "kill-any"}

// String returns "wait", "kill" or "kill-any".
func (p Preemption) String() string { return option.Name("Preemption", preemptNames[:], p) }

// MarshalText implements encoding.TextMarshaler.
func (p Preemption) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (p *Preemption) UnmarshalText(text []byte) error {
	return option.SetName(p, "preemption", preemptNames[:], text)
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	notNegative := func(field string) func(int) error {
		return func(n int) error { return option.AtLeast(field, n, 0) }
	}
	return option.First("hfsp",
		option.Range("TrainingTasks", o.TrainingTasks, 0, math.MaxInt32),
		option.Pointed(o.TrainingSlots, notNegative("TrainingSlots")),
		option.AtLeast("Delta", o.Delta, 0),
		option.OrZero(o.Xi, option.Want(o.Xi >= 1 && o.Xi < 1<<32, "Xi", o.Xi, "1 to below 2^32, or 0 for 1")),
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0),
		option.Choice("Late", o.Late),
		option.Choice("Preemption", o.Preemption),
		option.Want(o.KillFraction >= 0 && o.KillFraction < 1<<32, "KillFraction", o.KillFraction, "0 to below 2^32"),
		option.Pointed(o.EarlySlots, notNegative("EarlySlots")),
		option.AtLeast("EarlyDelay", o.EarlyDelay, 0),
		option.AtLeast("NodeDelay", o.NodeDelay, 0),
		option.AtLeast("RackDelay", o.RackDelay, 0),
		option.Range("Reserve", o.Reserve, 0, 1),
		option.Want(o.Reserve == 0 || o.Preemption == Wait, "Reserve", o.Reserve, "0 with Preemption kill or kill-any"))
}
