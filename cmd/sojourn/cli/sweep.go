package cli

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/spf13/cobra"
)

func newSweep(policies catalog.Catalog) *cobra.Command {
	var (
		f     runFlags
		list  []string
		vary  vary
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
			groups, err := vary.groups(policies, specs)
			if err != nil {
				return err
			}
			f.load.varied = vary.what() == varyLoad
			base, err := f.open(cmd)
			if err != nil {
				return err
			}
			trials, err := vary.trials(groups, base)
			if err != nil {
				return err
			}
			n := max(1, int(seeds))
			noteFixed(cmd.ErrOrStderr(), n, trials)
			ctx, stop := interruptible(cmd)
			defer stop()
			samples, err := repeat(ctx, terminal(cmd, f.quiet), trials, n)
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
	cmd.Flags().Var(typed(&vary, "VALUES"), "vary", "what varies, and its `VALUES`")
	cmd.Flags().StringArrayVarP(&list, "policies", "p", nil, "`POLICIES` to compare")
	f.registerScenario(policies, cmd.Flags())
	seeds.register(cmd.Flags())
	return cmd
}
