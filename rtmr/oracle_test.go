package rtmr

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A world is a small cluster in whole units of time, driven by a policy. It is a
// simulator that shares no code with the policy, nor with package sim. It knows how long
// each task really takes.
type world struct {
	p   *Policy
	r   *rand.Rand
	now int64

	beat    int64 // free slots are offered at its multiples only; 1 for always
	slots   []wslot
	jobs    []wjob
	pending []wjob // to arrive, by time
	retest  []wjob // refused jobs, offered again at each completion
	asks    bool   // refused jobs are offered again

	accepted, rejected, missed int
	late                       int64                                   // the sum of the lateness of jobs
	check                      func(*world)                            // after each instant
	ended                      func(id sojourn.JobID, stage int)       // at the end of each task
	before                     func(*wslot) func(a sojourn.Assignment) // around the start of each task
	refusals                   bool                                    // refusals and questions are checked to change nothing
	failed                     string                                  // the first law that was broken
	broken                     map[string]bool                         // all laws that were broken, by name

	// Spoiled by the tests of the laws themselves.
	lazy  bool   // slot 0 is never offered
	spoil func() // after each refusal
}

// fail records a broken law. The text begins with the name of the law.
func (w *world) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.failed == "" {
		w.failed = text
	}
	if w.broken == nil {
		w.broken = map[string]bool{}
	}
	w.broken[text[:2]] = true
}

type wslot struct {
	class   sojourn.Class
	task    sojourn.TaskID
	attempt uint32
	busy    bool
	end     int64
}

type wjob struct {
	id       sojourn.JobID
	at       int64
	deadline int64
	times    [2][]int64 // real times of the map and the reduce tasks
	eps      [2]int64
	atOnce   int // tasks that run at a time; 0 for any number
	left     int
	done     bool
	finish   int64

	mapsLeft, reducesToStart int
}

const unit = time.Millisecond

func (j *wjob) spec() *sojourn.Job {
	s := &sojourn.Job{ID: j.id, Deadline: sojourn.Time(j.deadline) * sojourn.Time(unit), Parallelism: uint32(j.atOnce)}
	for c, times := range j.times {
		if len(times) > 0 {
			s.Phases = append(s.Phases, sojourn.Phase{
				Class: sojourn.Class(c), Tasks: len(times), Estimate: time.Duration(j.eps[c]) * unit,
			})
		}
	}
	return s
}

func (w *world) observe(ev sojourn.Event) error {
	ev.At = sojourn.Time(w.now) * sojourn.Time(unit)
	return w.p.Observe(ev)
}

func (w *world) must(ev sojourn.Event) {
	if err := w.observe(ev); err != nil {
		panic(err)
	}
}

func (w *world) addSlots(n int, c sojourn.Class) {
	for range n {
		w.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(len(w.slots)), Class: c}})
		w.slots = append(w.slots, wslot{class: c})
	}
}

// arrive offers a job, and reports whether it was accepted.
func (w *world) arrive(j wjob) bool {
	var before []byte
	if w.refusals {
		before, _ = w.p.AppendBinary(nil)
	}
	err := w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j.spec()})
	if err != nil {
		if !errors.Is(err, sojourn.ErrRejected) {
			panic(err)
		}
		if w.spoil != nil {
			w.spoil()
		}
		if w.refusals {
			w.refused(before, j.id)
		}
		return false
	}
	w.accepted++
	j.mapsLeft, j.reducesToStart = len(j.times[0]), len(j.times[1])
	j.left = len(j.times[0]) + len(j.times[1])
	w.jobs = append(w.jobs, j)
	return true
}

// real returns how long a task takes.
func (w *world) real(id sojourn.TaskID, c sojourn.Class) int64 {
	return w.job(id.Job).times[c][id.Index]
}

func (w *world) job(id sojourn.JobID) *wjob {
	i := slices.IndexFunc(w.jobs, func(j wjob) bool { return j.id == id })
	return &w.jobs[i]
}

// room returns how many more tasks of a job may run now.
func (w *world) room(j *wjob) int {
	if j.atOnce == 0 {
		return math.MaxInt
	}
	running := 0
	for i := range w.slots {
		if w.slots[i].busy && w.slots[i].task.Job == j.id {
			running++
		}
	}
	return max(0, j.atOnce-running)
}

// offer offers all free slots until none is taken.
func (w *world) offer() {
	for taken := true; taken; {
		taken = false
		for i := range w.slots {
			s := &w.slots[i]
			if s.busy || w.lazy && i == 0 {
				continue
			}
			var after func(sojourn.Assignment)
			if w.before != nil {
				after = w.before(s)
			}
			if a, ok := w.p.Assign(sojourn.SlotID(i)); ok {
				taken = true
				if after != nil {
					after(a)
				}
				if s.class == sojourn.ReduceClass {
					w.job(a.Task.Job).reducesToStart--
				}
				if j := w.job(a.Task.Job); w.room(j) == 0 {
					w.fail("I0: job %d starts a task while %d run", j.id, j.atOnce)
				}
				s.busy, s.task, s.attempt = true, a.Task, a.Attempt
				s.end = w.now + w.real(a.Task, s.class)
			}
		}
	}
}

// ends reports the attempts that end now.
func (w *world) ends() (any bool) {
	for i := range w.slots {
		s := &w.slots[i]
		if !s.busy || s.end != w.now {
			continue
		}
		any = true
		s.busy = false
		w.must(sojourn.Event{Kind: sojourn.TaskFinished, Task: s.task, Attempt: s.attempt, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
		j := w.job(s.task.Job)
		if w.ended != nil {
			w.ended(j.id, int(s.class))
		}
		if s.class == sojourn.MapClass {
			j.mapsLeft--
		}
		if j.left--; j.left == 0 {
			j.done, j.finish = true, w.now
			if j.deadline > 0 && w.now > j.deadline {
				w.missed++
				w.late += w.now - j.deadline
			}
		}
	}
	return any
}

// run runs until nothing is left. At one instant, arrivals come before or after the
// offers, at random.
func (w *world) run() {
	for {
		next := int64(-1)
		soon := func(t int64) {
			if next < 0 || t < next {
				next = t
			}
		}
		for i := range w.slots {
			if w.slots[i].busy {
				soon(w.slots[i].end)
			} else if w.beat > 1 {
				if at := (w.now/w.beat + 1) * w.beat; w.live() {
					soon(at)
				}
			}
		}
		if len(w.pending) > 0 {
			soon(w.pending[0].at)
		}
		if next < 0 {
			return
		}
		if wake, ok := w.p.NextWake(); ok {
			soon(int64((wake + sojourn.Time(unit) - 1) / sojourn.Time(unit)))
		}
		w.now = next
		w.must(sojourn.Event{Kind: sojourn.Tick})
		ended := w.ends()
		if ended && w.asks {
			w.retest = slices.DeleteFunc(w.retest, func(j wjob) bool { return w.arrive(j) })
		}
		first := w.r.IntN(2) == 0
		if first {
			w.offerNow()
		}
		for len(w.pending) > 0 && w.pending[0].at == w.now {
			j := w.pending[0]
			w.pending = w.pending[1:]
			if !w.arrive(j) {
				w.rejected++
				w.retest = append(w.retest, j)
			}
			if w.r.IntN(3) == 0 {
				w.offerNow()
			}
		}
		w.offerNow()
		if w.check != nil {
			w.check(w)
		}
		if w.failed != "" {
			return
		}
	}
}

func (w *world) offerNow() {
	if w.beat <= 1 || w.now%w.beat == 0 {
		w.offer()
	}
}

func (w *world) live() bool {
	return slices.ContainsFunc(w.jobs, func(j wjob) bool { return !j.done })
}

// A variant is a way to make worlds and policies.
type variant struct {
	name   string
	opts   Options
	exact  bool // every task takes as long as estimated; else uniformly from 1 to its estimate
	zeros  bool // some jobs have no maps or no reduces
	big    bool
	bound  bool // every second job bounds how many of its tasks run at a time
	retest bool
	beat   int64 // free slots are offered at its multiples only
	pad    int64 // Options.Latency, in units
	over   int   // one job of this many takes half as long again as estimated
}

// build makes a world with random jobs.
func (v *variant) build(seed uint64) *world {
	r := rand.New(rand.NewPCG(seed, 7))
	v.opts.Latency = time.Duration(v.pad) * unit
	p, err := New(v.opts)
	if err != nil {
		panic(err)
	}
	w := &world{p: p, r: r, beat: max(v.beat, 1), asks: v.retest}
	slots := [2]int{1 + r.IntN(4), 1 + r.IntN(4)}
	jobs, tasks, longest := 2+r.IntN(7), [2]int{6, 6}, 10
	if v.big {
		slots = [2]int{1 + r.IntN(12), 1 + r.IntN(8)}
		jobs, tasks, longest = 8+r.IntN(33), [2]int{30, 20}, 20
	}
	w.addSlots(slots[0], sojourn.MapClass)
	w.addSlots(slots[1], sojourn.ReduceClass)
	at := int64(0)
	for i := range jobs {
		at += int64(r.IntN(3) * r.IntN(longest))
		j := wjob{id: sojourn.JobID(i + 1), at: at}
		over := v.over > 0 && r.IntN(v.over) == 0
		for c := range j.times {
			n := 1 + r.IntN(tasks[c])
			if v.zeros {
				n = r.IntN(tasks[c] + 1)
			}
			j.eps[c] = int64(1 + r.IntN(longest))
			for range n {
				t := j.eps[c]
				if !v.exact {
					t = 1 + r.Int64N(j.eps[c])
				}
				if over {
					t = (3*j.eps[c] + 1) / 2
				}
				j.times[c] = append(j.times[c], t)
			}
		}
		if len(j.times[0])+len(j.times[1]) == 0 {
			j.times[0] = []int64{1}
			j.eps[0] = 1
		}
		if v.bound && r.IntN(2) == 0 {
			j.atOnce = 1 + r.IntN(max(slots[0], slots[1]))
		}
		alone := int64(0)
		for c := range j.times {
			n := slots[c]
			if j.atOnce > 0 {
				n = min(n, j.atOnce)
			}
			alone += (int64(len(j.times[c])+n-1) / int64(n)) * (j.eps[c] + v.pad)
		}
		// The deadline is anything from hopeless to generous, and often equal to that of
		// another job.
		j.deadline = at + alone*int64(2+r.IntN(8))/2 - int64(r.IntN(3))
		if r.IntN(4) == 0 && len(w.pending) > 0 {
			j.deadline = max(1, w.pending[r.IntN(len(w.pending))].deadline)
		}
		j.deadline = max(1, j.deadline)
		w.pending = append(w.pending, j)
	}
	return w
}

// A tally counts jobs over many worlds.
type tally struct{ jobs, accepted, missed int }

func (t tally) String() string {
	return fmt.Sprintf("%d jobs, accept %.3f, %d missed", t.jobs, float64(t.accepted)/float64(t.jobs), t.missed)
}

// simulate runs worlds until they have had as many jobs as asked.
func (v *variant) simulate(seed uint64, jobs int, check func(*world)) (t tally, failed string) {
	for ; t.jobs < jobs; seed++ {
		w := v.build(seed)
		w.check = check
		t.jobs += len(w.pending)
		w.run()
		t.accepted += w.accepted
		t.missed += w.missed
		if w.failed != "" {
			return t, fmt.Sprintf("seed %d at %d: %s", seed, w.now, w.failed)
		}
	}
	return t, ""
}
