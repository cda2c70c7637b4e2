package forecast

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// What is kept is bounded: the latest kinds, the latest jobs of each, and few tasks of jobs that have ended.
func TestMemoryIsBounded(t *testing.T) {
	d := newDurations()
	job := func(id int, name string) *sojourn.Job {
		return &sojourn.Job{ID: sojourn.JobID(id), Name: name, Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}
	}
	for i := range 5_000 {
		for _, name := range []string{fmt.Sprint(i), "often"} {
			j := job(2*i+len(name)%2, name)
			for range 20 {
				d.add(j, 0, 0, time.Duration(i+1))
			}
			d.forget(j.ID)
		}
	}
	if len(d.live) != 0 || len(d.kinds) != keptKinds {
		t.Errorf("%d live groups and %d kinds are kept, want 0 and %d", len(d.live), len(d.kinds), keptKinds)
	}
	often := d.kinds[kindOf{name: "often"}]
	if often == nil || len(often.groups) != keptGroups || cap(often.groups) > 2*keptGroups {
		t.Fatalf("of a kind that is used again and again, %v is kept, want %d groups", often, keptGroups)
	}
	for _, g := range often.groups {
		if n := len(g.tasks[times]); n != keptTasks || g.stats[times].n != 20 || g.stats[times].about != 0 {
			t.Errorf("%d tasks of a job that has ended are kept, want %d; stats %v", n, keptTasks, g.stats[times])
		}
	}
	live := job(1_000_000, "live")
	for range 3 * keptLive {
		d.add(live, 0, 0, time.Second)
	}
	for range keptLive / 4 {
		d.add(live, 0, 0, 2*time.Second)
	}
	kept := map[float64]int{}
	for _, log := range d.live[phaseOf{live.ID, 0}].tasks[ratios] {
		kept[math.Round(math.Exp(log))]++
	}
	if want := map[float64]int{1: keptLive - keptLive/4, 2: keptLive / 4}; !maps.Equal(kept, want) {
		t.Errorf("of a live job these ratios are kept: %v, want the latest, %v", kept, want)
	}
}

// A normal variate above a bound has the mean phi(u)/Q(u) [Abramowitz and Stegun 1964, 26.2], gamma variates have their mean and
// variance, and a bootstrap has the values that it is made of, as often on average.
func TestVariates(t *testing.T) {
	const n = 20_000
	r := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct{ above, mean float64 }{{math.Inf(-1), 0}, {-1, 0.28760}, {0, 0.79788}, {1, 1.52514}, {3, 3.28310}, {8, 8.12140}} {
		sum := 0.0
		for range n {
			z := tail(r, c.above)
			if z < c.above {
				t.Fatalf("%v is drawn above %v", z, c.above)
			}
			sum += z
		}
		if got := sum / n; math.Abs(got-c.mean) > 4/math.Sqrt(n) {
			t.Errorf("the mean above %v is %.4f, want %.4f", c.above, got, c.mean)
		}
	}
	for _, shape := range []float64{1, 2.5, 40} {
		sum, squares := 0.0, 0.0
		for range n {
			x := gamma(r, shape)
			sum, squares = sum+x, squares+x*x
		}
		mean := sum / n
		if variance := squares/n - mean*mean; math.Abs(mean-shape) > 4*math.Sqrt(shape/n) || math.Abs(variance/shape-1) > .12 {
			t.Errorf("gamma of shape %v has mean %.3f and variance %.3f", shape, mean, variance)
		}
	}
	s := shape{all: []float64{1, 2, 5}}
	count := map[float64]int{}
	for range n {
		s.draw(r)
		if !slices.IsSorted(s.drawn) {
			t.Fatalf("drawn: %v", s.drawn)
		}
		for _, v := range s.drawn {
			count[v]++
		}
	}
	for _, v := range s.all {
		if got := count[v]; math.Abs(float64(got)-n) > 4*math.Sqrt(n) {
			t.Errorf("%v is drawn %d times, want about %d", v, got, n)
		}
	}
}

// A Watch keeps the service that a driver reports, and nothing of a job that has ended. Tasks of a job that was cancelled
// are not left.
func TestWatchForgets(t *testing.T) {
	w := New(nil)
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := w.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for slot := range sojourn.SlotID(2) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(slot + 1), Phases: []sojourn.Phase{{Tasks: 3}}}})
		if err := w.Take(sojourn.Assignment{Task: sojourn.TaskID{Job: sojourn.JobID(slot + 1)}, Attempt: 1, Slot: slot}); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 2}})
	if !w.few(6) || w.few(5) {
		t.Errorf("there are at most 6 tasks: %v, at most 5: %v; want 6", w.few(6), w.few(5))
	}
	end := sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(5 * time.Second), Service: 2 * time.Second, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 0}}
	observe(end)
	if g := w.known.live[phaseOf{1, 0}]; g == nil || g.stats[times].n != 1 || math.Abs(g.stats[times].mean-math.Log(2e9)) > 1e-9 || len(w.known.live) != 1 {
		t.Errorf("it keeps %v of %d phases, want 2 s", g, len(w.known.live))
	}
	observe(sojourn.Event{Kind: sojourn.JobCancelled, At: end.At, Job: &sojourn.Job{ID: 1}})
	observe(sojourn.Event{Kind: sojourn.TaskFailed, At: end.At, Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
	if p, s := len(w.known.live), len(w.crowd.of)+len(w.crowd.sections); p != 0 || s != 0 {
		t.Errorf("it keeps %d phases and %d starts of jobs that have ended", p, s)
	}
}

// Jobs of one name whose tasks all took the same time have deviations, of 0. The variance is that of their rounding.
func TestEqualTimesHaveAShape(t *testing.T) {
	d := newDurations()
	for id := range 3 {
		for task := range 4 {
			d.add(&sojourn.Job{ID: sojourn.JobID(id + 1), Name: "n", Phases: []sojourn.Phase{{Tasks: 4}}}, 0, task, 10*time.Second)
		}
	}
	k := &kindState{}
	k.learn(d.kinds[kindOf{name: "n"}].groups, times)
	if len(k.shape.all) != 12 || slices.Min(k.shape.all) != 0 || slices.Max(k.shape.all) != 0 || k.shape.sigma != 0 || !k.fixed || !k.same {
		t.Errorf("%+v, want twelve deviations of 0, and a time that is fixed", k)
	}
}

// Deviations from the mean of the only group of a kind are sorted, and as far from 0 as those from the true mean.
func TestShapeOfOneGroup(t *testing.T) {
	g := &group{}
	for _, log := range []float64{3, 1, 7, 5} {
		g.add(times, log)
	}
	k := &kindState{}
	k.learn([]*group{g}, times)
	far := math.Sqrt(4. / 3)
	for i, want := range []float64{-3 * far, -far, far, 3 * far} {
		if len(k.shape.all) != 4 || math.Abs(k.shape.all[i]-want) > 1e-12 {
			t.Fatalf("deviations %v, want %.4f in place %d", k.shape.all, want, i)
		}
	}
	if want := math.Sqrt(20. / 3); math.Abs(k.shape.sigma-want) > 1e-12 || k.mean != 4 || k.fixed {
		t.Errorf("sigma %v and mean %v, want %v and 4", k.shape.sigma, k.mean, want)
	}
}

// Phases of one task each tell nothing of the deviations within a phase: they deviate from the mean of the kind.
func TestShapeOfSingleTasks(t *testing.T) {
	var groups []*group
	for _, log := range []float64{3, 1, 7, 5} {
		g := &group{}
		g.add(times, log)
		groups = append(groups, g)
	}
	k := &kindState{}
	k.learn(groups, times)
	if want := []float64{-3, -1, 1, 3}; !slices.Equal(k.shape.all, want) || k.shape.sigma != math.Sqrt(5) || k.mean != 4 {
		t.Errorf("deviations %v, sigma %v, mean %v; want %v, %v, 4", k.shape.all, k.shape.sigma, k.mean, want, math.Sqrt(5))
	}
}

// Tasks are foreseen by the ratio to their estimates if all of them have one, in whichever way it was told.
func TestScales(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		one  time.Duration
		list []time.Duration
		want int
	}{
		{0, nil, times}, {s, nil, ratios}, {0, []time.Duration{s, 2 * s}, ratios}, {0, []time.Duration{s, 0}, times}, {0, []time.Duration{0, 0}, times},
		{s, []time.Duration{2 * s, 0}, ratios}, {s, []time.Duration{0, 0}, ratios}, {s, []time.Duration{s, s}, ratios},
	} {
		if got := scaleOf(&sojourn.Phase{Tasks: 2, Estimate: tc.one, Estimates: tc.list}); got != tc.want {
			t.Errorf("Estimate %v, Estimates %v: scale %d, want %d", tc.one, tc.list, got, tc.want)
		}
	}
}

// A model has moved for warmUp sweeps before the first draw, if a job is live.
func TestModelsWarmUp(t *testing.T) {
	live := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}
	for _, jobs := range [][]account.Job{nil, {{Spec: live}}} {
		w := New(nil)
		w.known.add(live, 0, 0, time.Second)
		s := &standing{finished: 1, known: map[phaseOf]known{}, specs: map[sojourn.JobID]*sojourn.Job{}, started: map[sojourn.JobID]bool{}}
		for _, j := range jobs {
			s.enter(&remnant{Job: j, known: w.known.of(live)})
		}
		if w.learn(s, 1); s.models[times].sweeps != warmUp*len(jobs) {
			t.Errorf("%d jobs are live: %d sweeps were made, want %d", len(jobs), s.models[times].sweeps, warmUp*len(jobs))
		}
	}
}

// An interval leaves out as many draws at each side as are a twentieth of one more than there are, and none if these are few; its
// middle is the median.
func TestIntervals(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := 1; n <= 120; n++ {
		e := ends{}
		for _, i := range r.Perm(n) {
			e.add(1, sojourn.Time(i+1), 1) // so that a time is its own rank
		}
		outside := 0
		for 20*(outside+2) <= n+1 {
			outside++
		}
		want := Interval{sojourn.Time(outside + 1), sojourn.Time((n + 1) / 2), sojourn.Time(n - outside)}
		if got := e.finish(1, n); got == nil || *got != want {
			t.Errorf("%d draws: %v, want %v", n, got, want)
		}
		if a, b, c := e.start(1, n), e.finish(2, n), e.finish(1, n+1); a != nil || b != nil || c != nil {
			t.Errorf("%d draws: %v, %v and %v, want none where a draw has no time", n, a, b, c)
		}
	}
}
