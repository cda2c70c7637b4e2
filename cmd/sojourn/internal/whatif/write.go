package whatif

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// maxAhead is how many jobs ahead are written in sentences; JSON has all.
const maxAhead = 10

// Write writes the answer in sentences.
func (w *Wait) Write(out io.Writer) error {
	var b strings.Builder
	b.WriteString(w.beginning())
	b.WriteString(w.ahead())
	b.WriteString(w.later())
	b.WriteString(w.sooner())
	_, err := io.WriteString(out, b.String())
	return err
}

func seconds(s format.Seconds) string { return format.Duration(time.Duration(s)) + " s" }

// jobName returns "job 3 (nightly)".
func jobName(id sojourn.JobID, name string) string {
	if name == "" {
		return fmt.Sprintf("job %d", id)
	}
	return fmt.Sprintf("job %d (%s)", id, name)
}

// beginning says how long the job waited.
func (w *Wait) beginning() string {
	text := fmt.Sprintf("Under %s, %s arrived at %s", w.Policy, jobName(w.Job, w.Name), seconds(w.Arrival))
	switch {
	case w.Start == nil:
		text += fmt.Sprintf(" and has waited for %s; it has not started.", seconds(w.Waited))
	case w.Waited <= 0:
		text += " and started at once."
	default:
		text += fmt.Sprintf(", waited %s, and started at %s.", seconds(w.Waited), seconds(*w.Start))
	}
	if w.Finish != nil {
		text += fmt.Sprintf(" It finished at %s.", seconds(*w.Finish))
	}
	if w.Release != nil {
		text += fmt.Sprintf(" It may not start before %s.", seconds(*w.Release))
	}
	if w.Sequence != "" {
		text += fmt.Sprintf(" It may not start before the jobs of sequence %q that arrived before it have ended.", w.Sequence)
	}
	text += fmt.Sprintf(" When it arrived, %d of the %s that it could use were free.", w.Free, format.Count(w.Slots, "slot"))
	return format.Hang("", text)
}

// ahead says which jobs went before.
func (w *Wait) ahead() string {
	if w.Start != nil && w.Waited <= 0 || len(w.Before) == 0 {
		return ""
	}
	return "\nBefore it:\n" + w.list(w.Before) + w.unknown()
}

// later says how the job waited after its start.
func (w *Wait) later() string {
	if w.Later == nil {
		return ""
	}
	text := fmt.Sprintf("After its start, tasks that could have run waited for %s in all", seconds(w.Later.Waited))
	if w.Later.Behind == 0 {
		return "\n" + format.Hang("", text+". No other job had a slot that they could have used.")
	}
	text += fmt.Sprintf(". For %s of these, other jobs had slots that they could have used.", seconds(w.Later.Behind))
	if len(w.Later.Before) == 0 {
		return "\n" + format.Hang("", text+" None of these jobs got such a slot in that time.")
	}
	text = "\n" + format.Hang("", text+" In that time:") + w.list(w.Later.Before)
	if w.Start != nil && w.Waited <= 0 || len(w.Before) == 0 {
		text += w.unknown()
	}
	return text
}

// list lists jobs ahead.
func (w *Wait) list(ahead []Ahead) (text string) {
	for i, a := range ahead {
		if i == maxAhead {
			return text + fmt.Sprintf("  and %s; --json lists them\n", format.Count(len(ahead)-i, "more job"))
		}
		line := fmt.Sprintf("%s had %s running and started %d more.", jobName(a.Job, a.Name), format.Count(a.Running, "task"), a.Started)
		var parts []string
		for _, q := range a.Quantities {
			parts = append(parts, fmt.Sprintf("%s %s against %s", q.Key, q.Ahead, q.Own))
		}
		if len(parts) > 0 {
			line += fmt.Sprintf(" %s went first with %s.", w.Policy, strings.Join(parts, ", "))
		}
		text += format.Hang("  ", line)
	}
	return text
}

// unknown says why no quantities are shown.
func (w *Wait) unknown() string {
	if !w.Differs {
		return ""
	}
	return format.Hang("", w.Policy+" does not decide as was recorded, so that its quantities are not known.")
}

// sooner says what would have changed the start.
func (w *Wait) sooner() string {
	if w.again == nil || w.again.start == nil {
		return "\nNothing is known of what its tasks take, so that it cannot be run again.\n"
	}
	text := "\nRun again, "
	if same := w.Start != nil && *w.Start == *w.again.start; same {
		text += "it starts at the same time."
	} else {
		text += fmt.Sprintf("it starts at %s: faults, kills and measured times are not repeated.", seconds(*w.again.start))
	}
	text = "\n" + format.Hang("", strings.TrimSpace(text)+" With one thing changed:")
	for _, c := range w.Changes {
		line := c.What + ": "
		switch {
		case c.Error != "":
			line += c.Error
		case c.Start == nil:
			line += "it does not start"
		case c.Sooner == nil || *c.Sooner == 0:
			line += "it starts at the same time"
		case *c.Sooner > 0:
			line += fmt.Sprintf("it starts %s sooner", seconds(*c.Sooner))
		default:
			line += fmt.Sprintf("it starts %s later", seconds(-*c.Sooner))
		}
		if c.Start != nil && c.Finish != nil {
			line += ", and finishes at " + seconds(*c.Finish)
			if by := c.FinishesSooner; by != nil && *by > 0 {
				line += fmt.Sprintf(", %s sooner", seconds(*by))
			} else if by != nil && *by < 0 {
				line += fmt.Sprintf(", %s later", seconds(-*by))
			}
		}
		text += format.Hang("  ", line)
	}
	return text
}
