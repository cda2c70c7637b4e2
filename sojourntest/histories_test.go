package sojourntest_test

import (
	"errors"
	"flag"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"github.com/sojourn-sched/sojourn/td"
)

// events is how many events the histories of TestSmallHistories have. .ci/run asks for 7, and make all-histories for 8.
var events = flag.Int("events", 3, "events of each small history; with more than 3 or 7, other small worlds are larger, too")

func large() bool { return *events > 3 }
func vast() bool  { return *events > 7 }

// deadlines are the options of policies of two phases that may refuse jobs.
var deadlines = sojourntest.Options{
	IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2,
	Classes: []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass},
	Supports: func(j *sojourn.Job) bool {
		return len(j.Phases) == 1 || j.Phases[0].Class == sojourn.MapClass && j.Phases[1].Class == sojourn.ReduceClass && j.Threshold(1) == j.Phases[0].Tasks
	},
}

// policies are those whose small histories are all tried, with what they do not promise.
var policies = []struct {
	name string
	new  func() sojourn.Policy
	o    sojourntest.Options
}{
	{"default", constructors.LeastWork.With(leastwork.Options{}), sojourntest.Options{IdlesOnPurpose: true}},
	{"fifo", constructors.FIFO.With(fifo.Options{}), sojourntest.Options{Bypass: func(*sojourn.Job) int { return 0 }}},
	{"fair", pooled.Fair.With(fair.Options{}), sojourntest.Options{}},
	{"fair by running", pooled.Fair.With(fair.Options{Order: fair.Running}), sojourntest.Options{}},
	{"hfsp", constructors.HFSP.With(hfsp.Options{TrainingTasks: 2}), sojourntest.Options{IdlesOnPurpose: true}},
	{"pfsp", constructors.PFSP.With(pfsp.Options{}), sojourntest.Options{IgnoresWeights: true}},
	{"td", constructors.TD.With(td.Options{}), sojourntest.Options{TellsSlotsApart: true, ChargesLostWork: true, ChargesFailures: true}},
	{"mars", constructors.MarS.With(mars.Options{}), sojourntest.Options{IdlesOnPurpose: true, ChargesLostWork: true, ChargesFailures: true}},
	{"rtmr", constructors.RTMR.With(rtmr.Options{}), deadlines},
	{"fsp", constructors.FSP.With(baseline.FSPOptions{}), sojourntest.Options{}},
	{"srpt", constructors.SRPT.With(baseline.SRPTOptions{}), sojourntest.Options{}},
	{"las", constructors.LAS.With(baseline.LASOptions{}), sojourntest.Options{}},
	{"huwf", constructors.HUWF.With(baseline.ListOptions{}), sojourntest.Options{}},
	{"easy", constructors.EASY.With(baseline.BackfillOptions{}), sojourntest.Options{MayStarve: true, MaxPhases: 1}},
}

// The laws hold in every history of two slots, two jobs of one or two tasks, two lengths told and two taken.
func TestSmallHistories(t *testing.T) {
	noneInShort(t)
	for _, tc := range policies {
		t.Run(tc.name, func(t *testing.T) {
			w := sojourntest.Small{Events: *events}
			if vast() { // three jobs of one task or two, of which nothing, one or two seconds are told
				w.Most, w.Jobs = 3, []*sojourn.Job{
					{Phases: []sojourn.Phase{{Tasks: 1}}},
					{Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}},
					{Phases: []sojourn.Phase{{Tasks: 2, Estimate: 2 * time.Second}}},
				}
				if tc.o.Rejects {
					w.Jobs = nil
				}
			}
			sojourntest.All(t, tc.new, tc.o, w)
		})
	}
}

// The laws hold where something else can happen, too.
func TestSmallHistoriesOfOtherKinds(t *testing.T) {
	noneInShort(t)
	w := sojourntest.Small{Events: 2, Jobs: []*sojourn.Job{
		{Phases: []sojourn.Phase{{Tasks: 1}}},
		{Phases: []sojourn.Phase{{Tasks: 2, Estimate: 2 * time.Second}}},
	}}
	switch {
	case vast():
		w.Events, w.Most = *events-3, 3
	case large():
		w.Events = 3
	}
	for _, kind := range []struct {
		name string
		also []sojourn.EventKind
	}{
		{"failures", []sojourn.EventKind{sojourn.TaskFailed, sojourn.TaskRefused}},
		{"holds", []sojourn.EventKind{sojourn.TaskHeld, sojourn.TaskReady}},
		{"revisions", []sojourn.EventKind{sojourn.JobRevised, sojourn.JobCancelled}},
		{"slots", []sojourn.EventKind{sojourn.SlotAdded, sojourn.SlotRemoved}},
		{"nodes", []sojourn.EventKind{sojourn.NodeDown, sojourn.NodeUp}},
	} {
		w := w
		if w.Also = kind.also; kind.name == "nodes" {
			w.Slots = []sojourn.Slot{{ID: 0, Node: 1}, {ID: 1, Node: 2}}
		}
		for _, tc := range policies {
			if tc.o.Rejects {
				continue // it accepts none of these jobs
			}
			t.Run(kind.name+"/"+tc.name, func(t *testing.T) { sojourntest.All(t, tc.new, tc.o, w) })
		}
	}
}

// A course is what became of a job.
type course struct {
	job     *sojourn.Job
	arrived sojourn.Time
	starts  []sojourn.Time // of its attempts
	ended   sojourn.Time   // its last task, so far
	left    int            // tasks that have not finished
}

// courses reads a history.
func courses(h []history.Entry) (list []*course) {
	of := map[sojourn.JobID]*course{}
	for i := range h {
		switch e := &h[i]; {
		case e.Kind == history.Assign && e.OK:
			c := of[e.Assignment.Task.Job]
			c.starts = append(c.starts, e.At)
		case e.Kind == history.Assign || e.Err != nil:
		case e.Event.Kind == sojourn.JobArrived:
			c := &course{job: e.Event.Job, arrived: e.Event.At}
			for _, p := range c.job.Phases {
				c.left += p.Tasks
			}
			of[c.job.ID], list = c, append(list, c)
		case e.Event.Kind == sojourn.TaskFinished:
			c := of[e.Event.Task.Job]
			c.ended = e.Event.At
			c.left--
		}
	}
	return list
}

// jobsOf returns jobs of one phase with each number of tasks up to a limit, and each length up to a limit in seconds.
func jobsOf(tasks, length int, weights ...float64) (list []*sojourn.Job) {
	for n := 1; n <= tasks; n++ {
		for l := 1; l <= length; l++ {
			for _, w := range append([]float64{0}, weights...) {
				list = append(list, &sojourn.Job{Weight: w, Phases: []sojourn.Phase{{Tasks: n, Estimate: time.Duration(l) * time.Second}}})
			}
		}
	}
	return list
}

// slots returns slots of classes.
func slots(classes ...sojourn.Class) (list []sojourn.Slot) {
	for i, c := range classes {
		list = append(list, sojourn.Slot{ID: sojourn.SlotID(i), Class: c})
	}
	return list
}

// errLate is what a check returns of a job that ends too late.
var errLate = errors.New("beyond its bound")

// sharing returns a check that no job ends after D + P + (1-1/N)p: the theorem of package pfsp.
func sharing(n int) func([]history.Entry) error {
	return func(h []history.Entry) error {
		list := courses(h)
		cluster := gpstest.Cluster{Slots: n}
		for _, c := range list {
			cluster.Advance(c.arrived)
			p := &c.job.Phases[0]
			cluster.Arrive(int64(p.Tasks)*int64(p.Estimate), c.job.Weight)
		}
		cluster.Drain()
		for i, c := range list {
			var others time.Duration // P
			for k, other := range list {
				if k != i {
					others = max(others, other.job.Phases[0].Estimate)
				}
			}
			own := int64(c.job.Phases[0].Estimate) // p
			bound := big.NewRat(own*int64(n-1), int64(n))
			bound.Add(bound, cluster.Jobs[i].Ended)
			bound.Add(bound, new(big.Rat).SetInt64(int64(others)))
			if c.left > 0 || new(big.Rat).SetInt64(int64(c.ended)).Cmp(bound) > 0 {
				return fmt.Errorf("job %d ends at %v with %d tasks left, want at most %s s: %w", c.job.ID, c.ended, c.left, bound.FloatString(9), errLate)
			}
		}
		return nil
	}
}

// No job ends after D + P + (1-1/N)p, under pfsp and under fsp.
// Reference: the theorems in the comments of packages pfsp and baseline.
func TestSmallHistoriesWithinTheBound(t *testing.T) {
	noneInShort(t)
	one := 1
	none := 0
	for _, tc := range []struct {
		name string
		new  func() sojourn.Policy
	}{
		{"pfsp", constructors.PFSP.With(pfsp.Options{})},
		{"pfsp of one probe", constructors.PFSP.With(pfsp.Options{FairLimit: &one})},
		{"pfsp without probes", constructors.PFSP.With(pfsp.Options{FairLimit: &none})},
		{"pfsp in the order of fsp", constructors.PFSP.With(pfsp.Options{FairLimit: &none, Order: pfsp.FSP})},
		{"fsp", constructors.FSP.With(baseline.FSPOptions{})},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := sojourntest.Small{Jobs: jobsOf(2, 2), Most: 2, Events: 100, Takes: sojourntest.Exactly}
			if large() {
				w.Most = 3
			}
			if vast() {
				w.Jobs = jobsOf(2, 3, 2)
			}
			for n := 1; n <= 2; n++ {
				w.Slots = slots(make([]sojourn.Class, n)...)
				sojourntest.Walk(t, tc.new, w, sharing(n))
			}
		})
	}
}

// late returns an error if an accepted job of a history was late.
func late(h []history.Entry) error {
	for _, c := range courses(h) {
		if c.left > 0 || c.ended > c.job.Deadline {
			return fmt.Errorf("job %d ends at %v with %d tasks left, its deadline is %v: %w", c.job.ID, c.ended, c.left, c.job.Deadline, errLate)
		}
	}
	return nil
}

// promising returns a small world of jobs with deadlines, maps of up to a number of tasks and reduces.
func promising(maps, reduces int, slots []sojourn.Slot) sojourntest.Small {
	w := sojourntest.Small{Slots: slots, Events: 100, Takes: sojourntest.AtMost}
	for m := 0; m <= maps; m++ {
		for r := 0; r <= reduces; r++ {
			for eps := time.Second; eps <= 2*time.Second; eps += time.Second {
				for _, deadline := range []int{2, 3, 5} {
					var list []sojourn.Phase
					if m > 0 {
						list = append(list, sojourn.Phase{Tasks: m, Estimate: eps})
					}
					if r > 0 {
						list = append(list, sojourn.Phase{Tasks: r, Class: sojourn.ReduceClass, Estimate: 3*time.Second - eps})
					}
					if list != nil {
						w.Jobs = append(w.Jobs, &sojourn.Job{Deadline: sojourn.Time(deadline) * sojourn.Time(time.Second), Phases: list})
					}
				}
			}
		}
	}
	return w
}

// No accepted job is late, whether its tasks take what was said or less.
// Reference: the theorem in the comment of package rtmr.
func TestSmallHistoriesKeepPromises(t *testing.T) {
	noneInShort(t)
	for _, tc := range []struct {
		name string
		opts rtmr.Options
	}{
		{"rebook", rtmr.Options{}},
		{"chain", rtmr.Options{Booking: rtmr.Chain}},
		{"chain with feedback", rtmr.Options{Booking: rtmr.Chain, Feedback: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := promising(1, 1, slots(0, 1))
			sojourntest.Walk(t, constructors.RTMR.With(tc.opts), w, late)
			if vast() {
				sojourntest.Walk(t, constructors.RTMR.With(tc.opts), promising(2, 2, slots(0, 1, 1)), late)
			}
		})
	}
}

// backlogged returns a check of two pools that always have something to start: of what each was served for each unit
// of its weight, no more than c/w + (N-1) max(c_a/w_a, c_b/w_b) is ahead of the other.
func backlogged(n int, weights map[string]int64) func([]history.Entry) error {
	const c = 2 * time.Second * 17 / 16 // the longest time that is charged
	return func(h []history.Entry) error {
		var (
			pool   = map[sojourn.JobID]string{}
			left   = map[string]int{} // tasks to start
			served = map[string]time.Duration{}
			used   = false
		)
		for i := range h {
			switch e := &h[i]; {
			case e.Kind == history.Assign && e.OK:
				used = true
				if left[pool[e.Assignment.Task.Job]]--; left["a"] <= 0 || left["b"] <= 0 {
					return nil // one has nothing to start, or only one has come
				}
			case e.Kind == history.Assign:
			case e.Event.Kind == sojourn.JobArrived:
				if used {
					return nil
				}
				pool[e.Event.Job.ID] = e.Event.Job.Pool
				left[e.Event.Job.Pool] += e.Event.Job.Phases[0].Tasks
			case e.Event.Kind == sojourn.TaskFinished:
				served[pool[e.Event.Task.Job]] += e.Event.Service
				for x, y := range map[string]string{"a": "b", "b": "a"} {
					ahead := int64(served[x])*weights[y] - int64(served[y])*weights[x] // times w_a w_b
					most := int64(c)*weights[y] + int64(n-1)*int64(c)*max(weights[x], weights[y])
					if ahead > most {
						return fmt.Errorf("at %v pool %s was served %v and pool %s %v: %w", e.Event.At, x, served[x], y, served[y], errLate)
					}
				}
			}
		}
		return nil
	}
}

// Pools get service in proportion to their weights.
// Reference: the comments of packages fair and flow.
func TestSmallHistoriesShare(t *testing.T) {
	noneInShort(t)
	job := func(pool string, tasks int) *sojourn.Job {
		return &sojourn.Job{Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}
	}
	world := func(n, tasks int) sojourntest.Small {
		return sojourntest.Small{Slots: slots(make([]sojourn.Class, n)...), Jobs: []*sojourn.Job{job("a", tasks), job("b", tasks)}, Events: 100}
	}
	for _, weight := range []int64{1, 2} {
		newPolicy := pooled.Fair.With(fair.Options{Pools: map[string]fair.Pool{"a": {Weight: float64(weight)}}})
		weights := map[string]int64{"a": weight, "b": 1}
		sojourntest.Walk(t, newPolicy, world(1, 4), backlogged(1, weights))
		if large() {
			sojourntest.Walk(t, newPolicy, world(2, 3), backlogged(2, weights))
		}
		if vast() {
			sojourntest.Walk(t, newPolicy, world(1, 6), backlogged(1, weights))
			sojourntest.Walk(t, newPolicy, world(2, 4), backlogged(2, weights))
		}
		if n, err := sojourntest.Walked(constructors.FIFO.With(fifo.Options{}), world(1, 4), backlogged(1, weights)); !errors.Is(err, errLate) {
			t.Errorf("fifo: %d histories: %v, want one with a pool that is ahead", n, err)
		}
	}
}

// passed returns a check that no job waits for longer than the theorem of package leastwork says, for jobs of which the right
// size was told: from its turn on, only what was started and what had come before keeps it waiting.
func passed(n, patience int) func([]history.Entry) error {
	return func(h []history.Entry) error {
		list := courses(h)
		for _, c := range list {
			length := c.job.Phases[0].Estimate
			turn := c.arrived.Add(time.Duration(patience*c.job.Phases[0].Tasks) * length)
			var before time.Duration // slot time after its turn
			for _, other := range list {
				length := other.job.Phases[0].Estimate
				for _, start := range other.starts {
					switch {
					case start >= turn && other.arrived < turn:
						before += length
					case start < turn:
						before += max(0, start.Add(length).Sub(turn))
					}
				}
			}
			last := c.starts[len(c.starts)-1]
			if last >= turn {
				before -= length // of the task that is started then
			}
			if last > turn && last.Sub(turn)*time.Duration(n) > before {
				return fmt.Errorf("job %d, whose turn is at %v, starts its last task at %v, although %v of slot time were before it: %w", c.job.ID, turn, last, before, errLate)
			}
		}
		return nil
	}
}

// Nobody is passed for longer than patience says.
// Reference: the comment of package leastwork, "No job starves".
func TestSmallHistoriesStarveNobody(t *testing.T) {
	noneInShort(t)
	kinds := jobsOf(2, 3)
	kinds = []*sojourn.Job{kinds[0], kinds[2], kinds[3]} // one task of one second or three, two of one
	for n := 1; n <= 2; n++ {
		w := sojourntest.Small{Jobs: kinds, Slots: slots(make([]sojourn.Class, n)...), Most: 3, Events: 100, Takes: sojourntest.Exactly}
		if vast() || large() && n == 1 {
			w.Most = 4
		}
		for patience := 1; patience <= 2; patience++ {
			sojourntest.Walk(t, constructors.LeastWork.With(leastwork.Options{Patience: patience}), w, passed(n, patience))
		}
		if n > 1 {
			continue
		}
		for _, more := range []int{2, 0} { // 0 is the default
			if count, err := sojourntest.Walked(constructors.LeastWork.With(leastwork.Options{Patience: more}), w, passed(n, 1)); !errors.Is(err, errLate) {
				t.Errorf("with patience %d, %d slots: %d histories: %v, want one of a job that waits for longer", more, n, count, err)
			}
		}
	}
}

// What the papers print is refuted by a small history: probes without a gate, whose jobs end later than the bound, and a
// reservation of as many reduce slots as jobs ahead need, and none more, which makes an accepted job late. The order of arrival has no such bound, either.
func TestSmallHistoriesRefuteWhatIsPrinted(t *testing.T) {
	noneInShort(t)
	one := 1
	probes := sojourntest.Small{Jobs: jobsOf(2, 2)[1:3], Slots: slots(0, 0), Most: 4, Events: 100, Takes: sojourntest.Exactly}
	for _, tc := range []struct {
		name  string
		new   func() sojourn.Policy
		w     sojourntest.Small
		check func([]history.Entry) error
	}{
		{"HFSP: ungated probes", constructors.PFSP.With(pfsp.Options{FairLimit: &one, NoGate: true}), probes, sharing(2)},
		{"RTMR: > in Algorithm IV", constructors.RTMR.With(rtmr.Options{PaperReservation: true}), promising(1, 1, slots(0, 0, 1)), late},
		{"RTMR: > in Algorithm IV, in the chain", constructors.RTMR.With(rtmr.Options{Booking: rtmr.Chain, PaperReservation: true}), promising(1, 1, slots(0, 0, 1)), late},
		{"the order of arrival", constructors.FIFO.With(fifo.Options{}), sojourntest.Small{Jobs: jobsOf(2, 2), Slots: slots(0), Most: 3, Events: 100, Takes: sojourntest.Exactly}, sharing(1)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n, err := sojourntest.Walked(tc.new, tc.w, tc.check)
			if !errors.Is(err, errLate) {
				t.Fatalf("%d histories: %v, want one of a job that is late", n, err)
			}
			t.Logf("number %d: %v", n, err)
		})
	}
}

// A history shares most of its calls with the one before. They can be made again on a new policy, or a policy can be restored from
// what was saved before them. Both cost about the same at this length, and All and Walk make them again, which needs no snapshot.
func BenchmarkShared(b *testing.B) {
	var calls []history.Entry
	for _, tc := range policies[:6] {
		longest := sojourntest.Small{Events: 5}
		if _, err := sojourntest.Walked(tc.new, longest, func(h []history.Entry) error {
			if len(h) > len(calls) {
				calls = append(calls[:0], h...)
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
		play := func() sojourn.Policy {
			p := tc.new()
			for i := range calls {
				if calls[i].Kind == history.Assign {
					p.Assign(calls[i].Slot)
				} else if err := p.Observe(calls[i].Event); err != nil {
					b.Fatal(err)
				}
			}
			return p
		}
		b.Run(tc.name+"/made again", func(b *testing.B) {
			for b.Loop() {
				play()
			}
			b.ReportMetric(float64(len(calls)), "calls")
		})
		b.Run(tc.name+"/restored", func(b *testing.B) {
			s, ok := sojourn.As[sojourn.Snapshotter](play())
			if !ok {
				b.Skip("it is no Snapshotter")
			}
			for b.Loop() {
				data, err := s.AppendBinary(nil)
				if err != nil {
					b.Fatal(err)
				}
				restored, _ := sojourn.As[sojourn.Snapshotter](tc.new())
				if err := restored.UnmarshalBinary(data); err != nil {
					b.Fatal(err)
				}
			}
		})
		calls = calls[:0]
	}
}

// noneInShort skips a test that walks through many histories: no goroutine takes part, and the race detector makes them slow.
func noneInShort(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of histories, in one goroutine")
	}
}
