package forecast

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// Bounds of a forecast that is of the first jobs alone.
const (
	mostJobs = 2000 // that it has
	chunk    = 1024 // jobs that are looked at while the policy is locked
	mostHeld = 8192 // held tasks of a job that are looked at
	fewest   = 20   // tasks of a job that have ended when the rate is known at which they do
)

// A crowd has the IDs of the live jobs, in sections that can be looked at one by one while jobs come and go.
type crowd struct {
	of       map[sojourn.JobID]member
	sections []*section // by number
	last     int        // number that was used
}

type member struct {
	started bool // a task of it
	section *section
}

type section struct {
	number int
	ids    []sojourn.JobID // at most chunk
}

func newCrowd() crowd { return crowd{of: map[sojourn.JobID]member{}} }

// started returns the jobs of which a task has been started, in order.
func (c *crowd) started() (list []sojourn.JobID) {
	for id, m := range c.of { //sojourn:unordered sorted below
		if m.started {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

func (c *crowd) enter(id sojourn.JobID) {
	if _, ok := c.of[id]; ok {
		return
	}
	if n := len(c.sections); n == 0 || len(c.sections[n-1].ids) == chunk {
		c.last++
		c.sections = append(c.sections, &section{number: c.last})
	}
	p := c.sections[len(c.sections)-1]
	p.ids = append(p.ids, id)
	c.of[id] = member{section: p}
}

func (c *crowd) start(id sojourn.JobID) {
	if m, ok := c.of[id]; ok && !m.started {
		m.started = true
		c.of[id] = m
	}
}

func (c *crowd) leave(id sojourn.JobID) {
	p := c.of[id].section
	if p == nil {
		return
	}
	delete(c.of, id)
	last := len(p.ids) - 1
	p.ids[slices.Index(p.ids, id)] = p.ids[last]
	if p.ids = p.ids[:last]; last == 0 {
		at, _ := slices.BinarySearchFunc(c.sections, p.number, func(p *section, n int) int { return cmp.Compare(p.number, n) })
		c.sections = slices.Delete(c.sections, at, at+1)
	}
}

// after returns the first section with a greater number, nil if there is none.
func (c *crowd) after(number int) *section {
	at, _ := slices.BinarySearchFunc(c.sections, number+1, func(p *section, n int) int { return cmp.Compare(p.number, n) })
	if at == len(c.sections) {
		return nil
	}
	return c.sections[at]
}

// A remnant is a job as it is told to a forecast that is of the first jobs alone: with the tasks that are left, as if there had been no others.
type remnant struct {
	account.Job         // its Spec has those tasks that are neither done nor held, those that run first; and one where none is left
	done        []int   // phases of which nothing is left
	known       []known // of its phases
	started     bool
	ended       bool
}

// remnant returns what is left of a job.
func (w *Watch) remnant(j account.Job) remnant {
	r, all := remnant{Job: j, known: w.known.of(j.Spec), started: w.crowd.of[j.Spec.ID].started || j.Running > 0}, 0
	for i := range j.Spec.Phases {
		all += j.Spec.Phases[i].Tasks
	}
	if all == j.Left && j.Held == 0 {
		return r
	}
	held := make([]int, len(j.Spec.Phases))
	if n := 0; j.Held > 0 {
		for t := range w.account.Held(j.Spec.ID) {
			held[t.Phase]++
			if n++; n == mostHeld {
				break
			}
		}
	}
	c := *j.Spec
	c.Phases = slices.Clone(c.Phases)
	before := 0 // tasks of the phase before that are done
	for i := range c.Phases {
		p := &c.Phases[i]
		left := w.account.Left(c.ID, i)
		done := p.Tasks - left
		if p.After > 0 {
			if p.After -= before; p.After <= 0 {
				p.After = sojourn.NoBarrier
			}
		}
		before = done
		n := max(1, left-held[i])
		from := p.Tasks - n
		if p.Held = left > 0 && left == held[i]; left == 0 {
			r.done = append(r.done, i)
		}
		p.Tasks, p.Inputs = n, sojourn.Inputs{}
		if p.Estimates != nil {
			p.Estimates = p.Estimates[from:]
		}
		if p.Bytes != nil {
			p.Bytes = p.Bytes[from:]
		}
		if p.Delays != nil {
			p.Delays = p.Delays[from:]
		}
	}
	r.Spec = &c
	return r
}

// facts adds the events that tell the job.
func (r *remnant) facts(list []sojourn.Event, now sojourn.Time) []sojourn.Event {
	list = append(list, sojourn.Event{Kind: sojourn.JobAdopted, At: now, Job: r.Spec, Service: r.Age})
	for _, i := range r.done {
		list = append(list, sojourn.Event{Kind: sojourn.TaskDone, At: now, Task: sojourn.TaskID{Job: r.Spec.ID, Phase: uint16(i)}})
	}
	return list
}

// A first knows which jobs a policy takes first.
type first struct {
	policy func() (sojourn.Policy, error)
	now    sojourn.Time
	most   int // jobs
	places []sojourn.Event
	keep   []remnant
	live   int             // jobs
	out    map[string]bool // pools of which jobs are left out; keep is then in the order in which the policy takes them
}

// first finds the jobs that are taken first, and locks the policy for few of them at a time.
func (w *Watch) first(ctx context.Context, q Question) (*first, error) {
	f := &first{policy: q.Policy, most: q.MaxTasks, out: map[string]bool{}}
	w.mu.Lock()
	f.now, f.places = w.account.Now(), w.places()
	w.mu.Unlock()
	for last, more := 0, true; more; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.mu.Lock()
		p := w.crowd.after(last)
		if more = p != nil; more {
			last = p.number
			for _, id := range p.ids {
				j, _ := w.account.Job(id)
				if j.Cancelled {
					continue
				}
				if f.live++; j.Left > j.Held+j.Running {
					f.keep = append(f.keep, w.remnant(j))
				}
			}
		}
		w.mu.Unlock()
		if n := len(f.keep); n > 2*f.most+chunk || !more && n > f.most {
			if err := f.rank(); err != nil {
				return nil, err
			}
		}
	}
	for i := 0; i < len(f.keep); i += chunk { // some may have ended
		w.mu.Lock()
		for k := range f.keep[i:min(len(f.keep), i+chunk)] {
			if j := &f.keep[i+k]; w.crowd.of[j.Spec.ID].section == nil {
				j.ended = true
			}
		}
		w.mu.Unlock()
	}
	f.keep = slices.DeleteFunc(f.keep, func(j remnant) bool { return j.ended })
	return f, nil
}

// places returns the facts of nodes, slots and pools.
func (w *Watch) places() (list []sojourn.Event) {
	tell := func(ev sojourn.Event) {
		ev.At = w.account.Now()
		list = append(list, ev)
	}
	tell(sojourn.Event{Kind: sojourn.Tick})
	for _, node := range w.account.Down() {
		tell(sojourn.Event{Kind: sojourn.NodeDown, Slot: node})
	}
	for slot := range w.account.Slots() {
		tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	}
	for p := range w.account.Pools() {
		tell(sojourn.Event{Kind: sojourn.PoolChanged, Pool: p})
	}
	return list
}

// byArrival orders jobs.
func byArrival(a, b remnant) int {
	return cmp.Or(cmp.Compare(b.Age, a.Age), cmp.Compare(a.Spec.ID, b.Spec.ID))
}

// rank keeps of each pool those jobs that a new policy ranks first, and of all pools as many, if they have as many.
func (f *first) rank() error {
	p, err := f.policy()
	if err != nil {
		return err
	}
	slices.SortFunc(f.keep, byArrival)
	events := slices.Clone(f.places)
	for i := range f.keep {
		events = f.keep[i].facts(events, f.now)
	}
	for _, ev := range events {
		if err := p.Observe(ev); err != nil {
			return err
		}
	}
	place := make(map[sojourn.JobID]int, len(f.keep)) // those that are not ranked keep their order behind the others
	if in, ok := sojourn.As[sojourn.Explainer](p); ok {
		for i, id := range in.AppendRanking(nil) {
			place[id] = i - len(f.keep)
		}
	}
	slices.SortStableFunc(f.keep, func(a, b remnant) int { return cmp.Compare(place[a.Spec.ID], place[b.Spec.ID]) })
	type turn struct {
		remnant
		n int // jobs of the pool before it
	}
	turns, of := make([]turn, len(f.keep)), map[string]int{}
	for i, j := range f.keep {
		turns[i] = turn{j, of[j.Spec.Pool]}
		of[j.Spec.Pool]++
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Compare(a.n, b.n) })
	clear(f.keep)
	f.keep = f.keep[:0]
	for i, j := range turns {
		if i < f.most {
			f.keep = append(f.keep, j.remnant)
		} else {
			f.out[j.Spec.Pool] = true
		}
	}
	return nil
}

// standFirst is stand for the first jobs and for those of which something runs.
func (w *Watch) standFirst(f *first, seed uint64) (s *standing, unknown int) {
	w.mu.Lock()
	s = w.standing()
	s.facts, s.live, s.last = w.places(), f.live, map[sojourn.JobID]bool{}
	seen := map[sojourn.JobID]bool{}
	var list []remnant
	for _, a := range s.attempts {
		if id := a.Task.Job; !seen[id] {
			j, _ := w.account.Job(id)
			seen[id], list = true, append(list, w.remnant(j))
		}
	}
	var retiring []sojourn.Event
	for _, slot := range s.slots {
		if w.account.Retiring(slot.ID) {
			retiring = append(retiring, sojourn.Event{Kind: sojourn.SlotRemoved, At: s.now, Slot: sojourn.Slot{ID: slot.ID}})
		}
	}
	w.mu.Unlock()
	of := map[string]sojourn.JobID{}
	for i := range f.keep {
		if id := f.keep[i].Spec.ID; !seen[id] {
			list = append(list, f.keep[i])
		}
		if j := f.keep[i].Spec; f.out[j.Pool] {
			of[j.Pool] = j.ID
		}
		if i == len(f.keep)-1 && len(f.out) > 0 { // also where a pool has none
			s.last[f.keep[i].Spec.ID] = true
		}
	}
	for _, id := range of { //sojourn:unordered a set
		s.last[id] = true
	}
	slices.SortFunc(list, byArrival)
	for i := range list {
		j := &list[i]
		s.facts = j.facts(s.facts, s.now)
		s.enter(j)
	}
	runs := map[phaseOf]uint32{}
	for i := range s.attempts {
		a := &s.attempts[i]
		of := phaseOf{a.Task.Job, int(a.Task.Phase)}
		a.Task.Index = runs[of]
		runs[of]++
		s.facts = append(s.facts, sojourn.Event{Kind: sojourn.TaskAdopted, At: s.now, Task: a.Task, Attempt: a.Number, Slot: sojourn.Slot{ID: a.Slot.ID}, Service: a.Service})
		if a.Pinned {
			s.facts = append(s.facts, sojourn.Event{Kind: sojourn.TaskPinned, At: s.now, Task: a.Task, Attempt: a.Number, Slot: sojourn.Slot{ID: a.Slot.ID}})
		}
	}
	for i := range s.jobs {
		if s.jobs[i].Cancelled {
			s.facts = append(s.facts, sojourn.Event{Kind: sojourn.JobCancelled, At: s.now, Job: &sojourn.Job{ID: s.jobs[i].Spec.ID}})
		}
	}
	s.facts = append(s.facts, retiring...)
	return s, w.learn(s, seed)
}

// A horizon is up to when a draw of the first jobs goes: until one would start behind which jobs are left out, or so many tasks have started.
type horizon struct {
	last   map[sojourn.JobID]bool // those behind which jobs are left out
	starts int                    // that may follow
	over   bool                   // nothing more starts
	at     sojourn.Time           // it was over
	left   map[sojourn.JobID]int  // tasks then, of jobs that have not ended
}

// horizon returns the horizon of a draw, nil if it has none.
func (s *standing) horizon(starts int) *horizon {
	if s.last == nil {
		return nil
	}
	return &horizon{last: s.last, starts: starts}
}

// started notes that a task of a job has started.
func (h *horizon) started(id sojourn.JobID) {
	if h != nil {
		h.starts--
		h.over = h.over || h.starts <= 0 || h.last[id]
	}
}

// beyond adds when jobs end that do so after the horizon and of which so many tasks have ended before it that the rate is known. It goes
// on, and if no other job is there that could get what a job leaves, those that go on get it.
func (f *future) beyond(s *standing, to ends) {
	h := f.horizon
	if h == nil || !h.over {
		return
	}
	s.cut = true
	type going struct {
		id    sojourn.JobID
		slots float64 // that it has had in the mean
		rest  float64 // nanoseconds with these
	}
	var list []going
	alone := len(h.last) == 0
	for i := range s.jobs {
		j := &s.jobs[i]
		id := j.Spec.ID
		if f.left[id] == 0 || j.Held > 0 || j.Cancelled {
			continue
		}
		from, done := s.now, float64(j.Left-h.left[id])
		if begun, ok := f.begun[id]; ok && !s.started[id] {
			from = begun
		}
		if done < fewest || h.at == from {
			alone = false
			continue
		}
		elapsed := float64(h.at.Sub(from))
		list = append(list, going{id, float64(f.took[id]) / elapsed, float64(h.left[id]) / done * elapsed})
	}
	slices.SortFunc(list, func(a, b going) int { return cmp.Or(cmp.Compare(a.rest, b.rest), cmp.Compare(a.id, b.id)) })
	all := 0.0
	for _, x := range list {
		all += x.slots
	}
	at, before, slots := 0.0, 0.0, all
	for _, x := range list {
		if step := x.rest - before; alone {
			at += float64(step * slots / all)
		} else {
			at += step
		}
		before = x.rest
		slots -= x.slots
		to.add(x.id, h.at.Add(time.Duration(min(at, math.MaxInt64/4))), 1)
	}
}

// cut keeps the first jobs that have an end, in the order in which they start.
func (f *Forecast) cut() {
	f.Jobs = slices.DeleteFunc(f.Jobs, func(j Job) bool { return j.Finish == nil })
	begins := func(j Job) sojourn.Time {
		if j.Start == nil {
			return f.At
		}
		return j.Start.Median
	}
	arrival := func(a, b Job) int { return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID)) }
	slices.SortFunc(f.Jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(begins(a), begins(b)), cmp.Compare(a.Finish.Median, b.Finish.Median), arrival(a, b))
	})
	f.Jobs = f.Jobs[:min(len(f.Jobs), mostJobs)]
	slices.SortFunc(f.Jobs, arrival)
}
