package whatif

import (
	"context"
	"fmt"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/history"
)

// A Case is a recorded run, and the policy that decided in it.
type Case struct {
	Entries func() iter.Seq2[history.Entry, error] // checked; may be read again
	Policy  func() (sojourn.Policy, error)         // a new one
	Name    string                                 // of the policy
}

// A Wait says why a job waited. Times are those of the history, in seconds.
type Wait struct {
	Job     sojourn.JobID   `json:"job"`
	Name    string          `json:"name,omitempty"`
	Policy  string          `json:"policy"`
	Arrival format.Seconds  `json:"arrival"`
	Start   *format.Seconds `json:"start"`  // of its first task; null if none has started
	Finish  *format.Seconds `json:"finish"` // null unless its last task has
	Waited  format.Seconds  `json:"waited"` // until its start, or the end of the history

	// Release, unless null, is the time before which it may not start; those of its Sequence that arrived before it go first.
	Release  *format.Seconds `json:"release,omitempty"`
	Sequence string          `json:"sequence,omitempty"`

	// Free is how many slots of the class of its first phase were free when it arrived, and
	// Slots how many there were.
	Free  int `json:"free_slots"`
	Slots int `json:"slots"`

	// Differs says that the policy does not decide as was recorded, so that its quantities are
	// not known.
	Differs bool `json:"differs,omitempty"`

	Before  []Ahead  `json:"before"` // by arrival at the policy's choice
	Changes []Change `json:"changes"`
	Schema  int      `json:"schema"`

	// Later is how it waited after its start; null unless some task did.
	Later *Later `json:"later"`

	again *Again
}

// A Later says how tasks of a job waited after the first had started.
type Later struct {
	// Waited is the time during which a task of the job could have run and did not, and Behind the part of it
	// during which another job had a slot that the task could have used.
	Waited format.Seconds `json:"waited"`
	Behind format.Seconds `json:"behind"`

	// Before lists the jobs that started tasks on such slots in that time, by the first of these.
	Before []Ahead `json:"before"`
}

// An Ahead is a job that had slots which the job that waited could have used.
type Ahead struct {
	Job     sojourn.JobID `json:"job"`
	Name    string        `json:"name,omitempty"`
	Running int           `json:"running"` // its tasks when the job arrived; in Later, when it first went before
	Started int           `json:"started"` // its tasks that started while the job waited

	// Quantities are those that the policy explains both jobs by, where they differ, just before
	// it first started a task of this job and not of the other.
	Quantities []Quantity `json:"quantities,omitempty"`
}

// A Quantity is a quantity of the policy, of the job that waited and of the one ahead.
type Quantity struct {
	Key   string `json:"key"`
	Own   string `json:"own"`
	Ahead string `json:"ahead"`
}

// ErrNoJob is the error for a job that the history does not know.
type ErrNoJob struct{ Job sojourn.JobID }

func (e *ErrNoJob) Error() string {
	return fmt.Sprintf("no job %d was accepted in the history", e.Job)
}

// Explain says why a job waited.
func Explain(ctx context.Context, c Case, id sojourn.JobID) (*Wait, error) {
	p, err := c.Policy()
	if err != nil {
		return nil, err
	}
	f := &follower{
		Wait:   &Wait{Job: id, Policy: c.Name, Schema: format.Schema, Before: []Ahead{}, Changes: []Change{}},
		policy: p, names: map[sojourn.JobID]string{},
		facts: account.New(nil), slots: map[sojourn.SlotID]sojourn.Class{}, running: map[sojourn.SlotID]attempt{},
		busy: map[sojourn.Class]int{}, own: map[sojourn.Class]int{}, later: Later{Before: []Ahead{}},
	}
	for e, err := range c.Entries() {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case history.Observe:
			err = f.observe(&e)
		case history.Assign:
			err = f.assign(&e)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.job == nil {
		return nil, &ErrNoJob{id}
	}
	if f.Start == nil {
		f.Waited = format.Seconds(f.facts.Now()) - f.Arrival
	}
	if f.later.Waited > 0 {
		f.Later = &f.later
	}
	f.Changes, f.again, err = changes(ctx, c, id)
	return f.Wait, err
}
