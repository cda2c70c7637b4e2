package plan_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// instance returns two machines and three jobs of maps and a reduce. The output of each
// map takes a second to arrive.
func instance() plan.Instance {
	job := func(release time.Duration, weight float64, maps int) plan.Job {
		delays := make([]time.Duration, maps)
		for i := range delays {
			delays[i] = time.Second
		}
		return plan.Job{Release: sojourn.Time(release), Weight: weight, Phases: []plan.Phase{
			{Tasks: maps, Time: 10 * time.Second, Delays: delays},
			{Tasks: 1, Time: 15 * time.Second},
		}}
	}
	return plan.Instance{Machines: []int{2}, Jobs: []plan.Job{job(0, 1, 4), job(5*time.Second, 3, 2), job(5*time.Second, 2, 1)}}
}

// A schedule comes with a bound and the proof of the bound.
func ExamplePlan() {
	in := instance()
	s, err := plan.Plan(in, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for j, end := range s.Completion {
		fmt.Printf("job %d ends at %v\n", j, end)
	}
	fmt.Printf("objective %.1f, at most %.2f times the optimum; proof: %v\n", s.Objective, s.Ratio(), certify.Verify(in, s))
	// Output:
	// job 0 ends at 1m17s
	// job 1 ends at 31s
	// job 2 ends at 41s
	// objective 252.0, at most 1.18 times the optimum; proof: <nil>
}

// The bound holds for every schedule, whatever policy makes it.
func ExampleLowerBound() {
	b, err := plan.LowerBound(instance(), plan.Options{ReleaseCuts: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f weight-seconds; with what releases tell, %.1f\n", b.LowerBound, b.BestLowerBound)
	// Output:
	// 214.2 weight-seconds; with what releases tell, 229.5
}
