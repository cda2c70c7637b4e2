package gang_test

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"pgregory.net/rapid"
)

// Up to 256 places each width has a class of its own.
func TestEachWidthHasAClass(t *testing.T) {
	for places := 1; places <= sojourn.MaxClasses; places++ {
		w, err := gang.MakeWidths(places)
		if err != nil || w.Len() != places {
			t.Fatalf("%d places: %d classes, error %v", places, w.Len(), err)
		}
		for n := 1; n <= places; n++ {
			if c, err := w.Class(n); err != nil || int(c) != n-1 || w.Width(c) != n {
				t.Fatalf("%d places: width %d has class %d of width %d, error %v", places, n, c, w.Width(c), err)
			}
		}
	}
}

// On more places, a class is the narrowest that is wide enough, and what rounding takes is below
// the documented bound. b is found here by counting.
func TestWidthsAreRoundedUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.OneOf(rapid.IntRange(257, 4096), rapid.IntRange(257, sojourn.MaxSlots),
			rapid.SampledFrom([]int{257, 511, 512, 513, 131_072, 131_073, sojourn.MaxSlots})).Draw(t, "places")
		w, err := gang.MakeWidths(places)
		if err != nil || w.Len() > sojourn.MaxClasses {
			t.Fatalf("%d classes, error %v", w.Len(), err)
		}
		b := 1
		for more := true; more; {
			count := 1 // places itself
			for length := 1; length <= bits.Len(uint(places)); length++ {
				top := 1 << (length - 1)
				step := max(1, top>>b) // numbers of this length and b+1 significant bits
				for v := top; v < 2*top && v < places; v += step {
					if count++; count > sojourn.MaxClasses {
						break
					}
				}
			}
			if more = count <= sojourn.MaxClasses; more {
				b++
			}
		}
		if places <= 131_072 && b < 5 {
			t.Fatalf("%d significant bits", b)
		}
		n := rapid.IntRange(1, places).Draw(t, "width")
		c, err := w.Class(n)
		if err != nil {
			t.Fatal(err)
		}
		got := w.Width(c)
		if got < n || got > places || c > 0 && w.Width(c-1) >= n {
			t.Fatalf("width %d has a class of width %d, after one of %d", n, got, w.Width(c-1))
		}
		if (got-n)<<(b-1) >= n {
			t.Fatalf("width %d is rounded to %d, by 1/2^(%d-1) or more", n, got, b)
		}
		if n&(n-1) == 0 && got != n {
			t.Fatalf("width %d, a power of two, is rounded to %d", n, got)
		}
	})
}

func TestBadWidths(t *testing.T) {
	for _, places := range []int{-1, 0, sojourn.MaxSlots + 1} {
		if _, err := gang.MakeWidths(places); err == nil {
			t.Errorf("%d places: no error", places)
		}
	}
	w, err := gang.MakeWidths(10)
	if err != nil {
		t.Fatal(err)
	}
	for width, want := range map[int]error{-1: gang.ErrWidth, 0: gang.ErrWidth, 11: gang.ErrTooWide} {
		if _, err := w.Class(width); !errors.Is(err, want) {
			t.Errorf("width %d: error %v, want %v", width, err, want)
		}
	}
	if w.Width(10) != 0 || w.Width(255) != 0 {
		t.Errorf("classes 10 and 255 have widths %d and %d", w.Width(10), w.Width(255))
	}
	if _, err := new(gang.Widths).Class(1); !errors.Is(err, gang.ErrTooWide) {
		t.Errorf("no places: error %v", err)
	}
}

// Whatever the widths are, what Fill leaves does not fit, and what it takes does.
func TestFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.IntRange(0, 20).Draw(t, "free")
		widths := rapid.SliceOfN(rapid.IntRange(1, 12), 0, 8).Draw(t, "widths")
		list := gang.Fill(free, widths)
		left := free
		for i, k := range list {
			left -= widths[k]
			if i > 0 && (widths[k] > widths[list[i-1]] || widths[k] == widths[list[i-1]] && k < list[i-1]) {
				t.Fatalf("took %v of %v", list, widths)
			}
		}
		for k, w := range widths {
			if left < 0 || !slices.Contains(list, k) && w <= left {
				t.Fatalf("took %v of %v for %d places, which leaves %d", list, widths, free, left)
			}
		}
	})
}

// Widths that are powers of two and divide the places, and that ask for all of them, fill them:
// all lists of widths for up to 16 places, in all orders.
//
// Reference: Grosof, Harchol-Balter, Scheller-Wolf 2022, ServerFilling.
func TestPowersOfTwoFillThePlaces(t *testing.T) {
	lists := 0
	for places := 1; places <= 16; places++ {
		var widths []int
		var try func(sum int)
		try = func(sum int) {
			if sum >= places { // the shortest lists that ask for enough, as Order makes them
				lists++
				checkFilled(t, places, widths)
				return
			}
			for w := 1; w <= places && places%w == 0; w *= 2 {
				widths = append(widths, w)
				try(sum + w)
				widths = widths[:len(widths)-1]
			}
		}
		try(0)
	}
	if lists < 1000 {
		t.Errorf("%d lists", lists)
	}
}

// The same for any widths of which each divides the next.
func TestChainsOfDivisorsFillThePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chain := []int{rapid.IntRange(1, 5).Draw(t, "least")}
		for range rapid.IntRange(0, 5).Draw(t, "more") {
			chain = append(chain, chain[len(chain)-1]*rapid.IntRange(2, 7).Draw(t, "factor"))
		}
		places := chain[len(chain)-1] * rapid.IntRange(1, 4).Draw(t, "places")
		widths, sum := []int{}, 0
		for sum < places {
			widths = append(widths, rapid.SampledFrom(chain).Draw(t, "width"))
			sum += widths[len(widths)-1]
		}
		checkFilled(t, places, widths)
	})
}

func checkFilled(t interface{ Fatalf(string, ...any) }, places int, widths []int) {
	sum := 0
	for _, k := range gang.Fill(places, widths) {
		sum += widths[k]
	}
	if sum != places {
		t.Fatalf("%v fill %d of %d places", widths, sum, places)
	}
}
