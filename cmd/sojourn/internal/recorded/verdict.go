package recorded

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/paired"
)

// duration returns a number of seconds as people say it.
func duration(s float64) string {
	if math.IsNaN(s) || math.Abs(s) > 9e9 {
		return "-"
	}
	return format.Span(time.Duration(math.Round(s * 1e9)))
}

// verdict returns which policy is better, by how much, and for whom it is worse.
func (c *compared) verdict() []string {
	if len(c.runs) == 1 {
		return c.alone()
	}
	all := c.groups[0]
	if len(all.jobs) == 0 {
		return []string{"No job finished under all of these policies, so that nothing can be compared.", c.unfinished()}
	}
	order := c.order()
	best, next, worst := order[0], order[1], order[len(order)-1]
	m, last := all.mean(c.runs[best]), all.mean(c.runs[worst])
	if m == last {
		return []string{fmt.Sprintf("All %d policies do equally well here: a job takes %s on average.", len(c.runs), duration(m)), c.unfinished()}
	}
	other := c.reference(best, next)
	return slices.DeleteFunc(append(c.ahead(best, other, worst, m), c.hurt(best, other), c.unfinished()), func(s string) bool { return s == "" })
}

// ahead says by how much the best policy is ahead, and how much of that may be chance: what advise says of these jobs.
func (c *compared) ahead(best, other, worst int, m float64) []string {
	takes := fmt.Sprintf("a job takes %s on average from its arrival to its end", duration(m))
	n := c.measures[meanSojourn].numbers
	var than []string
	for _, k := range slices.Compact([]int{other, worst}) {
		if change := n.Against(best, k); !math.IsNaN(change.Mean) {
			than = append(than, paired.Ratios.Change(change)+" than under "+c.names[k])
		}
	}
	text := ""
	if len(than) > 0 {
		text = "Its mean sojourn time is " + format.Joined(than, "and")
		if len(c.runs) > 2 {
			text += ", the worst of " + fmt.Sprint(len(c.runs))
		}
		text += "; "
	}
	p90 := c.measures[p90Sojourn].numbers
	text += "its p90 is " + duration(p90.Values[best])
	if change := p90.Against(best, other); !math.IsNaN(change.Mean) {
		text += fmt.Sprintf(", %s than under %s", paired.Ratios.Change(change), c.names[other])
	}
	text = strings.ToUpper(text[:1]) + strings.ReplaceAll(text[1:], "the same than", "the same as") + "."
	if n.Block == 0 {
		return []string{fmt.Sprintf("%s is best here, though nothing can be said of chance: %s.", c.names[best], takes), text}
	}
	var tied []string
	var more []float64
	for _, i := range n.Ties() {
		tied, more = append(tied, c.names[i]), append(more, n.Against(i, n.Best()).Mean)
	}
	if len(tied) == 0 {
		return []string{fmt.Sprintf("%s is best here, and %s: %s.", c.names[best], paired.Sure, takes), text}
	}
	return []string{fmt.Sprintf("%s has the least mean sojourn time, but %s. Under %s, %s.", c.names[best], paired.Ratios.Tie(tied, more), c.names[best], takes), text}
}

// reference returns the run whose jobs are compared with those of the best one: fair sharing,
// which hurts nobody much; else FIFO, which people know; else the next best.
func (c *compared) reference(best, next int) int {
	for _, name := range []string{"fair", "fifo"} {
		for i, r := range c.runs {
			if i != best && (r.info.Policy == name || strings.HasPrefix(r.info.Policy, name+":")) {
				return i
			}
		}
	}
	return next
}

// hurt says for whom the best policy is worse than another one. A job counts if it takes over
// 1 % longer.
func (c *compared) hurt(best, other int) string {
	a, b := c.runs[best], c.runs[other]
	longer := func(i int) bool { return a.jobs[i].sojourn() > 1.01*b.jobs[i].sojourn() }
	jobs := c.groups[0].jobs
	n, worst := 0, -1
	for _, i := range jobs {
		if !longer(i) {
			continue
		}
		n++
		if worst < 0 || a.jobs[i].sojourn()-b.jobs[i].sojourn() > a.jobs[worst].sojourn()-b.jobs[worst].sojourn() {
			worst = i
		}
	}
	if n == 0 {
		return fmt.Sprintf("It hurts nobody: no job takes over 1 %% longer than under %s.", c.names[other])
	}
	text := fmt.Sprintf("It is worse than %s for %s of %s jobs", c.names[other], format.Thousands(n), format.Thousands(len(jobs)))
	text += c.spread(n, longer)
	w := &a.jobs[worst]
	name := "job " + w.id
	if w.name != "" {
		name += fmt.Sprintf(" (%s)", w.name)
	}
	return text + fmt.Sprintf("; %s loses most, with %s instead of %s.", name, duration(w.sojourn()), duration(b.jobs[worst].sojourn()))
}

// spread says how n jobs are spread over the groups by size.
func (c *compared) spread(n int, in func(int) bool) string {
	var parts []string
	for _, g := range c.groups[1:] {
		k := 0
		for _, i := range g.jobs {
			if in(i) {
				k++
			}
		}
		switch {
		case k == n && n > 1:
			return ", all of them " + g.name
		case 2*k > n && n > 1:
			return fmt.Sprintf(", most of them %s (%s)", g.name, format.Thousands(k))
		case k > 0:
			parts = append(parts, format.Thousands(k)+" "+strings.TrimSuffix(g.name, " jobs"))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// alone is the verdict on one run.
func (c *compared) alone() []string {
	r := c.runs[0]
	s := sortedKnown(r.values((*job).sojourn))
	if len(s) == 0 {
		return []string{fmt.Sprintf("No job finished under %s.", c.names[0])}
	}
	text := fmt.Sprintf("Under %s, a job takes %s on average from its arrival to its end; half of them take at most %s.", c.names[0], duration(mean(s)), duration(quantile(s, 0.5)))
	list := []string{text}
	late := sortedKnown(r.values(func(j *job) float64 { return j.late }))
	n := 0
	for _, v := range late {
		if v > 0 {
			n++
		}
	}
	switch {
	case len(late) == 0:
	case n == 0:
		list = append(list, "No job ends later than if all had shared the cluster equally.")
	default:
		list = append(list, fmt.Sprintf("%s of %s jobs end later than if all had shared the cluster equally, at most by %s.", format.Thousands(n), format.Thousands(len(late)), duration(late[len(late)-1])))
	}
	if u := c.unfinished(); u != "" {
		list = append(list, u)
	}
	return list
}

// unfinished says under which policies not all jobs finish, "" if they do.
func (c *compared) unfinished() string {
	var list []string
	for i, r := range c.runs {
		if n := len(r.jobs) - r.info.Result.Finished; n > 0 {
			list = append(list, fmt.Sprintf("%s of %s under %s", format.Thousands(n), format.Count(len(r.jobs), "job"), c.names[i]))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "Not all jobs finish: " + strings.Join(list, ", ") + " do not. Means are of the jobs that finish under all policies."
}
