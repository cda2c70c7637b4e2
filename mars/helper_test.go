package mars

import (
	"testing"

	"github.com/sojourn-sched/sojourn/workload"
)

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
