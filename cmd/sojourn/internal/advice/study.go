package advice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Recorded is the load of a workload as it is.
const Recorded = "recorded"

// noEstimates gives policies only the estimates of the workload.
var noEstimates = trial.Estimates{Mode: sim.None}

// Loads are the loads to which a workload is brought. Each is Recorded or a number.
type Loads []string

// DefaultLoads are the loads of an advice, unless others are named.
var DefaultLoads = Loads{Recorded, "0.7", "0.9"}

// String returns the value in the form that Set reads.
func (l *Loads) String() string { return strings.Join(*l, ",") }

// Set reads a list of loads.
func (l *Loads) Set(text string) error {
	loads := strings.Split(text, ",")
	for i, value := range loads {
		if err := new(input.Load).Set(value); err != nil && value != Recorded {
			return fmt.Errorf("load %q: want %q or a number above 0, such as 0.9", value, Recorded)
		}
		if slices.Contains(loads[:i], value) {
			return fmt.Errorf("load %q is there twice", value)
		}
	}
	*l = loads
	return nil
}

// A Question asks for advice.
type Question struct {
	Policies   []catalog.Spec // nil for the candidates
	Objectives []Objective    // if one is of deadlines, it is alone
	Loads      Loads          // nil for DefaultLoads, as far as the workload has a load
	Resamples  int
}

// A Study has the results of some policies at some loads.
type Study struct {
	*trial.Scenario
	Question
	specs   []catalog.Spec
	left    []leftOut
	told    []measure         // of each job
	samples [][]*trial.Sample // [policy][load]
	work    []float64         // of each job, in seconds
	quarter []uint8           // of each job: of the jobs by work
	bounds  [3]float64        // the most work of the lower quarters
}

// Run runs the policies. If something goes wrong for all of them, it returns an error. It
// leaves out a policy that could not run all jobs.
func Run(ctx context.Context, stderr io.Writer, s *trial.Scenario, q Question) (*Study, error) {
	st := &Study{Scenario: s, Question: q}
	if err := st.survey(); err != nil {
		return nil, err
	}
	if err := refuse(s); err != nil {
		return nil, err
	}
	known := s.Workload.Facts()
	deadlines := q.deadlines()
	if st.specs = withYardsticks(q.Policies); q.Policies == nil {
		st.specs, st.left = choose(s.Policies, deadlines, told(s), known.Features&^sojourn.Features(s.Drop))
	}
	if q.Loads == nil {
		st.Loads = DefaultLoads
		if known.Span() == 0 {
			st.Loads = Loads{Recorded}
		}
	}
	watch := trial.Collect(known.Jobs, st.collect()...)
	var trials []trial.Trial
	for _, spec := range st.specs {
		trials = append(trials, trial.Trial{Spec: spec, Watch: watch})
	}
	all, err := st.atLoads(trials)
	if err != nil {
		return nil, err
	}
	samples, err := repeat(ctx, stderr, all, &known)
	if err != nil {
		return nil, err
	}
	return st, st.sort(samples)
}

// refuse returns an error if a yardstick does not know what jobs say, unless they lose it: nothing could be compared.
func refuse(s *trial.Scenario) error {
	for _, name := range []string{fifo, fair} {
		p, err := s.Policies.New(catalog.Spec{Name: name})
		if err != nil {
			return err
		}
		missing, help := s.Workload.Facts().Features&^sojourn.Supports(p), ""
		lost := trial.Dropped(missing)
		if drop := lost.String(); drop != "" {
			help = fmt.Sprintf(": --drop %s takes it away", drop)
		}
		if err := s.Workload.Refuse(missing&^sojourn.Features(s.Drop), name+", with which advise compares, does not know", help); err != nil {
			return err
		}
	}
	return nil
}

// deadlines reports whether advice about deadlines is asked for.
func (q *Question) deadlines() bool { return slices.ContainsFunc(q.Objectives, Objective.Deadlines) }

// collect returns what is to be told of each job.
func (st *Study) collect() (of []func(*sim.JobRecord) float64) {
	for _, o := range st.Objectives {
		for _, m := range []measure{o.measure, o.quarterly()} {
			if !slices.Contains(st.told, m) {
				st.told = append(st.told, m)
				of = append(of, measures[m])
			}
		}
	}
	return of
}

// atLoads returns each trial at each load, load by load.
func (st *Study) atLoads(trials []trial.Trial) (all []trial.Trial, err error) {
	for _, load := range st.Loads {
		s := *st.Scenario
		if load != Recorded {
			if err := s.Load.Load.Set(load); err != nil {
				return nil, err
			}
			s.Workload = s.Workload.Clone()
			if err := s.Load.Apply(s.Workload, s.Cluster); err != nil {
				return nil, err
			}
		}
		for _, t := range trials {
			t.Scenario, t.Value = &s, load
			all = append(all, t)
		}
	}
	return all, nil
}

// patience is how long the first run may take without a message about the total time.
const patience = 5 * time.Second

// repeat runs trials once. The first runs alone: if it takes long, a message says how long
// all will take.
func repeat(ctx context.Context, stderr io.Writer, trials []trial.Trial, known *input.Facts) ([]*trial.Sample, error) {
	start := time.Now()
	of := func(err error, before int) error { // all runs
		if stopped := (*trial.Interrupted)(nil); errors.As(err, &stopped) {
			return &trial.Interrupted{Done: stopped.Done + before, Of: len(trials), Things: stopped.Things}
		}
		return err
	}
	first, err := trial.Repeat(ctx, stderr, trials[:1], 1)
	if err != nil {
		return nil, of(err, 0)
	}
	if took := time.Since(start); took > patience {
		io.WriteString(stderr, waiting(took, len(trials), known))
	}
	rest, err := trial.Repeat(ctx, stderr, trials[1:], 1)
	return append(first, rest...), of(err, 1)
}

// waiting says how long all runs may take, if the first took so long.
func waiting(took time.Duration, runs int, known *input.Facts) string {
	left := took * time.Duration(runs-1) / time.Duration(min(runs, runtime.GOMAXPROCS(0)))
	return fmt.Sprintf("The first of %s of %s and %s took %s; the others may take %s.\n", format.Count(runs, "run"),
		format.Count(known.Jobs, "job"), format.Count(known.Tasks, "task"), format.Span(took), format.Span(left))
}

// sort sorts the results, and leaves out policies that left jobs unfinished. For deadlines, a
// refused job counts as one that missed its deadline.
func (st *Study) sort(samples []*trial.Sample) error {
	specs := st.specs
	st.specs = nil
	for i, spec := range specs {
		var atLoads []*trial.Sample
		missing := 0
		for load := range st.Loads {
			s := samples[load*len(specs)+i]
			atLoads = append(atLoads, s)
			missing = max(missing, s.Results[0].Jobs-s.Results[0].Finished)
		}
		if missing > 0 && !st.deadlines() {
			why := fmt.Sprintf("it did not finish %s of %s", format.Thousands(missing), format.Count(len(st.work), "job"))
			if name := spec.String(); name == fifo || name == fair {
				return fmt.Errorf("%s: nothing can be compared with %s: %s", st.Workload.Name, name, why)
			}
			st.left = append(st.left, leftOut{spec.String(), why})
			continue
		}
		st.specs, st.samples = append(st.specs, spec), append(st.samples, atLoads)
	}
	return nil
}

// values returns what a policy did to each job at a load.
func (st *Study) values(policy, load int, m measure) []float64 {
	return st.samples[policy][load].Seen[0].([][]float64)[slices.Index(st.told, m)]
}

// survey looks at each job: whether the cluster has the slots that it needs, whether it has a
// deadline, and how much work it is.
func (st *Study) survey() error {
	capacity, deadlines := st.Cluster.Capacity(), 0
	for j, err := range st.Workload.All() {
		if err != nil {
			return err
		}
		work := 0.0
		for i := range j.Phases {
			class := input.ClassOf(st.Cluster.Uniform, j, i)
			if int(class) >= len(capacity) || capacity[class] == 0 {
				return fmt.Errorf("%s: job %d needs slots of class %d, of which cluster %s has none", st.Workload.Name, j.ID, class, st.Cluster.Name)
			}
			work += j.Times[i].Total(j.Phases[i].Tasks).Seconds()
		}
		st.work = append(st.work, work)
		if j.Deadline > 0 {
			deadlines++
		}
	}
	if st.deadlines() && deadlines == 0 {
		return usage.Errorf("--objective deadlines: no job of %s has a deadline", st.Workload.Name)
	}
	sorted := slices.Sorted(slices.Values(st.work))
	for q := range st.bounds {
		st.bounds[q] = sorted[int(math.Ceil(float64(len(sorted)*(q+1))/4))-1]
	}
	st.quarter = make([]uint8, len(st.work))
	for i, work := range st.work {
		for st.quarter[i] < 3 && work > st.bounds[st.quarter[i]] {
			st.quarter[i]++
		}
	}
	return nil
}
