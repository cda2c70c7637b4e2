// Command sojourn-scheduler is a scheduler of Kubernetes in the order of a sojourn policy.
//
//	sojourn-scheduler -policy hfsp
//
// Package kubernetes says which pods it schedules, and how Jobs tell their sizes and deadlines.
package main

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/command"
)

const name = "sojourn-scheduler"

func main() { command.Main(name, run) }

func run(ctx context.Context, args []string) error {
	flags := command.NewFlags(name, 16)
	schedulerName := flags.String("name", "sojourn", "what pods name in spec.schedulerName")
	slots := flags.String("slots", string(kubernetes.DefaultSlot), "the extended resources that are slots, with commas: class 0, class 1, ...")
	shapes := flags.Bool("shapes", false, "pods share nodes by what they request, in the order of fair over dominant shares; -policy and -slots say nothing then")
	patience := flags.Duration("patience", time.Minute, "how long a gang waits until places are kept for it, and with -shapes pods of one shape until a node is; below 0: for ever")
	keep := flags.Duration("gang-keep", 10*time.Minute, "how long places are kept for a gang at most")
	nodes := flags.String("nodes", "", "a selector of nodes by labels; empty: all that advertise slots")
	events := flags.Int("events", 10, "the most events a second that say why pods wait; below 0: none")
	unschedulable := flags.Bool("unschedulable", false, "pods that wait say PodScheduled=False, Unschedulable, so that autoscalers add nodes for them")
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
	config := kubernetes.Config{
		Client: client, Policy: policy, Name: *schedulerName, Namespace: flags.Namespace, Nodes: *nodes,
		Workers: flags.Workers, Events: *events, GangPatience: *patience, GangKeep: *keep, Limits: flags.Limits(), Unschedulable: *unschedulable, Lease: lease,
	}
	if *shapes {
		config.Policy, config.Shapes = nil, &kubernetes.Shapes{Patience: *patience}
	} else {
		for _, s := range strings.Split(*slots, ",") {
			config.Slots = append(config.Slots, corev1.ResourceName(s))
		}
	}
	s, err := kubernetes.New(config)
	if err != nil {
		return err
	}
	return flags.Run(ctx, s)
}
