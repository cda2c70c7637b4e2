package heap

import (
	"math"
	"math/bits"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// TestSqueeze compares what is left of two words: it is never in the other order, and differs if the words differ in
// their first 27 bits.
func TestSqueeze(t *testing.T) {
	words := rapid.Custom(func(t *rapid.T) uint64 {
		near := uint64(1)<<rapid.IntRange(0, 63).Draw(t, "bit") + uint64(rapid.Int64Range(-2, 2).Draw(t, "off"))
		return rapid.OneOf(rapid.Just(near), rapid.Uint64(), rapid.SampledFrom([]uint64{0, math.MaxUint64})).Draw(t, "word")
	})
	rapid.Check(t, func(t *rapid.T) {
		x := words.Draw(t, "x")
		y := words.Draw(t, "y")
		if rapid.Bool().Draw(t, "close") {
			y = x + rapid.Uint64Range(0, x>>20+1).Draw(t, "more")
		}
		if x > y {
			x, y = y, x
		}
		a, b := squeeze(x), squeeze(y)
		if a > b {
			t.Fatalf("squeeze(%#x) = %#x, above squeeze(%#x) = %#x", x, a, y, b)
		}
		if low := max(0, bits.Len64(y)-27); x>>low != y>>low && a == b {
			t.Fatalf("squeeze(%#x) = squeeze(%#x) = %#x", x, y, a)
		}
	})
}

// TestSqueezeAtPowers compares each power of two with the words on both sides that differ from it in 27 bits.
func TestSqueezeAtPowers(t *testing.T) {
	for bit := range 64 {
		x := uint64(1) << bit
		above := x + max(1, x>>26)
		if !(squeeze(x-1) < squeeze(x) && squeeze(x) < squeeze(above)) {
			t.Errorf("squeeze gives %#x, %#x, %#x for %#x, %#x, %#x", squeeze(x-1), squeeze(x), squeeze(above), x-1, x, above)
		}
	}
}

// TestLine checks that the items below one have the size of a line of memory, and lie in one.
func TestLine(t *testing.T) {
	if n := unsafe.Sizeof([arity]entry{}); n != 64 {
		t.Fatalf("%d items have %d bytes, want 64", arity, n)
	}
	h := New(func(a, b int) bool { return a < b }, nil)
	for i := range 5000 {
		h.Set(uint32(i), i)
		if n := h.Len(); n > 1000 && uintptr(unsafe.Pointer(h.at(&h.array, 1)))%64 != 0 {
			t.Fatalf("with %d items, those below the first one begin at %p", n, h.at(&h.array, 1))
		}
	}
}
