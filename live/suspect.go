package live

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A trouble is what has become of the attempts at a task that has not succeeded. Under a durable policy it outlives the process.
type trouble struct {
	failures int    // attempts that failed by themselves
	lost     int    // attempts that a process has taken along
	last     uint32 // the number of the last of these
	deaths   int    // how many of these ran alone
	late     int    // how many of these had run alone for so long that others were started beside them
	alone    uint32 // the number of the last attempt that was started alone
	passed   uint32 // the number of the last attempt beside which others were started
	suspect  bool   // it is started alone, until it succeeds
	over     bool   // it has failed for good, and its job goes on without it
}

var troubleHeader = snapshot.Header{Policy: "trouble of a pool", Version: 1}

func (t *trouble) encode() []byte {
	data, _ := snapshot.Append(nil, troubleHeader, func(w *snapshot.Writer) { // it never fails
		for _, n := range []int{t.failures, t.lost, t.deaths, t.late} {
			w.Int(int64(n))
		}
		for _, n := range []uint32{t.last, t.alone, t.passed} {
			w.Uint(uint64(n))
		}
		w.Bool(t.suspect)
		w.Bool(t.over)
	})
	return data
}

func (t *trouble) decode(data []byte) error {
	return snapshot.Restore(t, data, troubleHeader, func() { *t = trouble{} }, func(r *snapshot.Reader) {
		for _, n := range []*int{&t.failures, &t.lost, &t.deaths, &t.late} {
			*n = r.Native()
			r.Check(*n >= 0, "a number is negative")
		}
		for _, n := range []*uint32{&t.last, &t.alone, &t.passed} {
			*n = uint32(r.Below(1 << 32))
		}
		t.suspect, t.over = r.Bool(), r.Bool()
	})
}

// Keys under which a durable policy keeps what is known of tasks: this letter, and the ID.
const taskKey = "t"

func keyOfTask(letter string, id sojourn.TaskID) string {
	b := binary.BigEndian.AppendUint64([]byte(letter), uint64(id.Job))
	b = binary.BigEndian.AppendUint16(b, id.Phase)
	return string(binary.BigEndian.AppendUint32(b, id.Index))
}

func taskOfKey(key string) (id sojourn.TaskID, ok bool) {
	b := []byte(key)[1:]
	if len(b) != 8+2+4 {
		return id, false
	}
	return sojourn.TaskID{Job: sojourn.JobID(binary.BigEndian.Uint64(b)), Phase: binary.BigEndian.Uint16(b[8:]), Index: binary.BigEndian.Uint32(b[10:])}, true
}

// A past is what has become of the attempts at tasks of a job that have succeeded since. Under a durable policy it outlives the
// process.
type past struct {
	failures, lost int
	away           int    // attempts that were preempted or lost their slot, at any task of the job
	first          string // the first failure of any task of the job; "" if there was none
}

var pastHeader = snapshot.Header{Policy: "past of a job", Version: 1}

func (x *past) encode() []byte {
	data, _ := snapshot.Append(nil, pastHeader, func(w *snapshot.Writer) { // it never fails
		w.Int(int64(x.failures))
		w.Int(int64(x.lost))
		w.Int(int64(x.away))
		w.String(x.first)
	})
	return data
}

func (x *past) decode(data []byte) error {
	return snapshot.Restore(x, data, pastHeader, func() { *x = past{} }, func(r *snapshot.Reader) {
		*x = past{r.Native(), r.Native(), r.Native(), r.String()}
	})
}

// pastKey is the same for the past of jobs.
const pastKey = "j"

func keyOfJob(letter string, id sojourn.JobID) string {
	return string(binary.BigEndian.AppendUint64([]byte(letter), uint64(id)))
}

func jobOfKey(key string) (id sojourn.JobID, ok bool) {
	if len(key) != 1+8 {
		return 0, false
	}
	return sojourn.JobID(binary.BigEndian.Uint64([]byte(key)[1:])), true
}

// countLost enters what the end of the process before says of the attempts that it has taken along. If one of them was started alone
// and nothing was started beside it since, that is the one which has ended the process. Otherwise all are suspects. It does nothing
// about those that it has entered already: the process may end again before that is durable.
func (l *leftovers) countLost(d durable) error {
	culprit := false
	for at := range d.Account().Attempts() {
		t := l.tasks[at.Task]
		culprit = culprit || t.alone == at.Number && t.passed != at.Number
	}
	for at := range d.Account().Attempts() {
		t, n := l.tasks[at.Task], at.Number
		if t.last == n {
			continue
		}
		l.lost = append(l.lost, at)
		t.lost++
		t.last = n
		switch {
		case t.alone == n && t.passed != n:
			t.deaths++
			t.suspect = true
		case culprit:
			t.suspect = t.deaths > 0
		default:
			t.suspect = true
			if t.passed == n {
				t.late++
			}
		}
		l.tasks[at.Task] = t
		if err := d.Keep(keyOfTask(taskKey, at.Task), t.encode()); err != nil {
			return err
		}
	}
	return nil
}

// remember gives handles what processes before have kept of their jobs, and forgets the rest.
func (p *Pool) remember(l leftovers) {
	for _, id := range sortedTasks(l.tasks) {
		h := p.jobs.get(id.Job)
		if h == nil {
			p.keep(keyOfTask(taskKey, id), nil)
			continue
		}
		t := l.tasks[id]
		m := h.extend()
		m.failures += t.failures
		m.lost += t.lost
		switch state, _ := p.kept.d.Account().Task(id); {
		case t.over && state == account.Done:
			m.failed++
		case state == account.Done: // the process ended before this was forgotten
			p.keep(keyOfTask(taskKey, id), nil)
			continue
		}
		m.set(id, t)
	}
	for _, at := range l.lost {
		if h := p.jobs.get(at.Task.Job); h != nil {
			p.announce.taskOnly(TaskLost, h, at.Task, at.Number, errLost)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.past)) {
		h, x := p.jobs.get(id), l.past[id]
		if h == nil {
			p.keep(keyOfJob(pastKey, id), nil)
			continue
		}
		m := h.extend()
		m.past = x
		m.failures += x.failures
		m.lost += x.lost
	}
}

func sortedTasks[V any](of map[sojourn.TaskID]V) []sojourn.TaskID {
	return slices.SortedFunc(maps.Keys(of), compareTasks)
}

// keepTrouble keeps what is known of a task that has not succeeded, for this process and the next one.
func (p *Pool) keepTrouble(h *Handle, id sojourn.TaskID, t trouble) {
	h.extend().set(id, t)
	if p.kept.d != nil {
		p.keep(keyOfTask(taskKey, id), t.encode())
	}
}

func (m *more) set(id sojourn.TaskID, t trouble) {
	if m.tasks == nil {
		m.tasks = map[sojourn.TaskID]trouble{}
	}
	m.tasks[id] = t
}

// forgetTrouble forgets what was known of a task that has succeeded.
func (p *Pool) forgetTrouble(h *Handle, id sojourn.TaskID) {
	m := h.more
	t, ok := m.get().tasks[id]
	if !ok {
		return
	}
	delete(m.tasks, id)
	p.keep(keyOfTask(taskKey, id), nil)
	m.past.failures += t.failures
	m.past.lost += t.lost
	p.keepPast(h)
}

func (p *Pool) keepPast(h *Handle) {
	if p.kept.d != nil {
		p.keep(keyOfJob(pastKey, h.spec.ID), h.more.past.encode())
	}
}

// away enters that an attempt was preempted or has lost its slot.
func (p *Pool) away(h *Handle) {
	if p.record.most > 0 {
		h.extend().past.away++
		p.keepPast(h)
	}
}

// forget forgets what is kept of a job that has ended.
func (p *Pool) forget(h *Handle) {
	if p.kept.d == nil {
		return
	}
	for _, id := range sortedTasks(h.more.tasks) {
		p.keep(keyOfTask(taskKey, id), nil)
	}
	if h.more.past != (past{}) {
		p.keep(keyOfJob(pastKey, h.spec.ID), nil)
	}
	if p.record.jobs[h.spec.ID] == nil {
		p.forgetSaved(h.more.saved)
	}
}

// failure returns the text of an error to keep.
func failure(err error) string {
	const most = 1000
	s := func() (s string) {
		defer func() {
			if x := recover(); x != nil {
				s = fmt.Sprintf("the error, a %T, panics", err)
			}
		}()
		return err.Error()
	}()
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// keep keeps bytes for the next process, if the policy is durable. The caller settles.
func (p *Pool) keep(key string, data []byte) {
	if p.kept.d != nil && p.broken == nil {
		if err := p.kept.d.Keep(key, data); err != nil {
			p.fail(err)
		}
	}
}

// A suspect is a task that ran when a process ended, and has not run since.
type suspect struct {
	h  *Handle
	id sojourn.TaskID
}

// judge decides what becomes of the tasks of a job that processes before have left in trouble.
func (p *Pool) judge(h *Handle) {
	m := h.more.get()
	for _, id := range sortedTasks(m.tasks) {
		if h.err != nil || h.ended {
			return
		}
		t := m.tasks[id]
		deaths := p.retry(h).Deaths
		switch {
		case t.over:
			if state, _ := p.kept.d.Account().Task(id); state != account.Done { // the process ended before it was
				p.giveUpTask(h, id, nil)
			}
		case t.lost > 0 && deaths > 0 && t.suspect && t.deaths >= deaths-1:
			p.giveUpTask(h, id, &TaskError{Task: id, Failures: t.failures, Err: fmt.Errorf("%w: %d attempts, %d of them alone", ErrDead, t.lost, t.deaths)})
		case t.suspect && deaths > 0:
			p.await(h, id)
		}
	}
}

// giveUpTask ends a task for good that waits. Its job goes on without it, if it allows for that.
func (p *Pool) giveUpTask(h *Handle, id sojourn.TaskID, err error) {
	m := h.extend()
	if t := m.tasks[id]; !t.over {
		if m.failed >= m.mayFail {
			p.giveUp(h, err)
			return
		}
		t.over, t.suspect = true, false
		p.keepTrouble(h, id, t)
		p.announce.taskOnly(TaskGivenUp, h, id, 0, err)
	}
	m.failed++
	h.left--
	h.work(int(id.Phase)).left--
	if h.completeWith(h.left) {
		p.recordEnd(h, nil)
	}
	p.must(sojourn.Event{Kind: sojourn.TaskDone, Task: id})
	if h.completeWith(h.left) && h.running == 0 {
		p.finish(h)
	}
}

// suspects are the tasks that wait to be started alone, those first that have ended fewest processes.
type suspects []suspect

func (s *suspects) add(x suspect) {
	i, _ := slices.BinarySearchFunc(*s, x, func(a, b suspect) int {
		return cmp.Or(cmp.Compare(a.h.more.tasks[a.id].deaths, b.h.more.tasks[b.id].deaths), compareTasks(a.id, b.id))
	})
	*s = slices.Insert(*s, i, x)
	x.h.more.suspects++
}

// drop takes those of a job away.
func (s *suspects) drop(h *Handle) {
	if h.more.get().suspects > 0 {
		*s = slices.DeleteFunc(*s, func(x suspect) bool { return x.h == h })
		h.more.suspects = 0
	}
}

// A trial is an attempt that was started alone.
type trial struct {
	a     *attempt
	timer *time.Timer // goes off when others may be started beside it; nil: never
}

// try starts the next suspect, if there is a slot for it. Others that run go on, and the policy is not asked: it is told. If
// the attempt goes on in the goroutine of an old one, it is returned. Nothing else is to be started while p.trial has an attempt.
func (p *Pool) try(old *attempt) (next *attempt) {
	if p.trial.a != nil || len(p.suspects) == 0 {
		return nil
	}
	var idle [sojourn.MaxClasses]*slot
	for _, s := range p.slots {
		if s != nil && s.a == nil && !s.leaving && (idle[s.Class] == nil || old != nil && s.ID == old.Slot) {
			idle[s.Class] = s
		}
	}
	for i := 0; i < len(p.suspects); i++ {
		x := p.suspects[i]
		s := idle[x.h.spec.Phases[x.id.Phase].Class]
		if most := x.h.latest().Parallelism; s == nil || most > 0 && int64(x.h.running) >= int64(most) {
			continue
		}
		p.suspects = slices.Delete(p.suspects, i, i+1)
		i--
		x.h.more.suspects--
		_, last := p.kept.d.Account().Task(x.id)
		t := x.h.more.tasks[x.id]
		t.alone = last + 1
		p.keepTrouble(x.h, x.id, t)
		p.must(sojourn.Event{Kind: sojourn.TaskReady, Task: x.id})
		as := sojourn.Assignment{Task: x.id, Attempt: t.alone, Slot: s.ID}
		err := p.observe(sojourn.Event{Kind: sojourn.TaskAdopted, Task: x.id, Attempt: as.Attempt, Slot: sojourn.Slot{ID: s.ID}})
		if p.broken != nil {
			return nil
		}
		if err != nil { // the policy wants to start it by itself
			t.suspect = false
			p.keepTrouble(x.h, x.id, t)
			continue
		}
		p.trial = trial{}
		next = p.launch(as, p.kept.position(), old)
		a := p.slots[s.ID].a
		p.trial.a, a.shared = a, true
		if p.opt.Probation > 0 {
			p.trial.timer = time.AfterFunc(p.opt.Probation<<min(t.late, 20), func() { p.pass(a) })
		}
		return next
	}
	return nil
}

// pass is called when an attempt has run alone for long enough. That it has is durable before any attempt starts beside it.
func (p *Pool) pass(a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trial.a != a {
		return
	}
	p.leaveTrial(a)
	t := a.h.more.tasks[a.Task]
	t.passed = a.Attempt
	p.keepTrouble(a.h, a.Task, t)
	p.settle(nil)
}

// leaveTrial enters that an attempt does not run any more.
func (p *Pool) leaveTrial(a *attempt) {
	if p.trial.a == a {
		if p.trial.timer != nil {
			p.trial.timer.Stop()
		}
		p.trial = trial{}
	}
}

// await lets a task that has not succeeded wait until it is started alone, if it is a suspect.
func (p *Pool) await(h *Handle, id sojourn.TaskID) {
	if t := h.more.get().tasks[id]; t.suspect && h.err == nil && p.retry(h).Deaths > 0 {
		p.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: id})
		p.suspects.add(suspect{h, id})
	}
}

// retry returns what holds for the tasks of a job.
func (p *Pool) retry(h *Handle) *Retry { return cmp.Or(h.more.get().retry, &p.opt.Retry) }

var errLost = errors.New("live: the process ended while the task ran")
