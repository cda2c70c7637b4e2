package kubernetes

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// Pods that say truly how long they take run on places that are kept for a gang, and what was said of when it can start stays true: at
// that instant it starts, which is the one without these pods if all that runs has said how long it takes. No such place is idle while a pod
// waits that would end in time.
func TestBackfill(t *testing.T) {
	const never = sojourn.Time(math.MaxInt64)
	for _, policy := range gangPolicies {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			w, one, node := newGangStage(t, policy, time.Second)
			room := 0
			for i := range rapid.IntRange(1, 3).Draw(t, "nodes") {
				n := rapid.IntRange(1, 3).Draw(t, "slots") // from ten on the default keeps one free
				room += n
				node(fmt.Sprint("n", i), n, false)
			}
			type small struct {
				size, takes time.Duration
				ends        sojourn.Time // once it runs
			}
			pods := map[types.UID]*small{}
			comes := func(label string) {
				s := &small{takes: time.Duration(rapid.IntRange(1, 20).Draw(t, label)) * time.Second}
				if s.size = s.takes; rapid.IntRange(0, 4).Draw(t, "says nothing") == 0 {
					s.size = 0
				}
				pods[w.newSized("d", s.size, one).UID] = s
			}
			running := map[types.UID]*small{}
			gang := []types.UID(nil)
			settle := func() (started bool) { // the gang
				for _, uid := range slices.Sorted(maps.Keys(running)) {
					if running[uid].ends <= w.now {
						w.end(uid)
						delete(running, uid)
					}
				}
				w.settle()
				for _, b := range w.order {
					s := pods[b.uid]
					if s == nil {
						if started = slices.Contains(gang, b.uid); !started {
							t.Fatalf("pod %s is bound, which nobody knows", b.uid)
						}
						continue
					}
					s.ends = w.now.Add(s.takes)
					running[b.uid] = s
					delete(pods, b.uid)
				}
				w.carryOut()
				return started
			}
			for range room {
				comes("takes")
			}
			settle()
			if len(running) != room {
				t.Fatalf("%d pods run on %d places", len(running), room)
			}
			width := rapid.IntRange(1, room).Draw(t, "width")
			for _, p := range w.newJob(width, map[string]string{Gang: ""}, one) {
				gang = append(gang, p.UID)
			}
			settle()
			for range rapid.IntRange(0, 10).Draw(t, "wait") {
				comes("takes")
			}
			w.now = w.now.Add(time.Second) // from now on places are kept for the gang
			var ends []sojourn.Time
			for _, s := range running {
				ends = append(ends, s.ends)
			}
			slices.Sort(ends)
			first := max(w.now, ends[width-1]) // without any other pods
			known := func() sojourn.Time {     // when the gang can start by what was said
				var ends []sojourn.Time
				for _, s := range running {
					if s.size > 0 {
						ends = append(ends, s.ends)
					}
				}
				slices.Sort(ends)
				need := width - (room - len(running))
				switch {
				case need <= 0:
					return w.now
				case need > len(ends):
					return never
				}
				return ends[need-1]
			}
			latest := never
			if !slices.ContainsFunc(slices.Collect(maps.Values(running)), func(s *small) bool { return s.size == 0 }) {
				latest = first
			}
			for ; ; w.now = w.now.Add(time.Second) {
				started := settle()
				at := known()
				if at > latest || !started && at <= w.now || started && w.now < first {
					t.Fatalf("at %v the gang of %d has started: %v, first %v, by what was said %v, before %v", w.now, width, started, first, at, latest)
				}
				if latest = at; started {
					return
				}
				for uid, s := range pods {
					if idle := room - len(running); idle > 0 && s.size > 0 && w.now.Add(s.size) <= at && at < never {
						t.Fatalf("%d places are idle, which are kept until %v, and pod %s takes only %v at %v", idle, at, uid, s.size, w.now)
					}
				}
				for range rapid.IntRange(0, 2).Draw(t, "come") {
					comes("takes")
				}
			}
		}))
	}
}

// Pods that run for longer than they said keep a gang waiting, and no more pods of their pool get its places meanwhile.
func TestBackfillOfLiars(t *testing.T) {
	for _, policy := range gangPolicies {
		t.Run(policy, func(t *testing.T) {
			w, one, node := newGangStage(t, policy, time.Second)
			node("n", 4, false)
			at := began
			pass := func(d time.Duration, want ...types.UID) {
				t.Helper()
				at = at.Add(d)
				w.binds(t, at, want...)
			}
			add := func(space string, seconds time.Duration) types.UID {
				return w.newSized(space, seconds*time.Second, one).UID
			}
			long, first, second, third := add("honest", 60), add("honest", 10), add("honest", 10), add("honest", 3)
			pass(0, long, first, second, third)
			var gang []types.UID
			for _, p := range w.newJob(3, map[string]string{Gang: ""}, one) {
				gang = append(gang, p.UID)
			}
			pass(0)
			pass(time.Second) // from now on places are kept, until 10 s
			liar, again, silent, honest := add("liars", 1), add("liars", 1), add("honest", 0), add("honest", 2)
			pass(2*time.Second - 1)
			w.end(third)
			pass(1, liar)
			w.end(first)
			pass(2*time.Second, honest) // the liar still runs, so that the gang has its places after 60 s
			w.end(honest)
			pass(2 * time.Second)
			w.end(liar)
			pass(time.Second, again) // two places are kept, and the third comes after 10 s
			pass(time.Second)
			w.end(again)
			w.end(second)
			pass(time.Second, gang...)
			w.end(gang[0])
			pass(0, silent)
		})
	}
}

// With shapes, room for a pod of a gang may come from several pods that are smaller. With nodes that differ, a place that is kept goes to
// pods that may go there.
func TestBackfillWhereItSuits(t *testing.T) {
	settle := func(w *stage, at time.Duration, want ...types.UID) {
		t.Helper()
		w.binds(t, began.Add(at), want...)
	}
	add := func(w *stage, size time.Duration, change func(*corev1.PodSpec)) types.UID {
		return w.newSized("d", size, change).UID
	}
	t.Run("shapes", func(t *testing.T) {
		w := stageOf(t, Config{Name: "sojourn", GangPatience: time.Second, Shapes: &Shapes{Patience: -1}})
		w.setNode("n", 0, has(110, 4, 100))
		small, large := asks(1, 1), asks(2, 1)
		a, b, c := add(w, 5*time.Second, small), add(w, 7*time.Second, small), add(w, 3*time.Second, large)
		settle(w, 0, a, b, c)
		gang := w.newJob(2, map[string]string{Gang: ""}, large)
		settle(w, 0)
		settle(w, time.Second)
		add(w, 5*time.Second, large)
		fits := add(w, 3*time.Second, large)
		w.end(c)
		settle(w, 3*time.Second, fits) // the other place comes after 7 s
		w.end(a)
		settle(w, 5*time.Second)
		w.end(fits)
		settle(w, 6*time.Second)
		w.end(b)
		settle(w, 7*time.Second, gang[0].UID, gang[1].UID)
	})
	t.Run("nodes", func(t *testing.T) {
		w := stageOf(t, Config{Name: "sojourn", GangPatience: time.Second, Slots: []corev1.ResourceName{DefaultSlot}, Policy: builtin(t, "fifo")})
		disk := func(kind string) func(*corev1.Node) {
			return func(o *corev1.Node) { o.Labels = map[string]string{"disk": kind} }
		}
		wants := func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": "fast"} }
		w.setNode("n", 1, disk("slow"))
		w.setNode("m", 1, disk("fast"))
		a, b := add(w, 3*time.Second, nil), add(w, 9*time.Second, wants)
		settle(w, 0, a, b)
		w.newJob(2, map[string]string{Gang: ""}, nil)
		settle(w, 0)
		settle(w, time.Second)
		add(w, time.Second, wants)
		anywhere := add(w, time.Second, nil)
		w.end(a)
		settle(w, 3*time.Second, anywhere)
	})
	t.Run("told later", func(t *testing.T) {
		w := stageOf(t, Config{Name: "sojourn", GangPatience: time.Second, Slots: []corev1.ResourceName{DefaultSlot}, Policy: builtin(t, "fifo")})
		w.setNode("n", 2, nil)
		a, b := add(w, 3*time.Second, nil), add(w, 9*time.Second, nil)
		settle(w, 0, a, b)
		w.newJob(2, map[string]string{Gang: ""}, nil)
		settle(w, 0)
		settle(w, time.Second)
		later := add(w, 0, nil)
		w.end(a)
		settle(w, 3*time.Second)
		w.pods[later].Annotations[Size] = "1s"
		w.core.pod(w.pods[later].DeepCopy())
		w.now = w.now.Add(10 * time.Millisecond)
		if sleep := w.settle(); sleep > 90*time.Millisecond || len(w.order) > 0 {
			t.Errorf("a moment after the last look %d pods are bound, and the next look is in %v", len(w.order), sleep)
		}
		settle(w, 3100*time.Millisecond, later)
	})
	t.Run("attempts elsewhere", func(t *testing.T) {
		w := stageOf(t, Config{Name: "sojourn", GangPatience: time.Second, Slots: []corev1.ResourceName{DefaultSlot}, Policy: builtin(t, "fifo")})
		on := func(kind string) func(*corev1.PodSpec) {
			return func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"disk": kind} }
		}
		for name, kind := range map[string]string{"l": "slow", "m": "slow", "n": "fast"} {
			w.setNode(name, 1, func(o *corev1.Node) { o.Labels = map[string]string{"disk": kind} })
		}
		a, b, c := add(w, 3*time.Second, on("slow")), add(w, 0, on("slow")), add(w, 9*time.Second, on("fast"))
		settle(w, 0, a, b, c)
		w.newJob(2, map[string]string{Gang: ""}, on("slow"))
		settle(w, 0)
		settle(w, time.Second)
		add(w, time.Second, on("slow"))
		w.end(a)
		settle(w, 3*time.Second) // nobody knows when the other place comes
	})
}

// binds settles at an instant, and demands that these pods are bound then.
func (w *stage) binds(t *testing.T, at sojourn.Time, want ...types.UID) {
	t.Helper()
	w.now = at
	w.settle()
	var got []types.UID
	for _, b := range w.order {
		got = append(got, b.uid)
	}
	w.carryOut()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Fatalf("at %v are bound %v, want %v", at, got, want)
	}
}
