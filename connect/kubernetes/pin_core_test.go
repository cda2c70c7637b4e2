package kubernetes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// An evictor counts evictions, and carries out none.
type evictor struct {
	*world
	n int
}

func (e *evictor) evict(*corev1.Pod, uint32) { e.n++ }

// A pod that was pinned before a restart has its slot and its attempt. It is evicted, once, when its node
// is cordoned or deleted before the other scheduler has placed it, and not afterwards.
func TestPinnedBeforeRestart(t *testing.T) {
	for _, tc := range []struct{ placed, deleted bool }{{false, false}, {false, true}, {true, false}, {true, true}} {
		w := newWorld(t, "fifo", 1)
		e := &evictor{world: w}
		w.core.pins, w.core.act = true, e
		w.ready("n", 2)
		p := w.addPod(nil, 0, 0)
		p.Spec = template(1)
		p.Annotations[Attempt], p.Annotations[Pinned] = "3", "n"
		w.core.podGone(p.UID)
		w.core.pod(p.DeepCopy())
		k := w.core.pods[p.UID]
		if k.state != running || k.attempt != 3 || len(w.core.on) != 1 {
			t.Fatalf("state %d, attempt %d, %d slots are taken", k.state, k.attempt, len(w.core.on))
		}
		if tc.placed {
			p.Spec.NodeName = "n"
			w.core.pod(p.DeepCopy())
		}
		for range 2 {
			if tc.deleted {
				w.core.nodeGone("n")
			} else {
				w.nodes["n"].Spec.Unschedulable = true
				w.core.node(w.nodes["n"].DeepCopy())
			}
			w.core.pod(p.DeepCopy())
		}
		want := 1
		if tc.placed {
			want = 0
		}
		if e.n != want {
			t.Errorf("%+v: %d evictions, want %d", tc, e.n, want)
		}
	}
}

// A gated pod is not ready while another gate keeps it back, and one without the gate of this scheduler is
// wrong.
func TestGates(t *testing.T) {
	for _, tc := range []struct {
		gates []string
		state state
		wrong bool
	}{
		{[]string{Gate}, waiting, false},
		{[]string{Gate, "another"}, unseen, false},
		{[]string{"another"}, unseen, false},
		{nil, unseen, true},
	} {
		w := newWorld(t, "fifo", 1)
		w.core.pins = true
		p := &corev1.Pod{Spec: template(1)}
		p.UID = "p"
		for _, g := range tc.gates {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: g})
		}
		w.core.pod(p)
		if k := w.core.pods["p"]; k.state != tc.state || (k.wrong != nil) != tc.wrong {
			t.Errorf("gates %v: state %d, wrong %v", tc.gates, k.state, k.wrong)
		}
	}
}
