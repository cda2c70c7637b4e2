package cli

import (
	"context"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/convert"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const convertLong = `convert reads a log or a trace that was recorded elsewhere and writes it to stdout in
the workload format. FILE may be compressed by gzip; - is stdin. If it has a fault, convert
writes nothing. The first job arrives at 0, unless --keep-times is given.

Logs, of which several files may be given. Jobs are held in memory and sorted by arrival. The
columns that were read are printed on stderr, in the form of --columns, which replaces them:
  csv   a log of your own: the first row names the columns, in any order. Columns are found
        by their titles, such as submitted_at or Run time (s), and units by the values; if
        that fails, --columns says which column is what. A row is a job, or with a column
        job the tasks of one:
          arrival, deadline    instants; unit ns, us, ms, s, min, h, or date, such as
                               2025-01-31T15:04:05Z, or m/d/y or d/m/y, such as
                               31/1/2025 15:04:05
          wait                 from the arrival to the start, in place of the arrival
          start, end           instants, in place of the duration
          duration             of each task; unit ns, ..., h, or text: 1m30s, 1-02:03:04
          tasks, slots         how many such tasks, and the slots that each takes; 1 if there
                               is no such column; unit percent, milli, or the key in a list
                               such as AllocTRES:gres/gpu; see --slot-size
          job, id              rows with the same job are tasks of one; a row with the same
                               id and times as one before is dropped
          array                with --join-arrays, rows with the same array are one job, too
          phase                of the job, from 0; a phase waits for the one before
          estimate             of each task, as duration; requested only with --requested-time
          name, pool, weight   name is the same for all runs of one program; also user and
                               group, see --pool
          parallelism          how many tasks of the job may run at a time; 0 is any number
          state                which rows never ran, or are still running
  sacct       Slurm: sacct -a -X -P --format=JobID,JobName,User,Account,Partition,State,
              AllocCPUS,Submit,Start,End,Elapsed,Timelimit, or sacct -a --json
  slurm       Slurm: the log of the plugin jobcomp/filetxt
  pbs         PBS and Torque: the accounting log
  airflow     task instances, as CSV or JSON of the API
  github      GitHub Actions: jobs or runs, JSON of the API or gh
  gitlab      GitLab CI: jobs, JSON of the API
  kubernetes  kubectl get jobs -A -o json
  spark       event logs: jobs of stages that need each other
  alibaba-gpu Alibaba's GPU traces of 2020, 2023 and 2025: parts of a GPU, see --slot-size
  philly      Microsoft's Philly trace, and cuts of it as CSV
  batsim      a workload of Batsim; --topology names its platform, --cluster-out makes a
              cluster of it
Rows that never ran, are still running, or have no size are dropped and counted by kind;
--strict refuses them.

Traces, one file or several in a pipe; memory does not grow with them:
  swf   the Standard Workload Format: a job on p processors becomes p tasks. Its name
        is that of its user and program, such as user3/app7, or user3 or app7 where
        only one is known, or else job and its number: policies learn from the runs of
        one name. With --gangs, run and compare start its tasks together.
  swim  tab-separated bytes of jobs, of the Statistical Workload Injector for
        MapReduce. It has no tasks and no times; the --swim flags compute both from
        bytes: one map task for each block of input, or of output in jobs without
        reduces. A task takes the overhead plus its bytes divided by the rate.
  rumen JSON of Hadoop's Rumen, with the attempts at each task. --topology names
        the file with its hosts and racks; --cluster-out makes a cluster of them.
  sls   JSON for YARN's Scheduler Load Simulator: Rumen's format, or its own.
  jhist job histories of Hadoop 2 and later; several files may follow one another.
  alibaba
        table batch_task of Alibaba's cluster trace of 2018: each row becomes a phase
        that waits for those that its name says, such as J3_1_2.
  wfcommons
        workflows in WfFormat, the JSON schema of WfCommons; all arrive at once.
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
		Use:   "convert --from FORMAT FILE...",
		Short: "Turn a recorded trace into a workload, on stdout",
		Long:  convertLong,
		Example: `  sojourn convert --from swim FB-2009_samples_24_times_1hr_0.tsv.gz > fb.jsonl
  sojourn convert --from swim --load 0.9 -c 30x2+1 trace.tsv | sojourn compare -w - -c 30x2+1
  sojourn convert --from rumen --topology t.json --cluster-out c.json trace.json > jobs.jsonl
  sojourn convert --from sacct sacct.txt > jobs.jsonl
  sojourn convert --from csv --columns arrival=submitted:date,duration=took:ms builds.csv > ci.jsonl
  sojourn convert --from history --cluster-out c.json /var/lib/scheduler > jobs.jsonl
  sojourn convert --from workload --to swf jobs.jsonl > jobs.swf
  cat *.jhist | sojourn convert --from jhist - > jobs.jsonl`,
		Args: someFiles,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(cmd.Flags(), f.From); err != nil {
				return err
			}
			if os.Getenv("GOGC") == "" && !slices.Contains(convert.TableFormats, f.From) { // some MB live at a time, and the collector would run all the time
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
				if err := oneFile(cmd, args); err != nil {
					return usage.Wrap(err)
				}
				src, err := trial.OpenSource(cmd.InOrStdin(), args[0])
				if err != nil {
					return err
				}
				f.Entries = src.Entries()
				return f.Write(format.Exact(cmd.OutOrStdout()), cmd.ErrOrStderr(), []convert.Input{{Name: src.Name}}, c)
			}
			if len(args) > 1 && !slices.Contains(convert.TableFormats, f.From) {
				return usage.Errorf("unexpected argument %q: %s takes one file, or several in a pipe: cat FILE... | sojourn convert --from %s -", args[1], f.From, f.From)
			}
			in, err := openInputs(cmd, args)
			if err != nil {
				return err
			}
			defer in.Close()
			return f.Write(format.Exact(cmd.OutOrStdout()), cmd.ErrOrStderr(), in.list, c)
		}),
	}
	registerConvert(cmd.Flags(), &f)
	cmd.PreRun = func(*cobra.Command, []string) { f.SWIM.NoOverhead = f.SWIM.Overhead == 0 }
	return cmd
}

// Inputs are open files, of which a progress bar shows how much was read.
type inputs struct {
	list  []convert.Input
	files []io.Closer
	bar   *progress.Bar
}

func openInputs(cmd *cobra.Command, args []string) (*inputs, error) {
	in, size := &inputs{}, int64(0)
	var readers []io.Reader
	for _, name := range args {
		file, name, err := files.OpenOrStdin(cmd.InOrStdin(), name)
		if err != nil {
			in.Close()
			return nil, err
		}
		in.files = append(in.files, file)
		in.list = append(in.list, convert.Input{Name: name})
		readers = append(readers, file)
		if f, ok := file.(*os.File); ok && size >= 0 {
			if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
				size += info.Size() >> 10
				continue
			}
		}
		size = -1 // nobody knows
	}
	in.bar = progress.New(cmd.ErrOrStderr(), "kB", int(size))
	for i := range in.list {
		in.list[i].Reader = &metered{cmd.Context(), readers[i], in.bar, 0}
	}
	return in, nil
}

// Close closes the files.
func (in *inputs) Close() {
	if in.bar != nil {
		in.bar.Clear()
	}
	for _, f := range in.files {
		f.Close()
	}
}

// A metered reader shows how much was read of it, until its context ends. At its end the bar is gone, so that messages have the line.
type metered struct {
	ctx context.Context
	io.Reader
	bar  *progress.Bar
	rest int // bytes that are not in the bar
}

func (m *metered) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.Reader.Read(p)
	m.rest += n
	if kb := m.rest >> 10; kb > 0 {
		m.bar.Add(kb)
		m.rest -= kb << 10
	}
	if err != nil {
		m.bar.Clear()
	}
	return n, err
}

// registerConvert registers the flags of convert.
func registerConvert(flags *pflag.FlagSet, f *convert.Conversion) {
	flags.SortFlags = false
	flags.StringVar(&f.From, "from", "", "`FORMAT` of FILE: "+format.Listed(convert.Formats))
	flags.StringVar(&f.To, "to", "workload", "`FORMAT` to write: "+format.Listed(convert.Targets))
	flags.Var(typed(&f.Columns, "COLUMNS"), "columns", "which column has what: `FIELD=TITLE:UNIT,...`, such as arrival=submitted:date,duration=took:ms (logs)")
	flags.StringVar(&f.Separator, "separator", "", "`CHARACTER` between cells, or tab (logs; what the first row has most of)")
	flags.StringVar(&f.Zone, "zone", "", "`ZONE` of dates without one, such as Europe/Berlin (logs; UTC)")
	flags.StringVar(&f.SlotSize, "slot-size", "", "how much of the size a slot is, `N`: 0.1 makes ten slots of a GPU (logs; 1)")
	flags.BoolVar(&f.JoinArrays, "join-arrays", false, "the elements of an array are tasks of one job (logs)")
	flags.BoolVar(&f.Strict, "strict", false, "refuse what would be dropped")
	flags.BoolVar(&f.KeepTimes, "keep-times", false, "arrivals are those of the log; without it, the first job arrives at 0")
	registerLoad(flags, &f.Load)
	flags.StringVarP(&f.Cluster, "cluster", "c", "", "`CLUSTER` that the load is computed for, as in compare")
	flags.StringVar(&f.Pool, "pool", "queue", "`WHAT` becomes the pool of a job: queue, user, group (swf, logs) or none")
	flags.IntVar(&f.Window, "window", 100, "`JOBS` that are held back to bring them into the order of submission")
	flags.BoolVar(&f.Successful, "only-successful", false, "drop jobs that failed or were killed (rumen, sls, jhist)")
	flags.StringVar(&f.Topology, "topology", "", "`FILE` of Rumen with the hosts and racks (rumen, sls, jhist), or the platform (batsim)")
	flags.StringVar(&f.Slots, "slots", "2+2", "`SLOTS` of each host of the topology: map+reduce, or uniform ones")
	flags.StringVar(&f.ClusterOut, "cluster-out", "", "write the topology, or the cluster of a history, to `FILE`, as a cluster for -c")
	flags.BoolVar(&f.Requested, "requested-time", false, "the time that users requested is the estimate (swf, logs)")
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
		return usage.Errorf("--from %q is not a known format: %s%s", from, strings.Join(convert.Formats, ", "), visible.Meant(from, convert.Formats))
	}
	var err error
	flags.Visit(func(flag *pflag.Flag) {
		formats := convert.Formats
		switch flag.Name {
		case "pool":
			formats = slices.Concat(convert.LoggedFormats, convert.TableFormats)
		case "window":
			formats = append([]string{"alibaba"}, convert.LoggedFormats...)
		case "only-successful", "slots":
			formats = convert.HadoopFormats
		case "topology":
			formats = append([]string{"batsim"}, convert.HadoopFormats...)
		case "cluster-out":
			formats = append([]string{convert.FromHistory, "batsim"}, convert.HadoopFormats...)
		case "columns", "separator", "zone", "slot-size", "join-arrays":
			formats = append([]string{"csv"}, convert.DescribedFormats...)
		case "requested-time":
			formats = append([]string{"swf", "csv"}, convert.DescribedFormats...)
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
