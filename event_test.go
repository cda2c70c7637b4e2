package sojourn

import (
	"testing"
	"unsafe"
)

// Events are passed by value through every policy: a cache line each.
func TestEventIs64Bytes(t *testing.T) {
	if got := unsafe.Sizeof(Event{}); got != 64 {
		t.Errorf("unsafe.Sizeof(Event{}) = %d, want 64", got)
	}
}

func TestKindNames(t *testing.T) {
	for k := EventKind(1); k < numKinds; k++ {
		if k.String() == "" {
			t.Errorf("EventKind(%d) has no name", k)
		}
	}
	for _, k := range []EventKind{0, numKinds, 255} {
		if k.Valid() {
			t.Errorf("%v is valid", k)
		}
	}
}
