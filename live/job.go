package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Job is a number of phases of tasks.
type Job struct {
	Name   string  // the same for recurring runs of one program; policies learn from it
	Pool   string  // the group of jobs whose share the job counts against
	Weight float64 // the share relative to others; zero means 1

	// Parallelism is how many tasks of the job run at a time at most. Zero means any number. If the policy does not
	// keep it, it refuses the job: see [sojourn.FeatureParallelism]. [Handle.SetParallelism] changes it
	// (TestParallelism).
	Parallelism int

	// Priority comes before all shares and sizes: while a job of a greater priority has a task that could start on a slot, no
	// task of this one starts there. Zero is the usual one. Package kit/priority adds it to any policy; a policy
	// without it refuses the job. [Handle.SetPriority] changes it (TestPriority).
	Priority int

	// Deadline is how long after Submit the job should be complete. Only the policy acts on it:
	// it may refuse the job. Zero means none.
	Deadline time.Duration

	// Release is how long after Submit the first task may start. Zero means at once. Sequence, unless empty, names
	// jobs that run one after the other, in the order of Submit, also while one waits for a retry. Package kit/release
	// adds both to any policy; a policy without them refuses the job (TestReleaseAndSequence, TestReleaseIsRefused).
	Release  time.Duration
	Sequence string

	// Timeout is how long after Submit the job is given up. Zero means never.
	Timeout time.Duration

	// Retry says what happens to a task that fails. Nil means what the Options say.
	Retry *Retry

	// Open says that more tasks may come: the job does not end when all its tasks are done. [Handle.Add] adds some, and
	// [Handle.Complete] says that no more come. See [sojourn.FeatureOpen] (TestOpenJob).
	Open bool

	// MaxFailedTasks is how many tasks may fail for good without their job. The job goes on as if they were done, and is
	// complete when all others are: [Progress].FailedTasks says how many failed. Zero means that the first such task
	// ends the job (TestMaxFailedTasks).
	MaxFailedTasks int

	// Key, unless empty, names what the job does, once: if a job with this key is live, or has ended and is remembered (see
	// Options.Remember), Submit returns the handle of that job and [ErrDuplicate], and no job is added. It has at most 1,024 bytes
	// (TestKey).
	Key string

	// Handler names the function of Options.Handlers that runs all tasks. The phases then have no functions of their
	// own. Under a durable policy every job has a handler, which the next process finds by this name.
	Handler string
	Payload []byte // what the handler gets; not to be changed

	Phases []Phase // at least one

	replaces sojourn.JobID // an ended job that Retry submits anew
	parked   bool          // there is no handler of the name
	enters   bool          // the caller of Enter does the work
}

// A Phase is a number of tasks that do not depend on one another. The fields that it shares with
// [sojourn.Phase] mean the same there.
type Phase struct {
	// Tasks is the number of tasks, at least 1.
	Tasks int

	// Run runs one attempt at a task. It should return soon after its context has ended. The
	// attempt succeeds if Run returns nil.
	Run func(context.Context, Task) error

	Class     sojourn.Class
	Estimate  time.Duration
	Estimates []time.Duration
	After     int
	Needs     []int
	Inputs    sojourn.Inputs
	Bytes     []int64

	// Timeout is the time that an attempt may take. Zero means what the Options say.
	Timeout time.Duration

	results binder // instead of Run, if the tasks return values
}

// A Task says which task a function is to run, and where.
type Task struct {
	sojourn.TaskID
	Attempt uint32 // counts the attempts at the task from 1
	Slot    sojourn.SlotID

	// Source is the node that the task should read its input from, 0 if the policy does not say.
	Source sojourn.NodeID
}

// work is what the pool keeps of a phase, besides what the policy is told.
type work struct {
	run     func(context.Context, Task) error // nil: see more.results
	timeout time.Duration
	left    int32 // tasks that have not succeeded
}

// A binder is the [Results] of a phase. Submit reserves them for its job, and then binds them or, if
// the job is refused, frees them. It runs the tasks, and store keeps the value of one that has succeeded.
type binder interface {
	produce(ctx context.Context, t Task) (store func(), err error)
	reserve(h *Handle, tasks int) error
	bind()
	free()
}

// A Handle is a job that was submitted. Its methods may be called by several goroutines.
type Handle struct {
	pool *Pool
	ctx  context.Context // of Submit; of a durable job, Background
	spec sojourn.Job
	at   sojourn.Time // of Submit

	// Guarded by the lock of the pool.
	left    int32 // tasks that have not succeeded
	running int32 // attempts
	phase0  work
	ended   bool
	err     error
	done    chan struct{} // nil until somebody waits
	pos     int64         // what has to be durable before Wait returns; written before the end
	more    *more         // nil for most jobs
	permit  *Permit       // nil, unless the caller of Enter does the work
	first   taskContext   // of the first attempt
}

// A described handle has a phase of which more is said than that it has one task.
type described struct {
	Handle
	phase [1]sojourn.Phase
}

// An entered handle has its permit beside it.
type entered struct {
	Handle
	permit Permit
}

// plain are the phases of most jobs: those of one phase of one task, of which nothing else is said.
var plain = [1]sojourn.Phase{{Tasks: 1}}

// isPlain reports whether a phase is the one in plain.
func isPlain(p *Phase) bool {
	return p.Tasks == 1 && p.Class == 0 && p.Estimate == 0 && p.Estimates == nil && p.After == 0 && p.Needs == nil && p.Inputs.Len() == 0 && p.Bytes == nil
}

// work returns what the pool keeps of a phase.
func (h *Handle) work(phase int) *work {
	if phase == 0 {
		return &h.phase0
	}
	return &h.more.others[phase-1]
}

// more is what few jobs have.
type more struct {
	others         []work      // of the phases but the first one
	results        []binder    // by phase; nil if no phase has any
	retry          *Retry      // nil: as the Options say
	stop           func() bool // undoes the watch over the context of Submit
	timeout        *time.Timer
	held           map[sojourn.TaskID]held    // tasks that wait for their next attempt
	tasks          map[sojourn.TaskID]trouble // tasks that have not succeeded, and were tried
	past           past                       // of tasks that have succeeded since
	key            string
	payload        []byte       // of a pool that is not durable
	revised        *sojourn.Job // the latest description; nil if it is the first one
	record         *entry       // of a job that had ended before the handle was made
	parked         bool         // it waits for a process that has its handler
	mayFail        int          // tasks that may fail for good
	failed         int          // tasks that have
	suspects       int          // tasks that wait until they are started alone
	saved          map[sojourn.TaskID][]byte
	savedSize      int // of these, as maxSavedByJob counts
	failures, lost int // attempts. Invariant: the sums over past and tasks
}

// held is a task that waits for its next attempt, for the time between that and the last one.
type held struct {
	*time.Timer
	at sojourn.Time // when it goes off
}

// get returns all of it; nil has nothing.
func (m *more) get() more {
	if m == nil {
		return more{}
	}
	return *m
}

// extend returns what few jobs have, to write to it.
func (h *Handle) extend() *more {
	if h.more == nil {
		h.more = new(more)
	}
	return h.more
}

// newHandle returns the handle of a job that fits, or what is wrong with the job.
func newHandle(ctx context.Context, p *Pool, j *Job) (*Handle, error) {
	if p.kept.d != nil {
		ctx = context.Background() // the job outlives the process, and the context does not
	}
	var h *Handle
	switch n := len(j.Phases); {
	case n == 1 && isPlain(&j.Phases[0]):
		if j.enters {
			e := new(entered)
			h, e.Handle.permit = &e.Handle, &e.permit
		} else {
			h = new(Handle)
		}
		h.spec.Phases = plain[:]
	case n == 1:
		d := new(described)
		h, d.spec.Phases = &d.Handle, d.phase[:]
	default:
		h = new(Handle)
		h.spec.Phases = make([]sojourn.Phase, n)
		h.extend().others = make([]work, max(n-1, 0))
	}
	h.pool, h.ctx = p, ctx
	if j.enters && h.permit == nil {
		h.permit = new(Permit)
	}
	switch {
	case j.parked:
		h.extend().parked = true
	case j.Handler != "" || j.Payload != nil:
		if err := p.opt.bind(j); err != nil {
			return nil, err
		}
		if p.kept.d == nil && j.Payload != nil {
			h.extend().payload = j.Payload
		}
	case p.kept.d != nil:
		return nil, errors.New("live: a job without a handler: its functions would not survive the process, as its policy does")
	}
	if j.Parallelism < 0 || int64(j.Parallelism) > math.MaxUint32 {
		return nil, fmt.Errorf("live: parallelism %d: want 0 to %d", j.Parallelism, uint32(math.MaxUint32))
	}
	if int(int32(j.Priority)) != j.Priority {
		return nil, fmt.Errorf("live: priority %d: want %d to %d", j.Priority, math.MinInt32, math.MaxInt32)
	}
	h.spec = sojourn.Job{Name: j.Name, Pool: j.Pool, Weight: j.Weight, Priority: int32(j.Priority), Parallelism: uint32(j.Parallelism), Sequence: j.Sequence, Open: j.Open, Phases: h.spec.Phases}
	if j.Timeout < 0 || j.Deadline < 0 || j.Release < 0 {
		return nil, fmt.Errorf("live: timeout %v, deadline %v, release %v: want none that is negative", j.Timeout, j.Deadline, j.Release)
	}
	if len(j.Key) > 1024 {
		return nil, fmt.Errorf("live: a key of %d bytes: want at most 1024", len(j.Key))
	}
	if j.Key != "" {
		h.extend().key = j.Key
	}
	if j.MaxFailedTasks < 0 {
		return nil, fmt.Errorf("live: MaxFailedTasks %d: want none that is negative", j.MaxFailedTasks)
	}
	if j.MaxFailedTasks > 0 {
		h.extend().mayFail = j.MaxFailedTasks
	}
	if j.Retry != nil {
		if err := j.Retry.check(); err != nil {
			return nil, fmt.Errorf("live: %w", err)
		}
		r := j.Retry.withDefaults()
		h.extend().retry = &r
	}
	for i := range j.Phases {
		ph := &j.Phases[i]
		switch {
		case (ph.Run == nil) == (ph.results == nil) && h.permit == nil:
			return nil, fmt.Errorf("live: phase %d: want one function that runs its tasks", i)
		case ph.Timeout < 0:
			return nil, fmt.Errorf("live: phase %d: negative timeout %v", i, ph.Timeout)
		}
		if spec := &h.spec.Phases[i]; spec.Tasks == 0 { // it is not the one in plain
			*spec = sojourn.Phase{Tasks: ph.Tasks, Class: ph.Class, Estimate: ph.Estimate, Estimates: slices.Clip(ph.Estimates), // Add continues them elsewhere
				After: ph.After, Needs: ph.Needs, Inputs: ph.Inputs, Bytes: ph.Bytes}
		}
		*h.work(i) = work{ph.Run, cmp.Or(ph.Timeout, p.opt.Timeout), int32(ph.Tasks)}
		if ph.results != nil {
			m := h.extend()
			if m.results == nil {
				m.results = make([]binder, len(j.Phases))
			}
			m.results[i] = ph.results
		}
		h.left += int32(ph.Tasks)
	}
	return h, nil
}

// completeWith reports whether the job is over when so many of its tasks are left: it is, if none is left and no more come.
func (h *Handle) completeWith(left int32) bool { return left == 0 && !h.latest().Open }

// latest returns what was told of the job last.
func (h *Handle) latest() *sojourn.Job {
	if j := h.more.get().revised; j != nil {
		return j
	}
	return &h.spec
}

// ID returns the ID of the job, by which the policy and errors name it. IDs count from 1.
func (h *Handle) ID() sojourn.JobID { return h.spec.ID }

// Done returns a channel that is closed when the job has ended: it is complete, or has failed
// and none of its attempts runs any more.
func (h *Handle) Done() <-chan struct{} {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if h.done == nil {
		h.done = make(chan struct{})
		if h.ended {
			close(h.done)
		}
	}
	return h.done
}

// Wait waits for the end of the job, and until a durable policy has kept it, and returns nil if the job is complete. Otherwise it returns
// why the job has failed: a [*TaskError], [ErrCancelled], [ErrJobTimeout], [ErrClosed],
// [ErrNoSlots], or the cause of the context that Submit was given. If ctx ends first, Wait returns
// the cause of that, and the job goes on.
//
// A task that waits for a job of its own pool keeps its slot meanwhile. Give Wait the context of the task: the pool then
// notices if nothing can go on, and says so in a note [JobStuck].
func (h *Handle) Wait(ctx context.Context) error {
	if ctx == nil {
		return errors.New("live: Wait without a context")
	}
	h.pool.mu.Lock()
	ended := h.ended
	h.pool.mu.Unlock()
	if !ended {
		defer h.waits(ctx)()
		select {
		case <-h.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	// What follows was written before the end.
	if err := h.pool.commit(ctx, h.pos); err != nil && h.err == nil {
		return err
	}
	return h.err
}

// Cancel ends the job. Its tasks that wait are not started any more, and the contexts of those
// that run end. It does nothing if the job has ended.
func (h *Handle) Cancel() { h.pool.cancel(h, ErrCancelled) }

// SetParallelism changes how many tasks of the job run at a time at most; zero means any number. Attempts that run go
// on. The error is that of the policy if it does not keep such a bound, wraps [sojourn.ErrUnknownJob] if the job has ended
// or was cancelled, and is [ErrClosed] if the pool is closed; then nothing has changed. Under a durable policy
// the new bound is durable when SetParallelism returns (TestParallelism).
func (h *Handle) SetParallelism(n int) error {
	if n < 0 || int64(n) > math.MaxUint32 {
		return fmt.Errorf("live: parallelism %d: want 0 to %d", n, uint32(math.MaxUint32))
	}
	return h.revise(func(j *sojourn.Job) { j.Parallelism = uint32(n) })
}

// SetPriority changes the priority of the job. Attempts that run go on. The errors are those of SetParallelism
// (TestPriority).
func (h *Handle) SetPriority(n int) error {
	if int(int32(n)) != n {
		return fmt.Errorf("live: priority %d: want %d to %d", n, math.MinInt32, math.MaxInt32)
	}
	return h.revise(func(j *sojourn.Job) { j.Priority = int32(n) })
}

// Add adds tasks at the end of a phase of an [Job].Open job, one for each estimate; zero means unknown. Their [Task].Index counts on
// from that of the phase's last task: first is the least. It takes no longer for a job of many tasks, but for policies that
// look at all of them. The error says what is wrong with the phase or an estimate, or is one of those of SetParallelism, and
// [ErrClosed] also when [Pool.Close] was called; then nothing has changed. Under a durable policy the tasks survive when Add
// returns (TestOpenJob, TestOpenDurableJob).
func (h *Handle) Add(phase int, estimates ...time.Duration) (first int, err error) {
	pos, err := h.pool.revise(h, func(j *sojourn.Job) error {
		switch m := h.more.get(); {
		case !j.Open || h.pool.closed:
			return ErrClosed
		case m.parked:
			return fmt.Errorf("live: tasks are added to a parked job: %w", ErrNoHandler)
		case phase < 0 || phase >= len(j.Phases):
			return fmt.Errorf("live: tasks are added to phase %d of %d", phase, len(j.Phases))
		case m.results != nil && m.results[phase] != nil || j.Phases[phase].Inputs.Len() > 0 || j.Phases[phase].Bytes != nil:
			return fmt.Errorf("live: tasks are added to phase %d, which has Results, inputs or sizes", phase)
		}
		j.Phases = slices.Clone(j.Phases)
		first = addTasks(&j.Phases[phase], estimates)
		return nil
	}, func() {
		h.left += int32(len(estimates))
		h.work(phase).left += int32(len(estimates))
		h.pool.noteClasses(h)
	})
	if err != nil {
		return 0, err
	}
	return first, h.pool.commitNow(pos)
}

// addTasks adds tasks to the description of a phase, in the memory of its list of estimates where there is room, and returns
// the number of the first one.
func addTasks(ph *sojourn.Phase, estimates []time.Duration) (first int) {
	first = ph.Tasks
	ph.Tasks += len(estimates)
	if ph.Estimates == nil && slices.ContainsFunc(estimates, func(d time.Duration) bool { return d != 0 }) {
		ph.Estimates = make([]time.Duration, first, ph.Tasks) // for them Estimate counts
	}
	if ph.Estimates != nil {
		ph.Estimates = append(ph.Estimates, estimates...)
	}
	return first
}

// Complete says that no more tasks of an [Job].Open job come: it ends, as any other, when all that it has are done. The errors are those
// of SetParallelism. While the job lives, to call it again changes nothing. [Pool.Close] does it for all jobs (TestOpenJob).
func (h *Handle) Complete() error { return h.revise(func(j *sojourn.Job) { j.Open = false }) }

// revise changes the description of a job. Under a durable policy the change is durable when revise returns.
func (h *Handle) revise(change func(*sojourn.Job)) error {
	pos, err := h.pool.revise(h, func(j *sojourn.Job) error {
		change(j)
		return nil
	}, func() {})
	if err != nil {
		return err
	}
	return h.pool.commitNow(pos)
}

// revise changes the description of a job, unless change returns an error, and then what the pool keeps. It returns what has to be
// durable before that is acknowledged.
func (p *Pool) revise(h *Handle, change func(*sojourn.Job) error, keep func()) (pos int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.suspended {
		return 0, ErrClosed
	}
	if err := p.trouble(); err != nil {
		return 0, err
	}
	if h.ended || h.err != nil {
		return 0, fmt.Errorf("live: job %d has ended, or is about to: %w", h.spec.ID, sojourn.ErrUnknownJob)
	}
	revised := *h.latest()
	if err := change(&revised); err != nil {
		return 0, err
	}
	if err = p.replace(h, &revised); err == nil {
		keep()
		pos = p.kept.position()
	}
	p.settle(nil)
	return pos, err
}

// replace replaces the description of a job. If that completes the job, it ends.
func (p *Pool) replace(h *Handle, revised *sojourn.Job) error {
	revised = revised.Without(p.opt.Drop)
	ev := sojourn.Event{Kind: sojourn.JobRevised, Job: revised}
	ends := h.running == 0 && h.left == 0 && !revised.Open
	if ends {
		p.recordEnd(h, nil)
	}
	if err := p.observe(ev); err != nil {
		if ends {
			p.unrecord(h)
		}
		return err
	}
	h.extend().revised = revised
	p.announce.revised(h, revised)
	if ends {
		p.finish(h)
	}
	return nil
}

// Progress says how far a job is.
type Progress struct {
	Tasks   int // of all phases
	Done    int // tasks that have succeeded
	Running int // attempts
	Failed  int // attempts that have failed by themselves, at tasks that have not succeeded since
	Lost    int // attempts that ended with their process, at tasks that have not succeeded since
	Held    int // tasks that wait for the time of their next attempt

	Suspects    int // tasks that ran when the process ended, and wait until they are started alone
	FailedTasks int // tasks that have failed for good: see [Job].MaxFailedTasks

	Parked bool // New has found the job, and there is no handler of its name: see [ErrNoHandler]

	Ended bool
	Err   error // why the job has failed, or is about to; nil if it has not
}

// Progress returns how far the job is.
func (h *Handle) Progress() Progress {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	return h.progress()
}

func (h *Handle) progress() Progress {
	m := h.more.get()
	pr := Progress{Done: -int(h.left) - m.failed, Running: int(h.running), Held: len(m.held), FailedTasks: m.failed, Suspects: m.suspects, Parked: m.parked, Ended: h.ended, Err: h.err}
	for i := range h.latest().Phases {
		pr.Tasks += h.latest().Phases[i].Tasks
	}
	pr.Done += pr.Tasks
	for _, t := range m.tasks { //sojourn:unordered sums
		pr.Failed += t.failures
		pr.Lost += t.lost
	}
	return pr
}

// Explain returns the quantities that determine the rank of the job, as the policy's
// [sojourn.Explainer] gives them. It reports false if the job has ended or the policy is none.
func (h *Handle) Explain() ([]slog.Attr, bool) {
	h.pool.mu.Lock()
	ended := h.ended
	h.pool.mu.Unlock()
	if ended {
		return nil, false
	}
	return h.pool.Explain(h.spec.ID) // IDs are not used again
}
