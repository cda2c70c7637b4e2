package cli

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/pools"
	"github.com/sojourn-sched/sojourn/fair"
)

// fairOptions are the options of policy fair as text.
type fairOptions struct {
	Order *fair.Order // instead of what the file says

	// File describes the pools. Weights are those of pools by path, besides or
	// instead of what the file says.
	File    string             `option:"pools"`
	Weights map[string]float64 `option:"pools"`

	Inner string // the policy of pools that say nothing else

	PreferLocal bool
	Delay       time.Duration
	RackDelay   *time.Duration

	MinTimeout  time.Duration // of preemption, instead of what the file says
	FairTimeout time.Duration
}

// newFair makes policy fair.
func newFair(o fairOptions) (*fair.Policy, error) {
	var opts fair.Options
	if o.File != "" {
		f, err := os.Open(o.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if opts, err = pools.Read(f, o.File, innerPolicy); err != nil {
			return nil, err
		}
	}
	if o.Order != nil {
		opts.Order = *o.Order
	}
	opts.PreferLocal, opts.Delay, opts.RackDelay = o.PreferLocal, o.Delay, o.RackDelay
	if o.MinTimeout != 0 {
		opts.Preemption.MinTimeout = o.MinTimeout
	}
	if o.FairTimeout != 0 {
		opts.Preemption.FairTimeout = o.FairTimeout
	}
	if len(o.Weights) > 0 && opts.Pools == nil {
		opts.Pools = map[string]fair.Pool{}
	}
	for _, path := range slices.Sorted(maps.Keys(o.Weights)) {
		weight := o.Weights[path]
		if weight == 0 {
			return nil, fmt.Errorf("pool %q: weight 0 is not above 0", path)
		}
		p := opts.Pools[path]
		p.Weight = weight
		opts.Pools[path] = p
	}
	if o.Inner != "" {
		policy, err := innerPolicy(o.Inner)
		if err != nil {
			return nil, fmt.Errorf("option inner: %w", err)
		}
		pools.SetInner(&opts, policy)
	}
	return fair.New(opts)
}

// innerPolicy returns the constructor of a built-in policy.
func innerPolicy(text string) (func() sojourn.Policy, error) {
	specs, err := catalog.Parse(text)
	if err != nil {
		return nil, err
	}
	if len(specs) != 1 {
		return nil, fmt.Errorf("want one policy, got %q", text)
	}
	if _, err := builtin().New(specs[0]); err != nil {
		return nil, err
	}
	return func() sojourn.Policy {
		p, err := builtin().New(specs[0])
		if err != nil {
			panic(err) // it could be made before
		}
		return p
	}, nil
}
