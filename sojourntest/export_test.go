package sojourntest

import (
	"github.com/sojourn-sched/sojourn"
	format "github.com/sojourn-sched/sojourn/history"
)

// Walked is Walk for tests of what it finds: it returns how many histories there were.
func Walked(newPolicy func() sojourn.Policy, w Small, check func([]format.Entry) error) (int, error) {
	n, err := walk(newPolicy, w, check)
	return n.histories, err
}
