package fair_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A dumb is a fair scheduler with rational numbers that looks at everything whenever it
// is asked. It knows jobs of one phase.
type dumb struct {
	pools  map[string]fair.Pool
	jobs   []*dumbJob // live, in the order of arrival
	turns  int
	turn   map[string]map[sojourn.Class]int  // by path of a pool
	before map[string]map[sojourn.Class]int  // turn when it last began to run something
	owes   map[string]map[sojourn.Class]bool // an attempt failed and is not charged yet
	ties   fair.Ties
	most   map[string]*big.Int // slot time for the weight, by path of a pool and class
}

type dumbJob struct {
	id      sojourn.JobID
	path    []string
	weight  float64
	class   sojourn.Class
	pending int
	running int
	started int             // and not lost
	turn    int             // when it came
	served  int             // when it was served last, or else when it arrived
	before  int             // served when it last began to run something
	failed  []time.Duration // an attempt that is not charged yet
	task    time.Duration
	had     *big.Int // slot time for its weight, in units of 2^-32 ns, each charge rounded down
}

// tie returns what decides between j and another job that is as far below its share, and
// then its turn.
func (d *dumb) tie(j *dumbJob) (tie *big.Rat, turn int) {
	switch d.ties {
	case fair.LeastService:
		return new(big.Rat).SetInt(j.had), j.served
	case fair.LeastWork:
		return new(big.Rat).SetInt64(int64(j.pending+j.running) * int64(cmp.Or(j.task, time.Minute))), j.served
	case fair.RoundRobin:
		return new(big.Rat), j.served
	}
	return new(big.Rat), j.turn
}

// level names the account of the most service that jobs of a pool have had in a class.
func level(j *dumbJob) string { return fmt.Sprint(strings.Join(j.path, "/"), " ", j.class) }

// hold counts that an attempt of j has held a slot for a time.
func (d *dumb) hold(j *dumbJob, held time.Duration) {
	x := over(1, j.weight)
	x.Mul(x, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(int64(held)), 32)))
	j.had.Add(j.had, new(big.Int).Quo(x.Num(), x.Denom()))
	if l := level(j); d.most[l].Cmp(j.had) < 0 {
		d.most[l] = new(big.Int).Set(j.had)
	}
}

// charge charges j and its pools for an attempt that has ended: never if it was lost, and only with
// the next one if it failed.
func (d *dumb) charge(j *dumbJob, lost, failed bool, held time.Duration) {
	for n := 1; n <= len(j.path); n++ {
		path := strings.Join(j.path[:n], "/")
		if spared := failed && !d.owes[path][j.class]; lost || spared {
			d.turn[path][j.class] = d.before[path][j.class]
			d.owes[path][j.class] = d.owes[path][j.class] || spared && !lost
		} else {
			d.owes[path][j.class] = false
		}
	}
	if lost || failed && len(j.failed) == 0 {
		j.served = j.before
		if lost {
			j.started--
		} else {
			j.failed = append(j.failed, held)
		}
		return
	}
	for _, owed := range j.failed {
		held += owed
	}
	j.failed = nil
	d.hold(j, held)
}

// pool returns the options of the pool at a path.
func (d *dumb) pool(path []string) fair.Pool {
	if p, ok := d.pools[strings.Join(path, "/")]; ok {
		return p
	}
	star := slices.Clone(path)
	star[len(star)-1] = "*"
	return d.pools[strings.Join(star, "/")]
}

// in returns the jobs at or below a path.
func (d *dumb) in(path []string) (list []*dumbJob) {
	for _, j := range d.jobs {
		if len(j.path) >= len(path) && slices.Equal(j.path[:len(path)], path) {
			list = append(list, j)
		}
	}
	return list
}

// may reports whether the limits of a pool and of the pools below it let j start a task.
// It leaves out the pools around it.
func (d *dumb) may(j *dumbJob, from int) bool {
	if j.pending == 0 {
		return false
	}
	for n := from; n <= len(j.path); n++ {
		if n == 0 {
			continue
		}
		p := d.pool(j.path[:n])
		running, active := 0, 0
		for _, k := range d.in(j.path[:n]) {
			if k.class == j.class {
				running += k.running
			}
			if k.running > 0 {
				active++
			}
		}
		if m := p.Max[j.class]; m > 0 && running >= m {
			return false
		}
		if p.MaxJobs > 0 && active >= p.MaxJobs && j.running == 0 {
			return false
		}
	}
	return true
}

// join adds a job.
func (d *dumb) join(j *dumbJob) {
	d.turns++
	j.turn, j.served, j.before = d.turns, d.turns, d.turns
	for c := range sojourn.Class(2) {
		// A pool without jobs, its own or below, is forgotten.
		if l := level(&dumbJob{path: j.path, class: c}); len(d.in(j.path)) == 0 || d.most[l] == nil {
			d.most[l] = new(big.Int)
		}
	}
	j.had = new(big.Int).Set(d.most[level(j)])
	for n := 1; n <= len(j.path); n++ {
		if len(d.in(j.path[:n])) == 0 {
			path := strings.Join(j.path[:n], "/")
			d.turn[path] = map[sojourn.Class]int{0: d.turns, 1: d.turns}
			d.before[path] = map[sojourn.Class]int{0: d.turns, 1: d.turns}
			d.owes[path] = map[sojourn.Class]bool{}
		}
	}
	d.jobs = append(d.jobs, j)
}

// assign returns the job that gets a slot of class c, or nil, and counts a task of it as
// running.
func (d *dumb) assign(c sojourn.Class) *dumbJob {
	var able []*dumbJob
	for _, j := range d.jobs {
		if j.class == c && d.may(j, 0) {
			able = append(able, j)
		}
	}
	j := d.choose(nil, able, c)
	if j != nil {
		d.turns++
		if j.running == 0 {
			j.before = j.served
		}
		for n := 1; n <= len(j.path); n++ {
			path := strings.Join(j.path[:n], "/")
			if !slices.ContainsFunc(d.in(j.path[:n]), func(k *dumbJob) bool { return k.class == c && k.running > 0 }) {
				d.before[path][c] = d.turn[path][c]
			}
			d.turn[path][c] = d.turns
		}
		j.served = d.turns
		j.pending--
		j.running++
		j.started++
	}
	return j
}

// choose returns the job that is served first among several jobs of a pool.
func (d *dumb) choose(path []string, able []*dumbJob, c sojourn.Class) *dumbJob {
	limited, fifo := false, false
	for n := 1; n <= len(path); n++ {
		limited = limited || d.pool(path[:n]).MaxJobs > 0
	}
	if len(path) > 0 {
		fifo = d.pool(path).FIFO
	}
	type rival struct {
		rank  []*big.Rat // the criteria, the most important one first
		name  string     // of a pool
		job   *dumbJob
		ratio *big.Rat
	}
	var rivals []rival
	seen := map[string]bool{}
	for _, j := range able {
		if len(j.path) == len(path) {
			r := rival{job: j, ratio: over(j.running, j.weight)}
			fresh, begun := limited && j.running == 0, j.started > 0
			tie, turn := d.tie(j)
			switch {
			case fifo:
				r.rank = rats(1, 0, 0, 0, 0, j.turn)
			case fresh:
				r.rank = rats(1, 0, 0, 1-one(begun), 0, turn)
				r.rank[4] = tie
			default:
				r.rank = rats(1, 0, one(limited), 0, 0, turn)
				r.rank[1], r.rank[4] = r.ratio, tie
			}
			rivals = append(rivals, r)
			continue
		}
		name := j.path[len(path)]
		if seen[name] {
			continue
		}
		seen[name] = true
		below := j.path[:len(path)+1]
		p, running := d.pool(below), 0
		for _, k := range d.in(below) {
			if k.class == c {
				running += k.running
			}
		}
		turn := d.turn[strings.Join(below, "/")][c]
		r := rival{name: name, rank: rats(1, 0, 0, 0, 0, turn)}
		r.rank[1] = over(running, p.Weight)
		if m := p.Min[c]; running < m {
			r.rank = rats(0, 0, 0, 0, 0, turn)
			r.rank[1] = big.NewRat(int64(running), int64(m))
		}
		rivals = append(rivals, r)
	}
	if len(rivals) == 0 {
		return nil
	}
	// The policy finds the first job and the first pool apart. Between the two it does
	// not matter whether a job was begun, and only the turn decides ties.
	first := func(jobs bool) *rival {
		var best *rival
		for i := range rivals {
			if r := &rivals[i]; (r.job != nil) == jobs && (best == nil || slices.CompareFunc(r.rank, best.rank, (*big.Rat).Cmp) < 0) {
				best = r
			}
		}
		return best
	}
	job, pool := first(true), first(false)
	if job != nil {
		job.rank[2], job.rank[3], job.rank[4] = new(big.Rat), new(big.Rat), new(big.Rat)
		if pool == nil || slices.CompareFunc(job.rank, pool.rank, (*big.Rat).Cmp) < 0 {
			return job.job
		}
	}
	var inside []*dumbJob
	for _, j := range able {
		if len(j.path) > len(path) && j.path[len(path)] == pool.name {
			inside = append(inside, j)
		}
	}
	return d.choose(append(slices.Clone(path), pool.name), inside, c)
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

func rats(list ...int) (rats []*big.Rat) {
	for _, n := range list {
		rats = append(rats, big.NewRat(int64(n), 1))
	}
	return rats
}

// places are where pools may be. Options describes some of them. Nothing is below f.
var places = []string{"", "a", "a/x", "a/y", "a/y/z", "a/*", "b", "b/x", "c", "f", "d/*"}

func drawPools(t *rapid.T) map[string]fair.Pool {
	pools := map[string]fair.Pool{}
	for _, path := range places {
		if rapid.Bool().Draw(t, "described") {
			continue
		}
		p := fair.Pool{Weight: rapid.SampledFrom([]float64{0, 0.5, 1, 2, 3, 7, 3600, 1.0 / 65536}).Draw(t, path+" weight"), Min: fair.Slots{}, Max: fair.Slots{}}
		for c := range sojourn.Class(2) {
			p.Min[c] = rapid.SampledFrom([]int{0, 0, 1, 2, 4}).Draw(t, path+" min")
			if m := rapid.SampledFrom([]int{0, 0, 1, 2, 5}).Draw(t, path+" max"); m > 0 {
				p.Max[c] = max(m, p.Min[c])
			}
		}
		p.MaxJobs = rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, path+" jobs")
		p.FIFO = path == "f" && rapid.Bool().Draw(t, "fifo")
		pools[path] = p
	}
	return pools
}

// Every decision follows the rule, also the decision to run nothing. So all slots work as
// far as limits let them (work conservation within limits), and siblings with different
// weights, limits and minimums are treated alike (YuniKorn compares the wrong ones with
// each other).
func TestSiblingsOfPairwiseDifferentWeightMinMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := drawPools(t)
		d := &dumb{pools: pools, turn: map[string]map[sojourn.Class]int{}, before: map[string]map[sojourn.Class]int{}, owes: map[string]map[sojourn.Class]bool{}, most: map[string]*big.Int{}}
		d.ties = rapid.SampledFrom([]fair.Ties{fair.LeastService, fair.RoundRobin, fair.LeastWork, fair.Arrival}).Draw(t, "ties")
		p := newWith(fair.Options{Order: fair.Running, Pools: pools, Ties: d.ties})
		var now sojourn.Time
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatalf("Observe(%v) = %v, want nil", ev, err)
			}
		}
		type attempt struct {
			sojourn.Assignment
			job   *dumbJob
			start sojourn.Time
		}
		slots := rapid.IntRange(1, 12).Draw(t, "slots")
		busy := make([]attempt, slots)
		for i := range busy {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.Class(i % 4 / 3)}})
		}
		next := sojourn.JobID(0)
		for range rapid.IntRange(20, 120).Draw(t, "steps") {
			slot := rapid.IntRange(0, slots-1).Draw(t, "slot")
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 0, 1, time.Second, time.Hour, 1 << 55}).Draw(t, "time"))
			switch a := busy[slot]; {
			case rapid.IntRange(0, 3).Draw(t, "arrives") == 0:
				next++
				j := &dumbJob{
					id: next, weight: rapid.SampledFrom([]float64{0, 0.5, 3, 1.0 / 65536, 1<<32 - 1}).Draw(t, "weight"),
					task:  rapid.SampledFrom([]time.Duration{0, 1, time.Minute, math.MaxInt64 / 8}).Draw(t, "estimate"),
					class: sojourn.Class(rapid.IntRange(0, 3).Draw(t, "class") / 3), pending: rapid.IntRange(1, 8).Draw(t, "tasks"),
				}
				path := rapid.SampledFrom([]string{"", "a", "a/x", "a/y", "a/y/z", "a/w", "b/x", "b", "c", "d/e", "f"}).Draw(t, "pool")
				j.path = strings.Split(path, "/")
				d.join(j)
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: next, Pool: path, Weight: j.weight,
					Phases: []sojourn.Phase{{Tasks: j.pending, Class: j.class, Estimate: j.task}}}})
			case a.job != nil:
				kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused}).Draw(t, "end")
				cause := sojourn.CauseTask
				if kind == sojourn.TaskFailed {
					cause = sojourn.Cause(rapid.IntRange(0, 2).Draw(t, "cause"))
				}
				observe(sojourn.Event{Kind: kind, Cause: cause, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
				a.job.running--
				if kind != sojourn.TaskFinished {
					a.job.pending++
				}
				d.charge(a.job, kind == sojourn.TaskRefused || cause != sojourn.CauseTask, kind == sojourn.TaskFailed, now.Sub(a.start))
				d.jobs = slices.DeleteFunc(d.jobs, func(j *dumbJob) bool { return j.pending+j.running == 0 })
				busy[slot] = attempt{}
			}
			for i := range busy {
				if busy[i].job != nil {
					continue
				}
				want := d.assign(sojourn.Class(i % 4 / 3))
				got, ok := p.Assign(sojourn.SlotID(i))
				if ok != (want != nil) || ok && got.Task.Job != want.id {
					t.Fatalf("Assign(%d) = %+v, %v, want a task of %+v; pools %v", i, got, ok, want, pools)
				}
				if ok {
					busy[i] = attempt{got, want, now}
				}
			}
		}
	})
}

// Empty pools get slots one by one and end up max-min fair in whole slots. All slots are
// given out, or as many as pools want within limits. A pool above its minimum took its
// last slot when no pool that wanted more was worse off by weight or below its minimum.
func TestSlotsFillUpMaxMinFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "pools")
		slots := rapid.IntRange(1, 40).Draw(t, "slots")
		pools := map[string]fair.Pool{}
		p := make([]fair.Pool, n)
		demand, got := make([]int, n), make([]int, n)
		for i := range n {
			p[i].Weight = rapid.SampledFrom([]float64{0.25, 1, 2, 3, 3600}).Draw(t, "weight")
			low := rapid.IntRange(0, 6).Draw(t, "min")
			p[i].Min = fair.Slots{0: low}
			if rapid.Bool().Draw(t, "bounded") {
				p[i].Max = fair.Slots{0: max(1, low) + rapid.IntRange(0, 9).Draw(t, "room")}
			}
			demand[i] = rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "demand")
			pools[fmt.Sprint(i)] = p[i]
		}
		s := newWith(fair.Options{Pools: pools})
		order := rapid.Permutation(slices.Collect(seq(n))).Draw(t, "order")
		for _, i := range order {
			s.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: fmt.Sprint(i), Phases: []sojourn.Phase{{Tasks: demand[i]}}}})
		}
		for id := range sojourn.SlotID(slots) {
			s.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			if a, ok := s.Assign(id); ok {
				got[a.Task.Job-1]++
			}
		}
		limit, sum, all := make([]int, n), 0, 0
		for i := range n {
			limit[i] = demand[i]
			if m := p[i].Max[0]; m > 0 {
				limit[i] = min(limit[i], m)
			}
			sum += got[i]
			all += limit[i]
		}
		if want := min(slots, all); sum != want {
			t.Fatalf("%v slots in use, want %d of %d", sum, want, slots)
		}
		for x := range n {
			for y := range n {
				switch {
				case got[x] > limit[x]:
					t.Fatalf("pool %d has %d slots, above its limit %d", x, got[x], limit[x])
				case x == y || got[y] >= limit[y] || got[x] <= p[x].Min[0]:
				case got[y] < p[y].Min[0]:
					t.Fatalf("pools %+v: slots %v: %d has more than its minimum, %d less", p, got, x, y)
				case over(got[x]-1, p[x].Weight).Cmp(over(got[y], p[y].Weight)) > 0 && got[x]-1 >= p[x].Min[0]:
					t.Fatalf("pools %+v: slots %v: one slot of %d should be of %d", p, got, x, y)
				}
			}
		}
	})
}

func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}
