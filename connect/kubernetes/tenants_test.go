package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// A lab is a stage with a Job controller: it makes the pods of Jobs as others end, and pods run for a while.
type lab struct {
	*stage
	jobs []*labJob
	runs []labRun
}

type labJob struct {
	obj    *batchv1.Job
	takes  time.Duration // a pod
	made   int
	active int
	done   int
}

type labRun struct {
	uid types.UID
	job *labJob
	end time.Duration
}

// add adds a Job of n pods, so many at a time.
func (l *lab) add(space string, n, atOnce int, takes time.Duration, change func(*batchv1.Job)) *labJob {
	mode, completions, parallelism := batchv1.IndexedCompletion, int32(n), int32(atOnce)
	name := fmt.Sprintf("j%06d", len(l.jobs))
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: space, UID: types.UID(name), Annotations: map[string]string{}},
		Spec: batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, CompletionMode: &mode, Template: corev1.PodTemplateSpec{Spec: template(1)}}}
	if change != nil {
		change(o)
	}
	j := &labJob{obj: o, takes: takes}
	l.jobs = append(l.jobs, j)
	l.core.job(o.DeepCopy())
	return j
}

// control makes the pods that are missing, as the Job controller does.
func (l *lab) control() {
	for _, j := range l.jobs {
		for ; j.made < batch.Tasks(j.obj) && j.active < int(*j.obj.Spec.Parallelism); j.made++ {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(j.obj.Name, "-", j.made), Namespace: j.obj.Namespace, UID: types.UID(fmt.Sprintf("%s-%06d", j.obj.UID, j.made)),
				Annotations: map[string]string{}, Labels: map[string]string{}}, Spec: *j.obj.Spec.Template.Spec.DeepCopy()}
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.obj.Name, UID: j.obj.UID, Controller: &yes}}
			if indexed(j.obj) {
				p.Labels[batchv1.JobCompletionIndexAnnotation], p.Annotations[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(j.made), fmt.Sprint(j.made)
			}
			l.pods[p.UID] = p
			j.active++
			l.core.pod(p.DeepCopy())
		}
	}
}

// run lets time pass, and returns which pods were bound, in their order.
func (l *lab) run(until time.Duration) (bound []types.UID) {
	owner := func(uid types.UID) *labJob {
		i := slices.IndexFunc(l.jobs, func(j *labJob) bool { return l.pods[uid].OwnerReferences[0].UID == j.obj.UID })
		return l.jobs[i]
	}
	over := func() bool {
		return !slices.ContainsFunc(l.jobs, func(j *labJob) bool { return j.done < batch.Tasks(j.obj) })
	}
	for now := time.Duration(0); now < until && !over(); {
		l.control()
		sleep := l.settle()
		for _, b := range l.order {
			j := owner(b.uid)
			bound = append(bound, b.uid)
			l.runs = append(l.runs, labRun{b.uid, j, now + j.takes})
		}
		l.carryOut()
		next := now + min(max(sleep, time.Millisecond), until-now)
		for _, r := range l.runs {
			next = min(next, r.end)
		}
		l.now, now = l.now.Add(next-now), next
		l.runs = slices.DeleteFunc(l.runs, func(r labRun) bool {
			if r.end <= now {
				r.job.active--
				r.job.done++
				l.end(r.uid)
			}
			return r.end <= now
		})
	}
	return bound
}

func newLab(t fataler, policy string, limits Limits) *lab {
	l := &lab{stage: stageOf(t, Config{Policy: builtin(t, policy), Name: "sojourn", Slots: []corev1.ResourceName{DefaultSlot}, Limits: limits})}
	l.setNode("n", 10, nil)
	return l
}

func plain(o *batchv1.Job) { o.Spec.CompletionMode = nil }

// A tenant with 200 pods tries to get more than its share from one with 160 pods in 4 Jobs, on 10 slots. The honest one gets at
// least 0.9 of what it gets beside the same pods without the trick.
func TestCheatsGainNothing(t *testing.T) {
	const takes, span = 500 * time.Millisecond, 11 * time.Second
	note := func(key, value string) func(*batchv1.Job) {
		return func(o *batchv1.Job) { o.Annotations[key] = strings.ReplaceAll(value, "NAME", o.Name) }
	}
	for _, policy := range []string{"fifo", "default", "fair", "hfsp"} {
		for _, tc := range []struct {
			name  string
			jobs  int
			trick func(*batchv1.Job)
		}{
			{"no indexes", 1, plain},
			{"weight", 1, note(Weight, "4e9")},
			{"size", 1, note(Size, "1ns")},
			{"pools", 20, note(Pool, "NAME")},
			{"a pool below", 20, note(Pool, "b/NAME")},
		} {
			done := [2]int{}
			for i, trick := range []func(*batchv1.Job){nil, tc.trick, nil, tc.trick} {
				l := newLab(t, policy, Limits{})
				if i >= 2 {
					l.add("a", 10, 10, takes, nil) // fills the slots while the others come
					l.run(takes / 2)
				}
				var honest []*labJob
				for range 4 {
					if i < 2 {
						honest = append(honest, l.add("a", 40, 40, takes, nil))
					}
				}
				for range tc.jobs {
					l.add("b", 200/tc.jobs, 200/tc.jobs, takes, trick)
				}
				for range 4 {
					if i >= 2 {
						honest = append(honest, l.add("a", 40, 40, takes, nil))
					}
				}
				l.run(span)
				for _, j := range honest {
					done[i%2] += j.done
				}
			}
			t.Logf("%s, %s: %d pods of the honest tenant without the trick, %d with it", policy, tc.name, done[0], done[1])
			if 10*done[1] < 9*done[0] {
				t.Errorf("%s, %s: %d pods of the honest tenant beside the trick, %d without", policy, tc.name, done[1], done[0])
			}
		}
	}
}

// Pods of a Job without indexes are served as those of an Indexed one: the same Jobs get the same slots at the same times.
func TestJobsWithoutIndexes(t *testing.T) {
	for _, policy := range []string{"fifo", "default", "fair", "hfsp", "srpt"} {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			type job struct{ n, atOnce, takes int }
			var jobs []job
			for range rapid.IntRange(1, 5).Draw(t, "jobs") {
				n := rapid.IntRange(1, 30).Draw(t, "completions")
				jobs = append(jobs, job{n, rapid.IntRange(1, n).Draw(t, "parallelism"), rapid.IntRange(1, 3).Draw(t, "seconds")})
			}
			var want []types.UID
			for _, change := range []func(*batchv1.Job){nil, plain} {
				l := newLab(t, policy, Limits{})
				for _, j := range jobs {
					l.add("d", j.n, j.atOnce, time.Duration(j.takes)*time.Second, change)
				}
				bound := l.run(time.Hour)
				for i, j := range jobs {
					if l.jobs[i].done != j.n {
						t.Fatalf("%d pods of job %d are done, want %d", l.jobs[i].done, i, j.n)
					}
				}
				if change != nil && !slices.Equal(bound, want) {
					t.Fatalf("bound %v\nwith indexes %v", bound, want)
				}
				want = bound
			}
		}))
	}
}

// A pod without an index takes the task of one that has failed, was deleted, or is on its way out. What is left over waits, and
// runs when there are more completions.
func TestPodsWithoutIndexesComeAndGo(t *testing.T) {
	l := newLab(t, "fifo", Limits{})
	j := l.add("d", 2, 2, time.Hour, plain)
	pod := func(uid types.UID) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(uid), Namespace: "d", UID: uid, Annotations: map[string]string{}}, Spec: template(1)}
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.obj.Name, UID: j.obj.UID, Controller: &yes}}
		l.pods[uid] = p
		l.core.pod(p.DeepCopy())
		l.settle()
		l.carryOut()
		return p
	}
	starts := func(uid types.UID, what string) {
		t.Helper()
		if l.pods[uid].Spec.NodeName == "" {
			t.Errorf("pod %s waits: %s", uid, what)
		}
	}
	a, b := pod("a"), pod("b")
	starts("a", "first")
	starts("b", "second")
	a.Status.Phase = corev1.PodFailed
	l.core.pod(a.DeepCopy())
	pod("c")
	starts("c", "in the place of a, which has failed")
	b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	l.core.pod(b.DeepCopy())
	if d := pod("d"); d.Spec.NodeName != "" || l.core.pods["d"].task != l.core.pods["b"].task {
		t.Error("pod d, which comes for b, has another task, or runs before b has ended")
	}
	pod("e") // one too many
	l.core.podGone("b")
	l.settle()
	l.carryOut()
	starts("d", "b has ended")
	if l.pods["e"].Spec.NodeName != "" {
		t.Error("pod e runs, and all tasks have pods")
	}
	more := j.obj.DeepCopy()
	*more.Spec.Completions = 3
	l.core.job(more)
	l.settle()
	l.carryOut()
	starts("e", "there are more completions")
	for _, uid := range []types.UID{"c", "d", "e"} {
		l.end(uid)
	}
	if n := l.core.truth.Live(); n != 0 {
		t.Errorf("%d live jobs, want 0: 3 pods have succeeded", n)
	}
}

// A Job without completions runs so many pods as it may at a time.
func TestJobWithoutCompletions(t *testing.T) {
	l := newLab(t, "hfsp", Limits{})
	j := l.add("d", 4, 4, time.Second, func(o *batchv1.Job) { o.Spec.CompletionMode, o.Spec.Completions = nil, nil })
	if bound := l.run(3 * time.Second); len(bound) != 4 || j.done != 4 {
		t.Errorf("%d pods are bound and %d done, want 4", len(bound), j.done)
	}
	if n := len(l.core.byID); n != 1 {
		t.Errorf("%d jobs, want 1", n)
	}
}

// An owner that is no Job of the namespace of the pod is told, and nothing breaks: a Job elsewhere, and a pod. Another kind that
// is called Job too owns pods as any other kind does.
func TestForgedOwner(t *testing.T) {
	l := newLab(t, "fifo", Limits{})
	j := l.add("other", 1, 1, time.Second, nil)
	single := l.newPod(nil)
	for i, tc := range []struct {
		version string
		uid     types.UID
		runs    bool
	}{{"batch/v1", j.obj.UID, false}, {"batch/v1", single.UID, false}, {"batch.volcano.sh/v1alpha1", "v", true}} {
		yes, uid := true, types.UID(fmt.Sprint("forged", i))
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d", UID: uid, Annotations: map[string]string{}}, Spec: template(1)}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: tc.version, Kind: "Job", Name: "x", UID: tc.uid, Controller: &yes}}
		l.pods[uid] = p
		l.core.pod(p.DeepCopy())
		l.settle()
		runs := slices.ContainsFunc(l.order, func(b bind) bool { return b.uid == uid })
		l.carryOut()
		if told := l.warned[uid] != ""; runs != tc.runs || told == tc.runs {
			t.Errorf("owner %s %s: the pod runs: %v, is told: %q", tc.version, tc.uid, runs, l.warned[uid])
		}
	}
}

// Whoever may create Jobs gets no more by their annotations and labels than the operator allows.
func TestLimits(t *testing.T) {
	gang := func(n int) func(*batchv1.Job) {
		return func(o *batchv1.Job) {
			size := int32(n)
			o.Labels, o.Spec.Completions, o.Spec.Parallelism = map[string]string{Gang: ""}, &size, &size
		}
	}
	note := func(key, value string) func(*batchv1.Job) {
		return func(o *batchv1.Job) { o.Annotations[key] = value }
	}
	for i, tc := range []struct {
		limits Limits
		change func(*batchv1.Job)
		want   string
	}{
		{Limits{}, note(Pool, "d"), ""},
		{Limits{}, note(Pool, ""), `annotation sojourn-sched.github.io/pool is "": the pool of a job is its namespace here, d`},
		{Limits{}, note(Pool, "other"), `is "other": the pool of a job is its namespace here, d`},
		{Limits{AnyPool: true}, note(Pool, "other"), ""},
		{Limits{}, note(Weight, "1"), ""},
		{Limits{}, note(Weight, "0.5"), ""},
		{Limits{}, note(Weight, "1.0000001"), `is "1.0000001": the greatest weight here is 1`},
		{Limits{MaxWeight: 0.5}, note(Weight, "1"), `is "1": the greatest weight here is 0.5`},
		{Limits{MaxWeight: 1<<32 - 1}, note(Weight, "4e9"), ""},
		{Limits{MinSize: time.Minute}, note(Size, "1ns"), ""},
		{Limits{}, note(Deadline, "2199-01-31T15:04:05Z"), ""},
		{Limits{NoDeadlines: true}, note(Deadline, "2199-01-31T15:04:05Z"), "there are no deadlines here"},
		{Limits{}, gang(1000), ""},
		{Limits{MaxGang: 3}, gang(3), ""},
		{Limits{MaxGang: 3}, gang(4), "a gang has at most 3 pods here: this one has 4"},
		{Limits{MaxGang: -1}, gang(1), "there are no gangs here"},
	} {
		l := newLab(t, "fifo", tc.limits)
		j := l.add("d", 1, 1, time.Second, tc.change)
		if got := l.core.jobs[j.obj.UID].refusal; tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("row %d: refused with %q, want %q", i, got, tc.want)
		}
	}
	l := newLab(t, "fifo", Limits{MinSize: time.Minute})
	for size, want := range map[string]time.Duration{"1ns": time.Minute, "59.9s": time.Minute, "61s": 61 * time.Second} {
		j := l.add("d", 1, 1, time.Second, note(Size, size))
		if got := l.core.jobs[j.obj.UID].spec.Phases[0].Estimate; got != want {
			t.Errorf("size %s counts as %v, want %v", size, got, want)
		}
	}
	for most, want := range map[float64][2]float64{0: {0, 1}, 1: {0, 1}, 4: {0, 1}, 0.5: {0.5, 0.25}, minWeight: {minWeight, minWeight}} { // of a job that says nothing, and of one that says that
		for k, say := range []func(*batchv1.Job){func(*batchv1.Job) {}, note(Weight, fmt.Sprint(want[1]))} {
			l := newLab(t, "fifo", Limits{MaxWeight: most})
			if j := l.core.jobs[l.add("d", 1, 1, time.Second, say).obj.UID]; j.id == 0 || j.spec.Weight != want[k] {
				t.Errorf("at most %v: a job has the weight %v, want %v; %s", most, j.spec.Weight, want[k], j.refusal)
			}
		}
	}
	for _, bad := range []Limits{{MaxWeight: -1}, {MaxWeight: 1 << 32}, {MaxWeight: 1e-9}, {MinSize: -1}} {
		if bad.validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

// The priority of pods comes before the order of the policy, if the policy knows priorities, for pods and for Jobs. Otherwise
// it says nothing.
func TestPriorityOfPods(t *testing.T) {
	for policy, want := range map[string]string{"fifo": "low job high", "priority:inner=fifo": "high job low"} {
		l := newLab(t, policy, Limits{})
		var order []string
		class := func(n int32) func(*corev1.PodSpec) {
			return func(spec *corev1.PodSpec) { spec.Priority = &n }
		}
		names := map[types.UID]string{}
		for range 10 { // fill the slots
			names[l.newPod(class(0)).UID] = ""
		}
		l.settle()
		l.carryOut()
		running := l.order
		names[l.newPod(class(-5)).UID] = "low"
		for _, p := range l.newJob(1, nil, class(7)) {
			names[p.UID] = "job"
		}
		names[l.newPod(class(1<<31-1)).UID] = "high"
		for _, b := range running[:3] {
			l.end(b.uid)
			l.settle()
			for _, b := range l.order {
				order = append(order, names[b.uid])
			}
			l.carryOut()
		}
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%s: started %s, want %s", policy, got, want)
		}
	}
}

// Where it is asked for, each pod that has waited for 5 seconds says by its condition that it is not scheduled and why, once, also
// if no events are wanted. One that waits for its Job, or has a place, does not.
func TestWaitingPodsSayUnschedulable(t *testing.T) {
	for _, tc := range []struct {
		marks  bool
		events int
	}{{false, 10}, {true, -1}, {true, 2}} {
		w := stageOf(t, Config{Policy: builtin(t, "fifo"), Name: "sojourn", Slots: []corev1.ResourceName{DefaultSlot}, Events: tc.events, Unschedulable: tc.marks})
		w.setNode("n", 1, nil)
		for range 51 {
			w.newPod(nil)
		}
		w.settle()
		w.carryOut()
		w.now = w.now.Add(firstWord - 1)
		if w.settle(); len(w.marked) != 0 {
			t.Errorf("%+v: %d pods say that they wait, after less than %v", tc, len(w.marked), firstWord)
		}
		w.now = w.now.Add(pace)
		w.settle()
		if want := map[bool]int{true: 50}[tc.marks]; len(w.marked) != want {
			t.Errorf("%+v: %d pods say that they wait, want %d", tc, len(w.marked), want)
		}
		for uid, said := range w.marked {
			if w.pods[uid].Spec.NodeName != "" || !strings.Contains(said, "all slots of sojourn-sched.github.io/slot are taken") {
				t.Errorf("%+v: pod %s on node %q says %q", tc, uid, w.pods[uid].Spec.NodeName, said)
			}
		}
		clear(w.marked)
		w.now = w.now.Add(time.Hour)
		if w.settle(); len(w.marked) != 0 {
			t.Errorf("%+v: %d pods say so again", tc, len(w.marked))
		}
	}
}
