package pools_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/pools"
	"github.com/sojourn-sched/sojourn/fair"
)

// A program reads the pools of policy fair from a file, and may let pools name any policy
// of the library.
func ExampleRead() {
	file := strings.NewReader(`{"pools": [
	 {"name": "etl", "weight": 3},
	 {"name": "daily", "parent": "etl", "policy": "hfsp:node-delay=3s"},
	 {"name": "users/*", "max-jobs": 2}]}`)
	opts, err := pools.Read(file, "pools.json", catalog.Builtin().Constructor)
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

	_, err = pools.Read(strings.NewReader(`{"pools": [{"name": "etl", "weight": 0}]}`), "pools.json", catalog.Builtin().Constructor)
	fmt.Println(err)
	// Output:
	// *fair.Policy with pools ["etl" "etl/daily" "users/*"]
	// pools.json:1:38: weight 0 is not in [2^-16, 2^32)
}
