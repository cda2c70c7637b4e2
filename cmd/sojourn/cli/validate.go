package cli

import (
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/spf13/cobra"
)

func newValidate() *cobra.Command {
	var clusterSpec string
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a workload, a cluster or a pools file",
		Long: `validate reads a workload, a cluster or a pools file and says what is in it.
Workloads and clusters may be compressed by gzip. A file that starts with {"nodes"
is a cluster, one that starts with {"pools" or another key of a pools file describes
pools: 'sojourn help pools' has the format. At the first fault it prints
FILE:LINE:COLUMN and the reason, and the exit status is 3. With -c, it also checks
that the nodes that a workload names are in the cluster. - is stdin.`,
		Example: `  sojourn validate trace.jsonl
  sojourn validate -c cluster.json trace.jsonl
  sojourn validate cluster.json`,
		Args: oneFile,
		RunE: action(func(cmd *cobra.Command, args []string) error {
			var in *input.Cluster
			if clusterSpec != "" {
				var err error
				if in, err = input.ReadCluster(clusterSpec); err != nil {
					return err
				}
			}
			file, name, err := files.OpenOrStdin(cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			return input.Validate(cmd.OutOrStdout(), file, name, in)
		}),
	}
	cmd.Flags().StringVarP(&clusterSpec, "cluster", "c", "", "`CLUSTER` that the workload's nodes belong to, as in compare")
	return cmd
}
