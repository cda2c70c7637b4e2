package fair_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func TestConformance(t *testing.T) {
	for _, order := range []fair.Order{fair.Running, fair.Deficit} {
		t.Run(order.String(), func(t *testing.T) {
			newPolicy := func() sojourn.Policy {
				return newWith(fair.Options{Order: order, Pools: map[string]float64{"": 2, "a": 0.5, "b": 3}})
			}
			sojourntest.Run(t, newPolicy, sojourntest.Options{})
		})
	}
}
