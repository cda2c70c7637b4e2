package leastwork_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
	"pgregory.net/rapid"
)

// An oracle applies the rule of the package comment, in floating point and with lists. It
// shares no code with the policy. If two keys, or a key and a bound, are closer than
// rounding can tell, either answer is right.
type oracle struct {
	now      time.Duration
	slots    []*oracleSlot
	jobs     []*oracleJob                // live, in the order of arrival
	lengths  map[sojourn.Class][]float64 // half octaves of the longest tasks of the phases with told times
	stats    map[sojourn.Class]*oracleStats
	patience float64
	gangs    bool // no slots are reserved, and patience is 6 at most unless lengths are told and exact
	tie      bool // rounding hides which job is first: the history ends here
}

type oracleSlot struct {
	id    sojourn.SlotID
	class sojourn.Class
	job   *oracleJob // nil: free
	a     sojourn.Assignment
	start time.Duration
	over  bool // it was taken while the first job was due and might not start
}

type oracleJob struct {
	spec   *sojourn.Job
	phases []*oraclePhase
	level  map[sojourn.Class]float64 // before it is rounded down
	came   time.Duration
	lost   map[sojourn.Class]float64         // slot time of attempts that failed or were refused
	failed map[sojourn.Class][]time.Duration // what an attempt took that failed and is not charged yet
	denied bool                              // an attempt was refused, and none has finished since
	ratios []float64                         // of phases of which a task has finished: how much longer it took than told, in octaves
	by     map[sojourn.Class]float64         // as predicted for the other phases, when it was filed
}

type oraclePhase struct {
	spec          *sojourn.Phase
	pending, done map[int]bool
	samples       int
	took, sampled float64
	typical       bool // at the end of a task, as many have finished as ran on
	since         time.Duration
	work          float64 // when it was filed
	fresh         bool    // work comes from told times alone
}

type oracleStats struct {
	times, ratios               []float64 // votes, in octaves
	seen                        []float64 // the times of the same, in nanoseconds
	usual, bias                 float64
	usualAt                     int     // how many votes were in when usual changed
	told, ratio, name, class    float64 // the error of the guess
	useTold, useRatio, useNames bool
	useRank                     bool
	doubt                       int
	names                       map[string]*oracleName

	tie bool // rounding hides which of two numbers is less: the history ends here
}

// less compares two numbers of octaves.
func (b *oracleStats) less(x, y float64) bool {
	b.tie = b.tie || x != y && math.Abs(x-y) < 0.002 || x == y && x != 0
	return x < y
}

type oracleName struct{ times, ratios []float64 }

func newOracle() *oracle {
	return &oracle{
		lengths: map[sojourn.Class][]float64{}, stats: map[sojourn.Class]*oracleStats{},
	}
}

func (o *oracle) statsOf(c sojourn.Class) *oracleStats {
	if o.stats[c] == nil {
		o.stats[c] = &oracleStats{usual: math.Log2(60e9), name: 1.25, class: 1.25, useTold: true, useRank: true, useNames: true, names: map[string]*oracleName{}}
	}
	return o.stats[c]
}

func mean(list []float64) (sum float64) {
	for _, x := range list {
		sum += x / float64(len(list))
	}
	return sum
}

// fading returns the mean of votes. Each vote weighs 0.8 of the vote after it.
func fading(list []float64) float64 {
	sum, weight := 0.0, 0.0
	for _, x := range list {
		sum, weight = 0.8*sum+x, 0.8*weight+1
	}
	return sum / weight
}

// vote counts a vote and returns whether the jobs of the class are filed anew. Where other phases correct the told time, names are off
// as far as told times are.
func (b *oracleStats) vote(took, told float64, name string, corrected bool) bool {
	before := *b
	y := math.Log2(max(took, 1))
	b.seen = append(b.seen, max(took, 1))
	usual := b.usual
	if len(b.times) > 0 {
		usual = mean(b.times)
	}
	n := b.names[name]
	offClass := math.Abs(y - usual)
	offName := offClass
	if n != nil {
		offName = math.Abs(y - fading(n.times))
	}
	b.times = append(b.times, y)
	miss := func(x *float64, off float64) { *x += (off - *x) / math.Min(float64(len(b.times)+16), 128) }
	miss(&b.class, offClass)
	miss(&b.name, offName)
	if told > 0 {
		x := y - math.Log2(told)
		if len(b.ratios) == 0 {
			b.bias = x
		}
		offTold := math.Abs(x - b.bias)
		offRatio := offTold
		if n != nil && len(n.ratios) > 0 && !corrected {
			offRatio = math.Abs(x - fading(n.ratios))
		}
		b.ratios = append(b.ratios, x)
		miss(&b.told, offTold)
		miss(&b.ratio, offRatio)
		b.bias += (x - b.bias) / math.Min(float64(len(b.ratios)), 128)
	}
	if name != "" {
		if n == nil {
			n = &oracleName{}
			b.names[name] = n
		}
		n.times = append(n.times, y)
		if told > 0 {
			n.ratios = append(n.ratios, y-math.Log2(told))
		}
	}
	if m := mean(b.times); len(b.times) == 1 || len(b.times) >= 4*b.usualAt && b.less(0.75, math.Abs(m-b.usual)) {
		b.usual, b.usualAt = math.Floor(m+0.5), len(b.times)
		b.less(m+0.5, math.Ceil(m+0.5))
		b.less(m+0.5, b.usual)
	}
	choose := func(first *bool, off, other float64) {
		switch {
		case *first && b.less(other*9/8, off):
			*first = false
		case !*first && b.less(off*9/8, other):
			*first = true
		}
	}
	own := min(b.name, b.class)
	switch {
	case b.useTold && b.less(b.ratio, own), !b.useTold && b.less(b.ratio*9/8, own):
		b.useTold = true
	default:
		choose(&b.useTold, b.told, own)
	}
	choose(&b.useRank, b.told, min(own, b.ratio*4/3))
	choose(&b.useRatio, b.ratio, b.told)
	choose(&b.useNames, b.name, b.class)
	for b.doubt < 2 && b.less([]float64{0.5, 1.6}[b.doubt], b.told) {
		b.doubt++
	}
	for b.doubt > 0 && b.less(b.told, 0.75*[]float64{0.5, 1.6}[b.doubt-1]) {
		b.doubt--
	}
	return b.usual != before.usual || b.useTold != before.useTold || b.useRatio != before.useRatio || b.useNames != before.useNames || b.doubt != before.doubt
}

func (ph *oraclePhase) told() bool {
	for i := range ph.spec.Tasks {
		if ph.spec.EstimateOf(i) == 0 {
			return false
		}
	}
	return true
}

func (ph *oraclePhase) running() int { return ph.spec.Tasks - len(ph.pending) - len(ph.done) }

// trusted reports whether the told times of a phase count, and whether they are
// trusted.
func (o *oracle) trusted(ph *oraclePhase) (used, trusted bool) {
	b := o.statsOf(ph.spec.Class)
	used = ph.told() && b.useTold
	return used, used && b.doubt < 2
}

// left returns the work that a phase has left now, or its work by its age alone. What told times were off elsewhere does not count.
func (o *oracle) left(j *oracleJob, ph *oraclePhase, byAge bool) float64 {
	b, n := o.statsOf(ph.spec.Class), o.statsOf(ph.spec.Class).names[j.spec.Name]
	used, _ := o.trusted(ph)
	all, undone := 0.0, 0.0
	for i := range ph.spec.Tasks {
		each := float64(ph.spec.EstimateOf(i))
		if all += each; !ph.done[i] {
			undone += each
		}
	}
	unfinished := float64(ph.spec.Tasks - len(ph.done))
	if unfinished == 0 {
		return 0
	}
	told, tasks, sampled := 1.0, unfinished, float64(ph.samples)
	prior := math.Exp2(b.usual)
	if n != nil && b.useNames {
		prior = math.Exp2(fading(n.times))
	}
	if used {
		told = math.Floor(all / float64(ph.spec.Tasks))
		tasks, sampled, prior = undone, ph.sampled, told
		if !ph.fresh && b.useRatio && n != nil && len(n.ratios) > 0 {
			prior = min(prior*math.Exp2(fading(n.ratios)), math.MaxInt64) // no task is thought to take longer than a Duration can say
		}
	}
	tasks *= float64(len(ph.pending)) / unfinished
	if ph.samples == 0 && ph.running() > 0 {
		if byAge {
			prior = float64(o.now - ph.since)
		}
	}
	if ph.samples == 0 {
		sampled = 0
	}
	return tasks * (prior + ph.took) / (told + sampled)
}

// filed returns the work of a phase as it was filed, corrected by what told times of other phases were off.
func (j *oracleJob) filed(ph *oraclePhase) float64 {
	if ph.fresh {
		return ph.work * math.Exp2(j.by[ph.spec.Class])
	}
	return ph.work
}

// correct predicts how much longer tasks of a class take than told.
func (o *oracle) correct(j *oracleJob, c sojourn.Class) {
	b, sum := o.statsOf(c), 0.0
	if n := b.names[j.spec.Name]; b.useRatio && n != nil && len(n.ratios) > 0 {
		sum = fading(n.ratios)
	}
	for _, x := range j.ratios {
		sum += x
	}
	j.by[c] = min(30, sum/float64(len(j.ratios)+1))
}

func (j *oracleJob) next(c sojourn.Class) *oraclePhase {
	for i, ph := range j.phases {
		if j.open(i) && ph.spec.Class == c && len(ph.pending) > 0 {
			return ph
		}
	}
	return nil
}

// open reports whether tasks of phase i may start.
func (j *oracleJob) open(i int) bool {
	if j.spec.Phases[i].Needs == nil {
		return i == 0 || len(j.phases[i-1].done) >= j.spec.Threshold(i)
	}
	return !slices.ContainsFunc(j.spec.Phases[i].Needs, func(k int) bool { return len(j.phases[k].done) < j.phases[k].spec.Tasks })
}

func (j *oracleJob) running(c sojourn.Class) (n float64) {
	for _, ph := range j.phases {
		if ph.spec.Class == c {
			n += float64(ph.running())
		}
	}
	return n
}

// wait returns for how long after it came other jobs may come and be before a job.
func (o *oracle) wait(j *oracleJob, c sojourn.Class) float64 {
	next := j.next(c)
	sum := 0.0
	for _, ph := range j.phases {
		switch {
		case ph == next && ph.samples == 0 && ph.running() > 0:
			sum += max(j.filed(ph), o.left(j, ph, true))
		case ph.spec.Class == c:
			sum += j.filed(ph)
		}
	}
	lost := j.lost[c]
	for _, ph := range j.phases {
		if ph.spec.Class == c {
			lost -= j.filed(ph) + ph.took
		}
	}
	if _, trusted := o.trusted(next); trusted && o.statsOf(c).doubt == 1 || !trusted && next.samples == 0 {
		sum *= math.Sqrt(j.running(c) + 1)
	}
	if j.spec.Weight > 0 {
		sum /= j.spec.Weight
	}
	patience := o.patience
	if used, trusted := o.trusted(next); o.gangs && !(trusted && used && o.statsOf(c).doubt == 0) {
		patience = min(patience, 6)
	}
	return patience * max(sum, lost)
}

func halfOctaves(d time.Duration) float64 { return math.Floor(2*math.Log2(float64(d)) + 1e-9) }

func (ph *oraclePhase) longest() (d time.Duration) {
	for i := range ph.spec.Tasks {
		d = max(d, ph.spec.EstimateOf(i))
	}
	return d
}

// file computes what is kept until the next event of a job.
func (o *oracle) file(j *oracleJob, ph *oraclePhase) {
	for _, x := range j.phases {
		if x == ph || ph == nil {
			o.correct(j, x.spec.Class)
			used, _ := o.trusted(x)
			x.fresh = used && x.samples == 0 && len(j.ratios) > 0
			x.work = o.left(j, x, false)
			if old := o.left(j, x, true); x.samples == 0 && x.running() > 0 && old > j.filed(x) {
				x.work, x.fresh = old, false
			}
		}
		c := x.spec.Class
		delete(j.level, c)
		next := j.next(c)
		if next == nil {
			continue
		}
		r := j.running(c)
		used, trusted := o.trusted(next)
		trusted = trusted && o.statsOf(c).useRank
		u := 0.0
		for _, b := range o.lengths[c] {
			switch own := halfOctaves(next.longest()); {
			case b < own:
				u++
			case b == own:
				u += 0.5
			}
		}
		if o.unopposed(j, c) && (!used || u <= 0.75*float64(len(o.lengths[c]))) {
			j.level[c] = 0
			continue
		}
		if u /= float64(len(o.lengths[c])); !trusted {
			if u = o.shorter(next); u >= 1.0/3 {
				j.level[c] = min(15, 15*r)
				continue
			}
		}
		f := 1.0
		if u < 0.5 {
			f = math.Pow(u/(1-u), 2)
		}
		j.level[c] = 8.999 * f * (u + r) / (1 + f*r)
	}
}

// shorter returns the part of the tasks that voted in lower octaves than the mean task that has finished of a phase, those of
// its octave by half; 1 if those are not typical.
func (o *oracle) shorter(ph *oraclePhase) (u float64) {
	if !ph.typical {
		return 1
	}
	own := math.Floor(math.Log2(math.Floor(ph.took / float64(ph.samples))))
	for _, x := range o.statsOf(ph.spec.Class).seen {
		switch x = math.Floor(math.Log2(x)); {
		case x < own:
			u++
		case x == own:
			u += 0.5
		}
	}
	return u / float64(len(o.statsOf(ph.spec.Class).seen))
}

// unopposed reports whether a job runs four times as many tasks as it can start, these fit on the free
// slots, and no other job can start any.
func (o *oracle) unopposed(j *oracleJob, c sojourn.Class) bool {
	for _, other := range o.jobs {
		if other != j && other.next(c) != nil {
			return false
		}
	}
	can := 0.0
	for i, ph := range j.phases {
		if ph.spec.Class == c && j.open(i) {
			can += float64(len(ph.pending))
		}
	}
	return 4*can <= j.running(c) && can <= o.count(c, (*oracleSlot).free)
}

// first returns the job with the first due date, and whether it is due. It reports false if rounding hides it.
func (o *oracle) first(c sojourn.Class) (first *oracleJob, due, known bool) {
	dueAt := func(j *oracleJob) float64 { return float64(j.came-o.now) + o.wait(j, c) }
	off := func(j *oracleJob) float64 { return 2e-3*o.wait(j, c) + 4*o.patience }
	for _, j := range o.jobs {
		if j.next(c) != nil && (first == nil || dueAt(j) < dueAt(first)) {
			first = j
		}
	}
	if first == nil || dueAt(first) > off(first) {
		return first, false, true
	}
	for _, j := range o.jobs {
		if j != first && j.next(c) != nil && dueAt(j)-dueAt(first) < off(j)+off(first) {
			return first, true, false
		}
	}
	return first, true, dueAt(first) < -off(first)
}

// may reports whether a job may start on a slot of a class if its level is wrong by off, and so many slots more
// are free.
func (o *oracle) may(j *oracleJob, c sojourn.Class, off, more float64) bool {
	n, free := 0.0, 0.0
	for _, s := range o.slots {
		if s.class == c {
			if n++; s.job == nil {
				free++
			}
		}
	}
	k := math.Ceil(n / 50)
	if next := j.next(c); o.gangs || n < 10 || len(o.jobs) == 1 && float64(next.spec.Tasks) < 8*n {
		k = 0
	}
	level := min(15, max(0, math.Floor(j.level[c]+off)))
	return free+more > math.Floor(level*k/15+0.5)
}

func (o *oracle) count(c sojourn.Class, which func(*oracleSlot) bool) (n float64) {
	for _, s := range o.slots {
		if s.class == c && which(s) {
			n++
		}
	}
	return n
}

func (s *oracleSlot) free() bool   { return s.job == nil }
func (s *oracleSlot) isOver() bool { return s.job != nil && s.over }

type trial struct {
	*rapid.T
	p   *leastwork.Policy
	o   *oracle
	ids int
}

func (t *trial) observe(ev sojourn.Event) {
	ev.At = sojourn.Time(t.o.now)
	if err := t.p.Observe(ev); err != nil {
		t.Fatalf("Observe(%v) = %v", ev, err)
	}
}

// offer compares one answer of the policy with the rule.
func (t *trial) offer(s *oracleSlot) bool {
	const close = 1e-3
	first, due, known := t.o.first(s.class)
	if due {
		over := t.o.count(s.class, (*oracleSlot).isOver)
		may := t.o.may(first, s.class, close, over)
		if !known || may != t.o.may(first, s.class, -close, over) {
			t.o.tie = true
			return false
		}
		if due = !may; may {
			if a, ok := t.p.Assign(s.id); !ok || a.Task.Job != first.spec.ID {
				t.Fatalf("Assign(%d) = %v, %v, want job %d, which is due", s.id, a, ok, first.spec.ID)
			} else {
				t.start(s, first, a, false)
			}
			return true
		}
	}
	a, ok := t.p.Assign(s.id)
	var chosen *oracleJob
	for _, j := range t.o.jobs {
		if ok && j.spec.ID == a.Task.Job {
			chosen = j
		}
	}
	if ok && !t.o.may(chosen, s.class, -close, 0) {
		t.Fatalf("Assign(%d) = %v, which the reserve forbids: level %v", s.id, a, chosen.level)
	}
	for _, j := range t.o.jobs {
		if j == chosen || j.next(s.class) == nil || !t.o.may(j, s.class, close, 0) {
			continue
		}
		if !ok {
			t.Fatalf("Assign(%d) = false, want job %d", s.id, j.spec.ID)
		}
		mine, its := t.o.wait(chosen, s.class), t.o.wait(j, s.class)
		if ahead := float64(chosen.came-j.came) + mine - its; ahead > close*(mine+its)+4*t.o.patience {
			t.Fatalf("Assign(%d) = %v, whose due date is %v ns after that of job %d", s.id, a, ahead, j.spec.ID)
		}
	}
	if !ok {
		return false
	}
	t.start(s, chosen, a, due)
	return true
}

// turn asks whose turn it is, if any class fits, and if only class 1 does.
func (t *trial) turn(classes int) {
	for least := range sojourn.Class(2) {
		fits := func(c sojourn.Class) bool { return c >= least }
		c, _, ok := t.p.Turn(fits)
		waits, first, off := false, math.Inf(1), 0.0 // the earliest due date
		for k := least; int(k) < classes; k++ {
			for _, j := range t.o.jobs {
				if j.next(k) != nil {
					wait := t.o.wait(j, k)
					waits, first, off = true, min(first, float64(j.came-t.o.now)+wait), max(off, 2e-3*wait+4*t.o.patience)
				}
			}
		}
		if ok != (waits && t.o.gangs) {
			t.Fatalf("it is the turn of a class: %v; something waits: %v, gangs: %v", ok, waits, t.o.gangs)
		}
		if !ok {
			continue
		}
		its := math.Inf(1)
		for _, j := range t.o.jobs {
			if j.next(c) != nil {
				its = min(its, float64(j.came-t.o.now)+t.o.wait(j, c))
			}
		}
		if c < least || its > first+2*off {
			t.Fatalf("it is the turn of class %d, whose first due date is %v ns after that of another", c, its-first)
		}
	}
}

// start lets a task start on a slot.
func (t *trial) start(s *oracleSlot, chosen *oracleJob, a sojourn.Assignment, over bool) {
	ph := chosen.phases[a.Task.Phase]
	if ph != chosen.next(s.class) || !ph.pending[int(a.Task.Index)] {
		t.Fatalf("Assign(%d) = %v", s.id, a)
	}
	if ph.running() == 0 {
		ph.since = t.o.now
	}
	delete(ph.pending, int(a.Task.Index))
	s.job, s.a, s.start, s.over = chosen, a, t.o.now, over
	t.o.file(chosen, ph)
}

func (t *trial) arrive(classes int, tell func(n int) []time.Duration) {
	t.ids++
	spec := &sojourn.Job{
		ID: sojourn.JobID(t.ids), Weight: rapid.SampledFrom([]float64{0, 1, 0.5, 4}).Draw(t.T, "weight"),
		Name: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t.T, "name"),
	}
	j := &oracleJob{
		spec: spec, level: map[sojourn.Class]float64{}, by: map[sojourn.Class]float64{}, came: t.o.now,
		lost: map[sojourn.Class]float64{}, failed: map[sojourn.Class][]time.Duration{},
	}
	for i := range rapid.IntRange(1, 4).Draw(t.T, "phases") {
		ph := sojourn.Phase{Tasks: rapid.SampledFrom([]int{1, 2, 3, 5, 70}).Draw(t.T, "tasks"), Class: sojourn.Class(rapid.IntRange(0, classes-1).Draw(t.T, "class"))}
		if rapid.IntRange(0, 2).Draw(t.T, "needs") == 0 {
			ph.Needs = []int{}
			for k := range i {
				if rapid.Bool().Draw(t.T, "this one") {
					ph.Needs = append(ph.Needs, k)
				}
			}
		} else if i > 0 {
			ph.After = rapid.IntRange(sojourn.NoBarrier, spec.Phases[i-1].Tasks).Draw(t.T, "after")
		}
		ph.Estimates = tell(ph.Tasks)
		spec.Phases = append(spec.Phases, ph)
	}
	for i := range spec.Phases {
		x := &oraclePhase{spec: &spec.Phases[i], pending: map[int]bool{}, done: map[int]bool{}}
		for k := range x.spec.Tasks {
			x.pending[k] = true
		}
		j.phases = append(j.phases, x)
		if x.told() {
			t.o.lengths[x.spec.Class] = append(t.o.lengths[x.spec.Class], halfOctaves(x.longest()))
		}
	}
	t.o.jobs = append(t.o.jobs, j)
	t.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec})
	t.o.file(j, nil)
}

// end reports the end of an attempt.
func (t *trial) end(s *oracleSlot, kind sojourn.EventKind) {
	j, ph, i := s.job, s.job.phases[s.a.Task.Phase], int(s.a.Task.Index)
	took := t.o.now - s.start
	ev := sojourn.Event{Kind: kind, Task: s.a.Task, Attempt: s.a.Attempt, Slot: sojourn.Slot{ID: s.id}}
	anew := false
	if kind == sojourn.TaskFinished {
		if rapid.IntRange(0, 3).Draw(t.T, "service") == 0 {
			took = took/2 + 1
			ev.Service = took
		}
		told := float64(ph.spec.EstimateOf(i))
		ph.done[i] = true
		ph.samples++
		if ph.running() <= ph.samples {
			ph.typical = true
		}
		ph.took += float64(took)
		ph.sampled += told
		if !ph.told() {
			told = 0
		}
		if ph.samples == 1 && told > 0 {
			j.ratios = append(j.ratios, math.Log2(max(float64(took), 1)/told))
			for _, x := range j.phases {
				t.o.correct(j, x.spec.Class)
				if len(j.ratios) == 1 {
					t.o.file(j, x)
				}
			}
		}
		if ph.samples == 1 {
			anew = t.o.statsOf(ph.spec.Class).vote(float64(took), told, j.spec.Name, len(j.ratios) > 1)
		}
	} else {
		ph.pending[i] = true
		if kind == sojourn.TaskFailed {
			ev.Cause = sojourn.Cause(rapid.IntRange(0, 2).Draw(t.T, "cause"))
		}
	}
	held := max(1, t.o.now-s.start)
	switch {
	case kind == sojourn.TaskRefused && j.denied:
		j.lost[s.class] += float64(held)
	case kind == sojourn.TaskRefused:
		j.denied = true
	case kind == sojourn.TaskFinished || ev.Cause == sojourn.CauseTask && len(j.failed[s.class]) > 0:
		for _, d := range j.failed[s.class] {
			j.lost[s.class] += float64(d)
		}
		j.failed[s.class] = nil
		if kind == sojourn.TaskFinished {
			j.denied = false
		} else {
			j.lost[s.class] += float64(held)
		}
	case ev.Cause == sojourn.CauseTask:
		j.failed[s.class] = append(j.failed[s.class], held)
	}
	s.job = nil
	t.observe(ev)
	t.o.file(j, ph)
	if !slices.ContainsFunc(j.phases, func(x *oraclePhase) bool { return len(x.done) < x.spec.Tasks }) {
		t.o.jobs = slices.DeleteFunc(t.o.jobs, func(x *oracleJob) bool { return x == j })
	}
	if !anew {
		return
	}
	for _, x := range t.o.jobs {
		for _, y := range x.phases {
			if y.spec.Class == ph.spec.Class {
				t.o.file(x, y)
			}
		}
	}
}

// begin begins a new policy.
func (tr *trial) begin(patience int) {
	p, err := leastwork.New(leastwork.Options{Patience: patience, Gangs: tr.o.gangs})
	if err != nil {
		tr.Fatal(err)
	}
	tr.p, tr.o.patience = p, float64(patience)
	if patience == 0 {
		tr.o.patience = 512
	}
}

// Reference: the rule of the package comment.
func TestAgainstTheRule(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		patience := func() int { return rapid.SampledFrom([]int{0, 0, 1, 8, 512, 4096}).Draw(r, "patience") }
		tr := &trial{T: r, o: newOracle()}
		tr.o.gangs = rapid.Bool().Draw(r, "gangs")
		tr.begin(patience())
		classes := rapid.IntRange(1, 2).Draw(r, "classes")
		for i := range rapid.SampledFrom([]int{1, 3, 9, 10, 25, 60, 150}).Draw(r, "slots") {
			s := &oracleSlot{id: sojourn.SlotID(i), class: sojourn.Class(i % classes)}
			tr.o.slots = append(tr.o.slots, s)
			tr.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: s.id, Class: s.class}})
		}
		how := rapid.SampledFrom([]string{"told", "untold", "mixed"}).Draw(r, "how")
		times := rapid.Custom(func(r *rapid.T) time.Duration {
			return time.Duration(math.Exp2(20+22*rapid.Float64Range(0, 1).Draw(r, "octaves")) * 1.2345)
		})
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			for range rapid.SampledFrom([]int{0, 0, 1, 1, 4}).Draw(r, "arrive") {
				tr.arrive(classes, func(n int) (list []time.Duration) {
					if how == "untold" || how == "mixed" && rapid.Bool().Draw(r, "untold") {
						return nil
					}
					for range min(n, 5) {
						list = append(list, times.Draw(r, "told"))
					}
					return slices.Repeat(list, n/len(list))
				})
			}
			for taken := true; taken; {
				taken = false
				for _, s := range tr.o.slots {
					taken = s.job == nil && tr.offer(s) || taken
				}
			}
			if tr.o.tie {
				return
			}
			tr.turn(classes)
			later := times.Draw(r, "later")
			if rapid.IntRange(0, 3).Draw(r, "much later") == 0 {
				later *= 1000
			}
			tr.o.now += later
			tr.observe(sojourn.Event{Kind: sojourn.Tick})
			quiet := rapid.IntRange(0, 2).Draw(r, "quiet") == 0
			for _, s := range tr.o.slots {
				if s.job == nil || quiet || rapid.IntRange(0, 2).Draw(r, "goes on") > 0 {
					continue
				}
				kind := sojourn.TaskFinished
				switch rapid.IntRange(0, 9).Draw(r, "fails") {
				case 0:
					kind = sojourn.TaskFailed
				case 1:
					kind = sojourn.TaskRefused
				}
				if tr.end(s, kind); tr.o.statsOf(s.class).tie {
					return
				}
			}
			if rapid.IntRange(0, 5).Draw(r, "restore") == 0 {
				data, err := tr.p.AppendBinary(nil)
				if err != nil {
					r.Fatal(err)
				}
				tr.o.gangs = rapid.Bool().Draw(r, "gangs") // other options may be chosen then
				tr.begin(patience())
				if err := tr.p.UnmarshalBinary(data); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}
