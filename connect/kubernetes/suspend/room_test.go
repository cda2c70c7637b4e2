package suspend

import (
	"fmt"
	"math/big"
	"slices"
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

// low returns a sum that is small.
func low(s sum) int64 { return int64(s.low) }

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
		if got := low(w.room.space[corev1.ResourceCPU]) - low(w.room.used[corev1.ResourceCPU]); got != 0 {
			t.Errorf("%s: %d thousandths of a cpu are free, want none", name, got)
		}
		w.node(first)
	}
	w.nodeGone(second)
	w.look()
	if got := low(w.room.space[corev1.ResourceCPU]); got != 12000 { // two nodes, and four pods that are not on them
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
	if got := low(w.room.used[corev1.ResourceCPU]); got != 4000 {
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

// Room is kept for no Job that is gone, is paused, wants no more pods, or fits nowhere by now.
func TestRoomIsKeptForWhoWantsIt(t *testing.T) {
	for name, change := range map[string]func(*world, *batchv1.Job){
		"deleted":  func(w *world, o *batchv1.Job) { w.gone(o.UID) },
		"paused":   func(w *world, o *batchv1.Job) { o.Annotations = map[string]string{Granted: "1"}; w.hear(o) },
		"no pods":  func(w *world, o *batchv1.Job) { o.Annotations = map[string]string{Parallelism: "0"}; w.hear(o) },
		"larger":   func(w *world, o *batchv1.Job) { o.Spec.Template.Spec.Containers = containers("cpu=9"); w.hear(o) },
		"no label": func(w *world, o *batchv1.Job) { o.Spec.ManagedBy = new(string); w.hear(o) },
	} {
		w := newWorld(t, "fifo", 0)
		n := w.has("n", "cpu=8")
		small := w.ask("small", 400, "cpu=1")
		w.carry(small)
		large := w.ask("large", 1, "cpu=6")
		end := func(n int32) {
			small.Status.Succeeded += n
			run(small, small.Status.Active-n)
			w.hear(small)
			run(small, int32(spread(small)))
		}
		for range 62 {
			if w.now = w.now.Add(time.Second); w.room.kept == nil {
				end(1)
			}
		}
		if w.room.kept == nil || w.room.kept.obj.UID != large.UID {
			t.Fatalf("%s: no room is kept for the large Job", name)
		}
		change(w, large)
		if name == "larger" {
			w.node(n)
		}
		if w.look(); w.room.kept != nil {
			t.Errorf("%s: room is still kept for %s", name, w.room.kept.obj.Name)
		}
		for range 4 {
			end(small.Status.Active)
			if w.want(name, small, 8); w.room.kept != nil {
				t.Errorf("%s: room is kept for %s", name, w.room.kept.obj.Name)
			}
			w.now = w.now.Add(30 * time.Second)
		}
	}
}

// Requests that are as large as they can be fit nowhere, take no room from others, and leave none behind.
func TestHugeRequests(t *testing.T) {
	for _, huge := range []string{"cpu=1m memory=9223372036854775807", "cpu=1m memory=9999999E", "cpu=9223372036854775807", "cpu=9223372036854775.807", "example.com/gpu=9223372036854775807"} {
		w := newWorld(t, "fair", 0)
		w.has("n", "cpu=64 memory=8Gi example.com/gpu=9")
		first := w.ask("first", 1, "cpu=1 memory=1Gi")
		w.carry(first)
		evil := w.ask("evil", 100, huge)
		w.want(huge, evil, 0)
		large := w.ask("large", 40, "cpu=1 memory=7Gi")
		w.want(huge, large, 1)
		two := w.newJob("two", 1, 1, nil) // 2^64-2 bytes
		two.Spec.Template.Spec.Containers = append(containers(huge), containers(huge)...)
		w.hear(two)
		w.want(huge, two, 0)
		if got := fmt.Sprint(w.warnings); got != "[FitsNowhere FitsNowhere]" {
			t.Errorf("%s: warnings %s, want two that it fits nowhere", huge, got)
		}
		off := false
		evil.Spec.Suspend = &off // its pods are made before anybody is asked, and wait
		run(evil, 100)
		w.hear(evil)
		w.runs("other", "n", huge, nil)
		w.want(huge, large, 1)
		late := w.ask("late", 1, "cpu=1 memory=1 example.com/gpu=1")
		w.want(huge, late, 0)
		w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "other"}})
		w.gone(evil.UID)
		w.gone(two.UID)
		w.gone(large.UID)
		w.want(huge, late, 1)
		w.gone(late.UID)
		w.gone(first.UID)
		w.look()
		for name, s := range w.room.used {
			if s != (sum{}) || w.room.granted[name] != (sum{}) {
				t.Errorf("%s: without Jobs, %v of %s are used and %v granted", huge, s, name, w.room.granted[name])
			}
		}
	}
}

// A sum is what big integers say.
func TestSum(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, want := sum{}, new(big.Int)
		number := func(s sum) *big.Int {
			n := new(big.Int).Lsh(big.NewInt(s.high), 64)
			return n.Add(n, new(big.Int).SetUint64(s.low))
		}
		for range rapid.IntRange(1, 50).Draw(r, "steps") {
			n, q := int64(rapid.Int32().Draw(r, "n")), rapid.Int64Min(0).Draw(r, "q")
			before, old := s, new(big.Int).Set(want)
			s = s.plus(n, q)
			want.Add(want, new(big.Int).Mul(big.NewInt(n), big.NewInt(q)))
			if number(s).Cmp(want) != 0 || s.less(before) != (want.Cmp(old) < 0) || before.less(s) != (old.Cmp(want) < 0) {
				r.Fatalf("%v and %d times %d is %v, want %v", before, n, q, s, want)
			}
		}
	})
}

// tolerate has the pods of a Job tolerate a taint.
func tolerate(o *batchv1.Job, key string) {
	o.Spec.Template.Spec.Tolerations = append(o.Spec.Template.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
}

// The room of a Job is that of the nodes whose taints its pods tolerate.
func TestRoomOfTaintedNodes(t *testing.T) {
	w := newWorld(t, "fifo", 0)
	taint := func(name, key string, effect corev1.TaintEffect, offers string) *corev1.Node {
		n := w.has(name, offers)
		n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}}
		w.node(n.DeepCopy())
		return n
	}
	taint("master", "node-role.kubernetes.io/control-plane", corev1.TaintEffectNoSchedule, "cpu=8")
	plain := w.ask("plain", 20, "cpu=1")
	w.want("a control plane", plain, 0)
	taint("soft", "a", corev1.TaintEffectPreferNoSchedule, "cpu=1")
	w.want("a taint that keeps no pod away", plain, 1)
	n := w.has("n", "cpu=4")
	w.want("a node without taints", plain, 5)
	if got := fmt.Sprint(w.warnings); got != "[FitsNowhere]" {
		t.Errorf("warnings %s, want one that there was no node", got)
	}
	taint("batch", "batch", corev1.TaintEffectNoExecute, "cpu=2")
	batch := w.newJob("batch", 9, 9, nil)
	batch.Spec.Template.Spec.Containers = containers("cpu=1")
	tolerate(batch, "batch")
	w.hear(batch)
	w.want("a node for it alone", batch, 2)
	w.want("which others do not use", plain, 5)
	gpus := taint("gpus", "example.com/gpu", corev1.TaintEffectNoSchedule, "cpu=8 example.com/gpu=3")
	gpu := w.ask("gpu", 9, "cpu=1 example.com/gpu=1")
	w.want("a resource is tolerated by who requests it, as the API server adds it", gpu, 3)
	w.want("not by others", plain, 5)

	w.carry(plain)
	for i := range 5 {
		w.runs(fmt.Sprint("plain-", i), []string{"soft", "n", "n", "n", "n"}[i], "cpu=1", plain)
	}
	w.carry(batch)
	for i := range 2 {
		w.runs(fmt.Sprint("batch-", i), "batch", "cpu=1", batch)
	}
	n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}
	w.node(n.DeepCopy())
	w.nodeGone(gpus)
	plain.Status.Succeeded += 2
	run(plain, 3)
	w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "plain-1"}})
	w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "plain-2"}})
	w.hear(plain)
	w.want("what runs on a node that is emptied goes on, and nothing follows", plain, 3)

	w = newWorld(t, "fifo", 0) // a Job that tolerates all takes room of one that tolerates nothing
	w.has("n", "cpu=2")
	taint("tainted", "a", corev1.TaintEffectNoSchedule, "cpu=2")
	all := w.newJob("all", 4, 4, nil)
	all.Spec.Template.Spec.Containers = containers("cpu=1")
	tolerate(all, "")
	w.hear(all)
	w.want("both nodes", all, 4)
	w.carry(all)
	for i := range 4 {
		w.runs(fmt.Sprint("all-", i), []string{"n", "n", "tainted", "tainted"}[i], "cpu=1", all)
	}
	late := w.ask("late", 2, "cpu=1")
	all.Status.Succeeded++
	run(all, 3)
	w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "all-2"}})
	w.now = w.now.Add(time.Second)
	w.hear(all)
	w.want("there is room on the tainted node only", late, 0)
	all.Status.Succeeded++
	run(all, 2)
	w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "all-0"}})
	w.hear(all)
	w.want("and now on the other one", late, 1)
}

// A Job that comes later and tolerates other taints has what the pods of earlier ones leave on its nodes.
func TestRoomIsDividedAnew(t *testing.T) {
	for _, begun := range []bool{false, true} {
		w := newWorld(t, "fifo", 0)
		w.has("n", "cpu=2")
		for _, key := range []string{"a", "b"} {
			n := w.has(key, "cpu=1")
			n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
			w.node(n.DeepCopy())
		}
		first := w.ask("first", 2, "cpu=1")
		w.want("the node without taints", first, 2)
		if begun {
			w.carry(first)
			w.runs("first-0", "n", "cpu=1", first)
			w.runs("first-1", "n", "cpu=1", first)
		}
		for _, key := range []string{"b", "a"} { // the second one comes before the first in the list of parts
			j := w.newJob("tolerates-"+key, 4, 4, nil)
			j.Spec.Template.Spec.Containers = containers("cpu=1")
			tolerate(j, key)
			w.hear(j)
			w.want(fmt.Sprint("first runs ", begun, ": the node with the taint ", key), j, 1)
		}
	}
}

// Beyond 64 taints, and beyond 16 sets of taints that Jobs tolerate, more room is counted than there is, never less.
func TestTaintsBeyondTheLimits(t *testing.T) {
	tainted := func(w *world, n int, offers string) {
		name := fmt.Sprintf("t%02d", n)
		node := w.has(name, offers)
		node.Spec.Taints = []corev1.Taint{{Key: name, Effect: corev1.TaintEffectNoSchedule}}
		w.node(node.DeepCopy())
	}
	w := newWorld(t, "fifo", 0)
	for n := range 64 {
		tainted(w, n, "cpu=1")
	}
	plain := w.ask("plain", 9, "cpu=1")
	w.want("64 taints", plain, 0)
	tainted(w, 64, "cpu=3")
	w.want("the 65th taint is not looked at", plain, 3)

	w = newWorld(t, "fifo", 0)
	var jobs []*batchv1.Job
	for n := range 17 {
		tainted(w, n, "cpu=2")
		j := w.newJob(fmt.Sprint("job-", n), 5, 5, nil)
		j.Spec.Template.Spec.Containers = containers("cpu=1")
		tolerate(j, fmt.Sprintf("t%02d", n))
		w.hear(j)
		jobs = append(jobs, j)
	}
	for n, j := range jobs[:16] {
		w.want(fmt.Sprint("set ", n), j, 2)
	}
	w.want("the 17th set has what is left on all nodes", jobs[16], 2)
	tainted(w, 17, "cpu=9")
	w.want("also on those that it does not tolerate", jobs[16], 5)
	w.want("as no other set has", jobs[0], 2)
}

// A Job for which there is no node, or no quota, has a warning.
func TestNoRoomAtAll(t *testing.T) {
	for _, quota := range []bool{false, true} {
		w := newWorld(t, "fifo", 0)
		w.room.quota = quota
		j := w.ask("j", 8, "cpu=1")
		for range 3 {
			w.now = w.now.Add(time.Hour)
			w.want("no room at all", j, 0)
		}
		if got := fmt.Sprint(w.warnings); got != "[FitsNowhere]" {
			t.Errorf("quota %v: warnings %s, want one", quota, got)
		}
		if quota {
			w.allow(&corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: list("requests.cpu=8")}})
		} else {
			w.has("n", "cpu=8")
		}
		w.want("then there is", j, 8)
	}
}

// Whatever comes, ends, goes, is paused and resumed, Jobs have no more than there is room for on the nodes whose taints they tolerate, none
// waits for which there is room that is not kept for a Job that wants it, and all complete.
func TestRoomHolds(t *testing.T) {
	for _, policy := range []string{"fifo", "fair", "hfsp", "default"} {
		rapid.Check(t, func(r *rapid.T) {
			w := newWorld(t, policy, 0)
			w.room.patience = rapid.SampledFrom([]time.Duration{0, time.Second, 10 * time.Second, 1000 * time.Hour}).Draw(r, "patience")
			type shape struct{ cpu, memory int64 }
			type other struct {
				node string
				shape
			}
			jobs, made, nodes, tainted, others := []*batchv1.Job{}, 0, map[string]shape{}, map[string]bool{}, map[string]other{}
			draw := func() shape {
				return shape{rapid.SampledFrom([]int64{1, 500, 1000, 4000}).Draw(r, "cpu"), rapid.SampledFrom([]int64{1, 100, 1024}).Draw(r, "memory")}
			}
			text := func(s shape) string { return fmt.Sprintf("cpu=%dm memory=%dMi", s.cpu, s.memory) }
			of := func(o *batchv1.Job) shape {
				l := o.Spec.Template.Spec.Containers[0].Resources.Requests
				return shape{l.Cpu().MilliValue(), l.Memory().Value() >> 20}
			}
			picky := func(o *batchv1.Job) bool { return len(o.Spec.Template.Spec.Tolerations) == 0 }
			// left is what nodes have, all or those without taints, less what others and Jobs take that may run on no others.
			left := func(some bool, pods func(*job) int) (s shape) {
				for name, n := range nodes {
					if !some || !tainted[name] {
						s.cpu, s.memory = s.cpu+n.cpu, s.memory+n.memory
					}
				}
				for _, p := range others {
					if _, here := nodes[p.node]; here && (!some || !tainted[p.node]) {
						s.cpu, s.memory = s.cpu-p.cpu, s.memory-p.memory
					}
				}
				for _, o := range jobs {
					if n := int64(pods(w.jobs[o.UID])); !some || picky(o) {
						s.cpu, s.memory = s.cpu-n*of(o).cpu, s.memory-n*of(o).memory
					}
				}
				return s
			}
			occupied := func(j *job) int { return j.occupied }
			granted := func(j *job) int { return len(j.grants) }
			over := func() bool {
				all, some := left(false, occupied), left(true, occupied)
				return min(all.cpu, all.memory, some.cpu, some.memory) < 0
			}
			free := func(o *batchv1.Job) bool {
				for _, some := range []bool{false, true} {
					for _, pods := range []func(*job) int{occupied, granted} {
						want, has := of(o), left(some, pods)
						if k := w.room.kept; k != nil && k.obj.UID != o.UID && (!some || picky(k.obj)) {
							want.cpu, want.memory = want.cpu+of(k.obj).cpu, want.memory+of(k.obj).memory
						}
						if (!some || picky(o)) && (want.cpu > has.cpu || want.memory > has.memory) {
							return false
						}
					}
				}
				return true
			}
			check := func() {
				for _, o := range jobs {
					j := w.jobs[o.UID]
					if most := max(j.covered, int(o.Status.Active)); j.occupied < most {
						r.Fatalf("%s: %s has %d pods, and %d are counted", policy, o.Name, most, j.occupied)
					}
					if !j.paused && len(j.grants) < min(j.parallelism, wanted(o)) && free(o) {
						r.Fatalf("%s: there is room for one more of %s: %v of %v", policy, o.Name, w.room.used, w.room.space)
					}
				}
				if k := w.room.kept; k != nil && (w.jobs[k.obj.UID] != k || k.paused || k.told || wanted(k.obj) == 0) {
					r.Fatalf("%s: room is kept for %s, which does not want it", policy, k.obj.Name)
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
			offer := func(name string, s shape, taint bool) {
				nodes[name], tainted[name] = s, taint
				n := w.has(name, text(s))
				if taint {
					n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}
				}
				w.node(n)
			}
			resume := func(o *batchv1.Job) {
				o.Spec.Suspend = new(bool)
				w.hear(o)
			}
			offer("n0", shape{4000, 4096}, false)
			for range rapid.IntRange(1, 60).Draw(r, "steps") {
				made++
				var o *batchv1.Job
				if len(jobs) > 0 {
					o = jobs[rapid.IntRange(0, len(jobs)-1).Draw(r, "job")]
				}
				node := fmt.Sprint("n", rapid.IntRange(0, made).Draw(r, "node"))
				switch what := rapid.IntRange(0, 11).Draw(r, "what"); {
				case what < 2:
					o = w.newJob(fmt.Sprint("j", made), rapid.Int32Range(1, 30).Draw(r, "completions"), 30, nil)
					o.Spec.Template.Spec.Containers = containers(text(draw()))
					if rapid.Bool().Draw(r, "tolerates") {
						tolerate(o, "a")
					}
					w.hear(o)
					jobs = append(jobs, o)
				case what == 2:
					offer(fmt.Sprint("n", made), shape{2000, 2048}, rapid.Bool().Draw(r, "tainted"))
				case what == 3:
					p := other{node, draw()}
					others[fmt.Sprint("p", made)] = p
					w.runs(fmt.Sprint("p", made), node, text(p.shape), nil)
				case what == 4:
					p := fmt.Sprint("p", rapid.IntRange(0, made).Draw(r, "pod"))
					delete(others, p)
					w.podGone(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(p)}})
				case what == 5:
					if s, ok := nodes[node]; ok {
						offer(node, s, !tainted[node])
					}
				case what == 6:
					delete(nodes, node)
					w.nodeGone(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
				case o == nil:
				case what == 7 && w.jobs[o.UID].paused:
					resume(o)
				case what == 7 && o.Status.Active > 0 && w.writes[o.UID] == nil:
					on := true
					o.Spec.Suspend = &on
					run(o, 0)
					w.hear(o)
				case what == 8:
					w.gone(o.UID)
					jobs = slices.DeleteFunc(jobs, func(other *batchv1.Job) bool { return other == o })
				case o.Status.Active > 0:
					o.Status.Succeeded++
					run(o, o.Status.Active-1)
					w.hear(o)
				}
				w.now = w.now.Add(time.Second)
				w.look()
				before := over()
				carryAll()
				w.look()
				if !before && over() {
					r.Fatalf("%s: more is used than there is: %v of %v", policy, w.room.used, w.room.space)
				}
				check()
			}
			offer("large", shape{64000, 65536}, false)
			for _, o := range jobs {
				if w.jobs[o.UID].paused {
					resume(o)
				}
			}
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
					busy = busy || wanted(o) > 0
				}
				if !busy {
					break
				}
			}
			for _, o := range jobs {
				if wanted(o) > 0 {
					r.Fatalf("%s: %d pods of %s are left", policy, wanted(o), o.Name)
				}
			}
			for name, s := range w.room.used {
				if s != (sum{}) || w.room.granted[name] != (sum{}) {
					r.Fatalf("%s: in the end, %v of %s are used and %v granted", policy, s, name, w.room.granted[name])
				}
			}
		})
	}
}

// wanted is how many pods of a Job must still succeed.
func wanted(o *batchv1.Job) int { return int(*o.Spec.Completions - o.Status.Succeeded) }

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
