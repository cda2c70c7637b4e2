package histories_test

import (
	"flag"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn/internal/histories"
)

// rapid makes as many checks as were set, also under -short, and as many as the flag says
// after the test has ended.
func TestShares(t *testing.T) {
	made := func(t *testing.T) (n int) {
		rapid.Check(t, func(*rapid.T) { n++ })
		return n
	}
	all := made(t)
	if got := histories.Count(t); got != all {
		t.Errorf("Count = %d, rapid makes %d checks", got, all)
	}
	for _, n := range []int{1, 3, all, all + 1, 1 << 30} {
		t.Run("", func(t *testing.T) {
			histories.Share(t, n)
			if got, want := made(t), max(all/n, 1); got != want {
				t.Errorf("a share of one in %d is %d, want %d", n, got, want)
			}
		})
		if got := made(t); got != all {
			t.Errorf("after a share of one in %d rapid makes %d checks, want %d", n, got, all)
		}
	}
	drawn := map[uint64]bool{}
	tests, checks := 0, 0
	histories.Options(t, 4, func(t *rapid.T) uint64 { return rapid.Uint64().Draw(t, "option") }, func(t *testing.T, option uint64) {
		drawn[option] = true
		tests++
		checks += made(t)
	})
	if want := max(all/4, 1); tests != want || checks != want || len(drawn) < want/2 {
		t.Errorf("%d tests of %d options with %d checks, want %d of each", tests, len(drawn), checks, want)
	}
}

// If the seed of rapid is fixed, tests under different options draw different numbers, and
// each test draws the same at every run.
func TestOptionsUnderAFixedSeed(t *testing.T) {
	f := flag.Lookup("rapid.seed")
	was := f.Value.String()
	defer f.Value.Set(was)
	histories.Set(t, 40)
	for _, seed := range []string{"1", "18446744073709551615"} {
		f.Value.Set(seed)
		var drawn [2][]uint64
		for i := range drawn {
			histories.Options(t, 4, func(t *rapid.T) bool { return rapid.Bool().Draw(t, "option") }, func(t *testing.T, _ bool) {
				rapid.Check(t, func(t *rapid.T) { drawn[i] = append(drawn[i], rapid.Uint64().Draw(t, "x")) })
			})
		}
		different := slices.Compact(slices.Sorted(slices.Values(drawn[0])))
		if len(drawn[0]) != 10 || !slices.Equal(drawn[0], drawn[1]) || len(different) < 8 || f.Value.String() != seed {
			t.Errorf("seed %s: %d draws, %d of them different, then the seed is %s; want 10 draws twice, and the seed as before", seed, len(drawn[0]), len(different), f.Value)
		}
	}
}

// Fixed seeds draw the same at each run.
func TestFixed(t *testing.T) {
	var drawn [2][]int
	for i := range drawn {
		histories.Fixed(20, func(t *rapid.T) { drawn[i] = append(drawn[i], rapid.Int().Draw(t, "x")) })
	}
	if len(drawn[0]) != 20 || !slices.Equal(drawn[0], drawn[1]) || len(slices.Compact(drawn[0])) < 10 {
		t.Errorf("fixed seeds draw %d, want 20 numbers, twice the same", drawn)
	}
}
