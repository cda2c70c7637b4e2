package whatif

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// Write writes the forecast as a table and a line of verdict.
func (f *Forecast) Write(out io.Writer) error {
	var b strings.Builder
	if len(f.Jobs) > 0 {
		b.WriteString(format.Verdict(f.verdict()) + "\n")
	}
	b.WriteString(f.beginning())
	if len(f.Jobs) == 0 {
		b.WriteString("No job is live then.\n")
		_, err := io.WriteString(out, b.String())
		return err
	}
	b.WriteString("\n" + f.table().String())
	_, err := io.WriteString(out, b.String())
	return err
}

// beginning says what is foretold.
func (f *Forecast) beginning() string {
	return format.Hang("", fmt.Sprintf("Under %s, from %s on, if no other job arrives: 90 %% intervals of %s.", f.Policy, seconds(f.At), format.Count(f.Draws, "draw")))
}

// table has a line for each job.
func (f *Forecast) table() *format.Table {
	t := &format.Table{Corner: "job"}
	c := f.clock()
	unit := c.unit()
	t.AddMinor("", "arrived"+unit, nil)
	t.Add("", "tasks left", nil)
	t.AddMinor("", "running", nil)
	t.Add("", "starts"+unit, nil)
	t.Add("", "finishes"+unit, nil)
	if f.Change != "" {
		t.Add("with "+f.Change, "finishes"+unit, nil)
		t.Add("with "+f.Change, "sooner"+unit, nil)
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		start := c.interval(j.Start)
		if j.Started {
			start = "has started"
		}
		cells := []string{c.short(j.Arrival), format.Thousands(j.Left), format.Thousands(j.Running), start, c.interval(j.Finish)}
		if f.Change != "" {
			cells = append(cells, c.interval(j.ChangedFinish), c.gain(j))
		}
		t.Row(strings.TrimPrefix(jobName(j.Job, j.Name), "job "), cells...)
	}
	return t
}

// interval returns "10", or "10 to 20" if the ends differ; "-" if there is none.
func (c clock) interval(i *Interval) string {
	if i == nil {
		return "-"
	}
	low, high := c.short(i.Low), c.short(i.High)
	if low == high {
		return low
	}
	return low + " to " + high
}

// A clock tells times as "1 h 01", or in seconds.
type clock bool

// clock tells times as hours and minutes if one is of an hour or more.
func (f *Forecast) clock() clock {
	return clock(slices.ContainsFunc(f.Jobs, func(j Outlook) bool { return j.Finish != nil && j.Finish.High >= format.Seconds(time.Hour) }))
}

// unit is what follows a number.
func (c clock) unit() string {
	if c {
		return ""
	}
	return " s"
}

// short returns a time; seconds have one digit after the point at most.
func (c clock) short(s format.Seconds) string {
	if !c {
		return format.Duration(time.Duration(s).Round(100 * time.Millisecond))
	}
	sign, minutes := "", int64(time.Duration(s).Round(time.Minute)/time.Minute)
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	return fmt.Sprintf("%s%d h %02d", sign, minutes/60, minutes%60)
}

// gain returns by how much sooner a job finishes with the change, in the median.
func (c clock) gain(j *Outlook) string {
	if j.Finish == nil || j.ChangedFinish == nil {
		return "-"
	}
	gain := j.Finish.Median - j.ChangedFinish.Median
	switch minute := format.Seconds(time.Minute); { // less is told in seconds, or it would look like none
	case bool(c) && 0 < gain && gain < minute:
		return span(gain)
	case bool(c) && -minute < gain && gain < 0:
		return "-" + span(-gain)
	}
	return c.short(gain)
}

// verdict says when all is done, and whom a change helps.
func (f *Forecast) verdict() string {
	var last *Interval
	finish, both, better, worse, more, fewer, sum := 0, 0, 0, 0, 0, 0, format.Seconds(0)
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if j.Finish != nil {
			finish++
			if last == nil || j.Finish.Median > last.Median {
				last = j.Finish
			}
		}
		switch {
		case j.Finish != nil && j.ChangedFinish != nil:
			both++
			gain := j.Finish.Median - j.ChangedFinish.Median
			sum += gain
			if gain > 0 {
				better++
			} else if gain < 0 {
				worse++
			}
		case j.Finish != nil:
			fewer++
		case j.ChangedFinish != nil:
			more++
		}
	}
	c := f.clock()
	text := "none of the jobs finishes"
	if last != nil {
		text = fmt.Sprintf("%d of %s %s, the last one at %s%s", finish, format.Count(len(f.Jobs), "job"), finishes(finish), c.interval(last), c.unit())
	}
	if f.Change == "" {
		return text
	}
	var parts []string
	if both > 0 {
		parts = append(parts, fmt.Sprintf("%d finish sooner and %d later, on average %s", better, worse, soonerOrLater(sum/format.Seconds(both))))
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("%d more %s", more, finishes(more)))
	}
	if fewer > 0 {
		parts = append(parts, fmt.Sprintf("%d no longer %s", fewer, finishes(fewer)))
	}
	if len(parts) == 0 {
		parts = []string{"none does either"}
	}
	return text + "; with " + f.Change + ", " + strings.Join(parts, "; ")
}

// finishes returns the verb of a number of jobs.
func finishes(n int) string {
	if n == 1 {
		return "finishes"
	}
	return "finish"
}

func soonerOrLater(s format.Seconds) string {
	s = format.Seconds(time.Duration(s).Round(100 * time.Millisecond))
	if s < 0 {
		return span(-s) + " later"
	}
	return span(s) + " sooner"
}
