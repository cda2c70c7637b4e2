package fair_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// restored makes the policy one that was restored from a snapshot of it.
func (s *site) restored(opts fair.Options) {
	s.tb.Helper()
	data, err := s.p.(sojourn.Snapshotter).AppendBinary(nil)
	if err == nil {
		s.p = newWith(opts)
		err = s.p.(sojourn.Snapshotter).UnmarshalBinary(data)
	}
	if err != nil {
		s.tb.Fatal(err)
	}
}

// A pool that had one task of a second, and nothing to start for 1,000 s beside one that is always busy, gets as much before that one as it left unused, up to the
// credit, and one task more, as without. One that is listed keeps its account while it has no jobs; one that is not gets nothing for that time.
func TestCredit(t *testing.T) {
	for _, credit := range []time.Duration{0, 3 * time.Second, 20 * time.Second, time.Hour, 1<<63 - 1} {
		for _, listed := range []bool{false, true} {
			for _, stays := range []bool{false, true} {
				opts := fair.Options{Credit: credit, Pools: map[string]fair.Pool{}}
				if listed {
					opts.Pools["light"] = fair.Pool{Weight: 1}
				}
				s := newSite(t, 1, opts)
				if stays { // with a task that is held
					s.arrive(1, customer{pool: "light", length: always(time.Second)})
					s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: s.next}})
				}
				s.arrive(1, customer{pool: "light", length: always(time.Second)})
				s.arrive(5000, customer{pool: "busy", length: always(time.Second)})
				s.until(500*time.Second + 500*time.Millisecond)
				s.restored(opts)
				s.until(1000*time.Second + 500*time.Millisecond)
				s.log = nil
				s.arrive(2000, customer{pool: "light", length: always(time.Second)})
				s.until(3000 * time.Second)
				first := 0
				for first < len(s.log) && s.log[first] == "light" {
					first++
				}
				want := 1
				if listed || stays {
					want += int(min(credit, 998*time.Second) / time.Second)
				}
				if first != want {
					t.Errorf("credit %v, listed %v, stays %v: %d tasks before the busy pool, want %d", credit, listed, stays, first, want)
				}
				if more := starts(s.log[first : first+20])["light"]; more < 9 || more > 11 {
					t.Errorf("credit %v: then %d of 20 tasks, want half", credit, more)
				}
			}
		}
	}
}

// Pools with a credit that come and go keep nobody waiting for ever, and neither do new ones, which have none. Three come in turn with a task of a second each second, so that
// a slot is never free: z, which brings two tasks at 5 s, waits for the credits at most.
func TestPoolsWithCreditLetOthersPass(t *testing.T) {
	const credit = 5 * time.Second
	for _, listed := range []bool{false, true} {
		opts := fair.Options{Credit: credit, Pools: map[string]fair.Pool{}}
		if listed {
			opts.Pools = map[string]fair.Pool{"a": {}, "b": {}, "c": {}}
		}
		s := newSite(t, 1, opts)
		var starts []time.Duration
		for i := range 200 {
			s.until(time.Duration(i) * time.Second)
			s.arrive(1, customer{pool: string("abc"[i%3]), length: always(time.Second)})
			if i == 5 {
				s.arrive(2, customer{pool: "z", length: always(time.Second), waited: func(w time.Duration) { starts = append(starts, 5*time.Second+w) }})
			}
		}
		s.until(300 * time.Second)
		if len(starts) != 2 || starts[1] > 12*time.Second+3*credit {
			t.Errorf("listed %v: the tasks start at %v, want the second one by %v", listed, starts, 12*time.Second+3*credit)
		}
	}
}

// A pool whose account is kept is no share, and is asked nothing. When its jobs come again, it is the same pool.
func TestPoolWithoutJobsIsNotShown(t *testing.T) {
	opts := fair.Options{Credit: time.Hour, Pools: map[string]fair.Pool{"team/a": {Weight: 3, MaxJobs: 1}, "p": {FIFO: true}}}
	s := newSite(t, 4, opts)
	for _, pool := range []string{"team/a", "p/q", "other"} {
		s.arrive(3, customer{pool: pool, length: always(time.Second)})
	}
	shares := func() (names []string) {
		for _, x := range s.p.(sojourn.Sharer).AppendShares(nil, 0) {
			names = append(names, x.Pool)
		}
		return names
	}
	if got := shares(); len(got) != 4 {
		t.Errorf("pools %q, want team, team/a, p and other", got)
	}
	s.until(time.Minute)
	s.restored(opts)
	if got := shares(); len(got) != 0 {
		t.Errorf("without jobs there are shares of %q, want none", got)
	}
	s.arrive(3, customer{pool: "team/a", length: always(time.Second)})
	s.arrive(3, customer{pool: "team/b", length: always(time.Second)})
	if got := shares(); len(got) != 3 {
		t.Errorf("pools %q, want team, team/a and team/b", got)
	}
	s.until(2 * time.Minute)
	if got := starts(s.log); got["team/a"] != 6 || got["team/b"] != 3 || got["p/q"] != 3 {
		t.Errorf("started are %v", got)
	}
}
