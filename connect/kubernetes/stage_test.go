package kubernetes

import (
	"fmt"
	"maps"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

type fataler interface{ Fatal(...any) }

// A stage is a cluster that does at once what a core says, and where nothing goes wrong.
type stage struct {
	t        fataler
	core     *core
	now      sojourn.Time
	nodes    map[string]*corev1.Node
	pods     map[types.UID]*corev1.Pod
	order    []bind // since the last settle
	unplaced map[types.UID]string
	warned   map[types.UID]string
	marked   map[types.UID]string
}

type bind struct {
	uid     types.UID
	node    string
	attempt uint32
}

func builtin(t fataler, policy string) sojourn.Policy {
	p, err := catalog.Builtin().Make(policy)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newStage(t fataler, p sojourn.Policy) *stage {
	return stageOf(t, Config{Policy: p, Name: "sojourn", Slots: []corev1.ResourceName{DefaultSlot}})
}

// began is when each stage begins.
const began = sojourn.Time(6 * 365 * 24 * time.Hour)

func stageOf(t fataler, c Config) *stage {
	w := &stage{t: t, nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{}, unplaced: map[types.UID]string{}, warned: map[types.UID]string{}, marked: map[types.UID]string{}, now: began}
	if c.GangPatience == 0 {
		c.GangPatience = -1 // unless the test asks for it
	}
	if c.GangKeep == 0 {
		c.GangKeep = time.Hour
	}
	var err error
	if w.core, err = newCore(c, labels.Everything(), w, func() sojourn.Time { return w.now }); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *stage) bind(p *corev1.Pod, node string, attempt uint32) {
	w.order = append(w.order, bind{p.UID, node, attempt})
}
func (w *stage) evict(p *corev1.Pod, _ uint32)             { w.end(p.UID) }
func (w *stage) admit(*batchv1.Job)                        {}
func (w *stage) reject(*batchv1.Job, string, bool)         {}
func (w *stage) accept(*batchv1.Job)                       {}
func (w *stage) tell(*corev1.Pod, string, string)          {}
func (w *stage) unscheduled(p *corev1.Pod, message string) { w.marked[p.UID] = message }
func (w *stage) unplaceable(p *corev1.Pod, message string) { w.unplaced[p.UID] = message }
func (w *stage) warn(o runtime.Object, _, message string) {
	if p, ok := o.(*corev1.Pod); ok {
		w.warned[p.UID] = message
	}
}

// settle lets the core decide.
func (w *stage) settle() time.Duration {
	w.order = nil
	sleep, err := w.core.settle()
	if err != nil {
		w.t.Fatal(err)
	}
	return sleep
}

// carryOut binds what was decided.
func (w *stage) carryOut() {
	for _, b := range w.order {
		p := w.pods[b.uid]
		p.Spec.NodeName = b.node
		p.Annotations[Attempt] = fmt.Sprint(b.attempt)
		w.core.pod(p.DeepCopy())
	}
}

// setNode adds or changes a node.
func (w *stage) setNode(name string, slots int, change func(*corev1.Node)) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = corev1.ResourceList{DefaultSlot: *resource.NewQuantity(int64(slots), resource.DecimalSI)}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(n)
	}
	w.nodes[name] = n
	w.core.node(n.DeepCopy())
}

// newPod adds a pod that is a job of its own.
func (w *stage) newPod(change func(*corev1.PodSpec)) *corev1.Pod { return w.newPodIn("d", change) }

func (w *stage) newPodIn(space string, change func(*corev1.PodSpec)) *corev1.Pod {
	return w.newSized(space, 0, change)
}

// newSized adds a pod that says how long it takes, unless that is 0.
func (w *stage) newSized(space string, size time.Duration, change func(*corev1.PodSpec)) *corev1.Pod {
	uid := types.UID(fmt.Sprintf("u%06d", len(w.pods)))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(uid), Namespace: space, UID: uid, Annotations: map[string]string{}}, Spec: template(1)}
	if size > 0 {
		p.Annotations[Size] = size.String()
	}
	if change != nil {
		change(&p.Spec)
	}
	w.pods[uid] = p
	w.core.pod(p.DeepCopy())
	return p
}

// end lets a pod succeed.
func (w *stage) end(uid types.UID) {
	p := w.pods[uid]
	p.Status.Phase = corev1.PodSucceeded
	w.core.pod(p.DeepCopy())
}

// remove deletes a pod.
func (w *stage) remove(uid types.UID) { w.core.podGone(uid) }

// newJob adds a Job of n pods.
func (w *stage) newJob(n int, labels map[string]string, change func(*corev1.PodSpec)) []*corev1.Pod {
	return w.newJobIn("d", n, labels, change)
}

func (w *stage) newJobIn(space string, n int, labels map[string]string, change func(*corev1.PodSpec)) []*corev1.Pod {
	uid, mode, size := types.UID(fmt.Sprintf("j%06d", len(w.pods))), batchv1.IndexedCompletion, int32(n)
	spec := template(1)
	if change != nil {
		change(&spec)
	}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: string(uid), Namespace: space, UID: uid, Labels: labels},
		Spec: batchv1.JobSpec{Completions: &size, Parallelism: &size, CompletionMode: &mode, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}}}
	w.core.job(j)
	yes, pods := true, []*corev1.Pod(nil)
	for i := range n {
		id := types.UID(fmt.Sprintf("u%06d", len(w.pods)))
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(id), Namespace: space, UID: id, Labels: map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i)},
			Annotations:     map[string]string{batchv1.JobCompletionIndexAnnotation: fmt.Sprint(i)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: uid, Controller: &yes}}}, Spec: *spec.DeepCopy()}
		maps.Copy(p.Labels, labels)
		w.pods[id] = p
		pods = append(pods, p)
		w.core.pod(p.DeepCopy())
	}
	return pods
}
