package forecast

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// takes says how long an attempt takes in all that has run for elapsed, and whether it fails then.
type takes func(t sojourn.TaskID, attempt uint32, elapsed time.Duration) (took time.Duration, fails bool)

// A future is a cluster that runs on from an instant, with a clock of its own.
type future struct {
	*driver.Driver
	now     sojourn.Time
	takes   takes
	ends    []ending
	running *heap.Heap[endAt] // of places in ends
	free    []uint32          // places in ends
	pushed  int
	idle    int // rounds in a row in which nothing ran
	left    map[sojourn.JobID]int
	begun   map[sojourn.JobID]sojourn.Time  // when jobs started in the future
	horizon *horizon                        // nil if there is none
	took    map[sojourn.JobID]time.Duration // that tasks of jobs took in the future, up to the horizon
}

// An ending is the end of an attempt.
type ending struct {
	attempt sojourn.Assignment
	took    time.Duration
	fails   bool
}

// An endAt orders endings: the earliest first.
type endAt struct {
	at     sojourn.Time
	number int // of the start, which breaks ties
}

func (a endAt) before(b endAt) bool { return a.at < b.at || a.at == b.at && a.number < b.number }

// future tells a new policy what is true, and what is different.
func (s *standing) future(p sojourn.Policy, q Question, takes takes) (*future, error) {
	f := &future{now: s.now, takes: takes, running: heap.New(endAt.before, nil), left: map[sojourn.JobID]int{}, begun: map[sojourn.JobID]sojourn.Time{}, horizon: s.horizon(q.MaxTasks), took: map[sojourn.JobID]time.Duration{}}
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
		j := &sojourn.Job{ID: s.newest + 1, Name: "one more", Phases: []sojourn.Phase{{Tasks: q.Tasks, Class: s.class(), Estimate: q.Each}}}
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
	if j, ok := s.specs[s.newest]; ok {
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
	took, fails := f.takes(a.Task, a.Attempt, elapsed)
	id := uint32(len(f.ends))
	if n := len(f.free); n > 0 {
		id, f.free = f.free[n-1], f.free[:n-1]
	} else {
		f.ends = append(f.ends, ending{})
	}
	f.ends[id] = ending{attempt: a, took: took, fails: fails}
	f.pushed++
	f.running.Set(id, endAt{f.now.Add(took - elapsed), f.pushed})
}

// maxIdle is how often a policy may ask to be woken while nothing runs: then it waits for what does not come.
const maxIdle = 1000

// all runs until nothing happens any more, and notes when jobs start and finish.
func (f *future) all(ctx context.Context, to ends) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		sleep := driver.Never
		if f.horizon == nil || !f.horizon.over {
			r := f.Settle()
			if r.Err != nil {
				return r.Err
			}
			for _, a := range r.Starts {
				if _, ok := f.begun[a.Task.Job]; !ok {
					f.begun[a.Task.Job] = f.now
					to.add(a.Task.Job, f.now, 0)
				}
				f.start(a, 0)
				f.horizon.started(a.Task.Job)
			}
			if h := f.horizon; h != nil && h.over {
				h.at, h.left = f.now, maps.Clone(f.left)
			}
			if len(r.Kills) > 0 {
				if err := f.kill(r.Kills); err != nil {
					return err
				}
				continue
			}
			sleep = r.Sleep
		}
		next := sojourn.Time(math.MaxInt64)
		f.idle++
		if first, ok := f.running.MinKey(); ok {
			next, f.idle = first.at, 0
		}
		if len(f.left) == 0 || f.idle > maxIdle {
			return nil
		}
		if sleep != driver.Never {
			next = min(next, f.now.Add(max(sleep, 1)))
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
	for first, ok := f.running.MinKey(); ok && first.at <= f.now; first, ok = f.running.MinKey() {
		place, _ := f.running.Min()
		e := f.stop(place)
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
		if h := f.horizon; h != nil && !h.over {
			f.took[id] += e.took
		}
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
		id, ok := f.on(v.Slot)
		if !ok {
			continue
		}
		if err := f.Observe(driver.Failed(f.stop(id).attempt, sojourn.CausePreempted)); err != nil {
			return err
		}
	}
	return nil
}

// on returns the attempt that runs on a slot.
func (f *future) on(slot sojourn.SlotID) (id uint32, ok bool) {
	for id := range f.running.All() {
		if f.ends[id].attempt.Slot == slot {
			return id, true
		}
	}
	return 0, false
}

// stop takes away an attempt that runs.
func (f *future) stop(id uint32) ending {
	f.running.Remove(id)
	f.free = append(f.free, id)
	return f.ends[id]
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
