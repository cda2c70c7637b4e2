package slack_test

import (
	"fmt"

	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Jobs a and b of 100 ns share one slot; a is served first, until 100. Then c comes. With
// fair sharing b would be complete at 250 and needs 100 ns, so that it can wait for 50. If
// c needs no more than that it goes first, and b is still complete at 250. If it needs
// more, it waits.
func Example() {
	const weight = 1 << 16 // 1
	for _, work := range []uint64{50, 60} {
		s := slack.New[string](vqueue.LateFirst)
		s.SetCapacity(1)
		a := s.Arrive("a", 100, weight, slack.Drained)
		b := s.Arrive("b", 100, weight, slack.Drained)
		s.SetState(b, slack.Ready)
		s.Advance(100, nil)
		s.Serve(a, 100)
		s.Finish(a)
		s.Arrive("c", work, weight, slack.Ready)
		first, _ := s.LeastCompletable()
		fmt.Printf("c needs %d ns, b can wait for %.0f ns: serve %s\n", work, s.Slack(b), first.Value)
	}
	// Output:
	// c needs 50 ns, b can wait for 50 ns: serve c
	// c needs 60 ns, b can wait for 50 ns: serve b
}
