package kubernetes

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A keeper is a stage on which small pods wait for each place that gangs leave.
type keeper struct {
	*stage
	*testing.T
	one     func(*corev1.PodSpec)
	node    func(name string, n int, change func(*corev1.Node))
	running map[string][]types.UID // by node
}

func newKeeper(t *testing.T, policy string, small func(*corev1.PodSpec)) *keeper {
	w, one, _ := newGangStage(t, policy, time.Second)
	k := &keeper{stage: w, T: t, running: map[string][]types.UID{}}
	k.one = func(spec *corev1.PodSpec) {
		one(spec)
		if small != nil {
			small(spec)
		}
	}
	k.node = func(name string, n int, change func(*corev1.Node)) {
		w.setNode(name, n, func(o *corev1.Node) {
			if policy == "shapes" {
				has(110, int64(n), 100)(o)
			}
			if change != nil {
				change(o)
			}
		})
	}
	return k
}

// fill adds small pods, and lets as many start as there are places.
func (k *keeper) fill(places int) {
	k.Helper()
	for range places + 20 {
		k.newPod(k.one)
	}
	k.step(places, "small pods")
}

// step lets a second pass, and demands that so many pods are bound then.
func (k *keeper) step(want int, what string) {
	k.Helper()
	k.now = k.now.Add(time.Second)
	k.settle()
	for _, b := range k.order {
		k.running[b.node] = append(k.running[b.node], b.uid)
	}
	k.carryOut()
	if got := len(k.order); got != want {
		k.Fatalf("%s: %d pods are bound, want %d", what, got, want)
	}
}

// free ends the oldest pod of a node.
func (k *keeper) free(node string) {
	k.end(k.running[node][0])
	k.running[node] = k.running[node][1:]
}

// comes adds a gang that finds no place.
func (k *keeper) comes(width int, pod func(*corev1.PodSpec)) []*corev1.Pod {
	k.Helper()
	gang := k.newJob(width, map[string]string{Gang: ""}, pod)
	k.step(0, "a gang comes")
	return gang
}

// on demands that pods are on a node.
func (k *keeper) on(node string, pods ...*corev1.Pod) {
	k.Helper()
	for _, p := range pods {
		if got := k.pods[p.UID].Spec.NodeName; got != node {
			k.Errorf("pod %s of the gang is on node %q, want %s", p.UID, got, node)
		}
	}
}

// replace deletes a pod, and adds the one after it at once.
func (k *keeper) replace(p *corev1.Pod) *corev1.Pod {
	again := p.DeepCopy()
	again.UID = "again"
	k.remove(p.UID)
	k.pods[again.UID] = again
	k.core.pod(again.DeepCopy())
	return again
}

// A place that is kept and goes bad is not used: the gang gets others, where it still fits.
func TestKeptPlaceThatGoesBad(t *testing.T) {
	ways := map[string]func(*keeper){
		"cordoned": func(k *keeper) { k.node("n", 2, func(o *corev1.Node) { o.Spec.Unschedulable = true }) },
		"tainted": func(k *keeper) {
			k.node("n", 2, func(o *corev1.Node) {
				o.Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
			})
		},
		"without slots": func(k *keeper) { k.node("n", 0, nil) },
		"one slot less": func(k *keeper) { k.node("n", 1, nil) }, // where another pod runs
		"taken": func(k *keeper) { // somebody else has bound a pod to the node
			k.newPod(func(spec *corev1.PodSpec) { k.one(spec); spec.NodeName = "n" })
		},
	}
	for way, spoil := range ways {
		for _, policy := range gangPolicies {
			t.Run(way+"/"+policy, func(t *testing.T) {
				k := newKeeper(t, policy, nil)
				k.node("n", 2, nil)
				k.node("m", 2, nil)
				k.fill(4)
				gang := k.comes(2, k.one)
				k.free("n")
				k.step(0, "one of two places is kept")
				spoil(k)
				k.step(0, "the place goes bad")
				k.free("m")
				k.step(0, "one of two places is kept again")
				k.free("m")
				k.step(2, "the gang has two places")
				k.on("m", gang...)
			})
		}
	}
}

// If the Job of a gang is deleted, or a pod of it, the places that were kept are others' at once, and nothing is
// remembered.
func TestKeptGangThatEnds(t *testing.T) {
	ways := map[string]func(*keeper, []*corev1.Pod){
		"its Job is deleted":      func(k *keeper, gang []*corev1.Pod) { k.core.jobGone(gang[0].OwnerReferences[0].UID) },
		"a pod without goes":      func(k *keeper, gang []*corev1.Pod) { k.remove(gang[3].UID) },
		"a pod with a place goes": func(k *keeper, gang []*corev1.Pod) { k.remove(gang[0].UID) },
	}
	for way, end := range ways {
		for _, policy := range gangPolicies {
			t.Run(way+"/"+policy, func(t *testing.T) {
				k := newKeeper(t, policy, nil)
				k.node("n", 4, nil)
				k.fill(4)
				gang := k.comes(4, k.one)
				k.free("n")
				k.free("n")
				k.step(0, "two of four places are kept")
				end(k, gang)
				k.step(2, way)
				for _, p := range gang {
					if slices.ContainsFunc(k.order, func(b bind) bool { return b.uid == p.UID }) {
						t.Errorf("pod %s is bound, and the gang is not whole", p.UID)
					}
				}
				if g := &k.core.gangs; g.kept != nil || len(g.picks) > 0 {
					t.Errorf("kept %v, picks %v", g.kept, g.picks)
				}
			})
		}
	}
}

// If a pod that has a place is deleted, and the one after it is there at once, the gang waits for as many places as
// before.
func TestKeptPodIsReplaced(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			k := newKeeper(t, policy, nil)
			k.node("n", 3, nil)
			k.fill(3)
			gang := k.comes(3, k.one)
			k.free("n")
			k.free("n")
			k.step(0, "two of three places are kept")
			again := k.replace(gang[0])
			k.step(0, "another pod takes the place of the first")
			k.free("n")
			k.step(3, "all three are free")
			k.on("n", again, gang[1], gang[2])
		})
	}
}

// If a pod that has a place is deleted, the one after it is there at once, and the place has gone with its node's room,
// the gang gets places elsewhere.
func TestKeptPodIsReplacedOnSmallerNode(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			k := newKeeper(t, policy, nil)
			k.node("n", 2, nil)
			k.node("m", 2, nil)
			k.fill(4)
			gang := k.comes(2, k.one)
			k.free("n")
			k.step(0, "one of two places is kept")
			again := k.replace(gang[0])
			k.node("n", 1, nil)
			k.step(0, "another pod comes, and the place is gone")
			k.free("m")
			k.step(0, "one of two places is kept again")
			k.free("m")
			k.step(2, "both are free")
			k.on("m", again, gang[1])
		})
	}
}

// Nodes that do not suit the pods of a gang are no room for it. No place is kept for a gang that never has all.
func TestGangThatSuitsFewNodes(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			k := newKeeper(t, policy, nil)
			k.node("n", 2, func(o *corev1.Node) { o.Labels = map[string]string{"disk": "fast"} })
			k.node("m", 2, nil)
			k.fill(4)
			k.comes(3, func(spec *corev1.PodSpec) {
				k.one(spec)
				spec.NodeSelector = map[string]string{"disk": "fast"}
			})
			for range 3 {
				k.free("n")
				k.step(1, "another small pod")
			}
		})
	}
}

// A place that was full a moment ago is tried again when it is free, also if pods that may go nowhere else wait for it.
func TestKeptPlaceThatWasFull(t *testing.T) {
	fast := func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": "fast"} }
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			k := newKeeper(t, policy, fast)
			k.node("n", 2, func(o *corev1.Node) { o.Labels = map[string]string{"disk": "fast"} })
			k.node("m", 2, nil)
			k.fill(2)
			gang := k.comes(2, k.one)
			k.free("n")
			k.step(0, "one of two places is kept")
			k.free("n")
			k.step(2, "both are free")
			k.on("n", gang...)
		})
	}
}

// The same if the one pod of a task found the node full, and another pod of the task got a place.
func TestKeptPlaceThatWasFullForOnePod(t *testing.T) {
	on := func(disk string) func(*corev1.PodSpec) {
		return func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": disk} }
	}
	k := newKeeper(t, "fifo", on("fast"))
	for i, disk := range []string{"fast", "slow", "mid"} {
		k.node([]string{"n", "m", "o"}[i], 2, func(o *corev1.Node) { o.Labels = map[string]string{"disk": disk} })
	}
	k.fill(2)
	gang := k.comes(2, k.one)
	k.free("n")
	k.step(0, "one of two places is kept")
	p := k.newJob(1, nil, on("fast"))[0].DeepCopy()
	p.UID = "other"
	on("mid")(&p.Spec)
	k.pods[p.UID] = p
	k.core.pod(p.DeepCopy())
	k.step(1, "a task has pods for n and for o")
	k.free("n")
	k.step(2, "both are free")
	k.on("n", gang...)
}

// Of two gangs that have waited for as long, places are kept for the one that came first.
func TestKeptGangOfTwo(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			k := newKeeper(t, policy, nil)
			k.node("n", 2, nil)
			k.fill(2)
			first := k.newJob(2, map[string]string{Gang: ""}, k.one)
			k.newJob(2, map[string]string{Gang: ""}, k.one)
			k.step(0, "two gangs come")
			k.free("n")
			k.step(0, "one place is kept")
			k.free("n")
			k.step(2, "both are free")
			if !slices.ContainsFunc(k.order, func(b bind) bool { return b.uid == first[0].UID }) {
				t.Errorf("%v are bound, want the gang that came first", k.order)
			}
		})
	}
}

// A pod that gets a kept place has the attempt after the last one that was seen on a pod of its task.
func TestKeptAttempt(t *testing.T) {
	for _, p := range []sojourn.Policy{builtin(t, "fifo"), struct{ sojourn.Policy }{builtin(t, "fifo")}} { // the latter knows no features
		k := newKeeper(t, "fifo", nil)
		k.stage = stageOf(t, Config{Name: "sojourn", GangPatience: time.Second, Slots: []corev1.ResourceName{DefaultSlot}, Policy: p})
		k.node = func(name string, n int, _ func(*corev1.Node)) { k.setNode(name, n, nil) }
		k.keptAttempt()
	}
}

func (k *keeper) keptAttempt() {
	k.node("n", 2, nil)
	k.fill(2)
	gang := k.newJob(2, map[string]string{Gang: ""}, k.one)
	old := gang[0].DeepCopy()
	old.UID, old.Annotations[Attempt], old.Status.Phase = "old", "5", corev1.PodFailed
	k.core.pod(old)
	k.step(0, "a gang comes")
	k.free("n")
	k.step(0, "one place is kept")
	k.free("n")
	k.step(2, "both are free")
	for _, b := range k.order {
		if want := map[types.UID]uint32{gang[0].UID: 6, gang[1].UID: 1}[b.uid]; b.attempt != want {
			k.Errorf("pod %s is attempt %d, want %d", b.uid, b.attempt, want)
		}
	}
}
