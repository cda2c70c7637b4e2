package cli

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/convert"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
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
        one name. With --gangs, run and compare start its tasks together.
  alibaba
        table batch_task of Alibaba's cluster trace of 2018: each row becomes a phase
        that waits for those that its name says, such as J3_1_2.
  wfcommons
        workflows in WfFormat, the JSON schema of WfCommons; all arrive at once.
  csv   a log of your own: the first row names the columns, in any order, and each row
        is a job, or with a column job the tasks of one. --columns says which column is
        what; without it, columns have the names of the fields, and times are seconds:
          arrival, deadline    instants; unit ns, us, ms, s, min, h, or date, such as
                               2025-01-31T15:04:05Z; the first job arrives at 0
          duration             of each task; unit ns, ..., h, or text, such as 1m30s
          start, end           instants, in place of the duration
          tasks                how many such tasks; 1 if there is no such column
          job                  rows with the same text are tasks of one job; the first
                               row has its name, pool, weight, deadline and parallelism
          phase                of the job, from 0; a phase waits for the one before
          estimate             of each task, as duration; policies are told it
          name, pool, weight   name is the same for all runs of one program
          parallelism          how many tasks of the job may run at a time; 0 is any number
        All jobs are held in memory and sorted by arrival.
  history
        a history, such as history.txt of 'sojourn run -o', or the folder of a journal:
        its jobs with the times that tasks took. --cluster-out writes its cluster.
  workload
        the workload format itself, for --to and --load.

--to swf writes the Standard Workload Format instead. A job becomes a record with the
processors of its widest phase, and the run time that gives the same work; times are
whole seconds.

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
  sojourn convert --from csv --columns arrival=submitted:date,duration=took:ms builds.csv > ci.jsonl
  sojourn convert --from history --cluster-out c.json /var/lib/scheduler > jobs.jsonl
  sojourn convert --from workload --to swf jobs.jsonl > jobs.swf
  cat *.jhist | sojourn convert --from jhist - > jobs.jsonl`,
		Args: oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(cmd.Flags(), f.From); err != nil {
				return err
			}
			if os.Getenv("GOGC") == "" { // some MB live at a time, and the collector would run all the time
				defer debug.SetGCPercent(debug.SetGCPercent(400))
			}
			if f.Topology == "" && (f.ClusterOut != "" && f.From != convert.FromHistory || cmd.Flags().Changed("slots")) {
				return usage.Errorf("--cluster-out and --slots are about a topology: give --topology, too")
			}
			if err := f.Check(); err != nil {
				return err
			}
			if f.ClusterOut != "" {
				_, stop := interruptible(cmd)
				defer stop()
			}
			var c *input.Cluster
			if f.Cluster != "" {
				var err error
				if c, err = input.ReadCluster(f.Cluster); err != nil {
					return err
				}
			}
			if f.From == convert.FromHistory {
				src, err := trial.OpenSource(cmd.InOrStdin(), args[0])
				if err != nil {
					return err
				}
				f.Entries = src.Entries()
				return f.Write(format.Exact(cmd.OutOrStdout()), cmd.ErrOrStderr(), nil, src.Name, c)
			}
			file, name, err := files.OpenOrStdin(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			return f.Write(format.Exact(cmd.OutOrStdout()), cmd.ErrOrStderr(), file, name, c)
		}),
	}
	registerConvert(cmd.Flags(), &f)
	cmd.PreRun = func(*cobra.Command, []string) { f.SWIM.NoOverhead = f.SWIM.Overhead == 0 }
	return cmd
}

// registerConvert registers the flags of convert.
func registerConvert(flags *pflag.FlagSet, f *convert.Conversion) {
	flags.SortFlags = false
	flags.StringVar(&f.From, "from", "", "`FORMAT` of FILE: "+format.Listed(convert.Formats))
	flags.StringVar(&f.To, "to", "workload", "`FORMAT` to write: "+format.Listed(convert.Targets))
	flags.Var(typed(&f.Columns, "COLUMNS"), "columns", "which column has what: `FIELD=TITLE:UNIT,...`, such as arrival=submitted:date,duration=took:ms (csv)")
	flags.StringVar(&f.Separator, "separator", ",", "`CHARACTER` between cells, or tab (csv)")
	registerLoad(flags, &f.Load)
	flags.StringVarP(&f.Cluster, "cluster", "c", "", "`CLUSTER` that the load is computed for, as in compare")
	flags.StringVar(&f.Pool, "pool", "queue", "`WHAT` becomes the pool of a job: queue, user, group (swf) or none")
	flags.IntVar(&f.Window, "window", 100, "`JOBS` that are held back to bring them into the order of submission")
	flags.BoolVar(&f.Successful, "only-successful", false, "drop jobs that failed or were killed (rumen, sls, jhist)")
	flags.StringVar(&f.Topology, "topology", "", "`FILE` of Rumen with the hosts and racks (rumen, sls, jhist)")
	flags.StringVar(&f.Slots, "slots", "2+2", "`SLOTS` of each host of the topology: map+reduce, or uniform ones")
	flags.StringVar(&f.ClusterOut, "cluster-out", "", "write the topology, or the cluster of a history, to `FILE`, as a cluster for -c")
	flags.BoolVar(&f.Requested, "requested-time", false, "the time that users requested is the estimate (swf)")
	flags.Int64Var(&f.SWIM.BytesPerMap, "swim-bytes-per-map", 128<<20, "most `BYTES` that a map task reads")
	flags.Int64Var(&f.SWIM.BytesPerReduce, "swim-bytes-per-reduce", 1<<30, "most `BYTES` that a reduce task reads or writes")
	flags.DurationVar(&f.SWIM.Overhead, "swim-overhead", 3*time.Second, "time that each task takes besides moving bytes; 0 is none")
	flags.Int64Var(&f.SWIM.Rate, "swim-rate", 10<<20, "`BYTES` that a slot moves in a second")
	flags.Float64Var(&f.SWIM.ByteScale, "swim-byte-scale", 1, "factor of all sizes")
	flags.Float64Var(&f.SWIM.Noise, "swim-noise", 0, "standard deviation of the logarithm of a random factor of each task")
	flags.Uint64Var(&f.SWIM.Seed, "seed", 0, "seed `N` of all random numbers")
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
		case "pool":
			formats = convert.LoggedFormats
		case "window":
			formats = append([]string{"alibaba"}, convert.LoggedFormats...)
		case "only-successful", "topology", "slots":
			formats = convert.HadoopFormats
		case "cluster-out":
			formats = append([]string{convert.FromHistory}, convert.HadoopFormats...)
		case "columns", "separator":
			formats = []string{"csv"}
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
