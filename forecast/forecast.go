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
	crowd   crowd // the live jobs
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
	return &Watch{account: account.New(p), crowd: newCrowd(), known: newDurations()}
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
	case sojourn.JobArrived, sojourn.JobAdopted:
		w.crowd.enter(ev.Job.ID)
	case sojourn.TaskAdopted, sojourn.TaskDone:
		w.crowd.start(ev.Task.Job)
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
		w.crowd.leave(id)
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
		w.crowd.start(a.Task.Job)
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
	w.crowd.start(a.Task.Job)
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

	// MaxTasks bounds what the answer costs and how long it holds the policy; 0 is no bound. If more tasks of live jobs are left, or more
	// than 2,000 jobs are live, the answer has only those of the first 2,000 jobs, in the order in which the policy takes them, that finish
	// while so many tasks start: see "Of many jobs" in the package comment.
	MaxTasks int
}

// A Forecast says what becomes of the live jobs.
type Forecast struct {
	At    sojourn.Time // the instant from which it looks ahead: the latest event
	Draws int
	Live  int   // jobs, of which Jobs may have the first alone: see Question.MaxTasks
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

// defaultDraws are those of a Question without a number.
const defaultDraws = 100

// Foresee answers a question. Its error is an [*UnknownError] where nothing is known of the times of tasks, that of the context, or that of the
// new policy; or [ErrSwapped], or that of a policy which does not fit.
func (w *Watch) Foresee(ctx context.Context, q Question) (*Forecast, error) {
	if q.Policy == nil {
		return nil, errors.New("forecast: Question.Policy is nil: want a function that makes a policy")
	}
	if err := w.usable(); err != nil {
		return nil, err
	}
	s, unknown, err := w.look(ctx, q)
	if err != nil {
		return nil, err
	}
	f := &Forecast{At: s.now, Draws: cmp.Or(q.Draws, defaultDraws)}
	for i := range s.jobs {
		if j := &s.jobs[i]; !j.Cancelled {
			f.Jobs = append(f.Jobs, Job{ID: j.Spec.ID, Name: j.Spec.Name, Arrival: s.now.Add(-j.Age), Left: j.Left, Running: j.Running, Started: s.started[j.Spec.ID]})
		}
	}
	f.Live = max(len(f.Jobs), s.live)
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
	if s.cut || s.last != nil && len(f.Jobs) > mostJobs {
		f.cut()
	}
	return f, nil
}

// look copies what is true of all jobs, or of the first.
func (w *Watch) look(ctx context.Context, q Question) (s *standing, unknown int, err error) {
	if q.MaxTasks == 0 || w.few(q.MaxTasks) {
		s, unknown = w.stand(q.Seed)
		return s, unknown, nil
	}
	f, err := w.first(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	s, unknown = w.standFirst(f, q.Seed)
	return s, unknown, nil
}

// few reports whether there are few jobs, with so many tasks at most, those that are done included: each is a fact.
func (w *Watch) few(tasks int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.crowd.of) > mostJobs {
		return false
	}
	for j := range w.account.Jobs() {
		for i := range j.Spec.Phases {
			tasks -= j.Spec.Phases[i].Tasks
		}
	}
	return tasks >= 0
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
	failed   int     // attempts
	finished int     // attempts
	failure  float64 // the probability that an attempt fails, in this draw
	saved    []byte  // the policy in charge, if it can be saved
	known    map[phaseOf]known
	newest   sojourn.JobID          // the greatest ID of a live job
	live     int                    // jobs, if only the first are there
	last     map[sojourn.JobID]bool // jobs behind which others are left out; nil if all are there
	cut      bool                   // a draw has ended before all jobs had
}

// stand copies what is true, and counts the phases of which nothing is known.
func (w *Watch) stand(seed uint64) (s *standing, unknown int) {
	w.mu.Lock()
	s = w.standing()
	s.facts = slices.Collect(w.account.Facts())
	for j := range w.account.Jobs() {
		s.enter(&remnant{Job: j, known: w.known.of(j.Spec), started: w.crowd.of[j.Spec.ID].started || j.Running > 0})
	}
	if in := w.account.Unwrap(); in != nil {
		if from, ok := sojourn.As[sojourn.Snapshotter](in); ok {
			if saved, err := from.AppendBinary(nil); err == nil {
				s.saved = saved
			}
		}
	}
	w.mu.Unlock()
	return s, w.learn(s, seed)
}

// standing copies what is true besides jobs.
func (w *Watch) standing() *standing {
	return &standing{now: w.account.Now(), attempts: slices.Collect(w.account.Attempts()), slots: slices.Collect(w.account.Slots()), known: map[phaseOf]known{},
		specs: map[sojourn.JobID]*sojourn.Job{}, started: map[sojourn.JobID]bool{}, failed: w.known.failed, finished: w.known.finished}
}

// enter adds a job.
func (s *standing) enter(j *remnant) {
	id := j.Spec.ID
	s.jobs = append(s.jobs, j.Job)
	s.specs[id], s.started[id], s.newest = j.Spec, j.started, max(s.newest, id)
	for _, k := range j.known {
		s.known[phaseOf{id, k.phase}] = k
	}
}

// learn makes the models of what tasks take, and counts the phases of which nothing is known. It locks the policy only while it copies.
func (w *Watch) learn(s *standing, seed uint64) (n int) {
	for i := range s.jobs {
		if j := &s.jobs[i]; !j.Cancelled && s.finished == 0 {
			n += unknown(j.Spec)
		}
	}
	if n > 0 {
		return n
	}
	for scale := range s.models {
		b := newModel(scale, s, rand.New(rand.NewPCG(seed, uint64(scale))))
		if s.models[scale] = b.model; len(b.live) > 0 {
			w.mu.Lock()
			list := w.known.recent(scale, b.of)
			w.mu.Unlock()
			b.past(list)
		}
		b.start()
	}
	return 0
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
	if err := run.all(ctx, to); err != nil {
		return err
	}
	run.beyond(s, to)
	return nil
}
