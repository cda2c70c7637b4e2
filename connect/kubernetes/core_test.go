package kubernetes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// A world is a cluster of the test's own: what is true, as an API server would have it. The core hears
// of it late, in the order of changes of each object.
type world struct {
	t        *testing.T
	rand     *rand.Rand
	core     *core
	now      sojourn.Time
	nodes    map[string]*corev1.Node
	jobs     map[types.UID]*batchv1.Job
	pods     map[types.UID]*corev1.Pod
	binds    []func() // on their way
	rejected map[types.UID]string
	warned   map[string]int
	bound    map[types.UID]int
	uid      int
	said     map[types.UID][]string

	evictions int  // that were asked for
	stubborn  bool // none of them is answered
	ignorant  bool // the policy does not know TaskPinned
}

// An ignorant policy was written before TaskPinned.
type ignorant struct{ sojourn.Policy }

func (p ignorant) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.TaskPinned {
		return &sojourn.EventError{Event: ev, Err: sojourn.ErrUnknownKind}
	}
	return p.Policy.Observe(ev)
}

func (p ignorant) Unwrap() sojourn.Policy { return p.Policy }

func newWorld(t *testing.T, policy string, seed uint64) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1)), nodes: map[string]*corev1.Node{}, jobs: map[types.UID]*batchv1.Job{},
		pods: map[types.UID]*corev1.Pod{}, rejected: map[types.UID]string{}, warned: map[string]int{}, said: map[types.UID][]string{}, bound: map[types.UID]int{}, now: sojourn.Time(6 * 365 * 24 * time.Hour)}
	w.restart(policy)
	return w
}

// restart replaces the core, which hears of everything in the order of Run. Binds on their way are lost
// or not.
func (w *world) restart(policy string) {
	for _, f := range w.binds {
		if w.rand.IntN(2) == 0 {
			f()
		}
	}
	w.binds = nil
	p, err := catalog.Builtin().Make(policy)
	if err != nil {
		w.t.Fatal(err)
	}
	if w.ignorant {
		p = ignorant{p}
	}
	c := Config{Policy: p, Name: "sojourn", Slots: []corev1.ResourceName{DefaultSlot}, Events: 10, Limits: Limits{MaxWeight: 4}}
	if w.core, err = newCore(c, labels.Everything(), w, func() sojourn.Time { return w.now }); err != nil {
		w.t.Fatal(err)
	}
	w.core.restoring = true
	for _, k := range slices.Sorted(maps.Keys(w.nodes)) {
		w.core.node(w.nodes[k].DeepCopy())
	}
	for _, k := range slices.Sorted(maps.Keys(w.jobs)) {
		w.core.job(w.jobs[k].DeepCopy())
	}
	for _, assigned := range []bool{true, false} {
		for _, k := range slices.Sorted(maps.Keys(w.pods)) {
			if p := w.pods[k]; (p.Spec.NodeName != "") == assigned {
				w.core.pod(p.DeepCopy())
			}
		}
	}
	w.core.restoring = false
}

func (w *world) bind(p *corev1.Pod, node string, attempt uint32) {
	core, uid := w.core, p.UID
	w.binds = append(w.binds, func() {
		p := w.pods[uid]
		switch {
		case p == nil:
			core.bindFailed(uid, attempt, true, nil)
		case p.Spec.NodeName != "" || p.DeletionTimestamp != nil || w.rand.IntN(8) == 0:
			var seen *corev1.Pod
			if p.Spec.NodeName != "" || p.DeletionTimestamp != nil || w.rand.IntN(2) == 0 {
				seen = p.DeepCopy() // after a conflict
			}
			if core.bindFailed(uid, attempt, false, seen) > 0 {
				core.again(uid)
			}
		default:
			p.Spec.NodeName = node
			p.Annotations[Attempt] = fmt.Sprint(attempt)
			w.bound[uid]++
			w.heard(core, p)
		}
	})
}

func (w *world) heard(c *core, p *corev1.Pod) {
	if c == w.core {
		c.pod(p.DeepCopy())
	}
}

func (w *world) evict(p *corev1.Pod, attempt uint32) {
	w.evictions++
	if w.stubborn {
		return
	}
	switch w.rand.IntN(4) {
	case 0:
		w.core.spared(p.UID, attempt)
	case 1:
		w.core.evictAgain(p.UID, attempt)
	default:
		w.end(w.pods[p.UID], corev1.PodFailed)
	}
}
func (w *world) reject(o *batchv1.Job, s string, _ bool) { w.rejected[o.UID] = s }
func (w *world) accept(o *batchv1.Job)                   { delete(w.rejected, o.UID) }
func (w *world) tell(p *corev1.Pod, reason, message string) {
	w.said[p.UID] = append(w.said[p.UID], reason+": "+message)
}
func (w *world) warn(_ runtime.Object, reason, _ string) { w.warned[reason]++ }
func (w *world) unscheduled(*corev1.Pod, string)         {}
func (w *world) unplaceable(*corev1.Pod, string)         { w.warned["FailedScheduling"]++ }
func (w *world) admit(o *batchv1.Job) {
	j := w.jobs[o.UID]
	j.Spec.Suspend = new(bool)
	j.Annotations[Admitted] = "now"
}

func (w *world) end(p *corev1.Pod, phase corev1.PodPhase) {
	if p != nil && p.Spec.NodeName != "" && p.Status.Phase == "" {
		p.Status.Phase = phase
		w.heard(w.core, p)
	}
}

func (w *world) fresh() types.UID { w.uid++; return types.UID(fmt.Sprintf("u%06d", w.uid)) }

func template(slots int64) corev1.PodSpec {
	q := corev1.ResourceList{DefaultSlot: *resource.NewQuantity(slots, resource.DecimalSI)}
	return corev1.PodSpec{SchedulerName: "sojourn", Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Limits: q, Requests: q}}}}
}

func (w *world) addNode(name string, slots int) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: w.rand.IntN(5) == 0}}
	n.Status.Allocatable = corev1.ResourceList{DefaultSlot: *resource.NewQuantity(int64(slots), resource.DecimalSI)}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	w.nodes[name] = n
	w.core.node(n.DeepCopy())
}

// addRoom adds a node that takes pods.
func (w *world) addRoom(name string, slots int) {
	w.addNode(name, slots)
	w.nodes[name].Spec.Unschedulable = false
	w.core.node(w.nodes[name].DeepCopy())
}

func (w *world) addJob(n int32, suspend bool, notes map[string]string) *batchv1.Job {
	mode := batchv1.IndexedCompletion
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("j", w.uid), Namespace: "d", UID: w.fresh(), Annotations: notes},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: &mode, Suspend: &suspend, Template: corev1.PodTemplateSpec{Spec: template(1)}}}
	if suspend {
		j.Labels = map[string]string{Admit: "true"}
	}
	w.jobs[j.UID] = j
	return j
}

func (w *world) addPod(j *batchv1.Job, index int, slots int64) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d", UID: w.fresh(), Annotations: map[string]string{}}, Spec: template(slots)}
	if j != nil {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID, Controller: &yes}}
		p.Labels = map[string]string{"batch.kubernetes.io/job-completion-index": fmt.Sprint(index)}
		p.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(index)
	}
	w.pods[p.UID] = p
	w.core.pod(p.DeepCopy())
	return p
}

// pick returns one of the keys of m.
func pick[K ~string, V any](w *world, m map[K]V) (key K) {
	if keys := slices.Sorted(maps.Keys(m)); len(keys) > 0 {
		key = keys[w.rand.IntN(len(keys))]
	}
	return key
}

// step is one change of the world.
func (w *world) step(policy string) {
	w.now = w.now.Add(time.Duration(w.rand.IntN(2000)) * time.Millisecond)
	switch r := w.rand.IntN(100); {
	case r < 12:
		w.addNode(fmt.Sprint("n", w.rand.IntN(4)), w.rand.IntN(4))
	case r < 14:
		name := pick(w, w.nodes)
		delete(w.nodes, name)
		w.core.nodeGone(name)
	case r < 20:
		j := w.addJob(1+w.rand.Int32N(5), w.rand.IntN(2) == 0, map[string]string{Size: "3s", Weight: []string{"1", "2", "x"}[w.rand.IntN(3)]})
		w.core.job(j.DeepCopy())
	case r < 23:
		if j := w.jobs[pick(w, w.jobs)]; j != nil {
			j.Annotations[Weight] = "4"
			*j.Spec.Completions += w.rand.Int32N(2)
			w.core.job(j.DeepCopy())
		}
	case r < 25:
		uid := pick(w, w.jobs)
		delete(w.jobs, uid)
		w.core.jobGone(uid)
	case r < 55:
		if j := w.jobs[pick(w, w.jobs)]; j != nil {
			w.addPod(j, w.rand.IntN(6), int64(1+w.rand.IntN(9)/8))
		}
	case r < 58:
		w.addPod(nil, 0, 1)
	case r < 75:
		w.end(w.pods[pick(w, w.pods)], []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}[w.rand.IntN(2)])
	case r < 80:
		if p := w.pods[pick(w, w.pods)]; p != nil {
			p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
			w.heard(w.core, p)
		}
	case r < 84:
		if p := w.pods[pick(w, w.pods)]; p != nil && p.Spec.NodeName == "" && p.DeletionTimestamp == nil && w.rand.IntN(4) == 0 {
			p.Spec.NodeName = fmt.Sprint("n", w.rand.IntN(4)) // another scheduler by mistake
			w.bound[p.UID]++
			w.heard(w.core, p)
		}
	case r < 88:
		uid := pick(w, w.pods)
		delete(w.pods, uid)
		w.core.podGone(uid)
	case r < 89:
		w.restart(policy)
	default:
		for len(w.binds) > 0 && w.rand.IntN(3) > 0 {
			i := w.rand.IntN(len(w.binds))
			f := w.binds[i]
			w.binds = slices.Delete(w.binds, i, i+1)
			f()
		}
	}
	if _, err := w.core.settle(); err != nil {
		w.t.Fatal(err)
	}
}

// check compares the policy's account with the truth.
func (w *world) check() {
	attempts, used := map[sojourn.TaskID]bool{}, map[sojourn.SlotID]bool{}
	for a := range w.core.truth.Attempts() {
		attempts[a.Task], used[a.Slot.ID] = true, true
	}
	taken, owned := map[string]int{}, 0
	for uid, p := range w.core.pods {
		o := w.pods[uid]
		if o == nil {
			w.t.Fatalf("pod %s is gone, and known", uid)
		}
		if over := o.Status.Phase != ""; over != (p.state == ended) && o.Spec.NodeName != "" {
			w.t.Fatalf("pod %s: state %d, phase %q", uid, p.state, o.Status.Phase)
		}
		switch p.state {
		case picked, running:
			owned++
			if !attempts[p.task.id] || !used[p.slot] || w.core.on[p.slot] != p || p.task.run != p {
				w.t.Fatalf("pod %s runs, and the policy does not know", uid)
			}
			taken[p.node.name]++
		case foreign:
			q := o.Spec.Containers[0].Resources.Limits[DefaultSlot]
			taken[p.node.name] += int(q.Value())
		case waiting:
			now, _ := w.core.truth.Task(p.task.id)
			if now == account.Held {
				w.t.Fatalf("pod %s waits, and its task is held", uid)
			}
		}
		if o.Spec.NodeName != "" && o.Status.Phase == "" && p.state != running && p.state != foreign {
			w.t.Fatalf("pod %s is bound and in state %d", uid, p.state)
		}
	}
	if owned != len(attempts) {
		w.t.Fatalf("the policy has %d attempts; %d pods run or are about to", len(attempts), owned)
	}
	free := map[string]int{}
	for s := range w.core.truth.Slots() {
		if !used[s.ID] {
			free[w.core.home[s.ID].name]++
		}
	}
	for name, n := range free {
		o := w.nodes[name]
		if o == nil || !batch.Usable(o) {
			w.t.Fatalf("node %s has %d free slots, and is gone or cordoned", name, n)
		}
		q := o.Status.Allocatable[DefaultSlot]
		if int64(n+taken[name]) > q.Value() {
			w.t.Fatalf("node %s has %d slots: %d are free and %d taken", name, q.Value(), n, taken[name])
		}
	}
	for name := range w.core.nodes {
		if _, ok := w.nodes[name]; !ok && taken[name] == 0 {
			w.t.Fatalf("node %s is known: it is gone, and nothing runs there", name)
		}
	}
	for uid := range w.core.declined {
		if j := w.core.jobs[uid]; j == nil || j.id != 0 {
			w.t.Fatalf("Job %s is not one that was declined", uid)
		}
	}
	for uid, n := range w.bound {
		if n > 1 {
			w.t.Fatalf("pod %s was bound %d times", uid, n)
		}
	}
}

// Whatever happens in whatever order, the policy knows what is true, and no node gives away a slot
// that is taken.
func TestAccountIsTrue(t *testing.T) {
	for _, policy := range []string{"fifo", "default", "fair", "hfsp", "rtmr"} {
		binds := 0
		for seed := range uint64(40) {
			w := newWorld(t, policy, seed)
			for range 250 {
				w.step(policy)
				w.check()
			}
			binds += len(w.bound)
		}
		if binds < 400 {
			t.Errorf("%s: only %d pods were bound", policy, binds)
		}
	}
}

// A suspended Job under rtmr is refused with the deadline that would do, and admitted with that one.
func TestCounterOffer(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	w.addRoom("n", 1)
	at := func(d time.Duration) string { return epoch.Add(time.Duration(w.now) + d).Format(time.RFC3339) }
	j := w.addJob(4, true, map[string]string{Size: "10s", Deadline: at(20 * time.Second)})
	w.core.job(j.DeepCopy())
	if got, want := w.rejected[j.UID], "the job would miss its deadline; a deadline of "+at(40*time.Second)+" or later would be accepted"; got != want {
		t.Fatalf("rejected with %q, want %q", got, want)
	}
	j.Annotations[Deadline] = at(40 * time.Second)
	w.core.job(j.DeepCopy())
	if j.Annotations[Admitted] == "" || *j.Spec.Suspend {
		t.Error("not admitted with the deadline that was offered")
	}
}

// What is wrong with an object is said, and names what is wrong.
func TestBadInput(t *testing.T) {
	for _, tc := range []struct{ key, value, want string }{
		{Size, "0s", `annotation sojourn-sched.github.io/size is "0s": want a length of time above 0, such as 90s`},
		{Weight, "NaN", `annotation sojourn-sched.github.io/weight is "NaN": want a number from 2^-16 to below 2^32, such as 2.5`},
		{Deadline, "2019-12-31T00:00:00Z", `annotation sojourn-sched.github.io/deadline is "2019-12-31T00:00:00Z": want a time as in RFC 3339, such as 2026-01-31T15:04:05Z, from 2020 to 2200`},
	} {
		w := newWorld(t, "fifo", 1)
		j := w.addJob(1, false, map[string]string{tc.key: tc.value})
		w.core.job(j.DeepCopy())
		if got := w.rejected[j.UID]; got != tc.want {
			t.Errorf("%s = %s: rejected with %q, want %q", tc.key, tc.value, got, tc.want)
		}
	}
	w := newWorld(t, "fifo", 1)
	w.addPod(nil, 0, 2)
	j := w.addJob(1, false, nil)
	w.core.job(j.DeepCopy())
	w.addPod(j, 1, 1)
	if w.warned["NotScheduled"] != 1 {
		t.Errorf("%d warnings, want 1: a pod that requests two slots", w.warned["NotScheduled"])
	}
}

// A pod that is found to be on its way out, or gone, after its bind was refused gives its slot back.
func TestRefusedBindOfDyingPod(t *testing.T) {
	for _, gone := range []bool{false, true} {
		w := newWorld(t, "fifo", 1)
		w.addRoom("n", 1)
		p := w.addPod(nil, 0, 1)
		if _, err := w.core.settle(); err != nil || len(w.binds) != 1 {
			t.Fatalf("%d binds, %v", len(w.binds), err)
		}
		p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		if gone {
			w.core.bindFailed(p.UID, 1, true, nil)
			if w.core.pods[p.UID].state != picked {
				t.Error("a slot is given back before the informer has said why")
			}
			w.core.pod(p.DeepCopy())
		} else {
			w.core.bindFailed(p.UID, 1, false, p.DeepCopy())
		}
		if s := w.core.pods[p.UID].state; s != ended || len(w.core.on) != 0 {
			t.Errorf("gone %v: state %d, and %d slots are taken", gone, s, len(w.core.on))
		}
	}
}

// A Job that asks for admission and can never be admitted is refused once, with the reason.
func TestNothingToAdmit(t *testing.T) {
	empty := func(j *batchv1.Job) { *j.Spec.Completions = 0 }
	for _, tc := range []struct {
		change func(*batchv1.Job)
		want   string
	}{
		{empty, "the Job has no completions, so there is nothing to admit"},
	} {
		for _, suspend := range []bool{true, false} {
			w := newWorld(t, "fifo", 1)
			j := w.addJob(2, suspend, map[string]string{})
			tc.change(j)
			w.core.job(j.DeepCopy())
			want := tc.want
			if !suspend {
				want = ""
			}
			if got := w.rejected[j.UID]; got != want {
				t.Errorf("suspend %v: rejected with %q, want %q", suspend, got, want)
			}
			delete(w.rejected, j.UID)
			w.core.job(j.DeepCopy()) // the condition was written
			if got := w.rejected[j.UID]; got != "" {
				t.Errorf("rejected again with %q", got)
			}
		}
	}
}

// A Job that is suspended by others is left to them, also after a restart: only one that was created suspended, and asks for
// admission by its label, is resumed.
func TestSuspendedByOthers(t *testing.T) {
	other, same, now := "example.com/other", batchv1.JobControllerName, metav1.Now()
	for name, tc := range map[string]struct {
		change func(*batchv1.Job)
		want   bool
	}{
		"asks":                        {func(*batchv1.Job) {}, true},
		"asks, and says who manages":  {func(j *batchv1.Job) { j.Spec.ManagedBy = &same }, true},
		"has no label":                {func(j *batchv1.Job) { j.Labels = nil }, false},
		"has another value":           {func(j *batchv1.Job) { j.Labels[Admit] = "false" }, false},
		"is of Kueue":                 {func(j *batchv1.Job) { j.Labels["kueue.x-k8s.io/queue-name"] = "q" }, false},
		"is of a JobSet":              {func(j *batchv1.Job) { j.Labels["jobset.sigs.k8s.io/jobset-name"] = "s" }, false},
		"is of another controller":    {func(j *batchv1.Job) { j.Spec.ManagedBy = &other }, false},
		"has run":                     {func(j *batchv1.Job) { j.Status.StartTime = &now }, false},
		"has succeeded in part":       {func(j *batchv1.Job) { j.Status.Succeeded = 1 }, false},
		"has failed in part":          {func(j *batchv1.Job) { j.Status.Failed = 1 }, false},
		"was admitted, and suspended": {func(j *batchv1.Job) { j.Annotations[Admitted] = "before" }, false},
	} {
		for _, policy := range []string{"fifo", "default", "rtmr"} {
			w := newWorld(t, policy, 1)
			w.addRoom("n", 4)
			j := w.addJob(1, true, map[string]string{Size: "10s", Deadline: epoch.Add(time.Duration(w.now) + time.Hour).Format(time.RFC3339)})
			tc.change(j)
			was := j.Annotations[Admitted]
			for range 2 {
				w.core.job(j.DeepCopy())
				w.core.job(j.DeepCopy())
				if got := !*j.Spec.Suspend; got != tc.want {
					t.Fatalf("%s, %s: resumed %v, want %v", name, policy, got, tc.want)
				}
				if w.rejected[j.UID] != "" || !tc.want && j.Annotations[Admitted] != was {
					t.Errorf("%s, %s: %q was written to a Job of others", name, policy, w.rejected[j.UID])
				}
				w.restart(policy)
				if _, err := w.core.settle(); err != nil {
					t.Fatal(err)
				}
			}
			// Whoever has suspended it resumes it: then it is a Job like any other.
			j.Spec.Suspend = new(bool)
			w.core.job(j.DeepCopy())
			if w.core.jobs[j.UID] == nil || w.core.jobs[j.UID].id == 0 {
				t.Errorf("%s, %s: a Job that was resumed is not known", name, policy)
			}
		}
	}
}

// A Job that was refused and asks no longer is not asked about again.
func TestAsksNoLonger(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	w.addRoom("n", 1)
	j := w.addJob(4, true, map[string]string{Size: "10s", Deadline: epoch.Add(time.Duration(w.now) + 20*time.Second).Format(time.RFC3339)})
	w.core.job(j.DeepCopy())
	if w.rejected[j.UID] == "" {
		t.Fatal("a deadline that cannot be met is accepted")
	}
	delete(j.Labels, Admit)
	w.core.job(j.DeepCopy())
	w.addRoom("m", 9)
	for range 10 {
		w.now = w.now.Add(time.Second)
		w.core.askAgain()
	}
	if *j.Spec.Suspend == false {
		t.Error("a Job that asks no longer is resumed")
	}
}
