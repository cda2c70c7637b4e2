package mars_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

var newFuzzed = policy(mars.PolicyOptions{Interval: 1})

func FuzzEvents(f *testing.F) {
	sojourntest.FuzzEvents(f, newFuzzed, sojourntest.Options{IdlesOnPurpose: true})
}

func FuzzUnmarshal(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, newFuzzed, sojourntest.Options{IdlesOnPurpose: true})
}
