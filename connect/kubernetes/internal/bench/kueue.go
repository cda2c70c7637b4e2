package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of a tenant's queues, which are of one queue for all, or of one for each that share fairly in a cohort. With boosts that of all
// has the order of a policy, and lets the Workload that is ahead preempt those behind it, or does not.
const (
	kueueOne     = "one"
	kueueFair    = "fair"
	kueueBoost   = "boost"
	kueuePreempt = "preempt"
)

// defineKueue makes the resource definitions of Kueue, from files of a folder, one queue with the slots of all nodes, and one of each tenant with
// a third of them.
func (b *bench) defineKueue(ctx context.Context, folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("-kueue-crds: no resource definitions in %s", folder)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := b.apply(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	var all strings.Builder
	all.WriteString("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: any}\n")
	queue := func(name, more string, slots int) {
		fmt.Fprintf(&all, `---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %s}
spec:
  namespaceSelector: {}%s
  resourceGroups:
  - coveredResources: [%[3]q]
    flavors:
    - name: any
      resources: [{name: %[3]q, nominalQuota: %[4]d}]
`, name, more, slot, slots)
	}
	n := b.nodes * b.slots
	queue(kueueOne, "", n)
	queue(kueueBoost, "", n)
	queue(kueuePreempt, "\n  preemption: {withinClusterQueue: LowerPriority}", n)
	for i := range numTenants {
		queue(fmt.Sprintf("%s-%d", kueueFair, i), "\n  cohortName: all", n*(i+1)/numTenants-n*i/numTenants)
	}
	if err := b.apply(ctx, all.String()); err != nil {
		return err
	}
	for { // kinds are served one by one
		list, err := b.client.Discovery().ServerResourcesForGroupVersion("kueue.x-k8s.io/v1beta2")
		if err == nil && slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "workloads" }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// boost starts a program that keeps boosts.
func (b *bench) boost(command []string) (stop func(), err error) {
	kubeconfig, err := b.cluster.Kubeconfig()
	if err != nil {
		return nil, err
	}
	var args []string
	for _, a := range command {
		args = append(args, strings.ReplaceAll(a, "{kubeconfig}", kubeconfig))
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }, nil
}

// queueOf makes the queue of a tenant.
func (b *bench) queueOf(ctx context.Context, kind, namespace string, tenant int) error {
	of := kind
	if kind == kueueFair {
		of = fmt.Sprintf("%s-%d", kind, tenant)
	}
	return b.apply(ctx, fmt.Sprintf(`apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: %s, namespace: %s}
spec: {clusterQueue: %s}
`, kind, namespace, of))
}

// apply makes objects. Kinds that were just defined may not be known at once.
func (b *bench) apply(ctx context.Context, manifests string) error {
	list, err := kubetest.Manifests([]byte(manifests))
	if err != nil {
		return err
	}
	for range 100 {
		if err = b.cluster.Apply(ctx, false, list...); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return err
}
