package fair_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// Set-ups of tenants that are unlike those of the other tests.

// step lets the attempt end that ends first, as its customer says: true is success. It returns the pool, and false if nothing runs.
func (s *site) step(ok func(c *customer) bool) (pool string, more bool) {
	s.fill()
	id, more := s.ends.Min()
	if !more {
		return "", false
	}
	at, _ := s.ends.MinKey()
	s.now = at.at
	slot := sojourn.SlotID(id)
	c := s.jobs[s.running[slot].Task.Job]
	ev := sojourn.Event{Kind: sojourn.TaskFinished, Cost: c.cost}
	if !ok(c) {
		ev.Kind, ev.Cause = sojourn.TaskFailed, sojourn.CauseTask
	}
	s.end(slot, ev)
	return c.pool, true
}

func succeeds(*customer) bool { return true }

// A rival is a pool whose service is compared with that of those beside it.
type rival struct {
	units   uint64 // of weight
	longest int64  // what an attempt is charged at most
	got     int64
}

// within fails if rivals that were level at first differ by more than N u on so many slots, and a sixteenth of what is charged. It returns the greatest part of
// the bound.
func within(t *testing.T, slots int64, rivals map[string]*rival) (worst float64) {
	t.Helper()
	for a, x := range rivals {
		for b, y := range rivals {
			product := func(n int64, units uint64) *big.Int {
				return new(big.Int).Mul(big.NewInt(n), new(big.Int).SetUint64(units))
			}
			d := new(big.Int).Sub(product(x.got, y.units), product(y.got, x.units))
			bound := new(big.Int).Add(product(x.longest, y.units), product(y.longest, x.units))
			bound.Mul(bound, big.NewInt(17*slots))
			d.Mul(d, big.NewInt(16))
			if d.Cmp(bound) > 0 {
				t.Fatalf("%s of weight %d had %d, %s of weight %d had %d: above the bound", a, x.units, x.got, b, y.units, y.got)
			}
			of, _ := new(big.Rat).SetFrac(d, bound).Float64()
			worst = max(worst, of)
		}
	}
	return worst
}

// Weights at both ends of the range stand beside each other: those that are equal keep the bound of their own, which is 2^48 times smaller for the
// heavy ones.
func TestWeightsAtBothEndsKeepTheirBounds(t *testing.T) {
	for _, slots := range []int{1, 3, 16} {
		rivals, opts := map[string]*rival{}, fair.Options{Pools: map[string]fair.Pool{}}
		for k, w := range []float64{1. / 65536, 1. / 65536, 1, 1, 1<<32 - 1, 1<<32 - 1} {
			path := fmt.Sprint(k)
			opts.Pools[path] = fair.Pool{Weight: w}
			rivals[path] = &rival{units: uint64(w * 65536), longest: 5}
		}
		s := newSite(t, slots, opts)
		r := rand.New(rand.NewPCG(39, uint64(slots)))
		for path := range 6 {
			s.arrive(1<<20, customer{pool: fmt.Sprint(path), length: func() time.Duration { return time.Duration(1 + r.IntN(5)) }})
		}
		for range 3_000 {
			s.step(succeeds)
			for path, x := range rivals {
				x.got = int64(s.got[path])
			}
			within(t, int64(slots), rivals)
		}
	}
}

// A tenant whose jobs fail once each and are given up, or are cancelled while they run, has its share and no more, as one has whose tasks are tried again for ever.
func TestFailuresHaveAShare(t *testing.T) {
	for _, way := range []string{"given up", "cancelled", "tried again", "waits"} {
		for _, cost := range []uint64{0, 700} {
			for _, pool := range []string{"fails", "team/fails"} {
				s := newSite(t, 4, fair.Options{})
				s.arrive(1<<20, customer{pool: "works", length: always(time.Second), cost: cost / 10})
				for range 8 {
					s.arrive(1, customer{pool: pool, length: always(10 * time.Second), cost: cost})
				}
				held := map[string]time.Duration{}
				type wait struct {
					at   sojourn.Time
					task sojourn.TaskID
				}
				var waits []wait
				for s.now < sojourn.Time(1000*time.Second) {
					s.fill()
					if way == "cancelled" {
						for id, c := range s.jobs {
							if c.pool == pool && s.runs(id) {
								s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
								s.jobs[id] = &customer{pool: pool + " ", length: c.length, cost: c.cost}
								s.arrive(1, *c)
							}
						}
					}
					id, _ := s.ends.Min()
					at, _ := s.ends.MinKey()
					s.now = at.at
					for len(waits) > 0 && waits[0].at <= s.now {
						s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: waits[0].task})
						waits = waits[1:]
					}
					slot := sojourn.SlotID(id)
					a := s.running[slot]
					c := s.jobs[a.Task.Job]
					held[strings.TrimSpace(c.pool)] += s.now.Sub(a.start)
					if c.pool == "works" {
						s.end(slot, sojourn.Event{Kind: sojourn.TaskFinished, Cost: c.cost})
						continue
					}
					s.end(slot, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask, Cost: c.cost})
					switch way {
					case "given up":
						s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: a.Task.Job}})
						s.arrive(1, *c)
					case "waits":
						s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: a.Task})
						waits = append(waits, wait{s.now.Add(3 * time.Second), a.Task})
					}
				}
				if got := held["works"]; got < 1900*time.Second {
					t.Errorf("failures that are %s in pool %s, costs of %d: pools held %v, want half each", way, pool, cost, held)
				}
			}
		}
	}
}

func (s *site) runs(id sojourn.JobID) bool {
	for _, a := range s.running {
		if a.Task.Job == id {
			return true
		}
	}
	return false
}

// Weights change every second while all pools always have work. Pools beside keep their bound, and the one whose weight changes has, for each unit of the weight that it had at each moment, what they have.
func TestWeightsThatChangeEverySecond(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 6))
		slots := 1 + r.IntN(4)
		s := newSite(t, slots, fair.Options{})
		rivals := map[string]*rival{}
		for _, path := range []string{"a", "b", "x", "team/x", "team/y"} {
			rivals[path] = &rival{units: 65536, longest: 5e9}
			s.arrive(1<<20, customer{pool: path, length: func() time.Duration { return time.Duration(1+r.IntN(5)) * time.Second }})
		}
		beside, inTeam := map[string]*rival{"a": rivals["a"], "b": rivals["b"]}, map[string]*rival{"team/x": rivals["team/x"], "team/y": rivals["team/y"]}
		weights := []float64{1. / 65536, 0.3, 1, 3, 1000, 1<<32 - 1}
		if seed%2 == 0 {
			weights = []float64{1, 3}
		}
		changed, w := sojourn.Time(0), 1.0
		tags, least := 0.0, 1.0
		for range 3000 {
			s.fill()
			at, _ := s.ends.MinKey()
			for changed += sojourn.Time(time.Second); changed < at.at; changed += sojourn.Time(time.Second) {
				s.now = changed
				w = weights[r.IntN(len(weights))]
				for _, name := range []string{"x", "team"} {
					s.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: name, Weight: w}})
				}
				least = min(least, w)
			}
			before := s.got["x"]
			s.step(succeeds)
			tags += (s.got["x"] - before).Seconds() / w
			for path, x := range rivals {
				x.got = int64(s.got[path])
			}
			within(t, int64(slots), beside)
			within(t, int64(slots), inTeam)
			bound := float64(slots) * 5 * (1/least + 1) * 17 / 16
			if d := tags - s.got["a"].Seconds(); seed%2 == 0 && math.Abs(d) > bound+1 {
				t.Fatalf("seed %d: for a unit of its weights of 1 and 3, x had %.0f s and a %.0f s: more than %.0f s apart", seed, tags, s.got["a"].Seconds(), bound)
			}
		}
	}
}

// Minimums exceed the slots together, at two levels: of pools below theirs, the one goes first that has the least part of it, and none waits for ever, but those without one do.
func TestMinimumsThatExceedTheSlots(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		slots := 1 + r.IntN(10)
		opts := fair.Options{Pools: map[string]fair.Pool{}}
		mins := map[string]int{}
		for i := range 2 + r.IntN(4) {
			path := fmt.Sprint("p", i)
			mins[path] = 1 + r.IntN(2*slots)
			opts.Pools[path] = fair.Pool{Min: fair.Slots{0: mins[path]}, Weight: []float64{1. / 65536, 1, 1 << 20}[r.IntN(3)]}
		}
		s := newSite(t, slots, opts)
		for path := range mins {
			s.arrive(1<<20, customer{pool: path, length: func() time.Duration { return time.Duration(1+r.IntN(9)) * time.Second }})
		}
		running := func() map[string]int {
			n := map[string]int{}
			for _, a := range s.running {
				n[s.jobs[a.Task.Job].pool]++
			}
			return n
		}
		for range 300 {
			for len(s.free) > 0 {
				before := running()
				slot := s.free[0]
				a, ok := s.p.Assign(slot)
				if !ok {
					t.Fatal("a slot stays free")
				}
				got := s.jobs[a.Task.Job].pool
				for path, m := range mins {
					if before[path] < m && (before[got] >= mins[got] || before[path]*mins[got] < before[got]*m) {
						t.Fatalf("seed %d: %s is served, with %d of %d, before %s, with %d of %d", seed, got, before[got], mins[got], path, before[path], m)
					}
				}
				s.free = s.free[1:]
				s.running[slot] = attempt{a, s.now}
				s.seq++
				s.ends.Set(uint32(slot), finish{s.now.Add(s.jobs[a.Task.Job].length()), s.seq})
			}
			s.step(succeeds)
		}
	}
}

// Pools four deep have limits on tasks and on jobs at each level: no limit is passed, a slot stays free only if each job that could start is at one, and pools side by side without limits keep the bound.
func TestLimitsFourDeep(t *testing.T) {
	worst := 0.0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		slots := 1 + r.IntN(12)
		opts := fair.Options{Pools: map[string]fair.Pool{}}
		var leaves []string
		free := map[string]bool{} // leaves without limits, side by side
		var below func(up string, depth int)
		below = func(up string, depth int) {
			for i := range 2 + r.IntN(2) {
				path := fmt.Sprint(up, i)
				pool := fair.Pool{Weight: float64(1 + r.IntN(3))}
				if r.IntN(2) == 0 {
					pool.Max = fair.Slots{0: 1 + r.IntN(slots)}
				}
				if r.IntN(3) == 0 {
					pool.MaxJobs = 1 + r.IntN(3)
				}
				if depth == 4 || depth > 1 && r.IntN(3) == 0 {
					if r.IntN(2) == 0 {
						pool.Max, pool.MaxJobs = nil, 0
						free[path] = true
					}
					leaves = append(leaves, path)
				} else {
					below(path+"/", depth+1)
				}
				opts.Pools[path] = pool
			}
		}
		below("", 1)
		s := newSite(t, slots, opts)
		for _, path := range leaves {
			length := time.Duration(1 + r.IntN(6))
			for range 3 {
				s.arrive(1<<20, customer{pool: path, length: always(length)})
			}
		}
		over := func(path string) (full, passed bool, tasks, jobs int) {
			of := map[sojourn.JobID]bool{}
			for _, a := range s.running {
				if p := s.jobs[a.Task.Job].pool; p == path || strings.HasPrefix(p, path+"/") {
					tasks++
					of[a.Task.Job] = true
				}
			}
			jobs = len(of)
			pool := opts.Pools[path]
			most := pool.Max[0]
			return most > 0 && tasks >= most, most > 0 && tasks > most || pool.MaxJobs > 0 && jobs > pool.MaxJobs, tasks, jobs
		}
		rivals := map[string]map[string]*rival{}
		for path := range free {
			up := path[:strings.LastIndex(path, "/")+1]
			if rivals[up] == nil {
				rivals[up] = map[string]*rival{}
			}
			rivals[up][path] = &rival{units: uint64(opts.Pools[path].Weight) << 16, longest: 6}
		}
		jobsLimited := func(path string) bool {
			for ; path != ""; path = path[:max(strings.LastIndex(path, "/"), 0)] {
				if opts.Pools[path].MaxJobs > 0 {
					return true
				}
			}
			return false
		}
		for range 400 {
			s.fill()
			for path := range opts.Pools {
				if _, passed, tasks, jobs := over(path); passed {
					t.Fatalf("seed %d: pool %s runs %d tasks of %d jobs, its limits are %+v", seed, path, tasks, jobs, opts.Pools[path])
				}
			}
			for id, c := range s.jobs {
				if len(s.free) == 0 {
					break
				}
				held := false
				for path := c.pool; path != "" && !held; path = path[:max(strings.LastIndex(path, "/"), 0)] {
					full, _, _, jobs := over(path)
					held = full || opts.Pools[path].MaxJobs > 0 && jobs >= opts.Pools[path].MaxJobs && !s.runs(id)
				}
				if !held {
					t.Fatalf("seed %d: %d slots stay free, but job %d in pool %s could start", seed, len(s.free), id, c.pool)
				}
			}
			s.step(succeeds)
			for up, list := range rivals {
				for path, x := range list {
					x.got = int64(s.got[path])
				}
				if !jobsLimited(strings.TrimSuffix(up, "/")) {
					worst = max(worst, within(t, int64(slots), list))
				}
			}
		}
	}
	t.Logf("%.2f of the bound at most", worst)
	if worst < 0.2 {
		t.Errorf("%.2f of the bound at most: the runs are too tame to show anything", worst)
	}
}

// A pool that says 2^63-1 of each of its tasks, one that says 0, and one that says a thousand times what its tasks cost: pools beside them that say what is true keep their
// bound, and none of those that say too much has more than they.
func TestCostsThatLieForEver(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 11))
		slots := 1 + r.IntN(6)
		s := newSite(t, slots, fair.Options{})
		honest := map[string]*rival{}
		price := func() uint64 { return 1 + r.Uint64N(100) }
		for i := range 3 {
			path := fmt.Sprint("honest", i)
			honest[path] = &rival{units: 1 << 16, longest: 100}
			s.arrive(1<<20, customer{pool: path, cost: price(), length: func() time.Duration { return time.Duration(1 + r.IntN(9)) }})
		}
		liars := []customer{{pool: "most", cost: 1<<63 - 1}, {pool: "more", cost: 1 << 63}, {pool: "thousand", cost: 50_000}}
		for _, c := range liars {
			if r.IntN(2) == 0 {
				c.length = always(time.Duration(1 + r.IntN(9)))
				s.arrive(1<<20, c)
			}
		}
		level, at := false, map[string]int64{}
		starts := map[string]int{}
		for range 1000 {
			before := len(s.log)
			path, _ := s.step(succeeds)
			for _, p := range s.log[before:] {
				starts[p]++
			}
			if !level { // all are, when the first cost is told: what ran then is charged at its end
				level = true
				continue
			}
			for id, c := range s.jobs {
				if c.pool == path {
					at[path] += int64(min(c.cost, 1<<62))
					if honest[path] != nil {
						s.jobs[id].cost = price()
					}
				}
			}
			for p, x := range honest {
				x.got = at[p]
			}
			within(t, int64(slots)*2, honest) // what was out when the first cost was told is charged with that
		}
		for _, path := range []string{"most", "more"} {
			if starts[path] > 3*slots+5 {
				t.Errorf("seed %d: %s has started %d tasks, honest ones %v", seed, path, starts[path], starts)
			}
		}
	}
}

// The ends of time: a task runs for nearly three centuries, the credit and the half-life are the greatest, and work comes before, meanwhile and after.
func TestCenturies(t *testing.T) {
	const century = 876_000 * time.Hour
	for _, opts := range []fair.Options{{}, {Credit: math.MaxInt64}, {HalfLife: math.MaxInt64}, {Credit: math.MaxInt64, HalfLife: 1}, {Credit: 1, HalfLife: math.MaxInt64 - 1}} {
		for _, told := range []time.Duration{0, time.Second, math.MaxInt64 >> 11} {
			opts.Pools = map[string]fair.Pool{"light": {Weight: 1. / 65536}, "heavy": {Weight: 1<<32 - 1}, "a": {}, "b": {}}
			s := newSite(t, 3, opts)
			s.arrive(2, customer{pool: "light", length: always(2 * century), told: told})
			s.arrive(1, customer{pool: "heavy", length: always(century), told: told})
			s.until(10 * time.Second)
			a, b := &rival{units: 1 << 16, longest: 5e9}, &rival{units: 1 << 16, longest: 5e9}
			r := rand.New(rand.NewPCG(1, uint64(told)))
			compare := func(at time.Duration) {
				t.Helper()
				fromA, fromB := s.got["a"], s.got["b"]
				length := func() time.Duration { return time.Duration(1+r.IntN(5)) * time.Second }
				s.arrive(1<<10, customer{pool: "a", length: length, told: told})
				s.arrive(1<<10, customer{pool: "b", length: length, told: told})
				s.until(at)
				a.got, b.got = int64(s.got["a"]-fromA), int64(s.got["b"]-fromB)
				if opts.Credit == 0 {
					within(t, 3*2, map[string]*rival{"a": a, "b": b}) // over an interval
				}
				if a.got < 100e9 {
					t.Errorf("credit %v, half-life %v, told %v: until %v a has had %v", opts.Credit, opts.HalfLife, told, at, s.got["a"])
				}
			}
			s.end(0, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask})
			s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
			compare(1010 * time.Second)
			s.until(century - 1)
			compare(century + 1000*time.Second)
			s.until(2*century + 20*time.Second)
			compare(2*century + 1100*time.Second)
		}
	}
}

// Tenants that can use one of two classes only, beside one that uses both: in each class those that are there have their shares.
func TestTenantsOfOneClass(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		of := [2]int{1 + r.IntN(4), 1 + r.IntN(4)}
		s := newSite(t, of[0], fair.Options{Pools: map[string]fair.Pool{"x": {Weight: 2}, "both": {Weight: 3}}})
		for i := range of[1] {
			slot := sojourn.Slot{ID: sojourn.SlotID(100 + i), Class: 1}
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
			s.free = append(s.free, slot.ID)
		}
		length := func() time.Duration { return time.Duration(1 + r.IntN(7)) }
		got := [2]map[string]*rival{{}, {}}
		add := func(path string, weight uint64, class sojourn.Class) {
			got[class][path] = &rival{units: weight << 16, longest: 7}
			s.arrive(1<<20, customer{pool: path, class: class, length: length})
		}
		add("x", 2, 0)
		add("y", 1, 1)
		add("z", 1, 1)
		add("both", 3, 0)
		add("both", 3, 1)
		s.each = func(class sojourn.Class, pool string, held time.Duration) { got[class][pool].got += int64(held) }
		for range 1000 {
			s.step(succeeds)
			within(t, int64(of[0]), got[0])
			within(t, int64(of[1]), got[1])
		}
	}
}

// A pool that is paused with work running starts nothing until it may go on, and has then no more than others: over any interval after it, and they over any interval at all.
func TestPausedWithWorkRunning(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 8))
		slots := 1 + r.IntN(6)
		s := newSite(t, slots, fair.Options{})
		rivals := map[string]*rival{}
		for _, path := range []string{"a", "b", "paused"} {
			rivals[path] = &rival{units: 1 << 16, longest: 9}
			s.arrive(1<<20, customer{pool: path, length: func() time.Duration { return time.Duration(1 + r.IntN(9)) }})
		}
		paused, since := false, map[string]time.Duration{}
		for i := range 2000 {
			if i%100 == 99 {
				paused = !paused
				s.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Name: "paused", Paused: paused}})
				s.log = nil
				for path := range rivals {
					since[path] = s.got[path]
				}
			}
			s.step(succeeds)
			if paused && starts(s.log)["paused"] > 0 {
				t.Fatalf("seed %d: a pool starts tasks while it is paused", seed)
			}
			for path, x := range rivals {
				x.got = int64(s.got[path])
			}
			within(t, int64(slots), map[string]*rival{"a": rivals["a"], "b": rivals["b"]})
			if !paused {
				for path, x := range rivals {
					x.got = int64(s.got[path] - since[path])
				}
				within(t, 2*int64(slots), rivals)
			}
		}
	}
}

// Of a hundred thousand pools ten are busy, and others come with a task now and then: they wait for no round, the ten keep their bound.
func TestTenBusyOfAHundredThousand(t *testing.T) {
	s := newSite(t, 4, fair.Options{})
	rivals := map[string]*rival{}
	for i := range 100_000 {
		s.next++
		path := fmt.Sprint("idle", i)
		s.jobs[s.next] = &customer{pool: path, length: always(time.Second)}
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: s.next, Pool: path, Phases: []sojourn.Phase{{Tasks: 1, Held: true}}}})
	}
	for i := range 10 {
		path := fmt.Sprint("busy", i)
		rivals[path] = &rival{units: 1 << 16, longest: 3e9}
		length := time.Duration(1+i%3) * time.Second
		s.arrive(1<<20, customer{pool: path, length: always(length)})
	}
	longest := time.Duration(0)
	for i := range 20_000 {
		if i%50 == 49 {
			id := sojourn.JobID(1 + i*37%100_000)
			came := s.now
			s.jobs[id].waited = func(time.Duration) { longest = max(longest, s.now.Sub(came)) }
			s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: id}})
		}
		s.step(succeeds)
		if i%20 == 0 {
			for path, x := range rivals {
				x.got = int64(s.got[path])
			}
			within(t, 4, rivals)
		}
	}
	if longest > 3*time.Second {
		t.Errorf("a seldom pool has waited %v, want the rest of a task at most", longest)
	}
}

// Sessions of two tenants that make one call after another: the tenants have their shares, however many sessions each has.
func TestSessionsOfTenants(t *testing.T) {
	s := newSite(t, 6, fair.Options{Pools: map[string]fair.Pool{"gold": {Weight: 2}}})
	calls := map[sojourn.JobID]int{}
	for i := range 52 {
		pool := "gold"
		if i >= 12 {
			pool = "free"
		}
		s.next++
		s.jobs[s.next] = &customer{pool: pool, length: always(time.Duration(1+i%3) * time.Second)}
		calls[s.next] = 1
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: s.next, Pool: pool, Open: true, Phases: []sojourn.Phase{{Tasks: 1}}}})
	}
	for s.now < sojourn.Time(1000*time.Second) {
		s.fill()
		id, _ := s.ends.Min()
		at, _ := s.ends.MinKey()
		s.now = at.at
		job := s.running[sojourn.SlotID(id)].Task.Job
		s.end(sojourn.SlotID(id), sojourn.Event{Kind: sojourn.TaskFinished})
		calls[job]++
		s.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &sojourn.Job{ID: job, Pool: s.jobs[job].pool, Open: true, Phases: []sojourn.Phase{{Tasks: calls[job]}}}})
	}
	if gold, free := s.got["gold"].Seconds(), s.got["free"].Seconds(); math.Abs(gold/free-2) > 0.02 {
		t.Errorf("sessions of weights 2 and 1 had %.0f s and %.0f s", gold, free)
	}
}
