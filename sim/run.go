package sim

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

const (
	// maxTicks bounds how often a policy may wake at one instant. A Tick and a
	// round without assignment move NextWake into the future, so that only timers
	// of one instant that assign one after the other need more than one.
	maxTicks = 1000

	// maxIdle bounds the instants in a row at which nothing runs, nothing arrives
	// any more and nothing is started, although jobs are left: they wait for slots
	// that do not exist, or the policy for something that does not happen.
	maxIdle = 100_000

	// never is an instant that does not come.
	never = sojourn.Time(math.MaxInt64)
)

// A PolicyError says that the policy broke its contract.
type PolicyError struct {
	At   sojourn.Time
	What string // what it did
	Err  error  // what its Observe returned, or nil
}

// Error describes the breach in one line.
func (e *PolicyError) Error() string {
	s := fmt.Sprintf("sim: at %v: the policy %s", e.At, e.What)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns e.Err.
func (e *PolicyError) Unwrap() error { return e.Err }

// Run runs a policy on a simulated cluster until nothing is left to do; see the
// package comment for what happens there. It returns an error, and no result, if
// the configuration or a job of the workload is wrong, if Config.Jobs yields an
// error, if ctx ends, or, as a [*PolicyError], if the policy breaks its contract.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	e := newEngine(&cfg)
	next, stop := iter.Pull2(cfg.Jobs)
	defer stop()
	e.pull = next
	if err := e.run(ctx); err != nil {
		return nil, err
	}
	return e.result(), nil
}

// An engine is the state of a run.
type engine struct {
	cfg       *Config
	policy    sojourn.Policy
	seeker    sojourn.Seeker    // nil if the policy is none
	preemptor sojourn.Preemptor // nil if the policy is none or is not asked
	waker     sojourn.Waker     // nil if the policy is none
	promiser  sojourn.Promiser  // nil if the policy is none
	admitter  sojourn.Admitter  // nil if the policy is none, or rejected jobs are not offered again

	now   sojourn.Time
	seq   uint64    // attempts and refused assignments so far
	slots []slot    // by ID
	nodes []node    // by NodeID, from 1
	free  []slotSet // by class, of those in the cluster

	running *heap.Heap[moment] // by slot: when its attempt ends
	reports *heap.Heap[moment] // by slot: when its progress is reported next
	changes *heap.Heap[moment] // by node: when it fails or recovers by chance
	net     *network           // nil if there is none
	script  []NodeFault        // what is left of Faults.Script

	pull  func() (*Job, error, bool)
	next  *Job // the job that arrives next, nil if there is none
	order int  // jobs that were read from the workload
	jobs  map[sojourn.JobID]*job
	last  *job // the job of the latest assignment

	rejected []*job // jobs that are to be offered again, in the order of arrival
	void     []sojourn.JobID

	refused []sojourn.SlotID // assignments of this round that are to be refused
	due     []NodeFault      // changes of nodes at this instant
	victims []sojourn.Preemption
	idle    int // see maxIdle

	ctx   context.Context // of the run
	steps int             // see stopped

	speeds  [][]float64 // by class: of its slots, the fastest first
	benches []bench     // scratch, by class
	audit   *audit      // nil without one
	tally   tally
	res     Result
}

// A moment is when something happens, with the order among what happens at one
// instant.
type moment struct {
	at  sojourn.Time
	seq uint64
}

func (m moment) before(o moment) bool {
	return m.at < o.at || m.at == o.at && m.seq < o.seq
}

// A slot is a slot of the cluster with the attempt that holds it.
type slot struct {
	sojourn.Slot
	speed float64

	job      *job // nil if the slot is free
	task     sojourn.TaskID
	attempt  uint32
	fails    bool // the attempt is going to fail
	locality sojourn.Locality
	source   sojourn.NodeID
	seq      uint64        // order among the attempts
	start    sojourn.Time  // when the attempt was assigned
	ready    sojourn.Time  // when the outputs of the phase before are there; never while nobody knows
	work     sojourn.Time  // when it starts to work; never while nobody knows
	need     time.Duration // how long it works if all goes well
	runs     time.Duration // how long it works until it ends: need, or less if it fails
}

// A job is an accepted job. It is kept until its outcome and its ps_finish are
// known.
type job struct {
	*Job    // the truth
	told    *sojourn.Job
	phases  []phase
	tasks   []task           // of all phases, in their order
	homes   []sojourn.NodeID // where the output of each task is, 0 if nowhere; nil unless outputs can be lost
	left    int              // tasks that are not finished
	started bool             // an attempt has started
	held    time.Duration    // how long its attempts held slots, those that have ended
	record  JobRecord
	order   int // among the jobs of the workload
	fluid   fluidJob
}

// A phase is the state of a phase of a job.
type phase struct {
	first    int              // index of its first task in job.tasks
	finished int              // tasks that are finished now
	pending  int              // tasks that are pending now
	counted  int              // of these, how many tally.startable counts
	ready    bool             // enough tasks of the phase before finished, at some time
	ended    bool             // all its tasks were finished, at some time
	arrived  sojourn.Time     // when the outputs of the tasks that finished so far are at the next phase
	waiting  []sojourn.SlotID // attempts that wait for the phase before to end, in the order of their start
	fluid    fluidPhase
}

// A task holds the state of a task in its two low bits, and above them how many
// attempts at it there have been.
type task uint32

const (
	pending task = iota
	running
	finished
)

func (t task) state() task      { return t & 3 }
func (t task) attempts() uint32 { return uint32(t >> 2) }
func (t *task) set(state task)  { *t = *t&^3 | state }

// task returns the state of a task of j.
func (j *job) task(id sojourn.TaskID) *task {
	return &j.tasks[j.phases[id.Phase].first+int(id.Index)]
}

// newEngine returns the state before the first event.
func newEngine(cfg *Config) *engine {
	e := &engine{
		cfg:     cfg,
		policy:  cfg.Policy,
		jobs:    map[sojourn.JobID]*job{},
		running: heap.New(moment.before),
		reports: heap.New(moment.before),
		changes: heap.New(moment.before),
		script:  cfg.Faults.Script,
	}
	e.seeker, _ = sojourn.As[sojourn.Seeker](cfg.Policy)
	e.waker, _ = sojourn.As[sojourn.Waker](cfg.Policy)
	e.promiser, _ = sojourn.As[sojourn.Promiser](cfg.Policy)
	if cfg.Retest {
		e.admitter, _ = sojourn.As[sojourn.Admitter](cfg.Policy)
	}
	if cfg.Preempt {
		e.preemptor, _ = sojourn.As[sojourn.Preemptor](cfg.Policy)
	}
	e.buildCluster()
	e.net = newNetwork(cfg.Network, len(e.nodes)-1, len(e.slots), cfg.Records)
	if !cfg.NoAudit {
		e.audit = newAudit(e)
	}
	return e
}

// buildCluster makes the state of slots and nodes.
func (e *engine) buildCluster() {
	c := &e.cfg.Cluster
	e.nodes = make([]node, len(c.Nodes)+1)
	classes := len(c.Capacity())
	e.free, e.speeds, e.benches = make([]slotSet, classes), make([][]float64, classes), make([]bench, classes)
	e.tally.classes = make([]classTally, classes)
	for _, s := range c.Slots() {
		n := &e.nodes[s.Node]
		if n.from == n.to {
			n.from = s.ID
		}
		n.to = s.ID + 1
		speed := c.Nodes[s.Node-1].Speed
		if speed == 0 {
			speed = 1
		}
		e.slots = append(e.slots, slot{Slot: s, speed: speed})
		e.speeds[s.Class] = append(e.speeds[s.Class], speed)
	}
	for class := range e.speeds {
		slices.SortFunc(e.speeds[class], func(a, b float64) int { return cmp.Compare(b, a) })
		if len(e.speeds[class]) > 0 {
			e.free[class] = make(slotSet, (len(e.slots)+63)/64)
		}
	}
	for i, rack := range c.racks() {
		id := sojourn.NodeID(i + 1)
		n := &e.nodes[id]
		n.up, n.wouldBeUp, n.rack = true, true, rack
		if e.cfg.Faults.MTBF > 0 {
			n.chance = e.stream(nodeFailures, uint64(id))
			e.planChange(id)
		}
	}
}

// run runs the policy to the end.
func (e *engine) run(ctx context.Context) error {
	for id := range e.slots {
		if err := e.addSlot(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	if e.audit != nil {
		e.audit.capacityChanged()
	}
	if err := e.read(); err != nil {
		return err
	}
	e.ctx = ctx
	for {
		if err := e.stopped(); err != nil {
			return err
		}
		at, ok := e.nextInstant()
		if !ok {
			break
		}
		e.advance(at)
		if err := e.instant(); err != nil {
			return err
		}
	}
	e.conclude()
	return nil
}

// stopped returns an error if the run is to end, which it looks for now and then. Whatever
// may go on for long asks: instants, and refusals at one instant.
func (e *engine) stopped() error {
	if e.steps++; e.steps%4096 == 1 && e.ctx.Err() != nil {
		return fmt.Errorf("sim: stopped at %v: %w", e.now, context.Cause(e.ctx))
	}
	return nil
}

// nextInstant returns the next instant at which something happens. It reports
// false if the run is over.
func (e *engine) nextInstant() (sojourn.Time, bool) {
	if e.next == nil && (len(e.jobs) == 0 || e.idle > maxIdle) {
		return 0, false
	}
	at := never
	for _, h := range [...]*heap.Heap[moment]{e.running, e.reports, e.changes} {
		if m, ok := h.MinKey(); ok {
			at = min(at, m.at)
		}
	}
	if m, ok := e.nextTransfer(); ok {
		at = min(at, m.at)
	}
	if len(e.script) > 0 {
		at = min(at, e.script[0].At)
	}
	if e.next != nil {
		at = min(at, e.next.At)
	}
	if e.waker != nil {
		if wake, ok := e.waker.NextWake(); ok {
			at = min(at, max(wake, e.now))
		}
	}
	return at, at < never
}

// advance moves the clock.
func (e *engine) advance(at sojourn.Time) {
	e.tally.advance(e.now, at)
	e.now = at
}

// instant lets everything happen that is due now, in the order of the
// same-instant rule.
func (e *engine) instant() error {
	before, done := e.res.Attempts, e.res.Finished
	if err := e.endTransfers(); err != nil {
		return err
	}
	for m, ok := e.running.MinKey(); ok && m.at == e.now; m, ok = e.running.MinKey() {
		id, _ := e.running.Min()
		if err := e.end(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	for m, ok := e.reports.MinKey(); ok && m.at == e.now; m, ok = e.reports.MinKey() {
		id, _ := e.reports.Min()
		if err := e.reportProgress(sojourn.SlotID(id)); err != nil {
			return err
		}
	}
	if err := e.changeNodes(); err != nil {
		return err
	}
	if e.res.Finished > done {
		if err := e.retest(); err != nil {
			return err
		}
	}
	for e.next != nil && e.next.At == e.now {
		if err := e.arrive(); err != nil {
			return err
		}
	}
	if err := e.settle(); err != nil {
		return err
	}
	e.lookForVoid()
	if e.net != nil {
		if id, ok := e.net.settle(e.now); !ok {
			return e.outOfRange(&e.slots[id])
		}
	}
	e.idle++
	if _, ok := e.nextTransfer(); ok || e.next != nil || e.running.Len() > 0 || e.res.Attempts > before {
		e.idle = 0
	}
	return nil
}

// settle offers the free slots, and again as long as the policy wakes now or
// wants attempts killed.
func (e *engine) settle() error {
	killed, kills, ticks := 0, 0, 0
	for round := 0; ; round++ {
		if e.wakeIsDue() {
			if ticks++; ticks > maxTicks {
				return e.breach("wakes again and again: %d times at one instant", maxTicks)
			}
			if err := e.tell(sojourn.Event{Kind: sojourn.Tick}); err != nil {
				return err
			}
		} else if round > 0 && killed == 0 {
			return nil
		}
		if err := e.offer(); err != nil {
			return err
		}
		var err error
		if killed, err = e.preempt(); err != nil {
			return err
		}
		if kills += killed; kills > len(e.slots)+maxTicks {
			return e.breach("asked for %d attempts to be killed at one instant, on %d slots", kills, len(e.slots))
		}
	}
}

func (e *engine) wakeIsDue() bool {
	if e.waker == nil {
		return false
	}
	at, ok := e.waker.NextWake()
	return ok && at <= e.now
}

// tell reports an event that the policy has to accept.
func (e *engine) tell(ev sojourn.Event) error {
	if err := e.observe(ev); err != nil {
		return &PolicyError{e.now, fmt.Sprintf("refused %v", ev), err}
	}
	return nil
}

// observe reports an event of this instant.
func (e *engine) observe(ev sojourn.Event) error {
	ev.At = e.now
	err := e.policy.Observe(ev)
	if err == nil {
		e.res.Events++
	}
	if e.cfg.Hooks.Event != nil {
		e.cfg.Hooks.Event(ev, err)
	}
	return err
}

// breach returns the error for an answer that breaks the contract.
func (e *engine) breach(format string, args ...any) error {
	return &PolicyError{At: e.now, What: fmt.Sprintf(format, args...)}
}
