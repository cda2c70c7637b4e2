package kubernetes_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clients "k8s.io/client-go/kubernetes"
)

// What must hold on real servers, each in a room of its own.
func TestServers(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "disruption-controller")
	for _, tc := range []struct {
		name string
		test func(*room)
	}{
		{"restarts", restarts}, {"order", order}, {"node-down", nodeDown}, {"job-deleted", jobDeleted},
		{"two", two}, {"fewer-slots", fewerSlots}, {"kill", kill}, {"policies", policies}, {"gangs", gangs}, {"gang-kept", gangKept},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.test(h.room(t, tc.name))
		})
	}
}

// A scheduler is replaced three times in the middle of 300 pods, twice after it was killed. Each task
// runs once, no node has more pods than slots, and nothing is lost.
func restarts(r *room) {
	for i := range 5 {
		r.node(i, 8)
	}
	end := r.audit(8)
	r.job("map", 300, nil, nil)
	for i, policy := range []string{"fifo", "hfsp", "fair", "default"} {
		cl, breaks := r.cut()
		stop := r.start(cl, r.policy(policy), nil)
		r.await("map", func(j *batchv1.Job) bool { return j.Status.Succeeded >= int32(60*(i+1)) })
		if i == 3 {
			break
		}
		if i > 0 {
			breaks()
		}
		stop()
	}
	r.await("map", has(batchv1.JobComplete, ""))
	a := end(300)
	r.report(a)
	if len(a.tasks) != 300 {
		r.Errorf("%d tasks were bound, want 300", len(a.tasks))
	}
	for task, n := range a.tasks {
		if n != 1 {
			r.Errorf("%d pods of task %s were bound", n, task)
		}
	}
}

// report says what is wrong with an audit.
func (r *room) report(a audit) {
	r.Helper()
	for _, s := range a.wrong {
		r.Error(s)
	}
}

// A recorder notes what a policy decides.
type recorder struct {
	sojourn.Policy
	mu   sync.Mutex
	list []sojourn.TaskID
}

func (p *recorder) Unwrap() sojourn.Policy { return p.Policy }

func (p *recorder) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Policy.Assign(id)
	if ok {
		p.mu.Lock()
		p.list = append(p.list, a.Task)
		p.mu.Unlock()
	}
	return a, ok
}

// With one worker, pods are bound in the very order in which the policy picks them, and that is the
// right one: by their sizes under srpt.
func order(r *room) {
	for i := range 10 {
		r.node(i, 20)
	}
	r.live(func(*corev1.Pod) bool { return false })
	sizes := map[string]int{"c": 30, "a": 20, "d": 10, "b": 40} // by job, in seconds
	n := 0
	for i, name := range slices.Sorted(maps.Keys(sizes)) {
		r.job(name, int32(10*(i+1)), map[string]string{kubernetes.Size: fmt.Sprint(float64(sizes[name])/float64(i+1), "s")}, nil)
		n += 10 * (i + 1)
	}
	r.awaitPods("all pods", n, func(p *corev1.Pod) bool { return true })
	end := r.audit(20)
	p := &recorder{Policy: r.policy("srpt")}
	r.start(nil, p, func(c *kubernetes.Config) { c.Workers = 1 })
	a := end(n)
	r.report(a)
	pods, err := r.client.CoreV1().Pods(r.name).List(r.Context(), metav1.ListOptions{})
	if err != nil {
		r.Fatal(err)
	}
	of := map[string]string{}
	for _, p := range pods.Items {
		of[p.Name] = fmt.Sprintf("%s/%s", p.Labels[batchv1.JobNameLabel], p.Annotations[batchv1.JobCompletionIndexAnnotation])
	}
	var got []string
	for _, name := range a.order {
		got = append(got, of[name])
	}
	job := map[sojourn.JobID]string{} // by what was bound at the place of its first pick
	var want []string
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, t := range p.list {
		if job[t.Job] == "" {
			job[t.Job], _, _ = strings.Cut(got[i], "/")
		}
		want = append(want, fmt.Sprintf("%s/%d", job[t.Job], t.Index))
	}
	if !slices.Equal(got, want) {
		r.Errorf("bound: %v\npicked: %v", got, want)
	}
	var jobs []string
	for _, s := range got {
		name, _, _ := strings.Cut(s, "/")
		jobs = append(jobs, name)
	}
	if got, want := slices.Compact(jobs), []string{"d", "a", "c", "b"}; !slices.Equal(got, want) {
		r.Errorf("order of jobs: %v, want %v", got, want)
	}
}

// No pod is placed on a node that is down, what runs there keeps its slots, and the node is used again
// when it is back.
func nodeDown(r *room) {
	first, second := r.node(0, 2), r.node(1, 2)
	var over sync.Map // names of pods that end
	r.live(func(p *corev1.Pod) bool { _, ok := over.Load(p.Name); return ok })
	end := r.audit(2)
	r.job("map", 8, nil, nil)
	r.start(nil, nil, nil)
	r.awaitPods("4 pods run", 4, placed())
	if err := kubetest.SetReady(r.Context(), r.client, first, corev1.ConditionFalse); err != nil {
		r.Fatal(err)
	}
	for range 3 { // pods end on the other node, so only there is room
		p := r.awaitPods("2 pods on the other node", 2, placed(second))[0]
		over.Store(p.Name, true)
		r.awaitPods("its successor", 1, func(q *corev1.Pod) bool { return q.Name == p.Name && q.Status.Phase == corev1.PodSucceeded })
	}
	r.awaitPods("2 pods on the other node", 2, placed(second))
	if n := len(r.awaitPods("2 pods on the node that is down", 2, placed(first))); n != 2 {
		r.Errorf("%d pods on the node that is down, want the 2 that ran there", n)
	}
	if err := kubetest.SetReady(r.Context(), r.client, first, corev1.ConditionTrue); err != nil {
		r.Fatal(err)
	}
	p := r.awaitPods("2 pods on the node that is back", 2, placed(first))[0]
	over.Store(p.Name, true)
	r.awaitPods("the last pod", 8, func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	r.report(end(8))
	for _, p := range r.awaitPods("8 pods", 8, func(*corev1.Pod) bool { return true }) {
		over.Store(p.Name, true)
	}
	r.await("map", has(batchv1.JobComplete, ""))
}

// A Job that is deleted gives its slots to the next one.
func jobDeleted(r *room) {
	r.node(0, 3)
	r.live(func(p *corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] != "first" })
	end := r.audit(3)
	r.start(nil, nil, nil)
	r.job("first", 10, nil, nil)
	r.awaitPods("3 pods of the first job", 3, placed())
	r.job("second", 5, nil, nil)
	background := metav1.DeletePropagationBackground
	if err := r.client.BatchV1().Jobs(r.name).Delete(r.Context(), "first", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		r.Fatal(err)
	}
	r.await("second", has(batchv1.JobComplete, ""))
	r.report(end(8))
}

// Two schedulers by mistake start no pod twice, and lose no slot: the one that is left uses all of them.
func two(r *room) {
	r.node(0, 4)
	r.node(1, 4)
	end := r.audit(8) // each may count as free what it has not heard of yet
	r.start(nil, nil, nil)
	stop := r.start(nil, r.policy("hfsp"), nil)
	r.job("both", 80, nil, nil)
	r.await("both", has(batchv1.JobComplete, ""))
	a := end(80)
	r.report(a)
	if len(a.tasks) != 80 {
		r.Errorf("pods of %d tasks were bound, want 80", len(a.tasks))
	}
	stop()
	r.live(func(*corev1.Pod) bool { return false })
	r.job("one", 8, nil, nil)
	r.awaitPods("8 pods of the second job", 8, placed())
}

// A node that advertises fewer slots than are in use gets no pod until enough of them have ended, and an
// event that says so.
func fewerSlots(r *room) {
	node := r.node(0, 3)
	var over sync.Map
	r.live(func(p *corev1.Pod) bool { _, ok := over.Load(p.Name); return ok })
	r.job("map", 6, nil, nil)
	r.start(nil, nil, nil)
	run := r.awaitPods("3 pods run", 3, placed())
	n, err := r.client.CoreV1().Nodes().Get(r.Context(), node, metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	fewer := kubetest.Node(node, map[string]string{string(kubernetes.DefaultSlot): "1"}).Status
	n.Status.Capacity, n.Status.Allocatable = fewer.Capacity, fewer.Allocatable
	if _, err := r.client.CoreV1().Nodes().UpdateStatus(r.Context(), n, metav1.UpdateOptions{}); err != nil {
		r.Fatal(err)
	}
	r.awaitEvent("Node", node, "TooFewSlots", "3 slots of sojourn-sched.github.io/slot are taken, and the node offers 1")
	end := r.audit(1)
	for _, p := range run {
		over.Store(p.Name, true)
	}
	a := end(1)
	r.report(a)
	r.awaitPods("3 pods have ended", 3, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if p := r.awaitPods("one pod", 1, placed())[0]; p.Name != a.order[0] {
		r.Errorf("pod %s runs, and %s was placed", p.Name, a.order[0])
	}
}

// A policy that kills: the eviction is no failure of the Job, and its pod runs again.
func kill(r *room) {
	r.node(0, 4)
	var short atomic.Bool
	r.live(func(p *corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] != "long" || short.Load() })
	none := int32(0)
	ignore := func(j *batchv1.Job) {
		j.Spec.BackoffLimit = &none
		j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
			Action:          batchv1.PodFailurePolicyActionIgnore,
			OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
		}}}
	}
	end := r.audit(4)
	r.start(nil, r.policy("fair:fair-timeout=1s"), nil)
	r.job("long", 4, map[string]string{kubernetes.Pool: "a"}, ignore)
	r.awaitPods("4 pods of the long job", 4, placed())
	r.job("short", 2, map[string]string{kubernetes.Pool: "b"}, nil)
	r.await("short", has(batchv1.JobComplete, ""))
	short.Store(true)
	r.await("long", has(batchv1.JobComplete, ""))
	a := end(8)
	r.report(a)
	again := 0
	for task, n := range a.tasks {
		if again += n - 1; n > 1 && !strings.HasPrefix(task, "long/") {
			r.Errorf("task %s ran %d times", task, n)
		}
	}
	if again != 2 {
		r.Errorf("%d pods ran again, want 2", again)
	}
	j, err := r.client.BatchV1().Jobs(r.name).Get(r.Context(), "long", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	if j.Status.Succeeded != 4 || j.Status.Failed != 0 {
		r.Errorf("succeeded %d, failed %d; want 4 and 0", j.Status.Succeeded, j.Status.Failed)
	}
}

// Every policy runs the same two Jobs to the end: a map phase and a reduce phase.
func policies(r *room) {
	for _, name := range catalog.Builtin().Names() {
		r.Run(name, func(t *testing.T) {
			t.Parallel()
			r := r.house.room(t, "policy-"+name)
			r.node(0, 2)
			r.node(1, 2)
			end := r.audit(2)
			r.start(nil, r.policy(name), nil)
			notes := map[string]string{kubernetes.Size: "1s", kubernetes.Deadline: time.Now().Add(time.Hour).Format(time.RFC3339)}
			r.job("map", 8, notes, nil)
			r.job("reduce", 3, notes, nil)
			r.await("map", has(batchv1.JobComplete, ""))
			r.await("reduce", has(batchv1.JobComplete, ""))
			r.report(end(11))
		})
	}
}

// The API server is stopped and started in the middle, and hangs for a while: nothing is bound twice,
// and nothing is lost.
func TestServerStops(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.room(t, "stops")
	for i := range 4 {
		r.node(i, 4)
	}
	var failed atomic.Int32 // requests of the scheduler
	config := h.cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(q)
			if err != nil {
				failed.Add(1)
			}
			return resp, err
		})
	})
	r.start(clients.NewForConfigOrDie(config), r.policy("hfsp"), nil)
	end := r.audit(4)
	r.job("map", 200, nil, nil)
	for i := range 2 {
		r.await("map", func(j *batchv1.Job) bool { return j.Status.Succeeded >= int32(50*(i+1)) })
		h.cluster.Stop(kubetest.APIServer)
		for before, end := failed.Load(), time.Now().Add(patience); failed.Load() < before+5; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("nobody asks the server that is gone")
			}
		}
		if err := h.cluster.Restart(t.Context(), kubetest.APIServer); err != nil {
			t.Fatal(err)
		}
	}
	r.await("map", has(batchv1.JobComplete, ""))
	a := end(200)
	r.report(a)
	if len(a.tasks) != 200 {
		t.Errorf("pods of %d tasks were bound, want 200", len(a.tasks))
	}
}

// The pods of a gang wait while there is no room for all of them, and others go ahead. Then all start, and another
// scheduler that takes over keeps them.
func gangs(r *room) {
	r.node(0, 3)
	r.node(1, 3)
	var over sync.Map // names of Jobs
	of := func(name string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return placed()(p) && p.Labels[batchv1.JobNameLabel] == name }
	}
	r.live(func(p *corev1.Pod) bool { _, ok := over.Load(p.Labels[batchv1.JobNameLabel]); return ok })
	stop := r.start(nil, nil, nil)
	r.job("first", 3, nil, nil)
	r.awaitPods("the first Job runs", 3, of("first"))
	r.job("gang", 5, nil, func(j *batchv1.Job) { j.Labels = map[string]string{kubernetes.Gang: ""} })
	until(r, "an event says why a pod of the gang waits", r.client.CoreV1().Events(r.name).Watch, func(e *corev1.Event) bool {
		return e.Reason == "Waiting" && strings.HasPrefix(e.InvolvedObject.Name, "gang-")
	})
	r.job("late", 1, nil, nil)
	r.awaitPods("a later Job goes ahead", 1, of("late"))
	if list, err := r.client.CoreV1().Pods(r.name).List(r.Context(), metav1.ListOptions{}); err != nil {
		r.Fatal(err)
	} else if i := slices.IndexFunc(list.Items, func(p corev1.Pod) bool { return of("gang")(&p) }); i >= 0 {
		r.Errorf("pod %s of the gang has started alone", list.Items[i].Name)
	}
	over.Store("first", true)
	r.awaitPods("the gang starts", 5, of("gang"))
	stop()
	r.start(nil, r.policy("hfsp"), nil)
	r.job("last", 1, nil, nil) // no slot is free
	over.Store("late", true)
	r.awaitPods("another Job gets the slot that is free now", 1, of("last"))
	over.Store("gang", true)
	r.await("gang", has(batchv1.JobComplete, ""))
}

// A gang as wide as the node gets all of it beside a hundred small pods, one of which could always take the next
// place, under a policy that prefers them. The small pods end one at a time.
func gangKept(r *room) {
	r.node(0, 3)
	var over sync.Map // names of small pods that may end
	var all atomic.Bool
	r.live(func(p *corev1.Pod) bool {
		_, ok := over.Load(p.Name)
		return ok || all.Load()
	})
	end := r.audit(3)
	r.job("small", 100, map[string]string{kubernetes.Size: "1s"}, nil)
	r.start(nil, r.policy("srpt"), func(c *kubernetes.Config) { c.GangPatience = 100 * time.Millisecond })
	first := r.awaitPods("three small pods", 3, placed(r.name+"-0"))
	r.job("gang", 3, map[string]string{kubernetes.Size: "1000s"}, func(j *batchv1.Job) { j.Labels = map[string]string{kubernetes.Gang: ""} })
	ofGang := func(p *corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] == "gang" }
	r.awaitEvent("Pod", r.awaitPods("the gang", 3, ofGang)[0].Name, "Waiting", "takes each place that comes free")
	for i, p := range first {
		over.Store(p.Name, true)
		r.await("small", func(j *batchv1.Job) bool { return j.Status.Succeeded > int32(i) })
	}
	r.awaitPods("the gang on the node", 3, func(p *corev1.Pod) bool { return ofGang(p) && p.Spec.NodeName != "" })
	all.Store(true)
	a := end(103)
	r.report(a)
	for i, name := range a.order {
		if inGang := strings.HasPrefix(name, "gang-"); inGang != (i >= 3 && i < 6) {
			r.Errorf("pod %d to be bound was %s: want three small ones, the gang, and then the others", i, name)
		}
	}
}
