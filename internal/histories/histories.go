// Package histories divides the checks of rapid among the tests of a package. A
// conformance test of a policy takes a share of them, and a test of its options another.
// If a test needs certain situations for its checks to mean something, it looks for them
// with fixed seeds.
package histories

import (
	"flag"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Tests of policies make much garbage and keep little. If the heap may grow to five times the
// live memory instead of twice, they take a quarter less processor time.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

// Count returns how many checks rapid makes, a fifth under -short.
func Count(tb testing.TB) int {
	tb.Helper()
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	if err != nil {
		tb.Fatal(err)
	}
	if testing.Short() {
		n /= 5
	}
	return n
}

// Set makes rapid make n checks, under -short as well, until the test ends.
func Set(tb testing.TB, n int) {
	tb.Helper()
	if testing.Short() {
		n *= 5
	}
	f := flag.Lookup("rapid.checks")
	was := f.Value.String()
	f.Value.Set(strconv.Itoa(n))
	tb.Cleanup(func() { f.Value.Set(was) })
}

// Share makes rapid make one check of n, and at least one, until the test ends.
func Share(tb testing.TB, n int) {
	tb.Helper()
	Set(tb, max(Count(tb)/n, 1))
}

// Options runs a test under options that are drawn for each run. It makes one run for n
// checks of rapid, and each run makes one check. If the flag -rapid.seed fixes the draws,
// each run still makes another check.
func Options[O any](t *testing.T, n int, draw func(*rapid.T) O, test func(*testing.T, O)) {
	t.Helper()
	gen := rapid.Custom(draw)
	for seed := range max(Count(t)/n, 1) {
		opts := gen.Example(seed)
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			Set(t, 1)
			advanceSeed(t, seed)
			defer func() {
				if t.Failed() {
					t.Logf("options %+v", opts)
				}
			}()
			test(t, opts)
		})
	}
}

// advanceSeed adds n to rapid's seed until the test ends, unless rapid takes one at random.
func advanceSeed(tb testing.TB, n int) {
	tb.Helper()
	f := flag.Lookup("rapid.seed")
	was := f.Value.String()
	seed, err := strconv.ParseUint(was, 0, 64)
	if err != nil {
		tb.Fatal(err)
	}
	if seed != 0 {
		f.Value.Set(strconv.FormatUint(max(1, seed+uint64(n)), 10))
		tb.Cleanup(func() { f.Value.Set(was) })
	}
}

// Fixed calls f with the draws of n fixed seeds. Counts made there are the same at each run,
// so a guard may depend on them.
func Fixed(n int, f func(*rapid.T)) {
	gen := rapid.Custom(func(t *rapid.T) bool { f(t); return true })
	for seed := range n {
		gen.Example(seed)
	}
}
