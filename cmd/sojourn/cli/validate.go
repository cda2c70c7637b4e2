package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/pools"
	"github.com/sojourn-sched/sojourn/trace"
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
	file, name, err := openInput(cmd, name)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := bufio.NewReaderSize(file, 1<<16)
	start, _ := buf.Peek(1 << 16)
	switch firstKey(start) {
	case "pools", "order", "strict", "preemption":
		opts, err := pools.Read(buf, name, innerPolicy)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", name, count(len(opts.Pools), "pool"))
		return err
	case "nodes":
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
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: a workload of %s and %s, arriving over %s\n",
		name, count(jobs, "job"), count(tasks, "task"), span(last.Sub(first)))
	return err
}

// firstKey returns the first key of the object that a file begins with, by which one
// can tell what the file is meant to be; "" if it begins with something else.
func firstKey(start []byte) string {
	var r io.Reader = bytes.NewReader(start)
	if z, err := gzip.NewReader(r); err == nil {
		r = z
	} else {
		r = bytes.NewReader(start)
	}
	text := bufio.NewReader(io.LimitReader(r, 1<<16)) // no more, whatever gzip makes of it
	if mark, _ := text.Peek(3); string(mark) == "\uFEFF" {
		text.Discard(3)
	}
	d := json.NewDecoder(text)
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return ""
	}
	key, _ := d.Token()
	name, _ := key.(string)
	return name
}
