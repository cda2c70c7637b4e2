package forecast

import (
	"container/heap"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// takes says how long an attempt takes in all that has run for elapsed, and whether it fails then.
type takes func(t sojourn.TaskID, attempt uint32, elapsed time.Duration) (took time.Duration, fails bool)

// A future is a cluster that runs on from an instant, with a clock of its own.
type future struct {
	*driver.Driver
	now     sojourn.Time
	takes   takes
	running endings
	pushed  int
	idle    int // rounds in a row in which nothing ran
	left    map[sojourn.JobID]int
	seen    map[sojourn.JobID]bool // jobs that have started in the future
}

// An ending is the end of an attempt.
type ending struct {
	at      sojourn.Time
	number  int // of the start, which breaks ties
	attempt sojourn.Assignment
	took    time.Duration
	fails   bool
}

// endings are a heap, the earliest first.
type endings []ending

func (e endings) Len() int { return len(e) }
func (e endings) Less(i, k int) bool {
	return e[i].at < e[k].at || e[i].at == e[k].at && e[i].number < e[k].number
}
func (e endings) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *endings) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *endings) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// future tells a new policy what is true, and what is different.
func (s *standing) future(p sojourn.Policy, q Question, takes takes) (*future, error) {
	f := &future{now: s.now, takes: takes, left: map[sojourn.JobID]int{}, seen: map[sojourn.JobID]bool{}}
	p, told := s.learned(p)
	d, err := driver.New(p, driver.Options{Now: func() sojourn.Time { return f.now }, Preempt: -1})
	if err != nil {
		return nil, err
	}
	f.Driver = d
	for _, ev := range s.facts {
		if err := d.Observe(ev); err != nil {
			return nil, err
		}
	}
	told()
	for _, a := range s.attempts {
		f.start(sojourn.Assignment{Task: a.Task, Attempt: a.Number, Slot: a.Slot.ID}, a.Service)
	}
	for _, j := range s.jobs {
		f.left[j.Spec.ID] = j.Left
	}
	if err := s.resize(d, q.Slots); err != nil {
		return nil, err
	}
	if q.Tasks > 0 {
		j := &sojourn.Job{ID: s.last + 1, Name: "one more", Phases: []sojourn.Phase{{Tasks: q.Tasks, Class: s.class(), Estimate: q.Each}}}
		f.left[j.ID] = q.Tasks
		return f, d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	}
	return f, nil
}

// A learned policy was restored from the one in charge. While it knows what it is told, it hears nothing.
type learned struct {
	sojourn.Policy
	knows bool
}

func (l *learned) Observe(ev sojourn.Event) error {
	if l.knows {
		return nil
	}
	return l.Policy.Observe(ev)
}

func (l *learned) Unwrap() sojourn.Policy { return l.Policy }

// learned returns a policy like p that knows all that the one in charge does, if both can be saved and are alike; else p. told ends
// the report of the facts.
func (s *standing) learned(p sojourn.Policy) (_ sojourn.Policy, told func()) {
	if in, ok := sojourn.As[sojourn.Snapshotter](p); s.saved == nil || !ok || in.UnmarshalBinary(s.saved) != nil {
		return p, func() {}
	}
	l := &learned{p, true}
	return l, func() { l.knows = false }
}

// class returns the class of the first phase of the job that came last, 0 if there is none.
func (s *standing) class() (c sojourn.Class) {
	if j, ok := s.specs[s.last]; ok {
		c = j.Phases[0].Class
	}
	return c
}

// resize adds slots on a node of their own, or takes those with the greatest IDs.
func (s *standing) resize(d *driver.Driver, by int) error {
	var slots []sojourn.Slot
	next := sojourn.Slot{Class: s.class()}
	for _, slot := range s.slots {
		if next.ID, next.Node = max(next.ID, slot.ID+1), max(next.Node, slot.Node+1); slot.Class == next.Class {
			slots = append(slots, slot)
		}
	}
	for range by {
		if err := d.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: next}); err != nil {
			return err
		}
		next.ID++
	}
	if -by >= len(slots) && by < 0 {
		what := "slots"
		if len(slots) == 1 {
			what = "slot"
		}
		return fmt.Errorf("the cluster has %d %s of that class, and one must stay", len(slots), what)
	}
	for range -by {
		last := slots[len(slots)-1]
		slots = slots[:len(slots)-1]
		if err := d.Observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: last}); err != nil {
			return err
		}
	}
	return nil
}

// start runs an attempt that has run for elapsed.
func (f *future) start(a sojourn.Assignment, elapsed time.Duration) {
	f.pushed++
	took, fails := f.takes(a.Task, a.Attempt, elapsed)
	heap.Push(&f.running, ending{at: f.now.Add(took - elapsed), number: f.pushed, attempt: a, took: took, fails: fails})
}

// maxIdle is how often a policy may ask to be woken while nothing runs: then it waits for what does not come.
const maxIdle = 1000

// all runs until nothing happens any more, and notes when jobs start and finish.
func (f *future) all(ctx context.Context, to ends) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := f.Settle()
		if r.Err != nil {
			return r.Err
		}
		for _, a := range r.Starts {
			if !f.seen[a.Task.Job] {
				f.seen[a.Task.Job] = true
				to.add(a.Task.Job, f.now, 0)
			}
			f.start(a, 0)
		}
		if len(r.Kills) > 0 {
			if err := f.kill(r.Kills); err != nil {
				return err
			}
			continue
		}
		next := sojourn.Time(math.MaxInt64)
		if f.idle++; len(f.running) > 0 {
			next, f.idle = f.running[0].at, 0
		}
		if len(f.left) == 0 || f.idle > maxIdle {
			return nil
		}
		if r.Sleep != driver.Never {
			next = min(next, f.now.Add(max(r.Sleep, 1)))
		}
		if next == math.MaxInt64 {
			return nil
		}
		f.now = next
		if err := f.end(to); err != nil {
			return err
		}
	}
}

// end reports the attempts that end now.
func (f *future) end(to ends) error {
	for len(f.running) > 0 && f.running[0].at <= f.now {
		e := heap.Pop(&f.running).(ending)
		ev := driver.Finished(e.attempt)
		if e.fails {
			ev = driver.Failed(e.attempt, sojourn.CauseTask)
		}
		ev.Service = e.took
		if err := f.Observe(ev); err != nil {
			return err
		}
		if e.fails {
			continue
		}
		id := e.attempt.Task.Job
		if f.left[id]--; f.left[id] == 0 {
			delete(f.left, id)
			to.add(id, f.now, 1)
		}
	}
	return nil
}

// kill ends attempts at once.
func (f *future) kill(victims []sojourn.Preemption) error {
	for _, v := range slices.Clone(victims) {
		i := slices.IndexFunc(f.running, func(e ending) bool { return e.attempt.Slot == v.Slot })
		if i < 0 {
			continue
		}
		e := heap.Remove(&f.running, i).(ending)
		if err := f.Observe(driver.Failed(e.attempt, sojourn.CausePreempted)); err != nil {
			return err
		}
	}
	return nil
}

// ends are when jobs started and finished in each draw.
type ends map[sojourn.JobID]*[2][]sojourn.Time

func (e ends) add(id sojourn.JobID, at sojourn.Time, which int) {
	if e[id] == nil {
		e[id] = &[2][]sojourn.Time{}
	}
	e[id][which] = append(e[id][which], at)
}

func (e ends) start(id sojourn.JobID, draws int) *Interval  { return e.interval(id, draws, 0) }
func (e ends) finish(id sojourn.JobID, draws int) *Interval { return e.interval(id, draws, 1) }

// interval returns quantiles, by nearest rank; nil unless there is a time in each draw.
func (e ends) interval(id sojourn.JobID, draws, which int) *Interval {
	if e[id] == nil || len(e[id][which]) < draws {
		return nil
	}
	list := slices.Sorted(slices.Values(e[id][which]))
	low := max(1, (len(list)+1)/20)
	return &Interval{list[low-1], list[(len(list)-1)/2], list[len(list)-low]}
}
