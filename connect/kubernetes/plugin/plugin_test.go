package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/metrics"
	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
)

func note(key, value string) func(*batchv1.Job) {
	return func(o *batchv1.Job) { o.Annotations[key] = value }
}

// Pods of Jobs wait for their turn, and all others pass.
func TestWhoWaits(t *testing.T) {
	s := &stage{t: t}
	p, err := newPlugin(nil, s)
	if err != nil {
		t.Fatal(err)
	}
	owned := func(kind, version string) *corev1.Pod {
		o := s.newPod("p", "a", 1)
		o.OwnerReferences = []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: "x", UID: "x", Controller: new(true)}}
		return o
	}
	nominated := owned("Job", "batch/v1")
	nominated.Status.NominatedNodeName = "n"
	group := owned("Job", "batch/v1")
	// The second one is the name in 1.35.
	if err := json.Unmarshal([]byte(`{"schedulingGroup": {"podGroupName": "g"}, "workloadRef": {"name": "w", "podGroup": "g"}}`), &group.Spec); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		pod   *corev1.Pod
		waits bool
	}{
		"of a Job":          {owned("Job", "batch/v1"), true},
		"of nobody":         {s.newPod("p", "a", 1), false},
		"of a ReplicaSet":   {owned("ReplicaSet", "apps/v1"), false},
		"of somebody's Job": {owned("Job", "batch.example.com/v1"), false},
		"nominated":         {nominated, false},
		"of a group":        {group, false},
	} {
		if got := !p.PreEnqueue(t.Context(), tc.pod).IsSuccess(); got != tc.waits {
			t.Errorf("%s: got waits %v, want %v", name, got, tc.waits)
		}
	}
	if events, err := p.EventsToRegister(t.Context()); len(events) > 0 || err != nil {
		t.Errorf("events: got %v, %v, want none", events, err)
	}
}

func TestArgs(t *testing.T) {
	s := &stage{t: t}
	for args, want := range map[string]string{
		"{}": "", "policy: hfsp": "", `{"policy":"fair:order=running","maxWeight":4,"minSize":"1s","patience":"-1s"}`: "",
		"policy: nonsense": "nonsense", "polcy: hfsp": "polcy", "policy: rtmr": "promises", "patience: soon": "soon",
	} {
		_, err := newPlugin(&runtime.Unknown{Raw: []byte(args)}, s)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// Under fifo, Jobs start in the order in which they came, whatever kube-scheduler tries first, and few tries are in vain.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 4, 4, 4)
		for i := range 20 {
			s.job(fmt.Sprintf("j%02d", i), "a", 6, 6, 1, time.Second)
		}
		s.pass(time.Minute)
		var order []string
		for _, name := range s.out {
			order = append(order, name[:3])
		}
		if len(order) != 120 || !slices.IsSorted(order) {
			t.Errorf("got %d starts in the order %v", len(order), order)
		}
		if s.tries > 3*120 {
			t.Errorf("%d tries for 120 pods", s.tries)
		}
	})
}

// A short Job that comes when the cluster is full and 200 pods of a long one wait goes next. No indexes, no sizes, no slots.
func TestShortJobGoesFirst(t *testing.T) {
	for _, policy := range []string{"default", "hfsp", "fair"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, "policy: "+policy, 8, 8)
			s.job("long", "a", 216, 216, 1, 10*time.Second)
			s.pass(15 * time.Second)
			before := len(s.out)
			s.job("short", "b", 2, 2, 1, time.Second)
			s.pass(6 * time.Second) // the second wave of the long Job ends
			if next := s.out[before:min(before+8, len(s.out))]; !slices.Contains(next, "short-1") || !slices.Contains(next, "short-2") {
				t.Errorf("%s: got %v next, of %v", policy, next, s.out)
			}
		})
	}
}

// The pods of a Job without completions, and of one that is given more of them, all start.
func TestJobsOfUnknownSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "", 4)
		s.job("queue", "a", 0, 3, 1, time.Second, func(o *batchv1.Job) { o.Spec.Completions = nil })
		j := s.job("grows", "a", 2, 2, 1, 5*time.Second)
		s.pass(500 * time.Millisecond)
		j.obj.Spec.Completions, j.obj.Spec.Parallelism = new(int32(4)), new(int32(4))
		s.tellJob(j)
		s.control(j)
		s.pass(20 * time.Second)
		if got := s.starts(); got["grows"] != 4 || got["queue"] < 6 {
			t.Errorf("got starts %v", got)
		}
	})
}

// What fits passes what does not, and a large pod that has waited for its patience has a node kept.
func TestLargePod(t *testing.T) {
	for _, patience := range []string{"-1s", "20s"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, "{policy: fifo, patience: "+patience+"}", 4, 4)
			for i := range 4 { // one of the small pods ends each second
				s.job(fmt.Sprint("small", i), "a", 1000, 2, 1, 8*time.Second)
				s.pass(time.Second)
			}
			s.job("large", "b", 1, 1, 4, time.Second)
			s.pass(2 * time.Minute)
			got := s.starts()
			if want := map[string]int{"-1s": 0, "20s": 1}[patience]; got["large"] != want {
				t.Errorf("patience %s: the large pod has started %d times, want %d", patience, got["large"], want)
			}
			if got["small0"] < 20 || s.p.keep.uid != "" {
				t.Errorf("patience %s: got starts %v, and node kept for %q", patience, got, s.p.keep.uid)
			}
		})
	}
}

// A node is kept for ten minutes at most.
func TestNodeIsNotKeptForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "{policy: fifo, patience: 20s}", 4)
		s.job("stays", "a", 1, 1, 1, 100*time.Hour)
		s.job("small", "a", 10000, 3, 1, 5*time.Second)
		s.pass(time.Second)
		s.job("large", "b", 1, 1, 4, time.Second)
		s.pass(time.Minute)
		if s.p.keep.uid != "large-1" || s.p.keep.node != "n0" {
			t.Fatalf("got node %q for %q", s.p.keep.node, s.p.keep.uid)
		}
		before := s.starts()["small"]
		s.pass(9 * time.Minute)
		if got := s.starts()["small"]; got != before {
			t.Errorf("%d small pods have started on the node that is kept", got-before)
		}
		s.pass(5 * time.Minute)
		if got := s.starts(); got["small"] == before || got["large"] != 0 {
			t.Errorf("got starts %v, of which %d before", got, before)
		}
	})
}

// After a restart the policy is told of all that runs, and of the age of Jobs.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 5, 5)
		s.job("one", "a", 30, 8, 1, 3*time.Second)
		s.job("two", "b", 30, 8, 1, 4*time.Second)
		s.pass(10 * time.Second)
		running := map[types.UID]bool{}
		for uid, p := range s.pods {
			if p.on != nil {
				running[uid] = true
			}
		}
		s.restart("policy: fifo")
		on := s.look()
		c := s.p.core
		got := map[types.UID]bool{}
		for uid, p := range c.pods {
			if p.state == placed {
				got[uid] = true
				if a, ok := c.truth.Attempt(p.a.Slot); !ok || a.Task != p.a.Task || a.Service > 4*time.Second {
					t.Errorf("%s: the policy has %+v", uid, a)
				}
			}
		}
		if len(running) != 10 || fmt.Sprint(got) != fmt.Sprint(running) {
			t.Errorf("got %v, want %v", got, running)
		}
		left := map[string]int{}
		for j := range c.truth.Jobs() {
			left[j.Spec.Name] = j.Left
			if j.Age < 9*time.Second {
				t.Errorf("%s: age %v", j.Spec.Name, j.Age)
			}
		}
		for _, j := range s.jobs {
			if got, want := left["a/"+j.obj.Name]+left["b/"+j.obj.Name], int(*j.obj.Spec.Completions-j.obj.Status.Succeeded); got != want {
				t.Errorf("%s: %d tasks left, want %d", j.obj.Name, got, want)
			}
		}
		on()
		s.pass(time.Minute)
		if got := s.starts(); got["one"] != 30 || got["two"] != 30 {
			t.Errorf("got starts %v", got)
		}
	})
}

// A Job whose annotations ask for too much is scheduled as without the policy, and told so. So is a pod whose Job nobody knows.
func TestRefusedJobsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "", 4)
		s.job("heavy", "a", 2, 2, 1, time.Second, note(kubernetes.Weight, "5"))
		s.job("pool", "a", 2, 2, 1, time.Second, note(kubernetes.Pool, "b"))
		orphan := s.newPod("orphan-1", "a", 1)
		orphan.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "x", UID: "x", Controller: new(true)}}
		s.add(&pod1{obj: orphan, cpu: 1})
		s.pass(5 * time.Second)
		if got := s.starts(); got["heavy"] != 2 || got["pool"] != 2 || got["orphan"] != 0 {
			t.Errorf("got starts %v", got)
		}
		s.pass(10 * time.Second)
		if got := s.starts(); got["orphan"] != 1 {
			t.Errorf("the pod without a Job does not start: %v", got)
		}
		for _, want := range []string{"greatest weight", "is its namespace here", "not known"} {
			if n := len(slices.DeleteFunc(slices.Clone(s.words), func(w string) bool { return !strings.Contains(w, want) })); n != 1 {
				t.Errorf("%d events say %q: %q", n, want, s.words)
			}
		}
	})
}

// If the policy fails, all pods pass.
func TestFailureLetsAllPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 4)
		s.job("first", "a", 8, 8, 1, time.Second)
		s.pass(100 * time.Millisecond)
		s.p.put(func() { s.p.core.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1 << 20}}) })
		synctest.Wait()
		for range 100 {
			for _, uid := range s.uids() {
				s.enqueue(uid)
			}
			for s.settled() {
				uid := s.queue[0]
				s.queue = s.queue[1:]
				if p := s.pods[uid]; p != nil && p.on == nil {
					s.try(p)
				}
			}
			for _, uid := range s.uids() {
				if p := s.pods[uid]; p.on != nil {
					s.finish(p, corev1.PodSucceeded)
				}
			}
		}
		defer s.look()()
		if got := s.starts(); got["first"] != 8 || len(s.p.mail) > 0 {
			t.Errorf("got starts %v, and %d events are kept for nobody", got, len(s.p.mail))
		}
	})
}

// Pods that PreEnqueue has held are activated when the plugin fails, though the loop never heard of them: their events came behind the one
// at which it failed, in the same batch, or later.
func TestFailureLetsUnheardPass(t *testing.T) {
	for _, when := range []string{"in the batch", "in the mail", "later"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, "policy: fifo", 4)
			s.pass(time.Second)
			s.settled()
			o := s.newPod("x-1", "a", 1)
			o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "x", UID: "x", Controller: new(true)}}
			other := o.DeepCopy()
			other.Name, other.UID, other.Spec.SchedulerName = "other", "other", "another"
			bound := o.DeepCopy()
			bound.Name, bound.UID, bound.Spec.NodeName = "bound", "bound", "n0"
			for _, o := range []*corev1.Pod{o, other, bound} {
				if err := s.store().Add(o); err != nil {
					t.Fatal(err)
				}
			}
			if s.p.PreEnqueue(t.Context(), o).IsSuccess() {
				t.Fatal("the pod does not wait")
			}
			hear := func() { s.p.core.pod(o) }
			s.p.mu.Lock()
			s.p.mail = append(s.p.mail, func() {
				if when == "in the mail" {
					s.p.put(hear)
				}
				panic("a bug")
			})
			if when == "in the batch" {
				s.p.mail = append(s.p.mail, hear)
			}
			s.p.mu.Unlock()
			s.p.put(func() {})
			synctest.Wait()
			s.p.put(hear)
			if status := s.p.PreEnqueue(t.Context(), o); !status.IsSuccess() {
				t.Errorf("%s: %v", when, status)
			}
			defer s.look()()
			s.mu.Lock()
			defer s.mu.Unlock()
			if want := []types.UID{"x-1"}; !slices.Equal(s.activated, want) || len(s.p.mail) > 0 {
				t.Errorf("%s: activated %v, want %v; %d events are kept for nobody", when, s.activated, want, len(s.p.mail))
			}
		})
	}
}

// A pod that names the UID of a Job of another namespace is none of its pods, and passes after a while. What it may share with pods of
// that Job it does not.
func TestForeignOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 4)
		j := s.job("real", "a", 2, 2, 1, time.Hour)
		s.pass(time.Second)
		o := s.newPod("false-1", "b", 1)
		o.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j.obj, batchv1.SchemeGroupVersion.WithKind("Job"))}
		s.add(&pod1{obj: o, job: j, cpu: 1})
		s.pass(5 * time.Second)
		if got := s.starts()["false"]; got != 0 {
			t.Errorf("the pod of another namespace had the turn of a pod of the Job")
		}
		s.pass(15 * time.Second)
		if got := s.starts(); got["false"] != 1 || got["real"] != 2 {
			t.Errorf("got starts %v, want all", got)
		}
		mine, theirs := o.DeepCopy(), o.DeepCopy()
		mine.Namespace = "a"
		for _, o := range []*corev1.Pod{mine, theirs} {
			o.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1}}
		}
		if shapeOf(mine) == shapeOf(theirs) {
			t.Error("pods of two namespaces have the same shape though other pods decide where they go")
		}
		defer s.look()()
		for range s.p.core.truth.Attempts() {
			return
		}
		t.Error("no attempt")
	})
}

// Letting the pods of a Job pass, and their deletion, takes time in proportion to their number, and leaves nothing behind.
func TestManyPods(t *testing.T) {
	took := func(n int) time.Duration {
		s := &stage{t: t}
		p, err := newPlugin(nil, s)
		if err != nil {
			t.Fatal(err)
		}
		pods := make([]*corev1.Pod, n)
		for i := range pods {
			pods[i] = s.newPod("p", "a", 1)
			pods[i].UID = types.UID(fmt.Sprint("p", i))
			pods[i].OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "x", UID: "x", Controller: new(true)}}
			p.core.pod(pods[i])
		}
		j, at := p.core.jobs[owner{"a", "x"}], time.Now()
		for _, o := range pods[n/2:] {
			p.core.podGone(o)
		}
		p.core.passAll(j, "why")
		d := time.Since(at)
		if len(s.activated) != n/2 || s.activated[0] != "p0" || j.queue.Len() != 0 || len(p.core.shapes) != 0 || p.core.hopeful != 0 {
			t.Fatalf("%d pods pass, want %d; %d wait, %d may fit; %d shapes are kept", len(s.activated), n/2, j.queue.Len(), p.core.hopeful, len(p.core.shapes))
		}
		return d
	}
	var few, many time.Duration
	for range 5 { // a busy machine may stand still in the middle of one
		if few, many = took(4_000), took(40_000); many < 40*few {
			return
		}
	}
	t.Errorf("40,000 pods take %v, and 4,000 %v", many, few)
}

// A pod that fits nowhere, and is deleted before kube-scheduler says so, leaves nothing behind.
func TestMissAfterDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "{policy: fifo, patience: 1s}", 4)
		s.job("large", "a", 1, 1, 5, time.Second)
		s.pass(time.Second)
		p := s.pods["large-1"]
		s.finish(p, corev1.PodFailed)
		synctest.Wait()
		s.p.PostFilter(t.Context(), nil, p.obj, statuses{s, p})
		delete(s.pods, "large-2") // its Job has made another one
		defer s.look()()
		if _, there := s.p.missed["large-1"]; there || s.p.keep.uid == "large-1" {
			t.Errorf("what is known of the pod that was deleted stays: %v, %v", s.p.missed, s.p.keep)
		}
	})
}

// A replica that does not lead lets few pods go, which would be tried out of turn once it leads.
func TestReplicaThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "", 4)
		s.deaf = true
		s.job("j", "a", 100, 100, 1, time.Second)
		s.pass(time.Hour)
		if len(s.queue) > 1 {
			t.Errorf("%d pods may start", len(s.queue))
		}
		s.deaf = false
		s.pass(time.Minute)
		if got := s.starts(); got["j"] != 100 {
			t.Errorf("got starts %v", got)
		}
	})
}

// Whatever happens, the policy knows what is true, and each pod starts that may.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		policy := rapid.SampledFrom([]string{"fifo", "fair", "hfsp", "default"}).Draw(r, "policy")
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t, "{policy: "+policy+", patience: 5s}", rapid.SliceOfN(rapid.Int64Range(4, 8), 1, 3).Draw(r, "cpus")...)
			unlucky := 0
			s.broken = func(string) bool { unlucky++; return unlucky%7 == 0 }
			jobs := 0
			for range rapid.IntRange(1, 30).Draw(r, "steps") {
				switch rapid.IntRange(0, 9).Draw(r, "what") {
				case 0, 1, 2, 3:
					n := rapid.Int32Range(1, 20).Draw(r, "n")
					takes := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 7 * time.Second}).Draw(r, "takes")
					s.job(fmt.Sprint("j", jobs), rapid.SampledFrom([]string{"a", "b"}).Draw(r, "space"), n, rapid.Int32Range(1, n).Draw(r, "at once"), rapid.Int64Range(1, 4).Draw(r, "cpu"), takes)
					jobs++
				case 4: // a pod fails, or is deleted
					if list := s.uids(); len(list) > 0 {
						s.finish(s.pods[rapid.SampledFrom(list).Draw(r, "pod")], corev1.PodFailed)
					}
				case 5: // a Job is deleted
					if len(s.jobs) > 0 {
						j := rapid.SampledFrom(s.jobs).Draw(r, "job")
						s.jobs = slices.DeleteFunc(s.jobs, func(k *job1) bool { return k == j })
						s.p.put(func() { s.p.core.jobGone(j.obj) })
						for _, uid := range s.uids() {
							if p := s.pods[uid]; p.job == j {
								p.job = nil
								s.finish(p, corev1.PodFailed)
							}
						}
					}
				case 6:
					s.restart("policy: " + policy)
				default:
					s.pass(time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(r, "wait")))
				}
				s.run()
				s.check()
			}
			s.pass(30 * time.Minute)
			if len(s.pods) > 0 {
				t.Fatalf("%d pods of %d Jobs have not ended at %v", len(s.pods), len(s.jobs), time.Now())
			}
			defer s.look()()
			c := s.p.core
			if len(c.pods) > 0 || c.truth.Live() > 0 || c.busy > 0 || len(s.p.may) > 0 || len(s.p.missed) > 0 || s.p.keep.uid != "" {
				t.Errorf("left: %d pods, %d jobs, %d tokens, %d permissions, %d misses, a node for %q", len(c.pods), c.truth.Live(), c.busy, len(s.p.may), len(s.p.missed), s.p.keep.uid)
			}
		})
	})
}

// All pods of a shape that fits nowhere say so, the 240 that kube-scheduler does not try included, each once, and none of a shape that fits.
func TestAutoscalerSeesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "", 4)
		s.job("runs", "a", 4, 4, 1, time.Hour)
		s.pass(time.Second)
		s.job("waits", "a", 250, 250, 1, time.Hour)
		s.pass(time.Second)
		none := s.job("large", "b", 3, 3, 9, time.Hour)
		s.pass(20 * time.Second)
		defer s.look()()
		for _, p := range s.pods {
			if why := unschedulable(p.obj); (why == "no cpu") != (p.job == none || p.on == nil) {
				t.Errorf("%s says %q, on a node: %v", p.obj.Name, why, p.on != nil)
			}
		}
		if s.patches > 253 || s.patches < 240 {
			t.Errorf("%d conditions were written, want 240 to 253", s.patches)
		}
		if s.tries > 100 {
			t.Errorf("%d tries, want 100 at most", s.tries)
		}
	})
}

// Metrics tell by pool how many pods wait, the longest wait, and how long those had waited that found a node.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 4)
		r := metrics.NewKubeRegistry()
		if err := errors.Join(r.CustomRegister(s.p.collector), r.Register(s.p.waits)); err != nil {
			t.Fatal(err)
		}
		s.job("runs", "a", 4, 4, 1, time.Hour)
		s.pass(time.Minute)
		s.job("waits", "a", 7, 7, 1, time.Hour)
		s.pass(time.Minute)
		s.job("late", "b", 2, 2, 1, time.Hour)
		for i := range 5 {
			s.job(fmt.Sprint("late", i), "a", 1, 1, 1, time.Hour)
		}
		s.pass(30 * time.Second)
		all, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range all {
			for _, m := range f.Metric {
				name := f.GetName()
				for _, l := range m.Label {
					name += " " + l.GetValue()
				}
				got[name] = m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
		want := map[string]float64{"sojourn_waiting_pods a batch": 12, "sojourn_waiting_pods b batch": 2,
			"sojourn_longest_wait_seconds a batch": 90, "sojourn_longest_wait_seconds b batch": 30, "sojourn_wait_seconds a batch": 4}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// Of 1,200 pools the metrics tell of 1,000 by name, and of the others as one; they are the same while nothing changes.
func TestMetricsOfManyPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 1200)
		r := metrics.NewKubeRegistry()
		if err := errors.Join(r.CustomRegister(s.p.collector), r.Register(s.p.waits)); err != nil {
			t.Fatal(err)
		}
		count := func(name string) map[string]float64 {
			all, err := r.Gather()
			if err != nil {
				t.Fatal(err)
			}
			pools := map[string]float64{}
			for _, f := range all {
				for _, m := range f.Metric {
					if f.GetName() == name {
						pools[m.Label[0].GetValue()] += m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
					}
				}
			}
			return pools
		}
		for i := range 1200 {
			s.job(fmt.Sprint("runs", i), fmt.Sprint("ns", i), 1, 1, 1, time.Hour)
		}
		s.pass(time.Minute)
		if waits := count("sojourn_wait_seconds"); len(waits) != maxPools+1 || waits[""] != 200 {
			t.Errorf("sojourn_wait_seconds tells of %d pools and of %v pods of others, want %d and 200", len(waits), waits[""], maxPools+1)
		}
		for i := range 1200 {
			s.job(fmt.Sprint("waits", i), fmt.Sprint("ns", i), 2, 2, 1, time.Hour)
		}
		s.pass(10 * time.Second)
		first := count("sojourn_waiting_pods")
		s.pass(2 * time.Second)
		second := count("sojourn_waiting_pods")
		names := func(m map[string]float64) []string { return slices.Sorted(maps.Keys(m)) }
		if len(first) != maxPools+1 || first[""] < 399 || !slices.Equal(names(first), names(second)) { // one pod may be in flight
			t.Errorf("sojourn_waiting_pods tells of %d pools and of %v pods of others, want %d and 400; two seconds later the same: %v", len(first), first[""], maxPools+1, slices.Equal(names(first), names(second)))
		}
	})
}

// A pod that misses again and again before its shape has a reason is noted once, and anew after it was in flight.
func TestUnsaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "policy: fifo", 4)
		s.silent = true
		s.job("large", "a", 1, 1, 9, time.Hour)
		s.pass(800 * time.Millisecond)
		on := s.look()
		if n := len(s.p.core.unsaid); n != 1 || s.misses < 3 {
			t.Errorf("after %d misses of one pod, %d are noted, want 3 misses at least and one", s.misses, n)
		}
		on()
		s.deaf = true // so that it is in flight for long, and is not noted then
		flew := 0
		for range 60 {
			s.pass(time.Second)
			on := s.look()
			if n := len(s.p.core.unsaid); s.p.core.pods["large-1"].state == picked {
				flew++
			} else if n != 1 {
				t.Errorf("%d are noted, want one, which waits again", n)
			}
			on()
		}
		if flew < 3 || flew > 57 {
			t.Errorf("the pod was in flight for %d s of 60", flew)
		}
	})
}

// Pods of 600 shapes that fit nowhere cost kube-scheduler at most 100 tries a second, while others come and go ten times a second.
func TestManyShapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "{policy: fifo, patience: -1s}", 4)
		for i := range int64(600) {
			s.job(fmt.Sprint("large", i), "a", 1, 1, 5+i, time.Hour)
		}
		s.pass(10 * time.Second)
		s.job("small", "b", 1000, 1, 1, 100*time.Millisecond)
		before := s.tries
		s.pass(20 * time.Second)
		started := s.starts()["small"]
		if started < 150 {
			t.Errorf("%d small pods have started in 20 s, want 150 at least", started)
		}
		if n := s.tries - before - started; n > 21*tries {
			t.Errorf("%d tries in vain, want %d at most", n, 21*tries)
		}
	})
}
