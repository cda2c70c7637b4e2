package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/convert"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const convertLong = `convert reads a trace that was recorded elsewhere and writes it to stdout in the
workload format. FILE may be compressed by gzip; - is stdin. If the trace has a fault,
it writes nothing: the workload goes to a temporary file first, so memory does not grow
with the trace.

Formats:
  swim  tab-separated bytes of jobs, of the Statistical Workload Injector for
        MapReduce. It has no tasks and no times; the --swim flags compute both from
        bytes: one map task for each block of input, or of output in jobs without
        reduces. A task takes the overhead plus its bytes divided by the rate.
  rumen JSON of Hadoop's Rumen, with the attempts at each task. --topology names
        the file with its hosts and racks; --cluster-out makes a cluster of them.
  sls   JSON for YARN's Scheduler Load Simulator: Rumen's format, or its own.
  jhist job histories of Hadoop 2 and later; several files may follow one another.
  swf   the Standard Workload Format: a job on p processors becomes p tasks. Its name
        is that of its user and program, such as user3/app7, or user3 or app7 where
        only one is known, or else job and its number: policies learn from the runs of
        one name.

On stderr it counts what it drops and what it assumes.`

func newConvert() *cobra.Command {
	var f convert.Conversion
	cmd := &cobra.Command{
		Use:   "convert --from FORMAT FILE",
		Short: "Turn a recorded trace into a workload, on stdout",
		Long:  convertLong,
		Example: `  sojourn convert --from swim FB-2009_samples_24_times_1hr_0.tsv.gz > fb.jsonl
  sojourn convert --from swim --load 0.9 -c 30x2+1 trace.tsv | sojourn compare -w - -c 30x2+1
  sojourn convert --from rumen --topology t.json --cluster-out c.json trace.json > jobs.jsonl
  cat *.jhist | sojourn convert --from jhist - > jobs.jsonl`,
		Args: oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(cmd.Flags(), f.From); err != nil {
				return err
			}
			if f.Topology == "" && (f.ClusterOut != "" || cmd.Flags().Changed("slots")) {
				return usage.Errorf("--cluster-out and --slots are about a topology: give --topology, too")
			}
			if err := f.Check(); err != nil {
				return err
			}
			var c *input.Cluster
			if f.Cluster != "" {
				var err error
				if c, err = input.ReadCluster(f.Cluster); err != nil {
					return err
				}
			}
			file, name, err := files.OpenOrStdin(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			return f.Write(cmd.OutOrStdout(), cmd.ErrOrStderr(), file, name, c)
		}),
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.From, "from", "", "`FORMAT` of FILE: "+format.Listed(convert.Formats))
	registerLoad(flags, &f.Load)
	flags.StringVarP(&f.Cluster, "cluster", "c", "", "`CLUSTER` that the load is computed for, as in compare")
	flags.StringVar(&f.Pool, "pool", "queue", "`WHAT` becomes the pool of a job: queue, user, group (swf) or none")
	flags.IntVar(&f.Window, "window", 100, "`JOBS` that are held back to bring them into the order of submission")
	flags.BoolVar(&f.Successful, "only-successful", false, "drop jobs that failed or were killed (rumen, sls, jhist)")
	flags.StringVar(&f.Topology, "topology", "", "`FILE` of Rumen with the hosts and racks (rumen, sls, jhist)")
	flags.StringVar(&f.Slots, "slots", "2+2", "`SLOTS` of each host of the topology: map+reduce, or uniform ones")
	flags.StringVar(&f.ClusterOut, "cluster-out", "", "write the topology to `FILE`, as a cluster for -c")
	flags.BoolVar(&f.Requested, "requested-time", false, "the time that users requested is the estimate (swf)")
	flags.Int64Var(&f.SWIM.BytesPerMap, "swim-bytes-per-map", 128<<20, "most `BYTES` that a map task reads")
	flags.Int64Var(&f.SWIM.BytesPerReduce, "swim-bytes-per-reduce", 1<<30, "most `BYTES` that a reduce task reads or writes")
	flags.DurationVar(&f.SWIM.Overhead, "swim-overhead", 3*time.Second, "time that each task takes besides moving bytes; 0 is none")
	flags.Int64Var(&f.SWIM.Rate, "swim-rate", 10<<20, "`BYTES` that a slot moves in a second")
	flags.Float64Var(&f.SWIM.ByteScale, "swim-byte-scale", 1, "factor of all sizes")
	flags.Float64Var(&f.SWIM.Noise, "swim-noise", 0, "standard deviation of the logarithm of a random factor of each task")
	flags.Uint64Var(&f.SWIM.Seed, "seed", 0, "seed `N` of all random numbers")
	cmd.PreRun = func(*cobra.Command, []string) { f.SWIM.NoOverhead = f.SWIM.Overhead == 0 }
	return cmd
}

// checkFormat returns an error for an unknown format, and for flags that do not apply to
// it.
func checkFormat(flags *pflag.FlagSet, from string) error {
	if from == "" {
		return usage.Errorf("no format: give --from, which is %s", format.Listed(convert.Formats))
	}
	if !slices.Contains(convert.Formats, from) {
		return usage.Errorf("--from %q is not a known format: %s", from, strings.Join(convert.Formats, ", "))
	}
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		formats := convert.Formats
		switch flag.Name {
		case "pool", "window":
			formats = convert.LoggedFormats
		case "only-successful", "topology", "slots", "cluster-out":
			formats = convert.HadoopFormats
		case "requested-time":
			formats = []string{"swf"}
		}
		if strings.HasPrefix(flag.Name, "swim-") {
			formats = []string{"swim"}
		}
		if err == nil && !slices.Contains(formats, from) {
			err = usage.Errorf("--%s says nothing about %s", flag.Name, from)
		}
	})
	return err
}
