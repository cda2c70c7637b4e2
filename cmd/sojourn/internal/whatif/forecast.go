package whatif

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/history"
)

// A Question is what a forecast is asked besides the case.
type Question struct {
	At     *sojourn.Time // the instant from which to look ahead; nil is the end of the history
	Draws  int           // how often the times of the tasks are drawn
	Seed   uint64
	Change Different
}

// A Different is what would be different from that instant on. The zero value is no change.
type Different struct {
	Policy func() (sojourn.Policy, error) // in the place of the one that decides; nil is that one
	Slots  int                            // so many more of the class that the waiting jobs use, or fewer
	Tasks  int                            // of one more job, which arrives then; 0 is none
	Each   time.Duration                  // that each of its tasks takes
	What   string                         // in words; "" is no change
}

// A Forecast says when the live jobs will start and finish if no other job arrives. Times are
// those of the history, in seconds.
type Forecast struct {
	At      format.Seconds `json:"at"`
	Policy  string         `json:"policy"`
	Draws   int            `json:"draws"`
	Change  string         `json:"change,omitempty"`
	Jobs    []Outlook      `json:"jobs"` // in the order of arrival
	Unknown int            `json:"unknown"`
	Schema  int            `json:"schema"`
}

// An Outlook is when a live job will start and finish. Start is null if it has started, and the others are null if it does
// not start or finish in one of the draws.
type Outlook struct {
	Job           sojourn.JobID  `json:"job"`
	Name          string         `json:"name,omitempty"`
	Arrival       format.Seconds `json:"arrival"`
	Left          int            `json:"tasks_left"`
	Running       int            `json:"tasks_running"`
	Started       bool           `json:"started"`
	Start         *Interval      `json:"start"`
	Finish        *Interval      `json:"finish"`
	ChangedStart  *Interval      `json:"changed_start,omitempty"`
	ChangedFinish *Interval      `json:"changed_finish,omitempty"`
}

// An Interval has the 5 %, 50 % and 95 % quantiles of the draws.
type Interval struct {
	Low    format.Seconds `json:"p5"`
	Median format.Seconds `json:"p50"`
	High   format.Seconds `json:"p95"`
}

// A standing is what is true at the instant from which a forecast looks ahead.
type standing struct {
	*account.Account
	began   map[sojourn.SlotID]sojourn.Time
	started map[sojourn.JobID]bool
	last    sojourn.JobID // the greatest ID of a job
	known   durations
}

// Foresee returns when the live jobs will start and finish. What tasks will take is drawn from what is
// known: see [durations]. A new policy is told the facts, and nothing of what the recorded one has learned.
func Foresee(ctx context.Context, c Case, q Question) (*Forecast, error) {
	s, err := stand(c, q.At)
	if err != nil {
		return nil, err
	}
	f := &Forecast{At: format.Seconds(s.Now()), Policy: c.Name, Draws: q.Draws, Change: q.Change.What, Schema: format.Schema, Jobs: []Outlook{}}
	for j := range s.Jobs() {
		if !j.Cancelled {
			f.Jobs = append(f.Jobs, Outlook{Job: j.Spec.ID, Name: j.Spec.Name, Arrival: format.Seconds(s.Now().Add(-j.Age)),
				Left: j.Left, Running: j.Running, Started: s.started[j.Spec.ID]})
			f.Unknown += s.known.unknown(j.Spec)
		}
	}
	slices.SortFunc(f.Jobs, func(a, b Outlook) int { return cmp.Or(cmp.Compare(a.Arrival, b.Arrival), cmp.Compare(a.Job, b.Job)) })
	if f.Unknown > 0 {
		return nil, fmt.Errorf("nothing is known of what the tasks of %s take: they have no estimate, and no task of the history has finished", format.Count(f.Unknown, "phase"))
	}
	base, changed := ends{}, ends{}
	for draw := range q.Draws {
		if err := s.ahead(ctx, c.Policy, Different{}, q.Seed, draw, base); err != nil {
			return nil, err
		}
		if q.Change.What == "" {
			continue
		}
		policy := c.Policy
		if q.Change.Policy != nil {
			policy = q.Change.Policy
		}
		if err := s.ahead(ctx, policy, q.Change, q.Seed, draw, changed); err != nil {
			return nil, fmt.Errorf("with %s: %w", q.Change.What, err)
		}
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		j.Finish, j.ChangedFinish = base.finish(j.Job, q.Draws), changed.finish(j.Job, q.Draws)
		if !j.Started {
			j.Start, j.ChangedStart = base.start(j.Job, q.Draws), changed.start(j.Job, q.Draws)
		}
	}
	return f, nil
}

// ahead draws the times of the tasks, runs the policy with them, and adds when jobs start and finish. Each task has
// the same time under each change.
func (s *standing) ahead(ctx context.Context, policy func() (sojourn.Policy, error), c Different, seed uint64, draw int, to ends) error {
	p, err := policy()
	if err != nil {
		return err
	}
	run, err := s.future(p, c, func(t sojourn.TaskID, attempt uint32, elapsed time.Duration) time.Duration {
		job, ok := s.Job(t.Job)
		if !ok {
			return c.Each
		}
		random := rand.New(rand.NewPCG(seed+uint64(draw)<<32, uint64(t.Job)<<32^uint64(t.Phase)<<24^uint64(t.Index)<<8^uint64(attempt)))
		return s.known.draw(random, job.Spec, int(t.Phase), int(t.Index), elapsed)
	})
	if err != nil {
		return err
	}
	return run.all(ctx, to)
}

// stand follows a history up to an instant.
func stand(c Case, at *sojourn.Time) (*standing, error) {
	s := &standing{Account: account.New(nil), began: map[sojourn.SlotID]sojourn.Time{}, started: map[sojourn.JobID]bool{}, known: newDurations()}
	for e, err := range c.Entries() {
		if err != nil {
			return nil, err
		}
		switch {
		case e.Kind == history.Observe && e.Err == nil:
			if at != nil && e.Event.At > *at {
				return s, s.wait(*at)
			}
			s.learn(&e.Event)
			if err := s.Observe(e.Event); err != nil {
				return nil, err
			}
		case e.Kind == history.Assign && e.OK:
			s.began[e.Slot] = e.At
			s.started[e.Assignment.Task.Job] = true
			if err := s.Take(e.Assignment); err != nil {
				return nil, err
			}
		}
	}
	if at == nil {
		return s, nil
	}
	return s, s.wait(*at)
}

// wait lets time pass.
func (s *standing) wait(at sojourn.Time) error {
	return s.Observe(sojourn.Event{Kind: sojourn.Tick, At: at})
}

// learn notes what an event says of times, before it is observed.
func (s *standing) learn(ev *sojourn.Event) {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		s.last = max(s.last, ev.Job.ID)
	case sojourn.TaskAdopted:
		s.began[ev.Slot.ID] = ev.At.Add(-ev.Service)
		s.started[ev.Task.Job] = true
	case sojourn.TaskDone:
		s.started[ev.Task.Job] = true
	case sojourn.TaskFinished:
		took := ev.Service
		if took == 0 {
			took = ev.At.Sub(s.began[ev.Slot.ID])
		}
		if j, ok := s.Job(ev.Task.Job); ok {
			s.known.add(j.Spec, int(ev.Task.Phase), int(ev.Task.Index), took)
		}
	}
}
