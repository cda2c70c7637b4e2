package td_test

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/td"
	"pgregory.net/rapid"
)

// The statuses, in their order.
const (
	waiting = iota
	infantile
	teenaged
	adult
	senile
)

var statusNames = []string{"waiting", "infantile", "teenaged", "adult", "senile"}

// An oracle says what each slot gets, from the statement of TD in the package comment. It
// keeps the statuses and the hot queue, and computes everything else anew by looking at
// everything.
type oracle struct {
	w          *world
	opts       td.Options
	l, h       int // in millionths
	theta      int
	lifetime   time.Duration
	tuples     []tuple
	promotions int // so far
}

type tuple struct {
	node    sojourn.NodeID
	expires sojourn.Time
}

type choice struct {
	task     sojourn.TaskID
	source   sojourn.NodeID
	locality sojourn.Locality
	ok       bool
	step     int
}

// newOracle takes options in which L, H in millionths, Theta and SplitTime are set.
func newOracle(w *world, opts td.Options) *oracle {
	if opts.SelfTune && opts.H == 0 {
		opts.H = 1.3
	}
	return &oracle{
		w: w, opts: opts,
		l: int(opts.L*1e6 + 0.5), h: int(opts.H*1e6 + 0.5),
		theta: opts.Theta, lifetime: opts.SplitTime * time.Duration(opts.Theta),
	}
}

func (o *oracle) class(j *job) sojourn.Class { return j.spec.Phases[0].Class }

func (o *oracle) total(c sojourn.Class) (n int) {
	for _, s := range o.w.slots {
		if s.Class == c {
			n++
		}
	}
	return n
}

// occupied returns how many map tasks of j run.
func (o *oracle) occupied(j *job) int { return j.count(0, "running") }
func (o *oracle) remain(j *job) int   { return j.count(0, "pending") + j.count(0, "held") }
func (o *oracle) awake(j *job) bool {
	return j.status < senile && j.count(0, "pending") > 0 && !j.full()
}
func (o *oracle) grown(j *job) bool { return o.awake(j) && (j.status == teenaged || j.status == adult) }

// wants returns the demand of j, clamped.
func (o *oracle) wants(j *job) int {
	if j.status == teenaged || j.status == adult {
		return j.demand
	}
	t, size := o.total(o.class(j)), j.spec.Phases[0].Tasks
	d := int(demandOf(j.spec))
	if d == 0 {
		d = int(o.opts.Demand)
	}
	if d == 0 {
		d = min(max((size*12+50)/100, t*5/100), t*35/100)
	}
	if n := int64(j.spec.Parallelism); n > 0 {
		d = int(min(int64(d), n))
	}
	return max(1, min(d, size, t))
}

func (o *oracle) floor(demand int) int {
	f := o.l * demand / 1e6
	if f*1e6 < o.l*demand {
		f++
	}
	return f
}

func (o *oracle) sums(c sojourn.Class) (d, osen, dmax int) {
	for _, s := range o.w.slots {
		if s.Class == c && s.job != nil {
			osen++
		}
	}
	for _, j := range o.w.jobs {
		if o.class(j) != c {
			continue
		}
		if o.grown(j) {
			d += j.demand
			dmax = max(dmax, j.demand)
			osen -= o.occupied(j)
		}
		if o.awake(j) && j.status == infantile {
			osen -= o.occupied(j)
		}
	}
	return d, osen, dmax
}

// under reports whether j holds fewer slots than H times its demand.
func (o *oracle) under(j *job) bool {
	h := o.h
	if h == 0 {
		c := o.class(j)
		d, _, dmax := o.sums(c)
		for _, i := range o.w.jobs {
			if i.status == infantile && o.class(i) == c {
				dmax = max(dmax, o.wants(i))
			}
		}
		h = 1e6
		if rest := o.total(c)*1e6 - o.l*d; dmax > 0 && rest > 0 {
			h = max(h, rest/dmax+o.l)
		}
	}
	return o.occupied(j)*1e6 < h*o.wants(j)
}

// amt returns the mean time of a map task, to five significant bits.
func (o *oracle) amt(j *job) uint64 {
	t := uint64(time.Minute / time.Microsecond)
	if sum := j.spec.Phases[0].Work(); sum > 0 {
		t = uint64(sum / time.Duration(j.spec.Phases[0].Tasks) / time.Microsecond)
	}
	if j.runs > 0 {
		t = uint64(j.sum) / uint64(j.runs)
	}
	t = min(max(t, 1), 1<<32-1)
	n := 0
	for t >= 32 {
		t /= 2
		n++
	}
	for range n {
		t *= 2
	}
	return t
}

func (o *oracle) holds(j *job, phase int, i uint32, n sojourn.NodeID) bool {
	return n != 0 && !o.w.down[n] && slices.Contains(j.spec.Phases[phase].Inputs.Of(int(i)), n)
}

// load returns R_n.
func (o *oracle) load(n sojourn.NodeID) (r uint64) {
	for _, j := range o.w.jobs {
		if j.status != infantile && j.status != teenaged && j.status != adult {
			continue
		}
		for _, i := range j.startable(0) {
			if o.holds(j, 0, i, n) {
				r += o.amt(j)
			}
		}
	}
	return r
}

func (o *oracle) reads(n sojourn.NodeID) (count int) {
	for _, t := range o.tuples {
		if t.node == n && t.expires > o.w.now {
			count++
		}
	}
	return count
}

func (o *oracle) local(j *job, phase int, s *slot) choice {
	list := j.startable(phase)
	for _, i := range list {
		if o.holds(j, phase, i, s.Node) {
			return choice{o.id(j, phase, i), s.Node, sojourn.NodeLocal, true, 0}
		}
	}
	for _, i := range list {
		if len(j.spec.Phases[phase].Inputs.Of(int(i))) == 0 {
			return choice{task: o.id(j, phase, i), ok: true}
		}
	}
	return choice{}
}

func (o *oracle) id(j *job, phase int, i uint32) sojourn.TaskID {
	return sojourn.TaskID{Job: j.spec.ID, Phase: uint16(phase), Index: i}
}

// maxNode is the greatest ID of a node in these tests.
const maxNode = 10

// from returns the lowest task of a phase that is at the best node by a rule. Only nodes
// that hold a task count.
func (o *oracle) from(j *job, phase int, s *slot, may func(sojourn.NodeID) bool, better func(a, b sojourn.NodeID) bool) choice {
	best, task := sojourn.NodeID(0), uint32(0)
	for n := sojourn.NodeID(1); n <= maxNode; n++ {
		for _, i := range j.startable(phase) {
			if !o.holds(j, phase, i, n) {
				continue
			}
			if may(n) && (best == 0 || better(n, best)) {
				best, task = n, i
			}
			break
		}
	}
	if best == 0 {
		return choice{}
	}
	c := choice{o.id(j, phase, task), best, sojourn.Remote, true, 0}
	switch {
	case best == s.Node:
		c.locality = sojourn.NodeLocal
	case s.Rack != 0 && o.rack(best) == s.Rack:
		c.locality = sojourn.RackLocal
	}
	return c
}

// rack returns the rack of a node that has slots.
func (o *oracle) rack(n sojourn.NodeID) sojourn.RackID {
	for _, s := range o.w.slots {
		if s.Node == n {
			return s.Rack
		}
	}
	return 0
}

func (o *oracle) remote(j *job, phase int, s *slot) choice {
	c := o.from(j, phase, s,
		func(n sojourn.NodeID) bool { return o.reads(n) < o.theta },
		func(a, b sojourn.NodeID) bool { return o.load(a) > o.load(b) })
	if c.ok {
		return c
	}
	for _, i := range j.startable(phase) {
		inputs := j.spec.Phases[phase].Inputs.Of(int(i))
		if len(inputs) > 0 && !slices.ContainsFunc(inputs, func(n sojourn.NodeID) bool { return !o.w.down[n] }) {
			return choice{task: o.id(j, phase, i), locality: sojourn.Remote, ok: true}
		}
	}
	return choice{}
}

func (o *oracle) hottest(j *job, phase int, s *slot) choice {
	return o.from(j, phase, s, func(sojourn.NodeID) bool { return true }, func(a, b sojourn.NodeID) bool {
		if o.reads(a) != o.reads(b) {
			return o.reads(a) < o.reads(b)
		}
		return o.load(a) > o.load(b)
	})
}

func (o *oracle) give(j *job, phase int, s *slot) choice {
	if c := o.local(j, phase, s); c.ok {
		return c
	}
	return o.remote(j, phase, s)
}

// update is UPDATE.
func (o *oracle) update(c sojourn.Class) {
	for {
		var filler, head *job
		grown := 0
		for _, j := range o.w.jobs {
			if o.class(j) != c {
				continue
			}
			if j.status == infantile {
				filler = j
			}
			if head == nil && j.status == waiting && o.awake(j) {
				head = j
			}
			if o.grown(j) {
				grown++
			}
		}
		d, osen, _ := o.sums(c)
		t := o.total(c)
		switch {
		case filler != nil:
			wants := o.wants(filler)
			if !o.awake(filler) {
				wants = 0
			} else if m := o.opts.MaxCoScheduled; m > 0 && grown >= m {
				return
			}
			if osen+d+wants > t {
				return
			}
			filler.demand = o.wants(filler)
			filler.status = adult
			filler.since = o.w.now
			if !o.opts.SelfTune && o.occupied(filler) < o.floor(filler.demand) {
				filler.status = teenaged
			}
			o.promotions++
			// T7: right after a promotion, the demands and the slots that are not to be
			// had fit into the cluster.
			if d, osen, _ := o.sums(c); d+osen > t {
				o.w.fatalf("%s\nafter a promotion D + Osen = %d + %d > T = %d", o.w.story(), d, osen, t)
			}
		case head != nil && osen+d < t:
			head.status = infantile
		default:
			return
		}
	}
}

// request says what a slot gets, and makes the changes that belong to it.
func (o *oracle) request(s *slot) choice {
	takeBack := o.save()
	o.update(s.Class)
	c := o.choose(s)
	if !c.ok {
		takeBack()
	}
	return c
}

// save returns a function that undoes what UPDATE changes from now on.
func (o *oracle) save() (takeBack func()) {
	type saved struct{ status, demand int }
	before := map[*job]saved{}
	for _, j := range o.w.jobs {
		before[j] = saved{j.status, j.demand}
	}
	return func() {
		for _, j := range o.w.jobs {
			j.status, j.demand = before[j].status, before[j].demand
		}
	}
}

// queued returns the jobs that UPDATE would leave waiting if a slot of class c were
// offered now.
func (o *oracle) queued(c sojourn.Class) map[*job]bool {
	defer o.save()()
	o.update(c)
	list := map[*job]bool{}
	for _, j := range o.w.jobs {
		list[j] = j.status == waiting
	}
	return list
}

// short reports whether j should hold more slots than it does.
func (o *oracle) short(j *job) bool {
	return o.grown(j) && o.occupied(j) < o.floor(j.demand) && (!o.opts.SelfTune || o.late(j))
}

// late reports whether j, with its demand in slots from now on, would take longer than
// with L times its demand all the time.
func (o *oracle) late(j *job) bool {
	rat := func(x int64) *big.Rat { return new(big.Rat).SetInt64(x) }
	size := len(j.state[0])
	slot := new(big.Rat).Quo(rat(int64(o.amt(j))), rat(int64(j.demand))) // one task on demand slots
	expected := new(big.Rat).Mul(rat(int64(size)), slot)
	expected.Quo(expected, big.NewRat(int64(o.l), 1e6))
	takes := new(big.Rat).Mul(rat(int64(size-j.count(0, "done"))), slot)
	takes.Add(takes, rat(int64(o.w.now.Sub(j.since)/time.Microsecond)))
	return takes.Cmp(expected) > 0
}

func (o *oracle) mapsOver(j *job) bool { return j.count(0, "done") == len(j.state[0]) }

func (o *oracle) choose(s *slot) choice {
	var jobs, adults []*job // of the class by arrival; by amt
	var filler *job
	for _, j := range o.w.jobs {
		if o.class(j) != s.Class || !o.awake(j) {
			continue
		}
		jobs = append(jobs, j)
		if j.status == adult {
			adults = append(adults, j)
		}
		if j.status == infantile {
			filler = j
		}
	}
	slices.SortStableFunc(adults, func(a, b *job) int { return cmp.Compare(o.amt(a), o.amt(b)) })
	dear := slices.Clone(adults) // by descending amt
	slices.SortStableFunc(dear, func(a, b *job) int {
		if c := cmp.Compare(o.amt(b), o.amt(a)); c != 0 {
			return c
		}
		return b.seq - a.seq
	})
	at := func(step int, c choice) choice { c.step = step; return c }
	if j := s.last; j != nil && o.class(j) == s.Class && o.short(j) {
		if c := o.give(j, 0, s); c.ok {
			return at(1, c)
		}
	}
	for _, j := range o.w.jobs {
		for _, i := range o.first(j, s.Class) {
			if c := o.give(j, i, s); c.ok {
				return at(2, c)
			}
		}
	}
	for _, status := range []int{teenaged, adult} {
		for _, j := range jobs {
			if j.status == status && o.short(j) {
				if c := o.give(j, 0, s); c.ok {
					return at(2, c)
				}
			}
		}
	}
	for _, j := range adults {
		if c := o.local(j, 0, s); c.ok && o.under(j) {
			return at(3, c)
		}
	}
	if filler != nil && o.under(filler) {
		if c := o.local(filler, 0, s); c.ok {
			return at(4, c)
		}
	}
	if o.opts.SelfTune {
		list := adults
		if filler != nil {
			list = append([]*job{filler}, adults...)
		}
		for _, j := range list {
			if c := o.local(j, 0, s); c.ok {
				return at(7, c)
			}
		}
	}
	for _, j := range dear {
		if o.under(j) {
			if c := o.remote(j, 0, s); c.ok {
				return at(5, c)
			}
		}
	}
	if filler != nil {
		if c := o.give(filler, 0, s); c.ok {
			return at(6, c)
		}
	}
	for _, j := range adults {
		if c := o.local(j, 0, s); c.ok {
			return at(7, c)
		}
	}
	for _, j := range dear {
		if c := o.remote(j, 0, s); c.ok {
			return at(7, c)
		}
	}
	if o.opts.HotPolicy == td.Relaxed {
		all := slices.Clone(o.w.jobs)
		slices.SortStableFunc(all, func(a, b *job) int { return cmp.Compare(o.amt(b), o.amt(a)) })
		for _, j := range all {
			phases := o.first(j, s.Class)
			if slices.Contains(jobs, j) && j.status != waiting {
				phases = []int{0}
			}
			for _, i := range phases {
				if c := o.hottest(j, i, s); c.ok {
					return at(8, c)
				}
			}
		}
	}
	for _, give := range []func(*job, int, *slot) choice{o.give, o.hottest} {
		for _, j := range o.w.jobs {
			for i := 1; i < len(j.state); i++ {
				if o.mapsOver(j) || j.full() || j.spec.Phases[i].Class != s.Class {
					continue
				}
				if c := give(j, i, s); c.ok {
					return at(9, c)
				}
			}
		}
		if o.opts.HotPolicy == td.Strict {
			break
		}
	}
	return choice{}
}

// first returns the phases of j on slots of class c that go before all others: its
// map tasks if it is senile, its reduces once the map tasks have finished.
func (o *oracle) first(j *job, c sojourn.Class) (phases []int) {
	for i := range j.state {
		if j.spec.Phases[i].Class == c && len(j.startable(i)) > 0 && !j.full() &&
			(i == 0 && j.status == senile || i > 0 && o.mapsOver(j)) {
			phases = append(phases, i)
		}
	}
	return phases
}

// assigned records that a choice was carried out.
func (o *oracle) assigned(c choice) {
	if c.source != 0 && c.locality != sojourn.NodeLocal {
		o.tuples = append(o.tuples, tuple{c.source, o.w.now.Add(o.lifetime)})
	}
}

// age makes the changes of status that follow from the latest event.
func (o *oracle) age() {
	for _, j := range o.w.jobs {
		if j.status < senile && o.remain(j) == 0 {
			j.status = senile
		}
		if j.status == teenaged && o.occupied(j) >= o.floor(j.demand) {
			j.status = adult
		}
	}
}

func (o *oracle) revised(j *job) {
	if j.status == teenaged || j.status == adult {
		s := j.status
		j.status = waiting
		j.demand = o.wants(j)
		j.status = s
	}
}

// compare compares the statuses.
func (o *oracle) compare() {
	for _, j := range o.w.jobs {
		if j.cancelled {
			continue
		}
		if got := attr(o.w.p, j.spec.ID, "status").String(); got != statusNames[j.status] {
			o.w.fatalf("%s\njob %d is %s, want %s", o.w.story(), j.spec.ID, got, statusNames[j.status])
		}
	}
}

// After any history, every slot gets what the oracle says.
func TestAgainstOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(drawOptions(t), t.Fatalf)
		r := rig{w, rapid.IntRange(0, 1).Draw(t, "classes")}
		for range rapid.IntRange(1, 4).Draw(t, "slots") {
			r.addSlot(t)
		}
		for range rapid.IntRange(0, 3).Draw(t, "jobs") {
			r.arrive(t)
		}
		actions := map[string]func(*rapid.T){
			"wait":    func(t *rapid.T) { r.w.observe(sojourn.Event{Kind: sojourn.Tick, At: r.w.now.Add(drawTime(t, "dt"))}) },
			"addSlot": r.addSlot,
			"remove":  r.removeSlot,
			"node":    r.node,
			"arrive":  r.arrive,
			"arrive2": r.arrive,
			"revise":  r.revise,
			"cancel":  r.cancel,
			"task":    r.task,
			"end":     r.end,
			"end2":    r.end,
			"end3":    r.end,
			"offer":   r.offer,
			"round":   r.round,
			"round2":  r.round,
		}
		for range 4 { // longer histories than by default
			t.Repeat(actions)
		}
	})
}

func drawTime(t *rapid.T, label string) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, 1, time.Second, 2 * time.Second, 5 * time.Second, time.Minute}).Draw(t, label)
}

// drawOptions draws options. It sets all options that the oracle needs.
func drawOptions(t *rapid.T) td.Options {
	return td.Options{
		L:              float64(rapid.IntRange(1, 10).Draw(t, "L")) / 10,
		H:              float64(rapid.SampledFrom([]int{0, 0, 10, 11, 13, 15, 20, 25}).Draw(t, "H")) / 10,
		Theta:          rapid.IntRange(1, 4).Draw(t, "theta"),
		SplitTime:      time.Duration(rapid.IntRange(1, 5).Draw(t, "split")) * time.Second,
		HotPolicy:      td.HotPolicy(rapid.IntRange(0, 1).Draw(t, "hot policy")),
		MaxCoScheduled: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "max"),
		SelfTune:       rapid.IntRange(0, 2).Draw(t, "self tune") == 0,
		Demand:         rapid.SampledFrom([]uint32{0, 0, 1, 3}).Draw(t, "demand"),
	}
}

// A rig makes random events.
type rig struct {
	w       *world
	classes int // beyond the first
}

func (r rig) class(t *rapid.T) sojourn.Class {
	return sojourn.Class(rapid.IntRange(0, r.classes).Draw(t, "class"))
}

func rackOf(n sojourn.NodeID) sojourn.RackID { return sojourn.RackID(n) / 4 }

func (r rig) addSlot(t *rapid.T) {
	n := sojourn.NodeID(rapid.IntRange(0, maxNode).Draw(t, "node"))
	s := sojourn.Slot{ID: sojourn.SlotID(rapid.IntRange(0, 12).Draw(t, "id")), Node: n, Rack: rackOf(n), Class: r.class(t)}
	if old := r.w.slot(s.ID); old != nil {
		s = old.Slot
	}
	r.w.try(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
}

func (r rig) removeSlot(t *rapid.T) {
	r.w.try(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: sojourn.SlotID(rapid.IntRange(0, 12).Draw(t, "id"))}})
}

func (r rig) node(t *rapid.T) {
	n := sojourn.NodeID(rapid.IntRange(1, maxNode).Draw(t, "node"))
	kind := sojourn.NodeDown
	if r.w.down[n] {
		kind = sojourn.NodeUp
	}
	r.w.try(sojourn.Event{Kind: kind, Slot: sojourn.Slot{Node: n, Rack: rackOf(n)}})
}

func drawPhase(t *rapid.T, class sojourn.Class, after int) sojourn.Phase {
	ph := sojourn.Phase{Tasks: rapid.IntRange(1, 8).Draw(t, "tasks"), Class: class, After: after,
		Estimate: time.Duration(rapid.SampledFrom([]int{0, 1, 5, 20}).Draw(t, "estimate")) * time.Second}
	inputs := make([][]sojourn.NodeID, ph.Tasks)
	if rapid.IntRange(0, 4).Draw(t, "inputs") > 0 {
		for i := range inputs {
			for range rapid.IntRange(0, 2).Draw(t, "replicas") {
				inputs[i] = append(inputs[i], sojourn.NodeID(rapid.IntRange(1, maxNode).Draw(t, "input")))
			}
		}
	}
	ph.Inputs = sojourn.MakeInputs(inputs)
	return ph
}

func (r rig) arrive(t *rapid.T) {
	spec := &sojourn.Job{ID: sojourn.JobID(rapid.IntRange(1, 8).Draw(t, "job")), Name: strconv.Itoa(rapid.IntRange(0, 12).Draw(t, "demand")),
		Parallelism: drawParallelism(t)}
	spec.Phases = []sojourn.Phase{drawPhase(t, r.class(t), 0)}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "reduces") {
		after := rapid.SampledFrom([]int{0, 0, 1, sojourn.NoBarrier}).Draw(t, "after")
		spec.Phases = append(spec.Phases, drawPhase(t, r.class(t), after))
	}
	kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.JobArrived, sojourn.JobArrived, sojourn.JobAdopted}).Draw(t, "kind")
	r.w.try(sojourn.Event{Kind: kind, Job: spec})
}

func drawParallelism(t *rapid.T) uint32 {
	return rapid.SampledFrom([]uint32{0, 0, 0, 1, 2, 3, 1 << 31, math.MaxUint32}).Draw(t, "parallelism")
}

func (r rig) drawJob(t *rapid.T) *job {
	if len(r.w.jobs) == 0 {
		t.Skip("no jobs")
	}
	return rapid.SampledFrom(r.w.jobs).Draw(t, "job")
}

func (r rig) revise(t *rapid.T) {
	j := *r.drawJob(t).spec
	j.Parallelism = drawParallelism(t)
	j.Phases = slices.Clone(j.Phases)
	j.Phases[0].Estimate = time.Duration(rapid.IntRange(0, 9).Draw(t, "estimate")) * time.Second
	r.w.try(sojourn.Event{Kind: sojourn.JobRevised, Job: &j})
}

func (r rig) cancel(t *rapid.T) {
	r.w.try(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: r.drawJob(t).spec.ID}})
}

func (r rig) task(t *rapid.T) {
	j := r.drawJob(t)
	phase := rapid.IntRange(0, len(j.state)-1).Draw(t, "phase")
	id := sojourn.TaskID{Job: j.spec.ID, Phase: uint16(phase), Index: uint32(rapid.IntRange(0, len(j.state[phase])-1).Draw(t, "task"))}
	ev := sojourn.Event{Task: id, Attempt: j.tries[id]}
	ev.Kind = rapid.SampledFrom([]sojourn.EventKind{
		sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost, sojourn.TaskAdopted,
	}).Draw(t, "kind")
	if ev.Kind == sojourn.TaskAdopted {
		ev.Attempt++
		ev.Slot.ID = sojourn.SlotID(rapid.IntRange(0, 12).Draw(t, "id"))
	}
	r.w.try(ev)
}

func (r rig) end(t *rapid.T) {
	var busy []*slot
	for _, s := range r.w.slots {
		if s.job != nil {
			busy = append(busy, s)
		}
	}
	if len(busy) == 0 {
		t.Skip("nothing runs")
	}
	s := rapid.SampledFrom(busy).Draw(t, "slot")
	kind := rapid.SampledFrom([]sojourn.EventKind{
		sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused,
	}).Draw(t, "kind")
	r.w.observe(sojourn.Event{Kind: kind, At: r.w.now.Add(drawTime(t, "dt")), Task: s.task, Attempt: s.attempt, Slot: s.Slot,
		Service: drawTime(t, "service")})
}

func (r rig) offer(t *rapid.T) {
	var free []*slot
	for _, s := range r.w.slots {
		if s.job == nil {
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		t.Skip("no slot is free")
	}
	r.w.offer(rapid.SampledFrom(free).Draw(t, "slot"))
}

func (r rig) round(*rapid.T) {
	for _, s := range slices.Clone(r.w.slots) {
		if s.job == nil {
			r.w.offer(s)
		}
	}
}
