package mapreduce_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mapreduce"
)

// A job of forty maps and four reduces, which may start when half of the maps have finished.
func Example() {
	job := sojourn.Job{ID: 1, Phases: []sojourn.Phase{
		{Tasks: 40, Class: mapreduce.Map},
		{Tasks: 4, Class: mapreduce.Reduce, After: 20},
	}}
	fmt.Println(job.Check())
	for phase, tasks := range job.WaitsFor(1) {
		fmt.Printf("reduces wait for %d tasks of phase %d\n", tasks, phase)
	}
	// Output:
	// <nil>
	// reduces wait for 20 tasks of phase 0
}
