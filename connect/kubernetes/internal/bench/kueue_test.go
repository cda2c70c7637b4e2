package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/suspend"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Jobs of Kueue are suspended, carry the label of their queue, and not ours.
func TestJobsOfKueue(t *testing.T) {
	o := options{policies: "fifo", kueue: "kueue", controller: "jobs", booster: "boosts"}
	var names []string
	for _, s := range o.schedulers() {
		names = append(names, s.name)
		j := mixed{pods: 2, atOnce: 1}.job(0, s)
		of := strings.HasPrefix(s.name, "kueue-")
		if queue := j.Labels["kueue.x-k8s.io/queue-name"]; of != (queue != "") || of && (!strings.HasPrefix(s.name, "kueue-"+queue) || j.Labels[suspend.Managed] != "" || !*j.Spec.Suspend) {
			t.Errorf("%s: labels %v", s.name, j.Labels)
		}
	}
	if got, want := fmt.Sprint(names), "[stock kueue-one kueue-fair kueue-boost-fifo kueue-preempt-fifo jobs-fifo]"; got != want {
		t.Errorf("schedulers %s, want %s", got, want)
	}
}

// kueueBench starts nodes of 4 slots on which Jobs run, and queues of Kueue.
func kueueBench(t *testing.T, nodes int) (context.Context, *bench) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	b, err := newBench(ctx, options{nodes: nodes, slots: 4})
	must(t, err)
	t.Cleanup(b.close)
	must(t, b.cluster.StartControllers(ctx, "job-controller", "garbage-collector-controller"))
	must(t, (&kubetest.Kubelet{Client: b.client, Run: runs}).Start(ctx))
	must(t, b.defineKueue(ctx, os.Getenv("KUEUE_CRDS")))
	return ctx, b
}

// Kueue and sojourn-jobs run beside each other on the same nodes, and each is restarted in the middle: sojourn-jobs writes to no Job of Kueue, not
// to one that has the labels of both, nor to one that is suspended by hand, and all others are complete. KUEUE is the program of
// research/benchmarks/peers/kueue/controllers, KUEUE_CRDS the folder of its resource definitions.
func TestBesideKueue(t *testing.T) {
	program := os.Getenv("KUEUE")
	if program == "" {
		t.Skip("KUEUE names no program: .ci/run all builds it, which takes minutes")
	}
	ctx, b := kueueBench(t, 5)
	_, err := b.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "both"}}, metav1.CreateOptions{})
	must(t, err)
	must(t, b.queueOf(ctx, kueueOne, "both", 0))
	theirs := options{policies: "fifo", kueue: program}.schedulers()[1]
	server, err := b.start(ctx, theirs)
	must(t, err)
	defer func() { b.cluster.Stop(server); b.cluster.Stop(kubetest.Scheduler) }()

	const agent = "sojourn-jobs-beside-kueue"
	ours := func() (stop func()) {
		config := b.cluster.Config()
		config.UserAgent = agent
		p, err := catalog.Builtin().Make("default")
		must(t, err)
		c, err := suspend.New(suspend.Config{Client: kubernetes.NewForConfigOrDie(config), Policy: p})
		must(t, err)
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		return func() {
			cancel()
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	}
	stop := ours()
	jobs := b.client.BatchV1().Jobs("both")
	kinds := map[string]func(*batchv1.Job){
		"ours":   func(j *batchv1.Job) { j.Labels = map[string]string{suspend.Managed: "true"} },
		"theirs": func(j *batchv1.Job) { j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": kueueOne} },
		"both": func(j *batchv1.Job) {
			j.Labels = map[string]string{"kueue.x-k8s.io/queue-name": kueueOne, suspend.Managed: "true"}
		},
		"by-hand": func(j *batchv1.Job) { j.Labels = nil },
	}
	create := func(from, to int) {
		for i := from; i < to; i++ {
			for kind, label := range kinds {
				j := mixed{pods: 1 + i%5, atOnce: 1 + i%3, each: 300 * time.Millisecond}.job(i, theirs)
				j.Name = fmt.Sprintf("%s-%d", kind, i)
				label(j)
				_, err := jobs.Create(ctx, j, metav1.CreateOptions{})
				must(t, err)
			}
		}
	}
	const n = 24
	create(0, n/2)
	stop()
	b.cluster.Kill(server)
	create(n/2, n)
	must(t, b.cluster.Restart(ctx, server))
	stop = ours()
	defer func() { stop() }()
	for complete := 0; complete < 3*n; {
		list, err := jobs.List(ctx, metav1.ListOptions{})
		must(t, err)
		complete = 0
		for i := range list.Items {
			j := &list.Items[i]
			if batch.Is(j, batchv1.JobComplete) {
				complete++
			}
			kind, _, _ := strings.Cut(j.Name, "-")
			if kind == "by" && (!*j.Spec.Suspend || j.Status.StartTime != nil) {
				t.Fatalf("%s was resumed", j.Name)
			}
			for _, f := range j.ManagedFields {
				if kind != "ours" && strings.HasPrefix(f.Manager, agent) {
					t.Fatalf("%s was written by sojourn-jobs: %s", j.Name, f.FieldsV1)
				}
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d Jobs are complete", complete, 3*n)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Under a policy's boosts Kueue gives the slots that come free to the small Jobs that came last, and without them, in a strict queue, to the
// large ones that came first. KUEUE and KUEUE_CRDS are as above, KUEUE_BOOST is the program of examples/kueue-boost.
func TestBoostsOfKueue(t *testing.T) {
	program, booster := os.Getenv("KUEUE"), os.Getenv("KUEUE_BOOST")
	if program == "" || booster == "" {
		t.Skip("KUEUE and KUEUE_BOOST name no programs: .ci/run all builds them, which takes minutes")
	}
	ctx, b := kueueBench(t, 1)
	must(t, b.apply(ctx, `apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: strict}
spec:
  queueingStrategy: StrictFIFO
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [example.com/slot], flavors: [{name: any, resources: [{name: example.com/slot, nominalQuota: 4}]}]}]
`))
	for _, s := range (options{policies: "default", kueue: program, booster: booster}).schedulers() {
		if s.kueue != kueueOne && s.kueue != kueueBoost {
			continue
		}
		s.kueue = "strict"
		_, err := b.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}}, metav1.CreateOptions{})
		must(t, err)
		must(t, b.queueOf(ctx, s.kueue, s.name, 0))
		server, err := b.start(ctx, s)
		must(t, err)
		stop := func() {}
		if s.booster != nil {
			stop, err = b.boost(s.booster)
			must(t, err)
		}
		jobs := b.client.BatchV1().Jobs(s.name)
		create := func(name string, pods int, each time.Duration) {
			j := mixed{pods: pods, atOnce: pods, each: each}.job(0, s)
			j.Name = name
			_, err := jobs.Create(ctx, j, metav1.CreateOptions{})
			must(t, err)
		}
		complete := func(name string) *batchv1.Job {
			for {
				j, err := jobs.Get(ctx, name, metav1.GetOptions{})
				must(t, err)
				if batch.Is(j, batchv1.JobComplete) {
					return j
				}
				time.Sleep(100 * time.Millisecond)
			}
		}
		create("first", 4, time.Hour)
		for j := new(batchv1.Job); j.Status.StartTime == nil; time.Sleep(100 * time.Millisecond) {
			j, err = jobs.Get(ctx, "first", metav1.GetOptions{})
			must(t, err)
		}
		for i := range 3 {
			create(fmt.Sprint("large-", i), 4, 2*time.Second)
		}
		time.Sleep(2 * time.Second) // Kueue orders by times of creation, which are whole seconds
		for i := range 3 {
			create(fmt.Sprint("small-", i), 1, 2*time.Second)
		}
		workloads := dynamic.NewForConfigOrDie(b.cluster.Config()).Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}).Namespace(s.name)
		for known := 0; known < 7; time.Sleep(100 * time.Millisecond) {
			list, err := workloads.List(ctx, metav1.ListOptions{})
			must(t, err)
			known = 0
			for _, w := range list.Items {
				if s.booster == nil || w.GetAnnotations()["kueue.x-k8s.io/priority-boost"] != "" {
					known++
				}
			}
		}
		must(t, jobs.Delete(ctx, "first", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
		ahead := 0
		for i := range 3 {
			for k := range 3 {
				if complete(fmt.Sprint("small-", i)).Status.StartTime.Before(complete(fmt.Sprint("large-", k)).Status.StartTime) {
					ahead++
				}
			}
		}
		want := 0
		if s.booster != nil {
			want = 9
		}
		if ahead != want {
			t.Errorf("%s: the small Jobs began before the large ones in %d pairs of 9, want %d", s.name, ahead, want)
		}
		stop()
		b.cluster.Stop(server)
		b.cluster.Stop(kubetest.Scheduler)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
