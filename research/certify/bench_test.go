package certify_test

import (
	"fmt"
	"testing"

	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/research/workload"
)

// BenchmarkVerify verifies plans of the instances that BenchmarkPlan of package plan plans.
func BenchmarkVerify(b *testing.B) {
	for _, jobs := range []int{100, 22_280} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			in := generated(b, "mars-random", jobs)
			s, err := plan.Plan(in, plan.Options{Evaluations: -1})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := certify.Verify(in, s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(in.TaskCount()), "tasks")
		})
	}
}

// generated returns the instance of a generator of package workload on 50 machines.
func generated(t testing.TB, name string, jobs int) plan.Instance {
	g, err := workload.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := g.Jobs(1, map[string]string{"jobs": fmt.Sprint(jobs)})
	if err != nil {
		t.Fatal(err)
	}
	in := plan.Instance{Machines: []int{50}}
	for j, err := range list {
		if err != nil {
			t.Fatal(err)
		}
		job := plan.Job{Release: j.At, Weight: j.Weight}
		for k, p := range j.Phases {
			job.Phases = append(job.Phases, plan.Phase{Tasks: p.Tasks, Time: j.Times[k].Each, Times: j.Times[k].List, Delays: p.Delays})
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}
