package ready_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/internal/ready"
)

// A Queue ranks anything that has a number, such as pools.
func ExampleQueue() {
	pools := []string{"etl", "reports"}
	q := ready.New(func(a, b float64) bool { return a < b }, nil)
	const class = 0
	q.Set(class, 0, 1.5) // running tasks for the weight
	q.Set(class, 1, 0.5)
	pool, _, _ := q.First(class)
	fmt.Println(pools[pool])
	q.Set(class, 1, 2.5) // it was served
	pool, _, _ = q.First(class)
	fmt.Println(pools[pool])

	// Output:
	// reports
	// etl
}
