package vclock

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// Shift is the resolution of work: a unit of work is 2^-Shift slot-nanoseconds.
const Shift = 96

// The limits of a clock.
const (
	MaxWork   = 1 << 63 // of a job, in slot-nanoseconds
	MaxWeight = 1 << 48 // of a job, in units of 2^-16
	MaxSlots  = 1<<31 - 1
)

// A Tag is an instant of virtual time, in units of work for each unit of weight.
type Tag = wide.Uint192

// MaxTag is later than the tag of any job.
var MaxTag = Tag{Hi: math.MaxUint64, Mid: math.MaxUint64, Lo: math.MaxUint64}

// A Clock is the virtual time of a virtual cluster. The zero Clock is at time 0 and has
// neither slots nor jobs. It does not know its jobs: the caller keeps their tags.
type Clock struct {
	slots uint64
	now   sojourn.Time

	g      Tag          // virtual time; 0 while there are no jobs
	carry  wide.Uint192 // units of work that were done and are not in g; 0 while there are no jobs
	weight wide.Uint128 // W: the sum of the weights of the jobs
}

// Now returns the present instant.
func (c *Clock) Now() sojourn.Time { return c.now }

// Weight returns W.
func (c *Clock) Weight() wide.Uint128 { return c.weight }

// State returns virtual time, and the work that is done and not in it.
func (c *Clock) State() (g Tag, carry wide.Uint192) { return c.g, c.carry }

// SetSlots sets the number of slots from now on, at most [MaxSlots]. Without slots
// virtual time stands still.
func (c *Clock) SetSlots(n int) {
	if n < 0 || n > MaxSlots {
		panic("vclock: slots out of range")
	}
	c.slots = uint64(n)
}

// Check panics unless a job can have that work, in slot-nanoseconds, and that weight.
func Check(work, weight uint64) {
	if work > MaxWork || weight == 0 || weight > MaxWeight {
		panic("vclock: work or weight out of range")
	}
}

// Pass advances to instant t, and returns the work that was done meanwhile, 0 while
// there are no jobs. It panics if t is in the past. If work was done, the caller then
// calls [Clock.Complete].
func (c *Clock) Pass(t sojourn.Time) (done wide.Uint192) {
	if t < c.now {
		panic("vclock: time runs backwards")
	}
	if !c.weight.IsZero() {
		d := wide.Mul64(uint64(t-c.now), c.slots)
		done = wide.Uint192{Hi: d.Hi<<32 | d.Lo>>32, Mid: d.Lo << 32}
		c.carry = c.carry.Add(done)
	}
	c.now = t
	return done
}

// Complete removes the complete jobs from the clock, in the order of their tags. first
// returns the tag and the weight of the job with the least tag; false if there is none.
// For each complete job, Complete calls leave with the instant of completion, rounded
// up. leave removes the job that first returned from the caller's jobs.
func (c *Clock) Complete(first func() (Tag, uint64, bool), leave func(at sojourn.Time)) {
	for {
		tag, weight, ok := first()
		if !ok {
			return
		}
		need, fits := tag.Sub(c.g).Mul(c.weight)
		if !fits || c.carry.Less(need) {
			return
		}
		c.g, c.carry = tag, c.carry.Sub(need)
		c.weight = c.weight.Sub(wide.From64(weight))
		since, _ := whole(c.carry).QuoRem(wide.From64(c.slots))
		if c.weight.IsZero() {
			c.g, c.carry = Tag{}, wide.Uint192{}
		}
		leave(c.now - sojourn.Time(since.Lo))
	}
}

// Next returns when the job with the least tag will be complete, rounded up, if nothing
// happens before. It reports false if that is beyond the range of [sojourn.Time].
func (c *Clock) Next(tag Tag) (sojourn.Time, bool) {
	need, fits := tag.Sub(c.g).Mul(c.weight)
	if !fits || c.slots == 0 {
		return 0, false
	}
	wait, rest := wholeUp(need.Sub(c.carry)).QuoRem(wide.From64(c.slots))
	if !rest.IsZero() {
		wait = wait.Add(wide.From64(1))
	}
	if wait.Hi != 0 || wait.Lo > math.MaxInt64-uint64(c.now) {
		return 0, false
	}
	return c.now + sojourn.Time(wait.Lo), true
}

// Enter adds a job with the given units of work left, more than 0, and returns its tag:
// at most latest, which is [MaxTag] for a job that comes, and what [Clock.Revise] returned
// for one that comes again. Work above [MaxWork] is ignored.
func (c *Clock) Enter(left wide.Uint192, weight uint64, latest Tag) Tag {
	c.settle()
	if most := Units(MaxWork); most.Less(left) {
		left = most
	}
	tag := c.after(left, weight)
	if latest.Less(tag) {
		tag = latest
	}
	c.weight = c.weight.Add(wide.From64(weight))
	return tag
}

// after returns the tag of a job that comes now with the given work left.
func (c *Clock) after(left wide.Uint192, weight uint64) Tag {
	tag := c.g.Add(ceil(left, weight))
	if !c.carry.IsZero() {
		tag = tag.Add(wide.Uint192{Lo: 1}) // the job will share in the carry, which was done before it came
	}
	return tag
}

// Leave removes a job before it is complete, with its share of the carry, rounded up:
// for the others, virtual time including the carry does not advance. It returns that
// share.
func (c *Clock) Leave(weight uint64) (share wide.Uint192) {
	c.settle()
	q, rest := c.small().MulU64(weight).QuoRem(c.weight)
	if !rest.IsZero() {
		q = q.Add(wide.From64(1))
	}
	share = wide.Uint192{Mid: q.Hi, Lo: q.Lo}
	c.carry = c.carry.Sub(share)
	c.weight = c.weight.Sub(wide.From64(weight))
	if c.weight.IsZero() {
		c.g = Tag{}
	}
	return share
}

// Left returns the units of work that a job has left, without deducting its share of
// the carry.
func (c *Clock) Left(tag Tag, weight uint64) wide.Uint192 {
	left, fits := tag.Sub(c.g).Mul(wide.From64(weight))
	if !fits {
		panic("vclock: tag out of range")
	}
	return left
}

// Revise replaces the work of a job, in slot-nanoseconds, and its weight. The work that
// it has left changes by as much as its work, but not below 0. If it keeps its weight
// and has work left it stays, with the tag that Revise returns: at most that of a job
// that comes now with [MaxWork]. Otherwise the caller removes it by [Clock.Leave], and
// adds it by [Clock.Enter] with the work left, unless that is 0; its tag is then revised at
// most. A job that gains weight and no work keeps its tag or gets an earlier one: rounding
// up does not put it behind a job that it tied with.
func (c *Clock) Revise(tag Tag, was, work, oldWeight, weight uint64) (left wide.Uint192, revised Tag, stays bool) {
	c.settle()
	left, before := c.Left(tag, oldWeight).Add(Units(work)), Units(was)
	if left.Less(before) {
		return wide.Uint192{}, MaxTag, false
	}
	left = left.Sub(before)
	if weight != oldWeight || left.IsZero() {
		if weight >= oldWeight && work <= was {
			return left, tag, false
		}
		return left, MaxTag, false
	}
	revised = c.g.Add(ceil(left, weight))
	if most := Units(MaxWork); most.Less(left) {
		if last := c.after(most, weight); last.Less(revised) {
			revised = last
		}
	}
	return left, revised, true
}

// Remaining returns the work that a job has left, in slot-nanoseconds, rounded up.
func (c Clock) Remaining(tag Tag, weight uint64) uint64 {
	c.settle()
	share, _ := c.small().MulU64(weight).QuoRem(c.weight)
	return wholeUp(c.Left(tag, weight).Sub(wide.Uint192{Mid: share.Hi, Lo: share.Lo})).Lo
}

// settle moves the carry into virtual time, so that the carry is below W. It completes
// no job.
func (c *Clock) settle() {
	if c.carry.Less(wide.Uint192{Mid: c.weight.Hi, Lo: c.weight.Lo}) || c.carry.IsZero() {
		return
	}
	gain, rest := c.carry.QuoRem(c.weight)
	c.g, c.carry = c.g.Add(gain), wide.Uint192{Mid: rest.Hi, Lo: rest.Lo}
}

// small returns the carry after settle.
func (c *Clock) small() wide.Uint128 { return wide.Uint128{Hi: c.carry.Mid, Lo: c.carry.Lo} }

// Save writes virtual time. The caller saves the instant, slots and jobs.
func (c Clock) Save(w *snapshot.Writer) {
	c.settle()
	c.g.Save(w)
	c.small().Save(w)
}

// Restore reads what Save has written into a zero clock, and sets its instant and
// number of slots. The caller then calls [Clock.Admit] for each job, and
// [Clock.Restored].
func (c *Clock) Restore(r *snapshot.Reader, now sojourn.Time, slots int) {
	c.now = now
	c.SetSlots(slots)
	c.g = wide.Restore192(r)
	carry := wide.Restore128(r)
	c.carry = wide.Uint192{Mid: carry.Hi, Lo: carry.Lo}
	most, _ := Units(uint64(now)).Mul(wide.From64(MaxSlots))
	r.Check(!most.Less(c.g), "virtual time is out of range")
}

// Admit adds a job whose tag was read. It reports whether the tag is possible: later
// than now, and at most that of a job that comes now with [MaxWork].
func (c *Clock) Admit(r *snapshot.Reader, tag Tag, weight uint64) bool {
	if r.Err() != nil {
		return false
	}
	last := c.g.Add(ceil(Units(MaxWork), weight)).Add(wide.Uint192{Lo: 1})
	if !r.Check(c.g.Less(tag) && !last.Less(tag), "a tag is out of range") {
		return false
	}
	c.weight = c.weight.Add(wide.From64(weight))
	return true
}

// Restored tests the fields that depend on all jobs.
func (c *Clock) Restored(r *snapshot.Reader) {
	r.Check(c.carry.IsZero() || c.small().Less(c.weight), "the carry is out of range")
	r.Check(!c.weight.IsZero() || c.g.IsZero(), "virtual time of nothing")
}

// Units returns x slot-nanoseconds in units of work.
func Units(x uint64) wide.Uint192 { return wide.Uint192{Hi: x >> 32, Mid: x << 32} }

// whole returns x in slot-nanoseconds, rounded down, and wholeUp rounded up.
func whole(x wide.Uint192) wide.Uint128 {
	return wide.Uint128{Hi: x.Hi >> 32, Lo: x.Hi<<32 | x.Mid>>32}
}

func wholeUp(x wide.Uint192) wide.Uint128 {
	y := whole(x)
	if x.Mid<<32|x.Lo != 0 {
		y = y.Add(wide.From64(1))
	}
	return y
}

// ceil returns x/y, rounded up.
func ceil(x wide.Uint192, y uint64) wide.Uint192 {
	q, r := x.QuoRem(wide.From64(y))
	if !r.IsZero() {
		q = q.Add(wide.Uint192{Lo: 1})
	}
	return q
}
