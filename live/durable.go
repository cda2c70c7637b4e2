package live

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Handler runs one attempt at a task of a job that names it, as [Phase].Run does. It gets the payload of the job, which
// it must not change.
type Handler func(ctx context.Context, t Task, payload []byte) error

// A durable policy keeps what it is told, what it decides, and the bytes that a pool attaches to jobs: a journal.Journal, whose
// methods say what these mean. If an error of Wait or Write has a
// method Stalled() bool that returns true, the policy goes on in memory, and the pool calls Wait again: see [ErrStalled]. If it has a method
// Follow() error, as a Journal has, whose error has a method Standby() bool that returns true, the pool calls it again until it returns nil: see
// [ErrStandby].
type durable interface {
	sojourn.Policy
	Account() *account.Account
	MaxJob() sojourn.JobID
	Time(wall time.Time) sojourn.Time
	Attach(id sojourn.JobID, data []byte) error
	Attached(id sojourn.JobID) []byte
	Keep(key string, data []byte) error
	Kept() iter.Seq2[string, []byte]
	End() int64
	Wait(pos int64) error
	Write() error
}

// An order is what a pool attaches to a job: what the policy is not told, and the next process has to know.
type order struct {
	handler  string
	payload  []byte
	until    sojourn.Time // when the job is given up; 0: never
	retry    *Retry       // nil: as the Options say
	timeouts []time.Duration
	mayFail  int
	key      string
}

var orderHeader = snapshot.Header{Policy: "job of a pool", Version: 2}

func (o *order) encode() ([]byte, error) {
	return snapshot.Append(nil, orderHeader, func(w *snapshot.Writer) {
		w.String(o.handler)
		w.String(string(o.payload))
		w.Time(o.until)
		w.Bool(o.retry != nil)
		if r := o.retry; r != nil {
			w.Int(int64(r.Attempts))
			w.Duration(r.Backoff)
			w.Duration(r.MaxBackoff)
			w.Float(r.Jitter)
			w.Int(int64(r.Budget))
			w.Int(int64(r.Deaths))
		}
		w.Len(len(o.timeouts))
		for _, d := range o.timeouts {
			w.Duration(d)
		}
		w.Int(int64(o.mayFail))
		w.String(o.key)
	})
}

func (o *order) decode(data []byte) error {
	return snapshot.Restore(o, data, orderHeader, func() { *o = order{} }, func(r *snapshot.Reader) {
		o.handler = r.String()
		o.payload = []byte(r.String())
		o.until = r.Time()
		if r.Bool() {
			o.retry = &Retry{Attempts: r.Native(), Backoff: r.Duration(), MaxBackoff: r.Duration(), Jitter: r.Float(), Budget: r.Native(), Deaths: r.Native()}
			if err := o.retry.check(); err != nil {
				r.Fail("%v", err)
			}
		}
		for range r.Len() {
			o.timeouts = append(o.timeouts, r.Duration())
		}
		o.mayFail = r.Native()
		o.key = r.String()
	})
}

// bind makes functions of the handler that a job names.
func (o *Options) bind(j *Job) error {
	f := o.Handlers[j.Handler]
	if f == nil {
		return fmt.Errorf("live: no handler %q: register it in Options.Handlers", j.Handler)
	}
	payload := j.Payload
	run := func(ctx context.Context, t Task) error { return f(ctx, t, payload) }
	j.Phases = slices.Clone(j.Phases)
	for i := range j.Phases {
		ph := &j.Phases[i]
		if ph.Run != nil || ph.results != nil {
			return fmt.Errorf("live: phase %d has a function, but handler %q runs the job", i, j.Handler)
		}
		ph.Run = run
	}
	return nil
}

// A keeper is the durable policy of a pool, if it has one.
type keeper struct{ d durable }

// order returns what the next process has to know of a job, nil if there will be none.
func (k keeper) order(h *Handle, j *Job) ([]byte, error) {
	if k.d == nil {
		return nil, nil
	}
	o := order{handler: j.Handler, payload: j.Payload, retry: j.Retry, mayFail: j.MaxFailedTasks, key: j.Key}
	if j.Timeout > 0 {
		o.until = h.at.Add(j.Timeout)
	}
	for i := range j.Phases {
		o.timeouts = append(o.timeouts, j.Phases[i].Timeout)
	}
	return o.encode()
}

// position returns what has to be durable now. The lock is held.
func (k keeper) position() int64 {
	if k.d == nil {
		return 0
	}
	return k.d.End()
}

// leftovers are what clearOut found.
type leftovers struct {
	ran   map[sojourn.JobID]bool // jobs of which attempts ran when the process before ended
	at    sojourn.Time           // the last that is known of it
	tasks map[sojourn.TaskID]trouble
	past  map[sojourn.JobID]past
	lost  []account.Attempt // that are counted now
	ended map[sojourn.JobID]*entry
	told  map[sojourn.JobID]bool
	saved map[sojourn.TaskID][]byte
}

// read reads what the process before has kept.
func (l *leftovers) read(d durable) error {
	for key, data := range d.Kept() {
		var err error
		switch {
		case strings.HasPrefix(key, taskKey):
			if id, ok := taskOfKey(key); ok {
				var t trouble
				err = t.decode(data)
				l.tasks[id] = t
			}
		case strings.HasPrefix(key, savedKey):
			if id, ok := taskOfKey(key); ok {
				l.saved[id] = data
			}
		case strings.HasPrefix(key, endedKey):
			if id, ok := jobOfKey(key); ok {
				l.ended[id] = new(entry)
				err = l.ended[id].decode(data)
			}
		case strings.HasPrefix(key, toldKey):
			if id, ok := jobOfKey(key); ok {
				l.told[id] = true
			}
		case strings.HasPrefix(key, pastKey):
			if id, ok := jobOfKey(key); ok {
				var past past
				err = past.decode(data)
				l.past[id] = past
			}
		}
		if err != nil {
			return fmt.Errorf("live: what is kept under %q: %w", key, err)
		}
	}
	return nil
}

// clearOut takes away what the process before has left in a durable policy, but for its jobs.
func clearOut(d durable, now sojourn.Time) (left leftovers, err error) {
	acc := d.Account()
	down := acc.Down()
	if d.End() > 0 && slices.ContainsFunc(down, func(s sojourn.Slot) bool { return s.Node == marker }) {
		return left, fmt.Errorf("%w: the policy: another pool has the journal", ErrInUse)
	}
	left = leftovers{ran: map[sojourn.JobID]bool{}, at: acc.Now(), tasks: map[sojourn.TaskID]trouble{}, past: map[sojourn.JobID]past{}, ended: map[sojourn.JobID]*entry{}, told: map[sojourn.JobID]bool{}, saved: map[sojourn.TaskID][]byte{}}
	if err := left.read(d); err != nil {
		return left, err
	}
	if err := left.countLost(d); err != nil { // before the events, after which no attempt runs
		return left, err
	}
	var list []sojourn.Event
	for at := range acc.Attempts() {
		left.ran[at.Task.Job] = true
		list = append(list, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: at.Task, Attempt: at.Number,
			Slot: sojourn.Slot{ID: at.Slot.ID}, Service: at.Service})
	}
	for s := range acc.Slots() {
		if !acc.Retiring(s.ID) {
			list = append(list, sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.ID}})
		}
	}
	for j := range acc.Jobs() {
		if j.Held == 0 {
			continue
		}
		for task := range acc.Held(j.Spec.ID) {
			list = append(list, sojourn.Event{Kind: sojourn.TaskReady, Task: task})
		}
	}
	for _, n := range down {
		list = append(list, sojourn.Event{Kind: sojourn.NodeUp, Slot: n})
	}
	for _, ev := range list {
		ev.At = max(now, acc.Now())
		if err := d.Observe(ev); err != nil {
			return left, err
		}
	}
	return left, nil
}

// resume goes on with the jobs that a durable policy has. If it cannot, it lets go of the policy.
func (p *Pool) resume(left leftovers) error {
	p.mu.Lock() // the time of a job may be over
	defer p.mu.Unlock()
	return p.resumeLocked(left)
}

func (p *Pool) resumeLocked(left leftovers) error {
	if err := p.makeHandles(); err != nil {
		for _, h := range p.jobs.all() {
			if t := h.more.get().timeout; t != nil {
				t.Stop()
			}
		}
		_ = p.end(nil)
		return err
	}
	jobs := p.jobs.all()
	for _, h := range jobs {
		p.announce.resumed(h, left)
	}
	p.remember(left)
	p.resumeRecord(left)
	for _, h := range jobs {
		switch m := h.more; {
		case m == nil:
		case m.parked:
			p.park(h)
		default:
			p.judge(h)
		}
	}
	if len(jobs) > 0 { // the owner adds slots of other classes after New
		p.later = time.AfterFunc(p.opt.Grace, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.look(p.noteClasses)
		})
	}
	return nil
}

// makeHandles makes handles for the jobs that a durable policy has.
func (p *Pool) makeHandles() error {
	acc := p.kept.d.Account()
	live := sortedJobs(acc)
	first, last := p.kept.d.MaxJob(), p.kept.d.MaxJob()
	if len(live) > 0 {
		first = live[0].Spec.ID
	}
	if last-first >= 1<<36 || last >= 1<<63 {
		return fmt.Errorf("live: jobs %d and %d are too far apart: they are not those of a pool", first, last)
	}
	p.jobs.begin(first, last)
	for _, job := range live {
		h, until, err := p.standby.take(p, job)
		if err != nil {
			return err
		}
		if until > 0 {
			h.extend().timeout = time.AfterFunc(max(until.Sub(p.d.Now()), 0), func() { p.cancel(h, ErrJobTimeout) })
		}
		p.jobs.put(h)
		if key := h.more.get().key; key != "" {
			p.record.keys[key] = h.spec.ID
		}
	}
	return nil
}

// sortedJobs returns the live jobs by ID.
func sortedJobs(acc *account.Account) []account.Job {
	return slices.SortedFunc(acc.Jobs(), func(a, b account.Job) int { return cmp.Compare(a.Spec.ID, b.Spec.ID) })
}

// park keeps the tasks of a job from being started in this process.
func (p *Pool) park(h *Handle) {
	for i := range h.spec.Phases {
		for k := range h.spec.Phases[i].Tasks {
			id := sojourn.TaskID{Job: h.spec.ID, Phase: uint16(i), Index: uint32(k)}
			if state, _ := p.kept.d.Account().Task(id); state == account.Pending {
				p.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: id})
			}
		}
	}
	o, _ := p.orderOf(h.spec.ID)
	p.announce.job(JobStuck, h, fmt.Errorf("%w: %q", ErrNoHandler, o.handler))
}

// newResumed returns the handle of a job that a process before submitted, and when it is given up; 0: never.
func newResumed(p *Pool, job account.Job) (h *Handle, until sojourn.Time, err error) {
	spec := job.Spec
	data := p.kept.d.Attached(spec.ID)
	if data == nil {
		return nil, 0, fmt.Errorf("live: job %d has no handler: it was not submitted to a pool", spec.ID)
	}
	var o order
	if err := o.decode(data); err != nil {
		return nil, 0, fmt.Errorf("live: job %d: %w", spec.ID, err)
	}
	if len(o.timeouts) != len(spec.Phases) {
		return nil, 0, fmt.Errorf("live: job %d has %d phases, and was submitted with %d", spec.ID, len(spec.Phases), len(o.timeouts))
	}
	j := Job{Handler: o.handler, Payload: o.payload, Retry: o.retry, MaxFailedTasks: o.mayFail, Key: o.key, Phases: make([]Phase, len(spec.Phases))}
	for i := range j.Phases {
		j.Phases[i].Timeout = o.timeouts[i]
	}
	if p.opt.Handlers[o.handler] == nil {
		j.parked = true
		for i := range j.Phases {
			j.Phases[i].Run = func(context.Context, Task) error { return ErrNoHandler }
		}
	}
	h, err = newHandle(context.Background(), p, &j)
	if err != nil {
		return nil, 0, fmt.Errorf("job %d: %w", spec.ID, err)
	}
	h.spec, h.at = *spec, p.kept.d.Account().Now().Add(-job.Age)
	h.count(p.kept.d.Account(), job)
	return h, o.until, nil
}

// count counts what is left of a job that a process before submitted.
func (h *Handle) count(acc *account.Account, job account.Job) {
	h.left = int32(job.Left)
	for i := range h.spec.Phases {
		h.work(i).left = int32(acc.Left(h.spec.ID, i))
	}
}

// Handles returns the live jobs in the order of their submission. After New with a durable policy these are
// the jobs that go on. The pool does not wait meanwhile: it is locked for 512 jobs at a time, so more than these are not those of one
// instant.
func (p *Pool) Handles() []*Handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*Handle, 0, p.jobs.live)
	p.lookPages(func(pg *page) {
		if pg.live == pageSize {
			list = append(list, pg.jobs[:]...)
			return
		}
		for _, h := range pg.jobs {
			if h != nil {
				list = append(list, h)
			}
		}
	})
	return list
}
