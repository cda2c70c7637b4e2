package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/workload"
	"pgregory.net/rapid"
)

// Certify holds the functions of package certify. certify_test.go sets them.
var Certify struct {
	Verify      func(Instance, *Schedule) error
	Prices      func(Instance, []Price) (float64, error)
	SmithRatios func(Instance, []float64) (float64, error)
	Point       func(Instance, []float64) (float64, error)
}

// gen returns an instance of a generator of package workload.
func gen(t testing.TB, name string, seed uint64, m int, options map[string]string) Instance {
	g, err := workload.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := g.Jobs(seed, options)
	if err != nil {
		t.Fatal(err)
	}
	in := Instance{Machines: []int{m}}
	for j, err := range jobs {
		if err != nil {
			t.Fatal(err)
		}
		job := Job{Release: j.At, Weight: j.Weight}
		for k, p := range j.Phases {
			job.Phases = append(job.Phases, Phase{Tasks: p.Tasks, Class: 0, Time: j.Times[k].Each, Times: j.Times[k].List, Delays: p.Delays})
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}

// A shape bounds the instances that draw draws.
type shape struct {
	jobs, phases, tasks, machines int
	classes                       int
	longerReduces                 bool // no task takes longer than the tasks that wait for it
	positive                      bool // no time is zero
	tasksWeigh                    bool
	noBarrier                     bool
}

var small = shape{jobs: 4, phases: 3, tasks: 3, machines: 3, classes: 2, noBarrier: true}

// draw returns an instance. Times are a few units of a drawn length, so that ties
// are common.
func draw(t *rapid.T, s shape) Instance {
	unit := rapid.SampledFrom([]time.Duration{1, 7, time.Millisecond, time.Second, 90 * time.Minute}).Draw(t, "unit")
	span := func(most int, label string) time.Duration {
		return unit * time.Duration(rapid.IntRange(0, most).Draw(t, label))
	}
	in := Instance{}
	for range max(s.classes, 1) {
		in.Machines = append(in.Machines, rapid.IntRange(1, s.machines).Draw(t, "machines"))
	}
	for range rapid.IntRange(0, s.jobs).Draw(t, "jobs") {
		j := Job{Release: sojourn.Time(span(8, "release"))}
		j.Weight = rapid.SampledFrom([]float64{0, 1, 1, 2, 0.001, 1000, 1e-9, 3.25}).Draw(t, "weight")
		longest := time.Duration(0)
		phases := rapid.IntRange(1, s.phases).Draw(t, "phases")
		for k := range phases {
			p := Phase{Tasks: rapid.IntRange(1, s.tasks).Draw(t, "tasks")}
			p.Class = sojourn.Class(rapid.IntRange(0, len(in.Machines)-1).Draw(t, "class"))
			least := 0
			if s.positive {
				least = 1
			}
			for range p.Tasks {
				d := unit * time.Duration(rapid.IntRange(least, 6).Draw(t, "time"))
				if s.longerReduces && k > 0 {
					d += longest
				}
				p.Times = append(p.Times, d)
				if s.tasksWeigh {
					p.Weights = append(p.Weights, rapid.SampledFrom([]float64{0, 1, 2, 0.001, 30}).Draw(t, "task weight"))
				}
			}
			for _, d := range p.Times {
				longest = max(longest, d)
			}
			p.NoBarrier = s.noBarrier && k > 0 && rapid.IntRange(0, 4).Draw(t, "no barrier") == 0
			j.Phases = append(j.Phases, p)
		}
		for k := range phases - 1 {
			p := &j.Phases[k]
			if rapid.Bool().Draw(t, "delays") {
				for range p.Tasks {
					p.Delays = append(p.Delays, span(5, "delay"))
				}
			}
		}
		in.Jobs = append(in.Jobs, j)
	}
	if s.tasksWeigh {
		in.Objective = TaskCompletion
	}
	return in
}

// plans returns a schedule by every planner that supports the instance.
func plans(t interface {
	Fatal(...any)
	Helper()
}, in Instance, o Options) []*Schedule {
	t.Helper()
	var all []Planner
	for _, p := range planners {
		switch p {
		case tMarS:
			if in.Objective == JobCompletion {
				continue
			}
		case soMarS:
			if in.Objective == TaskCompletion || slices.ContainsFunc(in.Jobs, func(j Job) bool { return !told(&j) }) {
				continue
			}
		case marSCOGE, busyDispatch, wsrpt:
			if in.Objective == TaskCompletion {
				continue
			}
		}
		all = append(all, p)
	}
	list, err := All(in, o, all...)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// told reports whether a policy can be told of a job.
func told(j *Job) bool {
	return j.Weight == 0 || j.Weight >= 1.0/(1<<16) && j.Weight < 1<<32
}
