package trial

import (
	"context"
	"errors"
	"io"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// PlannerNames returns the names of all planners.
func PlannerNames() []string {
	var names []string
	for _, p := range plan.Planners() {
		names = append(names, string(p))
	}
	return names
}

// MakePlans makes the plans of some planners and verifies them.
func MakePlans(ctx context.Context, terminal io.Writer, in plan.Instance, o plan.Options, planners []plan.Planner) ([]*plan.Schedule, error) {
	bar := progress.New(terminal, "planners", len(planners))
	defer bar.Clear()
	type answer struct {
		plans []*plan.Schedule
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		plans, err := plan.All(in, o, planners...)
		for i := 0; i < len(plans) && err == nil; i++ {
			err = certify.Verify(in, plans[i])
			bar.Add(1)
		}
		done <- answer{plans, err}
	}()
	select {
	case a := <-done:
		return a.plans, a.err
	case <-ctx.Done():
		return nil, errors.New("interrupted")
	}
}
