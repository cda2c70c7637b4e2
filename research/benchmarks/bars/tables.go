package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The tables, in the order in which they are printed.
var tables = []struct {
	name  string
	print func(*bars, io.Writer) error
}{
	{"every", (*bars).every}, {"cells", (*bars).cells}, {"unlike", (*bars).unlike}, {"wrong", (*bars).wrong}, {"hfsp", (*bars).hfsp}, {"goals", (*bars).goals},
	{"patience", (*bars).patience}, {"floods", (*bars).floods}, {"reserve", (*bars).reserve}, {"guesses", (*bars).guesses},
	{"gangs", (*bars).gangs}, {"rules", (*bars).rules},
}

func tableNames() (names []string) {
	for _, t := range tables {
		names = append(names, t.name)
	}
	return names
}

// print prints tables, all if none is named.
func (b *bars) print(w io.Writer, names string) error {
	for _, t := range tables {
		if names != "" && !strings.Contains(","+names+",", ","+t.name+",") {
			continue
		}
		fmt.Fprintf(w, "\n%s\n\n", t.name)
		if err := t.print(b, w); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// every lets sojourn advise try every policy on every trace.
func (b *bars) every(w io.Writer) error {
	var told, untold []string
	for _, t := range b.traces("kth", "nasa", "lublin", "google", "fb09", "fb10") {
		for _, requested := range []bool{false, true} {
			if requested && t.name != "kth" {
				continue
			}
			file, err := b.workload(t, requested)
			if err != nil {
				return err
			}
			untold = append(untold, file+"@"+t.cluster)
			if !requested && t.name != "fb10" {
				told = append(told, file+"@"+t.cluster)
			}
		}
	}
	rumen, mumak := filepath.Join(b.data, "rumen"), filepath.Join(b.dir, "mumak")
	text, err := b.output("convert", "--from", "rumen", "--slots", "1+1", "--topology", filepath.Join(rumen, "19-jobs.topology.json.gz"), "--cluster-out", mumak+".json", filepath.Join(rumen, "19-jobs.trace.json.gz"))
	if err == nil {
		err = os.WriteFile(mumak+".jsonl", text, 0o600)
	}
	if err != nil {
		return err
	}
	at := mumak + ".jsonl@" + mumak + ".json"
	for _, args := range [][]string{append(told, at, "--estimates", "exact"), append(untold, at)} {
		text, err := b.output(append([]string{"advise", "-q"}, args...)...)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\n", text)
	}
	return nil
}

// wrong prints what wrong sizes cost.
func (b *bars) wrong(w io.Writer) error {
	told := []string{"exact", "lognormal:0.5", "lognormal:1", "lognormal:2", "lognormal:3", "factor:10", "factor:0.1", "none"}
	head(w, append([]string{"trace", "load"}, told...)...)
	for _, t := range b.traces("kth", "nasa", "lublin", "fb09") {
		for _, load := range []string{"recorded", "0.9"} {
			of, err := b.fairly(t, load)
			if err != nil {
				return err
			}
			cells := []string{t.name, load}
			for _, say := range told {
				r, err := b.compare(t, load, say, b.policy)
				if err != nil {
					return err
				}
				cells = append(cells, fmt.Sprintf("%.2f / %.2f / %.2f", r[0].Sojourn.Mean/of.Sojourn.Mean, r[0].Slowdown.P99/of.Slowdown.P99, r[0].Sojourn.Max/of.Sojourn.Max))
			}
			row(w, cells...)
		}
	}
	return nil
}

// over returns the mean sojourn time and the mean slowdown of a result over those of another.
func (r *result) over(of *result) string {
	return fmt.Sprintf("%.2f / %.2f", r.Sojourn.Mean/of.Sojourn.Mean, r.Slowdown.Mean/of.Slowdown.Mean)
}

// hfsp compares with it on workloads of its paper.
func (b *bars) hfsp(w io.Writer) error {
	head(w, "workload", "`"+b.policy+"`", "`hfsp`")
	for _, name := range []string{"dev", "test", "prod"} {
		r, err := b.results("--gen", "hfsp-"+name+":load=0.9", "--seeds", "20", "-p", fairSharing+","+b.policy+",hfsp", "--estimates", "none")
		if err != nil {
			return err
		}
		row(w, strings.ToUpper(name), r[1].over(&r[0]), r[2].over(&r[0]))
	}
	return nil
}

// goals prints how far other policies are from the goals.
func (b *bars) goals(w io.Writer) error {
	list := b.traces("kth", "lublin", "google")
	cells := []string{"policy", "told"}
	for _, t := range list {
		cells = append(cells, t.name)
	}
	head(w, cells...)
	for _, g := range []struct {
		told     string
		policies []string
	}{
		{"exact", []string{b.policy, "srpt:reserve=0.01", "srpt", "fsp", "pfsp"}},
		{"none", []string{b.policy, "hfsp:reserve=0.01", "hfsp"}},
	} {
		rows, bound := make([][]string, len(g.policies)), []string{"lower bound of the mean", g.told}
		for _, t := range list {
			of, err := b.fairly(t, "recorded")
			if err != nil {
				return err
			}
			r, err := b.compare(t, "recorded", g.told, strings.Join(g.policies, ","))
			if err != nil {
				return err
			}
			bound = append(bound, fmt.Sprintf("%.2f", 1/of.SojournRatio))
			for i := range r {
				rows[i] = append(rows[i], r[i].over(of))
			}
		}
		if g.told == "exact" {
			row(w, bound...)
		}
		for i, name := range g.policies {
			row(w, append([]string{"`" + name + "`", g.told}, rows[i]...)...)
		}
	}
	return nil
}

// patience prints what patience costs on the first jobs of the small traces.
func (b *bars) patience(w io.Writer) error {
	head(w, "patience", "mean", "median", "p90", "slowdown, mean", "slowdown, p99")
	for _, patience := range []string{"1", "8", "64", "128", "256", "512", "4096"} {
		quick := *b
		quick.quick, quick.policy, quick.files, quick.fairs = true, "default:patience="+patience, map[string]string{}, map[string]*result{}
		if err := quick.means(w, patience); err != nil {
			return err
		}
	}
	return nil
}

// means prints the geometric means of the cells in a row.
func (b *bars) means(w io.Writer, name string) error {
	list, err := b.measure(func(*cell) {})
	if err != nil {
		return err
	}
	row(w, append([]string{name}, means(list)...)...)
	return nil
}

// floods prints how long two jobs take, of one task of 30 s and of 8 of them, which come half an hour after a flood of short jobs
// has begun that ends after 8 h. A short job has a task of 10 s for each tenth slot, and they come at random.
func (b *bars) floods(w io.Writer) error {
	head(w, "slots", "load", "`"+fairSharing+"`", "patience 64", "128", "256", "512")
	for _, slots := range []int{8, 30, 100, 1000} {
		for _, load := range []float64{0.95, 1.05, 1.2} {
			cells := []string{fmt.Sprint(slots), fmt.Sprint(load)}
			for _, patience := range []int{0, 64, 128, 256, 512} {
				var p sojourn.Policy
				var err error
				if patience == 0 {
					p, err = fair.New(fair.Options{Ties: fair.Arrival})
				} else {
					p, err = leastwork.New(leastwork.Options{Patience: patience})
				}
				if err != nil {
					return err
				}
				one, eight, err := flood(p, slots, load)
				if err != nil {
					return err
				}
				cells = append(cells, fmt.Sprintf("%.0f / %.0f", one.Seconds(), eight.Seconds()))
			}
			row(w, cells...)
		}
	}
	return nil
}

// flood returns how long the two long jobs are in the system.
func flood(p sojourn.Policy, slots int, load float64) (one, eight time.Duration, err error) {
	const first = sojourn.JobID(1 << 40) // of the two
	tasks := (slots + 9) / 10
	gap := float64(tasks) * 10 / load / float64(slots)
	left := 2
	jobs := func(yield func(*sim.Job, error) bool) {
		r := rand.New(rand.NewPCG(1, 2))
		give := func(id sojourn.JobID, at float64, tasks int, each time.Duration) bool {
			return yield(&sim.Job{
				Job: sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks}}},
				At:  sojourn.Time(at * 1e9), Times: []sim.Times{{Each: each}},
			}, nil)
		}
		at, come := 0.0, false
		for id := sojourn.JobID(1); at < 8*3600 && left > 0; id++ {
			at += r.ExpFloat64() * gap
			if !come && at > 1800 {
				come = true
				if !give(first, at, 1, 30*time.Second) || !give(first+1, at, 8, 30*time.Second) {
					return
				}
			}
			if !give(id, at, tasks, 10*time.Second) {
				return
			}
		}
	}
	cfg := sim.Config{
		Policy: p, Jobs: jobs, NoAudit: true, Estimates: sim.Estimates{Mode: sim.Exact},
		Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{slots}}}},
	}
	cfg.Hooks.Job = func(r *sim.JobRecord) {
		switch r.ID {
		case first:
			one, left = r.Sojourn(), left-1
		case first + 1:
			eight, left = r.Sojourn(), left-1
		}
	}
	_, err = sim.Run(context.Background(), cfg)
	return one, eight, err
}

// reserve prints what a batch of equal tasks of an hour pays for the reserve, and what a job of two tasks of 10 s waits
// that comes beside it: with the reserve as it is, from two slots on, and for a batch of any number of waves.
func (b *bars) reserve(w io.Writer) error {
	head(w, "slots", "waves", "`"+fairSharing+"`", "`default`", "a reserve from 2 slots on", "and for all batches")
	small := edit{"leastwork/leastwork.go", "From: 10", "From: 2"}
	waves := edit{"kit/reserve/reserve.go", "const waves = 8", "const waves = 0"}
	variants := []*bars{b}
	for _, edits := range [][]edit{{small}, {small, waves}} {
		v, err := b.without(edits)
		if err != nil {
			return err
		}
		variants = append(variants, v)
	}
	for _, slots := range []int{2, 4, 8, 10, 25, 100} {
		for _, n := range []int{1, 2, 4, 8, 10} {
			file := filepath.Join(b.dir, "batch.jsonl")
			batch := fmt.Sprintf(`{"id":1,"at":0,"phases":[{"tasks":%d,"time":3600}]}
{"id":2,"at":100,"phases":[{"tasks":2,"time":10}]}
`, n*slots)
			if err := os.WriteFile(file, []byte(batch), 0o600); err != nil {
				return err
			}
			cells := []string{fmt.Sprint(slots), fmt.Sprint(n)}
			for i, v := range append([]*bars{b}, variants...) {
				policy := "default"
				if i == 0 {
					policy = fairSharing
				}
				r, err := v.results("-w", file, "-c", fmt.Sprint(slots, "x1"), "-p", policy, "--estimates", "none")
				if err != nil {
					return err
				}
				longest := r[0].Sojourn.Max // of the batch; the mean is of both
				cells = append(cells, fmt.Sprintf("%.0f h / %.0f s", longest/3600, 2*r[0].Sojourn.Mean-longest))
			}
			row(w, cells...)
		}
	}
	return nil
}

// guesses prints how far it is from fair sharing to the better one of srpt and fsp with exact sizes, in the mean sojourn time, and
// which part of the way policies go that are told nothing, or the mean of all other jobs of the same name and numbers of tasks.
func (b *bars) guesses(w io.Writer) error {
	head(w, "trace", "fair sharing, s", "exact sizes, s", "`"+b.policy+"`, nothing told", "`"+b.policy+"`, told means", "`srpt`, told means")
	sums, n := [3]number{}, 0
	for _, t := range b.traces("wagap", "muri2", "kth", "fb09", "fb10") {
		of, err := b.fairly(t, "recorded")
		if err != nil {
			return err
		}
		exact, err := b.compare(t, "recorded", "exact", "srpt,fsp")
		if err != nil {
			return err
		}
		best := min(exact[0].Sojourn.Mean, exact[1].Sojourn.Mean)
		none, err := b.compare(t, "recorded", "none", b.policy)
		if err != nil {
			return err
		}
		file, err := b.workload(t, false)
		if err != nil {
			return err
		}
		if file, err = b.tell(file); err != nil {
			return err
		}
		told, err := b.results("-w", file, "-c", t.cluster, "-p", b.policy+",srpt", "--estimates", "none")
		if err != nil {
			return err
		}
		cells := []string{t.name, fmt.Sprintf("%.0f", of.Sojourn.Mean), fmt.Sprintf("%.0f", best)}
		for i, r := range []result{none[0], told[0], told[1]} {
			share := 100 * (of.Sojourn.Mean - r.Sojourn.Mean) / (of.Sojourn.Mean - best)
			sums[i] += share
			cells = append(cells, fmt.Sprintf("%.0f %%", share))
		}
		n++
		row(w, cells...)
	}
	if n == 0 {
		return errors.New("no trace is there")
	}
	cells := []string{"arithmetic mean", "", ""}
	for _, sum := range sums {
		cells = append(cells, fmt.Sprintf("%.0f %%", sum/number(n)))
	}
	row(w, cells...)
	return nil
}

// tell writes a workload in which each phase is told the arithmetic mean of the times of the same phase in all other jobs of its name
// and numbers of tasks; else in those of its name, and else in all others.
func (b *bars) tell(file string) (string, error) {
	type sum struct{ time, n float64 }
	var jobs []map[string]any
	sums := map[string]*sum{}
	text, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer text.Close()
	each := func(visit func(phase map[string]any, took float64, keys [3]string)) error {
		for _, job := range jobs {
			shape := ""
			phases, _ := job["phases"].([]any)
			for _, p := range phases {
				shape += fmt.Sprint(p.(map[string]any)["tasks"], " ")
			}
			for i, p := range phases {
				phase := p.(map[string]any)
				took, ok := phase["time"].(float64)
				if !ok {
					return errors.New("want phases with one time of all tasks")
				}
				visit(phase, took, [3]string{fmt.Sprint(i, job["name"], "/", shape), fmt.Sprint(i, job["name"]), fmt.Sprint(i)})
			}
		}
		return nil
	}
	for d := json.NewDecoder(text); ; {
		var job map[string]any
		if err := d.Decode(&job); err == io.EOF {
			break
		} else if err != nil {
			return "", err
		}
		jobs = append(jobs, job)
	}
	err = each(func(_ map[string]any, took float64, keys [3]string) {
		for _, k := range keys {
			if sums[k] == nil {
				sums[k] = new(sum)
			}
			sums[k].time, sums[k].n = sums[k].time+took, sums[k].n+1
		}
	})
	if err != nil {
		return "", err
	}
	_ = each(func(phase map[string]any, took float64, keys [3]string) {
		for _, k := range keys {
			if s := sums[k]; s.n > 1 {
				phase["estimate"] = max((s.time-took)/(s.n-1), 1e-9)
				return
			}
		}
	})
	name := filepath.Join(b.dir, "told.jsonl")
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for e, i := json.NewEncoder(f), 0; i < len(jobs); i++ {
		if err := e.Encode(jobs[i]); err != nil {
			return "", err
		}
	}
	return name, nil
}

// gangs prints the cells of jobs whose tasks start together.
func (b *bars) gangs(w io.Writer) error {
	g := *b
	g.extra, g.told = []string{"--gangs"}, []string{"exact", "none"}
	if g.only == "" {
		g.only = "wagap,muri2,openb"
	}
	return g.cells(w)
}
