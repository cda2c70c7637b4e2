package vclock_test

import (
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A job is in the clock until it is complete there, and in exact GPS.
type job struct {
	tag          vclock.Tag
	weight, work uint64
	exact        *gpstest.Job
}

// A machine drives a clock and exact GPS side by side. The exact one counts weights in
// units.
type machine struct {
	clock vclock.Clock
	exact gpstest.Cluster
	jobs  []*job   // that are not complete in the clock
	gone  []*job   // that are
	slack *big.Int // E of the package comment, in units of work
}

func (m *machine) setSlots(n int) {
	m.clock.SetSlots(n)
	m.exact.Slots = n
}

func (m *machine) arrive(work, weight uint64) {
	j := &job{weight: weight, work: work, exact: m.exact.Arrive(1, 1)}
	j.exact.Left, j.exact.Weight = rational(work), rational(weight)
	j.tag = m.clock.Enter(vclock.Units(work), weight, vclock.MaxTag)
	m.jobs = append(m.jobs, j)
	m.widen(2, weight)
}

func (m *machine) widen(n int64, weight uint64) {
	x := new(big.Int).SetUint64(weight)
	m.slack.Add(m.slack, x.Mul(x, big.NewInt(n)))
}

// revise does nothing to a job that is complete in one of the two systems.
func (m *machine) revise(j *job, work, weight uint64) {
	if j.exact.Ended != nil {
		return
	}
	left, tag, stays := m.clock.Revise(j.tag, j.work, work, j.weight, weight)
	exact := j.exact.Left.Add(j.exact.Left, rational(work))
	exact.Sub(exact, rational(j.work))
	if exact.Sign() < 0 {
		exact.SetInt64(0)
	}
	j.exact.Weight = rational(weight)
	m.widen(3, max(weight, j.weight))
	if stays != (weight == j.weight && !left.IsZero()) {
		panic("a job stays if it keeps its weight and has something left")
	}
	if stays {
		j.tag = tag
	} else {
		m.clock.Leave(j.weight)
		if left.IsZero() {
			m.complete(slices.Index(m.jobs, j))
		} else {
			before := j.tag
			if j.tag = m.clock.Enter(left, weight, tag); before.Less(j.tag) && weight >= j.weight && work <= j.work {
				panic("a job that gains weight gets a later tag")
			}
		}
	}
	j.work, j.weight = work, weight
}

func (m *machine) complete(i int) {
	m.gone = append(m.gone, m.jobs[i])
	m.jobs = slices.Delete(m.jobs, i, i+1)
}

func (m *machine) first() int {
	first := 0
	for i, j := range m.jobs {
		if j.tag.Less(m.jobs[first].tag) {
			first = i
		}
	}
	return first
}

func (m *machine) pass(t sojourn.Time) {
	m.clock.Pass(t)
	m.clock.Complete(func() (vclock.Tag, uint64, bool) {
		if len(m.jobs) == 0 {
			return vclock.Tag{}, 0, false
		}
		j := m.jobs[m.first()]
		return j.tag, j.weight, true
	}, func(sojourn.Time) { m.complete(m.first()) })
	m.exact.Advance(t)
}

// restore goes on with a clock that is restored from what the clock has saved.
func (m *machine) restore(t *rapid.T) {
	g, carry := m.clock.State()
	data, err := snapshot.Append(nil, snapshot.Header{}, m.clock.Save)
	if err != nil {
		t.Fatal(err)
	}
	if g2, carry2 := m.clock.State(); g2 != g || carry2 != carry {
		t.Fatalf("to save the clock changes it: %v, %v, then %v, %v", g, carry, g2, carry2)
	}
	now := m.clock.Now()
	err = snapshot.Restore(m, data, snapshot.Header{}, func() { m.clock = vclock.Clock{} }, func(r *snapshot.Reader) {
		m.clock.Restore(r, now, m.exact.Slots)
		for _, j := range m.jobs {
			m.clock.Admit(r, j.tag, j.weight)
		}
		m.clock.Restored(r)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *machine) check(t *rapid.T) {
	g, carry := m.clock.State()
	most := new(big.Int).Mul(units(uint64(m.clock.Now())), big.NewInt(vclock.MaxSlots))
	if integer(g).Cmp(most) > 0 {
		t.Fatalf("virtual time is %v at %v, at most %v", integer(g), m.clock.Now(), most)
	}
	total := new(big.Int)
	for _, j := range m.jobs {
		total.Add(total, new(big.Int).SetUint64(j.weight))
	}
	excess := new(big.Rat)
	for _, j := range m.jobs {
		w := rational(j.weight)
		v := new(big.Rat).SetInt(new(big.Int).Sub(integer(j.tag), integer(g)))
		c := new(big.Rat).SetFrac(integer(carry), total)
		v.Sub(v, c).Mul(v, w)
		exact := new(big.Rat).Mul(j.exact.Left, new(big.Rat).SetInt(units(1)))
		if v.Cmp(exact) < 0 {
			t.Fatalf("a job has %s units left, exactly %s", v.FloatString(3), exact.FloatString(3))
		}
		if v.Sign() <= 0 {
			t.Fatalf("a job has %s units left and is not complete", v.FloatString(3))
		}
		ns := new(big.Rat).Quo(v, new(big.Rat).SetInt(units(1)))
		if got, want := m.clock.Remaining(j.tag, j.weight), ceil(ns); want.Cmp(new(big.Int).SetUint64(got)) != 0 {
			t.Fatalf("Remaining() = %d of %s slot-ns", got, ns.FloatString(9))
		}
		excess.Add(excess, v.Sub(v, exact))
	}
	for _, j := range m.gone {
		if j.exact.Left.Sign() > 0 {
			t.Fatalf("a job is complete, exactly %s slot-ns are left", j.exact.Left.FloatString(9))
		}
	}
	if excess.Cmp(new(big.Rat).SetInt(m.slack)) > 0 {
		t.Fatalf("%s units are left that exact sharing has done, bound %v", excess.FloatString(3), m.slack)
	}
	if len(m.jobs) == 0 && !(g.IsZero() && carry.IsZero()) {
		t.Fatalf("virtual time is %v, %v without jobs", g, carry)
	}
}

// The error bound of the package comment, to the unit, and the ranges that Restore
// relies on.
func TestClockAgainstExactGPS(t *testing.T) {
	ranges := gpstest.AllRanges()
	weights := rapid.OneOf(ranges.Weights, rapid.SampledFrom([]uint64{1, 2, 3, vclock.MaxWeight - 1, vclock.MaxWeight}))
	works := rapid.OneOf(ranges.Works, rapid.SampledFrom([]uint64{1, 2, math.MaxInt64, vclock.MaxWork})).Filter(func(x uint64) bool { return x > 0 })
	slots := rapid.OneOf(ranges.Slots, rapid.SampledFrom([]int{1, 3, sojourn.MaxSlots, vclock.MaxSlots}))
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{slack: new(big.Int)}
		m.setSlots(slots.Draw(t, "slots"))
		some := func(t *rapid.T) *job {
			if len(m.jobs) == 0 {
				t.Skip("no job")
			}
			return rapid.SampledFrom(m.jobs).Draw(t, "job")
		}
		pass := func(t *rapid.T) {
			step := min(ranges.Steps.Draw(t, "step"), math.MaxInt64-int64(m.clock.Now()))
			m.pass(m.clock.Now().Add(time.Duration(step)))
		}
		arrive := func(t *rapid.T) { m.arrive(works.Draw(t, "work"), weights.Draw(t, "weight")) }
		revise := func(t *rapid.T) { m.revise(some(t), works.Draw(t, "work"), weights.Draw(t, "weight")) }
		t.Repeat(map[string]func(*rapid.T){
			"pass":    pass,
			"arrive":  arrive,
			"arrive2": func(t *rapid.T) { pass(t); arrive(t) },
			"revise":  revise,
			"revise2": func(t *rapid.T) { pass(t); revise(t) },
			"work":    func(t *rapid.T) { j := some(t); m.revise(j, works.Draw(t, "work"), j.weight) },
			"no work": func(t *rapid.T) { j := some(t); m.revise(j, 0, j.weight) },
			"slots":   func(t *rapid.T) { m.setSlots(slots.Draw(t, "slots")) },
			"restore": m.restore,
			"next": func(t *rapid.T) {
				if len(m.jobs) == 0 {
					t.Skip("no job")
				}
				at, ok := m.clock.Next(m.jobs[m.first()].tag)
				if !ok {
					return
				}
				n := len(m.gone)
				if m.pass(max(m.clock.Now(), at-1)); len(m.gone) != n {
					t.Fatalf("Next() = %v, but a job is complete before", at)
				}
				if m.pass(at); len(m.gone) == n {
					t.Fatalf("Next() = %v, but no job is complete then", at)
				}
			},
			"": m.check,
		})
	})
}

// A rounding at a large weight and a small work is not multiplied when the weight
// falls: a tag keeps its range, and a saved state can be restored.
func TestTagsKeepTheirRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{slack: new(big.Int)}
		m.setSlots(1)
		m.arrive(3, 3)
		m.pass(1)
		m.arrive(1, vclock.MaxWeight-1)
		j := m.jobs[1]
		for range 10 {
			m.revise(j, vclock.MaxWork, rapid.Uint64Range(1, 3).Draw(t, "light"))
			m.restore(t)
			m.revise(j, 1, vclock.MaxWeight-rapid.Uint64Range(0, 3).Draw(t, "heavy"))
			m.restore(t)
			for k := range uint64(4) {
				m.revise(j, vclock.MaxWork-rapid.Uint64Range(0, 9).Draw(t, "less")*(k%2), j.weight)
				m.restore(t)
			}
		}
		m.check(t)
	})
}

func rational(x uint64) *big.Rat { return new(big.Rat).SetInt(new(big.Int).SetUint64(x)) }

// units returns slot-nanoseconds in units.
func units(x uint64) *big.Int {
	z := new(big.Int).SetUint64(x)
	return z.Lsh(z, vclock.Shift)
}

func integer(x wide.Uint192) *big.Int {
	z := new(big.Int).SetUint64(x.Hi)
	z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(x.Mid))
	return z.Lsh(z, 64).Or(z, new(big.Int).SetUint64(x.Lo))
}

func ceil(x *big.Rat) *big.Int {
	q, r := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		work, weight uint64
		ok           bool
	}{
		{0, 1, true}, {vclock.MaxWork, vclock.MaxWeight, true},
		{0, 0, false}, {1, vclock.MaxWeight + 1, false}, {vclock.MaxWork + 1, 1, false},
	} {
		if got := !panics(func() { vclock.Check(tc.work, tc.weight) }); got != tc.ok {
			t.Errorf("a job of work %d and weight %d: %v, want %v", tc.work, tc.weight, got, tc.ok)
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return
}

// Two jobs of 1 ns and weight 3 are complete after 2 ns on one slot, but for what rounding has left: a
// third of 2^96 units is rounded up. Then their tags are g+1. One that gains weight would get g+2, since
// its work left and its share in the carry are rounded up again.
func TestMoreWeightGetsNoLaterTag(t *testing.T) {
	for _, weight := range []uint64{3, 4, 1 << 20, vclock.MaxWeight} {
		var c vclock.Clock
		c.SetSlots(1)
		first := c.Enter(vclock.Units(1), 3, vclock.MaxTag)
		second := c.Enter(vclock.Units(1), 3, vclock.MaxTag)
		c.Pass(2)
		left, tag, stays := c.Revise(first, 1, 1, 3, weight)
		if stays != (weight == 3) || left.IsZero() {
			t.Fatalf("weight %d: %v units left, stays %v", weight, left, stays)
		}
		if !stays {
			c.Leave(3)
			tag = c.Enter(left, weight, tag)
		}
		if second.Less(tag) {
			t.Errorf("weight %d: tag %v, want at most %v", weight, tag, second)
		}
	}
}
