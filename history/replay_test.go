package history_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func must[P sojourn.Policy](p P, err error) sojourn.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

// The policies, the first of which differs from each of the others sooner or later.
var policies = []func() sojourn.Policy{
	func() sojourn.Policy { return must(fifo.New(fifo.Options{})) },
	pooled.Fair.With(fair.Options{}),
	func() sojourn.Policy { return must(baseline.NewSRPT(baseline.SRPTOptions{})) },
	func() sojourn.Policy { return must(baseline.NewLAS(baseline.LASOptions{})) },
}

// jobsOf yields random jobs.
func jobsOf(t *rapid.T) iter.Seq2[*sim.Job, error] {
	var jobs []*sim.Job
	at := time.Duration(0)
	for i := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		at += time.Duration(rapid.IntRange(0, 4).Draw(t, "gap")) * time.Second
		j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i + 1)}, At: sojourn.Time(at)}
		for range rapid.IntRange(1, 2).Draw(t, "phases") {
			n := rapid.IntRange(1, 5).Draw(t, "tasks")
			j.Phases = append(j.Phases, sojourn.Phase{Tasks: n})
			j.AnyClass = append(j.AnyClass, true)
			j.Times = append(j.Times, sim.Times{Each: time.Duration(rapid.IntRange(0, 9).Draw(t, "time")) * time.Second})
		}
		jobs = append(jobs, j)
	}
	return sim.Jobs(jobs...)
}

// run runs p on a random workload, with faults, and returns what a Recorder and
// what the hooks of the run make of it.
func run(t *rapid.T, p sojourn.Policy) (recorded, hooked string) {
	var a, b bytes.Buffer
	wa, wb := history.NewWriter(&a), history.NewWriter(&b)
	cfg := sim.Config{
		Cluster:    sim.Cluster{Nodes: []sim.Node{{Slots: []int{1, 1}, Rack: "r"}, {Slots: []int{1}}, {Slots: []int{1, 1}}}},
		Jobs:       jobsOf(t),
		Policy:     history.NewRecorder(p, wa),
		Stragglers: sim.Stragglers{Probability: 0.1, Factor: 3},
		Seed:       rapid.Uint64().Draw(t, "seed"),
		Hooks:      sim.Hooks{Event: wb.Event, Assigned: wb.Assign},
		NoAudit:    true,
	}
	if rapid.Bool().Draw(t, "faults") {
		cfg.Faults = sim.Faults{Task: 0.1, Refuse: 0.1, MTBF: time.Minute, MTTR: 5 * time.Second, LoseOutput: true}
		cfg.Progress = 2 * time.Second
	}
	if _, err := sim.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(wa.Flush(), wb.Flush()); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String()
}

func read(text string) iter.Seq2[history.Entry, error] {
	return history.Read(strings.NewReader(text), "h")
}

// A recorded run is honest, and replays equal.
func TestReplayEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		newPolicy := rapid.SampledFrom(policies).Draw(t, "policy")
		recorded, hooked := run(t, newPolicy())
		if recorded != hooked {
			t.Fatalf("the Recorder wrote\n%s\nthe hooks\n%s", recorded, hooked)
		}
		if err := history.Replay(newPolicy(), history.Check(read(recorded))); err != nil {
			t.Fatalf("%s\n%v", recorded, err)
		}
	})
}

// Another policy differs at the first decision of which it decides otherwise.
func TestReplayUnderAnotherPolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		recorded, _ := run(t, policies[0]())
		replayAnother(t, rapid.SampledFrom(policies[1:]).Draw(t, "policy"), recorded)
	})
}

// The test above has something to look at: each policy differs from the first.
func TestAnotherPolicyDiffers(t *testing.T) {
	recorded := rapid.Custom(func(t *rapid.T) string {
		recorded, _ := run(t, policies[0]())
		return recorded
	})
	for _, other := range policies[1:] {
		seed := 0
		for !replayAnother(t, other, recorded.Example(seed)) {
			if seed++; seed == 1000 {
				t.Fatalf("%T decides in no history otherwise than %T", other(), policies[0]())
			}
		}
	}
}

// replayAnother replays what another policy decided, and reports whether the two
// decide otherwise. If they do, it checks that the replay says where.
func replayAnother(t rapid.TB, other func() sojourn.Policy, recorded string) bool {
	t.Helper()
	err := history.Replay(other(), read(recorded))
	if err == nil {
		return false
	}
	var diff *history.Difference
	if !errors.As(err, &diff) {
		t.Fatalf("%s\n%v", recorded, err)
	}
	lines := strings.SplitAfter(recorded, "\n")
	n := diff.Recorded.Line
	if got := diff.Recorded.String() + "\n"; got != lines[n-1] || diff.Got.String() == diff.Recorded.String() {
		t.Fatalf("%s\nline %d: recorded %q, got %q, in the file %q", recorded, n, diff.Recorded, diff.Got, lines[n-1])
	}

	// Up to there both are equal; and with the other answer in its place, too.
	before := strings.Join(lines[:n-1], "")
	if err := history.Replay(other(), read(before)); err != nil {
		t.Fatalf("%s\n%v", before, err)
	}
	corrected := before + diff.Got.String() + "\n"
	if err := history.Replay(other(), history.Check(read(corrected))); err != nil {
		t.Fatalf("%s\n%v", corrected, err)
	}
	return true
}

// An Acceptor refuses jobs of more tasks than Most.
type acceptor struct {
	sojourn.Policy
	most int
}

func (a acceptor) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobArrived && ev.Job.Check() == nil && ev.Job.Phases[0].Tasks > a.most {
		late := time.Duration(ev.Job.Phases[0].Tasks-a.most) * time.Second
		return &sojourn.EventError{Event: ev, Err: &sojourn.RejectedError{
			Job: ev.Job.ID, Misses: 1, By: late, Offer: ev.At.Add(late), Exact: true,
		}}
	}
	return a.Policy.Observe(ev)
}

func TestReplayOfRejections(t *testing.T) {
	newPolicy := func(most int) sojourn.Policy { return acceptor{policies[0](), most} }
	var buf bytes.Buffer
	w := history.NewWriter(&buf)
	r := history.NewRecorder(newPolicy(2), w)
	for n := range 4 {
		job := &sojourn.Job{ID: sojourn.JobID(n + 1), Phases: []sojourn.Phase{{Tasks: n + 1}}}
		r.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: sojourn.Time(time.Second), Job: job})
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `sojourn history 1
@1s JobArrived 1 | 1
@1s JobArrived 2 | 2
@1s JobArrived 3 | 3 !ErrRejected job=3 misses=1 by=1s offer=2s exact=true
@1s JobArrived 4 | 4 !ErrRejected job=4 misses=1 by=2s offer=3s exact=true
`
	if buf.String() != want {
		t.Fatalf("got\n%s\nwant\n%s", buf.String(), want)
	}
	if err := history.Replay(newPolicy(2), history.Check(read(want))); err != nil {
		t.Error(err)
	}
	for _, tc := range []struct {
		most int
		want string
	}{
		{1, `h:3: recorded "@1s JobArrived 2 | 2", replayed "@1s JobArrived 2 | 2 !ErrRejected job=2 misses=1 by=1s offer=2s exact=true"`},
		{3, `h:4: recorded "@1s JobArrived 3 | 3 !ErrRejected job=3 misses=1 by=1s offer=2s exact=true", replayed "@1s JobArrived 3 | 3"`},
	} {
		if err := history.Replay(newPolicy(tc.most), read(want)); err == nil || err.Error() != tc.want {
			t.Errorf("policy that takes %d tasks:\ngot  %v\nwant %v", tc.most, err, tc.want)
		}
	}
	later := strings.Replace(want, "by=2s", "by=2.000000001s", 1)
	if err := history.Replay(newPolicy(2), read(later)); err == nil || !strings.Contains(err.Error(), "by=2.000000001s") {
		t.Errorf("recorded by=2.000000001s, error %v, want a difference", err)
	}
}

// Every field of a decision counts.
func TestReplayComparesDecisionsWhole(t *testing.T) {
	const before = "sojourn history 1\n@0s SlotAdded 0\n@0s JobArrived 1 | 2\n@0s Assign 0 -> "
	for decision, equal := range map[string]bool{
		"1/0/0#1":               true,
		"1/0/0#1 locality=any":  true,
		"none":                  false,
		"1/0/1#1":               false,
		"1/0/0#2":               false,
		"1/0/0#1 slot=1":        false,
		"1/0/0#1 source=1":      false,
		"1/0/0#1 locality=node": false,
	} {
		err := history.Replay(policies[0](), read(before+decision+"\n"))
		if diff := (*history.Difference)(nil); errors.As(err, &diff) == equal {
			t.Errorf("Assign 0 -> %s, and the policy says 1/0/0#1: error %v", decision, err)
		}
	}
}

func TestReplayStopsAtErrors(t *testing.T) {
	text := "sojourn history 1\n@0s SlotAdded 0\n@0s Assign 1 -> none\n"
	err := history.Replay(policies[0](), history.Check(read(text)))
	var e *history.Error
	if !errors.As(err, &e) || e.Line != 3 {
		t.Errorf("error %v, want one at line 3", err)
	}
}

func TestConformanceOfRecorder(t *testing.T) {
	histories.Share(t, 20)
	sojourntest.Run(t, policies[0], sojourntest.Options{Wrap: func(p sojourn.Policy) sojourn.Policy {
		return history.NewRecorder(p, history.NewWriter(io.Discard))
	}})
}
