// Package gpstest is generalised processor sharing by its definition, for tests.
// Policies and simulators use virtual time in integers; this package computes job by
// job, from one completion to the next, in rational numbers. It shares no code with
// them.
package gpstest

import (
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A Cluster shares its slots among the jobs that are there, in proportion to their
// weights, as if work could be spread over any number of slots.
type Cluster struct {
	Now   sojourn.Time
	Slots int    // from now on
	Jobs  []*Job // in the order of arrival, also those that are complete

	complete int
}

// A Job is work in a [Cluster].
type Job struct {
	Left   *big.Rat // work, in slot-nanoseconds
	Weight *big.Rat

	// Limit, unless 0, is how many slots the job can use. Fair sharing in the fluid
	// model has no limits, but mutants have.
	Limit int

	Place int      // in the order of completion, from 1; 0 until then
	Ended *big.Rat // the instant of completion, nil until then
}

// Arrive adds a job at the present instant. Work is in slot-nanoseconds, above 0; a
// weight of 0 means 1.
func (c *Cluster) Arrive(work int64, weight float64) *Job {
	if weight == 0 {
		weight = 1
	}
	j := &Job{Left: new(big.Rat).SetInt64(work), Weight: new(big.Rat).SetFloat64(weight)}
	c.Jobs = append(c.Jobs, j)
	return j
}

// Advance moves to instant t.
func (c *Cluster) Advance(t sojourn.Time) {
	left := integer(int64(t - c.Now))
	c.Now = t
	for left.Sign() > 0 {
		rates := c.rates()
		step, busy := new(big.Rat).Set(left), false
		for i, j := range c.Jobs {
			if j.Ended == nil && rates[i].Sign() > 0 {
				busy = true
				if d := new(big.Rat).Quo(j.Left, rates[i]); d.Cmp(step) < 0 {
					step = d
				}
			}
		}
		if !busy {
			return
		}
		left.Sub(left, step)
		for i, j := range c.Jobs {
			if j.Ended != nil {
				continue
			}
			if j.Left.Sub(j.Left, rates[i].Mul(rates[i], step)); j.Left.Sign() == 0 {
				c.complete++
				j.Place = c.complete
				j.Ended = new(big.Rat).Sub(integer(int64(t)), left)
			}
		}
	}
}

// Drain advances until all jobs are complete. There must be a slot.
func (c *Cluster) Drain() {
	for c.complete < len(c.Jobs) {
		c.Advance(2*c.Now + sojourn.Time(1<<20))
	}
}

// rates returns the rate at which each job is served: its share of the slots; with
// limits, the share of those that the limited ones leave.
func (c *Cluster) rates() []*big.Rat {
	rates := make([]*big.Rat, len(c.Jobs))
	free := integer(int64(c.Slots))
	for again := true; again; {
		again = false
		total := new(big.Rat)
		for i, j := range c.Jobs {
			if j.Ended == nil && rates[i] == nil {
				total.Add(total, j.Weight)
			}
		}
		if total.Sign() == 0 {
			break
		}
		each := new(big.Rat).Quo(free, total)
		for i, j := range c.Jobs {
			if most := integer(int64(j.Limit)); j.Limit > 0 && j.Ended == nil && rates[i] == nil &&
				most.Cmp(new(big.Rat).Mul(each, j.Weight)) < 0 {
				rates[i], again = most, true
				free.Sub(free, most)
			}
		}
		for i, j := range c.Jobs {
			if !again && j.Ended == nil && rates[i] == nil {
				rates[i] = new(big.Rat).Mul(each, j.Weight)
			}
		}
	}
	for i := range rates {
		if rates[i] == nil {
			rates[i] = new(big.Rat)
		}
	}
	return rates
}

// Before reports whether a completes before b, which arrived after it, if no job has a
// limit. A complete job comes before one that is not complete; with forgotten, which
// is a mutant, it comes after.
func Before(a, b *Job, forgotten bool) bool {
	switch {
	case a.Ended != nil && b.Ended != nil:
		return a.Place < b.Place
	case a.Ended != nil || b.Ended != nil:
		return (a.Ended != nil) != forgotten
	}
	return new(big.Rat).Mul(a.Left, b.Weight).Cmp(new(big.Rat).Mul(b.Left, a.Weight)) <= 0
}

// Ahead returns how far a job is from its completion: the work that it has left per
// weight, or minus the time since its completion.
func (c *Cluster) Ahead(j *Job) *big.Rat {
	if j.Ended != nil {
		return new(big.Rat).Sub(j.Ended, integer(int64(c.Now)))
	}
	return new(big.Rat).Quo(j.Left, j.Weight)
}

// Time returns the time until the completion of a job if no other job comes or goes
// before.
func (c *Cluster) Time(j *Job) *big.Rat {
	return new(big.Rat).Quo(j.Left, c.rates()[slices.Index(c.Jobs, j)])
}

func integer(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }
