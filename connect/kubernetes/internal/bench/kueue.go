package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of a tenant's queues, which are of one queue for all, or of one for each that share fairly in a cohort.
const (
	kueueOne  = "one"
	kueueFair = "fair"
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
	queue := func(name, cohort string, slots int) {
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
`, name, cohort, slot, slots)
	}
	n := b.nodes * b.slots
	queue(kueueOne, "", n)
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
