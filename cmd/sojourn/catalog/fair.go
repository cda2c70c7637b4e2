package catalog

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/pools"
	"github.com/sojourn-sched/sojourn/fair"
)

// fairOptions are the options of policy fair as text.
type fairOptions struct {
	// Order says what is shared equally, instead of what the file of the pools says.
	Order *fair.Order

	// Ties says which of the jobs of a pool goes first where several are equally far below
	// their share, instead of what the file of the pools says. The default is
	// least-service; arrival is what Hadoop does.
	Ties *fair.Ties

	// File is a file in JSON that describes the pools: 'sojourn help pools' shows one.
	// Without it, each pool that a job names has the weight 1.
	File string `option:"pools"`

	// Weights are the weights of pools by path, as in pools.etl=3, besides or instead of
	// what the file says. They are at least 2^-16 and below 2^32.
	Weights map[string]float64 `option:"pools"`

	// Inner is the policy that serves the jobs of pools that say nothing else, with its
	// first option behind a colon, as in inner=hfsp:xi=2. Without it a pool shares
	// equally among its jobs.
	Inner string

	// IgnoreLocality starts the tasks of a job in their order, wherever their inputs are.
	// By default the job whose turn it is runs the task whose input is closest to the slot.
	// It excludes Delay.
	IgnoreLocality bool

	// Delay is how long a job whose turn it is lets others go first while it waits for a
	// slot on the node of an input; and RackDelay is how long it then waits for one on its rack.
	// Zero means not at all; without RackDelay it is the same as Delay.
	Delay     time.Duration
	RackDelay *time.Duration

	// MinTimeout is how long a pool has less than its minimum until tasks of others are to
	// be killed for it, and FairTimeout is how long it has less than half of its fair
	// share. They count with --preempt, instead of what the file says. Zero means never.
	MinTimeout  time.Duration
	FairTimeout time.Duration
}

// newFair makes policy fair.
func newFair(o fairOptions) (*fair.Policy, error) {
	var opts fair.Options
	if o.File != "" {
		f, err := files.Open(o.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if opts, err = pools.Read(f, o.File, Builtin().Constructor); err != nil {
			return nil, err
		}
	}
	if o.Order != nil {
		opts.Order = *o.Order
	}
	if o.Ties != nil {
		opts.Ties = *o.Ties
	}
	opts.IgnoreLocality, opts.Delay, opts.RackDelay = o.IgnoreLocality, o.Delay, o.RackDelay
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
		if weight == 0 || (fair.Pool{Weight: weight}).Validate() != nil {
			return nil, fmt.Errorf("option pools.%s is %v: want 2^-16 to below 2^32", path, weight)
		}
		p := opts.Pools[path]
		p.Weight = weight
		opts.Pools[path] = p
	}
	if o.Inner != "" {
		policy, err := Builtin().Constructor(o.Inner)
		if err != nil {
			return nil, fmt.Errorf("option inner: %w", err)
		}
		pools.SetInner(&opts, policy)
	}
	return fair.New(opts)
}
