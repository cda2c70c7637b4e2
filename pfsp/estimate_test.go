package pfsp

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

func bigOf(x wide.Uint128) *big.Int {
	n := new(big.Int).SetUint64(x.Hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(x.Lo))
}

// sizes are durations and works from both ends of the range.
var sizes = rapid.OneOf(
	rapid.Int64Range(1, 4),
	rapid.Int64Range(math.MaxInt64-3, math.MaxInt64),
	rapid.SampledFrom([]int64{int64(time.Second), 1 << 31, 1 << 32, 1 << 53, 1 << 62}),
	rapid.Int64Range(1, math.MaxInt64))

// Whatever the sizes, an estimate stays within what restore takes, and a phase is not
// exhausted once its work was doubled: else Assign would double it for ever, or the
// policy could be saved and not be restored.
func TestEstimateStaysInRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := sojourn.Time(0)
		e := estimate{unknown: 1, ratio: wide.From64(one)}
		prior := wide.From64(uint64(sizes.Draw(t, "prior")))
		waiting := rapid.SampledFrom([]int{0, 1, 2, 3, 1000, 1 << 20, 1<<31 - 50}).Draw(t, "waiting")
		var starts []sojourn.Time
		e.left = prior.MulU64(uint64(waiting))
		alpha := rapid.SampledFrom([]uint64{0, 1, 1 << 15, 1<<16 - 1}).Draw(t, "alpha")
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(min(time.Duration(sizes.Draw(t, "pause")), sojourn.Time(math.MaxInt64).Sub(now)))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0: // a task starts, which was waiting or comes with a revision
				if waiting == 0 {
					e.left = e.left.Add(prior)
				} else {
					waiting--
				}
				e.start(now, prior)
				starts = append(starts, now)
			case 1: // one ends, after a time that the driver tells
				if len(starts) > 0 {
					e.stop(now, starts[0], prior)
					e.finish(prior, time.Duration(sizes.Draw(t, "service")))
					starts = starts[1:]
				}
			case 2:
				if e.finished.tasks > e.used.tasks {
					e.reestimate(now, e.sample(alpha), alpha)
				}
			case 3: // the driver tells the progress of an attempt
				whole, _ := wide.Mul64(uint64(sizes.Draw(t, "service")), sojourn.MaxProgress).QuoRem(wide.From64(uint64(rapid.IntRange(1, sojourn.MaxProgress).Draw(t, "progress"))))
				e.reestimate(now, e.bounded(whole, prior), alpha)
			case 4:
				if e.advance(now); e.exhausted(now) {
					e.double(now)
					if e.exhausted(now) {
						t.Fatalf("exhausted after its work was doubled: %+v", e)
					}
				}
			}
			if !e.inRange() || e.ratio.IsZero() || bigOf(e.ratio).BitLen() > 63+32 {
				t.Fatalf("out of range: ratio %v * 2^-32, %+v", bigOf(e.ratio), e)
			}
			if w := e.work(); w < 1 || w > math.MaxInt64 {
				t.Fatalf("%d of work is left", w)
			}
		}
	})
}

// Work times ratio is rounded down once, and clamped in the end: what is clamped before
// is lost where the ratio is small.
func TestScale(t *testing.T) {
	numbers := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(math.MaxUint64-2, math.MaxUint64), rapid.Uint64(),
		rapid.Custom(func(t *rapid.T) uint64 { return 1 << rapid.IntRange(0, 63).Draw(t, "bit") }))
	rapid.Check(t, func(t *rapid.T) {
		x := wide.Uint128{Hi: numbers.Draw(t, "x") >> 1, Lo: numbers.Draw(t, "x")}
		ratio := wide.Uint128{Hi: numbers.Draw(t, "ratio") >> 33, Lo: max(1, numbers.Draw(t, "ratio"))}
		if rapid.Bool().Draw(t, "small") {
			x.Hi, ratio.Hi = 0, 0
		}
		if rapid.Bool().Draw(t, "at the limit") {
			x, _ = wide.From64(1).Shl(63 + 32).QuoRem(ratio)
			x = x.Add(wide.From64(uint64(rapid.IntRange(0, 2).Draw(t, "beyond"))))
		}
		want := new(big.Int).Mul(bigOf(x), bigOf(ratio))
		if want.Rsh(want, 32); want.BitLen() > 63 {
			want.SetInt64(math.MaxInt64)
		}
		if got := scale(x, ratio); want.Uint64() != got {
			t.Fatalf("%v * %v / 2^32 = %d, want %v", bigOf(x), bigOf(ratio), got, want)
		}
	})
}

func newPolicy(t *testing.T) *Policy {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A phase whose one finished task took no time next to what its tasks have held their
// slots for has the largest ratio that there is, which a snapshot holds as well.
func TestRestoresTheLargestRatio(t *testing.T) {
	calls := history.Read(strings.NewReader(`sojourn history 1
@0s SlotAdded 1 class=1
@0s SlotAdded 2 class=1
@0s JobArrived 1 | 1x1s class=1 | 1 class=255
@0s Assign 2 -> 1/0/0#1
@0s TaskFinished 1/0/0#1 slot=2
@0s JobRevised 1 | 4x1ns class=1 | 1 class=255
@0s Assign 1 -> 1/0/1#1
@0s Assign 2 -> 1/0/2#1
@9151314141.316847871s SlotAdded 3 class=1
@9151314141.316847871s Assign 3 -> 1/0/3#1
`), "")
	p, again := newPolicy(t), newPolicy(t)
	if err := history.Replay(p, calls); err != nil {
		t.Fatal(err)
	}
	data, err := p.AppendBinary(nil)
	if err == nil {
		err = again.UnmarshalBinary(data)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A phase of which much is left, and which is thought to be nearly done, is doubled until
// it is not exhausted, and that comes to an end.
func TestDoublesWorkBeyondTheLargestNumber(t *testing.T) {
	p, err := New(Options{DefaultTaskTime: math.MaxInt64})
	if err != nil {
		t.Fatal(err)
	}
	calls := history.Read(strings.NewReader(`sojourn history 1
@0s SlotAdded 1
@0s JobArrived 1 | 4096
@0s Assign 1 -> 1/0/0#1
@0s TaskFinished 1/0/0#1 slot=1 service=1ns
@0s Assign 1 -> 1/0/1#1
@7s SlotAdded 2
@7s Assign 2 -> 1/0/2#1
`), "")
	if err := history.Replay(p, calls); err != nil {
		t.Fatal(err)
	}
}

// Counters are far from where they begin again.
func TestForgedCounters(t *testing.T) {
	for n, bad := range map[uint64]bool{1<<63 - 1: false, 1 << 63: true, 1<<64 - 1: true} {
		p, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.class(0).breach, p.class(0).clean = n, n
		data, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		q, _ := New(Options{})
		if err := q.UnmarshalBinary(data); (err != nil) != bad {
			t.Errorf("%d: %v, want an error: %v", n, err, bad)
		}
	}
}

// Nothing is broken that was not counted, and no phase came after what is to come.
func TestForgedBreaches(t *testing.T) {
	for i, tc := range []struct {
		breach, clean, last, since uint64
		bad                        bool
	}{
		{5, 4, 5, 4, false}, {5, 5, 5, 5, false}, {0, 0, 0, 0, false},
		{5, 3, 5, 3, true}, {4, 5, 4, 5, true}, {5, 4, 6, 4, true}, {5, 4, 5, 5, true},
	} {
		p := newPolicy(t)
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded},
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}},
		} {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		c := p.class(0)
		c.breach, c.clean, c.last[lostSlots] = tc.breach, tc.clean, tc.last
		for j := range p.ledger.All() {
			j.Data.phases[0].since = tc.since
		}
		data, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := newPolicy(t).UnmarshalBinary(data); (err != nil) != tc.bad {
			t.Errorf("%d: %v, want an error: %v", i, err, tc.bad)
		}
	}
}
