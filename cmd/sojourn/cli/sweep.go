package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/spf13/cobra"
)

func newSweep(policies catalog.Catalog) *cobra.Command {
	var (
		f     runFlags
		list  []string
		vary  varyFlag
		seeds seedsFlag
	)
	cmd := &cobra.Command{
		Use:   "sweep --vary NAME=VALUE,VALUE,...",
		Short: "Vary the load, the error of estimates or an option, and print a table",
		Long: `sweep runs policies as compare does, for each value of one thing that varies:
  --vary load=0.5,0.7,0.9                the load, reached as --scale says
  --vary error=0,0.5,1                   sigma of --estimates lognormal
  --vary fair:order=running,deficit      an option of a policy
All see the same draws for the same seed. Without -p, the policies are those that
compare compares or, if an option varies, the one that has it; others in -p are
run once, to compare with.

` + policyHelp(policies),
		Example: `  sojourn sweep --sample -p fifo,fair,fsp --vary load=0.5,0.7,0.9
  sojourn sweep --gen hfsp-test:load=0.9 -p fair,srpt,fsp --vary error=0,0.5,1 --seeds 20
  sojourn sweep --sample -p fifo,fair --vary fair:order=running,deficit --json`,
		Args: cobra.NoArgs,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			switch {
			case vary.name == "":
				return usagef("nothing varies: give --vary, such as --vary load=0.5,0.7,0.9")
			case vary.what() == varyLoad && f.load.load > 0:
				return usagef("--load and --vary load exclude each other")
			case vary.what() == varyError && cmd.Flags().Changed("estimates"):
				return usagef("--estimates and --vary error exclude each other")
			case len(list) == 0 && vary.policy != "":
				list = []string{vary.policy}
			case len(list) == 0:
				list = []string{defaultPolicies}
			}
			specs, err := parsePolicies(policies, list)
			if err != nil {
				return err
			}
			groups, err := vary.specs(policies, specs)
			if err != nil {
				return err
			}
			f.load.varied = vary.what() == varyLoad
			s, err := f.openVaried(cmd, &vary)
			if err != nil {
				return err
			}
			var trials []trial
			for i, group := range groups {
				for _, spec := range group.specs {
					trials = append(trials, trial{scenario: s[min(i, len(s)-1)], spec: spec, value: group.value})
				}
			}
			n := max(1, int(seeds))
			noteFixed(cmd.ErrOrStderr(), n, trials)
			samples, err := repeat(cmd, trials, n)
			if err != nil {
				return err
			}
			sw := sweep{&vary, samples}
			if f.json {
				return writeJSON(cmd.OutOrStdout(), sw.summary())
			}
			return sw.write(cmd.OutOrStdout())
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(&vary, "vary", "what varies, and its `VALUES`")
	cmd.Flags().StringArrayVarP(&list, "policies", "p", nil, "`POLICIES` to compare")
	f.registerScenario(policies, cmd.Flags())
	seeds.register(cmd.Flags())
	return cmd
}

// What may vary besides options.
const (
	varyLoad  = "load"
	varyError = "error"
)

// A varyFlag says what varies in a sweep.
type varyFlag struct {
	text   string
	name   string // load, error, or the name of an option
	policy string // that has the option, else ""
	values []string
}

// what returns what varies: load, error or POLICY:OPTION.
func (v *varyFlag) what() string {
	if v.policy == "" {
		return v.name
	}
	return v.policy + ":" + v.name
}

// String returns the value in the form that Set reads.
func (v *varyFlag) String() string { return v.text }

// Type returns the name of the value for the help text.
func (v *varyFlag) Type() string { return "VALUES" }

// Set reads NAME=VALUE,VALUE,...
func (v *varyFlag) Set(text string) error {
	left, right, ok := strings.Cut(text, "=")
	policy, option, isOption := strings.Cut(left, ":")
	values := strings.Split(right, ",")
	switch {
	case !ok || slices.Contains(values, ""):
		return fmt.Errorf("want values, as in load=0.5,0.7,0.9")
	case isOption && policy != "" && option != "":
		*v = varyFlag{text, option, policy, values}
		return nil
	case left != varyLoad && left != varyError:
		return fmt.Errorf("%q cannot vary; what can: load, error, POLICY:OPTION", left)
	}
	for _, value := range values {
		var err error
		if left == varyLoad {
			err = new(loadFlag).Set(value)
		} else {
			err = new(estimatesFlag).Set("lognormal:" + value)
		}
		if err != nil && left == varyError {
			return fmt.Errorf("error %q: want a number from 0 to 10, such as 0.5", value)
		} else if err != nil {
			return fmt.Errorf("load %q: %w", value, err)
		}
	}
	*v = varyFlag{text, left, "", values}
	return nil
}

// A sweepGroup holds the policies of one value.
type sweepGroup struct {
	value string
	specs []catalog.Spec
}

// specs returns the policies to run for each value. If an option varies, those
// that do not have it come first, in a group of their own.
func (v *varyFlag) specs(policies catalog.Catalog, specs []catalog.Spec) ([]sweepGroup, error) {
	var groups []sweepGroup
	if v.policy == "" {
		for _, value := range v.values {
			groups = append(groups, sweepGroup{value, specs})
		}
		return groups, nil
	}
	var others, varied []catalog.Spec
	for _, s := range specs {
		if s.Name != v.policy {
			others = append(others, s)
			continue
		}
		if slices.ContainsFunc(s.Options, func(o catalog.Option) bool { return o.Name == v.name }) {
			return nil, usagef("option %s of %s is both in -p and in --vary", v.name, v.policy)
		}
		varied = append(varied, s)
	}
	if len(varied) == 0 {
		return nil, usagef("--vary %s: policy %s is not in -p", v.text, v.policy)
	}
	if len(others) > 0 {
		groups = append(groups, sweepGroup{"-", others})
	}
	for _, value := range v.values {
		group := sweepGroup{value: value}
		for _, s := range varied {
			s.Options = append(slices.Clone(s.Options), catalog.Option{Name: v.name, Value: value})
			if _, err := newPolicy(policies, s); err != nil {
				return nil, err
			}
			group.specs = append(group.specs, s)
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// openVaried opens a scenario for each value, or one for all if they do not
// differ in it. Everything is read once.
func (f *runFlags) openVaried(cmd *cobra.Command, v *varyFlag) ([]*scenario, error) {
	base, err := f.open(cmd)
	if err != nil || v.policy != "" {
		return []*scenario{base}, err
	}
	var all []*scenario
	for _, value := range v.values {
		flags, s := *f, *base
		s.flags = &flags
		if v.name == varyLoad {
			err = flags.load.load.Set(value)
			s.workload = base.workload.clone()
		} else {
			err = flags.estimates.Set("lognormal:" + value)
		}
		if err == nil && v.name == varyLoad {
			err = flags.load.apply(s.workload, s.cluster)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &s)
	}
	return all, nil
}

// A sweep prints the samples of a sweep.
type sweep struct {
	vary    *varyFlag
	samples []*sample
}

// compared returns the samples that are compared with one another: all if an
// option varies, else those of one value.
func (sw *sweep) compared() [][]*sample {
	if sw.vary.policy != "" {
		return [][]*sample{sw.samples}
	}
	size := len(sw.samples) / len(sw.vary.values)
	return slices.Collect(slices.Chunk(sw.samples, size))
}

func (sw *sweep) write(w io.Writer) error {
	s := sw.samples[0]
	t := sw.table()
	if sw.vary.what() == varyLoad {
		for class, name := range s.scenario.cluster.classes() {
			loads := make([]string, len(sw.samples))
			for i, s := range sw.samples {
				loads[i] = plusMinus(stats.Mean(s.load(class)), 2)
			}
			t.add("load", name, loads)
		}
	}
	const group = "sojourn time (s)"
	for _, m := range []measure{
		measureDist(group, "mean", sojournTime, distMean),
		measureDist(group, "median", sojournTime, distMedian),
		measureDist(group, "p90", sojournTime, distP90),
		measureDist("slowdown", "mean", slowdown, distMean),
		{"", "beyond_bound", beyondBound},
	} {
		var judged []judgement
		for _, samples := range sw.compared() {
			judged = append(judged, judge(valuesOf(samples, m.of))...)
		}
		t.add(m.group, m.title, judgedColumn(judged))
	}

	place := "column"
	if sw.vary.policy == "" {
		place = "column for that " + sw.vary.name
	}
	blocks := []string{seedsHeader(s, sw.vary.what()), t.String()}
	if text := leftOver(sw.samples); text != "" {
		blocks = append(blocks, text)
	}
	blocks = append(blocks, seedsLegend(len(s.results), place))
	_, err := io.WriteString(w, strings.Join(blocks, "\n"))
	return err
}

// table returns a table with a line for each value and policy.
func (sw *sweep) table() *table {
	width := len(sw.vary.name)
	for _, s := range sw.samples {
		width = max(width, len(s.value))
	}
	t := &table{corner: fmt.Sprintf("%-*s  policy", width, sw.vary.name)}
	for i, s := range sw.samples {
		value := s.value
		if i > 0 && value == sw.samples[i-1].value {
			value = ""
		}
		t.names = append(t.names, fmt.Sprintf("%-*s  %s", width, value, s.spec))
	}
	return t
}

// summary returns the sweep in JSON.
func (sw *sweep) summary() repetitionSummary {
	sum := newRepetitionSummary(sw.samples[0])
	sum.Vary = sw.vary.what()
	switch sw.vary.what() {
	case varyLoad:
		sum.Workload.Scaled = ""
	case varyError:
		sum.Estimates = ""
	}
	for _, samples := range sw.compared() {
		sum.Policies = append(sum.Policies, repeatedSummaries(samples)...)
	}
	return sum
}
