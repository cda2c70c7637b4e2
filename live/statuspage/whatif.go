package statuspage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
)

// A whatIf is a change that the page is asked about, and what would follow from it.
type whatIf struct {
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
func (q *whatIf) String() string {
	var parts []string
	if q.Policy != "" {
		parts = append(parts, "under "+q.Policy)
	}
	plural := func(n int, one string) string { return verb(n, one, one+"s") }
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

func (q *whatIf) each() time.Duration { return time.Duration(q.Each * float64(time.Second)) }

// Bounds of what may be asked: they bound what one forecast costs.
const (
	mostSlots = 10_000
	mostTasks = maxTasks
	mostEach  = 1000 * time.Hour
)

// change returns the change that the parameters ask about, nil if there is none. The error names the parameter.
func (o *questions) change(ask query) (*whatIf, error) {
	q := &whatIf{Policy: ask.Get("policy")}
	if q.Policy != "" && o.policies[q.Policy] == nil {
		return nil, wrongf("policy", "policy=%q: want one of %q, or none", q.Policy, o.names)
	}
	if err := ask.whole("slots", &q.Slots, -mostSlots, mostSlots); err != nil {
		return nil, err
	}
	if err := ask.whole("tasks", &q.Tasks, 0, mostTasks); err != nil {
		return nil, err
	}
	if text := ask.Get("each"); text != "" || q.Tasks > 0 {
		each, err := time.ParseDuration(text)
		if err != nil || each <= 0 || each > mostEach {
			return nil, wrongf("each", "each=%q: want how long each task of the job takes, such as 90s, up to %v", text, mostEach)
		}
		q.Each = each.Seconds()
	}
	if q.Policy == "" && q.Slots == 0 && q.Tasks == 0 {
		return nil, nil
	}
	return q, nil
}

// Questions are what the options of a handler allow to ask.
type questions struct {
	watch    *forecast.Watch
	another  func() (sojourn.Policy, error)
	policies map[string]func() (sojourn.Policy, error)
	names    []string // of policies
}

// foresee adds when jobs will start and finish, and when they would finish after a change, if q is not nil.
func (pg *pageModel) foresee(ctx context.Context, fs *forecasts, q *whatIf) {
	if fs.watch == nil {
		return
	}
	ask := fs.of
	if pg.Live > ranked { // who asks for data does not wait for a forecast that takes long
		ask = fs.soon
	}
	f, err := ask(ctx, change{})
	if err != nil {
		pg.NoForecast = err.Error()
		return
	}
	if pg.Forecast, pg.Policies = true, fs.names; partial(f) {
		pg.Foreseen = len(f.Jobs)
	}
	pg.each(f, func(j *jobModel, to *forecast.Job) {
		if j.Finish = interval(to.Finish); j.Running+j.Done+j.Failed == 0 { // a forecast that was kept may be older than the start
			j.Start = interval(to.Start)
		}
	})
	if pg.WhatIf = q; q == nil {
		return
	}
	g, err := ask(ctx, change{q.Policy, q.Slots, q.Tasks, q.each()})
	if err != nil {
		q.Error = err.Error()
		return
	}
	q.Later = later(f, g)
	pg.each(g, func(j *jobModel, to *forecast.Job) { j.Otherwise = interval(to.Finish) })
}

// each calls set for each job that is shown and has a forecast.
func (pg *pageModel) each(f *forecast.Forecast, set func(*jobModel, *forecast.Job)) {
	of := byJob(f)
	for i := range pg.Jobs {
		if j := of[pg.Jobs[i].ID]; j != nil {
			set(&pg.Jobs[i], j)
		}
	}
}

// later returns how much later jobs finish in g than in f on average, in seconds.
func later(f, g *forecast.Forecast) *float64 {
	before := byJob(f)
	sum, n := 0.0, 0
	for i := range g.Jobs {
		if was, is := before[g.Jobs[i].ID], &g.Jobs[i]; was != nil && was.Finish != nil && is.Finish != nil {
			sum += is.Finish.Median.Sub(was.Finish.Median).Seconds()
			n++
		}
	}
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

// A comparison has what becomes of live jobs, without a change and with each.
type comparison struct {
	Heads []string // of the columns
	Rows  []comparedRow
	Note  string
}

type comparedRow struct {
	What  string
	Cells []string // the first one without a change
}

// compare returns the comparison for a change: with each of its parts alone, and with all. Times are from now on.
func (s *site) compare(ctx context.Context, sn *snap, q *whatIf) (*comparison, error) {
	f, err := s.forecasts.soon(ctx, change{})
	if err != nil {
		return nil, err
	}
	asked := []*whatIf{}
	for _, one := range []*whatIf{{Policy: q.Policy}, {Slots: q.Slots}, {Tasks: q.Tasks, Each: q.Each}} {
		if *one != (whatIf{}) && !(one.Tasks == 0 && one.Policy == "" && one.Slots == 0) {
			asked = append(asked, one)
		}
	}
	if len(asked) > 1 {
		asked = append(asked, q)
	}
	c := &comparison{Heads: []string{"As it is"}}
	all := []*forecast.Forecast{f}
	for i, one := range asked {
		g, err := s.forecasts.soon(ctx, change{one.Policy, one.Slots, one.Tasks, one.each()})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one, err)
		}
		name := one.String()
		if i > 0 && i == len(asked)-1 {
			name = "all together"
		}
		all, c.Heads = append(all, g), append(c.Heads, name)
	}
	some := slices.ContainsFunc(all, partial)
	n, tasks := s.board.tabulate(c, sn, all, some), sn.all.Waiting+sn.all.Busy
	of := "Of " + verb(n, "live job", "live jobs")
	if some {
		of = fmt.Sprintf("Each column looks at the jobs that it would serve first, of %s. Times are of the %s that all columns have, and longer where a job behind them overtakes: all", count(f.Live), count(n))
	} else if tasks > maxTasks {
		of = firsts(f, tasks) + " " + of
	}
	c.Note = fmt.Sprintf("%s in %d draws, if no other job comes. Times are from now on, by the medians of the forecast.%s", of, f.Draws, c.Note)
	return c, nil
}

// fate is what becomes of a tenant's jobs, or all.
type fate struct {
	left  []time.Duration // until the end
	late  int
	first int // jobs that are foreseen, in other forecasts or not
}

func (x *fate) mean() time.Duration {
	sum := 0.0
	for _, d := range x.left {
		sum += float64(d)
	}
	return time.Duration(sum / float64(max(1, len(x.left))))
}

func (x *fate) p90() time.Duration {
	if len(x.left) == 0 {
		return 0
	}
	slices.Sort(x.left)
	return x.left[(len(x.left)*9+9)/10-1]
}

// tabulate writes what becomes of all and of each tenant, and returns of how many jobs. If not all jobs are foreseen, it also writes how many of a tenant are.
func (b *board) tabulate(c *comparison, s *snap, all []*forecast.Forecast, partial bool) (jobs int) {
	type whose struct {
		tenant   string
		deadline sojourn.Time
	}
	of := map[sojourn.JobID]whose{}
	for _, f := range all {
		b.rec.each(len(f.Jobs), func(i int) {
			if j := b.rec.jobs.get(f.Jobs[i].ID); j != nil {
				of[f.Jobs[i].ID] = whose{j.tenant.key, j.spec.Deadline}
			}
		})
	}
	ends := map[sojourn.JobID]int{} // in how many forecasts a job ends
	for _, f := range all {
		for i := range f.Jobs {
			if f.Jobs[i].Finish != nil {
				ends[f.Jobs[i].ID]++
			}
		}
	}
	fates := make([]map[string]*fate, len(all))
	for k, f := range all {
		fates[k] = map[string]*fate{"": {}}
		for i := range f.Jobs {
			j := &f.Jobs[i]
			w, ok := of[j.ID]
			if !ok {
				continue
			}
			for _, name := range []string{"", "/" + w.tenant} {
				x := fates[k][name]
				if x == nil {
					x = &fate{}
					fates[k][name] = x
				}
				if x.first++; ends[j.ID] < len(all) {
					continue
				}
				x.left = append(x.left, max(0, j.Finish.Median.Sub(s.now)))
				if w.deadline > 0 && w.deadline < j.Finish.Median {
					x.late++
				}
			}
		}
	}
	row := func(what, tenant string, value func(*fate) (float64, string)) {
		r := comparedRow{What: what}
		was := 0.0
		for k := range all {
			x := fates[k][tenant]
			if x == nil && !partial {
				return
			}
			if x == nil {
				x = &fate{}
			}
			v, text := value(x)
			if k == 0 {
				was = v
			} else if sign := changed(was, v); sign != "" && text != "–" {
				text += " (" + sign + ")"
			}
			r.Cells = append(r.Cells, text)
		}
		c.Rows = append(c.Rows, r)
	}
	spanOf := func(of func(*fate) time.Duration) func(*fate) (float64, string) {
		return func(x *fate) (float64, string) {
			if len(x.left) == 0 {
				return 0, "–"
			}
			d := of(x)
			return d.Seconds(), span4(d)
		}
	}
	row("mean time until a job ends", "", spanOf((*fate).mean))
	row("90 of 100 jobs end within", "", spanOf((*fate).p90))
	row("late jobs", "", func(x *fate) (float64, string) { return float64(x.late), count(x.late) })
	for i := range s.tenants {
		if partial {
			row(shown(s.tenants[i].name)+", jobs that are served first", "/"+s.tenants[i].key, func(x *fate) (float64, string) { return float64(x.first), count(x.first) })
		}
		row(shown(s.tenants[i].name)+", mean", "/"+s.tenants[i].key, spanOf((*fate).mean))
		row(shown(s.tenants[i].name)+", late", "/"+s.tenants[i].key, func(x *fate) (float64, string) { return float64(x.late), count(x.late) })
		if i == 11 {
			c.Note += " The 12 tenants with the most tasks are listed."
			break
		}
	}
	return len(fates[0][""].left)
}

// changed writes how much a value differs from what it was: "▼ 17 %".
func changed(was, is float64) string {
	switch d := is - was; {
	case was == 0 && is == 0, was > 0 && d/was < 0.005 && d/was > -0.005:
		return "same"
	case was == 0:
		return "▲"
	case d < 0:
		return fmt.Sprintf("▼ %.0f %%", -100*d/was)
	default:
		return fmt.Sprintf("▲ %.0f %%", 100*d/was)
	}
}
