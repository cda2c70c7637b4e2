package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
)

func made(i, pods int, conditions ...string) *unstructured.Unstructured {
	var list []any
	for _, c := range conditions {
		list = append(list, map[string]any{"type": c, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
		"spec":   map[string]any{"podSets": []any{map[string]any{"count": int64(pods)}}},
		"status": map[string]any{"conditions": list},
	}}
	u.SetNamespace(fmt.Sprint("tenant-", i%3))
	u.SetName(fmt.Sprint("w", i))
	u.SetUID(types.UID(fmt.Sprint(i)))
	return u
}

func ordered(t *testing.T, policy string, now func() time.Time) *order {
	t.Helper()
	p, err := catalog.Builtin().Make(policy)
	if err != nil {
		t.Fatal(err)
	}
	o, err := newOrder(p, now)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// Boosts fall in the order of the policy, whatever happens to Workloads, and no more of them change than must: none of the boosts that
// were kept could be kept together with one that changed. Each refused fact would panic.
func TestBoostsFall(t *testing.T) {
	for _, name := range []string{"fifo", "fair", "default", "hfsp", "td"} {
		r := rand.New(rand.NewPCG(1, 2))
		now := time.Unix(1_800_000_000, 0)
		o := ordered(t, name, func() time.Time { return now })
		writes, anew := 0, 0
		for i := range 1000 {
			now = now.Add(time.Duration(r.Int64N(int64(time.Minute))))
			pods := r.IntN(5)
			for range 1 + r.IntN(3) {
				switch n := r.IntN(40); r.IntN(5) {
				case 0:
					o.gone(made(n, 1))
				case 1:
					o.seen(made(n, pods, "QuotaReserved"))
				case 2:
					o.seen(made(n, pods, "QuotaReserved", "Finished"))
				default:
					o.seen(made(n, pods))
				}
			}
			before := map[*workload]int64{}
			for _, w := range o.byID {
				if w.written {
					before[w] = w.boost
				}
			}
			changed := o.rank()
			if writes += len(changed); len(changed) == len(o.byID) {
				anew++
			}
			all := o.ranking.AppendRanking(nil)
			for k := 1; k < len(all); k++ {
				if a, b := o.byID[all[k-1]], o.byID[all[k]]; a.boost <= b.boost {
					t.Fatalf("%s: after %d: %s has %d, and %s behind it %d", name, i, a.name, a.boost, b.name, b.boost)
				}
			}
			if want := len(all) - fall(all, o, before); len(changed) != want && len(changed) != len(all) {
				t.Fatalf("%s: after %d: %d boosts of %d changed, want %d", name, i, len(changed), len(all), want)
			}
		}
		t.Logf("%s: %d writes, %d times all of them", name, writes, anew)
		if anew > 200 {
			t.Errorf("%s: all boosts were written anew %d times", name, anew)
		}
	}
}

// fall returns the length of a longest sequence in which boosts fall.
func fall(all []sojourn.JobID, o *order, boosts map[*workload]int64) (most int) {
	best := make([]int, len(all))
	for i, id := range all {
		b, ok := boosts[o.byID[id]]
		if !ok {
			continue
		}
		best[i] = 1
		for k := range i {
			if a, ok := boosts[o.byID[all[k]]]; ok && a > b {
				best[i] = max(best[i], best[k]+1)
			}
		}
		most = max(most, best[i])
	}
	return most
}

// A Workload runs from when quota is reserved until it is evicted, deleted or finished, and its slots are free then.
func TestEviction(t *testing.T) {
	o := ordered(t, "default", time.Now)
	for i, c := range []struct {
		does func(*unstructured.Unstructured)
		u    *unstructured.Unstructured
		runs int
		idle int
	}{
		{o.seen, made(1, 3), 0, 0},
		{o.seen, made(1, 3, "QuotaReserved"), 3, 0},
		{o.seen, made(1, 3, "QuotaReserved"), 3, 0},
		{o.seen, made(1, 3), 0, 3}, // evicted
		{o.seen, made(1, 3, "QuotaReserved"), 3, 0},
		{o.gone, made(1, 3), 0, 3},
		{o.seen, made(2, 2, "QuotaReserved"), 2, 1},
		{o.seen, made(2, 2, "QuotaReserved", "Finished"), 0, 3},
		{o.seen, made(2, 2, "Finished"), 0, 3},
	} {
		c.does(c.u)
		runs := 0
		for _, w := range o.known {
			runs += len(w.on)
		}
		if runs != c.runs || len(o.idle) != c.idle {
			t.Errorf("step %d: %d pods run and %d slots are free, want %d and %d", i+1, runs, len(o.idle), c.runs, c.idle)
		}
	}
	if len(o.known)+len(o.byID) > 0 {
		t.Errorf("Workloads that are over are kept: %v", o.known)
	}
}

// Boosts that are there at first are kept where they fall. Equal ones, too great ones and texts are written anew.
func TestBoostsOfBefore(t *testing.T) {
	o := ordered(t, "fifo", time.Now)
	for i, text := range []string{"2147483647", "70", "50", "50", "x", "40"} {
		u := made(i, 1)
		u.SetAnnotations(map[string]string{boost: text})
		o.seen(u)
	}
	changed := o.rank()
	all := o.ranking.AppendRanking(nil)
	for k := 1; k < len(all); k++ {
		if a, b := o.byID[all[k-1]], o.byID[all[k]]; a.boost <= b.boost {
			t.Errorf("%s has %d, and %s behind it %d", a.name, a.boost, b.name, b.boost)
		}
	}
	if first, second, last := o.byID[all[0]].boost, o.byID[all[1]].boost, o.byID[all[5]].boost; len(changed) != 3 || first > most || second != 70 || last != 40 {
		t.Errorf("%d boosts changed, want 3; the first is %d, the second %d and the last %d, want one that is not too great, 70 and 40", len(changed), first, second, last)
	}
}

// Later ones stand behind many thousands, and all of them get boosts that Kueue takes.
func TestManyWorkloads(t *testing.T) {
	o := ordered(t, "fifo", time.Now)
	const n = 50_000
	for i := range n {
		o.seen(made(i, 1))
	}
	if changed := o.rank(); len(changed) != n {
		t.Fatalf("%d boosts", len(changed))
	}
	for _, w := range o.byID {
		if w.boost < -most || w.boost > most {
			t.Fatalf("the boost %d", w.boost)
		}
	}
}

// A policy that ranks nothing is refused, and a Workload that the policy refuses gets no boost.
func TestRefused(t *testing.T) {
	o := ordered(t, "rtmr:require-deadline=true", time.Now)
	o.seen(made(1, 2))
	o.seen(made(1, 2, "QuotaReserved"))
	o.seen(made(1, 2, "QuotaReserved", "Finished"))
	o.gone(made(1, 2))
	if len(o.rank()) != 0 || len(o.known) != 0 {
		t.Error("a refused Workload has a boost")
	}
	if err := run(t.Context(), []string{"-policy", "no such"}); err == nil {
		t.Error("no error")
	}
	if err := run(t.Context(), []string{"-every", "0s"}); err == nil {
		t.Error("no error")
	}
}

// Workloads of a real server get boosts, the smaller one the greater. After a restart those that fit stay.
func TestKeep(t *testing.T) {
	c := kubetest.Start(t)
	definition := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: workloads.kueue.x-k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: kueue.x-k8s.io
  scope: Namespaced
  names: {plural: workloads, singular: workload, kind: Workload}
  versions:
  - name: v1beta2
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`
	list, err := kubetest.Manifests([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), false, list...); err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(c.Config())
	workloads := client.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}).Namespace("default")
	create := func(name string, pods int) {
		u := made(0, pods)
		u.SetName(name)
		u.SetUID("")
		u.SetNamespace("default")
		until(t, "the kind is served", func() bool {
			_, err := workloads.Create(t.Context(), u, metav1.CreateOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	boosts := func() map[string]string {
		all, err := workloads.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for _, u := range all.Items {
			m[u.GetName()] = u.GetAnnotations()[boost]
		}
		return m
	}
	start := func() (stop func()) {
		o := ordered(t, "default", time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- keep(ctx, client, "default", 50*time.Millisecond, o) }()
		return func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
	create("large", 9)
	create("small", 2)
	stop := start()
	until(t, "there are two boosts", func() bool { m := boosts(); return m["large"] != "" && m["small"] != "" })
	first := boosts()
	stop()
	create("middle", 5)
	stop = start()
	until(t, "there are three boosts", func() bool { return boosts()["middle"] != "" })
	stop()
	m := boosts()
	var n [3]int
	for i, name := range []string{"small", "middle", "large"} {
		if _, err := fmt.Sscan(m[name], &n[i]); err != nil {
			t.Fatal(err)
		}
	}
	if !(n[0] > n[1] && n[1] > n[2]) || m["small"] != first["small"] || m["large"] != first["large"] {
		t.Errorf("boosts %v, and before %v", m, first)
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after three minutes it is not so that %s", what)
		}
	}
}
