// Command sojourn-jobs gives Jobs of Kubernetes turns in the order of a sojourn policy, where stock kube-scheduler
// places the pods.
//
//	sojourn-jobs -policy hfsp -nodes pool=batch
//
// Package suspend says which Jobs get turns, and what is promised.
package main

import (
	"context"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/command"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/suspend"
)

const name = "sojourn-jobs"

func main() { command.Main(name, run) }

func run(ctx context.Context, args []string) error {
	flags := command.NewFlags(name, 8)
	slots := flags.Int("slots", 0, "how many pods of all these Jobs may run at a time; 0: as many as nodes or a quota have room for")
	nodes := flags.String("nodes", "", "a selector of nodes by labels, whose room counts; empty: all nodes")
	quota := flags.String("quota", "", "namespace/name of a ResourceQuota that counts instead of nodes")
	jobs := flags.String("jobs", suspend.Managed+"=true", "a selector of Jobs by labels")
	if err := flags.Parse(args); err != nil {
		return err
	}
	policy, err := flags.Policy()
	if err != nil {
		return err
	}
	client, err := flags.Client()
	if err != nil {
		return err
	}
	lease, err := flags.Lease()
	if err != nil {
		return err
	}
	c, err := suspend.New(suspend.Config{
		Client: client, Policy: policy, Slots: *slots, Nodes: *nodes, Quota: *quota, Namespace: flags.Namespace, Jobs: *jobs, Workers: flags.Workers, Limits: flags.Limits(), Lease: lease,
	})
	if err != nil {
		return err
	}
	return flags.Run(ctx, c)
}
