package kubernetes

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A teller counts what a policy is told.
type teller struct {
	sojourn.Policy
	told *int
}

func (p teller) Unwrap() sojourn.Policy { return p.Policy }
func (p teller) Observe(ev sojourn.Event) error {
	*p.told++
	return p.Policy.Observe(ev)
}

// The policy is told no more while pods come and go beside a gang that waits than without it: neither one that is wider than the nodes,
// nor, with slots, one for which there are too few free places.
func TestGangThatWaitsCostsNothing(t *testing.T) {
	churn := func(room, width int, shapes bool) (told int) {
		w := newStage(t, teller{builtin(t, "fair"), &told})
		var one func(*corev1.PodSpec)
		var has1 func(*corev1.Node)
		if shapes {
			one, has1 = asks(1, 1), has(5000, int64(room), 5000)
			w = stageOf(t, Config{Name: "sojourn", Shapes: &Shapes{Patience: -1, Policy: func(cost map[sojourn.Class][]uint32) (sojourn.Policy, error) {
				p, err := fairly(cost)
				return teller{p, &told}, err
			}}})
		}
		w.setNode("n", room, has1)
		w.setNode("m", room, has1)
		long := w.newPod(one)
		w.settle()
		w.carryOut()
		var gang []*corev1.Pod
		if width > 0 {
			gang = w.newJob(width, map[string]string{Gang: ""}, one)
			w.settle()
		}
		told = 0
		for range 100 {
			p := w.newPod(one)
			w.settle()
			w.carryOut()
			if w.pods[p.UID].Spec.NodeName == "" {
				t.Fatal("a pod waits beside a gang, and there is room")
			}
			w.end(p.UID)
			w.settle()
		}
		sum := told
		if gang != nil && width <= 2*room { // it still starts when it fits
			w.end(long.UID)
			if w.settle(); len(w.order) != width {
				t.Errorf("%d pods of the gang are bound, want %d", len(w.order), width)
			}
		}
		return sum
	}
	for _, shapes := range []bool{false, true} {
		want := churn(50, 0, shapes)
		for _, width := range []int{100, 101, 3000} {
			if shapes && width == 100 {
				continue // it is offered, as nobody counts the free places
			}
			if got := churn(50, width, shapes); got != want {
				t.Errorf("shapes %v, a gang of %d beside 100 places: the policy is told %d events, want %d", shapes, width, got, want)
			}
		}
	}
}

// A gang gives back what it has kept for the limit, so one pod that never ends does not keep all other places idle. It waits for
// as long before it tries again, and then for longer.
func TestGangGivesUp(t *testing.T) {
	w := stageOf(t, Config{Policy: builtin(t, "fifo"), Name: "sojourn", Slots: []corev1.ResourceName{DefaultSlot}, GangPatience: time.Second, GangKeep: 10 * time.Second})
	w.setNode("n", 3, nil)
	w.newPod(nil) // for ever
	var running []types.UID
	step := func() {
		w.settle()
		for _, b := range w.order {
			running = append(running, b.uid)
		}
		w.carryOut()
	}
	step()
	running = nil
	w.newJob(3, map[string]string{Gang: ""}, nil)
	var busy []byte
	for range 100 { // seconds
		for range 2 {
			w.newPod(nil)
		}
		step()
		busy = append(busy, "012"[len(running)])
		for _, uid := range running {
			w.end(uid)
		}
		running = nil
		w.now = w.now.Add(time.Second)
	}
	keeps, waits := strings.Repeat("0", 10), strings.Repeat("2", 10)
	if got, want := string(busy), "2"+keeps+waits+keeps+waits+waits+keeps+strings.Repeat("2", 39); got != want {
		t.Errorf("places in use, by second:\n%s, want\n%s", got, want)
	}
}

// What a Job of 2^31-1 completions costs is what its pods cost, also when the shapes are made anew, and also if tasks are held one by one.
func TestManyCompletions(t *testing.T) {
	told := 0
	huge := func(o *batchv1.Job) { *o.Spec.Completions, *o.Spec.Parallelism = math.MaxInt32, 1 }
	w := stageOf(t, Config{Name: "sojourn", Shapes: &Shapes{Patience: -1, Policy: func(cost map[sojourn.Class][]uint32) (sojourn.Policy, error) {
		p, err := fairly(cost)
		return teller{p, &told}, err
	}}})
	l := &lab{stage: w}
	w.setNode("n", 0, has(110, 8, 100))
	shape := func(cpu int64) func(*batchv1.Job) {
		return func(o *batchv1.Job) { asks(cpu, 1)(&o.Spec.Template.Spec) }
	}
	l.add("d", 1, 1, time.Second, func(o *batchv1.Job) { huge(o); shape(1)(o) })
	for cpu := range int64(5) {
		l.add("d", 1, 1, time.Second, shape(2+cpu))
	}
	l.run(5 * time.Second)
	if told > 1000 || l.jobs[0].done < 3 {
		t.Errorf("the policies were told %d events, and %d pods have ended; want 1000 at most, and 3 at least", told, l.jobs[0].done)
	}
	for policy, want := range map[string]string{"hfsp": "", "rtmr": "want at most 16384 completions"} {
		l := newLab(t, policy, Limits{})
		j := l.add("d", 1, 1, time.Second, huge)
		if got := l.core.jobs[j.obj.UID].refusal; want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: refused with %q, want %q", policy, got, want)
		}
	}
}
