package workqueue

import (
	"fmt"

	"github.com/sojourn-sched/sojourn"
)

// maxBands is how many priorities keep their policy, and so what it learned, while no key
// has them.
const maxBands = 16

// A band is a priority with the policy that orders the keys of this priority. Each band has as
// many slots as there are workers. A band is asked only if those above it start nothing, so
// that a slot of its policy may be free though no worker is.
type band struct {
	priority int
	policy   sojourn.Policy
	seeker   sojourn.Seeker
	waker    sojourn.Waker // nil if time alone changes nothing
	tasks    int           // of its jobs, that are queued or running
}

func newBand(policy func() (sojourn.Policy, error), priority, slots int) (*band, error) {
	p, err := policy()
	if err != nil {
		return nil, fmt.Errorf("workqueue: Options.Policy: %w", err)
	}
	b := &band{priority: priority, policy: p}
	var ok bool
	if b.seeker, ok = sojourn.As[sojourn.Seeker](p); !ok {
		return nil, fmt.Errorf("workqueue: Options.Policy returns a %T, which is no sojourn.Seeker", p)
	}
	b.waker, _ = sojourn.As[sojourn.Waker](p)
	for s := range slots {
		if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(s)}}); err != nil {
			return nil, fmt.Errorf("workqueue: Options.Policy returns a %T that refuses slots: %w", p, err)
		}
	}
	return b, nil
}

// accept tells the policy of a job. It may refuse it.
func (b *band) accept(now sojourn.Time, job *sojourn.Job) error {
	err := b.policy.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: job})
	if err == nil {
		b.tasks++
	}
	return err
}

// observe tells the policy what it cannot refuse.
func (b *band) observe(ev sojourn.Event) {
	if err := b.policy.Observe(ev); err != nil {
		panic(fmt.Sprintf("workqueue: the policy refuses what is true: %v", err))
	}
	if ev.Kind == sojourn.JobCancelled || ev.Kind == sojourn.TaskFinished {
		b.tasks--
	}
}

// assign asks the policy for a task.
func (b *band) assign(now sojourn.Time) (sojourn.Assignment, bool) {
	if at, ok := b.nextWake(); ok && at <= now {
		b.observe(sojourn.Event{Kind: sojourn.Tick, At: now})
	}
	if b.tasks == 0 {
		return sojourn.Assignment{}, false
	}
	for {
		slot, ok := b.seeker.Seek(0)
		if !ok {
			return sojourn.Assignment{}, false
		}
		if a, ok := b.policy.Assign(slot); ok {
			return a, true
		}
	}
}

// nextWake returns when the policy wants a Tick.
func (b *band) nextWake() (sojourn.Time, bool) {
	if b.waker == nil {
		return 0, false
	}
	return b.waker.NextWake()
}
