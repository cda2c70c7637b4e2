package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// Gangs of one width start in the order of their arrival.
func TestGangs(t *testing.T) {
	sojourntest.Gangs(t, func(int) sojourn.Policy { return newPolicy() }, sojourntest.GangOptions{InOrder: true})
}
