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

// newGangStage makes a stage whose pods take one slot each, or one cpu with shapes.
func newGangStage(t fataler, policy string, patience time.Duration) (w *stage, one func(*corev1.PodSpec), node func(name string, n int, cordoned bool)) {
	c := Config{Name: "sojourn", GangPatience: patience, Slots: []corev1.ResourceName{DefaultSlot}}
	if policy == "shapes" {
		c.Slots, c.Shapes = nil, &Shapes{Patience: -1}
	} else {
		c.Policy = builtin(t, policy)
	}
	w = stageOf(t, c)
	one = func(spec *corev1.PodSpec) {
		if policy == "shapes" {
			asks(1, 1)(spec)
		}
	}
	node = func(name string, n int, cordoned bool) {
		w.setNode(name, n, func(o *corev1.Node) {
			if policy == "shapes" {
				has(110, int64(n), 100)(o)
			}
			o.Spec.Unschedulable = cordoned
		})
	}
	return w, one, node
}

var gangPolicies = []string{"fifo", "default", "fair", "hfsp", "srpt", "shapes"}

// A wide gang beside pods that always wait: once it has waited for the patience, each place that comes free
// is its own, until it has all. One that is wider than the cluster holds up nobody.
func TestGangKept(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			patience := rapid.SampledFrom([]time.Duration{-1, 1, 5}).Draw(t, "patience") * time.Second
			w, one, node := newGangStage(t, policy, patience)
			room := 0
			for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				n := rapid.IntRange(1, 4).Draw(t, "slots")
				room += n
				node(fmt.Sprint("n", i), n, false)
			}
			var running []types.UID
			settle := func() (bound int) {
				w.settle()
				for _, b := range w.order {
					running = append(running, b.uid)
				}
				w.carryOut()
				return len(w.order)
			}
			steps := room + 10
			for range room + steps {
				w.newPod(one)
			}
			settle()
			width := rapid.IntRange(2, max(2, room)+1).Draw(t, "width")
			w.newJob(width, map[string]string{Gang: ""}, one)
			settle() // all its pods are there from now on
			kept := 0
			for step := 1; step <= steps; step++ {
				w.now = w.now.Add(time.Second)
				i := rapid.IntRange(0, len(running)-1).Draw(t, "ends")
				w.end(running[i])
				running = slices.Delete(running, i, i+1)
				want := 1 // another pod in the place of the one that has ended
				if patience > 0 && width <= room && time.Duration(step)*time.Second >= patience && kept < width {
					if kept++; kept < width {
						want = 0
					} else {
						want = width
					}
				}
				if got := settle(); got != want {
					t.Fatalf("step %d: %d pods are bound, want %d: room %d, gang of %d, %d kept", step, got, want, room, width, kept)
				}
			}
		}))
	}
}

// Whatever happens to gangs while places are kept for them, and to their nodes: their pods are bound
// together or not at all, no node has more pods than slots, and nothing is lost.
func TestGangKeptThroughChanges(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			w, one, node := newGangStage(t, policy, time.Second)
			sizes, all, cordoned, room := map[string]int{}, map[string]int{}, map[string]bool{}, 0
			for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				name, n := fmt.Sprint("n", i), rapid.IntRange(1, 4).Draw(t, "slots")
				sizes[name], all[name] = n, n
				room += n
				node(name, n, false)
			}
			on, waits := map[types.UID]string{}, map[types.UID]bool{}
			var running []types.UID
			settle := func() {
				w.settle()
				gang := map[types.UID]bool{}
				for _, b := range w.order {
					if cordoned[b.node] {
						t.Fatalf("pod %s is bound to the cordoned node %s", b.uid, b.node)
					}
					on[b.uid] = b.node
					running = append(running, b.uid)
					delete(waits, b.uid)
					for _, o := range w.pods[b.uid].OwnerReferences {
						gang[o.UID] = true
					}
				}
				for uid := range waits {
					for _, o := range w.pods[uid].OwnerReferences {
						if gang[o.UID] {
							t.Fatalf("pod %s of gang %s waits, and others are bound", uid, o.UID)
						}
					}
				}
				used := map[string]int{}
				for _, uid := range running {
					used[on[uid]]++
				}
				for _, b := range w.order {
					if n := used[b.node]; n > sizes[b.node] {
						t.Fatalf("%d pods on node %s of %d slots", n, b.node, sizes[b.node])
					}
				}
				w.carryOut()
			}
			endOne := func(i int) {
				w.end(running[i])
				running = slices.Delete(running, i, i+1)
			}
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				w.now = w.now.Add(time.Second)
				waiting := slices.DeleteFunc(keysOf(waits), func(uid types.UID) bool { return w.pods[uid].OwnerReferences == nil })
				switch rapid.IntRange(0, 8).Draw(t, "step") {
				case 0:
					for _, p := range w.newJob(rapid.IntRange(2, max(2, room)).Draw(t, "width"), map[string]string{Gang: ""}, one) {
						waits[p.UID] = true
					}
				case 1, 2:
					size := time.Duration(rapid.IntRange(0, 9).Draw(t, "size")) * time.Second
					waits[w.newSized("d", size, one).UID] = true
				case 3: // a pod of a gang is deleted, and another one comes
					if len(waiting) > 0 {
						p := w.pods[rapid.SampledFrom(waiting).Draw(t, "deleted")]
						w.remove(p.UID)
						delete(waits, p.UID)
						if rapid.Bool().Draw(t, "later") {
							settle()
						}
						again := p.DeepCopy()
						again.UID += "+"
						w.pods[again.UID], waits[again.UID] = again, true
						w.core.pod(again.DeepCopy())
					}
				case 4: // a Job is deleted, and then its pods
					if len(waiting) > 0 {
						gone := w.pods[rapid.SampledFrom(waiting).Draw(t, "gone")].OwnerReferences[0].UID
						w.core.jobGone(gone)
						settle()
						for _, uid := range waiting {
							if w.pods[uid].OwnerReferences[0].UID == gone {
								w.remove(uid)
								delete(waits, uid)
							}
						}
					}
				case 5, 6:
					name := fmt.Sprint("n", rapid.IntRange(0, len(sizes)-1).Draw(t, "node"))
					if rapid.Bool().Draw(t, "cordon") {
						cordoned[name] = !cordoned[name]
					} else {
						sizes[name] = rapid.IntRange(0, all[name]).Draw(t, "slots")
					}
					node(name, sizes[name], cordoned[name])
				default:
					if len(running) > 0 {
						endOne(rapid.IntRange(0, len(running)-1).Draw(t, "ends"))
					}
				}
				settle()
			}
			for name, n := range all {
				sizes[name], cordoned[name] = n, false
				node(name, n, false)
			}
			for range 1000 {
				w.now = w.now.Add(time.Second)
				if settle(); len(waits) == 0 && len(running) == 0 {
					break
				}
				for len(running) > 0 {
					endOne(0)
				}
			}
			for uid := range waits {
				if len(w.pods[uid].OwnerReferences) == 0 || room >= 2 {
					t.Fatalf("pod %s waits for ever", uid)
				}
			}
			if len(w.core.on) != 0 {
				t.Fatalf("%d slots are taken, and nothing runs", len(w.core.on))
			}
		}))
	}
}

func keysOf(m map[types.UID]bool) []types.UID {
	var list []types.UID
	for uid := range m {
		list = append(list, uid)
	}
	slices.Sort(list)
	return list
}

// Of two gangs, places are kept for the one that has waited for longest, whichever the policy would take first.
func TestOldestGangIsKept(t *testing.T) {
	w, one, node := newGangStage(t, "srpt", time.Minute)
	node("n", 2, false)
	var running, started []types.UID
	settle := func() {
		w.settle()
		for _, b := range w.order {
			running, started = append(running, b.uid), append(started, b.uid)
		}
		w.carryOut()
	}
	for range 100 {
		w.newPod(one)
	}
	settle()
	gangs := [2][]*corev1.Pod{}
	for i := range gangs {
		w.now = w.now.Add(10 * time.Second)
		gangs[i] = w.newJob(2, map[string]string{Gang: ""}, one)
		settle()
	}
	began := func(gang []*corev1.Pod) bool {
		return slices.Contains(started, gang[0].UID) && slices.Contains(started, gang[1].UID)
	}
	for at := 30; at <= 100; at += 10 { // the first one has waited for a minute at 70, and the other one at 80
		w.now = w.now.Add(10 * time.Second)
		w.end(running[0])
		running = running[1:]
		settle()
		if first, second := began(gangs[0]), began(gangs[1]); first != (at >= 80) || second != (at >= 100) {
			t.Fatalf("after %d s the first gang has begun: %v, the other: %v; want the first at 80 s, and the other two ends later", at, first, second)
		}
	}
}

// If a node leaves, so that a gang does not fit any more, the places that were kept for it are others'. It gets them
// again when the node is back.
func TestKeptGangThatFitsNoMore(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			w, one, node := newGangStage(t, policy, time.Second)
			node("n", 2, false)
			node("m", 1, false)
			running := map[string][]types.UID{} // by node
			step := func(want int, what string) {
				t.Helper()
				w.now = w.now.Add(time.Second)
				w.settle()
				for _, b := range w.order {
					running[b.node] = append(running[b.node], b.uid)
				}
				w.carryOut()
				if got := len(w.order); got != want {
					t.Fatalf("%s: %d pods are bound, want %d", what, got, want)
				}
			}
			end := func(node string) {
				w.end(running[node][0])
				running[node] = running[node][1:]
			}
			for range 20 {
				w.newPod(one)
			}
			step(3, "small pods")
			gang := w.newJob(3, map[string]string{Gang: ""}, one)
			step(0, "a gang comes")
			end("n")
			step(0, "one of three places is kept")
			node("m", 1, true)
			step(1, "the gang fits no more")
			node("m", 1, false)
			step(0, "it fits again")
			end("n")
			end("n")
			step(0, "two of three places are kept")
			end("m")
			step(3, "all three are free")
			for _, p := range gang {
				if p.Spec.NodeName == "" {
					t.Errorf("pod %s of the gang waits", p.UID)
				}
			}
		})
	}
}
