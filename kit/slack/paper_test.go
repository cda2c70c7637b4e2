package slack

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// The equations of the paper, each by its number, on vectors of integers: the s
// that an equation gives must be the s that equation (6) gives for v and w. If the
// paper's form is wrong, both forms are here, and the test fails if the printed
// form passes.

// A table is a slack system of equal weights as in the paper: jobs in the order of v.
type table struct{ v, w, s []int64 }

// eq6 is s_i = v_1 + ... + v_{i-1} + (m-i+1) v_i - (w_1 + ... + w_i), i from 1.
func eq6(v, w []int64) []int64 {
	s := make([]int64, len(v))
	var before, work int64
	for i := range v {
		work += w[i]
		s[i] = before + int64(len(v)-i)*v[i] - work
		before += v[i]
	}
	return s
}

func (x table) clone() table {
	return table{slices.Clone(x.v), slices.Clone(x.w), slices.Clone(x.s)}
}

// holds reports whether s is that of equation (6).
func (x table) holds() bool { return slices.Equal(x.s, eq6(x.v, x.w)) }

func sum(x []int64) (sum int64) {
	for _, y := range x {
		sum += y
	}
	return sum
}

// randomTable draws 1 to 8 jobs, with all v at least least.
func randomTable(rng *rand.Rand, least int64) table {
	x := table{}
	for range 1 + rng.IntN(8) {
		x.v = append(x.v, least+rng.Int64N(40))
		x.w = append(x.w, rng.Int64N(60))
	}
	slices.Sort(x.v)
	x.s = eq6(x.v, x.w)
	return x
}

const draws = 3000

// A form is an equation in one reading. It changes a copy of a table.
type form struct {
	name  string
	right bool
	apply func(x *table)
}

// verify draws tables and applies all forms that next returns. The right ones must
// always hold, and each of the others must fail at least once.
func verifyForms(t *testing.T, least int64, next func(rng *rand.Rand, x table) []form) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	failed := map[string]int{}
	for range draws {
		x := randomTable(rng, least)
		for _, f := range next(rng, x) {
			y := x.clone()
			f.apply(&y)
			switch {
			case y.holds():
				failed[f.name] += 0
			case f.right:
				t.Fatalf("%s makes %v of %v, want s = %v", f.name, y, x, eq6(y.v, y.w))
			default:
				failed[f.name]++
			}
		}
		for _, f := range next(rng, x) {
			if f.right {
				delete(failed, f.name)
			}
		}
	}
	for name, n := range failed {
		t.Logf("%s: wrong %d times", name, n)
		if n == 0 {
			t.Errorf("%s: never wrong in %d draws, although it is no right form", name, draws)
		}
	}
}

// One job runs on all slots for the time dt, or several do their parts of it and
// slots idle.
//
// Reference: equations (7), (8), (9), (10).
func TestEquations7To10(t *testing.T) {
	verifyForms(t, 100, func(rng *rand.Rand, x table) []form {
		m := int64(len(x.v))
		i := rng.IntN(len(x.v))
		dt := m * rng.Int64N(10) // divisible, and before the next virtual completion
		age := func(x *table, dt int64) {
			for j := range x.v {
				x.v[j] -= dt / m // (8)
			}
		}
		// done[k] is the work done for k, the sum at most dt: slots idle for the rest.
		done := make([]int64, m)
		for k, left := 0, dt; k < len(done); k++ {
			done[k] = rng.Int64N(left + 1)
			left -= done[k]
		}
		return []form{
			{"(7)-(9), one job on all slots", true, func(x *table) {
				x.w[i] -= dt // (7)
				age(x, dt)
				for j := range i {
					x.s[j] -= dt // (9)
				}
			}},
			{"(9), several jobs and idle slots", true, func(x *table) {
				age(x, dt)
				for j := range x.s {
					x.w[j] -= done[j]
					x.s[j] -= dt - sum(done[:j+1])
				}
			}},
			{"(9) as printed, for each job that was executed", false, func(x *table) {
				age(x, dt)
				for k := range done {
					x.w[k] -= done[k]
					for j := range k {
						x.s[j] -= done[k]
					}
				}
			}},
			{"(8) as printed, once for each job that was executed", false, func(x *table) {
				for k := range done {
					x.w[k] -= done[k] * m
					age(x, done[k]*m)
				}
				for j := range x.s {
					x.s[j] -= (dt - sum(done[:j+1])) * m
				}
			}},
		}
	})

	// (10): n of N slots busy with a job do n/N of all work.
	const slots, busy, dt = 4, 3, 8
	s := New[int](vqueue.LateFirst)
	s.SetCapacity(slots)
	it := s.Arrive(0, 100, one, Drained)
	s.Serve(it, busy*dt)
	s.Advance(dt, nil)
	if w, v, got := it.Work(), s.Virtual(it), s.Slack(it); w != 100-24 || v != 100-32 || got != -8 {
		t.Errorf("w, v, s = %v, %v, %v, want 76, 68, -8: a slot was idle for 8", w, v, got)
	}
}

// The interval is split where a job leaves V: m changes there. Three jobs of 10, 20
// and 40 on one slot: m is 3 until 30, 2 until 50, then 1. At 60 the last has 10
// left. Without the split it would have 40 - 60/3 = 20.
//
// Reference: equation (8).
func TestEquation8IsSplitAtVirtualCompletions(t *testing.T) {
	for _, step := range []sojourn.Time{60, 7, 1} {
		s := New[int](vqueue.LateFirst)
		s.SetCapacity(1)
		var items []*Item[int]
		for i, w := range []uint64{10, 20, 40} {
			items = append(items, s.Arrive(i, w, one, Drained))
		}
		var got []string
		for now := step; now <= 60+step; now += step {
			s.Advance(min(now, 60), func(it *Item[int], at sojourn.Time) { got = append(got, fmt.Sprintf("%d@%d", it.Value, at)) })
		}
		if want := []string{"0@30", "1@50"}; !slices.Equal(got, want) {
			t.Errorf("in steps of %d: virtual completions %v, want %v", step, got, want)
		}
		// s = 10 - (10 + 20 + 40), the late ones counted.
		if v, slack := s.Virtual(items[2]), s.Slack(items[2]); v != 10 || slack != -60 {
			t.Errorf("in steps of %d: v, s = %d, %v, want 10, -60", step, v, slack)
		}
	}
}

// A new estimate of w moves job i from place i to place k.
//
// Reference: equations (11) to (17), and those that are missing: a job that keeps
// its place, and the jobs behind it.
func TestEquations11To17(t *testing.T) {
	verifyForms(t, 0, func(rng *rand.Rand, x table) []form {
		m := len(x.v)
		i := rng.IntN(m)
		w := rng.Int64N(100)
		v := max(0, x.v[i]+w-x.w[i]) // (11), (13), clipped
		// Its new place, behind jobs that tie and before which it was not.
		k := 0
		for j := range m {
			if j != i && (x.v[j] < v || x.v[j] == v && j < i) {
				k++
			}
		}
		move := func(x *table, s []int64) { // s of each job, by its old place
			place := func(list []int64, value int64) []int64 {
				return slices.Insert(slices.Delete(list, i, i+1), k, value)
			}
			x.s = place(slices.Clone(s), s[i])
			x.v = place(x.v, v)
			x.w = place(x.w, w) // (12)
		}
		// later and earlier are (14), (15) and (16), (17) with ranges that end at k or
		// one before, and with v_i and w_i as they were or already overwritten.
		later := func(x *table, end int, vi, wi int64, suffix bool) {
			s := slices.Clone(x.s)
			for j := i + 1; j <= end; j++ {
				s[j] += x.v[j] - vi + wi // (14)
			}
			s[i] += sum(x.v[i+1:end+1]) + int64(m-k)*v - int64(m-i)*vi - (sum(x.w[i+1:end+1]) + w - wi) // (15)
			for j := k + 1; suffix && j < m; j++ {
				s[j] += v - x.v[i] - (w - x.w[i])
			}
			move(x, s)
		}
		earlier := func(x *table, start int, vi, wi int64, suffix bool) {
			s := slices.Clone(x.s)
			for j := start; j < i; j++ {
				s[j] += v - x.v[j] - w // (16)
			}
			s[i] += -sum(x.v[start:i]) + int64(m-k)*v - int64(m-i)*vi + sum(x.w[start:i]) - w + wi // (17)
			for j := i + 1; suffix && j < m; j++ {
				s[j] += v - x.v[i] - (w - x.w[i])
			}
			move(x, s)
		}
		clipped := v-x.v[i] != w-x.w[i]
		switch {
		case k > i:
			return []form{
				{"(14), (15)", true, func(x *table) { later(x, k, x.v[i], x.w[i], true) }},
				{"(14), (15) as printed: j < i*", false, func(x *table) { later(x, k-1, x.v[i], x.w[i], true) }},
				{"(14), (15) after (12), (13)", false, func(x *table) { later(x, k, v, w, true) }},
			}
		case k < i:
			forms := []form{
				{"(16), (17)", true, func(x *table) { earlier(x, k, x.v[i], x.w[i], true) }},
				{"(16), (17) as printed: i* < j", false, func(x *table) { earlier(x, k+1, x.v[i], x.w[i], true) }},
				{"(16), (17) after (12), (13)", false, func(x *table) { earlier(x, k, v, w, true) }},
			}
			if clipped && i < m-1 {
				forms = append(forms, form{"no change behind both places, v clipped", false, func(x *table) { earlier(x, k, x.v[i], x.w[i], false) }})
			}
			return forms
		}
		return []form{
			{"i* = i", true, func(x *table) {
				dv, dw := v-x.v[i], w-x.w[i]
				s := slices.Clone(x.s)
				s[i] += int64(m-i)*dv - dw
				for j := i + 1; j < m; j++ {
					s[j] += dv - dw
				}
				move(x, s)
			}},
			{"i* = i by (14)-(17): no change", false, func(x *table) { move(x, x.s) }},
		}
	})
}

// A job of size y arrives; the first one completes virtually.
//
// Reference: rules that the paper uses and does not state.
func TestArrivalAndVirtualCompletion(t *testing.T) {
	verifyForms(t, 0, func(rng *rand.Rand, x table) []form {
		y := rng.Int64N(50)
		p := 0
		for p < len(x.v) && x.v[p] <= y {
			p++
		}
		arrive := func(x *table, suffix int64) {
			m := len(x.v) + 1
			own := sum(x.v[:p]) - sum(x.w[:p]) + int64(m-p)*y - y
			for j := range x.s {
				if j < p {
					x.s[j] += x.v[j]
				} else {
					x.s[j] += suffix
				}
			}
			x.v, x.w, x.s = slices.Insert(x.v, p, y), slices.Insert(x.w, p, y), slices.Insert(x.s, p, own)
		}
		complete := func(x *table, by int64) {
			x.v[0] = 0
			x.s = eq6(x.v, x.w)
			x.v, x.w, x.s = x.v[1:], x.w[1:], x.s[1:]
			for j := range x.s {
				x.s[j] += by
			}
		}
		return []form{
			{"arrival", true, func(x *table) { arrive(x, 0) }},
			{"arrival, all shifted", false, func(x *table) { arrive(x, y) }},
			{"virtual completion", true, func(x *table) { complete(x, x.w[0]) }},
			{"virtual completion, its work forgotten", false, func(x *table) { complete(x, 0) }},
		}
	})
}

// The system computes what the equations say, on an example. On one slot a (10), b
// (20) and c (30) are there from 0:
//
//	s_a = 3*10 - 10 = 20, s_b = 10 + 2*20 - 30 = 20, s_c = 10 + 20 + 30 - 60 = 0.
func TestRevisionInNumbers(t *testing.T) {
	s := New[string](vqueue.LateFirst)
	s.SetCapacity(1)
	a, b, c := s.Arrive("a", 10, one, Drained), s.Arrive("b", 20, one, Drained), s.Arrive("c", 30, one, Drained)
	for _, tc := range []struct {
		what    string
		do      func()
		a, b, c float64
	}{
		{"arrivals", func() {}, 20, 20, 0},
		// a becomes 25, between b and c: s_b = 3*20 - 20, s_a = 20 + 2*25 - 45,
		// s_c = 20 + 25 + 30 - 75.
		{"(14), (15)", func() { s.Revise(a, a.Work(), 25, one) }, 25, 40, 0},
		// c becomes 5: s_c = 3*5 - 5, s_b = 5 + 2*20 - 25, s_a = 5 + 20 + 25 - 50.
		{"(16), (17)", func() { s.Revise(c, c.Work(), 5, one) }, 0, 20, 10},
		// b becomes 22 where it is: s_b = 5 + 2*22 - 27.
		{"i* = i", func() { s.Revise(b, b.Work(), 22, one) }, 0, 22, 10},
		// c does 4 of its 5, in 6: a slot idles for 2. v of all is 2 less.
		// s_c = 3*3 - 1, s_b = 3 + 2*20 - 23, s_a = 3 + 20 + 23 - 48.
		{"(7), (8), (9)", func() { s.Serve(c, 4); s.Advance(6, nil) }, -2, 20, 8},
		// c is really finished, at v = 3. s_b = 3 + 2*20 - 22, s_a = 3 + 20 + 23 - 47.
		{"c is finished", func() { s.Finish(c) }, -1, 21, math.NaN()},
		// Its last 3 take 9: s_b = 2*17 - 22, s_a = 17 + 20 - 47.
		{"c is virtually complete", func() { s.Advance(15, nil) }, -10, 12, math.NaN()},
		// Weight 2 for a, with F = 10: s_a = 3*10 - 25, s_b = 20 + 17 - 47.
		{"weights", func() { s.Revise(a, a.Work(), 25, 2*one) }, 5, -10, math.NaN()},
	} {
		tc.do()
		if got := [2]float64{s.Slack(a), s.Slack(b)}; got != [2]float64{tc.a, tc.b} || tc.c == tc.c && s.Slack(c) != tc.c {
			t.Errorf("%s: s of a and b is %v, want %v, %v, and of c %v", tc.what, got, tc.a, tc.b, tc.c)
		}
	}
}

// A job whose size was estimated too small is virtually complete with work left. In
// the paper it leaves the queue there, and is not served while others run. Here it
// goes before all others until it is finished, and others wait for its work.
//
// Reference: II.C, "if we find any job j for which v_j = 0, we remove it".
func TestLateJobIsNotDropped(t *testing.T) {
	s := New[string](vqueue.LateFirst)
	s.SetCapacity(1)
	a := s.Arrive("a", 10, one, Drained)
	s.SetState(a, Ready)
	s.Serve(a, 10)
	s.Advance(10, nil)
	s.SetWork(a, 50) // 50 have to be done again; it is virtually complete
	b := s.Arrive("b", 20, one, Drained)
	s.SetState(b, Ready)
	check := func(at sojourn.Time, want *Item[string], slack float64) {
		t.Helper()
		s.Advance(at, nil)
		if it, ok := s.LeastCompletable(); !ok || it != want || s.Slack(b) != slack {
			t.Errorf("at %v: %v is served and s of b is %v, want %v, %v", at, it.Value, s.Slack(b), want.Value, slack)
		}
	}
	check(10, a, -50) // v = 20, and 70 to do
	if s.Completable(b) || s.Protected(b) {
		t.Error("b is completable or protected behind a late job")
	}
	s.Serve(a, 5)
	check(15, a, -50) // 15 - 65
	s.SetState(a, Drained)
	check(15, b, -50) // what is left of a runs; that constrains nobody
	s.SetState(a, Blocked)
	if it, ok := s.LeastCompletable(); ok {
		t.Errorf("%v is served while a late job waits", it.Value)
	}
	s.Finish(a)
	check(15, b, -5) // 15 - 20
}

// A late job whose estimate grows is back in V with what it has grown by, (13) with v = 0.
// a (10) is late with 4 left when 30 more turn up; b (20) is there: s_a = 20 + 30 - 54.
//
// Reference: equations (11) to (13).
func TestLateJobThatGrowsIsBack(t *testing.T) {
	s := New[string](vqueue.LateFirst)
	s.SetCapacity(1)
	a := s.Arrive("a", 10, one, Drained)
	s.SetState(a, Ready)
	s.Serve(a, 6)
	s.Advance(10, nil)
	b := s.Arrive("b", 20, one, Drained)
	s.SetState(b, Ready)
	if !a.Late() || s.Completable(b) {
		t.Errorf("a is late: %v; b is completable: %v", a.Late(), s.Completable(b))
	}
	s.Revise(a, a.Work(), 34, one)
	if got := [4]float64{float64(s.Virtual(a)), s.Slack(a), float64(s.Virtual(b)), s.Slack(b)}; got != [4]float64{30, -4, 20, 20} {
		t.Errorf("v and s of a and b are %v, want 30, -4, 20, 20", got)
	}
	if it, ok := s.LeastCompletable(); !ok || it != b {
		t.Errorf("%v is served, want b", it)
	}
	s.Revise(a, a.Work(), 31, one) // less again: as any in V
	if s.Virtual(a) != 27 || a.Late() {
		t.Errorf("v of a is %d, want 27", s.Virtual(a))
	}
}

// A finished job keeps its share of V and constrains nobody: without the second, b
// would not be completable. c (10, later) has the least work; s_a would be
// 3*10 - 0 = 30, but the slack of a finished job does not count (s = infinity), nor
// is it negative ever.
//
// Reference: II.C, "we set s_i = infinity".
func TestFinishedJobConstrainsNobody(t *testing.T) {
	s := New[string](vqueue.LateFirst)
	s.SetCapacity(1)
	a, b := s.Arrive("a", 10, one, Drained), s.Arrive("b", 100, one, Drained)
	s.SetState(a, Ready)
	s.SetState(b, Ready)
	s.Serve(a, 10)
	s.Finish(a)
	s.Advance(10, nil) // s_a = 2*5 = 10 < w_b
	if it, ok := s.LeastCompletable(); !ok || it != b || !s.Completable(b) || !s.Protected(b) {
		t.Errorf("%v is served, want b, completable and protected", it)
	}
	if v := s.Virtual(b); v != 95 || s.Len() != 2 {
		t.Errorf("v of b is %d with %d jobs in V, want 95, 2: a keeps its share", v, s.Len())
	}
}

// Jobs of equal v go by arrival, and of those of equal w the first in V is chosen.
//
// Reference: III.A, "in case of a tie, we place the job submitted earlier in front".
func TestTies(t *testing.T) {
	s := New[string](vqueue.LateFirst)
	s.SetCapacity(1)
	var items []*Item[string]
	for _, name := range []string{"a", "b", "c"} {
		items = append(items, s.Arrive(name, 7, one, Drained))
		s.SetState(items[len(items)-1], Ready)
	}
	s.Revise(items[0], items[0].Work(), 9, one)
	s.Revise(items[0], items[0].Work(), 7, one) // back at its place: the order of arrival is kept
	for i, want := range items {
		if it, ok := s.LeastCompletable(); !ok || it != want {
			t.Fatalf("%v is served, want %s", it, want.Value)
		}
		// 3*7 - 7, 7 + 2*7 - 14, 7 + 7 + 7 - 21
		if s.SetState(want, Blocked); s.Slack(want) != float64(14-7*i) {
			t.Errorf("s of %s is %v, want %d", want.Value, s.Slack(want), 14-7*i)
		}
	}
	if guard, ok := s.Guard(items[2]); !ok || guard != items[1] {
		t.Errorf("Guard(c) = %v, want b", guard)
	}
}

// Ten years of uptime on a million slots without a pause. Virtual time runs fastest
// while there is little weight in V: here mostly one job of the least weight, of
// up to 2^63 slot-nanoseconds or of 10^9 task-seconds. Nothing overflows, and s
// stays exact. Each job comes before the previous one is complete.
func TestTenYears(t *testing.T) {
	const year = 365 * 24 * time.Hour
	m := newMachine(vqueue.LateFirst, 1_000_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; m.clock.Now() < sojourn.Time(10*year); n++ {
		for m.Len() < 3 {
			work, weight := 1<<62+rng.Uint64N(1<<62), uint64(1)
			if rng.IntN(10) == 0 {
				work, weight = 1e9*1e9, 1+rng.Uint64N(1<<48)
			}
			m.setState(m.arrive(work, weight), Ready)
		}
		if it, ok := m.LeastCompletable(); ok && n%3 > 0 {
			m.finish(it.Value)
		}
		at, _ := m.NextCompletion()
		m.advance(t, at)
		if m.Len() == 0 {
			t.Fatalf("the virtual cluster is idle at %v: this test wants one busy period", m.clock.Now())
		}
		for len(m.items) > 20 {
			it, _ := m.LeastCompletable()
			m.finish(it.Value)
		}
		if n%1000 == 0 {
			m.check(t)
		}
	}
	m.check(t)
	if g, _ := m.clock.State(); g.Hi>>32 == 0 {
		t.Errorf("virtual time is %v, want a large one", g)
	}
}

func TestExtremes(t *testing.T) {
	m := newMachine(vqueue.LateFirst, math.MaxInt32)
	for i := range 60 {
		m.setState(m.arrive(1<<63, []uint64{1, one, 1 << 48}[i%3]), Ready)
		m.advance(t, m.clock.Now().Add(time.Second))
		m.check(t)
	}
	m.advance(t, math.MaxInt64)
	m.check(t)
	for i := range 60 {
		m.revise(i+1, m.items[i+1].work, uint64(i)<<57, 1<<48)
	}
	m.check(t)
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	r := newRun(1000, 1)
	for range 20_000 {
		r.job()
	}
	if n := testing.AllocsPerRun(10_000, r.job); n != 0 {
		t.Errorf("%v allocations a job, want 0", n)
	}
}

func TestMisusePanics(t *testing.T) {
	s := New[int](vqueue.LateFirst)
	s.SetCapacity(1)
	s.Advance(10, nil)
	it := s.Arrive(0, 10, one, Drained)
	for name, f := range map[string]func(){
		"time":     func() { s.Advance(9, nil) },
		"work":     func() { s.Arrive(0, 1<<63+1, one, Drained) },
		"weight":   func() { s.Arrive(0, 1, 0, Drained) },
		"heavy":    func() { s.Revise(it, it.Work(), 1, 1<<48+1) },
		"capacity": func() { s.SetCapacity(-1) },
		"mode":     func() { New[int](7) },
		"finished": func() { s.Finish(it); s.Finish(it) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}
