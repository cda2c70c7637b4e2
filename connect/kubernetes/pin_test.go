package kubernetes_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gated makes the pods of a Job wait behind the gate, for stock kube-scheduler.
func (r *room) gated(j *batchv1.Job) {
	j.Spec.Template.Labels = map[string]string{kubernetes.Managed: r.name}
	j.Spec.Template.Spec.SchedulerName = ""
	j.Spec.Template.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: kubernetes.Gate}}
}

func gatePin(c *kubernetes.Config) { c.GatePin = true }

// The API server's rules of gates, on which package kubernetes relies: a gated pod is not bound, and what
// it is pinned to cannot be changed once the gate is gone. The same patch may be repeated.
func TestGateRules(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.room(t, "rules")
	p := r.pod("p", func(p *corev1.Pod) {
		p.Spec.SchedulerName, p.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: kubernetes.Gate}}
	})
	pods := h.client.CoreV1().Pods(r.name)
	b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
	if err := pods.Bind(t.Context(), b, metav1.CreateOptions{}); err == nil {
		t.Error("a gated pod was bound")
	}
	patch := func(host string) error {
		text := `{"spec":{"nodeSelector":{"kubernetes.io/hostname":"` + host + `"},"schedulingGates":[{"$patch":"delete","name":"` + kubernetes.Gate + `"}]}}`
		_, err := pods.Patch(t.Context(), p.Name, types.StrategicMergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	for _, tc := range []struct {
		host string
		ok   bool
	}{{"a", true}, {"a", true}, {"b", false}} {
		if err := patch(tc.host); (err == nil) != tc.ok {
			t.Errorf("pinned to %s: %v", tc.host, err)
		}
	}
}

// Stock kube-scheduler places the pods that the policy lets go, on the nodes that it names. Schedulers are
// replaced in the middle, also while pods are pinned and not yet placed; no node has more pods than slots.
// A pod that is pinned to a node that is cordoned is made again elsewhere.
func TestGatePin(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	if err := h.cluster.StartScheduler(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	r := h.room(t, "pins")
	first, second := r.node(0, 2), r.node(1, 2)
	end := r.audit(2)
	stop := r.start(nil, r.policy("hfsp"), gatePin)
	r.job("map", 20, nil, r.gated)
	r.await("map", func(j *batchv1.Job) bool { return j.Status.Succeeded >= 5 })
	stop()
	stop = r.start(nil, nil, gatePin)
	r.await("map", has(batchv1.JobComplete, ""))
	a := end(20)
	r.report(a)
	for task, n := range a.tasks {
		if n != 1 {
			t.Errorf("%d pods of task %s were bound", n, task)
		}
	}
	pods, err := h.client.CoreV1().Pods(r.name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if p.Spec.NodeName != p.Annotations[kubernetes.Pinned] || p.Annotations[kubernetes.Attempt] != "1" {
			t.Errorf("pod %s on node %s: annotations %v", p.Name, p.Spec.NodeName, p.Annotations)
		}
	}

	if err := h.cluster.Pause(kubetest.Scheduler); err != nil {
		t.Fatal(err)
	}
	pinned := func(nodes ...string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool {
			at := p.DeepCopy()
			at.Spec.NodeName = at.Annotations[kubernetes.Pinned]
			return len(p.Spec.SchedulingGates) == 0 && p.Labels[batchv1.JobNameLabel] == "stuck" && placed(nodes...)(at)
		}
	}
	r.job("stuck", 6, nil, r.gated)
	r.awaitPods("4 pods are pinned", 4, pinned(first, second))
	stop()
	end = r.audit(2)
	r.start(nil, nil, gatePin)
	n, err := h.client.CoreV1().Nodes().Get(t.Context(), first, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n.Spec.Unschedulable = true
	if _, err := h.client.CoreV1().Nodes().Update(t.Context(), n, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	r.awaitNone("no pod is pinned to the cordoned node", pinned(first))
	if err := h.cluster.Resume(kubetest.Scheduler); err != nil {
		t.Fatal(err)
	}
	r.await("stuck", has(batchv1.JobComplete, ""))
	for _, p := range r.awaitPods("6 pods have succeeded", 6, func(p *corev1.Pod) bool {
		return p.Labels[batchv1.JobNameLabel] == "stuck" && p.Status.Phase == corev1.PodSucceeded
	}) {
		if p.Spec.NodeName != second {
			t.Errorf("pod %s ran on node %s, which is cordoned", p.Name, p.Spec.NodeName)
		}
	}
	r.report(end(6))

	// A pod without the gate is not held back, and an event says so.
	r.pod("free", func(p *corev1.Pod) {
		p.Spec.SchedulerName, p.Labels = "", map[string]string{kubernetes.Managed: r.name}
	})
	r.awaitEvent("Pod", "free", "NotScheduled", "has no scheduling gate")
}
