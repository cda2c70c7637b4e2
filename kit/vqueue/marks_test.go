package vqueue_test

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"pgregory.net/rapid"
)

// An item whose work is revised to 0 is complete at once, even if rounding up has left
// something because the weight does not divide the work.
func TestNothingIsLeftOfNoWork(t *testing.T) {
	for _, weight := range []uint64{1, 3, one, 3 * one, 1 << 48} {
		q := vqueue.New[int](vqueue.LateFirst)
		q.SetCapacity(1)
		it := q.Arrive(0, 1, weight)
		if q.Revise(it, 0, weight); !it.Late() {
			t.Errorf("weight %d: an item without work is not late", weight)
		}
		if _, ok := q.NextCompletion(); ok {
			t.Errorf("weight %d: an item without work is to be complete", weight)
		}
	}
}

// Marked items come in the order of service, from the front and from the back, as All
// has them.
func TestMarks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := vqueue.New[int](rapid.SampledFrom([]vqueue.Late{vqueue.LateFirst, vqueue.LateShare}).Draw(t, "mode"))
		q.SetCapacity(2)
		var items []*vqueue.Item[int]
		marked := map[*vqueue.Item[int]]bool{}
		item := func(t *rapid.T) *vqueue.Item[int] {
			if len(items) == 0 {
				t.Skip("no items")
			}
			return rapid.SampledFrom(items).Draw(t, "item")
		}
		draw := func(t *rapid.T) (work, weight uint64) {
			return rapid.Uint64Range(0, 9).Draw(t, "work"), one * rapid.Uint64Range(1, 3).Draw(t, "weight")
		}
		now := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				work, weight := draw(t)
				items = append(items, q.Arrive(len(items), work, weight))
			},
			"mark": func(t *rapid.T) {
				it, on := item(t), rapid.Bool().Draw(t, "on")
				q.SetMark(it, 1, on)
				marked[it] = on
			},
			"ready":  func(t *rapid.T) { q.SetReady(item(t), rapid.Bool().Draw(t, "ready")) },
			"run":    func(t *rapid.T) { q.SetRunning(item(t), rapid.IntRange(0, 3).Draw(t, "tasks")) },
			"finish": func(t *rapid.T) { q.Finish(item(t)) },
			"revise": func(t *rapid.T) { work, weight := draw(t); q.Revise(item(t), work, weight) },
			"reset":  func(t *rapid.T) { work, _ := draw(t); q.Reset(item(t), work, work) },
			"wait": func(t *rapid.T) {
				now += rapid.Int64Range(0, 5).Draw(t, "dt")
				q.Advance(sojourn.Time(now), nil)
			},
			"": func(t *rapid.T) {
				var want []*vqueue.Item[int]
				all := slices.Collect(q.All())
				for i, it := range all {
					if marked[it] {
						want = append(want, it)
					}
					for k, other := range all {
						if got := q.Before(it, other); got != (i < k) {
							t.Fatalf("Before(%d, %d) = %v, want %v", it.Value, other.Value, got, i < k)
						}
					}
				}
				if got := slices.Collect(q.Marked(1)); !slices.Equal(got, want) {
					t.Fatalf("Marked has %d items, want %d, or in another order", len(got), len(want))
				}
				if it, ok := q.FirstMarked(1); ok != (len(want) > 0) || ok && it != want[0] {
					t.Fatalf("FirstMarked = %v, %v, want the first of %d", it, ok, len(want))
				}
				for before, i := (*vqueue.Item[int])(nil), len(want)-1; ; i-- {
					last, ok := q.LastMarked(1, before)
					if ok != (i >= 0) || ok && last != want[i] {
						t.Fatalf("LastMarked = %v, %v, want item %d from the front", last, ok, i)
					}
					if before = last; !ok {
						break
					}
				}
				if got := slices.Collect(q.Marked(0)); len(got) > 0 {
					t.Fatalf("%d items have the other mark", len(got))
				}
			},
		})
	})
}

// A loop over a set may end at its first item, also where late items come before others.
func TestMarkedEndsWithItsLoop(t *testing.T) {
	q := vqueue.New[int](vqueue.LateShare)
	q.SetCapacity(1)
	for _, work := range []uint64{0, 9} { // the first is late
		q.SetMark(q.Arrive(int(work), work, 1), 0, true)
	}
	var got []int
	for it := range q.Marked(0) {
		got = append(got, it.Value)
		break
	}
	if !slices.Equal(got, []int{0}) {
		t.Errorf("Marked(0) begins with %v, want [0]", got)
	}
}

// FirstUpTo and NextUpTo visit what is ready up to a level in the order of All, from whatever item on.
func TestNextUpTo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := vqueue.New[int](rapid.SampledFrom([]vqueue.Late{vqueue.LateFirst, vqueue.LateShare}).Draw(t, "late"))
		q.SetCapacity(1)
		for i := range rapid.IntRange(0, 12).Draw(t, "items") {
			it := q.Arrive(i, rapid.Uint64Range(0, 9).Draw(t, "work"), rapid.Uint64Range(1, 3).Draw(t, "weight"))
			q.SetLevel(it, rapid.IntRange(0, 2).Draw(t, "level"))
			q.SetRunning(it, rapid.IntRange(0, 2).Draw(t, "running"))
			q.SetReady(it, rapid.Bool().Draw(t, "ready"))
		}
		q.Advance(sojourn.Time(rapid.Int64Range(0, 20).Draw(t, "now")), nil)
		for level := range 4 {
			got, ok := q.FirstUpTo(level)
			for _, it := range slices.Collect(q.All()) {
				if it.Ready() && it.Level() <= level {
					if !ok || got != it {
						t.Fatalf("level %d: the next one is %v, %v, want item %d", level, got, ok, it.Value)
					}
				}
				next, more := q.NextUpTo(level, it)
				if it == got {
					got, ok = next, more
				} else if next != got || more != ok {
					t.Fatalf("level %d: after item %d, which is not among them: %v, want %v", level, it.Value, next, got)
				}
			}
			if ok {
				t.Fatalf("level %d: item %d comes after the last one", level, got.Value)
			}
		}
	})
}
