// Command gantt simulates four jobs on eight slots, under FIFO and under the default policy, and
// draws which slot runs a task of which job at what time:
//
//	go run ./examples/gantt > docs/gantt.svg
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The long job comes first, and short ones arrive while it runs. No job has
// estimates.
var jobs = []struct {
	name, colour string
	tasks        int
	at           time.Duration
}{
	{"A", "#8c959f", 100, 0},
	{"B", "#e8590c", 2, 16 * time.Second},
	{"C", "#1c7ed6", 9, 34 * time.Second},
	{"D", "#2f9e44", 1, 75 * time.Second},
}

const (
	slots               = 8
	left, width         = 20, 820 // of the time axis
	bar, row, head, gap = 13, 16, 30, 26
	panel               = head + slots*row + gap
	perSecond           = 5 // pixels
)

func main() {
	if err := draw(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gantt:", err)
		os.Exit(1)
	}
}

func draw(w io.Writer) error {
	first, err := fifo.New(fifo.Options{})
	if err != nil {
		return err
	}
	small, err := leastwork.New(leastwork.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" role="img">
<title>Four jobs on eight slots, under FIFO and under the default policy</title>
<style>text { fill: #57606a } @media (prefers-color-scheme: dark) { text { fill: #9198a1 } }</style>
`, width, 2*panel)
	for i, p := range []struct {
		name string
		sojourn.Policy
	}{{"fifo", first}, {"default", small}} {
		tasks, ends, err := simulate(p.Policy)
		if err != nil {
			return err
		}
		top := i * panel
		fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", left, top+20, p.name)
		for j, end := range ends {
			x := left + 60 + j*180
			fmt.Fprintf(w, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s, %s: %.0f s</text>\n",
				x, top+9, jobs[j].colour, x+18, top+20, jobs[j].name, count(jobs[j].tasks), end.Seconds())
		}
		for _, t := range tasks {
			fmt.Fprintf(w, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
				left+perSecond*seconds(t.Start), top+head+int(t.Slot)*row, perSecond*seconds(t.End-t.Start)-1, bar, jobs[t.Task.Job-1].colour)
		}
		for s := 0; s <= 150; s += 30 {
			fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%d s</text>\n", left+perSecond*s, top+head+slots*row+14, s)
		}
	}
	_, err = fmt.Fprintln(w, "</svg>")
	return err
}

func seconds(t sojourn.Time) float64 { return time.Duration(t).Seconds() }

func count(tasks int) string {
	if tasks == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", tasks)
}

// simulate returns the attempts, and how long each job took from its arrival to
// its end.
func simulate(p sojourn.Policy) (tasks []sim.TaskRecord, took []time.Duration, err error) {
	res, err := sim.Run(context.Background(), sim.Config{
		Cluster:   sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "a", Slots: []int{slots}}}},
		Policy:    p,
		Estimates: sim.Estimates{Mode: sim.None},
		Records:   true,
		Hooks:     sim.Hooks{Attempt: func(r *sim.TaskRecord) { tasks = append(tasks, *r) }},
		Jobs: func(yield func(*sim.Job, error) bool) {
			for i, j := range jobs {
				each := make([]time.Duration, j.tasks)
				for k := range each {
					each[k] = time.Duration(8+(k*7+i)%5) * time.Second // 8 to 12 s
				}
				if !yield(&sim.Job{
					Job: sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: j.tasks}}},
					At:  sojourn.Time(j.at), Times: []sim.Times{{List: each}},
				}, nil) {
					return
				}
			}
		},
	})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range res.JobRecords {
		took = append(took, r.Sojourn())
	}
	slices.SortFunc(tasks, func(a, b sim.TaskRecord) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Slot, b.Slot))
	})
	return tasks, took, nil
}
