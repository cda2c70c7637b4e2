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
