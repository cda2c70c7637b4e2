package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/sojourntest"
)

func TestConformance(t *testing.T) { sojourntest.Run(t, newPolicy, sojourntest.Options{}) }
