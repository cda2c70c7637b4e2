// Command bars compares a policy with per-job fair sharing on recorded traces, counts the cells in which it is
// worse, and prints the tables of docs/default.md and docs/gangs.md that come from traces:
//
//	go build -o /tmp/sojourn ./cmd/sojourn
//	cd research/benchmarks
//	go run ./bars -sojourn /tmp/sojourn -data FOLDER                all tables
//	go run ./bars -sojourn /tmp/sojourn -data FOLDER -tables cells  what is above fair sharing, on all traces
//	go run ./bars -sojourn /tmp/sojourn -data FOLDER -quick         the same, on the first 1,500 jobs of the small traces
//	go run ./bars -sojourn /tmp/sojourn -tables unlike              the same on loads that are made up, without any trace
//	go run ./bars -data FOLDER -quick -tables rules                 the default policy without one of its rules
//	go run ./bars -sojourn /tmp/sojourn -trace jobs.jsonl@100x1     cells of a trace of your own
//	go run ./bars -data FOLDER -users -policy fair:inner=default -tables cells -traces kth,nasa,wagap   each user is a pool
//
// A cell is a trace at a load, with what is told of sizes. Its numbers are those under the policy over those under
// fair:ties=arrival: the mean, median and 90th percentile of the sojourn time, the mean and the 99th percentile of
// the slowdown. Traces that are not in the folder are left out.
//
// A trace of your own is a workload, as sojourn convert writes it, and its cluster. Estimates in it, as --requested-time gives them, are
// what is requested, and are left out where something else is told. Its pools count with -users.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/research/sim"
	workloads "github.com/sojourn-sched/sojourn/research/trace"
)

// A trace is a file, how to read it, and the cluster that it runs on.
type trace struct {
	name, file, cluster string
	convert             []string                    // arguments of sojourn convert; none if it is a workload already
	requested           bool                        // users said how long their jobs may run
	large               bool                        // left out by -quick
	own                 bool                        // a workload of the user, with pools and requested times; the file is a path
	made                func(requested bool) []byte // a workload that is made up, in place of the file
}

var (
	swf    = []string{"--from", "swf"}
	swim   = []string{"--from", "swim"}
	traces = []trace{
		{name: "kth", file: "hpc/KTH-SP2-1996-2.1-cln.swf.gz", cluster: "100x1", convert: swf, requested: true},
		{name: "lublin", file: "hpc/lublin_256.swf.gz", cluster: "320x1", convert: swf},
		{name: "nasa", file: "swf/NASA-iPSC-1993-3.1-cln.swf.gz", cluster: "128x1", convert: swf},
		{name: "wagap", file: "hpc/wagap-2013.swf.gz", cluster: "1500x1", convert: swf, requested: true},
		{name: "muri2", file: "gpu/philly-muri2.csv.gz", cluster: "432x1", convert: []string{"--from", "csv", "--columns", "arrival=submit_time:ms,duration=duration:ms,tasks=num_gpu,name=model_name"}},
		{name: "openb", file: "gpu/alibaba-openb-2023.csv.gz", cluster: "24x1", convert: []string{"--from", "alibaba-gpu"}, large: true},
		{name: "google", file: "google/google-2011-18h.jsonl.gz", cluster: "9500x1", large: true},
		{name: "fb09", file: "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz", cluster: "30x2+1", convert: swim, large: true},
		{name: "fb10", file: "swim-facebook/FB-2010_samples_24_times_1hr_0.tsv.gz", cluster: "1000x2+1", convert: swim, large: true},
		{name: "ricc", file: "hpc/RICC-2010-2.swf.gz", cluster: "8192x1", convert: swf, requested: true, large: true},
	}
)

// pools is what says of a job in which pool it is: the bars are about jobs without pools.
var pools = regexp.MustCompile(`"pool":"[^"]*",`)

const fairSharing = "fair:ties=arrival"

// A result is what a comparison prints of one policy.
type result struct {
	Sojourn         struct{ Mean, Median, P90, Max number }
	Slowdown        struct{ Mean, P99 number }
	WeightedSojourn number `json:"weighted_sojourn"`
	SojournRatio    number `json:"sojourn_ratio"` // of WeightedSojourn to a lower bound
}

// A number is one of a run, or the mean of several.
type number float64

func (n *number) UnmarshalJSON(text []byte) error {
	var mean struct{ Mean float64 }
	if json.Unmarshal(text, &mean) == nil {
		*n = number(mean.Mean)
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

func (r *result) figures() [5]number {
	return [5]number{r.Sojourn.Mean, r.Sojourn.Median, r.Sojourn.P90, r.Slowdown.Mean, r.Slowdown.P99}
}

type bars struct {
	sojourn, policy, data, dir string
	only                       string // traces, between commas; all if it is empty
	loads, told                []string
	extra                      []string // arguments of sojourn compare
	quick, users               bool
	own                        []trace           // in place of those in data
	files                      map[string]string // workloads that were converted
	fairs                      map[string]*result
}

func main() {
	log.SetFlags(0)
	b := bars{files: map[string]string{}, fairs: map[string]*result{}}
	flag.StringVar(&b.sojourn, "sojourn", "sojourn", "the command `sojourn`")
	flag.StringVar(&b.policy, "policy", "default", "the `policy` that is compared")
	flag.StringVar(&b.data, "data", ".", "the `folder` of the traces")
	flag.BoolVar(&b.quick, "quick", false, "only the first 1,500 jobs of the small traces, and only cells")
	flag.BoolVar(&b.users, "users", false, "each user is a pool")
	flag.StringVar(&b.only, "traces", "", "only these `traces` or loads, between commas")
	flag.Func("trace", "a trace of your own, `FILE@CLUSTER`, in place of those in the folder; may be given several times", b.add)
	loads := flag.String("loads", "recorded,0.7,0.9,1.1", "the `loads`")
	told := flag.String("told", "exact,none,requested,lognormal:1,lognormal:2", "what is told of sizes")
	args := flag.String("args", "", "further `arguments` of sojourn compare for cells, such as --gangs")
	names := flag.String("tables", "", "only these `tables`, between commas: "+strings.Join(tableNames(), ", "))
	flag.Parse()
	b.loads, b.told, b.extra = strings.Split(*loads, ","), strings.Split(*told, ","), strings.Fields(*args)
	if *names == "" && (b.quick || b.own != nil) {
		*names = "cells"
	}
	err := b.check(*names)
	if err != nil {
		log.Fatal(err)
	}
	if b.dir, err = os.MkdirTemp("", "bars"); err != nil {
		log.Fatal(err)
	}
	err = b.print(os.Stdout, *names)
	os.RemoveAll(b.dir)
	if err != nil {
		log.Fatal(err)
	}
}

// check looks for names that nothing has.
func (b *bars) check(tables string) error {
	there := []string{}
	for _, t := range traces {
		there = append(there, t.name)
	}
	for _, l := range loads {
		there = append(there, l.name)
	}
	for _, names := range []struct {
		what, asked string
		there       []string
	}{{"table", tables, tableNames()}, {"trace or load", b.only, there}} {
		for name := range strings.SplitSeq(names.asked, ",") {
			if names.asked != "" && !slices.Contains(names.there, name) {
				return fmt.Errorf("no %s is named %q: there are %s", names.what, name, strings.Join(names.there, ", "))
			}
		}
	}
	return nil
}

// row writes a row of a table.
func row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

// head writes the first two rows of a table.
func head(w io.Writer, cells ...string) {
	row(w, cells...)
	fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", len(cells)))
}

// A cell has the figures of a policy over those of fair sharing.
type cell struct {
	trace, load, told string
	of                [5]float64
}

// text returns the figures, with those above 1.02 in bold.
func (c *cell) text(digits int) (list []string) {
	for _, x := range c.of {
		text := fmt.Sprintf("%.*f", digits, x)
		if x > bar {
			text = "**" + text + "**"
		}
		list = append(list, text)
	}
	return list
}

const bar = 1.02

// cells prints the cells, then those at the recorded load beside the greatest figure at any load, and how many figures are
// above 1.02.
func (b *bars) cells(w io.Writer) error {
	head(w, "trace", "load", "told", "mean", "median", "p90", "slowdown, mean", "slowdown, p99")
	list, err := b.measure(func(c *cell) { row(w, append([]string{c.trace, c.load, c.told}, c.text(3)...)...) })
	if err != nil {
		return err
	}
	row(w, append([]string{"geometric mean", "", ""}, means(list)...)...)
	fmt.Fprintln(w)
	head(w, "trace", "told", "mean", "median", "p90", "slowdown, mean", "slowdown, p99", "the greatest, any load")
	worse, tails := 0, 0
	for i := range list {
		c, greatest, loads := &list[i], 0.0, 0
		for k, x := range c.of {
			if x > bar {
				worse++
				if k == 2 && x <= 1.05 {
					tails++
				}
			}
		}
		for _, o := range list {
			if o.trace == c.trace && o.told == c.told {
				greatest, loads = max(greatest, slices.Max(o.of[:])), loads+1
			}
		}
		if c.load == b.loads[0] {
			row(w, append(append([]string{c.trace, c.told}, c.text(2)...), fmt.Sprintf("%.2f (%d)", greatest, loads))...)
		}
	}
	fmt.Fprintf(w, "\n%d of %d figures are above %v; %d of them are a 90th percentile of at most 1.05.\n", worse, 5*len(list), bar, tails)
	costs(w, list)
	return nil
}

// metrics are the names of the figures of a cell.
var metrics = []string{"mean", "median", "p90", "slowdown, mean", "slowdown, p99"}

// costs prints how many figures with told sizes are more than 5 % above those with nothing told.
func costs(w io.Writer, list []cell) {
	all, above, greatest, where := 0, 0, 0.0, ""
	for _, c := range list {
		i := slices.IndexFunc(list, func(o cell) bool { return o.trace == c.trace && o.load == c.load && o.told == "none" })
		if i < 0 || c.told == "none" {
			continue
		}
		for k, x := range c.of {
			over := x / list[i].of[k]
			if all++; over > 1.05 {
				above++
			}
			if over > greatest {
				greatest, where = over, fmt.Sprintf("%s, %s, %s, load %s", metrics[k], c.trace, c.told, c.load)
			}
		}
	}
	if all > 0 {
		fmt.Fprintf(w, "%d of %d figures with told sizes are more than 5 %% above those with nothing told; the greatest is %.2f times as much: %s.\n", above, all, greatest, where)
	}
}

// measure returns the cells, and tells of each as it comes.
func (b *bars) measure(tell func(*cell)) ([]cell, error) {
	list, err := b.measureOn(b.traces(), b.loads, b.told, tell)
	if err == nil && list == nil {
		return nil, fmt.Errorf("no trace is in %s", b.data)
	}
	return list, err
}

func (b *bars) measureOn(traces []trace, loads, told []string, tell func(*cell)) (list []cell, err error) {
	for _, t := range traces {
		for _, load := range loads {
			for _, say := range told {
				if say == "requested" && !t.requested {
					continue
				}
				of, err := b.fairly(t, load)
				if err != nil {
					return nil, err
				}
				r, err := b.compare(t, load, say, b.policy)
				if err != nil {
					return nil, err
				}
				c, fair := cell{trace: t.name, load: load, told: say}, of.figures()
				for i, x := range r[0].figures() {
					c.of[i] = float64(x / fair[i])
				}
				tell(&c)
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// means returns the geometric means of cells.
func means(list []cell) (text []string) {
	for i := range list[0].of {
		sum := 0.0
		for _, c := range list {
			sum += math.Log(c.of[i])
		}
		text = append(text, fmt.Sprintf("%.3f", math.Exp(sum/float64(len(list)))))
	}
	return text
}

// add adds a trace of the user.
func (b *bars) add(text string) error {
	i := strings.LastIndex(text, "@")
	if i <= 0 || i == len(text)-1 {
		return fmt.Errorf("want FILE@CLUSTER, such as jobs.jsonl@100x1")
	}
	t := trace{file: text[:i], cluster: text[i+1:], own: true}
	t.name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(t.file), ".gz"), ".jsonl")
	if slices.ContainsFunc(b.own, func(o trace) bool { return o.name == t.name }) {
		return fmt.Errorf("two traces are named %s", t.name)
	}
	_, err := b.read(t, func(j *sim.Job) {
		for _, p := range j.Phases {
			t.requested = t.requested || p.Estimate > 0 || p.Estimates != nil
		}
	})
	b.own = append(b.own, t)
	return err
}

// read returns a workload of the user, after a change of each job.
func (b *bars) read(t trace, change func(*sim.Job)) ([]byte, error) {
	f, err := os.Open(t.file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var text bytes.Buffer
	err = workloads.Write(&text, func(yield func(*sim.Job, error) bool) {
		for j, err := range workloads.Read(f, workloads.ReadOptions{}) {
			if err == nil {
				change(j)
			}
			if !yield(j, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.file, err)
	}
	return text.Bytes(), nil
}

// plain returns a workload of the user without pools, unless these count, and without what is requested, unless that is told.
func (b *bars) plain(t trace, requested bool) ([]byte, error) {
	return b.read(t, func(j *sim.Job) {
		if !b.users {
			j.Pool = ""
		}
		for i := range j.Phases {
			if p := &j.Phases[i]; !requested {
				p.Estimate, p.Estimates = 0, nil
			}
		}
	})
}

// converted returns a trace as a workload, without pools, unless these count.
func (b *bars) converted(t trace, requested bool) ([]byte, error) {
	args := append([]string{"convert"}, t.convert...)
	if requested {
		args = append(args, "--requested-time")
	}
	if b.users {
		args = append(args, "--pool", "user")
	}
	text, err := b.output(append(args, filepath.Join(b.data, t.file))...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	if !b.users {
		text = pools.ReplaceAll(text, nil)
	}
	return text, nil
}

// traces returns the traces that are asked for and there.
func (b *bars) traces(names ...string) (list []trace) {
	if b.own != nil {
		return b.own
	}
	for _, t := range traces {
		if b.quick && t.large || !b.asked(t.name) || names != nil && !slices.Contains(names, t.name) {
			continue
		}
		if _, err := os.Stat(filepath.Join(b.data, t.file)); err != nil {
			log.Printf("%s is left out: %v", t.name, err)
			continue
		}
		list = append(list, t)
	}
	return list
}

// asked reports whether a trace or a load is among those that are named, or none is.
func (b *bars) asked(name string) bool {
	return b.only == "" || strings.Contains(","+b.only+",", ","+name+",")
}

// workload converts a trace, and returns the name of the file.
func (b *bars) workload(t trace, requested bool) (string, error) {
	name := filepath.Join(b.dir, fmt.Sprintf("%s-%v.jsonl", t.name, requested))
	if file := b.files[name]; file != "" {
		return file, nil
	}
	if t.made != nil {
		b.files[name] = name
		return name, os.WriteFile(name, t.made(requested), 0o600)
	}
	if len(t.convert) == 0 && !t.own {
		b.files[name] = filepath.Join(b.data, t.file)
		return b.files[name], nil
	}
	read := b.converted
	if t.own {
		read = b.plain
	}
	text, err := read(t, requested)
	if err != nil {
		return "", err
	}
	if lines := bytes.SplitAfter(text, []byte("\n")); b.quick && len(lines) > 1500 {
		text = bytes.Join(lines[:1500], nil)
	}
	b.files[name] = name
	return name, os.WriteFile(name, text, 0o600)
}

// output runs the command, and returns what it prints.
func (b *bars) output(args ...string) ([]byte, error) {
	cmd := exec.Command(b.sojourn, args...)
	var says bytes.Buffer
	cmd.Stderr = &says
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, says.String())
	}
	return text, nil
}

// compare returns what policies, between commas, reach on a trace.
func (b *bars) compare(t trace, load, told, policies string) ([]result, error) {
	file, err := b.workload(t, told == "requested")
	if err != nil {
		return nil, err
	}
	if told == "requested" {
		told = "none" // what the workload has counts
	}
	args := append([]string{"-w", file, "-c", t.cluster, "-p", policies, "--estimates", told}, b.extra...)
	if load != "recorded" {
		args = append(args, "--load", load)
	}
	r, err := b.results(args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return r, nil
}

// results returns what a comparison with these arguments prints.
func (b *bars) results(args ...string) ([]result, error) {
	text, err := b.output(append([]string{"compare", "-q", "--json"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all struct{ Policies []result }
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if len(all.Policies) == 0 {
		return nil, fmt.Errorf("no policy in the answer")
	}
	return all.Policies, nil
}

// fairly returns what is reached under fair sharing, which is told nothing.
func (b *bars) fairly(t trace, load string) (*result, error) {
	key := t.name + " " + load + " " + strings.Join(b.extra, " ")
	if b.fairs[key] == nil {
		r, err := b.compare(t, load, "none", fairSharing)
		if err != nil {
			return nil, err
		}
		b.fairs[key] = &r[0]
	}
	return b.fairs[key], nil
}
