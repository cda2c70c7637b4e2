package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/trace"
	"github.com/spf13/cobra"
)

func newValidate() *cobra.Command {
	var clusterSpec string
	cmd := &cobra.Command{
		Use:   "validate FILE",
		Short: "Check a workload or a cluster file",
		Long: `validate reads a workload or a cluster file, which may be compressed by gzip, and
says what is in it. A file that starts with {"nodes" is a cluster. At the first
fault it prints FILE:LINE:COLUMN and the reason, and the exit status is 3. With -c,
it also checks that the nodes that a workload names are in the cluster. - is
stdin.`,
		Example: `  sojourn validate trace.jsonl
  sojourn validate -c cluster.json trace.jsonl
  sojourn validate cluster.json`,
		Args: cobra.ExactArgs(1),
		RunE: action(func(cmd *cobra.Command, args []string) error {
			var in *cluster
			if clusterSpec != "" {
				var err error
				if in, err = readCluster(clusterSpec); err != nil {
					return err
				}
			}
			return validate(cmd, args[0], in)
		}),
	}
	cmd.Flags().StringVarP(&clusterSpec, "cluster", "c", "", "`CLUSTER` that the workload's nodes belong to, as in compare")
	return cmd
}

// validate checks one file. in is the cluster that a workload runs on, or nil.
func validate(cmd *cobra.Command, name string, in *cluster) error {
	r := cmd.InOrStdin()
	if name == "-" {
		name = "stdin"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		r = file
	}
	buf := bufio.NewReaderSize(r, 1<<16)
	start, _ := buf.Peek(1 << 16)
	if looksLikeCluster(start) {
		c := cluster{name: name}
		var err error
		if c.Cluster, err = trace.ReadCluster(buf, name); err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: a cluster of %s\n", name, c.describe())
		return err
	}
	var (
		jobs, tasks int
		first, last sojourn.Time
	)
	for j, err := range workloadJobs(buf, name, in) {
		if err != nil {
			return err
		}
		if jobs == 0 {
			first = j.At
		}
		last = j.At
		jobs++
		tasks += j.Tasks()
	}
	if jobs == 0 {
		return noJobs(name)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: a workload of %s and %s, arriving over %s\n",
		name, count(jobs, "job"), count(tasks, "task"), span(last.Sub(first)))
	return err
}

// looksLikeCluster reports whether a file is meant as a cluster, by its first
// bytes: the first key is "nodes".
func looksLikeCluster(start []byte) bool {
	var r io.Reader = bytes.NewReader(start)
	if z, err := gzip.NewReader(r); err == nil {
		r = z
	} else {
		r = bytes.NewReader(start)
	}
	d := json.NewDecoder(r)
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return false
	}
	key, err := d.Token()
	return err == nil && key == "nodes"
}
