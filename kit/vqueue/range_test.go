package vqueue_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Values that no job can have are refused on entry.
func TestOutOfRangePanics(t *testing.T) {
	q := vqueue.New[int](vqueue.LateFirst)
	it := q.Arrive(0, 1, 1)
	for name, call := range map[string]func(){
		"Arrive": func() { q.Arrive(0, 1, 0) },
		"Revise": func() { q.Revise(it, 1<<63+1, 1) },
		"Reset":  func() { q.Reset(it, 1, 1<<63+1) },
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
