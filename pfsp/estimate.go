package pfsp

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// An estimate is what is known of the sizes of the tasks of a phase, and from that
// its remaining work w (eq. 5).
//
// Each task has a prior: its estimate, or the default. The prior is corrected by
// the ratio, the mean time of a finished task in relation to its prior, which is
// Avg(T) of eqs. (1) and (2) for tasks that are alike. With exact sizes the ratio
// is 1 for ever. The account is one of work, in slot-nanoseconds and not divided by
// the number of slots as in eqs. (3) and (4): then slots that come and go change
// how fast work is done and not how much there is.
type estimate struct {
	unknown time.Duration // prior of tasks without an estimate
	known   bool          // every task came with an estimate
	wrong   bool          // some estimate was not what the task took

	left    wide.Uint128 // priors of the tasks that are not finished
	running wide.Uint128 // of these, the priors of those that run
	tasks   int          // that run

	// How long the running tasks have held their slots, in slot-nanoseconds, at the
	// instant seen.
	elapsed wide.Uint128
	seen    sojourn.Time

	ratio wide.Uint128 // in 2^-32, from 1 to below 2^95

	// What finished tasks took, their priors and their number; and the same at the
	// last re-estimation.
	finished, used total
	reestimated    sojourn.Time // when that was; when the phase became ready if never
	progress       uint16       // of the attempt whose progress the ratio comes from; 0 if none
}

// A total is a sum over tasks.
type total struct {
	service, prior wide.Uint128
	tasks          uint64
}

// one is a ratio of 1.
const one = 1 << 32

// prior returns what a task is expected to take before any of the phase has
// finished.
func (e *estimate) prior(ph *sojourn.Phase, index uint32) wide.Uint128 {
	if d := ph.EstimateOf(int(index)); d > 0 {
		return wide.From64(uint64(d))
	}
	return wide.From64(uint64(e.unknown))
}

// read takes over the priors from the description of a phase.
func (e *estimate) read(spec *sojourn.Phase, ph *ledger.Phase) {
	e.left, e.known = wide.Uint128{}, spec.Estimate > 0
	if spec.Estimates == nil {
		each := e.prior(spec, 0)
		e.left = each.MulU64(uint64(spec.Tasks - ph.Done()))
		return
	}
	e.known = true
	for i := range uint32(spec.Tasks) {
		if !ph.IsDone(i) {
			e.left = e.left.Add(e.prior(spec, i))
		}
		if spec.EstimateOf(int(i)) == 0 {
			e.known = false
		}
	}
}

// exact reports whether the sizes are what they are said to be, as far as anybody
// knows.
func (e *estimate) exact() bool { return e.known && !e.wrong }

// advance lets time pass for the running tasks.
func (e *estimate) advance(now sojourn.Time) {
	e.elapsed = e.elapsed.Add(wide.Mul64(uint64(e.tasks), uint64(now.Sub(e.seen))))
	e.seen = now
}

// start records that a task runs.
func (e *estimate) start(now sojourn.Time, prior wide.Uint128) {
	e.advance(now)
	e.running = e.running.Add(prior)
	e.tasks++
}

// stop records that a task runs no more that started at start.
func (e *estimate) stop(now, start sojourn.Time, prior wide.Uint128) {
	e.advance(now)
	e.elapsed = e.elapsed.Sub(wide.From64(uint64(now.Sub(start))))
	e.tasks--
	if e.running = less(e.running, prior); e.tasks == 0 {
		e.running = wide.Uint128{} // a revision may have changed priors of running tasks
	}
}

// finish records that a task that has stopped took that long.
func (e *estimate) finish(prior wide.Uint128, service time.Duration) {
	e.left = less(e.left, prior)
	e.finished.service = e.finished.service.Add(wide.From64(uint64(service)))
	e.finished.prior = e.finished.prior.Add(prior)
	e.finished.tasks++
	if wide.From64(uint64(service)) != prior {
		e.wrong = true
	}
}

// work returns w: what the tasks that do not run will take, and what is left of
// those that do. It is at least 1, the paper's w_min, while a task is not finished.
func (e *estimate) work() uint64 {
	waiting := scale(less(e.left, e.running), e.ratio)
	rest := scale(e.running, e.ratio)
	if e.elapsed.Less(wide.From64(rest)) {
		rest -= e.elapsed.Lo
	} else {
		rest = 0
	}
	return max(1, wide.From64(waiting).Add(wide.From64(rest)).Clamp63())
}

// attained returns the slot time that the phase has had, attempts that failed not
// counted.
func (e *estimate) attained(now sojourn.Time) wide.Uint128 {
	return e.finished.service.Add(e.elapsed).Add(wide.Mul64(uint64(e.tasks), uint64(now.Sub(e.seen))))
}

// exhausted reports whether the phase has used up what it was expected to need
// while tasks wait to be started.
func (e *estimate) exhausted(now sojourn.Time) bool {
	left := max(1, scale(e.left, e.ratio))
	whole := e.finished.service.Add(wide.From64(left))
	return left < math.MaxInt64 && !e.attained(now).Less(whole) && e.running.Less(e.left)
}

// double makes the work that is left of an exhausted phase, beyond what running
// tasks have done, at least as much as it has attained, or the largest that there is. It
// is not exhausted then.
func (e *estimate) double(now sojourn.Time) {
	e.ratio = limited(e.bounded(e.attained(now).Add(e.elapsed), e.left).Add(wide.From64(1)))
}

// inRange reports whether the sums and the ratio are small enough that no calculation with
// them goes out of range.
func (e *estimate) inRange() bool {
	f, u := &e.finished, &e.used
	return e.unknown > 0 && e.ratio == limited(e.ratio) && e.running.Hi < 1<<31 &&
		max(f.service.Hi, f.prior.Hi, u.service.Hi, u.prior.Hi) < 1<<31 && f.tasks < 1<<32 &&
		!f.service.Less(u.service) && !f.prior.Less(u.prior) && u.tasks <= f.tasks
}

// due reports whether enough tasks have finished since the last re-estimation for
// another one: as many as before.
func (e *estimate) due(now sojourn.Time, interval time.Duration) bool {
	return e.wrong && e.finished.tasks >= max(1, 2*e.used.tasks) && now.Sub(e.reestimated) >= interval
}

// sample returns the mean time of a task in relation to its prior, of those that
// finished since the last re-estimation with an average that forgets, else of all.
func (e *estimate) sample(alpha uint64) wide.Uint128 {
	if alpha == 0 {
		return e.bounded(e.finished.service, e.finished.prior)
	}
	return e.bounded(e.finished.service.Sub(e.used.service), e.finished.prior.Sub(e.used.prior))
}

// reestimate takes a sample into the average: eq. (2), where the sample is the time
// of a task and not of the phase.
func (e *estimate) reestimate(now sojourn.Time, sample wide.Uint128, alpha uint64) {
	old, fresh := e.ratio.MulU64(alpha), sample.MulU64(1<<16-alpha)
	e.ratio, _ = old.Add(fresh).QuoRem(wide.From64(1 << 16))
	if e.ratio.IsZero() {
		e.ratio = wide.From64(1)
	}
	e.used, e.reestimated = e.finished, now
}

// bounded returns x/y as a ratio, rounded down and limited.
func (e *estimate) bounded(x, y wide.Uint128) wide.Uint128 {
	for x.Hi>>32 != 0 {
		x, y = half(x), half(y)
	}
	if y.IsZero() {
		y = wide.From64(1)
	}
	q, _ := x.Shl(32).QuoRem(y)
	return limited(q)
}

// limited returns the ratio that is closest to q: at least 2^-32 and below 2^63.
func limited(q wide.Uint128) wide.Uint128 {
	switch {
	case q.IsZero():
		return wide.From64(1)
	case q.Hi>>31 != 0:
		return wide.Uint128{Hi: 1<<31 - 1, Lo: math.MaxUint64}
	}
	return q
}

func half(x wide.Uint128) wide.Uint128 {
	return wide.Uint128{Hi: x.Hi >> 1, Lo: x.Lo>>1 | x.Hi<<63}
}

// less returns x-y, or 0 if that is negative.
func less(x, y wide.Uint128) wide.Uint128 {
	if x.Less(y) {
		return wide.Uint128{}
	}
	return x.Sub(y)
}

// scale returns x times a ratio, rounded down and clamped.
func scale(x, ratio wide.Uint128) uint64 {
	if ratio == wide.From64(one) || x.IsZero() {
		return x.Clamp63()
	}
	product, fits := wide.Uint192{Mid: x.Hi, Lo: x.Lo}.Mul(ratio)
	if !fits || product.Hi != 0 || product.Mid>>31 != 0 {
		return math.MaxInt64
	}
	return product.Mid<<32 | product.Lo>>32
}
