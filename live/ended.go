package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// An Outcome says what became of a job.
type Outcome uint8

// What can become of a job. A dead one has a task that fails with [ErrDead].
const (
	_ Outcome = iota
	Finished
	Failed
	Cancelled
	Dead
)

var outcomeNames = [...]string{Finished: "finished", Failed: "failed", Cancelled: "cancelled", Dead: "dead"}

// String returns the name of the constant in lower case.
func (o Outcome) String() string {
	if o == 0 || int(o) >= len(outcomeNames) {
		return fmt.Sprintf("Outcome(%d)", uint8(o))
	}
	return outcomeNames[o]
}

// Ended is what a pool remembers of a job that has ended: see Options.Remember.
type Ended struct {
	ID              sojourn.JobID
	Key, Name, Pool string
	Handler         string
	Payload         []byte // not to be changed; nil if it has more than 4 KiB, unless the job is dead
	Outcome         Outcome
	Err             string // why the job has not finished, as Wait has it; "" if it has
	First           string // the first failure of one of its tasks; "" if there was none
	Tasks           int
	FailedTasks     int // that have failed for good, without the job: see [Job].MaxFailedTasks

	// Saved is what tasks have saved, by the text of their IDs (see [sojourn.TaskID.String]), not to be changed: see [Save].
	Saved map[string][]byte

	// Attempts at tasks, and how many of them failed by themselves or ended with their process. The others that did not succeed were
	// preempted, or lost their slot.
	Attempts, Failures, Lost int

	Submitted, At time.Time // by the clock of the machine
}

// An entry is what is remembered of a job.
type entry struct {
	Ended
	at    sojourn.Time // when it ended
	told  bool         // OnEnd has returned nil, or nobody is to be told
	noted bool         // under toldKey
	again []byte       // the job and its order, with the payload; nil if that is too long
	pos   int64        // what has to be durable before somebody is told
	tries int          // calls of OnEnd
	saved map[sojourn.TaskID][]byte
	err   error // of Wait; nil: finished, or a process before had it
}

// endedKey is the letter of keys under which jobs that have ended are kept.
const endedKey = "e"

// toldKey is the letter of keys that are kept of those of which OnEnd was told: the disk may be full, and a job long.
const toldKey = "o"

// mostPayload is the length up to which payloads of ended jobs are kept.
const mostPayload = 4 << 10

var endedHeader = snapshot.Header{Policy: "end of a job", Version: 1}

func (e *entry) encode() []byte {
	payload := ""
	if e.again == nil {
		payload = string(e.Payload)
	}
	data, _ := snapshot.Append(nil, endedHeader, func(w *snapshot.Writer) { // it never fails
		w.Uint(uint64(e.ID))
		for _, s := range []string{e.Key, e.Name, e.Pool, e.Handler, payload, e.Err, e.First, string(e.again)} {
			w.String(s)
		}
		w.Uint(uint64(e.Outcome))
		for _, n := range []int{e.Tasks, e.FailedTasks, e.Attempts, e.Failures, e.Lost} {
			w.Int(int64(n))
		}
		w.Int(e.Submitted.UnixNano())
		w.Int(e.At.UnixNano())
		w.Time(e.at)
		w.Bool(e.told)
	})
	return data
}

func (e *entry) decode(data []byte) error {
	return snapshot.Restore(e, data, endedHeader, func() { *e = entry{} }, func(r *snapshot.Reader) {
		e.ID = sojourn.JobID(r.Uint())
		var payload, again string
		for _, s := range []*string{&e.Key, &e.Name, &e.Pool, &e.Handler, &payload, &e.Err, &e.First, &again} {
			*s = r.String()
		}
		e.Payload, e.again = bytesOf(payload), bytesOf(again)
		if e.again != nil && e.Payload == nil {
			x, _, err := decodeAgain(e.again)
			r.Check(err == nil, "what it takes to submit the job again is damaged")
			e.Payload = x.payload
		}
		e.Outcome = Outcome(r.Below(uint64(len(outcomeNames))))
		for _, n := range []*int{&e.Tasks, &e.FailedTasks, &e.Attempts, &e.Failures, &e.Lost} {
			*n = r.Native()
		}
		e.Submitted, e.At = time.Unix(0, r.Int()), time.Unix(0, r.Int())
		e.at = r.Time()
		e.told = r.Bool()
	})
}

func bytesOf(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// A remembered error is that of a job which ended in a process before.
type rememberedError struct {
	text string
	is   error
}

func (e *rememberedError) Error() string { return e.text }
func (e *rememberedError) Unwrap() error { return e.is }

// wait returns what Wait does.
func (e *entry) wait() error {
	if e.err != nil || e.Outcome == Finished {
		return e.err
	}
	for _, err := range []error{ErrCancelled, ErrJobTimeout, ErrClosed} {
		if e.Err == err.Error() {
			return err
		}
	}
	r := &rememberedError{text: e.Err}
	if e.Outcome == Dead {
		r.is = ErrDead
	}
	return r
}

// A record is what a pool remembers of jobs that have ended. The lock of the pool guards it.
type record struct {
	most  int           // jobs; 0: nothing is remembered
	keep  time.Duration // since the end
	jobs  map[sojourn.JobID]*entry
	keys  map[string]sojourn.JobID // of live jobs, and of those in jobs
	told  line                     // those that may be forgotten, in the order of their ends
	calls calls
}

// A calls calls OnEnd.
type calls struct {
	queue   line // to be told of for the first time
	again   line // to be told of once more, or from a process before: in turn with those
	running int  // calls that have not used up their time
	quiet   chan struct{}
	failed  int  // calls in a row
	paused  bool // the last ones have failed: nothing is told again
	turn    bool // it is the turn of the line again
	owed    bool // a pause has ended, and nothing was told again since: there is no other one before that
	ctx     context.Context
	cancel  context.CancelFunc
	stopped bool
}

const (
	callsAtOnce = 4           // calls of OnEnd
	callTime    = time.Minute // after which the context of a call ends
)

// endKey is the key under which the context of OnEnd has the pool.
type endKey struct{}

func newRecord(p *Pool, o *Options, durable bool) record {
	r := record{most: o.Remember, keep: o.RememberFor, jobs: map[sojourn.JobID]*entry{}, keys: map[string]sojourn.JobID{}}
	switch {
	case r.most < 0:
		r.most = 0
	case r.most == 0 && (durable || o.OnEnd != nil):
		r.most = 10_000
	}
	if r.keep == 0 {
		r.keep = 7 * 24 * time.Hour
	}
	r.calls.ctx, r.calls.cancel = context.WithCancel(context.WithValue(context.Background(), endKey{}, p))
	return r
}

// recordEnd enters what becomes of a job, before the event that ends it.
func (p *Pool) recordEnd(h *Handle, why error) {
	if p.record.most == 0 || p.broken != nil || p.suspended && errors.Is(why, ErrSuspended) {
		return
	}
	m := h.more.get()
	now := time.Now()
	e := &entry{at: p.d.Time(), told: p.opt.OnEnd == nil, err: why, saved: m.saved}
	e.Ended = Ended{ID: h.spec.ID, Key: m.key, Name: h.spec.Name, Pool: h.spec.Pool, First: m.past.first, FailedTasks: m.failed, Failures: m.failures, Lost: m.lost, Saved: byText(m.saved),
		Submitted: now.Add(-e.at.Sub(h.at)), At: now}
	for i := range h.latest().Phases {
		e.Tasks += h.latest().Phases[i].Tasks
	}
	e.Attempts = e.Tasks - int(h.left) - m.failed + m.failures + m.lost + m.past.away + int(h.running)
	switch {
	case why == nil:
		e.Outcome = Finished
	case errors.Is(why, ErrDead):
		e.Outcome = Dead
	case errors.Is(why, ErrCancelled), errors.Is(why, ErrClosed), h.ctx.Err() != nil:
		e.Outcome = Cancelled
	default:
		e.Outcome = Failed
	}
	if why != nil {
		e.Err = failure(why)
	}
	if len(m.payload) <= mostPayload {
		e.Payload = m.payload
	}
	if p.kept.d != nil {
		o, data := p.orderOf(h.spec.ID)
		e.Handler = o.handler
		if len(o.payload) <= mostPayload || e.Outcome == Dead {
			e.Payload = o.payload
			if why != nil {
				e.again = encodeAgain(data, h.latest())
			}
		}
		p.keep(keyOfJob(endedKey, e.ID), e.encode())
	}
	p.record.jobs[e.ID] = e
}

// unrecord takes back what recordEnd has entered: the policy has refused the event that would have ended the job.
func (p *Pool) unrecord(h *Handle) {
	if p.record.jobs[h.spec.ID] != nil {
		delete(p.record.jobs, h.spec.ID)
		p.keep(keyOfJob(endedKey, h.spec.ID), nil)
	}
}

// encodeAgain returns what it takes to submit a job again.
func encodeAgain(order []byte, spec *sojourn.Job) []byte {
	data, _ := snapshot.Append(nil, orderHeader, func(w *snapshot.Writer) { // it never fails
		w.String(string(order))
		w.Job(spec)
	})
	return data
}

// decodeAgain returns what encodeAgain was given.
func decodeAgain(again []byte) (o order, spec *sojourn.Job, err error) {
	var data string
	err = snapshot.Restore(&data, again, orderHeader, func() {}, func(r *snapshot.Reader) { data, spec = r.String(), r.Job() })
	if err == nil {
		err = o.decode([]byte(data))
	}
	return o, spec, err
}

// orderOf returns what the pool has attached to a live job.
func (p *Pool) orderOf(id sojourn.JobID) (o order, data []byte) {
	data = p.kept.d.Attached(id)
	_ = o.decode(data) // it has been read before, or was written by this process
	return o, data
}

// recorded lets somebody be told of a job that has ended.
func (p *Pool) recorded(h *Handle) {
	if key := h.more.get().key; key != "" && p.record.jobs[h.spec.ID] == nil {
		delete(p.record.keys, key)
	}
	e := p.record.jobs[h.spec.ID]
	if e == nil {
		return
	}
	if p.broken != nil || errors.Is(h.err, ErrSuspended) {
		delete(p.record.jobs, e.ID) // it goes on in the next process
		return
	}
	e.pos = h.pos
	p.announceEnd(e, &p.record.calls.queue)
}

// announceEnd lets OnEnd be called, in one of two lines, or the job be forgotten when its time has come.
func (p *Pool) announceEnd(e *entry, to *line) {
	if e.told || p.opt.OnEnd == nil {
		p.record.told.push(e)
		p.forgetOld()
		return
	}
	to.push(e)
	p.startCalls()
}

// forgetAtOnce bounds how many ended jobs one call forgets, since all that ended on one day may be too old at one instant.
const forgetAtOnce = 16

// forgetOld forgets the oldest ended jobs, if there are too many or they are too old.
func (p *Pool) forgetOld() {
	r := &p.record
	if p.over {
		return
	}
	now := p.d.Now()
	for range forgetAtOnce {
		if r.told.n == 0 || r.told.n <= r.most && now.Sub(r.told.first().at) <= r.keep {
			return
		}
		p.forgetEnded(r.told.pop())
	}
}

func (p *Pool) forgetEnded(e *entry) {
	delete(p.record.jobs, e.ID)
	if p.record.keys[e.Key] == e.ID {
		delete(p.record.keys, e.Key)
	}
	p.keep(keyOfJob(endedKey, e.ID), nil)
	if e.noted {
		p.keep(keyOfJob(toldKey, e.ID), nil)
	}
	p.forgetSaved(e.saved)
}

// startCalls starts calls of OnEnd.
func (p *Pool) startCalls() {
	c := &p.record.calls
	for c.running < callsAtOnce && !c.stopped && p.stall.Load() == nil {
		again := c.again.n > 0 && (!c.paused || p.closed) && (c.turn || c.queue.n == 0)
		switch {
		case again:
			c.running++
			c.turn, c.owed = false, false
			go p.callOnEnd(c.again.pop())
		case c.queue.n > 0:
			c.running++
			c.turn = true
			go p.callOnEnd(c.queue.pop())
		default:
			return
		}
	}
}

// callOnEnd tells of one job. If it takes too long, others are told of meanwhile.
func (p *Pool) callOnEnd(e *entry) {
	counts := true // among the calls at once
	leave := func() {
		if counts {
			counts = false
			c := &p.record.calls
			if c.running--; c.running == 0 && c.queue.n+c.again.n == 0 && c.quiet != nil {
				close(c.quiet)
				c.quiet = nil
			}
			p.startCalls()
		}
	}
	err := p.commit(p.record.calls.ctx, e.pos)
	late := time.AfterFunc(callTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		leave()
	})
	defer late.Stop()
	ctx, cancel := context.WithTimeout(p.record.calls.ctx, callTime)
	defer cancel()
	stalled := errors.Is(err, ErrStalled) // what OnEnd returns may be that of another call
	if err == nil {
		err = p.onEnd(ctx, e)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	defer leave()
	if p.over || p.broken != nil || stalled {
		return // the next process tells again
	}
	c := &p.record.calls
	if err == nil {
		c.failed = 0
		e.told, e.noted = true, p.kept.d != nil
		p.keep(keyOfJob(toldKey, e.ID), []byte{1})
		p.record.told.push(e)
		p.forgetOld()
		return
	}
	p.announce.tell(Note{Kind: EndUntold, At: p.d.Now(), Job: &sojourn.Job{ID: e.ID, Name: e.Name, Pool: e.Pool}, Err: err})
	if c.failed++; !c.paused && !c.owed { // who is told may be away: do not ask again for each of a million jobs
		c.paused = true
		retry := Retry{Backoff: 10 * time.Millisecond, MaxBackoff: time.Second}
		time.AfterFunc(retry.wait(c.failed, 0), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			c.paused, c.turn, c.owed = false, true, true
			p.startCalls()
		})
	}
	e.tries++
	retry := Retry{Backoff: time.Second, MaxBackoff: time.Minute}
	time.AfterFunc(retry.wait(e.tries, 0), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.over && !p.record.calls.stopped {
			p.record.calls.again.push(e)
			p.startCalls()
		}
	})
}

// onEnd calls OnEnd.
func (p *Pool) onEnd(ctx context.Context, e *entry) error {
	done := make(chan error, 1)
	go func() { // it may call runtime.Goexit
		err := ErrGoexit
		defer func() {
			if x := recover(); x != nil {
				err = &PanicError{Value: x, Stack: debug.Stack()}
			}
			done <- err
		}()
		err = p.opt.OnEnd(ctx, e.Ended)
	}()
	return <-done
}

// stopCalls waits for the calls of OnEnd that run or are due, until ctx ends. Then it ends their contexts, and waits for as long as the
// grace says.
func (p *Pool) stopCalls(ctx context.Context) {
	p.mu.Lock()
	c := &p.record.calls
	p.startCalls() // also if they are paused
	var quiet chan struct{}
	if c.running > 0 {
		quiet = make(chan struct{})
		c.quiet = quiet
	}
	p.mu.Unlock()
	stop := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.stopped, c.queue, c.again = true, line{}, line{}
		c.cancel()
	}
	defer stop()
	if quiet == nil {
		return
	}
	select {
	case <-quiet:
	case <-ctx.Done():
		stop()
		grace := time.NewTimer(p.opt.Grace)
		defer grace.Stop()
		select {
		case <-quiet:
		case <-grace.C:
		}
	}
}

// resumeRecord takes over what processes before have remembered.
func (p *Pool) resumeRecord(l leftovers) {
	list := make([]*entry, 0, len(l.ended))
	for _, e := range l.ended { //sojourn:unordered sorted below
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.ID, b.ID)) })
	for _, e := range list {
		if p.jobs.get(e.ID) != nil || p.record.most == 0 { // the process ended before the job did
			p.keep(keyOfJob(endedKey, e.ID), nil)
			continue
		}
		p.record.jobs[e.ID] = e
		if e.Key != "" {
			p.record.keys[e.Key] = e.ID
		}
	}
	for _, id := range slices.Sorted(maps.Keys(l.told)) {
		if e := p.record.jobs[id]; e != nil {
			e.told, e.noted = true, true
		} else { // the process ended before this was forgotten
			p.keep(keyOfJob(toldKey, id), nil)
		}
	}
	p.resumeSaved(l.saved)
	for _, e := range list {
		if p.record.jobs[e.ID] == e {
			p.announceEnd(e, &p.record.calls.again)
		}
	}
}

// Handle returns the handle of a job that is live, or that has ended and is remembered: see Options.Remember.
func (p *Pool) Handle(id sojourn.JobID) (*Handle, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetOld()
	h := p.find(id)
	return h, h != nil
}

// find returns the handle of a job; nil if nothing is known of it.
func (p *Pool) find(id sojourn.JobID) *Handle {
	if h := p.jobs.get(id); h != nil {
		return h
	}
	e := p.record.jobs[id]
	if e == nil {
		return nil
	}
	h := &Handle{pool: p, ctx: context.Background(), ended: true, err: e.wait(), at: p.d.Now().Add(-time.Since(e.Submitted)), more: &more{key: e.Key, record: e}}
	h.spec = sojourn.Job{ID: e.ID, Name: e.Name, Pool: e.Pool}
	return h
}

// Ended returns the jobs that have ended and are remembered, by ID: see Options.Remember.
func (p *Pool) Ended() []Ended {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetOld()
	list := make([]Ended, 0, len(p.record.jobs))
	for _, e := range p.record.jobs { //sojourn:unordered sorted below
		if p.jobs.get(e.ID) == nil {
			list = append(list, e.Ended)
		}
	}
	slices.SortFunc(list, func(a, b Ended) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Ended returns what is remembered of the job. It reports false if the job has not ended, or nothing is remembered: see
// Options.Remember. Then it only says what was submitted (the names, the handler and the payload) and what the tasks have saved.
func (h *Handle) Ended() (Ended, bool) {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	m := h.more.get()
	switch e := p.record.jobs[h.spec.ID]; {
	case m.record != nil:
		return m.record.Ended, true
	case e != nil && h.ended:
		return e.Ended, true
	}
	e := Ended{ID: h.spec.ID, Key: m.key, Name: h.spec.Name, Pool: h.spec.Pool, Payload: m.payload, Saved: byText(m.saved)}
	if p.kept.d != nil && !p.over && !h.ended {
		o, _ := p.orderOf(h.spec.ID)
		e.Handler, e.Payload = o.handler, o.payload
	}
	return e, false
}

// Name returns the name of the job, as it was submitted.
func (h *Handle) Name() string { return h.spec.Name }

// Pool returns the group of jobs that the job counts against.
func (h *Handle) Pool() string { return h.spec.Pool }

// Payload returns what the handler of the job gets, not to be changed. It is nil if the job has no handler, or has ended and its
// payload is not remembered: see [Ended] (TestParked).
func (h *Handle) Payload() []byte {
	e, _ := h.Ended()
	return e.Payload
}

// Key returns the key of the job; "" if it has none.
func (h *Handle) Key() string {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	return h.more.get().key
}

// Retry submits a job anew that has failed, was cancelled or is dead, with the same key. All its tasks run, under a new ID. It takes
// a durable policy, and a job that is remembered with its payload: see [Ended]. Its Deadline, Release and Timeout are not submitted
// again. The pool then forgets the old job, when OnEnd was told of it (TestRetryEnded).
func (p *Pool) Retry(ctx context.Context, id sojourn.JobID) (*Handle, error) {
	p.mu.Lock()
	if s := p.standby; s != nil {
		defer p.mu.Unlock()
		return nil, s.err
	}
	e := p.record.jobs[id]
	live := p.jobs.get(id) != nil
	var again []byte
	if e != nil {
		again = e.again
	}
	p.mu.Unlock()
	switch {
	case live || e == nil:
		return nil, fmt.Errorf("live: job %d has not ended, or is not remembered", id)
	case e.Outcome == Finished:
		return nil, fmt.Errorf("live: job %d has finished: submit another one", id)
	case again == nil:
		return nil, fmt.Errorf("live: job %d is remembered without its payload: submit it anew", id)
	}
	o, spec, err := decodeAgain(again)
	if err != nil {
		return nil, fmt.Errorf("live: job %d: %w", id, err)
	}
	j := o.job(spec)
	j.replaces = id
	return p.Submit(ctx, j)
}

// job returns a job as it was submitted, but for what counts from then on.
func (o *order) job(spec *sojourn.Job) Job {
	j := Job{Name: spec.Name, Pool: spec.Pool, Weight: spec.Weight, Priority: int(spec.Priority), Parallelism: int(min(uint64(spec.Parallelism), math.MaxInt)), Sequence: spec.Sequence, Open: spec.Open, Retry: o.retry,
		MaxFailedTasks: o.mayFail, Handler: o.handler, Payload: o.payload, Key: o.key, Phases: make([]Phase, len(spec.Phases))}
	for i := range spec.Phases {
		ph := &spec.Phases[i]
		j.Phases[i] = Phase{Tasks: ph.Tasks, Class: ph.Class, Estimate: ph.Estimate, Estimates: ph.Estimates, After: ph.After, Needs: ph.Needs,
			Inputs: ph.Inputs, Bytes: ph.Bytes, Timeout: o.timeouts[i]}
	}
	return j
}

// replaced forgets a job that was submitted anew, if nobody is to be told of it any more.
func (p *Pool) replaced(e *entry) {
	if !p.record.told.remove(e) {
		e.again = nil
		if p.kept.d != nil {
			p.keep(keyOfJob(endedKey, e.ID), e.encode())
		}
		return
	}
	p.forgetEnded(e)
}
