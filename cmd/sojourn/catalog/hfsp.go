package catalog

import (
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// hfspOptions are the options of policy hfsp as text: those of the library, and its
// estimators by name.
type hfspOptions struct {
	hfsp.Options

	// Estimator says where sizes come from: trainer, the paper's, runs some tasks of
	// a phase first; oracle uses the estimates of jobs. The default is trainer.
	Estimator estimatorName

	// Sigma is the standard deviation of the logarithm of a factor by which the size of
	// each phase is wrong. Zero means no error.
	Sigma float64

	// Seed determines these errors, together with --seed. Zero is the default.
	Seed uint64
}

// An estimatorName is trainer or oracle.
type estimatorName string

var estimatorNames = [...]string{"trainer", "oracle"}

// Values returns all of them, the default first.
func (estimatorName) Values() []string { return slices.Clone(estimatorNames[:]) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *estimatorName) UnmarshalText(text []byte) error {
	if *n = estimatorName(text); !slices.Contains(estimatorNames[:], string(*n)) {
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
	if o.Estimator == "oracle" {
		e = hfsp.NewOracle(e)
	}
	if o.Sigma != 0 {
		if err := option.First("hfsp", option.Range("Sigma", o.Sigma, 0, math.MaxFloat64)); err != nil {
			return nil, err
		}
		return &noisy{e, o.Sigma, o.Seed}, nil
	}
	return e, nil
}
