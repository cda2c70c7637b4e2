package mars_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func FuzzEvents(f *testing.F) {
	sojourntest.FuzzEvents(f, policy(mars.Options{Interval: 1, Iterations: 3, Step: 50}), sojourntest.Options{IdlesOnPurpose: true, ChargesLostWork: true, ChargesFailures: true})
}

func FuzzUnmarshal(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, policy(mars.Options{Batch: time.Second, Commit: true, Iterations: 3, Step: 20}), sojourntest.Options{IdlesOnPurpose: true, ChargesLostWork: true, ChargesFailures: true})
}
