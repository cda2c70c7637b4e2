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
	clients "k8s.io/client-go/kubernetes"
)

// scheduler is kube-scheduler with the plugin, as a server.
const scheduler = kubetest.Server("sojourn-kube-scheduler")

// standby is a second replica.
const standby = kubetest.Server("standby")

// A bed is real servers, with the controllers that Kubernetes has for what the tests use, and kube-scheduler with the plugin. Its
// profile sojourn has it, and its profile default-scheduler is as always.
type bed struct {
	*kubetest.Cluster
	client  clients.Interface
	witness *kubetest.Witness
	replica func(*testing.T, kubetest.Server) // starts one

	mu    sync.Mutex
	order []string // the Job and the name of each pod, as they were bound
}

// newBed applies the manifests of the plugin, and starts it by them. Pods run for as long as their annotation takes says, and
// until they are deleted without it.
func newBed(t *testing.T) *bed {
	t.Helper()
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller", "resourcequota-controller", "pod-garbage-collector-controller",
		"persistentvolume-binder-controller", "ephemeral-volume-controller", "namespace-controller", "ttl-after-finished-controller", "cronjob-controller")
	b := &bed{Cluster: c, client: c.Client()}
	list := manifests(t, "plugin.yaml")
	apply(t, c, list)
	var err error
	if b.witness, err = c.Witness(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.witness.Close)
	kubeconfig, err := b.witness.Kubeconfig(t.Context(), c, "sojourn", "sojourn-kube-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	if err := (&kubetest.Kubelet{Client: b.client, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if name := p.Labels[batchv1.JobNameLabel] + " " + p.Name; !slices.Contains(b.order, name) {
			b.order = append(b.order, name)
		}
		d, err := time.ParseDuration(p.Annotations["takes"])
		if err != nil {
			return -1, ""
		}
		return d, corev1.PodSucceeded
	}}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), string(scheduler))
	if out, err := exec.CommandContext(t.Context(), "../plugin/build.sh", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	container := find[appsv1.Deployment](t, list, "Deployment").Spec.Template.Spec.Containers[0]
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := find[corev1.ConfigMap](t, list, "ConfigMap").Data["config.yaml"]
	text = strings.Replace(text, "clientConnection: {", fmt.Sprintf("clientConnection: {kubeconfig: %q, ", kubeconfig), 1)
	text = strings.Replace(text, "profiles:\n", "profiles:\n- schedulerName: default-scheduler\n", 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.replica = func(t *testing.T, server kubetest.Server) {
		t.Helper()
		port, err := c.Port(server)
		if err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(container.Args)
		args[slices.Index(args, "--config=/etc/sojourn/config.yaml")] = "--config=" + config
		args[slices.Index(args, "--secure-port=10259")] = fmt.Sprintf("--secure-port=%d", port)
		args = append(args, "--bind-address=127.0.0.1", "--cert-dir="+filepath.Join(filepath.Dir(config), string(server)), "--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig)
		if err := c.StartCommand(t.Context(), server, program, fmt.Sprintf("https://127.0.0.1:%d%s", port, container.LivenessProbe.HTTPGet.Path), args...); err != nil {
			t.Fatal(err)
		}
	}
	b.replica(t, scheduler)
	return b
}

// node makes a node of so many cpus with labels.
func (b *bed) node(t *testing.T, name, cpu string, labels map[string]string, change ...func(*corev1.Node)) {
	t.Helper()
	n := kubetest.Node(name, map[string]string{"cpu": cpu, "memory": "8Gi"})
	for k, v := range labels {
		n.Labels[k] = v
	}
	for _, f := range change {
		f(n)
	}
	if _, err := b.client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// cpuJob makes a Job without indexes of n pods of 1 cpu.
func (b *bed) cpuJob(t *testing.T, name string, n int32, takes string, change func(*batchv1.Job)) {
	t.Helper()
	j := job(name, n, false, nil)
	j.Spec.CompletionMode = nil
	j.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	if takes != "" {
		j.Spec.Template.Annotations = map[string]string{"takes": takes}
	}
	if change != nil {
		change(j)
	}
	create(t, b.client, j)
}

// pods returns the pods of a Job that were not deleted.
func (b *bed) pods(t *testing.T, space, job string) []corev1.Pod {
	t.Helper()
	list, err := b.client.CoreV1().Pods(space).List(t.Context(), metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
}

// refused returns what kube-scheduler says of a pod that fits nowhere, with its reason, empty if it says nothing.
func refused(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

func (b *bed) done(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		waitFor(t, name, func() bool { return condition(t, b.client, name, batchv1.JobComplete) })
	}
}

// What must hold of the plugin on real servers.
func TestPlugin(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	t.Run("kill", func(t *testing.T) { pluginKill(t, b) })
	t.Run("features", func(t *testing.T) { pluginFeatures(t, b) })
	t.Run("changes", func(t *testing.T) { pluginChanges(t, b) })
	got := slices.DeleteFunc(b.witness.Denied(), func(verb string) bool { // by binds-refused, and where a namespace is deleted
		return verb == "create pods/binding" || verb == "create events.events.k8s.io"
	})
	if len(got) > 0 {
		t.Errorf("forbidden: %q", got)
	}
	t.Run("api-server", func(t *testing.T) { apiServer(t, b.shift(t, "api-server")) }) // it forbids much while it starts
}

// The plugin runs by the configuration and rights of its manifests. It orders Jobs without indexes, in a cluster without slots. Pods of
// no Job pass. It goes on when one of two replicas is killed, and leaves a Job that somebody has suspended as it is.
func pluginKill(t *testing.T, b *bed) {
	room := map[string]string{"room": "kill"}
	for i := range 2 {
		b.node(t, fmt.Sprint("n", i), "4", room)
	}
	there := func(j *batchv1.Job) { j.Spec.Template.Spec.NodeSelector = room }
	bound := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.order)
	}
	held := b.shift(t, "suspended")
	held.nodes(t, "2")
	held.job(t, "held", 4, "1", "")
	held.wait(t, "held", 2, 2)
	held.patch(t, "held", `{"spec":{"suspend":true}}`)
	held.wait(t, "held", 0, 0)
	b.cpuJob(t, "long", 80, "300ms", there)
	waitFor(t, "the first of long", func() bool { return bound() >= 14 })
	b.replica(t, standby)
	b.Kill(scheduler)
	killed := bound()
	b.cpuJob(t, "short", 3, "50ms", there)
	free := job("free", 1, false, nil).Spec.Template.Spec
	free.NodeSelector, free.Containers[0].Resources = room, corev1.ResourceRequirements{}
	if _, err := b.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "free"}, Spec: free}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.done(t, "short")
	b.mu.Lock()
	last := 0 // of the short Job
	for i, name := range b.order {
		if strings.HasPrefix(name, "short ") {
			last = i
		}
	}
	b.mu.Unlock()
	if n := last - killed; n > 30 { // 8 that were bound, 3 of its own, 16 in flight; the long Job had some 60 left
		t.Errorf("the short Job has started within the next %d pods", n)
	}
	b.cpuJob(t, "wrong", 1, "50ms", func(j *batchv1.Job) {
		there(j)
		j.Annotations = map[string]string{kubernetes.Weight: "7"}
	})
	b.done(t, "long", "wrong")
	held.job(t, "other", 4, "1", "50ms")
	held.complete(t, "other")
	held.wait(t, "held", 0, 0)
	held.patch(t, "held", `{"spec":{"suspend":false}}`)
	held.wait(t, "held", 2, 2)
	waitFor(t, "the pod of no Job", func() bool {
		p, err := b.client.CoreV1().Pods("default").Get(t.Context(), "free", metav1.GetOptions{})
		return err == nil && p.Spec.NodeName != ""
	})
}
