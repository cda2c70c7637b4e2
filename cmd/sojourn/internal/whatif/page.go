package whatif

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
)

// drawn is how many jobs a picture shows.
const drawn = 25

// sentences returns a text in lines as one of a page.
func sentences(lines string) string { return strings.Join(strings.Fields(lines), " ") }

// Page returns the answer as a page. The command is the one that prints it.
func (w *Wait) Page(command string) *page.Report {
	r := &page.Report{Title: "Why " + jobName(w.Job, w.Name) + " waited", Command: command, Bold: []string{w.Policy}}
	r.Verdict = append(r.Verdict, sentences(w.beginning()))
	if w.Later != nil {
		first, _, _ := strings.Cut(w.later(), "\n  ")
		r.Verdict = append(r.Verdict, strings.TrimSuffix(sentences(first), " In that time:"))
	}
	if w.Differs {
		r.Notes = append(r.Notes, sentences(w.unknown()))
	}
	add := func(id, title string, ahead []Ahead) {
		if len(ahead) == 0 {
			return
		}
		t := &format.Table{Corner: "job"}
		t.Add("", "tasks running when it came", nil)
		t.Add("", "tasks started while it waited", nil)
		t.Add("", w.Policy+" preferred it for", nil)
		for _, a := range byTasks(ahead) {
			t.Row(name(a.Job, a.Name), format.Thousands(a.Running), format.Thousands(a.Started), strings.Join(reasons(a.Quantities), ", "))
		}
		r.Plots = append(r.Plots, guilty(id, title, byTasks(ahead)))
		r.Tables = append(r.Tables, recorded.TableOf(id+"-jobs", strings.Replace(title, "Who", "The jobs that", 1), "Those that had slots which it could have used, and by what the policy preferred them.", t))
	}
	add("before", "Who went before it", w.Before)
	if w.Later != nil {
		add("later", "Who went before it after its start", w.Later.Before)
	}
	if len(w.Changes) > 0 {
		t := &format.Table{Corner: "with one thing changed"}
		for _, title := range []string{"starts at (s)", "sooner (s)", "finishes at (s)", "that is sooner (s)", ""} {
			t.Add("", title, nil)
		}
		cell := func(s *format.Seconds) string {
			if s == nil {
				return "-"
			}
			return format.Duration(time.Duration(*s))
		}
		for _, c := range w.Changes {
			t.Row(c.What, cell(c.Start), cell(c.Sooner), cell(c.Finish), cell(c.FinishesSooner), c.Error)
		}
		r.Tables = append(r.Tables, recorded.TableOf("changes", "What would have helped", "All recorded jobs run again, each time with one thing changed; faults are not repeated.", t))
	}
	return r
}

// guilty draws how many tasks of the jobs ahead had slots that the job could have used.
func guilty(id, title string, ahead []Ahead) page.Plot {
	p := page.Plot{ID: id, Title: title, Help: "Tasks on slots that it could have used, of the jobs with most of them.", X: page.Axis{Label: "job", Scale: page.Categoric}, Y: page.Axis{Label: "tasks"}}
	running, started := page.Series{Name: "running when it came"}, page.Series{Name: "started while it waited"}
	for i, a := range ahead[:min(len(ahead), drawn)] {
		p.X.Names = append(p.X.Names, name(a.Job, a.Name))
		running.X, running.Y = append(running.X, float64(i)), append(running.Y, float64(a.Running))
		started.X, started.Y = append(started.X, float64(i)), append(started.Y, float64(a.Started))
	}
	p.Series = []page.Series{running, started}
	return p
}

func inSeconds(s format.Seconds) float64 { return time.Duration(s).Seconds() }

func name(id sojourn.JobID, name string) string { return strings.TrimPrefix(jobName(id, name), "job ") }

// Page returns the forecast as a page. The command is the one that prints it.
func (f *Forecast) Page(command string) *page.Report {
	r := &page.Report{Title: "When jobs will finish under " + f.Policy, Command: command, Bold: []string{f.Policy}}
	if len(f.Jobs) == 0 {
		r.Verdict = []string{"No job is live then."}
		return r
	}
	verdict := f.verdict()
	r.Verdict = []string{strings.ToUpper(verdict[:1]) + verdict[1:] + ".", sentences(f.beginning())}
	p := page.Plot{ID: "finish", Title: "When jobs finish", Help: "Points are medians, and lines 90 % intervals.", X: page.Axis{Label: "job", Scale: page.Categoric}, Y: page.Axis{Label: "time of the history", Unit: "s"}}
	if len(f.Jobs) > drawn {
		p.Help += fmt.Sprintf(" These are the first %d of %s jobs.", drawn, format.Thousands(len(f.Jobs)))
	}
	line := func(name string, of func(*Outlook) *Interval) {
		s := page.Series{Name: name}
		for i := range f.Jobs[:min(len(f.Jobs), drawn)] {
			low, median, high := math.NaN(), math.NaN(), math.NaN()
			if x := of(&f.Jobs[i]); x != nil {
				low, median, high = inSeconds(x.Low), inSeconds(x.Median), inSeconds(x.High)
			}
			s.X, s.Y, s.Low, s.High = append(s.X, float64(i)), append(s.Y, median), append(s.Low, low), append(s.High, high)
		}
		p.Series = append(p.Series, s)
	}
	for i := range f.Jobs[:min(len(f.Jobs), drawn)] {
		p.X.Names = append(p.X.Names, name(f.Jobs[i].Job, f.Jobs[i].Name))
	}
	line(f.Policy, func(o *Outlook) *Interval { return o.Finish })
	if f.Change != "" {
		line(f.Change, func(o *Outlook) *Interval { return o.ChangedFinish })
		r.Bold = append(r.Bold, f.Change)
	}
	r.Plots = []page.Plot{p}
	r.Tables = []page.Table{recorded.TableOf("jobs", "All live jobs", "Intervals from the 5th to the 95th percentile of the draws.", f.table())}
	return r
}
