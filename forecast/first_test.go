package forecast_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// A load is a pool with many jobs, whose tasks take exactly what is told.
type load struct {
	name   string
	policy func() (sojourn.Policy, error)
	jobs   int
	job    func(r *rand.Rand, i int) sojourn.Job // its pool and phases
}

func weighted() (sojourn.Policy, error) {
	return fair.New(fair.Options{Pools: map[string]fair.Pool{"web": {Weight: 3}, "etl": {Weight: 2}, "research": {Weight: 1}}})
}

func least() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }

// oneOf returns jobs of three pools with so many tasks.
func oneOf(tasks func(r *rand.Rand) int) func(*rand.Rand, int) sojourn.Job {
	return func(r *rand.Rand, i int) sojourn.Job {
		return sojourn.Job{Pool: []string{"web", "etl", "research"}[i%3], Phases: []sojourn.Phase{{Tasks: tasks(r), Estimate: time.Duration(1+r.IntN(100)) * time.Second}}}
	}
}

func always(n int) func(*rand.Rand) int { return func(*rand.Rand) int { return n } }

// watched returns a Watch over 64 slots under a load, of which so many tasks have ended.
func (l *load) watched(t testing.TB, ended int) *forecast.Watch {
	t.Helper()
	p, err := l.policy()
	if err != nil {
		t.Fatal(err)
	}
	w := forecast.New(p)
	now := sojourn.Time(0)
	d, err := driver.New(w, driver.Options{Now: func() sojourn.Time { return now }, Preempt: -1})
	if err != nil {
		t.Fatal(err)
	}
	tell := func(ev sojourn.Event) {
		t.Helper()
		if err := d.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 64 {
		tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	r := rand.New(rand.NewPCG(1, 2))
	each := map[sojourn.JobID]time.Duration{}
	for i := range l.jobs {
		j := l.job(r, i)
		j.ID, j.Name = sojourn.JobID(i+1), "a"
		each[j.ID] = j.Phases[0].Estimate
		now++
		tell(sojourn.Event{Kind: sojourn.JobArrived, Job: &j})
	}
	type run struct {
		sojourn.Assignment
		end sojourn.Time
	}
	var runs []run
	for {
		s := d.Settle()
		if s.Err != nil {
			t.Fatal(s.Err)
		}
		for _, a := range s.Starts {
			runs = append(runs, run{a, now.Add(each[a.Task.Job])})
		}
		if ended--; ended < 0 {
			return w
		}
		first := slices.MinFunc(runs, func(a, b run) int { return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(a.Slot, b.Slot)) })
		runs = slices.DeleteFunc(runs, func(x run) bool { return x == first })
		now = first.end
		tell(driver.Finished(first.Assignment))
	}
}

// foresee asks, and fails the test where there is no answer.
func foresee(t testing.TB, w *forecast.Watch, q forecast.Question) *forecast.Forecast {
	t.Helper()
	f, err := w.Foresee(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A forecast of the first jobs has the figures of one of all that is told the same facts. Where a job goes on behind the horizon, its end
// follows from the rate. A forecast of all also continues from what the policy in charge has learned: the test prints how far that is away.
func TestFirstJobsAgainstAll(t *testing.T) {
	few := func(r *rand.Rand) int { return 1 + r.IntN(20) }
	heavy := func(r *rand.Rand) int { return int(min(3000, math.Pow(1-r.Float64(), -1/1.1))) }
	for _, tc := range []struct {
		load
		want int     // jobs that the answer has at least
		mean float64 // difference, in parts of the times until jobs finish
	}{
		{load{"fifo, 30,000 jobs of a task", another, 30_000, oneOf(always(1))}, 2000, 0},
		{load{"fair, 6,000 jobs of 1 to 20 tasks", weighted, 6_000, oneOf(few)}, 1300, 0},
		{load{"fair, 30,000 jobs of 1 or 2 tasks", weighted, 30_000, oneOf(func(r *rand.Rand) int { return 1 + r.IntN(2) })}, 2000, 0},
		{load{"default, 12,000 jobs of a heavy tail", least, 12_000, oneOf(heavy)}, 2000, .004},
		{load{"fair, 30 jobs of 2,000 tasks", weighted, 30, oneOf(always(2000))}, 30, .05},
		{load{"one job of 50,000 tasks", another, 1, oneOf(always(50_000))}, 1, .002},
		{load{"fair, 2,000 jobs of 30 tasks", weighted, 2_000, oneOf(always(30))}, 300, .03},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := tc.watched(t, 500)
			f := foresee(t, w, forecast.Question{Policy: tc.policy, Draws: 1, MaxTasks: 20_000})
			facts := foresee(t, w, forecast.Question{Policy: func() (sojourn.Policy, error) { p, err := tc.policy(); return unsaved{p}, err }, Draws: 1})
			mean, worst := apart(f, facts)
			learned, _ := apart(f, foresee(t, w, forecast.Question{Policy: tc.policy, Draws: 1}))
			fmt.Fprintf(t.Output(), "%s: %d of %d jobs; finishes differ by %.2f %% in the mean and %.1f %% at most, and by %.2f %% in the mean from those with what the policy has learned\n",
				tc.name, len(f.Jobs), f.Live, 100*mean, 100*worst, 100*learned)
			if f.Live != len(facts.Jobs) || len(f.Jobs) < tc.want || len(f.Jobs) > 2000 || mean > tc.mean {
				t.Errorf("%d of %d jobs, %d are live; the mean difference is %v", len(f.Jobs), f.Live, len(facts.Jobs), mean)
			}
		})
	}
}

// apart returns by how much finishes differ.
func apart(f, all *forecast.Forecast) (mean, worst float64) {
	of := map[sojourn.JobID]forecast.Job{}
	for _, j := range all.Jobs {
		of[j.ID] = j
	}
	sum := 0.0
	for _, j := range f.Jobs {
		is := of[j.ID].Finish.Median
		d, span := math.Abs(j.Finish.Median.Sub(is).Seconds()), is.Sub(all.At).Seconds()
		mean, sum, worst = mean+d, sum+span, max(worst, d/span)
	}
	return mean / sum, worst
}

// However many tasks are left, there is a forecast of the first jobs, and it looks at few jobs while others wait for the policy.
func TestFirstOfVeryMany(t *testing.T) {
	giant := func(r *rand.Rand, i int) sojourn.Job {
		return sojourn.Job{Pool: []string{"web", "etl", "research"}[i%3], Phases: []sojourn.Phase{{Tasks: []int{1_000_000, 3, 5}[i%3], Estimate: time.Minute}}}
	}
	for _, tc := range []struct {
		load
		want int
	}{
		{load{"20,001 tasks", another, 6_667, oneOf(always(3))}, 2000},
		{load{"61,000 tasks", weighted, 61_000, oneOf(always(1))}, 2000},
		{load{"1,000,000 tasks of a job", weighted, 3, giant}, 3},
		{load{"as many pools as jobs", weighted, 30_000, func(r *rand.Rand, i int) sojourn.Job {
			return sojourn.Job{Pool: fmt.Sprint("door/", i), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Minute}}}
		}}, 2000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			firstOf(t, &tc.load, tc.want)
		})
	}
}

// firstOf asks for the first jobs of a load, and wants so many. An event is reported all the time: what a driver waits for is printed.
func firstOf(t *testing.T, l *load, want int) {
	w := l.watched(t, 0)
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() { // what a driver waits for
		most := time.Duration(0)
		for {
			select {
			case <-stop:
				longest <- most
				return
			default:
			}
			begun := time.Now()
			if err := w.Observe(sojourn.Event{Kind: sojourn.Tick, At: sojourn.Time(time.Second)}); err != nil {
				t.Error(err)
			}
			most = max(most, time.Since(begun))
			time.Sleep(100 * time.Microsecond)
		}
	}()
	begun := time.Now()
	f := foresee(t, w, forecast.Question{Policy: l.policy, Draws: 5, MaxTasks: 20_000})
	took := time.Since(begun)
	close(stop)
	fmt.Fprintf(t.Output(), "%s: %d of %d jobs in %v; an event waited %v at most\n", l.name, len(f.Jobs), f.Live, took, <-longest)
	if f.Live != l.jobs || len(f.Jobs) != want {
		t.Errorf("%d of %d jobs, want %d of %d", len(f.Jobs), f.Live, want, l.jobs)
	}
	for _, j := range f.Jobs {
		if j.Finish == nil || j.Finish.Low < f.At {
			t.Fatalf("job %d finishes %+v", j.ID, j.Finish)
		}
	}
}

// An unsaved policy is like one of another kind: it is told the facts alone.
type unsaved struct{ sojourn.Policy }

func (p unsaved) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	return p.Policy.(sojourn.Seeker).Seek(c)
}

func (p unsaved) Supports() sojourn.Features { return sojourn.Supports(p.Policy) }
