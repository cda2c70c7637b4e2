package cli

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn/hfsp"
)

// hfspOptions are the options of policy hfsp as text: those of the library, and its
// estimators by name.
type hfspOptions struct {
	hfsp.Options

	Estimator estimatorName
	Runs      int     // of a recurring job, until it is known
	Sigma     float64 // of an error of all sizes
	Seed      uint64  // of that error
}

// An estimatorName is trainer, oracle, history or history-pool.
type estimatorName string

var estimatorNames = [...]estimatorName{"trainer", "oracle", "history", "history-pool"}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *estimatorName) UnmarshalText(text []byte) error {
	if *n = estimatorName(text); !slices.Contains(estimatorNames[:], *n) {
		return fmt.Errorf("unknown estimator %q: want one of %v", text, estimatorNames)
	}
	return nil
}

// newHFSP makes policy hfsp.
func newHFSP(o hfspOptions) (*hfsp.Policy, error) {
	if _, err := o.estimator(); err != nil {
		return nil, err
	}
	opts := o.Options
	opts.Estimator = func() hfsp.Estimator {
		e, _ := o.estimator()
		return e
	}
	return hfsp.New(opts)
}

// estimator returns a new estimator.
func (o *hfspOptions) estimator() (e hfsp.Estimator, err error) {
	e = hfsp.NewTrainer(o.Xi, o.DefaultTaskTime)
	switch o.Estimator {
	case "oracle":
		e = hfsp.NewOracle(e)
	case "history", "history-pool":
		by := hfsp.ByName
		if o.Estimator == "history-pool" {
			by = hfsp.ByPool
		}
		if e, err = hfsp.NewHistory(e, hfsp.HistoryOptions{By: by, Runs: o.Runs}); err != nil {
			return nil, err
		}
	}
	if o.Sigma != 0 {
		return hfsp.NewNoisy(e, o.Sigma, o.Seed)
	}
	return e, nil
}
