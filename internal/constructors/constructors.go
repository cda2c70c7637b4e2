// Package constructors makes the library's policies for the tests of other packages, but for fair,
// which package pooled makes.
//
// A package that calls hfsp.New compiles the generic structures inside an HFSP policy again, which
// takes about a second. A package that calls constructors.HFSP does not: it sees a [sojourn.Policy].
// Use it in tests of what works with any policy: sim, fair's pools, driver, shadow.
package constructors

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// Each of these returns a new, empty policy, or what Validate of its options returns.
var (
	Conservative = Of(baseline.NewConservative)
	Deadline     = Of(baseline.NewDeadlineConstraint)
	EASY         = Of(baseline.NewEASY)
	FCFS         = Of(baseline.NewFCFS)
	FIFO         = Of(fifo.New)
	FSP          = Of(baseline.NewFSP)
	HFSP         = Of(hfsp.New)
	HTWF         = Of(baseline.NewHTWF)
	HJWF         = Of(baseline.NewHJWF)
	HUWF         = Of(baseline.NewHUWF)
	LAS          = Of(baseline.NewLAS)
	LeastWork    = Of(leastwork.New)
	Local        = Of(baseline.NewLocal)
	MarS         = Of(mars.New)
	PFSP         = Of(pfsp.New)
	RTMR         = Of(rtmr.New)
	SRPT         = Of(baseline.NewSRPT)
	STF          = Of(baseline.NewSTF)
	TD           = Of(td.New)
)

// A Constructor makes policies from options of its type.
type Constructor[O any] func(O) (sojourn.Policy, error)

// Of returns the Constructor that calls build.
func Of[O any, P sojourn.Policy](build func(O) (P, error)) Constructor[O] {
	return func(opts O) (sojourn.Policy, error) {
		p, err := build(opts)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
}

// Must returns a new policy. It panics if the options are wrong.
func (c Constructor[O]) Must(opts O) sojourn.Policy {
	p, err := c(opts)
	if err != nil {
		panic(err)
	}
	return p
}

// With returns a function that calls Must with the same options each time.
func (c Constructor[O]) With(opts O) func() sojourn.Policy {
	return func() sojourn.Policy { return c.Must(opts) }
}
