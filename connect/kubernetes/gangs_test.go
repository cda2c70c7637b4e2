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
// slots and with shapes, also if they want nodes with fast disks. What has room waits for nothing: when all is settled, no
// gang fits, counted by hand.
func TestGangs(t *testing.T) {
	for _, policy := range []string{"fifo", "default", "fair", "hfsp", "shapes"} {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			w, one, _ := newGangStage(t, policy, -1)
			type node struct {
				room int
				fast bool
			}
			nodes, slots := map[string]*node{}, 0
			for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				n := &node{rapid.IntRange(1, 5).Draw(t, "slots"), rapid.Bool().Draw(t, "fast")}
				slots += n.room
				nodes[fmt.Sprint("n", i)] = n
				w.setNode(fmt.Sprint("n", i), n.room, func(o *corev1.Node) {
					o.Labels = map[string]string{"fast": fmt.Sprint(n.fast)}
					if policy == "shapes" {
						has(110, int64(n.room), 100)(o)
					}
				})
			}
			type group struct { // a gang, or a pod that is alone
				fast bool
				pods []types.UID
			}
			var waits []*group
			var running []bind
			for range rapid.IntRange(1, 25).Draw(t, "steps") {
				w.now = w.now.Add(time.Second)
				g := &group{fast: rapid.Bool().Draw(t, "wants a fast disk")}
				demand := func(spec *corev1.PodSpec) {
					if one(spec); g.fast {
						spec.NodeSelector = map[string]string{"fast": "true"}
					}
				}
				switch rapid.IntRange(0, 3).Draw(t, "step") {
				case 0:
					for _, p := range w.newJob(rapid.IntRange(1, 6).Draw(t, "width"), map[string]string{Gang: ""}, demand) {
						g.pods = append(g.pods, p.UID)
					}
					waits = append(waits, g)
				case 1:
					g.pods = []types.UID{w.newPod(demand).UID}
					waits = append(waits, g)
				default:
					if len(running) > 0 {
						i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
						w.end(running[i].uid)
						nodes[running[i].node].room++
						running = slices.Delete(running, i, i+1)
					}
				}
				w.settle()
				bound := map[types.UID]string{}
				for _, b := range w.order {
					bound[b.uid] = b.node
					running = append(running, b)
					if nodes[b.node].room--; nodes[b.node].room < 0 {
						t.Fatalf("pod %s is bound to %s, which is full", b.uid, b.node)
					}
				}
				waits = slices.DeleteFunc(waits, func(g *group) bool {
					n, room := 0, 0
					for _, uid := range g.pods {
						if node, ok := bound[uid]; ok {
							if n++; g.fast && !nodes[node].fast {
								t.Fatalf("pod %s is bound to %s, and wants a fast disk", uid, node)
							}
						}
					}
					for _, n := range nodes {
						if n.fast || !g.fast {
							room += n.room
						}
					}
					if policy == "default" && slots >= 10 {
						room-- // its reserve, which it also keeps from gangs
					}
					if n == 0 && len(g.pods) <= room {
						t.Fatalf("a gang of %d waits, and there is room for %d", len(g.pods), room)
					}
					if n > 0 && n < len(g.pods) {
						t.Fatalf("%d pods of a gang of %d are bound", n, len(g.pods))
					}
					return n > 0
				})
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
	w, one, node := newGangStage(t, "shapes", -1)
	node("n", 2, false)
	single := w.newPod(one)
	w.settle()
	w.carryOut()
	first := w.newJob(2, map[string]string{Gang: ""}, one)[0]
	for range 3 {
		w.settle() // the first pod gets a place, and gives it back
	}
	w.end(single.UID)
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
