package rtmr

import (
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// A reason says why promises are void: the hypotheses that did not hold.
type reason uint8

const (
	byOverrun  reason = 1 << iota // H1: an attempt outlasted its estimate
	bySlots                       // H2: slots were lost
	byFailure                     // H2: a task has to run again
	byHold                        // H3: a task may not start
	byIdling                      // H3: free slots were not offered
	byAdoption                    // the job was adopted and did not fit, or its attempts ran already
	byRevision                    // the job was revised while its promise was void
	byPaper                       // PaperReservation: the rule itself breaks promises
)

var reasonTexts = [...]string{
	"an attempt outlasts its estimate", "slots were lost", "a task has to run again",
	"a task is or was held", "free slots were not offered", "adopted", "revised",
	"the paper's reservation does not keep it",
}

// String lists the reasons.
func (r reason) String() string {
	var all []string
	for i, text := range reasonTexts {
		if r&(1<<i) != 0 {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// promises has the promises to jobs, and the order of service that follows from them.
//
// A job has two marks. The hard mark is the one that held when the present instant
// began, or when the last task was assigned or the last job was admitted in it. The
// other mark is computed from the hard marks and the state of the cluster, whenever it
// is needed. So neither a question nor a slot that comes and goes within an instant
// leaves a trace:
//
//	          settle                      commit
//	hard ---------------> marks of the ---------------> hard
//	  ^                   present state
//	  |                        |
//	  +--------- rollback -----+
type promises struct {
	opts Options
	*cluster

	order order            // live jobs by key
	ready ready.Queue[key] // by class: jobs with a task to start

	fresh     bool     // the marks are those of the present state. Invariant: false after each event and assignment
	soft      bool     // a mark may differ from the hard one; if false, all are equal, and root is hardRoot
	dirty     bool     // something happened since the hard marks that may break or restore promises
	cause     reason   // the reason; 0 unless dirty
	hardSlots [2]int64 // slots for which the hard marks hold
	voids     int      // jobs whose hard mark is void
	clock              // free slots that are not offered

	// For Booking Chain.
	starts   uint64  // jobs that were started so far
	stale    bool    // something holds slots that the vectors do not know
	root     vectors // before the first job
	hardRoot vectors // the same, for the hard marks

	scratch
}

// A clock knows how long slots have been free although a task could start there.
type clock struct {
	waits bool         // there were such slots when time last passed
	since sojourn.Time // the beginning of this; no meaning unless waits
	idled bool         // this lasted longer than promises allow for
}

// scratch is memory that is used again.
type scratch struct {
	base  vectors // from reality
	head  vectors // behind the jobs that are not overtaken
	list  []entry
	walk  walker
	admit admission
	grid  grid
}

// A transaction is an event between begin and end.
type transaction struct {
	at      sojourn.Time
	passes  bool  // time
	settled bool  // the marks become hard
	idle    bool  // slots idle for longer than promises allow for, and no mark shows this yet
	was     clock // for a rollback
}

// begin settles promises before time passes, and before a job is promised anything
// (told). Then either abandon follows, and nothing has happened, or end.
func (p *promises) begin(at sojourn.Time, told bool) transaction {
	tx := transaction{at: at, passes: at > p.ledger.Now(), settled: told, idle: p.idled, was: p.clock}
	switch {
	case tx.passes:
		if p.unsettled() {
			p.settle()
			tx.settled, tx.idle = true, false
		} else {
			p.rollback()
		}
		if p.since, p.waits = p.idling(); p.waits && at-p.since > sojourn.Time(p.opts.Latency) {
			tx.idle = true
		}
		if due := p.due(int64(at)); due || told && tx.idle {
			p.idled, tx.settled = tx.idle, true
			p.evaluate(int64(at), 0) // earlier changes were settled
			tx.idle = false
		}
	case told:
		p.settle()
	}
	if told {
		p.renew(int64(at))
	}
	return tx
}

// abandon ends a transaction whose event is refused.
func (p *promises) abandon(tx transaction) { p.clock, p.fresh = tx.was, false }

// end ends a transaction before its event is applied.
func (p *promises) end(tx transaction) {
	if tx.settled {
		p.commit()
	} else {
		p.rollback() // the results of questions leave no trace
	}
	if tx.passes {
		p.idled = tx.idle
		p.passTimers(int64(tx.at))
	}
}

// broken records something that promises did not allow for.
func (p *promises) broken(why reason) { p.dirty, p.cause = true, p.cause|why }

// relieved records something after which a void promise may hold again.
func (p *promises) relieved() { p.dirty = p.dirty || p.voids > 0 }

// restores bounds the number of void promises that one evaluation tries to restore, the
// most urgent first.
const restores = 8

// settle computes the marks for the present instant.
func (p *promises) settle() {
	if p.fresh {
		return
	}
	p.rollback()
	p.fresh = true
	if p.unsettled() || p.idled {
		cause := p.cause
		if p.slots[maps] < p.hardSlots[maps] || p.slots[reduces] < p.hardSlots[reduces] {
			cause |= bySlots
		}
		p.evaluate(p.now(), cause)
	}
}

// unsettled reports whether something happened at this instant that is not in the hard
// marks.
func (p *promises) unsettled() bool { return p.dirty || p.slots != p.hardSlots }

// rollback sets the marks to the hard ones.
func (p *promises) rollback() {
	if p.soft {
		for _, j := range p.order.jobs {
			j.Data.mark = j.Data.hard
		}
		p.root = p.hardRoot
		p.soft = false
		p.reorder()
	}
	p.fresh = false
}

// commit makes the marks hard. They must be up to date.
func (p *promises) commit() {
	if p.soft {
		p.voids = 0
		for _, j := range p.order.jobs {
			j.Data.hard = j.Data.mark
			if j.Data.mark.promise == void {
				p.voids++
			}
		}
		p.soft, p.stale, p.hardRoot = false, false, p.root
	}
	p.dirty, p.cause, p.hardSlots, p.idled = false, 0, p.slots, false
}

// idling reports whether a free slot has not been offered although a task could
// start there, and since when. The pad on the times of tasks allows for some of
// this. It is checked when time passes.
func (p *promises) idling() (since sojourn.Time, ok bool) {
	for s, free := range p.free {
		if free > 0 && p.choose(sojourn.Class(s)) != nil {
			if p.waits {
				return p.since, true
			}
			return p.ledger.Now(), true
		}
	}
	return 0, false
}

// reorder updates the places of all jobs after marks have changed.
func (p *promises) reorder() {
	for _, j := range p.order.jobs {
		p.setKey(j)
	}
	p.order.sort()
	for _, j := range p.order.jobs {
		p.refile(j)
	}
}

// evaluate finds out which promises hold at an instant, after something happened that
// they did not allow for. Promises that cannot be kept become void, and void ones are
// restored if they fit. cause says what has happened that is in neither the hard marks
// nor the marks; evaluate adds what the passing of time has caused. Without a cause every promise
// holds, though the latency that is left of it may be less than a booking from now on has.
func (p *promises) evaluate(now int64, cause reason) {
	if p.due(now) {
		cause |= byOverrun
	}
	if p.idled {
		cause |= byIdling
	}
	if cause == 0 && p.opts.PaperReservation {
		cause = byPaper
	}
	p.reality(&p.base, now)
	changed := p.opts.Booking == Chain
	p.list = p.promised(p.list[:0], now, nil)
	w, keep := &p.walk, p.list[:0]
	w.begin(&p.base, now)
	for i := range p.list {
		en := p.list[i]
		if _, e := w.try(&en); en.late(e) && cause != 0 {
			en.job.Data.mark = mark{promise: void, why: cause, started: en.job.Data.mark.started}
			changed = true
			continue
		}
		w.keep()
		keep = append(keep, en)
	}
	p.list = keep
	changed = p.restore(now) || changed
	if p.opts.Booking == Chain {
		p.rebase(now)
	}
	if changed {
		p.soft = true
		p.reorder()
	}
}

// restore restores void promises to jobs that fit among those of p.list, which are all that hold, and adds them
// to it. It reports whether there are any.
func (p *promises) restore(now int64) (any bool) {
	tries := 0
	for _, j := range p.order.jobs {
		d := &j.Data
		if d.mark.promise != void || j.Cancelled() || d.deadline <= now {
			continue
		}
		if tries++; tries > restores {
			break
		}
		en := p.entry(j, now)
		en.promised, en.place = true, p.opts.place(d.deadline)
		if en.stuck || en.running[maps] == never || en.running[reduces] == never {
			continue
		}
		if p.resume(en, now) {
			any = true
			continue
		}
		p.opts.virtual(&en)
		a, first := p.admission(en, now)
		place, broken, _ := a.decide()
		if broken != nil {
			continue
		}
		en.place = place
		p.list = slices.Insert(p.list, first+a.natural(place), en)
		d.mark = mark{promise: kept, place: place}
		any = true
	}
	return any
}

// resume restores the promise to a job that had started in the chain, in its turn, if all promises hold so.
func (p *promises) resume(en entry, now int64) bool {
	m := &en.job.Data.mark
	if m.started == 0 || p.inTurn(en, m.started, now) != nil {
		return false
	}
	*m = mark{promise: kept, place: en.place, started: m.started}
	return true
}

// inTurn adds a job that had started in the chain to p.list, at its turn among those that have. If a promise is broken so, it
// returns this, and p.list stays as it is. The vectors are built again from reality, from where any order is right.
func (p *promises) inTurn(en entry, started uint64, now int64) *miss {
	i := slices.IndexFunc(p.list, func(e entry) bool { s := e.job.Data.mark.started; return s == 0 || s > started })
	if i < 0 {
		i = len(p.list)
	}
	p.list = slices.Insert(p.list, i, en)
	p.walk.begin(&p.base, now)
	broken := p.walk.book(p.list)
	if broken != nil {
		p.list = slices.Delete(p.list, i, i+1)
	}
	return broken
}

// entry describes what is left of a job.
func (p *promises) entry(j *job, now int64) entry {
	d := &j.Data
	en := entry{
		job: j, id: j.Spec().ID, eps: d.eps, seq: j.Seq(),
		promised: d.mark.promise == kept && !j.Cancelled(), deadline: d.deadline, place: d.mark.place,
	}
	for s := range en.tasks {
		if d.phase[s] < 0 {
			continue
		}
		en.tasks[s] = p.left(j, s)
		en.stuck = en.stuck || !j.Cancelled() && en.tasks[s] > int64(j.Phase(d.phase[s]).Pending())
		en.running[s] = d.running[s].end(d.eps[s], now)
	}
	if !j.Cancelled() {
		p.bind(&en, j.Spec())
	}
	if d.mark.started == 0 {
		p.opts.virtual(&en)
	}
	return en
}

// end returns the latest end of all running attempts: 0 if none runs, and never if one
// has outlasted its estimate.
func (s *starts) end(eps, now int64) int64 {
	last, ok := s.last()
	if !ok {
		return 0
	}
	if slotvec.Add(int64(s.runs[s.head].at), eps) < now {
		return never
	}
	return slotvec.Add(int64(last), eps)
}

// promised appends the entries of the jobs whose deadlines must be kept, in the order in
// which they are served, except the job without.
func (p *promises) promised(dst []entry, now int64, without *job) []entry {
	for _, j := range p.order.jobs {
		if j.Data.mark.promise == kept && !j.Cancelled() && j != without {
			dst = append(dst, p.entry(j, now))
		}
	}
	return dst
}

// admission prepares the test of a candidate among the jobs of p.list. With Chain, the
// first of these have started and are not overtaken. The vectors are in p.base.
func (p *promises) admission(cand entry, now int64) (a *admission, first int) {
	base := &p.base
	for first < len(p.list) && p.list[first].job.Data.mark.started > 0 {
		first++
	}
	if first > 0 {
		w := &p.walk
		w.begin(base, now)
		for i := range first {
			w.pass(&p.list[i])
		}
		p.head, w.at = w.at, p.head
		base = &p.head
	}
	return p.test(base, cand, p.list[first:], now), first
}

// test prepares the test of a candidate among jobs behind vectors, which stay as they are until it is over.
func (p *promises) test(base *vectors, cand entry, list []entry, now int64) *admission {
	a := &p.admit
	a.list, a.base, a.cand, a.now, a.limit = list, base, cand, now, 0
	a.some = slices.ContainsFunc(list, func(en entry) bool { return en.bound > 0 })
	a.one = p.opts.OnePosition || p.opts.Order == FIFO
	return a
}

// reality sets v to the instants at which slots that do not retire become available:
// free ones now, busy ones at the latest end of their attempts. It leaves out slots
// whose attempts have outlasted their estimates, since their ends are unknown.
func (p *promises) reality(v *vectors, now int64) {
	for s := range v {
		v[s] = v[s][:0]
		if p.free[s] > 0 {
			v[s] = append(v[s], slotvec.Run{T: now, N: p.free[s]})
		}
	}
	for s := range v {
		at := v[s]
		p.ends(p.order.jobs, s, func(s *starts, eps int64) {
			for _, r := range s.runs[s.head:] {
				if end := slotvec.Add(int64(r.at), eps); r.n != 0 && end >= now {
					at = append(at, slotvec.Run{T: end, N: r.n})
				}
			}
		})
		v[s] = slotvec.Sort(at)
	}
}
