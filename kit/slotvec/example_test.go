package slotvec_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// Three slots become available at 0 and one at 5. Five tasks of length 10 are put where they
// start earliest.
func ExampleFiller_Fill() {
	var f slotvec.Filler
	v, last := f.Fill(nil, slotvec.Vector{{T: 0, N: 3}, {T: 5, N: 1}}, 5, 10, 0)
	fmt.Println("the last task ends at", last)
	fmt.Println("instants and numbers of slots:", v)
	// Output:
	// the last task ends at 20
	// instants and numbers of slots: [{10 2} {15 1} {20 1}]
}
