package hfsp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// What Kill asks for is never a training task nor one of a phase of a smaller or
// equal virtual size, unless the claimant is in training; among the tasks of a phase
// that may be killed it is the youngest; nothing is asked for twice, or while a slot
// is free for it; and the guards hold. All that does not bind in one case: where early
// tasks hold all slots and something could work, the youngest of them is named.
// Reference: HFSP, section III-E; invariant 7.
func TestVictims(t *testing.T) {
	history := func(t *rapid.T) (found int) {
		opts := drawOptions(t)
		opts.Preemption = rapid.SampledFrom([]Preemption{Kill, KillAny}).Draw(t, "preemption")
		opts.KillFraction = rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "fraction")
		opts.Reserve = 0 // since it kills
		w := newWorld(t, opts)
		w.history(t)
		for range 4 {
			w.offerAll()
			list := w.p.AppendPreemptions(nil)
			found += len(list)
			w.judge(t, list, opts)
			if len(list) == 0 {
				break
			}
			for _, v := range list { // as a driver does
				w.end(w.slot(v.Slot), sojourn.TaskFailed, sojourn.CausePreempted, 0)
			}
		}
		if again := w.p.AppendPreemptions(nil); !slices.Equal(again, w.p.AppendPreemptions(nil)) {
			t.Fatalf("AppendPreemptions = %v, then something else", again)
		}
		return found
	}
	rapid.Check(t, func(t *rapid.T) { history(t) })
	Happens(t, "nothing was ever to be killed", history)
}

func (w *world) judge(t fataler, list []sojourn.Preemption, opts Options) {
	wanted := map[sojourn.SlotID]bool{}
	for _, v := range list {
		wanted[v.Slot] = true
	}
	// tied reports whether rounding decides which is the smaller of two, in relation to
	// weights that differ.
	tied := func(a, b *nPhase) bool { return a.weight.Cmp(b.weight) != 0 && w.o.near(a, b) }
	claims := map[sojourn.JobID]int{}
	for i, v := range list {
		s := w.slot(v.Slot)
		if !s.busy || s.task != v.Task || s.attempt != v.Attempt || s.leaving {
			t.Fatalf("preemption %d = %+v: the slot is %+v", i, v, s)
		}
		if slices.ContainsFunc(list[:i], func(o sojourn.Preemption) bool { return o.Slot == v.Slot }) {
			t.Fatalf("preemptions %v name slot %d twice", list, v.Slot)
		}
		if w.blocks(s) && active(list, func(o sojourn.Preemption) bool { return w.slot(o.Slot).Class == s.Class }) == 1 && w.works(v.For, s.Class) {
			continue
		}
		if opts.Preemption == Kill && w.kills[v.Task] > 0 {
			t.Fatalf("preemption %d = %+v: it was killed before", i, v)
		}
		victim := w.p.ledger.Job(v.Task.Job).Data.phases[v.Task.Phase]
		if victim.stage == stageTraining && victim.samples.find(v.Task.Index) >= 0 {
			t.Fatalf("preemption %d = %+v is a training task", i, v)
		}
		if ran := w.o.now - s.start; opts.Preemption == Kill && float64(ran) > cmp.Or(opts.KillFraction, 0.1)*float64(victim.mean())+1 {
			t.Fatalf("preemption %d = %+v has run for %v of %v", i, v, ran, victim.mean())
		}
		for _, other := range w.slots {
			if other.busy && !other.leaving && !wanted[other.ID] && other.start > s.start && other.task.Job == v.Task.Job && other.task.Phase == v.Task.Phase &&
				victim.samples.find(other.task.Index) < 0 && !(opts.Preemption == Kill && w.kills[other.task] > 0) {
				t.Fatalf("preemption %d = %+v is older than task %v", i, v, other.task)
			}
		}
		claims[v.For]++
		claimant, suits := w.p.ledger.Job(v.For), false
		for _, ph := range claimant.Data.phases {
			if ph != nil && ph != victim && ph.spec().Class == s.Class && ph.startable() && (ph.stage == stageTraining && ph.class.trains(ph) || ph.remaining() < victim.remaining() ||
				ratio(w.o.job(v.For).phases[ph.index]).Cmp(ratio(w.o.job(v.Task.Job).phases[v.Task.Phase])) < 0 ||
				tied(w.o.job(v.For).phases[ph.index], w.o.job(v.Task.Job).phases[v.Task.Phase])) {
				suits = true
			}
		}
		if !suits {
			t.Fatalf("preemption %d = %+v: no phase of job %d is smaller or in training", i, v, v.For)
		}
	}
	for id, n := range claims {
		pending := 0
		for i := range w.p.ledger.Job(id).NumPhases() {
			pending += w.p.ledger.Job(id).Phase(i).Pending()
		}
		if n > pending {
			t.Fatalf("%d victims for job %d, which has %d tasks to start", n, id, pending)
		}
	}
}

// blocks reports whether early tasks hold all slots of the class of a slot, more than
// they may, and the youngest of those that can be freed is on this one.
func (w *world) blocks(s *worldSlot) bool {
	held := 0
	for _, other := range w.slots {
		if other.Class != s.Class {
			continue
		}
		if !other.busy || w.o.job(other.task.Job) == nil || w.o.job(other.task.Job).cancelled ||
			w.o.job(other.task.Job).phases[other.task.Phase].hasInput() || !other.leaving && other.start > s.start {
			return false
		}
		held++
	}
	return held > w.o.earlyLimit(s.Class)
}

// works reports whether a job has a task to start on slots of a class that can work.
func (w *world) works(id sojourn.JobID, class sojourn.Class) bool {
	return slices.ContainsFunc(w.o.job(id).phases, func(ph *nPhase) bool {
		return ph.class == class && ph.hasInput() && w.o.startable(ph)
	})
}

func active[T any](list []T, is func(T) bool) (n int) {
	for _, x := range list {
		if is(x) {
			n++
		}
	}
	return n
}

// However many tiny jobs come, at a rate that alone would fill the cluster, a large
// job is served: once it is late, first come first served or with its share. It is of
// 20 s, and they are of 1 s, of which each takes its share when it has ended. The bound of
// the package comment is 20 + 2*20*20 = 820 s; it is late at 391 s.
// Reference: invariant 6.
func TestFloodOfTinyJobs(t *testing.T) {
	for _, late := range []vqueue.Late{vqueue.LateShare, vqueue.LateFirst} {
		p, err := New(Options{Late: late, TrainingSlots: ptr(0), DefaultTaskTime: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		must := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		must(sojourn.Event{Kind: sojourn.SlotAdded})
		const large = 1
		must(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: large, Phases: []sojourn.Phase{{Tasks: 20}}}})
		ended := false
		for i := range 450 {
			now := sojourn.Time(i) * sojourn.Time(time.Second)
			must(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: &sojourn.Job{ID: sojourn.JobID(i + 2), Phases: []sojourn.Phase{{Tasks: 1}}}})
			a, ok := p.Assign(0)
			if !ok {
				t.Fatal("a slot idles")
			}
			must(sojourn.Event{Kind: sojourn.TaskFinished, At: now + sojourn.Time(time.Second), Task: a.Task, Attempt: a.Attempt})
			ended = p.ledger.Job(large) == nil
			if ended {
				break
			}
		}
		if !ended {
			t.Errorf("%v: 450 tiny jobs, and the large one still waits", late)
		}
	}
}

// Nobody starves, however much work comes, for ever, and whether it is tiny, in training
// or large. From when a phase is late for good, at D, no phase that was not late before
// goes before it but for training: with W the work of all jobs that arrived up to D, N
// slots and T of these for training at most,
//
//	vqueue.LateFirst  its last task is started by D + W/(N-T),
//	vqueue.LateShare  with T = 0, it ends by D + W + p, p its longest task: from when the
//	           first slot is free on, one slot is given to it or to those before it.
//
// And it is late first, at r + d, by the time that its size S takes at the rate of one of
// all phases that arrived so far, S J/N, J being how many these are. (It may be trained only
// then, and turn out to be larger.) Nor is d more than (B + 2 S (B + u)/y)/N: the charges of
// tiny phases are work that was done, so that they never overload the virtual cluster. B is
// the work that is left there when it comes, with what those that are not tiny bring until
// it is late, u what live tiny phases have taken then, and y the least that one takes.
// Reference: package comment, guarantees; HFSP, section II-B and III-B; invariant 6.
func TestNobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if text := starving(t, drawFlood(t)); text != "" {
			t.Fatal(text)
		}
	})
}

// The test above can fail: training slots that are as many as the slots of the cluster
// let a flood of jobs in training starve the others, and a phase that is not late yet has
// no such promise.
func TestStarvationIsNoticed(t *testing.T) {
	for name, spoil := range map[string]func(*flood){
		"T = N":       func(f *flood) { f.opts.TrainingSlots = ptr(f.slots) },
		"not late":    func(f *flood) { f.lateAtOnce = true },
		"aging by 10": func(f *flood) { f.slowAging = true },
		"no charges":  func(f *flood) { f.freeTiny = true },
		"no u":        func(f *flood) { f.forgetful = true },
	} {
		gen := rapid.Custom(func(t *rapid.T) string {
			f := drawFlood(t)
			spoil(&f)
			return starving(t, f)
		})
		starved := false
		for seed := 0; seed < 3000 && !starved; seed++ {
			starved = gen.Example(seed) != ""
		}
		if !starved {
			t.Errorf("%s: nobody starves in 3,000 floods", name)
		}
	}
}

// New jobs come for ever, with tasks that take longer than Delta. A training task holds its
// slot of T until it ends, so that a late job gets the others. If it gave the slot back
// when it has run for Delta, as in the paper, every slot would go to new jobs.
// Reference: docs/theory/hfsp.md, departures.
func TestTrainingThatOutlastsDelta(t *testing.T) {
	for _, delta := range []time.Duration{time.Minute, time.Hour} {
		p, err := New(Options{TrainingTasks: 1, TrainingSlots: ptr(1), DefaultTaskTime: time.Second, Delta: delta, Late: vqueue.LateFirst})
		if err != nil {
			t.Fatal(err)
		}
		var running []sojourn.Assignment
		ended := false
		for i := range 200 { // two slots, one of which becomes free each half hour
			half := sojourn.Time(i) * sojourn.Time(30*time.Minute)
			must := func(ev sojourn.Event) {
				ev.At = half
				if err := p.Observe(ev); err != nil {
					t.Fatalf("Observe(%v) = %v", ev, err)
				}
			}
			slot := sojourn.SlotID(i % 2)
			if i < 2 {
				must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
			} else {
				a := running[i-2]
				ev := sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}}
				if i == 2 {
					ev.Service = time.Second // so that job 1 is late soon
				}
				must(ev)
			}
			n := 1
			if i == 0 {
				n = 20
			}
			must(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: n}}}})
			a, ok := p.Assign(slot)
			if !ok {
				t.Fatal("a slot idles")
			}
			running = append(running, a)
			ended = ended || p.ledger.Job(1) == nil
		}
		if !ended {
			t.Errorf("delta %v: job 1 waits after 100 hours", delta)
		}
	}
}

// A flood is a stream of jobs of one phase each at a rate above what the slots can do.
type flood struct {
	slots int
	opts  Options
	tasks []int // of each job
	times []int // of its tasks, in ms
	gaps  []int // before it comes, in ms

	lateAtOnce bool // take jobs for late from their arrival on
	slowAging  bool // take jobs for ten times as small as they are
	freeTiny   bool // take tiny jobs for free
	forgetful  bool // forget what they have taken when another job comes
}

func drawFlood(t *rapid.T) flood {
	f := flood{slots: rapid.IntRange(1, 5).Draw(t, "slots")}
	f.opts = Options{TrainingTasks: rapid.IntRange(2, 4).Draw(t, "t"), DefaultTaskTime: time.Second, TrainingSlots: ptr(0)}
	f.opts.Delta = rapid.SampledFrom([]time.Duration{100 * time.Millisecond, time.Second, time.Minute}).Draw(t, "Delta")
	if rapid.Bool().Draw(t, "first") {
		f.opts.Late = vqueue.LateFirst
		f.opts.TrainingSlots = ptr(rapid.IntRange(0, f.slots-1).Draw(t, "T"))
	}
	kind := rapid.SampledFrom([]int{1, 6, 30}).Draw(t, "tasks at most") // tiny, mixed, large
	for range rapid.IntRange(20, 60).Draw(t, "jobs") {
		f.tasks = append(f.tasks, rapid.IntRange(1, kind).Draw(t, "tasks"))
		f.times = append(f.times, rapid.SampledFrom([]int{100, 1000, 1000, 5000}).Draw(t, "time"))
		work := f.tasks[len(f.tasks)-1] * f.times[len(f.times)-1]
		f.gaps = append(f.gaps, work/f.slots*rapid.IntRange(0, 100).Draw(t, "load")/100) // all of it at 100
	}
	f.tasks[0] = rapid.IntRange(5, 30).Draw(t, "tasks of the first")
	return f
}

// starving runs a flood until all jobs have ended, and returns what is wrong with that.
func starving(t fataler, f flood) string {
	p, err := New(f.opts)
	if err != nil {
		t.Fatalf("New = %v", err)
	}
	now := sojourn.Time(0)
	must := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v", ev, err)
		}
	}
	type record struct {
		ph        *phase
		fluid     fluid
		came      sojourn.Time
		first     sojourn.Time // when it was late first
		jobs      int          // that had come up to then; 0 before
		late      sojourn.Time // for good
		isLate    bool
		work      sojourn.Time // that had come up to then
		size      uint64
		lastStart sojourn.Time
		end       sojourn.Time
	}
	type attempt struct {
		a   sojourn.Assignment
		end sojourn.Time
	}
	for id := range f.slots {
		must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
	}
	all := make([]*record, len(f.tasks))
	var running []attempt
	left := func(tiny bool) (sum float64) { // in the virtual cluster, of phases that are tiny or not
		for _, r := range all {
			if r != nil && (r.ph.stage == stageTiny) == tiny {
				sum += seconds(r.ph.remaining())
			}
		}
		return sum
	}
	brought := 0.0 // by phases that are not tiny
	tell := func(ev sojourn.Event) {
		must(sojourn.Event{Kind: sojourn.Tick})
		before := left(false)
		must(ev)
		brought += max(left(false)-before, 0)
	}
	taken := func() (sum float64) { // by live tiny phases
		for _, r := range all {
			if r != nil && r.ph.stage == stageTiny && r.end == 0 {
				sum += seconds(r.ph.served.Lo)
			}
		}
		for _, a := range running {
			if r := all[a.a.Task.Job-1]; r.ph.stage == stageTiny {
				sum += seconds(uint64(now - a.end + ms*sojourn.Time(f.times[a.a.Task.Job-1])))
			}
		}
		return sum
	}
	wrong := ""
	work, next, arrival := sojourn.Time(0), 0, sojourn.Time(0)
	look := func() { // who is late
		for i, r := range all[:next] {
			if r.end > 0 || p.ledger.Job(sojourn.JobID(i+1)) == nil {
				continue
			}
			r.size = max(r.size, r.ph.size)
			if r.jobs == 0 && wrong == "" {
				wrong = r.fluid.wrong(now, f, brought, left(true)+left(false))
			}
			late := r.ph.item.Late() || f.lateAtOnce
			if late && !r.isLate {
				r.late, r.work = now, work
			}
			if late && r.jobs == 0 {
				r.first, r.jobs = now, next
			}
			r.isLate = late
		}
	}
	for next < len(all) || len(running) > 0 {
		now = sojourn.Time(1 << 62)
		if next < len(all) {
			now = arrival
		}
		for _, a := range running {
			now = min(now, a.end)
		}
		must(sojourn.Event{Kind: sojourn.Tick})
		look() // a phase that has become late since the last event may turn out larger in this one
		for i := 0; i < len(running); {
			a := running[i]
			if a.end != now {
				i++
				continue
			}
			running = slices.Delete(running, i, i+1)
			r := all[a.a.Task.Job-1]
			tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.a.Task, Attempt: a.a.Attempt, Slot: sojourn.Slot{ID: a.a.Slot}})
			if p.ledger.Job(a.a.Task.Job) == nil {
				r.end = now
			}
		}
		for next < len(all) && arrival == now {
			id := sojourn.JobID(next + 1)
			must(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: f.tasks[next]}}}})
			r := &record{ph: p.ledger.Job(id).Data.phases[0], came: now}
			if all[next] = r; r.ph.stage != stageTiny {
				brought += seconds(r.ph.size)
			}
			r.fluid = fluid{r.ph, now, left(true) + left(false), brought, taken()}
			work += ms * sojourn.Time(f.tasks[next]*f.times[next])
			if next++; next < len(all) {
				arrival += ms * sojourn.Time(f.gaps[next])
			}
		}
		must(sojourn.Event{Kind: sojourn.Tick})
		look()
		for id, ok := p.Seek(0); ok; id, ok = p.Seek(0) {
			a, ok := p.Assign(id)
			if !ok {
				t.Fatalf("Seek names slot %d, and Assign declines it", id)
			}
			all[a.Task.Job-1].lastStart = now
			running = append(running, attempt{a, now + ms*sojourn.Time(f.times[a.Task.Job-1])})
		}
	}
	if wrong != "" {
		return wrong
	}
	for i, r := range all {
		p := ms * sojourn.Time(f.times[i])
		size := sojourn.Time(r.size)
		if f.slowAging {
			size /= 10
		}
		switch n, T := sojourn.Time(f.slots), sojourn.Time(*f.opts.TrainingSlots); {
		case r.jobs > 0 && r.first > r.came+size*sojourn.Time(r.jobs)/n+looks(f):
			return fmt.Sprintf("job %d of size %v came at %v and is late only at %v; %+v", i+1, size, r.came, r.first, f)
		case !r.isLate:
		case f.opts.Late == vqueue.LateFirst && r.lastStart > r.late+r.work/max(n-T, 1):
			return fmt.Sprintf("job %d is late at %v, when work of %v has come, and starts its last task at %v; %+v", i+1, r.late, r.work, r.lastStart, f)
		case f.opts.Late == vqueue.LateShare && r.end > r.late+r.work+p:
			return fmt.Sprintf("job %d is late at %v, when work of %v has come, and ends at %v; %+v", i+1, r.late, r.work, r.end, f)
		}
	}
	return ""
}

// A fluid is what is known when a phase comes of how long it will take to be late, in
// slot-seconds.
type fluid struct {
	ph       *phase
	came     sojourn.Time
	left     float64 // in the virtual cluster, of all phases
	brought  float64 // by phases that are not tiny, up to then
	tinyOnes float64 // what live tiny phases have taken
}

// wrong returns what is wrong with a phase that was not late at the latest event before now.
func (l fluid) wrong(now sojourn.Time, f flood, brought, left float64) string {
	least := math.Inf(1)
	for i, n := range f.tasks {
		if n < f.opts.TrainingTasks {
			least = min(least, float64(n*f.times[i])/1000)
		}
	}
	if f.forgetful {
		l.tinyOnes = 0
	}
	most := l.left + brought - l.brought
	const rounding = 1e-6
	if !l.ph.item.Late() && left > most+l.tinyOnes+rounding {
		return fmt.Sprintf("%v s of work are left in the virtual cluster at %v, want at most %v and %v; %+v", left, now, most, l.tinyOnes, f)
	}
	if !f.freeTiny {
		most += 2 * seconds(l.ph.size) * (most + l.tinyOnes) / least
	}
	if d := seconds(uint64(max(now-looks(f)-l.came, 0))); d*float64(f.slots) > most+rounding {
		return fmt.Sprintf("a phase came at %v and is not late at %v, want after %v slot-seconds; %+v", l.came, now, most, f)
	}
	return ""
}

// looks returns how much later than it happens a phase may be seen to be late: at the
// next event.
func looks(f flood) sojourn.Time { return ms * sojourn.Time(slices.Max(f.times)) }
