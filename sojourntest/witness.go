package sojourntest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
)

// A witness makes calls to one policy and to the model side by side, and judges every
// answer.
type witness struct {
	draws
	newPolicy func() sojourn.Policy
	options   []func() sojourn.Policy // newPolicy, and Options.Changed if options change

	s     *subject
	twin  *subject // gets the same calls, but only the questions of the driver's loop
	h     history
	first *view // before any call
	last  *view // of the latest call
	jobs  []toldJob
	used  map[sojourn.JobID]bool // job IDs that were ever accepted

	declined map[sojourn.SlotID]bool // since the latest event or assignment

	known  history // how the history begins: judged in an earlier one
	spares bool    // no damaged snapshots are offered

	thorough bool             // every view is full
	curious  bool             // views are full around what is met for the first time
	plain    bool             // names and times are small where histories are rewritten
	only     filter           // where the laws of Ticks, flickering slots and fields rewrite histories; nil: everywhere
	phase    int              // of the calls after which views are full
	met      map[meeting]bool // what there was a full view after
}

// begin makes the policies under test. changing says that their options change now and
// then.
func (w *witness) begin(changing bool) {
	w.options = []func() sojourn.Policy{w.newPolicy}
	if changing {
		w.options = append(w.options, w.o.Changed...)
	}
	w.s, w.twin = w.fresh(), w.fresh()
	w.o.features = sojourn.Supports(w.s.Policy)
	w.first = w.s.view(w.names.classes, true)
	w.last = w.first
}

// fresh returns a new subject.
func (w *witness) fresh() *subject { return newSubject(w.options...) }

// wrapped returns a new subject with each policy behind the wrapper.
func (w *witness) wrapped() *subject {
	options := make([]func() sojourn.Policy, len(w.options))
	for i, newPolicy := range w.options {
		options[i] = func() sojourn.Policy { return w.hidden(newPolicy()) }
	}
	return newSubject(options...)
}

// A meeting is a kind of call with its outcome.
type meeting struct {
	assign, ok bool
	kind       sojourn.EventKind
	err        error
}

// A toldJob is a job that the policy was given, and a copy made before.
type toldJob struct{ job, copy *sojourn.Job }

// A breach is what a trial panics with when a law is broken.
type breach struct {
	law     string
	what    string
	shown   history // the calls that broke it, the last one being the culprit
	made    history // the calls of the trial; shown may be a rewriting of them
	history history // made, and the calls that end the trial

	changing bool   // options changed meanwhile
	way      way    // how the calls that were made lead to the breach
	note     string // the fields that were littered
}

// culprit returns the call that broke the law.
func (b *breach) culprit() call {
	if len(b.shown) == 0 {
		return call{}
	}
	return b.shown[len(b.shown)-1]
}

func (b *breach) String() string { return fmt.Sprintf("law of %s\n%s%s", b.law, b.note, b.what) }

// nameOf returns the name of a law.
func nameOf(law string) string {
	name, _, _ := strings.Cut(law, ":")
	return name
}

// fail ends the trial: a law was broken by the last call of h.
func (w *witness) fail(law string, h history, format string, args ...any) {
	panic(&breach{law: law, what: fmt.Sprintf(format, args...), shown: slices.Clone(h), made: w.h, history: w.h, changing: len(w.options) > 1})
}

// breachOf runs a trial, and returns the law that it found broken, or nil.
func breachOf(run func()) (found *breach) {
	defer func() {
		if r := recover(); r != nil {
			var ok bool
			if found, ok = r.(*breach); !ok {
				panic(r)
			}
		}
	}()
	run()
	return nil
}

// observe reports ev, and judges the answer.
func (w *witness) observe(ev sojourn.Event) error {
	if len(w.h) < len(w.known) {
		return w.again().err
	}
	want := w.m.check(&ev)
	if ev.Job != nil {
		w.jobs = append(w.jobs, toldJob{ev.Job, clone(ev.Job)})
	}
	admit, admitted := w.admit(&ev)

	var got error
	w.foresee(call{ev: ev, err: want})
	what := panicked(func() { got = w.s.Observe(ev) })
	c := call{ev: ev, err: sentinel(got), panics: what != ""}
	errors.As(got, &c.rejection)
	w.h = append(w.h, c)
	switch {
	case what != "":
		w.fail(lawPanics, w.h, "%v panics: %s", &w.h[len(w.h)-1], what)
	case w.s.refused != nil:
		w.fail(lawSnapshots, w.h, "UnmarshalBinary = %v of a policy that Options.Changed returns, or that under test, under other options", w.s.refused)
	case want == nil && errors.Is(got, sojourn.ErrRejected):
		w.checkRejection(&ev, got)
	case want == nil && ev.Kind == sojourn.PoolChanged && errors.Is(got, sojourn.ErrUnsupported):
		// There may be no such pool, or none that can be treated so.
	case !errors.Is(got, want) || !errors.Is(want, sentinel(got)):
		w.fail(lawAnswers, w.h, "%v = %v, want %v", &w.h[len(w.h)-1], got, want)
	}
	if admitted && !sameRefusal(admit, got) {
		w.fail(lawAdmission, w.h, "Admit: %v; then %v = %v", admit, &w.h[len(w.h)-1], got)
	}
	w.replayLast()
	if got == nil {
		clear(w.declined)
		w.m.apply(&ev)
		if ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted {
			w.used[ev.Job.ID] = true
		}
		w.look("")
		return nil
	}
	var wrapped *sojourn.EventError
	if !errors.As(got, &wrapped) || wrapped.Event != ev {
		w.fail(lawAnswers, w.h, "%v = %#v, want an *EventError that holds the event", &w.h[len(w.h)-1], got)
	}
	w.look(lawAtomicity)
	return got
}

// admit asks what the answer to an arrival will be. This is determined if no timer goes
// off before.
func (w *witness) admit(ev *sojourn.Event) (err error, asked bool) {
	if w.s.admitter == nil || ev.Kind != sojourn.JobArrived || ev.At != w.m.now || w.last.due(w.m.now) {
		return nil, false
	}
	return w.admits(ev.Job), true
}

// admits asks Admit, which must change nothing.
func (w *witness) admits(job *sojourn.Job) (err error) {
	was := w.s.view(w.names.classes, true)
	if what := panicked(func() { err = w.s.admitter.Admit(job) }); what != "" {
		w.fail(lawPanics, w.h, "Admit(%s) panics: %s", describe(job), what)
	}
	if now := w.s.view(w.names.classes, true); now.differs(was) != "" {
		w.fail(lawPurity, w.h, "after Admit(%s), %s", describe(job), now.differs(was))
	}
	return err
}

// sameRefusal reports whether two answers to an arrival agree.
func sameRefusal(a, b error) bool {
	var ra, rb *sojourn.RejectedError
	if errors.As(a, &ra) && errors.As(b, &rb) && *ra != *rb {
		return false
	}
	return sentinel(a) == sentinel(b)
}

// checkRejection judges a refusal of an event that fits.
func (w *witness) checkRejection(ev *sojourn.Event, err error) {
	c := &w.h[len(w.h)-1]
	if !w.o.Rejects || ev.Kind != sojourn.JobArrived && ev.Kind != sojourn.JobRevised {
		w.fail(lawAnswers, w.h, "%v = %v, want nil", c, err)
	}
	var r *sojourn.RejectedError
	if !errors.As(err, &r) || r.Job != ev.Job.ID || r.By < 0 || r.Misses != r.Job && w.m.job(r.Misses) == nil {
		w.fail(lawRejections, w.h, "%v = %#v", c, err)
	}
	if w.s.admitter == nil || r.Offer == 0 || ev.At != w.m.now || ev.Kind != sojourn.JobArrived {
		return
	}
	job := clone(ev.Job)
	job.Deadline = r.Offer
	if err := w.admits(job); err != nil {
		w.fail(lawRejections, w.h, "%v = %v, but Admit with that deadline = %v", c, err, err)
	}
	if job.Deadline--; r.Exact && job.Deadline > 0 && w.admits(job) == nil {
		w.fail(lawRejections, w.h, "%v = %v, said to be exact, but Admit accepts a deadline of %v", c, err, job.Deadline)
	}
}

// assign offers a free slot, judges the answer, and reports whether the slot was
// taken.
func (w *witness) assign(id sojourn.SlotID) bool {
	if len(w.h) < len(w.known) {
		return w.again().ok
	}
	c := call{assign: true, slot: id}
	w.foresee(c)
	what := panicked(func() { c.a, c.ok = w.s.Assign(id) })
	c.panics = what != ""
	w.h = append(w.h, c)
	switch {
	case what != "":
		w.fail(lawPanics, w.h, "Assign(%d) panics: %s", id, what)
	case !c.ok && c.a != sojourn.Assignment{}:
		w.fail(lawDeclines, w.h, "Assign(%d) = %+v, false", id, c.a)
	}
	w.replayLast()
	if !c.ok {
		w.declined[id] = true
		w.look(lawDeclines)
		return false
	}
	if w.declined[id] {
		w.fail(lawDeclines, w.h, "Assign(%d) = task %v, although the slot was declined and nothing has changed since", id, c.a.Task)
	}
	clear(w.declined)
	s, t := w.m.slot(id), w.m.task(c.a.Task)
	if c.a.Slot != id {
		w.fail(lawAssignments, w.h, "Assign(%d) names slot %d", id, c.a.Slot)
	}
	if t == nil {
		w.fail(lawAssignments, w.h, "Assign(%d) = task %v: there is no such task", id, c.a.Task)
	}
	if why := w.m.why(t, s.Class); why != "" {
		w.fail(lawAssignments, w.h, "Assign(%d) = task %v: %s", id, c.a.Task, why)
	}
	if c.a.Attempt != t.attempts+1 {
		w.fail(lawAssignments, w.h, "Assign(%d) = task %v attempt %d, want attempt %d", id, c.a.Task, c.a.Attempt, t.attempts+1)
	}
	if why := w.m.misplaced(&c.a, s); why != "" {
		w.fail(lawAssignments, w.h, "Assign(%d) = %+v: %s", id, c.a, why)
	}
	if other := w.m.outranks(t, s.Class); other != nil && !w.o.idles() && !w.o.Ages {
		w.fail(lawPriorities, w.h, "Assign(%d) = task %v of a job of priority %d, although task %v of one of priority %d could start there",
			id, c.a.Task, w.m.job(t.id.Job).spec.Priority, other.id, w.m.job(other.id.Job).spec.Priority)
	}
	w.bypass(t, s.Class)
	w.m.start(t, id, c.a.Attempt)
	w.look("")
	return true
}

// again makes the next call that is known.
func (w *witness) again() *call {
	w.h = w.known[: len(w.h)+1 : len(w.h)+1]
	at := len(w.h) - 1
	c := &w.h[at]
	w.replayFrom(lawDeterminism, w.s, w.h, at, false)
	w.replayFrom(lawDeterminism, w.twin, w.h, at, false)
	switch {
	case c.assign && !c.ok:
		w.declined[c.slot] = true
	case c.assign:
		clear(w.declined)
		w.bypass(w.m.task(c.a.Task), w.m.slot(c.slot).Class)
	case c.err == nil:
		clear(w.declined)
		if k := c.ev.Kind; k == sojourn.JobArrived || k == sojourn.JobAdopted {
			w.used[c.ev.Job.ID] = true
		}
	}
	if c.ev.Job != nil {
		w.jobs = append(w.jobs, toldJob{c.ev.Job, clone(c.ev.Job)})
	}
	w.m.follow(c)
	w.last = c.after
	return c
}

// replayLast makes the latest call on the twin. If the outcome differs, it must differ
// in the same way on others that are asked nothing; otherwise the policy is not
// deterministic.
func (w *witness) replayLast() {
	b := breachOf(func() { w.replayFrom(lawPurity, w.twin, w.h, len(w.h)-1, false) })
	if b == nil {
		return
	}
	for range 10 { // by chance the order of a map is sometimes the same
		again := breachOf(func() { w.replay(lawPurity, w.fresh(), w.h, false) })
		if again == nil || again.what != b.what {
			w.fail(lawDeterminism, w.h, "%s; but not each time", b.what)
		}
	}
	w.fail(lawPurity, w.h, "where nothing is asked between calls: %s", b.what)
}

// fullEvery: out of this many calls in a row, the views are full after two. Two are
// needed so that the changes of a refused call show.
const fullEvery = 8
