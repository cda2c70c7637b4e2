package cli

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/spf13/cobra"
)

const sweepLong = `sweep runs policies as compare does, for each value of one thing that varies:
  --vary load=0.5,0.7,0.9                the load, reached as --scale says
  --vary error=0,0.5,1                   sigma of --estimates lognormal
  --vary estimates=none,exact,factor:10  what policies are told of sizes
  --vary fair:order=service,running      an option of a policy
All policies see the same draws for the same seed. Without -p, sweep runs the policies
that compare runs or, if an option varies, the policy that has it. Other policies in -p
run once, for comparison. With -o, it writes sweep.json, which is what --json prints,
and report.html.

`

func newSweep(policies catalog.Catalog) *cobra.Command {
	var (
		f     runFlags
		list  []string
		vary  trial.Vary
		seeds seedsFlag
	)
	cmd := &cobra.Command{
		Use:   "sweep --vary NAME=VALUE,VALUE,...",
		Short: "Vary the load, the error of estimates or an option, and print a table",
		Long:  sweepLong + csvCells + policyHelp(policies),
		Example: `  sojourn sweep --sample -p fifo,fair,fsp --vary load=0.5,0.7,0.9
  sojourn sweep --gen hfsp-test:load=0.9 -p fair,srpt,fsp --vary error=0,0.5,1 --seeds 20
  sojourn sweep --sample -p fifo,fair --vary fair:order=service,running --json`,
		Args: onlyFlags,
		RunE: action(func(cmd *cobra.Command, _ []string) error {
			switch {
			case vary.Name == "":
				return usage.Errorf("nothing varies: give --vary, such as --vary load=0.5,0.7,0.9")
			case vary.What() == trial.VaryLoad && f.Load.Load > 0:
				return usage.Errorf("--load and --vary load exclude each other")
			case (vary.What() == trial.VaryError || vary.What() == trial.VaryEstimates) && cmd.Flags().Changed("estimates"):
				return usage.Errorf("--estimates and --vary %s exclude each other", vary.What())
			case len(list) == 0 && vary.Policy != "":
				list = []string{vary.Policy}
			case len(list) == 0:
				list = []string{defaultPolicies}
			}
			specs, err := trial.ParsePolicies(policies, list)
			if err != nil {
				return err
			}
			groups, err := vary.Groups(policies, specs)
			if err != nil {
				return err
			}
			f.Load.Varied = vary.What() == trial.VaryLoad
			base, err := f.open(cmd)
			if err != nil {
				return err
			}
			trials, err := vary.Trials(groups, base)
			if err != nil {
				return err
			}
			if err := f.notePools(cmd, base, specs); err != nil {
				return err
			}
			return f.repeat(cmd, trials, max(1, int(seeds)), files.Sweep, func(samples []*trial.Sample) repeated {
				return &report.Sweep{Vary: &vary, Samples: samples, Partial: len(samples) < len(trials)}
			})
		}),
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().Var(typed(&vary, "VALUES"), "vary", "what varies, and its `VALUES`")
	cmd.Flags().StringArrayVarP(&list, "policies", "p", nil, "`POLICIES` to compare")
	f.registerScenario(policies, cmd.Flags())
	f.output.register(cmd.Flags(), "sweep.json and report.html")
	seeds.register(cmd.Flags())
	return cmd
}
