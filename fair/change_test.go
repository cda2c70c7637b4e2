package fair_test

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"pgregory.net/rapid"
)

// told is what a pool is told to be, and the same as an option.
func told(t *rapid.T, name string) (sojourn.Pool, fair.Pool) {
	n := sojourn.Pool{Name: name, Weight: rapid.SampledFrom([]float64{0, 1, 3, 1. / 65536, 1<<32 - 1}).Draw(t, "weight"), MaxJobs: rapid.IntRange(0, 2).Draw(t, "jobs")}
	if rapid.Bool().Draw(t, "least") {
		n.Min = sojourn.Slots{0: rapid.IntRange(0, 2).Draw(t, "min")}
	}
	if rapid.Bool().Draw(t, "most") {
		n.Max = sojourn.Slots{0: max(1, n.Min[0], rapid.IntRange(1, 3).Draw(t, "max"))}
	}
	return n, fair.Pool{Weight: n.Weight, Min: n.Min, Max: n.Max, MaxJobs: n.MaxJobs}
}

// A pool that changes is from then on what it would be if the policy were saved, and restored under options that describe
// the pool so. The policy that is told goes back to what it was made with when the change is taken back. With the order
// Service, a pool that reaches a new limit counts as one that has nothing to start, and a restored one keeps its tag.
func TestChangeIsLikeARestore(t *testing.T) {
	paths := []string{"a", "a/x", "a/y", "b", "c", "c/z", ""}
	rapid.Check(t, func(t *rapid.T) {
		made := fair.Options{Order: fair.Running, Ties: fair.RoundRobin, Pools: map[string]fair.Pool{}}
		for _, path := range append(paths[:4:4], "c/*", "*") {
			if rapid.Bool().Draw(t, "described") {
				_, made.Pools[path] = told(t, "")
			}
		}
		p, now, runs, next := newWith(made), sojourn.Time(0), map[sojourn.SlotID]sojourn.Assignment{}, sojourn.JobID(0)
		play := func(on ...sojourn.Policy) {
			var first []sojourn.Event
			started := map[sojourn.SlotID]sojourn.Assignment{}
			for i, p := range on {
				observe := func(ev sojourn.Event) {
					if err := p.Observe(ev); err != nil {
						t.Fatalf("Observe(%v) = %v", ev, err)
					}
				}
				if i == 0 {
					now = now.Add(rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Minute}).Draw(t, "step"))
					switch rapid.IntRange(0, 3).Draw(t, "what") {
					case 0:
						next++
						first = append(first, sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: &sojourn.Job{ID: next, Pool: rapid.SampledFrom(paths).Draw(t, "pool"), Phases: []sojourn.Phase{{Tasks: rapid.IntRange(1, 4).Draw(t, "tasks")}}}})
					case 1:
						first = append(first, sojourn.Event{Kind: sojourn.Tick, At: now})
					default:
						for s := range sojourn.SlotID(4) {
							if a, ok := runs[s]; ok && rapid.Bool().Draw(t, "ends") {
								first = append(first, sojourn.Event{Kind: rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed}).Draw(t, "how"), At: now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: s}})
								delete(runs, s)
							}
						}
					}
				}
				for _, ev := range first {
					observe(ev)
				}
				for s := range sojourn.SlotID(4) {
					if i == 0 {
						if _, busy := runs[s]; !busy {
							a, ok := p.Assign(s)
							if started[s] = a; ok {
								runs[s] = a
							}
						}
					} else if was, offered := started[s]; offered {
						if a, _ := p.Assign(s); a != was {
							t.Fatalf("told, slot %d runs %v; restored, %v", s, was, a)
						}
					}
				}
			}
		}
		q := newWith(made) // it is not told, but restored each time
		for s := range sojourn.SlotID(4) {
			for _, p := range []sojourn.Policy{p, q} {
				if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: s}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		changed := maps.Clone(made.Pools)
		for range rapid.IntRange(1, 4).Draw(t, "changes") {
			for range rapid.IntRange(0, 15).Draw(t, "meanwhile") {
				play(p, q)
			}
			n, described := told(t, rapid.SampledFrom(paths).Draw(t, "which"))
			if changed[n.Name] = described; n.IsZero() { // it is what it was made with
				delete(changed, n.Name)
				if pool, ok := made.Pools[n.Name]; ok {
					changed[n.Name] = pool
				}
			}
			if err := p.Observe(sojourn.Event{Kind: sojourn.PoolChanged, At: now, Pool: &n}); err != nil {
				t.Fatal(err)
			}
			data, err := q.(sojourn.Snapshotter).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			other := made
			other.Pools = changed
			q = newWith(other)
			if err := q.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(0, 15).Draw(t, "after") {
				play(p, q)
			}
		}
		// All are taken back, and nothing is left of them but what happened meanwhile.
		for _, path := range paths {
			if err := p.Observe(sojourn.Event{Kind: sojourn.PoolChanged, At: now, Pool: &sojourn.Pool{Name: path}}); err != nil {
				t.Fatal(err)
			}
		}
		back, err := p.(sojourn.Snapshotter).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		again := newWith(made)
		if err := again.(sojourn.Snapshotter).UnmarshalBinary(back); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			play(p, again)
		}
	})
}

// A pool gets by its new weight from the change on, nothing while it is paused, and no more than its share for having been
// paused.
func TestWeightAndPauseWhileItRuns(t *testing.T) {
	s := newSite(t, 4, fair.Options{Pools: map[string]fair.Pool{"b": {}}})
	for _, pool := range []string{"a", "b"} {
		s.arrive(1<<20, customer{pool: pool, length: func() time.Duration { return time.Second }})
	}
	var a, b time.Duration
	for _, tc := range []struct {
		change sojourn.Pool
		a, b   time.Duration // of the next 1,000 s of four slots, within 2 %
	}{
		{sojourn.Pool{Name: "a", Weight: 3}, 3000 * time.Second, 1000 * time.Second},
		{sojourn.Pool{Name: "a", Paused: true}, 0, 4000 * time.Second},
		{sojourn.Pool{Name: "a"}, 2000 * time.Second, 2000 * time.Second},
		{sojourn.Pool{Name: "b", Max: sojourn.Slots{0: 1}}, 3000 * time.Second, 1000 * time.Second},
		{sojourn.Pool{Name: "b", Min: sojourn.Slots{0: 3}}, 1000 * time.Second, 3000 * time.Second},
		{sojourn.Pool{Name: "b", Paused: true}, 4000 * time.Second, 0},
		{sojourn.Pool{Name: "c", Weight: 1 << 20}, 4000 * time.Second, 0},
		{sojourn.Pool{Name: "b"}, 2000 * time.Second, 2000 * time.Second},
	} {
		s.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &tc.change})
		s.until(time.Duration(s.now) + 1000*time.Second)
		gotA, gotB := s.got["a"]-a, s.got["b"]-b
		a, b = s.got["a"], s.got["b"]
		for _, x := range []struct{ got, want time.Duration }{{gotA, tc.a}, {gotB, tc.b}} {
			if math.Abs(float64(x.got-x.want)) > 0.02*float64(4000*time.Second) {
				t.Errorf("%+v: a has %v, and b %v; want %v and %v", tc.change, gotA, gotB, tc.a, tc.b)
				break
			}
		}
	}
}

// What cannot be is refused by name, and changes nothing.
func TestChangesThatCannotBe(t *testing.T) {
	fifo := map[string]fair.Pool{"line": {FIFO: true}, "own": {Policy: newFIFO}, "a": {}, "a/own": {Policy: newFIFO}}
	for _, tc := range []struct {
		opts fair.Options
		pool sojourn.Pool
		err  error
	}{
		{fair.Options{Strict: true, Pools: fifo}, sojourn.Pool{Name: "unknown", Weight: 2}, sojourn.ErrUnsupported},
		{fair.Options{Strict: true, Pools: fifo}, sojourn.Pool{Name: "a", Weight: 2}, nil},
		{fair.Options{Pools: fifo}, sojourn.Pool{Name: "line/alice", Weight: 2}, sojourn.ErrUnsupported},
		{fair.Options{Pools: fifo}, sojourn.Pool{Name: "own/alice", Paused: true}, sojourn.ErrUnsupported},
		{fair.Options{Pools: fifo}, sojourn.Pool{Name: "own", Paused: true}, nil},
		{fair.Options{Pools: fifo}, sojourn.Pool{Name: "own", MaxJobs: 1}, sojourn.ErrUnsupported},
		{fair.Options{Pools: fifo}, sojourn.Pool{Name: "a", MaxJobs: 1}, sojourn.ErrUnsupported},
		{fair.Options{Pools: fifo}, sojourn.Pool{Name: "unknown", MaxJobs: 1}, nil},
		{fair.Options{}, sojourn.Pool{Name: "users/*", MaxJobs: 1}, sojourn.ErrUnsupported},
		{fair.Options{}, sojourn.Pool{Name: "a", Max: sojourn.Slots{0: 0}}, sojourn.ErrInvalidPool},
		{fair.Options{Cost: fair.Cost{0: {1}}}, sojourn.Pool{Name: "a", Min: sojourn.Slots{0: 1}}, sojourn.ErrUnsupported},
		{fair.Options{Cost: fair.Cost{0: {1}}}, sojourn.Pool{Name: "a", Max: sojourn.Slots{0: 1}}, nil},
	} {
		p := newWith(tc.opts).(*fair.Policy)
		before, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &tc.pool}); !errors.Is(err, tc.err) || err == nil != (tc.err == nil) {
			t.Errorf("%+v: Observe = %v, want %v", tc.pool, err, tc.err)
		}
		if after, err := p.AppendBinary(nil); err != nil || bytes.Equal(before, after) != (tc.err != nil) {
			t.Errorf("%+v: the state has changed: %v, %v", tc.pool, !bytes.Equal(before, after), err)
		}
		if n, ok := p.Pool(tc.pool.Name); tc.err == nil && (!ok || n.Name != tc.pool.Name || n.Paused != tc.pool.Paused || n.MaxJobs != tc.pool.MaxJobs) {
			t.Errorf("%+v: Pool = %+v, %v", tc.pool, n, ok)
		}
	}
}

// Changes that are taken back leave nothing behind.
func TestChangesThatAreTakenBackLeaveNothing(t *testing.T) {
	p := newWith(fair.Options{Pools: map[string]fair.Pool{"users/*": {MaxJobs: 2}}}).(*fair.Policy)
	before, _ := p.AppendBinary(nil)
	for i := range 100 {
		name := "users/" + string(rune('a'+i%26)) + "/" + string(rune('a'+i/26))
		for _, n := range []*sojourn.Pool{{Name: name, Weight: 2}, {Name: name}} {
			if err := p.Observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: n}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if after, _ := p.AppendBinary(nil); !bytes.Equal(before, after) {
		t.Error("something is left")
	}
}
