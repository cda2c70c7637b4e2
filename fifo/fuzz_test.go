package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/sojourntest"
)

func FuzzEvents(f *testing.F) { sojourntest.FuzzEvents(f, newPolicy, sojourntest.Options{}) }

func FuzzUnmarshal(f *testing.F) { sojourntest.FuzzUnmarshal(f, newPolicy, sojourntest.Options{}) }
