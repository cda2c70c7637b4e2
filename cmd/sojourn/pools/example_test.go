package pools_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/pools"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
)

// A program reads the pools of policy fair from a file. It says which policies they may
// name: here its own one. Constructor of package catalog knows those of the library.
func ExampleRead() {
	constructor := func(text string) (func() sojourn.Policy, error) {
		if text != "mine" {
			return nil, fmt.Errorf("unknown policy %q", text)
		}
		return func() sojourn.Policy {
			p, _ := fifo.New(fifo.Options{}) // the zero options are never wrong
			return p
		}, nil
	}
	file := strings.NewReader(`{"pools": [
	 {"name": "etl", "weight": 3},
	 {"name": "daily", "parent": "etl", "policy": "mine"},
	 {"name": "users/*", "max-jobs": 2}]}`)
	opts, err := pools.Read(file, "pools.json", constructor)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy, err := fair.New(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%T with pools %q\n", policy, slices.Sorted(maps.Keys(opts.Pools)))

	_, err = pools.Read(strings.NewReader(`{"pools": [{"name": "etl", "weight": 0}]}`), "pools.json", constructor)
	fmt.Println(err)
	// Output:
	// *fair.Policy with pools ["etl" "etl/daily" "users/*"]
	// pools.json:1:38: weight 0 is not in [2^-16, 2^32)
}
