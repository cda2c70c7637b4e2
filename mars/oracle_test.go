package mars

import (
	"log/slog"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// An onlineOracle knows all that a Policy has to do, except for the solutions of linear
// programs: it takes C_j from Explain. It keeps a plain account and looks at all of it
// each time.
type onlineOracle struct {
	opts  Options
	now   sojourn.Time
	slots []onlineSlot
	jobs  []*onlineJob // live, in the order of arrival
	seq   int

	first    sojourn.Time // arrival of all
	arrived  bool
	asked    bool // for a plan
	due      sojourn.Time
	plans    int
	lastPlan sojourn.Time
}

type onlineSlot struct {
	class   sojourn.Class
	job     *onlineJob // nil if free
	task    sojourn.TaskID
	attempt uint32
}

type onlineJob struct {
	spec      *sojourn.Job
	seq       int
	state     [][]byte // of each task: 'p'ending, 'r'unning, 'd'one
	attempts  map[sojourn.TaskID]uint32
	planned   bool // a plan has considered it
	batch     int
	cancelled bool
}

// request records what an arrival asks for.
func (o *onlineOracle) request() {
	if !o.arrived {
		o.arrived, o.first = true, o.now
	}
	if o.asked {
		return
	}
	o.asked, o.due = true, o.now
	if o.opts.Batch > 0 {
		for end := o.first; ; end = end.Add(o.opts.Batch) {
			if end >= o.now {
				o.due = end
				return
			}
		}
	}
	if o.plans > 0 && o.lastPlan.Add(o.opts.Interval) > o.now {
		o.due = o.lastPlan.Add(o.opts.Interval)
	}
}

// pass lets time pass, or observes a Tick. It makes the plan that is due.
func (o *onlineOracle) pass(at sojourn.Time, tick bool) {
	if o.asked && (at > o.due || tick && at == o.due) {
		o.asked, o.lastPlan = false, o.due
		o.plans++
		for _, j := range o.jobs {
			if !j.planned && o.opts.Commit {
				j.batch = o.plans
			}
			j.planned = true
		}
	}
	o.now = at
}

// may reports whether the tasks of a phase may start.
func (o *onlineOracle) may(j *onlineJob, phase int) bool {
	if j.cancelled || o.opts.Batch > 0 && !j.planned || o.asked && o.due <= o.now {
		return false
	}
	return phase == 0 || j.spec.Phases[phase].After == sojourn.NoBarrier || !slices.ContainsFunc(j.state[phase-1], func(s byte) bool { return s != 'd' })
}

// tail returns the longest time from a start in a phase to the end of the job, and twice
// the mean of the time from a middle.
func (o *onlineOracle) tail(j *onlineJob, phase int) (longest, mean int64) {
	ph := &j.spec.Phases[phase]
	next := int64(0)
	feeds := phase+1 < len(j.spec.Phases) && j.spec.Phases[phase+1].After != sojourn.NoBarrier
	if feeds {
		next, _ = o.tail(j, phase+1)
	}
	sum := new(big.Int)
	for i := range ph.Tasks {
		p, d := o.length(ph, i)
		if !feeds {
			d = 0 // no phase waits for it
		}
		longest = max(longest, p+d+next)
		sum.Add(sum, big.NewInt(p+2*d))
	}
	sum.Div(sum, big.NewInt(2*int64(ph.Tasks)))
	return longest, sum.Int64() + next
}

func (o *onlineOracle) length(ph *sojourn.Phase, i int) (p, d int64) {
	p = int64(ph.EstimateOf(i))
	if p == 0 {
		p = int64(o.opts.DefaultTaskTime)
	}
	if ph.Delays != nil {
		d = int64(ph.Delays[i])
	}
	return p, d
}

// next returns the task that a free slot of a class has to get.
func (o *onlineOracle) next(t *rapid.T, p *Policy, class sojourn.Class) (best sojourn.TaskID, of *onlineJob) {
	type rank [6]int64
	var least rank
	for _, j := range o.jobs {
		for k := range j.state {
			ph := &j.spec.Phases[k]
			if ph.Class != class || !o.may(j, k) {
				continue
			}
			_, h := o.tail(j, k)
			m := o.c(t, p, j) - h
			for i, s := range j.state[k] {
				if s != 'p' {
					continue
				}
				length, d := o.length(ph, i)
				r := rank{int64(j.batch), m, int64(j.seq), int64(k), -(length + 2*d), int64(i)}
				if of == nil || slices.Compare(r[:], least[:]) < 0 {
					least, of = r, j
					best = sojourn.TaskID{Job: j.spec.ID, Phase: uint16(k), Index: uint32(i)}
				}
			}
		}
	}
	return best, of
}

// c returns C_j as the policy tells it.
func (o *onlineOracle) c(t *rapid.T, p *Policy, j *onlineJob) int64 {
	attrs, ok := p.Explain(j.spec.ID)
	i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "C" })
	if !ok || i < 0 {
		t.Fatalf("job %d: Explain says %v", j.spec.ID, attrs)
	}
	return int64(math.Round(attrs[i].Value.Float64() * 1e9))
}

// Everything that a policy does follows from the instants of its plans and the C_j of the
// linear program: when it wakes, what it gives to each free slot, what it leaves waiting.
// A task that may start waits for a plan in two cases only: the driver owes a Tick at the
// same instant, or a batch has not ended.
func TestPolicyFollowsThePlan(t *testing.T) {
	for name, opts := range map[string]Options{
		"plans again":  {},
		"rarely":       {Interval: 20 * time.Second, DefaultTaskTime: 2 * time.Second},
		"batches":      {Batch: 7 * time.Second},
		"commits":      {Batch: 7 * time.Second, Commit: true},
		"short, fixed": {Batch: time.Second, Commit: true, Iterations: 3},
	} {
		t.Run(name, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { followPlans(t, opts) }) })
	}
}

func followPlans(t *rapid.T, opts Options) {
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	opts = opts.settle()
	o := &onlineOracle{opts: opts}
	observe := func(ev sojourn.Event) {
		ev.At = o.now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	between := func(least, most int, label string) int { return rapid.IntRange(least, most).Draw(t, label) }
	for range between(1, 4, "slots") {
		class := sojourn.Class(between(0, 1, "class"))
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(len(o.slots)), Class: class}})
		o.slots = append(o.slots, onlineSlot{class: class})
	}
	offer := func() {
		for id := range o.slots {
			s := &o.slots[id]
			if s.job != nil {
				continue
			}
			want, of := o.next(t, p, s.class)
			a, ok := p.Assign(sojourn.SlotID(id))
			if ok != (of != nil) || ok && a.Task != want {
				t.Fatalf("at %v, slot %d: %v, %v, want %v, %v", o.now, id, a.Task, ok, want, of != nil)
			}
			if ok {
				of.state[want.Phase][want.Index] = 'r'
				of.attempts[want]++
				s.job, s.task, s.attempt = of, want, of.attempts[want]
			}
		}
		at, ok := p.NextWake()
		if ok != o.asked || ok && at != o.due {
			t.Fatalf("at %v: wakes at %v, %v, want %v, %v", o.now, at, ok, o.due, o.asked)
		}
	}
	forget := func() {
		o.jobs = slices.DeleteFunc(o.jobs, func(j *onlineJob) bool {
			running := slices.ContainsFunc(o.slots, func(s onlineSlot) bool { return s.job == j })
			done := !slices.ContainsFunc(j.state, func(list []byte) bool {
				return slices.ContainsFunc(list, func(s byte) bool { return s != 'd' })
			})
			return done || j.cancelled && !running
		})
	}
	for range between(5, 60, "steps") {
		at := o.now
		tick := false
		switch between(0, 3, "time") {
		case 0: // the same instant
		case 1: // the instant of the wake
			if o.asked {
				at, tick = max(o.due, o.now), true
			}
		default: // some time later, whatever wake was asked for
			at = at.Add(time.Duration(between(1, 9000, "ms")) * time.Millisecond)
		}
		o.pass(at, tick)
		if tick {
			observe(sojourn.Event{Kind: sojourn.Tick})
			offer()
			continue
		}
		busy := slices.IndexFunc(o.slots, func(s onlineSlot) bool { return s.job != nil })
		switch what := between(0, 5, "what"); {
		case what <= 2 && busy >= 0: // an attempt ends
			for range between(0, len(o.slots)-1, "slot") {
				if i := slices.IndexFunc(o.slots[busy+1:], func(s onlineSlot) bool { return s.job != nil }); i >= 0 {
					busy += 1 + i
				}
			}
			s := &o.slots[busy]
			kind, state := sojourn.TaskFinished, byte('d')
			if between(0, 3, "fails") == 0 {
				kind, state = sojourn.TaskFailed, 'p'
			}
			observe(sojourn.Event{Kind: kind, Task: s.task, Attempt: s.attempt, Slot: sojourn.Slot{ID: sojourn.SlotID(busy)}})
			s.job.state[s.task.Phase][s.task.Index] = state
			s.job = nil
			forget()
		case what == 3 && slices.ContainsFunc(o.jobs, func(j *onlineJob) bool { return !j.cancelled }):
			j := o.jobs[between(0, len(o.jobs)-1, "job")]
			if j.cancelled {
				j = o.jobs[slices.IndexFunc(o.jobs, func(j *onlineJob) bool { return !j.cancelled })]
			}
			j.cancelled = true
			observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.spec.ID}})
			forget()
		default:
			o.seq++
			j := &onlineJob{spec: &sojourn.Job{ID: sojourn.JobID(o.seq), Weight: float64(between(1, 20, "weight"))}, seq: o.seq, attempts: map[sojourn.TaskID]uint32{}}
			for k := range between(1, 3, "phases") {
				ph := sojourn.Phase{Tasks: between(1, 4, "tasks"), Class: sojourn.Class(between(0, 1, "class"))}
				ph.Estimate = time.Duration(between(0, 6, "time")) * time.Second
				lists := between(0, 3, "lists") // of one class, of both, of none
				for range ph.Tasks {
					if lists&1 == 0 {
						ph.Estimates = append(ph.Estimates, time.Duration(between(0, 6, "time"))*time.Second)
					}
					if lists&2 == 0 {
						ph.Delays = append(ph.Delays, time.Duration(between(0, 3, "delay"))*time.Second)
					}
				}
				if k > 0 && between(0, 3, "no barrier") == 0 {
					ph.After = sojourn.NoBarrier
				}
				j.spec.Phases = append(j.spec.Phases, ph)
				j.state = append(j.state, slices.Repeat([]byte{'p'}, ph.Tasks))
			}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j.spec})
			o.jobs = append(o.jobs, j)
			o.request()
		}
		offer()
	}
}
