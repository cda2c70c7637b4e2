package kubernetes_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/kubernetes"
	"github.com/sojourn-sched/sojourn/kubernetes/internal/kubetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
)

// bare starts servers without controllers.
func bare(t *testing.T) (*kubetest.Cluster, clients.Interface) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal("no servers: run kubernetes/test.sh")
	}
	c := kubetest.Start(t)
	return c, c.Client()
}

func createNode(t *testing.T, cl clients.Interface, name string, room map[string]string, change func(*corev1.Node)) {
	t.Helper()
	n := kubetest.Node(name, room)
	if change != nil {
		change(n)
	}
	if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func createPod(t *testing.T, cl clients.Interface, name string, change func(*corev1.Pod)) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: job(name, 1, false, nil).Spec.Template.Spec}
	if change != nil {
		change(p)
	}
	if _, err := cl.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitPod watches pods until ok says so of the one of that name, and returns it.
func awaitPod(t *testing.T, cl clients.Interface, name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w, err := cl.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for ev := range w.ResultChan() {
		if p, is := ev.Object.(*corev1.Pod); is && ok(p) {
			return p
		}
	}
	t.Fatalf("pod %s: not within a minute", name)
	return nil
}

func isBound(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

// unscheduled returns the message of the condition PodScheduled, if it is False.
func unscheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// On a real API server pods go to nodes that they match and tolerate, past a pod that waits for a node, and
// that one says why until a node of that kind comes.
func TestWishesOnRealServer(t *testing.T) {
	_, cl := bare(t)
	slots := map[string]string{string(kubernetes.DefaultSlot): "1"}
	gpu := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	}
	createNode(t, cl, "gpu", slots, gpu)
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = start(t, cl, p)
	createPod(t, cl, "ssd", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	want := "0 of 1 nodes are suitable: 1 has the taint gpu=yes:NoSchedule, which the pod does not tolerate"
	awaitPod(t, cl, "ssd", func(p *corev1.Pod) bool { return unscheduled(p) == want })
	createPod(t, cl, "cuda", func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	})
	if got := awaitPod(t, cl, "cuda", isBound).Spec.NodeName; got != "gpu" {
		t.Errorf("the pod that tolerates the taint is on %s", got)
	}
	createNode(t, cl, "plain", slots, nil)
	createPod(t, cl, "any", nil)
	if got := awaitPod(t, cl, "any", isBound).Spec.NodeName; got != "plain" {
		t.Errorf("the pod that demands nothing is on %s", got)
	}
	awaitPod(t, cl, "ssd", func(p *corev1.Pod) bool { return strings.HasPrefix(unscheduled(p), "0 of 2 nodes") })
	patch := `{"metadata":{"labels":{"disk":"ssd"}},"status":{"capacity":{"` + string(kubernetes.DefaultSlot) + `":"2"}}}`
	for _, sub := range []string{"", "status"} {
		if _, err := cl.CoreV1().Nodes().Patch(t.Context(), "plain", types.MergePatchType, []byte(strings.ReplaceAll(patch, "capacity", "allocatable")), metav1.PatchOptions{}, strings.Fields(sub)...); err != nil {
			t.Fatal(err)
		}
	}
	if got := awaitPod(t, cl, "ssd", isBound).Spec.NodeName; got != "plain" {
		t.Errorf("the pod that demands a disk is on %s", got)
	}
}
