package mars

import (
	"cmp"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// Policy is SO-MarS (Section 5.3) as a [sojourn.Policy]: free slots take tasks in the
// order of the middle times of a plan for the work that waits. It is also a
// [sojourn.Supporter], a [sojourn.Waker], a [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and
// a [sojourn.Snapshotter]. See the package comment.
type Policy struct {
	opts  Options
	queue *queue.Phases[waitingJob, rank]

	seen   bool         // a job has arrived
	anchor sojourn.Time // when the first job arrived: batch intervals are counted from here
	open   bool         // there is something to plan
	due    sojourn.Time // when the next plan is due, unless another is being made; no meaning unless open

	// arrived are the live jobs in the order of arrival, among some that have ended.
	arrived  []arrival
	planning *planning // the plan that is being made; nil if there is none

	plans  uint64       // number of plans so far
	at     sojourn.Time // when the latest plan was due, where its time begins; no meaning if there is none
	prices []lp.Price   // of the latest plan
}

// A waitingJob is the policy's data about a job.
type waitingJob struct {
	// known says that c is C_j of the linear program. batch is the number of the plan to
	// which the job is committed; 0 if plans are not committed.
	known bool
	c     sojourn.Time
	batch uint64

	phases []phaseShape
}

// A phaseShape describes a phase to a plan: it is one item of the job form.
type phaseShape struct {
	left wide.Uint128 // sum of p_u of the tasks that are not finished, in nanoseconds
	mean int64        // of p_u, over all tasks
	q    int64        // greatest q_u: from a start to C_j
	h    int64        // mean of h_u: from a middle to C_j
}

// A rank is the place of a phase in the order: the mean M of its tasks. Ties go by arrival
// and then by phase, as in Algorithm 2.
type rank struct {
	batch uint64
	m     int64
	seq   uint64
	phase int
}

func (a rank) less(b rank) bool {
	switch {
	case a.batch != b.batch:
		return a.batch < b.batch
	case a.m != b.m:
		return a.m < b.m
	case a.seq != b.seq:
		return a.seq < b.seq
	}
	return a.phase < b.phase
}

func (a rank) prefix() (hi, lo uint64) { return a.batch, uint64(a.m) ^ 1<<63 }

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{opts: opts.settle()}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	*p = Policy{opts: p.opts, queue: queue.NewPhases(queue.PhaseOrder[waitingJob, rank]{
		Key: func(j *ledger.Job[waitingJob], phase int, _ uint32) (rank, bool) {
			d := &j.Data
			return rank{d.batch, int64(d.c) - d.phases[phase].h, j.Seq(), phase}, d.known
		},
		Less:     rank.less,
		Prefix:   rank.prefix,
		Supports: option.Features&^sojourn.FeatureNeeds | sojourn.FeatureParallelism,
		// M_u = C_j - h_u: within a phase the task with the greatest h_u starts first.
		Within: func(ph *sojourn.Phase) func(a, b uint32) int {
			if ph.Estimates == nil && ph.Delays == nil {
				return nil
			}
			return func(a, b uint32) int { return cmp.Compare(p.half(ph, b), p.half(ph, a)) }
		},
	})}
}

// time returns p_u of a task, by its estimate or the default.
func (p *Policy) time(ph *sojourn.Phase, task uint32) int64 {
	return min(int64(cmp.Or(ph.EstimateOf(int(task)), p.opts.DefaultTaskTime)), maxLength)
}

// half returns two times p_u/2 + d_u, the task's own part of h_u.
func (p *Policy) half(ph *sojourn.Phase, task uint32) int64 {
	return p.time(ph, task) + 2*delay(ph, task)
}

func delay(ph *sojourn.Phase, task uint32) int64 {
	if ph.Delays == nil {
		return 0
	}
	return min(int64(ph.Delays[task]), maxLength)
}

// maxLength and maxTail bound lengths of time to about nine and 73 years, so that sums of
// several cannot overflow. Longer ones count as the bound.
const (
	maxLength = math.MaxInt64 / 32
	maxTail   = math.MaxInt64 / 4
)

// Observe implements [sojourn.Policy]. It makes the plan that is due.
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	// Jobs that arrive at the instant at which a plan is due take part in it. The plan is
	// made at the Tick that the driver owes, or before any later event.
	// A long plan goes on at further instants.
	if at, ok := p.NextWake(); ok && (ev.At > at || ev.Kind == sojourn.Tick && ev.At == at) {
		p.plan(ev.At)
	}
	c := p.queue.Apply(&ev)
	if c.Job != nil {
		p.account(&ev, c.Job)
	}
	p.queue.File(&ev, c)
	return nil
}

// account updates the plan's data about the job that an event concerns.
func (p *Policy) account(ev *sojourn.Event, j *ledger.Job[waitingJob]) {
	d := &j.Data
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		if ev.Kind != sojourn.JobRevised {
			p.remember(j)
		}
		p.describe(j)
		if p.opts.Batch == 0 {
			p.fit(j)
		}
		if !p.opts.Commit || !d.known {
			p.request()
		}
	case sojourn.TaskFinished, sojourn.TaskDone:
		left := &d.phases[ev.Task.Phase].left
		*left = left.Sub(p.work(j, ev.Task))
	case sojourn.OutputLost:
		left := &d.phases[ev.Task.Phase].left
		*left = left.Add(p.work(j, ev.Task))
	}
}

// remember notes that a job has arrived. Between two plans it forgets jobs that have ended, once
// they are more than half of all.
func (p *Policy) remember(j *ledger.Job[waitingJob]) {
	if p.planning == nil && len(p.arrived) > 2*p.queue.Ledger.Live()+16 {
		p.arrived = slices.DeleteFunc(p.arrived, func(a arrival) bool { return p.live(a) == nil })
	}
	p.arrived = append(p.arrived, arrival{j.Seq(), j.Handle()})
}

// work returns p_u of a task of j.
func (p *Policy) work(j *ledger.Job[waitingJob], id sojourn.TaskID) wide.Uint128 {
	return wide.From64(uint64(p.time(&j.Spec().Phases[id.Phase], id.Index)))
}

// request asks for a plan, at the end of the batch interval or when the interval
// between plans has passed.
func (p *Policy) request() {
	now := p.queue.Ledger.Now()
	if !p.seen {
		p.seen, p.anchor = true, now
	}
	if p.open {
		return
	}
	p.open, p.due = true, now
	switch b := p.opts.Batch; {
	case b > 0:
		if rest := now.Sub(p.anchor) % b; rest > 0 {
			p.due = now.Add(b - rest)
		}
	case p.planning != nil:
		p.due = max(now, p.planning.at.Add(p.opts.Interval))
	case p.plans > 0:
		p.due = max(now, p.at.Add(p.opts.Interval))
	}
}

// planDue reports whether a plan is due now. Until it is begun nothing is started: the
// driver owes a Tick at this instant. While a long plan is being made, slots take tasks in the
// order of the plan before.
func (p *Policy) planDue() bool {
	return p.planning == nil && p.open && p.due <= p.queue.Ledger.Now()
}

// NextWake implements [sojourn.Waker]: it returns when the next plan is due, or when the one
// that is being made goes on.
func (p *Policy) NextWake() (sojourn.Time, bool) {
	switch {
	case p.planning != nil:
		return p.planning.next, true
	case p.open:
		return p.due, true
	}
	return 0, false
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if p.planDue() {
		p.queue.Ledger.Free(id)
		return sojourn.Assignment{}, false
	}
	return p.queue.Assign(id)
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if
// something that was planned is startable.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if p.planDue() {
		return 0, false
	}
	return p.queue.Seek(c)
}

// Supports implements [sojourn.Supporter]: all features but Needs.
func (p *Policy) Supports() sojourn.Features { return p.queue.Supports() }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.queue.Admit(job) }

// AppendRanking implements [sojourn.Explainer]. Jobs that no plan has seen come last.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key         unit  meaning
//	S           s     average start of the tasks of the first phase that has any left, by the
//	                  latest plan that knows of the job: seconds of the driver's time
//	C           s     C_j of the linear program: the end of the job by that plan
//	batch       1     the number of the plan to which it is committed, with Commit
//	batch_ends  time  when a plan will include the job, if none does yet
//	rank        jobs  live jobs that come before it; -1 if it is cancelled
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.queue.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	d := &j.Data
	attrs := p.queue.Ledger.Attrs(j)
	switch {
	case d.known:
		for i := range d.phases {
			if s := &d.phases[i]; !s.left.IsZero() {
				attrs = append(attrs, slog.Float64("S", lp.Seconds(int64(d.c)-s.h-s.mean/2)))
				break
			}
		}
		attrs = append(attrs, slog.Float64("C", lp.Seconds(int64(d.c))))
		if p.opts.Commit {
			attrs = append(attrs, slog.Uint64("batch", d.batch))
		}
	case !j.Cancelled():
		attrs[0] = slog.String("why", "waits for the end of its batch interval")
		ends := p.due
		if g := p.planning; g != nil && g.end > 0 && j.Seq() <= p.arrived[g.end-1].seq {
			ends = g.at
		}
		attrs = append(attrs, slog.Duration("batch_ends", ends.Sub(0)))
	}
	return append(attrs, slog.Int("rank", p.queue.Rank(j))), true
}

// describe computes the shapes of the phases of a job that has arrived or was revised.
func (p *Policy) describe(j *ledger.Job[waitingJob]) {
	shapes := make([]phaseShape, j.NumPhases())
	for i := len(shapes) - 1; i >= 0; i-- {
		ph := &j.Spec().Phases[i]
		feeds := i+1 < len(shapes) && j.Spec().Phases[i+1].After != sojourn.NoBarrier
		shapes[i] = p.shape(ph, feeds, j.Phase(i))
		if feeds {
			shapes[i].h = min(shapes[i].h+shapes[i+1].q, maxTail)
			shapes[i].q = min(shapes[i].q+shapes[i+1].q, maxTail)
		}
	}
	j.Data.phases = shapes
}

// shape returns the shape of a phase by itself. Its delays count if it feeds another.
func (p *Policy) shape(ph *sojourn.Phase, feeds bool, is *ledger.Phase) phaseShape {
	if ph.Estimates == nil && ph.Delays == nil {
		t := p.time(ph, 0)
		return phaseShape{left: wide.Mul64(uint64(ph.Tasks-is.Done()), uint64(t)), mean: t, q: t, h: t / 2}
	}
	var s phaseShape
	var times, halves wide.Uint128
	for i := range uint32(ph.Tasks) {
		t, d := p.time(ph, i), int64(0)
		if feeds {
			d = delay(ph, i)
		}
		times = times.Add(wide.From64(uint64(t)))
		halves = halves.Add(wide.From64(uint64(t + 2*d)))
		s.q = max(s.q, t+d)
		if !is.IsDone(i) {
			s.left = s.left.Add(wide.From64(uint64(t)))
		}
	}
	n := wide.From64(uint64(ph.Tasks))
	mean, _ := times.QuoRem(n)
	half, _ := halves.QuoRem(n)
	s.mean, s.h = int64(mean.Lo), int64(half.Lo/2)
	return s
}

// instant returns the instant that lies the given seconds after the latest plan.
func (p *Policy) instant(seconds float64) sojourn.Time {
	ns := math.Floor(float64(seconds*1e9) + 0.5)
	if !(ns < maxTail) {
		ns = maxTail
	}
	return p.at.Add(time.Duration(max(ns, 0)))
}

// sinceSeconds returns the seconds from the latest plan until now.
func (p *Policy) sinceSeconds() float64 {
	return lp.Seconds(int64(time.Duration(p.queue.Ledger.Now() - p.at)))
}
