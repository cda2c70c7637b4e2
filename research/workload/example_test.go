package workload_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/research/workload"
)

// A workload of the HFSP paper at a load that the paper does not have.
func Example() {
	g, err := workload.Lookup("hfsp-test")
	if err != nil {
		panic(err)
	}
	jobs, err := g.Jobs(1, map[string]string{"jobs": "3", "load": "0.9"})
	if err != nil {
		panic(err)
	}
	for j, err := range jobs {
		if err != nil {
			panic(err)
		}
		fmt.Println(j.ID, j.Name, j.Phases[0].Tasks, "maps", j.Phases[1].Tasks, "reduces")
	}

	_, err = g.Jobs(1, map[string]string{"load": "0"})
	fmt.Println(err)
	// Output:
	// 1 L12/1GB 3 maps 1 reduces
	// 2 L17/10GB 40 maps 6 reduces
	// 3 L16/1TB 426 maps 29 reduces
	// workload hfsp-test: option load: "0" is not none, or a number above 0, at most 1000
}
