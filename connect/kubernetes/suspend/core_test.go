package suspend

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// A world is a core whose actuator writes nothing: it keeps what was asked for last.
type world struct {
	*testing.T
	*core
	now      time.Time
	version  int
	writes   map[types.UID]*writing
	rejected map[types.UID]string // why a Job is refused
	warnings []string
	asked    func(*batchv1.Job, *writing) // sees each writing, if it is not nil
}

func newWorld(t *testing.T, policy string, slots int) *world {
	t.Helper()
	w := &world{T: t, now: time.Now().Truncate(time.Second), writes: map[types.UID]*writing{}, rejected: map[types.UID]string{}}
	p, err := catalog.Builtin().Make(policy)
	if err != nil {
		t.Fatal(err)
	}
	w.core, err = newCore(Config{Policy: p, Slots: slots, Limits: kubernetes.Limits{AnyPool: true, MaxWeight: 4}}, w, func() sojourn.Time { return kubernetes.Time(w.now) })
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) write(o *batchv1.Job, what *writing, _ bool) {
	if w.asked != nil {
		w.asked(o, what)
	}
	w.writes[o.UID] = what
}

func (w *world) condition(o *batchv1.Job, refused bool, message string) {
	if delete(w.rejected, o.UID); refused {
		w.rejected[o.UID] = message
	}
}

func (w *world) warn(_ *batchv1.Job, reason, _ string) { w.warnings = append(w.warnings, reason) }

func (w *world) newJob(name string, n, parallelism int32, notes map[string]string) *batchv1.Job {
	on := true
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: notes, CreationTimestamp: metav1.Time{Time: w.now}},
		Spec:       batchv1.JobSpec{Suspend: &on, Completions: &n, Parallelism: &parallelism},
	}
}

// hear tells the core of the next version of a Job, and settles.
func (w *world) hear(o *batchv1.Job) {
	w.Helper()
	w.version++
	o.ResourceVersion = fmt.Sprint(w.version)
	w.core.job(o.DeepCopy())
	w.look()
}

func (w *world) look() {
	w.Helper()
	if _, err := w.settle(); err != nil {
		w.Fatal(err)
	}
}

// carry carries out what was asked for a Job, whose pods become ready at once, and returns how many may run.
func (w *world) carry(o *batchv1.Job) int32 {
	w.Helper()
	return w.carryOut(o, func() { run(o, int32(spread(o))) })
}

// carryOut does the same, and the status is what pods makes of it.
func (w *world) carryOut(o *batchv1.Job, pods func()) int32 {
	w.Helper()
	what, ok := w.writes[o.UID]
	if !ok {
		w.Fatalf("nothing is to be written of Job %s", o.Name)
	}
	delete(w.writes, o.UID)
	off, width := what.width == 0, int32(what.width)
	if !what.keep {
		o.Spec.Suspend = &off
	}
	if !off {
		o.Spec.Parallelism = &width
	}
	if o.Annotations == nil {
		o.Annotations = map[string]string{}
	}
	maps.Copy(o.Annotations, map[string]string{kubernetes.Admitted: what.admitted, Parallelism: fmt.Sprint(what.parallelism), Granted: fmt.Sprint(width)})
	pods()
	w.version++
	o.ResourceVersion = fmt.Sprint(w.version)
	w.written(o.UID, what, o.DeepCopy())
	w.look()
	return width
}

// run says that so many pods of a Job run.
func run(o *batchv1.Job, pods int32) { o.Status.Active, o.Status.Ready = pods, &pods }

// The Job controller makes a pod in the place of one that has ended, before the slot goes to another Job. A pod
// that is ready is not ended then, and the other Job waits.
func TestReadyPodIsNotEnded(t *testing.T) {
	w := newWorld(t, "fair", 4)
	large, small := w.newJob("large", 9, 9, nil), w.newJob("small", 2, 2, nil)
	w.hear(large)
	if n := w.carry(large); n != 4 {
		t.Fatalf("%d pods may run, want 4", n)
	}
	w.hear(small)
	w.carry(small) // it is admitted, and waits
	large.Status.Succeeded = 1
	w.hear(large) // fair gives the slot to the small Job, and four pods of the large one are ready again
	if what, ok := w.writes[large.UID]; ok || w.jobs[large.UID].covered != 3 {
		t.Errorf("to be written is %+v, and %d pods are granted, want nothing and 3", what, w.jobs[large.UID].covered)
	}
	if what, ok := w.writes[small.UID]; ok {
		t.Errorf("%d pods of the small Job may run while four others are ready", what.width)
	}
	run(large, 4)
	three := int32(3)
	large.Status.Ready = &three
	w.hear(large)
	if n := w.carry(large); n != 3 {
		t.Errorf("%d pods may run when three are ready, want 3", n)
	}
	if n := w.carry(small); n != 1 {
		t.Errorf("%d pods of the small Job may run, want 1", n)
	}
	if w.taken != 4 {
		t.Errorf("%d pods may run, want 4", w.taken)
	}
}

// A kube is a Job controller whose pods start, become ready and end in any order, and which tells so when it likes.
type kube struct {
	*world
	jobs []*kubeJob
}

type kubeJob struct {
	o               *batchv1.Job
	starting, ready int32
}

// sync makes the pods that the spec wants, and ends those that it does not, the ready ones last. It returns how many of
// these were ready.
func (j *kubeJob) sync() (ended int32) {
	want := int32(0)
	if !*j.o.Spec.Suspend {
		want = min(*j.o.Spec.Parallelism, *j.o.Spec.Completions-j.o.Status.Succeeded)
	}
	j.starting = max(0, want-j.ready)
	ended = max(0, j.ready-want)
	j.ready -= ended
	return ended
}

func (k *kube) tell(j *kubeJob) {
	ready := j.ready
	j.o.Status.Active, j.o.Status.Ready = j.starting+j.ready, &ready
	k.hear(j.o)
}

// A pod that the Job controller has told is ready is not ended by a policy that does not preempt, whatever is heard late and
// in whatever order writings are carried out. No more pods are there than there are slots, and all Jobs end.
func TestToldPodsRunToTheirEnds(t *testing.T) {
	for _, policy := range []string{"fifo", "fair", "hfsp", "las"} {
		t.Run(policy, func(t *testing.T) {
			busy := 0 // times that a ready pod was spared
			rapid.Check(t, func(r *rapid.T) {
				k := &kube{world: newWorld(t, policy, rapid.IntRange(1, 5).Draw(r, "slots"))}
				k.asked = func(o *batchv1.Job, what *writing) {
					ready := 0
					if o.Status.Ready != nil {
						ready = int(*o.Status.Ready)
					}
					if what.width < ready {
						r.Fatalf("job %s is to have %d pods, and has told that %d are ready", o.Name, what.width, ready)
					}
				}
				total := func() (pods int32) {
					for _, j := range k.jobs {
						pods += j.starting + j.ready
					}
					return pods
				}
				told := func(j *kubeJob) int32 {
					if j.o.Status.Ready == nil {
						return 0
					}
					return *j.o.Status.Ready
				}
				carry := func(j *kubeJob) {
					if _, ok := k.writes[j.o.UID]; !ok {
						return
					}
					what, active, ready, before := k.writes[j.o.UID], j.o.Status.Active, told(j), j.ready
					if int32(what.width) < j.starting+j.ready && ready > 0 {
						busy++
					}
					k.carryOut(j.o, func() {
						j.o.Status.Active, j.o.Status.Ready = active, &ready // as it was told last
					})
					if ended := j.sync(); ended > max(0, before-ready) {
						r.Fatalf("job %s: %d ready pods were ended, of %d of which %d were told", j.o.Name, ended, before, ready)
					}
				}
				end := func(j *kubeJob) {
					if j.ready > 0 {
						j.ready--
						j.o.Status.Succeeded++
						j.sync()
						k.now = k.now.Add(time.Second)
					}
				}
				step := func(what int, j *kubeJob) {
					switch what {
					case 0:
						carry(j)
					case 1:
						if j.starting > 0 {
							j.starting, j.ready = j.starting-1, j.ready+1
						}
					case 2:
						end(j)
					case 3:
						k.tell(j)
					}
					if n := total(); n > int32(k.most) {
						r.Fatalf("%d pods on %d slots", n, k.most)
					}
				}
				for i := range rapid.IntRange(1, 4).Draw(r, "jobs") {
					n := rapid.Int32Range(1, 9).Draw(r, "completions")
					j := &kubeJob{o: k.newJob(fmt.Sprint(i), n, rapid.Int32Range(1, 6).Draw(r, "parallelism"), nil)}
					k.jobs = append(k.jobs, j)
					k.tell(j)
					for range rapid.IntRange(0, 30).Draw(r, "steps") {
						step(rapid.IntRange(0, 3).Draw(r, "what"), k.jobs[rapid.IntRange(0, i).Draw(r, "job")])
					}
				}
				for range 100 {
					for _, j := range k.jobs {
						for what := range 4 {
							step(what, j)
						}
					}
				}
				for _, j := range k.jobs {
					if j.o.Status.Succeeded != *j.o.Spec.Completions {
						r.Fatalf("job %s: %d of %d pods have ended", j.o.Name, j.o.Status.Succeeded, *j.o.Spec.Completions)
					}
				}
			})
			if busy == 0 && policy != "fifo" && !testing.Short() {
				t.Error("no Job was to have fewer pods while some were ready")
			}
		})
	}
}

// The Job controller notes the pods that have ended before it counts them, and each of them ends one grant.
func TestUncountedPods(t *testing.T) {
	for _, tc := range []struct {
		name               string
		uncounted          batchv1.UncountedTerminatedPods
		succeeded, granted int
	}{
		{"succeeded", batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"a"}}, 1, 1},
		{"failed", batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}, 0, 2},
	} {
		w := newWorld(t, "fifo", 2)
		first, second := w.newJob("first", 2, 2, nil), w.newJob("second", 2, 2, nil)
		w.hear(first)
		w.carry(first)
		w.hear(second)
		w.now = w.now.Add(time.Second)
		first.Status.UncountedTerminatedPods = &tc.uncounted
		run(first, int32(2-tc.succeeded))
		w.hear(first)
		j := w.jobs[first.UID]
		if j.succeeded != tc.succeeded || j.failed != 1-tc.succeeded || len(j.grants) != tc.granted {
			t.Errorf("%s: %d have succeeded, %d failed, %d are granted, want %d, %d, %d", tc.name, j.succeeded, j.failed, len(j.grants), tc.succeeded, 1-tc.succeeded, tc.granted)
		}
		if got := len(w.jobs[second.UID].grants); got != 2-tc.granted {
			t.Errorf("%s: the second Job has %d grants, want %d", tc.name, got, 2-tc.granted)
		}
		first.Status.UncountedTerminatedPods = nil
		first.Status.Succeeded, first.Status.Failed = int32(tc.succeeded), int32(1-tc.succeeded)
		w.hear(first)
		if j.succeeded != tc.succeeded || j.failed != 1-tc.succeeded {
			t.Errorf("%s: counted twice: %d have succeeded, %d failed", tc.name, j.succeeded, j.failed)
		}
	}
}

// A controller that starts again adopts the pods that run, those beyond its slots too, before it decides. Jobs
// that were admitted keep their places before those that were not.
func TestAdoption(t *testing.T) {
	for slots, want := range map[int]int{1: 0, 2: 0, 4: 0, 5: 1, 6: 2} { // grants of the other Job
		w := newWorld(t, "fifo", slots)
		other := w.newJob("other", 2, 2, nil) // older, but never admitted
		w.now = w.now.Add(time.Second)
		old := w.newJob("old", 4, 2, map[string]string{kubernetes.Admitted: w.now.Format(time.RFC3339), Parallelism: "3", Granted: "2"})
		off := false
		old.Spec.Suspend = &off
		old.Status.Succeeded = 1
		run(old, 2)
		w.now = w.now.Add(time.Second)
		waiting := w.newJob("waiting", 1, 1, map[string]string{kubernetes.Admitted: w.now.Format(time.RFC3339), Parallelism: "1", Granted: "0"})
		w.restore([]*batchv1.Job{other, waiting, old})
		attempts := 0
		for range w.truth.Attempts() {
			attempts++
		}
		if j := w.jobs[old.UID]; attempts != 2 || j.covered != 2 || j.succeeded != 1 || w.taken != 2 {
			t.Errorf("%d slots: %d attempts, %d covered, %d succeeded, %d pods, want 2, 2, 1, 2", slots, attempts, j.covered, j.succeeded, w.taken)
		}
		w.look()
		if got := len(w.jobs[other.UID].grants); got != want {
			t.Errorf("%d slots: the other Job has %d grants, want %d", slots, got, want)
		}
		if got, want := len(w.jobs[old.UID].grants), min(3, max(2, slots)); got != want {
			t.Errorf("%d slots: the old Job has %d grants, want %d", slots, got, want)
		}
		for _, o := range []*batchv1.Job{old, waiting, other} {
			w.gone(o.UID)
		}
		w.look()
		left := 0
		for range w.truth.Slots() {
			left++
		}
		if left != slots || len(w.on) != 0 || w.taken != 0 {
			t.Errorf("without Jobs there are %d slots, %d grants and %d pods, want %d, 0 and 0", left, len(w.on), w.taken, slots)
		}
	}
}

// Under rtmr a Job that would be late is refused with the deadline that would do. It is asked about again when
// its user has changed it, and when there are fewer Jobs.
func TestCounterOffer(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	at := func(d time.Duration) string { return w.now.Add(d).UTC().Format(time.RFC3339) }
	notes := func(deadline string) map[string]string {
		return map[string]string{kubernetes.Size: "10s", kubernetes.Deadline: deadline}
	}
	first := w.newJob("first", 4, 4, notes(at(20*time.Second)))
	w.hear(first)
	if got, want := w.rejected[first.UID], "the job would miss its deadline; a deadline of "+at(40*time.Second)+" or later would be accepted"; got != want {
		t.Fatalf("rejected with %q, want %q", got, want)
	}
	first.Annotations[kubernetes.Deadline] = at(40 * time.Second)
	w.hear(first)
	if n := w.carry(first); n != 1 || len(w.rejected) != 0 {
		t.Fatalf("%d pods may run, refused are %v, want 1 and none, with the deadline that was offered", n, w.rejected)
	}
	second := w.newJob("second", 1, 1, notes(at(20*time.Second)))
	w.hear(second)
	if got, want := w.rejected[second.UID], at(50*time.Second); !strings.Contains(got, want) {
		t.Errorf("rejected with %q, want an offer of %s", got, want)
	}
	if w.look(); len(w.writes) != 0 {
		t.Errorf("written: %v, want nothing", w.writes)
	}
	w.gone(first.UID)
	w.look()
	if n := w.carry(second); n != 1 || len(w.rejected) != 0 {
		t.Errorf("%d pods may run, refused are %v, want 1 and none, once the first Job is gone", n, w.rejected)
	}
	if got, want := fmt.Sprint(w.warnings), "[AdmissionRejected AdmissionRejected]"; got != want {
		t.Errorf("warnings %v, want %v", got, want)
	}
}

// A user suspends a Job while a patch of it is under way, which does not resume it.
func TestSuspensionThatCrosses(t *testing.T) {
	w := newWorld(t, "fifo", 4)
	o := w.newJob("j", 9, 2, nil)
	w.hear(o)
	w.carry(o)
	o.Annotations[Parallelism] = "3"
	w.hear(o)
	on, off := true, false
	o.Spec.Suspend = &on // which the core has not heard of
	if n := w.carry(o); n != 3 {
		t.Fatalf("%d pods may run, want 3", n)
	}
	if !batch.Suspended(o) || !w.jobs[o.UID].paused || len(w.on) != 0 || len(w.writes) != 0 {
		t.Errorf("suspended: %v, by its user: %v, %d grants, %d writings, want true, true, 0, 0", batch.Suspended(o), w.jobs[o.UID].paused, len(w.on), len(w.writes))
	}
	o.Spec.Suspend = &off
	w.hear(o)
	if run(o, 3); w.jobs[o.UID].paused || len(w.on) != 3 || len(w.writes) != 0 {
		t.Errorf("suspended by its user: %v, %d grants, %d writings, want false, 3, 0", w.jobs[o.UID].paused, len(w.on), len(w.writes))
	}
}

// A patch that may follow one that suspends the Job resumes it, whatever was answered before.
func TestResumedAfterPatchesUnderWay(t *testing.T) {
	w := newWorld(t, "fifo", 4)
	o := w.newJob("j", 9, 1, map[string]string{})
	w.hear(o)
	first := w.writes[o.UID]
	o.Annotations[Parallelism] = "0"
	o.Status.Failed = 1
	w.hear(o)
	if n := w.writes[o.UID].width; n != 0 {
		t.Fatalf("%d pods may run, want 0", n)
	}
	o.Annotations[Parallelism] = "1"
	w.hear(o)
	off := false
	answer := o.DeepCopy() // to the first patch; the second may be under way now
	answer.Spec.Suspend = &off
	answer.Annotations[kubernetes.Admitted] = first.admitted
	w.version++
	answer.ResourceVersion = fmt.Sprint(w.version)
	w.written(o.UID, first, answer)
	w.look()
	o.Annotations[Parallelism] = "2"
	o.Spec.Suspend = &off
	w.hear(o)
	on := true
	o.Spec.Suspend = &on // by the second patch
	if n := w.carry(o); n != 2 || batch.Suspended(o) {
		t.Errorf("%d pods may run, suspended: %v, want 2 and false", n, batch.Suspended(o))
	}
}

// A Job that wants no pods gets no turn until it wants some.
func TestNoPodsWanted(t *testing.T) {
	for _, policy := range []string{"fifo", "fair", "hfsp", "rtmr"} {
		w := newWorld(t, policy, 4)
		o := w.newJob("j", 3, 3, map[string]string{Parallelism: "0", kubernetes.Size: "10s"})
		w.hear(o)
		if n := w.carry(o); n != 0 || len(w.on) != 0 {
			t.Errorf("%s: %d pods may run and %d are granted, want 0 and 0", policy, n, len(w.on))
		}
		o.Annotations[Parallelism] = "2"
		w.hear(o)
		if n := w.carry(o); n != 2 {
			t.Errorf("%s: %d pods may run, want 2", policy, n)
		}
	}
}

// A Job that somebody else suspends and resumes is left alone: one of Kueue, of a JobSet, or of another controller, also after it
// has had a turn.
func TestJobsOfOthers(t *testing.T) {
	another, stock := "example.com/mine", batchv1.JobControllerName
	for name, tc := range map[string]struct {
		change func(*batchv1.Job)
		turn   bool
	}{
		"kueue":          {func(o *batchv1.Job) { o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "q"} }, false},
		"jobset":         {func(o *batchv1.Job) { o.Labels = map[string]string{"jobset.sigs.k8s.io/jobset-name": "s"} }, false},
		"managed by":     {func(o *batchv1.Job) { o.Spec.ManagedBy = &another }, false},
		"job controller": {func(o *batchv1.Job) { o.Spec.ManagedBy = &stock }, true},
	} {
		w := newWorld(t, "fifo", 4)
		j := w.newJob(name, 4, 4, nil)
		tc.change(j)
		w.hear(j)
		if _, turn := w.writes[j.UID]; turn != tc.turn {
			t.Errorf("%s: has a turn: %v, want %v", name, turn, tc.turn)
		}
		late := w.newJob("late "+name, 2, 2, nil)
		w.hear(late)
		if !tc.turn {
			w.carry(late)
			tc.change(late)
			late.Annotations[kubernetes.Weight] = "0.5"
			w.hear(late)
			if what, ok := w.writes[late.UID]; ok || w.taken != 0 {
				t.Errorf("%s, after its turn: to be written is %+v, and %d places are taken", name, what, w.taken)
			}
		}
	}
}

// The answer to a patch says that a Job is over: what it had goes to others.
func TestWrittenOfAJobThatIsOver(t *testing.T) {
	for _, slots := range []int{4, 0} {
		w := newWorld(t, "fair", slots)
		if slots == 0 {
			w.has("n", "cpu=4")
		}
		a := w.ask("a", 8, "cpu=1")
		w.carry(a)
		b := w.ask("b", 8, "cpu=1")
		a.Status.Succeeded = 1
		run(a, 3)
		w.hear(a)
		w.carryOut(a, func() {
			run(a, 0)
			a.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		})
		if w.want("the other one has failed", b, 4); w.jobs[a.UID] != nil || w.taken != 4 {
			t.Errorf("slots %d: the failed Job is known: %v; %d pods may run, want 4", slots, w.jobs[a.UID] != nil, w.taken)
		}
	}
}
