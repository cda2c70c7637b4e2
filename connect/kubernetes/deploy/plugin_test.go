package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The manifests of kube-scheduler with the plugin apply, and it runs by their configuration and rights. It orders Jobs without indexes, in a
// cluster without slots, with the constraints of kube-scheduler: a sidecar's host port, a pod with an affinity to itself. Pods of
// no Job pass. It goes on after a kill, and no node has more than it holds.
func TestPlugin(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller")
	cl := c.Client()
	list := manifests(t, "plugin.yaml")
	apply(t, c, list)
	w, err := c.Witness()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	kubeconfig, err := w.Kubeconfig(t.Context(), c, "sojourn", "sojourn-kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	if err := (&kubetest.Kubelet{Client: cl, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		mu.Lock()
		defer mu.Unlock()
		if name := p.Labels[batchv1.JobNameLabel] + " " + p.Name; !slices.Contains(order, name) {
			order = append(order, name)
		}
		if p.Labels[batchv1.JobNameLabel] == "long" {
			return 300 * time.Millisecond, corev1.PodSucceeded
		}
		return 50 * time.Millisecond, corev1.PodSucceeded
	}}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		n := kubetest.Node(fmt.Sprint("n", i), map[string]string{"cpu": "4", "memory": "8Gi"})
		if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "sojourn-kube-scheduler")
	if out, err := exec.CommandContext(t.Context(), "../plugin/build.sh", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	container := find[appsv1.Deployment](t, list, "Deployment").Spec.Template.Spec.Containers[0]
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := find[corev1.ConfigMap](t, list, "ConfigMap").Data["config.yaml"]
	text = strings.Replace(text, "clientConnection: {", fmt.Sprintf("clientConnection: {kubeconfig: %q, ", kubeconfig), 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server := kubetest.Server("sojourn-kube-scheduler")
	port, err := c.Port(server)
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Clone(container.Args)
	args[slices.Index(args, "--config=/etc/sojourn/config.yaml")] = "--config=" + config
	args[slices.Index(args, "--secure-port=10259")] = fmt.Sprintf("--secure-port=%d", port)
	args = append(args, "--bind-address=127.0.0.1", "--cert-dir="+t.TempDir(), "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
	if err := c.StartCommand(t.Context(), server, program, fmt.Sprintf("https://127.0.0.1:%d%s", port, container.LivenessProbe.HTTPGet.Path), args...); err != nil {
		t.Fatal(err)
	}

	cpu := func(name string, n int32, change func(*batchv1.Job)) {
		j := job(name, n, false, nil)
		j.Spec.CompletionMode = nil
		j.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		if change != nil {
			change(j)
		}
		create(t, cl, j)
	}
	done := func(names ...string) {
		t.Helper()
		for _, name := range names {
			waitFor(t, name, func() bool { return condition(t, cl, name, batchv1.JobComplete) })
		}
	}
	cpu("long", 80, nil)
	waitFor(t, "the first of long", func() bool { mu.Lock(); defer mu.Unlock(); return len(order) >= 12 })
	c.Kill(server)
	mu.Lock()
	killed := len(order)
	mu.Unlock()
	cpu("short", 3, nil)
	free := job("free", 1, false, nil).Spec.Template.Spec
	free.Containers[0].Resources = corev1.ResourceRequirements{}
	if _, err := cl.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "free"}, Spec: free}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	done("short")
	mu.Lock()
	last := 0 // of the short Job
	for i, name := range order {
		if strings.HasPrefix(name, "short ") {
			last = i
		}
	}
	mu.Unlock()
	if n := last - killed; n > 30 { // 8 that were bound, 3 of its own, 16 in flight; the long Job had some 60 left
		t.Errorf("the short Job has started within the next %d pods", n)
	}
	cpu("port", 4, func(j *batchv1.Job) {
		always := corev1.ContainerRestartPolicyAlways
		j.Spec.Template.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "none", RestartPolicy: &always, Ports: []corev1.ContainerPort{{ContainerPort: 9090, HostPort: 9090}}}}
	})
	cpu("wrong", 1, func(j *batchv1.Job) { j.Annotations = map[string]string{kubernetes.Weight: "7"} })
	cpu("nowhere", 1, func(j *batchv1.Job) {
		j.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = resource.MustParse("5")
	})
	done("long", "port", "wrong")
	waitFor(t, "the pod of no Job", func() bool {
		p, err := cl.CoreV1().Pods("default").Get(t.Context(), "free", metav1.GetOptions{})
		return err == nil && p.Spec.NodeName != ""
	})
	waitFor(t, "a word about the pod that fits nowhere", func() bool {
		pods, err := cl.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=nowhere"})
		return err == nil && len(pods.Items) == 1 && slices.ContainsFunc(pods.Items[0].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		})
	})
	if got := w.Denied(); len(got) > 0 {
		t.Errorf("forbidden: %q", got)
	}
}
