package cli

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/trace"
	"github.com/spf13/cobra"
)

func newConvert() *cobra.Command {
	var (
		from    string
		swim    trace.SWIMOptions
		foreign foreignFlags
		load    loadFlags
		cluster string
	)
	cmd := &cobra.Command{
		Use:   "convert --from FORMAT FILE",
		Short: "Turn a recorded trace into a workload, on stdout",
		Long: `convert reads a trace that was recorded elsewhere and writes it to stdout in the
workload format. FILE may be compressed by gzip; - is stdin. Nothing is written
if the trace has a fault: until then the workload lies in a temporary file, and memory
does not grow with the trace.

Formats:
  swim  tab-separated bytes of jobs, of the Statistical Workload Injector for
        MapReduce. It has no tasks and no times; the --swim flags turn bytes into
        both: a map task for each block of input, or of output in jobs without
        reduces, and a time of overhead plus bytes over rate.
  rumen JSON of Hadoop's Rumen, with the attempts at each task. --topology names
        the hosts and racks that belong to it; --cluster-out makes a cluster of them.
  sls   JSON for YARN's Scheduler Load Simulator: that of Rumen, or its own.
  jhist job histories of Hadoop 2 and later; several may follow one another.
  swf   the Standard Workload Format: a job on p processors becomes p tasks.

What is dropped or made up is counted on stderr.`,
		Example: `  sojourn convert --from swim FB-2009_samples_24_times_1hr_0.tsv.gz > fb.jsonl
  sojourn convert --from swim --load 0.9 -c 30x2+1 trace.tsv | sojourn compare -w - -c 30x2+1
  sojourn convert --from rumen --topology t.json --cluster-out c.json trace.json > jobs.jsonl
  cat *.jhist | sojourn convert --from jhist - > jobs.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if err := foreign.check(cmd.Flags(), from); err != nil {
				return err
			}
			if load.load > 0 && cluster == "" {
				return usagef("--load needs a cluster: give -c, such as -c 30x2+1")
			}
			if err := load.check(); err != nil {
				return err
			}
			if err := checkSWIM(&swim); err != nil {
				return err
			}
			return convert(cmd, from, args[0], &swim, &foreign, cluster, &load)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&from, "from", "", "`FORMAT` of FILE: "+listed(foreignFormats))
	load.register(flags)
	flags.StringVarP(&cluster, "cluster", "c", "", "`CLUSTER` that the load is computed for, as in compare")
	foreign.register(flags)
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

// convert reads a trace of some format from a file, or from stdin if name is "-", and
// writes it to stdout. What is written lies in a file until all of the trace was read:
// so nothing is written if there is a fault, and no more than the jobs that a reader
// holds back are in memory.
func convert(cmd *cobra.Command, from, name string, swim *trace.SWIMOptions, foreign *foreignFlags, spec string, load *loadFlags) error {
	var c *cluster
	if spec != "" {
		var err error
		if c, err = readCluster(spec); err != nil {
			return err
		}
	}
	file, name, err := openInput(cmd, name)
	if err != nil {
		return err
	}
	defer file.Close()
	var stats trace.Stats
	h, err := foreign.hosts()
	if err != nil {
		return err
	}
	known := len(h.cluster.Nodes)
	jobs, err := foreign.jobs(from, file, name, h, swim, &stats)
	if err != nil {
		return err
	}
	m := new(meter)
	text, err := spooled(jobs, trace.WriteOptions{Nodes: h.name}, m)
	if err != nil {
		return err
	}
	defer text.remove()
	if stats.Jobs == 0 {
		fmt.Fprint(cmd.ErrOrStderr(), stats.String())
		return noJobs(name)
	}
	if load.load > 0 {
		scale, err := load.scaling(m, c, name)
		if err != nil {
			return err
		}
		changed := new(meter)
		scaled, err := spooled(text.scaled(h, scale), trace.WriteOptions{Nodes: h.name}, changed)
		if err != nil {
			return err
		}
		defer scaled.remove()
		if err := changed.check(c, name, float64(load.load)); err != nil {
			return err
		}
		text, m = scaled, changed
	}
	if foreign.clusterOut != "" {
		if err := h.write(foreign.clusterOut); err != nil {
			return err
		}
	}
	fmt.Fprint(cmd.ErrOrStderr(), stats.String())
	if missing := len(h.cluster.Nodes) - known; foreign.topology != "" && missing > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "hosts that the topology misses, nodes without slots: %d\n", missing)
	}
	if c != nil {
		var parts []string
		achieved := m.load(c)
		for class, name := range c.classes() {
			parts = append(parts, number(achieved[class], 4)+" "+name)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "load on %s: %s\n", spec, strings.Join(parts, ", "))
	}
	_, err = io.Copy(cmd.OutOrStdout(), text)
	return err
}

// checkSWIM finds values that make no tasks.
func checkSWIM(o *trace.SWIMOptions) error {
	switch {
	case o.BytesPerMap <= 0:
		return usagef("--swim-bytes-per-map %d is not above 0", o.BytesPerMap)
	case o.BytesPerReduce <= 0:
		return usagef("--swim-bytes-per-reduce %d is not above 0", o.BytesPerReduce)
	case o.Rate <= 0:
		return usagef("--swim-rate %d is not above 0", o.Rate)
	case o.Overhead < 0:
		return usagef("--swim-overhead %v is negative", o.Overhead)
	case !(o.ByteScale > 0 && o.ByteScale <= math.MaxFloat64):
		return usagef("--swim-byte-scale %v is not a number above 0", o.ByteScale)
	case !(o.Noise >= 0 && o.Noise <= math.MaxFloat64):
		return usagef("--swim-noise %v is not a number from 0 on", o.Noise)
	}
	return nil
}
