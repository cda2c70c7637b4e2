package whatif

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// most returns how many jobs ahead are written in sentences, so that all fits into 24 lines: those with most tasks; JSON has all.
func (w *Wait) most() int {
	if format.Width() < format.Widest {
		return 1
	}
	if w.Later != nil && len(w.Later.Before) > 0 && len(w.Before) > 0 {
		return 2
	}
	return 3
}

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

// seconds returns an instant of the history, as --at takes it.
func seconds(s format.Seconds) string { return format.Duration(time.Duration(s)) + " s" }

// span returns a length of time as people say it, exactly if it is below a second.
func span(s format.Seconds) string {
	switch d := time.Duration(s); {
	case d < time.Second:
		return seconds(s)
	case d < 2*time.Minute:
		return seconds(format.Seconds(d.Round(100 * time.Millisecond)))
	default:
		return format.Span(d)
	}
}

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
		text += fmt.Sprintf(" and has waited for %s; it has not started.", span(w.Waited))
	case w.Waited <= 0:
		text += " and started at once."
	default:
		text += fmt.Sprintf(", waited %s, and started at %s.", span(w.Waited), seconds(*w.Start))
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
	text := fmt.Sprintf("After its start, tasks that could have run waited for %s in all", span(w.Later.Waited))
	if w.Later.Behind == 0 {
		return "\n" + format.Hang("", text+". No other job had a slot that they could have used.")
	}
	text += fmt.Sprintf(". For %s of these, other jobs had slots that they could have used.", span(w.Later.Behind))
	if len(w.Later.Before) == 0 {
		return "\n" + format.Hang("", text+" None of these jobs got such a slot in that time.")
	}
	text = "\n" + format.Hang("", text+" In that time:") + w.list(w.Later.Before)
	if w.Start != nil && w.Waited <= 0 || len(w.Before) == 0 {
		text += w.unknown()
	}
	return text
}

// list lists jobs ahead, those first that had most tasks on slots which the job could have used.
func (w *Wait) list(ahead []Ahead) (text string) {
	ahead = byTasks(ahead)
	for i, a := range ahead {
		if i == w.most() {
			return text + format.Hang("  ", fmt.Sprintf("and %s; --json lists them", format.Count(len(ahead)-i, "more job")))
		}
		line := fmt.Sprintf("%s had %s running and started %d more.", jobName(a.Job, a.Name), format.Count(a.Running, "task"), a.Started)
		if list := reasons(a.Quantities); len(list) > 0 {
			line += fmt.Sprintf(" %s went first with %s.", w.Policy, strings.Join(list, ", "))
		}
		text += format.Hang("  ", line)
	}
	return text
}

// byTasks returns jobs, those with most tasks first.
func byTasks(ahead []Ahead) []Ahead {
	ahead = slices.Clone(ahead)
	slices.SortStableFunc(ahead, func(a, b Ahead) int { return cmp.Compare(b.Running+b.Started, a.Running+a.Started) })
	return ahead
}

// telling returns the place of a quantity among those that say most; then comes what else a policy tells.
func telling(key string) int {
	list := []string{"size", "remaining", "work", "deadline", "pool_running", "running", "rank"}
	if i := slices.Index(list, key); i >= 0 {
		return i
	}
	return len(list)
}

// silent reports whether a quantity says only how much of a job is left over, or where it stands, and nothing of the choice.
func silent(key string) bool {
	return slices.Contains([]string{"done", "startable", "blocked", "why"}, key)
}

// maxReasons is how many quantities are told of a job.
const maxReasons = 2

// reasons says in words why a job went first.
func reasons(quantities []Quantity) (list []string) {
	for _, q := range quantities { // where phases have virtual work, it decides
		own, ok := virtual(q.Own)
		ahead, known := virtual(q.Ahead)
		if ok && known && ahead < own && len(list) == 0 {
			list = append(list, span(format.Seconds((own-ahead)*1e9))+" less virtual work")
		}
	}
	sorted := slices.Clone(quantities)
	slices.SortStableFunc(sorted, func(a, b Quantity) int { return cmp.Compare(telling(a.Key), telling(b.Key)) })
	for _, q := range sorted {
		if len(list) < maxReasons && !silent(q.Key) && !strings.Contains(q.Own+q.Ahead, "[") {
			list = append(list, fmt.Sprintf("%s %s against %s", q.Key, q.Ahead, q.Own))
		}
	}
	return list
}

// virtual returns the virtual work in the state of a phase, in seconds.
func virtual(state string) (float64, bool) {
	text, ok := strings.CutPrefix(state, "[v=")
	if !ok {
		return 0, false
	}
	text, _, _ = strings.Cut(text, " ")
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "]"), 64)
	return v, err == nil && math.Abs(v) < 4e9
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
		return "\n" + format.Hang("", "Nothing is known of what its tasks take, so that it cannot be run again.")
	}
	text := "\nRun again, "
	if same := w.Start != nil && *w.Start == *w.again.start; same {
		text += "it starts at the same time."
	} else {
		text += fmt.Sprintf("it starts at %s: faults, kills and measured times are not repeated.", seconds(*w.again.start))
	}
	text = "\n" + format.Hang("", strings.TrimSpace(text)+" With one thing changed:")
	var useless []string
	for _, c := range w.Changes {
		if c.Error == "" && c.Start != nil && (c.Sooner == nil || *c.Sooner == 0) && (c.FinishesSooner == nil || *c.FinishesSooner == 0) {
			useless = append(useless, c.What)
			continue
		}
		line := c.What + ": "
		switch {
		case c.Error != "":
			line += c.Error
		case c.Start == nil:
			line += "it does not start"
		case c.Sooner == nil || *c.Sooner == 0:
			line += "it starts at the same time"
		case *c.Sooner > 0:
			line += fmt.Sprintf("it starts %s sooner", span(*c.Sooner))
		default:
			line += fmt.Sprintf("it starts %s later", span(-*c.Sooner))
		}
		if c.Start != nil && c.Finish != nil {
			line += ", and finishes at " + seconds(*c.Finish)
			if by := c.FinishesSooner; by != nil && *by > 0 {
				line += fmt.Sprintf(", %s sooner", span(*by))
			} else if by != nil && *by < 0 {
				line += fmt.Sprintf(", %s later", span(-*by))
			}
		}
		text += format.Hang("  ", line)
	}
	if len(useless) > 0 {
		text += format.Hang("  ", "no help: "+strings.Join(useless, ", "))
	}
	return text
}
