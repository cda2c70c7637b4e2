package ledger

import (
	"fmt"
	"log/slog"
	"strings"
)

// named is how many phases Attrs names at most that a job waits for.
const named = 4

// waits says what the phases of j wait for that may not start: those of the phases before them that
// may start themselves and have not finished. There is one, since phases wait for earlier ones.
func waits(j *job) string {
	awaited := make([]bool, len(j.phases))
	for i := range j.phases {
		if j.phases[i].ready {
			continue
		}
		for k, n := range j.spec.WaitsFor(i) {
			awaited[k] = awaited[k] || j.phases[k].ready && j.phases[k].Done() < n
		}
	}
	var list []string
	more := 0
	for k := range awaited {
		switch {
		case awaited[k] && len(list) < named:
			list = append(list, fmt.Sprint(k))
		case awaited[k]:
			more++
		}
	}
	text := "waits for phase "
	if len(list) > 1 {
		text = "waits for phases "
	}
	text += strings.Join(list, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Attrs returns the attributes of a live job that every policy knows. All policies begin
// Explain with them. Its keys are
//
//	key        unit   meaning
//	why        text   why no more of it starts, in a few words
//	done       tasks  those that have finished
//	running    tasks  those that run
//	startable  tasks  those that a free slot could get now
//	blocked    tasks  those that wait for earlier phases, or until fewer run than [sojourn.Job.Parallelism] lets run
//	held       tasks  those that are held: see [sojourn.TaskHeld]
//	no_slots   text   the classes that it still needs slots of and of which there are none, if any
func (l *Ledger[J]) Attrs(j *Job[J]) []slog.Attr { return l.attrs(&j.job) }

func (l *cluster) attrs(j *job) []slog.Attr {
	startable := 0
	for i := range j.sides {
		startable += int(j.sides[i].startable)
	}
	full := startable > 0 && j.Room() == 0
	startable = min(startable, j.Room())
	total := 0
	for i := range j.spec.Phases {
		total += j.spec.Phases[i].Tasks
	}
	blocked := j.Left() - j.Running() - startable - j.Held()
	why := "waits for a slot"
	switch {
	case j.cancelled:
		why, blocked = "is cancelled and ends with its running attempts", 0
	case full:
		why = fmt.Sprintf("runs as many tasks at a time as it may: %d", j.spec.Parallelism)
	case startable > 0:
	case j.left == j.running:
		why = "runs all that is left of it"
	case j.heldTasks > 0 && blocked == 0:
		why = "is held"
	default:
		why = waits(j)
	}
	attrs := []slog.Attr{
		slog.String("why", why),
		slog.Int("done", total-j.Left()),
		slog.Int("running", j.Running()),
		slog.Int("startable", startable),
		slog.Int("blocked", blocked),
		slog.Int("held", j.Held()),
	}
	if text := l.noSlots(j); text != "" {
		attrs = append(attrs, slog.String("no_slots", text))
	}
	return attrs
}

// noSlots says of which classes there is no slot that a job has tasks of to start, now or later; "" if
// there are slots of all.
func (l *cluster) noSlots(j *job) string {
	var list []string
	for i := range j.sides {
		c := j.sides[i].Class()
		waits := func(k int) bool {
			ph := &j.phases[k]
			return j.spec.Phases[k].Class == c && ph.Done()+ph.Running() < j.spec.Phases[k].Tasks
		}
		if l.Capacity(c) > 0 || j.cancelled {
			continue
		}
		for k := range j.phases {
			if waits(k) {
				list = append(list, fmt.Sprint(c))
				break
			}
		}
	}
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "there is no slot of class " + list[0]
	}
	return "there are no slots of the classes " + strings.Join(list, ", ")
}
