package forecast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// A Watch is a policy that decides as another one does, and knows how long tasks took. It hides none of the optional
// interfaces.
type Watch struct {
	mu      sync.Mutex // guards what a forecast copies
	account *account.Account
	started map[sojourn.JobID]bool // live jobs of which a task has been started
	known   durations
	retired bool // Retire was called
}

// ErrSwapped: another policy has taken over from the one inside by a swap of package shadow, so the Watch is told nothing more.
// One that is around the shadow goes on.
var ErrSwapped = errors.New("forecast: another policy has taken over: put forecast.New around shadow.New")

// New returns a Watch around a policy, which is new: nothing was reported to it. p may be nil: then the Watch follows a
// cluster that somebody else schedules, and [Watch.Take] tells it what is started. If p is not new, or is a journal, the Watch
// refuses every event and every question, with the error of [account.Account.Err]; so do live.New and the first event of
// a driver.
func New(p sojourn.Policy) *Watch {
	return &Watch{account: account.New(p), started: map[sojourn.JobID]bool{}, known: newDurations()}
}

// Observe implements [sojourn.Policy]. It answers as the policy inside.
func (w *Watch) Observe(ev sojourn.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	took, job := w.ended(&ev)
	if err := w.account.Observe(ev); err != nil {
		return err
	}
	switch ev.Kind {
	case sojourn.TaskAdopted, sojourn.TaskDone:
		w.started[ev.Task.Job] = true
	case sojourn.TaskFinished:
		w.known.add(job, int(ev.Task.Phase), int(ev.Task.Index), took)
	case sojourn.TaskFailed:
		if ev.Cause == sojourn.CauseTask {
			w.known.failed++
		}
	}
	id := ev.Task.Job
	if ev.Job != nil {
		id = ev.Job.ID
	}
	if _, live := w.account.Job(id); !live {
		w.known.forget(id)
		delete(w.started, id)
	}
	return nil
}

// ended returns what the task took that an event says is finished, and its job. Of an event that the policy will refuse it may
// return anything.
func (w *Watch) ended(ev *sojourn.Event) (time.Duration, *sojourn.Job) {
	if ev.Kind != sojourn.TaskFinished {
		return 0, nil
	}
	j, _ := w.account.Job(ev.Task.Job)
	a, _ := w.account.Attempt(ev.Slot.ID)
	if ev.Service != 0 {
		return ev.Service, j.Spec
	}
	return a.Service + ev.At.Sub(w.account.Now()), j.Spec
}

// Assign implements [sojourn.Policy].
func (w *Watch) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, ok := w.account.Assign(id)
	if ok {
		w.started[a.Task.Job] = true
	}
	return a, ok
}

// Take records an assignment that was made elsewhere: see [account.Account.Take].
func (w *Watch) Take(a sojourn.Assignment) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.account.Take(a); err != nil {
		return err
	}
	w.started[a.Task.Job] = true
	return nil
}

// Unwrap returns the account around the policy; see [sojourn.As].
func (w *Watch) Unwrap() sojourn.Policy { return w.account }

// Retire says that the Watch is told nothing more: from then on Foresee returns [ErrSwapped]. A shadow calls it.
func (w *Watch) Retire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retired = true
}

// usable returns why nothing can be foreseen.
func (w *Watch) usable() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.retired {
		return ErrSwapped
	}
	return w.account.Err()
}

// A Question is what a forecast is asked. Only Policy is required.
type Question struct {
	// Policy returns a new policy, which decides from now on: one like that in charge, or another one.
	Policy func() (sojourn.Policy, error)

	Slots int           // so many more slots of the class that the last job uses first; fewer if negative
	Tasks int           // of one more job, which arrives now; 0 is none
	Each  time.Duration // that each of its tasks takes
	Draws int           // how often the times of tasks are drawn; 0 means 100
	Seed  uint64        // of the draws; the same facts and the same seed give the same forecast

	// MaxTasks is the most tasks of live jobs that are left for which the question is answered; 0 is any number.
	MaxTasks int
}

// A Forecast says what becomes of the live jobs.
type Forecast struct {
	At    sojourn.Time // the instant from which it looks ahead: the latest event
	Draws int
	Jobs  []Job // in the order of arrival
}

// A Job is what becomes of a live job. Start is nil if a task of it was started before. Start and Finish are nil if it
// does not start or finish in one of the draws.
type Job struct {
	ID            sojourn.JobID
	Name          string
	Arrival       sojourn.Time
	Left, Running int // tasks
	Started       bool
	Start, Finish *Interval
}

// An Interval has the 5 %, 50 % and 95 % quantiles of an instant.
type Interval struct{ Low, Median, High sojourn.Time }

// UnknownError is the error for phases of which nothing is known: they have no estimate, and no task has finished.
type UnknownError struct{ Phases int }

// Error says of how many phases nothing is known.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("nothing is known of what the tasks of %d phases take: they have no estimate, and no task has finished", e.Phases)
}

// TooManyError is the error for more tasks than [Question.MaxTasks].
type TooManyError struct{ Tasks, Most int }

// Error says how many tasks there are.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d tasks are left, and a forecast is made of %d at most", e.Tasks, e.Most)
}

// defaultDraws are those of a Question without a number.
const defaultDraws = 100

// Foresee answers a question. Its error is an [*UnknownError] where nothing is known of the times of tasks, a
// [*TooManyError], that of the context, or that of the new policy; or [ErrSwapped], or that of a policy which does not fit.
func (w *Watch) Foresee(ctx context.Context, q Question) (*Forecast, error) {
	if q.Policy == nil {
		return nil, errors.New("forecast: Question.Policy is nil: want a function that makes a policy")
	}
	if err := w.usable(); err != nil {
		return nil, err
	}
	if left := w.left(); q.MaxTasks > 0 && left > q.MaxTasks {
		return nil, &TooManyError{left, q.MaxTasks}
	}
	s, unknown := w.stand(q.Seed)
	f := &Forecast{At: s.now, Draws: cmp.Or(q.Draws, defaultDraws)}
	for i := range s.jobs {
		if j := &s.jobs[i]; !j.Cancelled {
			f.Jobs = append(f.Jobs, Job{ID: j.Spec.ID, Name: j.Spec.Name, Arrival: s.now.Add(-j.Age), Left: j.Left, Running: j.Running, Started: s.started[j.Spec.ID]})
		}
	}
	slices.SortFunc(f.Jobs, func(a, b Job) int { return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.ID, b.ID)) })
	if unknown > 0 {
		return nil, &UnknownError{unknown}
	}
	to := ends{}
	for draw := range f.Draws {
		for _, m := range s.models {
			m.next()
		}
		s.failure = s.models[times].share(s.failed, s.finished)
		if err := s.ahead(ctx, q, draw, to); err != nil {
			return nil, err
		}
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if j.Finish = to.finish(j.ID, f.Draws); !j.Started {
			j.Start = to.start(j.ID, f.Draws)
		}
	}
	return f, nil
}

// left returns how many tasks of live jobs are not done.
func (w *Watch) left() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for j := range w.account.Jobs() {
		if !j.Cancelled {
			n += j.Left
		}
	}
	return n
}

// A standing is what is true at the instant from which a forecast looks ahead.
type standing struct {
	now      sojourn.Time
	facts    []sojourn.Event
	attempts []account.Attempt
	jobs     []account.Job
	specs    map[sojourn.JobID]*sojourn.Job
	slots    []sojourn.Slot
	started  map[sojourn.JobID]bool
	models   [numScales]*model
	failed   int           // attempts
	finished int           // attempts
	failure  float64       // the probability that an attempt fails, in this draw
	saved    []byte        // the policy in charge, if it can be saved
	last     sojourn.JobID // the greatest ID of a live job
}

// stand copies what is true, and counts the phases of which nothing is known.
func (w *Watch) stand(seed uint64) (s *standing, unknown int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s = &standing{now: w.account.Now(), facts: slices.Collect(w.account.Facts()), attempts: slices.Collect(w.account.Attempts()),
		jobs: slices.Collect(w.account.Jobs()), slots: slices.Collect(w.account.Slots()), specs: map[sojourn.JobID]*sojourn.Job{},
		started: map[sojourn.JobID]bool{}, failed: w.known.failed, finished: w.known.finished,
	}
	for i := range s.jobs {
		j := &s.jobs[i]
		s.specs[j.Spec.ID] = j.Spec
		s.last = max(s.last, j.Spec.ID)
		s.started[j.Spec.ID] = w.started[j.Spec.ID] || j.Running > 0
		if !j.Cancelled {
			unknown += w.known.unknown(j.Spec)
		}
	}
	if in := w.account.Unwrap(); in != nil {
		if from, ok := sojourn.As[sojourn.Snapshotter](in); ok {
			if saved, err := from.AppendBinary(nil); err == nil {
				s.saved = saved
			}
		}
	}
	if unknown == 0 {
		for scale := range s.models {
			s.models[scale] = newModel(scale, &w.known, s, rand.New(rand.NewPCG(seed, uint64(scale))))
		}
	}
	return s, unknown
}

// ahead draws the times of the tasks, runs the policy with them, and adds when jobs start and finish. Each task has
// the same time under each change.
func (s *standing) ahead(ctx context.Context, q Question, draw int, to ends) error {
	p, err := q.Policy()
	if err != nil {
		return err
	}
	source := rand.NewPCG(0, 0)
	random := rand.New(source)
	run, err := s.future(p, q, func(t sojourn.TaskID, attempt uint32, elapsed time.Duration) (time.Duration, bool) {
		job, ok := s.specs[t.Job]
		if !ok {
			return q.Each, false
		}
		source.Seed(q.Seed+uint64(draw)<<32, uint64(t.Job)<<32^uint64(t.Phase)<<24^uint64(t.Index)<<8^uint64(attempt))
		of := phaseOf{t.Job, int(t.Phase)}
		m := s.models[times]
		if m.live[of] == nil {
			m = s.models[ratios]
		}
		took := m.draw(random, of, job.Phases[of.phase].EstimateOf(int(t.Index)), elapsed)
		if s.failure > 0 && random.Float64() < s.failure {
			return elapsed + max(1, time.Duration(float64(random.Float64()*float64(took-elapsed)))), true
		}
		return took, false
	})
	if err != nil {
		return err
	}
	return run.all(ctx, to)
}
