package hfsp

import (
	"math/big"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A naive is HFSP, written down once more: rational
// numbers, lists, and no account but its own. It takes the time it takes.
type naive struct {
	t, T, early int // early slots
	delta       time.Duration
	earlyDelay  time.Duration
	late        vqueue.Late
	mutant      string // what is wrong with it, on purpose

	kept *big.Rat                // the share that is reserved; nil if none is
	free func(sojourn.Class) int // slots that could run something now
	live func() int              // jobs

	now    sojourn.Time
	slots  map[sojourn.SlotID]sojourn.Class
	jobs   []*nJob
	phases []*nPhase // that entered, by arrival; finished ones stay while v > 0
	ends   int
	done   [2]struct{ service, tasks int64 } // of completed jobs, by class
	serial int

	trainers map[sojourn.SlotID]sojourn.Class // where attempts run that training went first for
}

type nJob struct {
	spec      *sojourn.Job
	phases    []*nPhase
	cancelled bool
	service   []int64
	finished  []int64
}

type nPhase struct {
	job     *nJob
	i       int
	class   sojourn.Class
	state   []int // by task: 0 pending, 1 running, 2 done
	weight  *big.Rat
	entered bool
	at      sojourn.Time
	serial  int

	v, size  *big.Rat
	given    *big.Rat // in the virtual cluster
	initial  int64
	final    int64
	end      int // order of virtual completion; 0 before
	endAt    *big.Rat
	training bool
	samples  []*nSample
	failures int
	overdue  bool
	starts   int // by training priority
	lost     int // training tasks
	sfs      int // how often S_f was set
	began    map[int]sojourn.Time
	served   int64 // by attempts that have ended, and were not taken from it
	gone     bool
}

type nSample struct {
	task              int
	live, prior       bool
	slot              sojourn.SlotID
	working           bool
	since             sojourn.Time
	service, progress int64
	ripe, known       bool
}

func (o *naive) capacity(c sojourn.Class) (n int) {
	for _, class := range o.slots {
		if class == c {
			n++
		}
	}
	return n
}

func (ph *nPhase) count(state int) (n int) {
	for _, s := range ph.state {
		if s == state {
			n++
		}
	}
	return n
}

func (ph *nPhase) finished() bool { return ph.job.cancelled || ph.count(2) == len(ph.state) }

func (ph *nPhase) ready() bool {
	if ph.job.spec.Phases[ph.i].Needs != nil {
		return ph.hasInput()
	}
	return ph.i == 0 || ph.job.phases[ph.i-1].count(2) >= ph.job.spec.Threshold(ph.i)
}

func (ph *nPhase) hasInput() bool {
	if needs := ph.job.spec.Phases[ph.i].Needs; needs != nil {
		return !slices.ContainsFunc(needs, func(k int) bool { return ph.job.phases[k].count(2) < len(ph.job.phases[k].state) })
	}
	return ph.i == 0 || ph.job.spec.Phases[ph.i].After == sojourn.NoBarrier ||
		ph.job.phases[ph.i-1].count(2) == len(ph.job.phases[ph.i-1].state)
}

func (o *naive) startable(ph *nPhase) bool {
	if !ph.entered || ph.finished() || !ph.ready() || ph.count(0) == 0 {
		return false
	}
	if ph.hasInput() {
		return true
	}
	return o.earlyHeld(ph.class) < o.earlyLimit(ph.class)
}

// earlyHeld returns how many slots are held by tasks that wait for the phase before.
func (o *naive) earlyHeld(class sojourn.Class) (held int) {
	for _, ph := range o.phases {
		if ph.class == class && !ph.finished() && !ph.hasInput() {
			held += ph.count(1)
		}
	}
	return held
}

// earlyLimit is one slot less than all if a phase waits that comes after one of the same
// class or a higher one.
func (o *naive) earlyLimit(class sojourn.Class) int {
	for _, ph := range o.phases {
		for k := range ph.i {
			if ph.class == class && !ph.finished() && !ph.hasInput() && ph.job.phases[k].class >= class {
				return min(o.early, max(o.capacity(class)-1, 0))
			}
		}
	}
	return o.early
}

func (o *naive) used(c sojourn.Class) (n int) {
	for _, class := range o.trainers {
		if class == c {
			n++
		}
	}
	return n
}

func (o *naive) wantsTraining(ph *nPhase) bool {
	return ph.training && ph.hasInput() && len(ph.samples) < o.t && (ph.failures < o.t || ph.failures < 2) && o.startable(ph)
}

// small reports whether the phase that a job starts next in a class has fewer than 8 times as many tasks as the class has slots.
func (o *naive) small(ph *nPhase) bool {
	for _, next := range ph.job.phases {
		if next.class == ph.class && next.ready() && next.count(0) > 0 {
			return len(next.state) < 8*o.capacity(ph.class)
		}
	}
	return true
}

// lets reports whether the reserve lets a phase start a task: with k slots reserved, one that
// runs nothing needs a free slot, and any other k + 1.
func (o *naive) lets(ph *nPhase) bool {
	if o.kept == nil || o.live() == 1 && o.small(ph) || ph.count(1) == 0 || o.mutant == "all may start" {
		return true
	}
	return o.free(ph.class) > gpstest.Kept(o.kept, o.capacity(ph.class))
}

// first returns what a slot of class c is given to.
func (o *naive) first(c sojourn.Class) (best *nPhase, prior bool) {
	if o.used(c) < o.T || o.mutant == "T+1" && o.used(c) <= o.T {
		for _, ph := range o.phases {
			if ph.class != c || !o.wantsTraining(ph) {
				continue
			}
			if best == nil || ph.initial < best.initial || ph.initial == best.initial &&
				(ph.job.spec.ID < best.job.spec.ID || ph.job == best.job && ph.i < best.i) { // IDs ascend
				best = ph
			}
		}
		if best != nil && (o.lets(best) || o.mutant == "training may start") {
			return best, true
		}
	}
	best = nil
	for _, ph := range o.phases {
		if ph.class == c && o.startable(ph) && o.lets(ph) && (best == nil || o.before(ph, best)) {
			best = ph
		}
	}
	if best != nil {
		return best, false
	}
	for _, ph := range o.phases { // who waits for the reserve is not to be left without a slot
		if ph.class == c && o.startable(ph) && o.earlyHeld(c)+1 >= o.capacity(c) {
			return nil, false
		}
	}
	for _, ph := range o.phases { // nothing else can use the slot
		if ph.class == c && ph.overdue && !ph.finished() && !ph.hasInput() && ph.ready() && ph.count(0) > 0 &&
			(best == nil || ph.job.spec.ID < best.job.spec.ID || ph.job == best.job && ph.i < best.i) {
			best = ph
		}
	}
	if best != nil && !o.lets(best) {
		return nil, false
	}
	return best, false
}

// before reports whether a is served before b.
func (o *naive) before(a, b *nPhase) bool {
	if (a.end > 0) != (b.end > 0) {
		return a.end > 0
	}
	if a.end == 0 {
		if c := ratio(a).Cmp(ratio(b)); c != 0 {
			return c < 0
		}
		return a.serial < b.serial
	}
	if o.late == vqueue.LateShare {
		x, y := big.NewRat(int64(a.count(1)), 1), big.NewRat(int64(b.count(1)), 1)
		if c := x.Quo(x, a.weight).Cmp(y.Quo(y, b.weight)); c != 0 {
			return c < 0
		}
	}
	return a.end < b.end
}

func ratio(ph *nPhase) *big.Rat { return new(big.Rat).Quo(ph.v, ph.weight) }

// near reports whether rounding may serve a before b.
func (o *naive) near(a, b *nPhase) bool {
	slack := big.NewRat(1000, 1)
	for _, ph := range []*nPhase{a, b} { // late since just now, and here perhaps not yet
		if ph.end > 0 && ph.size.Sign()+int(ph.initial) > 0 && new(big.Rat).Sub(big.NewRat(int64(o.now), 1), ph.endAt).Cmp(slack) <= 0 {
			return true
		}
	}
	d := new(big.Rat).Sub(ratio(a), ratio(b))
	if d.Abs(d).Cmp(slack) > 0 {
		return false
	}
	if a.end > 0 && b.end > 0 && (o.late == vqueue.LateFirst || a.count(1) == b.count(1)) {
		e := new(big.Rat).Sub(a.endAt, b.endAt)
		return e.Abs(e).Cmp(slack) <= 0 && (e.Sign() != 0 || a.size.Sign() > 0 || b.size.Sign() > 0)
	}
	return a.end == 0 || b.end == 0
}

// pass lets time go on, event by event: virtual completions, and what time does to
// training and to phases that are held back.
func (o *naive) pass(at sojourn.Time) {
	for {
		next := at
		for _, ph := range o.phases {
			for _, s := range ph.samples {
				if ph.training && s.live && s.working && !s.ripe && !s.known {
					next = min(next, max(o.now, s.since+sojourn.Time(o.delta)))
				}
			}
			if !ph.finished() && !ph.hasInput() && !ph.overdue {
				next = min(next, max(o.now, ph.at+sojourn.Time(o.earlyDelay)))
			}
		}
		o.age(next)
		o.now = next
		o.ripen()
		if next == at {
			return
		}
	}
}

// age serves the virtual clusters by processor sharing until an instant.
func (o *naive) age(at sojourn.Time) {
	for c := range sojourn.Class(2) {
		clock, end := big.NewRat(int64(o.now), 1), big.NewRat(int64(at), 1)
		for clock.Cmp(end) < 0 {
			total := new(big.Rat)
			for _, ph := range o.phases {
				if ph.class == c && ph.v.Sign() > 0 && !(o.mutant == "drop finished" && ph.finished()) {
					total.Add(total, ph.weight)
				}
			}
			capacity := big.NewRat(int64(o.capacity(c)), 1)
			if o.mutant == "half speed" {
				capacity.Quo(capacity, big.NewRat(2, 1))
			}
			if total.Sign() == 0 || capacity.Sign() == 0 {
				break
			}
			rate := new(big.Rat).Quo(capacity, total)
			gain := new(big.Rat).Mul(new(big.Rat).Sub(end, clock), rate)
			for _, ph := range o.phases {
				if ph.class == c && ph.v.Sign() > 0 && ratio(ph).Cmp(gain) < 0 {
					gain = ratio(ph)
				}
			}
			clock.Add(clock, new(big.Rat).Quo(gain, rate))
			for _, ph := range o.phases {
				if ph.class == c && ph.v.Sign() > 0 && !(o.mutant == "drop finished" && ph.finished()) {
					share := new(big.Rat).Mul(gain, ph.weight)
					ph.v, ph.given = new(big.Rat).Sub(ph.v, share), new(big.Rat).Add(ph.given, share)
					o.settle(ph, clock)
				}
			}
		}
	}
}

func (o *naive) settle(ph *nPhase, at *big.Rat) {
	if ph.v.Sign() == 0 && ph.end == 0 {
		o.ends++
		ph.end, ph.endAt = o.ends, new(big.Rat).Set(at)
	}
}

// ripen does what the present instant does to training.
func (o *naive) ripen() {
	for _, ph := range o.phases {
		if !ph.finished() && !ph.hasInput() && o.now >= ph.at+sojourn.Time(o.earlyDelay) {
			ph.overdue = true
		}
		if !ph.training {
			continue
		}
		for _, s := range ph.samples {
			if s.live && s.working && !s.known && o.now >= s.since+sojourn.Time(o.delta) {
				s.ripe = true
				if o.mutant == "back at Delta" && s.prior {
					delete(o.trainers, s.slot)
				}
			}
			if s.live && s.ripe && s.progress > 0 && s.service > 0 {
				s.known = true
			}
		}
		o.conclude(ph)
	}
}

func (o *naive) conclude(ph *nPhase) {
	if !ph.training || len(ph.samples) == 0 || len(ph.samples) < o.t && ph.count(0) > 0 {
		return
	}
	sum, left := int64(0), big.NewRat(int64(len(ph.state)-len(ph.samples)), 1)
	for _, s := range ph.samples {
		if !s.known {
			return
		}
		sum += s.service * 10000 / s.progress
		left.Add(left, big.NewRat(10000-s.progress, 10000))
	}
	mean := sum / int64(len(ph.samples))
	ph.training = false
	ph.samples = nil
	ph.sfs++
	final := left.Mul(left, big.NewRat(mean, 1))
	ph.final = new(big.Int).Quo(final.Num(), final.Denom()).Int64()
	size := big.NewRat(mean*int64(len(ph.state)), 1)
	v := new(big.Rat).Add(ph.v, size)
	if v.Sub(v, ph.size); v.Sign() < 0 {
		v.SetInt64(0)
	}
	ph.size, ph.v = size, v
	if v.Sign() > 0 {
		ph.end, ph.endAt = 0, nil
	}
	o.settle(ph, big.NewRat(int64(o.now), 1))
}

// refresh lets phases of a job enter that have become ready, from the i-th on.
func (o *naive) refresh(j *nJob, from int) {
	for i := from; i < len(j.phases); i++ {
		ph := j.phases[i]
		if ph.finished() {
			ph.samples, ph.training = nil, false
			o.charge(ph)
			continue
		}
		if !ph.entered && ph.ready() {
			o.serial++
			ph.entered, ph.serial, ph.at = true, o.serial, o.now
			n := int64(len(ph.state))
			if ph.initial = 0; int(n) >= o.t {
				ph.training = true
				if d := o.done[ph.class]; d.tasks > 0 {
					ph.initial = new(big.Int).Quo(new(big.Int).Mul(big.NewInt(n), big.NewInt(d.service)), big.NewInt(d.tasks)).Int64()
				} else {
					ph.initial = n * int64(time.Minute)
				}
			}
			ph.v, ph.size = big.NewRat(ph.initial, 1), big.NewRat(ph.initial, 1)
			o.phases = append(o.phases, ph)
			o.settle(ph, big.NewRat(int64(o.now), 1))
		}
		if ph.entered && ph.hasInput() {
			for _, s := range ph.samples {
				if s.live && !s.working && !s.known {
					s.working, s.since = true, o.now
				}
			}
		}
		o.conclude(ph)
	}
}

// charge lets a phase that has just gone be given what it took and was not given yet.
func (o *naive) charge(ph *nPhase) {
	if !ph.entered || ph.gone || o.mutant == "phantom" || o.mutant == "late ones are free" && ph.end > 0 {
		return
	}
	ph.gone = true
	cost := ph.served
	for task, at := range ph.began {
		if ph.state[task] == 1 {
			cost += int64(o.now - at)
		}
	}
	if ph.v = new(big.Rat).Sub(big.NewRat(cost, 1), ph.given); ph.v.Sign() <= 0 {
		ph.v.SetInt64(0)
		o.settle(ph, big.NewRat(int64(o.now), 1))
		return
	}
	ph.end, ph.endAt = 0, nil
}

func (o *naive) arrive(spec *sojourn.Job) {
	j := &nJob{spec: spec, service: make([]int64, len(spec.Phases)), finished: make([]int64, len(spec.Phases))}
	for i := range spec.Phases {
		j.phases = append(j.phases, &nPhase{job: j, i: i, class: spec.Phases[i].Class, state: make([]int, spec.Phases[i].Tasks),
			weight: new(big.Rat).SetFrac64(int64(spec.WeightUnits()), 1<<16), v: new(big.Rat), given: new(big.Rat), began: map[int]sojourn.Time{}})
	}
	o.jobs = append(o.jobs, j)
	o.refresh(j, 0)
}

func (o *naive) job(id sojourn.JobID) *nJob {
	for _, j := range o.jobs {
		if j.spec.ID == id {
			return j
		}
	}
	return nil
}

// assigned records an assignment.
func (o *naive) assigned(a sojourn.Assignment, prior bool) {
	ph := o.job(a.Task.Job).phases[a.Task.Phase]
	ph.state[a.Task.Index], ph.began[int(a.Task.Index)] = 1, o.now
	if ph.training && len(ph.samples) < o.t {
		s := &nSample{task: int(a.Task.Index), live: true, prior: prior, slot: a.Slot}
		if ph.hasInput() {
			s.working, s.since = true, o.now
		}
		ph.samples = append(ph.samples, s)
		if prior {
			o.trainers[a.Slot] = ph.class
			ph.starts++
		}
	}
}

// end records the end of an attempt: it finished after a service, or it failed.
func (o *naive) end(ev sojourn.Event, start sojourn.Time) {
	delete(o.trainers, ev.Slot.ID)
	j := o.job(ev.Task.Job)
	ph, task := j.phases[ev.Task.Phase], int(ev.Task.Index)
	var sample *nSample
	for _, s := range ph.samples {
		if s.live && s.task == task {
			sample = s
		}
	}
	service := int64(ev.Service)
	if service == 0 {
		if sample != nil && sample.working {
			start = sample.since
		}
		service = int64(o.now - start)
	}
	if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed && (ev.Cause == sojourn.CauseTask || o.mutant == "the killed pay") {
		ph.served += service
	}
	if ev.Kind != sojourn.TaskFinished {
		ph.state[task] = 0
		if sample != nil {
			if sample.prior && ev.Kind == sojourn.TaskFailed && ev.Cause == sojourn.CauseTask {
				ph.failures++
			}
			ph.lost++
			var rest []*nSample
			for _, s := range ph.samples {
				if s != sample {
					rest = append(rest, s)
				}
			}
			ph.samples = rest
		}
		o.refresh(j, ph.i)
		return
	}
	ph.state[task] = 2
	j.service[ph.i] += service
	j.finished[ph.i]++
	if sample != nil {
		*sample = nSample{task: task, service: service, progress: 10000, known: true}
	}
	o.refresh(j, ph.i)
	for _, ph := range j.phases {
		if ph.count(2) < len(ph.state) {
			return
		}
	}
	if !j.cancelled {
		for i, ph := range j.phases {
			o.done[ph.class].service += j.service[i]
			o.done[ph.class].tasks += j.finished[i]
		}
	}
	o.forget(j)
}

func (o *naive) forget(j *nJob) {
	var rest []*nJob
	for _, other := range o.jobs {
		if other != j {
			rest = append(rest, other)
		}
	}
	o.jobs = rest
	j.spec = &sojourn.Job{} // its phases may go on ageing
}

// progressed records a report.
func (o *naive) progressed(ev sojourn.Event) {
	ph := o.job(ev.Task.Job).phases[ev.Task.Phase]
	for _, s := range ph.samples {
		if !s.live || s.known || s.task != int(ev.Task.Index) {
			continue
		}
		service := int64(ev.Service)
		if service == 0 && s.working {
			service = int64(o.now - s.since)
		}
		if service < s.service {
			break
		}
		s.service, s.progress = service, int64(ev.Progress)
		if ev.Service > 0 {
			s.working, s.since = true, o.now-sojourn.Time(service)
		}
	}
	o.ripen()
}

func (o *naive) cancel(id sojourn.JobID) {
	j := o.job(id)
	j.cancelled = true
	o.refresh(j, 0)
}
