package kubernetes

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// node adds a node that is ready and not cordoned.
func (w *world) ready(name string, slots int) {
	w.addNode(name, slots)
	w.nodes[name].Spec.Unschedulable = false
	w.core.node(w.nodes[name].DeepCopy())
}

// settle lets time pass, and the core act.
func (w *world) settle(d time.Duration) time.Duration {
	w.t.Helper()
	w.now = w.now.Add(d)
	sleep, err := w.core.settle()
	if err != nil {
		w.t.Fatal(err)
	}
	return sleep
}

// A Job that was made before the nodes is refused under rtmr, and accepted once they are there. Of two
// that fit one by one, the older one is accepted, and the other one when the first is gone.
func TestRefusedJobIsAskedAgain(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	deadline := epoch.Add(time.Duration(w.now) + 70*time.Second).Format(time.RFC3339)
	var jobs []*batchv1.Job
	for i := range 3 {
		j := w.addJob(5, i != 1, map[string]string{Size: "10s", Deadline: deadline})
		j.CreationTimestamp = metav1.Unix(int64(1000-i), 0)
		jobs = append(jobs, j)
		w.core.job(j.DeepCopy())
	}
	w.settle(0)
	if len(w.rejected) != 3 {
		t.Fatalf("%d Jobs were refused without nodes, want 3", len(w.rejected))
	}
	w.ready("n", 1)
	if sleep := w.settle(0); sleep > time.Second {
		t.Errorf("the next look is in %v, want within a second", sleep)
	}
	w.settle(time.Second)
	for i := range 5 {
		w.settle(time.Second)
		if len(w.rejected) != 2 {
			t.Fatalf("%d Jobs were refused while the pods of one come, want 2", len(w.rejected))
		}
		w.addPod(jobs[2], i, 1)
	}
	w.settle(time.Second)
	if _, no := w.rejected[jobs[2].UID]; no || len(w.rejected) != 2 {
		t.Errorf("refused now: %v, want all but %s", w.rejected, jobs[2].UID)
	}
	if jobs[2].Annotations[Admitted] == "" {
		t.Error("the Job was not resumed")
	}
	for uid, p := range w.pods {
		if metav1.GetControllerOf(p).UID == jobs[2].UID {
			delete(w.pods, uid)
			w.core.podGone(uid)
		}
	}
	w.core.jobGone(jobs[2].UID)
	p := w.addPod(jobs[1], 0, 1)
	w.settle(time.Second)
	if _, no := w.rejected[jobs[1].UID]; no || len(w.rejected) != 1 {
		t.Errorf("refused now: %v, want %s", w.rejected, jobs[0].UID)
	}
	if s := w.core.pods[p.UID].state; s != picked {
		t.Errorf("the pod that came before its Job was accepted is in state %d", s)
	}
}

// A Job whose completions are raised has tasks for its new pods, whichever is heard of first, also if all
// others were done.
func TestMoreCompletions(t *testing.T) {
	for _, policy := range []string{"fifo", "default", "fair", "hfsp"} {
		for _, done := range []bool{false, true} {
			for _, podFirst := range []bool{false, true} {
				w := newWorld(t, policy, 1)
				w.ready("n", 4)
				j := w.addJob(2, false, map[string]string{Size: "1s"})
				w.core.job(j.DeepCopy())
				var first []*corev1.Pod
				for i := range 2 {
					first = append(first, w.addPod(j, i, 1))
				}
				w.run(t)
				for _, p := range first {
					if done {
						w.end(p, corev1.PodSucceeded)
					}
				}
				*j.Spec.Completions = 3
				var p *corev1.Pod
				if podFirst {
					p = w.addPod(j, 2, 1)
				}
				w.core.job(j.DeepCopy())
				if !podFirst {
					p = w.addPod(j, 2, 1)
				}
				w.run(t)
				if p.Spec.NodeName == "" {
					t.Errorf("%s, done %v, pod first %v: the pod of the new index was not bound", policy, done, podFirst)
				}
				w.end(p, corev1.PodSucceeded)
				for _, p := range first {
					w.end(p, corev1.PodSucceeded)
				}
				if n := w.core.truth.Live(); n != 0 {
					t.Errorf("%s, done %v, pod first %v: %d jobs are live after the end", policy, done, podFirst, n)
				}
				w.check()
			}
		}
	}
}

// run lets the core bind all that it wants to.
func (w *world) run(t *testing.T) {
	t.Helper()
	for range 100 {
		w.settle(time.Second)
		list := w.binds
		if w.binds = nil; len(list) == 0 {
			return
		}
		for _, f := range list {
			f()
		}
	}
	t.Fatal("no end of binds")
}

// A pod whose eviction was refused ends as any other: its failure is one of the task.
func TestRefusedEviction(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	w.ready("n", 1)
	p := w.addPod(nil, 0, 1)
	w.run(t)
	k := w.core.pods[p.UID]
	k.killing = true // as settle does
	for _, tc := range []struct {
		uid     types.UID
		attempt uint32
		want    bool
	}{{p.UID, 2, true}, {"another", 1, true}, {p.UID, 1, false}} {
		if w.core.spared(tc.uid, tc.attempt); k.killing != tc.want {
			t.Errorf("after attempt %d of %s: killing is %v, want %v", tc.attempt, tc.uid, k.killing, tc.want)
		}
	}
	if w.core.victim(p.UID, 1) != nil {
		t.Error("a pod whose eviction was refused is to be evicted again")
	}
}

// A pod that a disruption budget keeps is asked for ten times, and then the policy gets to know that it stays, if it
// knows the event.
func TestEvictionsEnd(t *testing.T) {
	for _, ignorant := range []bool{false, true} {
		evictionsEnd(t, ignorant)
	}
}

func evictionsEnd(t *testing.T, ignorant bool) {
	w := newWorld(t, "fifo", 1)
	w.ignorant = ignorant
	w.restart("fifo")
	w.ready("n", 1)
	p := w.addPod(nil, 0, 1)
	w.run(t)
	k := w.core.pods[p.UID]
	k.killing = true // as settle does
	asked := w.evictions
	w.stubborn = true
	for n := 1; k.killing; n++ {
		if n > maxEvictions {
			t.Fatalf("after %d evictions that were refused, the pod is still to be evicted", n)
		}
		w.core.evictAgain(p.UID, 1)
	}
	if got, want := w.evictions-asked, maxEvictions-1; got != want {
		t.Errorf("asked %d times, want %d", got, want)
	}
	if a, _ := w.core.truth.Attempt(k.slot); a.Pinned == ignorant {
		t.Errorf("the policy knows that the pod stays: %v", a.Pinned)
	}
}

// Binds that are refused again and again are tried less and less often.
func TestRefusedBindsAreSlower(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	w.ready("n", 1)
	p := w.addPod(nil, 0, 1)
	want := retry
	for range 8 {
		w.settle(0)
		_, last := w.core.truth.Task(w.core.pods[p.UID].task.id)
		w.core.pods[p.UID].killing = true // it was to give its slot to another one
		if got := w.core.bindFailed(p.UID, last, false, nil); got != want {
			t.Fatalf("the wait is %v, want %v", got, want)
		}
		if w.core.pods[p.UID].killing {
			t.Fatal("a later attempt counts as preempted")
		}
		want = min(2*want, maxRetry)
		w.core.again(p.UID)
	}
	if want != maxRetry {
		t.Errorf("the wait has not reached %v", maxRetry)
	}
}

// Pods that wait are told why, once for each reason: by the order of the policy, or because their Job is
// not there, was refused, or has fewer indexes.
func TestWhyPodsWait(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	gone, wrong, small := w.addJob(1, false, nil), w.addJob(1, false, map[string]string{Size: "x"}), w.addJob(1, false, nil)
	for _, j := range []*batchv1.Job{wrong, small} {
		w.core.job(j.DeepCopy())
	}
	pods := []*corev1.Pod{w.addPod(nil, 0, 1), w.addPod(gone, 0, 1), w.addPod(wrong, 0, 1), w.addPod(small, 1, 1)}
	w.settle(0)
	w.settle(firstWord - time.Second)
	if len(w.said) != 0 {
		t.Fatalf("something was said before %v", firstWord)
	}
	for range 30 {
		w.settle(time.Second)
	}
	for i, want := range []string{
		"Waiting: no node that is ready and not cordoned offers sojourn-sched.github.io/slot. Job d/p is number 2 of 2 in the order of the policy: done=0 running=0 startable=1 blocked=0 held=0 no_slots=there is no slot of class 0 rank=1",
		"NotScheduled: the Job of the pod is not one of this scheduler, is gone, or is over",
		"NotScheduled: the Job of the pod was refused: annotation sojourn-sched.github.io/size is \"x\": want a length of time above 0, such as 90s",
		"NotScheduled: the index of the pod is 1, and its Job has 1 completions",
	} {
		if got := w.said[pods[i].UID]; len(got) != 1 || got[0] != want {
			t.Errorf("pod %d: got %q, want %q", i, got, want)
		}
	}
	w.ready("n", 1)
	w.run(t) // the first pod takes the slot
	blocker := w.addPod(nil, 0, 1)
	for range 120 {
		w.settle(time.Second)
	}
	got := w.said[blocker.UID]
	if want := "Waiting: all slots of sojourn-sched.github.io/slot are taken, 1 of them."; len(got) != 1 || !strings.HasPrefix(got[0], want) {
		t.Errorf("the second pod: got %q, want %q", got, want)
	}
	if n := len(w.said[pods[1].UID]); n != 1 {
		t.Errorf("the same was said %d times in %v", n, w.now)
	}
	for range int(sameWord / time.Second) {
		w.settle(time.Second)
	}
	if n := len(w.said[pods[1].UID]); n != 2 {
		t.Errorf("the same was said %d times in %v, want 2", n, 30*time.Second+sameWord)
	}
}

// However many pods wait, there are few events a second, and each job gets some of them.
func TestFewEvents(t *testing.T) {
	w := newWorld(t, "hfsp", 1)
	big, small := w.addJob(5000, false, nil), w.addJob(20, false, nil)
	w.core.job(big.DeepCopy())
	w.core.job(small.DeepCopy())
	for i := range 5000 {
		w.addPod(big, i, 1)
	}
	last := w.addPod(small, 0, 1)
	w.settle(firstWord + time.Second)
	said := 0
	for s := range 20 {
		n := 0
		for _, list := range w.said {
			n += len(list)
		}
		if n-said > 10 {
			t.Fatalf("%d events in one second, want at most 10", n-said)
		}
		said = n
		if s%2 == 0 {
			w.settle(time.Second / 2) // which is not yet time
		}
		w.settle(time.Second)
	}
	if len(w.said[last.UID]) != 1 {
		t.Errorf("the small job was told %d times, want 1", len(w.said[last.UID]))
	}
	if said < 90 {
		t.Errorf("only %d events in 20 seconds", said)
	}
}

// A core that says nothing keeps no list.
func TestNoEvents(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	w.core.words = 0
	p := w.addPod(nil, 0, 1)
	w.settle(time.Hour)
	if now, _ := w.core.truth.Task(w.core.pods[p.UID].task.id); now != account.Pending || len(w.core.listed) != 0 {
		t.Errorf("task is %v, and %d pods are listed", now, len(w.core.listed))
	}
}

// A node is not forgotten when a pod without slots ends that was there before it.
func TestPodBeforeItsNode(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	p := w.addPod(nil, 0, 0)
	p.Spec.NodeName = "n"
	w.core.pod(p.DeepCopy())
	w.ready("n", 1)
	w.end(p, corev1.PodSucceeded)
	w.addPod(nil, 0, 1)
	w.run(t)
	if n := w.core.nodes["n"]; n == nil || len(n.classes[0].slots) != 1 || len(w.core.on) != 1 {
		t.Errorf("the node is %+v, and %d slots are taken", n, len(w.core.on))
	}
}

// After a restart a Job that waits for admission is judged once the pods that run are known.
func TestRestartWithPromises(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	w.ready("n", 1)
	at := func(d time.Duration) map[string]string {
		return map[string]string{Size: "10s", Deadline: epoch.Add(time.Duration(w.now) + d).Format(time.RFC3339)}
	}
	first := w.addJob(5, true, at(time.Minute))
	w.core.job(first.DeepCopy())
	for i := range 5 {
		w.addPod(first, i, 1)
	}
	w.run(t)
	second := w.addJob(5, true, at(time.Minute))
	w.restart("rtmr")
	for range 3 {
		w.settle(time.Second)
	}
	if w.rejected[second.UID] == "" || second.Annotations[Admitted] != "" {
		t.Error("a Job was accepted for slots that another one needs")
	}
	if w.rejected[first.UID] != "" {
		t.Errorf("the Job that runs was refused: %s", w.rejected[first.UID])
	}
}

// A Job with fewer pods at a time than completions is promised nothing.
func TestNoPromiseWithoutPods(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	w.ready("n", 1)
	j := w.addJob(5, true, map[string]string{Size: "1s", Deadline: epoch.Add(time.Duration(w.now) + time.Hour).Format(time.RFC3339)})
	few := int32(2)
	j.Spec.Parallelism = &few
	w.core.job(j.DeepCopy())
	if got, want := w.rejected[j.UID], "no deadline can be promised to a Job with fewer pods at a time (spec.parallelism 2) than completions (5)"; got != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
}

// An event names the Job whose pods do not come, once, and none of which pods have come.
func TestNoPods(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	empty, full, gone := w.addJob(2, false, nil), w.addJob(2, false, nil), w.addJob(2, false, nil)
	for _, j := range []*batchv1.Job{empty, full, gone} {
		w.core.job(j.DeepCopy())
	}
	w.addPod(full, 0, 1)
	w.core.jobGone(gone.UID)
	if sleep := w.settle(podless - time.Second); w.warned["NoPods"] != 0 || sleep > time.Second {
		t.Errorf("%d warnings before %v, the next look in %v", w.warned["NoPods"], podless, sleep)
	}
	w.settle(time.Second)
	w.settle(time.Hour)
	if got := w.warned["NoPods"]; got != 1 {
		t.Errorf("%d warnings, want 1", got)
	}
}

// A node that offers fewer slots than are taken gets an event, once, and no further pod.
func TestFewerSlots(t *testing.T) {
	w := newWorld(t, "fifo", 1)
	w.ready("n", 3)
	for range 5 {
		w.addPod(nil, 0, 1)
	}
	w.run(t)
	w.ready("n", 1)
	w.core.node(w.nodes["n"].DeepCopy())
	if got := w.warned["TooFewSlots"]; got != 1 {
		t.Errorf("%d warnings, want 1", got)
	}
	for uid, left := range w.bound {
		if w.end(w.pods[uid], corev1.PodSucceeded); left != 1 {
			t.Errorf("pod %s was bound %d times", uid, left)
		}
		if w.settle(0); len(w.binds) > 0 {
			break
		}
	}
	ended := 0
	for _, p := range w.pods {
		if p.Status.Phase != "" {
			ended++
		}
	}
	if ended != 3 {
		t.Errorf("a pod was placed after %d had ended, want 3", ended)
	}
}

// Clocks that are ahead of ours make no age below 0.
func TestClockSkew(t *testing.T) {
	w := newWorld(t, "hfsp", 1)
	later := metav1.NewTime(time.Now().Add(time.Hour))
	w.ready("n", 1)
	j := w.addJob(1, false, nil)
	j.CreationTimestamp = later
	p := w.addPod(j, 0, 1)
	p.Spec.NodeName, p.Status.StartTime = "n", &later
	w.restart("hfsp")
	w.check()
	for a := range w.core.truth.Attempts() {
		if a.Service < 0 || a.Service > time.Minute {
			t.Errorf("the pod has run for %v", a.Service)
		}
	}
	if n := w.core.truth.Live(); n != 1 {
		t.Errorf("%d jobs are live, want 1", n)
	}
}

// Only promises make Jobs wait for each other: all others are admitted at once.
func TestAdmittedAtOnce(t *testing.T) {
	for _, policy := range catalog.Builtin().Names() {
		w := newWorld(t, policy, 1)
		w.ready("n", 1)
		for range 5 {
			w.core.job(w.addJob(2, true, map[string]string{Size: "1s"}).DeepCopy())
		}
		for uid, j := range w.jobs {
			if j.Annotations[Admitted] == "" && w.rejected[uid] == "" {
				t.Errorf("%s: Job %s is neither admitted nor refused", policy, uid)
			}
		}
	}
}

// A pod that its Job has released is a job of its own, or is wrong, and nothing more is said of its Job.
func TestReleasedPod(t *testing.T) {
	for _, size := range []string{"1s", "x"} {
		w := newWorld(t, "fifo", 1)
		p := w.addPod(w.addJob(1, false, nil), 0, 1)
		w.settle(firstWord - time.Second)
		p.OwnerReferences, p.Annotations[Size] = nil, size
		w.core.pod(p.DeepCopy())
		for range 30 {
			w.settle(time.Second)
		}
		wrong := w.core.pods[p.UID].wrong != nil
		if wrong != (size == "x") || len(w.said[p.UID]) != 1-w.warned["NotScheduled"] || wrong != (w.warned["NotScheduled"] == 1) {
			t.Errorf("size %s: wrong %v, said %q, %d warnings", size, wrong, w.said[p.UID], w.warned["NotScheduled"])
		}
	}
}

// A Job that is refused again is told so if the reason is another one, and not for the same.
func TestAnotherRefusalIsTold(t *testing.T) {
	w := newWorld(t, "rtmr", 1)
	w.addRoom("n", 1)
	j := w.addJob(4, true, map[string]string{Size: "10s", Deadline: epoch.Add(time.Duration(w.now) + 20*time.Second).Format(time.RFC3339)})
	w.core.job(j.DeepCopy())
	first := w.rejected[j.UID]
	delete(w.rejected, j.UID)
	w.core.ask(j.DeepCopy())
	if got := w.rejected[j.UID]; first == "" || got != "" {
		t.Errorf("rejected with %q, and at once again with %q", first, got)
	}
	w.now = w.now.Add(5 * time.Second) // the deadline that would do is later by so much
	w.core.ask(j.DeepCopy())
	if got := w.rejected[j.UID]; got == "" || got == first {
		t.Errorf("rejected after 5 s with %q, want another deadline than in %q", got, first)
	}
}
