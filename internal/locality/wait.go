package locality

import (
	"fmt"
	"math"
	"math/bits"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Delay bounds how long a job waits for slots close to its inputs. The zero
// Delay does not wait.
type Delay struct {
	Node time.Duration // for a slot on the node of an input (W1 in the paper)
	Rack time.Duration // then for one on the rack of an input (W2)
}

// check returns an error if a bound is negative.
func (d Delay) Check() error {
	if d.Node < 0 || d.Rack < 0 {
		return fmt.Errorf("negative delay: %v for a node, %v for a rack", d.Node, d.Rack)
	}
	return nil
}

// share is the part of the slot time of a job's near tasks that its waits may leave unused, as
// 1/share: a sixteenth. See "Delay scheduling" in the comment of the package.
const share = 16

// most bounds the allowance of a Wait in both directions, so that nothing overflows. An allowance of
// that much is 146 years of one slot.
const most = 1 << 62

// A Wait is how long a job has been passed over for the sake of locality, on the
// slots of one class, and how much slot time it may still leave unused for it. The zero Wait is
// that of a job that has not waited, and that may leave nothing unused.
//
// It is a stop-watch. Time counts while there is a free slot of the class and the job has a
// startable task with inputs: the policy reports it to [Wait.Unused]. Once another job was given
// a slot in its place, the policy lets the stop-watch run until the job launches a task or has none
// left to start. Only these intervals count. It does not matter how often the
// policy was asked within them, and about which slots.
type Wait struct {
	limit  sojourn.Locality // of the latest launch; the least limit to come. 0 is NodeLocal
	runs   bool
	since  sojourn.Time  // when it was started, if it runs
	waited time.Duration // before that

	// allowance is the slot time that the job may still leave unused, in nanoseconds. It is below 0
	// if a driver was late. Invariant: from -most to most.
	allowance int64
}

// Start starts the stop-watch. It does nothing if it runs.
func (w *Wait) Start(now sojourn.Time) {
	if !w.runs {
		w.runs, w.since = true, now
	}
}

// Stop stops the stop-watch. It does nothing if it does not run.
func (w *Wait) Stop(now sojourn.Time) {
	if w.runs {
		w.waited += now.Sub(w.since)
		w.runs = false
	}
}

// Used records that a task of the job has finished that was near: on the node or on the rack of
// an input. It has held a slot for d. The job may leave 1/share of that unused.
func (w *Wait) Used(d time.Duration) {
	w.allowance = min(w.allowance+int64(max(d, 0))/share, most)
}

// Unused records that the job lets n free slots go by from now until an instant. That counts as
// waiting, too.
func (w *Wait) Unused(n int, now, until sojourn.Time) {
	if !w.runs {
		w.waited += until.Sub(now)
	}
	hi, lo := bits.Mul64(uint64(n), uint64(until-now))
	if hi > 0 || lo > most {
		lo = most
	}
	w.allowance = max(w.allowance-int64(lo), -most)
}

// Allows reports whether the job may let n free slots go by for any longer.
func (w *Wait) Allows(n int) bool { return w.allowance >= int64(n) }

// Launched records that a task of the job was assigned now. The wait begins
// again, at the distance of that task: a job that has just launched a remote task
// may launch the next one remotely at once, until it launches a closer one. Tasks
// without inputs, or with lost inputs, have no effect, since no wait brings them
// closer. Do not call it for a task that was launched because the job is not allowed to wait any longer:
// that is no choice of place.
func (w *Wait) Launched(a sojourn.Assignment, now sojourn.Time) {
	if a.Source == 0 {
		return
	}
	w.limit, w.waited, w.since = a.Locality, 0, now
}

// Limit returns how far from its input a task of the job may be launched now.
func (w *Wait) Limit(d Delay, now sojourn.Time) sojourn.Locality {
	waited := w.waitedBy(now)
	toRack, toRemote := w.steps(d)
	switch {
	case waited >= toRemote:
		return sojourn.Remote
	case waited >= toRack:
		return sojourn.RackLocal
	}
	return sojourn.NodeLocal
}

// waitedBy returns how long the job has waited since its latest launch.
func (w *Wait) waitedBy(now sojourn.Time) time.Duration {
	if w.runs {
		return w.waited + now.Sub(w.since)
	}
	return w.waited
}

// Next returns when Limit changes next, or Allows becomes false, for a job that lets n free slots
// go by from now on. It reports false if time alone changes neither.
func (w *Wait) Next(d Delay, n int, now sojourn.Time) (next sojourn.Time, any bool) {
	later := func(dt time.Duration) {
		if dt <= math.MaxInt64-time.Duration(now) && (!any || now.Add(dt) < next) {
			next, any = now.Add(dt), true
		}
	}
	waited := w.waitedBy(now)
	switch toRack, toRemote := w.steps(d); {
	case waited < toRack:
		later(toRack - waited)
	case waited < toRemote:
		later(toRemote - waited)
	default:
		return 0, false
	}
	if w.Allows(n) {
		later(time.Duration(w.allowance / int64(n)))
	}
	return next, any
}

// Explain tells which slots a job takes that lets n free slots go by, and until when, or for how much
// longer if time does not count now. It reports false if the job takes any slot. At least one slot counts
// as free.
func (w *Wait) Explain(d Delay, n int, counts bool, now sojourn.Time) (text string, waits bool) {
	switch w.Limit(d, now) {
	case sojourn.NodeLocal:
		text = "takes only slots on the nodes of its inputs"
	case sojourn.RackLocal:
		text = "takes only slots on the racks of its inputs"
	default:
		return "", false
	}
	n = max(n, 1)
	if !w.Allows(n) {
		text += " and those that all others decline"
	}
	switch at, ok := w.Next(d, n, now); {
	case !ok:
	case counts || w.runs:
		text += fmt.Sprintf(", until %v", at)
	default:
		text += fmt.Sprintf(", for %v more in which a slot is free", at.Sub(now))
	}
	return text, true
}

// Save writes the wait.
func (w *Wait) Save(to *snapshot.Writer) {
	to.Uint(uint64(w.limit))
	to.Duration(w.waited)
	to.Bool(w.runs)
	if w.runs {
		to.Time(w.since)
	}
	to.Int(w.allowance)
}

// Restore reads what Save has written by now.
func (w *Wait) Restore(r *snapshot.Reader, now sojourn.Time) {
	w.limit = sojourn.Locality(r.Below(uint64(sojourn.Remote) + 1))
	w.waited = r.Duration()
	began := now // waited has the time before that
	if w.runs = r.Bool(); w.runs {
		w.since = r.Time()
		began = w.since
	}
	w.allowance = r.Int()
	r.Check(w.allowance >= -most && w.allowance <= most, "a wait may leave too much unused")
	r.Check(began <= now && w.waited >= 0 && w.waited <= began.Sub(0), "a wait is negative, or longer than there was time")
}

// steps returns the waits after which the limit is RackLocal, and Remote.
func (w *Wait) steps(d Delay) (toRack, toRemote time.Duration) {
	switch w.limit {
	case sojourn.Remote:
		return 0, 0
	case sojourn.RackLocal:
		return 0, d.Rack
	}
	if d.Node > math.MaxInt64-d.Rack {
		return d.Node, math.MaxInt64
	}
	return d.Node, d.Node + d.Rack
}
