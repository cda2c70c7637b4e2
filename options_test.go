package sojourn_test

import (
	"math"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// A maker makes a policy of zero options, or of others.
type maker struct {
	name string
	make func() (sojourn.Policy, error)
}

func madeBy[O any](name string, make constructors.Constructor[O]) maker {
	return maker{name, func() (sojourn.Policy, error) {
		var zero O
		return make(zero)
	}}
}

// All policies.
var makers = slices.Concat(placing, rigid)

// Policies of rigid jobs: of one phase, whose tasks are gangs. A gang is on no node in particular.
var rigid = []maker{
	madeBy("fcfs", constructors.FCFS),
	madeBy("easy", constructors.EASY),
	madeBy("conservative", constructors.Conservative),
}

// Policies that choose among the tasks of a job by where their input is.
var placing = []maker{
	madeBy("default", constructors.LeastWork),
	madeBy("fifo", constructors.FIFO),
	madeBy("fair", pooled.Fair),
	madeBy("srpt", constructors.SRPT),
	madeBy("fsp", constructors.FSP),
	madeBy("las", constructors.LAS),
	madeBy("local", constructors.Local),
	madeBy("huwf", constructors.HUWF),
	madeBy("hjwf", constructors.HJWF),
	madeBy("stf", constructors.STF),
	madeBy("htwf", constructors.HTWF),
	madeBy("dc", constructors.Deadline),
	madeBy("pfsp", constructors.PFSP),
	madeBy("hfsp", constructors.HFSP),
	madeBy("td", constructors.TD),
	madeBy("rtmr", constructors.RTMR),
	madeBy("mars", constructors.MarS),
}

// Under every policy but those of gangs, a slot gets the task whose input is closest among tasks that are
// otherwise alike: on the node, then anywhere, then on the rack, then the rest. So
// comparisons of policies compare only the order of jobs.
func TestEveryPolicyTakesTheClosestTask(t *testing.T) {
	for _, m := range placing {
		p, err := m.make()
		if err != nil {
			t.Fatalf("%s: %v", m.name, err)
		}
		// Nodes 1 and 2 are on rack 1, node 3 on rack 2; the only slot is on node 1.
		for n, rack := range []sojourn.RackID{1, 1, 2} {
			tell(p, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{
				ID: sojourn.SlotID(n), Node: sojourn.NodeID(n + 1), Rack: rack, Class: sojourn.Class(min(n, 1)),
			}})
		}
		tell(p, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: 1, Deadline: sojourn.Time(time.Hour),
			Phases: []sojourn.Phase{{
				Tasks: 4, Estimate: time.Second,
				Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{3}, {2}, nil, {1}}),
			}},
		}})
		tell(p, sojourn.Event{Kind: sojourn.Tick}) // mars plans at the Tick that it is owed
		for i, want := range []uint32{3, 2, 1, 0} {
			a, ok := p.Assign(0)
			if !ok || a.Task.Index != want {
				t.Errorf("%s: assignment %d is %v, %v, want task %d", m.name, i+1, a, ok, want)
				break
			}
			tell(p, sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}, Service: time.Second})
		}
	}
}

// Late means the same everywhere. Zero is the policy's default and decides like the
// default, so each can restore the state of the other.
func TestLateDefault(t *testing.T) {
	makers := map[string]struct {
		make  func(vqueue.Late) (sojourn.Policy, error)
		means vqueue.Late
	}{
		"fsp": {func(l vqueue.Late) (sojourn.Policy, error) {
			return constructors.FSP(baseline.FSPOptions{Late: l})
		}, vqueue.LateFirst},
		"hfsp": {func(l vqueue.Late) (sojourn.Policy, error) { return constructors.HFSP(hfsp.Options{Late: l}) }, vqueue.LateShare},
		"pfsp": {func(l vqueue.Late) (sojourn.Policy, error) { return constructors.PFSP(pfsp.Options{Late: l}) }, vqueue.LateDefault},
	}
	for name, m := range makers {
		snapshotter := func(l vqueue.Late) sojourn.Snapshotter {
			p, err := m.make(l)
			if err != nil {
				t.Fatal(err)
			}
			return p.(sojourn.Snapshotter)
		}
		data, err := snapshotter(vqueue.LateDefault).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []vqueue.Late{vqueue.LateDefault, vqueue.LateFirst, vqueue.LateShare} {
			err := snapshotter(l).UnmarshalBinary(data)
			if same := l == vqueue.LateDefault || l == m.means; (err == nil) != same {
				t.Errorf("%s: what the default has saved is restored under %v: %v", name, l, err)
			}
		}
	}
}

// A domain describes the values of a field of options: the ends of its range, and the
// values just outside. with sets other options that a value needs.
type domain struct {
	good, bad []any
	with      func(options reflect.Value)
}

// at returns the domain of numbers from least to most; with zero, 0 means the default.
func at[N int | int64 | uint32 | uint64 | float64 | time.Duration](least, most N, zero ...bool) domain {
	d := domain{good: []any{N(0), least, most}}
	below, above := least-1, most+1
	switch a := any(least).(type) {
	case float64:
		b := any(most).(float64)
		below, above = N(math.Nextafter(a, math.Inf(-1))), N(math.Nextafter(b, math.Inf(1)))
		d.bad = append(d.bad, N(math.NaN()), N(math.Inf(1)), N(math.Inf(-1)))
		if len(zero) > 0 {
			d.bad = append(d.bad, -math.SmallestNonzeroFloat64)
		}
	}
	if below < least && (below != 0 || len(zero) == 0) {
		d.bad = append(d.bad, below)
	}
	if above > most {
		d.bad = append(d.bad, above)
	}
	return d
}

// beside returns d for a field that needs others to be set.
func (d domain) beside(with func(options reflect.Value)) domain {
	d.with = with
	return d
}

func set(field string, value any) func(reflect.Value) {
	return func(options reflect.Value) { options.FieldByName(field).Set(reflect.ValueOf(value)) }
}

func choices[E ~uint8](last E) domain {
	return domain{good: []any{E(0), last}, bad: []any{last + 1, E(255)}}
}

var (
	anyBool  = domain{good: []any{false, true}}
	anything = domain{}
	anyTime  = at(time.Duration(0), math.MaxInt64)
	anyCount = at(0, math.MaxInt)
	below32  = math.Nextafter(1<<32, 0)
)

// Every options type of the policies, and the domain of each of its fields.
var optionTypes = []struct {
	zero   interface{ Validate() error }
	fields map[string]domain
}{
	{fifo.Options{}, map[string]domain{"IgnoreLocality": anyBool}},
	{fair.Options{}, map[string]domain{
		"Order": choices(fair.Running), "Ties": choices(fair.Arrival), "Pools": anything, "Strict": anyBool, "IgnoreLocality": anyBool,
		"Delay": anyTime, "HalfLife": anyTime, "Credit": anyTime, "Window": anyTime, "RackDelay": at(time.Duration(0), math.MaxInt64).beside(set("Delay", time.Second)), "Preemption": anything, "Reserve": at(0.0, 1), "Places": at(0, sojourn.MaxSlots),
		"Cost": {good: []any{fair.Cost{0: {1}}, fair.Cost{255: slices.Repeat([]uint32{math.MaxUint32}, fair.MaxResources)}},
			bad: []any{fair.Cost{}, fair.Cost{0: {0}}, fair.Cost{0: {}}, fair.Cost{0: {1}, 255: {1, 1}}, fair.Cost{255: slices.Repeat([]uint32{1}, fair.MaxResources+1)}}},
	}},
	{fair.Pool{}, map[string]domain{
		"Weight": at(1.0/(1<<16), below32, true), "Min": {good: []any{fair.Slots{0: 0}, fair.Slots{255: sojourn.MaxSlots}}, bad: []any{fair.Slots{0: -1}, fair.Slots{255: sojourn.MaxSlots + 1}}},
		"Max":     {good: []any{fair.Slots{0: 1}, fair.Slots{255: sojourn.MaxSlots}}, bad: []any{fair.Slots{0: 0}, fair.Slots{255: sojourn.MaxSlots + 1}}},
		"MaxJobs": at(0, math.MaxInt32), "FIFO": anyBool, "Policy": anything,
	}},
	{fair.Preemption{}, map[string]domain{
		"MinTimeout": anyTime, "FairTimeout": anyTime, "Interval": at(time.Millisecond, math.MaxInt64), "Limit": anyCount, "ReportOnly": anyBool,
	}},
	{baseline.SRPTOptions{}, map[string]domain{"DefaultTaskTime": anyTime, "Reserve": at(0.0, 1), "Counted": anyBool}},
	{baseline.FSPOptions{}, map[string]domain{"Late": choices(vqueue.LateShare), "DefaultTaskTime": anyTime, "Reserve": at(0.0, 1), "Counted": anyBool}},
	{baseline.LASOptions{}, map[string]domain{"Reserve": at(0.0, 1)}},
	{baseline.LocalOptions{}, nil},
	{leastwork.Options{}, map[string]domain{"Patience": at(0, 4096), "Gangs": anyBool}},
	{baseline.ListOptions{}, map[string]domain{"DefaultTaskTime": anyTime}},
	{baseline.DeadlineConstraintOptions{}, map[string]domain{"HoldSlots": anyBool}},
	{baseline.BackfillOptions{}, map[string]domain{"Places": at(0, sojourn.MaxSlots)}},
	{pfsp.Options{}, map[string]domain{
		"FairLimit": at(0, 1<<16), "NoGate": anyBool, "Order": choices(pfsp.FSP), "Late": choices(vqueue.LateShare), "DefaultTaskTime": anyTime,
		"Alpha": at(0.0, math.Nextafter(1, 0)), "MinProgress": at(0.0, 1), "UpdateInterval": anyTime, "Reserve": at(0.0, 1), "Counted": anyBool,
	}},
	{hfsp.Options{}, map[string]domain{
		"TrainingTasks": at(0, math.MaxInt32), "TrainingSlots": anyCount, "Delta": anyTime, "Xi": at(1.0, below32, true), "DefaultTaskTime": anyTime,
		"Estimator": anything, "Late": choices(vqueue.LateShare), "Preemption": choices(hfsp.KillAny), "KillFraction": at(0.0, below32),
		"EarlySlots": anyCount, "EarlyDelay": anyTime, "NodeDelay": anyTime, "RackDelay": anyTime, "Reserve": at(0.0, 1),
	}},
	{td.Options{}, map[string]domain{
		"L": at(math.SmallestNonzeroFloat64, 1, true), "H": at(1.0, 1024, true), "Theta": at(0, math.MaxInt32), "SplitTime": anyTime, "SplitSize": at(int64(0), math.MaxInt64),
		"Bandwidth": at(0.0, math.MaxFloat64), "HotPolicy": choices(td.Strict), "MaxCoScheduled": anyCount, "Demand": at(uint32(0), math.MaxUint32), "DemandOf": anything,
		"DefaultTaskTime": anyTime, "SelfTune": anyBool, "AsPrinted": anyBool,
	}},
	{rtmr.Options{}, map[string]domain{
		"Booking": choices(rtmr.Chain), "Order": choices(rtmr.FIFO), "OnePosition": anyBool, "Feedback": anyBool.beside(set("Booking", rtmr.Chain)),
		"Delta":   anyTime.beside(func(o reflect.Value) { set("Booking", rtmr.Chain)(o); set("Feedback", true)(o) }),
		"Latency": anyTime, "RequireDeadline": anyBool, "MapRate": anyTime, "ReduceRate": anyTime, "StartUp": anyTime,
		"Ratio": at(0.0, math.MaxUint32), "Skew": at(1.0, math.MaxUint32, true), "Learn": anyBool, "PaperReservation": anyBool,
	}},
	{mars.Options{}, map[string]domain{
		"Batch": at(time.Duration(0), 1<<61-1), "Commit": anyBool.beside(set("Batch", time.Second)), "Interval": at(time.Duration(0), 1<<61-1),
		"Iterations": anyCount, "Step": anyCount, "DefaultTaskTime": anyTime,
	}},
	{plan.Options{}, map[string]domain{
		"Planner": {good: []any{plan.Planner(""), plan.Planner("h-mares")}, bad: []any{plan.Planner("marx")}}, "Gap": at(0.0, 1),
		"Iterations": anyCount, "Evaluations": at(math.MinInt, math.MaxInt), "Seed": at(uint64(0), math.MaxUint64),
		"Epsilon": at(0.0, math.Nextafter(1, 0)), "Rounds": anyCount, "Online": anything, "ReleaseCuts": anyBool,
	}},
}

// The zero options are valid, and so are the ends of the range of each field. A value
// just outside is refused with an error that begins with the package and names the
// field.
func TestOptionsAreValidated(t *testing.T) {
	for _, o := range optionTypes {
		typ := reflect.TypeOf(o.zero)
		if err := o.zero.Validate(); err != nil {
			t.Errorf("%v{}.Validate() = %v, want nil", typ, err)
		}
		for i := range typ.NumField() {
			if !typ.Field(i).IsExported() {
				continue
			}
			name := typ.Field(i).Name
			d, ok := o.fields[name]
			if !ok {
				t.Errorf("%v.%s is not in the table", typ, name)
			}
			validate := func(value any) error {
				options := reflect.New(typ).Elem()
				if d.with != nil {
					d.with(options)
				}
				v, field := reflect.ValueOf(value), options.Field(i)
				if field.Kind() == reflect.Pointer {
					p := reflect.New(field.Type().Elem())
					p.Elem().Set(v)
					v = p
				}
				field.Set(v)
				return options.Interface().(interface{ Validate() error }).Validate()
			}
			for _, value := range d.good {
				if err := validate(value); err != nil {
					t.Errorf("%v of %s %v: %v, want nil", typ, name, value, err)
				}
			}
			for _, value := range d.bad {
				err := validate(value)
				if err == nil || !strings.Contains(err.Error(), name) || strings.HasSuffix(typ.Name(), "Options") && !strings.HasPrefix(err.Error(), path.Base(typ.PkgPath())+": ") {
					t.Errorf("%v of %s %v: %v, want an error that names package and field", typ, name, value, err)
				}
			}
		}
	}
}

// The table has every exported options type of the policies.
func TestOptionTypes(t *testing.T) {
	known := map[string]bool{}
	for _, o := range optionTypes {
		typ := reflect.TypeOf(o.zero)
		known[strings.TrimPrefix(typ.PkgPath(), "github.com/sojourn-sched/")+", type "+typ.Name()+" struct"] = true
	}
	api, err := os.ReadFile("testdata/api.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(api)) {
		symbol, _ := strings.CutPrefix(strings.TrimSpace(line), "pkg ")
		dir, _, _ := strings.Cut(strings.TrimPrefix(symbol, "sojourn/"), ",")
		if strings.HasSuffix(symbol, "Options struct") && kindOf(dir) == policy && !known[symbol] {
			t.Errorf("%s: its ranges are not tested", symbol)
		}
	}
}

// New refuses what Validate refuses, with the same error.
func TestNewValidates(t *testing.T) {
	minus := time.Duration(-1)
	for _, tc := range []struct {
		options interface{ Validate() error }
		make    func() (sojourn.Policy, error)
	}{
		{fair.Options{Delay: minus}, func() (sojourn.Policy, error) { return pooled.Fair(fair.Options{Delay: minus}) }},
		{baseline.SRPTOptions{DefaultTaskTime: minus}, func() (sojourn.Policy, error) {
			return constructors.SRPT(baseline.SRPTOptions{DefaultTaskTime: minus})
		}},
		{baseline.FSPOptions{DefaultTaskTime: minus}, func() (sojourn.Policy, error) {
			return constructors.FSP(baseline.FSPOptions{DefaultTaskTime: minus})
		}},
		{baseline.ListOptions{DefaultTaskTime: minus}, func() (sojourn.Policy, error) {
			return constructors.STF(baseline.ListOptions{DefaultTaskTime: minus})
		}},
		{pfsp.Options{DefaultTaskTime: minus}, func() (sojourn.Policy, error) { return constructors.PFSP(pfsp.Options{DefaultTaskTime: minus}) }},
		{hfsp.Options{DefaultTaskTime: minus}, func() (sojourn.Policy, error) { return constructors.HFSP(hfsp.Options{DefaultTaskTime: minus}) }},
		{td.Options{DefaultTaskTime: minus}, func() (sojourn.Policy, error) { return constructors.TD(td.Options{DefaultTaskTime: minus}) }},
		{rtmr.Options{Latency: minus}, func() (sojourn.Policy, error) { return constructors.RTMR(rtmr.Options{Latency: minus}) }},
		{mars.Options{DefaultTaskTime: minus}, func() (sojourn.Policy, error) { return constructors.MarS(mars.Options{DefaultTaskTime: minus}) }},
	} {
		want := tc.options.Validate()
		if _, err := tc.make(); want == nil || err == nil || err.Error() != want.Error() {
			t.Errorf("%T: New = %v, want %v", tc.options, err, want)
		}
	}
}
