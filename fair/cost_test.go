package fair_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// A divided is a machine with several resources, such as that of the paper's examples, that is
// divided among users. User i has tasks without end in a pool of its own, and all are of class i.
// Each class has one free slot while one more of its tasks fits.
type divided struct {
	tb      rapid.TB
	p       sojourn.Policy
	left    []int   // by resource
	demands [][]int // of a task, by user and resource
	open    []bool  // by class: its slot is free
	tasks   []int   // running ones, by user
	running []sojourn.Assignment
	next    sojourn.SlotID
	slots   []sojourn.SlotID // by class
}

// part returns n of total in units of 2^-32, rounded to the nearest integer above 0.
func part(n, total int) uint32 {
	p := (uint64(n)<<33/uint64(total) + 1) / 2
	return uint32(min(max(p, 1), math.MaxUint32))
}

func costsOf(totals []int, demands [][]int) fair.Cost {
	cost := fair.Cost{}
	for u, d := range demands {
		for r, n := range d {
			of := uint32(0)
			if n > 0 {
				of = part(n, totals[r])
			}
			cost[sojourn.Class(u)] = append(cost[sojourn.Class(u)], of)
		}
	}
	return cost
}

func newDivided(tb rapid.TB, totals []int, demands [][]int, weights []float64) *divided {
	opts := fair.Options{Cost: costsOf(totals, demands), Pools: map[string]fair.Pool{}}
	for u, w := range weights {
		opts.Pools[fmt.Sprint(u)] = fair.Pool{Weight: w}
	}
	d := &divided{tb: tb, p: newWith(opts), left: slices.Clone(totals), demands: demands,
		open: make([]bool, len(demands)), tasks: make([]int, len(demands)), slots: make([]sojourn.SlotID, len(demands))}
	for u := range demands {
		d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(u + 1), Pool: fmt.Sprint(u),
			Phases: []sojourn.Phase{{Tasks: 1 << 20, Class: sojourn.Class(u)}}}})
	}
	d.project()
	return d
}

func (d *divided) observe(ev sojourn.Event) {
	if err := d.p.Observe(ev); err != nil {
		d.tb.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (d *divided) fits(u int) bool {
	for r, n := range d.demands[u] {
		if n > d.left[r] {
			return false
		}
	}
	return true
}

// project makes the free slots those of the classes of which one more task fits.
func (d *divided) project() {
	for u := range d.demands {
		switch fits := d.fits(u); {
		case fits && !d.open[u]:
			d.slots[u], d.next = d.next, d.next+1
			d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: d.slots[u], Class: sojourn.Class(u)}})
			d.open[u] = true
		case !fits && d.open[u]:
			d.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: d.slots[u]}})
			d.open[u] = false
		}
	}
}

// start starts what the policy wants on a slot, and reports whether that is anything.
func (d *divided) start(u int) bool {
	a, ok := d.p.Assign(d.slots[u])
	if !ok {
		return false
	}
	d.open[u] = false
	for r, n := range d.demands[u] {
		d.left[r] -= n
	}
	d.tasks[u]++
	d.running = append(d.running, a)
	d.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: a.Slot}}) // it leaves with its attempt
	d.project()
	return true
}

// end ends the k-th running attempt.
func (d *divided) end(k int) {
	a := d.running[k]
	d.running = slices.Delete(d.running, k, k+1)
	u := int(a.Task.Job) - 1
	d.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	for r, n := range d.demands[u] {
		d.left[r] += n
	}
	d.tasks[u]--
	d.project()
}

// fill offers the classes in an order until a pass starts nothing. Each start goes to started.
func (d *divided) fill(order []int, started func(u int)) {
	seeker, _ := sojourn.As[sojourn.Seeker](d.p)
	for more := true; more; {
		more = false
		for _, u := range order {
			for {
				if seeker != nil {
					if _, ok := seeker.Seek(sojourn.Class(u)); !ok {
						break
					}
				}
				if !d.open[u] || !d.start(u) {
					break
				}
				more = true
				started(u)
			}
		}
	}
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// The example of section 4.1: 9 CPUs, 18 GB; tasks of A take <1, 4> and those of B <3, 1>. A gets
// three tasks and B two, whatever the order of the driver's offers, and both have two thirds of their
// dominant resource. The order is that of table 1 of the paper, where B is first.
//
// Reference: [Ghodsi, Zaharia, Hindman, Konwinski, Shenker, Stoica: Dominant resource fairness,
// NSDI 2011], figure 3 and table 1.
func TestExampleOfDRF(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		var got []int
		d := newDivided(t, []int{9, 18}, [][]int{{1, 4}, {3, 1}}, nil)
		d.fill(order, func(u int) { got = append(got, u) })
		if !slices.Equal(d.tasks, []int{3, 2}) {
			t.Errorf("offers in the order %v: %v tasks, want 3 and 2", order, d.tasks)
		}
		// A came first, and ties go to the one that was served longest ago.
		if want := []int{0, 1, 0, 1, 0}; !slices.Equal(got, want) {
			t.Errorf("offers in the order %v: tasks go to %v, want %v", order, got, want)
		}
	}
}

// Weights: dominant shares are in proportion to them.
//
// Reference: [Ghodsi et al. 2011], section 4.3.
func TestWeightsOfDRF(t *testing.T) {
	for _, tc := range []struct {
		totals  []int
		demands [][]int
		weights []float64
		want    []int
	}{
		{[]int{9, 18}, [][]int{{1, 4}, {3, 1}}, []float64{1, 1}, []int{3, 2}},
		// Twice the machine: 3 (4x/36) = 3y/18, so that B has two tasks for each of A. Then one is late.
		{[]int{18, 36}, [][]int{{1, 4}, {3, 1}}, []float64{1, 3}, []int{3, 5}},
		// One resource: three to one.
		{[]int{100}, [][]int{{1}, {1}}, []float64{3, 1}, []int{75, 25}},
		{[]int{100}, [][]int{{5}, {1}}, []float64{3, 1}, []int{15, 25}},
		// Ten times the machine: 4x/180 = 2 (3y/90), so that A has three tasks for each of B, and
		// 13y <= 180. After 41 and 14 tasks, 2 GB and 7 CPUs are left: enough for two tasks of B.
		{[]int{90, 180}, [][]int{{1, 4}, {3, 1}}, []float64{2, 1}, []int{41, 16}},
	} {
		d := newDivided(t, tc.totals, tc.demands, tc.weights)
		d.fill(upTo(len(tc.demands)), func(int) {})
		if !slices.Equal(d.tasks, tc.want) {
			t.Errorf("%v of %v with weights %v: %v tasks, want %v", tc.demands, tc.totals, tc.weights, d.tasks, tc.want)
		}
	}
}

// In a cluster where tasks end at random, both pools keep half of their dominant resource, or
// more: pools of 1 CPU and 4 GB and of 16 CPUs and 8 GB. Without costs, the class that the driver
// offers first gets everything.
func TestSharesLast(t *testing.T) {
	totals, demands := []int{640, 2560}, [][]int{{1, 4}, {16, 8}}
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		d := newDivided(t, totals, demands, nil)
		d.fill(order, func(int) {})
		for step := range 2000 {
			d.end(step * 7919 % len(d.running))
			d.fill(order, func(int) {})
		}
		cpu, memory := d.tasks[1]*16, d.tasks[0]*4
		if cpu < 640/2 || memory < 2560/2-4 {
			t.Errorf("offers in the order %v: B has %d of 640 CPUs and A %d of 2560 GB, want half", order, cpu, memory)
		}
	}
}

// An instance is a machine and its users, drawn at random. Amounts are at least 1, except where none
// is true: then a user may need nothing of a resource, but not of all.
type instance struct {
	totals  []int
	demands [][]int
	weights []float64
}

func drawInstance(t *rapid.T, resources int, none bool) (in instance) {
	least := 1
	if none {
		least = 0
	}
	for range resources {
		in.totals = append(in.totals, rapid.IntRange(20, 400).Draw(t, "total"))
	}
	for u := range rapid.IntRange(2, 6).Draw(t, "users") {
		in.demands = append(in.demands, nil)
		for range resources {
			in.demands[u] = append(in.demands[u], rapid.IntRange(least, 6).Draw(t, "demand"))
		}
		if slices.Max(in.demands[u]) == 0 {
			in.demands[u][0] = 1
		}
		in.weights = append(in.weights, 1)
	}
	return in
}

// dominant returns the resource of which a task takes the greatest part, and that part.
func (in *instance) dominant(d []int) (at int, part *big.Rat) {
	part = new(big.Rat)
	for r, n := range d {
		if p := big.NewRat(int64(n), int64(in.totals[r])); p.Cmp(part) > 0 {
			at, part = r, p
		}
	}
	return at, part
}

// share returns the dominant share of n tasks.
func (in *instance) share(u, n int) *big.Rat {
	_, delta := in.dominant(in.demands[u])
	return delta.Mul(delta, big.NewRat(int64(n), 1))
}

// The paper proves these properties for tasks that can be divided. With whole tasks they hold up to
// the tasks that a user cannot start in part. Let d(k) be the dominant share of one task of user k.
//
// Sharing incentive: s(i) > w(i) (1 - sum of d) / sum of w. While a task of i fits, every other
// user k got its last task when s(k)/w(k) <= s(i)/w(i), so that s(k)/w(k) <= s(i)/w(i) + d(k)/w(k).
// When none fits any more, more than 1 - d(i) of some resource is taken, and nobody has more of a
// resource than of their dominant one.
//
// Pareto efficiency: at the end no task of any user fits.
//
// Envy-freeness, for equal weights: let r be a resource of which i needs more than was left when
// the last task of i that fits had started, and q the dominant one of i. By then k had at most
// s(i) + d(k) of q, and after that k gets at most d(i,r)/d(k,r) tasks if it needs r.
//
// Reference: [Ghodsi et al. 2011], theorems 1 to 5.
func TestPropertiesOfDRF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, rapid.IntRange(1, 3).Draw(t, "resources"), true)
		equal := rapid.Bool().Draw(t, "equal weights")
		for u := range in.weights {
			if !equal {
				in.weights[u] = rapid.SampledFrom([]float64{1, 2, 3, 0.5}).Draw(t, "weight")
			}
		}
		d := newDivided(t, in.totals, in.demands, in.weights)
		blocked := make([]int, len(in.demands)) // by user: a resource that was too scarce at first
		for u := range blocked {
			blocked[u] = -1
		}
		notice := func() {
			for u, of := range in.demands {
				if blocked[u] < 0 && !d.fits(u) {
					blocked[u] = slices.IndexFunc(upTo(len(of)), func(r int) bool { return of[r] > d.left[r] })
				}
			}
		}
		notice()
		d.fill(rapid.Permutation(upTo(len(in.demands))).Draw(t, "order"), func(int) { notice() })

		sum, weight := new(big.Rat), new(big.Rat)
		for u := range in.demands {
			if d.fits(u) {
				t.Fatalf("another task of user %d fits into %v, which is left of %+v", u, d.left, in)
			}
			sum.Add(sum, in.share(u, 1))
			weight.Add(weight, new(big.Rat).SetFloat64(in.weights[u]))
		}
		for i := range in.demands {
			least := new(big.Rat).Sub(big.NewRat(1, 1), sum)
			least.Mul(least, new(big.Rat).SetFloat64(in.weights[i])).Quo(least, weight)
			if in.share(i, d.tasks[i]).Cmp(least) <= 0 {
				t.Fatalf("user %d of %+v has %v tasks, a share of %v, want more than %v", i, in, d.tasks, in.share(i, d.tasks[i]), least)
			}
			for k := range in.demands {
				if !equal || i == k {
					continue
				}
				if most := in.envy(i, k, blocked[i], d.tasks[i]); in.within(i, k, d.tasks[k]).Cmp(most) > 0 {
					t.Fatalf("user %d of %+v could run %v tasks with what user %d has; tasks %v, want at most %v", i, in, in.within(i, k, d.tasks[k]), k, d.tasks, most)
				}
			}
		}
	})
}

// within returns how many tasks, in parts, user i could run with what n tasks of user k take.
func (in *instance) within(i, k, n int) *big.Rat {
	var least *big.Rat
	for r, need := range in.demands[i] {
		if need == 0 {
			continue
		}
		if q := big.NewRat(int64(n*in.demands[k][r]), int64(need)); least == nil || q.Cmp(least) < 0 {
			least = q
		}
	}
	return least
}

// envy returns how many tasks user i could run at most with what user k has, if i has n tasks and r
// was scarce first.
func (in *instance) envy(i, k, r, n int) *big.Rat {
	q, delta := in.dominant(in.demands[i])
	late := new(big.Rat) // tasks of k after that
	if in.demands[k][r] > 0 {
		late.SetFrac64(int64(in.demands[i][r]), int64(in.demands[k][r]))
	} else {
		return new(big.Rat) // k has nothing of r, so i can run nothing
	}
	most := new(big.Rat).Mul(late, big.NewRat(int64(in.demands[k][q]), int64(in.totals[q])))
	most.Add(most, in.share(k, 1))
	most.Quo(most, delta)
	return most.Add(most, big.NewRat(int64(n), 1))
}

// Strategy-proofness, for users who need something of every resource: who claims other demands
// gains nothing but what whole tasks round. Let the machine have C(q), and let A(q) be the sum of
// d(j,q)/d(j). As long as a task of each user fits, all shares are between the least one, x, and
// x + d(j). So the first task that does not fit, for lack of q, shows that
// x > (C(q) - max d(k,q) - sum of d(j,q)) / A(q), and x <= C(q)/A(q) for each q. After it, a user gets
// at most max d(k,q)/d(j,q) tasks more. If tasks could be divided, the lie would gain nothing.
//
// Reference: [Ghodsi et al. 2011], theorem 3.
func TestStrategyProof(t *testing.T) {
	histories.Set(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		in := drawInstance(t, 2, false)
		for r := range in.totals {
			in.totals[r] *= 10
		}
		told := slices.Clone(in.demands)
		const liar = 0
		told[liar] = []int{rapid.IntRange(1, 6).Draw(t, "claim"), rapid.IntRange(1, 6).Draw(t, "claim")}
		d := newDivided(t, in.totals, in.demands, in.weights)
		d.fill(upTo(len(in.demands)), func(int) {})
		lie := newDivided(t, in.totals, told, in.weights)
		lie.fill(upTo(len(told)), func(int) {})

		// Whole tasks that the liar can run with what it gets.
		gets := math.MaxInt
		for r, need := range in.demands[liar] {
			gets = min(gets, lie.tasks[liar]*told[liar][r]/need)
		}
		slack := new(big.Rat)
		_, delta := in.dominant(in.demands[liar])
		for q, total := range in.totals {
			most, sum, a := 0, 0, new(big.Rat)
			for _, of := range in.demands {
				most, sum = max(most, of[q]), sum+of[q]
				_, part := in.dominant(of)
				a.Add(a, new(big.Rat).Quo(big.NewRat(int64(of[q]), int64(total)), part))
			}
			lost := new(big.Rat).Quo(big.NewRat(int64(most+sum), int64(total)), a)
			if lost.Quo(lost, delta).Cmp(slack) > 0 {
				slack = lost
			}
		}
		late, scale := big.NewRat(0, 1), big.NewRat(math.MaxInt32, 1)
		for q := range in.totals {
			most := 0
			for _, of := range told {
				most = max(most, of[q])
			}
			if l := big.NewRat(int64(most), int64(told[liar][q])); l.Cmp(late) > 0 {
				late = l
			}
			if m := big.NewRat(int64(told[liar][q]), int64(in.demands[liar][q])); m.Cmp(scale) < 0 {
				scale = m
			}
		}
		slack.Add(slack, late.Add(late, big.NewRat(1, 1)).Mul(late, scale))
		most := slack.Add(slack, big.NewRat(int64(d.tasks[liar]), 1))
		if big.NewRat(int64(gets), 1).Cmp(most) > 0 {
			t.Fatalf("%+v: who claims %v can run %d tasks, and %d otherwise, want at most %v", in, told[liar], gets, d.tasks[liar], most)
		}
	})
}

// Single-resource fairness: with one resource and one class, shares are those of running tasks. So
// every decision is the one that is made without costs, whatever a slot costs.
//
// Reference: [Ghodsi et al. 2011], section 3.
func TestOneResourceIsSharedAsSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opts := fair.Options{Ties: rapid.SampledFrom([]fair.Ties{fair.LeastService, fair.RoundRobin, fair.LeastWork, fair.Arrival}).Draw(t, "ties"),
			Pools: map[string]fair.Pool{"a": {Weight: 3, MaxJobs: rapid.IntRange(0, 2).Draw(t, "jobs")}, "a/x": {Weight: 0.5}, "f": {FIFO: true}, "b": {Max: fair.Slots{0: 2}}}}
		opts.Order = fair.Running
		plain := newWith(opts)
		opts.Order = fair.Service
		opts.Cost = fair.Cost{0: {rapid.Uint32Range(1, 1<<27).Draw(t, "cost")}}
		costly := newWith(opts)
		const slots = 6
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			ev.At = now
			for _, p := range []sojourn.Policy{plain, costly} {
				if err := p.Observe(ev); err != nil {
					t.Fatalf("Observe(%v) = %v, want nil", ev, err)
				}
			}
		}
		for i := range sojourn.SlotID(slots) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i}})
		}
		running := map[sojourn.SlotID]sojourn.Assignment{}
		for step := range rapid.IntRange(10, 60).Draw(t, "steps") {
			now += sojourn.Time(rapid.IntRange(0, 3).Draw(t, "time"))
			if step < 6 || rapid.IntRange(0, 3).Draw(t, "arrives") == 0 {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(step + 1), Weight: float64(rapid.IntRange(1, 3).Draw(t, "weight")),
					Pool: rapid.SampledFrom([]string{"a", "a/x", "a/y", "b", "f", ""}).Draw(t, "pool"), Phases: []sojourn.Phase{{Tasks: rapid.IntRange(1, 4).Draw(t, "tasks")}}}})
			}
			id := sojourn.SlotID(rapid.IntRange(0, slots-1).Draw(t, "slot"))
			if a, ok := running[id]; ok {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}})
				delete(running, id)
			}
			want, some := plain.Assign(id)
			if got, ok := costly.Assign(id); ok != some || got != want {
				t.Fatalf("step %d: %+v, %v with a cost, want %+v, %v as without", step, got, ok, want, some)
			}
			if some {
				running[id] = want
			}
		}
	})
}

// Policies with costs obey the laws; a class may wait for its turn within a round.
func TestConformanceWithCosts(t *testing.T) {
	type tree struct {
		fair.Options
		at      map[string]string
		limited bool
	}
	histories.Options(t, 4, func(t *rapid.T) (o tree) {
		o.Ties = rapid.SampledFrom([]fair.Ties{fair.LeastService, fair.RoundRobin, fair.LeastWork, fair.Arrival}).Draw(t, "ties")
		o.limited = rapid.Bool().Draw(t, "limited")
		o.IgnoreLocality = rapid.Bool().Draw(t, "ignore locality")
		o.Cost = fair.Cost{}
		for _, c := range []sojourn.Class{0, 1, 7, sojourn.MaxClasses - 1} {
			o.Cost[c] = []uint32{rapid.SampledFrom([]uint32{1, 2, 1 << 31, math.MaxUint32}).Draw(t, "cost"), rapid.Uint32().Draw(t, "cost")}
		}
		o.Pools, o.at = map[string]fair.Pool{}, map[string]string{}
		for _, path := range []string{"x", "x/y", "x/y/z", "p", "*", ""} {
			pool := fair.Pool{Weight: rapid.SampledFrom([]float64{0, 0.5, 3, 1. / 65536, 1<<32 - 1}).Draw(t, "weight"), FIFO: path == "p"}
			if o.limited {
				pool.MaxJobs, pool.Max = rapid.IntRange(0, 3).Draw(t, "jobs"), fair.Slots{1: rapid.IntRange(1, 3).Draw(t, "max")}
			}
			o.Pools[path] = pool
		}
		places := rapid.Permutation([]string{"x", "x/y", "x/y/z", "p/q", "u", ""}).Draw(t, "places")
		for i, pool := range []string{"", "a", "b"} {
			o.at[pool] = places[i]
		}
		return o
	}, func(t *testing.T, o tree) {
		changed := o.Options
		changed.Cost = fair.Cost{}
		for c, of := range o.Cost {
			changed.Cost[c] = []uint32{of[1]/2 + 1}
		}
		with := func(opts fair.Options) func() sojourn.Policy {
			return func() sojourn.Policy { return leaves{renamed{newWith(opts).(*fair.Policy), o.at}, false} }
		}
		sojourntest.Run(t, with(o.Options), sojourntest.Options{Changed: []func() sojourn.Policy{with(changed)}, IdlesOnPurpose: o.limited})
	})
}

// A costed job is what the oracle knows of one.
type costed struct {
	id      sojourn.JobID
	path    []string
	weight  float64
	pending [3]int // by class
	running [3]int
	came    int
	begun   bool
}

func (j *costed) runs() bool { return j.running != [3]int{} }

// Among all that could start on a free slot of any class, what comes first is served: the pool with
// the least dominant share for its weight, then the pool below it, then the job. Ties go to what was
// served longest ago. Pool f is FIFO; three jobs of pool m and those below it may run, and among those of
// a pool that do not run the ones that were begun come first. The oracle adds up all running tasks anew, in rational numbers.
func TestLeastDominantShareFirst(t *testing.T) {
	weights := map[string]float64{"a": 1, "a/x": 0.25, "a/y": 1, "b": 3, "c": 0.5, "c/z": 1, "f": 2, "m": 1, "m/u": 0.5, "m/v": 2}
	opts := fair.Options{Ties: fair.RoundRobin, Pools: map[string]fair.Pool{}}
	for path, w := range weights {
		opts.Pools[path] = fair.Pool{Weight: w, FIFO: path == "f"}
	}
	opts.Pools["m"] = fair.Pool{MaxJobs: 3}
	rapid.Check(t, func(t *rapid.T) {
		opts.Cost = fair.Cost{}
		for c := range sojourn.Class(3) {
			draw := func() uint32 {
				return rapid.SampledFrom([]uint32{0, 1, 2, 1 << 29, 3 << 28, math.MaxUint32}).Draw(t, "cost")
			}
			opts.Cost[c] = []uint32{draw() | 1, draw()}
		}
		p := newWith(opts).(*fair.Policy)
		var jobs []*costed
		// Beside a pool, a job of m that was begun may come before another one and after the pool, and the
		// pool before the first and after the other: so there are only jobs or only pools in m.
		limited := rapid.SampledFrom([][][]string{{{"m"}}, {{"m", "u"}, {"m", "v"}}}).Draw(t, "limited")
		paths := slices.Concat([][]string{{"a"}, {"a", "x"}, {"a", "y"}, {"b"}, {"c", "z"}, {"f"}}, limited, limited)
		turns, turn := 0, map[string]int{}
		free, busy := map[sojourn.SlotID]bool{}, map[sojourn.SlotID]sojourn.Assignment{}
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatalf("Observe(%v) = %v, want nil", ev, err)
			}
		}
		const slots = 9 // of class id % 3
		for id := range sojourn.SlotID(slots) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: sojourn.Class(id % 3)}})
			free[id] = true
		}
		share := func(prefix []string, only *costed, weight float64) *big.Rat {
			most := new(big.Int)
			for r := range 2 {
				sum := new(big.Int)
				for _, j := range jobs {
					if only != nil && j != only || !slices.Equal(j.path[:min(len(prefix), len(j.path))], prefix) {
						continue
					}
					for c, n := range j.running {
						sum.Add(sum, new(big.Int).Mul(big.NewInt(int64(n)), big.NewInt(int64(opts.Cost[sojourn.Class(c)][r]))))
					}
				}
				if sum.Cmp(most) > 0 {
					most = sum
				}
			}
			if whole := big.NewInt(math.MaxUint32); most.Cmp(whole) > 0 {
				most = whole
			}
			return new(big.Rat).Quo(new(big.Rat).SetInt(most), new(big.Rat).SetFloat64(weight))
		}
		// key returns what decides at one level of the tree, and the name for ties.
		key := func(j *costed, level int) (*big.Rat, string) {
			if level < len(j.path) {
				at := j.path[:level+1]
				name := at[0]
				if level == 1 {
					name += "/" + at[1]
				}
				return share(at, nil, weights[name]), name
			}
			return share(j.path, j, j.weight), fmt.Sprint(j.id)
		}
		before := func(a, b *costed) bool {
			for level := 0; ; level++ {
				ka, na := key(a, level)
				kb, nb := key(b, level)
				switch {
				case na == nb:
					continue
				case a.path[0] == "f" && b.path[0] == "f":
					return a.came < b.came
				case a.path[0] == "m" && slices.Equal(a.path, b.path) && !a.runs() && !b.runs() && a.begun != b.begun:
					return a.begun
				}
				if d := ka.Cmp(kb); d != 0 {
					return d < 0
				}
				return turn[na] < turn[nb]
			}
		}
		startable := func(j *costed, c int) bool {
			running := 0
			for _, o := range jobs {
				if o.path[0] == "m" && o.runs() {
					running++
				}
			}
			return j.pending[c] > 0 && (j.path[0] != "m" || j.runs() || running < 3) &&
				slices.ContainsFunc(upTo(slots), func(id int) bool { return id%3 == c && free[sojourn.SlotID(id)] })
		}
		first := func() (best *costed, class int) {
			for _, j := range jobs {
				for c := range j.pending {
					if startable(j, c) && (best == nil || best != j && before(j, best)) {
						best, class = j, c
					}
				}
			}
			return best, class
		}
		served := func(j *costed) {
			turns++
			turn[fmt.Sprint(j.id)] = turns
			for level := range j.path {
				_, name := key(j, level)
				turn[name] = turns
			}
		}
		for step := range rapid.IntRange(5, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				j := &costed{id: sojourn.JobID(step + 1), weight: rapid.SampledFrom([]float64{1, 0.5, 3}).Draw(t, "weight"),
					path: rapid.SampledFrom(paths).Draw(t, "path")}
				_, pool := key(j, len(j.path)-1)
				spec := &sojourn.Job{ID: j.id, Pool: pool, Weight: j.weight}
				for c := range j.pending {
					if j.pending[c] = rapid.IntRange(0, 3).Draw(t, "tasks"); j.pending[c] > 0 || c == 2 && len(spec.Phases) == 0 {
						j.pending[c] = max(j.pending[c], 1)
						spec.Phases = append(spec.Phases, sojourn.Phase{Tasks: j.pending[c], Class: sojourn.Class(c), After: sojourn.NoBarrier})
					}
				}
				spec.Phases[0].After = 0
				turns++
				j.came, turn[fmt.Sprint(j.id)] = turns, turns
				for level := range j.path {
					at := j.path[:level+1]
					if !slices.ContainsFunc(jobs, func(o *costed) bool { return slices.Equal(o.path[:min(level+1, len(o.path))], at) }) {
						_, name := key(j, level)
						turn[name] = turns // the pool comes into being
					}
				}
				jobs = append(jobs, j)
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec})
			case 1:
				id := sojourn.SlotID(rapid.IntRange(0, slots-1).Draw(t, "slot"))
				a, ok := busy[id]
				if !ok {
					continue
				}
				delete(busy, id)
				free[id] = true
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}})
				i := slices.IndexFunc(jobs, func(j *costed) bool { return j.id == a.Task.Job })
				j := jobs[i]
				j.running[id%3]--
				if j.pending == [3]int{} && j.running == [3]int{} {
					jobs = slices.Delete(jobs, i, i+1)
				}
			}
			want, class := first()
			for c := range sojourn.Class(3) {
				id, ok := p.Seek(c)
				if due := want != nil && int(c) == class; ok != due {
					t.Fatalf("step %d: Seek(%d) = %d, %v, want %v: %+v of class %d is first", step, c, id, ok, due, want, class)
				}
			}
			if want == nil {
				continue
			}
			rank := p.AppendRanking(nil)
			for rank[0] != want.id && want.path[0] != "m" {
				i := slices.IndexFunc(jobs, func(j *costed) bool { return j.id == rank[0] })
				if slices.ContainsFunc(upTo(3), func(c int) bool { return startable(jobs[i], c) }) {
					t.Fatalf("step %d: AppendRanking = %v, want job %d before", step, p.AppendRanking(nil), want.id)
				}
				rank = rank[1:]
			}
			id, ok := p.Seek(sojourn.Class(class))
			if !ok {
				t.Fatalf("step %d: Seek(%d) = false, want a slot for %+v", step, class, want)
			}
			a, ok := p.Assign(id)
			if !ok || a.Task.Job != want.id {
				t.Fatalf("step %d: Assign(%d) = %+v, %v, want a task of %+v", step, id, a, ok, want)
			}
			delete(free, id)
			busy[id] = a
			want.pending[class]--
			want.running[class]++
			want.begun = true
			served(want)
		}
	})
}

// A job that has started its last task changes the order of pools in the classes of other jobs, too, also
// where only the active jobs of a limited pool may be served.
func TestShareCountsInAllClasses(t *testing.T) {
	for _, most := range []int{0, 3} {
		p := newWith(fair.Options{Cost: fair.Cost{0: {1 << 28}, 1: {1 << 28}}, Pools: map[string]fair.Pool{"m": {MaxJobs: most}}})
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		next := func(slot sojourn.SlotID, c sojourn.Class, want sojourn.JobID) {
			t.Helper()
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot, Class: c}})
			if a, ok := p.Assign(slot); !ok || a.Task.Job != want {
				t.Errorf("at most %d jobs: Assign(%d) = %v, %v, want a task of job %d", most, slot, a, ok, want)
			}
		}
		for i, j := range []sojourn.Job{
			{Pool: "m/u", Phases: []sojourn.Phase{{Tasks: 2, Class: 0}}},
			{Pool: "m/u", Phases: []sojourn.Phase{{Tasks: 9, Class: 1}}},
			{Pool: "m/v", Phases: []sojourn.Phase{{Tasks: 9, Class: 1}}},
		} {
			j.ID = sojourn.JobID(i + 1)
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &j})
		}
		next(0, 0, 1) // u 1, v 0
		next(1, 1, 3) // u 1, v 1
		next(2, 1, 2) // u 2, v 1: u was served longest ago
		next(3, 1, 3) // u 2, v 2
		next(4, 0, 1) // u 3, v 2: the last task of job 1
		next(5, 1, 3)
	}
}
