package fair_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

type noSeeker struct{ sojourn.Policy }

func TestNewRefuses(t *testing.T) {
	pool := func(path string, p fair.Pool) fair.Options { return fair.Options{Pools: map[string]fair.Pool{path: p}} }
	nan := 0.0
	nan /= nan
	tests := []struct {
		opts fair.Options
		want string // in the error
	}{
		{fair.Options{Order: 7}, `fair: Order: unknown order "Order(7)"`},
		{fair.Options{Delay: -1}, "fair: Delay is -1ns: want at least 0s"},
		{fair.Options{Delay: 1, IgnoreLocality: true}, "IgnoreLocality is true: want false with a Delay, of 1ns"},
		{fair.Options{Delay: 1, RackDelay: delay(-1)}, "RackDelay is -1ns: want at least 0s"},
		{fair.Options{RackDelay: delay(1)}, "RackDelay is 1ns: want at least 0s, and 0s without Delay"},
		{fair.Options{HalfLife: -1}, "fair: HalfLife is -1ns: want at least 0s"},
		{fair.Options{HalfLife: 1, Order: fair.Running}, "HalfLife is 1ns: want 0s with another order than service, with Cost, and with Places"},
		{fair.Options{Credit: -1}, "fair: Credit is -1ns: want at least 0s"},
		{fair.Options{Credit: 1, Order: fair.Running}, "Credit is 1ns: want 0s with another order than service, with Cost, and with Places"},
		{fair.Options{Credit: 1, Places: 4}, "Credit is 1ns: want 0s with"},
		{fair.Options{Credit: 1, Cost: fair.Cost{0: {1}}}, "Credit is 1ns: want 0s with"},
		{fair.Options{HalfLife: 1, Places: 4}, "HalfLife is 1ns: want 0s with"},
		{fair.Options{HalfLife: 1, Cost: fair.Cost{0: {1}}}, "HalfLife is 1ns: want 0s with another order than service, with Cost, and with Places"},
		{fair.Options{Window: -1}, "fair: Window is -1ns: want at least 0s"},
		{fair.Options{Window: 1, Delay: 1}, "Window is 1ns: want 0s with another order than service, with IgnoreLocality, Delay, Reserve, Cost and Places"},
		{fair.Options{Window: 1, Order: fair.Running}, "Window is 1ns: want 0s with"},
		{fair.Options{Window: 1, Reserve: .1}, "Window is 1ns: want 0s with"},
		{fair.Options{Window: 1, IgnoreLocality: true}, "Window is 1ns: want 0s with"},
		{fair.Options{Window: 1, Places: 4}, "Window is 1ns: want 0s with"},
		{pool("a", fair.Pool{Weight: -1}), `fair: pool "a": Weight is -1: want 2^-16 to below 2^32, or 0 for 1`},
		{pool("a", fair.Pool{Weight: nan}), `Weight is NaN`},
		{pool("a", fair.Pool{Weight: 1 << 32}), `Weight is 4.294967296e+09`},
		{pool("a", fair.Pool{Min: fair.Slots{1: -1}}), `pool "a": Min of class 1 is -1: want 0 to 16777216`},
		{pool("a", fair.Pool{Max: fair.Slots{0: 0}}), `Max of class 0 is 0: want 1 to 16777216`},
		{pool("a", fair.Pool{Max: fair.Slots{0: -3}}), `Max of class 0 is -3`},
		{pool("a", fair.Pool{Min: fair.Slots{0: 3}, Max: fair.Slots{0: 2}}), `Max of class 0 is 2: want at least the Min of 3`},
		{pool("a", fair.Pool{MaxJobs: -1}), `MaxJobs is -1: want 0 to 2147483647`},
		{pool("a", fair.Pool{FIFO: true, Policy: newFSP}), `FIFO is true: want false with a Policy`},
		{pool("a", fair.Pool{MaxJobs: 1, Policy: newFSP}), `MaxJobs is 1: want 0 with a Policy`},
		{pool("a", fair.Pool{Policy: func() sojourn.Policy { return nil }}), `its policy is nil`},
		{pool("a", fair.Pool{Policy: func() sojourn.Policy { return noSeeker{newFSP()} }}), `its policy, a fair_test.noSeeker, is no Seeker`},
		{fair.Options{Pools: map[string]fair.Pool{"a": {MaxJobs: 1}, "a/b/c": {Policy: newFSP}}}, `pool "a/b/c": a pool with a policy of its own cannot be below one that limits its jobs`},
		{fair.Options{Pools: map[string]fair.Pool{"a": {FIFO: true}, "a/b": {}}}, `pool "a": a FIFO pool, or one with a policy of its own, has no pools below it, such as "b"`},
		{fair.Options{Preemption: fair.Preemption{MinTimeout: -1}}, "fair: Preemption.MinTimeout is -1ns: want at least 0s"},
		{fair.Options{Preemption: fair.Preemption{Interval: time.Microsecond}}, "Preemption.Interval is 1µs: want at least 1ms"},
		{fair.Options{Preemption: fair.Preemption{Limit: -1}}, "Preemption.Limit is -1: want at least 0"},
		{fair.Options{Cost: fair.Cost{}}, "fair: Cost is map[]: want the costs of a class"},
		{fair.Options{Cost: fair.Cost{3: nil}}, "Cost of class 3 is []: want 1 to 16 resources"},
		{fair.Options{Cost: fair.Cost{3: make([]uint32, 17)}}, "want 1 to 16 resources"},
		{fair.Options{Cost: fair.Cost{0: {1, 2}, 3: {1}}}, "Cost of class 3 is [1]: want 2 resources, as other classes have"},
		{fair.Options{Cost: fair.Cost{0: {1, 2}, 3: {0, 0}}}, "Cost of class 3 is [0 0]: want a part of some resource above 0"},
		{fair.Options{Cost: fair.Cost{0: {1}}, Order: fair.Running}, "Cost is map[0:[1]]: want none with the order running"},
		{fair.Options{Cost: fair.Cost{0: {1}}, Delay: 1}, "want none with a Delay, of 1ns"},
		{fair.Options{Cost: fair.Cost{0: {1}}, Preemption: fair.Preemption{FairTimeout: 1}}, "want none with a timeout of Preemption"},
		{fair.Options{Cost: fair.Cost{0: {1}}, Pools: map[string]fair.Pool{"a": {Min: fair.Slots{0: 1}}}}, `pool "a": it has a Policy or a Min: want none with a Cost`},
		{fair.Options{Cost: fair.Cost{0: {1}}, Pools: map[string]fair.Pool{"a": {Policy: newFSP}}}, `pool "a": it has a Policy or a Min: want none with a Cost`},
	}
	for _, tc := range tests {
		p, err := fair.New(tc.opts)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("New(%+v) = %v, %v, want an error with %q", tc.opts, p, err, tc.want)
		}
	}
}

// A job of an unknown pool is in a pool of weight 1, or is refused under Strict.
func TestUnknownPools(t *testing.T) {
	opts := fair.Options{Strict: true, Pools: map[string]fair.Pool{"a/b": {}, "users/*": {}, "f": {FIFO: true}}}
	p := newWith(opts).(*fair.Policy)
	tests := []struct {
		pool string
		ok   bool
	}{
		{"a", true}, {"a/b", true}, {"users/alice", true}, {"f/x/y", true},
		{"", false}, {"c", false}, {"a/c", false}, {"users/alice/x", false},
	}
	for i, tc := range tests {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: tc.pool, Phases: []sojourn.Phase{{Tasks: 1}}}
		admit, err := p.Admit(job), p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		if (err == nil) != tc.ok || !tc.ok && !errors.Is(err, sojourn.ErrUnsupported) || (admit == nil) != tc.ok {
			t.Errorf("a job of pool %q: %v, Admit = %v, want ok = %v", tc.pool, err, admit, tc.ok)
		}
	}
}

// With costs, a job that uses a class without a cost is refused.
func TestClassesWithoutCost(t *testing.T) {
	p := newWith(fair.Options{Cost: fair.Cost{0: {1, 0}, 2: {0, 1}}}).(*fair.Policy)
	for i, tc := range []struct {
		classes []sojourn.Class
		ok      bool
	}{{[]sojourn.Class{0, 2}, true}, {[]sojourn.Class{1}, false}, {[]sojourn.Class{0, 1}, false}, {[]sojourn.Class{3}, false}, {[]sojourn.Class{255}, false}} {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1)}
		for _, c := range tc.classes {
			job.Phases = append(job.Phases, sojourn.Phase{Tasks: 1, Class: c})
		}
		admit, err := p.Admit(job), p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		if (err == nil) != tc.ok || !tc.ok && !errors.Is(err, sojourn.ErrUnsupported) || (admit == nil) != tc.ok {
			t.Errorf("a job of classes %d: %v, Admit = %v, want ok = %v", tc.classes, err, admit, tc.ok)
		}
	}
}

// Each user has a pool, which "users/*" limits. Two jobs of alice run and one waits.
// Bob's job is not affected.
func TestLimitsPerUser(t *testing.T) {
	c := newCluster(t, 10, fair.Options{Pools: map[string]fair.Pool{"users/*": {MaxJobs: 2}}})
	for range 3 {
		c.arrive("users/alice", 2)
	}
	c.arrive("users/bob", 2)
	c.offer()
	jobs := map[sojourn.JobID]int{}
	for _, a := range c.running {
		jobs[a.Task.Job]++
	}
	if jobs[1] != 2 || jobs[2] != 2 || jobs[3] != 0 || jobs[4] != 2 {
		t.Errorf("running tasks by job: %v, want 2 of jobs 1, 2 and 4, and none of job 3", jobs)
	}
	if text := explained(c.p, 3); !strings.Contains(text, `pool "users/alice" runs its maximum of 2 jobs`) {
		t.Errorf("Explain(3) = %s, want the limit", text)
	}
	for slices.ContainsFunc(c.running, func(a sojourn.Assignment) bool { return a.Task.Job == 1 }) {
		c.finish()
	}
	if got := c.offer(); len(got) != 2 {
		t.Errorf("when a job of alice has ended, tasks start in %v, want both of her third job", got)
	}
}

// A job that has started goes on before an earlier job that has not.
func TestJobsThatWereBegunAreFinishedFirst(t *testing.T) {
	c := newCluster(t, 1, fair.Options{Pools: map[string]fair.Pool{"a": {MaxJobs: 1}}})
	first := c.arrive("a", 1)
	c.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: first}})
	second := c.arrive("a", 2)
	c.offer()
	c.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: first}})
	c.finish()
	if c.offer(); c.running[0].Task.Job != second {
		t.Errorf("job %d goes on, want job %d", c.running[0].Task.Job, second)
	}
}

func explained(p *fair.Policy, id sojourn.JobID) string {
	var b strings.Builder
	attrs, _ := p.Explain(id)
	for _, a := range attrs {
		b.WriteString(a.String() + " ")
	}
	return b.String()
}

func delay(d time.Duration) *time.Duration { return &d }
