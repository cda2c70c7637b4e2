package snapshottest

import (
	"bytes"
	"slices"
	"testing"
)

// Sequence tests that sequence numbers which only a forger comes to are no end: five items
// arrive, and after each what save returns can be restored, into items that save the same
// (again) and come in the order of their arrival.
func Sequence(t *testing.T, arrive func(item int), save func() []byte, restore func(data []byte) (again []byte, items []int, err error)) {
	t.Helper()
	var want []int
	for i := range 5 {
		arrive(i)
		want = append(want, i)
		data := save()
		again, items, err := restore(data)
		switch {
		case err != nil:
			t.Fatalf("item %d: %v", i, err)
		case !bytes.Equal(again, data):
			t.Errorf("item %d: what was restored saves something else", i)
		case !slices.Equal(items, want):
			t.Errorf("item %d: items come as %d, want %d", i, items, want)
		}
	}
}
