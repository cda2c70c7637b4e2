package fair_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
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

// Pools that always have gangs, of which nobody knows how long they run, hold places by their weights at any time
// since they came: for a unit of weight, what two pools have held differs by at most P L (1/w + 1/v), on P places,
// with gangs of at most L and a sixteenth, and weights w and v.
func TestGangsWithinTheBound(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		places, longest := rapid.IntRange(1, 24).Draw(t, "places"), rapid.IntRange(1, 20).Draw(t, "longest")
		n := rapid.IntRange(2, 5).Draw(t, "pools")
		var pools []gangPool
		var weights []int
		opts := fair.Options{Pools: map[string]fair.Pool{}}
		for i := range n {
			length := rapid.IntRange(1, longest).Draw(t, "length")
			pools = append(pools, gangPool{fmt.Sprint("p", i), rapid.IntRange(1, places).Draw(t, "width"), seconds(length), false})
			weights = append(weights, rapid.SampledFrom([]int{1, 2, 3, 50}).Draw(t, "weight"))
			opts.Pools[pools[i].name] = fair.Pool{Weight: float64(weights[i])}
		}
		s := newGangSite(t, places, opts, pools)
		for range 300 {
			s.second()
			for i := range n {
				for j := range i {
					d := s.got[i]*weights[j] - s.got[j]*weights[i]
					of := float64(max(d, -d)) / (float64(places*longest*(weights[i]+weights[j])) * 17 / 16)
					if worst = max(worst, of); of > 1 {
						t.Fatalf("%d places, pools %v of weights %v: held %v, which is %.2f of the bound", places, pools, weights, s.got, of)
					}
				}
			}
		}
	})
	t.Logf("%.2f of the bound at most", worst)
}

// A Max counts places, whatever the widths: of a pool, and of one around it. A Min does, too: the pool holds so many
// while it has gangs, up to one gang and the time that one takes to end.
func TestMinAndMaxCountPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places, most := 24, rapid.IntRange(6, 12).Draw(t, "max")
		least := rapid.IntRange(0, most).Draw(t, "min")
		opts := fair.Options{Pools: map[string]fair.Pool{
			"up":   {Max: fair.Slots{0: most}, Min: fair.Slots{0: least}, Weight: 1.0 / 256},
			"up/b": {Max: fair.Slots{0: 5}},
		}}
		width := func(most int) int { return rapid.IntRange(1, most).Draw(t, "width") }
		pools := []gangPool{
			{"up/a", width(6), seconds(10), true}, {"up/b", width(5), seconds(3), true}, {"other", width(8), seconds(10), true},
		}
		s := newGangSite(t, places, opts, pools)
		for range 300 {
			s.second()
			if up := s.held[0] + s.held[1]; up > most || s.held[1] > 5 {
				t.Fatalf("pools %v hold %v places, want at most %d in the first two and 5 in the second", pools, s.held, most)
			}
		}
		lack := max(pools[0].width, pools[1].width)
		if got := s.got[0] + s.got[1]; got < (least-lack)*290 {
			t.Fatalf("pools %v held %v in 300 s, want %d places less a gang in the first two", pools, s.got, least)
		}
	})
}

// Gangs that can never run are refused: of no class of the cluster, or wider than their pool may be.
func TestGangsThatNeverFitAreRefused(t *testing.T) {
	p := newWith(fair.Options{Places: 16, Pools: map[string]fair.Pool{"small": {Max: fair.Slots{0: 4}}}}).(*fair.Policy)
	for _, test := range []struct {
		pool  string
		class sojourn.Class
		want  string
	}{
		{"small", 3, ""},
		{"small/x", 4, "needs 5 places, but its pool \"small/x\", or one around it, may hold 4"},
		{"large", 15, ""},
		{"large", 16, "gangs have classes below 16"},
	} {
		err := p.Admit(&sojourn.Job{ID: 1, Pool: test.pool, Phases: []sojourn.Phase{{Tasks: 1, Class: test.class}}})
		switch {
		case test.want == "" && err != nil, test.want != "" && (!errors.Is(err, sojourn.ErrUnsupported) || !strings.Contains(err.Error(), test.want)):
			t.Errorf("class %d in pool %q: %v, want %q", test.class, test.pool, err, test.want)
		}
	}
}

// Whose turn it is does not depend on what is free. It is nobody's if shares are not of places.
func TestTurn(t *testing.T) {
	any := func(sojourn.Class) bool { return true }
	for places, want := range map[int]string{0: "0 0 false", 16: "7 0 true"} {
		p := newWith(fair.Options{Places: places, Pools: map[string]fair.Pool{"a": {Weight: 2}}}).(*fair.Policy)
		for i, class := range []sojourn.Class{7, 0} {
			err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: string(rune('a' + i)), Phases: []sojourn.Phase{{Tasks: 1, Class: class}}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if c, passes, ok := p.Turn(any); fmt.Sprint(c, passes, ok) != want {
			t.Errorf("%d places: the turn is that of %v, passed %v times, %v, want %s", places, c, passes, ok, want)
		}
		if c, _, ok := p.Turn(func(c sojourn.Class) bool { return c == 3 }); ok {
			t.Errorf("%d places: the turn is that of %v, but nothing fits", places, c)
		}
	}
}

// Policies with places obey the laws; a class may wait for its turn within a round. So do gangs.
func TestConformanceWithPlaces(t *testing.T) {
	type tree struct {
		fair.Options
		at      map[string]string
		limited bool
	}
	draw := func(t *rapid.T) (o tree) {
		o.Ties = rapid.SampledFrom([]fair.Ties{fair.LeastService, fair.RoundRobin, fair.LeastWork, fair.Arrival}).Draw(t, "ties")
		o.limited = rapid.Bool().Draw(t, "limited")
		o.Places = 256
		o.Pools, o.at = map[string]fair.Pool{}, map[string]string{}
		for _, path := range []string{"x", "x/y", "x/y/z", "p", "*", ""} {
			pool := fair.Pool{Weight: rapid.SampledFrom([]float64{0, 0.5, 3, 1. / 65536, 1<<32 - 1}).Draw(t, "weight"), FIFO: path == "p", Min: fair.Slots{0: rapid.IntRange(0, 9).Draw(t, "min")}}
			if o.limited {
				pool.MaxJobs, pool.Max = rapid.IntRange(0, 3).Draw(t, "jobs"), fair.Slots{0: 256}
			}
			o.Pools[path] = pool
		}
		places := rapid.Permutation([]string{"x", "x/y", "x/y/z", "p/q", "u", ""}).Draw(t, "places")
		for i, pool := range []string{"", "a", "b"} {
			o.at[pool] = places[i]
		}
		return o
	}
	histories.Options(t, 4, draw, func(t *testing.T, o tree) {
		changed := o.Options
		changed.Pools = map[string]fair.Pool{"x/y": {Weight: 7, Min: fair.Slots{0: 3}}}
		for path, pool := range o.Pools {
			if pool.FIFO {
				changed.Pools[path] = fair.Pool{FIFO: true}
			}
		}
		with := func(opts fair.Options) func() sojourn.Policy {
			return func() sojourn.Policy { return leaves{renamed{newWith(opts).(*fair.Policy), o.at}, true} }
		}
		sojourntest.Run(t, with(o.Options), sojourntest.Options{Changed: []func() sojourn.Policy{with(changed)}, IdlesOnPurpose: o.limited})
	})
}

func TestGangs(t *testing.T) {
	sojourntest.Gangs(t, func(places int) sojourn.Policy { return newWith(fair.Options{Places: places}) }, sojourntest.GangOptions{Turns: true})
}

// So they do in a pool with a maximum, beside others outside: room in it is kept for the gang that comes first. If whatever fits there could start, the pool of narrow gangs would hold nearly all
// of the maximum.
func TestGangsOfEqualPoolsBelowAMaximum(t *testing.T) {
	for _, test := range []struct {
		most, outer int // outer is the maximum of a pool around that one; 0 for none
		widths      []int
	}{
		{8, 0, []int{8, 1, 8}},
		{8, 0, []int{8, 1}},
		{9, 0, []int{4, 1, 2}},
		{16, 0, []int{16, 3, 1}},
		{12, 20, []int{12, 2, 1}},
	} {
		for _, limit := range []bool{true, false} {
			path := "up/"
			opts := fair.Options{Pools: map[string]fair.Pool{"up": {Max: fair.Slots{0: test.most}}}}
			if test.outer > 0 {
				path = "out/up/"
				opts.Pools = map[string]fair.Pool{"out": {Max: fair.Slots{0: test.outer}}, "out/up": {Max: fair.Slots{0: test.most}}}
			}
			pools := []gangPool{{"other", 5, seconds(70), limit}, {"another", 1, seconds(30), limit}}
			for i, w := range test.widths {
				pools = append(pools, gangPool{fmt.Sprint(path, i), w, seconds(100), limit})
			}
			if test.outer > 0 {
				pools = append(pools, gangPool{"out/x", 1, seconds(10), limit})
			}
			s := newGangSite(t, 32, opts, pools)
			for range 3000 {
				s.second()
			}
			for i, w := range test.widths {
				for j := range i {
					if d := s.got[2+i] - s.got[2+j]; max(d, -d) > 107*max(w, test.widths[j]) {
						t.Errorf("gangs of %v below a maximum of %d in one of %d, limits known: %v: pools hold %v, which differs by more than a gang", test.widths, test.most, test.outer, limit, s.got)
					}
				}
			}
			t.Logf("gangs of %v below %d, limits known: %v: %v places times seconds", test.widths, test.most, limit, s.got)
		}
	}
}

// Random trees of pools with gangs of several widths and maximums at any level: nothing starves, no maximum is passed, and pools side by side of which none has a maximum of its own hold places by
// their weights, to within what gangs can hold that are out in the pool around them.
func TestGangsInTreesWithMaximums(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		const places, longest = 24, 12
		opts := fair.Options{Pools: map[string]fair.Pool{}}
		var pools []gangPool
		room := map[string]int{"": places} // of a pool that has others below it
		weight := map[string]int{}
		var below func(up string, depth int) bool
		below = func(up string, depth int) (always bool) { // some pool there always has something to start
			for i := range rapid.IntRange(2, 3).Draw(t, "pools") {
				path := fmt.Sprint(up, i)
				weight[path] = rapid.SampledFrom([]int{1, 1, 2, 5}).Draw(t, "weight")
				pool := fair.Pool{Weight: float64(weight[path])}
				if depth > 0 && rapid.Bool().Draw(t, "nested") {
					room[path+"/"] = room[up]
					if rapid.Bool().Draw(t, "limited") {
						room[path+"/"] = rapid.IntRange(1, room[up]).Draw(t, "max")
						pool.Max = fair.Slots{0: room[path+"/"]}
					}
					opts.Pools[path] = pool
					if below(path+"/", depth-1) && pool.Max == nil {
						always = true
					} else {
						weight[path] = 0 // at a limit it counts as one that has nothing to start
					}
					continue
				}
				opts.Pools[path] = pool
				always = true
				pools = append(pools, gangPool{path, rapid.IntRange(1, room[up]).Draw(t, "width"), seconds(rapid.IntRange(1, longest).Draw(t, "length")), false})
			}
			return always
		}
		below("", 2)
		s := newGangSite(t, places, opts, pools)
		under := func(path string, of []int) (sum int) {
			for i, p := range pools {
				if p.name == path || strings.HasPrefix(p.name, path+"/") {
					sum += of[i]
				}
			}
			return sum
		}
		for now := range 400 {
			s.second()
			for path, of := range opts.Pools {
				if most, ok := of.Max[0]; ok && under(path, s.held) > most {
					t.Fatalf("pool %s holds %d places, want at most %d", path, under(path, s.held), most)
				}
			}
			if now%20 < 19 {
				continue
			}
			for a := range opts.Pools {
				for b := range opts.Pools {
					up, upB := a[:strings.LastIndex(a, "/")+1], b[:strings.LastIndex(b, "/")+1]
					if up != upB || a == b || weight[a] == 0 || weight[b] == 0 {
						continue
					}
					d := under(a, s.got)*weight[b] - under(b, s.got)*weight[a]
					of := float64(d) / (float64(room[up]*longest*(weight[a]+weight[b])) * 17 / 16)
					if worst = max(worst, of); of > 1 {
						t.Fatalf("pools %+v of weights %v with room %v: after %d s they held %v; %s and %s: %.2f of the bound", pools, weight, room, now, s.got, a, b, of)
					}
				}
			}
		}
	})
	t.Logf("%.2f of the bound at most", worst)
}

// Pools at the top hold their minimums of places at any time, after the first second, if the minimums and the widest gangs fit together: each pool with a minimum may hold one gang more, less one place.
func TestGangsHoldTheirMinimums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const places = 24
		opts := fair.Options{Pools: map[string]fair.Pool{}}
		var pools []gangPool
		limit, room := rapid.Bool().Draw(t, "limit"), places
		for i := range rapid.IntRange(2, 6).Draw(t, "pools") {
			of := gangPool{fmt.Sprint("p", i), rapid.IntRange(1, places).Draw(t, "width"), seconds(rapid.IntRange(1, 12).Draw(t, "length")), limit}
			pool := fair.Pool{Weight: rapid.SampledFrom([]float64{1. / 65536, 1, 2, 1000}).Draw(t, "weight")}
			if room > 0 && rapid.Bool().Draw(t, "minimum") {
				of.width = rapid.IntRange(1, room).Draw(t, "width")
				least := rapid.IntRange(1, room-of.width+1).Draw(t, "min")
				pool.Min = fair.Slots{0: least}
				room -= least + of.width - 1
			}
			opts.Pools[of.name] = pool
			pools = append(pools, of)
		}
		s := newGangSite(t, places, opts, pools)
		for now := range 300 {
			s.second()
			for i, of := range pools {
				if least := opts.Pools[of.name].Min[0]; s.got[i] < least*(now+1) {
					t.Fatalf("after %d s pool %s has held %d places times seconds, want %d at a time: pools %v, %+v", now+1, of.name, s.got[i], least, pools, opts.Pools)
				}
			}
		}
	})
}
