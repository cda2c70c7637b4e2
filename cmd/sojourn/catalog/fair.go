package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/pools"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// fairOptions are the options of policy fair as text.
type fairOptions struct {
	// Order says what is shared equally. It replaces the setting in the file of the pools.
	Order *fair.Order

	// Ties says which job of a pool goes first if several are equally far below their
	// share. It replaces the setting in the file of the pools. The default is
	// least-service; Hadoop does arrival.
	Ties *fair.Ties

	// File is a file in JSON that describes the pools: 'sojourn help pools' shows one.
	// Without it, each pool that a job names has the weight 1.
	File string `option:"pools"`

	// Weights are the weights of pools by path, as in pools.etl=3. They are added to the
	// settings in the file or replace them. They are at least 2^-16 and below 2^32.
	Weights map[string]float64 `option:"pools"`

	// Inner is the policy that serves the jobs of pools without a setting of their own,
	// with its first option behind a colon, as in inner=hfsp:xi=2. Without it a pool
	// shares equally among its jobs.
	Inner string

	// IgnoreLocality starts the tasks of a job in their order, wherever their inputs are.
	// By default the job whose turn it is runs the task whose input is closest to the slot.
	// It excludes Delay.
	IgnoreLocality bool

	// Delay is how long a job whose turn it is lets others go first while it waits for a slot on
	// the node of an input. RackDelay is how long it then waits for a slot on the rack of an
	// input; by default it is the same as Delay. Zero means not at all.
	Delay     time.Duration
	RackDelay *time.Duration

	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for jobs
	// that run nothing there. Zero means no reserve. It excludes Delay and preemption.
	Reserve float64

	// HalfLife is the time after which half of what a pool has had beyond the others is forgotten, while it runs nothing and has
	// nothing to start. Zero forgets nothing. It excludes the order running and Places.
	HalfLife time.Duration

	// Credit is how much service a pool may get before others when it begins to have something to start: as much as it left unused while it had
	// jobs and nothing to start, or no jobs, if the pools list it by name. Zero means none. It excludes the order running and Places.
	Credit time.Duration

	// Window is how much more service than the pool that is next another one may have had, for each unit of weight, that goes
	// before it since it has work near the slot. No slot idles for it. Zero means none. It excludes the order running, IgnoreLocality, Delay, Reserve and Places.
	Window time.Duration

	// Places is how many places the cluster has, if tasks are gangs: shares are then of places. With
	// --gangs it is set to the slots of the cluster. 0 with --gangs shares each width of gangs by itself.
	Places int

	// MinTimeout is how long a pool has less than its minimum before tasks of other pools
	// are killed for it. FairTimeout is how long it has less than half of its fair share
	// before that. They have an effect with --preempt, and replace the settings in the
	// file. Zero means never.
	MinTimeout  time.Duration
	FairTimeout time.Duration
}

// newFair makes policy fair.
func newFair(o fairOptions) (*fair.Policy, error) {
	opts, err := o.library()
	if err != nil {
		return nil, err
	}
	return fair.New(opts)
}

// Pools returns the paths of the pools that the options of policy fair describe, or the file that they name. Other policies
// describe none.
func (c Catalog) Pools(s Spec) ([]string, error) {
	e, err := c.Find(s.Name)
	if err != nil || e.options != reflect.TypeFor[fairOptions]() {
		return nil, err
	}
	options, err := e.read(s)
	if err != nil {
		return nil, err
	}
	opts, err := options.Interface().(fairOptions).library()
	return slices.Sorted(maps.Keys(opts.Pools)), err
}

// library returns the options of the library.
func (o fairOptions) library() (opts fair.Options, err error) {
	if o.File != "" {
		f, err := files.Open(o.File)
		if err != nil {
			return opts, err
		}
		defer f.Close()
		if opts, err = pools.Read(f, o.File, Builtin().Constructor); err != nil {
			return opts, err
		}
	}
	if o.Order != nil {
		opts.Order = *o.Order
	}
	if o.Ties != nil {
		opts.Ties = *o.Ties
	}
	opts.IgnoreLocality, opts.Delay, opts.RackDelay, opts.Reserve, opts.HalfLife, opts.Credit, opts.Window, opts.Places = o.IgnoreLocality, o.Delay, o.RackDelay, o.Reserve, o.HalfLife, o.Credit, o.Window, o.Places
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
			return opts, visible.Errorf("option pools.%s is %v: want 2^-16 to below 2^32", path, weight)
		}
		p, described := opts.Pools[path]
		if name, ok := cutSetting(path); ok && !described {
			return opts, visible.Errorf("option pools.%s would be the weight of a pool %q: a weight is written pools.%s=3, and all else is in a file, as are pools with such names: 'sojourn help pools'", path, path, name)
		}
		p.Weight = weight
		opts.Pools[path] = p
	}
	if o.Inner != "" {
		policy, err := Builtin().Constructor(o.Inner)
		if err != nil {
			return opts, fmt.Errorf("option inner: %w", err)
		}
		pools.SetInner(&opts, policy)
	}
	return opts, nil
}

// cutSetting cuts what looks like a setting from the end of a path, as in "etl.max" and "etl.max.map".
func cutSetting(path string) (name string, ok bool) {
	words := strings.Split(path, ".")
	for i := max(len(words)-2, 1); i < len(words); i++ {
		switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(words[i])) {
		case "weight", "min", "max", "maxjobs", "policy", "fifo", "parent", "paused":
			return strings.Join(words[:i], "."), true
		}
	}
	return "", false
}
