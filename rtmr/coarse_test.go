package rtmr

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// busy draws a policy whose attempts end at many different instants, on slots some of which
// retire or were adopted with their attempts.
func busy(t *testing.T, r *rand.Rand, slots, jobs int) *Policy {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	step := func() { now += sojourn.Time(r.IntN(4)) * sojourn.Time(time.Second) }
	class := func(i int) sojourn.Class { return []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass}[i%2] }
	for i := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: class(i)}})
	}
	for id := range jobs {
		job := randomJob(r, sojourn.JobID(id+1), now)
		if p.Admit(job) == nil {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		}
		for i := range slots {
			if r.IntN(4) > 0 {
				step()
				observe(sojourn.Event{Kind: sojourn.Tick})
			}
			slot := sojourn.SlotID(i)
			if _, running := p.ledger.Attempt(slot); !running {
				p.Assign(slot)
			}
		}
	}
	for i := range slots {
		slot := sojourn.SlotID(i)
		if _, running := p.ledger.Attempt(slot); running && r.IntN(5) == 0 {
			observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: slot}})
		}
	}
	step()
	observe(sojourn.Event{Kind: sojourn.Tick})
	return p
}

func randomJob(r *rand.Rand, id sojourn.JobID, now sojourn.Time) *sojourn.Job {
	job := &sojourn.Job{ID: id, Deadline: now + sojourn.Time((100+r.IntN(5901)))*sojourn.Time(time.Second)}
	only := sojourn.Class(r.IntN(4)) // 2 and 3: both phases
	for class := range sojourn.Class(2) {
		if only < 2 && class != only {
			continue
		}
		job.Phases = append(job.Phases, sojourn.Phase{
			Tasks: (1 + r.IntN(12)), Class: class,
			Estimate: time.Duration((50 + r.IntN(351))) * time.Second,
		})
	}
	return job
}

// Coarse vectors are never before those of reality, and what fits into them gets its natural
// place by the exact ones.
func TestCoarse(t *testing.T) {
	fitted, refused := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := busy(t, r, (2 + r.IntN(11)), (1 + r.IntN(6)))
		p.settle()
		now := p.now()
		p.list = p.promised(p.list[:0], now, nil)
		job := randomJob(r, 1000, p.ledger.Now())
		cand := entry{id: job.ID, seq: math.MaxUint64, promised: true, deadline: int64(job.Deadline), place: p.opts.place(int64(job.Deadline))}
		for _, ph := range job.Phases {
			cand.tasks[ph.Class], cand.eps[ph.Class] = int64(ph.Tasks), int64(ph.Estimate)
		}
		var exact, rough vectors
		p.reality(&exact, now)
		size := []int{1, 2, 3, 7, buckets}[r.IntN(5)]
		p.coarse(p.order.jobs, &p.grid, &rough, now, size)
		for s := range exact {
			if !rough[s].Canonical() || len(rough[s]) > size+2 {
				t.Fatalf("coarse vector %v of %d buckets", rough[s], size)
			}
			a, b := elements(exact[s]), elements(rough[s])
			if len(a) != len(b) {
				t.Fatalf("%d slots, coarse %d", len(a), len(b))
			}
			for i := range a {
				if b[i] < a[i] {
					t.Fatalf("coarse %v is before %v", rough[s], exact[s])
				}
			}
		}
		p.base = rough
		a, _ := p.admission(cand, now)
		fits := a.fits(size)
		p.base = exact
		a, _ = p.admission(cand, now)
		place, broken, _ := a.decide()
		switch {
		case fits && (broken != nil || place != cand.place):
			t.Fatalf("%v fits coarse vectors %v, and the exact ones %v give place %d and break %v", job, rough, exact, place, broken)
		case fits:
			fitted++
		default:
			refused++
		}
	}
	if fitted < 50 || refused < 50 {
		t.Errorf("%d candidates fit, %d do not", fitted, refused)
	}
}

func elements(v slotvec.Vector) (all []int64) {
	for _, r := range v {
		for range r.N {
			all = append(all, r.T)
		}
	}
	return all
}

// With thousands of attempts, a job that fits with room to spare is accepted by short vectors,
// and the answer is the exact one for all deadlines.
func TestAdmitBesideManyAttempts(t *testing.T) {
	const slots = many + 100
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for i := range sojourn.SlotID(slots) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i, Class: sojourn.MapClass}})
	}
	phases := func(tasks int) []sojourn.Phase {
		return []sojourn.Phase{{Tasks: tasks, Class: sojourn.MapClass, Estimate: time.Second}}
	}
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Deadline: sojourn.Time(time.Hour), Phases: phases(slots)}})
	for i := range sojourn.SlotID(slots) {
		if _, ok := p.Assign(i); !ok {
			t.Fatalf("slot %d stays free", i)
		}
		now += 1000
		observe(sojourn.Event{Kind: sojourn.Tick})
	}
	short, accepted, refused := 0, 0, 0
	for deadline := now; deadline < now+4_000_000_000; deadline += 40_000_000 {
		job := &sojourn.Job{ID: 2, Deadline: deadline, Phases: phases(slots + 1)}
		got := p.Admit(job) == nil
		if len(p.base[maps]) <= buckets+2 {
			short++
		}
		p.reality(&p.base, p.now())
		p.list = p.promised(p.list[:0], p.now(), nil)
		_, eps, err := p.shape(job)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := p.admission(entry{id: 2, seq: math.MaxUint64, promised: true, deadline: int64(deadline), place: p.opts.place(int64(deadline)),
			tasks: [2]int64{maps: slots + 1}, eps: eps}, p.now())
		_, broken, _ := a.decide()
		if got != (broken == nil) {
			t.Fatalf("deadline %v is accepted: %t, by exact vectors %t", deadline, got, broken == nil)
		}
		if got {
			accepted++
		} else {
			refused++
		}
	}
	if short < 5 || short > accepted || refused < 5 {
		t.Errorf("%d accepted, of which %d by short vectors, and %d refused", accepted, short, refused)
	}
}

// bookDumbly books a job behind others as the paper's loop does, task by task, on slots that become
// available at v, by stage. It returns the end of the job.
func bookDumbly(v *[2][]int64, job *sojourn.Job) (end int64) {
	for _, ph := range job.Phases {
		last := end
		for range ph.Tasks {
			at := v[ph.Class]
			slices.Sort(at)
			at[0] = max(at[0], end) + int64(ph.Estimate)
			last = max(last, at[0])
		}
		end = last
	}
	return end
}

// Among so many promises that short vectors are asked first, a job is accepted, or refused with
// an offer, as if each place was tried task by task.
func TestAdmitAmongManyPromises(t *testing.T) {
	easily, natural, elsewhere, refused := 0, 0, 0, 0
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 2))
		p, err := New(Options{Booking: []Booking{Rebook, Chain}[seed%2]})
		if err != nil {
			t.Fatal(err)
		}
		free := [2][]int64{make([]int64, 1+r.IntN(90)), make([]int64, 1+r.IntN(90))}
		id := sojourn.SlotID(0)
		for class := range free {
			for range free[class] {
				id++
				if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: sojourn.Class(class)}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		clone := func() *[2][]int64 { return &[2][]int64{slices.Clone(free[0]), slices.Clone(free[1])} }
		var jobs []*sojourn.Job
		v, last := clone(), int64(0)
		spare := []int64{1, 1e10, 1e11, 1e12}[r.IntN(4)]
		for i := range long + 2 + r.IntN(40) {
			job := randomJob(r, sojourn.JobID(i+1), 0)
			if len(job.Phases) == 1 { // the virtual map of the chain is not in the loop above
				job.Phases[0].Class = sojourn.MapClass
			}
			last = max(last+2, bookDumbly(v, job)+r.Int64N(spare))
			job.Deadline = sojourn.Time(last)
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
				t.Fatal(err)
			}
			jobs = append(jobs, job)
		}
		for range 8 {
			job := randomJob(r, 1000, 0)
			if len(job.Phases) == 1 {
				job.Phases[0].Class = sojourn.MapClass
			}
			job.Deadline = sojourn.Time(1 + r.Int64N([]int64{last / 8, last + last/4}[r.IntN(2)]))
			offer, at := int64(never), false // the first open place, and whether the natural one keeps all promises
			for place := range len(jobs) + 1 {
				v, ok := clone(), true
				for _, j := range jobs[:place] {
					bookDumbly(v, j)
				}
				e := bookDumbly(v, job)
				for _, j := range jobs[place:] {
					ok = ok && bookDumbly(v, j) <= int64(j.Deadline)
				}
				if !ok {
					continue
				}
				offer = min(offer, e)
				before := place == 0 || jobs[place-1].Deadline <= job.Deadline
				behind := place == len(jobs) || jobs[place].Deadline > job.Deadline
				at = at || before && behind && e <= int64(job.Deadline)
			}
			err := p.Admit(job)
			var rejected *sojourn.RejectedError
			switch {
			case err == nil && offer > int64(job.Deadline):
				t.Fatalf("seed %d: deadline %d is accepted, and the job ends at %d", seed, job.Deadline, offer)
			case err != nil && (!errors.As(err, &rejected) || !rejected.Exact || int64(rejected.Offer) != offer || offer <= int64(job.Deadline)):
				t.Fatalf("seed %d: deadline %d: %v; want the offer %d", seed, job.Deadline, err, offer)
			case err != nil:
				refused++
			case at:
				natural++
			default:
				elsewhere++
			}
			if p.opts.Booking == Rebook {
				p.list = p.promised(p.list[:0], 0, nil)
				_, eps, _ := p.shape(job)
				cand := entry{id: job.ID, seq: math.MaxUint64, promised: true, deadline: int64(job.Deadline), place: p.opts.place(int64(job.Deadline)), eps: eps}
				for _, ph := range job.Phases {
					cand.tasks[ph.Class] = int64(ph.Tasks)
				}
				if p.fitsEasily(cand, 0) {
					easily++
					if !at {
						t.Fatalf("seed %d: deadline %d fits easily, and breaks a promise", seed, job.Deadline)
					}
				}
			}
		}
	}
	if easily < 5 || natural <= easily || elsewhere < 5 || refused < 5 {
		t.Errorf("%d candidates fit easily, %d of all at their natural places, %d elsewhere, %d are refused", easily, natural, elsewhere, refused)
	}
}

// The groups of the starts of a job are what its runs say, and a grid made of groups has as many
// slots as the attempts that have not outlasted their estimate, none of them earlier.
func TestGroups(t *testing.T) {
	grids := 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		var s starts
		var running []sojourn.Time
		now := sojourn.Time(0)
		steps := []int{40, 400, 12_000}[seed%3]
		for range steps {
			now += sojourn.Time(r.IntN(3))
			if at := now; len(running) > 0 && r.IntN(10) < 3 {
				i := r.IntN(len(running))
				s.remove(running[i])
				running = slices.Delete(running, i, i+1)
			} else {
				if r.IntN(200) == 0 { // adopted
					at -= sojourn.Time(r.Int64N(int64(now) + 1))
				}
				s.add(at)
				running = append(running, at)
			}
			if r.IntN(steps/40+1) == 0 {
				checkGroups(t, &s)
			}
		}
		checkGroups(t, &s)
		for len(running) > 0 && r.IntN(500) > 0 {
			last := slices.Max(running)
			s.remove(last)
			i := slices.Index(running, last)
			running = slices.Delete(running, i, i+1)
			if r.IntN(50) == 0 {
				checkGroups(t, &s)
			}
		}
		if len(running) == 0 {
			continue
		}
		if len(s.runs)-s.head > group*grouped {
			grids++
		}
		eps := 1 + r.Int64N(int64(now))
		var g grid
		g.begin(int64(now), max(int64(slices.Max(running))+eps, int64(now)), []int{1, 7, buckets}[r.IntN(3)])
		s.groups = s.groups[:r.IntN(len(s.groups)+1)] // the others are missing
		g.add(&s, eps)
		var exact []int64
		for _, at := range running {
			if end := int64(at) + eps; end >= int64(now) {
				exact = append(exact, end)
			}
		}
		slices.Sort(exact)
		rough := elements(g.vector(nil))
		if len(rough) != len(exact) {
			t.Fatalf("seed %d: %d slots, want %d", seed, len(rough), len(exact))
		}
		for i := range rough {
			if rough[i] < exact[i] {
				t.Fatalf("seed %d: slot %d is available at %d, want %d or later", seed, i, rough[i], exact[i])
			}
		}
	}
	if grids < 10 {
		t.Errorf("%d grids were made of groups", grids)
	}
}

func checkGroups(t *testing.T, s *starts) {
	t.Helper()
	for i, g := range s.groups {
		checkGroup(t, s, i, g)
	}
	s.regroup()
	if want := (len(s.runs) + group - 1) / group; len(s.groups) != want {
		t.Fatalf("%d groups of %d runs, want %d", len(s.groups), len(s.runs), want)
	}
	for i, g := range s.groups {
		checkGroup(t, s, i, g)
	}
}

func checkGroup(t *testing.T, s *starts, i int, g startRun) {
	t.Helper()
	last, n := sojourn.Time(-1), int64(0)
	for k := i * group; k < min((i+1)*group, len(s.runs)); k++ {
		last, n = s.runs[k].at, n+s.runs[k].n
	}
	if g.at != last || g.n != n {
		t.Fatalf("group %d is %v, want %v", i, g, startRun{last, n})
	}
}
