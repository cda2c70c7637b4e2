package statuspage

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
)

// A WhatIf is a change that the page is asked about, and what would follow from it.
type WhatIf struct {
	Policy string  `json:"policy,omitempty"` // in charge from now on; empty: the one that is
	Slots  int     `json:"slots"`            // so many more; fewer if negative
	Tasks  int     `json:"tasks"`            // of one more job, which comes now
	Each   float64 `json:"each_seconds"`     // that each of its tasks takes

	// Later is how much later live jobs would finish on average, by their medians: earlier if negative. It is null if no
	// job finishes in both forecasts.
	Later *float64 `json:"later_seconds"`
	Error string   `json:"error,omitempty"` // there is no such forecast
}

// String describes the change: "under fair, with 2 slots more".
func (q *WhatIf) String() string {
	var parts []string
	if q.Policy != "" {
		parts = append(parts, "under "+q.Policy)
	}
	plural := func(n int, one string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprint(n, " ", one, "s")
	}
	switch {
	case q.Slots > 0:
		parts = append(parts, "with "+plural(q.Slots, "slot")+" more")
	case q.Slots < 0:
		parts = append(parts, "with "+plural(-q.Slots, "slot")+" fewer")
	}
	if q.Tasks > 0 {
		parts = append(parts, fmt.Sprintf("with one more job of %s of %v", plural(q.Tasks, "task"), q.each()))
	}
	return strings.Join(parts, ", ")
}

// Verdict says what would follow: "finish 12.3 s earlier on average".
func (q *WhatIf) Verdict() string {
	switch {
	case q.Later == nil:
		return "are not known to finish"
	case *q.Later <= -0.05:
		return fmt.Sprintf("finish %.1f s earlier on average", -*q.Later)
	case *q.Later >= 0.05:
		return fmt.Sprintf("finish %.1f s later on average", *q.Later)
	}
	return "finish as soon on average"
}

func (q *WhatIf) each() time.Duration { return time.Duration(q.Each * float64(time.Second)) }

// Bounds of what may be asked: they bound what one forecast costs.
const (
	mostSlots = 10_000
	mostTasks = maxTasks
	mostEach  = 1000 * time.Hour
)

// change returns the change that the parameters ask about, nil if there is none. The error names the parameter.
func (o *asked) change(ask query) (*WhatIf, error) {
	q := &WhatIf{Policy: ask.Get("policy")}
	if q.Policy != "" && o.policies[q.Policy] == nil {
		return nil, fmt.Errorf("policy=%q: want one of %q, or none", q.Policy, o.names)
	}
	for _, n := range []struct {
		name        string
		to          *int
		least, most int
	}{{"slots", &q.Slots, -mostSlots, mostSlots}, {"tasks", &q.Tasks, 0, mostTasks}} {
		text := ask.Get(n.name)
		if text == "" {
			continue
		}
		v, err := strconv.Atoi(text)
		if err != nil || v < n.least || v > n.most {
			return nil, fmt.Errorf("%s=%q: want a number from %d to %d", n.name, text, n.least, n.most)
		}
		*n.to = v
	}
	if text := ask.Get("each"); text != "" || q.Tasks > 0 {
		each, err := time.ParseDuration(text)
		if err != nil || each <= 0 || each > mostEach {
			return nil, fmt.Errorf("each=%q: want how long each task of the job takes, such as 90s, up to %v", text, mostEach)
		}
		q.Each = each.Seconds()
	}
	if q.Policy == "" && q.Slots == 0 && q.Tasks == 0 {
		return nil, nil
	}
	return q, nil
}

// asked is what the options of a handler allow to ask.
type asked struct {
	watch    *forecast.Watch
	another  func() (sojourn.Policy, error)
	policies map[string]func() (sojourn.Policy, error)
	names    []string // of policies
}

func newAsked(options []Option) *asked {
	o := &asked{policies: map[string]func() (sojourn.Policy, error){}}
	for _, opt := range options {
		if opt.watch != nil {
			o.watch, o.another = opt.watch, opt.another
			continue
		}
		if !slices.Contains(o.names, opt.name) {
			o.names = append(o.names, opt.name)
		}
		o.policies[opt.name] = opt.another
	}
	return o
}

// foresee adds when jobs will start and finish, and when they would finish after a change, if q is not nil.
func (pg *Page) foresee(ctx context.Context, fs *forecasts, q *WhatIf) {
	if fs.asked.watch == nil {
		return
	}
	f, err := fs.of(ctx, change{})
	if err != nil {
		pg.NoForecast = err.Error()
		return
	}
	pg.Forecast, pg.Policies = true, fs.asked.names
	pg.each(f, func(j *Job, to *forecast.Job) {
		if j.Finish = interval(to.Finish); j.Running+j.Done+j.Failed == 0 { // a forecast that was kept may be older than the start
			j.Start = interval(to.Start)
		}
	})
	if pg.WhatIf = q; q == nil {
		return
	}
	g, err := fs.of(ctx, change{q.Policy, q.Slots, q.Tasks, q.each()})
	if err != nil {
		q.Error = err.Error()
		return
	}
	q.Later = later(f, g)
	pg.each(g, func(j *Job, to *forecast.Job) { j.Otherwise = interval(to.Finish) })
}

// each calls set for each job that is shown and has a forecast.
func (pg *Page) each(f *forecast.Forecast, set func(*Job, *forecast.Job)) {
	of := map[sojourn.JobID]*forecast.Job{}
	for i := range f.Jobs {
		of[f.Jobs[i].ID] = &f.Jobs[i]
	}
	for i := range pg.Jobs {
		if j := of[pg.Jobs[i].ID]; j != nil {
			set(&pg.Jobs[i], j)
		}
	}
}

// later returns how much later jobs finish in g than in f on average, in seconds.
func later(f, g *forecast.Forecast) *float64 {
	finish := map[sojourn.JobID]*forecast.Interval{}
	for i := range f.Jobs {
		finish[f.Jobs[i].ID] = f.Jobs[i].Finish
	}
	sum, n := 0.0, 0
	for i := range g.Jobs {
		if was, is := finish[g.Jobs[i].ID], g.Jobs[i].Finish; was != nil && is != nil {
			sum += is.Median.Sub(was.Median).Seconds()
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}
