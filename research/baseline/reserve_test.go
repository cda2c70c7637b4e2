package baseline_test

import (
	"cmp"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"pgregory.net/rapid"
)

// A reserved is SRPT or LAS with a reserve, as lists and rational numbers. It shares no code with
// either.
type reserved struct {
	share   *big.Rat
	counted bool
	las     bool // levels without lengths, order by attained service

	now     sojourn.Time
	slots   []*reservedSlot
	jobs    []*reservedJob                    // live, in the order of arrival
	lengths map[sojourn.Class][]time.Duration // of the phases that have arrived
}

type reservedSlot struct {
	id       sojourn.SlotID
	class    sojourn.Class
	job      *reservedJob // nil: free
	a        sojourn.Assignment
	start    sojourn.Time
	out      bool // it was started out of turn
	retiring bool
}

type reservedJob struct {
	spec      *sojourn.Job
	state     [][]byte // by phase and task: ' ' pending, 'r' running, 'd' done
	level     map[sojourn.Class]int
	served    time.Duration   // of ended attempts that are charged
	failed    []time.Duration // of an attempt that is not charged yet
	cancelled bool
}

// phase returns the first phase of j that has a startable task of a class; -1 if there is none.
func (j *reservedJob) phase(c sojourn.Class) int {
	for i := range j.spec.Phases {
		ready := i == 0 || count(j.state[i-1], 'd') >= j.spec.Threshold(i)
		if !j.cancelled && ready && j.spec.Phases[i].Class == c && count(j.state[i], ' ') > 0 {
			return i
		}
	}
	return -1
}

func count(state []byte, want byte) (n int) {
	for _, s := range state {
		if s == want {
			n++
		}
	}
	return n
}

func (p *reserved) running(j *reservedJob, c sojourn.Class) (n int) {
	for _, s := range p.slots {
		if s.job == j && s.class == c {
			n++
		}
	}
	return n
}

// key returns what jobs are ordered by, ties by arrival.
func (p *reserved) key(j *reservedJob) (key [2]time.Duration) {
	if p.las {
		key[0] = j.served
		for _, s := range p.slots {
			if s.job == j {
				key[0] += p.now.Sub(s.start)
				key[1]++
			}
		}
		return key
	}
	for i := range j.state {
		for k, s := range j.state[i] {
			if s != 'd' {
				key[0] += cmp.Or(j.spec.Phases[i].EstimateOf(k), time.Minute)
			}
		}
	}
	return key
}

// before reports whether a comes before b, which arrived later.
func (p *reserved) before(a, b *reservedJob) bool {
	x, y := p.key(a), p.key(b)
	return x[0] < y[0] || x[0] == y[0] && x[1] <= y[1]
}

func longest(ph *sojourn.Phase) (d time.Duration) {
	for k := range ph.Tasks {
		d = max(d, cmp.Or(ph.EstimateOf(k), time.Minute))
	}
	return d
}

// halfOctave returns floor(2 log2 d).
func halfOctave(d time.Duration) int {
	square := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(int64(d)))
	for b := 0; ; b++ {
		if new(big.Int).Lsh(big.NewInt(1), uint(b+1)).Cmp(square) > 0 {
			return b
		}
	}
}

func floor(x *big.Rat) int { return int(new(big.Int).Div(x.Num(), x.Denom()).Int64()) }

func rat(a, b int) *big.Rat { return big.NewRat(int64(a), int64(b)) }

// fileFor files j for one class.
func (p *reserved) fileFor(j *reservedJob, c sojourn.Class) {
	i := j.phase(c)
	if delete(j.level, c); i < 0 {
		return
	}
	r := p.running(j, c)
	if p.las {
		j.level[c] = min(15, 15*r)
		return
	}
	own := halfOctave(longest(&j.spec.Phases[i]))
	u := new(big.Rat)
	for _, d := range p.lengths[c] {
		switch other := halfOctave(d); {
		case other < own:
			u.Add(u, rat(1, 1))
		case other == own:
			u.Add(u, rat(1, 2))
		}
	}
	u.Quo(u, rat(len(p.lengths[c]), 1))
	x := u.Add(u, rat(r, 1))
	x.Quo(x, rat(1+r, 1)).Mul(x, rat(15999, 1000))
	j.level[c] = floor(x)
}

func (p *reserved) file(j *reservedJob) {
	for i := range j.spec.Phases {
		p.fileFor(j, j.spec.Phases[i].Class)
	}
}

// counts returns the slots of a class, those that are free, and those held out of turn.
func (p *reserved) counts(c sojourn.Class) (n, free, q int) {
	for _, s := range p.slots {
		if s.class != c {
			continue
		}
		n++
		if s.job == nil {
			free++
		} else if s.out {
			q++
		}
	}
	return n, free, q
}

func (p *reserved) kept(c sojourn.Class) int {
	n, _, _ := p.counts(c)
	k := new(big.Rat).Mul(p.share, rat(n, 1))
	return max(0, min(floor(k.Add(k, rat(1, 2))), n-1))
}

// next returns the job that the next slot of a class goes to, and whether it is its turn.
func (p *reserved) next(c sojourn.Class) (best *reservedJob, inTurn bool) {
	_, free, q := p.counts(c)
	if !p.counted {
		q = 0
	}
	var first *reservedJob
	for _, j := range p.jobs {
		if j.phase(c) < 0 {
			continue
		}
		if first == nil || !p.before(first, j) {
			first = j
		}
		threshold := floor(new(big.Rat).Add(rat(j.level[c]*p.kept(c), 15), rat(1, 2)))
		if (free+q > threshold || len(p.jobs) == 1) && (best == nil || !p.before(best, j)) {
			best = j
		}
	}
	return best, best == first
}

// A reservedTrial drives a policy and its oracle.
type reservedTrial struct {
	*rapid.T
	p      sojourn.Policy
	o      *reserved
	next   sojourn.JobID
	slotID sojourn.SlotID
}

func (t *reservedTrial) observe(ev sojourn.Event) {
	ev.At = t.o.now
	if err := t.p.Observe(ev); err != nil {
		t.Fatalf("Observe(%v) = %v", ev, err)
	}
}

func (t *reservedTrial) n(name string, most int) int { return rapid.IntRange(0, most).Draw(t.T, name) }

func (t *reservedTrial) phases(old []sojourn.Phase, classes int) (phases []sojourn.Phase) {
	n := len(old)
	if n == 0 {
		n = 1 + t.n("more phases", 2)
	}
	for i := range n {
		ph := sojourn.Phase{Tasks: 1 + t.n("more tasks", 4), Class: sojourn.Class(t.n("class", classes-1))}
		if old != nil {
			ph.Class, ph.Tasks = old[i].Class, max(ph.Tasks, old[i].Tasks)
		}
		if i > 0 {
			ph.After = rapid.IntRange(sojourn.NoBarrier, phases[i-1].Tasks).Draw(t.T, "after")
		}
		for range ph.Tasks {
			ph.Estimates = append(ph.Estimates, rapid.SampledFrom([]time.Duration{0, 1, 2, 3, 5, 90, time.Second, time.Minute, time.Hour, 1 << 55}).Draw(t.T, "estimate"))
		}
		phases = append(phases, ph)
	}
	return phases
}

func (t *reservedTrial) arrive(classes int) {
	t.next++
	j := &reservedJob{spec: &sojourn.Job{ID: t.next, Weight: float64(t.n("weight", 3)), Phases: t.phases(nil, classes)}, level: map[sojourn.Class]int{}}
	for i := range j.spec.Phases {
		ph := &j.spec.Phases[i]
		j.state = append(j.state, slices.Repeat([]byte{' '}, ph.Tasks))
		t.o.lengths[ph.Class] = append(t.o.lengths[ph.Class], longest(ph))
	}
	t.o.jobs = append(t.o.jobs, j)
	t.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j.spec})
	t.o.file(j)
}

// job draws a live job that is not cancelled.
func (t *reservedTrial) job() *reservedJob {
	var jobs []*reservedJob
	for _, j := range t.o.jobs {
		if !j.cancelled {
			jobs = append(jobs, j)
		}
	}
	if len(jobs) == 0 {
		t.Skip("no job")
	}
	return jobs[t.n("job", len(jobs)-1)]
}

// slot draws a slot that is busy, or free.
func (t *reservedTrial) slot(busy bool) *reservedSlot {
	var slots []*reservedSlot
	for _, s := range t.o.slots {
		if (s.job != nil) == busy {
			slots = append(slots, s)
		}
	}
	if len(slots) == 0 {
		t.Skip("no slot")
	}
	return slots[t.n("slot", len(slots)-1)]
}

func (t *reservedTrial) end(kind sojourn.EventKind) {
	s := t.slot(true)
	j := s.job
	ev := sojourn.Event{Kind: kind, Task: s.a.Task, Attempt: s.a.Attempt, Slot: sojourn.Slot{ID: s.id}}
	if kind == sojourn.TaskFailed && t.n("killed", 1) == 1 {
		ev.Cause = sojourn.CausePreempted
	}
	t.observe(ev)
	state := byte(' ')
	if kind == sojourn.TaskFinished {
		state = 'd'
	}
	switch held := t.o.now.Sub(s.start); {
	case kind == sojourn.TaskRefused || ev.Cause == sojourn.CausePreempted: // never charged
	case kind == sojourn.TaskFailed && len(j.failed) == 0:
		j.failed = append(j.failed, held)
	default:
		for _, owed := range append(j.failed, held) {
			j.served += owed
		}
		j.failed = nil
	}
	j.state[s.a.Task.Phase][s.a.Task.Index] = state
	if s.job, s.out = nil, false; s.retiring {
		t.o.slots = slices.DeleteFunc(t.o.slots, func(x *reservedSlot) bool { return x == s })
	}
	t.o.file(j)
	t.drop(j)
}

// drop takes out a job that has ended.
func (t *reservedTrial) drop(j *reservedJob) {
	for i := range j.state {
		if count(j.state[i], 'r') > 0 || !j.cancelled && count(j.state[i], 'd') < len(j.state[i]) {
			return
		}
	}
	t.o.jobs = slices.DeleteFunc(t.o.jobs, func(x *reservedJob) bool { return x == j })
}

// offer offers a free slot.
func (t *reservedTrial) offer(s *reservedSlot) bool {
	want, inTurn := t.o.next(s.class)
	a, ok := t.p.Assign(s.id)
	if ok != (want != nil) {
		t.Fatalf("Assign(%d) = %v, %v, want job %v", s.id, a, ok, want)
	}
	if !ok {
		return false
	}
	i := want.phase(s.class)
	if a.Task.Job != want.spec.ID || int(a.Task.Phase) != i {
		t.Fatalf("Assign(%d) = %v, want phase %d of job %d", s.id, a, i, want.spec.ID)
	}
	want.state[i][a.Task.Index] = 'r'
	s.job, s.a, s.start, s.out = want, a, t.o.now, !inTurn
	t.o.fileFor(want, s.class)
	if _, _, q := t.o.counts(s.class); t.o.counted && s.out && q > t.o.kept(s.class) {
		t.Fatalf("%d slots of class %d are held out of turn, %d are reserved", q, s.class, t.o.kept(s.class))
	}
	return true
}

// offerAll offers all slots until none is taken, and looks at what the counted form promises.
func (t *reservedTrial) offerAll() {
	for taken := true; taken; {
		taken = false
		for _, s := range t.o.slots {
			taken = s.job == nil && t.offer(s) || taken
		}
	}
	for _, j := range t.o.jobs {
		for i := range j.spec.Phases {
			c := j.spec.Phases[i].Class
			n, free, q := t.o.counts(c)
			kept := max(t.o.kept(c), q) // more are held where slots have left
			if served := n - free - q; t.o.counted && j.phase(c) >= 0 && served < n-kept {
				t.Fatalf("class %d: work waits, and %d slots serve the order, want %d", c, served, n-kept)
			}
		}
	}
}

func (t *reservedTrial) seek(classes int) {
	for c := range sojourn.Class(classes) {
		id, ok := t.p.(sojourn.Seeker).Seek(c)
		best, _ := t.o.next(c)
		least, free := sojourn.SlotID(0), false
		for _, s := range t.o.slots {
			if s.class == c && s.job == nil && (!free || s.id < least) {
				least, free = s.id, true
			}
		}
		if want := free && best != nil; ok != want || ok && id != least {
			t.Fatalf("Seek(%d) = %d, %v, want %d, %v", c, id, ok, least, want)
		}
	}
}

// Reference: the rules of package kit/reserve, over the orders of SRPT and LAS.
func TestReserveAgainstLists(t *testing.T) {
	shares := []float64{0.01, 0.1, 0.25, 0.5, 1}
	for _, las := range []bool{false, true} {
		name := "srpt"
		if las {
			name = "las"
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				share := rapid.SampledFrom(shares).Draw(r, "share")
				counted := !las && rapid.Bool().Draw(r, "counted")
				newPolicy := must(baseline.NewSRPT, baseline.SRPTOptions{Reserve: share, Counted: counted})
				if las {
					newPolicy = must(baseline.NewLAS, baseline.LASOptions{Reserve: share})
				}
				exact, _ := new(big.Rat).SetString(big.NewFloat(share).Text('f', 6))
				classes := rapid.IntRange(1, 3).Draw(r, "classes")
				t := &reservedTrial{p: newPolicy(), o: &reserved{share: exact, counted: counted, las: las, lengths: map[sojourn.Class][]time.Duration{}}}
				t.T = r
				t.drive(classes, newPolicy)
			})
		})
	}
}

func (t *reservedTrial) drive(classes int, newPolicy func() sojourn.Policy) {
	add := func() {
		s := &reservedSlot{id: t.slotID, class: sojourn.Class(t.n("class", classes-1))}
		t.slotID++
		t.o.slots = append(t.o.slots, s)
		t.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: s.id, Class: s.class}})
	}
	for range rapid.IntRange(0, 10).Draw(t.T, "slots") {
		add()
	}
	action := func(do func()) func(*rapid.T) {
		return func(r *rapid.T) {
			whole := t.T
			t.T = r
			do()
			t.T = whole
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"arrive":   action(func() { t.arrive(classes) }),
		"arrive2":  action(func() { t.arrive(classes) }),
		"add slot": action(add),
		"remove slot": action(func() {
			s := t.slot(t.n("busy", 1) == 1)
			if s.retiring {
				t.Skip("it leaves already")
			}
			t.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.id}})
			if s.retiring = true; s.job == nil {
				t.o.slots = slices.DeleteFunc(t.o.slots, func(x *reservedSlot) bool { return x == s })
			}
		}),
		"wait": action(func() {
			t.o.now += sojourn.Time(t.n("time", 5))
			t.observe(sojourn.Event{Kind: sojourn.Tick})
		}),
		"offer":     action(func() { t.offer(t.slot(false)) }),
		"offer all": action(t.offerAll),
		"finish":    action(func() { t.end(sojourn.TaskFinished) }),
		"finish2":   action(func() { t.end(sojourn.TaskFinished) }),
		"fail":      action(func() { t.end(sojourn.TaskFailed) }),
		"refuse":    action(func() { t.end(sojourn.TaskRefused) }),
		"revise": action(func() {
			j := t.job()
			spec := *j.spec
			spec.Phases = t.phases(j.spec.Phases, classes)
			for i := range spec.Phases {
				more := spec.Phases[i].Tasks - j.spec.Phases[i].Tasks
				j.state[i] = append(j.state[i], slices.Repeat([]byte{' '}, more)...)
			}
			j.spec = &spec
			t.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &spec})
			t.o.file(j)
		}),
		"cancel": action(func() {
			j := t.job()
			t.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: j.spec})
			j.cancelled = true
			t.o.file(j)
			t.drop(j)
		}),
		"restore": action(func() {
			data, err := t.p.(sojourn.Snapshotter).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			t.p = newPolicy()
			if err := t.p.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
		}),
		"": action(func() { t.seek(classes) }),
	})
}
