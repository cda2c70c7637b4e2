// Command tenants simulates a customer who sends 500 tasks at once to four workers that three others use as well,
// under FIFO and under package fair, and prints how long each customer waited. With -svg it draws who has how many
// workers at what time:
//
//	go run ./examples/tenants
//	go run ./examples/tenants -svg > docs/tenants.svg
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/sim"
)

const (
	workers  = 4
	length   = 2 * time.Second // of a task
	flood    = 500             // tasks of the first customer
	floodAt  = 20 * time.Second
	every    = 5 * time.Second // each of the others sends a task
	until    = 400 * time.Second
	bin      = 2 * time.Second // of the picture
	left     = 20
	width    = 820
	perBin   = 3.9 // pixels
	perSlot  = 22
	head     = 30
	gap      = 26
	panel    = head + workers*perSlot + gap
	someLate = time.Minute
)

var customers = []struct{ name, colour string }{
	{"flood", "#8c959f"}, {"alice", "#e8590c"}, {"bob", "#1c7ed6"}, {"carol", "#2f9e44"},
}

func main() {
	svg := flag.Bool("svg", false, "draw a picture")
	flag.Parse()
	write := table
	if *svg {
		write = draw
	}
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

// A run is what happened under a policy.
type run struct {
	name  string
	jobs  []sim.JobRecord
	tasks []sim.TaskRecord
}

func runs() (list []run, err error) {
	first, err := fifo.New(fifo.Options{})
	if err != nil {
		return nil, err
	}
	shares, err := fair.New(fair.Options{})
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name string
		sojourn.Policy
	}{{"fifo", first}, {"fair", shares}} {
		r := run{name: p.name}
		res, err := sim.Run(context.Background(), sim.Config{
			Cluster:   sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "a", Slots: []int{workers}}}},
			Policy:    p.Policy,
			Estimates: sim.Estimates{Mode: sim.None},
			Records:   true,
			Hooks:     sim.Hooks{Attempt: func(t *sim.TaskRecord) { r.tasks = append(r.tasks, *t) }},
			Jobs:      jobs,
		})
		if err != nil {
			return nil, err
		}
		r.jobs = res.JobRecords
		list = append(list, r)
	}
	return list, nil
}

// jobs yields the jobs in the order of their arrival. The pool of a job is its customer.
func jobs(yield func(*sim.Job, error) bool) {
	id := sojourn.JobID(0)
	send := func(at time.Duration, customer, tasks int) bool {
		id++
		return yield(&sim.Job{
			Job: sojourn.Job{ID: id, Pool: customers[customer].name, Phases: []sojourn.Phase{{Tasks: tasks}}},
			At:  sojourn.Time(at), Times: []sim.Times{{Each: length}},
		}, nil)
	}
	for at := time.Duration(0); at < until; at += every {
		if at == floodAt && !send(at, 0, flood) {
			return
		}
		for c := 1; c < len(customers); c++ {
			if !send(at, c, 1) {
				return
			}
		}
	}
}

// table prints how long the jobs of each customer took.
func table(w io.Writer) error {
	list, err := runs()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%-9s%-8s%6s%10s%10s%18s\n", "policy", "pool", "jobs", "mean", "longest", "above "+someLate.String())
	for _, r := range list {
		for _, c := range customers {
			n, late, sum, longest := 0, 0, time.Duration(0), time.Duration(0)
			for _, j := range r.jobs {
				if j.Pool != c.name {
					continue
				}
				n++
				sum += j.Sojourn()
				longest = max(longest, j.Sojourn())
				if j.Sojourn() > someLate {
					late++
				}
			}
			fmt.Fprintf(w, "%-9s%-8s%6d%8.1f s%8.1f s%18d\n", r.name, c.name, n, (sum / time.Duration(n)).Seconds(), longest.Seconds(), late)
		}
	}
	return nil
}

// draw draws how many workers each customer has in the course of time, one above the other.
func draw(w io.Writer) error {
	list, err := runs()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" role="img">
<title>Who has the four workers, under FIFO and under fair</title>
<style>text { fill: #57606a } @media (prefers-color-scheme: dark) { text { fill: #9198a1 } }</style>
`, width, len(list)*panel)
	for i, r := range list {
		top := i * panel
		fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", left, top+20, r.name)
		for c := range customers {
			x := left + 60 + c*110
			fmt.Fprintf(w, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n", x, top+9, customers[c].colour, x+18, top+20, customers[c].name)
		}
		held := r.held()
		bottom := float64(top + head + workers*perSlot)
		below := make([]float64, len(held[0]))
		for c := len(customers) - 1; c >= 0; c-- {
			lower := slices.Clone(below)
			for b, n := range held[c] {
				below[b] += n
			}
			upper := steps(below, bottom, false)
			fmt.Fprintf(w, "<path d=\"M%d %.1f%s%sZ\" fill=\"%s\"/>\n", left, bottom, upper, steps(lower, bottom, true), customers[c].colour)
		}
		for s := time.Duration(0); s <= until; s += 50 * time.Second {
			fmt.Fprintf(w, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%.0f s</text>\n", left+perBin*float64(s/bin), bottom+14, s.Seconds())
		}
	}
	_, err = fmt.Fprintln(w, "</svg>")
	return err
}

// steps returns the upper edge of columns as commands of a path, from the left or from the right.
func steps(columns []float64, bottom float64, fromRight bool) string {
	var path strings.Builder
	last := math.NaN()
	for k := range columns {
		b, edge := k, k
		if fromRight {
			b = len(columns) - 1 - k
			edge = b + 1
		}
		if y := math.Round(10*(bottom-perSlot*columns[b])) / 10; y != last {
			fmt.Fprintf(&path, "H%.1fV%.1f", left+perBin*float64(edge), y)
			last = y
		}
	}
	end := len(columns)
	if fromRight {
		end = 0
	}
	fmt.Fprintf(&path, "H%.1f", left+perBin*float64(end))
	return path.String()
}

// held returns how many workers each customer has on average, by customer and bin.
func (r *run) held() [][]float64 {
	pools := map[sojourn.JobID]string{}
	for _, j := range r.jobs {
		pools[j.ID] = j.Pool
	}
	list := make([][]float64, len(customers))
	for c := range list {
		list[c] = make([]float64, until/bin)
		for _, t := range r.tasks {
			if pools[t.Task.Job] != customers[c].name {
				continue
			}
			for b := range list[c] {
				from, to := sojourn.Time(time.Duration(b)*bin), sojourn.Time(time.Duration(b+1)*bin)
				if d := min(to, t.End) - max(from, t.Start); d > 0 {
					list[c][b] += float64(d) / float64(bin)
				}
			}
		}
	}
	return list
}
