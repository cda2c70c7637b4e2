package leastwork

import (
	"math"
	"math/bits"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// What is kept of a job.
type jobData struct {
	phases  []phase
	sides   []side
	came    int64 // when it came, in nanoseconds; before time 0 where it was adopted
	refused bool  // an attempt was refused, and none has finished since
	own     own
}

// Own is how far off the estimates of one job are: the first task that finishes of each phase shows it for the other phases.
type own struct {
	votes int     // of phases with estimates; at most as many as the job has phases
	off   octaves // sum of how much longer those tasks took than their estimates
}

// A side is what is kept of the part of a job that runs on one class of slots.
type side struct {
	work wide.Uint128 // the sum of filed over its phases but those that are fresh
	new  wide.Uint128 // the same over those that are fresh
	by   octaves      // how much longer the tasks of these take than their estimates, as predicted when the job was filed last
	each uint64       // 2^by, in 2^-32: by what new is multiplied; 0 is a factor of 1
	lost wide.Uint128 // for how long its attempts held slots that failed or were refused, as far as it is charged
	owed charge.Debt  // of an attempt that failed
}

// charge takes in that an event ends an attempt on a side, which held its slot so long. What is lost is charged by the
// table of [sojourn.Cause]; of attempts that are refused, those after the first, as long as none finishes. Each
// counts for a nanosecond at least, so that a job cannot fail for ever in no time.
func (d *jobData) charge(s *side, ev *sojourn.Event, held time.Duration) {
	held = max(held, 1)
	due := uint64(0)
	switch ev.Kind {
	case sojourn.TaskRefused:
		if d.refused {
			due = uint64(held)
		}
		d.refused = true
	case sojourn.TaskFinished:
		due, _ = s.owed.End(ev, 0)
		d.refused = false
	default:
		due, _ = s.owed.End(ev, held)
	}
	s.lost = s.lost.AddCapped(wide.From64(due))
}

// newData returns what is kept of a job that comes.
func newData(j *ledger.Job[jobData]) jobData {
	return jobData{phases: make([]phase, j.NumPhases()), sides: make([]side, j.NumSides())}
}

// A phase is what is kept of a phase of a job, beside the account.
type phase struct {
	told   bool  // each task has an estimate
	bucket uint8 // of the longest one
	used   bool  // what is told was used when the phase was filed last
	doubt  doubt // in told times, then
	fresh  bool  // what is filed comes from estimates alone, which other phases of the job correct

	// Finished attempts have been as many as those that ran on, at the end of one. Before, they are the
	// shortest of those that began together, and do not tell how long the others take.
	typical bool

	all  wide.Uint128 // what its tasks take, as told; of those that are not finished: left
	left wide.Uint128
	each time.Duration // what a task is told to take in the mean; positive if told

	// What its finished attempts took, and how many they are. An attempt whose output was lost
	// still counts: it says as much of the other tasks.
	samples uint64
	took    wide.Uint128
	sampled wide.Uint128 // what they were told to take; samples where nothing is told

	// When the oldest task started that runs, or one that was older and failed; in nanoseconds,
	// and before time 0 where tasks were adopted. Meaningful while something of it runs.
	since int64

	filed wide.Uint128 // its work, when it was filed last
}

// filedIn returns the sum in which the work of a phase is counted.
func (s *side) filedIn(ph *phase) *wide.Uint128 {
	if ph.fresh {
		return &s.new
	}
	return &s.work
}

// times returns the work of fresh phases.
func (s *side) times(filed wide.Uint128) wide.Uint128 {
	if s.each == 0 {
		return filed
	}
	return scale(filed, wide.From64(s.each), wide.From64(1<<32))
}

// all returns the work of all phases of a side, as filed.
func (s *side) all() wide.Uint128 {
	if s.new.IsZero() { // as it is for most
		return s.work
	}
	return s.work.AddCapped(s.times(s.new))
}

// correct takes in how much longer tasks take than their estimates; by a factor of 2^30 at most.
func (s *side) correct(by octaves) {
	if by = min(by, 30*octave); by == s.by {
		return
	}
	s.by, s.each = by, 0
	if by != 0 {
		s.each = uint64((32*octave + by).time())
	}
}

// maxWork bounds the work of a phase, so that the work of all phases of a job is below 2^128.
var maxWork = wide.Uint128{Hi: 1 << 32}

// describe takes in the description of a phase, as it is told.
func (ph *phase) describe(spec *sojourn.Phase, account *ledger.Phase) {
	ph.told, ph.all, ph.left = spec.Estimate > 0 || spec.Estimates != nil, wide.Uint128{}, wide.Uint128{}
	if spec.Estimates == nil {
		ph.all = wide.Mul64(uint64(spec.Tasks), uint64(spec.Estimate))
		ph.left = wide.Mul64(uint64(spec.Tasks-account.Done()), uint64(spec.Estimate))
	} else {
		for i := range spec.Tasks {
			each := spec.EstimateOf(i)
			ph.told = ph.told && each > 0
			ph.all = ph.all.Add(wide.From64(uint64(each)))
			if !account.IsDone(uint32(i)) {
				ph.left = ph.left.Add(wide.From64(uint64(each)))
			}
		}
	}
	ph.bucket = reserve.Bucket(reserve.Longest(spec, 0))
	ph.average(spec)
}

// average computes what a task is told to take in the mean.
func (ph *phase) average(spec *sojourn.Phase) {
	mean, _ := ph.all.QuoRem(wide.From64(uint64(spec.Tasks)))
	ph.each = time.Duration(mean.Lo)
}

// revise takes in a description of a phase that replaces another one. Other estimates make void what the old ones were off.
func (d *jobData) revise(old *sojourn.Phase, j *ledger.Job[jobData], i int) {
	spec := &j.Spec().Phases[i]
	d.phases[i].revise(old, spec, j.Phase(i))
	if charge.Grown(old, spec) {
		return
	}
	for k := range min(old.Tasks, spec.Tasks) {
		if old.EstimateOf(k) != spec.EstimateOf(k) {
			d.own = own{}
			return
		}
	}
}

// revise takes in a description that replaces another one. Of one that has grown it reads the new tasks only.
func (ph *phase) revise(old, spec *sojourn.Phase, account *ledger.Phase) {
	if !charge.Grown(old, spec) {
		ph.describe(spec, account)
		return
	}
	for i := old.Tasks; i < spec.Tasks; i++ {
		each := spec.EstimateOf(i)
		ph.told = ph.told && each > 0
		ph.all, ph.left = ph.all.Add(wide.From64(uint64(each))), ph.left.Add(wide.From64(uint64(each)))
		ph.bucket = max(ph.bucket, reserve.Bucket(each))
	}
	ph.average(spec)
}

// grows reports whether the work of a phase grows while time passes: the oldest task runs on,
// and nothing has finished.
func (ph *phase) grows(account *ledger.Phase) bool { return ph.samples == 0 && account.Running() > 0 }

// trusts reports whether the estimates of a phase are used, and how far off such estimates are.
func (b *stats) trusts(ph *phase) (doubt, bool) { return b.doubt, ph.told && b.useTold }

// remeasure computes the work of a phase of j by the present statistics:
//
//	tasks * (prior + took) / (told + sampled)
//
// where tasks are those that neither run nor have finished, in told time; prior is what a task
// is predicted to take, and told its estimate; took and sampled are the same of what
// has finished. Where nothing is told or used, each task counts as 1. While nothing has
// finished, the prior is at least as long as the oldest task has run, and that of estimates is multiplied by
// what other phases of the job were off.
func (p *Policy) remeasure(j *ledger.Job[jobData], i int) {
	ph, side := &j.Data.phases[i], &j.Data.sides[j.Phase(i).Side()]
	sum := side.filedIn(ph)
	*sum = sum.Sub(ph.filed)
	if j.Data.own.votes > 0 {
		side.correct(p.stats.of(j.Spec().Phases[i].Class).corrects(j))
	}
	p.file(j, i)
	sum = side.filedIn(ph)
	*sum = sum.Add(ph.filed)
}

// file computes the work of a phase, and does not count it.
func (p *Policy) file(j *ledger.Job[jobData], i int) {
	ph := &j.Data.phases[i]
	b := p.stats.of(j.Spec().Phases[i].Class)
	ph.doubt, ph.used = b.trusts(ph)
	ph.fresh = ph.used && ph.samples == 0 && j.Data.own.votes > 0
	prior := ph.each
	switch {
	case !ph.used:
		prior = b.prior(j.Spec().Name)
	case !ph.fresh:
		if by := b.ratio(j.Spec().Name); by != 0 {
			prior = (log(prior) + by).time()
		}
	}
	ph.filed = p.times(j, i, uint64(prior))
	if ph.grows(j.Phase(i)) {
		if old := p.times(j, i, p.age(ph)); p.now(j, i).Less(old) {
			ph.filed, ph.fresh = old, false
		}
	}
}

// now returns the work of a phase that was filed, by what is known now from other phases of the job.
func (p *Policy) now(j *ledger.Job[jobData], i int) wide.Uint128 {
	if ph := &j.Data.phases[i]; !ph.fresh {
		return ph.filed
	}
	return j.Data.sides[j.Phase(i).Side()].times(j.Data.phases[i].filed)
}

// grown returns the work of a phase that grows: what was filed, or more as the oldest task runs on.
// Changes of the prior do not count until the phase is filed anew, so that the
// work never shrinks by itself.
func (p *Policy) grown(j *ledger.Job[jobData], i int) wide.Uint128 {
	return later(p.now(j, i), p.times(j, i, p.age(&j.Data.phases[i])))
}

// age returns for how long the oldest task of a phase has run, of which something runs. It is below
// 2^64, though it may have begun before time 0.
func (p *Policy) age(ph *phase) uint64 { return uint64(p.queue.Ledger.Now()) - uint64(ph.since) }

// times returns the work of a phase if a task takes so long before any has finished.
func (p *Policy) times(j *ledger.Job[jobData], i int, each uint64) wide.Uint128 {
	spec, account, ph := &j.Spec().Phases[i], j.Phase(i), &j.Data.phases[i]
	unfinished := spec.Tasks - account.Done()
	waiting := unfinished - account.Running()
	if waiting == 0 {
		return wide.Uint128{}
	}
	tasks, told, sampled := wide.From64(uint64(waiting)), time.Duration(1), wide.From64(ph.samples)
	if ph.used {
		tasks, _ = ph.left.MulU64(uint64(waiting)).QuoRem(wide.From64(uint64(unfinished)))
		told, sampled = ph.each, ph.sampled
	}
	return scale(tasks, ph.took.Add(wide.From64(each)), sampled.Add(wide.From64(uint64(told))))
}

// scale returns x*num/den, or maxWork if that is less.
func scale(x, num, den wide.Uint128) wide.Uint128 {
	if x.Hi|num.Hi|den.Hi == 0 { // the most common case, and the fastest
		if hi, lo := bits.Mul64(x.Lo, num.Lo); hi < den.Lo {
			q, _ := bits.Div64(hi, lo, den.Lo)
			return wide.From64(q)
		}
	}
	product, _ := wide.Uint192{Mid: x.Hi, Lo: x.Lo}.Mul(num)
	q, _ := product.QuoRem(den)
	if low := (wide.Uint128{Hi: q.Mid, Lo: q.Lo}); q.Hi == 0 && low.Less(maxWork) {
		return low
	}
	return maxWork
}

// weigh returns work over weight, in units of 2^-16 of weight; with spread times sqrt(running+1).
func weigh(work wide.Uint128, running int, spread bool, weight uint64) wide.Uint128 {
	if most := (wide.Uint128{Hi: 1 << 35}); most.Less(work) {
		work = most
	}
	factor := uint64(1) << 16
	if spread {
		factor = uint64(math.Sqrt(float64(running+1)) * (1 << 16)) // rounded once by IEEE 754, and cut
	}
	if factor == weight { // the weight of most jobs
		return work
	}
	if work.Hi == 0 {
		if hi, lo := bits.Mul64(work.Lo, factor); hi < weight {
			q, _ := bits.Div64(hi, lo, weight)
			return wide.From64(q)
		}
	}
	work, _ = work.MulU64(factor).QuoRem(wide.From64(weight))
	return work
}

// level returns at which level of the reserve a job is filed for slots of one class. Where told times
// say which phases are long, it is at most 8: about half of the reserve. Else it is so for phases that are known to be
// short, since their finished tasks, which are as many as ran beside them, were shorter than two thirds of the first tasks.
func (p *Policy) level(j *ledger.Job[jobData], side *ledger.Side) int {
	ph, running := &j.Data.phases[j.NextPhase(side)], side.Running()
	b := p.stats.of(side.Class())
	doubt, used := b.trusts(ph)
	rank := p.queue.Reserve().Lengths(side.Class()).Rank(ph.bucket)
	switch {
	case p.unopposed(j, side) && (!used || 4*rank.Num <= 3*rank.Den):
		return 0
	case used && doubt != useless && b.useRank:
		return told(rank, running)
	case ph.typical:
		mean, _ := ph.took.QuoRem(wide.From64(ph.samples))
		if u := b.seen.rank(time.Duration(mean.Lo)); 3*u.Num < u.Den {
			return told(u, running)
		}
	}
	return reserve.LevelUnknown(running)
}

// unopposed reports whether free slots are enough for all that a job can start in one class, and no
// other job has anything to start there. The policy of a pool does not know, and says no.
func (p *Policy) unopposed(j *ledger.Job[jobData], side *ledger.Side) bool {
	c := side.Class()
	if p.reserve.In != nil || 4*side.Startable() > side.Running() || side.Startable() > p.queue.Ledger.FreeSlots(c) {
		return false
	}
	return !p.queue.Opposed(c, j.Handle())
}

// told returns the level of a job whose phase has rank u and of whose tasks r run:
//
//	floor(8.999 x (u+r) / (1+xr)), x = min(1, (u/(1-u))^2)
//
// Of the longer half of the phases, that is about half the level of package reserve. Those of the
// shorter half leave less, though many of their tasks may run.
//
// In integers, with u and x in 2^-16, rounded down; more than 65535 tasks count as so many.
func told(rank reserve.Rank, running int) int {
	const one = 1 << 16
	u := uint64(0)
	if rank.Den > 0 {
		u = rank.Num * one / rank.Den
	}
	x := uint64(one)
	if u < one/2 {
		x = u * u * one / ((one - u) * (one - u))
	}
	r := uint64(min(running, one-1))
	return int(8999 * (x * (u + r*one) / one) / (one + x*r) / 1000)
}
