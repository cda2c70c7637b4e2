package account

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// Rebuild tells all facts to another policy, which is new, at the time of the latest event. From
// then on the other policy accepts the events that a accepts, and numbers attempts as a does.
//
// It returns an error that wraps [sojourn.ErrUnsupported] if the other policy cannot take over: it
// does not know a feature that the facts use, or refuses a job, or an attempt has a number above 2^31,
// which no event can tell. The other policy is then of no use.
// a does not change.
func (a *Account) Rebuild(into sojourn.Policy) error {
	known := sojourn.Supports(into)
	for ev := range a.Facts() {
		if err := ev.CheckSupport(known); err != nil {
			return fmt.Errorf("account: the other policy cannot take over: %w", err)
		}
		if ev.Attempt > maxAttempt {
			return fmt.Errorf("account: the other policy cannot take over: %w: attempt %d at task %v, more than %d",
				sojourn.ErrUnsupported, ev.Attempt, ev.Task, maxAttempt)
		}
	}
	for ev := range a.Facts() {
		if err := into.Observe(ev); err != nil {
			return fmt.Errorf("account: the other policy cannot take over: %w", err)
		}
	}
	return nil
}

// maxAttempt bounds the numbers of attempts that events may tell; see [sojourn.ErrInvalidEvent].
const maxAttempt uint32 = 1 << 31

// Facts iterates over events that make a new policy know what is true. All are at the time of the
// latest event. Equal facts have equal events in the same order. The first is a Tick; then come
// nodes and slots; then pools; then jobs in the order of their arrival, each with its tasks; then attempts;
// at the end what is cancelled and what retires. [ledger.Job.Facts] says which events tell tasks.
func (a *Account) Facts() iter.Seq[sojourn.Event] {
	return func(yield func(sojourn.Event) bool) {
		f := facts{a: a, now: a.Now(), yield: yield}
		f.tell(sojourn.Event{Kind: sojourn.Tick})
		f.places()
		for p := range a.Pools() {
			f.tell(sojourn.Event{Kind: sojourn.PoolChanged, Pool: p})
		}
		jobs := slices.SortedFunc(a.ledger.All(), func(j, k *ledger.Job[job]) int { return cmp.Compare(j.Seq(), k.Seq()) })
		for _, j := range jobs {
			f.job(j)
		}
		f.attempts()
		for _, j := range jobs {
			if j.Cancelled() {
				f.tell(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.Spec().ID}})
			}
		}
		for s := range a.Slots() {
			if f.stop {
				return
			}
			if a.Retiring(s.ID) {
				f.tell(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.ID}})
			}
		}
	}
}

// facts tells events until nobody wants more.
type facts struct {
	a     *Account
	now   sojourn.Time
	yield func(sojourn.Event) bool
	stop  bool
}

func (f *facts) tell(ev sojourn.Event) {
	if f.stop {
		return
	}
	ev.At = f.now
	f.stop = !f.yield(ev)
}

// places tells nodes and slots. A node is on a rack that only a slot which has left told of: that
// the node is down and up again tells its rack.
func (f *facts) places() {
	l := &f.a.ledger
	var racked []sojourn.Slot
	told := map[sojourn.NodeID]bool{}
	for s := range l.Slots() {
		if s.Node != 0 && s.Rack == 0 && l.Rack(s.Node) != 0 && !l.Down(s.Node) && !told[s.Node] {
			told[s.Node] = true
			racked = append(racked, sojourn.Slot{Node: s.Node, Rack: l.Rack(s.Node)})
		}
	}
	for _, n := range l.AppendDown(slices.Clone(racked)) {
		f.tell(sojourn.Event{Kind: sojourn.NodeDown, Slot: n})
	}
	for s := range l.Slots() {
		if f.stop {
			return
		}
		f.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	}
	for _, n := range racked {
		f.tell(sojourn.Event{Kind: sojourn.NodeUp, Slot: n})
	}
}

// job tells a job, and its tasks that do not run.
func (f *facts) job(j *ledger.Job[job]) {
	f.tell(sojourn.Event{Kind: sojourn.JobAdopted, Job: j.Spec(), Service: f.a.age(j)})
	for ev := range j.Facts() {
		if f.tell(ev); f.stop {
			return
		}
	}
}

// attempts tells what runs where.
func (f *facts) attempts() {
	for at := range f.a.Attempts() {
		if f.stop {
			return
		}
		if f.a.ledger.Job(at.Task.Job).Spec().Phases[at.Task.Phase].Held {
			f.tell(sojourn.Event{Kind: sojourn.TaskReady, Task: at.Task})
		}
		f.tell(sojourn.Event{Kind: sojourn.TaskAdopted, Task: at.Task, Attempt: at.Number,
			Slot: sojourn.Slot{ID: at.Slot.ID}, Service: at.Service})
		if at.Pinned {
			f.tell(sojourn.Event{Kind: sojourn.TaskPinned, Task: at.Task, Attempt: at.Number, Slot: sojourn.Slot{ID: at.Slot.ID}})
		}
	}
}
