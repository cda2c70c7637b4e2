package sim

import (
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// bounded is the least divisor of BoundedSlowdown.
const bounded = 10 * time.Second

// bins holds the least number of tasks of each bin.
var bins = [...]int{1, 11, 101, 1001}

// A tally collects the sums of the result. Its memory does not grow with the number
// of jobs, unless the numbers of single jobs are kept.
type tally struct {
	first, last sojourn.Time // first arrival, last finish

	classes []classTally // those of the cluster

	sojourn, slowdown, bounded, tardiness series
	bins                                  [len(bins)]struct{ sojourn, slowdown series }

	completion, flow float64 // weighted sums, in seconds
	squares          float64 // sum of the squares of the slowdowns
}

// A classTally is a tally's data about a class of slots.
type classTally struct {
	busy, present int          // slots now: held by an attempt, in the cluster
	startable     int          // tasks now that are pending and may be started
	held, offered wide.Uint128 // slot-nanoseconds since the first arrival
	heldAtLast    wide.Uint128 // the same at the last finish
	offeredAtLast wide.Uint128
	idle          wide.Uint128 // the part of offered that was free although a task was startable
}

// advance accounts for the slots between two instants.
func (t *tally) advance(from, to sojourn.Time) {
	from = max(from, t.first)
	if to <= from {
		return
	}
	d := uint64(to - from)
	for i := range t.classes {
		c := &t.classes[i]
		c.held = c.held.Add(wide.Mul64(uint64(c.busy), d))
		c.offered = c.offered.Add(wide.Mul64(uint64(c.present), d))
		c.idle = c.idle.Add(wide.Mul64(uint64(min(c.present-c.busy, c.startable)), d))
	}
}

// pending recounts the tasks of a phase that are pending and may be started. Tasks of
// a class without slots do not count.
func (t *tally) pending(j *job, p int) {
	ph := &j.phases[p]
	class := int(ph.class)
	if class >= len(t.classes) {
		return
	}
	now := 0
	if j.open(p) {
		now = ph.pending
	}
	t.classes[class].startable += now - ph.counted
	ph.counted = now
}

// finished counts a job that has finished now.
func (t *tally) finished(r *JobRecord, keep bool) {
	t.last = r.Finish
	for i := range t.classes {
		c := &t.classes[i]
		c.heldAtLast, c.offeredAtLast = c.held, c.offered
	}

	sojourn, slowdown := r.Sojourn(), r.Slowdown()
	t.sojourn.add(sojourn.Seconds(), keep)
	t.bounded.add(max(1, float64(sojourn)/float64(max(r.Alone, bounded))), keep)
	if r.Deadline > 0 {
		t.tardiness.add(max(0, r.Finish.Sub(r.Deadline)).Seconds(), keep)
	}
	bin := len(bins) - 1
	for r.Tasks < bins[bin] {
		bin--
	}
	t.bins[bin].sojourn.add(sojourn.Seconds(), keep)
	if r.Alone > 0 {
		t.slowdown.add(slowdown, keep)
		t.bins[bin].slowdown.add(slowdown, keep)
		t.squares += float64(slowdown * slowdown)
	}

	t.completion += float64(r.Weight * time.Duration(r.Finish).Seconds())
	t.flow += float64(r.Weight * sojourn.Seconds())
}

// result returns the result of the run. It is a copy: a pointer into the books would keep all of the run in memory.
func (b *books) result() *Result {
	r, t := b.res, &b.tally
	r.Sojourn, r.Slowdown = t.sojourn.dist(), t.slowdown.dist()
	r.BoundedSlowdown, r.Tardiness = t.bounded.dist(), t.tardiness.dist()
	for i := range bins {
		b := Bin{Min: bins[i], Sojourn: t.bins[i].sojourn.dist(), Slowdown: t.bins[i].slowdown.dist()}
		if i+1 < len(bins) {
			b.Max = bins[i+1] - 1
		}
		r.Bins = append(r.Bins, b)
	}
	if r.Finished > 0 {
		r.Makespan = t.last.Sub(t.first)
	}
	if t.slowdown.n > 0 {
		r.Jain = float64(t.slowdown.sum*t.slowdown.sum) / float64(float64(t.slowdown.n)*t.squares)
	}
	r.Utilisation, r.Idle = make([]float64, len(t.classes)), make([]float64, len(t.classes))
	for i := range t.classes {
		c := &t.classes[i]
		if !c.offeredAtLast.IsZero() {
			r.Utilisation[i] = float128(c.heldAtLast) / float128(c.offeredAtLast)
		}
		r.Idle[i] = float128(c.idle) / 1e9
	}
	r.Events = b.events
	r.WeightedCompletion, r.WeightedSojourn = t.completion, t.flow
	r.Transfers = b.net.result(r.Attempts)
	if b.audit != nil {
		r.Audit = b.audit.result
	}
	return &r
}

func float128(x wide.Uint128) float64 { return float64(float64(x.Hi)*(1<<64)) + float64(x.Lo) }

// A series is a sequence of numbers, in the order in which they came.
type series struct {
	n        int
	sum, max float64
	all      []float64 // nil unless they are kept
}

func (s *series) add(x float64, keep bool) {
	s.n++
	s.sum += x
	s.max = max(s.max, x)
	if keep {
		s.all = append(s.all, x)
	}
}

func (s *series) dist() Dist {
	d := Dist{N: s.n, Max: s.max, Median: math.NaN(), P90: math.NaN(), P99: math.NaN()}
	if s.n > 0 {
		d.Mean = s.sum / float64(s.n)
	}
	if len(s.all) > 0 {
		slices.Sort(s.all)
		d.Median, d.P90, d.P99 = s.rank(50), s.rank(90), s.rank(99)
	}
	return d
}

// rank returns the least number that the given percentage of all numbers does not
// exceed.
func (s *series) rank(percent int) float64 { return s.all[(len(s.all)*percent+99)/100-1] }
