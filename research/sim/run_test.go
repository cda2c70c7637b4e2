package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Two jobs on two slots. Job 1 has tasks of 3, 2 and 4 s. Job 2 arrives at 1 s and has a
// task of 1 s. Slot 0 runs 3 s, then at 3 the task of job 2. Slot 1 runs 2 s, then 4 s.
func TestJobsInTheOrderOfArrival(t *testing.T) {
	r, st := run(t, sim.Config{
		Cluster: uniform(2), Policy: newTable(first), Records: true,
		Jobs: sim.Jobs(job(1, 0, []float64{3, 2, 4}), job(2, 1, []float64{1})),
	})
	checkGantt(t, st, `
		1/0/1 slot 1 0s-2s
		1/0/0 slot 0 0s-3s
		2/0/0 slot 0 3s-4s
		1/0/2 slot 1 2s-6s
	`)
	// Sojourn times are 6 and 3 s, alone 6 and 1 s. 10 of 12 slot-seconds are held.
	if r.Jobs != 2 || r.Tasks != 4 || r.Finished != 2 || r.Attempts != 4 || r.Makespan != 6*s {
		t.Errorf("result = %+v", r)
	}
	want := sim.Dist{N: 2, Mean: 4.5, Max: 6, Median: 3, P90: 6, P99: 6}
	if r.Sojourn != want {
		t.Errorf("sojourn = %+v, want %+v", r.Sojourn, want)
	}
	want = sim.Dist{N: 2, Mean: 2, Max: 3, Median: 1, P90: 3, P99: 3}
	if r.Slowdown != want {
		t.Errorf("slowdown = %+v, want %+v", r.Slowdown, want)
	}
	if r.BoundedSlowdown.Max != 1 {
		t.Errorf("bounded slowdown = %+v, want 1: both jobs take less than 10 s", r.BoundedSlowdown)
	}
	if !slices.Equal(r.Utilisation, []float64{10.0 / 12}) {
		t.Errorf("utilisation = %v, want 10/12", r.Utilisation)
	}
	if r.Jain != 16.0/20 { // (1+3)^2 / 2 (1+9)
		t.Errorf("Jain's index = %v, want 0.8", r.Jain)
	}
	// 4 slots added, 2 arrivals, 4 finishes.
	if r.Events != 8 {
		t.Errorf("%d events, want 8", r.Events)
	}
}

// 70 tasks go to 70 free slots, in the order of both.
func TestSlotsAreOfferedInTheOrderOfID(t *testing.T) {
	_, st := run(t, sim.Config{Cluster: uniform(70), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, make([]float64, 70)))})
	for i, a := range st.attempts {
		if int(a.Slot) != i || int(a.Task.Index) != i {
			t.Fatalf("attempt %d is at task %v on slot %d", i, a.Task, a.Slot)
		}
	}
}

// The barrier of job 1 is at 4 s: its reduce waits, and that of job 2 overtakes.
func TestBarrier(t *testing.T) {
	_, st := run(t, sim.Config{
		Cluster: mapReduce(1, 1, 1), Policy: newTable(last),
		Jobs: sim.Jobs(job(1, 0, []float64{2, 1}, []float64{1}), job(2, 0.5, []float64{1}, []float64{5})),
	})
	// Last come, first served: 1/0/1 0-1, then job 2 1-2, then 1/0/0 2-4.
	checkGantt(t, st, `
		1/0/1 slot 0 0s-1s
		2/0/0 slot 0 1s-2s
		1/0/0 slot 0 2s-4s
		2/1/0 slot 1 2s-7s
		1/1/0 slot 1 7s-8s
	`)
}

// The reduce may start after one map, at 1 s, and waits until the outputs of both have
// arrived. Map 0 ends at 1 s and its output takes 5 s more. Map 1 ends at 4 s and its
// output takes no time. The reduce works from 6 to 8 s, which is its service time.
func TestSlowStartWaitsForDelays(t *testing.T) {
	j := job(1, 0, []float64{1, 3}, []float64{2})
	j.Phases[0].Delays = []time.Duration{5 * s, 0}
	j.Phases[1].After = 1
	var service time.Duration
	cfg := sim.Config{Cluster: mapReduce(1, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(j), Records: true}
	st := new(story)
	st.watch(&cfg)
	cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
		if ev.Kind == sojourn.TaskFinished && ev.Task.Phase == 1 {
			service = ev.Service
		}
	}
	r, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	checkGantt(t, st, `
		1/0/0 slot 0 0s-1s
		1/0/1 slot 0 1s-4s
		1/1/0 slot 1 1s-8s
	`)
	if service != 2*s {
		t.Errorf("service = %v, want 2s", service)
	}
	if !slices.Equal(r.Utilisation, []float64{4.0 / 8, 7.0 / 8}) {
		t.Errorf("utilisation = %v, want 4/8 and 7/8: a waiting attempt holds its slot", r.Utilisation)
	}
	if got := r.JobRecords[0].Alone; got != 8*s {
		t.Errorf("alone = %v, want 8s", got)
	}
}

// With a phase of NoBarrier both phases run from the start.
func TestNoBarrier(t *testing.T) {
	j := job(1, 0, []float64{3}, []float64{2})
	j.Phases[0].Delays = []time.Duration{9 * s}
	j.Phases[1].After = sojourn.NoBarrier
	_, st := run(t, sim.Config{Cluster: mapReduce(1, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(j)})
	checkGantt(t, st, `
		1/1/0 slot 1 0s-2s
		1/0/0 slot 0 0s-3s
	`)
}

// A task of 1 s takes 2/3 s on a node of speed 1.5, rounded to the nanosecond.
func TestSpeedsAndStragglers(t *testing.T) {
	c := sim.Cluster{Uniform: true, Nodes: []sim.Node{{Speed: 1.5, Slots: []int{1}}, {Slots: []int{1}}}}
	_, st := run(t, sim.Config{Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1, 1}))})
	checkGantt(t, st, `
		1/0/0 slot 0 0s-666.666667ms
		1/0/1 slot 1 0s-1s
	`)
	_, st = run(t, sim.Config{
		Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1, 1})),
		Stragglers: sim.Stragglers{Probability: 1, Factor: 4.5},
	})
	checkGantt(t, st, `
		1/0/0 slot 0 0s-3s
		1/0/1 slot 1 0s-4.5s
	`)
}

// Node 2 fails at 3 s, when task 2 ends there and task 3 runs there. It is back at 5 s.
// With LoseOutput, tasks 1 and 2, which finished there, run again. The reduce, on node 1,
// waits for them.
func TestNodeFailure(t *testing.T) {
	c := sim.Cluster{Nodes: []sim.Node{{Slots: []int{1, 1}}, {Slots: []int{2}}}}
	j := job(1, 0, []float64{6, 1, 3, 8}, []float64{1})
	j.Phases[1].After = 1
	script := []sim.NodeFault{{At: sojourn.Time(3 * s), Node: 2}, {At: sojourn.Time(5 * s), Node: 2, Up: true}}
	for _, lose := range []bool{false, true} {
		_, st := run(t, sim.Config{
			Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(j),
			Faults: sim.Faults{Script: script, LoseOutput: lose},
		})
		// Slots: 0 map and 1 reduce on node 1; 2 and 3 map on node 2. Task 1 ends at
		// 1 s on slot 2, task 3 starts there. Task 2 ends at 3 s on slot 3.
		want := `
		1/0/1 slot 2 0s-1s
		1/0/2 slot 3 0s-3s
		1/0/3 slot 2 1s-3s lost
		1/0/0 slot 0 0s-6s
		1/0/3 slot 2 5s-13s
		1/1/0 slot 1 1s-14s
		`
		if lose {
			// At 5 s the two slots that are back take tasks 1 and 2. At 6 s slots 0 and 2
			// become free, and slot 0 is offered first.
			want = `
			1/0/1 slot 2 0s-1s
			1/0/2 slot 3 0s-3s
			1/0/3 slot 2 1s-3s lost
			1/0/0 slot 0 0s-6s
			1/0/1 slot 2 5s-6s
			1/0/2 slot 3 5s-8s
			1/0/3 slot 0 6s-14s
			1/1/0 slot 1 1s-15s
			`
		}
		checkGantt(t, st, want)
		var around []string
		for _, line := range st.lines {
			if strings.Contains(line, "at 3s") || strings.Contains(line, "at 5s") {
				around = append(around, strings.Fields(line)[0]+" "+strings.Fields(line)[2])
			}
		}
		wantAround := []string{"TaskFinished 1/0/2", "TaskFailed 1/0/3", "SlotRemoved 2", "SlotRemoved 3", "NodeDown 2",
			"NodeUp 2", "SlotAdded 2", "SlotAdded 3"}
		if lose {
			wantAround = slices.Insert(wantAround, 2, "OutputLost 1/0/1", "OutputLost 1/0/2")
		}
		if !slices.Equal(around, wantAround) {
			t.Errorf("lose output %v: events %q, want %q", lose, around, wantAround)
		}
	}
}

// Three phases of one task. A lost node loses also the outputs that no phase needs. So
// when the output of phase 1 is lost, phase 0 has to run again as well.
func TestOutputThatIsNeededAgain(t *testing.T) {
	c := sim.Cluster{Uniform: true, Nodes: []sim.Node{{Slots: []int{1}}, {Slots: []int{1}}, {Slots: []int{1}}}}
	fault := func(at time.Duration, n sojourn.NodeID, up bool) sim.NodeFault {
		return sim.NodeFault{At: sojourn.Time(at), Node: n, Up: up}
	}
	_, st := run(t, sim.Config{
		Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1}, []float64{2}, []float64{9})),
		Faults: sim.Faults{LoseOutput: true, Script: []sim.NodeFault{
			fault(1*s, 1, false), // phase 0 just ended there: it runs again on node 2
			fault(2*s, 1, true),  // phase 1 runs there
			fault(4*s, 2, false), // holds the output of phase 0, which is no longer needed
			fault(5*s, 1, false), // holds the output of phase 1, and runs phase 2
		}},
	})
	// Node 3 is left: it runs phase 0, then 1, then 2.
	checkGantt(t, st, `
		1/0/0 slot 0 0s-1s
		1/0/0 slot 1 1s-2s
		1/1/0 slot 0 2s-4s
		1/2/0 slot 0 4s-5s lost
		1/0/0 slot 2 5s-6s
		1/1/0 slot 2 6s-8s
		1/2/0 slot 2 8s-17s
	`)
}

// An attempt whose input is on its way waits again when the output is lost. An attempt
// that works goes on.
func TestOutputLostOnTheWay(t *testing.T) {
	c := sim.Cluster{Nodes: []sim.Node{{Slots: []int{1}}, {Slots: []int{1, 2}}}}
	j := job(1, 0, []float64{1}, []float64{4, 4})
	for _, tc := range []struct {
		delay time.Duration
		want  string
	}{
		// The output is there at 1 s, so both attempts work when node 1 fails at 3 s. The
		// map runs again although no task waits for it.
		{0, "1/0/0 slot 0 0s-1s\n1/0/0 slot 1 3s-4s\n1/1/0 slot 2 1s-5s\n1/1/1 slot 3 1s-5s\n"},
		// The output would be there at 6 s. The map makes it again from 3 to 4 s, and it
		// is there at 9 s.
		{5 * s, "1/0/0 slot 0 0s-1s\n1/0/0 slot 1 3s-4s\n1/1/0 slot 2 1s-13s\n1/1/1 slot 3 1s-13s\n"},
	} {
		j.Phases[0].Delays = []time.Duration{tc.delay}
		_, st := run(t, sim.Config{
			Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(j),
			Faults: sim.Faults{LoseOutput: true, Script: []sim.NodeFault{{At: sojourn.Time(3 * s), Node: 1}}},
		})
		checkGantt(t, st, tc.want)
	}
}

// A refused assignment is reported when all slots have been offered. Then the slots are
// offered again.
func TestRefusals(t *testing.T) {
	r, st := run(t, sim.Config{
		Cluster: uniform(2), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1, 1})),
		Faults: sim.Faults{Refuse: 0.5}, Seed: 3,
	})
	var refused, finished int
	offered := 0
	for _, line := range st.lines {
		switch {
		case strings.Contains(line, "<-"):
			offered++
		case strings.HasPrefix(line, "TaskRefused"):
			refused++
			if refused == 1 && offered < 2 {
				t.Errorf("refused before the other slot was offered: %q", st.lines)
			}
		case strings.HasPrefix(line, "TaskFinished"):
			finished++
		}
	}
	if refused == 0 || finished != 2 || r.Attempts != 2 || r.Wasted != 0 {
		t.Errorf("%d refused, %d finished, %d attempts, %d wasted; want some, 2, 2, 0", refused, finished, r.Attempts, r.Wasted)
	}
	for _, a := range st.attempts {
		if a.Outcome == sim.Refused && a.Start != a.End {
			t.Errorf("refused attempt %+v took time", a)
		}
	}
	if refused+2 != len(st.attempts) {
		t.Errorf("%d attempts, want %d", len(st.attempts), refused+2)
	}
}

// Every attempt of seed 1 that fails does so within its time. The task runs again until
// it finishes.
func TestTaskFailures(t *testing.T) {
	times := make([]float64, 200)
	for i := range times {
		times[i] = 10
	}
	r, st := run(t, sim.Config{
		Cluster: uniform(7), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, times)), Seed: 1,
		Faults: sim.Faults{Task: 0.3},
	})
	failed, sum := 0, time.Duration(0)
	for _, a := range st.attempts {
		if a.Outcome == sim.Failed {
			failed++
			d := a.End.Sub(a.Start)
			sum += d
			if d < 0 || d >= 10*s {
				t.Errorf("attempt %+v failed after %v", a, d)
			}
		}
	}
	// 200 tasks need 200/0.7 attempts: 86 failures on average, with a standard deviation
	// of 11. They take 5 s on average. The standard deviation of the mean of 86 is 0.3 s.
	if failed < 42 || failed > 130 || r.Wasted != uint64(failed) || r.Attempts != uint64(200+failed) {
		t.Errorf("%d failures, wasted %d of %d attempts", failed, r.Wasted, r.Attempts)
	}
	if mean := sum / time.Duration(failed); mean < 3800*time.Millisecond || mean > 6200*time.Millisecond {
		t.Errorf("failed after %v on average, want about 5s", mean)
	}
}

// On a uniform cluster everything is of class 0. With map and reduce slots, a phase of
// any class runs on map slots if it is the first, and on reduce slots otherwise.
func TestClasses(t *testing.T) {
	mixed := func() *sim.Job {
		j := job(1, 0, []float64{1}, []float64{1}, []float64{1})
		setClass(j, 2, 0)
		return j
	}
	_, st := run(t, sim.Config{Cluster: uniform(1), Policy: newTable(first), Jobs: sim.Jobs(mixed())})
	checkGantt(t, st, "1/0/0 slot 0 0s-1s\n1/1/0 slot 0 1s-2s\n1/2/0 slot 0 2s-3s\n")
	j := mixed()
	_, st = run(t, sim.Config{Cluster: mapReduce(1, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(j)})
	checkGantt(t, st, "1/0/0 slot 0 0s-1s\n1/1/0 slot 1 1s-2s\n1/2/0 slot 0 2s-3s\n")
	if !reflect.DeepEqual(j, mixed()) {
		t.Errorf("Run changed the job to %+v", j)
	}
}

// At 2 s an attempt ends, a node leaves, two jobs arrive and a timer goes off, in this
// order. Then the free slot is offered.
func TestSameInstant(t *testing.T) {
	p := &waking{table: newTable(first), at: []sojourn.Time{sojourn.Time(2 * s)}}
	_, st := run(t, sim.Config{
		Cluster: mapReduce(3, 1, 0), Policy: p,
		Jobs: sim.Jobs(job(1, 0, []float64{2, 9}), job(2, 2, []float64{1}), job(3, 2, []float64{1})),
		Faults: sim.Faults{Script: []sim.NodeFault{
			{At: sojourn.Time(1 * s), Node: 3}, {At: sojourn.Time(2 * s), Node: 3, Up: true}, {At: sojourn.Time(2 * s), Node: 2},
		}},
	})
	i := slices.IndexFunc(st.lines, func(l string) bool { return strings.HasSuffix(l, "at 2s") })
	want := []string{
		"TaskFinished task 1/0/0 attempt 1 slot 0 at 2s",
		"TaskFailed task 1/0/1 attempt 1 slot 1 CauseSlotLost at 2s",
		"NodeUp node 3 at 2s",
		"SlotAdded slot 2 node 3 rack 0 class 0 at 2s",
		"SlotRemoved slot 1 at 2s",
		"NodeDown node 2 at 2s",
		"JobArrived job 2 at 2s",
		"JobArrived job 3 at 2s",
		"Tick at 2s",
		"slot 0 <- 1/0/1 attempt 2",
		"slot 2 <- 2/0/0 attempt 1",
		"TaskFinished task 2/0/0 attempt 1 slot 2 at 3s",
	}
	if got := st.lines[i:min(i+len(want), len(st.lines))]; !slices.Equal(got, want) {
		t.Errorf("from 2s on:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// waking asks to be woken at some instants; only a Tick satisfies it.
type waking struct {
	*table
	at []sojourn.Time
}

func (p *waking) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.Tick && len(p.at) > 0 && p.at[0] <= ev.At {
		p.at = p.at[1:]
	}
	return p.table.Observe(ev)
}

func (p *waking) NextWake() (sojourn.Time, bool) {
	if len(p.at) == 0 {
		return 0, false
	}
	return p.at[0], true
}

// A task that takes no time ends at the instant of its start, and so does the next one.
// Its job has no slowdown.
func TestTasksWithoutTime(t *testing.T) {
	r, st := run(t, sim.Config{
		Cluster: uniform(1), Policy: newTable(first), Records: true,
		Jobs: sim.Jobs(job(1, 1, []float64{0, 0}, []float64{0})),
	})
	checkGantt(t, st, "1/0/0 slot 0 1s-1s\n1/0/1 slot 0 1s-1s\n1/1/0 slot 0 1s-1s\n")
	if got := r.JobRecords[0]; !math.IsNaN(got.Slowdown()) || r.Slowdown.N != 0 || r.BoundedSlowdown.Mean != 1 || got.PSFinish != sojourn.Time(s) || r.Makespan != 0 {
		t.Errorf("record %+v, makespan %v", got, r.Makespan)
	}
}

// Attempts report their progress every 2 s from their start. An attempt that waits for
// input has made none.
func TestProgress(t *testing.T) {
	j := job(1, 0, []float64{1, 3}, []float64{5})
	j.Phases[1].After = 1
	var got []string
	cfg := sim.Config{Cluster: mapReduce(1, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(j), Progress: 2 * s}
	cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
		if ev.Kind == sojourn.TaskProgress {
			got = append(got, fmt.Sprint(ev.At, " ", ev.Task, " ", ev.Progress, " ", ev.Service))
		}
	}
	if _, err := sim.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	// Map 1 runs from 1 to 4 s. The reduce starts at 1 s and works from 4 to 9 s.
	want := []string{"3s 1/0/1 6666 2s", "3s 1/1/0 0 0s", "5s 1/1/0 2000 1s", "7s 1/1/0 6000 3s"}
	if !slices.Equal(got, want) {
		t.Errorf("progress = %q, want %q", got, want)
	}
}

// killer asks to kill the attempt at the first job while a second job is there, and
// serves the second job first.
type killer struct {
	*table
	running *sojourn.Assignment
}

func (p *killer) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.table.Assign(id)
	if ok && a.Task.Job == 1 {
		p.running = &a
	}
	return a, ok
}

func (p *killer) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if p.find(2) != nil && p.running != nil && p.find(1).state[0][0] == 'r' {
		dst = append(dst, sojourn.Preemption{Task: p.running.Task, Attempt: p.running.Attempt, Slot: p.running.Slot, For: 2})
	}
	return dst
}

// Job 1 is killed at 1 s and starts again at 3 s. Without Preempt the policy is not
// asked.
func TestPreemption(t *testing.T) {
	for _, preempt := range []bool{true, false} {
		r, st := run(t, sim.Config{
			Cluster: uniform(1), Policy: &killer{table: newTable(last)}, Preempt: preempt,
			Jobs: sim.Jobs(job(1, 0, []float64{5}), job(2, 1, []float64{2})),
		})
		if preempt {
			checkGantt(t, st, "1/0/0 slot 0 0s-1s preempted\n2/0/0 slot 0 1s-3s\n1/0/0 slot 0 3s-8s\n")
		} else {
			checkGantt(t, st, "1/0/0 slot 0 0s-5s\n2/0/0 slot 0 5s-7s\n")
		}
		if want := map[bool]uint64{true: 1}[preempt]; r.Wasted != want {
			t.Errorf("%d wasted, want %d", r.Wasted, want)
		}
	}
}

// picky refuses jobs by their pool.
type picky struct{ *table }

func (p picky) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobArrived {
		switch ev.Job.Pool {
		case "late":
			return &sojourn.EventError{Event: ev, Err: &sojourn.RejectedError{Job: ev.Job.ID, Misses: ev.Job.ID}}
		case "odd":
			return &sojourn.EventError{Event: ev, Err: sojourn.ErrUnsupported}
		}
	}
	return p.table.Observe(ev)
}

// Two of five jobs are refused, one finishes in time, one is 2 s late, and one needs
// reduce slots that do not exist.
func TestOutcomes(t *testing.T) {
	jobs := []*sim.Job{
		job(1, 1, []float64{1}), job(2, 1, []float64{1}), job(3, 1, []float64{2}), job(4, 1, []float64{2}), job(5, 1, []float64{1}, []float64{1}),
	}
	jobs[0].Pool, jobs[0].Deadline = "late", sojourn.Time(3*s)
	jobs[1].Pool = "odd"
	jobs[2].Deadline, jobs[2].Weight = sojourn.Time(3*s), 2
	jobs[3].Deadline = sojourn.Time(3 * s)
	for _, audit := range []bool{true, false} {
		r, st := run(t, sim.Config{
			Cluster: mapReduce(1, 1, 0), Policy: picky{newTable(first)}, Jobs: sim.Jobs(jobs...), Records: true, NoAudit: !audit,
		})
		var got []sim.Outcome
		for i, rec := range r.JobRecords {
			got = append(got, rec.Outcome)
			if rec.ID != sojourn.JobID(i+1) {
				t.Errorf("record %d is of job %d", i, rec.ID)
			}
		}
		want := []sim.Outcome{sim.Rejected, sim.Unsupported, sim.Finished, sim.Finished, sim.Failed}
		if !slices.Equal(got, want) {
			t.Errorf("outcomes %v, want %v", got, want)
		}
		if r.Rejected != 1 || r.Unsupported != 1 || r.Finished != 2 || r.Unfinished != 1 || r.Deadlines != 3 || r.Accepted != 2 || r.Met != 1 {
			t.Errorf("result %+v", r)
		}
		if want := (sim.Dist{N: 2, Mean: 1, Max: 2, Median: 0, P90: 2, P99: 2}); r.Tardiness != want {
			t.Errorf("tardiness %+v, want %+v", r.Tardiness, want)
		}
		if r.WeightedCompletion != 2*3+5 || r.WeightedSojourn != 2*2+4 {
			t.Errorf("weighted completion %v and sojourn %v, want 11 and 8", r.WeightedCompletion, r.WeightedSojourn)
		}
		if len(st.jobs) != 5 {
			t.Errorf("%d calls of Hooks.Job, want 5", len(st.jobs))
		}
		for _, rec := range st.jobs {
			if rec != r.JobRecords[rec.ID-1] {
				t.Errorf("Hooks.Job got %+v, records hold %+v", rec, r.JobRecords[rec.ID-1])
			}
		}
	}
}

// sleepless wants to be woken every second and assigns nothing.
type sleepless struct{ *table }

func (p sleepless) NextWake() (sojourn.Time, bool) { return p.now.Add(s), true }

// A run in which no policy starts the jobs ends by itself, even if the policy wakes or
// nodes fail for ever.
func TestRunEndsWithoutProgress(t *testing.T) {
	none := func([]sojourn.TaskID) int { return -1 }
	// The only slot is held by an attempt at the second phase, which waits for the
	// second task of the first.
	stuck := job(1, 0, []float64{1, 1}, []float64{1})
	stuck.Phases[1].After = 1
	for name, cfg := range map[string]sim.Config{
		"declines":      {Cluster: uniform(1), Policy: newTable(none), Jobs: sim.Jobs(job(1, 0, []float64{1}))},
		"wakes":         {Cluster: uniform(1), Policy: sleepless{newTable(none)}, Jobs: sim.Jobs(job(1, 0, []float64{1}))},
		"nodes fail":    {Cluster: uniform(1), Policy: newTable(none), Jobs: sim.Jobs(job(1, 0, []float64{1})), Faults: sim.Faults{MTBF: time.Hour, MTTR: s}},
		"slots missing": {Cluster: mapReduce(1, 0, 1), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1}))},
		"slots held":    {Cluster: uniform(1), Policy: newTable(last), Jobs: sim.Jobs(stuck), Progress: s},
	} {
		r, err := sim.Run(context.Background(), cfg)
		if err != nil || r.Unfinished != 1 || r.Finished != 0 {
			t.Errorf("%s: result %+v, error %v", name, r, err)
		}
	}
}

// A run whose context ends returns the cause.
func TestContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	n := 0
	endless := func(yield func(*sim.Job, error) bool) {
		for ; yield(job(sojourn.JobID(n+1), float64(n), []float64{0.1}), nil); n++ {
			if n == 20000 {
				cancel(cause)
			}
		}
	}
	_, err := sim.Run(ctx, sim.Config{Cluster: uniform(1), Policy: newTable(first), Jobs: endless})
	if !errors.Is(err, cause) || n > 30000 {
		t.Errorf("error %v after %d jobs, want %v", err, n, cause)
	}
}

// The same configuration gives the same story and the same result, on any number
// of processors.
func TestDeterminism(t *testing.T) {
	tell := func() string {
		cfg := busy(5)
		r, st := run(t, cfg)
		return fmt.Sprintf("%+v\n%v\n%+v\n%+v", *r, strings.Join(st.lines, "\n"), st.attempts, st.jobs)
	}
	want := tell()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for range 3 {
		if got := tell(); got != want {
			t.Fatal("two runs of one configuration differ")
		}
	}
}

// Quantiles without records equal those with records.
func TestQuantilesWithoutRecords(t *testing.T) {
	result := func(records, quantiles bool) *sim.Result {
		cfg := busy(5)
		cfg.Records, cfg.Quantiles = records, quantiles
		r, _ := run(t, cfg)
		return r
	}
	want := result(true, false)
	want.JobRecords = nil
	if got := result(false, true); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("with quantiles %+v, with records %+v", got, want)
	}
	if got := result(false, false); !math.IsNaN(got.Sojourn.Median) || math.IsNaN(want.Sojourn.Median) {
		t.Errorf("median %v with neither, %v with records", got.Sojourn.Median, want.Sojourn.Median)
	}
}

// busy returns a configuration with everything that can happen.
func busy(seed uint64) sim.Config {
	var jobs []*sim.Job
	for i := range 40 {
		j := job(sojourn.JobID(i+1), float64(i/2)*7, make([]float64, 1+i%7), make([]float64, 1+i%3))
		for p := range j.Times {
			for k := range j.Times[p].List {
				j.Times[p].List[k] = time.Duration(1+(i*31+p*17+k*7)%50) * s
			}
		}
		j.Phases[1].After = i % 2
		jobs = append(jobs, j)
	}
	c := mapReduce(4, 2, 1)
	c.Nodes[0].Speed = 0.7
	return sim.Config{
		Cluster: c, Policy: newTable(first), Jobs: sim.Jobs(jobs...), Seed: seed, Records: true,
		Estimates:  sim.Estimates{Mode: sim.LogNormal, Sigma: 0.5},
		Stragglers: sim.Stragglers{Probability: 0.2, Factor: 3},
		Faults:     sim.Faults{Task: 0.1, Refuse: 0.1, MTBF: 300 * s, MTTR: 40 * s, LoseOutput: true},
		Progress:   5 * s,
	}
}

// Under two policies the same attempts are slow, and the same ones fail at the same
// point.
func TestRunsOfOneSeedArePaired(t *testing.T) {
	type id struct {
		task    sojourn.TaskID
		attempt uint32
	}
	type fate struct {
		d       time.Duration
		outcome sim.Outcome
	}
	fates := func(seed uint64, pick func([]sojourn.TaskID) int) map[id]fate {
		cfg := busy(seed)
		cfg.Cluster = uniform(5)
		cfg.Policy = newTable(pick)
		cfg.Faults = sim.Faults{Task: 0.2, Refuse: 0.1}
		_, st := run(t, cfg)
		m := map[id]fate{}
		for _, a := range st.attempts {
			if a.Task.Phase == 0 {
				m[id{a.Task, a.Attempt}] = fate{a.End.Sub(a.Start), a.Outcome}
			}
		}
		return m
	}
	a, b := fates(1, first), fates(1, last)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("attempts under two policies: %v and %v", a, b)
	}
	if reflect.DeepEqual(a, fates(2, first)) {
		t.Error("attempts under two seeds are alike")
	}
}

// The policy is told the workload's own estimate, the true times, nothing, or the true
// times times one factor for each job or for all.
func TestEstimates(t *testing.T) {
	told := func(e sim.Estimates, jobs ...*sim.Job) (list []*sojourn.Job) {
		cfg := sim.Config{Cluster: mapReduce(1, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(jobs...), Estimates: e}
		cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
			if ev.Kind == sojourn.JobArrived {
				list = append(list, ev.Job)
			}
		}
		if _, err := sim.Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		return list
	}
	j := job(1, 0, []float64{1, 2}, []float64{3, 3})
	j.Times[1] = sim.Times{Each: 3 * s}
	known := job(2, 0, []float64{1, 2}, []float64{4})
	known.Phases[0].Estimate = 7 * s
	known.Phases[1].Estimates = []time.Duration{8 * s}

	if e := told(sim.Estimates{}, j)[0].Phases; !slices.Equal(e[0].Estimates, []time.Duration{s, 2 * s}) || e[1].Estimate != 3*s {
		t.Errorf("exact: told %+v", e)
	}
	if e := told(sim.Estimates{Mode: sim.None}, j)[0].Phases; e[0].Estimates != nil || e[0].Estimate != 0 || e[1].Estimate != 0 {
		t.Errorf("none: told %+v", e)
	}
	if e := told(sim.Estimates{Mode: sim.Scaled, Factor: 10}, j)[0].Phases; !slices.Equal(e[0].Estimates, []time.Duration{10 * s, 20 * s}) || e[1].Estimate != 30*s {
		t.Errorf("scaled: told %+v", e)
	}
	for _, mode := range []sim.Estimates{{}, {Mode: sim.None}, {Mode: sim.LogNormal, Sigma: 1}, {Mode: sim.Scaled, Factor: 2}} {
		e := told(mode, known)[0].Phases
		if e[0].Estimate != 7*s || e[0].Estimates != nil || e[1].EstimateOf(0) != 8*s {
			t.Errorf("mode %d: told %+v of a job with estimates", mode.Mode, e)
		}
	}

	// The logarithm of the factor has mean 0 and standard deviation 0.5. About half of
	// 2000 factors are above 1, give or take 22, and 15.9 % are above exp(0.5) = 1.6487,
	// give or take 16.
	var many []*sim.Job
	for i := range 2000 {
		many = append(many, job(sojourn.JobID(i+1), 0, []float64{1, 2}))
	}
	above, far := 0, 0
	for _, j := range told(sim.Estimates{Mode: sim.LogNormal, Sigma: 0.5}, many...) {
		e := j.Phases[0].Estimates
		if d := e[1] - 2*e[0]; d < -1 || d > 1 {
			t.Errorf("job %d: estimates %v are not off by one factor", j.ID, e)
		}
		if e[0] > s {
			above++
		}
		if e[0] > 1648700*time.Microsecond {
			far++
		}
	}
	if above < 890 || above > 1110 || far < 240 || far > 400 {
		t.Errorf("%d of 2000 factors above 1 and %d above 1.6487, want about 1000 and 317", above, far)
	}
}

// Times between failures and until recovery have the means that the configuration gives.
func TestNodeFailuresByChance(t *testing.T) {
	var down, up []sojourn.Time
	cfg := sim.Config{
		Cluster: uniform(1), Policy: newTable(first), Jobs: sim.Jobs(job(1, 1000000, []float64{1})),
		Faults: sim.Faults{MTBF: 300 * s, MTTR: 100 * s}, Seed: 9,
	}
	cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
		switch ev.Kind {
		case sojourn.NodeDown:
			down = append(down, ev.At)
		case sojourn.NodeUp:
			up = append(up, ev.At)
		}
	}
	if _, err := sim.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	// A million seconds are 2500 cycles of 400 s, give or take 2500^0.5 * 316/400 = 40.
	if len(down) < 2300 || len(down) > 2700 {
		t.Errorf("%d failures in a million seconds, want about 2500", len(down))
	}
	var off time.Duration
	for i := range up {
		off += up[i].Sub(down[i])
	}
	if mean := off / time.Duration(len(up)); mean < 90*s || mean > 110*s {
		t.Errorf("recovery after %v on average, want about 100s", mean)
	}
}

// Without records, the memory of a run does not grow with the jobs that have ended.
func TestMemoryIsBoundedByLiveJobs(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 200_000
	var before, after uint64
	jobs := func(yield func(*sim.Job, error) bool) {
		for i := range n {
			switch i {
			case n / 10:
				before = heap()
			case n - 1:
				after = heap()
			}
			j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 1}}}, At: sojourn.Time(i) * sojourn.Time(s)}
			j.Times = []sim.Times{{Each: 1900 * time.Millisecond}}
			if !yield(j, nil) {
				return
			}
		}
	}
	r, err := sim.Run(context.Background(), sim.Config{Cluster: uniform(2), Policy: newTable(first), Jobs: jobs})
	if err != nil || r.Finished != n {
		t.Fatalf("%d of %d jobs finished, error %v", r.Finished, n, err)
	}
	if after > before+100<<10 {
		t.Errorf("heap grew from %d to %d bytes over %d jobs", before, after, n*9/10)
	}
	if r.Sojourn.Median == r.Sojourn.Median || r.JobRecords != nil {
		t.Errorf("median %v and %d records without Records", r.Sojourn.Median, len(r.JobRecords))
	}
}

// Metrics cover the jobs that finished, and utilisation ends with the last of them. Job 1
// takes 4 of the 4 s until its finish. Job 2 arrives at 100 s and finds no slot of its
// class. The deadline of job 1 is met to the nanosecond.
func TestMetricsLeaveOutWhatDidNotFinish(t *testing.T) {
	done, never := job(1, 0, []float64{4}), job(2, 100, []float64{1})
	done.Deadline = sojourn.Time(4 * s)
	setClass(never, 0, 1)
	r, _ := run(t, sim.Config{
		Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{1}}}}, Policy: newTable(first), Jobs: sim.Jobs(done, never),
	})
	if r.Finished != 1 || r.Unfinished != 1 || r.Jain != 1 || !slices.Equal(r.Utilisation, []float64{1}) || r.Met != 1 || r.Makespan != 4*s {
		t.Errorf("finished %d, unfinished %d, Jain %v, utilisation %v, met %d, makespan %v, want 1, 1, 1, [1], 1, 4s",
			r.Finished, r.Unfinished, r.Jain, r.Utilisation, r.Met, r.Makespan)
	}
}
