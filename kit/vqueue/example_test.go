package vqueue_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Three jobs of weight 1 share one slot. The least tag is served first; c comes last and
// goes before b, which has more left.
func Example() {
	const weight = 1 << 16 // 1
	q := vqueue.New[string](vqueue.LateFirst)
	q.SetCapacity(1)
	a := q.Arrive("a", 10, weight)
	b := q.Arrive("b", 30, weight)
	q.Advance(10, nil)
	c := q.Arrive("c", 10, weight)
	for _, it := range []*vqueue.Item[string]{a, b, c} {
		q.SetReady(it, true)
	}
	q.Finish(a) // the slot was its own until now
	first, _ := q.First()
	fmt.Println("serve", first.Value)
	q.Finish(first)
	q.Advance(100, func(it *vqueue.Item[string], at sojourn.Time) {
		fmt.Printf("%s would be complete at %d ns\n", it.Value, at)
	})
	first, _ = q.First()
	fmt.Println("serve", first.Value, "which is late:", first.Late())
	// Output:
	// serve c
	// a would be complete at 25 ns
	// c would be complete at 35 ns
	// b would be complete at 50 ns
	// serve b which is late: true
}
