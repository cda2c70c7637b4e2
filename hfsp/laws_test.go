package hfsp

import (
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// The invariants of HFSP and where they are tested:
//
//  1. T_curr is from 0 to T, and the training tasks that hold slots; at most t of a
//     phase are started, and one more for each that is lost: TestDecidesAsTheOracle.
//  2. S_f is set once, and never for tiny phases, whose size is 0: there.
//  3. v never grows but by training, and falls at the rates of sharing by weight: there.
//  4. No slot idles while a ready task is pending: TestDecidesAsTheOracle.
//  5. What is started is first by (late, v, order of arrival or of virtual ends): there.
//  6. Nobody starves: TestNobodyStarves.
//  7. What Kill kills: TestVictims.
//  8. Slots that come or go change no v at that instant: TestDecidesAsTheOracle,
//     TestElasticity.
//  9. A phase takes its share until it is complete in reality and virtually:
//     TestDecidesAsTheOracle, TestRemovalNeedsBothEnds.
//  10. With exact sizes the bound of FSP: TestKeepsTheBoundWithExactSizes,
//     TestKeepsTheBoundWhenJobsAreCancelled.

// A world drives a policy and the oracle side by side, and checks the invariants
// after every call.
type world struct {
	t     fataler
	p     *Policy
	o     *naive
	now   sojourn.Time
	slots []*worldSlot
	tries map[sojourn.TaskID]uint32
	kills map[sojourn.TaskID]int
	ids   sojourn.JobID
	v     map[*phase]uint64 // after the latest call
	seen  map[*phase]stage
	final map[*phase]uint64
	twins map[*phase]*nPhase // of all that ever entered, in the oracle

	choices, priors int
	outlived        int // how often a phase that had finished was found ageing

	sameWeights bool // jobs have
	named, ties int  // see checkNamed
}

type fataler interface{ Fatalf(string, ...any) }

type worldSlot struct {
	sojourn.Slot
	busy    bool
	leaving bool
	pinned  bool
	task    sojourn.TaskID
	attempt uint32
	start   sojourn.Time
}

// newWorld returns a world of these options, of which the oracle knows the same.
func newWorld(t fataler, opts Options) *world {
	p, err := New(opts)
	if err != nil {
		t.Fatalf("New(%+v) = %v", opts, err)
	}
	o := &naive{trainers: map[sojourn.SlotID]sojourn.Class{}, t: p.tasks, T: *p.slots, early: *p.earlySlots, delta: p.delta, earlyDelay: p.earlyDelay, late: opts.Late,
		slots: map[sojourn.SlotID]sojourn.Class{}}
	w := &world{t: t, p: p, o: o, tries: map[sojourn.TaskID]uint32{}, kills: map[sojourn.TaskID]int{}, seen: map[*phase]stage{},
		final: map[*phase]uint64{}, twins: map[*phase]*nPhase{}}
	if opts.Reserve > 0 {
		o.kept, o.free, o.live = new(big.Rat).SetFloat64(opts.Reserve), w.free, w.live
	}
	return w
}

// free returns how many slots of a class could run something now.
func (w *world) free(class sojourn.Class) (n int) {
	for _, s := range w.slots {
		if s.Class == class && !s.busy && !s.leaving {
			n++
		}
	}
	return n
}

// live returns how many jobs have something to do, or still run something.
func (w *world) live() (n int) {
	for _, j := range w.o.jobs {
		runs := slices.ContainsFunc(w.slots, func(s *worldSlot) bool { return s.busy && s.task.Job == j.spec.ID })
		if !j.cancelled || runs {
			n++
		}
	}
	return n
}

// observe reports an event to both.
func (w *world) observe(ev sojourn.Event) {
	ev.At = w.now
	start := sojourn.Time(0)
	if s := w.slot(ev.Slot.ID); s != nil {
		start = s.start
	}
	passed := ev.At > w.o.now
	if err := w.p.Observe(ev); err != nil {
		w.t.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
	w.o.pass(ev.At)
	switch ev.Kind {
	case sojourn.SlotAdded:
		w.o.slots[ev.Slot.ID] = ev.Slot.Class
	case sojourn.SlotRemoved:
		if !w.slot(ev.Slot.ID).busy {
			delete(w.o.slots, ev.Slot.ID)
		}
	case sojourn.JobArrived:
		w.o.arrive(ev.Job)
	case sojourn.JobCancelled:
		w.o.cancel(ev.Job.ID)
	case sojourn.TaskProgress:
		w.o.progressed(ev)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if s := w.slot(ev.Slot.ID); s.leaving {
			delete(w.o.slots, ev.Slot.ID)
		}
		w.o.end(ev, start)
	}
	w.check(ev, passed)
	w.checkNamed(ev)
}

func (w *world) slot(id sojourn.SlotID) *worldSlot {
	for _, s := range w.slots {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// check tests what must hold after an event.
func (w *world) check(ev sojourn.Event, passed bool) {
	for i := range w.p.classes {
		c, held := w.p.classes[i], w.o.used(sojourn.Class(i))
		if c.training.used != held || c.training.used < 0 || c.training.used > *w.p.slots { // invariant 1
			w.t.Fatalf("after %v, T_curr = %d of class %d, %d training tasks hold slots, T = %d", ev, c.training.used, i, held, *w.p.slots)
		}
	}
	v := map[*phase]uint64{}
	for _, ph := range w.p.phases.All() {
		if ph == nil {
			continue
		}
		was, old := w.seen[ph]
		if old && was != stageTraining && ph.stage != was { // invariant 2
			w.t.Fatalf("after %v, a phase that was %s is %s", ev, stageNames[was], stageNames[ph.stage])
		}
		if old && was == stageTrained && w.final[ph] != ph.final {
			w.t.Fatalf("after %v, S_f = %d was %d", ev, ph.final, w.final[ph])
		}
		if ph.stage == stageTiny && (ph.size != 0 || !ph.item.Late()) {
			w.t.Fatalf("after %v, a tiny phase has the size %d", ev, ph.size)
		}
		v[ph] = ph.remaining()
		before, known := w.v[ph]
		if known && v[ph] > before && (was == ph.stage || was != stageTraining) { // invariant 3
			w.t.Fatalf("after %v, v = %d grew from %d", ev, v[ph], before)
		}
		if known && v[ph] != before && !passed && was == ph.stage { // invariant 8, among others
			w.t.Fatalf("after %v, v = %d was %d at the same instant", ev, v[ph], before)
		}
		w.seen[ph], w.final[ph] = ph.stage, ph.final
		// Against the oracle: v within a microsecond of slot time, S_f exactly.
		exact := w.o.job(ph.job.Spec().ID).phases[ph.index]
		w.twins[ph] = exact
		diff := new(big.Rat).Sub(rat(v[ph]), exact.v)
		if diff.Abs(diff).Cmp(rat(1000)) > 0 {
			w.t.Fatalf("after %v, v of job %d phase %d = %d, want %s", ev, ph.job.Spec().ID, ph.index, v[ph], exact.v.FloatString(3))
		}
		if ph.stage == stageTrained && int64(ph.final) != exact.final || (ph.stage == stageTraining) != exact.training || exact.sfs > 1 {
			w.t.Fatalf("after %v, job %d phase %d is %s with S_f = %d; want %d, training %v, S_f set %d times",
				ev, ph.job.Spec().ID, ph.index, stageNames[ph.stage], ph.final, exact.final, exact.training, exact.sfs)
		}
		if exact.starts > min(w.p.tasks, len(exact.state))+exact.lost { // invariant 1
			w.t.Fatalf("after %v, %d training tasks were started and %d lost", ev, exact.starts, exact.lost)
		}
	}
	w.v = v
	for ph, exact := range w.twins { // invariant 9
		q, item := w.p.class(exact.class).aging, ph.item
		switch really := exact.finished(); {
		case really == (*w.p.phases.At(ph.handle) == ph):
			w.t.Fatalf("after %v, %s is really complete: %v; but served: %v", ev, exact, really, !really)
		case !really:
		case exact.v.Cmp(rat(1000)) > 0 && item.Late():
			w.t.Fatalf("after %v, %s is gone before it is virtually complete", ev, exact)
		case exact.end > 0 && !item.Late() && new(big.Rat).Sub(rat(q.Remaining(item)), exact.v).Cmp(rat(1000)) > 0:
			w.t.Fatalf("after %v, %s is complete and still ages, v = %d", ev, exact, q.Remaining(item))
		case exact.v.Cmp(rat(1000)) > 0:
			w.outlived++
			diff := new(big.Rat).Sub(rat(q.Remaining(item)), exact.v)
			if diff.Abs(diff).Cmp(rat(1000)) > 0 {
				w.t.Fatalf("after %v, %s has finished, and has v = %d", ev, exact, q.Remaining(item))
			}
		}
	}
}

// offer offers a slot, and compares what it is given with the oracle's choice.
func (w *world) offer(s *worldSlot) bool {
	want, prior := w.o.first(s.Class)
	a, ok := w.p.Assign(s.ID)
	if ok != (want != nil) { // invariant 4
		w.t.Fatalf("Assign(%d) = %+v, %v at %v, want %s", s.ID, a, ok, w.now, want)
	}
	if !ok {
		return false
	}
	w.choices++
	got := w.o.job(a.Task.Job).phases[a.Task.Phase]
	if got != want && (prior || !w.o.near(got, want)) { // invariant 5
		w.t.Fatalf("Assign(%d) = %v at %v, want a task of %s, training %v; got %s", s.ID, a.Task, w.now, want, prior, got)
	}
	if low := slices.Index(got.state, 0); low != int(a.Task.Index) {
		w.t.Fatalf("Assign(%d) = %v, want task %d, the lowest", s.ID, a.Task, low)
	}
	if prior {
		w.priors++
	}
	w.o.assigned(a, prior)
	w.tries[a.Task]++
	s.busy, s.task, s.attempt, s.start = true, a.Task, a.Attempt, w.o.now
	w.checkNamed(a)
	return true
}

func (ph *nPhase) String() string {
	if ph == nil {
		return "nothing"
	}
	if ph.job.spec == nil || ph.job.spec.ID == 0 {
		return fmt.Sprintf("phase %d of a job that ended, of v %s", ph.i, ph.v.FloatString(3))
	}
	return fmt.Sprintf("job %d phase %d of v %s, end %d, initial %d", ph.job.spec.ID, ph.i, ph.v.FloatString(3), ph.end, ph.initial)
}

// offerAll offers all free slots, until none is taken.
func (w *world) offerAll() {
	for _, s := range w.slots {
		if !s.busy {
			w.offer(s)
		}
	}
}

// end reports the end of the attempt on a slot.
func (w *world) end(s *worldSlot, kind sojourn.EventKind, cause sojourn.Cause, service time.Duration) {
	s.busy, s.pinned = false, false
	if kind == sojourn.TaskFailed && cause == sojourn.CausePreempted {
		w.kills[s.task]++
	}
	ev := sojourn.Event{Kind: kind, Cause: cause, Task: s.task, Attempt: s.attempt, Slot: sojourn.Slot{ID: s.ID}, Service: service}
	w.observe(ev)
	if s.leaving {
		w.slots = slices.DeleteFunc(w.slots, func(o *worldSlot) bool { return o == s })
	}
}

func (w *world) addSlot(id sojourn.SlotID, class sojourn.Class) {
	s := sojourn.Slot{ID: id, Class: class}
	w.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	w.slots = append(w.slots, &worldSlot{Slot: s})
}

const ms = sojourn.Time(time.Millisecond)

// drawOptions draws options under which the oracle knows what to do.
func drawOptions(t *rapid.T) Options {
	return Options{
		TrainingTasks: rapid.IntRange(1, 4).Draw(t, "t"),
		TrainingSlots: ptr(rapid.IntRange(0, 4).Draw(t, "T")),
		Delta:         time.Duration(rapid.IntRange(1, 2000).Draw(t, "delta")) * time.Millisecond,
		EarlySlots:    ptr(rapid.IntRange(0, 4).Draw(t, "early")),
		EarlyDelay:    time.Duration(rapid.IntRange(1, 5000).Draw(t, "early delay")) * time.Millisecond,
		Late:          rapid.SampledFrom([]vqueue.Late{vqueue.LateShare, vqueue.LateFirst}).Draw(t, "late"),
		Reserve:       rapid.SampledFrom([]float64{0, 0, 0, 0.25, 0.5, 1}).Draw(t, "reserve"),
	}
}

func ptr[T any](v T) *T { return &v }

// history drives a world through a random history.
func (w *world) history(t *rapid.T) {
	uniform := rapid.IntRange(0, 2).Draw(t, "uniform") == 0
	for i := range rapid.IntRange(1, 6).Draw(t, "slots") {
		class := sojourn.Class(i % 2)
		if uniform {
			class = 0
		}
		w.addSlot(sojourn.SlotID(i), class)
	}
	busy := func(t *rapid.T) *worldSlot {
		var list []*worldSlot
		for _, s := range w.slots {
			if s.busy {
				list = append(list, s)
			}
		}
		if len(list) == 0 {
			t.Skip("nothing runs")
		}
		return rapid.SampledFrom(list).Draw(t, "slot")
	}
	service := func(t *rapid.T) time.Duration {
		return rapid.SampledFrom([]time.Duration{0, 1, 70, 900, 1100, 30000}).Draw(t, "service") * time.Millisecond
	}
	finish := func(t *rapid.T) { w.end(busy(t), sojourn.TaskFinished, 0, service(t)) }
	arrive := func(t *rapid.T) {
		w.ids++
		j := &sojourn.Job{ID: w.ids, Weight: rapid.SampledFrom([]float64{0, 0, 0.5, 4}).Draw(t, "weight")}
		if w.sameWeights {
			j.Weight = 0
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "phases") {
			ph := sojourn.Phase{Tasks: rapid.IntRange(1, 7).Draw(t, "tasks"), Class: sojourn.Class(i % 2)}
			if uniform {
				ph.Class = 0
			}
			if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
				ph.Needs = []int{}
				for k := range i {
					if rapid.Bool().Draw(t, "this one") {
						ph.Needs = append(ph.Needs, k)
					}
				}
			} else if i > 0 {
				ph.After = rapid.IntRange(-1, j.Phases[i-1].Tasks).Draw(t, "after")
			}
			j.Phases = append(j.Phases, ph)
		}
		w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	}
	offer := func(t *rapid.T) { w.offerAll() }
	t.Repeat(map[string]func(*rapid.T){
		"arrive": arrive, "arrive again": arrive,
		"finish": finish, "finish 2": finish, "finish 3": finish,
		"offer": offer, "offer 2": offer,
		"wait": func(t *rapid.T) {
			w.now += ms * sojourn.Time(rapid.SampledFrom([]int{1, 7, 60, 700, 20000}).Draw(t, "dt"))
			w.observe(sojourn.Event{Kind: sojourn.Tick})
		},
		"silent wait": func(t *rapid.T) { w.now += ms * sojourn.Time(rapid.IntRange(0, 500).Draw(t, "dt")) },
		"wake": func(t *rapid.T) {
			at, ok := w.p.NextWake()
			if !ok {
				t.Skip("waits for nothing")
			}
			w.now = max(w.now, at)
			w.observe(sojourn.Event{Kind: sojourn.Tick})
			w.offerAll()
		},
		"fail": func(t *rapid.T) {
			kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFailed, sojourn.TaskRefused}).Draw(t, "kind")
			w.end(busy(t), kind, sojourn.Cause(rapid.IntRange(0, 2).Draw(t, "cause")), 0)
		},
		"progress": func(t *rapid.T) {
			s := busy(t)
			w.observe(sojourn.Event{Kind: sojourn.TaskProgress, Task: s.task, Attempt: s.attempt, Slot: sojourn.Slot{ID: s.ID},
				Progress: rapid.SampledFrom([]uint16{0, 1, 2500, 9999, sojourn.MaxProgress}).Draw(t, "progress"), Service: service(t)})
		},
		"pin": func(t *rapid.T) {
			s := busy(t)
			s.pinned = true
			w.observe(sojourn.Event{Kind: sojourn.TaskPinned, Task: s.task, Attempt: s.attempt, Slot: sojourn.Slot{ID: s.ID}})
		},
		"slot": func(t *rapid.T) {
			for id := sojourn.SlotID(0); ; id++ {
				if w.slot(id) == nil {
					w.addSlot(id, sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class")))
					return
				}
			}
		},
		"remove": func(t *rapid.T) {
			if len(w.slots) == 0 {
				t.Skip("no slots")
			}
			s := rapid.SampledFrom(w.slots).Draw(t, "slot")
			if s.leaving {
				t.Skip("leaves already")
			}
			w.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.ID}})
			if s.leaving = s.busy; !s.busy {
				w.slots = slices.DeleteFunc(w.slots, func(o *worldSlot) bool { return o == s })
			}
		},
		"cancel": func(t *rapid.T) {
			var list []sojourn.JobID
			for _, j := range w.o.jobs {
				if !j.cancelled && w.p.ledger.Job(j.spec.ID) != nil {
					list = append(list, j.spec.ID)
				}
			}
			if len(list) == 0 {
				t.Skip("no jobs")
			}
			w.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: rapid.SampledFrom(list).Draw(t, "job")}})
		},
	})
}

// Every choice, every virtual size and every estimate is that of the oracle, and the
// invariants hold after every event.
// Reference: HFSP, sections III-A to III-C, algorithm 1.
func TestDecidesAsTheOracle(t *testing.T) {
	history := func(t *rapid.T) int {
		w := newWorld(t, drawOptions(t))
		w.history(t)
		return w.outlived
	}
	rapid.Check(t, func(t *rapid.T) { history(t) })
	Happens(t, "no phase was ever virtually incomplete when it had finished", history)
}

// The test above can fail: it notices each of these mistakes.
func TestOracleNoticesMutants(t *testing.T) {
	for _, mutant := range []string{"T+1", "back at Delta", "half speed", "drop finished", "phantom", "late ones are free", "the killed pay", "all may start", "training may start"} {
		t.Run(mutant, func(t *testing.T) {
			for seed := range 5000 {
				if differs(seed, mutant) {
					return
				}
			}
			t.Errorf("5,000 histories show no difference")
		})
	}
}

// differs reports whether a history of a mutant oracle differs from the policy's.
func differs(seed int, mutant string) (found bool) {
	defer func() {
		if r := recover(); r != nil && !found {
			panic(r)
		}
	}()
	rapid.Custom(func(t *rapid.T) int {
		w := newWorld(catcher{&found}, drawOptions(t))
		w.o.mutant = mutant
		w.history(t)
		return 0
	}).Example(seed)
	return found
}

// A catcher records a failure, and ends what failed.
type catcher struct{ found *bool }

func (c catcher) Fatalf(format string, args ...any) {
	*c.found = true
	panic(fmt.Sprintf(format, args...))
}

func rat(x uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(x)) }
