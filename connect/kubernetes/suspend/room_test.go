package suspend

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

func list(text string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for s := range strings.FieldsSeq(text) {
		name, q, _ := strings.Cut(s, "=")
		l[corev1.ResourceName(name)] = resource.MustParse(q)
	}
	return l
}

func containers(requests string) []corev1.Container {
	return []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: list(requests)}}}
}

// has says that a node is ready, and offers this.
func (w *world) has(name, offers string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = list(offers + " pods=110")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.node(n.DeepCopy())
	return n
}

// runs says that a pod, of a Job or of nobody, is on a node.
func (w *world) runs(name, node, requests string, of *batchv1.Job) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node, Containers: containers(requests)}}
	if of != nil {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("Job"))}
	}
	w.pod(p.DeepCopy())
	return p
}

// ask makes a Job whose pods request this.
func (w *world) ask(name string, n int32, requests string) *batchv1.Job {
	w.Helper()
	o := w.newJob(name, n, n, nil)
	o.Spec.Template.Spec.Containers = containers(requests)
	w.hear(o)
	return o
}

// granted returns for how many pods of a Job there is room.
func (w *world) granted(o *batchv1.Job) int { return w.jobs[o.UID].covered }

func (w *world) want(what string, o *batchv1.Job, want int) {
	w.Helper()
	w.look()
	if got := w.granted(o); got != want {
		w.Errorf("%s: %d pods of %s may run, want %d", what, got, o.Name, want)
	}
}

// The room is what nodes offer that are ready and not cordoned, less what pods of others request on them, with any resource.
func TestRoomOfNodes(t *testing.T) {
	w := newWorld(t, "fifo", 0)
	j := w.ask("j", 20, "cpu=1")
	w.want("no node", j, 0)
	first := w.has("first", "cpu=4 memory=8Gi")
	w.want("one node", j, 4)
	w.runs("other", "second", "cpu=1500m", nil)
	w.want("a pod elsewhere", j, 4)
	second := w.has("second", "cpu=4 memory=8Gi")
	w.want("a second node, with a pod of others", j, 6)
	w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "other"}})
	w.want("that pod is gone", j, 8)
	w.has("third", "cpu=4 memory=8Gi")
	w.want("a third node", j, 12)

	w.carry(j)
	for i := range 12 {
		w.runs(fmt.Sprint("j-", i), []string{"first", "second", "third"}[i%3], "cpu=1", j)
	}
	for name, break_ := range map[string]func(*corev1.Node){
		"cordoned":  func(n *corev1.Node) { n.Spec.Unschedulable = true },
		"not ready": func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
	} {
		bad := first.DeepCopy()
		break_(bad)
		w.node(bad)
		w.want(name, j, 12) // what runs there goes on
		if got := w.room.space[corev1.ResourceCPU] - w.room.used[corev1.ResourceCPU]; got != 0 {
			t.Errorf("%s: %d thousandths of a cpu are free, want none", name, got)
		}
		w.node(first)
	}
	w.nodeGone(second)
	w.look()
	if got := w.room.space[corev1.ResourceCPU]; got != 12000 { // two nodes, and four pods that are not on them
		t.Errorf("a node is gone: the room has %d thousandths of a cpu, want 12000", got)
	}

	w = newWorld(t, "fifo", 0)
	w.has("plain", "cpu=4 memory=8Gi")
	w.has("gpus", "cpu=4 memory=8Gi example.com/gpu=2")
	gpu := w.ask("gpu", 5, "cpu=1 example.com/gpu=1")
	w.want("two GPUs", gpu, 2)
	limited := w.newJob("limited", 2, 2, nil)
	limited.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: list("example.com/gpu=1")}}}
	w.hear(limited)
	w.want("limits are requests", limited, 0)
	big := w.ask("big", 9, "memory=5Gi")
	w.want("16 Gi", big, 3)
	none := w.ask("none", 1, "example.com/fpga=1")
	w.want("no such device", none, 0)
	if len(w.warnings) != 1 || w.warnings[0] != "FitsNowhere" {
		t.Errorf("got the warnings %q, want one that it fits nowhere", w.warnings)
	}
	small := w.ask("small", 9, "cpu=1")
	w.want("others pass", small, 6)

	w = newWorld(t, "fifo", 0)
	w.has("n", "cpu=4")
	a, b := w.ask("a", 9, "cpu=1"), w.ask("b", 9, "cpu=3")
	w.carry(a)
	b.Spec.Template.Spec.Containers = containers("cpu=1") // while it is suspended
	w.hear(b)
	a.Status.Succeeded, a.Status.Conditions = 9, []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	w.hear(a)
	w.want("the next one, smaller than at first", b, 4)
	if got := w.room.used[corev1.ResourceCPU]; got != 4000 {
		t.Errorf("%d thousandths of a cpu are used, want 4000", got)
	}
}

// The room of a quota is what it allows, less what pods of others in its namespace request. What it does not name is not limited.
func TestRoomOfQuota(t *testing.T) {
	w := newWorld(t, "fifo", 0)
	w.room.quota = true
	hard := func(text string) { w.allow(&corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: list(text)}}) }
	hard("requests.cpu=4 limits.cpu=1 count/pods=100 requests.example.com/gpu=2 services=1")
	j := w.ask("j", 20, "cpu=500m memory=99Gi")
	w.want("4 cpus", j, 8)
	w.runs("other", "", "cpu=1", nil)
	hard("requests.cpu=5 pods=9")
	w.want("5 cpus, one of them of others", j, 8)
	hard("requests.cpu=50 pods=10")
	w.want("10 pods, one of others", j, 9)
	w.quotaGone(nil)
	w.carry(j)
	j.Status.Succeeded++
	run(j, 8)
	w.hear(j)
	w.want("no quota", j, 8)
	hard("services=1")
	w.want("a quota of other things", j, 19)
}

// While small pods come and go, room is kept for a large one that has waited for its patience, and it runs. Small ones use what is left.
func TestRoomIsKept(t *testing.T) {
	w := newWorld(t, "fifo", 0)
	w.has("n", "cpu=8")
	small := w.ask("small", 400, "cpu=1")
	w.carry(small)
	large := w.ask("large", 1, "cpu=6")
	for i := range 200 {
		if w.now = w.now.Add(time.Second); w.granted(large) > 0 {
			if i < 59 || i > 70 {
				t.Errorf("the large pod may run after %d s, want a minute and six ends of small ones", i)
			}
			w.want("beside it", small, 2)
			return
		}
		small.Status.Succeeded++
		run(small, small.Status.Active-1)
		w.hear(small)
		if _, ok := w.writes[small.UID]; ok {
			w.carry(small)
		}
		run(small, int32(spread(small)))
		w.hear(small)
	}
	t.Errorf("the large pod does not run: %d small ones have ended", small.Status.Succeeded)
}

// Whatever comes, ends, and goes, Jobs have no more than there is room for, none waits for which there is room, and all complete.
func TestRoomHolds(t *testing.T) {
	for _, policy := range []string{"fifo", "fair", "hfsp", "default"} {
		rapid.Check(t, func(r *rapid.T) {
			w := newWorld(t, policy, 0)
			w.room.patience = 1000 * time.Hour // keeping room leaves some free
			jobs, pods, nodes := []*batchv1.Job{}, 0, 0
			shape := func() string {
				return fmt.Sprintf("cpu=%dm memory=%dMi", rapid.SampledFrom([]int{1, 500, 1000, 4000}).Draw(r, "cpu"), rapid.SampledFrom([]int{1, 100, 1024}).Draw(r, "memory"))
			}
			free := func(o *batchv1.Job) bool {
				for name, q := range w.jobs[o.UID].needs {
					if max(w.room.granted[name], w.room.used[name])+q > w.room.space[name] {
						return false
					}
				}
				return true
			}
			check := func() {
				used := amounts{}
				for _, o := range jobs {
					if j := w.jobs[o.UID]; j != nil {
						used.add(needsOf(&o.Spec.Template.Spec), int64(max(j.covered, int(o.Status.Active))))
						if j.covered < min(j.wish, left(o)) && free(o) {
							r.Fatalf("%s: there is room for one more of %s: %v of %v", policy, o.Name, w.room.used, w.room.space)
						}
					}
				}
				for name, q := range used {
					if q > w.room.used[name] {
						r.Fatalf("%s: %v are used, and %v counted", policy, used, w.room.used)
					}
				}
			}
			carryAll := func() { // and the Job controller makes pods
				for _, o := range jobs {
					if _, ok := w.writes[o.UID]; ok {
						w.carry(o)
					}
					if n := int32(spread(o)); o.Status.Active != n {
						run(o, n)
						w.hear(o)
					}
				}
			}
			w.has("n", "cpu=4 memory=4Gi")
			for range rapid.IntRange(1, 40).Draw(r, "steps") {
				switch rapid.IntRange(0, 5).Draw(r, "what") {
				case 0:
					jobs = append(jobs, w.ask(fmt.Sprint("j", len(jobs)), rapid.Int32Range(1, 30).Draw(r, "completions"), shape()))
				case 1:
					nodes++
					w.has(fmt.Sprint("n", nodes), "cpu=2 memory=2Gi")
				case 2:
					pods++
					w.runs(fmt.Sprint("p", pods), fmt.Sprint("n", rapid.IntRange(0, nodes).Draw(r, "node")), shape(), nil)
				case 3:
					w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("p", rapid.IntRange(0, pods).Draw(r, "pod")))}})
				default:
					if len(jobs) > 0 {
						if o := jobs[rapid.IntRange(0, len(jobs)-1).Draw(r, "job")]; o.Status.Active > 0 {
							o.Status.Succeeded++
							run(o, o.Status.Active-1)
							w.hear(o)
						}
					}
				}
				w.now = w.now.Add(time.Second)
				w.look()
				before := w.room.space[corev1.ResourceCPU] >= w.room.used[corev1.ResourceCPU]
				carryAll()
				w.look()
				if after := w.room.space[corev1.ResourceCPU] >= w.room.used[corev1.ResourceCPU]; before && !after {
					r.Fatalf("%s: more is used than there is: %v of %v", policy, w.room.used, w.room.space)
				}
				check()
			}
			w.has("large", "cpu=64 memory=64Gi")
			for range 2000 {
				w.now = w.now.Add(time.Second)
				w.look()
				carryAll()
				busy := false
				for _, o := range jobs {
					if o.Status.Active > 0 {
						o.Status.Succeeded++
						run(o, o.Status.Active-1)
						w.hear(o)
					}
					busy = busy || left(o) > 0
				}
				if !busy {
					break
				}
			}
			for _, o := range jobs {
				if left(o) > 0 {
					r.Fatalf("%s: %d pods of %s are left", policy, left(o), o.Name)
				}
			}
		})
	}
}

// When a pod of a long Job has ended, its room goes to the Job that the policy prefers, not to the next pod of the long one.
func TestRoomGoesByThePolicy(t *testing.T) {
	for _, policy := range []string{"fair", "hfsp", "default"} {
		w := newWorld(t, policy, 0)
		w.has("n", "cpu=8")
		long := w.ask("long", 100, "cpu=1")
		w.carry(long)
		short := w.ask("short", 1, "cpu=1")
		for range 2 {
			w.now = w.now.Add(time.Second)
			long.Status.Succeeded++
			run(long, 7)
			w.hear(long)
			if _, ok := w.writes[long.UID]; ok {
				w.carry(long)
			}
		}
		w.want(policy, short, 1)
		w.want(policy, long, 7)
	}
}
