package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Every mistake in a configuration or a job is named, and nothing runs.
func TestInputThatIsWrong(t *testing.T) {
	broken := func(f func(*sim.Job)) func(*sim.Config) {
		return func(c *sim.Config) {
			j := job(7, 1, []float64{1, 1}, []float64{1})
			f(j)
			c.Jobs = sim.Jobs(job(1, 0, []float64{1}), j)
		}
	}
	script := func(faults ...sim.NodeFault) func(*sim.Config) {
		return func(c *sim.Config) { c.Faults.Script = faults }
	}
	for name, tc := range map[string]struct {
		mistake func(*sim.Config)
		want    string
	}{
		"policy":            {func(c *sim.Config) { c.Policy = nil }, "sim: Policy is <nil>: want a policy"},
		"jobs":              {func(c *sim.Config) { c.Jobs = nil }, "sim: Jobs is nil: want a workload"},
		"progress":          {func(c *sim.Config) { c.Progress = -1 }, "Progress is -1ns: want at least 0s"},
		"mode":              {func(c *sim.Config) { c.Estimates.Mode = 9 }, "Estimates.Mode is 9: want 0 to 3"},
		"sigma negative":    {func(c *sim.Config) { c.Estimates = sim.Estimates{Mode: sim.LogNormal, Sigma: -1} }, "Estimates.Sigma is -1: want 0 to"},
		"sigma NaN":         {func(c *sim.Config) { c.Estimates = sim.Estimates{Mode: sim.LogNormal, Sigma: math.NaN()} }, "Estimates.Sigma is NaN"},
		"sigma alone":       {func(c *sim.Config) { c.Estimates.Sigma = 1 }, "Estimates.Sigma is 1: want 0 without LogNormal"},
		"scale":             {func(c *sim.Config) { c.Estimates.Mode = sim.Scaled }, "Estimates.Factor is 0: want above 0 with Scaled"},
		"scale alone":       {func(c *sim.Config) { c.Estimates.Factor = 1 }, "Estimates.Factor is 1: want above 0 with Scaled, and 0 without"},
		"scale infinite":    {func(c *sim.Config) { c.Estimates = sim.Estimates{Mode: sim.Scaled, Factor: math.Inf(1)} }, "Estimates.Factor is +Inf: want 0 to"},
		"stragglers":        {func(c *sim.Config) { c.Stragglers.Probability = 1.5 }, "Stragglers.Probability is 1.5: want 0 to 1"},
		"factor":            {func(c *sim.Config) { c.Stragglers = sim.Stragglers{Probability: 1, Factor: 0.5} }, "Stragglers.Factor is 0.5: want 1 to"},
		"factor infinite":   {func(c *sim.Config) { c.Stragglers = sim.Stragglers{Probability: 1, Factor: math.Inf(1)} }, "Stragglers.Factor is +Inf: want 1 to"},
		"reads":             {func(c *sim.Config) { c.Remote.Rack = -1 }, "Remote.Rack is -1: want 0 to"},
		"reads NaN":         {func(c *sim.Config) { c.Remote.Remote = math.NaN() }, "Remote.Remote is NaN: want 0 to"},
		"failures":          {func(c *sim.Config) { c.Faults.Task = 1 }, "Faults.Task is 1: want 0 to below 1"},
		"failures NaN":      {func(c *sim.Config) { c.Faults.Task = math.NaN() }, "Faults.Task is NaN"},
		"refusals":          {func(c *sim.Config) { c.Faults.Refuse = 1 }, "Faults.Refuse is 1: want 0 to below 1"},
		"MTBF alone":        {func(c *sim.Config) { c.Faults.MTBF = s }, "Faults.MTBF is 1s: want 0 if and only if MTTR is, which is 0s"},
		"MTTR negative":     {func(c *sim.Config) { c.Faults.MTBF, c.Faults.MTTR = s, -s }, "Faults.MTTR is -1s: want at least 0s"},
		"no slots":          {func(c *sim.Config) { c.Cluster = mapReduce(3, 0, 0) }, "no slots"},
		"negative slots":    {func(c *sim.Config) { c.Cluster.Nodes[0].Slots[1] = -2 }, `node 1 "n1": -2 slots of class 1`},
		"too many slots":    {func(c *sim.Config) { c.Cluster.Nodes[1].Slots[1] = 1 << 24 }, `node 2 "n2": more than 16777216`},
		"speed":             {func(c *sim.Config) { c.Cluster.Nodes[1].Speed = math.NaN() }, `node 2 "n2": speed NaN`},
		"speed negative":    {func(c *sim.Config) { c.Cluster.Nodes[1].Speed = -1 }, "speed -1"},
		"uniform":           {func(c *sim.Config) { c.Cluster.Uniform = true }, "1 slots of class 1 in a uniform"},
		"script order":      {script(sim.NodeFault{At: 2, Node: 1}, sim.NodeFault{At: 1, Node: 2}), "entry 2: node 2 at 1ns is out of order"},
		"script node":       {script(sim.NodeFault{At: 2, Node: 3}), "node 3 at 2ns does not exist"},
		"script zero":       {script(sim.NodeFault{At: 2}), "node 0 at 2ns does not exist"},
		"script state":      {script(sim.NodeFault{Node: 1}, sim.NodeFault{At: 1, Node: 1}), "entry 2: node 1 at 1ns is in that state already"},
		"script negative":   {script(sim.NodeFault{At: -1, Node: 1}), "out of order"},
		"job nil":           {func(c *sim.Config) { c.Jobs = sim.Jobs(nil) }, "job 1 of the workload is nil"},
		"job ID":            {broken(func(j *sim.Job) { j.ID = 0 }), "job 0: invalid job: zero ID"},
		"job twice":         {broken(func(j *sim.Job) { j.ID, j.At = 1, 0 }), "job 1: an earlier job of that ID"},
		"job early":         {broken(func(j *sim.Job) { j.At = -1 }), "job 7 arrives at -1ns"},
		"job phases":        {broken(func(j *sim.Job) { j.Phases = nil }), "job 7: invalid job: 0 phases"},
		"job times":         {broken(func(j *sim.Job) { j.Times = j.Times[:1] }), "job 7: times of 1 phases for 2 phases"},
		"job tasks":         {broken(func(j *sim.Job) { j.Phases[0].Tasks = 3 }), "job 7: phase 0: 2 times for 3 tasks"},
		"job no tasks":      {broken(func(j *sim.Job) { j.Phases[0].Tasks, j.Times[0] = 0, sim.Times{} }), "job 7: invalid job: phase 0: 0 tasks"},
		"job classes":       {broken(func(j *sim.Job) { j.AnyClass = make([]bool, 3) }), "job 7: classes of 3 phases for 2 phases"},
		"job time":          {broken(func(j *sim.Job) { j.Times[0].List[1] = -1 }), "job 7: phase 0: task 1: negative time -1ns"},
		"job each":          {broken(func(j *sim.Job) { j.Times[1] = sim.Times{Each: -1} }), "job 7: phase 1: negative time -1ns"},
		"job time range":    {broken(func(j *sim.Job) { j.Times[0] = sim.Times{Each: math.MaxInt64/2 + 1} }), "job 7: phase 0: 2 tasks of"},
		"job list range":    {broken(func(j *sim.Job) { j.Times[0].List[0] = math.MaxInt64 }), "the sum of the times"},
		"job weight":        {broken(func(j *sim.Job) { j.Weight = math.NaN() }), "weight NaN"},
		"end of time":       {broken(func(j *sim.Job) { j.Times[1].List[0] = math.MaxInt64 }), "task 7/1/0, started at 2s: its end is out of the range"},
		"end of input":      {broken(func(j *sim.Job) { j.Phases[0].Delays = []time.Duration{math.MaxInt64, 0} }), "task 7/0/0, started at 1s: its end is out of the range"},
		"stragglers' range": {func(c *sim.Config) { c.Stragglers = sim.Stragglers{Probability: 1, Factor: 1e300} }, "out of the range"},
	} {
		cfg := sim.Config{Cluster: mapReduce(2, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1}))}
		tc.mistake(&cfg)
		r, err := sim.Run(context.Background(), cfg)
		if err == nil || !strings.HasPrefix(err.Error(), "sim: ") || !strings.Contains(err.Error(), tc.want) || r != nil {
			t.Errorf("%s: result %v, error %v, want %q", name, r, err, tc.want)
		}
		if asPolicyError(err) != nil {
			t.Errorf("%s: the policy is blamed: %v", name, err)
		}
	}
}

// Run refuses what Validate refuses, with its error.
func TestValidate(t *testing.T) {
	for _, mistake := range []func(*sim.Config){
		func(*sim.Config) {}, // none
		func(c *sim.Config) { c.Policy = nil },
		func(c *sim.Config) { c.Estimates.Sigma = 1 },
		func(c *sim.Config) { c.Stragglers.Probability = 2 },
		func(c *sim.Config) { c.Remote.Node = -1 },
		func(c *sim.Config) { c.Network.Overlap = true },
		func(c *sim.Config) { c.Cluster.Nodes = nil },
		func(c *sim.Config) { c.Faults.Refuse = 1 },
	} {
		cfg := sim.Config{Cluster: mapReduce(2, 1, 1), Policy: newTable(first), Jobs: sim.Jobs(job(1, 0, []float64{1}))}
		mistake(&cfg)
		want := cfg.Validate()
		if _, err := sim.Run(context.Background(), cfg); fmt.Sprint(err) != fmt.Sprint(want) {
			t.Errorf("Run: %v, want the error of Validate: %v", err, want)
		}
	}
}

// An error of the workload ends the run and is returned unchanged.
func TestWorkloadError(t *testing.T) {
	bad := errors.New("line 3: no")
	_, err := sim.Run(context.Background(), sim.Config{
		Cluster: uniform(1), Policy: newTable(first),
		Jobs: func(yield func(*sim.Job, error) bool) {
			_ = yield(job(1, 0, []float64{1}), nil) && yield(nil, bad)
		},
	})
	if err != bad {
		t.Errorf("error %v, want %v", err, bad)
	}
}

// rogue changes what its policy answers.
type rogue struct {
	*table
	assign  func(sojourn.Assignment) sojourn.Assignment
	observe func(sojourn.Event) error
}

func (p *rogue) Observe(ev sojourn.Event) error {
	if p.observe != nil {
		if err := p.observe(ev); err != nil {
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	return p.table.Observe(ev)
}

func (p *rogue) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.table.Assign(id)
	if ok && p.assign != nil {
		a = p.assign(a)
	}
	return a, ok
}

// seeking names a slot, and its Assign declines.
type seeking struct {
	*table
	slot sojourn.SlotID
}

func (p seeking) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.slot, c == 0 }

// victims names an attempt to kill.
type victims struct {
	*table
	v sojourn.Preemption
}

func (p victims) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	return append(dst, p.v)
}

// relentless always wants to kill the attempt that it has just started.
type relentless struct{ *table }

func (p relentless) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if e := p.find(1); e != nil {
		dst = append(dst, sojourn.Preemption{Task: sojourn.TaskID{Job: 1}, Attempt: e.tries[0][0]})
	}
	return dst
}

// insomniac wants to be woken now, whenever it is asked.
type insomniac struct{ *table }

func (p insomniac) NextWake() (sojourn.Time, bool) { return p.now, len(p.jobs) > 0 }

// Each breach of the contract stops the run and is described.
func TestPolicyThatBreaksTheContract(t *testing.T) {
	none := func([]sojourn.TaskID) int { return -1 }
	assign := func(f func(a *sojourn.Assignment)) sojourn.Policy {
		return &rogue{table: newTable(first), assign: func(a sojourn.Assignment) sojourn.Assignment {
			f(&a)
			return a
		}}
	}
	refuse := func(kind sojourn.EventKind, err error) sojourn.Policy {
		return &rogue{table: newTable(first), observe: func(ev sojourn.Event) error {
			if ev.Kind == kind {
				return err
			}
			return nil
		}}
	}
	n := uint32(0)
	for name, tc := range map[string]struct {
		p    sojourn.Policy
		want string
	}{
		"slot":         {assign(func(a *sojourn.Assignment) { a.Slot = 1 }), "was offered slot 0 and assigned slot 1"},
		"job":          {assign(func(a *sojourn.Assignment) { a.Task.Job = 9 }), "assigned task 9/0/0 of a job that is not live"},
		"phase":        {assign(func(a *sojourn.Assignment) { a.Task.Phase = 2 }), "assigned task 1/2/0, which does not exist"},
		"index":        {assign(func(a *sojourn.Assignment) { a.Task.Index = 2 }), "assigned task 1/0/2, which does not exist"},
		"class":        {assign(func(a *sojourn.Assignment) { a.Task.Phase = 1 }), "assigned task 1/1/0 of class 1 to slot 0 of class 0"},
		"attempt":      {assign(func(a *sojourn.Assignment) { a.Attempt = 2 }), "attempt at task 1/0/0 number 2 instead of 1"},
		"locality":     {assign(func(a *sojourn.Assignment) { a.Locality = 31 }), "with locality Locality(31)"},
		"source":       {assign(func(a *sojourn.Assignment) { a.Source = 1 }), "assigned task 1/0/0 to read from node 1, which does not hold its input"},
		"twice":        {assign(func(a *sojourn.Assignment) { a.Task.Index, n = n/2, n+1 }), "assigned task 1/0/0, which is not pending"},
		"barrier":      {assign(func(a *sojourn.Assignment) { a.Task.Phase = 2 }), "assigned task 1/2/0 after 0 of 1 tasks"},
		"event":        {refuse(sojourn.TaskFinished, sojourn.ErrStaleAttempt), "refused TaskFinished task 1/0/0"},
		"slot event":   {refuse(sojourn.SlotAdded, sojourn.ErrInvalidSlot), "refused SlotAdded slot 0"},
		"arrival":      {refuse(sojourn.JobArrived, sojourn.ErrDuplicateJob), "refused job 1: "},
		"seek busy":    {seeking{newTable(first), 0}, "sought slot 0 of class 0, which is not free"},
		"seek unknown": {seeking{newTable(first), 99}, "sought slot 99 of class 0, which is not free"},
		"seek class":   {seeking{newTable(first), 2}, "sought slot 2 of class 0, which is not free"},
		"seek decline": {seeking{newTable(none), 0}, "declined slot 0 after seeking it"},
		"kill unknown": {victims{newTable(first), sojourn.Preemption{Slot: 77}}, "slot 77 killed, which does not exist"},
		"kill other":   {victims{newTable(first), sojourn.Preemption{Task: sojourn.TaskID{Job: 1}, Attempt: 2}}, "killed, which does not run"},
		"kill always":  {relentless{newTable(first)}, "attempts to be killed at one instant, on 3 slots"},
		"wake always":  {insomniac{newTable(none)}, "wakes again and again"},
	} {
		j := job(1, 0, []float64{1, 1}, []float64{1}, []float64{1})
		if name == "barrier" {
			setClass(j, 2, 0)
		}
		if name == "phase" {
			j.Phases, j.Times, j.AnyClass = j.Phases[:2], j.Times[:2], j.AnyClass[:2]
		}
		_, err := sim.Run(context.Background(), sim.Config{
			Cluster: mapReduce(1, 2, 1), Policy: tc.p, Jobs: sim.Jobs(j), Preempt: true,
		})
		pe := asPolicyError(err)
		if pe == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
		if strings.Contains(name, "event") && !errors.As(err, new(*sojourn.EventError)) {
			t.Errorf("%s: error %v does not wrap what Observe returned", name, err)
		}
	}
}
