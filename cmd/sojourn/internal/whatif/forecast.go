package whatif

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/forecast"
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

// Foresee returns when the live jobs will start and finish: see [forecast.Watch.Foresee].
func Foresee(ctx context.Context, c Case, q Question) (*Forecast, error) {
	w, err := stand(c, q.At)
	if err != nil {
		return nil, err
	}
	ask := forecast.Question{Policy: c.Policy, Draws: q.Draws, Seed: q.Seed}
	base, err := w.Foresee(ctx, ask)
	if err != nil {
		return nil, plainly(err)
	}
	f := &Forecast{At: format.Seconds(base.At), Policy: c.Name, Draws: q.Draws, Change: q.Change.What, Schema: format.Schema, Jobs: []Outlook{}}
	for _, j := range base.Jobs {
		f.Jobs = append(f.Jobs, Outlook{Job: j.ID, Name: j.Name, Arrival: format.Seconds(j.Arrival), Left: j.Left, Running: j.Running, Started: j.Started,
			Start: interval(j.Start), Finish: interval(j.Finish)})
	}
	if q.Change.What == "" {
		return f, nil
	}
	if q.Change.Policy != nil {
		ask.Policy = q.Change.Policy
	}
	ask.Slots, ask.Tasks, ask.Each = q.Change.Slots, q.Change.Tasks, q.Change.Each
	changed, err := w.Foresee(ctx, ask)
	if err != nil {
		return nil, fmt.Errorf("with %s: %w", q.Change.What, err)
	}
	for i, j := range changed.Jobs {
		f.Jobs[i].ChangedStart, f.Jobs[i].ChangedFinish = interval(j.Start), interval(j.Finish)
	}
	return f, nil
}

// plainly returns an error as the command writes it.
func plainly(err error) error {
	if unknown := (*forecast.UnknownError)(nil); errors.As(err, &unknown) {
		return fmt.Errorf("nothing is known of what the tasks of %s take: they have no estimate, and no task of the history has finished", format.Count(unknown.Phases, "phase"))
	}
	return err
}

func interval(i *forecast.Interval) *Interval {
	if i == nil {
		return nil
	}
	return &Interval{format.Seconds(i.Low), format.Seconds(i.Median), format.Seconds(i.High)}
}

// stand follows a history up to an instant: with the policy of the case, if that decides as is recorded, and then the forecast rests on
// all that it has learned; otherwise by the facts alone.
func stand(c Case, at *sojourn.Time) (*forecast.Watch, error) {
	if p, err := c.Policy(); err == nil {
		if w, err := follow(c, at, p); err == nil {
			return w, nil
		}
	}
	return follow(c, at, nil)
}

var errOther = errors.New("the policy decides otherwise than is recorded")

func follow(c Case, at *sojourn.Time, p sojourn.Policy) (*forecast.Watch, error) {
	w := forecast.New(p)
	for e, err := range c.Entries() {
		if err != nil {
			return nil, err
		}
		switch {
		case e.Kind == history.Observe && e.Err == nil:
			if at != nil && e.Event.At > *at {
				return w, wait(w, *at)
			}
			if err := w.Observe(e.Event); err != nil {
				return nil, err
			}
		case e.Kind == history.Assign && p != nil:
			if a, ok := w.Assign(e.Slot); ok != e.OK || ok && a != e.Assignment {
				return nil, errOther
			}
		case e.Kind == history.Assign && e.OK:
			if err := w.Take(e.Assignment); err != nil {
				return nil, err
			}
		}
	}
	if at == nil {
		return w, nil
	}
	return w, wait(w, *at)
}

// wait lets time pass.
func wait(w *forecast.Watch, at sojourn.Time) error {
	return w.Observe(sojourn.Event{Kind: sojourn.Tick, At: at})
}
