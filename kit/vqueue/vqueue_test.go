package vqueue_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"pgregory.net/rapid"
)

const one = 1 << 16 // weight 1

// unit is how many units of work there are in a slot-nanosecond.
var unit = new(big.Int).Lsh(big.NewInt(1), vclock.Shift)

// A pair is one job in the queue and in the oracle.
type pair struct {
	name     int
	it       *vqueue.Item[*pair]
	exact    *gpsJob
	work     uint64
	weight   uint64
	lightest uint64 // the smallest weight it has had
	running  int
	ready    bool
	finished bool
	late     int            // position in the order of virtual completion, from 1; 0 before
	end      []sojourn.Time // what done was called with
}

func (p *pair) String() string { return fmt.Sprintf("job %d", p.name) }

// A machine drives a queue and the oracle side by side.
type machine struct {
	mode  vqueue.Late
	q     *vqueue.Queue[*pair]
	exact *gps
	jobs  []*pair
	now   sojourn.Time
	lates int
	slack *big.Rat // the bound E of the package comment, in slot-nanoseconds

	maxWeight *big.Rat // the largest W so far
	minSlots  int
}

func newMachine(mode vqueue.Late, slots int) *machine {
	m := &machine{mode: mode, q: vqueue.New[*pair](mode), exact: newGPS(), slack: new(big.Rat), maxWeight: new(big.Rat), minSlots: slots}
	m.setCapacity(slots)
	return m
}

func (m *machine) setCapacity(slots int) {
	m.q.SetCapacity(slots)
	m.exact.slots = int64(slots)
	m.minSlots = min(m.minSlots, slots)
}

// widen raises the bound by n weights.
func (m *machine) widen(n int64, weight uint64) {
	m.slack.Add(m.slack, new(big.Rat).Mul(new(big.Rat).SetFrac(big.NewInt(n), unit), ratU(weight)))
	total := new(big.Rat)
	for _, p := range m.jobs {
		if !p.it.Late() {
			total.Add(total, ratU(p.weight))
		}
	}
	if total.Cmp(m.maxWeight) > 0 {
		m.maxWeight = total
	}
}

func (m *machine) arrive(work, weight uint64) *pair {
	p := &pair{name: len(m.jobs) + 1, work: work, weight: weight, lightest: weight}
	p.it = m.q.Arrive(p, work, weight)
	p.exact = m.exact.arrive(work, weight)
	m.jobs = append(m.jobs, p)
	m.noteLate(p)
	m.widen(2, weight)
	return p
}

// revise does nothing if the job is late here or there and not in both. A finished job
// is not changed.
func (m *machine) revise(p *pair, work, weight uint64) {
	if p.finished {
		m.q.Revise(p.it, work, weight)
		return
	}
	if p.it.Late() != (p.exact.end != nil) {
		return
	}
	m.q.Revise(p.it, work, weight)
	m.exact.revise(p.exact, p.work, work, weight)
	p.work = work
	before := p.weight
	p.weight, p.lightest = weight, min(p.lightest, weight)
	m.noteLate(p)
	m.widen(3, max(before, weight))
}

// reset does nothing if the job is late here or there and not in both. A finished job
// is not changed.
func (m *machine) reset(p *pair, left, work uint64) {
	if p.finished {
		m.q.Reset(p.it, left, work)
		return
	}
	if p.it.Late() != (p.exact.end != nil) {
		return
	}
	m.q.Reset(p.it, left, work)
	p.work = work
	if p.exact.end == nil || left > 0 {
		p.late, p.end = 0, nil
		m.exact.reset(p.exact, left)
	}
	m.noteLate(p)
	m.widen(3, p.weight)
}

func (m *machine) noteLate(p *pair) {
	if p.it.Late() && p.late == 0 {
		m.lates++
		p.late = m.lates
	}
}

func (m *machine) advance(t sojourn.Time) {
	m.now = t
	m.q.Advance(t, func(it *vqueue.Item[*pair], at sojourn.Time) {
		it.Value.end = append(it.Value.end, at)
		m.noteLate(it.Value)
	})
	m.exact.advance(t)
}

// restore goes on with a queue that is restored from what the queue has saved, and
// saves the same.
func (m *machine) restore(t interface{ Fatalf(string, ...any) }) {
	save := func() []byte {
		data, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) {
			m.q.Save(w, func(it *vqueue.Item[*pair]) { w.Uint(uint64(it.Value.name - 1)) })
		})
		if err != nil {
			t.Fatalf("%v", err)
		}
		return data
	}
	data := save()
	err := snapshot.Restore(m, data, snapshot.Header{}, func() { m.q = vqueue.New[*pair](m.mode) }, func(r *snapshot.Reader) {
		m.q.Restore(r, m.now, int(m.exact.slots), func(it *vqueue.Item[*pair]) {
			it.Value = m.jobs[r.Below(uint64(len(m.jobs)))]
			it.Value.it = it
		})
	})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if again := save(); !bytes.Equal(again, data) {
		t.Fatalf("saved %q, restored and saved again %q", data, again)
	}
}

// bound returns how many nanoseconds after its exact instant p may complete.
func (m *machine) bound(p *pair) *big.Rat {
	if m.minSlots == 0 {
		return nil
	}
	b := new(big.Rat).Mul(m.slack, new(big.Rat).Quo(m.maxWeight, ratU(p.lightest)))
	return b.Quo(b, ratI(int64(m.minSlots)))
}

func (m *machine) check(t interface{ Fatalf(string, ...any) }) {
	excess := new(big.Rat)
	for _, p := range m.jobs {
		left := ratU(m.q.Remaining(p.it))
		if left.Cmp(p.exact.left) < 0 {
			t.Fatalf("at %v %v has %s slot-ns left, exactly %s", m.now, p, left.RatString(), p.exact.left.FloatString(9))
		}
		// Remaining rounds up by less than 1.
		over := new(big.Rat).Sub(left, p.exact.left)
		if over.Sub(over, ratI(1)).Sign() > 0 {
			excess.Add(excess, over)
		}
		switch {
		case p.it.Late() && p.exact.end == nil:
			t.Fatalf("at %v %v is virtually complete, exactly %s slot-ns are left", m.now, p, p.exact.left.FloatString(9))
		case p.late > 0 && p.exact.end != nil && len(p.end) == 1:
			got := ratI(int64(p.end[0]))
			if got.Cmp(ceil(p.exact.end)) < 0 {
				t.Fatalf("%v completes virtually at %v, exactly at %s ns", p, p.end[0], p.exact.end.FloatString(9))
			}
			if b := m.bound(p); b != nil && got.Cmp(ceil(new(big.Rat).Add(p.exact.end, b))) > 0 {
				t.Fatalf("%v completes virtually at %v, exactly at %s ns, bound %s ns", p, p.end[0], p.exact.end.FloatString(9), b.FloatString(9))
			}
		case len(p.end) > 1:
			t.Fatalf("done was called %d times for %v", len(p.end), p)
		}
	}
	if excess.Cmp(m.slack) > 0 {
		t.Fatalf("at %v the queue has %s slot-ns more left than exact sharing, bound %s", m.now, excess.FloatString(9), m.slack.FloatString(9))
	}
	m.checkOrder(t)
}

// checkOrder compares the order of service with the rules, as far as the bound
// decides it.
func (m *machine) checkOrder(t interface{ Fatalf(string, ...any) }) {
	var all []*pair
	for it := range m.q.All() {
		all = append(all, it.Value)
	}
	var want int
	for _, p := range m.jobs {
		if !p.finished {
			want++
		}
	}
	if len(all) != want {
		t.Fatalf("All() = %v, want %d jobs", all, want)
	}
	for k := 1; k < len(all); k++ {
		if a, b := all[k-1], all[k]; m.before(b, a) {
			t.Fatalf("at %v All() = %v: %v should be before %v", m.now, all, b, a)
		}
	}
	var first *pair
	for _, p := range all {
		if p.ready {
			first = p
			break
		}
	}
	it, ok := m.q.First()
	if ok != (first != nil) || ok && it.Value != first {
		t.Fatalf("at %v First() = %v, %v, want %v, the first ready one in %v", m.now, it, ok, first, all)
	}
}

// before reports whether a certainly goes before b.
func (m *machine) before(a, b *pair) bool {
	switch {
	case a.late > 0 && b.late > 0 && m.mode == vqueue.LateShare:
		x := new(big.Rat).Quo(ratI(int64(a.running)), ratU(a.weight))
		if c := x.Cmp(new(big.Rat).Quo(ratI(int64(b.running)), ratU(b.weight))); c != 0 {
			return c < 0
		}
		return a.late < b.late
	case a.late > 0 && b.late > 0:
		return a.late < b.late
	case a.late > 0 || b.late > 0:
		return a.late > 0
	}
	// Remaining work per weight, a's as large as the bound allows.
	x := new(big.Rat).Quo(new(big.Rat).Add(a.exact.left, m.slack), ratU(a.weight))
	return x.Cmp(new(big.Rat).Quo(b.exact.left, ratU(b.weight))) < 0
}

var (
	ranges  = gpstest.AllRanges()
	works   = rapid.OneOf(ranges.Works, rapid.SampledFrom([]uint64{1, math.MaxInt64, 1 << 63}))
	weights = rapid.OneOf(ranges.Weights, rapid.SampledFrom([]uint64{1, 1<<48 - 1, 1 << 48}))
	slots   = rapid.OneOf(ranges.Slots, rapid.Just(sojourn.MaxSlots))
	steps   = ranges.Steps
)

// TestQueueAgainstExactGPS checks the error bound of the package comment, that
// completions come in order, and the order of service.
func TestQueueAgainstExactGPS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(rapid.SampledFrom([]vqueue.Late{vqueue.LateFirst, vqueue.LateShare}).Draw(t, "late"), slots.Draw(t, "slots"))
		job := func(t *rapid.T) *pair {
			if len(m.jobs) == 0 {
				t.Skip("no job")
			}
			return rapid.SampledFrom(m.jobs).Draw(t, "job")
		}
		advance := func(t *rapid.T) { m.advance(m.now.Add(time.Duration(steps.Draw(t, "step")))) }
		arrive := func(t *rapid.T) { m.arrive(works.Draw(t, "work"), weights.Draw(t, "weight")) }
		t.Repeat(map[string]func(*rapid.T){
			"advance":  advance,
			"arrive":   arrive,
			"arrive2":  func(t *rapid.T) { advance(t); arrive(t) },
			"capacity": func(t *rapid.T) { m.setCapacity(slots.Draw(t, "slots")) },
			"completion": func(t *rapid.T) {
				at, ok := m.q.NextCompletion()
				if !ok || at > 1<<62 {
					t.Skip("none")
				}
				lates := m.lates
				if m.advance(max(m.now, at-1)); m.lates != lates {
					t.Fatalf("NextCompletion() = %v, but an item completes before", at)
				}
				if m.advance(at); m.lates == lates {
					t.Fatalf("NextCompletion() = %v, but no item completes then", at)
				}
			},
			"revise": func(t *rapid.T) {
				p := job(t)
				weight := p.weight
				if rapid.Bool().Draw(t, "reweigh") {
					weight = weights.Draw(t, "weight")
				}
				m.revise(p, works.Draw(t, "work"), weight)
			},
			"reset": func(t *rapid.T) {
				work := works.Draw(t, "work")
				m.reset(job(t), min(rapid.OneOf(works, rapid.Just(uint64(0))).Draw(t, "left"), work), work)
			},
			"finish": func(t *rapid.T) { p := job(t); p.finished = true; m.q.Finish(p.it) },
			"ready":  func(t *rapid.T) { p := job(t); p.ready = !p.ready; m.q.SetReady(p.it, p.ready) },
			"running": func(t *rapid.T) {
				p := job(t)
				p.running = rapid.IntRange(0, 5).Draw(t, "n")
				m.q.SetRunning(p.it, p.running)
			},
			"restore": func(t *rapid.T) { m.restore(t) },
			"":        func(t *rapid.T) { m.check(t) },
		})
	})
}

// Small instances of weight 1, where many exact instants lie close together: the
// order is that of exact sharing wherever these differ by more than the bound.
func TestCompletionsOfWeightOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(vqueue.LateFirst, rapid.IntRange(1, 5).Draw(t, "slots"))
		for range rapid.IntRange(1, 12).Draw(t, "jobs") {
			m.arrive(rapid.Uint64Range(1, 30).Draw(t, "work"), one)
			m.advance(m.now.Add(time.Duration(rapid.Int64Range(0, 12).Draw(t, "gap"))))
		}
		m.advance(m.now + 1000)
		m.check(t)
		byLate := slices.SortedFunc(slices.Values(m.jobs), func(a, b *pair) int { return a.late - b.late })
		for k := 1; k < len(byLate); k++ {
			a, b := byLate[k-1], byLate[k]
			if limit := new(big.Rat).Add(b.exact.end, m.bound(b)); a.exact.end.Cmp(limit) > 0 {
				t.Fatalf("%v completes before %v, exactly at %s and %s ns, bound %s ns", a, b,
					a.exact.end.FloatString(6), b.exact.end.FloatString(6), m.bound(b).FloatString(6))
			}
			if a.end[0] > b.end[0] {
				t.Fatalf("%v completes at %v before %v at %v", a, a.end[0], b, b.end[0])
			}
		}
	})
}

// schedule advances to the end and returns the virtual completions in order.
func schedule(q *vqueue.Queue[string], until sojourn.Time) (got []string) {
	q.Advance(until, func(it *vqueue.Item[string], at sojourn.Time) {
		got = append(got, fmt.Sprintf("%s@%d", it.Value, at))
	})
	return got
}

// Three jobs of 10, 20 and 30 on one slot from 0. All share until each has 10, at
// 30; two share until each has 20, at 50; c ends at 60.
func TestEqualWeights(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	q.Arrive("c", 30, one)
	q.Arrive("b", 20, one)
	q.Arrive("a", 10, one)
	if at, ok := q.NextCompletion(); !ok || at != 30 {
		t.Errorf("NextCompletion() = %v, %v, want 30", at, ok)
	}
	if got, want := schedule(q, 100), []string{"a@30", "b@50", "c@60"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
}

// Weights 1, 2 and 3 on 6 slots; all rates equal the weights. At 10 a and b have
// 10 and 20: b is complete. Then rates are 6/4 and 18/4: c needs 90-30 more, for
// 60*4/18 = 13 1/3, to 23 1/3, rounded up to 24. a has 10 + 20 by then, and needs
// 12 more at rate 6: to 25 1/3, rounded up to 26.
func TestWeightedShares(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(6)
	q.Arrive("a", 42, 1*one)
	q.Arrive("b", 20, 2*one)
	q.Arrive("c", 90, 3*one)
	if got, want := schedule(q, 100), []string{"b@10", "c@24", "a@26"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
}

// One slot. Job a (100, at 0) has 50 left when b (50) comes at 50; both have 25
// left when c and d (25) come at 100. All four complete at 200, in the order of
// their arrival.
func TestTiesGoByArrival(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	q.Arrive("a", 100, one)
	q.Advance(50, nil)
	q.Arrive("b", 50, one)
	q.Advance(100, nil)
	q.Arrive("c", 25, one)
	q.Arrive("d", 25, one)
	if got, want := schedule(q, 200), []string{"a@200", "b@200", "c@200", "d@200"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
}

// A revision to the same values changes nothing, also between two units of virtual
// time. A revision of the weight does not change the place in the order of arrival.
func TestRevisionKeepsArrivalOrder(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	a := q.Arrive("a", 10, 2*one)
	b := q.Arrive("b", 10, one)
	q.Revise(a, 10, one)
	q.Arrive("c", 11, one)
	q.Advance(1, nil) // a third of 2^80 is not an integer
	q.Revise(a, 10, one)
	q.Revise(b, 10, one)
	if got, want := schedule(q, 40), []string{"a@30", "b@30", "c@31"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
}

// Two jobs of 10 on one slot. The first is really finished at 5 and keeps its
// share: both complete virtually at 20. Were it removed, b would end at 10 + 2.5.
func TestFinishedItemsKeepTheirShare(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	a := q.Arrive("a", 10, one)
	b := q.Arrive("b", 10, one)
	q.SetReady(a, true)
	q.SetReady(b, true)
	q.Advance(5, nil)
	q.Finish(a)
	if it, ok := q.First(); !ok || it != b {
		t.Errorf("First() = %v, %v after a is finished, want b", it, ok)
	}
	if got, want := schedule(q, 100), []string{"a@20", "b@20"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
	for it := range q.All() {
		if it != b {
			t.Errorf("All() has %v, want b only", it.Value)
		}
	}
}

// Three slots: a (10, weight 1) is complete at 10, b (50, weight 2) when all 60
// are done, at 20. They are late and go before c, which comes at 30. With one task
// running each, b has fewer per unit of weight than a.
func TestLateItemsGoFirst(t *testing.T) {
	for _, tc := range []struct {
		mode vqueue.Late
		want string
	}{{vqueue.LateFirst, "a b c"}, {vqueue.LateShare, "b a c"}} {
		q := vqueue.New[string](tc.mode)
		q.SetCapacity(3)
		a := q.Arrive("a", 10, 1*one)
		b := q.Arrive("b", 50, 2*one)
		q.Advance(30, nil)
		c := q.Arrive("c", 1, one)
		for _, it := range []*vqueue.Item[string]{c, b, a} {
			q.SetReady(it, true)
			q.SetRunning(it, 1)
		}
		if !a.Late() || !b.Late() || c.Late() {
			t.Fatalf("late: a %v, b %v, c %v, want true, true, false", a.Late(), b.Late(), c.Late())
		}
		q.Revise(a, 1000, one) // it stays late
		var got string
		for range 3 {
			it, ok := q.First()
			if !ok {
				t.Fatalf("mode %v: First() is false after%q", tc.mode, got)
			}
			got += " " + it.Value
			q.SetReady(it, false)
		}
		if got[1:] != tc.want {
			t.Errorf("mode %v: order of service %q, want %q", tc.mode, got[1:], tc.want)
		}
	}
}

func TestItemWithoutWorkIsLateAtOnce(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	q.Arrive("a", 10, one)
	if it := q.Arrive("b", 0, one); !it.Late() || q.Remaining(it) != 0 {
		t.Errorf("late = %v, %d left, want late with nothing left", it.Late(), q.Remaining(it))
	}
	if got, want := schedule(q, 100), []string{"a@10"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
}

// Ten years at a million slots, with jobs of 2^63 slot-ns and the extreme
// weights: 2^63/10^6 ns are 2 hours 34 minutes.
func TestExtremes(t *testing.T) {
	const decade = sojourn.Time(10 * 365 * 24 * time.Hour)
	m := newMachine(vqueue.LateFirst, 1_000_000)
	for i := range 200 {
		m.arrive(1<<63, []uint64{1, one, 1 << 48}[i%3])
		if i%10 == 0 {
			m.advance(m.now.Add(time.Hour))
		}
	}
	m.check(t)
	m.advance(decade)
	m.check(t)
	for _, p := range m.jobs {
		if p.exact.end == nil || len(p.end) != 1 {
			t.Fatalf("%v did not complete within ten years", p)
		}
	}

	// One job alone, and beside one of the smallest weight that never ends.
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1_000_000)
	q.Arrive("endless", 1<<63, 1)
	for range 35 {
		q.Revise(q.Arrive("x", 1<<63, 1<<48), 1<<63, 1)
	}
	q.SetCapacity(1)
	if at, ok := q.NextCompletion(); ok {
		t.Errorf("NextCompletion() = %v, want none within the range of Time", at)
	}
	q.Advance(math.MaxInt64, nil)
}

// Ten years at a million slots, one unless thorough, in which the virtual cluster is never empty, so that
// virtual time never starts again: jobs of 10^9 task-seconds, one every 1000 s, which
// is what the slots do, of the least weight, at which virtual time is fastest, or of
// all kinds. Exact sharing ends at the sum of all work.
func TestTenYearsWithoutAPause(t *testing.T) {
	const (
		slots = 1_000_000
		work  = 1_000_000_000 * uint64(time.Second)
		each  = 1000 * time.Second
	)
	jobs := int(365 * 24 * time.Hour / each)
	if thorough {
		jobs *= 10
	}
	for _, weights := range [][]uint64{{1}, {1, one, 1 << 48}} {
		q := vqueue.New[int](vqueue.LateFirst)
		q.SetCapacity(slots)
		var end sojourn.Time
		ended := 0
		done := func(_ *vqueue.Item[int], at sojourn.Time) { ended++; end = at }
		slack := new(big.Int) // in units of work
		arrive := func(i int) {
			w := weights[i%len(weights)]
			q.Arrive(i, work, w)
			slack.Add(slack, new(big.Int).SetUint64(2*w))
		}
		arrive(0)
		for i := 1; i <= jobs; i++ {
			arrive(i)
			if ended == i {
				t.Fatalf("the virtual cluster is empty after job %d: this test wants one busy period", i)
			}
			q.Advance(sojourn.Time(i)*sojourn.Time(each), done)
		}
		q.Advance(math.MaxInt64, done)
		exact := sojourn.Time(jobs+1) * sojourn.Time(each)
		bound := slack.Div(slack, new(big.Int).Mul(unit, big.NewInt(slots)))
		if ended != jobs+1 || end < exact || end > exact+sojourn.Time(bound.Int64())+1 {
			t.Errorf("weights %d: %d jobs end at %d, want %d at %d", weights, ended, end, jobs+1, exact)
		}
	}
}

// A job of 1,000 slot-ns on one slot that is not there from 100 to 600.
func TestNoCapacity(t *testing.T) {
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	a := q.Arrive("a", 1000, one)
	q.Advance(100, nil)
	q.SetCapacity(0)
	if at, ok := q.NextCompletion(); ok {
		t.Errorf("NextCompletion() = %v without slots", at)
	}
	q.Advance(600, nil)
	if got := q.Remaining(a); got != 900 {
		t.Errorf("%d left, want 900", got)
	}
	q.SetCapacity(1)
	if got, want := schedule(q, 5000), []string{"a@1500"}; !slices.Equal(got, want) {
		t.Errorf("completions = %v, want %v", got, want)
	}
}

// A busy period of 300,000 arrivals and a million instants, a tenth of that unless
// thorough. One slot never idles,
// so that exact sharing ends the period at the sum of all work. The queue ends it
// later, by at most 2w 2^-96 ns for each arrival, which is negligible here.
func TestDriftOverAMillionEvents(t *testing.T) {
	q := vqueue.New[int](vqueue.LateFirst)
	q.SetCapacity(1)
	var now, end sojourn.Time
	jobs := 0
	done := func(_ *vqueue.Item[int], at sojourn.Time) { jobs--; end = at }
	rng := rand.New(rand.NewPCG(1, 2))
	var sum uint64
	arrivals := 30_000
	if thorough {
		arrivals *= 10
	}
	for i := range arrivals {
		work, weight := 1+rng.Uint64N(2_000_000), 1+rng.Uint64N(1<<26)
		q.Arrive(i, work, weight)
		jobs++
		sum += work
		gap := int64(300_000)
		if jobs > 300 {
			gap = 500_000
		}
		for range 3 {
			now = now.Add(time.Duration(rng.Int64N(gap)))
			q.Advance(now, done)
		}
		if jobs == 0 {
			t.Fatalf("the queue is empty at %v: this test wants one busy period", now)
		}
	}
	q.Advance(math.MaxInt64, done)
	if late := int64(end) - int64(sum); late < 0 || late > 1 {
		t.Errorf("the busy period ends %d ns after the exact instant, want 0 or 1", late)
	}
}

// The sum of 70,000 weights of 2^48 exceeds 64 bits. All jobs are equal: they end
// at 70,000 * 2^40 / 10^6 ns = 76,965,813,944.32 ns.
func TestManyHeavyJobs(t *testing.T) {
	q := vqueue.New[int](vqueue.LateFirst)
	q.SetCapacity(1_000_000)
	for i := range 70_000 {
		q.Arrive(i, 1<<40, 1<<48)
	}
	n := 0
	q.Advance(sojourn.Time(24*time.Hour), func(it *vqueue.Item[int], at sojourn.Time) {
		if it.Value != n || at != 76_965_813_945 {
			t.Fatalf("completion %d: job %d at %d, want job %d at 76965813945", n, it.Value, at, n)
		}
		n++
	})
	if n != 70_000 {
		t.Errorf("%d completions, want 70000", n)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, mode := range []vqueue.Late{vqueue.LateFirst, vqueue.LateShare} {
		q := vqueue.New[int](mode)
		q.SetCapacity(100)
		var items []*vqueue.Item[int]
		for i := range 1000 {
			items = append(items, q.Arrive(i, uint64(1+i%2)<<50, one))
			q.SetReady(items[i], true)
		}
		now := sojourn.Time(1<<50) * 12
		q.Advance(now, nil) // half of them are late
		i := 0
		done := func(*vqueue.Item[int], sojourn.Time) {}
		if n := testing.AllocsPerRun(10_000, func() {
			now++
			q.Advance(now, done)
			it, _ := q.First()
			q.SetRunning(it, 1+i%7)
			other := items[i*7919%len(items)]
			q.SetReady(other, false)
			q.SetRunning(other, i%7)
			q.SetReady(other, true)
			i++
		}); n != 0 {
			t.Errorf("mode %v: %v allocations a round, want 0", mode, n)
		}
	}
}
