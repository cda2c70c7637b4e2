package td_test

import (
	"log/slog"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"github.com/sojourn-sched/sojourn/td"
)

func newWith(opts td.Options) *td.Policy {
	p, err := td.New(opts)
	if err != nil {
		panic(err)
	}
	return p
}

func newPolicy() sojourn.Policy { return newWith(td.Options{}) }

func TestConformance(t *testing.T) { sojourntest.Run(t, newPolicy, sojourntest.Options{}) }

func TestConformanceStrict(t *testing.T) {
	opts := td.Options{HotPolicy: td.Strict, Theta: 1, L: 0.5, MaxCoScheduled: 2, Demand: 2, SelfTune: true}
	sojourntest.Run(t, func() sojourn.Policy { return newWith(opts) }, sojourntest.Options{IdlesOnPurpose: true})
}

// attr returns what Explain says of a job under a key.
func attr(p *td.Policy, id sojourn.JobID, key string) slog.Value {
	attrs, _ := p.Explain(id)
	for _, a := range attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return slog.Value{}
}
