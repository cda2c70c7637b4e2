package sojourn_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// zero makes a policy of the zero options.
func zero[O any, P sojourn.Policy](constructor func(O) (P, error)) func() (sojourn.Policy, error) {
	return func() (sojourn.Policy, error) {
		var opts O
		p, err := constructor(opts)
		return p, err
	}
}

// The zero options of a policy are never wrong.
func TestZeroOptions(t *testing.T) {
	for name, newPolicy := range map[string]func() (sojourn.Policy, error){
		"fifo": zero(fifo.New), "fair": zero(fair.New), "hfsp": zero(hfsp.New), "pfsp": zero(pfsp.New), "rtmr": zero(rtmr.New),
		"td": zero(td.New), "mars": zero(mars.New), "srpt": zero(baseline.NewSRPT), "fsp": zero(baseline.NewFSP),
		"las": zero(baseline.NewLAS), "dc": zero(baseline.NewDeadlineConstraint), "local": zero(baseline.NewLocal),
		"huwf": zero(baseline.NewHUWF), "hjwf": zero(baseline.NewHJWF), "stf": zero(baseline.NewSTF), "htwf": zero(baseline.NewHTWF),
	} {
		if _, err := newPolicy(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
