package sojourn

import (
	"fmt"
	"maps"
	"slices"
)

// A Pool says how a group of jobs is treated while a policy runs: see [PoolChanged]. Observe keeps the pointer: neither
// the driver nor the policy may change the pool, or anything it refers to, afterwards.
type Pool struct {
	// Name is what [Job.Pool] says: a path, where the policy nests pools. The pool need not have jobs.
	Name string

	// Weight is the pool's share relative to its siblings. Zero means 1; otherwise it is at least 2^-16 and
	// below 2^32.
	Weight float64

	// Min is the number of slots, by class, that the pool gets before its siblings get more than their
	// minimums, as long as it has tasks.
	Min Slots

	// Max is the number of tasks, by class, that the pool may run at a time. A class that is absent has no
	// limit. Not below Min.
	Max Slots

	// MaxJobs is the number of jobs of the pool that may run tasks at a time. Zero means no limit.
	MaxJobs int

	// Paused says that no task of the pool starts. What runs goes on.
	Paused bool
}

// Slots counts slots by class, each count at least 1, or 0 in a minimum, and at most [MaxSlots].
type Slots map[Class]int

// IsZero reports whether p says nothing but a name: the pool is then as the policy was made with.
func (p *Pool) IsZero() bool {
	return p.Weight == 0 && len(p.Min) == 0 && len(p.Max) == 0 && p.MaxJobs == 0 && !p.Paused
}

// Check returns the first thing that is wrong with p, or nil: a weight, a class, a number of slots or jobs out of range,
// or a maximum below the minimum. The error wraps [ErrInvalidPool] and names the place.
func (p *Pool) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalidPool, fmt.Sprintf(format, args...))
	}
	switch {
	case p == nil:
		return bad("nil")
	case p.Weight != 0 && !(p.Weight >= 1.0/weightUnit && p.Weight < 1<<32):
		return bad("weight %v is not in [2^-16, 2^32)", p.Weight)
	case p.MaxJobs < 0 || p.MaxJobs > MaxTasks:
		return bad("%d jobs, want 0 to %d", p.MaxJobs, MaxTasks)
	}
	for _, c := range slices.Sorted(maps.Keys(p.Min)) {
		if n := p.Min[c]; c >= MaxClasses || n < 0 || n > MaxSlots {
			return bad("minimum of class %d: %d slots, want 0 to %d of a class below %d", c, n, MaxSlots, MaxClasses)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(p.Max)) {
		switch n := p.Max[c]; {
		case c >= MaxClasses || n < 1 || n > MaxSlots:
			return bad("maximum of class %d: %d tasks, want 1 to %d of a class below %d", c, n, MaxSlots, MaxClasses)
		case n < p.Min[c]:
			return bad("maximum of class %d: %d tasks, below the minimum of %d", c, n, p.Min[c])
		}
	}
	return nil
}

// A Sharer divides slots among pools, and can say how.
type Sharer interface {
	// Pool returns how the pool that jobs of this [Job.Pool] belong to is treated now, whether or not it has jobs,
	// under its own name. It reports false if there can be no such pool.
	Pool(name string) (Pool, bool)

	// AppendShares appends what each pool with live jobs has of the slots of a class, and what it is entitled to, and
	// returns the extended slice: in the order of their names, each pool before those inside it. It may look at all
	// live jobs.
	AppendShares(dst []Share, c Class) []Share
}

// A Share is what a pool has of the slots of one class, and what it is entitled to.
type Share struct {
	Pool     string
	Running  int     // tasks
	Demand   int     // tasks that it could run at a time, within its limits: those that run and those that could start
	Entitled float64 // slots: max-min fair by weight, with the minimums and limits, among the pools that have tasks now
}
