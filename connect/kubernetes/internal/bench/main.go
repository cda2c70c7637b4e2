// Command bench compares schedulers on one control plane: stock kube-scheduler with a limit of
// 5,000 requests a second, and another scheduler, if -command names one, under some policies.
//
// In its turn a scheduler starts and is stopped; all pods are made; then it goes on, and the
// time counts until the last pod is bound, as an independent watch sees it.
//
//	COMMAND='go run ./internal/bench' connect/kubernetes/test.sh -nodes 100 -pods 2000 -command \
//		'PROGRAM -policy={policy} -kubeconfig={kubeconfig} -listen=127.0.0.1:{port}'
//
// With -mix 200, so many Jobs of many sizes come over time instead, real controllers make their pods, and
// these run for a while. What counts is how long a Job takes to complete. With -tenants 0.7,1.25 they are 100 short and 5 long Jobs of three
// tenants, at each of these loads, and what is printed are medians of the rounds; -controller, -plugin, -kueue and -booster then have their turns too.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
)

// options are the flags.
type options struct {
	nodes, slots, pods, rounds int
	policies                   string // with commas
	command                    string // of the other scheduler, with {policy}, {kubeconfig} and {port}
	jobs                       bool   // pods belong to Jobs
	json                       string // file for all measurements
	mix                        int    // Jobs that come over time, instead of a burst of pods
	tenants                    string // loads, with commas
	controller, plugin, kueue  string // programs
	kueueCRDs                  string // folder
	booster                    string // program
	kills                      int    // of each scheduler in the middle of a burst
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 100, "nodes")
	flag.IntVar(&o.slots, "slots", 20, "slots of each node; each pod takes one")
	flag.IntVar(&o.pods, "pods", 2000, "pods, at most nodes times slots")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, in each of which every scheduler has its turn")
	flag.StringVar(&o.policies, "policies", "fifo,fair,hfsp", "what {policy} stands for in -command, with commas")
	flag.StringVar(&o.command, "command", "", "another scheduler, which must answer on /readyz of {port} and bind pods of the scheduler name sojourn")
	flag.BoolVar(&o.jobs, "jobs", false, "make a Job for the pods of each job, as their owner")
	flag.StringVar(&o.json, "json", "", "a file for all measurements")
	flag.IntVar(&o.kills, "kills", 0, "kill and restart the scheduler so often in the middle of a burst; the rate then says nothing")
	flag.IntVar(&o.mix, "mix", 0, "measure the completion times of so many Jobs that come over time, instead of a burst of pods")
	flag.StringVar(&o.tenants, "tenants", "", "measure the completion times of 100 short and 5 long Jobs of three tenants at these loads, with commas")
	flag.StringVar(&o.controller, "controller", "", "the program sojourn-jobs, for -tenants")
	flag.StringVar(&o.plugin, "plugin", "", "the program sojourn-kube-scheduler, for -tenants")
	flag.StringVar(&o.kueue, "kueue", "", "the program of research/benchmarks/peers/kueue/controllers, for -tenants")
	flag.StringVar(&o.booster, "booster", "", "the program of examples/kueue-boost, which orders a queue of Kueue, for -kueue")
	flag.StringVar(&o.kueueCRDs, "kueue-crds", "", "the folder config/components/crd/bases of Kueue, for -kueue")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, w io.Writer) error {
	if o.mix > 0 || o.tenants != "" {
		if o.nodes < 1 || o.slots < 1 || o.rounds < 1 || o.jobs || o.kills > 0 || o.json != "" {
			return errors.New("-mix needs at least one node, one slot and one round, and excludes -jobs, -kills and -json")
		}
		return runMix(ctx, o, w)
	}
	if o.pods < 1 || o.pods > o.nodes*o.slots || o.rounds < 1 {
		return fmt.Errorf("%d pods, %d nodes of %d slots, %d rounds: need at least one pod and one round, and a slot for each pod", o.pods, o.nodes, o.slots, o.rounds)
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return err
	}
	defer b.close()
	var list []result
	for round := range o.rounds {
		for _, s := range o.schedulers() {
			r, err := b.turn(ctx, s, fmt.Sprintf("round%d-%s", round, s.name))
			if err != nil {
				return fmt.Errorf("%s, round %d: %w\n%s", s.name, round, err, b.cluster.Logs())
			}
			r.Scheduler, r.Round = s.name, round
			fmt.Fprintf(w, "%-10s round %d: %d pods in %.2f s, %.0f/s\n", r.Scheduler, round, r.Pods, r.Seconds, r.PerSecond)
			list = append(list, r)
		}
	}
	if o.json != "" {
		text, err := json.MarshalIndent(list, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return table(w, list)
}

// A scheduler has turns.
type scheduler struct {
	name    string
	podName string   // spec.schedulerName of its pods
	command []string // nil for kube-scheduler
	managed bool     // its Jobs are suspended, and kube-scheduler runs beside it
	kueue   string   // the name of their queue of Kueue, if any
	booster []string // runs beside Kueue
	config  string   // of kube-scheduler with the plugin
}

func (o options) schedulers() []scheduler {
	list := []scheduler{{name: stock, podName: "default-scheduler"}}
	if o.kueue != "" {
		for _, kind := range []string{kueueOne, kueueFair} {
			args := []string{o.kueue, "-kubeconfig={kubeconfig}", "-listen=127.0.0.1:{port}", fmt.Sprintf("-fair=%t", kind == kueueFair)}
			list = append(list, scheduler{name: "kueue-" + kind, podName: "default-scheduler", command: args, managed: true, kueue: kind})
		}
	}
	for p := range strings.SplitSeq(o.policies, ",") {
		if o.booster != "" {
			args := []string{o.kueue, "-kubeconfig={kubeconfig}", "-listen=127.0.0.1:{port}", "-feature-gates=PriorityBoost=true"}
			boosts := []string{o.booster, "-kubeconfig={kubeconfig}", "-policy=" + p, "-every=100ms"}
			for _, kind := range []string{kueueBoost, kueuePreempt} {
				list = append(list, scheduler{name: "kueue-" + kind + "-" + p, podName: "default-scheduler", command: args, managed: true, kueue: kind, booster: boosts})
			}
		}
		if o.controller != "" {
			args := []string{o.controller, "-policy=" + p, "-kubeconfig={kubeconfig}", "-listen=127.0.0.1:{port}"}
			list = append(list, scheduler{name: "jobs-" + p, podName: "default-scheduler", command: args, managed: true})
		}
		if o.plugin != "" {
			list = append(list, scheduler{name: "plugin-" + p, podName: "sojourn", command: []string{o.plugin}, config: p})
		}
		if o.command != "" {
			list = append(list, scheduler{name: p, podName: "sojourn", command: strings.Fields(strings.ReplaceAll(o.command, "{policy}", p))})
		}
	}
	return list
}

// A result is one turn of one scheduler. Processor times and memory are of the turn: from when
// the scheduler goes on until the last pod is bound.
type result struct {
	Scheduler string
	Round     int
	Pods      int
	Seconds   float64
	PerSecond float64            // pods bound
	CPU       map[string]float64 // seconds of each server
	Busy      float64            // seconds that the loop of the other scheduler has worked since its start
	MiB       float64            // most resident memory of the scheduler since its start
}

// table prints the medians of each scheduler's turns, and how they compare to kube-scheduler's.
func table(w io.Writer, list []result) error {
	by := map[string][]result{}
	var names []string
	for _, r := range list {
		if by[r.Scheduler] == nil {
			names = append(names, r.Scheduler)
		}
		by[r.Scheduler] = append(by[r.Scheduler], r)
	}
	of := func(name string, f func(result) float64) float64 {
		var v []float64
		for _, r := range by[name] {
			v = append(v, f(r))
		}
		return median(v)
	}
	rate := func(r result) float64 { return r.PerSecond }
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "scheduler\tpods/s\ttimes stock\tCPU s\tits memory\tloop busy\t")
	for _, n := range names {
		cpu := of(n, func(r result) (t float64) {
			for _, v := range r.CPU {
				t += v
			}
			return t
		})
		fmt.Fprintf(tw, "%s\t%.0f\t%.2f\t%.1f\t%.0f MiB\t%.1f %%\t\n", n, of(n, rate), of(n, rate)/of(stock, rate), cpu,
			of(n, func(r result) float64 { return r.MiB }), of(n, func(r result) float64 { return 100 * r.Busy / r.Seconds }))
	}
	return tw.Flush()
}

// median returns the middle of the values, the lower one of two.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[(len(v)-1)/2]
}

var errBound = errors.New("the watch ended before all pods were bound")
