package forecast_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// A world is a random cluster, whose jobs come and whose tasks take what its kind says. A kind with the zero value has a
// light load of unnamed jobs of one or two phases without estimates, whose times are lognormal around the mean of one of up to four
// programs, under fifo.
type kindOfWorld struct {
	name   string
	policy string  // fifo, fair or default
	told   float64 // estimates are the mean times this; 0: there are none
	named  bool    // jobs have the name of their program
	heavy  bool    // jobs come faster than they are done
	jobs   int     // that came before the last one; 0 is 30
	done   int     // ask as soon as so many tasks have finished, if not 0; -1 is none

	residual func(r *rand.Rand) float64 // a factor of each task, of any scale
	perJob   float64                    // standard deviation of the logarithm of a factor of each job
	perPhase float64                    // the same of each phase
	wrong    float64                    // the same of the estimate of each job
	drift    float64                    // the logarithm of the factor from the first job to the last
	phases   int                        // at most; 0 is 2
	graph    bool                       // phases need some of those before them
	skew     bool                       // phase 1 takes ten times as long as phase 0
	fails    float64                    // probability that an attempt fails

	gap      func(r *rand.Rand, share float64) float64 // a factor of the time until the next job
	tasks    func(r *rand.Rand) int                    // of a phase
	twoModes bool                                      // of three jobs, one takes twenty times as long
	classes  int                                       // of slots and phases, in turn; 0 is 1
	pools    int                                       // of weights 1, 2, 4, ... under fair; 0 is 1
	load     float64                                   // of the slots, on average; 0: as heavy says
	dies     bool                                      // half of the slots are gone, with what ran there, after 25 jobs
}

func lognormal(sigma float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return math.Exp(sigma * r.NormFloat64()) }
}

func policyNamed(name string) func() (sojourn.Policy, error) {
	switch name {
	case "fair":
		return func() (sojourn.Policy, error) {
			return fair.New(fair.Options{Pools: map[string]fair.Pool{"p1": {Weight: 2}, "p2": {Weight: 4}}})
		}
	case "default":
		return func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }
	}
	return func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
}

type phaseOf struct {
	job   sojourn.JobID
	phase int
}

// A world runs a watched policy on slots.
type world struct {
	kindOfWorld
	random  *rand.Rand
	watch   *forecast.Watch
	now     sojourn.Time
	slots   int
	means   []float64
	running []attempt
	draw    map[phaseOf]func(*rand.Rand) float64 // what a task takes
	left    map[sojourn.JobID]int
	started map[sojourn.JobID]sojourn.Time
	ended   map[sojourn.JobID]sojourn.Time
	done    int
}

type attempt struct {
	at    sojourn.Time
	a     sojourn.Assignment
	took  time.Duration
	fails bool
}

func newWorld(k kindOfWorld, seed uint64) *world {
	w := &world{kindOfWorld: k, random: rand.New(rand.NewPCG(seed, 1)), draw: map[phaseOf]func(*rand.Rand) float64{},
		left: map[sojourn.JobID]int{}, started: map[sojourn.JobID]sojourn.Time{}, ended: map[sojourn.JobID]sojourn.Time{}}
	p, err := policyNamed(k.policy)()
	if err != nil {
		panic(err)
	}
	w.watch = forecast.New(p)
	w.slots = max(1+w.random.IntN(12), 2*k.classes)
	w.classes = max(w.classes, 1)
	for i := range w.slots {
		w.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: w.slot(i)})
	}
	for range 1 + w.random.IntN(4) {
		w.means = append(w.means, math.Exp(w.random.NormFloat64())*60e9)
	}
	return w
}

func (w *world) slot(i int) sojourn.Slot {
	return sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.Class(i % w.classes)}
}

// die takes away the second half of the slots. What runs there is lost.
func (w *world) die() {
	first := sojourn.SlotID((w.slots + 1) / 2)
	var rest []attempt
	for _, e := range w.running {
		if e.a.Slot < first {
			rest = append(rest, e)
			continue
		}
		w.observe(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost, Task: e.a.Task, Attempt: e.a.Attempt, Slot: w.slot(int(e.a.Slot))})
	}
	w.running = rest
	for i := int(first); i < w.slots; i++ {
		w.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: w.slot(i)})
	}
	w.settle()
}

func (w *world) observe(ev sojourn.Event) {
	ev.At = w.now
	if err := w.watch.Observe(ev); err != nil {
		panic(err)
	}
}

// arrive adds a job; share is how much of the history has passed.
func (w *world) arrive(id sojourn.JobID, share float64) {
	r := w.random
	k := r.IntN(len(w.means))
	j := &sojourn.Job{ID: id}
	if w.named {
		j.Name = fmt.Sprint("program ", k)
	}
	if w.pools > 0 {
		j.Pool = fmt.Sprint("p", r.IntN(w.pools))
	}
	level := w.means[k] * math.Exp(w.drift*share) * math.Exp(w.perJob*r.NormFloat64())
	if w.twoModes && r.IntN(3) == 0 {
		level *= 20
	}
	wrong := math.Exp(w.wrong * r.NormFloat64())
	for p := range 1 + r.IntN(cmp.Or(w.phases, 2)) {
		mean := level * math.Exp(w.perPhase*r.NormFloat64())
		if w.skew && p == 1 {
			mean *= 10
		}
		ph := sojourn.Phase{Tasks: 1 + r.IntN(2*w.slots+3), Class: sojourn.Class(p % w.classes)}
		if w.tasks != nil {
			ph.Tasks = w.tasks(r)
		}
		if w.told > 0 {
			ph.Estimate = max(1, time.Duration(mean*w.told*wrong))
		}
		if w.graph && p > 0 {
			ph.Needs = []int{r.IntN(p)}
		}
		j.Phases = append(j.Phases, ph)
		w.left[id] += ph.Tasks
		w.draw[phaseOf{id, p}] = func(r *rand.Rand) float64 { return mean * w.residual(r) }
	}
	w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
}

func (w *world) settle() {
	seeker, _ := sojourn.As[sojourn.Seeker](w.watch)
	waker, wakes := sojourn.As[sojourn.Waker](w.watch)
	for {
		for class := 0; class < w.classes; {
			slot, ok := seeker.Seek(sojourn.Class(class))
			if !ok {
				class++
				continue
			}
			a, ok := w.watch.Assign(slot)
			if !ok {
				class++
				continue
			}
			took := max(1, time.Duration(min(1e17, w.draw[phaseOf{a.Task.Job, int(a.Task.Phase)}](w.random))))
			fails := w.random.Float64() < w.fails
			if fails {
				took = max(1, time.Duration(w.random.Float64()*float64(took)))
			}
			w.running = append(w.running, attempt{w.now.Add(took), a, took, fails})
			if _, ok := w.started[a.Task.Job]; !ok {
				w.started[a.Task.Job] = w.now
			}
		}
		if !wakes {
			return
		}
		if at, ok := waker.NextWake(); !ok || at > w.now {
			return
		}
		w.observe(sojourn.Event{Kind: sojourn.Tick})
	}
}

// step goes to the next thing that happens, if that is not after until.
func (w *world) step(until sojourn.Time) bool {
	next := -1
	for i := range w.running {
		if next < 0 || w.running[i].at < w.running[next].at {
			next = i
		}
	}
	if waker, ok := sojourn.As[sojourn.Waker](w.watch); ok {
		if at, ok := waker.NextWake(); ok && at <= until && (next < 0 || at < w.running[next].at) {
			w.now = max(w.now, at)
			w.observe(sojourn.Event{Kind: sojourn.Tick})
			w.settle()
			return true
		}
	}
	if next < 0 || w.running[next].at > until {
		return false
	}
	e := w.running[next]
	w.running = slices.Delete(w.running, next, next+1)
	w.now = e.at
	ev := sojourn.Event{Kind: sojourn.TaskFinished, Task: e.a.Task, Attempt: e.a.Attempt, Slot: w.slot(int(e.a.Slot)), Service: e.took}
	if e.fails {
		ev.Kind = sojourn.TaskFailed
	} else {
		w.done++
		if w.left[e.a.Task.Job]--; w.left[e.a.Task.Job] == 0 {
			w.ended[e.a.Task.Job] = w.now
		}
	}
	w.observe(ev)
	w.settle()
	return true
}

// warm lets jobs come, and stops where the forecast is asked.
func (w *world) warm() {
	jobs, slow := cmp.Or(w.jobs, 30), 4.0
	if w.heavy {
		slow = 1
	}
	want := w.kindOfWorld.done
	for id := range sojourn.JobID(jobs + 1) {
		w.arrive(id+1, float64(id)/float64(jobs))
		w.settle()
		if int(id) == jobs && want == 0 || want < 0 && id == 3 {
			break
		}
		gap := w.random.ExpFloat64()
		if w.gap != nil {
			gap *= w.gap(w.random, float64(id)/float64(jobs))
		}
		if w.dies && id == 25 {
			w.die()
		}
		mean := 60e9 * slow * float64(w.slots+3) / float64(w.slots)
		if w.load > 0 {
			mean = w.meanWork() / float64(w.slots) / w.load
		}
		until := w.now.Add(time.Duration(gap * mean))
		if want < 0 {
			until = w.now
		}
		for w.step(until) {
			if want > 0 && w.done >= want {
				return
			}
		}
		w.now = max(w.now, until)
	}
	w.observe(sojourn.Event{Kind: sojourn.Tick})
}

// meanWork returns the mean slot time of a job of up to two phases, as far as its programs say.
func (w *world) meanWork() float64 {
	sum, factor := 0.0, 0.0
	for _, mean := range w.means {
		sum += mean
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		factor += w.residual(r)
	}
	return sum / float64(len(w.means)) * factor / 1000 * 1.5 * float64(w.slots+2)
}

// A score is how many finishes and starts were within their intervals, of how many, and the widths of those of the finishes.
type score struct {
	in, of, startIn, startOf int
	width, oracle            float64
}

// try asks a world and lets it go on. A start that is certain does not count, nor a world in which nothing is known.
func try(k kindOfWorld, seed uint64, oracle bool) (s score, err error) {
	w := newWorld(k, seed)
	w.warm()
	f, err := w.watch.Foresee(context.Background(), forecast.Question{Policy: policyNamed(k.policy), Seed: seed})
	if unknown := (*forecast.UnknownError)(nil); errors.As(err, &unknown) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var best map[sojourn.JobID]*forecast.Interval
	if oracle {
		best = w.oracle(seed)
	}
	for w.step(math.MaxInt64) {
	}
	for _, j := range f.Jobs {
		s.of++
		if at := w.ended[j.ID]; j.Finish.Low <= at && at <= j.Finish.High {
			s.in++
		}
		if j.Start != nil && j.Start.High > f.At {
			s.startOf++
			if at := w.started[j.ID]; j.Start.Low <= at && at <= j.Start.High {
				s.startIn++
			}
		}
		s.width += j.Finish.High.Sub(j.Finish.Low).Seconds()
		if oracle {
			s.oracle += best[j.ID].High.Sub(best[j.ID].Low).Seconds()
		}
	}
	return s, nil
}

// oracle returns the intervals of the finishes that follow from the distributions that the world has.
func (w *world) oracle(seed uint64) map[sojourn.JobID]*forecast.Interval {
	random := rand.New(rand.NewPCG(seed, 2))
	finishes, err := w.watch.Ahead(policyNamed(w.policy), 100, func(t sojourn.TaskID, _ uint32, elapsed time.Duration) (time.Duration, bool) {
		for range 100_000 {
			if took := time.Duration(min(1e17, w.draw[phaseOf{t.Job, int(t.Phase)}](random))); took > elapsed {
				if random.Float64() < w.fails {
					return elapsed + max(1, time.Duration(random.Float64()*float64(took-elapsed))), true
				}
				return took, false
			}
		}
		return elapsed + elapsed/1000, false
	})
	if err != nil {
		panic(err)
	}
	return finishes
}
