package examples_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/hfsp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The example of the README runs to its end, the small Job first, and events say why pods wait.
func TestTwoJobs(t *testing.T) {
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller")
	cl := c.Client()
	n := kubetest.Node("n", map[string]string{"cpu": "4", string(kubernetes.DefaultSlot): "2"})
	if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := (&kubetest.Kubelet{Client: cl, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		return 4 * time.Second, corev1.PodSucceeded
	}}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("two-jobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := kubetest.Manifests(text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	jobs, err := cl.BatchV1().Jobs("default").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer jobs.Stop()
	events, err := cl.CoreV1().Events("default").Watch(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	policy, err := hfsp.New(hfsp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := kubernetes.New(kubernetes.Config{Client: cl, Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	go s.Run(ctx)
	for code := 0; code != http.StatusOK; time.Sleep(10 * time.Millisecond) {
		r := httptest.NewRecorder()
		s.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/readyz", nil))
		if code = r.Code; ctx.Err() != nil {
			t.Fatal("not ready")
		}
	}
	if err := c.Apply(ctx, false, list...); err != nil {
		t.Fatal(err)
	}
	var said []string
	var ended []string
	for len(ended) < 2 {
		select {
		case ev := <-jobs.ResultChan():
			j, ok := ev.Object.(*batchv1.Job)
			if !ok {
				t.Fatalf("after %d Jobs: %v", len(ended), ctx.Err())
			}
			for _, cond := range j.Status.Conditions {
				if cond.Type == batchv1.JobComplete && cond.Status == corev1.ConditionTrue && !strings.Contains(fmt.Sprint(ended), j.Name) {
					ended = append(ended, j.Name)
				}
			}
		case ev := <-events.ResultChan():
			if e, ok := ev.Object.(*corev1.Event); ok {
				said = append(said, e.Reason+": "+e.Message)
			}
		}
	}
	if ended[0] != "reduce" {
		t.Errorf("the Jobs ended in the order %q, want the small one first", ended)
	}
	if !strings.Contains(strings.Join(said, "\n"), "Waiting: ") || !strings.Contains(strings.Join(said, "\n"), "Job default/map is number 2 of 2 in the order of the policy") {
		t.Errorf("events of pods: %q; want one that says why a pod of map waits", said)
	}
}
