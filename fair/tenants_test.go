package fair_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// A site runs tasks for as long as they say, and counts the slot time that each pool has got.
type site struct {
	tb      testing.TB
	p       sojourn.Policy
	now     sojourn.Time
	free    []sojourn.SlotID
	ends    *heap.Heap[finish] // by slot
	running map[sojourn.SlotID]attempt
	jobs    map[sojourn.JobID]*customer
	next    sojourn.JobID
	got     map[string]time.Duration // of attempts that have ended
	log     []string                 // the pools of tasks, in the order of their starts
	seq     int
	each    func(class sojourn.Class, pool string, held time.Duration) // is told of each task that has finished, unless it is nil
}

type finish struct {
	at  sojourn.Time
	seq int
}

type attempt struct {
	sojourn.Assignment
	start sojourn.Time
}

// A customer is a job: what it is called, when it came, how long its tasks take.
type customer struct {
	pool   string
	came   sojourn.Time
	length func() time.Duration
	cost   uint64 // of a task; 0 is its time
	class  sojourn.Class
	told   time.Duration       // the estimate
	waited func(time.Duration) // is told at the start of each task
}

func newSite(tb testing.TB, slots int, opts fair.Options) *site {
	s := &site{tb: tb, p: newWith(opts), running: map[sojourn.SlotID]attempt{}, jobs: map[sojourn.JobID]*customer{}, got: map[string]time.Duration{},
		ends: heap.New(func(a, b finish) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }, nil)}
	for i := range slots {
		id := sojourn.SlotID(i)
		s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
		s.free = append(s.free, id)
	}
	return s
}

func (s *site) observe(ev sojourn.Event) {
	s.tb.Helper()
	ev.At = s.now
	if err := s.p.Observe(ev); err != nil {
		s.tb.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (s *site) arrive(tasks int, c customer) {
	s.next++
	c.came = s.now
	s.jobs[s.next] = &c
	s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: s.next, Pool: c.pool, Phases: []sojourn.Phase{{Tasks: tasks, Class: c.class, Estimate: c.told}}}})
}

// until serves until an instant.
func (s *site) until(at time.Duration) {
	for {
		s.fill()
		slot, ok := s.ends.Min()
		end, _ := s.ends.MinKey()
		if !ok || end.at > sojourn.Time(at) {
			s.now = sojourn.Time(at)
			return
		}
		s.now = end.at
		s.end(sojourn.SlotID(slot), sojourn.Event{Kind: sojourn.TaskFinished, Cost: s.jobs[s.running[sojourn.SlotID(slot)].Task.Job].cost})
	}
}

// end ends the attempt on a slot.
func (s *site) end(slot sojourn.SlotID, ev sojourn.Event) {
	a := s.running[slot]
	delete(s.running, slot)
	s.ends.Remove(uint32(slot))
	ev.Task, ev.Attempt, ev.Slot = a.Task, a.Attempt, sojourn.Slot{ID: slot}
	s.observe(ev)
	s.free = append(s.free, slot)
	if ev.Kind == sojourn.TaskFinished {
		c := s.jobs[a.Task.Job]
		s.got[c.pool] += s.now.Sub(a.start)
		if s.each != nil {
			s.each(c.class, c.pool, s.now.Sub(a.start))
		}
	}
}

func (s *site) fill() {
	for i := 0; i < len(s.free); {
		slot := s.free[i]
		a, ok := s.p.Assign(slot)
		if !ok {
			i++
			continue
		}
		s.free = slices.Delete(s.free, i, i+1)
		c := s.jobs[a.Task.Job]
		if c.waited != nil {
			c.waited(s.now.Sub(c.came))
		}
		s.log = append(s.log, c.pool)
		s.running[slot] = attempt{a, s.now}
		s.seq++
		s.ends.Set(uint32(slot), finish{s.now.Add(c.length()), s.seq})
	}
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// service returns the slot time that pools have got, with what running attempts have held.
func (s *site) service() map[string]time.Duration {
	got := map[string]time.Duration{}
	for pool, d := range s.got {
		got[pool] = d
	}
	for _, a := range s.running {
		got[s.jobs[a.Task.Job].pool] += s.now.Sub(a.start)
	}
	return got
}

// With more pools than slots, pools get slot time by their weights, however long their tasks are. With
// the order Running, weights do nothing, and pools of long tasks get more.
func TestMorePoolsThanSlots(t *testing.T) {
	type of struct {
		pools  int
		length time.Duration
		weight float64
		want   time.Duration // of 1000 s
	}
	for _, test := range []struct {
		name  string
		slots int
		kinds []of
	}{
		{"tasks of 10 s and of 1 s", 4, []of{{4, 10 * time.Second, 1, 500 * time.Second}, {4, time.Second, 1, 500 * time.Second}}},
		{"weights 4 and 1", 4, []of{{2, time.Second, 4, 1143 * time.Second}, {6, time.Second, 1, 286 * time.Second}}},
		{"64 slots, 100 pools", 64, []of{{20, time.Second, 4, 1600 * time.Second}, {80, time.Second, 1, 400 * time.Second}}},
	} {
		for _, order := range []fair.Order{fair.Service, fair.Running} {
			opts := fair.Options{Order: order, Pools: map[string]fair.Pool{}}
			for k, kind := range test.kinds {
				for i := range kind.pools {
					opts.Pools[fmt.Sprint(k, "-", i)] = fair.Pool{Weight: kind.weight}
				}
			}
			s := newSite(t, test.slots, opts)
			for k, kind := range test.kinds {
				for i := range kind.pools {
					s.arrive(1<<20, customer{pool: fmt.Sprint(k, "-", i), length: always(kind.length)})
				}
			}
			s.until(1000 * time.Second)
			got := s.service()
			off, mean := 0.0, make([]float64, len(test.kinds))
			for k, kind := range test.kinds {
				for i := range kind.pools {
					x := got[fmt.Sprint(k, "-", i)].Seconds()
					off = max(off, math.Abs(x/kind.want.Seconds()-1))
					mean[k] += x / float64(kind.pools)
				}
			}
			t.Logf("%s, order %v: a pool of each kind got %.0f s, and pools are off their shares by up to %.1f %%", test.name, order, mean, 100*off)
			if order == fair.Service && off > 0.02 {
				t.Errorf("%s: a pool is off its share by %.1f %%, want at most 2 %%", test.name, 100*off)
			}
		}
	}
}

// Six pools of long tasks always have work. 54 others come for a second now and then, at half of the
// load, on 16 slots: they wait 8 s on average at most.
func TestShortTenantsWaitLittle(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	s := newSite(t, 16, fair.Options{})
	for h := range 6 {
		s.arrive(10_000, customer{pool: fmt.Sprint("heavy", h), length: always(20 * time.Second)})
	}
	n, sum := 0, time.Duration(0)
	for at := 0.0; at < 1000; at += r.ExpFloat64() / 8 {
		s.until(time.Duration(at * float64(time.Second)))
		s.arrive(1, customer{pool: fmt.Sprint("light", r.IntN(54)), length: always(time.Second), waited: func(d time.Duration) { n, sum = n+1, sum+d }})
	}
	s.until(2000 * time.Second)
	mean := sum / time.Duration(n)
	t.Logf("%d tasks waited %v on average", n, mean)
	if n < 7000 || mean > 8*time.Second {
		t.Errorf("%d tasks waited %v on average, want at most 8 s", n, mean)
	}
}

// A hundred tenants whose tasks are as different as those of real clusters get the same, to a Jain index
// of 0.99.
func TestHundredTenantsGetTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	s := newSite(t, 16, fair.Options{})
	for i := range 100 {
		s.arrive(1<<20, customer{pool: fmt.Sprint(i), length: func() time.Duration {
			return time.Duration(math.Exp(1.5*r.NormFloat64()) * float64(time.Second))
		}})
	}
	s.until(10_000 * time.Second)
	sum, squares, n := 0.0, 0.0, 0.0
	for _, d := range s.service() {
		x := d.Seconds()
		sum, squares, n = sum+x, squares+x*x, n+1
	}
	jain := sum * sum / (n * squares)
	t.Logf("Jain index %.4f", jain)
	if n != 100 || jain < 0.99 {
		t.Errorf("the Jain index of %v tenants is %.4f, want at least 0.99", n, jain)
	}
}

// Tenants whose tasks cost something else than time share the cost by their weights, whatever is estimated. A tenant that comes later is
// level with them, and one whose tasks have cost nothing so far gets no more than others.
func TestCostsAreShared(t *testing.T) {
	s := newSite(t, 4, fair.Options{Pools: map[string]fair.Pool{"a": {Weight: 3}, "b": {}, "c": {}}})
	spent := map[string]float64{}
	add := func(pool string, cost uint64, length time.Duration) {
		s.arrive(1<<20, customer{pool: pool, cost: cost, length: func() time.Duration { spent[pool] += float64(cost); return length }})
	}
	add("a", 500, 10*time.Second)
	add("b", 20, time.Second)
	s.until(1000 * time.Second)
	if ratio := spent["a"] / spent["b"]; ratio < 2.9 || ratio > 3.1 {
		t.Errorf("weights 3 and 1 got %v: a ratio of %.2f, want 3", spent, ratio)
	}
	before := spent["b"]
	add("c", 7, 3*time.Second)
	s.until(3000 * time.Second)
	if ratio := spent["c"] / (spent["b"] - before); ratio < 0.95 || ratio > 1.05 {
		t.Errorf("equal weights got %v and %v from the arrival of one on", spent["c"], spent["b"]-before)
	}
}

// A tenant whose first task is long, where costs are far below the time in nanoseconds, does not wait for it: it has places by its
// weight at once.
func TestLongTaskOfANewTenantCostsNothingYet(t *testing.T) {
	s := newSite(t, 4, fair.Options{})
	s.arrive(1<<20, customer{pool: "old", cost: 500, length: always(time.Second)})
	s.until(100 * time.Second)
	s.arrive(4, customer{pool: "new", cost: 500, length: always(time.Hour)})
	s.until(103 * time.Second)
	if got := strings.Count(strings.Join(s.log, " "), "new"); got < 2 {
		t.Errorf("the new tenant has started %d tasks after three seconds, want two at least", got)
	}
}

// An estimate counts as what such a time has cost of late: a tenant who tells how long its tasks take has its places at once.
func TestEstimatesWhereCostsAreTold(t *testing.T) {
	s := newSite(t, 4, fair.Options{})
	s.arrive(1<<20, customer{pool: "old", cost: 500, length: always(time.Second)})
	s.until(100 * time.Second)
	s.arrive(4, customer{pool: "new", length: always(time.Hour), told: 10 * time.Second})
	s.until(160 * time.Second)
	if got := strings.Count(strings.Join(s.log, " "), "new"); got < 2 {
		t.Errorf("the new tenant has started %d tasks after a minute, want two at least", got)
	}
}

// Time that passed before the first cost was told does not count: a tenant that comes afterwards is level with the others.
func TestFirstCostLevelsAll(t *testing.T) {
	s := newSite(t, 2, fair.Options{})
	for _, pool := range []string{"a", "b"} {
		n := 0
		s.arrive(1<<20, customer{pool: pool, cost: 500, length: func() time.Duration {
			if n++; n == 1 {
				return 100 * time.Second
			}
			return time.Second
		}})
	}
	s.until(50 * time.Second)
	s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}})
	s.free = append(s.free, 2)
	s.until(200 * time.Second)
	came := len(s.log)
	s.arrive(1<<20, customer{pool: "c", cost: 500, length: always(time.Second)})
	s.until(300 * time.Second)
	if got := strings.Count(strings.Join(s.log[came:], " "), "c"); got < 95 || got > 105 {
		t.Errorf("the new tenant has started %d of 300 tasks, want a third", got)
	}
}

// starts counts the tasks of each pool that have started since.
func starts(log []string) map[string]int {
	n := map[string]int{}
	for _, pool := range log {
		n[pool]++
	}
	return n
}

// What tasks took before costs were told says nothing of what they cost: a tenant that comes soon after the first cost is level.
func TestTimesBeforeCostsAreForgotten(t *testing.T) {
	s := newSite(t, 4, fair.Options{})
	for _, pool := range []string{"a", "b"} {
		s.arrive(1<<20, customer{pool: pool, length: always(time.Second)})
	}
	s.until(30*time.Second + 500*time.Millisecond)
	for _, c := range s.jobs {
		c.cost = 100
	}
	s.until(34*time.Second + 500*time.Millisecond)
	s.arrive(1<<20, customer{pool: "c", length: always(time.Second), cost: 100})
	s.log = nil
	s.until(334 * time.Second)
	if got := starts(s.log); got["c"] < 380 || got["a"] < 380 || got["b"] < 380 {
		t.Errorf("three tenants have started %v, want 400 each", got)
	}
}

// Estimates are charged as nothing in a class in which nothing has ended yet, where costs are told in another one.
func TestEstimatesOfAClassWithoutCosts(t *testing.T) {
	s := newSite(t, 1, fair.Options{})
	s.arrive(1<<20, customer{pool: "a", length: always(time.Second), cost: 100})
	s.until(5 * time.Second)
	for i := range 4 {
		slot := sojourn.Slot{ID: sojourn.SlotID(i + 1), Class: 1}
		s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
		s.free = append(s.free, slot.ID)
	}
	in := func(pool string) {
		s.arrive(1<<20, customer{pool: pool, length: always(time.Second), cost: 100, class: 1, told: time.Second})
	}
	in("x")
	in("y")
	s.until(10 * time.Second)
	in("z")
	s.log = nil
	s.until(310 * time.Second)
	if got := starts(s.log); got["x"] < 380 || got["y"] < 380 || got["z"] < 380 {
		t.Errorf("three tenants have started %v, want 400 each", got)
	}
}

// A failure before the first cost was told is owed in time, and is forgotten.
func TestDebtBeforeCosts(t *testing.T) {
	s := newSite(t, 2, fair.Options{})
	for _, pool := range []string{"a", "b"} {
		s.arrive(1<<20, customer{pool: pool, length: always(time.Second), cost: 100})
	}
	s.fill()
	s.now = sojourn.Time(time.Second)
	s.end(0, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask})
	s.log = nil
	s.until(100 * time.Second)
	if got := starts(s.log); got["a"] < 90 || got["b"] < 90 {
		t.Errorf("two tenants have started %v, want 100 each", got)
	}
}

// So is that of a job which the first cost ends.
func TestDebtOfTheJobThatEnds(t *testing.T) {
	s := newSite(t, 2, fair.Options{})
	s.arrive(1, customer{pool: "a", length: always(time.Second), cost: 100})
	n := 0
	s.arrive(1<<20, customer{pool: "b", cost: 100, length: func() time.Duration {
		if n++; n == 1 {
			return 10 * time.Second
		}
		return time.Second
	}})
	s.fill()
	s.now = sojourn.Time(time.Second)
	s.end(0, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask})
	s.until(20 * time.Second)
	s.arrive(1<<20, customer{pool: "a", length: always(time.Second), cost: 100})
	s.log = nil
	s.until(120 * time.Second)
	if got := starts(s.log); got["a"] < 90 || got["b"] < 90 {
		t.Errorf("two tenants have started %v, want 100 each", got)
	}
}

// Jobs of one pool are level, too, when the first cost is told.
func TestTiesBeforeCosts(t *testing.T) {
	s := newSite(t, 1, fair.Options{})
	s.arrive(1<<20, customer{pool: "a", length: always(3 * time.Second)})
	s.arrive(1<<20, customer{pool: "a", length: always(2 * time.Second)})
	s.until(21 * time.Second)
	for _, c := range s.jobs {
		c.cost = 100
	}
	n := map[sojourn.JobID]int{}
	for i := range 300 {
		s.until(time.Duration(22+i) * time.Second)
		for _, a := range s.running {
			n[a.Task.Job]++
		}
	}
	if n[1] < 160 || n[2] < 100 { // 3 s and 2 s for the same cost
		t.Errorf("the jobs were seen running %v times of 300, want 180 and 120", n)
	}
	s.arrive(1<<20, customer{pool: "a", length: always(time.Second), cost: 100})
	came := s.next
	got := 0
	for i := range 300 {
		s.until(time.Duration(322+i)*time.Second + 500*time.Millisecond)
		for _, a := range s.running {
			if a.Task.Job == came {
				got++
			}
		}
	}
	if got < 40 { // 1 s of each 6
		t.Errorf("a job that came later was seen running %d times of 300, want 50", got)
	}
}

// An end that tells of no cost beside others counts as what such a time costs: not as its nanoseconds.
func TestEndWithoutCost(t *testing.T) {
	s := newSite(t, 2, fair.Options{})
	for _, pool := range []string{"a", "b"} {
		s.arrive(1<<20, customer{pool: pool, length: always(time.Second), cost: 100})
	}
	s.until(10*time.Second + 500*time.Millisecond)
	s.jobs[1].cost = 0
	s.until(11*time.Second + 500*time.Millisecond)
	s.jobs[1].cost = 100
	s.log = nil
	s.until(110 * time.Second)
	if got := starts(s.log); got["a"] < 90 || got["b"] < 90 {
		t.Errorf("two tenants have started %v, want 99 each", got)
	}
}

// A tenant that comes while another one has had two tasks is served next: A1 A2 B1 A3 B2 B3.
func TestTenantThatComesIsServedNext(t *testing.T) {
	s := newSite(t, 1, fair.Options{})
	for range 3 {
		s.arrive(1, customer{pool: "A", length: always(time.Second)})
	}
	s.until(1500 * time.Millisecond)
	for range 3 {
		s.arrive(1, customer{pool: "B", length: always(time.Second)})
	}
	s.until(time.Minute)
	if got := strings.Join(s.log, " "); got != "A A B A B B" {
		t.Errorf("tasks of %s, want A A B A B B", got)
	}
}

// A tenant that has had nothing for ten rounds waits for no round.
func TestIdleTenantWaitsForNoRound(t *testing.T) {
	for _, test := range []struct{ slots, busy int }{{1, 20}, {4, 100}} {
		s := newSite(t, test.slots, fair.Options{})
		for i := range test.busy {
			s.arrive(1<<20, customer{pool: fmt.Sprint(i), length: always(time.Second)})
		}
		worst := time.Duration(0)
		for at := 300 * time.Second; at < 3000*time.Second; at += 211*time.Second + 370*time.Millisecond {
			s.until(at)
			s.arrive(1, customer{pool: "light", length: always(time.Second), waited: func(d time.Duration) { worst = max(worst, d) }})
		}
		s.until(3100 * time.Second)
		t.Logf("%d slots, %d busy tenants: up to %v", test.slots, test.busy, worst)
		if worst == 0 || worst > 3*time.Second {
			t.Errorf("%d slots, %d busy tenants: the light one waits up to %v, want at most 3 s", test.slots, test.busy, worst)
		}
	}
}

// A pool with two tasks is served twice, although others come for one task each and go again, so that
// one is there at any time: the same three, or new ones.
func TestPoolsThatComeAndGoLetOthersPass(t *testing.T) {
	for _, tc := range []struct {
		names int
		half  time.Duration
	}{{3, 0}, {1 << 20, 0}, {3, 1}, {3, time.Second}, {3, time.Hour}, {1 << 20, time.Second}} {
		s, names := newSite(t, 1, fair.Options{HalfLife: tc.half}), tc.names
		served := 0
		for i := range 100 {
			if i == 5 {
				s.arrive(2, customer{pool: "z", length: always(time.Second), waited: func(time.Duration) { served++ }})
			}
			s.arrive(1, customer{pool: fmt.Sprint(i % names), length: always(time.Second)})
			s.until(time.Duration(i) * time.Second)
		}
		if served != 2 {
			t.Errorf("%d names, half-life %v: z was served %d times of 2 beside %d others", names, tc.half, served, len(s.log))
		}
	}
}

// A pool that leaves with its last task and comes again has what it had: it gets half, however long its tasks are.
func TestPoolThatLeavesKeepsItsDebt(t *testing.T) {
	for _, length := range []time.Duration{time.Second, 10 * time.Second} {
		s := newSite(t, 1, fair.Options{})
		s.arrive(1<<20, customer{pool: "stays", length: always(time.Second)})
		times := 0
		for i := range 1000 {
			s.until(time.Duration(i) * 500 * time.Millisecond)
			if s.got["comes"] == time.Duration(times)*length { // all its tasks have ended
				s.arrive(1, customer{pool: "comes", length: always(length)})
				times++
			}
		}
		if a, b := s.got["stays"], s.got["comes"]; a < 240*time.Second || b > 260*time.Second {
			t.Errorf("tasks of %v: the pool that stays had %v and the other one %v, which came %d times, want half each", length, a, b, times)
		}
	}
}

// Sibling pools that always have tasks get service by their weights within N u, in runs with lost and failed
// attempts, slots that come and go, estimates that are wrong, nested pools, jobs beside them and two classes. N is the greatest
// number of slots of a class; c is twice the longest task, since what has failed is charged together with the
// attempt after it, and a sixteenth more. As many runs are made as rapid makes checks, and 60 at least.
func TestServiceWithinTheBound(t *testing.T) { serviceWithinTheBound(t, 0, fair.Options{}) }

// If ends tell of costs, which have nothing to do with how long tasks take, costs are what pools get by their weights: within the
// same bound, with c twice the greatest cost.
func TestCostWithinTheBound(t *testing.T) { serviceWithinTheBound(t, 1000, fair.Options{}) }

// A half-life changes nothing for pools that always have work.
func TestHalfLifeWithinTheBound(t *testing.T) {
	serviceWithinTheBound(t, 0, fair.Options{HalfLife: 3})
}

// serviceWithinTheBound runs pools whose ends tell of costs of up to 20 units, or of none if the unit is 0.
func serviceWithinTheBound(t *testing.T, unit int64, opts fair.Options) {
	const longest = 20
	worst := 0.0
	for seed := range uint64(max(60, histories.Count(t))) {
		r := rand.New(rand.NewPCG(seed, 5))
		var weights []int64 // of the pools that are compared
		opts.Pools = map[string]fair.Pool{}
		up := ""
		if r.IntN(2) == 0 {
			up = "team/"
			opts.Pools["team"] = fair.Pool{Weight: 2}
		}
		for i := range 2 + r.IntN(4) {
			weights = append(weights, []int64{1, 1, 2, 3, 50}[r.IntN(5)])
			opts.Pools[fmt.Sprint(up, i)] = fair.Pool{Weight: float64(weights[i])}
		}
		slots, classes := 1+r.IntN(4), 1+r.IntN(2)
		p := newWith(opts)
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		slot := func(id int) sojourn.Slot {
			return sojourn.Slot{ID: sojourn.SlotID(id), Class: sojourn.Class(id % classes), Node: sojourn.NodeID(id / classes)} // none on node 0
		}
		for id := range slots * classes {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot(id)})
		}
		type run struct {
			a     sojourn.Assignment
			start sojourn.Time
		}
		var (
			lengths []int      // by job; the first ones are those of the pools that are compared, one of each
			got     [][2]int64 // by job and class
			owed    [][2]int64 // the same: what has failed and is not charged yet
			running = map[int]run{}
			gone    = map[int]bool{}
		)
		for i := range len(weights) + 1 {
			name := fmt.Sprint(up, i)
			if i == len(weights) { // a job of another pool, beside team
				name = "z"
			}
			job := &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: name}
			for c := range classes {
				job.Phases = append(job.Phases, sojourn.Phase{Tasks: 100_000, Class: sojourn.Class(c), Estimate: time.Duration(r.IntN(2) * r.IntN(longest))})
				if opts.Window > 0 {
					job.Phases[c].Tasks, job.Phases[c].Inputs = 2000, at(2000, sojourn.NodeID(i%4))
				}
			}
			lengths = append(lengths, 1+r.IntN(longest))
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		}
		if up != "" && seed%3 > 0 { // a job beside the pools
			job := &sojourn.Job{ID: sojourn.JobID(len(lengths) + 1), Pool: "team", Weight: float64(seed % 3)}
			for c := range classes {
				job.Phases = append(job.Phases, sojourn.Phase{Tasks: 100_000, Class: sojourn.Class(c)})
			}
			lengths = append(lengths, 1+r.IntN(longest))
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		}
		got, owed = make([][2]int64, len(lengths)), make([][2]int64, len(lengths))
		end := func(id int, kind sojourn.EventKind, cause sojourn.Cause) {
			of := running[id]
			delete(running, id)
			job, class, held := int(of.a.Task.Job)-1, id%classes, int64(now-of.start)
			ev := sojourn.Event{Kind: kind, Cause: cause, Task: of.a.Task, Attempt: of.a.Attempt, Slot: sojourn.Slot{ID: of.a.Slot}}
			if unit > 0 && kind != sojourn.TaskRefused {
				held = unit * int64(1+r.IntN(longest))
				ev.Cost = uint64(held)
			}
			observe(ev)
			switch was := &owed[job][class]; {
			case kind == sojourn.TaskRefused || kind == sojourn.TaskFailed && cause != sojourn.CauseTask:
			case kind == sojourn.TaskFailed && *was == 0:
				*was = held
			default:
				got[job][class] += max(held+*was, 1)
				*was = 0
			}
		}
		for range 400 {
			for id := range slots * classes {
				if _, busy := running[id]; busy || gone[id] {
					continue
				}
				if a, ok := p.Assign(sojourn.SlotID(id)); ok {
					running[id] = run{a, now}
				}
			}
			now++
			for id := range slots * classes {
				of, busy := running[id]
				if !busy {
					continue
				}
				length := lengths[of.a.Task.Job-1]
				switch x := r.IntN(100); {
				case int(now-of.start) >= length || r.IntN(longest) == 0:
					end(id, sojourn.TaskFinished, 0)
				case x < len(mishaps):
					m := mishaps[x]
					if end(id, m.kind, m.cause); m.cause == sojourn.CauseSlotLost {
						observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
						gone[id] = true
					}
				}
			}
			for id := range slots * classes {
				if gone[id] && r.IntN(10) == 0 {
					delete(gone, id)
					observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot(id)})
				}
			}
			for i, a := range weights {
				for j, b := range weights[:i] {
					for c := range classes {
						d := b*got[i][c] - a*got[j][c]
						most := float64(slots)*2*longest*float64(max(unit, 1))*17/16*float64(a+b) + float64(opts.Window)*float64(a*b)
						share := math.Abs(float64(d)) / most
						if worst = max(worst, share); share > 1 {
							t.Fatalf("seed %d: pools %s%d and %s%d, class %d: got %v with weights %v: %.2f of the bound", seed, up, i, up, j, c, got, weights, share)
						}
					}
				}
			}
		}
	}
	t.Logf("%.2f of the bound at most", worst)
	if worst < 0.2 {
		t.Errorf("%.2f of the bound at most: the runs are too tame to show anything", worst)
	}
}

// A pool that is there and has nothing to start earns nothing meanwhile.
func TestPoolThatHadNothingToStartIsLevel(t *testing.T) {
	s := newSite(t, 1, fair.Options{})
	s.arrive(100, customer{pool: "busy", length: always(time.Second)})
	s.arrive(20, customer{pool: "held", length: always(time.Second)})
	for i := range uint32(20) {
		s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 2, Index: i}})
	}
	s.until(50 * time.Second)
	for i := range uint32(20) {
		s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: 2, Index: i}})
	}
	s.until(70 * time.Second)
	if a, b := s.got["busy"], s.got["held"]; a < 59*time.Second || a > 61*time.Second {
		t.Errorf("the busy pool got %v and the other one %v of 70 s, want 60 and 10", a, b)
	}
}

// A pool that has something to start for no longer than an instant stands where it stood before. If it stayed level with others,
// what is taken back of its running attempt would be taken from another place.
func TestInstantLeavesAPoolWhereItStood(t *testing.T) {
	cancelled := func(s *site, held sojourn.JobID) {
		s.next++
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: s.next, Pool: "a", Phases: []sojourn.Phase{{Tasks: 1}}}})
		s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: s.next}})
	}
	for name, instant := range map[string]func(s *site, held sojourn.JobID){
		"nothing":             func(*site, sojourn.JobID) {},
		"a job that vanishes": cancelled,
		"twice":               func(s *site, held sojourn.JobID) { cancelled(s, held); cancelled(s, held) },
		"a task that is ready and held": func(s *site, held sojourn.JobID) {
			s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: held}})
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: held}})
		},
		"restored between": func(s *site, held sojourn.JobID) {
			s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: held}})
			data, err := s.p.(sojourn.Snapshotter).AppendBinary(nil)
			other := newWith(fair.Options{})
			if err != nil || other.(sojourn.Snapshotter).UnmarshalBinary(data) != nil {
				s.tb.Fatal("no snapshot")
			}
			s.p = other
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: held}})
		},
		"paused and resumed and paused": func(s *site, held sojourn.JobID) {
			for _, paused := range []bool{true, false, true} {
				s.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: "a", Paused: paused}})
				if !paused {
					s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: held}})
				}
			}
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: held}})
			s.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: "a"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, 3, fair.Options{})
			s.arrive(1, customer{pool: "a", told: time.Minute, length: always(time.Minute)})
			s.arrive(1, customer{pool: "a", length: always(time.Second)})
			held := s.next
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: held}})
			s.arrive(100, customer{pool: "b", length: always(10 * time.Second)})
			s.until(41 * time.Second) // virtual time is 80 s, and a stands at the minute that its attempt is charged
			instant(s, held)
			s.until(45 * time.Second)
			s.end(0, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost}) // a stands at 0
			s.arrive(100, customer{pool: "a", told: time.Second, length: always(time.Second)})
			seen := len(s.log)
			s.until(100 * time.Second)
			if n := slices.Index(s.log[seen:], "b"); n < 40 || n > 42 {
				t.Errorf("%d starts of a before the next one of b, want its lost attempt, of a minute, and 40 of a second: %v", n, s.log[seen:])
			}
		})
	}
}

// A pool that is behind others and loses its only attempt is served next: it stands where it stood before that started.
// If it were made level with others, as a pool is that had nothing to start, lost work would cost it its place.
func TestPoolThatLosesItsOnlyAttemptKeepsItsPlace(t *testing.T) {
	for _, lost := range []sojourn.Event{
		{Kind: sojourn.TaskRefused},
		{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
		{Kind: sojourn.TaskFailed},
	} {
		p := newWith(fair.Options{})
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		next := sojourn.JobID(0)
		arrive := func(at sojourn.Time, pool string, tasks int) {
			next++
			observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{ID: next, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: 10 * time.Second}}}})
		}
		assign := func(slot sojourn.SlotID, job sojourn.JobID) sojourn.Assignment {
			t.Helper()
			a, ok := p.Assign(slot)
			if !ok || a.Task.Job != job {
				t.Fatalf("after %v: slot %d goes to job %d, want %d", lost, slot, a.Task.Job, job)
			}
			return a
		}
		arrive(0, "a", 9)
		arrive(0, "b", 2)
		for id := range sojourn.SlotID(3) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
		}
		a := assign(0, 1)
		b := assign(1, 2)
		assign(2, 1)
		now := sojourn.Time(time.Second)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: b.Task, Attempt: b.Attempt, Slot: sojourn.Slot{ID: 1}}) // b has had 1 s
		b = assign(1, 2)
		now = sojourn.Time(10 * time.Second)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
		assign(0, 1)        // virtual time is 20 s
		arrive(now, "c", 1) // it has nothing, at virtual time
		lost.At, lost.Task, lost.Attempt, lost.Slot = now, b.Task, b.Attempt, sojourn.Slot{ID: 1}
		observe(lost)
		assign(1, 2)
	}
}

// Pools that come and go keep no pool waiting.
func TestPools(t *testing.T) {
	sojourntest.Pools(t, func() sojourn.Policy { return newWith(fair.Options{}) }, sojourntest.PoolOptions{Within: 60})
}

// 100,000 pools that come with a task each and vanish with it leave nothing behind, and a pool that stays gets
// half of the time beside them.
func TestPoolsThatVanishLeaveNothing(t *testing.T) {
	t.Run("without credit", func(t *testing.T) { poolsThatVanish(t, fair.Options{}) })
	t.Run("with credit", func(t *testing.T) { poolsThatVanish(t, fair.Options{Credit: time.Hour}) })
}

func poolsThatVanish(t *testing.T, opts fair.Options) {
	s := newSite(t, 1, opts)
	s.arrive(1<<20, customer{pool: "stays", length: always(time.Second)})
	for i := range 100_000 {
		s.arrive(1, customer{pool: fmt.Sprint(i), length: always(time.Second)})
		s.until(s.now.Sub(0) + 2*time.Second)
		if s.next > 101 { // of the ones before, all have ended
			delete(s.jobs, s.next-99)
		}
		if i%10_000 == 9_999 {
			data, err := s.p.(sojourn.Snapshotter).AppendBinary(nil)
			if err != nil || len(data) > 140_000 { // of which a bit for each task that stays
				t.Fatalf("after %d pools the policy keeps %d bytes, %v", i, len(data), err)
			}
		}
	}
	if got, all := s.got["stays"], s.now.Sub(0); got < all*49/100 || got > all*51/100 {
		t.Errorf("the pool that stays got %v of %v, want half", got, all)
	}
}

// 100,000 pools that always have work each get a turn before any gets two. A step takes no memory, and little more time than with 1,000 pools: it grows with the logarithm of their number,
// and what memory is farther away. If a step looked at all pools, it would take a hundred times as long.
func TestHundredThousandPools(t *testing.T) {
	step := map[int]func(){}
	for _, many := range []int{1000, 100_000} {
		s := newSite(t, 16, fair.Options{})
		for i := range many {
			s.arrive(1000, customer{pool: fmt.Sprint(i), length: always(time.Second)})
		}
		s.until(time.Duration(many/16+1) * time.Second)
		turns := starts(s.log[:many])
		for pool, n := range turns {
			if n != 1 {
				t.Fatalf("%d pools: after so many turns pool %s has had %d", many, pool, n)
			}
		}
		var running [16]sojourn.Assignment
		for id := range running {
			running[id] = s.running[sojourn.SlotID(id)].Assignment
		}
		at, k := s.now, 0
		step[many] = func() {
			a := &running[k%16]
			k++
			at = at.Add(time.Second / 16)
			if s.p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: at, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}) != nil {
				t.Fatal("an end is refused")
			}
			*a, _ = s.p.Assign(a.Slot)
		}
		for range 2 * many { // until there is room
			step[many]()
		}
		if n := testing.AllocsPerRun(1000, step[many]); n != 0 {
			t.Errorf("%d pools: a step allocates %v times, want 0", many, n)
		}
	}
	best := map[int]time.Duration{}
	for range 200 {
		for many, one := range step {
			start := time.Now()
			for range 200 {
				one()
			}
			if d := time.Since(start) / 200; best[many] == 0 || d < best[many] {
				best[many] = d
			}
		}
	}
	t.Logf("a step takes %v with 1,000 pools and %v with 100,000", best[1000], best[100_000])
	if best[100_000] > 30*best[1000] {
		t.Errorf("a step takes %v with 1,000 pools and %v with 100,000, want at most 30 times as long", best[1000], best[100_000])
	}
}

// The least and the greatest weight stand beside each other: the light pool has one turn, the heavy one all others, and
// when that has gone, the light one goes on.
func TestWeightsAtBothEnds(t *testing.T) {
	for _, order := range []fair.Order{fair.Service, fair.Running} {
		s := newSite(t, 1, fair.Options{Order: order, Pools: map[string]fair.Pool{"light": {Weight: 1. / (1 << 16)}, "heavy": {Weight: 1<<32 - 1}}})
		s.arrive(10, customer{pool: "light", length: always(time.Hour)})
		s.arrive(2000, customer{pool: "heavy", length: always(time.Second)})
		s.until(2 * time.Hour)
		if order == fair.Service && (s.got["light"] != time.Hour || s.got["heavy"] != 2000*time.Second) {
			t.Errorf("in two hours the light pool got %v and the heavy one %v, want an hour and 2000 s", s.got["light"], s.got["heavy"])
		}
		s.until(20 * time.Hour)
		if s.got["light"] != 10*time.Hour || s.got["heavy"] != 2000*time.Second {
			t.Errorf("order %v: the light pool got %v and the heavy one %v, want all of their tasks", order, s.got["light"], s.got["heavy"])
		}
	}
}

// A pool whose tasks never end leaves a quarter of the slots to a pool of short tasks, although nobody told how long they
// take: half of the slots at first, and half of those that end when the pools are level again. Then it is ahead for ever.
func TestPoolWhoseTasksNeverEnd(t *testing.T) {
	s := newSite(t, 64, fair.Options{})
	s.arrive(100, customer{pool: "for ever", length: always(1000 * time.Hour)})
	s.arrive(1<<20, customer{pool: "short", length: always(time.Second)})
	s.until(1000 * time.Second)
	if got := s.got["short"]; got < 16*999*time.Second {
		t.Errorf("the pool of short tasks got %v of 64 slots in 1,000 s, want 16 slots at least", got)
	}
}

// If the clock stands still, pools have turns by their weights: an attempt that takes no time counts as a nanosecond.
func TestClockThatStandsStill(t *testing.T) {
	s := newSite(t, 1, fair.Options{Pools: map[string]fair.Pool{"a": {Weight: 3}}})
	s.arrive(1000, customer{pool: "a", length: always(0)})
	s.arrive(1000, customer{pool: "b", length: always(0)})
	count := map[string]int{}
	for range 400 {
		a, ok := s.p.Assign(0)
		if !ok {
			t.Fatal("a slot stays free")
		}
		count[s.jobs[a.Task.Job].pool]++
		s.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt})
	}
	if count["a"] < 299 || count["a"] > 301 {
		t.Errorf("of 400 tasks, %v, want 300 of a and 100 of b", count)
	}
}

// A pool that declines slots keeps its tag, and when it takes slots again, it gets what it let pass before others get
// anything: there is no bound on that.
func TestPoolThatDeclinedIsServedFirst(t *testing.T) {
	idle := true
	s := newSite(t, 1, fair.Options{Pools: map[string]fair.Pool{"choosy": {Policy: func() sojourn.Policy { return &hesitant{newFIFO(), &idle} }}}})
	s.arrive(1000, customer{pool: "busy", length: always(time.Second)})
	s.arrive(1000, customer{pool: "choosy", length: always(time.Second)})
	s.until(100 * time.Second)
	idle = false
	s.until(200 * time.Second)
	if a, b := s.got["busy"], s.got["choosy"]; a < 100*time.Second || a > 101*time.Second || b < 99*time.Second {
		t.Errorf("in 200 s, of which one pool declined for 100, it got %v and the other one %v, want 100 s each", b, a)
	}
}

// A hesitant policy takes no slot while it is idle.
type hesitant struct {
	sojourn.Policy
	idle *bool
}

func (w *hesitant) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if *w.idle {
		return 0, false
	}
	seeker, _ := sojourn.As[sojourn.Seeker](w.Policy)
	return seeker.Seek(c)
}

func (w *hesitant) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	if *w.idle {
		return a, false
	}
	return w.Policy.Assign(id)
}

// A pool that brings two tasks at 5 s does not wait for those that come with one at a time, each second one of three, so that a slot is never
// free: its second task starts by 12 s, and with the order Running by 9 s.
func TestTwoTasksBesideSinglesAreServed(t *testing.T) {
	for _, order := range []fair.Order{fair.Service, fair.Running} {
		for ties := fair.LeastService; ties <= fair.Arrival; ties++ {
			for _, half := range []time.Duration{0, time.Second, time.Hour} {
				if half > 0 && order == fair.Running {
					continue
				}
				s := newSite(t, 1, fair.Options{Order: order, Ties: ties, HalfLife: half})
				var starts []time.Duration
				second := func() time.Duration { return time.Second }
				for i := range 100 {
					s.until(time.Duration(i) * time.Second)
					s.arrive(1, customer{pool: string("abc"[i%3]), length: second})
					if i == 5 {
						s.arrive(2, customer{pool: "z", length: second, waited: func(w time.Duration) { starts = append(starts, 5*time.Second+w) }})
					}
				}
				s.until(200 * time.Second)
				latest := map[fair.Order]time.Duration{fair.Service: 12 * time.Second, fair.Running: 9 * time.Second}[order]
				if len(starts) != 2 || starts[1] > latest {
					t.Errorf("%v, %v, half-life %v: the tasks start at %v, want the second one by %v", order, ties, half, starts, latest)
				}
			}
		}
	}
}

// What a pool has held beyond what it was charged stays when it starts another task, whether the policy assigns that or it is adopted. On the
// last slot, b has been charged 12 s, and a 10 s of overdue work and 10 s of what it has just started.
func TestOverdueWorkStays(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		s := newSite(t, 1, fair.Options{})
		add := func(id sojourn.SlotID) {
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			s.free = append(s.free, id)
		}
		s.arrive(1, customer{pool: "a", told: time.Second, length: always(time.Hour)})
		s.until(10 * time.Second)
		s.arrive(9, customer{pool: "a", told: 10 * time.Second, length: always(time.Hour)})
		s.arrive(9, customer{pool: "b", told: 12 * time.Second, length: always(time.Hour)})
		add(1)
		s.fill()
		if add(2); adopted {
			s.free = nil
			s.observe(sojourn.Event{Kind: sojourn.TaskAdopted, Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: sojourn.Slot{ID: 2}})
			s.log = append(s.log, "a")
		}
		s.fill()
		add(3)
		s.fill()
		if got, want := fmt.Sprint(s.log), "[a b a b]"; got != want {
			t.Errorf("adopted %v: served were %s, want %s", adopted, got, want)
		}
	}
}

// A pool that comes back with a debt stands behind those that were served before and wait, where tags are equal. Pools a, b and c come in turn with a
// task of 1 s each second, on one slot. At 5 s z comes with two tasks: the second one starts at 9 s at the latest, with both orders.
func TestPoolThatComesWithTwoTasks(t *testing.T) {
	for _, order := range []fair.Order{fair.Service, fair.Running} {
		s := newSite(t, 1, fair.Options{Order: order})
		for i := range 20 {
			s.until(time.Duration(i) * time.Second)
			s.arrive(1, customer{pool: string("abc"[i%3]), length: always(time.Second)})
			if i == 5 {
				s.arrive(2, customer{pool: "z", length: always(time.Second)})
			}
		}
		s.until(20 * time.Second)
		if first := slices.Index(s.log, "z"); first < 0 || slices.Index(s.log[first+1:], "z")+first+1 > 9 {
			t.Errorf("order %v: served were %v, want z twice by 9 s", order, s.log)
		}
	}
}

// What attempts are expected to take may be wrong by far: tenants that come meanwhile, or after it was corrected, have their share at once. A
// tenant told so once, or the tasks of others took an hour.
func TestWrongEstimateIsPaidByNoOther(t *testing.T) {
	for _, tc := range []struct {
		others, told time.Duration // how long the tasks of others took; what a says of its first ones
		cost         uint64        // of the tasks of others; those of a and b cost 100 then
	}{{time.Second, time.Minute, 0}, {time.Second, 1000 * time.Hour, 0}, {time.Hour, 0, 0}, {time.Second, 0, 1 << 40}, {time.Second, 0, 1 << 63}} {
		for _, known := range []bool{false, true} { // whether tasks of a have ended
			for _, after := range []time.Duration{500 * time.Millisecond, 10 * time.Second} {
				s := newSite(t, 8, fair.Options{})
				add := func(pool string, tasks int, told time.Duration) {
					s.arrive(tasks, customer{pool: pool, told: told, length: always(time.Second), cost: min(tc.cost, 100)})
				}
				s.arrive(8, customer{pool: "others", length: always(tc.others), cost: tc.cost})
				if known {
					add("a", 1, 0)
				}
				s.until(2 * time.Hour)
				add("a", 8, tc.told)
				add("a", 1<<20, 0)
				s.until(2*time.Hour + after)
				add("b", 1<<20, 0)
				s.log = nil
				s.until(2*time.Hour + after + 100*time.Second)
				if got := starts(s.log); got["a"] < 380 || got["b"] < 380 {
					t.Errorf("%+v, tasks of a have ended: %v: a and b, which comes after %v, have started %v tasks in 100 s, want 400 each", tc, known, after, got)
				}
			}
		}
	}
}

// Tenants whose ends tell of no cost pay what such a time costs others, also if somebody says a cost that is wrong by far, before the others or after.
func TestWrongCostIsNoPrice(t *testing.T) {
	for _, wrong := range []uint64{1, 1 << 40, 1 << 63, math.MaxUint64} {
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			s := newSite(t, 4, fair.Options{})
			pools, costs := []string{"wrong", "says", "says nothing"}, []uint64{wrong, 100, 0}
			for _, i := range order {
				s.arrive(1<<20, customer{pool: pools[i], length: always(time.Second), cost: costs[i]})
			}
			s.until(1500 * time.Millisecond)
			for _, c := range s.jobs {
				if c.pool == "wrong" {
					c.cost = 100
				}
			}
			s.until(200 * time.Second)
			s.log = nil
			s.until(1200 * time.Second)
			if got := starts(s.log); got["says"] < 1200 || math.Abs(float64(got["says"])/float64(got["says nothing"])-1) > 0.05 {
				t.Errorf("wrong cost %d, pools in the order %v: started are %v, want as many of one that says what it costs and one that does not", wrong, order, got)
			}
		}
	}
}

// One that is alone says once what is wrong by far, as the first thing that it says or later, and pays that itself: who comes then has as much as it has.
func TestWrongCostOfOneThatIsAlone(t *testing.T) {
	for _, said := range []int{0, 1, 2, 40} { // tasks before
		s := newSite(t, 8, fair.Options{})
		a := customer{pool: "a", length: always(time.Second), cost: 100}
		if said > 0 {
			s.arrive(said, a)
		}
		s.until(10 * time.Second)
		wrong := a
		wrong.cost = 1 << 40
		s.arrive(1, wrong)
		s.until(12 * time.Second)
		s.arrive(1<<20, a)
		s.until(12*time.Second + 500*time.Millisecond)
		s.arrive(1<<20, customer{pool: "b", length: always(time.Second), cost: 100})
		s.log = nil
		s.until(112 * time.Second)
		if got := starts(s.log); got["a"] < 350 || got["b"] < 350 {
			t.Errorf("%d tasks before: a and b have started %v tasks in 100 s, want 400 each", said, got)
		}
	}
}

// A pool that says of all its tasks of a second that they take longer, or less, has its share beside one that says nothing. One that comes later has its own
// at once, and so it has if the first one says no more from then on.
func TestEstimatesThatAreAlwaysTooHigh(t *testing.T) {
	for _, told := range []time.Duration{time.Nanosecond, time.Second, 10 * time.Second, 1000 * time.Second, 1_000_000 * time.Second} {
		s := newSite(t, 8, fair.Options{})
		s.arrive(6000, customer{pool: "a", length: always(time.Second), told: told})
		s.arrive(1<<20, customer{pool: "b", length: always(time.Second)})
		s.until(1000 * time.Second)
		if got := s.got["a"]; got < 3800*time.Second || got > 4050*time.Second {
			t.Errorf("one says %v of its tasks: it had %v in 1,000 s and the other one %v, want half", told, got, s.got["b"])
		}
		s.arrive(1<<20, customer{pool: "c", length: always(time.Second)})
		s.arrive(1<<20, customer{pool: "a", length: always(time.Second)})
		s.log = nil
		s.until(1300 * time.Second)
		if got := starts(s.log); got["c"] < 700 || got["b"] < 700 {
			t.Errorf("one says %v of its tasks: when another one has come, they have started %v in 300 s, want 800 each", told, got)
		}
	}
}

// Some that have said once, each, a cost that is wrong by far, have gone, so that not all of their debts are kept. Who comes later does not wait for what they said.
func TestWrongCostsOfThoseThatHaveGone(t *testing.T) {
	for _, liars := range []int{1, 2, 3, 5} {
		for _, wrong := range []uint64{1 << 40, 1 << 63} {
			s := newSite(t, 8, fair.Options{})
			s.arrive(1<<20, customer{pool: "a", length: always(time.Second), cost: 100})
			s.until(20 * time.Second)
			for i := range liars {
				s.arrive(1, customer{pool: fmt.Sprint("liar", i), length: always(time.Second), cost: wrong})
			}
			s.until(30*time.Second + 500*time.Millisecond)
			s.arrive(1<<20, customer{pool: "b", length: always(time.Second), cost: 100})
			s.log = nil
			s.until(130 * time.Second)
			if got := starts(s.log); got["a"] < 300 || got["b"] < 300 {
				t.Errorf("%d said %d once and have gone: a and b have started %v in 100 s, want 400 each", liars, wrong, got)
			}
		}
	}
}

// mishaps are the ends of attempts that finish no task.
var mishaps = [...]struct {
	kind  sojourn.EventKind
	cause sojourn.Cause
}{{sojourn.TaskRefused, 0}, {sojourn.TaskFailed, sojourn.CausePreempted}, {sojourn.TaskFailed, sojourn.CauseTask}, {sojourn.TaskFailed, sojourn.CauseSlotLost}}
