package slotvec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// dense and its functions are the oracle: the paper's loops, with one element for
// each slot.
type dense []int64

func (v Vector) dense() dense {
	var d dense
	for _, r := range v {
		for range r.N {
			d = append(d, r.T)
		}
	}
	return d
}

// fill is FILL, literally.
func (d dense) fill(n, eps, rel int64) (dense, int64) {
	d = slices.Clone(d)
	e := rel
	for range n {
		d[0] = max(d[0], rel) + eps
		e = d[0]
		slices.Sort(d)
	}
	return d, e
}

func vectors(maxT int64) *rapid.Generator[Vector] {
	return rapid.Custom(func(t *rapid.T) Vector {
		runs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Run {
			return Run{rapid.Int64Range(0, maxT).Draw(t, "T"), rapid.Int64Range(1, 4).Draw(t, "N")}
		}), 1, 8).Draw(t, "runs")
		return Sort(runs)
	})
}

// Filling again and again is what the loop does. With eps = 0 the loop leaves some
// slots behind rel, and so does Fill.
func TestFillEqualsTheLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := vectors(30).Draw(t, "v")
		d := v.dense()
		var f Filler
		var dst Vector
		for range rapid.IntRange(1, 6).Draw(t, "fills") {
			n := rapid.Int64Range(0, 40).Draw(t, "n")
			eps := rapid.Int64Range(0, 20).Draw(t, "eps")
			rel := rapid.Int64Range(0, 60).Draw(t, "rel")
			before := slices.Clone(v)
			var e, want int64
			dst, e = f.Fill(dst, v, n, eps, rel)
			if !slices.Equal(v, before) {
				t.Fatalf("Fill changed its argument from %v to %v", before, v)
			}
			if !dst.Canonical() {
				t.Fatalf("Fill(%v, %d, %d, %d) = %v is not canonical", v, n, eps, rel, dst)
			}
			d, want = d.fill(n, eps, rel)
			if e != want || !slices.Equal(dst.dense(), d) {
				t.Fatalf("Fill(%v, n=%d, eps=%d, rel=%d) = %v, %d, want %v, %d", v, n, eps, rel, dst.dense(), e, d, want)
			}
			v, dst = dst, v
		}
	})
}

// FuzzFill is the same for the native fuzzer.
func FuzzFill(f *testing.F) {
	f.Add(uint64(1), uint16(5), uint16(3), uint16(2))
	f.Add(uint64(2), uint16(500), uint16(1), uint16(0))
	f.Fuzz(func(t *testing.T, seed uint64, n, eps, rel uint16) {
		r := rand.New(rand.NewPCG(seed, 0))
		var v Vector
		for range 1 + r.IntN(6) {
			v = append(v, Run{r.Int64N(1000), 1 + r.Int64N(3)})
		}
		v = Sort(v)
		got, e := new(Filler).Fill(nil, v, int64(n%2000), int64(eps), int64(rel))
		want, last := v.dense().fill(int64(n%2000), int64(eps), int64(rel))
		if e != last || !slices.Equal(got.dense(), want) || !got.Canonical() {
			t.Errorf("Fill(%v, %d, %d, %d) = %v, %d, want %v, %d", v, n%2000, eps, rel, got, e, want, last)
		}
	})
}

// unit is large: 1023 units are still an instant.
const unit = 1 << 53

// Times as they are in nanoseconds, where products leave 64 bits: the loop on
// multiples of a large unit is the loop on the unit, and ends beyond 1023 units are
// Never.
func TestFillScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := vectors(30).Draw(t, "v")
		n := rapid.Int64Range(0, 40).Draw(t, "n")
		eps := rapid.Int64Range(0, 20).Draw(t, "eps")
		rel := rapid.OneOf(rapid.Int64Range(0, 60), rapid.Int64Range(980, 1023)).Draw(t, "rel")
		scaled := slices.Clone(v)
		for i := range scaled {
			scaled[i].T *= unit
		}
		want, e := new(Filler).Fill(nil, v, n, eps, rel)
		got, last := new(Filler).Fill(nil, scaled, n, eps*unit, rel*unit)
		for i := range want {
			want[i].T *= unit
		}
		if e > Never/unit {
			if last != Never {
				t.Fatalf("last = %d, want Never", last)
			}
			return
		}
		if last != e*unit || !slices.Equal(got, want) {
			t.Fatalf("scaled: %v, %d, want %v, %d", got, last, want, e*unit)
		}
	})
}

// A result out of range is Never, and nothing overflows.
func TestRange(t *testing.T) {
	var f Filler
	for _, tc := range []struct {
		v           Vector
		n, eps, rel int64
		e           int64
	}{
		{nil, 0, 5, 3, 3},
		{Vector{{0, 1}}, 1, unit, 1022 * unit, 1023 * unit},
		{Vector{{0, 1}}, 1, unit, 1023 * unit, Never},
		{Vector{{0, 1}}, 1023, unit, 0, 1023 * unit},
		{Vector{{0, 1}}, 1024, unit, 0, Never},
		{nil, 1, 5, 3, Never},
		{Vector{{0, 1}}, 1, Never, 3, Never},
		{Vector{{0, 1}}, 2, Never / 2, 0, Never - 1},
		{Vector{{0, 1}}, 2, Never/2 + 1, 0, Never},
		{Vector{{0, 1}}, 1 << 31, 1 << 40, 0, Never},
		{Vector{{0, 1 << 24}}, 1 << 31, 1 << 40, 0, 1 << 47},
		{Vector{{Never, 3}}, 3, 1, 0, Never},
		{Vector{{7, 1}, {Never, 3}}, 3, 1, 0, 10},
	} {
		got, e := f.Fill(nil, tc.v, tc.n, tc.eps, tc.rel)
		if e != tc.e || got.Slots() != tc.v.Slots() || !got.Canonical() {
			t.Errorf("Fill(%v, %d, %d, %d) = %v, %d, want %d", tc.v, tc.n, tc.eps, tc.rel, got, e, tc.e)
		}
	}
}

func TestElementwise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := vectors(20).Draw(t, "a")
		b := vectors(20).Draw(t, "b")
		if extra := a.Slots() - b.Slots(); extra > 0 {
			b = Sort(append(b, Run{rapid.Int64Range(0, 20).Draw(t, "T"), extra}))
		} else if extra < 0 {
			a = Sort(append(a, Run{rapid.Int64Range(0, 20).Draw(t, "T"), -extra}))
		}
		floor := rapid.Int64Range(0, 25).Draw(t, "floor")
		da, db := a.dense(), b.dense()

		least, distance := dense(nil), int64(0)
		for i := range da {
			least = append(least, min(da[i], db[i]))
			x, y := max(da[i], floor), max(db[i], floor)
			distance = max(distance, x-y, y-x)
		}
		if got := Min(nil, a, b); !got.Canonical() || !slices.Equal(got.dense(), least) {
			t.Fatalf("Min(%v, %v) = %v, want %v", a, b, got, least)
		}
		if got := Distance(a, b, floor); got != distance {
			t.Fatalf("Distance(%v, %v, %d) = %d, want %d", a, b, floor, got, distance)
		}

		want := slices.Clone(da)
		for _, x := range db {
			want[0] = x
			slices.Sort(want)
		}
		if got := Replace(nil, a, b); !got.Canonical() || !slices.Equal(got.dense(), want) {
			t.Fatalf("Replace(%v, %v) = %v, want %v", a, b, got, want)
		}
	})
}

func TestEmpty(t *testing.T) {
	var v Vector
	if got := Replace(nil, v, Vector{{1, 1}}); len(got) != 0 {
		t.Errorf("Replace on no slots = %v", got)
	}
}

// A shortened vector has the same slots, none available earlier, nor much later, and each when one
// of v is. Slots that are never available stay apart.
func TestShorten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := vectors(rapid.SampledFrom([]int64{3, 20, 1 << 40, Never}).Draw(t, "max")).Draw(t, "v")
		if rapid.Bool().Draw(t, "never") {
			v = Sort(append(v, Run{Never, 2}))
		}
		size := rapid.IntRange(1, 10).Draw(t, "size")
		was := v.dense()
		before := slices.Clone(v)
		got := Shorten(Vector{{7, 7}, {9, 9}}[:rapid.IntRange(0, 2).Draw(t, "dst")], v, size)
		if !slices.Equal(v, before) {
			t.Fatalf("Shorten(%v, %d) changes it to %v", before, size, v)
		}
		most := size
		if was[len(was)-1] == Never {
			most++
		}
		if !got.Canonical() || len(got) > most || len(got.dense()) != len(was) {
			t.Fatalf("Shorten(%v, %d) = %v", v, size, got)
		}
		last := was[0]
		for _, at := range was {
			if at < Never {
				last = at
			}
		}
		for i, at := range got.dense() {
			if at < was[i] || (at == Never) != (was[i] == Never) || at-was[i] > 2*((last-was[0])/int64(size)) || !slices.Contains(was, at) {
				t.Fatalf("Shorten(%v, %d) = %v: slot %d becomes available at %d instead of %d", v, size, got, i, at, was[i])
			}
		}
		if len(v) <= size && !slices.Equal(got, v) {
			t.Fatalf("Shorten(%v, %d) = %v", v, size, got)
		}
	})
}
