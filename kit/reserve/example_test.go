package reserve_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// This example shows how many slots must be free for a job, with three reserved slots. Half of
// the arrived phases have shorter tasks.
func ExampleLevel() {
	half := reserve.Rank{Num: 1, Den: 2}
	for _, running := range []int{0, 1, 4} {
		level := reserve.Level(half, running)
		fmt.Println(running, "of its tasks run: level", level, "needs", reserve.Threshold(level, 3)+1)
	}
	// Output:
	// 0 of its tasks run: level 7 needs 2
	// 1 of its tasks run: level 11 needs 3
	// 4 of its tasks run: level 14 needs 4
}
