package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A textValue is a value that text sets and shows.
type textValue interface {
	Set(text string) error
	String() string
}

// A typedValue is a textValue with its name in help texts.
type typedValue struct {
	textValue
	name string
}

// Type implements [pflag.Value].
func (v typedValue) Type() string { return v.name }

// typed makes a flag of a value with its name in help texts.
func typed(v textValue, name string) pflag.Value { return typedValue{v, name} }

// runFlags are the flags of the commands that run policies.
type runFlags struct {
	trial.Setup
	formFlags
	output outputFlags
	quiet  bool
}

func (f *runFlags) register(policies catalog.Catalog, flags *pflag.FlagSet) {
	f.registerScenario(policies, flags)
	f.output.register(flags, "jobs.csv, tasks.csv, history.txt, run.json and report.html")
}

// registerScenario leaves out the flags that say where files go.
func (f *runFlags) registerScenario(policies catalog.Catalog, flags *pflag.FlagSet) {
	f.Policies = policies
	flags.SortFlags = false
	registerSource(flags, &f.Source)
	registerLoad(flags, &f.Load)
	f.registerWorld(flags)
}

// registerWorld registers the flags for what happens to jobs: faults, slowness,
// distance.
func (f *runFlags) registerWorld(flags *pflag.FlagSet) {
	registerLocality(flags, &f.Locality)
	flags.Var(typed(&f.Estimates, "MODE"), "estimates", "what policies are told of service times if the workload has no estimate: "+format.Listed(trial.EstimatesModes))
	flags.Uint64Var(&f.Seed, "seed", 0, "seed `N` of all random numbers")
	f.formFlags.register(flags)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress bar and no hints on stderr")
	flags.BoolVar(&f.Preempt, "preempt", false, "kill attempts when the policy asks for it")
	flags.BoolVar(&f.Retest, "retest", false, "offer rejected jobs again whenever a job has finished")
	flags.BoolVar(&f.Gangs.On, "gangs", false, "the tasks of a phase start together, as soon as there are slots for all of them")
	flags.DurationVar(&f.Gangs.Patience, "gang-patience", 24*time.Hour, "with --gangs, reserve slots for the gang that waits longest after this `DURATION`; policies with an option places or gangs say themselves for whom")
	flags.StringVar(&f.PoolChanges, "pool-changes", "", "change pools during the run as `FILE` says, a history of lines such as @10s PoolChanged pool=etl weight=2 paused=all")
	flags.Var(typed(&f.Drop, "FIELDS"), "drop", "policies that do not know these fields of jobs run the workload as if no job had them, and are not refused: "+strings.Join(trial.DropFields(), ","))
	flags.DurationVar(&f.Progress, "report-progress", 0, "tell policies how far attempts are, every `DURATION`")
	flags.Float64Var(&f.Stragglers.Probability, "straggler-probability", 0, "probability `P` that an attempt is a straggler")
	flags.Float64Var(&f.Stragglers.Factor, "straggler-factor", 0, "how many `TIMES` longer a straggler takes")
	flags.Float64Var(&f.Faults.Task, "fault-task", 0, "probability `P` that an attempt fails")
	flags.Float64Var(&f.Faults.Refuse, "fault-refuse", 0, "probability `P` that an assignment is refused")
	flags.DurationVar(&f.Faults.MTBF, "fault-mtbf", 0, "mean `DURATION` between failures of a node")
	flags.DurationVar(&f.Faults.MTTR, "fault-mttr", 0, "mean `DURATION` until a node is back")
	flags.BoolVar(&f.Faults.LoseOutput, "fault-lose-output", false, "a failed node loses the output of its finished tasks")
}

// open reads the workload and the cluster that the flags name. If the output could not
// be written, it fails before it reads anything long.
func (f *runFlags) open(cmd *cobra.Command) (*trial.Scenario, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	if remote := cmd.Flags().Lookup("remote"); f.Locality.Network.Bandwidth > 0 && remote != nil && remote.Changed {
		return nil, usage.Errorf("--bandwidth and --remote exclude each other")
	}
	if err := f.formFlags.check(f.output.Dir); err != nil {
		return nil, err
	}
	if err := f.output.Check(); err != nil {
		return nil, err
	}
	return f.Setup.Open(cmd.Context(), cmd.InOrStdin())
}

// notePools notes which pools are described that no job is in: their names may be mistyped.
func (f *runFlags) notePools(cmd *cobra.Command, s *trial.Scenario, specs []catalog.Spec) error {
	if f.quiet {
		return nil
	}
	note, err := s.UnnamedPools(cmd.Context(), specs)
	fmt.Fprint(cmd.ErrOrStderr(), note)
	return err
}

// registerSource registers the flags that name the workload and the cluster.
func registerSource(flags *pflag.FlagSet, s *input.Source) {
	registerWorkload(flags, s)
	flags.Var(typed(&s.Gen, "NAME"), "gen", "make the workload: `NAME` or NAME:option=value,...")
	flags.StringVarP(&s.Cluster, "cluster", "c", "", "`CLUSTER`: 20x4+1,10x2+1 (nodes x map+reduce slots), 50x2 (slots that take any class), or a JSON file")
}

func registerWorkload(flags *pflag.FlagSet, s *input.Source) {
	flags.StringVarP(&s.File, "workload", "w", "", "workload `FILE` (JSON lines, gzip accepted, - is stdin)")
	flags.BoolVar(&s.Sample, "sample", false, "use the built-in, made-up workload")
}

func registerLoad(flags *pflag.FlagSet, l *input.ScaledLoad) {
	flags.Var(typed(&l.Load, "LOAD"), "load", "change the workload so that the busier class of slots has this `LOAD`: work that arrives over work that can be done")
	flags.Var(typed(&l.Scale, "WHAT"), "scale", "`WHAT` --load changes: arrivals or durations (default arrivals)")
}

func registerLocality(flags *pflag.FlagSet, l *trial.Locality) {
	l.Remote = trial.RemoteFactors{Node: 1, Rack: 1.5, Remote: 3} // as in Hadoop's Mumak
	flags.Var(typed(&l.Remote, "factors"), "remote", "how many times longer a task takes if its input is on its node, on its rack, or elsewhere: `NODE,RACK,REMOTE`; with 1,1,1 distance costs nothing")
	flags.IntVar(&l.Replicas, "place", 0, "if the workload says only the size of inputs, place them on the cluster as HDFS would, with this many `REPLICAS` of each block")
	flags.BoolVar(&l.All, "place-all", false, "with --place, also inputs of unknown size")
	flags.BoolVar(&l.ByName, "place-by-name", false, "with --place, jobs of one name read the same data: in a SWIM trace those that name the same path")
	n := &l.Network
	flags.Var(typed(&n.Bandwidth, "SIZE"), "bandwidth", "tasks that are not on the node of their input transfer it over a network: each node sends and receives this many bytes a second, `RATE` such as 12.5MB; excludes --remote")
	flags.Var(typed(&n.Split, "SIZE"), "split", "with --bandwidth, how much a task reads if the workload does not say it: `SIZE` (default 64MiB)")
	flags.BoolVar(&n.Overlap, "overlap", false, "with --bandwidth, tasks work while their input arrives")
	flags.IntVar(&n.HotSpot, "hot-spot", 0, "with --bandwidth, a node is a hot spot if more than `N` tasks read from it at a time (default 4)")
}

// A seedsFlag is a number of repetitions, 0 unless given.
type seedsFlag int

func (n *seedsFlag) register(flags *pflag.FlagSet) {
	flags.Var(typed(n, "N"), "seeds", "repeat everything with `N` seeds: --seed, --seed + 1, ...")
}

// String returns the number in the form that Set reads.
func (n *seedsFlag) String() string { return strconv.Itoa(int(*n)) }

// Set reads a number of repetitions.
func (n *seedsFlag) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > trial.MaxSeeds {
		return fmt.Errorf("want an integer from 1 to %d", trial.MaxSeeds)
	}
	*n = seedsFlag(v)
	return nil
}

// terminal returns the writer for progress: stderr, unless quiet.
func terminal(cmd *cobra.Command, quiet bool) io.Writer {
	if quiet {
		return io.Discard
	}
	return format.Exact(cmd.ErrOrStderr()) // a bar moves the cursor
}

// A stopper ends the program, whatever it does.
type stopper struct{}

// interruptible returns a context that an interrupt ends: see [files.Interruptible]. Before this call an interrupt ends the program
// at once, since the program may be waiting for stdin.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	exit, _ := cmd.Context().Value(stopper{}).(func(int))
	return files.Interruptible(cmd.Context(), "sojourn", format.Exact(cmd.ErrOrStderr()), exit)
}

// outputFlags name the folder that files go to.
type outputFlags struct{ files.Folder }

// register registers the flags; what says what is written.
func (f *outputFlags) register(flags *pflag.FlagSet, what string) {
	flags.StringVarP(&f.Dir, "output", "o", "", "write "+what+" into the folder `DIR`, which must be empty or absent")
	flags.BoolVar(&f.Force, "force", false, "let -o replace what an earlier run wrote")
}
