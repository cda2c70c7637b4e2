package forecast

import (
	"context"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Ahead returns when jobs finish if tasks take what is given.
func (w *Watch) Ahead(policy func() (sojourn.Policy, error), draws int, takes func(sojourn.TaskID, uint32, time.Duration) (time.Duration, bool)) (map[sojourn.JobID]*Interval, error) {
	s, _ := w.stand(0)
	to := ends{}
	for range draws {
		p, err := policy()
		if err != nil {
			return nil, err
		}
		run, err := s.future(p, Question{}, takes)
		if err != nil {
			return nil, err
		}
		if err := run.all(context.Background(), to); err != nil {
			return nil, err
		}
	}
	finishes := map[sojourn.JobID]*Interval{}
	for id := range to {
		finishes[id] = to.finish(id, draws)
	}
	return finishes, nil
}
