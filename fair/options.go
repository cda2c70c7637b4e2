package fair

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options configure a [Policy]. The zero value is the default.
//
// A snapshot may be restored under other options: weights, minimums, maximums and the length of
// delays and timeouts can change without losing state, and more pools can be described. Order and
// Ties must be the same, and so must the pools that are FIFO or have a policy of their own. A Delay,
// a timeout of Preemption, a Reserve and a Credit may not appear or disappear. The policy of a pool decides by itself which of its options may change.
type Options struct {
	// Order says how a share is measured. The default is Service.
	Order Order

	// Ties says which job of a pool goes first if several are equally far below their share. The
	// default is LeastService; Hadoop has Arrival.
	Ties Ties

	// Pools describes pools by their paths, such as "etl" or "etl/daily". The pools on the
	// way to a listed pool need not be listed. An element "*" stands for every pool at that
	// place that is not listed: "etl/*" describes each unlisted pool below etl. If each user
	// has a pool, this gives each user a limit. A pool that nothing describes is a Pool{}.
	Pools map[string]Pool

	// Strict refuses jobs of pools that Pools does not describe, with
	// [sojourn.ErrUnsupported]. By default such a pool exists from its first job to its last.
	Strict bool

	// IgnoreLocality starts the tasks of a job in the order of their index, wherever
	// their inputs are. By default the job whose turn it is runs the task whose input is
	// closest to the slot: on its node, then on its rack, then anywhere. The order of the
	// jobs is the same in both cases. It excludes Delay.
	IgnoreLocality bool

	// Delay is how long a job whose turn it is lets others go first while it waits for a slot on
	// the node of an input. It then waits RackDelay for one on its rack [Zaharia et al., Delay
	// scheduling, EuroSys 2010]. What such waits leave unused is at most a sixteenth of the slot time
	// that tasks have held near their inputs: see the package comment. Zero means not at all. It has no effect in pools with policies of
	// their own, since those policies pick the tasks: they have delays of their own, or none. It
	// is an error if every pool has a policy.
	Delay time.Duration

	// RackDelay is how long the job then waits for a slot on the rack of an input. Nil means
	// as long as Delay. If racks are not known, set it to 0, since a wait gains nothing.
	RackDelay *time.Duration

	// Preemption says when tasks are killed for pools that are below their share.
	// The default is never.
	Preemption Preemption

	// Cost, unless nil, is what a slot of each class takes of each resource of the cluster. Jobs and
	// pools are then compared by their dominant share over all classes, in the place of the running
	// tasks of one class: see "Several resources" in the comment of the package. A job with a phase
	// of another class is refused with [sojourn.ErrUnsupported]. Cost excludes the order Running,
	// Delay, the timeouts of Preemption, and pools with a Min or a Policy.
	Cost Cost

	// HalfLife, unless zero, is the time after which half of what a pool has had beyond its siblings is forgotten, while it runs nothing
	// and has nothing to start. Pools that always have work gain nothing by it beside each other, so that the bounds of the order
	// hold. One sixty-fourth is kept, so that nobody waits for ever beside those that come and go. It excludes the order Running,
	// Cost and Places (TestHalfLife).
	HalfLife time.Duration

	// Credit is the service that a pool may get before others when it begins to have something to start: as much of it as it left unused while
	// it had jobs and nothing to start, such as tasks that were held. A pool that Pools lists by name keeps its account while it has no jobs, from its
	// first job on; another one loses the credit with its last job, and so does one with a Policy. Zero means none: a pool that comes is level with the one that is served next. The second bound of
	// the order grows by Credit/w of both pools. It excludes the order Running, Cost and Places. Where ends tell of costs, a nanosecond is a unit of them
	// (TestCredit, TestStorm).
	Credit time.Duration

	// Window, unless zero, is how much more than the pool that is next another one may have had, for each unit of weight, that goes before it since it has
	// work near the slot: see "Locality within a window" in the comment of the package. No slot idles for it, and the bounds grow by it
	// (TestWindowWithinTheBound). It excludes the order Running, IgnoreLocality, Delay, Reserve, Cost and Places. Where ends tell of costs, a nanosecond is a unit of them.
	Window time.Duration

	// Places, unless zero, says that tasks are gangs of package gang on a cluster of so many places: the
	// Places of [gang.Options]. A task of a class then counts as many times as the class is wide, and service is
	// counted over all classes together, so that shares are of places: see "Gangs" in the comment of the
	// package. Min and Max of a pool count places; they are of class 0. A job with a gang that is wider than
	// the cluster, or than the Max of its pool or one around it, is refused with [sojourn.ErrUnsupported]. Room in a pool with a Max is kept for the gang that comes first there.
	// Places excludes the order Running, Delay, the timeouts of Preemption, Cost, Reserve, and pools with a
	// Policy. The driver gives the policy to the Cluster, as the Turns of [gang.Options].
	Places int

	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for
	// jobs that run nothing there: see the package comment. The number of slots is rounded to
	// the nearest whole number, halves up, and is less than all slots. Zero means no reserve. It
	// excludes Delay, the timeouts of Preemption and Cost.
	Reserve float64
}

// A Pool says how much a pool gets, and how its jobs are served.
type Pool struct {
	// Weight is the pool's share relative to its siblings, in [2^-16, 2^32), rounded
	// to a multiple of 2^-16. Zero means 1.
	Weight float64

	// Min is the number of slots, by class, that the pool gets before its siblings get more than
	// their minimums, as long as it has tasks. None by default.
	Min Slots

	// Max is the number of tasks, by class, that the pool may run at a time. A class
	// that is absent has no limit. Not below Min.
	Max Slots

	// MaxJobs is the number of jobs that may run tasks at a time. Zero means no
	// limit.
	MaxJobs int

	// FIFO serves the jobs of the pool in the order of their arrival.
	FIFO bool

	// Policy, unless nil, returns a new policy that serves the jobs of the pool. It
	// must be a [sojourn.Seeker]. It gets slots one by one: it sees SlotAdded when
	// the pool gets a slot, and SlotRemoved when the task there has ended.
	Policy func() sojourn.Policy
}

// Slots counts slots by class.
type Slots = sojourn.Slots

// Preemption says when tasks are killed for pools that are below their share
// although they have tasks to start. As in Hadoop, a pool that has been below its
// minimum for a time gets back what it lacks to the minimum. A pool that has been
// below half of its fair share for a time gets back what it lacks to its share.
type Preemption struct {
	// MinTimeout is how long a pool may be below its minimum. Zero means for ever.
	MinTimeout time.Duration

	// FairTimeout is how long a pool may be below half of its fair share. Zero means
	// for ever.
	FairTimeout time.Duration

	// Interval is the time between two looks at the shares. Zero means 15 s, as in
	// Hadoop; otherwise at least 1 ms.
	Interval time.Duration

	// Limit is the number of tasks that may be asked for at a time. Zero means 10.
	Limit int
	// ReportOnly asks for nothing; Explain shows what would be asked for.
	ReportOnly bool
}

// An Order says which of several jobs, or pools, is furthest below its share.
type Order uint8

const (
	// Service: of several pools, the one that has had the least service in relation to its weight.
	// Service is slot time. A running attempt counts by what it is expected to take: its estimate,
	// or else the mean of late in its pool. An idle pool saves up nothing. Of several jobs, the one
	// with the fewest running tasks in relation to its weight.
	Service Order = iota

	// Running: the one with the fewest running tasks in relation to its weight, also of several pools
	// (Hadoop's Fair Scheduler). With more busy pools than slots, weights have no effect then, and
	// pools of long tasks get more than others.
	Running
)

var orderNames = [...]string{Service: "service", Running: "running"}

// String returns "service" or "running".
func (o Order) String() string { return option.Name("Order", orderNames[:], o) }

// MarshalText implements encoding.TextMarshaler.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (o *Order) UnmarshalText(text []byte) error {
	return option.SetName(o, "order", orderNames[:], text)
}

// Ties say which job of a pool goes first if several are equally far below their share. On
// one slot all jobs are equal whenever the slot is free, so ties decide everything. If jobs
// still tie, the one that was served longest ago goes first. Between pools, and between a job
// and a pool, only this last rule counts.
type Ties uint8

const (
	// LeastService: the one that has had the least slot time for its weight. It is measured when
	// attempts end. An arriving job starts level with the one that has had most.
	LeastService Ties = iota

	// RoundRobin: the one that was served longest ago.
	RoundRobin

	// LeastWork: the one with the least estimated work in its unfinished tasks, where a
	// task without an estimate counts as one minute.
	LeastWork

	// Arrival: the one that came first, as in Hadoop's Fair Scheduler. On one slot this is FIFO.
	Arrival
)

var tieNames = [...]string{LeastService: "least-service", RoundRobin: "round-robin", LeastWork: "least-work", Arrival: "arrival"}

// String returns "least-service", "round-robin", "least-work" or "arrival".
func (t Ties) String() string { return option.Name("Ties", tieNames[:], t) }

// MarshalText implements encoding.TextMarshaler.
func (t Ties) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It accepts what String
// returns.
func (t *Ties) UnmarshalText(text []byte) error { return option.SetName(t, "ties", tieNames[:], text) }

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	_, err := o.tree()
	return err
}

// validate checks each field by itself.
func (o *Options) validate() error {
	return option.First("fair",
		option.Choice("Order", o.Order),
		option.Choice("Ties", o.Ties),
		option.AtLeast("Delay", o.Delay, 0),
		option.AtLeast("HalfLife", o.HalfLife, 0),
		option.Want(o.HalfLife == 0 || o.Order == Service && o.Cost == nil && o.Places == 0, "HalfLife", o.HalfLife, "0s with another order than service, with Cost, and with Places"),
		option.AtLeast("Credit", o.Credit, 0),
		option.Want(o.Credit == 0 || o.Order == Service && o.Cost == nil && o.Places == 0, "Credit", o.Credit, "0s with another order than service, with Cost, and with Places"),
		option.AtLeast("Window", o.Window, 0),
		option.Want(o.Window == 0 || o.Order == Service && !o.IgnoreLocality && o.Delay == 0 && o.Reserve == 0 && o.Cost == nil && o.Places == 0, "Window", o.Window, "0s with another order than service, with IgnoreLocality, Delay, Reserve, Cost and Places"),
		option.Want(o.Delay == 0 || !o.IgnoreLocality, "IgnoreLocality", o.IgnoreLocality, "false with a Delay, of %v", o.Delay),
		option.Pointed(o.RackDelay, func(d time.Duration) error {
			return option.Want(d == 0 || d > 0 && o.Delay > 0, "RackDelay", d, "at least 0s, and 0s without Delay")
		}),
		o.Preemption.Validate(),
		o.validateCost(),
		o.validatePlaces(),
		option.Range("Reserve", o.Reserve, 0, 1),
		option.Want(o.Reserve == 0 || o.Delay == 0 && !o.Preemption.enabled() && o.Cost == nil, "Reserve", o.Reserve, "0 with a Delay, with timeouts of Preemption, and with Cost"))
}

// Validate returns what is wrong with the description of a pool by itself, or nil. Pool{}
// is valid.
func (p Pool) Validate() error {
	err := option.First("",
		option.OrZero(p.Weight, option.Want(p.Weight >= 1.0/(1<<16) && p.Weight < 1<<32, "Weight", p.Weight, "2^-16 to below 2^32, or 0 for 1")),
		option.Range("MaxJobs", p.MaxJobs, 0, math.MaxInt32),
		option.Want(!p.FIFO || p.Policy == nil, "FIFO", p.FIFO, "false with a Policy"),
		option.Want(p.Policy == nil || p.MaxJobs == 0, "MaxJobs", p.MaxJobs, "0 with a Policy"))
	for _, c := range slices.Sorted(maps.Keys(p.Min)) {
		err = cmp.Or(err, option.Range(fmt.Sprintf("Min of class %d", c), p.Min[c], 0, sojourn.MaxSlots))
	}
	for _, c := range slices.Sorted(maps.Keys(p.Max)) {
		field := fmt.Sprintf("Max of class %d", c)
		err = cmp.Or(err, option.Range(field, p.Max[c], 1, sojourn.MaxSlots),
			option.Want(p.Max[c] >= p.Min[c], field, p.Max[c], "at least the Min of %d", p.Min[c]))
	}
	return err
}

// Validate returns what is wrong with the options of preemption, or nil.
// Preemption{} is valid.
func (p Preemption) Validate() error {
	return option.First("",
		option.AtLeast("Preemption.MinTimeout", p.MinTimeout, 0),
		option.AtLeast("Preemption.FairTimeout", p.FairTimeout, 0),
		option.OrZero(p.Interval, option.AtLeast("Preemption.Interval", p.Interval, time.Millisecond)),
		option.AtLeast("Preemption.Limit", p.Limit, 0))
}

// A conf is a place in the tree of pools that Options describes.
type conf struct {
	Pool
	weight   uint64
	min, max []int // by class; 0 where there is none
	below    map[string]*conf
	any      *conf // for pools below that are not listed; nil if nothing describes them

	// policy is the pool's own policy. It is kept while the pool has no jobs, so that it can
	// learn from job to job. Only pools that are listed by name have one here, since there is one
	// pool for each name.
	named  bool
	said   bool             // the pool itself is described
	known  sojourn.Features // of the policy; only if said
	policy *guest
	live   bool // the pool has jobs; only of named pools

	// What events say of the pool, and of those below it.
	told    *sojourn.Pool // the latest one about this pool; nil if it is as it was made
	paused  bool
	like    Pool // what the pool is when nothing is told of it; only if something is, or of a pool below it that was not described
	made    bool // nothing but events describes this place
	changes int  // how many pools from here on are told
}

// tree checks the options, and returns the root of the tree.
func (o *Options) tree() (*conf, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	root := newConf(Pool{}, true)
	for _, path := range slices.Sorted(maps.Keys(o.Pools)) {
		pool := o.Pools[path]
		bad := func(err error) error { return fmt.Errorf("fair: pool %q: %w", path, err) }
		if err := pool.Validate(); err != nil {
			return nil, bad(err)
		}
		known := option.Features | sojourn.FeatureParallelism
		if pool.Policy != nil {
			policy := pool.Policy()
			if policy == nil {
				return nil, bad(fmt.Errorf("its policy is nil"))
			}
			if _, ok := sojourn.As[sojourn.Seeker](policy); !ok {
				return nil, bad(fmt.Errorf("its policy, a %T, is no Seeker", policy))
			}
			known = sojourn.Supports(policy)
		}
		if o.Cost != nil && (pool.Policy != nil || len(pool.Min) > 0) {
			return nil, bad(fmt.Errorf("it has a Policy or a Min: want none with a Cost"))
		}
		if err := o.validateInPlaces(pool); err != nil {
			return nil, bad(err)
		}
		at := root
		for name := range split(path) {
			next := at.listed(name)
			if next == nil {
				next = newConf(Pool{}, at.named && name != anyPool)
				at.list(name, next)
			}
			at = next
		}
		*at = *at.describedAs(pool)
		at.said, at.known = true, known
	}
	root.inherit()
	if path, err := root.checkBelow("", "", 0); err != nil {
		return nil, fmt.Errorf("fair: pool %q: %w", path, err)
	}
	if o.Delay > 0 && !o.picks(root) {
		return nil, fmt.Errorf("fair: a delay of %v, but every pool has a policy of its own, which picks the tasks: "+
			"set the delay of that policy, such as that of fair or the NodeDelay of hfsp", o.Delay)
	}
	return root, nil
}

func newConf(p Pool, named bool) *conf {
	return (&conf{named: named}).describedAs(p)
}

// describedAs returns c with the description p.
func (c *conf) describedAs(p Pool) *conf {
	d := *c
	d.Pool = p
	d.weight = (&sojourn.Job{Weight: p.Weight}).WeightUnits()
	d.min, d.max = byClass(p.Min), byClass(p.Max)
	return &d
}

// inherit describes pools that are listed only through pools below them. It describes them like
// other unlisted pools, except how their jobs are served.
func (c *conf) inherit() {
	if c.any != nil {
		c.any.inherit()
	}
	for _, name := range slices.Sorted(maps.Keys(c.below)) {
		d := c.below[name]
		if !d.said && c.any != nil {
			like := c.any.Pool
			like.FIFO, like.Policy = false, nil
			*d = *d.describedAs(like)
		}
		d.inherit()
	}
}

func byClass(s Slots) (list []int) {
	for _, c := range slices.Sorted(maps.Keys(s)) {
		list = append(list, make([]int, int(c)+1-len(list))...)
		list[c] = s[c]
	}
	return list
}

func (c *conf) listed(name string) *conf {
	if name == anyPool {
		return c.any
	}
	return c.below[name]
}

func (c *conf) list(name string, below *conf) {
	if name == anyPool {
		c.any = below
		return
	}
	if c.below == nil {
		c.below = make(map[string]*conf)
	}
	c.below[name] = below
}

// checkBelow tests pools in relation to each other. It returns the path of the first one that is
// wrong. The paths of the pools below begin with prefix.
func (c *conf) checkBelow(path, prefix string, maxJobs int) (string, error) {
	if c.Policy != nil && maxJobs > 0 {
		return path, fmt.Errorf("a pool with a policy of its own cannot be below one that limits its jobs")
	}
	names := slices.Sorted(maps.Keys(c.below))
	if c.any != nil {
		names = append(names, anyPool)
	}
	if c.leaf() && len(names) > 0 {
		return path, fmt.Errorf("a FIFO pool, or one with a policy of its own, has no pools below it, such as %q", names[0])
	}
	for _, name := range names {
		below := prefix + name
		if path, err := c.listed(name).checkBelow(below, below+"/", max(maxJobs, c.MaxJobs)); err != nil {
			return path, err
		}
	}
	return "", nil
}

// fresh returns a copy of c, and of what is below, without policies.
func (c *conf) fresh() *conf {
	d := *c
	d.policy, d.live = nil, false
	if c.any != nil {
		d.any = c.any.fresh()
	}
	d.below = nil
	for _, name := range slices.Sorted(maps.Keys(c.below)) {
		d.list(name, c.below[name].fresh())
	}
	return &d
}

// each calls f for c and all pools below it, with their paths as in Options.Pools, in the order
// of their names. The paths of the pools below begin with prefix.
func (c *conf) each(path, prefix string, f func(path string, c *conf)) {
	f(path, c)
	names := slices.Sorted(maps.Keys(c.below))
	if c.any != nil {
		names = append(names, anyPool)
	}
	for _, name := range names {
		c.listed(name).each(prefix+name, prefix+name+"/", f)
	}
}

// leaf reports whether a pool can have no pools below it. All jobs whose paths lead there or
// further are then its own.
func (c *conf) leaf() bool { return c.FIFO || c.Policy != nil }

// find returns the description of the pool called name below c, and whether there is one.
func (c *conf) find(name string) (*conf, bool) {
	if d := c.below[name]; d != nil {
		return d, true
	}
	if c.any != nil {
		return c.any, true
	}
	return nil, false
}

// enabled reports whether the policy looks at shares.
func (p *Preemption) enabled() bool { return p.MinTimeout > 0 || p.FairTimeout > 0 }
