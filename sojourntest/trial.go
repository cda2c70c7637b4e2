package sojourntest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A trial drives one policy and the model side by side, with one random history.
type trial struct {
	o         *Options
	newPolicy func() sojourn.Policy
	src       source

	m     *model
	s     *subject
	twin  *subject // lives through the same, and is asked nothing that the driver's loop does not ask
	h     history
	first *view // before any call
	last  *view // of the latest call
	jobs  []toldJob
	used  map[sojourn.JobID]bool // job IDs that were ever accepted

	declined map[sojourn.SlotID]bool // since the latest event or assignment

	thorough bool             // every view is full
	curious  bool             // views are full around what is met for the first time
	extreme  bool             // numbers come from the ends of their ranges as well
	names    names            // that are drawn from
	end      sojourn.Time     // the last instant that is drawn
	plain    bool             // names and times are small where histories are rewritten
	phase    int              // of the calls after which views are full
	met      map[meeting]bool // what there was a full view after
}

// A meeting is a kind of call and what came of it.
type meeting struct {
	assign, ok bool
	kind       sojourn.EventKind
	err        error
}

// A toldJob is a job that the policy was told of, and a copy from before that.
type toldJob struct{ job, copy *sojourn.Job }

func newTrial(newPolicy func() sojourn.Policy, o *Options, src source) *trial {
	tr := &trial{
		o: o, newPolicy: newPolicy, src: src,
		m:    &model{o: o, down: map[sojourn.NodeID]bool{}, racks: map[sojourn.NodeID]sojourn.RackID{}},
		s:    newSubject(newPolicy()),
		twin: newSubject(newPolicy()),
		used: map[sojourn.JobID]bool{}, declined: map[sojourn.SlotID]bool{}, met: map[meeting]bool{},
	}
	tr.phase = tr.src.below(fullEvery)
	tr.curious = tr.oneIn(4)
	tr.names, tr.end = smallNames(o), lastTime
	if tr.extreme = tr.oneIn(4); tr.extreme {
		tr.extremeNames()
		if tr.oneIn(4) {
			tr.end = endOfTime
		}
	}
	tr.first = tr.s.view(tr.names.classes, true)
	tr.last = tr.first
	return tr
}

// A breach is what a trial panics with when a law is broken.
type breach struct {
	law   string
	what  string
	shown history // the calls that broke it, the last one being the culprit
	made  history // the calls of the trial, of which shown may be a rewriting
}

// culprit returns the call that broke the law.
func (b *breach) culprit() call {
	if len(b.shown) == 0 {
		return call{}
	}
	return b.shown[len(b.shown)-1]
}

func (b *breach) String() string { return b.what + "\nlaw of " + b.law }

// fail ends the trial: a law was broken by the last call of h.
func (tr *trial) fail(law string, h history, format string, args ...any) {
	panic(&breach{law, fmt.Sprintf(format, args...), slices.Clone(h), tr.h})
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
func (tr *trial) observe(ev sojourn.Event) error {
	want := tr.m.check(&ev)
	if ev.Job != nil {
		tr.jobs = append(tr.jobs, toldJob{ev.Job, clone(ev.Job)})
	}
	admit, admitted := tr.admit(&ev)

	var got error
	tr.foresee(call{ev: ev, err: want})
	what := panicked(func() { got = tr.s.Observe(ev) })
	c := call{ev: ev, err: sentinel(got), panics: what != ""}
	errors.As(got, &c.rejection)
	tr.h = append(tr.h, c)
	switch {
	case what != "":
		tr.fail(lawPanics, tr.h, "%v panics: %s", &tr.h[len(tr.h)-1], what)
	case want == nil && errors.Is(got, sojourn.ErrRejected):
		tr.checkRejection(&ev, got)
	case !errors.Is(got, want) || !errors.Is(want, sentinel(got)):
		tr.fail(lawAnswers, tr.h, "%v = %v, want %v", &tr.h[len(tr.h)-1], got, want)
	}
	if admitted && !sameRefusal(admit, got) {
		tr.fail(lawAdmission, tr.h, "Admit: %v; then %v = %v", admit, &tr.h[len(tr.h)-1], got)
	}
	tr.replayLast()
	if got == nil {
		clear(tr.declined)
		tr.m.apply(&ev)
		if ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted {
			tr.used[ev.Job.ID] = true
		}
		tr.look("")
		return nil
	}
	var wrapped *sojourn.EventError
	if !errors.As(got, &wrapped) || wrapped.Event != ev {
		tr.fail(lawAnswers, tr.h, "%v = %#v, want an *EventError that holds the event", &tr.h[len(tr.h)-1], got)
	}
	tr.look(lawAtomicity)
	return got
}

// admit asks what the answer to an arrival will be, where that is determined:
// if no timer goes off before.
func (tr *trial) admit(ev *sojourn.Event) (err error, asked bool) {
	if tr.s.admitter == nil || ev.Kind != sojourn.JobArrived || ev.At != tr.m.now || tr.last.due(tr.m.now) {
		return nil, false
	}
	return tr.admits(ev.Job), true
}

// admits asks Admit, which may change nothing.
func (tr *trial) admits(job *sojourn.Job) (err error) {
	was := tr.s.view(tr.names.classes, true)
	if what := panicked(func() { err = tr.s.admitter.Admit(job) }); what != "" {
		tr.fail(lawPanics, tr.h, "Admit(%s) panics: %s", describe(job), what)
	}
	if now := tr.s.view(tr.names.classes, true); now.differs(was) != "" {
		tr.fail(lawPurity, tr.h, "after Admit(%s), %s", describe(job), now.differs(was))
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
func (tr *trial) checkRejection(ev *sojourn.Event, err error) {
	c := &tr.h[len(tr.h)-1]
	if !tr.o.Rejects || ev.Kind != sojourn.JobArrived && ev.Kind != sojourn.JobRevised {
		tr.fail(lawAnswers, tr.h, "%v = %v, want nil", c, err)
	}
	var r *sojourn.RejectedError
	if !errors.As(err, &r) || r.Job != ev.Job.ID || r.By < 0 || r.Misses != r.Job && tr.m.job(r.Misses) == nil {
		tr.fail(lawRejections, tr.h, "%v = %#v", c, err)
	}
	if tr.s.admitter == nil || r.Offer == 0 || ev.At != tr.m.now || ev.Kind != sojourn.JobArrived {
		return
	}
	job := clone(ev.Job)
	job.Deadline = r.Offer
	if err := tr.admits(job); err != nil {
		tr.fail(lawRejections, tr.h, "%v = %v, but Admit with that deadline = %v", c, err, err)
	}
	if job.Deadline--; r.Exact && job.Deadline > 0 && tr.admits(job) == nil {
		tr.fail(lawRejections, tr.h, "%v = %v, said to be exact, but Admit accepts a deadline of %v", c, err, job.Deadline)
	}
}

// assign offers a free slot, judges the answer, and reports whether the slot was
// taken.
func (tr *trial) assign(id sojourn.SlotID) bool {
	c := call{assign: true, slot: id}
	tr.foresee(c)
	what := panicked(func() { c.a, c.ok = tr.s.Assign(id) })
	c.panics = what != ""
	tr.h = append(tr.h, c)
	switch {
	case what != "":
		tr.fail(lawPanics, tr.h, "Assign(%d) panics: %s", id, what)
	case !c.ok && c.a != sojourn.Assignment{}:
		tr.fail(lawDeclines, tr.h, "Assign(%d) = %+v, false", id, c.a)
	}
	tr.replayLast()
	if !c.ok {
		tr.declined[id] = true
		tr.look(lawDeclines)
		return false
	}
	if tr.declined[id] {
		tr.fail(lawDeclines, tr.h, "Assign(%d) = task %v, although the slot was declined and nothing has changed since", id, c.a.Task)
	}
	clear(tr.declined)
	s, t := tr.m.slot(id), tr.m.task(c.a.Task)
	if c.a.Slot != id {
		tr.fail(lawAssignments, tr.h, "Assign(%d) names slot %d", id, c.a.Slot)
	}
	if t == nil {
		tr.fail(lawAssignments, tr.h, "Assign(%d) = task %v: there is no such task", id, c.a.Task)
	}
	if why := tr.m.why(t, s.Class); why != "" {
		tr.fail(lawAssignments, tr.h, "Assign(%d) = task %v: %s", id, c.a.Task, why)
	}
	if c.a.Attempt != t.attempts+1 {
		tr.fail(lawAssignments, tr.h, "Assign(%d) = task %v attempt %d, want attempt %d", id, c.a.Task, c.a.Attempt, t.attempts+1)
	}
	if why := tr.m.misplaced(&c.a, s); why != "" {
		tr.fail(lawAssignments, tr.h, "Assign(%d) = %+v: %s", id, c.a, why)
	}
	tr.m.start(t, id, c.a.Attempt)
	tr.look("")
	return true
}

// misplaced returns what is wrong with the source and the locality of a, or "".
func (m *model) misplaced(a *sojourn.Assignment, s *modelSlot) string {
	nodes := m.job(a.Task.Job).spec.Phases[a.Task.Phase].Inputs.Of(int(a.Task.Index))
	local := slices.Contains(nodes, s.Node)
	switch {
	case a.Source != 0 && !slices.Contains(nodes, a.Source):
		return "the source does not hold the input"
	case a.Source != 0 && m.down[a.Source]:
		return "the source is down"
	case a.Locality > sojourn.Remote:
		return "no such locality"
	case a.Locality != sojourn.AnyNode && len(nodes) == 0:
		return "the task has no place it would rather run"
	case a.Locality == sojourn.NodeLocal && !local:
		return "the input is not on the slot's node"
	}
	return ""
}

// replayLast makes the latest call on the twin. If that has another outcome, so it must
// have with others that are asked nothing, or the policy is not deterministic.
func (tr *trial) replayLast() {
	b := breachOf(func() { tr.replayFrom(lawPurity, tr.twin, tr.h, len(tr.h)-1, false) })
	if b == nil {
		return
	}
	for range 10 { // the order of a map is the same by chance now and then
		again := breachOf(func() { tr.replay(lawPurity, newSubject(tr.newPolicy()), tr.h, false) })
		if again == nil || again.what != b.what {
			tr.fail(lawDeterminism, tr.h, "%s; but not each time", b.what)
		}
	}
	tr.fail(lawPurity, tr.h, "where nothing is asked between calls: %s", b.what)
}

// fullEvery: of so many calls in a row, the views are full after two: two, so that what
// a refused call changes shows.
const fullEvery = 8

// full reports whether all is to be asked after the latest call.
func (tr *trial) full() bool {
	m := tr.h[len(tr.h)-1].meeting()
	if !tr.thorough && (tr.met[m] || !tr.curious) {
		return (len(tr.h)+tr.phase)%fullEvery < 2
	}
	tr.met[m] = true
	return true
}

func (c *call) meeting() meeting { return meeting{c.assign, c.ok, c.ev.Kind, c.err} }

// foresee asks everything before a call of which the like has not been met, so that
// what it changes shows. The outcome of c is what is expected.
func (tr *trial) foresee(c call) {
	if tr.last.full || tr.met[c.meeting()] || !tr.curious {
		return
	}
	what := panicked(func() { tr.last = tr.s.view(tr.names.classes, true) })
	if what != "" {
		tr.fail(lawPanics, tr.h, "an optional interface panics: %s", what)
	}
	tr.h[len(tr.h)-1].after = tr.last
}

// look asks the optional interfaces after a call and judges what they say. If
// law is not empty, the call may have changed nothing.
func (tr *trial) look(law string) {
	c := &tr.h[len(tr.h)-1]
	classes := tr.names.classes
	full := tr.full()
	var again *view
	if what := panicked(func() {
		c.after = tr.s.view(classes, full)
		if full && (tr.thorough || len(tr.h)%2 == 0) {
			again = tr.s.viewAfter(something(), classes, full)
		}
	}); what != "" {
		tr.fail(lawPanics, tr.h, "an optional interface panics after %v: %s", c, what)
	}
	if again != nil {
		tr.checkPurity(c, again)
	}
	if law != "" {
		if diff := c.after.differs(tr.last); diff != "" {
			tr.fail(law, tr.h, "after %v, %s", c, diff)
		}
	}
	tr.last = c.after
	for _, class := range classes {
		if tr.m.startable(class) == nil {
			c.idle = append(c.idle, class)
		}
	}
	tr.checkSeeker(c.after)
	tr.checkPreemptor(c.after)
	if !full {
		return
	}
	tr.checkExplainer(c.after)
	tr.checkPromiser(c.after)
	if err := c.after.err; err != nil && !errors.Is(err, errors.ErrUnsupported) {
		tr.fail(lawSnapshots, tr.h, "AppendBinary(nil) = %v", err)
	}
	if tr.s.snapshotter != nil && c.after.err == nil && (tr.thorough || tr.extreme && again != nil) {
		tr.unmarshal(newSubject(tr.newPolicy()), c.after.state, len(tr.h))
	}
}

// checkPurity compares what the optional interfaces say with what they say when they
// are asked again, and append to something.
func (tr *trial) checkPurity(c *call, again *view) {
	before := something()
	if tr.s.preemptor != nil {
		if n := len(again.preemptions); n == 0 || again.preemptions[0] != before.preemptions[0] {
			tr.fail(lawPurity, tr.h, "AppendPreemptions(%v) = %v", before.preemptions, again.preemptions)
		}
		again.preemptions = again.preemptions[1:]
	}
	if tr.s.explainer != nil {
		if n := len(again.ranking); n == 0 || again.ranking[0] != before.ranking[0] {
			tr.fail(lawPurity, tr.h, "AppendRanking(%d) = %d", before.ranking, again.ranking)
		}
		again.ranking = again.ranking[1:]
	}
	if tr.s.promiser != nil {
		if n := len(again.voids); n == 0 || again.voids[0] != before.voids[0] {
			tr.fail(lawPurity, tr.h, "AppendVoid(%d) = %d", before.voids, again.voids)
		}
		again.voids = again.voids[1:]
	}
	if tr.s.snapshotter != nil {
		if !bytes.HasPrefix(again.state, before.state) {
			tr.fail(lawPurity, tr.h, "AppendBinary([]byte(%q)) = %.100q, %v", before.state, again.state, again.err)
		}
		again.state = again.state[len(before.state):]
	}
	if diff := again.differs(c.after); diff != "" {
		tr.fail(lawPurity, tr.h, "asked again after %v, %s", c, diff)
	}
}

func (tr *trial) checkSeeker(v *view) {
	for i, id := range v.seeks {
		class := tr.names.classes[i]
		if s := tr.m.slot(id); id != none && (s == nil || s.task != nil || s.Class != class) {
			tr.fail(lawSeek, tr.h, "Seek(%d) = %d, which is not a free slot of the class", class, id)
		}
	}
}

func (tr *trial) checkPreemptor(v *view) {
	seen := map[sojourn.TaskID]bool{}
	for _, p := range v.preemptions {
		t := tr.m.task(p.Task)
		if t == nil || t.state != running || t.attempts != p.Attempt || tr.m.slotOf(t).ID != p.Slot || seen[p.Task] {
			tr.fail(lawPreemptions, tr.h, "AppendPreemptions(nil) = %v, but %v attempt %d does not run on slot %d, or is listed twice", v.preemptions, p.Task, p.Attempt, p.Slot)
		}
		seen[p.Task] = true
	}
}

// checkExplainer leaves open whether a cancelled job that waits for its last
// attempts is listed and explained.
func (tr *trial) checkExplainer(v *view) {
	if tr.s.explainer == nil {
		return
	}
	listed := map[sojourn.JobID]bool{}
	for i, id := range v.ranking {
		j := tr.m.job(id)
		if j == nil || listed[id] {
			tr.fail(lawExplanations, tr.h, "AppendRanking(nil) = %d, but job %d is not live, or is listed twice", v.ranking, id)
		}
		listed[id] = true
		if !v.reasons[i].ok && !j.cancelled {
			tr.fail(lawExplanations, tr.h, "Explain(%d) = %v, false, want true", id, v.reasons[i].attrs)
		}
	}
	for _, id := range append(append(tr.names.jobs, 0, noJob), sorted(tr.used)...) {
		if listed[id] {
			continue
		}
		if j := tr.m.job(id); j != nil {
			if !j.cancelled {
				tr.fail(lawExplanations, tr.h, "AppendRanking(nil) = %d, but job %d is live as well", v.ranking, id)
			}
		} else if attrs, ok := tr.s.explainer.Explain(id); ok {
			tr.fail(lawExplanations, tr.h, "Explain(%d) = %v, true, want false", id, attrs)
		}
	}
}

// checkPromiser checks what a full view says of void promises.
func (tr *trial) checkPromiser(v *view) {
	if tr.s.promiser == nil {
		return
	}
	listed := map[sojourn.JobID]bool{}
	for i, id := range v.voids {
		if tr.m.job(id) == nil || listed[id] {
			tr.fail(lawPromises, tr.h, "AppendVoid(nil) = %d, but job %d is not live, or is listed twice", v.voids, id)
		}
		if listed[id] = true; v.whys[i] == "" {
			tr.fail(lawPromises, tr.h, "AppendVoid(nil) = %d, but Void(%d) gives no reason", v.voids, id)
		}
	}
	for _, id := range append(append(tr.names.jobs, 0, noJob), sorted(tr.used)...) {
		if listed[id] {
			continue
		}
		if why, ok := tr.s.promiser.Void(id); ok {
			tr.fail(lawPromises, tr.h, "Void(%d) = %q, true, but AppendVoid(nil) = %d", id, why, v.voids)
		}
	}
}

// Orders of offering.
const (
	ascending = iota
	descending
	seeking
	numOrders = iota
)

// round offers every free slot of every class, and reports whether any was taken.
func (tr *trial) round(order int) (taken bool) {
	if order == seeking && tr.s.seeker != nil {
		taken = tr.seekRound()
	} else {
		ids := tr.m.free()
		if order == descending {
			slices.Reverse(ids)
		}
		for _, id := range ids {
			taken = tr.assign(id) || taken
		}
	}
	if s, t := tr.m.unserved(); s != nil && !tr.o.IdlesOnPurpose {
		tr.fail(lawConservation, tr.h, "slot %d stays free after a round, although task %v could start on it", s.ID, t.id)
	}
	return taken
}

func (tr *trial) seekRound() (taken bool) {
	for _, class := range tr.names.classes {
		for {
			id, ok := tr.s.seeker.Seek(class)
			if !ok {
				break
			}
			if !tr.assign(id) {
				tr.fail(lawSeek, tr.h, "Seek(%d) = %d, but Assign declines that slot", class, id)
			}
			taken = true
		}
		for _, id := range tr.m.free() {
			if tr.m.slot(id).Class == class && tr.assign(id) {
				tr.fail(lawSeek, tr.h, "Seek(%d) = false, but Assign takes slot %d", class, id)
			}
		}
	}
	return taken
}

// settle does a driver's duties at this instant, by one of two loops that drivers use: it
// offers until nothing is taken, and reports Tick for as long as the policy asks for it; or
// it asks first whether a Tick is due.
func (tr *trial) settle(order int) (taken bool) {
	if tr.src.below(2) == 0 && tr.due() {
		tr.tick()
	}
	for ticked := false; ; ticked = true {
		progress := false
		for tr.round(order) {
			progress = true
		}
		taken = taken || progress
		if !tr.due() {
			return taken
		}
		if ticked && !progress {
			tr.fail(lawWake, tr.h, "NextWake() = %v, true, at %v after a Tick and a round without an assignment", tr.last.wake, tr.m.now)
		}
		tr.tick()
	}
}

// due reports whether a Tick is due, which the loop of a driver asks the twin as well.
func (tr *trial) due() bool {
	if tr.twin.waker != nil {
		at, ok := tr.twin.waker.NextWake()
		if v := (&view{wake: at, waits: ok}); v.waits != tr.last.waits || ok && at != tr.last.wake {
			tr.fail(lawPurity, tr.h, "NextWake() = %v, %v, but %v, %v where nothing was asked before", tr.last.wake, tr.last.waits, at, ok)
		}
	}
	return tr.last.due(tr.m.now)
}

func (tr *trial) tick() { tr.observe(sojourn.Event{Kind: sojourn.Tick, At: tr.m.now}) }

// wake lets time pass until NextWake, and settles.
func (tr *trial) wake(order int) (taken bool) {
	tr.observe(sojourn.Event{Kind: sojourn.Tick, At: max(tr.m.now, tr.last.wake)})
	return tr.settle(order)
}

// drain lets everything end, and then uses all job IDs again.
func (tr *trial) drain() {
	order := tr.src.below(numOrders)
	tr.finishAll(order)
	again := sorted(tr.used)
	if len(tr.m.jobs) > 0 {
		again = nil // what jobs wait for is past the end of time
	}
	for _, id := range again {
		job := tr.plainJob(id)
		if job == nil {
			break
		}
		if err := tr.observe(sojourn.Event{Kind: sojourn.JobArrived, At: tr.m.now, Job: job}); err != nil && !tr.o.Rejects {
			tr.fail(lawForgetting, tr.h, "job %d has ended; when it arrives again: %v", id, err)
		}
	}
	tr.finishAll(order)
	if len(tr.h) > 0 {
		tr.compareTwin()
	}
	for _, told := range tr.jobs {
		if !reflect.DeepEqual(told.job, told.copy) {
			tr.fail(lawJobs, tr.h, "job %d was changed from\n%s to\n%s", told.copy.ID, describe(told.copy), describe(told.job))
		}
	}
}

// compareTwin compares all that the policy says with what the twin says, which was
// asked next to nothing.
func (tr *trial) compareTwin() {
	if !tr.last.full {
		tr.last = tr.s.view(tr.names.classes, true)
		tr.h[len(tr.h)-1].after = tr.last
	}
	tr.compare(lawPurity, tr.twin, len(tr.h), "asked nothing before")
}

// finishAll runs all live jobs to their end. It adds the slots that it takes.
func (tr *trial) finishAll(order int) {
	tr.m.each(func(j *modelJob, t *modelTask) {
		if t.state == held && !j.cancelled {
			tr.observe(sojourn.Event{Kind: sojourn.TaskReady, At: tr.m.now, Task: t.id})
		}
	})
	for _, node := range sorted(tr.m.down) {
		if tr.m.down[node] {
			tr.observe(sojourn.Event{Kind: sojourn.NodeUp, At: tr.m.now, Slot: sojourn.Slot{Node: node}})
		}
	}
	const patience = 1000 // Ticks without an assignment while something could start
	for ticks := 0; ticks < patience; {
		if tr.settle(order) {
			ticks = 0
		}
		if busy := tr.m.busy(); len(busy) > 0 {
			ev := report(sojourn.TaskFinished, busy[0])
			ev.At, ev.Service = tr.m.now.Add(time.Second), time.Second
			tr.observe(ev)
			continue
		}
		if s, t := tr.m.unserved(); s != nil {
			if tr.o.IdlesOnPurpose && tr.m.now > lastTime {
				return // what it waits for may be past the end of time
			}
			if !tr.last.waits {
				tr.fail(lawService, tr.h, "slot %d is free and task %v could start on it, but nothing is running and there is no NextWake", s.ID, t.id)
			}
			tr.wake(order)
			ticks++
			continue
		}
		if len(tr.m.jobs) == 0 {
			return
		}
		tr.addMissing()
	}
	_, t := tr.m.unserved()
	tr.fail(lawService, tr.h, "task %v could start but was not served within %d Ticks at NextWake", t.id, patience)
}

// addMissing adds a slot of a class that a startable task waits for.
func (tr *trial) addMissing() {
	for _, class := range tr.names.classes {
		if tr.m.startable(class) != nil {
			id := lastSlot + sojourn.SlotID(class)
			tr.observe(sojourn.Event{Kind: sojourn.SlotAdded, At: tr.m.now, Slot: sojourn.Slot{ID: id, Class: class}})
			return
		}
	}
	tr.fail(lawCompletion, tr.h, "%d jobs are live, but no task is running and none could start", len(tr.m.jobs))
}

// report returns a report about the attempt that runs on s.
func report(kind sojourn.EventKind, s *modelSlot) sojourn.Event {
	return sojourn.Event{Kind: kind, Task: s.task.id, Attempt: s.task.attempts, Slot: sojourn.Slot{ID: s.ID}}
}

// clone returns a copy of j that shares nothing with it.
func clone(j *sojourn.Job) *sojourn.Job {
	c := *j
	c.Phases = slices.Clone(j.Phases)
	for i := range c.Phases {
		p := &c.Phases[i]
		p.Estimates, p.Bytes, p.Delays = slices.Clone(p.Estimates), slices.Clone(p.Bytes), slices.Clone(p.Delays)
		nodes := make([][]sojourn.NodeID, p.Inputs.Len())
		for k := range nodes {
			nodes[k] = slices.Clone(p.Inputs.Of(k))
		}
		p.Inputs = sojourn.MakeInputs(nodes)
	}
	return &c
}
