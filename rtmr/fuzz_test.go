package rtmr_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

var newFuzzed = with(rtmr.Options{Booking: rtmr.Chain, Feedback: true})

func FuzzEvents(f *testing.F) { sojourntest.FuzzEvents(f, newFuzzed, conformance) }

func FuzzUnmarshal(f *testing.F) { sojourntest.FuzzUnmarshal(f, newFuzzed, conformance) }
