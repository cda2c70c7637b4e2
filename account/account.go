package account

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// An Account is a policy that decides as another one does, and knows what is true of the cluster.
// It hides none of the optional interfaces.
type Account struct {
	p      sojourn.Policy
	ledger ledger.Ledger[job]

	// How long attempts had been running when they were adopted, if they had. An attempt leaves
	// with its end.
	before map[sojourn.SlotID]time.Duration

	pools map[string]*sojourn.Pool // that were changed, and are not again what the policy was made with
}

// A job is what the account knows of a job besides its ledger.
type job struct {
	arrived sojourn.Time // before time 0 if it was adopted and is older
}

// all are the features that an account knows.
const all = sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts | sojourn.FeatureParallelism | sojourn.FeatureRelease | sojourn.FeatureSequence | sojourn.FeatureSpeed | sojourn.FeaturePools | sojourn.FeaturePriority | sojourn.FeatureOpen

// New returns an Account around p, which is new: nothing was reported to it. From then on p is used
// only through the account. p may be nil: see the package comment. If p does not fit, the account refuses every event:
// see [Account.Err].
func New(p sojourn.Policy) *Account {
	if err := misfit(p); err != nil {
		p = refuser{err}
	}
	a := new(Account)
	a.reset(p)
	return a
}

func (a *Account) reset(p sojourn.Policy) {
	*a = Account{p: p}
	a.ledger.Supports = all
}

// Observe implements [sojourn.Policy]. It answers as the policy inside. Without a policy, it
// accepts every event that fits.
func (a *Account) Observe(ev sojourn.Event) error {
	if a.p == nil {
		if err := a.ledger.Check(&ev); err != nil {
			return err
		}
	} else if err := a.p.Observe(ev); err != nil {
		return err
	}
	a.apply(&ev)
	return nil
}

// Check returns what is wrong with an event whatever the policy inside can do: nil, or an [*sojourn.EventError]. It
// changes nothing.
func (a *Account) Check(ev *sojourn.Event) error { return a.ledger.Check(ev) }

// apply enters an event that was accepted.
func (a *Account) apply(ev *sojourn.Event) {
	c := a.ledger.Apply(ev)
	switch ev.Kind {
	case sojourn.JobArrived:
		c.Job.Data.arrived = ev.At
	case sojourn.JobAdopted:
		c.Job.Data.arrived = ev.At - sojourn.Time(ev.Service) // neither is negative
	case sojourn.TaskAdopted:
		if ev.Service > 0 {
			if a.before == nil {
				a.before = map[sojourn.SlotID]time.Duration{}
			}
			a.before[ev.Slot.ID] = ev.Service
		}
	case sojourn.PoolChanged:
		a.changePool(ev.Pool)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if len(a.before) > 0 {
			delete(a.before, ev.Slot.ID)
		}
	}
}

// changePool notes how a pool is treated.
func (a *Account) changePool(p *sojourn.Pool) {
	if p.IsZero() {
		delete(a.pools, p.Name)
		return
	}
	if a.pools == nil {
		a.pools = map[string]*sojourn.Pool{}
	}
	a.pools[p.Name] = p
}

// Pools iterates over the pools that [sojourn.PoolChanged] told of, and that are not again what the policy was made with,
// in the order of their names. They are not to be changed.
func (a *Account) Pools() iter.Seq[*sojourn.Pool] {
	return func(yield func(*sojourn.Pool) bool) {
		for _, name := range slices.Sorted(maps.Keys(a.pools)) {
			if !yield(a.pools[name]) {
				return
			}
		}
	}
}

// Assign implements [sojourn.Policy]. Without a policy it declines every slot.
func (a *Account) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if a.p == nil {
		a.ledger.Free(id) // it panics if the slot is not free
		return sojourn.Assignment{}, false
	}
	as, ok := a.p.Assign(id)
	if ok {
		a.ledger.TakeTask(a.ledger.Job(as.Task.Job), int(as.Task.Phase), as.Task.Index, as.Slot)
	}
	return as, ok
}

// Take records an assignment that was made elsewhere, at the time of the latest event. It returns an
// error, and changes nothing, if the assignment cannot be: the slot is not free, the task may not
// start or is of another class, or the number of the attempt is not the next one. It panics if there
// is a policy inside, which would not learn of it.
func (a *Account) Take(as sojourn.Assignment) error {
	if a.p != nil {
		panic("account: Take of an account with a policy, which decides itself")
	}
	// A task that could be held now could be started. TaskAdopted knows no number above 2^31, but a policy counts on.
	ev := sojourn.Event{Kind: sojourn.TaskHeld, At: a.Now(), Task: as.Task}
	if err := a.ledger.Check(&ev); err != nil {
		return fmt.Errorf("account: task %v is assigned: %w", as.Task, errors.Unwrap(err))
	}
	j := a.ledger.Job(as.Task.Job)
	class := j.Spec().Phases[as.Task.Phase].Class
	free, ok := sojourn.SlotID(0), false
	if as.Slot < sojourn.MaxSlots {
		free, ok = a.ledger.NextFree(class, as.Slot)
	}
	if !ok || free != as.Slot {
		return fmt.Errorf("account: task %v is assigned to slot %d, which is no free slot of class %d", as.Task, as.Slot, class)
	}
	if !j.Phase(int(as.Task.Phase)).Ready() {
		return fmt.Errorf("account: task %v is assigned, but its phase waits for another one", as.Task)
	}
	if last := j.LastAttempt(int(as.Task.Phase), as.Task.Index); as.Attempt != last+1 {
		return fmt.Errorf("account: attempt %d at task %v is assigned after attempt %d", as.Attempt, as.Task, last)
	}
	a.ledger.TakeTask(j, int(as.Task.Phase), as.Task.Index, as.Slot)
	return nil
}

// Unwrap returns the policy inside; see [sojourn.As].
func (a *Account) Unwrap() sojourn.Policy { return a.p }

// Now returns the time of the latest event.
func (a *Account) Now() sojourn.Time { return a.ledger.Now() }

// Live returns the number of live jobs. A cancelled job is live until its last attempt has ended.
func (a *Account) Live() int { return a.ledger.Live() }

// A Job is what is true of a live job.
type Job struct {
	Spec      *sojourn.Job  // as it arrived, or as it was revised last; not to be changed
	Age       time.Duration // since its arrival
	Left      int           // tasks that are not done
	Running   int           // attempts
	Held      int           // tasks
	Cancelled bool          // it waits only for its attempts to end
}

// Job returns a live job; false if there is none of that ID.
func (a *Account) Job(id sojourn.JobID) (Job, bool) {
	j := a.ledger.Job(id)
	if j == nil {
		return Job{}, false
	}
	return a.job(j), true
}

func (a *Account) job(j *ledger.Job[job]) Job {
	return Job{j.Spec(), a.age(j), j.Left(), j.Running(), j.Held(), j.Cancelled()}
}

func (a *Account) age(j *ledger.Job[job]) time.Duration {
	if j.Data.arrived < 0 { // the difference may be out of range
		return time.Duration(a.Now().Add(time.Duration(-max(j.Data.arrived, -math.MaxInt64))))
	}
	return a.Now().Sub(j.Data.arrived)
}

// Left returns how many tasks of a phase of a live job are not done; 0 if there is no such phase.
func (a *Account) Left(id sojourn.JobID, phase int) int {
	j := a.ledger.Job(id)
	if j == nil || uint(phase) >= uint(j.NumPhases()) {
		return 0
	}
	return j.Spec().Phases[phase].Tasks - j.Phase(phase).Done()
}

// Jobs iterates over the live jobs. The order is the same in every run.
func (a *Account) Jobs() iter.Seq[Job] {
	return func(yield func(Job) bool) {
		for j := range a.ledger.All() {
			if !yield(a.job(j)) {
				return
			}
		}
	}
}

// A State is where a task is: see the figure at [sojourn.EventKind].
type State uint8

// The states of a task. No task is in state Unknown.
const (
	Unknown State = iota
	Pending
	Held
	Running
	Done
)

var stateNames = [...]string{"unknown", "pending", "held", "running", "done"}

// String returns the name of the constant in lower case.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return stateNames[s]
}

// Task returns the state of a task of a live job, Unknown if there is no such task or it was
// cancelled. It also returns the number of the last attempt at it, 0 if there was none or it is not
// known. For a task that runs, this is the attempt that runs, and takes a look at each slot.
func (a *Account) Task(t sojourn.TaskID) (State, uint32) {
	j := a.ledger.Job(t.Job)
	if j == nil || int(t.Phase) >= j.NumPhases() || int64(t.Index) >= int64(j.Spec().Phases[t.Phase].Tasks) {
		return Unknown, 0
	}
	p, last := j.Phase(int(t.Phase)), j.LastAttempt(int(t.Phase), t.Index)
	switch {
	case p.IsDone(t.Index):
		return Done, last
	case p.IsPending(t.Index):
		return Pending, last
	case j.IsHeld(int(t.Phase), t.Index):
		return Held, last
	}
	if j.Running() > 0 {
		for _, at := range a.ledger.Attempts() {
			if at.Task == t {
				return Running, at.Number
			}
		}
	}
	return Unknown, 0 // cancelled
}

// Held iterates over the held tasks of a job, in increasing order.
func (a *Account) Held(id sojourn.JobID) iter.Seq[sojourn.TaskID] {
	return func(yield func(sojourn.TaskID) bool) {
		j := a.ledger.Job(id)
		if j == nil {
			return
		}
		for i := range j.NumPhases() {
			for k, ok := j.NextHeld(i, 0); ok; k, ok = j.NextHeld(i, k+1) {
				if !yield(sojourn.TaskID{Job: id, Phase: uint16(i), Index: k}) {
					return
				}
			}
		}
	}
}

// An Attempt is a running attempt.
type Attempt struct {
	Task    sojourn.TaskID
	Number  uint32
	Slot    sojourn.Slot
	Service time.Duration // how long it has been running at the time of the latest event
	Pinned  bool          // it may not be killed: see sojourn.TaskPinned
}

// Attempt returns the attempt that runs on a slot; false if none does.
func (a *Account) Attempt(id sojourn.SlotID) (Attempt, bool) {
	at, ok := a.ledger.Attempt(id)
	if !ok {
		return Attempt{}, false
	}
	s, _ := a.ledger.Busy(id)
	return a.attempt(s, at), true
}

func (a *Account) attempt(s sojourn.Slot, at ledger.Attempt[job]) Attempt {
	ran := sojourn.Time(a.Now().Sub(at.Start)).Add(a.before[s.ID])
	return Attempt{at.Task, at.Number, s, time.Duration(ran), a.ledger.Pinned(s.ID)}
}

// Attempts iterates over the running attempts, by ID of the slot.
func (a *Account) Attempts() iter.Seq[Attempt] {
	return func(yield func(Attempt) bool) {
		for s, at := range a.ledger.Attempts() {
			if !yield(a.attempt(s, at)) {
				return
			}
		}
	}
}

// Slots iterates over the slots, retiring ones included, by ID. A slot is busy if [Account.Attempt]
// knows an attempt on it.
func (a *Account) Slots() iter.Seq[sojourn.Slot] { return a.ledger.Slots() }

// Retiring reports whether a slot is busy and will leave when its attempt ends.
func (a *Account) Retiring(id sojourn.SlotID) bool { return a.ledger.Retiring(id) }

// Down returns the nodes whose data cannot be read, by ID, as in NodeDown events.
func (a *Account) Down() []sojourn.Slot { return a.ledger.AppendDown(nil) }
