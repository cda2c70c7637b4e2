package kubernetes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// What other programs are told of annotations.
func TestDescribe(t *testing.T) {
	o := &metav1.ObjectMeta{Name: "j", Annotations: map[string]string{Size: "90s", Weight: "2.5"}}
	l := Limits{MaxWeight: 2.5}
	j, err := l.Describe(o, 3)
	if err != nil || j.Phases[0].Tasks != 3 || j.Phases[0].Estimate != 90*time.Second || j.Weight != 2.5 || j.Phases[0].Held {
		t.Errorf("Describe = %+v, %v", j, err)
	}
	o.Annotations[Size] = "long"
	if j, err := l.Describe(o, 3); err == nil || !strings.Contains(err.Error(), Size) {
		t.Errorf("Describe = %+v, %v", j, err)
	}
}

// A container that has limits and no requests requests its limits, as the API server writes into pods, but not into Jobs.
func TestLimitsAreRequests(t *testing.T) {
	w := newShapes(t, 0)
	w.setNode("n", 0, has(110, 4, 64))
	limited := func(spec *corev1.PodSpec) {
		spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: list(3, 1)}}}
	}
	w.newJob(2, nil, limited)
	if w.settle(); len(w.order) != 1 {
		t.Errorf("%d pods of 3 cpus each are bound to a node of 4", len(w.order))
	}
	w.newPod(func(spec *corev1.PodSpec) {
		limited(spec)
		spec.Containers[0].Resources.Requests = list(1) // what it requests counts, and the limit of the rest
	})
	w.carryOut()
	if w.settle(); len(w.order) != 1 {
		t.Errorf("%d pods of 1 cpu are bound beside one of 3", len(w.order))
	}
}

// A gang that has gone is forgotten: memory is for live gangs.
func TestGoneGangsAreForgotten(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 2, nil)
	for range 20 {
		pods := w.newJob(2, map[string]string{Gang: ""}, nil)
		w.settle()
		w.carryOut()
		for _, p := range pods {
			w.end(p.UID)
			w.remove(p.UID)
		}
		w.core.jobGone(pods[0].OwnerReferences[0].UID)
	}
	w.settle()
	if g := &w.core.gangs; len(g.jobs) != 0 || len(g.trying) != 0 || len(g.picks) != 0 {
		t.Errorf("%d gangs are known, %d tried, %d have places, after all have gone", len(g.jobs), len(g.trying), len(g.picks))
	}
}

// If the policy refuses a Tick while gangs are offered, the caller hears of it.
func TestRoundsFailWhileGangsAreOffered(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 2, nil)
	w.newJob(2, map[string]string{Gang: ""}, nil)
	failure := errors.New("the disk is full")
	if err := w.core.gather(func() error { return failure }); !errors.Is(err, failure) {
		t.Errorf("gather = %v", err)
	}
}

// 255 shapes are classes of their own, beside the one that there always is. Of more, similar ones share a class.
func TestShapesAreExactUpToTheLimit(t *testing.T) {
	w := newShapes(t, 0)
	w.setNode("n", 0, has(5000, 1<<12, 1<<45))
	for i := range int64(255) {
		w.newPod(asks(1+i%16, (1+i/16)<<30))
	}
	w.settle()
	if s := w.core.shapes; len(s.forms) != 256 || s.rounded {
		t.Errorf("255 shapes are %d classes, rounded %v", len(s.forms), s.rounded)
	}
	w.newPod(asks(17, 1<<30))
	w.settle()
	if s := w.core.shapes; len(s.forms) > 256 || !s.rounded {
		t.Errorf("256 shapes are %d classes, rounded %v", len(s.forms), s.rounded)
	}
}

// A Job is deleted while its pods run. A new shape makes the policy anew: it knows that the pods still take their places, and
// when they have ended, others get these.
func TestReshapeWhileADeletedJobRuns(t *testing.T) {
	w := newShapes(t, 0)
	w.setNode("n", 0, has(110, 4, 64))
	pods := w.newJob(3, nil, asks(1, 1))
	w.settle()
	w.carryOut()
	w.core.jobGone(pods[0].OwnerReferences[0].UID)
	large := w.newPod(asks(2, 2)) // a new shape
	if w.settle(); len(w.order) != 0 {
		t.Errorf("%d pods are bound where 1 cpu is left for one of 2", len(w.order))
	}
	for _, p := range pods {
		if !w.runs(p.UID) {
			t.Errorf("pod %s runs, and the policy does not know", p.UID)
		}
	}
	w.end(pods[0].UID)
	if w.settle(); len(w.order) != 1 || w.order[0].uid != large.UID {
		t.Errorf("binds %v when one of them has ended", w.order)
	}
}

// After a restart a pod is heard of that runs on a node of which nothing is known yet. It takes its place there.
func TestShapedPodBeforeItsNode(t *testing.T) {
	w := newShapes(t, 0)
	w.core.restoring = true
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d", UID: types.UID("p"), Annotations: map[string]string{Attempt: "3"}}, Spec: template(1)}
	asks(3, 3)(&p.Spec)
	p.Spec.NodeName = "n"
	w.pods[p.UID] = p
	w.core.pod(p.DeepCopy())
	w.setNode("n", 0, has(110, 4, 64))
	w.core.restoring = false
	other := w.newPod(asks(2, 2))
	if w.settle(); len(w.order) != 0 || !w.runs(p.UID) {
		t.Errorf("binds %v beside a pod that takes 3 of 4 cpus, and runs: %v", w.order, w.runs(p.UID))
	}
	w.end(p.UID)
	if w.settle(); len(w.order) != 1 || w.order[0].uid != other.UID {
		t.Errorf("binds %v when it has ended", w.order)
	}
}

// A node that a pod does not want is named with that, whatever else it lacks.
func TestWhyANodeIsOutOfTheQuestion(t *testing.T) {
	w := newShapes(t, 0)
	w.setNode("n", 0, has(110, 4, 64))
	p := w.newPod(func(spec *corev1.PodSpec) {
		asks(8, 8)(spec)
		spec.NodeSelector = map[string]string{"zone": "z"}
	})
	w.settle()
	want := "0 of 1 nodes are suitable: 1 does not match the pod's nodeSelector or node affinity"
	if got := w.unplaced[p.UID]; got != want {
		t.Errorf("told %q\nwant %q", got, want)
	}
}

// A policy that has declined a Job is not asked again before there may be room.
func TestNothingIsAskedWithoutRoom(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	w.ready("n", 1)
	w.core.declined[types.UID("j")] = true // without a Job: to ask about it would panic
	w.core.room = false
	if sleep := w.core.askAgain(); sleep != driver.Never {
		t.Errorf("without room it asks again after %v", sleep)
	}
	delete(w.core.declined, types.UID("j"))
	w.core.room = true
	if sleep := w.core.askAgain(); sleep != driver.Never {
		t.Errorf("without Jobs that were declined it asks again after %v", sleep)
	}
}

// A node that has gone is forgotten when the last pod on it has ended.
func TestGoneNodesAreForgotten(t *testing.T) {
	w := newShapes(t, 0)
	for range 10 {
		w.setNode("n", 0, has(110, 4, 64))
		a, b := w.newPod(asks(1, 1)), w.newPod(asks(1, 1))
		w.settle()
		w.carryOut()
		w.core.nodeGone("n")
		w.end(a.UID)
		w.remove(a.UID)
		w.settle()
		w.end(b.UID)
		w.remove(b.UID)
		w.settle()
	}
	if n, by := len(w.core.nodes), len(w.core.shapes.byID); n != 0 || by != 0 {
		t.Errorf("%d nodes are known, and %d by number, after all have gone", n, by)
	}
}

// A pod that somebody else has bound is the attempt after the last one.
func TestAttemptThatOthersHaveBound(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 1, nil)
	for want := uint32(1); want <= 3; want++ {
		p := w.newJob(1, nil, nil)[0]
		uid := p.OwnerReferences[0].UID
		p.Spec.NodeName = "n"
		w.core.pod(p.DeepCopy())
		if got := w.core.pods[p.UID].attempt; got != 1 {
			t.Errorf("the first pod of Job %s is attempt %d, want 1", uid, got)
		}
		for next := uint32(2); next <= want; next++ { // it has failed, and the Job has made another one
			w.core.podGone(p.UID)
			q := p.DeepCopy()
			q.UID = types.UID(fmt.Sprintf("%s-%d", p.UID, next))
			p = q
			w.core.pod(q.DeepCopy())
			if got := w.core.pods[q.UID].attempt; got != next {
				t.Errorf("pod %d of Job %s is attempt %d, want %d", next, uid, got, next)
			}
		}
		w.core.podGone(p.UID)
	}
}

// A node outside the pool has no slots to give, and nobody is warned that it has too few.
func TestNodeOutsideThePool(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.core.selector = labels.SelectorFromSet(labels.Set{"pool": "a"})
	for _, pool := range []string{"a", "b"} {
		w.setNode(pool, 2, func(n *corev1.Node) { n.Labels = map[string]string{"pool": pool} })
		n := w.core.nodes[pool]
		want := 2
		if pool == "b" {
			want = 0
		}
		if s := n.classes[0]; s.want != want || len(s.slots) != want || n.excess != "" {
			t.Errorf("the node of pool %s has %+v, and %q is said of it; want %d slots", pool, s, n.excess, want)
		}
	}
}

// Pods that wait are told once that no node will ever suit, and pods that run are told nothing, whatever becomes of their node.
func TestDoubtsAreOfPodsThatWait(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 1, nil)
	runs := w.newPod(nil)
	w.settle()
	w.carryOut()
	waits := w.newPod(nil)
	w.setNode("n", 1, func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	})
	w.settle()
	if len(w.unplaced) != 1 || w.unplaced[waits.UID] == "" || w.core.pods[runs.UID].state != running {
		t.Errorf("%v are told that no node suits, want the pod that waits, %s", w.unplaced, waits.UID)
	}
}

// Free slots are counted on all nodes that suit, whichever others have changed, too.
func TestVacantSlots(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	for i := range 8 {
		w.setNode(fmt.Sprint("bad", i), 1, func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
		})
	}
	w.setNode("good", 3, nil)
	p := w.newPod(nil)
	for range 20 { // in some order of a map
		if got := w.core.places.vacant(w.core.pods[p.UID].place()); got != 3 {
			t.Fatalf("%d slots are free that suit, want 3", got)
		}
	}
}

// A pod whose affinity cannot be read goes nowhere, and is told why.
func TestAffinityThatCannotBeMatched(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 1, nil)
	p := w.newPod(func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "k", Operator: "Near", Values: []string{"v"}}}}}}}}
	})
	w.settle()
	if why := w.unplaced[p.UID]; len(w.order) != 0 || !strings.Contains(why, "cannot be matched: ") {
		t.Errorf("%d pods are bound, and the pod is told %q; want none, and that its affinity cannot be matched", len(w.order), why)
	}
}

// A job that was refused is told whose deadline would be missed.
func TestWhoWouldMissADeadline(t *testing.T) {
	for misses, want := range map[sojourn.JobID]string{1: "the job would miss its deadline; ", 2: "a job that was accepted before would miss its deadline; "} {
		if got := explain(&sojourn.RejectedError{Job: 1, Misses: misses, Offer: 1}); !strings.HasPrefix(got, want) {
			t.Errorf("job %d would miss its deadline: %q, want it to begin with %q", misses, got, want)
		}
	}
}
