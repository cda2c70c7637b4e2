package ledger

import (
	"log/slog"
)

// Attrs returns the attributes of a live job that every policy knows. All policies begin
// Explain with them. Its keys are
//
//	key        unit   meaning
//	why        text   why no more of it starts, in a few words
//	done       tasks  those that have finished
//	running    tasks  those that run
//	startable  tasks  those that a free slot could get now
//	blocked    tasks  those that wait for an earlier phase
//	held       tasks  those that are held: see [sojourn.TaskHeld]
func (j *Job[J]) Attrs() []slog.Attr {
	startable := 0
	for i := range j.sides {
		startable += j.sides[i].startable
	}
	total := 0
	for i := range j.spec.Phases {
		total += j.spec.Phases[i].Tasks
	}
	blocked := j.left - j.running - startable - len(j.held)
	why := "waits for a slot"
	switch {
	case j.cancelled:
		why, blocked = "is cancelled and ends with its running attempts", 0
	case startable > 0:
	case j.left == j.running:
		why = "runs all that is left of it"
	case len(j.held) > 0 && blocked == 0:
		why = "is held"
	default:
		why = "waits for an earlier phase"
	}
	return []slog.Attr{
		slog.String("why", why),
		slog.Int("done", total-j.left),
		slog.Int("running", j.running),
		slog.Int("startable", startable),
		slog.Int("blocked", blocked),
		slog.Int("held", len(j.held)),
	}
}
