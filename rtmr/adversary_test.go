package rtmr

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// histories is how many hostile histories are tried with each kind of policy.
var histories = flag.Int("rtmr.histories", manyHistories, "hostile histories for each kind of policy")

// An adversary does to a policy whatever a cluster can do to it. Slots come, go and
// return in an instant. Attempts fail, are refused, are adopted or outlast their bounds.
// Tasks are held, outputs are lost, jobs are revised, cancelled and adopted, slots are
// not offered, and the policy restarts from snapshots. The adversary shares nothing with
// the policy but the interface.
type adversary struct {
	p    *Policy
	opts Options
	r    *rand.Rand
	now  int64
	calm bool // from now on, nothing happens that promises do not allow for

	slots []hostileSlot
	jobs  []*hostileJob // live
	ids   sojourn.JobID
	log   []any // what was done, turned into text only for a failure

	finish map[sojourn.JobID]int64
}

type hostileSlot struct {
	sojourn.Slot
	gone, retiring bool
	job            *hostileJob // of the attempt, if it is busy
	task           sojourn.TaskID
	attempt        uint32
	start          int64
	end            int64 // planned
}

type hostileJob struct {
	id        sojourn.JobID
	spec      *sojourn.Job
	state     [][]byte // of its tasks: p, r, d or h
	tries     [][]uint32
	cancelled bool
}

func newAdversary(opts Options, seed uint64) *adversary {
	p, err := New(opts)
	if err != nil {
		panic(err)
	}
	a := &adversary{p: p, opts: opts, r: rand.New(rand.NewPCG(seed, 7)), finish: map[sojourn.JobID]int64{}}
	for range 2 + a.r.IntN(4) {
		a.addSlot()
	}
	return a
}

// A told event is an event with the answer to it.
type told struct {
	ev  sojourn.Event
	err error
}

func (x told) String() string { return fmt.Sprintf("%v: %v", x.ev, x.err) }

// story returns what was done, one line for each event.
func (a *adversary) story() string {
	var b strings.Builder
	for _, x := range a.log {
		fmt.Fprintf(&b, "%+v\n", x)
	}
	return b.String()
}

func (a *adversary) observe(ev sojourn.Event) error {
	ev.At = sojourn.Time(a.now)
	err := a.p.Observe(ev)
	a.log = append(a.log, told{ev, err})
	return err
}

func (a *adversary) must(ev sojourn.Event) {
	if err := a.observe(ev); err != nil {
		panic(fmt.Sprintf("%v\n%s", err, a.story()))
	}
}

func (a *adversary) addSlot() {
	s := sojourn.Slot{ID: sojourn.SlotID(len(a.slots)), Class: sojourn.Class(a.r.IntN(2))}
	a.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	a.slots = append(a.slots, hostileSlot{Slot: s})
}

// describe makes up a job, or a new description of a job.
func (a *adversary) describe(of *hostileJob) *sojourn.Job {
	j := &sojourn.Job{}
	if of != nil {
		j.ID = of.id
		j.Phases = slices.Clone(of.spec.Phases)
		for i := range j.Phases {
			if a.r.IntN(3) == 0 {
				j.Phases[i].Tasks += a.r.IntN(2)
			}
			if a.r.IntN(2) == 0 {
				j.Phases[i].Estimate = time.Duration(1 + a.r.IntN(12))
			}
		}
	} else {
		a.ids++
		j.ID = a.ids
		shape := a.r.IntN(4)
		for c := range sojourn.Class(2) {
			if shape == int(c) { // every second job has one phase only
				continue
			}
			j.Phases = append(j.Phases, sojourn.Phase{Class: c, Tasks: 1 + a.r.IntN(4), Estimate: time.Duration(1 + a.r.IntN(9))})
		}
	}
	if a.opts.Booking == Rebook && a.r.IntN(3) == 0 {
		j.Parallelism = uint32(1 + a.r.IntN(3))
	}
	if a.r.IntN(5) > 0 {
		j.Deadline = sojourn.Time(max(1, a.now-2+int64(a.r.IntN(80))))
	}
	return j
}

// arrive offers a job. It takes the counter-offer one time in two.
func (a *adversary) arrive() error {
	j := a.describe(nil)
	if a.r.IntN(8) == 0 {
		a.must(sojourn.Event{Kind: sojourn.JobAdopted, Job: j})
		a.live(j)
		return nil
	}
	before, _ := a.p.AppendBinary(nil)
	said := a.p.Admit(j)
	err := a.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	var x, y *sojourn.RejectedError
	if (said == nil) != (err == nil) || errors.As(said, &x) && errors.As(err, &y) && *x != *y {
		return fmt.Errorf("Admit of job %d: %v; Observe: %v", j.ID, said, err)
	}
	if err == nil {
		a.live(j)
		return nil
	}
	if after, _ := a.p.AppendBinary(nil); !bytes.Equal(before, after) {
		return fmt.Errorf("the refusal of job %d changed the policy", j.ID)
	}
	if !errors.As(err, &x) {
		return err
	}
	if x.Offer == 0 {
		return nil
	}
	if !a.opts.OnePosition && a.opts.Order == EDF && j.Deadline > 0 && x.Offer <= j.Deadline {
		return fmt.Errorf("job %d asks for %d, is refused, and offered %d", j.ID, j.Deadline, x.Offer)
	}
	taken := *j
	taken.Deadline = x.Offer
	if x.Exact && x.Offer > 1 {
		less := *j
		less.Deadline = x.Offer - 1
		if a.p.Admit(&less) == nil {
			return fmt.Errorf("the offer %d to job %d is said to be exact, and less is accepted", x.Offer, j.ID)
		}
	}
	if a.r.IntN(2) == 0 {
		if err := a.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &taken}); err != nil {
			return fmt.Errorf("the offer to job %d was taken at once: %w", j.ID, err)
		}
		a.live(&taken)
	}
	return nil
}

func (a *adversary) live(spec *sojourn.Job) {
	j := &hostileJob{id: spec.ID, spec: spec}
	for i := range spec.Phases {
		j.state = append(j.state, bytes.Repeat([]byte{'p'}, spec.Phases[i].Tasks))
		j.tries = append(j.tries, make([]uint32, spec.Phases[i].Tasks))
	}
	a.jobs = append(a.jobs, j)
}

// set changes the state of a task, and forgets its job if it has ended.
func (a *adversary) set(j *hostileJob, id sojourn.TaskID, state byte) {
	j.state[id.Phase][id.Index] = state
	for _, phase := range j.state {
		for _, s := range phase {
			if s == 'r' || s != 'd' && !j.cancelled {
				return
			}
		}
	}
	if !j.cancelled {
		a.finish[j.id] = a.now
	}
	a.jobs = slices.DeleteFunc(a.jobs, func(k *hostileJob) bool { return k == j })
}

// bound returns how long an attempt at a task may take.
func (j *hostileJob) bound(id sojourn.TaskID) int64 { return int64(j.spec.Phases[id.Phase].Estimate) }

// offer offers free slots: if it is calm, all of them until none is taken.
func (a *adversary) offer() {
	for again := true; again; {
		again = false
		for i := range a.slots {
			s := &a.slots[i]
			if s.gone || s.retiring || s.job != nil || !a.calm && a.r.IntN(8) == 0 {
				continue
			}
			as, ok := a.p.Assign(s.ID)
			if !ok {
				continue
			}
			a.log = append(a.log, as)
			j := a.job(as.Task.Job)
			s.job, s.task, s.attempt, s.start = j, as.Task, as.Attempt, a.now
			j.state[as.Task.Phase][as.Task.Index] = 'r'
			j.tries[as.Task.Phase][as.Task.Index] = as.Attempt
			s.end = a.now + 1 + a.r.Int64N(j.bound(as.Task))
			if a.r.IntN(2) == 0 {
				s.end = a.now + j.bound(as.Task)
			}
			if !a.calm && a.r.IntN(8) == 0 {
				s.end += 1 + int64(a.r.IntN(10))
			}
			again = true
		}
	}
}

func (a *adversary) job(id sojourn.JobID) *hostileJob {
	i := slices.IndexFunc(a.jobs, func(j *hostileJob) bool { return j.id == id })
	return a.jobs[i]
}

// report ends the attempt on a slot.
func (a *adversary) report(s *hostileSlot, kind sojourn.EventKind) {
	a.must(sojourn.Event{Kind: kind, Task: s.task, Attempt: s.attempt, Slot: sojourn.Slot{ID: s.ID}})
	j, state := s.job, byte('p')
	if kind == sojourn.TaskFinished {
		state = 'd'
	}
	s.job = nil
	if s.retiring {
		s.retiring, s.gone = false, true
	}
	a.set(j, s.task, state)
}

// ends reports the attempts that end now.
func (a *adversary) ends() {
	for i := range a.slots {
		s := &a.slots[i]
		if s.job == nil || s.end > a.now {
			continue
		}
		if !a.calm && a.r.IntN(6) == 0 {
			a.report(s, sojourn.TaskFailed)
		} else {
			a.report(s, sojourn.TaskFinished)
		}
	}
}

// tasks lists the tasks that are in a state, without those of cancelled jobs.
func (a *adversary) tasks(states string) (list []sojourn.TaskID) {
	for _, j := range a.jobs {
		for p := range j.state {
			for i, s := range j.state[p] {
				if !j.cancelled && bytes.IndexByte([]byte(states), s) >= 0 {
					list = append(list, sojourn.TaskID{Job: j.id, Phase: uint16(p), Index: uint32(i)})
				}
			}
		}
	}
	return list
}

// harm does one thing that no promise allowed for.
func (a *adversary) harm() error {
	s := &a.slots[a.r.IntN(len(a.slots))]
	pick := func(states string) (sojourn.TaskID, bool) {
		list := a.tasks(states)
		if len(list) == 0 {
			return sojourn.TaskID{}, false
		}
		return list[a.r.IntN(len(list))], true
	}
	switch a.r.IntN(12) {
	case 0:
		a.addSlot()
	case 1, 2: // a slot leaves, and one time in two returns in the same instant
		if s.gone || s.retiring {
			break
		}
		a.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.ID}})
		if s.job != nil {
			s.retiring = true
		} else {
			s.gone = true
		}
		if a.r.IntN(2) == 0 {
			a.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s.Slot})
			s.gone, s.retiring = false, false
		}
	case 3:
		if s.gone || s.retiring {
			a.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s.Slot})
			s.gone, s.retiring = false, false
		}
	case 4:
		if s.job != nil {
			a.report(s, sojourn.TaskRefused)
		}
	case 5, 6:
		if len(a.jobs) == 0 {
			break
		}
		j := a.jobs[a.r.IntN(len(a.jobs))]
		if j.cancelled {
			break
		}
		spec := a.describe(j)
		err := a.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: spec})
		if err != nil {
			if !errors.Is(err, sojourn.ErrRejected) {
				return err
			}
			break
		}
		j.spec = spec
		for i := range spec.Phases {
			for len(j.state[i]) < spec.Phases[i].Tasks {
				j.state[i], j.tries[i] = append(j.state[i], 'p'), append(j.tries[i], 0)
			}
		}
	case 7:
		if len(a.jobs) == 0 || a.r.IntN(3) > 0 {
			break
		}
		if j := a.jobs[a.r.IntN(len(a.jobs))]; !j.cancelled {
			a.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.id}})
			j.cancelled = true
			for p := range j.state {
				for i, s := range j.state[p] {
					if s != 'r' {
						a.set(j, sojourn.TaskID{Phase: uint16(p), Index: uint32(i)}, 'd')
					}
				}
			}
		}
	case 8:
		if id, ok := pick("p"); ok {
			a.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: id})
			a.set(a.job(id.Job), id, 'h')
		}
	case 9:
		if id, ok := pick("h"); ok {
			a.must(sojourn.Event{Kind: sojourn.TaskReady, Task: id})
			a.set(a.job(id.Job), id, 'p')
		}
	case 10: // a task is lost, or needs no run
		if id, ok := pick("pd"); ok {
			j := a.job(id.Job)
			if j.state[id.Phase][id.Index] == 'd' {
				a.must(sojourn.Event{Kind: sojourn.OutputLost, Task: id, Attempt: j.tries[id.Phase][id.Index]})
				a.set(j, id, 'p')
			} else if j.tries[id.Phase][id.Index] == 0 {
				a.must(sojourn.Event{Kind: sojourn.TaskDone, Task: id})
				a.set(j, id, 'd')
			}
		}
	case 11: // an attempt is adopted that may have run for too long already
		id, ok := pick("p")
		if !ok || s.gone || s.retiring || s.job != nil {
			break
		}
		j := a.job(id.Job)
		if j.spec.Phases[id.Phase].Class != s.Class {
			break
		}
		service := a.r.Int64N(j.bound(id) + 4)
		s.job, s.task, s.attempt, s.start = j, id, j.tries[id.Phase][id.Index]+1, a.now-service
		s.end = max(a.now+1, a.now-service+j.bound(id))
		a.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: id, Attempt: s.attempt, Slot: sojourn.Slot{ID: s.ID}, Service: time.Duration(service)})
		j.state[id.Phase][id.Index] = 'r'
		j.tries[id.Phase][id.Index] = s.attempt
	}
	return nil
}

// restart goes on with a policy that is restored from a snapshot.
func (a *adversary) restart() error {
	data, err := a.p.AppendBinary(nil)
	if err != nil {
		return err
	}
	if a.p, err = New(a.opts); err != nil {
		return err
	}
	if err := a.p.UnmarshalBinary(data); err != nil {
		return err
	}
	again, err := a.p.AppendBinary(nil)
	if err == nil && !bytes.Equal(data, again) {
		err = errors.New("the snapshot of a restored policy differs")
	}
	a.log = append(a.log, "restart")
	return err
}

// void returns the jobs whose promises are void. Each must say why.
func (a *adversary) void() (map[sojourn.JobID]bool, error) {
	list := map[sojourn.JobID]bool{}
	for _, id := range a.p.AppendVoid(nil) {
		list[id] = true
		attrs, _ := a.p.Explain(id)
		for _, at := range attrs {
			if at.Key == "void" && at.Value.String() == "" {
				return nil, fmt.Errorf("the promise of job %d is void for no reason: %v", id, attrs)
			}
		}
	}
	return list, nil
}

// judge checks that no job is late without a word.
func (a *adversary) judge() error {
	void, err := a.void()
	if err != nil {
		return err
	}
	for _, j := range a.jobs {
		if d := int64(j.spec.Deadline); d > 0 && !j.cancelled && a.now > d && !void[j.id] {
			attrs, _ := a.p.Explain(j.id)
			return fmt.Errorf("at %d job %d has missed its deadline %d, and its promise is said to hold: %v", a.now, j.id, d, attrs)
		}
	}
	return nil
}

// step lets time pass until the next event, at most by a given time.
func (a *adversary) step(most int64) {
	next := a.now + most
	for i := range a.slots {
		if s := &a.slots[i]; s.job != nil && s.end > a.now {
			next = min(next, s.end)
		}
	}
	if wake, ok := a.p.NextWake(); ok && int64(wake) > a.now {
		next = min(next, int64(wake))
	}
	a.now = next
	a.must(sojourn.Event{Kind: sojourn.Tick})
}

// run does harm for a while. From then on the promises must be kept.
func (a *adversary) run() error {
	for range 5 + a.r.IntN(60) {
		if a.r.IntN(3) == 0 {
			if err := a.arrive(); err != nil {
				return err
			}
		}
		if a.r.IntN(3) == 0 {
			if err := a.harm(); err != nil {
				return err
			}
		}
		if a.r.IntN(12) == 0 {
			if err := a.restart(); err != nil {
				return err
			}
		}
		if a.r.IntN(4) > 0 {
			a.offer()
		}
		if a.r.IntN(2) == 0 {
			a.step(int64(1 + a.r.IntN(6)))
			a.ends()
		}
		if a.r.IntN(2) == 0 {
			if err := a.judge(); err != nil {
				return err
			}
		}
	}
	// From now on, attempts that run within their bounds end within them.
	a.calm = true
	for i := range a.slots {
		if s := &a.slots[i]; s.job != nil {
			if latest := s.start + s.job.bound(s.task); s.end > latest && latest >= a.now {
				s.end = latest
			}
		}
	}
	a.ends()
	a.log = append(a.log, "calm")
	void, err := a.void()
	if err != nil {
		return err
	}
	promised := map[sojourn.JobID]int64{}
	for _, j := range a.jobs {
		if j.spec.Deadline > 0 && !j.cancelled && !void[j.id] {
			promised[j.id] = int64(j.spec.Deadline)
		}
	}
	for range 400 {
		a.offer()
		a.step(50)
		a.ends()
		if void, err = a.void(); err != nil {
			return err
		}
		for id, d := range promised {
			if end, ok := a.finish[id]; ok && end > d || void[id] || !ok && a.now > d {
				return fmt.Errorf("job %d was promised %d, and at %d nothing had happened, but it ended at %d, void %v", id, d, a.now, end, void[id])
			}
		}
	}
	return nil
}

// After any events, if the policy says that a promise holds, and the hypotheses hold from
// then on, the promise is kept. No job is late without a word and a reason. Offers that
// are taken at once are accepted. Admit says what Observe does. Refusals and restarts
// change nothing.
//
// Reference: doc.go, "When reality is otherwise".
func TestHostileHistories(t *testing.T) {
	for _, opts := range []Options{
		{}, {OnePosition: true}, {Order: FIFO}, {RequireDeadline: true},
		{Booking: Chain}, {Booking: Chain, Feedback: true}, {Booking: Chain, Order: FIFO, Feedback: true},
		{Booking: Chain, OnePosition: true}, {Booking: Chain, Feedback: true, Delta: 2},
	} {
		name := fmt.Sprintf("%v %v one=%v feedback=%v delta=%v required=%v",
			opts.Booking, opts.Order, opts.OnePosition, opts.Feedback, int64(opts.Delta), opts.RequireDeadline)
		t.Run(name, func(t *testing.T) {
			n := *histories
			if testing.Short() {
				n = min(n, 30)
			}
			for seed := range uint64(n) {
				a := newAdversary(opts, seed)
				if err := a.run(); err != nil {
					t.Fatalf("%sseed %d: %v", a.story(), seed, err)
				}
			}
		})
	}
}
