package kubernetes

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// Pods of a gang are bound at one instant or not at all, beside other jobs and gangs, under any policy, with
// slots and with shapes. What has room waits for nothing: when all is settled, no gang fits, counted by hand.
func TestGangs(t *testing.T) {
	for _, policy := range []string{"fifo", "default", "fair", "hfsp", "shapes"} {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			w := newShapes(t, -1)
			if policy != "shapes" {
				w = newStage(t, builtin(t, policy))
			}
			one := func(spec *corev1.PodSpec) {
				if policy == "shapes" {
					asks(1, 1)(spec)
				}
			}
			room := 0
			for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				n := rapid.IntRange(1, 5).Draw(t, "slots")
				room += n
				w.setNode(fmt.Sprint("n", i), n, func(o *corev1.Node) {
					if policy == "shapes" {
						has(110, int64(n), 100)(o)
					}
				})
			}
			gangOf, waits := map[types.UID]int{}, map[int][]types.UID{}
			var running, alone []types.UID
			for step := range rapid.IntRange(1, 25).Draw(t, "steps") {
				w.now = w.now.Add(time.Second)
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0:
					for _, p := range w.newJob(rapid.IntRange(1, 6).Draw(t, "width"), map[string]string{Gang: ""}, one) {
						gangOf[p.UID] = step + 1
						waits[step+1] = append(waits[step+1], p.UID)
					}
				case 1:
					alone = append(alone, w.newPod(one).UID)
				default:
					if len(running) > 0 {
						i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
						w.end(running[i])
						running = slices.Delete(running, i, i+1)
					}
				}
				w.settle()
				started := map[int]int{}
				for _, b := range w.order {
					running = append(running, b.uid)
					started[gangOf[b.uid]]++
					alone = slices.DeleteFunc(alone, func(uid types.UID) bool { return uid == b.uid })
				}
				if len(running) > room {
					t.Fatalf("%d pods on %d places", len(running), room)
				}
				for gang, n := range started {
					if gang > 0 && n != len(waits[gang]) {
						t.Fatalf("%d pods of a gang of %d are bound", n, len(waits[gang]))
					}
					delete(waits, gang)
				}
				for _, members := range waits {
					if len(running)+len(members) <= room {
						t.Fatalf("a gang of %d waits, and %d of %d places are taken", len(members), len(running), room)
					}
				}
				if len(alone) > 0 && len(running) < room {
					t.Fatalf("a pod waits, and %d of %d places are taken", len(running), room)
				}
				w.carryOut()
			}
		}))
	}
}

// A gang waits for its last pod. A pod of it that has failed starts again by itself.
func TestGangMember(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 3, nil)
	pods := w.newJob(3, map[string]string{Gang: ""}, nil)
	last := w.pods[pods[2].UID]
	w.remove(last.UID)
	if w.settle(); len(w.order) != 0 {
		t.Errorf("%d pods are bound before the last one has come", len(w.order))
	}
	w.core.pod(last.DeepCopy())
	w.settle()
	w.carryOut()
	if len(w.order) != 3 {
		t.Fatalf("%d pods are bound, want 3", len(w.order))
	}
	failed := w.pods[pods[1].UID]
	failed.Status.Phase = corev1.PodFailed
	w.core.pod(failed.DeepCopy())
	again := failed.DeepCopy()
	again.UID, again.Status.Phase, again.Spec.NodeName = "again", "", ""
	w.pods[again.UID] = again
	w.core.pod(again.DeepCopy())
	if w.settle(); len(w.order) != 1 || w.order[0].uid != "again" {
		t.Errorf("binds %v, want the pod that replaces the failed one", w.order)
	}
}

// A gang that waits for its last pod takes no place from others.
func TestIncompleteGang(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 3, nil)
	pods := w.newJob(3, map[string]string{Gang: ""}, nil)
	w.remove(pods[2].UID)
	w.settle()
	w.core.pod(w.pods[pods[0].UID].DeepCopy()) // is heard of again
	for range 3 {
		w.newPod(nil)
	}
	w.settle()
	if len(w.order) != 3 {
		t.Errorf("%d pods are bound beside a gang that is not complete, want 3", len(w.order))
	}
}

// Of two gangs that fit one at a time, the one starts that the policy takes first: fair's choice is the pool where nothing
// runs, and not the gang that came first.
func TestPolicyChoosesTheGang(t *testing.T) {
	w := newStage(t, builtin(t, "fair"))
	w.setNode("n", 4, nil)
	w.newPodIn("a", nil)
	w.settle()
	w.carryOut()
	gangs := map[string][]*corev1.Pod{}
	for _, pool := range []string{"a", "b"} {
		gangs[pool] = w.newJobIn(pool, 3, map[string]string{Gang: ""}, nil)
	}
	w.settle()
	w.carryOut()
	if len(w.order) != 3 {
		t.Errorf("%d pods are bound, want 3", len(w.order))
	}
	for _, p := range gangs["b"] {
		if p.Spec.NodeName == "" {
			t.Errorf("pod %s of the gang in pool b waits", p.UID)
		}
	}
}

// A gang that is alone is offered once each time: if it does not fit beside what waits with it, it does not fit alone.
func TestGangIsOfferedOnce(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("n", 1, nil)
	first := w.newJob(2, map[string]string{Gang: ""}, nil)[0]
	for range 3 {
		w.settle() // the first pod gets a place, and gives it back
	}
	w.setNode("n", 2, nil)
	w.settle()
	if len(w.order) != 2 {
		t.Fatalf("%d pods are bound, want 2", len(w.order))
	}
	for _, b := range w.order {
		if want := map[bool]uint32{true: 4, false: 1}[b.uid == first.UID]; b.attempt != want {
			t.Errorf("pod %s is attempt %d, want %d", b.uid, b.attempt, want)
		}
	}
}
