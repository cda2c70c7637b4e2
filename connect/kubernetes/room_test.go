package kubernetes_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clients "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// A house is a cluster that tests share. Each has a room.
type house struct {
	cluster *kubetest.Cluster
	client  clients.Interface
	lives   sync.Map // namespace -> how its pods live, as in kubetest.Kubelet
}

type life = func(*corev1.Pod) (time.Duration, corev1.PodPhase)

func newHouse(t *testing.T, controllers ...string) *house {
	t.Helper()
	h := &house{cluster: kubetest.Start(t)}
	h.client = h.cluster.Client()
	if err := h.cluster.StartControllers(t.Context(), append(controllers, "job-controller", "garbage-collector-controller")...); err != nil {
		t.Fatal(err)
	}
	kubelet := &kubetest.Kubelet{Client: h.client, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		if f, ok := h.lives.Load(p.Namespace); ok {
			return f.(life)(p)
		}
		return 10 * time.Millisecond, corev1.PodSucceeded
	}}
	if err := kubelet.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// A room is a namespace, a name of a scheduler, and nodes with a label, all of the same name.
type room struct {
	*testing.T
	*house
	name string
}

func (h *house) room(t *testing.T, name string) *room {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := h.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &room{t, h, name}
}

// node makes a node, and returns its name.
func (r *room) node(i, slots int) string {
	r.Helper()
	n := kubetest.Node(fmt.Sprintf("%s-%d", r.name, i), map[string]string{string(kubernetes.DefaultSlot): fmt.Sprint(slots)})
	n.Labels["room"] = r.name
	if _, err := r.client.CoreV1().Nodes().Create(r.Context(), n, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	return n.Name
}

// start runs a scheduler of the room until the function it returns is called. Nil arguments stand for a
// client of the house, and policy fifo.
func (r *room) start(cl clients.Interface, policy sojourn.Policy, change func(*kubernetes.Config)) (stop func()) {
	r.Helper()
	if cl == nil {
		cl = r.client
	}
	if policy == nil {
		policy = r.policy("fifo")
	}
	c := kubernetes.Config{Client: cl, Policy: policy, Name: r.name, Namespace: r.name, Nodes: "room=" + r.name, Limits: kubernetes.Limits{AnyPool: true, MaxWeight: 2}}
	if change != nil {
		change(&c)
	}
	s, err := kubernetes.New(c)
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != context.Canceled {
			r.Errorf("Run = %v, want %v", err, context.Canceled)
		}
	})
	r.Cleanup(stop)
	return stop
}

// live says which pods of the room succeed. It is asked until it says so.
func (r *room) live(over func(*corev1.Pod) bool) {
	var first sync.Map // when each pod was seen, by UID
	r.lives.Store(r.name, life(func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		if over(p) {
			return 0, corev1.PodSucceeded
		}
		at, _ := first.LoadOrStore(p.UID, time.Now())
		return time.Since(at.(time.Time)) + 50*time.Millisecond, "" // which is not over yet
	}))
}

func (r *room) policy(name string) sojourn.Policy {
	r.Helper()
	p, err := catalog.Builtin().Make(name)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// job makes a Job of the room, after a change.
func (r *room) job(name string, n int32, notes map[string]string, change func(*batchv1.Job)) *batchv1.Job {
	r.Helper()
	j := job(name, n, false, notes)
	j.Spec.Template.Spec.SchedulerName = r.name
	if change != nil {
		change(j)
	}
	j, err := r.client.BatchV1().Jobs(r.name).Create(r.Context(), j, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return j
}

// pod makes a pod of the room that belongs to no Job, after a change.
func (r *room) pod(name string, change func(*corev1.Pod)) *corev1.Pod {
	r.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: job(name, 1, false, nil).Spec.Template.Spec}
	p.Spec.SchedulerName = r.name
	if change != nil {
		change(p)
	}
	p, err := r.client.CoreV1().Pods(r.name).Create(r.Context(), p, metav1.CreateOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// until watches from the beginning until all of the objects satisfy ok.
func until[T any](r *room, what string, w func(context.Context, metav1.ListOptions) (watch.Interface, error), ok func(T) bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	for ctx.Err() == nil { // a watch ends with its server
		in, err := w(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		for ev := range in.ResultChan() {
			if o, is := ev.Object.(T); is && ok(o) {
				in.Stop()
				return
			}
		}
	}
	r.Fatalf("%s: not in time", what)
}

// await watches the Jobs of the room until ok says so of the one of that name.
func (r *room) await(name string, ok func(*batchv1.Job) bool) {
	r.Helper()
	until(r, "job "+name, r.client.BatchV1().Jobs(r.name).Watch, func(j *batchv1.Job) bool { return j.Name == name && ok(j) })
}

// awaitEvent watches until there is an event about an object, with a reason and a part of the message.
func (r *room) awaitEvent(kind, name, reason, text string) {
	r.Helper()
	ns := r.name
	if kind == "Node" {
		ns = "default"
	}
	until(r, fmt.Sprintf("%s %s: event %s with %q", kind, name, reason, text), r.client.CoreV1().Events(ns).Watch, func(e *corev1.Event) bool {
		return e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason && strings.Contains(e.Message, text)
	})
}

// awaitPods watches until n pods of the room satisfy ok, and returns them.
func (r *room) awaitPods(what string, n int, ok func(*corev1.Pod) bool) []*corev1.Pod {
	r.Helper()
	found := map[types.UID]*corev1.Pod{}
	until(r, what, r.client.CoreV1().Pods(r.name).Watch, func(p *corev1.Pod) bool {
		delete(found, p.UID)
		if ok(p) {
			found[p.UID] = p
		}
		return len(found) == n
	})
	var list []*corev1.Pod
	for _, p := range found {
		list = append(list, p)
	}
	return list
}

// placed reports whether a pod has a node, one of those if any are named, and has not ended.
func placed(nodes ...string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed || p.DeletionTimestamp != nil {
			return false
		}
		for _, n := range nodes {
			if n == p.Spec.NodeName {
				return true
			}
		}
		return len(nodes) == 0
	}
}

// An audit is what an independent watch has seen of the pods of a room.
type audit struct {
	order []string       // names of pods, as they were bound
	tasks map[string]int // pods by Job and index
	wrong []string
}

// audit watches the pods of the room from now on. The function that it returns ends the watch once n pods
// have been bound, and returns what was seen. No node may have more pods at a time than slots.
func (r *room) audit(slots int) (end func(n int) audit) {
	r.Helper()
	list, w, err := r.watch()
	if err != nil {
		r.Fatal(err)
	}
	a := &auditor{slots: slots, audit: audit{tasks: map[string]int{}}, node: map[types.UID]string{}, load: map[string]int{}, news: make(chan bool, 1)}
	for _, p := range list {
		if placed()(&p) {
			a.node[p.UID] = p.Spec.NodeName
			a.load[p.Spec.NodeName]++
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	over := make(chan bool)
	go func() {
		defer close(over)
		defer func() { w.Stop() }()
		for ctx.Err() == nil {
			select {
			case ev := <-w.ResultChan():
				if p, ok := ev.Object.(*corev1.Pod); ok {
					a.see(p, ev.Type == watch.Deleted)
					continue
				}
				// A server that was stopped may know no more what has changed since.
				w.Stop()
				for list, w, err = r.watch(); err != nil && ctx.Err() == nil; list, w, err = r.watch() {
					time.Sleep(20 * time.Millisecond)
				}
				a.seeAll(list)
			case <-ctx.Done():
			}
		}
	}()
	return func(n int) audit {
		r.Helper()
		timeout := time.After(patience)
		for a.seen() < n {
			select {
			case <-a.news:
			case <-timeout:
				r.Fatalf("%d of %d pods were bound in time", a.seen(), n)
			}
		}
		cancel()
		<-over
		return a.audit
	}
}

// watch returns the pods of the room, and a watch for what changes from then on.
func (r *room) watch() ([]corev1.Pod, watch.Interface, error) {
	pods := r.client.CoreV1().Pods(r.name)
	list, err := pods.List(r.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, watch.NewEmptyWatch(), err
	}
	w, err := watchtools.NewRetryWatcherWithContext(r.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
	})
	if err != nil {
		return nil, watch.NewEmptyWatch(), err
	}
	return list.Items, w, nil
}

// An auditor counts the pods on each node.
type auditor struct {
	slots int
	news  chan bool

	mu    sync.Mutex
	audit audit
	node  map[types.UID]string // of pods that were placed; "" of those that have ended
	load  map[string]int
}

// seen returns how many pods were bound.
func (a *auditor) seen() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.audit.order)
}

// seeAll looks at all pods that there are: first at those that have ended, which make room.
func (a *auditor) seeAll(list []corev1.Pod) {
	a.mu.Lock()
	for uid, on := range a.node {
		if on != "" && !slices.ContainsFunc(list, func(p corev1.Pod) bool { return p.UID == uid }) { // it was deleted
			a.load[on]--
			a.node[uid] = ""
		}
	}
	a.mu.Unlock()
	for _, running := range []bool{false, true} {
		for _, p := range list {
			if placed()(&p) == running {
				a.see(&p, false)
			}
		}
	}
}

// see looks at a pod, which may be gone.
func (a *auditor) see(p *corev1.Pod, gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := p.Spec.NodeName
	on, known := a.node[p.UID]
	over := gone || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	switch {
	case !known && name != "":
		a.audit.order = append(a.audit.order, p.Name)
		a.audit.tasks[p.Labels[batchv1.JobNameLabel]+"/"+p.Annotations[batchv1.JobCompletionIndexAnnotation]]++
		if a.node[p.UID] = ""; !over {
			a.node[p.UID] = name
			if a.load[name]++; a.load[name] > a.slots {
				a.audit.wrong = append(a.audit.wrong, fmt.Sprintf("%d pods on node %s, which has %d slots", a.load[name], name, a.slots))
			}
		}
		select {
		case a.news <- true:
		default:
		}
	case on != "" && over:
		a.load[on]--
		a.node[p.UID] = ""
	}
}

// cut returns a client whose requests are not answered, once broken is called: as those of a process that
// was killed.
func (r *room) cut() (cl clients.Interface, breaks func()) {
	dead, kill := context.WithCancel(context.Background())
	config := r.cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(q)
			if dead.Err() != nil && q.Method != http.MethodGet { // the server may have acted
				if err == nil {
					resp.Body.Close()
				}
				return nil, dead.Err()
			}
			return resp, err
		})
	})
	return clients.NewForConfigOrDie(config), kill
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
