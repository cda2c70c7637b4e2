package fewest

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newPolicy() sojourn.Policy { p, _ := New(Options{}); return p }

func newMost() sojourn.Policy { p, _ := New(Options{Most: true}); return p }

func TestConformance(t *testing.T) {
	sojourntest.Run(t, newPolicy, sojourntest.Options{Others: []func() sojourn.Policy{newMost}})
}
