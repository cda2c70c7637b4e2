package pfsp_test

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
)

// sharing returns when each job completes if the slots that are served are shared by weight among
// all jobs that are there, as if work could be spread over any number of slots.
func sharing(in instance) (ends []*big.Rat) {
	c := gpstest.Cluster{Slots: in.served()}
	for _, j := range in.jobs {
		c.Advance(j.at)
		c.Arrive(j.work(), j.weight)
	}
	c.Drain()
	for _, j := range c.Jobs {
		ends = append(ends, j.Ended)
	}
	return ends
}

// An exactPFSP is the protective scheduler in one class, one phase a job, with
// rational numbers and linear searches: eq. (6) is evaluated anew for each choice.
// It shares no code with the policy. Its fields make mutants of it.
type exactPFSP struct {
	k       int  // probes a job
	noGate  bool // probes need no slack
	fsp     bool // serve in the order of virtual ends
	dropAt0 bool // mutant: a job that ends virtually is forgotten, and served when nothing else is left
	capped  bool // mutant: no job gets more slots in the virtual cluster than it has unfinished tasks

	judge bool // choose tells how close the call was

	v    gpstest.Cluster
	jobs []*exactJob // in the order of arrival
}

type exactJob struct {
	*gpstest.Job // in the virtual cluster
	id           sojourn.JobID
	at           sojourn.Time
	w            *big.Rat // real work left, when last looked at
	times        []int64
	started      int
	finished     int
	since        []sojourn.Time // when its tasks started
	done         []bool
}

// late reports whether a job has ended in the virtual cluster.
func (j *exactJob) late() bool { return j.Ended != nil }

func (p *exactPFSP) Observe(ev sojourn.Event) error {
	p.v.Advance(ev.At)
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.v.Slots++
	case sojourn.SlotRemoved: // a free one
		p.v.Slots--
	case sojourn.JobArrived:
		ph := &ev.Job.Phases[0]
		work := int64(ph.Work())
		j := &exactJob{Job: p.v.Arrive(work, ev.Job.Weight), id: ev.Job.ID, at: ev.At, w: new(big.Rat).SetInt64(work)}
		for i := range ph.Tasks {
			j.times = append(j.times, int64(ph.EstimateOf(i)))
		}
		j.since, j.done = make([]sojourn.Time, len(j.times)), make([]bool, len(j.times))
		p.jobs = append(p.jobs, j)
		p.limit(j)
	case sojourn.TaskFinished:
		j := p.job(ev.Task.Job)
		j.done[ev.Task.Index] = true
		j.finished++
		w := int64(0)
		for i, d := range j.times {
			if !j.done[i] {
				w += d
				if i < j.started {
					w -= int64(ev.At - j.since[i])
				}
			}
		}
		j.w.SetInt64(w)
		p.limit(j)
	}
	return nil
}

// limit gives the mutant its limits on parallelism.
func (p *exactPFSP) limit(j *exactJob) {
	if p.capped {
		j.Limit = len(j.times) - j.finished
	}
}

func (p *exactPFSP) job(id sojourn.JobID) *exactJob {
	return p.jobs[slices.IndexFunc(p.jobs, func(j *exactJob) bool { return j.id == id })]
}

// before reports whether a comes before b, which arrived after it, in V.
func (p *exactPFSP) before(a, b *exactJob) bool {
	if p.capped && !a.late() && !b.late() { // the order of virtual ends at the present rates
		return p.v.Time(a.Job).Cmp(p.v.Time(b.Job)) <= 0
	}
	return gpstest.Before(a.Job, b.Job, p.dropAt0)
}

// order returns the jobs of V in its order; finished ones too, until they end
// virtually.
func (p *exactPFSP) order() (list []*exactJob) {
	for _, j := range p.jobs {
		if j.finished == len(j.times) && j.late() {
			continue
		}
		at := len(list)
		for at > 0 && !p.before(list[at-1], j) {
			at--
		}
		list = append(list, nil)
		copy(list[at+1:], list[at:])
		list[at] = j
	}
	return list
}

// horizon returns H of list[i]: the work that the virtual cluster does until the
// job ends there, if nobody arrives.
func horizon(list []*exactJob, i int) *big.Rat {
	h, behind := new(big.Rat), new(big.Rat)
	for k, j := range list {
		switch {
		case k < i:
			h.Add(h, j.Left)
		case !j.late():
			behind.Add(behind, j.Weight)
		}
	}
	if list[i].late() {
		return new(big.Rat)
	}
	return h.Add(h, behind.Mul(behind, new(big.Rat).Quo(list[i].Left, list[i].Weight)))
}

// choose returns the job to be served next, or nil, and how close the call was: the
// least difference, in slot-nanoseconds, between two quantities whose order
// mattered.
func (p *exactPFSP) choose() (best *exactJob, margin *big.Rat) {
	margin = big.NewRat(1<<62, 1)
	near := func(a, b *big.Rat) int {
		if !p.judge {
			return a.Cmp(b)
		}
		d := new(big.Rat).Sub(a, b)
		if d.Abs(d).Cmp(margin) < 0 {
			margin.Set(d)
		}
		return a.Cmp(b)
	}
	list := p.order()
	var least *big.Rat // slack of the jobs so far that could start a task
	total, zero := new(big.Rat), new(big.Rat)
	var probe, first, ended *exactJob
	for i := 1; p.judge && i < len(list); i++ {
		if a, b := list[i-1], list[i]; a.at != b.at || a.Weight.Cmp(b.Weight) != 0 {
			near(p.v.Ahead(a.Job), p.v.Ahead(b.Job)) // equal virtual ends of jobs that arrive apart differ by rounding
		}
	}
	for i, j := range list {
		if !j.late() || !p.dropAt0 {
			total.Add(total, j.w)
		}
		if j.started == len(j.times) {
			continue
		}
		if p.dropAt0 && j.late() {
			if ended == nil {
				ended = j
			}
			continue
		}
		open := p.noGate || least == nil || near(least, zero) >= 0
		if open && j.started < p.k && (probe == nil || j.started < probe.started) {
			probe = j
		}
		if first == nil {
			first = j
		}
		if (least == nil || near(least, j.w) >= 0) && (best == nil || near(j.w, best.w) < 0) {
			best = j
		}
		if s := new(big.Rat).Sub(horizon(list, i), total); least == nil || s.Cmp(least) < 0 {
			least = s
		}
	}
	switch {
	case first == nil:
		return ended, margin
	case p.noGate && probe != nil:
		return probe, margin
	case first.late() || p.fsp && probe == nil:
		return first, margin
	case probe != nil:
		return probe, margin
	}
	return best, margin
}

func (p *exactPFSP) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, _ := p.choose()
	if j == nil {
		return sojourn.Assignment{}, false
	}
	p.start(j)
	return sojourn.Assignment{
		Task: sojourn.TaskID{Job: j.id, Index: uint32(j.started - 1)}, Attempt: 1, Slot: id,
	}, true
}

func (p *exactPFSP) start(j *exactJob) {
	j.since[j.started] = p.v.Now
	j.started++
}

// A judged policy is compared with the oracle decision by decision; the oracle
// follows it.
type judged struct {
	sojourn.Policy
	exact *exactPFSP
	calls *[2]int // all, and those that were too close to tell
	t     interface{ Fatalf(string, ...any) }
}

func (p judged) Unwrap() sojourn.Policy { return p.Policy }

func (p judged) Observe(ev sojourn.Event) error {
	p.exact.Observe(ev)
	return p.Policy.Observe(ev)
}

func (p judged) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Policy.Assign(id)
	want, margin := p.exact.choose()
	if ok != (want != nil) {
		p.t.Fatalf("at %v Assign = %v, %v, want job %v", p.exact.v.Now, a, ok, want)
	}
	if ok {
		got := p.exact.job(a.Task.Job)
		if got != want {
			if margin.Cmp(big.NewRat(1000, 1)) > 0 { // slot-nanoseconds
				p.t.Fatalf("at %v Assign = task %v, want one of job %d%s", p.exact.v.Now, a.Task, want.id, p.exact)
			}
			p.calls[1]++
		}
		p.calls[0]++
		p.exact.start(got)
	}
	return a, ok
}

func (p *exactPFSP) String() string {
	s := ""
	list, total := p.order(), new(big.Rat)
	for i, j := range list {
		total.Add(total, j.w)
		slack := new(big.Rat).Sub(horizon(list, i), total)
		s += fmt.Sprintf("\njob %d: v %s w %s s %s started %d of %d late %d", j.id, j.Left.FloatString(1), j.w.FloatString(1), slack.FloatString(1), j.started, len(j.times), j.Place)
	}
	return s
}
