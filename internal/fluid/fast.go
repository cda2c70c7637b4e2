package fluid

import (
	"math"
	"math/big"
	"math/bits"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slack"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// Rounded is [Completions] with the integers of the policies, by package slack.
// Virtual time is rounded as in package vclock, so the cost of a job grows with
// the logarithm of the number of jobs. Under PS a completion is rounded up, and
// may be later by the bound that package vclock proves: far less than a
// nanosecond, unless weights differ by many orders of magnitude. Under the other
// kinds jobs complete at exactly the same times. There is one exception: if two
// virtual completions, or a slack and a work, are equal or closer together than
// the bound, the decision may differ. Weights are limited to 2^48.
//
// It reports false if the times or the weights are beyond its range: the latest
// possible completion, in units in which all times and works are integers, times
// the number of slots must be below 2^62.
func Rounded(kind Kind, slots int, jobs []Job) ([]*big.Rat, bool) {
	if kind == SRPT {
		return Completions(kind, slots, jobs, nil), true // SRPT needs no virtual time
	}
	check(kind, slots, jobs)
	e, ok := newEngine(slots, jobs)
	if !ok {
		return nil, false
	}
	e.kind = kind
	return e.completions(), true
}

// An engine serves whole jobs on one slot that does one tick of work in a tick of
// time. A whole number of units is a whole number of ticks.
type engine struct {
	kind  Kind
	unit  uint64 // nanoseconds; divides all times and works
	scale uint64 // ticks in a unit; a multiple of the number of slots
	slots uint64

	jobs  []Job
	s     *slack.System[int]
	items []*slack.Item[int]
	now   sojourn.Time // in ticks
	ends  []sojourn.Time

	// decided, unless nil, is called whenever another job is served.
	decided func()
}

// newEngine chooses the shortest tick with which no time overflows.
func newEngine(slots int, jobs []Job) (*engine, bool) {
	e := &engine{slots: uint64(slots), jobs: jobs, s: slack.New[int](vqueue.LateFirst)}
	e.s.SetCapacity(1)
	last, work := uint64(0), uint64(0)
	for _, j := range jobs {
		if j.Weight > 1<<48 {
			return nil, false
		}
		e.unit = gcd(gcd(e.unit, uint64(j.At)), uint64(j.Work))
		last = max(last, uint64(j.At))
		if work += uint64(j.Work); work > math.MaxInt64 {
			return nil, false
		}
	}
	e.unit = max(e.unit, 1)
	hi, units := bits.Mul64(last/e.unit, e.slots) // the latest end, in ticks if scale were slots
	if units += work/e.unit + 1; hi != 0 || units >= 1<<62 {
		return nil, false
	}
	e.scale = e.slots * (1 << 62 / units)
	e.items = make([]*slack.Item[int], len(jobs))
	e.ends = make([]sojourn.Time, len(jobs))
	return e, true
}

// ticks converts a time or a work from nanoseconds to ticks. All slots together
// do the work of one slot-nanosecond in 1/slots nanoseconds.
func (e *engine) ticks(at uint64) sojourn.Time { return sojourn.Time(at / e.unit * e.scale) }
func (e *engine) work(w uint64) uint64         { return w / e.unit * (e.scale / e.slots) }

func (e *engine) arrive(id int) {
	e.items[id] = e.s.Arrive(id, e.work(uint64(e.jobs[id].Work)), e.jobs[id].Weight, slack.Ready)
	if e.kind == PS && e.items[id].Late() {
		e.finish(id, e.now) // there is nothing to do
	}
}

// completions runs all jobs.
func (e *engine) completions() []*big.Rat {
	for _, id := range arrivals(e.jobs) {
		e.run(e.ticks(uint64(e.jobs[id].At)))
		e.arrive(id)
	}
	e.run(math.MaxInt64)
	ends := make([]*big.Rat, len(e.jobs))
	for i, end := range e.ends {
		ends[i] = new(big.Rat).SetFrac(new(big.Int).SetInt64(int64(end)), new(big.Int).SetUint64(e.scale))
		ends[i].Mul(ends[i], integer(e.unit))
	}
	return ends
}

// run continues until limit. Jobs that complete at that instant are complete
// afterwards.
func (e *engine) run(limit sojourn.Time) {
	if e.kind == PS {
		e.s.Advance(limit, func(it *slack.Item[int], at sojourn.Time) { e.ends[it.Value] = at })
		e.now = limit
		return
	}
	for {
		it, ok := e.choose()
		if e.decided != nil {
			e.decided()
		}
		room := uint64(limit - e.now)
		if !ok || it.Work() > room {
			if ok {
				e.s.Serve(it, room)
			}
			e.advance(limit)
			return
		}
		end := e.now + sojourn.Time(it.Work())
		e.finish(it.Value, end)
		e.advance(end)
	}
}

func (e *engine) choose() (*slack.Item[int], bool) {
	if e.kind == FSP {
		return e.s.First()
	}
	return e.s.LeastCompletable()
}

func (e *engine) advance(t sojourn.Time) {
	e.s.Advance(t, nil)
	e.now = t
}

// finish records that a job completes at an instant, with all its work.
func (e *engine) finish(id int, at sojourn.Time) {
	e.ends[id] = at
	e.s.Finish(e.items[id])
}

// gcd returns the greatest common divisor; gcd(0, b) is b.
func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
