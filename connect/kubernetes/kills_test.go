package kubernetes

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A killer is a policy that wants attempts killed.
type killer struct {
	sojourn.Policy
	victims []sojourn.Preemption
}

func (k *killer) Unwrap() sojourn.Policy { return k.Policy }

func (k *killer) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	return append(dst, k.victims...)
}

// A reluctant stage notes which pods are to be evicted, and lets them run on.
type reluctant struct {
	*stage
	evicted []types.UID
}

func (r *reluctant) evict(p *corev1.Pod, _ uint32) { r.evicted = append(r.evicted, p.UID) }

// A pod that is to be killed is evicted once. A pod of a gang that is not bound yet is not evicted: nothing of it runs.
func TestKills(t *testing.T) {
	policy := &killer{Policy: builtin(t, "fifo")}
	k := newKeeper(t, "fifo", nil)
	k.stage = stageOf(t, Config{Name: "sojourn", GangPatience: time.Second, Slots: []corev1.ResourceName{DefaultSlot}, Policy: policy})
	act := &reluctant{stage: k.stage}
	k.core.act = act
	k.setNode("n", 3, nil)
	k.fill(3)
	gang := k.newJob(2, map[string]string{Gang: ""}, nil)
	k.step(0, "a gang comes")
	k.end(k.running["n"][0])
	k.step(0, "one place is kept")
	small := k.running["n"][1]
	for _, uid := range []types.UID{gang[0].UID, small} {
		p := k.core.pods[uid]
		policy.victims = append(policy.victims, sojourn.Preemption{Task: p.task.id, Attempt: p.attempt, Slot: p.slot})
	}
	for range 3 {
		k.newPod(nil)
		k.step(0, "nothing ends")
	}
	if !slices.Equal(act.evicted, []types.UID{small}) {
		t.Errorf("pods %v are evicted, want %s", act.evicted, small)
	}
}

// A pod is evicted once, also if the nodes have changed so much since that the policy is made anew, and wants it killed
// again.
func TestKillBeforeReshape(t *testing.T) {
	var policies []*killer
	w := stageOf(t, Config{Name: "sojourn", Shapes: &Shapes{Patience: -1, Policy: func(map[sojourn.Class][]uint32) (sojourn.Policy, error) {
		policies = append(policies, &killer{Policy: builtin(t, "fifo")})
		return policies[len(policies)-1], nil
	}}})
	act := &reluctant{stage: w}
	w.core.act = act
	w.setNode("n", 0, has(110, 1, 100))
	uid := w.newPod(asks(1, 1)).UID
	w.settle()
	w.carryOut()
	kill := func() {
		p := w.core.pods[uid]
		policies[len(policies)-1].victims = []sojourn.Preemption{{Task: p.task.id, Attempt: p.attempt, Slot: p.slot}}
		w.now = w.now.Add(time.Minute)
		w.newPod(asks(1, 1))
		w.settle()
	}
	kill()
	made := len(policies)
	w.setNode("m", 0, has(110, 10, 100))
	w.settle()
	if len(policies) == made {
		t.Fatal("no policy was made anew")
	}
	kill()
	if !slices.Equal(act.evicted, []types.UID{uid}) {
		t.Errorf("pods %v are evicted, want %s once", act.evicted, uid)
	}
}

// The scheduler wakes when a node is to be reserved for a large pod.
func TestSleepUntilReservation(t *testing.T) {
	w := newShapes(t, time.Minute)
	w.setNode("n", 4, has(110, 4, 100))
	first := w.newPod(asks(4, 1))
	for range 4 {
		w.newPod(asks(1, 1))
	}
	settle := func(want int) time.Duration {
		t.Helper()
		sleep := w.settle()
		if len(w.order) != want {
			t.Fatalf("%d pods are bound, want %d", len(w.order), want)
		}
		w.carryOut()
		w.now = w.now.Add(10 * time.Second)
		return sleep
	}
	settle(1)
	w.end(first.UID)
	settle(4)
	w.newPod(asks(4, 1))
	settle(0) // an event is to say why the pod waits
	if got := settle(0); got != 30*time.Second {
		t.Errorf("settle = %v, want 30s: a large pod has started half a minute before", got)
	}
}
