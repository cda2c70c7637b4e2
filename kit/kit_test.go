package kit_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func TestConformance(t *testing.T) {
	histories.Share(t, 5) // the queue and the ledger are tested by every policy
	sojourntest.Run(t, func() sojourn.Policy { return newEDF() }, sojourntest.Options{})
}
