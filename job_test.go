package sojourn_test

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// validJob returns a job that uses every field: three phases of 4, 2 and 3
// tasks, of which the second starts after 3 of the first.
func validJob() *sojourn.Job {
	return &sojourn.Job{
		ID: 7, Name: "wc", Pool: "etl", Weight: 2.5, Deadline: 100, Parallelism: 3,
		Phases: []sojourn.Phase{
			{
				Tasks: 4, Class: 0, Estimate: 5, Estimates: []time.Duration{1, 2, 0, 4},
				Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1, 2}, {}, {3}, {1}}),
				Bytes:  []int64{0, 1, 2, math.MaxInt64}, Delays: []time.Duration{0, 1, 2, 3},
			},
			{Tasks: 2, Class: 1, Estimate: 9, After: 3},
			{Tasks: 3, After: sojourn.NoBarrier},
		},
	}
}

func TestCheckAcceptsWhatItShould(t *testing.T) {
	tests := map[string]func(*sojourn.Job){
		"every field":                       func(*sojourn.Job) {},
		"no weight":                         func(j *sojourn.Job) { j.Weight = 0 },
		"minus zero weight":                 func(j *sojourn.Job) { j.Weight = math.Copysign(0, -1) },
		"least weight":                      func(j *sojourn.Job) { j.Weight = 0x1p-16 },
		"greatest weight":                   func(j *sojourn.Job) { j.Weight = 0x1p32 - 0x1p-16 },
		"greatest ID":                       func(j *sojourn.Job) { j.ID = math.MaxUint64 },
		"greatest deadline":                 func(j *sojourn.Job) { j.Deadline = math.MaxInt64 },
		"after none in phase 0":             func(j *sojourn.Job) { j.Phases[0].After = sojourn.NoBarrier },
		"needs none in phase 0":             func(j *sojourn.Job) { j.Phases[0].Needs = []int{} },
		"needs all":                         func(j *sojourn.Job) { j.Phases[2].Needs, j.Phases[2].After = []int{0, 1}, 0 },
		"held":                              func(j *sojourn.Job) { j.Phases[1].Held = true },
		"after as many as there are":        func(j *sojourn.Job) { j.Phases[1].After = 4 },
		"as many phases as may be":          func(j *sojourn.Job) { j.Phases = phases(sojourn.MaxPhases) },
		"as many tasks as may be":           func(j *sojourn.Job) { j.Phases = []sojourn.Phase{{Tasks: sojourn.MaxTasks}} },
		"one estimate of the whole range":   func(j *sojourn.Job) { j.Phases = []sojourn.Phase{{Tasks: 1, Estimate: math.MaxInt64}} },
		"equal estimates up to the range":   func(j *sojourn.Job) { j.Phases[1].Estimate = math.MaxInt64 / 2 },
		"unequal estimates up to the range": func(j *sojourn.Job) { j.Phases[0].Estimates = []time.Duration{math.MaxInt64 - 15, 0, 0, 5} },
		// Phase.Estimate counts only where a list has a zero, and here it has none.
		"unused estimate out of range": func(j *sojourn.Job) {
			j.Phases[0].Estimate, j.Phases[0].Estimates = math.MaxInt64, []time.Duration{1, 2, 3, 4}
		},
	}
	for name, edit := range tests {
		j := validJob()
		edit(j)
		if err := j.Check(); err != nil {
			t.Errorf("%s: Check() = %v, want nil", name, err)
		}
	}
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	weight := func(w float64) func(*sojourn.Job) { return func(j *sojourn.Job) { j.Weight = w } }
	phase := func(i int, edit func(*sojourn.Phase)) func(*sojourn.Job) {
		return func(j *sojourn.Job) { edit(&j.Phases[i]) }
	}
	const weightWant = " is not in [2^-16, 2^32)"
	tests := []struct {
		edit func(*sojourn.Job)
		want string // after "invalid job: "
	}{
		{func(j *sojourn.Job) { j.ID = 0 }, "zero ID"},

		{weight(math.NaN()), "weight NaN" + weightWant},
		{weight(math.Inf(1)), "weight +Inf" + weightWant},
		{weight(math.Inf(-1)), "weight -Inf" + weightWant},
		{weight(-1), "weight -1" + weightWant},
		{weight(math.SmallestNonzeroFloat64), "weight 5e-324" + weightWant},
		{weight(math.Nextafter(0x1p-16, 0)), "weight 1.5258789062499998e-05" + weightWant},
		{weight(0x1p32), "weight 4.294967296e+09" + weightWant},
		{weight(math.MaxFloat64), "weight 1.7976931348623157e+308" + weightWant},

		{func(j *sojourn.Job) { j.Deadline = -1 }, "negative deadline -1ns"},
		{func(j *sojourn.Job) { j.Release = -1 }, "negative release time -1ns"},

		{func(j *sojourn.Job) { j.Phases = nil }, "0 phases, want 1 to 65536"},
		{func(j *sojourn.Job) { j.Phases = []sojourn.Phase{} }, "0 phases, want 1 to 65536"},
		{func(j *sojourn.Job) { j.Phases = phases(sojourn.MaxPhases + 1) }, "65537 phases, want 1 to 65536"},
		{func(j *sojourn.Job) { j.Phases = []sojourn.Phase{{Tasks: sojourn.MaxTasks}, {Tasks: 1}} }, "more than 2147483647 tasks"},

		{phase(1, func(p *sojourn.Phase) { p.Tasks = 0 }), "phase 1: 0 tasks, want 1 to 2147483647"},
		{phase(1, func(p *sojourn.Phase) { p.Tasks = -1 }), "phase 1: -1 tasks, want 1 to 2147483647"},

		{phase(1, func(p *sojourn.Phase) { p.Estimate = -1 }), "phase 1: negative estimate -1ns"},
		{phase(1, func(p *sojourn.Phase) { p.Estimate = math.MaxInt64/2 + 1 }),
			"phase 1: 2 tasks of 1281023h53m38.427387904s each are out of range"},
		{phase(0, func(p *sojourn.Phase) { p.Estimates[3] = -4 }), "phase 0: task 3: negative estimate -4ns"},
		// The list's zero stands for Estimate = 5: MaxInt64 - 11 + 5 + 5 + 2 is one too many.
		{phase(0, func(p *sojourn.Phase) { p.Estimates = []time.Duration{math.MaxInt64 - 11, 0, 0, 2} }),
			"phase 0: the sum of the estimates is out of range"},
		// Twice around: the sum is positive again at the end.
		{phase(0, func(p *sojourn.Phase) {
			p.Estimates = []time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64}
		}),
			"phase 0: the sum of the estimates is out of range"},

		{phase(0, func(p *sojourn.Phase) { p.Estimates = p.Estimates[:3] }), "phase 0: 3 estimates for 4 tasks"},
		{phase(0, func(p *sojourn.Phase) { p.Estimates = []time.Duration{} }), "phase 0: 0 estimates for 4 tasks"},
		{phase(0, func(p *sojourn.Phase) { p.Bytes = append(p.Bytes, 1) }), "phase 0: 5 sizes for 4 tasks"},
		{phase(0, func(p *sojourn.Phase) { p.Delays = p.Delays[:1] }), "phase 0: 1 delays for 4 tasks"},
		{phase(0, func(p *sojourn.Phase) { p.Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{1}}) }),
			"phase 0: inputs of 1 tasks for 4 tasks"},

		{phase(0, func(p *sojourn.Phase) { p.Bytes[2] = -1 }), "phase 0: task 2: negative size -1"},
		{phase(0, func(p *sojourn.Phase) { p.Delays[1] = -1 }), "phase 0: task 1: negative delay -1ns"},
		{phase(0, func(p *sojourn.Phase) { p.Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{1}, {2, 0}, {}, {3}}) }),
			"phase 0: input 2: node 0"},

		{phase(0, func(p *sojourn.Phase) { p.After = 1 }), "phase 0: after 1 of 0 tasks"},
		{phase(1, func(p *sojourn.Phase) { p.After = 5 }), "phase 1: after 5 of 4 tasks"},
		{phase(2, func(p *sojourn.Phase) { p.After = 3 }), "phase 2: after 3 of 2 tasks"},
		{phase(1, func(p *sojourn.Phase) { p.After = -2 }), "phase 1: after -2 of 4 tasks"},

		{phase(0, func(p *sojourn.Phase) { p.Needs = []int{0} }), "phase 0: needs phase 0, which does not come before it"},
		{phase(2, func(p *sojourn.Phase) { p.Needs, p.After = []int{0, -1}, 0 }), "phase 2: needs phase -1, which does not come before it"},
		{phase(2, func(p *sojourn.Phase) { p.Needs, p.After = []int{1, 0}, 0 }), "phase 2: needs phase 0 after phase 1: want increasing numbers"},
		{phase(2, func(p *sojourn.Phase) { p.Needs, p.After = []int{1, 1}, 0 }), "phase 2: needs phase 1 after phase 1: want increasing numbers"},
		{phase(2, func(p *sojourn.Phase) { p.Needs, p.After = []int{}, 1 }), "phase 2: after 1 tasks of the phase before, and needs []: want one of the two"},
	}
	if math.MaxInt > sojourn.MaxTasks {
		tooMany := sojourn.MaxTasks
		tooMany++ // no constant, which would not compile where an int has 32 bits
		tests = append(tests, struct {
			edit func(*sojourn.Job)
			want string
		}{phase(2, func(p *sojourn.Phase) { p.Tasks = tooMany }), "phase 2: 2147483648 tasks, want 1 to 2147483647"})
	}
	for _, tc := range tests {
		j := validJob()
		tc.edit(j)
		err := j.Check()
		if !errors.Is(err, sojourn.ErrInvalidJob) || err.Error() != "invalid job: "+tc.want {
			t.Errorf("Check() = %v, want invalid job: %s", err, tc.want)
		}
	}

	var none *sojourn.Job
	if err := none.Check(); !errors.Is(err, sojourn.ErrInvalidJob) || !strings.HasSuffix(err.Error(), "nil") {
		t.Errorf("Check() of a nil job = %v, want %v: nil", err, sojourn.ErrInvalidJob)
	}
}

// phases returns n phases of one task each.
func phases(n int) []sojourn.Phase {
	return slices.Repeat([]sojourn.Phase{{Tasks: 1}}, n)
}

// A weight that passes Check has between 1 and 2^48-1 units, as WeightUnits
// promises: the nearest number of 2^-16, ties to even. The oracle computes in
// big.Float, where the product and its halves are exact.
func TestWeightUnits(t *testing.T) {
	weights := rapid.OneOf(
		rapid.Float64Range(0x1p-17, 0x1p33),
		rapid.Float64Range(0x1p32-0x1p-10, 0x1p32),
		rapid.Float64Range(0, 0x1p-14),
		// Multiples of 2^-18: every fourth is a unit, and every fourth lies exactly
		// in the middle of two.
		rapid.Map(rapid.Uint64Range(0, 1<<50), func(n uint64) float64 { return float64(n) * 0x1p-18 }),
	)
	rapid.Check(t, func(t *rapid.T) {
		j := &sojourn.Job{ID: 1, Weight: weights.Draw(t, "weight"), Phases: phases(1)}
		if j.Check() != nil {
			return
		}
		got := j.WeightUnits()
		want := roundToEven(new(big.Float).SetPrec(200).SetFloat64(j.Weight))
		if j.Weight == 0 {
			want = 1 << 16
		}
		want = min(want, 1<<48-1)
		if got != want || got < 1 || got >= 1<<48 {
			t.Errorf("weight %b: WeightUnits() = %d, want %d in [1, 2^48)", j.Weight, got, want)
		}
	})
}

// roundToEven returns x, in units of 2^-16, as an integer.
func roundToEven(x *big.Float) uint64 {
	x.Mul(x, big.NewFloat(0x1p16))
	floor, _ := x.Uint64()
	rest := x.Sub(x, new(big.Float).SetUint64(floor))
	switch c := rest.Cmp(big.NewFloat(0.5)); {
	case c > 0, c == 0 && floor%2 == 1:
		return floor + 1
	}
	return floor
}

func TestWeightUnitsRoundsTiesToEven(t *testing.T) {
	tests := []struct {
		weight float64
		want   uint64
	}{
		{0, 1 << 16},
		{1, 1 << 16},
		{0x1p-16, 1},
		{1.5 * 0x1p-16, 2},
		{2.5 * 0x1p-16, 2},
		{3.5 * 0x1p-16, 4},
		{2.5000001 * 0x1p-16, 3},
		{0.1, 6554}, // 6553.6
		{0x1p32 - 0x1p-16, 1<<48 - 1},
		{0x1.fffffffffffffp31, 1<<48 - 1},
	}
	for _, tc := range tests {
		j := sojourn.Job{Weight: tc.weight}
		if got := j.WeightUnits(); got != tc.want {
			t.Errorf("weight %v: WeightUnits() = %d, want %d", tc.weight, got, tc.want)
		}
	}
}

func TestThreshold(t *testing.T) {
	j := sojourn.Job{Phases: []sojourn.Phase{
		{Tasks: 4},
		{Tasks: 5}, // a barrier: all 4
		{Tasks: 6, After: 2},
		{Tasks: 7, After: sojourn.NoBarrier},
		{Tasks: 1, After: 7},
	}}
	bounded := j
	bounded.Parallelism = 1
	want, whole := []int{0, 4, 2, 0, 7}, []int{0, 4, 5, 0, 7}
	for i := range j.Phases {
		if got, all := j.Threshold(i), bounded.Threshold(i); got != want[i] || all != whole[i] {
			t.Errorf("Threshold(%d) = %d, and %d with a bound, want %d and %d", i, got, all, want[i], whole[i])
		}
	}
	j.Phases[0].After = sojourn.NoBarrier
	if got := j.Threshold(0); got != 0 {
		t.Errorf("Threshold(0) without a barrier = %d, want 0", got)
	}
}

// A Job can be stored: nothing is lost on the way through JSON.
func TestJobCanBeStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := sojourn.Job{
			ID: sojourn.JobID(rapid.Uint64Min(1).Draw(t, "id")), Name: rapid.StringMatching(`[a-zé"]{0,4}`).Draw(t, "name"),
			Weight: rapid.SampledFrom([]float64{0, 1. / 65536, 1<<32 - 1}).Draw(t, "weight"), Deadline: sojourn.Time(rapid.Int64Min(0).Draw(t, "deadline")),
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "phases") {
			p := sojourn.Phase{Tasks: rapid.IntRange(1, 4).Draw(t, "tasks"), Estimate: time.Duration(rapid.Int64Range(0, math.MaxInt64/4).Draw(t, "estimate"))}
			if rapid.Bool().Draw(t, "needs") && i > 0 {
				p.Needs = []int{rapid.IntRange(0, i-1).Draw(t, "this one")}
			}
			if rapid.Bool().Draw(t, "inputs") {
				node := rapid.Custom(func(t *rapid.T) sojourn.NodeID { return sojourn.NodeID(rapid.Uint32Min(1).Draw(t, "node")) })
				p.Inputs = sojourn.MakeInputs(rapid.SliceOfN(rapid.SliceOfN(node, 0, 3), p.Tasks, p.Tasks).Draw(t, "nodes"))
			}
			j.Phases = append(j.Phases, p)
		}
		if err := j.Check(); err != nil {
			t.Fatal(err)
		}
		var fromJSON sojourn.Job
		data, err := json.Marshal(&j)
		if err == nil {
			err = json.Unmarshal(data, &fromJSON)
		}
		if err != nil || !reflect.DeepEqual(fromJSON, j) {
			t.Errorf("JSON: %v, %s reads as %+v, want %+v", err, data, fromJSON, j)
		}
	})
}

// What is no list of lists of nodes is refused, and changes nothing.
func TestInputsFromBadJSON(t *testing.T) {
	for _, text := range []string{`1`, `[1]`, `[[-1]]`, `[[4294967296]]`, `[["n1"]]`, `[[1]`} {
		in := sojourn.MakeInputs([][]sojourn.NodeID{{7}})
		if err := in.UnmarshalJSON([]byte(text)); err == nil || in.Len() != 1 {
			t.Errorf("%s: error %v, inputs of %d tasks, want an error and 1", text, err, in.Len())
		}
	}
}

// WaitsFor names each phase that another waits for, and how many of its tasks; Threshold is
// what it says of the phase before.
func TestWaitsFor(t *testing.T) {
	j := sojourn.Job{Phases: []sojourn.Phase{
		{Tasks: 4, Needs: []int{}},
		{Tasks: 5},
		{Tasks: 6, After: 2},
		{Tasks: 7, After: sojourn.NoBarrier},
		{Tasks: 1, Needs: []int{0, 2}},
		{Tasks: 2, Needs: []int{}},
		{Tasks: 3, Needs: []int{1, 5}},
	}}
	want := []map[int]int{{}, {0: 4}, {1: 2}, {}, {0: 4, 2: 6}, {}, {1: 5, 5: 2}}
	for i := range j.Phases {
		if got := maps.Collect(j.WaitsFor(i)); !maps.Equal(got, want[i]) {
			t.Errorf("WaitsFor(%d) = %v, want %v", i, got, want[i])
		}
		if got := j.Threshold(i); got != want[i][i-1] {
			t.Errorf("Threshold(%d) = %d, want %d", i, got, want[i][i-1])
		}
	}
	for range j.WaitsFor(4) {
		break // it may be left
	}
}

func TestEstimateOfAndWork(t *testing.T) {
	tests := []struct {
		phase sojourn.Phase
		each  []time.Duration
		work  time.Duration
	}{
		{sojourn.Phase{Tasks: 3}, []time.Duration{0, 0, 0}, 0},
		{sojourn.Phase{Tasks: 3, Estimate: 7}, []time.Duration{7, 7, 7}, 21},
		{sojourn.Phase{Tasks: 3, Estimates: []time.Duration{1, 0, 3}}, []time.Duration{1, 0, 3}, 4},
		{sojourn.Phase{Tasks: 3, Estimate: 7, Estimates: []time.Duration{1, 0, 3}}, []time.Duration{1, 7, 3}, 11},
	}
	for _, tc := range tests {
		for i, want := range tc.each {
			if got := tc.phase.EstimateOf(i); got != want {
				t.Errorf("%+v: EstimateOf(%d) = %d, want %d", tc.phase, i, got, want)
			}
		}
		if got := tc.phase.Work(); got != tc.work {
			t.Errorf("%+v: Work() = %d, want %d", tc.phase, got, tc.work)
		}
	}
}

// A job that passes Check has a Work of every phase that did not overflow.
func TestCheckedWorkDoesNotOverflow(t *testing.T) {
	long := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(0, math.MaxInt64))
	rapid.Check(t, func(t *rapid.T) {
		p := sojourn.Phase{Tasks: rapid.IntRange(1, 5).Draw(t, "tasks"), Estimate: time.Duration(long.Draw(t, "estimate"))}
		if rapid.Bool().Draw(t, "list") {
			for range p.Tasks {
				p.Estimates = append(p.Estimates, time.Duration(long.Draw(t, "estimates")))
			}
		}
		sum := new(big.Int)
		for i := range p.Tasks {
			sum.Add(sum, big.NewInt(int64(p.EstimateOf(i))))
		}
		j := sojourn.Job{ID: 1, Phases: []sojourn.Phase{p}}
		switch err := j.Check(); {
		case (err == nil) != sum.IsInt64():
			t.Errorf("%+v: Check() = %v, but the estimates sum to %v", p, err, sum)
		case err == nil && int64(p.Work()) != sum.Int64():
			t.Errorf("%+v: Work() = %d, want %v", p, p.Work(), sum)
		}
	})
}

func TestInputsRoundTrip(t *testing.T) {
	lists := rapid.SliceOfN(rapid.SliceOfN(rapid.Map(rapid.Uint32(), func(n uint32) sojourn.NodeID {
		return sojourn.NodeID(n)
	}), 0, 4), 0, 6)
	rapid.Check(t, func(t *rapid.T) {
		nodes := lists.Draw(t, "nodes")
		in := sojourn.MakeInputs(nodes)

		wantLen := len(nodes)
		if len(slices.Concat(nodes...)) == 0 {
			wantLen = 0
		}
		if got := in.Len(); got != wantLen {
			t.Errorf("MakeInputs(%v).Len() = %d, want %d", nodes, got, wantLen)
		}
		for i, want := range nodes {
			if got := in.Of(i); !slices.Equal(got, want) {
				t.Errorf("MakeInputs(%v).Of(%d) = %v, want %v", nodes, i, got, want)
			}
		}
	})
}

func TestInputsShareNothing(t *testing.T) {
	nodes := [][]sojourn.NodeID{{1, 2}, {3}}
	in := sojourn.MakeInputs(nodes)
	nodes[0][0], nodes[1] = 9, nil
	if got := in.Of(0); !slices.Equal(got, []sojourn.NodeID{1, 2}) {
		t.Errorf("after a change of the argument, Of(0) = %v, want [1 2]", got)
	}
	_ = append(in.Of(0), 9)
	if got := in.Of(1); !slices.Equal(got, []sojourn.NodeID{3}) {
		t.Errorf("after an append to Of(0), Of(1) = %v, want [3]", got)
	}
}

// Inputs that name no node are the zero Inputs, for any number of tasks.
func TestInputsWithoutNodesAreEmpty(t *testing.T) {
	for _, in := range []sojourn.Inputs{{}, sojourn.MakeInputs(nil), sojourn.MakeInputs(make([][]sojourn.NodeID, 5))} {
		if in.Len() != 0 || len(in.Of(0)) != 0 || len(in.Of(12)) != 0 {
			t.Errorf("%+v: Len() = %d, Of(0) = %v, Of(12) = %v, want nothing", in, in.Len(), in.Of(0), in.Of(12))
		}
	}
}

// A phase of a million tasks costs two allocations.
func TestInputsAreFlat(t *testing.T) {
	nodes := slices.Repeat([][]sojourn.NodeID{{1, 2, 3}}, 1000)
	if got := testing.AllocsPerRun(100, func() { sojourn.MakeInputs(nodes) }); got != 2 {
		t.Errorf("MakeInputs of %d tasks: %v allocations, want 2", len(nodes), got)
	}
}
