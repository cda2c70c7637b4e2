package bitset

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The oracle is the list of operations. The latest operation on an integer tells whether it is
// a member. Between the ends of operations nothing changes.
type oracle []struct {
	from, to int
	add      bool
}

func (o oracle) has(i int) bool {
	for _, done := range slices.Backward(o) {
		if done.from <= i && i < done.to {
			return done.add
		}
	}
	return false
}

// ends returns 0 and all ends of operations, in order.
func (o oracle) ends() []int {
	list := []int{0}
	for _, done := range o {
		list = append(list, done.from, done.to)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// next returns the least integer from i on of which has is want; -1 if there is none.
func (o oracle) next(i int, want bool) int {
	for _, at := range append([]int{i}, o.ends()...) {
		if at >= i && o.has(at) == want {
			return at
		}
	}
	return -1
}

func (o oracle) len() (n int) {
	ends := o.ends()
	for k := range ends[1:] {
		if o.has(ends[k]) {
			n += ends[k+1] - ends[k]
		}
	}
	return n
}

func (o oracle) max() int {
	ends := o.ends()
	for k := len(ends) - 1; k > 0; k-- {
		if o.has(ends[k] - 1) {
			return ends[k] - 1
		}
	}
	return -1
}

// member draws an integer below limit, mostly near the end of a word, a leaf or a node.
func member(limit int) *rapid.Generator[int] {
	return rapid.Custom(func(t *rapid.T) int {
		if rapid.Bool().Draw(t, "anywhere") {
			return rapid.IntRange(0, limit-1).Draw(t, "i")
		}
		size := rapid.SampledFrom([]int{1, 64, 4096, 1 << 18, 1 << 24, 1 << 30}).Draw(t, "size")
		near := rapid.IntRange(0, 3).Draw(t, "parts")*min(size, limit/4) + rapid.IntRange(-2, 2).Draw(t, "off")
		return min(max(near, 0), limit-1)
	})
}

func TestSetAgainstHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{3, 64, 65, 200, 4096, 4097, 13_000, 300_000, 1 << 25, math.MaxInt32}).Draw(t, "limit")
		var s Set
		var o oracle
		do := func(from, to int, add bool) {
			o = append(o, oracle{{from, to, add}}...)
		}
		member := member(limit)
		switch rapid.IntRange(0, 2).Draw(t, "made by") {
		case 1:
			s = Full(limit)
			do(0, limit, true)
		case 2:
			s = Sized(limit)
		}
		span := func(t *rapid.T) (from, to int) {
			from, to = member.Draw(t, "from"), member.Draw(t, "to")+1
			return min(from, to), max(from, to)
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":         func(t *rapid.T) { i := member.Draw(t, "i"); s.Add(i); do(i, i+1, true) },
			"remove":      func(t *rapid.T) { i := member.Draw(t, "i"); s.Remove(i); do(i, i+1, false) },
			"addRange":    func(t *rapid.T) { from, to := span(t); s.AddRange(from, to); do(from, to, true) },
			"removeRange": func(t *rapid.T) { from, to := span(t); s.RemoveRange(from, to); do(from, to, false) },
			"removeFrom":  func(t *rapid.T) { i := member.Draw(t, "i"); s.RemoveFrom(i); do(i, limit, false) },
			"": func(t *rapid.T) {
				if got, want := []int{s.Len(), s.Min(), s.Max()}, []int{o.len(), o.next(0, true), o.max()}; !slices.Equal(got, want) {
					t.Fatalf("Len, Min, Max = %v, want %v", got, want)
				}
				for _, i := range []int{member.Draw(t, "probe"), limit, limit + rapid.IntRange(0, 100).Draw(t, "beyond")&(math.MaxInt-limit)} {
					got := []any{s.Has(i), s.Next(i), s.NextGap(i)}
					if want := []any{o.has(i), o.next(i, true), o.next(i, false)}; !slices.Equal(got, want) {
						t.Fatalf("Has, Next, NextGap of %d = %v, want %v", i, got, want)
					}
				}
			},
		})
	})
}

// A large set takes memory only for its changed parts.
func TestMemoryFollowsChanges(t *testing.T) {
	// The runtime counts what all goroutines allocate, its own too: the least of some tries is
	// what the change took.
	size := func(change func(*Set)) uint64 {
		least := uint64(math.MaxUint64)
		for range 10 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := Full(math.MaxInt32)
			change(&s)
			runtime.ReadMemStats(&after)
			if s.Len() == 0 {
				t.Error("the set is empty")
			}
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		return least
	}
	tests := []struct {
		name   string
		change func(*Set)
		most   uint64 // bytes
	}{
		{"nothing", func(*Set) {}, 8 << 10},
		{"the first", func(s *Set) { s.Remove(0) }, 16 << 10},
		{"the last", func(s *Set) { s.Remove(math.MaxInt32 - 1) }, 8 << 10},
		{"all but one", func(s *Set) { s.RemoveFrom(1); s.AddRange(1, math.MaxInt32-1) }, 16 << 10},
		{"the first million", func(s *Set) { s.RemoveRange(0, 1_000_000) }, 32 << 10},
		{"100,000 in order", func(s *Set) {
			for i := range 100_000 {
				s.Remove(i)
			}
		}, 64 << 10},
		{"100 far from each other", func(s *Set) {
			for i := range 100 {
				s.Remove(i << 24)
			}
		}, 100 * 8 << 10},
	}
	for _, tc := range tests {
		if got := size(tc.change); got > tc.most {
			t.Errorf("%s: %d bytes were allocated, want at most %d", tc.name, got, tc.most)
		}
	}
}

// Sets of up to 4096 integers that were made full, or sized, are changed without an
// allocation; so are larger ones where both members and others were before.
func TestChangesDoNotAllocate(t *testing.T) {
	for _, n := range []int{1, 64, 65, 4096, 10_000, 1 << 20} {
		full, empty := Full(n), Sized(n)
		i := 0
		swap := func() {
			full.Remove(i)
			empty.Add(i)
			full.Add(i)
			empty.Remove(i)
			i = (i + 1) % min(n, 4096)
		}
		if n > leafSize {
			swap()
		}
		if got := testing.AllocsPerRun(4096, swap); got != 0 { // the mean, without its fraction: the runtime allocates, too
			t.Errorf("n = %d: %v allocations", n, got)
		}
	}
}

func TestFull(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 128, 4096, 4097, 1 << 20} {
		s := Full(n)
		if s.Len() != n || s.Max() != n-1 || (n > 0) != (s.Min() == 0) {
			t.Errorf("Full(%d): Len %d, Min %d, Max %d", n, s.Len(), s.Min(), s.Max())
		}
	}
}

func BenchmarkMinRemoveAdd(b *testing.B) {
	for _, n := range []int{64, 10_000, 1 << 24} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			s := Full(n)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				m := s.Min()
				s.Remove(m)
				s.Add((m + i) % n)
				i += 7919
			}
		})
	}
}

// Whoever adds or removes in order needs the tree for one of 64 integers.
func TestOrderSeldomNeedsTheTree(t *testing.T) {
	pending, done := Full(10_000), Sized(10_000)
	var trees [2]*node
	for i := range 1000 {
		if i%64 == 1 {
			trees = [2]*node{pending.top, done.top}
			pending.top, done.top = nil, nil
		}
		if got := pending.Min(); got != i {
			t.Fatalf("Min() = %d, want %d", got, i)
		}
		pending.Remove(i)
		done.Add(i)
		if i%64 == 63 {
			pending.top, done.top = trees[0], trees[1]
		}
	}
	if done.top = trees[1]; done.NextGap(0) != 1000 {
		t.Errorf("NextGap(0) = %d, want 1000", done.NextGap(0))
	}
}
