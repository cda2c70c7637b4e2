package td_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"github.com/sojourn-sched/sojourn/td"
)

func newFuzzed() sojourn.Policy { return newWith(td.Options{Theta: 1, SelfTune: true}) }

func FuzzEvents(f *testing.F) {
	sojourntest.FuzzEvents(f, newFuzzed, sojourntest.Options{TellsSlotsApart: true})
}

func FuzzUnmarshal(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, newFuzzed, sojourntest.Options{TellsSlotsApart: true})
}
