package fair_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A cluster drives a policy: tasks end in the order in which they were started.
type cluster struct {
	tb      rapid.TB
	p       *fair.Policy
	now     sojourn.Time
	running []sojourn.Assignment
	pools   map[sojourn.JobID]string
	next    sojourn.JobID
}

func newCluster(tb rapid.TB, slots int, opts fair.Options) *cluster {
	c := &cluster{tb: tb, p: newWith(opts).(*fair.Policy), pools: map[sojourn.JobID]string{}}
	for i := range slots {
		c.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	return c
}

func (c *cluster) observe(ev sojourn.Event) {
	ev.At = c.now
	if err := c.p.Observe(ev); err != nil {
		c.tb.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (c *cluster) arrive(pool string, tasks int) sojourn.JobID {
	c.next++
	c.pools[c.next] = pool
	c.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: c.next, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	return c.next
}

// offer offers every free slot, and returns the pools of the tasks that start.
func (c *cluster) offer() (list []string) {
	for {
		id, ok := c.p.Seek(0)
		if !ok {
			return list
		}
		a, ok := c.p.Assign(id)
		if !ok {
			c.tb.Fatalf("Assign(%d) = false, but Seek named the slot", id)
		}
		c.running = append(c.running, a)
		list = append(list, c.pools[a.Task.Job])
	}
}

// finish ends the oldest attempt.
func (c *cluster) finish() {
	a := c.running[0]
	c.running = c.running[1:]
	c.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// kill ends an attempt that the policy wants to kill.
func (c *cluster) kill(v sojourn.Preemption) {
	c.running = slices.DeleteFunc(c.running, func(a sojourn.Assignment) bool { return a.Slot == v.Slot })
	c.observe(sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted, Task: v.Task, Attempt: v.Attempt, Slot: sojourn.Slot{ID: v.Slot}})
}

func (c *cluster) tick(d time.Duration) {
	c.now = c.now.Add(d)
	c.observe(sojourn.Event{Kind: sojourn.Tick})
}

// held counts the running tasks of each pool.
func (c *cluster) held() map[string]int {
	n := map[string]int{}
	for _, a := range c.running {
		n[c.pools[a.Task.Job]]++
	}
	return n
}

// Weights 1:3600: the light pool is not forgotten (YUNIKORN-3243). Under Running it
// always has a slot, or every other task if there is only one slot. With the order Service at most
// 3600 tasks run between two of its own.
func TestAsymmetricWeights1To3600(t *testing.T) {
	tests := []struct {
		order      fair.Order
		slots, gap int // most tasks of the other pool between two of the light pool
	}{
		{fair.Running, 1, 1},
		{fair.Running, 2, 1},
		{fair.Running, 50, 49},
		{fair.Service, 1, 3600},
		{fair.Service, 50, 3600},
	}
	for _, tc := range tests {
		c := newCluster(t, tc.slots, fair.Options{Order: tc.order, Pools: map[string]fair.Pool{"heavy": {Weight: 3600}}})
		c.arrive("heavy", 1<<20)
		c.arrive("light", 1<<20)
		gap, served := 0, 0
		for range 20_000 {
			for _, pool := range c.offer() {
				if gap++; pool == "light" {
					gap = 0
					served++
				}
			}
			if gap > tc.gap {
				t.Errorf("%v, %d slots: %d tasks of the heavy pool in a row, want at most %d", tc.order, tc.slots, gap, tc.gap)
				break
			}
			c.finish()
		}
		if served < 5 {
			t.Errorf("%v, %d slots: the light pool ran %d tasks of 20000, want some", tc.order, tc.slots, served)
		}
	}
}

// No starvation with the order Running. n pools always have tasks and have no minimums. A pool that runs nothing
// is passed over at most n-1 times, also if there are fewer slots than pools.
func TestPoolWithoutTasksIsServedAfterItsSiblings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "pools")
		pools := map[string]fair.Pool{}
		for i := range n {
			pools[fmt.Sprint(i)] = fair.Pool{Weight: rapid.SampledFrom([]float64{1, 2, 3600, 0.001}).Draw(t, "weight")}
		}
		c := newCluster(t, rapid.IntRange(1, 10).Draw(t, "slots"), fair.Options{Order: fair.Running, Pools: pools})
		for i := range n {
			c.arrive(fmt.Sprint(i), 1000)
		}
		passed := make([]int, n)
		for range 100 {
			before := c.held()
			for _, pool := range c.offer() {
				for i := range n {
					if name := fmt.Sprint(i); name == pool || before[name] > 0 {
						passed[i] = 0
					} else if passed[i]++; passed[i] > n-1 {
						t.Fatalf("pool %d runs nothing and was passed over %d times by %d others", i, passed[i], n-1)
					}
				}
				before[pool]++
			}
			c.finish()
		}
	})
}

// A pool that was idle gets its share, and nothing for the idle time (APF #91567). It has
// none of 10 slots, so it gets the next 5 that become free, and then every other one.
func TestPoolIdleThenBusy(t *testing.T) {
	for _, order := range []fair.Order{fair.Running, fair.Service} {
		c := newCluster(t, 10, fair.Options{Order: order})
		c.arrive("busy", 10_000)
		for range 1000 {
			c.offer()
			c.finish()
		}
		c.offer()
		c.arrive("idle", 10_000)
		count := map[string]int{}
		for range 200 {
			c.finish()
			for _, pool := range c.offer() {
				count[pool]++
			}
		}
		if got := count["idle"]; got < 95 || got > 105 {
			t.Errorf("%v: of 200 tasks %d were of the pool that had been idle, want 95 to 105", order, got)
		}
		if held := c.held(); held["idle"] != 5 {
			t.Errorf("%v: the pool that had been idle has %d slots of 10, want 5", order, held["idle"])
		}
	}
}

// A pool wants two slots of eight, then doubles its demand, and doubles it again. It gets what it
// wants up to its share, and no more for the time at which it wanted less (APF #95979, #95986).
func TestDemandDoublesMidway(t *testing.T) {
	for _, order := range []fair.Order{fair.Running, fair.Service} {
		c := newCluster(t, 8, fair.Options{Order: order})
		c.arrive("steady", 100_000)
		demand := 0 // tasks of the pool that varies, each of which comes again when it ends
		for _, want := range []struct{ demand, held int }{{2, 2}, {4, 4}, {8, 4}} {
			for ; demand < want.demand; demand++ {
				c.arrive("varies", 1)
			}
			c.offer()
			for range 400 {
				ended := c.pools[c.running[0].Task.Job]
				if c.finish(); ended == "varies" {
					c.arrive("varies", 1)
				}
				c.offer()
			}
			if got := c.held()["varies"]; got < want.held-1 || got > want.held {
				t.Errorf("%v: a pool that wants %d slots of 8 has %d, want %d", order, want.demand, got, want.held)
			}
		}
	}
}

// Jobs and pools that have nothing to start do not count. Ten thousand of them change no
// decision (golang/go #21200, Volcano #5551; BenchmarkIdle measures the cost).
func TestTenThousandIdleMembers(t *testing.T) {
	run := func(idle int) string {
		c := newCluster(t, 4, fair.Options{Pools: map[string]fair.Pool{"a": {Weight: 2}}})
		for i := range idle {
			id := c.arrive(fmt.Sprint("idle", i), 1)
			c.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: id}})
		}
		c.arrive("a", 1000)
		c.arrive("b", 1000)
		var log []string
		for range 100 {
			log = append(log, c.offer()...)
			c.finish()
		}
		return strings.Join(log, " ")
	}
	if with, without := run(10_000), run(0); with != without {
		t.Errorf("with 10,000 idle pools the tasks are of\n%s\nwant, as without,\n%s", with, without)
	}
}

// A pool whose jobs want nothing has no share, even if it has a minimum (YARN-11907).
func TestDemandZero(t *testing.T) {
	c := newCluster(t, 8, fair.Options{Pools: map[string]fair.Pool{"zero": {Weight: 100, Min: fair.Slots{0: 6}}}})
	id := c.arrive("zero", 1)
	c.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: id}})
	c.arrive("a", 100)
	c.arrive("b", 100)
	c.offer()
	if got, want := c.held(), map[string]int{"a": 4, "b": 4}; !maps.Equal(got, want) {
		t.Errorf("slots %v, want %v", got, want)
	}
	if got := share(t, c.p, id); got != 0 {
		t.Errorf("the share of a pool without demand = %v, want 0", got)
	}
	c.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: id}})
	c.finish()
	if got := c.offer(); !slices.Equal(got, []string{"zero"}) {
		t.Errorf("when it wants a slot, the next one goes to %v, want zero", got)
	}
}

// share returns the share of the pool of a job in class 0, as Explain tells it.
func share(t *testing.T, p *fair.Policy, id sojourn.JobID) float64 {
	attrs, _ := p.Explain(id)
	for _, a := range attrs {
		if a.Key == "class0" {
			for _, b := range a.Value.Group() {
				if b.Key == "share" {
					return b.Value.Float64()
				}
			}
		}
	}
	t.Fatalf("Explain(%d) = %v, want a share", id, attrs)
	return 0
}

// Nothing depends on the order in which pools are configured (YuniKorn PR #1159). Ties
// between pools that were never served go by arrival only.
func TestPermutationOfInsertionOrder(t *testing.T) {
	const n = 12
	run := func(r *rand.Rand) string {
		pools := map[string]fair.Pool{}
		for _, i := range r.Perm(n) {
			pools[fmt.Sprint("p", i)] = fair.Pool{Weight: float64(1 + i%4), Min: fair.Slots{0: i % 3}, Max: fair.Slots{0: 2 + i%5}}
		}
		c := newCluster(t, 30, fair.Options{Pools: pools})
		for i := range n {
			c.arrive(fmt.Sprint("p", i), 50)
		}
		var log []string
		for range 100 {
			log = append(log, c.offer()...)
			c.finish()
		}
		return strings.Join(log, " ")
	}
	want := run(rand.New(rand.NewPCG(0, 0)))
	for seed := range uint64(100) {
		if got := run(rand.New(rand.NewPCG(seed, 1))); got != want {
			t.Fatalf("seed %d: the tasks are of\n%s\nwant\n%s", seed, got, want)
		}
	}
}

// The tasks of one pool hold all slots and other pools wait. Tasks are killed until each
// pool has what it is entitled to, and then no more. If tasks of pool a are killed for
// pool b, no task of b is killed for a, unless something happens (Kueue #3779, #7101,
// #14543). The test covers all cases of 2 and 3 pools.
func TestNoPreemptionBackAndForth(t *testing.T) {
	weights, mins := []float64{1, 2, 3600}, []int{0, 1, 3}
	for n := 2; n <= 3; n++ {
		kinds := 1
		for range n {
			kinds *= len(weights) * len(mins)
		}
		for slots := 1; slots <= 6; slots += 2 {
			for kind := range kinds {
				pools := map[string]fair.Pool{}
				for i, k := 0, kind; i < n; i++ {
					w, m := k%3, k/3%3
					k /= 9
					pools[fmt.Sprint(i)] = fair.Pool{Weight: weights[w], Min: fair.Slots{0: mins[m]}}
				}
				checkPreemptions(t, slots, n, pools)
			}
		}
	}
}

func checkPreemptions(t *testing.T, slots, n int, pools map[string]fair.Pool) {
	t.Helper()
	c := newCluster(t, slots, fair.Options{Pools: pools, Preemption: fair.Preemption{
		MinTimeout: time.Second, FairTimeout: 2 * time.Second, Interval: time.Second, Limit: 2,
	}})
	c.arrive("0", 100)
	c.offer()
	for i := 1; i < n; i++ {
		c.arrive(fmt.Sprint(i), 100)
	}
	killed := map[[2]string]bool{} // the pool that gained, the pool that lost
	quiet := 0
	for range 10 * slots {
		c.tick(time.Second)
		list := c.p.AppendPreemptions(nil)
		if len(list) > 2 {
			t.Fatalf("pools %v: %d tasks to be killed, above the limit 2", pools, len(list))
		}
		if quiet++; len(list) > 0 {
			quiet = 0
		}
		for _, v := range list {
			from, by := c.pools[v.Task.Job], c.pools[v.For]
			killed[[2]string{by, from}] = true
			if by == from || killed[[2]string{from, by}] {
				t.Fatalf("pools %v, %d slots: a task of %s is to be killed for %s, but before it was the other way", pools, slots, from, by)
			}
			c.kill(v)
		}
		c.offer()
	}
	if quiet < 3 {
		t.Fatalf("pools %v, %d slots: there are still tasks to be killed: %v", pools, slots, c.held())
	}
	least := 0
	for i := range n {
		least += pools[fmt.Sprint(i)].Min[0]
	}
	for i := range n {
		name := fmt.Sprint(i)
		if m := pools[name].Min[0]; least <= slots && c.held()[name] < m {
			t.Fatalf("pools %v, %d slots: in the end slots %v, want at least the minimum of %s", pools, slots, c.held(), name)
		}
	}
}

// A long job keeps its share among short-lived ones of equal weight (golang/go #58804): each short job
// that ends is followed by another. Of n jobs on one slot, at most n-1 others go between two tasks
// of the long one; on n slots it always has one.
func TestLongJobAmongShortLivedOnes(t *testing.T) {
	for _, ties := range []fair.Ties{fair.LeastService, fair.RoundRobin, fair.Arrival} { // least-work prefers what is short
		for _, tc := range []struct{ slots, jobs int }{{1, 2}, {1, 5}, {3, 5}, {5, 5}, {50, 5}} {
			c := newCluster(t, tc.slots, fair.Options{Ties: ties})
			const long = 1
			c.arrive("a", 1<<20)
			short := map[sojourn.JobID]bool{}
			renew := func() {
				for len(short) < tc.jobs-1 {
					short[c.arrive("a", 1)] = true
				}
			}
			renew()
			gap, most := 0, 0
			for range 2000 {
				before := len(c.running)
				c.offer()
				for _, a := range c.running[before:] {
					if gap++; a.Task.Job == long {
						gap = 0
					}
					most = max(most, gap)
				}
				delete(short, c.running[0].Task.Job)
				c.tick(time.Second)
				c.finish()
				renew()
			}
			if most > tc.jobs-1 {
				t.Errorf("%v, %d jobs on %d slots: %d tasks of others between two of the long job, want at most %d", ties, tc.jobs, tc.slots, most, tc.jobs-1)
			}
		}
	}
}

// A decision ends, and asks each pool at most once: all policies of pools decline (Kueue #12541, Volcano
// #2549).
func TestDecisionAsksEachPoolOnce(t *testing.T) {
	const pools = 50
	asked := 0
	opts := fair.Options{Pools: map[string]fair.Pool{"*": {Policy: func() sojourn.Policy { return &decliner{newFIFO(), &asked} }}}}
	c := newCluster(t, 8, opts)
	for i := range pools {
		c.arrive(fmt.Sprint("p", i), 100)
	}
	for slot := range sojourn.SlotID(8) {
		asked = 0
		if a, ok := c.p.Assign(slot); ok {
			t.Fatalf("Assign(%d) = %v, and all pools decline", slot, a)
		}
		if asked > pools {
			t.Errorf("the policies of %d pools were asked %d times for slot %d", pools, asked, slot)
		}
		if slot == 0 && asked == 0 {
			t.Error("nobody was asked")
		}
	}
}

// A decliner takes no slot.
type decliner struct {
	sojourn.Policy
	asked *int
}

func (d *decliner) Seek(sojourn.Class) (sojourn.SlotID, bool) {
	*d.asked++
	return 0, false
}

func (d *decliner) Assign(sojourn.SlotID) (sojourn.Assignment, bool) {
	*d.asked++
	return sojourn.Assignment{}, false
}

// Shares are exact: if the slots can be divided by weight without a rest, each share is a whole number,
// and 40 is never 39.999999 (schedsim's test of LAS).
func TestSharesSumToTheSlots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		weights := rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, 3, 7, 13}), 1, 9).Draw(rt, "weights")
		each := rapid.IntRange(1, 40).Draw(rt, "slots for a weight of 1")
		pools := map[string]fair.Pool{}
		for i, w := range weights {
			pools[fmt.Sprint(i)] = fair.Pool{Weight: float64(w)}
		}
		p := newWith(fair.Options{Pools: pools}).(*fair.Policy)
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				rt.Fatal(err)
			}
		}
		next := sojourn.SlotID(0)
		for i, w := range weights {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: fmt.Sprint(i), Phases: []sojourn.Phase{{Tasks: 1 << 20}}}})
			for range w * each {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: next}})
				next++
			}
		}
		for i, w := range weights {
			if got := share(t, p, sojourn.JobID(i+1)); got != float64(w*each) {
				rt.Fatalf("weights %v, %d slots: the share of weight %d is %v, want %d", weights, next, w, got, w*each)
			}
		}
	})
}
