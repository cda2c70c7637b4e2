// Command bars compares a policy with per-job fair sharing on recorded traces, and counts the cells in which it is
// worse:
//
//	go build -o /tmp/sojourn ./cmd/sojourn
//	cd research/benchmarks
//	go run ./bars -sojourn /tmp/sojourn -data FOLDER            all traces
//	go run ./bars -sojourn /tmp/sojourn -data FOLDER -quick     the first 1,500 jobs of the small traces
//
// A cell is a trace at a load, with what is told of sizes. Its numbers are those under the policy over those under
// fair:ties=arrival: the mean, median and 90th percentile of the sojourn time, the mean and the 99th percentile of
// the slowdown. Traces that are not in the folder are left out.
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
	"strings"
)

// A trace is a file, how to read it, and the cluster that it runs on.
type trace struct {
	name, file, cluster string
	convert             []string // arguments of sojourn convert; none if it is a workload already
	requested           bool     // users said how long their jobs may run
	large               bool     // left out by -quick
}

var (
	swf    = []string{"--from", "swf"}
	traces = []trace{
		{name: "kth", file: "hpc/KTH-SP2-1996-2.1-cln.swf.gz", cluster: "100x1", convert: swf, requested: true},
		{name: "lublin", file: "hpc/lublin_256.swf.gz", cluster: "320x1", convert: swf},
		{name: "nasa", file: "swf/NASA-iPSC-1993-3.1-cln.swf.gz", cluster: "128x1", convert: swf},
		{name: "wagap", file: "hpc/wagap-2013.swf.gz", cluster: "1500x1", convert: swf, requested: true},
		{name: "muri2", file: "gpu/philly-muri2.csv.gz", cluster: "432x1", convert: []string{"--from", "csv", "--columns", "arrival=submit_time:ms,duration=duration:ms,tasks=num_gpu,name=model_name"}},
		{name: "google", file: "google/google-2011-18h.jsonl.gz", cluster: "9500x1", large: true},
		{name: "fb09", file: "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz", cluster: "30x2+1", convert: []string{"--from", "swim"}, large: true},
		{name: "fb10", file: "swim-facebook/FB-2010_samples_24_times_1hr_0.tsv.gz", cluster: "1000x2+1", convert: []string{"--from", "swim"}, large: true},
		{name: "ricc", file: "hpc/RICC-2010-2.swf.gz", cluster: "8192x1", convert: swf, requested: true, large: true},
	}
)

// A result is what a comparison prints of one policy.
type result struct {
	Sojourn  struct{ Mean, Median, P90 float64 }
	Slowdown struct{ Mean, P99 float64 }
}

func (r *result) figures() [5]float64 {
	return [5]float64{r.Sojourn.Mean, r.Sojourn.Median, r.Sojourn.P90, r.Slowdown.Mean, r.Slowdown.P99}
}

type bars struct {
	sojourn, policy, data, dir string
	jobs                       int // how many of each trace; 0: all
}

func main() {
	log.SetFlags(0)
	var b bars
	flag.StringVar(&b.sojourn, "sojourn", "sojourn", "the command `sojourn`")
	flag.StringVar(&b.policy, "policy", "default", "the `policy` that is compared")
	flag.StringVar(&b.data, "data", ".", "the `folder` of the traces")
	quick := flag.Bool("quick", false, "only the first 1,500 jobs of the small traces")
	only := flag.String("traces", "", "only these `traces`, between commas")
	loads := flag.String("loads", "recorded,0.7,0.9,1.1", "the `loads`")
	told := flag.String("told", "exact,none,requested,lognormal:1,lognormal:2", "what is told of sizes")
	flag.Parse()
	if *quick {
		b.jobs = 1500
	}
	var err error
	if b.dir, err = os.MkdirTemp("", "bars"); err != nil {
		log.Fatal(err)
	}
	err = b.run(os.Stdout, *quick, *only, strings.Split(*loads, ","), strings.Split(*told, ","))
	os.RemoveAll(b.dir)
	if err != nil {
		log.Fatal(err)
	}
}

func (b *bars) run(w io.Writer, quick bool, only string, loads, told []string) error {
	fmt.Fprintf(w, "| trace | load | told | mean | median | p90 | slowdown, mean | slowdown, p99 |\n|---|---|---|%s\n", strings.Repeat("---|", 5))
	cells, worse, sum := 0, 0, [5]float64{}
	for _, t := range traces {
		if quick && t.large || only != "" && !strings.Contains(","+only+",", ","+t.name+",") {
			continue
		}
		if _, err := os.Stat(filepath.Join(b.data, t.file)); err != nil {
			log.Printf("%s is left out: %v", t.name, err)
			continue
		}
		files := map[bool]string{}
		for _, load := range loads {
			var fair *result
			for _, say := range told {
				requested := say == "requested"
				if requested && !t.requested {
					continue
				}
				if files[requested] == "" {
					var err error
					if files[requested], err = b.workload(t, requested); err != nil {
						return fmt.Errorf("%s: %w", t.name, err)
					}
				}
				mode := say
				if requested {
					mode = "none" // what the workload has counts
				}
				if fair == nil {
					var err error
					if fair, err = b.compare(t, files[requested], load, "none", "fair:ties=arrival"); err != nil {
						return fmt.Errorf("%s: %w", t.name, err)
					}
				}
				r, err := b.compare(t, files[requested], load, mode, b.policy)
				if err != nil {
					return fmt.Errorf("%s: %w", t.name, err)
				}
				fmt.Fprintf(w, "| %s | %s | %s |", t.name, load, say)
				of := fair.figures()
				for i, x := range r.figures() {
					q := x / of[i]
					cells++
					sum[i] += math.Log(q)
					if q > 1.02 {
						worse++
						fmt.Fprintf(w, " **%.3f** |", q)
					} else {
						fmt.Fprintf(w, " %.3f |", q)
					}
				}
				fmt.Fprintln(w)
			}
		}
	}
	if cells == 0 {
		return fmt.Errorf("no trace is in %s", b.data)
	}
	fmt.Fprint(w, "| geometric mean | | |")
	for _, s := range sum {
		fmt.Fprintf(w, " %.3f |", math.Exp(s/float64(cells/len(sum))))
	}
	fmt.Fprintf(w, "\n\n%d of %d cells are above 1.02.\n", worse, cells)
	return nil
}

// workload converts a trace, and returns the name of the file.
func (b *bars) workload(t trace, requested bool) (string, error) {
	file := filepath.Join(b.data, t.file)
	if len(t.convert) == 0 {
		return file, nil
	}
	args := append([]string{"convert"}, t.convert...)
	if requested {
		args = append(args, "--requested-time")
	}
	text, err := b.output(append(args, file)...)
	if err != nil {
		return "", err
	}
	if lines := bytes.SplitAfter(text, []byte("\n")); b.jobs > 0 && len(lines) > b.jobs {
		text = bytes.Join(lines[:b.jobs], nil)
	}
	name := filepath.Join(b.dir, fmt.Sprintf("%s-%v.jsonl", t.name, requested))
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

// compare returns what a policy reaches.
func (b *bars) compare(t trace, file, load, told, policy string) (*result, error) {
	args := []string{"compare", "-q", "--json", "-w", file, "-c", t.cluster, "-p", policy, "--estimates", told}
	if load != "recorded" {
		args = append(args, "--load", load)
	}
	text, err := b.output(args...)
	if err != nil {
		return nil, err
	}
	var all struct{ Policies []result }
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	if len(all.Policies) != 1 {
		return nil, fmt.Errorf("%d policies in the answer, want 1", len(all.Policies))
	}
	return &all.Policies[0], nil
}
