package reserve

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// floor returns the greatest integer that is not above x.
func floor(x *big.Rat) int {
	q, m := new(big.Int).DivMod(x.Num(), x.Denom(), new(big.Int)) // of Euclid, which is floor for denominators above 0
	_ = m
	return int(q.Int64())
}

func rat(a, b int64) *big.Rat { return big.NewRat(a, b) }

// edge draws integers up to a bound, often near the ends.
func edge(t *rapid.T, name string, most uint64) uint64 {
	return rapid.OneOf(rapid.Uint64Range(0, min(9, most)), rapid.Uint64Range(most-min(9, most), most), rapid.Uint64Range(0, most)).Draw(t, name)
}

// Reference: the rule of the package comment, in rational numbers.
func TestLevel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		den := edge(t, "den", 1<<33-1) + 1
		num := edge(t, "num", den)
		running := int(edge(t, "running", sojourn.MaxSlots))
		u, r := rat(int64(num), int64(den)), rat(int64(running), 1)
		x := new(big.Rat).Mul(rat(15999, 1000), new(big.Rat).Add(u, r))
		want := floor(x.Quo(x, new(big.Rat).Add(rat(1, 1), r)))
		if got := Level(Rank{num, den}, running); got != want {
			t.Fatalf("Level(%d/%d, %d) = %d, want %d", num, den, running, got, want)
		}
	})
	if got := Level(Rank{}, 0); got != 0 {
		t.Errorf("the level without a rank is %d, want 0", got)
	}
	if got := Level(Rank{1, 1}, math.MaxInt); got != Levels-1 {
		t.Errorf("the level of a job that runs everything is %d, want %d", got, Levels-1)
	}
	for running, want := range []int{0, 15, 15} {
		if got := LevelUnknown(running); got != want {
			t.Errorf("LevelUnknown(%d) = %d, want %d", running, got, want)
		}
	}
}

// Reference: t = floor(l k/15 + 1/2), and a level may start if more than t slots are free.
func TestThresholdAndHighest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := int(edge(t, "reserved", sojourn.MaxSlots))
		free := rapid.OneOf(rapid.IntRange(-2, 20), rapid.IntRange(k-2, k+2), rapid.IntRange(0, sojourn.MaxSlots)).Draw(t, "free")
		want := -1
		for l := range Levels {
			x := new(big.Rat).Mul(rat(int64(l), 15), rat(int64(k), 1))
			least := floor(x.Add(x, rat(1, 2)))
			if got := Threshold(l, k); got != least {
				t.Fatalf("Threshold(%d, %d) = %d, want %d", l, k, got, least)
			}
			if free > least {
				want = l
			}
		}
		if got := highestOf(free, k); got != want {
			t.Fatalf("Highest(%d, %d) = %d, want %d", free, k, got, want)
		}
	})
}

// Reference: k is the share of n, rounded, and less than n.
func TestShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := int(edge(t, "n", sojourn.MaxSlots))
		millionths := int64(edge(t, "share", 1_000_000))
		part := new(big.Rat).Mul(rat(millionths, 1_000_000), rat(int64(n), 1))
		s := ShareOf(float64(millionths) / 1e6)
		nearest := floor(new(big.Rat).Add(part, rat(1, 2)))
		up := -floor(new(big.Rat).Neg(part))
		if got, want := s.slots(n, false), max(0, min(nearest, n-1)); got != want {
			t.Fatalf("%d millionths of %d slots are %d, want %d", s, n, got, want)
		}
		if got, want := s.slots(n, true), max(0, min(up, n-1)); got != want {
			t.Fatalf("%d millionths of %d slots, rounded up, are %d, want %d", s, n, got, want)
		}
	})
	for n, want := range map[int]int{0: 0, 1: 0, 2: 0, 49: 0, 50: 1, 100: 1, 149: 1, 150: 2} {
		if got := Share(10_000).slots(n, false); got != want {
			t.Errorf("1 %% of %d slots are %d, want %d", n, got, want)
		}
	}
}

// halfOctave returns floor(2 log2 d): the greatest b with 2^b <= d^2.
func halfOctave(d time.Duration) int {
	square, power, b := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(int64(d))), big.NewInt(2), 0
	for power.Cmp(square) <= 0 {
		power.Add(power, power)
		b++
	}
	return b
}

// Reference: u is how many phases are in lower buckets, and half of those in the same one,
// over how many there are.
func TestLengths(t *testing.T) {
	lengths := rapid.Custom(func(t *rapid.T) time.Duration {
		near := math.Sqrt2 * math.Exp2(float64(rapid.IntRange(0, 61).Draw(t, "octave")))
		return max(0, time.Duration(rapid.OneOf(
			rapid.Int64Range(0, 9), rapid.Int64(), rapid.Int64Range(math.MaxInt64-9, math.MaxInt64),
			rapid.Int64Range(int64(near)-2, int64(near)+2),
		).Draw(t, "length")))
	})
	rapid.Check(t, func(t *rapid.T) {
		var h Lengths
		all := rapid.SliceOfN(lengths, 0, 20).Draw(t, "lengths")
		for _, d := range all {
			if got, want := int(Bucket(d)), halfOctave(d); got != want {
				t.Fatalf("Bucket(%d) = %d, want %d", d, got, want)
			}
			h.Add(Bucket(d))
		}
		d := lengths.Draw(t, "length")
		want := Rank{0, uint64(2 * len(all))}
		for _, other := range all {
			switch a, b := halfOctave(other), halfOctave(d); {
			case a < b:
				want.Num += 2
			case a == b:
				want.Num++
			}
		}
		if got := h.Rank(Bucket(d)); got != want {
			t.Fatalf("the rank of %d is %v, want %v", d, got, want)
		}
	})
	if Bucket(-1) != 0 || Bucket(math.MaxInt64) != buckets-1 {
		t.Errorf("the buckets end at %d and %d", Bucket(-1), Bucket(math.MaxInt64))
	}
}

// A full histogram is halved, and continues to count.
func TestLengthsAreHalved(t *testing.T) {
	var h Lengths
	for b := 3; b < len(h.below); b++ {
		h.below[b] = 5 // five in bucket 2
	}
	for b := buckets; b < len(h.below); b++ {
		h.below[b] = 1<<32 - 1 // and the others in the last one
	}
	h.Add(2)
	if got, want := h.Rank(2), (Rank{3, 2 << 31}); got != want { // of 6 and 2^32-6
		t.Errorf("the rank is %v, want %v", got, want)
	}
	h.Add(2)
	if got, want := h.Rank(2), (Rank{4, 2<<31 + 2}); got != want {
		t.Errorf("the next rank is %v, want %v", got, want)
	}
}

func TestLongest(t *testing.T) {
	for _, tc := range []struct {
		phase sojourn.Phase
		want  time.Duration
	}{
		{sojourn.Phase{Tasks: 3}, time.Minute},
		{sojourn.Phase{Tasks: 3, Estimate: time.Second}, time.Second},
		{sojourn.Phase{Tasks: 2, Estimates: []time.Duration{1, 2}}, 2},
		{sojourn.Phase{Tasks: 3, Estimates: []time.Duration{1, 0, time.Second}}, time.Minute},
	} {
		if got := Longest(&tc.phase, time.Minute); got != tc.want {
			t.Errorf("Longest(%+v) = %v, want %v", tc.phase, got, tc.want)
		}
	}
}

// slots is a cluster as lists.
type slots struct {
	classes []sojourn.Class // by ID
	busy    []bool
	live    int
	tasks   int // of the only job, in class 0
}

func (s *slots) count(c sojourn.Class, free bool) (n int) {
	for id, class := range s.classes {
		if class == c && !(free && s.busy[id]) {
			n++
		}
	}
	return n
}

func (s *slots) Capacity(c sojourn.Class) int  { return s.count(c, false) }
func (s *slots) FreeSlots(c sojourn.Class) int { return s.count(c, true) }

// tasksIn returns how many tasks the phase of the only job has that starts next in a class: class 0 alone has one.
func (s *slots) tasksIn(c sojourn.Class) int {
	if c > 0 || s.live != 1 {
		return 0
	}
	return max(0, s.tasks)
}
func (s *slots) Alone(c sojourn.Class) (tasks int, alone bool) { return s.tasksIn(c), s.live <= 1 }

func (s *slots) slot(id int) sojourn.Slot {
	return sojourn.Slot{ID: sojourn.SlotID(id), Class: s.classes[id]}
}
func (s *slots) Busy(id sojourn.SlotID) (sojourn.Slot, bool) {
	if int(id) >= len(s.busy) || !s.busy[id] {
		return sojourn.Slot{}, false
	}
	return s.slot(int(id)), true
}

// Slots that are held out of turn count as free, in a reserve and in one that was restored
// from it.
func TestReserveAgainstLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &slots{live: 2}
		for range rapid.IntRange(1, 12).Draw(t, "slots") {
			s.classes = append(s.classes, sojourn.Class(rapid.SampledFrom([]int{0, 0, 1, 255}).Draw(t, "class")))
		}
		s.busy = make([]bool, len(s.classes))
		out := make([]bool, len(s.classes))
		opts := Options{Share: Share(edge(t, "share", 1_000_000)), Up: rapid.Bool().Draw(t, "up"), From: rapid.IntRange(0, 6).Draw(t, "from"), Counted: rapid.Bool().Draw(t, "counted")}
		r := New(s, opts)
		t.Repeat(map[string]func(*rapid.T){
			"start or end": func(t *rapid.T) {
				id := rapid.IntRange(0, len(s.busy)-1).Draw(t, "slot")
				if s.busy[id] {
					r.Ended(s.slot(id))
					out[id] = false
				} else {
					inTurn := rapid.Bool().Draw(t, "in turn")
					r.Started(s.slot(id), inTurn)
					out[id] = !inTurn && opts.Counted
				}
				s.busy[id] = !s.busy[id]
			},
			"arrive": func(t *rapid.T) {
				r.Lengths(sojourn.Class(rapid.IntRange(0, 2).Draw(t, "class"))).Add(uint8(rapid.IntRange(0, buckets-1).Draw(t, "bucket")))
			},
			"live": func(t *rapid.T) {
				s.live, s.tasks = rapid.IntRange(0, 3).Draw(t, "live"), rapid.IntRange(0, 12).Draw(t, "waves")*s.Capacity(0)+rapid.IntRange(-1, 1).Draw(t, "more")
			},
			"restore": func(t *rapid.T) {
				data := save(t, r)
				r = New(s, opts)
				if err := restore(r, data); err != nil {
					t.Fatal(err)
				}
				if again := save(t, r); !bytes.Equal(again, data) {
					t.Fatal("what was restored is saved as something else")
				}
			},
			"": func(t *rapid.T) {
				for _, c := range []sojourn.Class{0, 1, 2, 255} {
					q := 0
					for id := range out {
						if out[id] && s.classes[id] == c {
							q++
						}
					}
					k := opts.Share.slots(s.Capacity(c), opts.Up)
					if s.Capacity(c) < opts.From {
						k = 0
					}
					want, plain := highestOf(s.FreeSlots(c)+q, k), highestOf(s.FreeSlots(c), k)
					if s.live <= 1 && float64(s.tasksIn(c))/float64(s.Capacity(c)) < 8 {
						want, plain = Levels-1, Levels-1
					}
					if r.outOfTurn(c) != q || r.free(c) != s.FreeSlots(c)+q || r.Slots(c) != k || r.Highest(c) != want || r.HighestPlain(c) != plain {
						t.Fatalf("class %d: q %d, free %d, k %d, highest %d, %d, want %d, %d, %d, %d, %d", c,
							r.outOfTurn(c), r.free(c), r.Slots(c), r.Highest(c), r.HighestPlain(c), q, s.FreeSlots(c)+q, k, want, plain)
					}
				}
			},
		})
	})
}

func save(t interface{ Fatal(...any) }, r *Reserve) []byte {
	data, err := snapshot.Append(nil, snapshot.Header{}, r.Save)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func restore(r *Reserve, data []byte) error {
	return snapshot.Restore(r, data, snapshot.Header{}, func() { *r = Reserve{opts: r.opts, cluster: r.cluster} }, r.Restore)
}

// An impossible snapshot is refused.
func TestForgedReserve(t *testing.T) {
	s := &slots{classes: make([]sojourn.Class, 3), busy: []bool{true, true, false}}
	body := func(w *snapshot.Writer, lengths [][buckets]uint64, out [][]uint64) {
		w.Len(len(lengths))
		for _, h := range lengths {
			w.Bool(true)
			for _, n := range h {
				w.Uint(n)
			}
		}
		w.Len(len(out))
		for _, ids := range out {
			w.Len(len(ids))
			for _, id := range ids {
				w.Uint(id)
			}
		}
	}
	for i, tc := range []struct {
		lengths [][buckets]uint64
		out     [][]uint64
		counted bool
		ok      bool
	}{
		{ok: true},
		{counted: true, out: [][]uint64{{0, 1}}, ok: true},
		{out: [][]uint64{{0}}},                // not counted
		{counted: true, out: [][]uint64{{2}}}, // free
		{counted: true, out: [][]uint64{{3}}}, // not there
		{counted: true, out: [][]uint64{{sojourn.MaxSlots}}},
		{counted: true, out: [][]uint64{{1, 0}}},
		{counted: true, out: [][]uint64{{0, 0}}},
		{counted: true, out: [][]uint64{{}, {0}}}, // of another class
		{counted: true, out: make([][]uint64, sojourn.MaxClasses+1)},
		{lengths: [][buckets]uint64{{1<<32 - 1}}, ok: true},
		{lengths: [][buckets]uint64{{1 << 32}}},
		{lengths: [][buckets]uint64{{1<<32 - 1, 1}}},
		{lengths: make([][buckets]uint64, sojourn.MaxClasses+1)},
	} {
		data, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) { body(w, tc.lengths, tc.out) })
		if err != nil {
			t.Fatal(err)
		}
		if err := restore(New(s, Options{Counted: tc.counted}), data); (err == nil) != tc.ok {
			t.Errorf("%d: %v, want restored: %v", i, err, tc.ok)
		}
	}
}

// The numbers of the package comment.
func TestExample(t *testing.T) {
	const k = 3
	if got := Share(10_000).slots(300, false); got != k {
		t.Errorf("%d slots, want %d", got, k)
	}
	needs := ""
	for l := range Levels {
		needs += fmt.Sprint(Threshold(l, k) + 1)
	}
	if want := "1112222233333444"; needs != want {
		t.Errorf("the levels need %s, want %s", needs, want)
	}
	for running, want := range map[int]int{0: 7, 1: 11, 4: 14} {
		if got := Level(Rank{1, 2}, running); got != want {
			t.Errorf("level %d with %d running, want %d", got, running, want)
		}
	}
}

// Explain tells the least level in each class, by the example of the package comment: 3 of 300 slots are kept
// in class 0, and 1 of 100 in class 1. The why changes only if no class has a slot for the job.
func TestExplain(t *testing.T) {
	s := &slots{live: 2}
	for id := range 400 {
		s.classes = append(s.classes, sojourn.Class(id/300))
		s.busy = append(s.busy, id != 0 && id != 1 && id != 300) // two are free, and one
	}
	r := New(s, Options{Share: Share(10_000)})
	for _, tc := range []struct {
		filed []int // class, level
		want  string
	}{
		{nil, "[why=because]"},
		{[]int{0, 11, 1, 15, 0, 7, 0, 12}, "[why=because class0=[level=7 needs=2 free=2] class1=[level=15 needs=2 free=1]]"},
		{[]int{1, 15}, "[why=leaves the last free slots to shorter tasks and jobs that run less class1=[level=15 needs=2 free=1]]"},
		{[]int{1, 15, 0, 8}, "[why=leaves the last free slots to shorter tasks and jobs that run less class1=[level=15 needs=2 free=1] class0=[level=8 needs=3 free=2]]"},
		{[]int{2, 15}, "[why=because class2=[level=15 needs=1 free=0]]"}, // no slot is free at all
	} {
		got := r.Explain([]slog.Attr{slog.String("why", "because")}, func(filed func(sojourn.Class, int, bool)) {
			for i := 0; i < len(tc.filed); i += 2 {
				filed(sojourn.Class(tc.filed[i]), tc.filed[i+1], false)
			}
		})
		if text := fmt.Sprint(got); text != tc.want {
			t.Errorf("Explain of %v: %s, want %s", tc.filed, text, tc.want)
		}
	}
}

// Each bucket begins at the least length whose square is 2^b, and ends before the next one begins.
func TestBucketsBegin(t *testing.T) {
	for b := range buckets {
		first := new(big.Int).Lsh(big.NewInt(1), uint(b)) // ceil of the root of 2^b
		root := new(big.Int).Sqrt(first)
		if new(big.Int).Mul(root, root).Cmp(first) < 0 {
			root.Add(root, big.NewInt(1))
		}
		d := time.Duration(root.Int64())
		if got := int(Bucket(d)); got != b && b > 1 { // there is no length in bucket 1
			t.Errorf("Bucket(%d) = %d, want %d", d, got, b)
		}
		if got := int(Bucket(d - 1)); got >= b && b > 0 {
			t.Errorf("Bucket(%d) = %d, want less than %d", d-1, got, b)
		}
	}
	if got := Bucket(math.MaxInt64); got != buckets-1 {
		t.Errorf("the greatest length is in bucket %d, want the last one", got)
	}
}
