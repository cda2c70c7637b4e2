package deploy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/suspend"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
)

func manifests(t *testing.T, name string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	list, err := kubetest.Manifests(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// find decodes the one object of a kind.
func find[T any](t *testing.T, list []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	i := slices.IndexFunc(list, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	o := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(list[i].Object, o, true); err != nil {
		t.Fatal(err)
	}
	return o
}

// apply tries a file of manifests with a dry run, as a user would, and then applies it.
func apply(t *testing.T, c *kubetest.Cluster, list []*unstructured.Unstructured) {
	t.Helper()
	if err := c.Apply(t.Context(), false, list[0]); err != nil || list[0].GetKind() != "Namespace" {
		t.Fatal(err, list[0].GetKind())
	}
	if err := c.Apply(t.Context(), true, list...); err != nil {
		t.Fatal(err)
	}
	d := find[appsv1.Deployment](t, list, "Deployment")
	if _, err := c.Client().AppsV1().Deployments(d.Namespace).Get(t.Context(), d.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the dry run: %v, want not found", err)
	}
	if err := c.Apply(t.Context(), false, list...); err != nil {
		t.Fatal(err)
	}
}

// granted lists what the roles allow, as a Witness names it.
func granted(t *testing.T, list []*unstructured.Unstructured) []string {
	rules := append(find[rbacv1.ClusterRole](t, list, "ClusterRole").Rules, find[rbacv1.Role](t, list, "Role").Rules...)
	var all []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			if group != "" {
				group = "." + group
			}
			for _, res := range r.Resources {
				name, sub, ok := strings.Cut(res, "/")
				if name += group; ok {
					name += "/" + sub
				}
				for _, verb := range r.Verbs {
					all = append(all, verb+" "+name)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// launch builds a command, and runs it as the container of a Deployment does, but for the address and the
// options. It returns the address.
func launch(t *testing.T, c *kubetest.Cluster, d *appsv1.Deployment, kubeconfig string, options ...string) string {
	t.Helper()
	container := d.Spec.Template.Spec.Containers[0]
	name := strings.TrimPrefix(container.Command[0], "/")
	program := filepath.Join(t.TempDir(), name)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/"+name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	port, err := c.Port(kubetest.Server(name))
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if i := slices.Index(container.Args, fmt.Sprintf("-listen=:%d", container.Ports[0].ContainerPort)); i < 0 {
		t.Errorf("args %q: want -listen at the port %d of the container", container.Args, container.Ports[0].ContainerPort)
	}
	args := append(slices.Clone(container.Args), append(options, "-kubeconfig="+kubeconfig, "-listen="+address)...)
	for _, p := range []*corev1.Probe{container.LivenessProbe, container.ReadinessProbe} {
		if p.HTTPGet.Port.String() != container.Ports[0].Name {
			t.Errorf("a probe asks port %v, want %s", p.HTTPGet.Port, container.Ports[0].Name)
		}
	}
	if err := c.StartCommand(t.Context(), kubetest.Server(name), program, "http://"+address+container.ReadinessProbe.HTTPGet.Path, args...); err != nil {
		t.Fatal(err)
	}
	if code, _ := get(t, "http://"+address+container.LivenessProbe.HTTPGet.Path); code != http.StatusOK {
		t.Errorf("the liveness probe gets %d", code)
	}
	return address
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Timeout: time.Minute}
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// waitFor asks until ok, for five minutes at most.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

func job(name string, n int32, suspend bool, notes map[string]string) *batchv1.Job {
	mode, grace := batchv1.IndexedCompletion, int64(0)
	spec := corev1.PodSpec{
		SchedulerName: "sojourn", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{kubernetes.DefaultSlot: resource.MustParse("1")},
		}}},
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes, Labels: map[string]string{kubernetes.Admit: "true"}},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: &mode, Suspend: &suspend,
			Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}

func create(t *testing.T, cl clients.Interface, j *batchv1.Job) {
	t.Helper()
	if _, err := cl.BatchV1().Jobs("default").Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func condition(t *testing.T, cl clients.Interface, name string, kind batchv1.JobConditionType) bool {
	j, err := cl.BatchV1().Jobs("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == kind && c.Status == corev1.ConditionTrue
	})
}

// In a namespace that is not trusted nobody may ask for a pool, a weight, a deadline or a gang, on a Job or a pod, also by a
// change. What was there before stays, and may be changed otherwise. In one that is, everybody may.
func TestTenants(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	cl := c.Client()
	weighted := job("before", 1, true, map[string]string{kubernetes.Weight: "2"})
	create(t, cl, weighted)
	if err := c.Apply(t.Context(), false, manifests(t, "tenants.yaml")...); err != nil {
		t.Fatal(err)
	}
	trusted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "trusted", Labels: map[string]string{"sojourn-sched.github.io/trusted": "true"}}}
	if _, err := cl.CoreV1().Namespaces().Create(t.Context(), trusted, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	try := func(space, key, value string, pod bool) error {
		j := job("j", 1, true, nil)
		if j.Annotations = map[string]string{key: value}; key == kubernetes.Gang {
			j.Annotations, j.Labels = nil, map[string]string{key: value}
		}
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		var err error
		if pod {
			p := &corev1.Pod{ObjectMeta: j.ObjectMeta, Spec: j.Spec.Template.Spec}
			_, err = cl.CoreV1().Pods(space).Create(t.Context(), p, dry)
		} else {
			_, err = cl.BatchV1().Jobs(space).Create(t.Context(), j, dry)
		}
		return err
	}
	waitFor(t, "the policy", func() bool { return try("default", kubernetes.Weight, "2", false) != nil })
	for _, tc := range []struct {
		key, value string
		ok         bool
	}{
		{kubernetes.Size, "90s", true}, {kubernetes.Pool, "other", false}, {kubernetes.Weight, "2", false},
		{kubernetes.Deadline, "2199-01-01T00:00:00Z", false}, {kubernetes.Gang, "", false},
	} {
		for _, pod := range []bool{false, true} {
			if err := try("default", tc.key, tc.value, pod); (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "need") {
				t.Errorf("%s, pod %v: %v, allowed %v", tc.key, pod, err, tc.ok)
			}
			if err := try("trusted", tc.key, tc.value, pod); err != nil {
				t.Errorf("%s, pod %v, in the trusted namespace: %v", tc.key, pod, err)
			}
		}
	}
	for patch, ok := range map[string]bool{`{"metadata":{"labels":{"x":"y"}}}`: true, `{"metadata":{"annotations":{"` + kubernetes.Weight + `":"3"}}}`: false} {
		_, err := cl.BatchV1().Jobs("default").Patch(t.Context(), "before", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if (err == nil) != ok {
			t.Errorf("patch %s: %v, allowed %v", patch, err, ok)
		}
	}
}

// The manifests apply, the command takes the arguments of the Deployment, and needs exactly the rights that
// the roles give: it does here all that it can do. The dashboard asks for metrics that there are.
func TestScheduler(t *testing.T) {
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller")
	cl := c.Client()
	list := manifests(t, "scheduler.yaml")
	apply(t, c, list)
	w, err := c.Witness()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	var binds atomic.Int32
	w.Fault = func(rw http.ResponseWriter, r *http.Request, verb string) bool {
		if verb != "create pods/binding" || binds.Add(1) > 2 {
			return false
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusConflict) // twice: the second event about it is a patch of the first
		fmt.Fprint(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault","reason":"Conflict","code":409}`)
		return true
	}
	if err := (&kubetest.Kubelet{Client: cl, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		if p.Labels[batchv1.JobNameLabel] == "long" {
			return -1, ""
		}
		return 50 * time.Millisecond, corev1.PodSucceeded
	}}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := w.Kubeconfig(t.Context(), c, "sojourn", "sojourn-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	address := launch(t, c, find[appsv1.Deployment](t, list, "Deployment"), kubeconfig, "-policy=fair:fair-timeout=1s", "-any-pool")
	create(t, cl, job("first", 1, false, nil))
	lost := job("lost", 1, false, nil)
	lost.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such"}
	create(t, cl, lost)
	create(t, cl, job("wrong", 1, false, map[string]string{kubernetes.Size: "long"}))
	n := kubetest.Node("n", map[string]string{"cpu": "4", string(kubernetes.DefaultSlot): "4"})
	if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "first", func() bool { return condition(t, cl, "first", batchv1.JobComplete) })
	waitFor(t, "wrong", func() bool { return condition(t, cl, "wrong", kubernetes.Rejected) })
	create(t, cl, job("long", 4, true, map[string]string{kubernetes.Size: "1h"}))
	waitFor(t, "long", func() bool {
		j, err := cl.BatchV1().Jobs("default").Get(t.Context(), "long", metav1.GetOptions{})
		return err == nil && j.Status.Active == 4
	})
	create(t, cl, job("short", 2, false, map[string]string{kubernetes.Pool: "other"}))
	waitFor(t, "short", func() bool { return condition(t, cl, "short", batchv1.JobComplete) })
	waitFor(t, "lost", func() bool { return slices.Contains(w.Used(), "patch pods/status") })
	_, metrics := get(t, "http://"+address+"/metrics")
	checkDashboard(t, "dashboard.json", metrics)
	c.Stop("sojourn-scheduler") // it gives back the Lease
	lease, err := cl.CoordinationV1().Leases("sojourn").Get(t.Context(), "sojourn", metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != "" {
		t.Errorf("the Lease is not given back: %v, %v", lease.Spec.HolderIdentity, err)
	}
	want := slices.DeleteFunc(granted(t, list), func(verb string) bool { // older API servers are asked for lists
		return strings.HasPrefix(verb, "list ") && !slices.Contains(w.Used(), verb)
	})
	if got := w.Used(); !slices.Equal(got, want) {
		t.Errorf("it used %q\nand the roles give %q", got, want)
	}
	if got := w.Denied(); len(got) > 0 {
		t.Errorf("forbidden: %q", got)
	}
}

// The same of the command that gives turns to Jobs.
func TestJobs(t *testing.T) {
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller")
	cl := c.Client()
	list := manifests(t, "jobs.yaml")
	apply(t, c, list)
	w, err := c.Witness()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	kubeconfig, err := w.Kubeconfig(t.Context(), c, "sojourn", "sojourn-jobs")
	if err != nil {
		t.Fatal(err)
	}
	n := kubetest.Node("n", map[string]string{"cpu": "4", string(kubernetes.DefaultSlot): "3"})
	if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	address := launch(t, c, find[appsv1.Deployment](t, list, "Deployment"), kubeconfig)
	managed := func(j *batchv1.Job) *batchv1.Job {
		j.Labels = map[string]string{suspend.Managed: "true"}
		return j
	}
	create(t, cl, managed(job("long", 8, true, nil)))
	create(t, cl, managed(job("wrong", 1, true, map[string]string{kubernetes.Size: "long"})))
	waitFor(t, "long", func() bool {
		j, err := cl.BatchV1().Jobs("default").Get(t.Context(), "long", metav1.GetOptions{})
		return err == nil && j.Status.Active == 3
	})
	waitFor(t, "wrong", func() bool { return condition(t, cl, "wrong", kubernetes.Rejected) })
	for range 2 { // the second event about it is a patch of the first
		patch := []byte(`{"spec":{"parallelism":1}}`)
		if _, err := cl.BatchV1().Jobs("default").Patch(t.Context(), "long", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		waitFor(t, "long again", func() bool {
			j, err := cl.BatchV1().Jobs("default").Get(t.Context(), "long", metav1.GetOptions{})
			return err == nil && *j.Spec.Parallelism == 3
		})
	}
	waitFor(t, "second event", func() bool { return slices.Contains(w.Used(), "patch events") })
	_, metrics := get(t, "http://"+address+"/metrics")
	checkDashboard(t, "jobs-dashboard.json", metrics)
	c.Stop("sojourn-jobs")
	want := slices.DeleteFunc(granted(t, list), func(verb string) bool {
		return strings.HasPrefix(verb, "list ") && !slices.Contains(w.Used(), verb)
	})
	if got := w.Used(); !slices.Equal(got, want) {
		t.Errorf("it used %q\nand the roles give %q", got, want)
	}
	if got := w.Denied(); len(got) > 0 {
		t.Errorf("forbidden: %q", got)
	}
}

// checkDashboard tells what is wrong with a dashboard: panels without a title or a unit, and queries of what
// is not among the metrics. Every metric is to be on it.
func checkDashboard(t *testing.T, name, metrics string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title  string
		Panels []struct {
			Title, Type string
			FieldConfig struct{ Defaults struct{ Unit string } }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || len(d.Panels) == 0 {
		t.Errorf("%s: title %q, %d panels", name, d.Title, len(d.Panels))
	}
	exported := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) `).FindAllStringSubmatch(metrics, -1) {
		exported[m[1]] = false
	}
	for _, p := range d.Panels {
		if p.Title == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
			t.Errorf("%s: panel %q has unit %q and %d targets", name, p.Title, p.FieldConfig.Defaults.Unit, len(p.Targets))
		}
		for _, q := range p.Targets {
			found := regexp.MustCompile(`sojourn_\w+`).FindAllString(q.Expr, -1)
			if len(found) == 0 {
				t.Errorf("%s: panel %q asks %q, no metric of sojourn", name, p.Title, q.Expr)
			}
			for _, m := range found {
				m = strings.TrimSuffix(m, "_bucket")
				if _, ok := exported[m]; !ok {
					t.Errorf("%s: panel %q asks for %s, which is not exported", name, p.Title, m)
				}
				exported[m] = true
			}
		}
	}
	for m, shown := range exported {
		if !shown {
			t.Errorf("%s: no panel shows %s", name, m)
		}
	}
}
