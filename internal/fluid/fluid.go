// Package fluid computes the exact schedules of the fluid model: one processor
// with the speed of all slots together, on which work can be divided and moved
// without cost and delay. The theorems are about this model, and schedules of
// real tasks are compared with it.
//
// All numbers are rational and nothing is rounded. The numbers get long: virtual
// time is a sum of dt C/W, whose denominator is the least common multiple of all the
// W of a busy period. In about a second it computes two thousand jobs of equal
// weight, or some hundreds of different weights. [Rounded] uses the integers of the
// policies, and computes a hundred thousand jobs in seconds.
//
// At one instant, complete jobs leave first, then jobs arrive, then the job to serve is
// chosen. Ties go by arrival: by time, then by place in the list.
package fluid

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// A Job is work that arrives at one time.
type Job struct {
	At     sojourn.Time
	Work   time.Duration // on one slot; not negative
	Weight uint64        // share of the processor under PS and in the virtual PS of FSP; any unit, at least 1
}

// A Kind is a way to serve jobs in the fluid model.
type Kind uint8

const (
	// PS shares the processor among all jobs at all times, in proportion to their
	// weights: processor sharing, or generalised processor sharing with weights.
	PS Kind = iota
	// FSP serves one job at a time: the one that completes first under PS. No job
	// completes later than under PS [Friedman and Henderson, 2003, theorem 1].
	FSP
	// SRPT serves one job at a time: the one with the shortest remaining work. No
	// schedule has a smaller mean sojourn time [Schrage, 1968].
	SRPT
	// PFSP serves one job at a time. A job may be served if it could be served to its
	// end before any job becomes late that completes before it under PS. Of these, the
	// job with the shortest remaining work is served. No job completes later than under
	// PS, or with weights under GPS [Friedman and Hurley, Protective scheduling, 2003];
	// package slack has the proof. On average jobs complete earlier than under FSP,
	// though not every job does.
	PFSP
)

// Completions returns the instant at which each job completes, in nanoseconds, on a
// processor with the speed of the given number of slots. It panics if there is no
// slot or a job is out of range. It can take long, so it calls done, unless nil, at
// each of the [Steps] of the way.
func Completions(kind Kind, slots int, jobs []Job, done func()) []*big.Rat {
	check(kind, slots, jobs)
	if done == nil {
		done = func() {}
	}
	switch kind {
	case PS:
		return share(slots, jobs, done)
	case FSP:
		// The order of two jobs under PS never changes. Service here does not change
		// it, since a job that is finished here keeps its share there. Later arrivals
		// do not change it, since they delay all jobs. So the completions of the whole
		// PS schedule are the priorities, and late jobs come first without another
		// rule.
		ps := share(slots, jobs, done)
		return serve(slots, jobs, done, func(a, b int, _ []*big.Rat) int { return ps[a].Cmp(ps[b]) })
	case SRPT:
		return serve(slots, jobs, done, func(a, b int, left []*big.Rat) int { return left[a].Cmp(left[b]) })
	case PFSP:
		return protect(slots, jobs, done)
	}
	panic("unreachable")
}

// Steps returns how many steps [Completions] makes for n jobs.
func Steps(kind Kind, n int) int {
	if kind == FSP {
		return 2 * n
	}
	return n
}

func check(kind Kind, slots int, jobs []Job) {
	if kind > PFSP {
		panic(fmt.Sprintf("fluid: kind %d", kind))
	}
	if slots < 1 {
		panic(fmt.Sprintf("fluid: %d slots", slots))
	}
	for i, j := range jobs {
		if j.At < 0 || j.Work < 0 || j.Weight == 0 {
			panic(fmt.Sprintf("fluid: job %d out of range: %+v", i, j))
		}
	}
}

// share returns the completions under PS. Virtual time g is the work that a unit
// of weight has received since the processor was last idle; a job completes when
// g reaches its tag, which is g at its arrival and its work over its weight.
func share(slots int, jobs []Job, done func()) []*big.Rat {
	type tag struct {
		g     *big.Rat
		place int
	}
	var (
		ends   = make([]*big.Rat, len(jobs))
		active = heap.New(func(a, b tag) bool {
			if c := a.g.Cmp(b.g); c != 0 {
				return c < 0
			}
			return a.place < b.place
		}, nil)
		now, g, weight = new(big.Rat), new(big.Rat), new(big.Rat)
		speed          = integer(uint64(slots))
	)
	// complete moves to the next completion, if there is one before limit or limit is
	// nil.
	complete := func(limit *big.Rat) bool {
		id, ok := active.Min()
		if !ok {
			return false
		}
		first, _ := active.MinKey()
		end := new(big.Rat).Sub(first.g, g)
		end.Add(now, end.Mul(end, weight).Quo(end, speed))
		if limit != nil && end.Cmp(limit) > 0 {
			return false
		}
		active.Remove(id)
		weight.Sub(weight, integer(jobs[id].Weight))
		ends[id], now, g = end, end, first.g
		done()
		return true
	}
	for place, id := range arrivals(jobs) {
		j := &jobs[id]
		at := integer(uint64(j.At))
		for complete(at) {
		}
		if active.Len() == 0 {
			g = new(big.Rat)
		} else {
			gain := new(big.Rat).Sub(at, now)
			g = gain.Add(g, gain.Mul(gain, speed).Quo(gain, weight))
		}
		now = at
		need := integer(uint64(j.Work))
		need.Quo(need, integer(j.Weight))
		active.Set(uint32(id), tag{need.Add(need, g), place})
		weight.Add(weight, integer(j.Weight))
	}
	for complete(nil) {
	}
	return ends
}

// serve returns the completions if one job is served at a time: the first in the
// order of compare, then of arrival. compare gets the remaining work of each
// job. Service may move a job only towards the front.
func serve(slots int, jobs []Job, done func(), compare func(a, b int, left []*big.Rat) int) []*big.Rat {
	var (
		ends  = make([]*big.Rat, len(jobs))
		left  = make([]*big.Rat, len(jobs))
		place = make([]int, len(jobs))
		// The heap orders jobs by the present values of left. This is sound because
		// only the first job changes, and it stays first.
		waiting = heap.New(func(a, b int) bool {
			if c := compare(a, b, left); c != 0 {
				return c < 0
			}
			return place[a] < place[b]
		}, nil)
		now   = new(big.Rat)
		speed = integer(uint64(slots))
	)
	// run serves the first job until it is complete, or until limit if not nil. It
	// reports whether there is time left.
	run := func(limit *big.Rat) bool {
		id, ok := waiting.Min()
		if !ok {
			return false
		}
		end := new(big.Rat).Quo(left[id], speed)
		end.Add(end, now)
		if limit != nil && end.Cmp(limit) > 0 {
			work := new(big.Rat).Sub(limit, now)
			left[id].Sub(left[id], work.Mul(work, speed))
			return false
		}
		waiting.Remove(id)
		ends[id], now = end, end
		done()
		return true
	}
	for k, id := range arrivals(jobs) {
		at := integer(uint64(jobs[id].At))
		for run(at) {
		}
		now = at
		left[id], place[id] = integer(uint64(jobs[id].Work)), k
		waiting.Set(uint32(id), id)
	}
	for run(nil) {
	}
	return ends
}

// arrivals returns the indices of jobs in the order of arrival.
func arrivals(jobs []Job) []int {
	order := make([]int, len(jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[a].At, jobs[b].At) })
	return order
}

func integer(x uint64) *big.Rat { return new(big.Rat).SetUint64(x) }
