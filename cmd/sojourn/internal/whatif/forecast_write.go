package whatif

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// Write writes the forecast as a table and a line of verdict.
func (f *Forecast) Write(out io.Writer) error {
	var b strings.Builder
	b.WriteString(format.Hang("", fmt.Sprintf("Under %s, from %s on, if no other job arrives: 90 %% intervals of %s.", f.Policy, seconds(f.At), format.Count(f.Draws, "draw"))))
	if len(f.Jobs) == 0 {
		b.WriteString("No job is live then.\n")
		_, err := io.WriteString(out, b.String())
		return err
	}
	t := format.Table{Corner: "job"}
	for _, title := range []string{"arrived s", "tasks left", "running", "starts s", "finishes s"} {
		t.Add("", title, nil)
	}
	if f.Change != "" {
		t.Add("with "+f.Change, "finishes s", nil)
		t.Add("with "+f.Change, "sooner s", nil)
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		start := j.Start.String()
		if j.Started {
			start = "has started"
		}
		cells := []string{format.Duration(time.Duration(j.Arrival)), format.Thousands(j.Left), format.Thousands(j.Running), start, j.Finish.String()}
		if f.Change != "" {
			cells = append(cells, j.ChangedFinish.String(), j.gain())
		}
		t.Row(strings.TrimPrefix(jobName(j.Job, j.Name), "job "), cells...)
	}
	b.WriteString("\n" + t.String() + format.Hang("=> ", f.verdict()))
	_, err := io.WriteString(out, b.String())
	return err
}

// String returns "10", or "10 to 20" if the ends differ; "-" if there is none.
func (i *Interval) String() string {
	switch {
	case i == nil:
		return "-"
	case i.Low == i.High:
		return short(i.Low)
	}
	return short(i.Low) + " to " + short(i.High)
}

// short returns a time with one digit after the point at most.
func short(s format.Seconds) string {
	return format.Duration(time.Duration(s).Round(100 * time.Millisecond))
}

// gain returns by how much sooner the job finishes with the change, in the median.
func (j *Outlook) gain() string {
	if j.Finish == nil || j.ChangedFinish == nil {
		return "-"
	}
	return short(j.Finish.Median - j.ChangedFinish.Median)
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
	text := "none of the jobs finishes"
	if last != nil {
		text = fmt.Sprintf("%d of %s %s, the last one at %s s", finish, format.Count(len(f.Jobs), "job"), finishes(finish), last)
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
	if s < 0 {
		return short(-s) + " s later"
	}
	return short(s) + " s sooner"
}
