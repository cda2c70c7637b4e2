package slack_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Values that no job can have are refused on entry.
func TestOutOfRangePanics(t *testing.T) {
	s := slack.New[int](vqueue.LateFirst)
	it := s.Arrive(0, 1, 1, slack.Drained)
	for name, call := range map[string]func(){
		"Arrive":  func() { s.Arrive(0, 1, 0, slack.Drained) },
		"Revise":  func() { s.Revise(it, 0, 1<<63+1, 1) },
		"was":     func() { s.Revise(it, 1<<63+1, 1, 1) },
		"SetWork": func() { s.SetWork(it, 1<<63+1) },
		"SetRank": func() { s.SetRank(it, slack.Ranks) },
		"New":     func() { slack.New[int](7) },
	} {
		if !panics(call) {
			t.Errorf("%s: no panic", name)
		}
	}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return
}
