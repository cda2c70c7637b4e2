package fair_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/gang"
)

// A gangSite runs gangs of pools that always have work, second by second, and counts the places that each
// pool holds.
type gangSite struct {
	tb      rapid.TB
	p       *fair.Policy
	c       *gang.Cluster
	now     sojourn.Time
	next    sojourn.JobID
	pools   []gangPool
	of      map[sojourn.JobID]int // pool
	lengths map[sojourn.JobID]time.Duration
	running map[sojourn.SlotID]gangRun
	held    []int // places, by pool
	got     []int // places times seconds, by pool
}

type gangPool struct {
	name   string
	width  int
	length func() int // in seconds
	limit  bool       // whether the driver knows how long a gang runs
}

type gangRun struct {
	sojourn.Assignment
	pool int
	end  sojourn.Time
}

func newGangSite(tb rapid.TB, places int, opts fair.Options, pools []gangPool) *gangSite {
	opts.Places = places
	p := newWith(opts).(*fair.Policy)
	c, err := gang.New(gang.Options{Places: places, Turns: p})
	if err != nil {
		tb.Fatal(err)
	}
	s := &gangSite{tb: tb, p: p, c: c, pools: pools, of: map[sojourn.JobID]int{}, lengths: map[sojourn.JobID]time.Duration{}, running: map[sojourn.SlotID]gangRun{},
		held: make([]int, len(pools)), got: make([]int, len(pools))}
	for i := range pools {
		for range 2 * places / pools[i].width {
			s.arrive(i)
		}
	}
	return s
}

func (s *gangSite) observe(ev sojourn.Event) {
	s.tb.Helper()
	ev.At = s.now
	if err := s.p.Observe(ev); err != nil {
		s.tb.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (s *gangSite) arrive(i int) {
	s.next++
	of := s.pools[i]
	class, err := s.c.Class(of.width)
	if err != nil {
		s.tb.Fatal(err)
	}
	length := time.Duration(of.length()) * time.Second
	job := &sojourn.Job{ID: s.next, Pool: of.name, Phases: []sojourn.Phase{{Tasks: 1, Class: class, Estimate: length}}}
	g := gang.Gang{Task: sojourn.TaskID{Job: s.next}, Width: of.width, Limit: length}
	if !of.limit {
		job.Phases[0].Estimate, g.Limit = 0, 0
	}
	s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	if err := s.c.Wait(g, s.now); err != nil {
		s.tb.Fatal(err)
	}
	s.of[s.next], s.lengths[s.next] = i, length
}

// second starts what may start, and lets a second pass.
func (s *gangSite) second() {
	for more := true; more; {
		more = false
		for _, ev := range s.c.AppendChanges(nil, s.now) {
			s.observe(ev)
		}
		for k := range sojourn.Class(s.c.Widths().Len()) {
			slot, ok := s.p.Seek(k)
			if !ok {
				continue
			}
			a, ok := s.p.Assign(slot)
			if !ok {
				s.tb.Fatalf("slot %d of class %d is sought and declined", slot, k)
			}
			s.c.Start(a, s.now)
			i := s.of[a.Task.Job]
			s.running[slot] = gangRun{a, i, s.now.Add(s.lengths[a.Task.Job])}
			s.held[i] += s.pools[i].width
			more = true
			break
		}
	}
	for i := range s.pools {
		s.got[i] += s.held[i]
	}
	s.now = s.now.Add(time.Second)
	for slot := range sojourn.SlotID(1000) {
		r, ok := s.running[slot]
		if !ok || r.end > s.now {
			continue
		}
		delete(s.running, slot)
		s.c.End(slot)
		s.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: r.Task, Attempt: r.Attempt, Slot: sojourn.Slot{ID: slot}})
		s.held[r.pool] -= s.pools[r.pool].width
		s.arrive(r.pool)
	}
}


func seconds(n int) func() int { return func() int { return n } }

// Pools of equal weight hold equal numbers of places, whatever the widths of their gangs, to within one gang,
// whether or not the driver knows how long gangs run. Each class of gangs shared by itself would give the
// narrow ones nearly all.
func TestGangsOfEqualPoolsHoldEqualPlaces(t *testing.T) {
	for _, test := range []struct {
		places int
		widths []int
		want   string
	}{
		{16, []int{8, 1}, "8.0 8.0"},
		{24, []int{12, 4, 1}, "8.4 7.8 7.8"},
		{24, []int{24, 4, 1}, "8.4 7.8 7.8"},
	} {
		for _, limit := range []bool{true, false} {
			var pools []gangPool
			for i, w := range test.widths {
				pools = append(pools, gangPool{fmt.Sprint("p", i), w, seconds(100), limit})
			}
			s := newGangSite(t, test.places, fair.Options{}, pools)
			for range 2000 {
				s.second()
			}
			var got []string
			for i, w := range test.widths {
				got = append(got, fmt.Sprintf("%.1f", float64(s.got[i])/2000))
				for j := range i {
					if d := s.got[i] - s.got[j]; max(d, -d) > 100*max(w, test.widths[j]) {
						t.Errorf("gangs of %v, limits known: %v: pools hold %v, which differs by more than a gang", test.widths, limit, s.got)
					}
				}
			}
			t.Logf("gangs of %v on %d places, limits known: %v: %s", test.widths, test.places, limit, strings.Join(got, " "))
		}
	}
}

// Pools that always have gangs hold places by their weights, at any time since they came: the places that they
// have held differ, for a unit of weight, by no more than all places in the time of two gangs. No pool is to
// have a weight for more than its gangs can hold beside each other.
func TestGangsWithinTheBound(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		places, longest := rapid.IntRange(2, 24).Draw(t, "places"), rapid.IntRange(1, 20).Draw(t, "longest")
		n := rapid.IntRange(2, 5).Draw(t, "pools")
		var pools []gangPool
		for i := range n {
			length := rapid.IntRange(1, longest).Draw(t, "length")
			pools = append(pools, gangPool{fmt.Sprint("p", i), rapid.IntRange(1, places).Draw(t, "width"), seconds(length), rapid.Bool().Draw(t, "limit")})
		}
		s := newGangSite(t, places, fair.Options{}, pools)
		for range 400 {
			s.second()
			for i := range n {
				for j := range i {
					d := s.got[i] - s.got[j]
					of := float64(max(d, -d)) / float64(2*places*longest)
					if worst = max(worst, of); of > 1 {
						t.Fatalf("%d places, pools %v: held %v, which is %.2f of the bound", places, pools, s.got, of)
					}
				}
			}
		}
	})
	t.Logf("%.2f of the bound at most", worst)
}
