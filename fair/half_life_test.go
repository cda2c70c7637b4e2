package fair_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// What a pool has had too much of is halved in each half-life in which it has nothing to start, whether it has jobs meanwhile or not.
// While it waits, it stays. The oracle counts in seconds of service.
func TestHalfLife(t *testing.T) {
	const half = 32.0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 8))
		stays, length := r.IntN(2) == 0, []float64{1, 1, 100}[r.IntN(3)]
		times := []float64{64.317 + float64(r.IntN(400))} // a job comes, is cancelled, and comes again
		if r.IntN(2) == 0 {
			first := 64.117 + float64(r.IntN(40))
			times = []float64{first, first + 1 + float64(r.IntN(19)), first + 20.1 + float64(r.IntN(100))}
		}
		seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
		s := newSite(t, 1, fair.Options{HalfLife: half * time.Second, Pools: map[string]fair.Pool{"b": {Weight: 64 * length}}})
		s.arrive(1, customer{pool: "a", told: 64 * time.Second, length: always(64 * time.Second)})
		s.until(time.Second)
		if stays {
			s.arrive(1, customer{pool: "a", length: always(time.Second)})
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: s.next}})
		}
		s.arrive(5000, customer{pool: "b", told: seconds(length), length: always(seconds(length))})
		got := 0.0
		for i, at := range times {
			s.until(seconds(at))
			data, err := s.p.(sojourn.Snapshotter).AppendBinary(nil) // at times while the pool is gone
			if err == nil {
				err = s.p.(sojourn.Snapshotter).UnmarshalBinary(data)
			}
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				s.arrive(1, customer{pool: "a", told: time.Second, length: always(time.Second), waited: func(time.Duration) { got = time.Duration(s.now).Seconds() }})
			} else {
				s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: s.next}})
			}
		}
		s.until(math.MaxInt64)

		a, b, since, waits, want := 64.0, 0.0, 64.0, false, 64.0 // the tags; a is idle since, or waits
		for len(times) > 0 || a > b {
			for ; len(times) > 0 && times[0] < want; times = times[1:] {
				if waits = !waits; waits {
					k, part := math.Modf((times[0] - since) / half)
					a = min(a, b+(a-b)*max(math.Exp2(-k)*(1-part/2), 1.0/64))
				}
				since = times[0]
			}
			b += 1.0 / 64
			want += length
		}
		if got != want {
			t.Errorf("seed %d: one meanwhile: %v, tasks of %v s: served at %v s, want %v", seed, stays, length, got, want)
		}
	}
}

// A pool that runs something forgets nothing, nor does one that waits and has been served.
func TestHalfLifeOfPoolsThatAreServed(t *testing.T) {
	for name, tc := range map[string]struct {
		length time.Duration
		weight float64 // of the other
		starts int
	}{"runs all the time": {3000 * time.Second, 4, 1}, "is served once it comes back": {64 * time.Second, 64, 2}} {
		s := newSite(t, 2, fair.Options{HalfLife: 32 * time.Second, Pools: map[string]fair.Pool{"b": {Weight: tc.weight}}})
		s.arrive(1, customer{pool: "a", told: tc.length, length: always(tc.length)})
		s.until(time.Second)
		s.arrive(10_000, customer{pool: "b", told: time.Second, length: always(time.Second)})
		s.until(500 * time.Second)
		s.arrive(10, customer{pool: "a", told: tc.length, length: always(tc.length)})
		s.until(2000 * time.Second)
		if n := starts(s.log)["a"]; n != tc.starts {
			t.Errorf("a pool that %s: %d starts, want %d", name, n, tc.starts)
		}
	}
}

// A sibling that comes first for its minimum says nothing of how far a pool is ahead.
func TestHalfLifeBesideAMinimum(t *testing.T) {
	s := newSite(t, 1, fair.Options{HalfLife: 32 * time.Second, Pools: map[string]fair.Pool{"b": {Weight: 64}, "m": {Min: fair.Slots{0: 1}}}})
	s.arrive(1, customer{pool: "m", told: 1000 * time.Second, length: always(1000 * time.Second)})
	s.arrive(1, customer{pool: "m", told: time.Second, length: always(time.Second)})
	later := sojourn.TaskID{Job: s.next}
	s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: later})
	s.until(1000 * time.Second)
	s.arrive(1, customer{pool: "a", told: 64 * time.Second, length: always(64 * time.Second)})
	s.until(1001 * time.Second)
	s.arrive(10_000, customer{pool: "b", told: time.Second, length: always(time.Second)})
	s.until(1400*time.Second + time.Millisecond)
	var waited time.Duration
	s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: later})
	s.arrive(1, customer{pool: "a", told: time.Second, length: always(time.Second), waited: func(d time.Duration) { waited = d }})
	s.until(8000 * time.Second)
	if waited == 0 || waited > 2*time.Minute {
		t.Errorf("it waited %v, want about a minute: a sixty-fourth of the minute that it is ahead, while the other one has the weight 64", waited)
	}
}

// A job that comes and is cancelled at once, while the pool is ahead of none that waits, takes nothing of the time that its pool was idle.
func TestHalfLifeAfterAVainJob(t *testing.T) {
	const second = time.Second
	waits := func(vain bool) (waited time.Duration) {
		s := newSite(t, 1, fair.Options{HalfLife: 300 * second, Pools: map[string]fair.Pool{"ahead": {Weight: 0.1}}})
		serve := func(pool string, length time.Duration) {
			s.arrive(1, customer{pool: pool, told: length, length: always(length), waited: func(d time.Duration) { waited = d }})
		}
		cancel := func(id sojourn.JobID) {
			s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
		}
		serve("a", second) // it is held: the pool stays
		s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: s.next}})
		serve("a", 100*second)
		s.until(100 * second)
		serve("ahead", 200*second)
		s.until(300 * second)
		serve("c", 1000*second)
		s.until(695 * second)
		serve("ahead", 10*second)
		waiting := s.next
		s.until(700 * second)
		if vain {
			serve("a", 10*second)
			cancel(s.next)
		}
		s.until(701 * second)
		cancel(waiting)
		s.until(702 * second)
		serve("a", 10*second)
		s.arrive(1000, customer{pool: "b", told: second, length: always(second)})
		s.until(3000 * second)
		return waited
	}
	if without, with := waits(false), waits(true); without != with || without <= 598*second { // the slot is free at 1300 s
		t.Errorf("its job waits %v, and %v after a vain one", without, with)
	}
}
