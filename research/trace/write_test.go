package trace

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// write writes jobs that have no fault.
func write(t interface{ Fatalf(string, ...any) }, jobs []*sim.Job) string {
	var buf bytes.Buffer
	if err := Write(&buf, sim.Jobs(jobs...)); err != nil {
		t.Fatalf("Write: %v", err)
	}
	return buf.String()
}

// workloads draws workloads that the format can hold: with one form of
// estimates, and nodes numbered in the order of their first appearance.
func workloads() *rapid.Generator[[]*sim.Job] {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{`a"b\c`, "<é&\u2028\n\x00>", "n1"}))
	duration := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, math.MaxInt64/1000)),
		func(ns int64) time.Duration { return time.Duration(ns) })
	return rapid.Custom(func(t *rapid.T) []*sim.Job {
		ids := rapid.SliceOfNDistinct(rapid.OneOf(rapid.Uint64Range(1, 70), rapid.Uint64Min(1)), 0, 5, rapid.ID).Draw(t, "ids")
		var jobs []*sim.Job
		var at sojourn.Time
		known := sojourn.NodeID(0)
		for _, id := range ids {
			at = at.Add(duration.Draw(t, "gap"))
			j := &sim.Job{At: at, Job: sojourn.Job{
				ID: sojourn.JobID(id), Name: text.Draw(t, "name"), Pool: text.Draw(t, "pool"), Priority: rapid.Int32().Draw(t, "priority"), Parallelism: rapid.Uint32().Draw(t, "parallelism"),
			}}
			if rapid.Bool().Draw(t, "weighted") {
				j.Weight = rapid.Float64Range(1.0/(1<<16), 1<<32-1).Draw(t, "weight")
			}
			if rapid.Bool().Draw(t, "deadline") {
				j.Deadline = at.Add(1 + duration.Draw(t, "slack"))
			}
			if rapid.Bool().Draw(t, "released") {
				j.Release = at.Add(1 + duration.Draw(t, "release"))
			}
			if rapid.Bool().Draw(t, "in sequence") {
				j.Sequence = text.Draw(t, "sequence")
			}
			for i := range rapid.IntRange(1, 4).Draw(t, "phases") {
				p := sojourn.Phase{Tasks: rapid.IntRange(1, 6).Draw(t, "tasks")}
				j.AnyClass = append(j.AnyClass, rapid.Bool().Draw(t, "any class"))
				if !j.AnyClass[i] {
					p.Class = rapid.SampledFrom([]sojourn.Class{sojourn.MapClass, sojourn.ReduceClass, 2, 10, 255}).Draw(t, "class")
				}
				each := sim.Times{Each: duration.Draw(t, "time")}
				list := rapid.SliceOfN(duration, p.Tasks, p.Tasks)
				switch rapid.IntRange(0, 2).Draw(t, "estimate kind") {
				case 1:
					p.Estimate = 1 + duration.Draw(t, "estimate")
				case 2:
					p.Estimates = list.Draw(t, "estimates")
				}
				if rapid.Bool().Draw(t, "listed") {
					each = sim.Times{List: list.Draw(t, "times")}
				}
				if rapid.Bool().Draw(t, "costly") {
					each.Costs = rapid.SliceOfN(rapid.Uint64Max(math.MaxInt64), p.Tasks, p.Tasks).Draw(t, "costs")
				}
				if rapid.Bool().Draw(t, "sized") {
					p.Bytes = rapid.SliceOfN(rapid.Int64Min(0), p.Tasks, p.Tasks).Draw(t, "bytes")
				}
				if rapid.Bool().Draw(t, "delayed") {
					p.Delays = list.Draw(t, "delays")
				}
				if rapid.Bool().Draw(t, "placed") {
					nodes := make([][]sojourn.NodeID, p.Tasks)
					for task := range nodes {
						for range rapid.IntRange(0, 3).Draw(t, "replicas") {
							node := sojourn.NodeID(rapid.IntRange(1, int(known)+1).Draw(t, "node"))
							known = max(known, node)
							nodes[task] = append(nodes[task], node)
						}
					}
					p.Inputs = sojourn.MakeInputs(nodes)
				}
				before := 0
				if i > 0 {
					before = j.Phases[i-1].Tasks
				}
				if rapid.IntRange(0, 3).Draw(t, "needs") == 0 {
					p.Needs = []int{}
					for k := range i {
						if rapid.Bool().Draw(t, "this one") {
							p.Needs = append(p.Needs, k)
						}
					}
				} else {
					p.After = rapid.IntRange(sojourn.NoBarrier, before).Draw(t, "after")
				}
				j.Phases = append(j.Phases, p)
				j.Times = append(j.Times, each)
			}
			if rapid.IntRange(0, 3).Draw(t, "open") == 0 { // no phase waits for the last one
				last := len(j.Phases) - 1
				added := rapid.SliceOfN(duration, j.Phases[last].Tasks, j.Phases[last].Tasks).Draw(t, "added")
				added[0] = 0
				slices.Sort(added)
				j.Times[last].Added, j.Open = added, true
			}
			if !slices.Contains(j.AnyClass, true) {
				j.AnyClass = nil
			}
			jobs = append(jobs, j)
		}
		return jobs
	})
}

func TestWriteThenReadIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		jobs := workloads().Draw(t, "jobs")
		text := write(t, jobs)
		if lines := strings.Count(text, "\n"); lines != len(jobs) {
			t.Fatalf("%d lines for %d jobs:\n%s", lines, len(jobs), text)
		}
		var got []*sim.Job
		for j, err := range Read(strings.NewReader(text), ReadOptions{}) {
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			got = append(got, j)
		}
		if !reflect.DeepEqual(got, jobs) {
			t.Fatalf("text\n%sreads as\n%swant\n%s", text, dump(got), dump(jobs))
		}
		if again := write(t, got); again != text {
			t.Fatalf("writes\n%sand then\n%s", text, again)
		}
	})
}

func dump(jobs []*sim.Job) string {
	var b strings.Builder
	for _, j := range jobs {
		fmt.Fprintf(&b, "%+v\n", *j)
	}
	return b.String()
}

// The form is canonical, whatever the order and the spelling of the input.
func TestWriteIsCanonical(t *testing.T) {
	tests := []struct{ text, want string }{
		{
			`{ "phases" : [ {"after":"none","time":1.50,"tasks":2,"bytes":[7,7],"delay":[1,1e0],"class":"map"} ],
			 "parallelism":0,"deadline":1E1,"weight":2.50,"at":0.10,"pool":"\u0070","id":3 }`,
			`{"id":3,"at":0.1,"pool":"p","weight":2.5,"deadline":10,"phases":[` +
				`{"class":"map","tasks":2,"time":1.5,"bytes":7,"delay":1,"after":"none"}]}` + "\n",
		},
		{
			`{"id":1,"at":0,"name":"\u00e9<","phases":[{"time":[1,1],"estimate":[0,2],"nodes":[["x"],[]]},{"time":[2],"after":2}]}`,
			`{"id":1,"name":"é<","at":0,"phases":[{"tasks":2,"time":[1,1],"estimate":[0,2],"nodes":[["n1"],[]]},{"tasks":1,"time":[2],"after":2}]}` + "\n",
		},
		{
			`{"id":1,"at":0,"weight":0.0000152587890625,"phases":[{"tasks":1,"time":0,"estimate":1e-9}]}`,
			`{"id":1,"at":0,"weight":0.0000152587890625,"phases":[{"tasks":1,"time":0,"estimate":0.000000001}]}` + "\n",
		},
	}
	for _, tc := range tests {
		if got := write(t, readAll(t, strings.ReplaceAll(tc.text, "\n", ""))); got != tc.want {
			t.Errorf("%s:\n got %swant %s", tc.text, got, tc.want)
		}
	}
}

// The two forms of estimates become one. An entry of 0 means the value of Estimate.
func TestWriteMergesEstimates(t *testing.T) {
	j := &sim.Job{
		Job:   sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: 5, Estimates: []time.Duration{0, 3}}}},
		Times: []sim.Times{{Each: 1}},
	}
	const want = `{"id":1,"at":0,"phases":[{"class":"map","tasks":2,"time":0.000000001,"estimate":[0.000000005,0.000000003]}]}` + "\n"
	if got := write(t, []*sim.Job{j}); got != want {
		t.Errorf("got %swant %s", got, want)
	}
}

func TestWriteRefuses(t *testing.T) {
	tests := []struct {
		reason string
		spoil  func(j *sim.Job)
	}{
		{"zero ID", func(j *sim.Job) { j.ID = 0 }},
		{"0 phases", func(j *sim.Job) { j.Phases = nil }},
		{"times of 0 phases for 1 phases", func(j *sim.Job) { j.Times = nil }},
		{"negative arrival", func(j *sim.Job) { j.At = -1 }},
		{"is not after the arrival", func(j *sim.Job) { j.Deadline = j.At }},
		{"release time 5s is not after the arrival 5s", func(j *sim.Job) { j.Release = j.At }},
		{"the job is Open, and nothing says when tasks come", func(j *sim.Job) { j.Open = true }},
		{"its tasks are held, which the format cannot say", func(j *sim.Job) { j.Phases[0].Held = true }},
		{"1 costs for 2 tasks", func(j *sim.Job) { j.Times[0].Costs = []uint64{1} }},
		{"task 1: cost 9223372036854775808 is above 2^63-1", func(j *sim.Job) { j.Times[0].Costs = []uint64{1, 1 << 63} }},
		{"is not UTF-8", func(j *sim.Job) { j.Sequence = "\xff" }},
		{"is not UTF-8", func(j *sim.Job) { j.Name = "\xff" }},
		{"is not UTF-8", func(j *sim.Job) { j.Pool = "\xff" }},
		{"1 times for 2 tasks", func(j *sim.Job) { j.Times[0].List = []time.Duration{1} }},
		{"negative time", func(j *sim.Job) { j.Times[0].List = []time.Duration{1, -1} }},
		{"negative or their sum is out of range", func(j *sim.Job) { j.Times[0].Each = -1 }},
		{"negative or their sum is out of range", func(j *sim.Job) { j.Times[0].Each = math.MaxInt64/2 + 1 }},
		{"negative or their sum is out of range", func(j *sim.Job) {
			j.Phases = append(j.Phases, j.Phases[0])
			j.Times = []sim.Times{{Each: math.MaxInt64 / 2}, {Each: 1}}
		}},
		{"classes of 3 phases for 1 phases", func(j *sim.Job) { j.AnyClass = make([]bool, 3) }},
		{`name "" of node 9`, func(j *sim.Job) { j.Phases[0].Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{9}, nil}) }},
		{"arrival at 3 is before that of the job before, 5", func(j *sim.Job) { j.At = sojourn.Time(3 * time.Second) }},
		{"duplicate id 1", func(j *sim.Job) { j.ID = 1 }},
	}
	nodes := func(id sojourn.NodeID) string { return strings.Repeat("x", 9-int(id)) }
	for _, tc := range tests {
		job := func(id sojourn.JobID) *sim.Job {
			return &sim.Job{
				Job:   sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 2}}},
				At:    sojourn.Time(5 * time.Second),
				Times: []sim.Times{{Each: 1}},
			}
		}
		var buf bytes.Buffer
		w := NewWriter(&buf, nodes)
		if err := w.Write(job(1)); err != nil {
			t.Fatal(err)
		}
		before := buf.String()
		bad := job(2)
		tc.spoil(bad)
		if err := w.Write(bad); err == nil || !strings.Contains(err.Error(), tc.reason) {
			t.Errorf("%s: error %v", tc.reason, err)
		}
		if after := buf.String(); after != before {
			t.Errorf("%s: wrote %q", tc.reason, after[len(before):])
		}
		// The refusal left no trace.
		if err := w.Write(job(2)); err != nil {
			t.Errorf("%s: then, a good job: %v", tc.reason, err)
		}
	}
}

func TestWriteEndsAtTheFirstError(t *testing.T) {
	failure := errors.New("no more jobs")
	jobs := func(yield func(*sim.Job, error) bool) {
		_ = yield(readAll(t, goodLine)[0], nil) && yield(nil, failure)
	}
	var buf bytes.Buffer
	if err := Write(&buf, jobs); err != failure || buf.String() != goodLine {
		t.Errorf("error %v after %q, want %v after %q", err, buf.String(), failure, goodLine)
	}
	if err := Write(broken{failure}, sim.Jobs(readAll(t, goodLine)...)); err != failure {
		t.Errorf("error %v, want that of the writer, %v", err, failure)
	}
}

// A broken writer always fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// A workload and a cluster that are written on a terminal do nothing there, and are read as they were.
func TestWhatIsWrittenMayBeShown(t *testing.T) {
	var name strings.Builder
	for r := range rune(0xe0100) {
		if visible.Obeyed(r) {
			name.WriteRune(r)
		}
	}
	for _, name := range []string{name.String(), "\u009b31m", "\x7f", "a\u202eb", "é"} {
		job := &sim.Job{Job: sojourn.Job{ID: 1, Name: name, Pool: name, Phases: []sojourn.Phase{{Tasks: 1}}}, Times: []sim.Times{{Each: 1}}}
		text := write(t, []*sim.Job{job})
		for j, err := range Read(strings.NewReader(text), ReadOptions{}) {
			if err != nil || j.Name != name || j.Pool != name {
				t.Errorf("%q was read as %q, %q: %v", name, j.Name, j.Pool, err)
			}
		}
		var cluster strings.Builder
		if err := WriteCluster(&cluster, sim.Cluster{Nodes: []sim.Node{{Name: name, Rack: name, Slots: []int{1}}}}); err != nil {
			t.Error(err)
		}
		c, err := ReadCluster(strings.NewReader(cluster.String()), "c.json")
		if err != nil || c.Nodes[0].Name != name || c.Nodes[0].Rack != name {
			t.Errorf("%q was read as %+v: %v", name, c, err)
		}
		for _, r := range text + cluster.String() {
			if r != '\n' && visible.Obeyed(r) {
				t.Errorf("%U is written as it is", r)
			}
		}
	}
}
