package snapshottest

import (
	"bytes"
	"slices"
	"testing"
)

// Sequence tests that sequence numbers that only a forger reaches cause no failure. Five
// items arrive. After each of them, restore must accept the result of save; the restored
// items must save the same bytes (again) and be in the order of their arrival.
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
