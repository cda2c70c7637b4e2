package journal

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A backup that was put together of two copies of a folder, each file from either, is one of a moment of the journal, or Open and Inspect say what is
// wrong with it: no record of the middle is lost in silence, though a part of a segment may end at a record.
func TestMixedCopies(t *testing.T) {
	want := states(t)
	m := newMemory()
	j := mustOpen(t, m, newFIFO(t), Options{SnapshotBytes: 60, inline: true, Another: func() (sojourn.Policy, error) { return newFIFO(t), nil }})
	copies := []*memory{m.crash(1<<20, false, true)}
	for _, call := range story() {
		if err := errors.Join(call(j), j.Flush()); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, m.crash(1<<20, false, true))
	}
	refused := 0
	for later := range copies {
		for earlier := range later {
			a, b := copies[earlier].names, copies[later].names
			names := slices.Sorted(maps.Keys(b))
			for name := range a {
				if b[name] == nil {
					names = append(names, name)
				}
			}
			for which := range 1 << len(names) {
				mixed := newMemory()
				for k, name := range names {
					of := a
					if which>>k&1 == 1 {
						of = b
					}
					if of[name] != nil {
						mixed.names[name] = of[name]
					}
				}
				s, err := openFiles(mixed, "dir")
				if err != nil {
					t.Fatal(err)
				}
				fine := true
				for _, err := range Inspect(s) {
					fine = fine && err == nil
				}
				j, err := Open(s, newFIFO(t), Options{})
				if err != nil {
					if errors.Is(err, ErrMissing) || errors.As(err, new(*DamageError)) {
						refused++
						if fine {
							t.Fatalf("copies %d and %d, %b: Open says %v, and Inspect nothing", earlier, later, which, err)
						}
						continue
					}
					t.Fatal(err)
				}
				if got := facts(slices.Collect(j.Account().Facts())); !slices.Contains(want[:later+1], got) {
					t.Fatalf("copies %d and %d, %b of %v: the facts are those of no moment:\n%s", earlier, later, which, strings.Join(names, " "), got)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused: too little to show anything")
	}
	t.Logf("%d refused", refused)
}
