package cli

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
	"github.com/spf13/cobra"
)

func newConvert() *cobra.Command {
	var (
		from    string
		swim    trace.SWIMOptions
		load    float64
		cluster string
	)
	cmd := &cobra.Command{
		Use:   "convert --from FORMAT FILE",
		Short: "Turn a recorded trace into a workload, on stdout",
		Long: `convert reads a trace that was recorded elsewhere and writes it to stdout in the
workload format. FILE may be compressed by gzip; - is stdin. Nothing is written
if the trace has a fault.

Formats:
  swim  tab-separated bytes of jobs, of the Statistical Workload Injector for
        MapReduce. It has no tasks and no times; the --swim flags turn bytes into
        both: a map task for each block of input, or of output in jobs without
        reduces, and a time of overhead plus bytes over rate.`,
		Example: `  sojourn convert --from swim FB-2009_samples_24_times_1hr_0.tsv.gz > fb.jsonl
  sojourn convert --from swim --load 0.9 -c 30x2+1 trace.tsv | sojourn compare -w - -c 30x2+1`,
		Args: cobra.ExactArgs(1),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if from != "swim" {
				return usagef("--from %q is not a known format: swim", from)
			}
			scale := cmd.Flags().Changed("load")
			switch {
			case scale && !(load > 0 && load <= math.MaxFloat64):
				return usagef("--load %v is not a number above 0", load)
			case scale && cluster == "":
				return usagef("--load needs a cluster: give -c, such as -c 30x2+1")
			}
			w, err := readForeign(cmd, args[0], func(r io.Reader, file string) iter.Seq2[*sim.Job, error] {
				swim.File = file
				return trace.ReadSWIM(r, swim)
			})
			if err != nil {
				return err
			}
			if cluster != "" {
				if err := reportLoad(cmd, w, cluster, load); err != nil {
					return err
				}
			}
			out := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
			if err := trace.Write(out, w.all(), trace.WriteOptions{}); err != nil {
				return err
			}
			return out.Flush()
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&from, "from", "", "`FORMAT` of FILE: swim")
	flags.Float64Var(&load, "load", 0, "stretch or squeeze the arrivals so that the busier class of slots\nhas this load; needs -c")
	flags.StringVarP(&cluster, "cluster", "c", "", "`CLUSTER` that the load is computed for, as in compare")
	flags.Int64Var(&swim.BytesPerMap, "swim-bytes-per-map", 128<<20, "most `BYTES` that a map task reads")
	flags.Int64Var(&swim.BytesPerReduce, "swim-bytes-per-reduce", 1<<30, "most `BYTES` that a reduce task reads or writes")
	flags.DurationVar(&swim.Overhead, "swim-overhead", 3*time.Second, "what each task takes besides moving bytes; 0 is none")
	flags.Int64Var(&swim.Rate, "swim-rate", 10<<20, "`BYTES` that a slot moves in a second")
	flags.Float64Var(&swim.ByteScale, "swim-byte-scale", 1, "factor of all sizes")
	flags.Float64Var(&swim.Noise, "swim-noise", 0, "standard deviation of the logarithm of a random factor of each task")
	flags.Uint64Var(&swim.Seed, "seed", 0, "where all randomness comes from")
	cmd.PreRun = func(*cobra.Command, []string) { swim.NoOverhead = swim.Overhead == 0 }
	return cmd
}

// readForeign reads a trace of another format from a file, or from stdin if name
// is "-".
func readForeign(cmd *cobra.Command, name string, read func(io.Reader, string) iter.Seq2[*sim.Job, error]) (*workload, error) {
	w := &workload{name: name}
	if name == "-" {
		w.name = "stdin"
		return w, w.collect(read(cmd.InOrStdin(), w.name))
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return w, w.collect(read(file, name))
}

// reportLoad scales the arrivals of w to a load, unless that is 0, and prints the
// load on a cluster.
func reportLoad(cmd *cobra.Command, w *workload, spec string, load float64) error {
	c, err := readCluster(spec)
	if err != nil {
		return err
	}
	if load > 0 {
		if err := w.scale(c, load); err != nil {
			return err
		}
	}
	var parts []string
	achieved := w.load(c)
	for class, name := range c.classes() {
		parts = append(parts, number(achieved[class], 4)+" "+name)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "load on %s: %s\n", spec, strings.Join(parts, ", "))
	return nil
}

// scale stretches or squeezes the time between arrivals by one factor, so that
// the busier class of slots has the given load. Deadlines keep their distance
// from the arrival.
func (w *workload) scale(c *cluster, load float64) error {
	if len(w.jobs) == 0 || w.span() == 0 {
		return fmt.Errorf("%s: all jobs arrive at once, so that no load can be had by moving them", w.name)
	}
	now := w.load(c)
	factor := max(now[0], now[1]) / load
	if math.IsInf(factor, 0) {
		return fmt.Errorf("%s: the cluster has no slots of a class that jobs need", w.name)
	}
	first := w.jobs[0].At
	for _, j := range w.jobs {
		gap := math.Round(float64(j.At.Sub(first)) * factor)
		after := max(0, j.Deadline.Sub(j.At))
		if !(gap < float64(math.MaxInt64-first-sojourn.Time(after))) {
			return fmt.Errorf("%s: at a load of %v, job %d arrives later than time can tell", w.name, load, j.ID)
		}
		at := first + sojourn.Time(gap)
		if j.Deadline > 0 {
			j.Deadline = at.Add(after)
		}
		j.At = at
	}
	return nil
}
