package certify_test

import (
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// A schedule is verified, and then changed: a task starts before its job is released.
func ExampleVerify() {
	in := plan.Instance{Machines: []int{1}, Jobs: []plan.Job{
		{Weight: 3, Phases: []plan.Phase{{Tasks: 1, Time: 2 * time.Second}}},
		{Release: sojourn.Time(time.Second), Phases: []plan.Phase{{Tasks: 1, Time: 5 * time.Second}}},
	}}
	s, err := plan.Plan(in, plan.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(certify.Verify(in, s))

	s.Start[1] = 0
	fmt.Println(certify.Verify(in, s))
	// Output:
	// <nil>
	// invalid schedule: job 1, phase 0, task 0: starts at 0s, before the release of its job at 1s
}
