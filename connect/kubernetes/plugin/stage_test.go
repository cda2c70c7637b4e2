package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

const profile = "batch"

// A stage plays kube-scheduler around a plugin, with nodes that have cpu and room for 110 pods, the Job controller, and kubelets. Its
// methods are for the one goroutine of a bubble of synctest.
type stage struct {
	fwk.Handle
	events.EventRecorderLogger
	t         *testing.T
	p         *Plugin
	cancel    func()
	nodes     []*node
	jobs      []*job1
	pods      map[types.UID]*pod1
	factory   informers.SharedInformerFactory // with the pods that there are; it does not run
	queue     []types.UID                     // of pods to be tried
	mu        sync.Mutex
	activated []types.UID
	out       []string // the names of pods, in the order in which they were bound
	tries     int      // of pods of Jobs
	misses    int
	patched   []*corev1.Pod
	patches   int // of conditions
	version   int // of the pod that has changed last
	words     []string
	made      int
	deaf      bool // kube-scheduler tries no pod: another replica leads
	silent    bool // no condition is heard of
	broken    func(name string) bool
}

type node struct {
	fwk.NodeInfo
	name     string
	cpu      int64
	pods     []*pod1
	promised map[types.UID]int64 // to nominated pods
}

type job1 struct {
	obj   *batchv1.Job
	cpu   int64
	takes time.Duration
	made  int
	live  int
}

type pod1 struct {
	obj *corev1.Pod
	job *job1
	cpu int64
	on  *node
	due time.Time
}

func newStage(t *testing.T, args string, cpus ...int64) *stage {
	s := &stage{t: t, pods: map[types.UID]*pod1{}, factory: informers.NewSharedInformerFactory(nil, 0)}
	for i, c := range cpus {
		s.nodes = append(s.nodes, &node{name: fmt.Sprint("n", i), cpu: c, promised: map[types.UID]int64{}})
	}
	s.restart(args)
	t.Cleanup(func() { s.cancel() })
	return s
}

// restart starts a new plugin, which hears of all that is there.
func (s *stage) restart(args string) {
	if s.cancel != nil {
		s.cancel()
	}
	synctest.Wait()
	p, err := newPlugin(&runtime.Unknown{Raw: []byte(args)}, s)
	if err != nil {
		s.t.Fatal(err)
	}
	s.p, s.queue, s.activated = p, nil, nil
	p.patch = s.patch
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	for _, uid := range s.uids() {
		s.tell(s.pods[uid])
	}
	for _, j := range s.jobs {
		s.tellJob(j)
	}
	p.put(p.core.restored)
	go p.loop(ctx)
	for _, uid := range s.uids() {
		s.enqueue(uid)
	}
}

func (s *stage) uids() []types.UID {
	var list []types.UID
	for uid := range s.pods {
		list = append(list, uid)
	}
	slices.Sort(list)
	return list
}

func (s *stage) ProfileName() string                                    { return profile }
func (s *stage) EventRecorder() eventRecorder                           { return s }
func (s *stage) SnapshotSharedLister() fwk.SharedLister                 { return lister{} }
func (s *stage) SharedInformerFactory() informers.SharedInformerFactory { return s.factory }
func (s *stage) store() cache.Store {
	return s.factory.Core().V1().Pods().Informer().GetStore()
}
func (s *stage) Eventf(o, _ runtime.Object, kind, reason, action, note string, args ...any) {
	s.words = append(s.words, reason+": "+fmt.Sprintf(note, args...))
}

// patch has settled change the condition of a pod, unless that has changed by then.
func (s *stage) patch(_ *corev1.Pod, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var change corev1.Pod
	if err := json.Unmarshal(text, &change); err != nil {
		s.t.Error(err)
	}
	s.patched = append(s.patched, &change)
}

// Activate implements fwk.Handle.
func (s *stage) Activate(_ klog.Logger, list map[string]*corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range list {
		s.activated = append(s.activated, types.UID(uid))
	}
}

// settled waits until the plugin has nothing to do, and reports whether something is to be tried.
func (s *stage) settled() bool {
	synctest.Wait()
	s.mu.Lock()
	list := s.activated
	patched := s.patched
	s.activated, s.patched = nil, nil
	s.mu.Unlock()
	for _, change := range patched {
		if p := s.pods[change.UID]; p != nil && p.on == nil && change.ResourceVersion == p.obj.ResourceVersion {
			s.patches++
			p.obj.Status.Conditions = change.Status.Conditions
			s.tell(p)
		}
	}
	for _, uid := range list {
		s.enqueue(uid)
	}
	return len(s.queue) > 0
}

func (s *stage) enqueue(uid types.UID) {
	p := s.pods[uid]
	if p == nil || p.on != nil || slices.Contains(s.queue, uid) || p.obj.Spec.SchedulerName != profile {
		return
	}
	if s.p.PreEnqueue(context.Background(), p.obj).IsSuccess() {
		s.queue = append(s.queue, uid)
	}
}

// tell tells the plugin of a pod, as its informer does.
func (s *stage) tell(p *pod1) {
	s.version++
	p.obj.ResourceVersion = fmt.Sprint(s.version)
	o := p.obj.DeepCopy()
	if err := s.store().Add(o); err != nil {
		s.t.Fatal(err)
	}
	s.p.put(func() { s.p.core.pod(o) })
}

func (s *stage) tellJob(j *job1) {
	o := j.obj.DeepCopy()
	s.p.put(func() { s.p.core.jobSeen(o) })
}

// job adds a Job of n pods, so many at a time.
func (s *stage) job(name, space string, n, atOnce int32, cpu int64, takes time.Duration, change ...func(*batchv1.Job)) *job1 {
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space, UID: types.UID(name), Annotations: map[string]string{}, CreationTimestamp: metav1.Now()},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &atOnce}}
	for _, f := range change {
		f(o)
	}
	j := &job1{obj: o, cpu: cpu, takes: takes}
	s.jobs = append(s.jobs, j)
	s.tellJob(j)
	s.control(j)
	return j
}

// control makes the pods of a Job that are missing.
func (s *stage) control(j *job1) {
	most := int(*j.obj.Spec.Parallelism)
	if c := j.obj.Spec.Completions; c != nil {
		most = min(most, int(*c)-int(j.obj.Status.Succeeded))
	}
	for ; j.live < most; j.live++ {
		j.made++
		o := s.newPod(fmt.Sprint(j.obj.Name, "-", j.made), j.obj.Namespace, j.cpu)
		o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j.obj, batchv1.SchemeGroupVersion.WithKind("Job"))}
		s.add(&pod1{obj: o, job: j, cpu: j.cpu})
	}
}

func (s *stage) newPod(name, space string, cpu int64) *corev1.Pod {
	r := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI)}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space, UID: types.UID(name), CreationTimestamp: metav1.Now()},
		Spec: corev1.PodSpec{SchedulerName: profile, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: r}}}}}
}

// add adds a pod. Kube-scheduler hears of it first or last.
func (s *stage) add(p *pod1) {
	s.pods[p.obj.UID] = p
	if s.made++; s.made%2 == 0 {
		if err := s.store().Add(p.obj.DeepCopy()); err != nil { // whoever hears of it first
			s.t.Fatal(err)
		}
		s.enqueue(p.obj.UID)
		defer s.tell(p)
		return
	}
	s.tell(p)
	synctest.Wait()
	s.enqueue(p.obj.UID)
}

// run schedules until nothing is to be tried.
func (s *stage) run() {
	for s.settled() && !s.deaf {
		uid := s.queue[0]
		s.queue = s.queue[1:]
		if p := s.pods[uid]; p != nil && p.on == nil {
			s.try(p)
		}
		s.check()
	}
}

// try is a scheduling cycle.
func (s *stage) try(p *pod1) {
	ctx := context.Background()
	if p.job != nil {
		s.tries++
	}
	for _, n := range s.nodes {
		if n.room(p.obj.UID) < p.cpu {
			continue
		}
		delete(n.promised, p.obj.UID)
		if status := s.p.Reserve(ctx, nil, p.obj, n.name); !status.IsSuccess() {
			s.t.Fatal(status)
		}
		if s.broken != nil && s.broken(p.obj.Name) {
			s.p.Unreserve(ctx, nil, p.obj, n.name)
			s.enqueue(p.obj.UID)
			return
		}
		p.on, p.obj.Spec.NodeName = n, n.name
		n.pods = append(n.pods, p)
		if p.job != nil {
			p.due = time.Now().Add(p.job.takes)
		}
		start := metav1.Now()
		p.obj.Status.StartTime = &start
		s.out = append(s.out, p.obj.Name)
		s.tell(p)
		return
	}
	s.misses++
	p.obj.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "no cpu"}}
	if s.silent {
		p.obj.Status.Conditions = nil
	}
	defer s.tell(p)
	result, status := s.p.PostFilter(ctx, nil, p.obj, statuses{s, p})
	if !status.IsRejected() {
		s.t.Fatalf("PostFilter says %v", status)
	}
	if result != nil && result.Mode() == fwk.ModeOverride {
		p.obj.Status.NominatedNodeName = result.NominatedNodeName
		for _, n := range s.nodes {
			delete(n.promised, p.obj.UID)
			if n.name == result.NominatedNodeName {
				n.promised[p.obj.UID] = p.cpu
			}
		}
		s.tell(p)
	}
}

func (n *node) room(uid types.UID) int64 {
	left := n.cpu
	for _, p := range n.pods {
		left -= p.cpu
	}
	for other, cpu := range n.promised {
		if other != uid {
			left -= cpu
		}
	}
	return left
}

// pass lets time pass, in which pods end.
func (s *stage) pass(d time.Duration) {
	end, step := time.Now().Add(d), 10*time.Millisecond
	for {
		s.run()
		next := end
		var who *pod1
		for _, uid := range s.uids() {
			if p := s.pods[uid]; !p.due.IsZero() && !p.due.After(next) && (who == nil || p.due.Before(next)) {
				next, who = p.due, p
			}
		}
		switch left := time.Until(next); {
		case left > 0: // what waits for its time has it
			time.Sleep(min(step, left))
			step = min(2*step, 5*time.Second)
		case who == nil:
			return
		default:
			s.finish(who, corev1.PodSucceeded)
			step = 10 * time.Millisecond
		}
	}
}

// finish ends a pod.
func (s *stage) finish(p *pod1, phase corev1.PodPhase) {
	delete(s.pods, p.obj.UID)
	for _, n := range s.nodes {
		delete(n.promised, p.obj.UID)
	}
	if n := p.on; n != nil {
		n.pods = slices.DeleteFunc(n.pods, func(q *pod1) bool { return q == p })
	}
	p.obj.Status.Phase = phase
	s.tell(p)
	o := p.obj.DeepCopy()
	if err := s.store().Delete(o); err != nil {
		s.t.Fatal(err)
	}
	s.p.put(func() { s.p.core.podGone(o) })
	if j := p.job; j != nil {
		j.live--
		if phase == corev1.PodSucceeded {
			j.obj.Status.Succeeded++
		}
		if c := j.obj.Spec.Completions; c != nil && j.obj.Status.Succeeded == *c {
			j.obj.Status.Conditions = append(j.obj.Status.Conditions, batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue})
			s.jobs = slices.DeleteFunc(s.jobs, func(k *job1) bool { return k == j })
		}
		s.tellJob(j)
		if slices.Contains(s.jobs, j) {
			s.control(j)
		}
	}
	for _, uid := range s.uids() { // kube-scheduler looks again
		s.enqueue(uid)
	}
}

// check compares what the policy was told with what is true.
func (s *stage) check() {
	s.t.Helper()
	defer s.look()()
	if s.p.failed {
		s.t.Fatal("the plugin has failed")
	}
	c := s.p.core
	attempts, busy := 0, 0
	for range c.truth.Attempts() {
		attempts++
	}
	for _, p := range c.pods {
		if p.state == picked || p.state == placed {
			busy++
		}
	}
	slots := 0
	for range c.truth.Slots() {
		slots++
	}
	if attempts != busy || attempts != c.busy || slots != c.busy+len(c.free) {
		s.t.Fatalf("the policy has %d attempts and %d slots; %d pods are picked or placed, %d tokens busy, %d free", attempts, slots, busy, c.busy, len(c.free))
	}
}

// look waits until the plugin has nothing to do, and stops it until what it returns is called.
func (s *stage) look() (on func()) {
	synctest.Wait()
	s.p.mu.Lock()
	return s.p.mu.Unlock
}

// starts returns how often each Job is among the pods that were bound.
func (s *stage) starts() map[string]int {
	m := map[string]int{}
	for _, name := range s.out {
		m[name[:strings.LastIndex(name, "-")]]++
	}
	return m
}

type lister struct{ fwk.SharedLister }

func (lister) NodeInfos() fwk.NodeInfoLister { return nil }

// statuses tells which nodes are too full for a pod.
type statuses struct {
	s *stage
	p *pod1
}

func (x statuses) Get(string) *fwk.Status { return nil }
func (x statuses) NodesForStatusCode(_ fwk.NodeInfoLister, code fwk.Code) (list []fwk.NodeInfo, err error) {
	for _, n := range x.s.nodes {
		if (n.cpu >= x.p.cpu) == (code == fwk.Unschedulable) {
			list = append(list, n)
		}
	}
	return list, nil
}

type amount struct {
	fwk.Resource
	cpu int64
}

func (a amount) GetMilliCPU() int64       { return 1000 * a.cpu }
func (a amount) GetAllowedPodNumber() int { return 110 }

func (n *node) Node() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}
}
func (n *node) GetAllocatable() fwk.Resource { return amount{cpu: n.cpu} }
func (n *node) GetRequested() fwk.Resource   { return amount{cpu: n.cpu - n.room("")} }
func (n *node) GetPods() []fwk.PodInfo       { return make([]fwk.PodInfo, len(n.pods)) }
