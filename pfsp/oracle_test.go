package pfsp_test

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// sharing returns when each job completes if the slots are shared by weight among
// all jobs that are there, as if work could be spread over any number of slots. It
// follows the definition in rational numbers, from one event to the next.
func sharing(in instance) []*big.Rat {
	n := len(in.jobs)
	left, weight, done := make([]*big.Rat, n), make([]*big.Rat, n), make([]*big.Rat, n)
	for i, j := range in.jobs {
		left[i] = new(big.Rat).SetInt64(j.work())
		weight[i] = big.NewRat(1, 1)
		if j.weight != 0 {
			weight[i].SetFloat64(j.weight)
		}
	}
	slots := new(big.Rat).SetInt64(int64(in.slots))
	now := new(big.Rat)
	for {
		total, next := new(big.Rat), (*big.Rat)(nil)
		for i, j := range in.jobs {
			switch at := new(big.Rat).SetInt64(int64(j.at)); {
			case done[i] != nil:
			case at.Cmp(now) <= 0:
				total.Add(total, weight[i])
			case next == nil || at.Cmp(next) < 0:
				next = at
			}
		}
		if total.Sign() == 0 {
			if next == nil {
				return done
			}
			now = next
			continue
		}
		present := func(i int) bool {
			return done[i] == nil && new(big.Rat).SetInt64(int64(in.jobs[i].at)).Cmp(now) <= 0
		}
		each := new(big.Rat).Quo(slots, total) // rate per unit of weight
		for i := range in.jobs {
			if present(i) {
				end := new(big.Rat).Quo(left[i], new(big.Rat).Mul(each, weight[i]))
				if end.Add(end, now); next == nil || end.Cmp(next) < 0 {
					next = end
				}
			}
		}
		step := new(big.Rat).Mul(each, new(big.Rat).Sub(next, now))
		for i := range in.jobs {
			if present(i) {
				left[i].Sub(left[i], new(big.Rat).Mul(step, weight[i]))
			}
		}
		for i := range in.jobs {
			if present(i) && left[i].Sign() == 0 {
				done[i] = next
			}
		}
		now = next
	}
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

	now   sojourn.Time
	slots int
	jobs  []*exactJob // in the order of arrival
	late  int         // jobs that became late so far
}

type exactJob struct {
	id        sojourn.JobID
	v, weight *big.Rat // virtual work left, in slot-nanoseconds
	w         *big.Rat // real work left, when last looked at
	times     []int64
	started   int
	finished  int
	since     []sojourn.Time // when its tasks started
	done      []bool
	late      int      // 0, or the order of virtual completion, from 1
	ended     *big.Rat // the instant of virtual completion
	at        sojourn.Time
}

func (p *exactPFSP) Observe(ev sojourn.Event) error {
	p.advance(ev.At)
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.slots++
	case sojourn.SlotRemoved: // a free one
		p.slots--
	case sojourn.JobArrived:
		j := &exactJob{id: ev.Job.ID, v: new(big.Rat), weight: big.NewRat(1, 1), w: new(big.Rat), at: ev.At}
		if ev.Job.Weight != 0 {
			j.weight.SetFloat64(ev.Job.Weight)
		}
		ph := &ev.Job.Phases[0]
		for i := range ph.Tasks {
			d := int64(ph.EstimateOf(i))
			j.times = append(j.times, d)
			j.v.Add(j.v, new(big.Rat).SetInt64(d))
		}
		j.w.Set(j.v)
		j.since, j.done = make([]sojourn.Time, len(j.times)), make([]bool, len(j.times))
		p.jobs = append(p.jobs, j)
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
	}
	return nil
}

func (p *exactPFSP) job(id sojourn.JobID) *exactJob {
	return p.jobs[slices.IndexFunc(p.jobs, func(j *exactJob) bool { return j.id == id })]
}

// rates returns the virtual service rate of each job.
func (p *exactPFSP) rates() []*big.Rat {
	rates := make([]*big.Rat, len(p.jobs))
	free := new(big.Rat).SetInt64(int64(p.slots))
	for again := true; again; {
		again = false
		total := new(big.Rat)
		for i, j := range p.jobs {
			if j.late == 0 && rates[i] == nil {
				total.Add(total, j.weight)
			}
		}
		share := make([]*big.Rat, len(p.jobs))
		for i, j := range p.jobs {
			if j.late == 0 && rates[i] == nil {
				share[i] = new(big.Rat).Quo(new(big.Rat).Mul(free, j.weight), total)
			}
		}
		for i, j := range p.jobs {
			if most := big.NewRat(int64(len(j.times)-j.finished), 1); p.capped && share[i] != nil && most.Sign() > 0 && share[i].Cmp(most) > 0 {
				rates[i], again = most, true
				free.Sub(free, most)
			}
		}
		if !again {
			for i := range p.jobs {
				if rates[i] == nil {
					if rates[i] = share[i]; share[i] == nil {
						rates[i] = new(big.Rat)
					}
				}
			}
		}
	}
	return rates
}

// advance ages the virtual cluster until t.
func (p *exactPFSP) advance(t sojourn.Time) {
	left := new(big.Rat).SetInt64(int64(t - p.now))
	p.now = t
	for left.Sign() > 0 {
		rates := p.rates()
		step, busy := new(big.Rat).Set(left), false
		for i, j := range p.jobs {
			if j.late == 0 && rates[i].Sign() > 0 {
				busy = true
				if d := new(big.Rat).Quo(j.v, rates[i]); d.Cmp(step) < 0 {
					step = d
				}
			}
		}
		if !busy {
			return
		}
		for i, j := range p.jobs {
			if j.late == 0 {
				j.v.Sub(j.v, new(big.Rat).Mul(rates[i], step))
				if j.v.Sign() == 0 {
					p.late++
					j.late = p.late
					j.ended = new(big.Rat).SetInt64(int64(t))
					j.ended.Sub(j.ended, left).Add(j.ended, step)
				}
			}
		}
		left.Sub(left, step)
	}
}

// before reports whether a comes before b, which arrived after it, in V.
func (p *exactPFSP) before(a, b *exactJob) bool {
	if a.late > 0 || b.late > 0 {
		switch {
		case a.late > 0 && b.late > 0:
			return a.late < b.late
		default:
			return (a.late > 0) != p.dropAt0
		}
	}
	if p.capped { // the order of virtual ends at the present rates
		rates := p.rates()
		ra, rb := rates[slices.Index(p.jobs, a)], rates[slices.Index(p.jobs, b)]
		return new(big.Rat).Mul(a.v, rb).Cmp(new(big.Rat).Mul(b.v, ra)) <= 0
	}
	return new(big.Rat).Mul(a.v, b.weight).Cmp(new(big.Rat).Mul(b.v, a.weight)) <= 0
}

// order returns the jobs of V in its order; finished ones too, until they end
// virtually.
func (p *exactPFSP) order() (list []*exactJob) {
	for _, j := range p.jobs {
		if j.finished == len(j.times) && j.late > 0 {
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
			h.Add(h, j.v)
		case j.late == 0:
			behind.Add(behind, j.weight)
		}
	}
	if list[i].late > 0 {
		return new(big.Rat)
	}
	return h.Add(h, behind.Mul(behind, new(big.Rat).Quo(list[i].v, list[i].weight)))
}

// end returns where a job is in V: what it has left for its weight, or minus the
// time since it ended there.
func (p *exactPFSP) end(j *exactJob) *big.Rat {
	if j.late > 0 {
		return new(big.Rat).Sub(j.ended, new(big.Rat).SetInt64(int64(p.now)))
	}
	return new(big.Rat).Quo(j.v, j.weight)
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
		if a, b := list[i-1], list[i]; a.at != b.at || a.weight.Cmp(b.weight) != 0 {
			near(p.end(a), p.end(b)) // equal virtual ends of jobs that arrive apart differ by rounding
		}
	}
	for i, j := range list {
		if j.late == 0 || !p.dropAt0 {
			total.Add(total, j.w)
		}
		if j.started == len(j.times) {
			continue
		}
		if p.dropAt0 && j.late > 0 {
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
	case first.late > 0 || p.fsp && probe == nil:
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
	j.since[j.started] = p.now
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
		p.t.Fatalf("at %v Assign = %v, %v, want job %v", p.exact.now, a, ok, want)
	}
	if ok {
		got := p.exact.job(a.Task.Job)
		if got != want {
			if margin.Cmp(big.NewRat(1000, 1)) > 0 { // slot-nanoseconds
				p.t.Fatalf("at %v Assign = task %v, want one of job %d%s", p.exact.now, a.Task, want.id, p.exact)
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
		s += fmt.Sprintf("\njob %d: v %s w %s s %s started %d of %d late %d", j.id, j.v.FloatString(1), j.w.FloatString(1), slack.FloatString(1), j.started, len(j.times), j.late)
	}
	return s
}
