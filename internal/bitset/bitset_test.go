package bitset

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The oracle is a map.
func TestSetAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{3, 64, 65, 200, 5000, 300_000}).Draw(t, "limit")
		member := rapid.IntRange(0, limit)
		var s Set
		want := map[int]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { i := member.Draw(t, "i"); s.Add(i); want[i] = true },
			"remove": func(t *rapid.T) { i := member.Draw(t, "i"); s.Remove(i); delete(want, i) },
			"addRange": func(t *rapid.T) {
				from := member.Draw(t, "from")
				to := min(from+rapid.IntRange(0, 300).Draw(t, "n"), limit+1)
				s.AddRange(from, to)
				for i := from; i < to; i++ {
					want[i] = true
				}
			},
			"removeFrom": func(t *rapid.T) {
				from := member.Draw(t, "from")
				s.RemoveFrom(from)
				for i := range want {
					if i >= from {
						delete(want, i)
					}
				}
			},
			"removeRange": func(t *rapid.T) {
				from := member.Draw(t, "from")
				to := min(from+rapid.IntRange(0, 300).Draw(t, "n"), limit+1)
				s.RemoveRange(from, to)
				for i := from; i < to; i++ {
					delete(want, i)
				}
			},
			"": func(t *rapid.T) {
				least, most := -1, -1
				for i := range want {
					if least < 0 || i < least {
						least = i
					}
					most = max(most, i)
				}
				if s.Len() != len(want) || s.Min() != least || s.Max() != most {
					t.Fatalf("Len, Min, Max = %d, %d, %d, want %d, %d, %d", s.Len(), s.Min(), s.Max(), len(want), least, most)
				}
				i := rapid.IntRange(0, limit+100).Draw(t, "probe")
				if s.Has(i) != want[i] {
					t.Fatalf("Has(%d) = %v, want %v", i, s.Has(i), want[i])
				}
				next := -1
				for k := range want {
					if k >= i && (next < 0 || k < next) {
						next = k
					}
				}
				gap := i
				for want[gap] {
					gap++
				}
				if got := s.NextGap(i); got != gap {
					t.Fatalf("NextGap(%d) = %d, want %d", i, got, gap)
				}
				if got := s.Next(i); got != next {
					t.Fatalf("Next(%d) = %d, want %d", i, got, next)
				}
			},
		})
	})
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
