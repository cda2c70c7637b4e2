package fair

import (
	"strings"
	"testing"
)

// forged changes a policy, saves and restores it, and returns the error.
func forged(t *testing.T, change func(*Policy)) error {
	t.Helper()
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	change(p)
	data, err := p.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	q, _ := New(Options{})
	return q.UnmarshalBinary(data)
}

// If a tree is deeper than any path, the reader refuses it at the first level too many,
// and not at its end: the reader calls itself once for each level.
func TestForgedDepth(t *testing.T) {
	for depth, want := range map[int]string{maxDepth: "no jobs", maxDepth + 1: "too deep"} {
		err := forged(t, func(p *Policy) {
			n := &p.root
			for range depth {
				below := p.newPool("deep", n, p.plain)
				n.pools.Append(&below)
				n = &below
			}
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d levels: %v, want an error about %q", depth, err, want)
		}
	}
}

// Counters must be far from the numbers at which they wrap around, and no turn may lie in
// the future.
func TestForgedCounters(t *testing.T) {
	for what, counter := range map[string]struct {
		limit uint64
		set   func(*Policy, uint64)
	}{
		"turns": {1 << 47, func(p *Policy, n uint64) { p.turns = n }},
		"looks": {1 << 63, func(p *Policy, n uint64) { p.preempt.looks = n }},
	} {
		for n, bad := range map[uint64]bool{counter.limit - 1: false, counter.limit: true, 1<<64 - 1: true} {
			if err := forged(t, func(p *Policy) { counter.set(p, n) }); (err != nil) != bad {
				t.Errorf("%d %s: %v, want an error: %v", n, what, err, bad)
			}
		}
	}
	for turn, bad := range map[uint64]bool{7: false, 8: true} {
		err := forged(t, func(p *Policy) { p.turns, p.root.class(0).turn = 7, turn })
		if (err != nil) != bad {
			t.Errorf("turn %d of 7: %v, want an error: %v", turn, err, bad)
		}
	}
}
