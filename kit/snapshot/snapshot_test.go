package snapshot

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// A machine represents the state of a policy.
type machine struct {
	n    uint64
	list []int64
	rng  rand.PCG
}

var header = Header{Policy: "machine", Version: 3, Options: []Option{Opt("speed", 2), Opt("late", "first")}}

func (m *machine) reset() { *m = machine{} }

func (m *machine) AppendBinary(dst []byte) ([]byte, error) {
	return Append(dst, header, func(w *Writer) {
		w.Uint(m.n)
		w.Len(len(m.list))
		for _, x := range m.list {
			w.Int(x)
		}
		w.Binary(&m.rng)
	})
}

func (m *machine) UnmarshalBinary(data []byte) error { return m.restore(data, header) }

func (m *machine) restore(data []byte, h Header) error {
	return Restore(m, data, h, m.reset, func(r *Reader) {
		m.n = r.Uint()
		m.list = make([]int64, r.Len())
		for i := range m.list {
			m.list[i] = r.Int()
		}
		r.Binary(&m.rng)
	})
}

func newMachine() *machine {
	return &machine{1 << 40, []int64{0, -1, math.MaxInt64, math.MinInt64}, *rand.NewPCG(1, 2)}
}

func saved(t *testing.T, m *machine) []byte {
	t.Helper()
	data, err := m.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	want := newMachine()
	data := saved(t, want)
	got := &machine{n: 7, list: []int64{7}}
	if err := got.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("restored %+v, %v, want %+v", got, err, want)
	}
	again, err := got.AppendBinary([]byte("dst"))
	if err != nil || string(again) != "dst"+string(data) {
		t.Errorf("saved again: %q, %v, want dst and %q", again, err, data)
	}
}

// Every bit that is flipped, and every length but the right one, is noticed, and
// nothing is changed.
func TestDamage(t *testing.T) {
	data := saved(t, newMachine())
	m := &machine{n: 7, list: []int64{7}}
	was := *m
	try := func(bad []byte, what string, at int) {
		if err := m.UnmarshalBinary(bad); err == nil || !reflect.DeepEqual(*m, was) {
			t.Fatalf("%s %d of %d: %v, %+v", what, at, len(data), err, *m)
		}
	}
	for i := range len(data) {
		try(data[:i], "length", i)
		for bit := range 8 {
			bad := slices.Clone(data)
			bad[i] ^= 1 << bit
			try(bad, "bit", 8*i+bit)
		}
	}
	try(append(slices.Clone(data), 0), "length", len(data)+1)
	try(append(slices.Clone(data), data...), "length", 2*len(data))
}

// The error names what the snapshot is of, and what it should be of.
func TestOthers(t *testing.T) {
	data := saved(t, newMachine())
	for _, tc := range []struct {
		h    Header
		want string
	}{
		{Header{"other", 3, header.Options}, "it is one of machine"},
		{Header{"machine", 4, header.Options}, "its version is 3, not 4"},
		{Header{"machine", 3, []Option{Opt("speed", 3), Opt("late", "first")}}, "the option speed may not change: it was taken with 2, not 3"},
		{Header{"machine", 3, []Option{Opt("speed", 2), Opt("late", "share")}}, "the option late may not change: it was taken with first, not share"},
		{Header{"machine", 3, []Option{Opt("speed", 2)}}, "it was taken with the option late=first, which may not change"},
		{Header{"machine", 3, []Option{Opt("late", "first")}}, "it was taken with the option speed=2, which may not change"},
		{Header{"machine", 3, []Option{Opt("speed", 2), Opt("late", "first"), Opt("more", true)}}, "it was taken without the option more=true, which may not change"},
		{Header{"machine", 3, []Option{Opt("more", true), Opt("speed", 2), Opt("late", "first")}}, "it was taken without the option more=true, which may not change"},
		{Header{"machine", 3, []Option{Opt("late", "first"), Opt("speed", 2)}}, "which may not change"},
		{Header{"machine", 3, nil}, "it was taken with the option speed=2, which may not change"},
	} {
		m := &machine{n: 7}
		if err := m.restore(data, tc.h); !errors.Is(err, sojourn.ErrForeignSnapshot) || !strings.Contains(err.Error(), tc.want) || m.n != 7 {
			t.Errorf("restore as %+v: %v, want %q", tc.h, err, tc.want)
		}
	}
	text := []byte("{\"policy\": \"machine\", \"jobs\": []}")
	if err := new(machine).UnmarshalBinary(text); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("of other bytes: %v", err)
	}
	later := slices.Clone(data)
	later[len(magic)-1]++
	if err := new(machine).UnmarshalBinary(later); err == nil || !strings.Contains(err.Error(), "format is 5, not 4") {
		t.Errorf("of a later frame: %v", err)
	}
}

// Opt accepts only values with a defined text: no struct, map or pointer.
func TestOpt(t *testing.T) {
	for _, tc := range []struct {
		value any
		want  string
	}{
		{true, "true"}, {-3, "-3"}, {uint64(math.MaxUint64), "18446744073709551615"}, {0.1, "0.1"}, {"first", "first"},
		{90 * time.Second, "1m30s"}, {int64(7), "7"}, {uint32(8), "8"},
	} {
		if got := Opt("name", tc.value); got != (Option{"name", tc.want}) || got.String() != "name="+tc.want {
			t.Errorf("Opt(name, %v) = %v, want %s", tc.value, got, tc.want)
		}
	}
	for _, bad := range []any{struct{ A int }{1}, map[string]int{}, new(int), nil, []int{1}, header} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Opt takes a %T", bad)
				}
			}()
			Opt("name", bad)
		}()
	}
}

// Restore puts everything back when the body is wrong, however late that shows.
func TestRollBack(t *testing.T) {
	data, err := Append(nil, header, func(w *Writer) {
		w.Uint(5)
		w.Len(0)
		w.Binary(rand.NewPCG(3, 4))
		w.Bool(true) // nobody reads this
	})
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine()
	if err := m.UnmarshalBinary(data); err == nil || !strings.Contains(err.Error(), "left over") || !reflect.DeepEqual(m, newMachine()) {
		t.Errorf("%v, %+v, want an error and %+v", err, m, newMachine())
	}
}

func TestWhatCannotBeSaved(t *testing.T) {
	why := errors.New("a reason")
	dst := []byte("dst")
	got, err := Append(dst, header, func(w *Writer) {
		w.Fail(why)
		w.Fail(errors.New("another"))
	})
	if !errors.Is(err, why) || string(got) != "dst" {
		t.Errorf("%q, %v, want dst and %v", got, err, why)
	}
}

// Every value is read as it was written, and a prefix of the bytes is never accepted.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := drawJob(t)
		u, i, f := rapid.Uint64().Draw(t, "u"), rapid.Int64().Draw(t, "i"), rapid.Float64().Draw(t, "f")
		b, s := rapid.Bool().Draw(t, "b"), rapid.String().Draw(t, "s")
		x := wide.Uint128{Hi: rapid.Uint64().Draw(t, "hi"), Lo: rapid.Uint64().Draw(t, "lo")}
		at := sojourn.Time(rapid.Int64Min(0).Draw(t, "at"))
		var w Writer
		w.Uint(u)
		w.Int(i)
		w.Float(f)
		w.Bool(b)
		w.String(s)
		x.Save(&w)
		w.Time(at)
		w.Duration(time.Duration(i))
		w.Job(job)
		w.Len(3)
		w.buf = append(w.buf, 0, 0, 0)
		read := func(data []byte) *Reader {
			r := &Reader{rest: data, size: len(data)}
			ok := r.Uint() == u && r.Int() == i && r.Float() == f && r.Bool() == b && r.String() == s &&
				wide.Restore128(r) == x && r.Time() == at && r.Duration() == time.Duration(i)
			if got := r.Job(); r.err == nil && (!ok || !reflect.DeepEqual(got, job)) {
				t.Fatalf("read %v, %+v, want %+v", ok, got, job)
			}
			if n := r.Len(); r.err == nil && n != 3 {
				t.Fatalf("Len = %d, want 3", n)
			}
			return r
		}
		if r := read(w.buf); r.err != nil {
			t.Fatal(r.err)
		}
		if cut := rapid.IntRange(0, len(w.buf)-1).Draw(t, "cut"); read(w.buf[:cut]).err == nil {
			t.Fatalf("%d bytes of %d are enough", cut, len(w.buf))
		}
	})
}

func drawJob(t *rapid.T) *sojourn.Job {
	j := &sojourn.Job{
		ID:          sojourn.JobID(rapid.Uint64Min(1).Draw(t, "id")),
		Name:        rapid.String().Draw(t, "name"),
		Pool:        rapid.String().Draw(t, "pool"),
		Weight:      rapid.SampledFrom([]float64{0, 1, 1.0 / (1 << 16), 2.5, 1<<32 - 1}).Draw(t, "weight"),
		Deadline:    sojourn.Time(rapid.Int64Min(0).Draw(t, "deadline")),
		Parallelism: rapid.Uint32().Draw(t, "parallelism"),
		Priority:    rapid.SampledFrom([]int32{0, 0, 1, -1, math.MinInt32, math.MaxInt32}).Draw(t, "priority"),
		Release:     sojourn.Time(max(0, rapid.Int64().Draw(t, "release"))),
		Sequence:    rapid.SampledFrom([]string{"", "", "a", "\x00"}).Draw(t, "sequence"),
	}
	duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 1<<55).Draw(t, "d")) })
	for i := range rapid.IntRange(1, 3).Draw(t, "phases") {
		n := rapid.IntRange(1, 5).Draw(t, "tasks")
		p := sojourn.Phase{Tasks: n, Class: sojourn.Class(rapid.Byte().Draw(t, "class")), Estimate: duration.Draw(t, "estimate")}
		p.After = rapid.SampledFrom([]int{0, sojourn.NoBarrier}).Draw(t, "after")
		if i > 0 {
			p.After = rapid.IntRange(sojourn.NoBarrier, j.Phases[i-1].Tasks).Draw(t, "after")
		}
		if rapid.Bool().Draw(t, "needs") {
			p.After, p.Needs = 0, []int{}
			for k := range i {
				if rapid.Bool().Draw(t, "this one") {
					p.Needs = append(p.Needs, k)
				}
			}
		}
		p.Held = rapid.Bool().Draw(t, "held")
		if rapid.Bool().Draw(t, "estimates") {
			p.Estimates = rapid.SliceOfN(duration, n, n).Draw(t, "estimates")
		}
		if rapid.Bool().Draw(t, "inputs") {
			node := rapid.Custom(func(t *rapid.T) sojourn.NodeID { return sojourn.NodeID(rapid.Uint32Min(1).Draw(t, "node")) })
			p.Inputs = sojourn.MakeInputs(rapid.SliceOfN(rapid.SliceOfN(node, 0, 3), n, n).Draw(t, "nodes"))
		}
		if rapid.Bool().Draw(t, "bytes") {
			p.Bytes = rapid.SliceOfN(rapid.Int64Min(0), n, n).Draw(t, "bytes")
		}
		if rapid.Bool().Draw(t, "delays") {
			p.Delays = rapid.SliceOfN(duration, n, n).Draw(t, "delays")
		}
		j.Phases = append(j.Phases, p)
	}
	if err := j.Check(); err != nil {
		t.Fatal(err)
	}
	return j
}

// Random bytes are read without a panic and with about as much memory as they take
// themselves. A number has one form.
func TestForgeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		r := &Reader{rest: data, size: len(data)}
		calls := []func(){
			func() { r.Uint() }, func() { r.Int() }, func() { r.Bool() }, func() { r.Float() }, func() { wide.Restore128(r) },
			func() { r.Time() }, func() { r.Job() }, func() { r.Binary(new(rand.PCG)) },
			func() {
				if n := len(r.String()); n > len(data) {
					t.Fatalf("a string of %d bytes out of %d", n, len(data))
				}
			},
			func() {
				if n := r.Len(); n > len(r.rest) {
					t.Fatalf("Len = %d with %d bytes left", n, len(r.rest))
				}
			},
			func() {
				if n := r.Below(9); n >= 9 {
					t.Fatalf("Below(9) = %d", n)
				}
			},
		}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, len(calls)-1)).Draw(t, "calls") {
			calls[i]()
		}
		if r.err != nil && r.Uint() != 0 {
			t.Fatal("a number after an error")
		}
	})
	r := &Reader{rest: []byte{0x80, 0}}
	if r.Uint(); r.err == nil {
		t.Error("0 in two bytes is read")
	}
	var w Writer
	w.Float(math.NaN())
	r = &Reader{rest: w.buf}
	if r.Float(); r.err == nil {
		t.Error("NaN is read")
	}
}

// A number that does not fit is refused, on every platform: an int of 32 bits does not
// take its lower half.
func TestNumbersThatAreInts(t *testing.T) {
	read := func(x uint64, f func(*Reader) int) (int, error) {
		w := Writer{}
		w.Uint(x)
		r := &Reader{rest: w.buf, size: len(w.buf)}
		n := f(r)
		return n, r.err
	}
	reads := map[string]struct {
		f     func(*Reader) int
		limit uint64
	}{
		"Index":        {func(r *Reader) int { return r.Index(5) }, 5},
		"Index of all": {func(r *Reader) int { return r.Index(math.MaxInt) }, math.MaxInt},
		"Count":        {(*Reader).Count, math.MaxInt/2 + 1},
	}
	for name, tc := range reads {
		for _, x := range []uint64{0, 1, 4, 5, 6, 1<<31 - 1, 1 << 31, 1 << 32, 1<<32 + 4, math.MaxInt / 2, math.MaxInt/2 + 1, math.MaxInt, math.MaxInt64, 1 << 63, math.MaxUint64} {
			got, err := read(x, tc.f)
			if ok := x < tc.limit; ok != (err == nil) || ok && uint64(got) != x || !ok && got != 0 {
				t.Errorf("%s of %d = %d, %v, want below %d", name, x, got, err, tc.limit)
			}
		}
	}
}

// Every count can be written and read.
func TestCountsCanBeRead(t *testing.T) {
	for _, n := range []int{0, 1, math.MaxInt/2 - 1, math.MaxInt / 2, math.MaxInt/2 + 1, math.MaxInt} {
		w := Writer{}
		w.Count(n)
		r := &Reader{rest: w.buf, size: len(w.buf)}
		if got, want := r.Count(), min(n, math.MaxInt/2); got != want || r.err != nil {
			t.Errorf("Count of %d = %d, %v, want %d", n, got, r.err, want)
		}
	}
}

// Sequence numbers are written in their order, and so that they can be read.
func TestSeqs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := rapid.SampledFrom([]uint64{10, 1 << 62, 1 << 63, math.MaxUint64}).Draw(t, "near")
		seqs := rapid.SliceOfNDistinct(rapid.Uint64Range(near-10, near), 0, 5, rapid.ID).Draw(t, "seqs")
		latest := near
		for _, seq := range seqs {
			latest = max(latest, seq)
		}
		last, written := Seqs(latest, func(add func(uint64)) {
			for _, seq := range seqs {
				add(seq)
			}
		})
		if last >= 1<<62 || latest < 1<<62 && last != latest {
			t.Fatalf("the latest of %d is written as %d", latest, last)
		}
		for _, a := range seqs {
			if written(a) > last || latest < 1<<62 && written(a) != a {
				t.Fatalf("%d is written as %d, of %d", a, written(a), last)
			}
			for _, b := range seqs {
				if (a < b) != (written(a) < written(b)) {
					t.Fatalf("%d and %d are written as %d and %d", a, b, written(a), written(b))
				}
			}
		}
	})
}

// What a job waits for stands after its first phase, if there is anything, and nowhere else.
func TestForgedWaits(t *testing.T) {
	ranked := AppendJob(nil, &sojourn.Job{ID: 1, Priority: 1, Phases: []sojourn.Phase{{Tasks: 1}}})
	for _, last := range [][]byte{{0}, {0x80, 0x80, 0x80, 0x80, 0x10}} { // none, and 2^31
		if job, err := DecodeJob(append(slices.Clone(ranked[:len(ranked)-1]), last...)); err == nil {
			t.Errorf("priority % x: %+v", last, job)
		}
	}
	job := &sojourn.Job{ID: 1, Release: 1, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1}}}
	data := AppendJob(nil, job)
	if got, err := DecodeJob(data); err != nil || got.Release != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	const phase, waits = 5, 2 // bytes of each
	release := len(data) - phase - waits
	if data[release] != 2 || data[release+1] != 0 {
		t.Fatalf("% x", data)
	}
	nothing := slices.Clone(data)
	nothing[release] = 0
	second := slices.Clone(data)
	second[len(second)-phase] = data[release-phase] // the flag
	second = append(second, 2, 0)
	for name, forged := range map[string][]byte{"nothing": nothing, "after the second phase, too": second} {
		if job, err := DecodeJob(forged); err == nil {
			t.Errorf("%s: %+v", name, job)
		}
	}
}

// A pool is read as it was written, and a damaged one is an error or valid.
func TestPoolFormat(t *testing.T) {
	for _, p := range []*sojourn.Pool{
		{}, {Name: "a/b", Weight: 0.5, Min: sojourn.Slots{0: 0, 7: 2}, Max: sojourn.Slots{7: 2, 255: sojourn.MaxSlots}, MaxJobs: sojourn.MaxTasks, Paused: true},
	} {
		data := AppendPool(nil, p)
		if got, err := DecodePool(data); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("DecodePool = %+v, %v, want %+v", got, err, p)
		}
		for i := range data {
			for _, x := range []byte{0, 1, 0x7f, 0x80, 0xff} {
				forged := bytes.Clone(data)
				forged[i] = x
				if got, err := DecodePool(forged); err == nil && (got.Check() != nil || !bytes.Equal(AppendPool(nil, got), forged)) {
					t.Errorf("DecodePool of a damaged pool = %+v", got)
				}
			}
			if _, err := DecodePool(data[:i]); err == nil {
				t.Errorf("%d of %d bytes are a pool", i, len(data))
			}
		}
	}
}
