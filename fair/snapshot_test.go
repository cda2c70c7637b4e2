package fair_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
)

// A secretive policy is a Seeker and cannot be saved.
type secretive struct{ p sojourn.Policy }

func (s secretive) Observe(ev sojourn.Event) error { return s.p.Observe(ev) }
func (s secretive) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return s.p.Assign(id)
}
func (s secretive) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	return s.p.(sojourn.Seeker).Seek(c)
}

// While a pool has a policy that cannot be saved, fair cannot be saved either, and the
// error says so.
func TestPolicyThatCannotBeSaved(t *testing.T) {
	for _, path := range []string{"p", "*"} {
		p := newWith(fair.Options{Pools: map[string]fair.Pool{path: {Policy: func() sojourn.Policy { return secretive{newFIFO()} }}}})
		s := p.(sojourn.Snapshotter)
		if _, err := s.AppendBinary(nil); err != nil {
			t.Errorf("without jobs: %v", err)
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Pool: "p", Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		got, err := s.AppendBinary([]byte("dst"))
		if string(got) != "dst" || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `pool "p"`) {
			t.Errorf("%q, %v, want dst and an error that names the pool", got, err)
		}
	}
}

// A pool keeps its policy while it has no jobs. The policy is restored with all that it
// knows.
func TestKeptPolicyIsRestored(t *testing.T) {
	build := func() sojourn.Policy {
		return newWith(fair.Options{Pools: map[string]fair.Pool{"a/b": {Policy: newFSP}}})
	}
	run := func(p sojourn.Policy, id sojourn.JobID, at sojourn.Time) {
		t.Helper()
		job := &sojourn.Job{ID: id, Pool: "a/b", Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Minute}}}
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded, At: at, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}},
			{Kind: sojourn.JobArrived, At: at, Job: job},
		} {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		a, ok := p.Assign(sojourn.SlotID(id))
		if !ok {
			t.Fatal("nothing to assign")
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, At: at + 1, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}); err != nil {
			t.Fatal(err)
		}
	}
	save := func(p sojourn.Policy) []byte {
		t.Helper()
		data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	p, q := build(), build()
	fresh := save(p)
	run(p, 1, 5)
	data := save(p)
	if len(data) < len(fresh)+100 {
		t.Errorf("%d bytes, %d of a new policy: the policy of the pool is not among them", len(data), len(fresh))
	}
	if err := q.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	run(p, 2, 7)
	run(q, 2, 7)
	if !bytes.Equal(save(p), save(q)) {
		t.Error("the two differ after the same events")
	}
}

// A snapshot names the options that its state rests on if they differ. It accepts other
// options, and other ways to write the same ones.
func TestSnapshotOptions(t *testing.T) {
	pools := func(p fair.Pool) fair.Options { return fair.Options{Pools: map[string]fair.Pool{"a": p}} }
	preempts := func(p fair.Preemption) fair.Options { return fair.Options{Preemption: p} }
	zero := 0 * time.Second
	groups := []struct {
		option string // what the other groups lack
		list   []fair.Options
	}{
		{"", []fair.Options{
			{}, {Strict: true}, {IgnoreLocality: true}, preempts(fair.Preemption{Limit: 3, Interval: time.Minute}),
			pools(fair.Pool{}), pools(fair.Pool{Weight: 2}), pools(fair.Pool{Min: fair.Slots{0: 1}}), pools(fair.Pool{Max: fair.Slots{0: 1}}),
			pools(fair.Pool{MaxJobs: 1}), {Pools: map[string]fair.Pool{"*": {}}}, {Pools: map[string]fair.Pool{"a": {}, "a/b": {}}},
		}},
		{"order", []fair.Options{{Order: fair.Running}}},
		{"ties", []fair.Options{{Ties: fair.Arrival}, {Ties: fair.Arrival, Strict: true}}},
		{"delays", []fair.Options{{Delay: 1}, {Delay: 2}, {Delay: 2, RackDelay: &zero}}},
		{"preempts", []fair.Options{
			preempts(fair.Preemption{MinTimeout: 1}), preempts(fair.Preemption{FairTimeout: 2, Limit: 1, ReportOnly: true}),
		}},
		{"pools/a", []fair.Options{pools(fair.Pool{FIFO: true}), pools(fair.Pool{FIFO: true, Weight: 2})}},
		{"pools/a", []fair.Options{pools(fair.Pool{Policy: newFIFO}), pools(fair.Pool{Policy: newFIFO, Max: fair.Slots{0: 1}})}},
		{"pools/*", []fair.Options{{Pools: map[string]fair.Pool{"*": {FIFO: true}}}}},
	}
	for i, from := range groups {
		for _, old := range from.list {
			data, err := newWith(old).(sojourn.Snapshotter).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			for k, to := range groups {
				for _, opts := range to.list {
					err := newWith(opts).(sojourn.Snapshotter).UnmarshalBinary(data)
					named := err != nil && (strings.Contains(err.Error(), "option "+to.option) || strings.Contains(err.Error(), "option "+from.option))
					if i == k && err != nil || i != k && !(errors.Is(err, sojourn.ErrForeignSnapshot) && named) {
						t.Errorf("of %+v by %+v: %v", old, opts, err)
					}
				}
			}
		}
	}
}

// An operator changes the weight of a pool while it runs. Eight slots run tasks of two
// pools of equal weight. With the changed weight, pool a gets three of four slots that
// become free.
func TestWeightChangesWithoutLoss(t *testing.T) {
	weighing := func(a float64) sojourn.Policy {
		return newWith(fair.Options{Pools: map[string]fair.Pool{"a": {Weight: a}, "b": {}}})
	}
	p := weighing(1)
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	var running []sojourn.Assignment
	fill := func() {
		for id, ok := p.(sojourn.Seeker).Seek(0); ok; id, ok = p.(sojourn.Seeker).Seek(0) {
			a, _ := p.Assign(id)
			running = append(running, a)
		}
	}
	held := func() (n int) {
		for _, a := range running {
			if a.Task.Job == 1 {
				n++
			}
		}
		return n
	}
	for id := range sojourn.SlotID(8) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for i, pool := range []string{"a", "b"} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: pool, Phases: []sojourn.Phase{{Tasks: 100}}}})
	}
	if fill(); held() != 4 {
		t.Fatalf("pool a holds %d of 8 slots, want 4", held())
	}
	saved, err := p.(sojourn.Snapshotter).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	p = weighing(3)
	if err := p.(sojourn.Snapshotter).UnmarshalBinary(saved); err != nil {
		t.Fatal(err)
	}
	for range 80 {
		a := running[0]
		running = running[1:]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
		fill()
	}
	if held() != 6 {
		t.Errorf("pool a holds %d of 8 slots, want 6", held())
	}
}

// A stale policy saves an old state.
type stale struct {
	*fair.Policy
	data []byte
}

func (s stale) AppendBinary(dst []byte) ([]byte, error) { return append(dst, s.data...), nil }

// The policy of a pool is restored only if it knows the same jobs of the pool as fair
// does.
func TestRestoredPolicyOfAPoolHasTheSameAccount(t *testing.T) {
	newInner := func() *fair.Policy { return newWith(fair.Options{}).(*fair.Policy) }
	var inner stale
	c := newCluster(t, 2, fair.Options{Pools: map[string]fair.Pool{"a": {Policy: func() sojourn.Policy {
		inner.Policy = newInner()
		return &inner
	}}}})
	c.arrive("a", 5)
	var err error
	states := map[string]func(){
		"an assignment":   func() { c.offer() },
		"an end":          c.finish,
		"another job":     func() { c.arrive("a", 1) },
		"a held task":     func() { c.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: 1, Index: 4}}) },
		"a lost node":     func() { c.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 7}}) },
		"a cancelled job": func() { c.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}}) },
		"time":            func() { c.tick(1) },
	}
	for _, what := range []string{"an assignment", "an end", "another job", "a held task", "a lost node", "time", "a cancelled job"} {
		if inner.data, err = inner.Policy.AppendBinary(nil); err != nil {
			t.Fatal(err)
		}
		check := func(bad bool) {
			t.Helper()
			data, err := c.p.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			q := newWith(fair.Options{Pools: map[string]fair.Pool{"a": {Policy: func() sojourn.Policy { return newInner() }}}}).(*fair.Policy)
			if err := q.UnmarshalBinary(data); (err != nil) != bad {
				t.Errorf("when the policy of the pool does not know of %s: %v, want an error: %v", what, err, bad)
			}
		}
		check(false)
		states[what]()
		check(true)
	}
}

// A job takes memory for tasks that are started, not for tasks that are announced.
func TestLargeJob(t *testing.T) {
	for _, opts := range []fair.Options{
		{}, {Order: fair.Service, Delay: 5 * time.Second}, {Pools: map[string]fair.Pool{"*": {Policy: newFSP}}},
	} {
		snapshottest.Large(t, func() sojourn.Policy { return newWith(opts) })
	}
}

func TestForgedSnapshots(t *testing.T) {
	for _, opts := range []fair.Options{
		{Preemption: fair.Preemption{MinTimeout: time.Second, FairTimeout: time.Second, Interval: time.Second}, Pools: map[string]fair.Pool{
			"a": {Policy: newFSP, Min: fair.Slots{0: 9}}, "b": {Weight: 3, Min: fair.Slots{0: 9}},
		}},
		{Pools: map[string]fair.Pool{"*": {Policy: guests["mars"]}, "a": {Policy: guests["hfsp,wait"]}, "b": {Policy: guests["fair,hfsp"]}}},
		{Order: fair.Service, Delay: 5 * time.Second, Pools: map[string]fair.Pool{"*": {MaxJobs: 3, Max: fair.Slots{0: 20}}, "a": {FIFO: true}}},
	} {
		snapshottest.Attack(t, func() sojourn.Policy { return newWith(opts) }, 500)
	}
}
