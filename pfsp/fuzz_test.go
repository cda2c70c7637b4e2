package pfsp_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func FuzzEvents(f *testing.F) {
	sojourntest.FuzzEvents(f, maker(pfsp.Options{}), sojourntest.Options{IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true})
}

func FuzzUnmarshal(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, maker(pfsp.Options{}), sojourntest.Options{IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true})
}
