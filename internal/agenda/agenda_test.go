package agenda_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/agenda"
	"pgregory.net/rapid"
)

type key struct {
	at  sojourn.Time
	seq uint64
}

// least returns the item that comes first in a map.
func least(items map[uint32]key) (id uint32, first key) {
	first = key{math.MaxInt64, math.MaxUint64}
	for i, k := range items {
		if k.at < first.at || k.at == first.at && k.seq < first.seq {
			id, first = i, k
		}
	}
	return id, first
}

// An agenda and a map say the same after each step, whatever is set, moved, removed and popped. Asking
// for the first instant between any two steps changes nothing.
func TestAgendaAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a agenda.Agenda
		want := map[uint32]key{}
		now, seq := sojourn.Time(0), uint64(math.MaxUint64/2)
		early := uint64(0)
		id := rapid.Uint32Range(0, rapid.SampledFrom([]uint32{1, 30}).Draw(t, "last id"))
		distance := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1000), rapid.Int64Range(0, math.MaxInt64), rapid.Just(int64(math.MaxInt64)))
		look := func(t *rapid.T) {
			_, first := least(want)
			at, ok := a.First()
			if ok != (len(want) > 0) || ok && at != first.at {
				t.Fatalf("First() = %d, %t, want %d of %d", at, ok, first.at, len(want))
			}
		}
		set := func(t *rapid.T) {
			k := key{now.Add(0), seq}
			if d := distance.Draw(t, "distance"); d > math.MaxInt64-int64(now) {
				k.at = math.MaxInt64
			} else {
				k.at += sojourn.Time(d)
			}
			if rapid.Bool().Draw(t, "older") {
				early++
				k.seq = early
			}
			seq++
			i := id.Draw(t, "id")
			if old, ok := want[i]; ok && rapid.Bool().Draw(t, "the same") {
				k = old
			}
			a.Set(i, k.at, k.seq)
			want[i] = k
		}
		pop := func(t *rapid.T) {
			i, first := least(want)
			if got, ok := a.Pop(first.at); len(want) > 0 && (!ok || got != i) || len(want) == 0 && ok {
				t.Fatalf("Pop(%d) = %d, %t, want %d of %d", first.at, got, ok, i, len(want))
			}
			if len(want) > 0 {
				now = first.at
			}
			delete(want, i)
		}
		t.Repeat(map[string]func(*rapid.T){
			"set": set, "set more": set, "pop": pop,
			"wrong pop": func(t *rapid.T) {
				_, first := least(want)
				at := now + sojourn.Time(rapid.Int64Range(0, 5).Draw(t, "at"))
				if at != first.at {
					if _, ok := a.Pop(at); ok {
						t.Fatalf("popped at %d, the first is at %d", at, first.at)
					}
				}
			},
			"remove": func(t *rapid.T) {
				i := id.Draw(t, "id")
				_, in := want[i]
				if a.Remove(i) != in {
					t.Fatalf("Remove(%d) = %t", i, !in)
				}
				delete(want, i)
			},
			"many moves": func(t *rapid.T) {
				i := id.Draw(t, "id")
				k := key{now + 1, seq}
				if now == math.MaxInt64 {
					k.at = now
				}
				for range 200 {
					a.Set(i, k.at, k.seq)
				}
				seq++
				want[i] = k
			},
			"look": look,
			"": func(t *rapid.T) {
				if a.Len() != len(want) {
					t.Fatalf("%d items, want %d", a.Len(), len(want))
				}
				i := id.Draw(t, "contains")
				if _, in := want[i]; a.Contains(i) != in {
					t.Fatalf("Contains(%d) = %t", i, !in)
				}
			},
		})
		for range len(want) {
			look(t)
			pop(t)
		}
		if _, ok := a.First(); ok || a.Len() > 0 {
			t.Fatal("items are left")
		}
	})
}

// What was removed at the present is gone when the next item comes.
func TestRemovedAtThePresent(t *testing.T) {
	var a agenda.Agenda
	a.Set(0, 5, 1)
	a.Set(1, 5, 2)
	a.Pop(5)
	a.Remove(1)
	a.Set(2, 9, 3)
	if id, ok := a.Pop(9); !ok || id != 2 {
		t.Errorf("Pop(9) = %d, %t, want 2", id, ok)
	}
}

// Items that move again and again take no more memory.
func TestMovesTakeNoMemory(t *testing.T) {
	var a agenda.Agenda
	a.Set(0, 1, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100_000 {
		a.Set(1, 1<<40, 2)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 100_000 {
		t.Errorf("%d bytes for 100,000 moves", n)
	}
}

func TestSetInThePastPanics(t *testing.T) {
	var a agenda.Agenda
	a.Set(0, 10, 1)
	a.Pop(10)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	a.Set(0, 9, 2)
}

// BenchmarkAgenda measures what a simulation does at each event: the item in front leaves, and enters again later.
func BenchmarkAgenda(b *testing.B) {
	for _, n := range []int{1000, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			var a agenda.Agenda
			rng := rand.New(rand.NewPCG(1, 2))
			seq := uint64(0)
			set := func(id uint32, now sojourn.Time) {
				seq++
				a.Set(id, now+sojourn.Time(rng.Int64N(60e9)), seq)
			}
			for id := range n {
				set(uint32(id), 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				at, _ := a.First()
				id, _ := a.Pop(at)
				set(id, at)
			}
		})
	}
}

// Most items are named to Near after they were set and before they are popped, and never more than 64 in a row.
func TestNear(t *testing.T) {
	const n = 10_000
	var a agenda.Agenda
	near := make([]bool, n)
	row, named := 0, 0
	a.Near = func(id uint32) {
		near[id] = true
		if row++; row > 64 {
			t.Fatalf("item %d is the %dth in a row", id, row)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	set := func(id uint32, now sojourn.Time, seq int) {
		near[id] = false
		a.Set(id, now+sojourn.Time(1+r.Int64N(1e12)), uint64(seq))
	}
	for id := range n {
		set(uint32(id), 0, id)
	}
	const pops = 20 * n
	for i := range pops {
		row = 0
		now, _ := a.First()
		id, ok := a.Pop(now)
		if !ok {
			t.Fatalf("nothing is due at %v, the first instant", now)
		}
		if near[id] {
			named++
		}
		set(id, now, n+i)
	}
	if named < pops*4/5 {
		t.Errorf("%d of %d items were named before they were popped, want four of five", named, pops)
	}
}
