package forecast_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A story tells a Watch what happens, second by second.
type story struct {
	*testing.T
	*forecast.Watch
	now int
}

func newStory(t *testing.T, p sojourn.Policy, slots int) *story {
	s := &story{T: t, Watch: forecast.New(p)}
	for i := range slots {
		s.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i + 1), Node: 1}})
	}
	return s
}

func (s *story) tell(ev sojourn.Event) {
	s.Helper()
	ev.At = second(s.now)
	if err := s.Observe(ev); err != nil {
		s.Fatal(err)
	}
}

// arrive reports a job of tasks that are told to take so many seconds.
func (s *story) arrive(id sojourn.JobID, tasks, told int) {
	s.Helper()
	s.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Duration(told) * time.Second}}}})
}

// learn runs ten jobs of a task that take exactly what they are told, 5 s: from then on draws are exact.
func (s *story) learn() {
	s.Helper()
	for i := range 10 {
		s.arrive(sojourn.JobID(1000+i), 1, 5)
		a, _ := s.Assign(1)
		s.now += 5
		s.tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	}
}

// foresee returns when jobs start and finish, in seconds from now. All draws agree; -1: none is given.
func (s *story) foresee(q forecast.Question) (starts, finishes map[sojourn.JobID]int) {
	s.Helper()
	f, err := s.Foresee(context.Background(), q)
	if err != nil {
		s.Fatal(err)
	}
	at := func(i *forecast.Interval) int {
		switch {
		case i == nil:
			return -1
		case i.Low != i.High || i.Low != i.Median:
			s.Errorf("%+v: draws do not agree: %v to %v", q, i.Low, i.High)
		}
		return int(i.Low.Sub(second(s.now)) / time.Second)
	}
	starts, finishes = map[sojourn.JobID]int{}, map[sojourn.JobID]int{}
	for _, j := range f.Jobs {
		starts[j.ID], finishes[j.ID] = at(j.Start), at(j.Finish)
	}
	return starts, finishes
}

func second(n int) sojourn.Time { return sojourn.Time(time.Duration(n) * time.Second) }

func srpt() (sojourn.Policy, error) { return baseline.NewSRPT(baseline.SRPTOptions{}) }

// One more job of 3 s goes before a job of 5 s if the shortest goes first. A job of three tasks on one slot starts once.
func TestOneMoreJobIsInTheWay(t *testing.T) {
	p, _ := srpt()
	s := newStory(t, p, 1)
	s.learn()
	s.arrive(1, 3, 5)
	for _, tc := range []struct{ tasks, each, start, finish int }{{0, 0, 0, 15}, {1, 3, 3, 18}, {2, 3, 6, 21}, {1, 60, 0, 15}} {
		starts, finishes := s.foresee(forecast.Question{Policy: srpt, Tasks: tc.tasks, Each: time.Duration(tc.each) * time.Second, Draws: 20})
		if starts[1] != tc.start || finishes[1] != tc.finish {
			t.Errorf("with %d tasks more of %d s: %d s to %d s, want %d s to %d s", tc.tasks, tc.each, starts[1], finishes[1], tc.start, tc.finish)
		}
	}
}

// Six tasks of 5 s take 10 s on three slots, 15 s on two, 30 s on one, and 5 s on six. All slots but one can be taken away, also
// such with a task: it ends there.
func TestMoreAndFewerSlots(t *testing.T) {
	p, _ := another()
	s := newStory(t, p, 3)
	s.learn()
	s.arrive(1, 6, 5)
	for by, want := range map[int]int{0: 10, -1: 15, -2: 30, 3: 5} {
		if _, finishes := s.foresee(forecast.Question{Policy: another, Slots: by, Draws: 5}); finishes[1] != want {
			t.Errorf("%+d slots: %d s, want %d s", by, finishes[1], want)
		}
	}
	if f, err := s.Foresee(context.Background(), forecast.Question{Policy: another, Slots: -3}); err == nil {
		t.Errorf("without slots: %+v", f)
	}
}

// A cluster without slots is one: the job waits for ever, or for the slot that is added.
func TestNoSlots(t *testing.T) {
	p, _ := another()
	s := newStory(t, p, 1)
	s.learn()
	s.tell(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	s.arrive(1, 1, 5)
	for by, want := range map[int]int{0: -1, 1: 5} {
		if _, finishes := s.foresee(forecast.Question{Policy: another, Slots: by, Draws: 5}); finishes[1] != want {
			t.Errorf("%+d slots: %d s, want %d s", by, finishes[1], want)
		}
	}
}

// A task took what its driver says, not what the clock does: it was suspended meanwhile.
func TestServiceIsToldBeforeTime(t *testing.T) {
	p, _ := another()
	s := newStory(t, p, 1)
	for i := range 10 {
		s.arrive(sojourn.JobID(1000+i), 1, 5)
		a, _ := s.Assign(1)
		s.now += 50
		s.tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}, Service: 5 * time.Second})
	}
	s.arrive(1, 2, 5)
	if _, finishes := s.foresee(forecast.Question{Policy: another, Draws: 5}); finishes[1] != 10 {
		t.Errorf("two tasks of 5 s finish after %d s", finishes[1])
	}
}

// A killer kills the attempts on two slots, once.
type killer struct {
	sojourn.Policy
	list map[sojourn.SlotID]sojourn.Preemption
}

func newKiller() (sojourn.Policy, error) {
	p, err := another()
	return &killer{p, map[sojourn.SlotID]sojourn.Preemption{}}, err
}

func (k *killer) Observe(ev sojourn.Event) error {
	switch ev.Kind {
	case sojourn.TaskAdopted:
		k.list[ev.Slot.ID] = sojourn.Preemption{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot.ID}
	case sojourn.TaskFailed, sojourn.TaskFinished:
		delete(k.list, ev.Slot.ID)
	}
	return k.Policy.Observe(ev)
}

func (k *killer) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	for slot := range sojourn.SlotID(3) {
		if v, ok := k.list[slot]; ok {
			dst = append(dst, v)
		}
	}
	return dst
}

// Two tasks of 5 s have run for 3 s. The policy that is asked about kills both: they begin anew. One alone is killed, too.
func TestKilledTasksBeginAnew(t *testing.T) {
	for _, jobs := range []int{1, 2} {
		p, _ := another()
		s := newStory(t, p, jobs)
		s.learn()
		for i := range jobs {
			s.arrive(sojourn.JobID(i+1), 1, 5)
			s.Assign(sojourn.SlotID(i + 1))
		}
		s.now += 3
		s.tell(sojourn.Event{Kind: sojourn.Tick})
		for i := range jobs {
			id := sojourn.JobID(i + 1)
			if _, finishes := s.foresee(forecast.Question{Policy: another, Draws: 5}); finishes[id] != 2 {
				t.Errorf("job %d finishes after %d s, want 2 s", id, finishes[id])
			}
			if _, finishes := s.foresee(forecast.Question{Policy: newKiller, Draws: 5}); finishes[id] != 5 {
				t.Errorf("job %d is killed and finishes after %d s, want 5 s", id, finishes[id])
			}
		}
	}
}

// A sleeper starts nothing before an instant, and wants a Tick then.
type sleeper struct {
	sojourn.Policy
	until sojourn.Time
	now   sojourn.Time
	tick  error // to a Tick
}

func (p *sleeper) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.Tick && p.tick != nil {
		return p.tick
	}
	p.now = ev.At
	return p.Policy.Observe(ev)
}

func (p *sleeper) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if p.now < p.until {
		return sojourn.Assignment{}, false
	}
	return p.Policy.Assign(id)
}

func (p *sleeper) NextWake() (sojourn.Time, bool) {
	return min(p.until, p.now.Add(time.Second)), p.now < p.until
}

// AppendBinary and UnmarshalBinary save the instant: a new sleeper does not know it.
func (p *sleeper) AppendBinary(dst []byte) ([]byte, error) {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(p.until))
	return p.Policy.(sojourn.Snapshotter).AppendBinary(dst)
}

func (p *sleeper) UnmarshalBinary(data []byte) error {
	if len(data) < 8 {
		return errors.New("no sleeper")
	}
	if err := p.Policy.(sojourn.Snapshotter).UnmarshalBinary(data[8:]); err != nil {
		return err
	}
	p.until = sojourn.Time(binary.LittleEndian.Uint64(data))
	return nil
}

func newSleeper(until sojourn.Time, tick error) func() (sojourn.Policy, error) {
	return func() (sojourn.Policy, error) {
		p, err := fifo.New(fifo.Options{})
		return &sleeper{Policy: p, until: until, tick: tick}, err
	}
}

// A policy that sleeps is woken. What it refuses then is the error. One that wants to be woken for ever, while nothing runs, ends
// the forecast without an answer.
func TestPoliciesThatSleep(t *testing.T) {
	p, _ := another()
	s := newStory(t, p, 1)
	s.learn()
	s.arrive(1, 2, 5)
	if starts, finishes := s.foresee(forecast.Question{Policy: newSleeper(second(s.now+20), nil), Draws: 5}); starts[1] != 20 || finishes[1] != 30 {
		t.Errorf("it starts after %d s and finishes after %d s, want 20 s and 30 s", starts[1], finishes[1])
	}
	if starts, finishes := s.foresee(forecast.Question{Policy: newSleeper(second(1e9), nil), Draws: 1}); starts[1] != -1 || finishes[1] != -1 {
		t.Errorf("it starts after %d s and finishes after %d s, want never", starts[1], finishes[1])
	}
	refusal := errors.New("no Tick")
	if f, err := s.Foresee(context.Background(), forecast.Question{Policy: newSleeper(second(s.now+20), refusal), Draws: 1}); !errors.Is(err, refusal) {
		t.Errorf("a refused Tick: %+v, %v", f, err)
	}
}

// A new policy knows what the one in charge has learned, if they are alike: here, that it is to sleep. If they are not, it knows
// the facts.
func TestWhatThePolicyInChargeHasLearned(t *testing.T) {
	p, _ := newSleeper(0, nil)()
	s := newStory(t, p, 1)
	s.learn()
	p.(*sleeper).until = second(s.now + 7)
	s.arrive(1, 1, 5)
	if starts, _ := s.foresee(forecast.Question{Policy: newSleeper(0, nil), Draws: 5}); starts[1] != 7 {
		t.Errorf("a new policy like that in charge starts it after %d s, want 7 s", starts[1])
	}
	if starts, _ := s.foresee(forecast.Question{Policy: another, Draws: 5}); starts[1] != 0 {
		t.Errorf("another policy starts it after %d s, want 0 s", starts[1])
	}
}

// Attempts that were preempted or lost say nothing of failures to come. Five that failed by themselves beside ten that finished do:
// the median is the time of one attempt, and the upper end is later.
func TestOwnFailuresMayComeAgain(t *testing.T) {
	for cause, want := range map[sojourn.Cause]bool{sojourn.CauseTask: true, sojourn.CausePreempted: false, sojourn.CauseSlotLost: false} {
		p, _ := another()
		s := newStory(t, p, 1)
		for range 5 {
			s.arrive(1, 1, 5)
			a, _ := s.Assign(1)
			s.now++
			s.tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}, Cause: cause})
			a, _ = s.Assign(1)
			s.now += 5
			s.tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
		}
		for range 3 {
			s.learn()
		}
		s.arrive(1, 1, 5)
		f, err := s.Foresee(context.Background(), forecast.Question{Policy: another, Draws: 400})
		if err != nil {
			t.Fatal(err)
		}
		i := f.Jobs[0].Finish
		if i.Low != second(s.now+5) || i.Median != i.Low || (i.High > i.Low) != want {
			t.Errorf("after failures by %v: %v, %v, %v after the start", cause, i.Low.Sub(second(s.now)), i.Median.Sub(second(s.now)), i.High.Sub(second(s.now)))
		}
	}
}

// A task that fails is not done: its next attempt is.
func TestAFailedAttemptDoesNotFinishAJob(t *testing.T) {
	p, _ := another()
	s := newStory(t, p, 1)
	s.arrive(1, 1, 5)
	finishes, err := s.Ahead(another, 3, func(_ sojourn.TaskID, attempt uint32, _ time.Duration) (time.Duration, bool) {
		return 2 * time.Second, attempt < 3
	})
	if err != nil || *finishes[1] != (forecast.Interval{Low: second(6), Median: second(6), High: second(6)}) {
		t.Errorf("%+v, %v; want 6 s", finishes[1], err)
	}
}

// What is taken elsewhere has started; what cannot be taken is an error, and nothing has started.
func TestTakenElsewhere(t *testing.T) {
	s := newStory(t, nil, 1)
	s.arrive(1, 2, 5)
	started := func() bool {
		f, err := s.Foresee(context.Background(), forecast.Question{Policy: another, Draws: 1})
		if err != nil {
			t.Fatal(err)
		}
		return f.Jobs[0].Started
	}
	if err := s.Take(sojourn.Assignment{Task: sojourn.TaskID{Job: 1, Index: 9}, Attempt: 1, Slot: 1}); err == nil || started() {
		t.Errorf("a task that is not there: %v, started %v", err, started())
	}
	a := sojourn.Assignment{Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: 1}
	if err := s.Take(a); err != nil || !started() {
		t.Errorf("%v, started %v", err, started())
	}
	s.now = 2 // it fails, and has started all the same
	s.tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: 1, Slot: sojourn.Slot{ID: 1}, Cause: sojourn.CausePreempted})
	if !started() {
		t.Error("a job whose only attempt failed has not started")
	}
}

// Nobody foresees what a Watch is told no more, or a policy that is not new.
func TestUnusable(t *testing.T) {
	p, _ := another()
	s := newStory(t, p, 1)
	s.Retire()
	if f, err := s.Foresee(context.Background(), forecast.Question{Policy: another}); !errors.Is(err, forecast.ErrSwapped) {
		t.Errorf("%+v, %v", f, err)
	}
	old := newStory(t, nil, 1)
	old.arrive(1, 1, 5)
	if f, err := forecast.New(old.Watch).Foresee(context.Background(), forecast.Question{Policy: another}); err == nil {
		t.Errorf("of a policy that is not new: %+v", f)
	}
}
