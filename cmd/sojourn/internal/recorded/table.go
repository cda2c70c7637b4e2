package recorded

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// quantile returns the least number of which at least a share p are at most: the nearest rank.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}

func sortedKnown(values []float64) []float64 {
	values = slices.DeleteFunc(values, math.IsNaN)
	slices.Sort(values)
	return values
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func text(s string) page.Cell { return page.Cell{Text: s} }

func count(n int) page.Cell { return page.Cell{Text: format.Thousands(n), Sort: float64(n)} }

// shown returns the cell of a number, three digits of it or all before its point.
func shown(v float64) page.Cell {
	return page.Cell{Text: format.Number(v, max(0, format.Decimals([]float64{v}, 3))), Sort: v}
}

func percent(share float64) page.Cell {
	return page.Cell{Text: format.Number(100*share, 1), Sort: share}
}

func columns(list ...[2]string) []page.Column {
	var c []page.Column
	for _, l := range list {
		c = append(c, page.Column{Name: l[0], Unit: l[1], Number: true})
	}
	return c
}

// table is the table of all policies.
func (c *compared) table() page.Table {
	t := page.Table{ID: "policies", Title: "All policies in numbers",
		Help: "Click a head to sort. p90 and p99: 90 and 99 of 100 jobs take at most that long. Beyond bound: phases that end later than is proved for FSP and PFSP. Makespan: until the last job has ended.",
		Columns: append([]page.Column{{Name: "policy"}}, columns(
			[2]string{"jobs finished", ""},
			[2]string{"mean sojourn time", "s"}, [2]string{"median", "s"}, [2]string{"p90", "s"}, [2]string{"p99", "s"}, [2]string{"longest", "s"},
			[2]string{"mean slowdown", "times"}, [2]string{"p99 slowdown", "times"},
			[2]string{"later than under fair sharing", "jobs"}, [2]string{"latest", "s"}, [2]string{"beyond bound", "phases"},
			[2]string{"makespan", "s"}, [2]string{"slots in use", "%"})...)}
	for i, r := range c.runs {
		s := sortedKnown(r.values((*job).sojourn))
		slow := sortedKnown(r.values(func(j *job) float64 { return j.slowdown }))
		work := 0.0
		for _, j := range r.jobs {
			work += j.work
		}
		res := r.info.Result
		t.Rows = append(t.Rows, []page.Cell{text(c.names[i]), count(res.Finished),
			shown(mean(s)), shown(quantile(s, 0.5)), shown(quantile(s, 0.9)), shown(quantile(s, 0.99)), shown(quantile(s, 1)),
			shown(mean(slow)), shown(quantile(slow, 0.99)),
			count(res.Late.Jobs), shown(res.Late.Max), count(res.BeyondBound),
			shown(res.Makespan), percent(work / (float64(r.info.Cluster.total()) * (r.busy.last - r.busy.start)))})
	}
	return t
}

// maxJobRows is the most jobs that are listed.
const maxJobRows = 200

// jobs is the table of the jobs that the policies treat most differently.
func (c *compared) jobs() page.Table {
	t := page.Table{ID: "jobs", Columns: append([]page.Column{{Name: "job", Number: true}, {Name: "name"}, {Name: "pool"}}, columns([2]string{"arrival", "s"}, [2]string{"slot time", "s"})...)}
	for _, name := range c.names {
		t.Columns = append(t.Columns, page.Column{Name: name, Unit: "s", Number: true})
	}
	spread := make([]float64, len(c.runs[0].jobs))
	order := make([]int, len(spread))
	for i := range order {
		order[i] = i
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, r := range c.runs {
			if s := r.jobs[i].sojourn(); !math.IsNaN(s) {
				lo, hi = min(lo, s), max(hi, s)
			}
		}
		if spread[i] = hi - lo; len(c.runs) == 1 {
			spread[i] = hi
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(spread[b], spread[a]) })
	t.Title = "The jobs that the policies treat most differently"
	if len(c.runs) == 1 {
		t.Title = "The jobs that take longest"
	}
	t.Help = "Sojourn time of each job under each policy, in seconds."
	if len(order) > maxJobRows {
		t.Of = format.Count(len(order), "job")
		order = order[:maxJobRows]
	}
	for _, i := range order {
		j := &c.runs[0].jobs[i]
		id, err := strconv.ParseFloat(j.id, 64)
		if err != nil {
			id = float64(i)
		}
		row := []page.Cell{{Text: j.id, Sort: id}, text(j.name), text(j.pool), shown(j.arrival), shown(j.work)}
		for _, r := range c.runs {
			row = append(row, shown(r.jobs[i].sojourn()))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
