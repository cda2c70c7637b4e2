package workload

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
	"pgregory.net/rapid"
)

// lookup returns a generator.
func lookup(t testing.TB, name string) *Generator {
	t.Helper()
	g, err := Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// set makes options of "name=value ...".
func set(text string) map[string]string {
	options := map[string]string{}
	for item := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(item, "=")
		options[name] = value
	}
	return options
}

// make1 returns the jobs of a workload, all of which a policy may be told.
func make1(t testing.TB, name string, seed uint64, options string) []*sim.Job {
	t.Helper()
	return make1Of(t, lookup(t, name), seed, options)
}

// make1Of is make1 of a generator.
func make1Of(t testing.TB, g *Generator, seed uint64, options string) []*sim.Job {
	t.Helper()
	name := g.Name
	seq, err := g.Jobs(seed, set(options))
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*sim.Job
	for j, err := range seq {
		if err != nil {
			t.Fatalf("%s, seed %d, %s: %v", name, seed, options, err)
		}
		if err := j.Check(); err != nil {
			t.Fatalf("%s, seed %d, %s: job %d: %v", name, seed, options, j.ID, err)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// text returns a workload as the file that it is.
func text(t testing.TB, name string, seed uint64, options string) string {
	t.Helper()
	seq, err := lookup(t, name).Jobs(seed, set(options))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := trace.Write(&b, seq); err != nil {
		t.Fatalf("%s, seed %d, %s: %v", name, seed, options, err)
	}
	return b.String()
}

// The names are those of the documentation, in its order.
func TestNamesAreThoseOfTheDocumentation(t *testing.T) {
	want := []string{
		"poisson", "bursty",
		"hfsp-dev", "hfsp-test", "hfsp-prod",
		"hpfsp-fig2", "hpfsp-fig3", "hpfsp-fig4", "hpfsp-fig5",
		"td-small", "td-mix", "td-large",
		"rtmr-1", "rtmr-2",
		"mars-random", "mars-uniform-tasks", "mars-uniform-times", "mars-increasing-uw", "mars-decreasing-uw", "mars-tasks",
		"mars-wikipedia",
		"spark",
	}
	if got := Names(); !slices.Equal(got, want) {
		t.Errorf("Names() = %q\nwant %q", got, want)
	}
}

func TestUnknownNameListsKnownOnes(t *testing.T) {
	_, err := Lookup("hfsp")
	if want := `unknown workload "hfsp"; known workloads: poisson, bursty, hfsp-dev, `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Lookup(hfsp): %v, want %s...", err, want)
	}
}

// Every generator and option says what it is, and load refers to the cluster of
// the source.
func TestGeneratorsAreDescribed(t *testing.T) {
	for _, name := range Names() {
		g := lookup(t, name)
		if g.Doc == "" || g.Source == "" {
			t.Errorf("%s: no Doc or no Source", name)
		}
		seen := map[string]string{}
		for _, o := range g.Options {
			if o.Doc == "" || o.Source == "" || o.Values == "" || o.Name == "" {
				t.Errorf("%s: option %q is not described: %+v", name, o.Name, o)
			}
			if _, ok := o.parse(o.Default); !ok {
				t.Errorf("%s: option %s: the default %q is not %s", name, o.Name, o.Default, o.Values)
			}
			if _, twice := seen[o.Name]; twice {
				t.Errorf("%s: two options %s", name, o.Name)
			}
			seen[o.Name] = o.Default
		}
		cluster, err := trace.ParseCluster(g.Cluster)
		if err != nil {
			t.Errorf("%s: cluster: %v", name, err)
		}
		n := cluster.Capacity()
		got := []string{seen["map-slots"], seen["reduce-slots"]}
		if cluster.Uniform {
			got = []string{seen["slots"]}
		}
		var want []string
		for _, slots := range n {
			want = append(want, fmt.Sprint(slots))
		}
		if _, ok := seen["load"]; ok && !slices.Equal(got, want) {
			t.Errorf("%s: load refers to slots %q, cluster %s has %q", name, got, g.Cluster, want)
		}
	}
}

// Jobs come in the order of arrival with IDs 1, 2, ..., the same ones each time.
// A written workload reads back as it was.
func TestWorkloadsAreWellFormed(t *testing.T) {
	for _, name := range Names() {
		for seed := range uint64(many(8)) {
			jobs := make1(t, name, seed, "")
			for i, j := range jobs {
				if int(j.ID) != i+1 || i > 0 && j.At < jobs[i-1].At {
					t.Fatalf("%s, seed %d: job %d of the workload has ID %d and arrives at %v", name, seed, i+1, j.ID, j.At)
				}
			}
			written := text(t, name, seed, "")
			i := 0
			for j, err := range trace.Read(strings.NewReader(written), trace.ReadOptions{}) {
				if err != nil {
					t.Fatalf("%s, seed %d: %v", name, seed, err)
				}
				if got, want := j.Tasks(), jobs[i].Tasks(); got != want || j.At != jobs[i].At || !reflect.DeepEqual(j.Times, jobs[i].Times) {
					t.Fatalf("%s, seed %d: job %d reads as %+v, want %+v", name, seed, j.ID, j, jobs[i])
				}
				i++
			}
			if i != len(jobs) {
				t.Errorf("%s, seed %d: %d jobs read, %d written", name, seed, i, len(jobs))
			}
			if again := text(t, name, seed, ""); again != written {
				t.Errorf("%s, seed %d: other bytes the second time", name, seed)
			}
			if other := text(t, name, seed+1000, ""); other == written {
				t.Errorf("%s: the same bytes for seeds %d and %d", name, seed, seed+1000)
			}
		}
	}
}

// A sequence can be consumed again, and not to its end.
func TestSequencesCanBeConsumedAgain(t *testing.T) {
	for _, name := range Names() {
		seq, err := lookup(t, name).Jobs(7, nil)
		if err != nil {
			t.Fatal(err)
		}
		first := func() (j *sim.Job) {
			for j = range seq {
				break
			}
			return j
		}
		if a, b := first(), first(); !reflect.DeepEqual(a, b) || a == b {
			t.Errorf("%s: the first job is %+v at first and then %+v", name, a, b)
		}
	}
}

// The bytes of each workload, the same on every platform.
func TestGoldenBytes(t *testing.T) {
	for _, tc := range []struct{ name, options, want string }{
		{"poisson", "", "3fbdbed98d4cb2ea"},
		{"poisson", "sizes=weibull tasks=1-9 noise=0.5 reduce-share=0.3 reduces=1-3", "abf112e0bb160be6"},
		{"poisson", "sizes=pareto", "e7eba0fcdb99da08"},
		{"poisson", "sizes=lognormal load=none", "f3421216df8a859d"},
		{"bursty", "", "043f76a8f0f6a117"},
		{"bursty", "mode=batch", "d57d2ef76ea67ede"},
		{"hfsp-dev", "", "f3738cf9503a4236"},
		{"hfsp-test", "nodes=20 load=0.9", "2f5aca6534e426b8"},
		{"hfsp-prod", "times=query", "bea003439a375474"},
		{"hpfsp-fig2", "", "2fa511b62b2160e0"},
		{"hpfsp-fig3", "", "06c4d83876fa4aa5"},
		{"hpfsp-fig4", "", "6ca18aab056a8b9b"},
		{"hpfsp-fig4", "workload=C", "3b3f88afc8cbaca5"},
		{"hpfsp-fig5", "", "a72e762f3908033d"},
		{"hpfsp-fig5", "workload=F5C", "f8de72f615ae71a7"},
		{"td-small", "", "72f2fe84a8c10fbf"},
		{"td-mix", "replicas=3", "8f53179376080a42"},
		{"td-large", "", "7cd489e95ff43ccd"},
		{"rtmr-1", "", "afedb7226b607ff5"},
		{"rtmr-2", "", "b2775dcc8b376749"},
		{"rtmr-2", "maps=normal", "9dda4e2ec4d44a32"},
		{"mars-random", "", "b69216b0a911f16c"},
		{"mars-uniform-tasks", "", "67d73472e8376ad6"},
		{"mars-uniform-times", "", "c5f6129bf24d697c"},
		{"mars-increasing-uw", "", "1f04b4009f3ad624"},
		{"mars-decreasing-uw", "sort=weights", "e74d15a41b28ae8c"},
		{"mars-tasks", "", "2e480257d9a80c02"},
		{"mars-tasks", "split=tasks release=coin", "efa3e5fc11c16f89"},
		{"mars-wikipedia", "set=1", "c245b6a19fd16f1c"},
		{"spark", "", "862138cc4edec5b1"},
		{"spark", "stages=2-40 partitions=20 noise=0 load=none", "a4b2e5f8e70bbe5c"},
	} {
		hash := sha256.New()
		io.WriteString(hash, text(t, tc.name, 1, tc.options))
		if got := fmt.Sprintf("%x", hash.Sum(nil)[:8]); got != tc.want {
			t.Errorf("%s %s, seed 1: hash %s, want %s", tc.name, tc.options, got, tc.want)
		}
	}
}

// loadOf returns the load of the busier class of slots of a cluster, in plain
// integer sums.
func loadOf(t *testing.T, jobs []*sim.Job, spec string) float64 {
	t.Helper()
	c, err := trace.ParseCluster(spec)
	if err != nil {
		t.Fatal(err)
	}
	var work [2]int64
	for _, j := range jobs {
		for i, times := range j.Times {
			class := i
			if c.Uniform {
				class = 0
			}
			work[class] += int64(times.Total(j.Phases[i].Tasks))
		}
	}
	span := float64(jobs[len(jobs)-1].At - jobs[0].At)
	load := 0.0
	for class, n := range c.Capacity() {
		if n > 0 {
			load = max(load, float64(work[class])/float64(n)/span)
		}
	}
	return load
}

func TestLoadIsThatWhichWasAskedFor(t *testing.T) {
	for _, name := range Names() {
		g := lookup(t, name)
		if !slices.ContainsFunc(g.Options, func(o Option) bool { return o.Name == "load" }) {
			if !strings.HasPrefix(name, "td-") && name != "hpfsp-fig2" && name != "hpfsp-fig3" {
				t.Errorf("%s has no option load", name)
			}
			continue
		}
		for seed := range uint64(many(4)) {
			plain := make1(t, name, seed, "load=none")
			for _, load := range []float64{0.01, 0.5, 0.7, 0.9, 5} {
				jobs := make1(t, name, seed, fmt.Sprintf("load=%v", load))
				if got := loadOf(t, jobs, g.Cluster); math.Abs(got-load) > 0.0001*load {
					t.Errorf("%s, seed %d: load %v, want %v", name, seed, got, load)
				}
				// Only arrivals change, and all by one factor.
				factor := float64(jobs[len(jobs)-1].At) / float64(plain[len(plain)-1].At)
				for i, j := range jobs {
					if !reflect.DeepEqual(j.Times, plain[i].Times) || math.Abs(float64(j.At)-factor*float64(plain[i].At)) > 2+1e-9*float64(j.At) ||
						plain[i].Deadline > 0 && j.Deadline.Sub(j.At) != plain[i].Deadline.Sub(plain[i].At) {
						t.Fatalf("%s, seed %d, load %v: job %d is %+v, without load %+v", name, seed, load, j.ID, j, plain[i])
					}
				}
			}
		}
	}
	// Arrivals that do not begin at 0.
	if jobs := make1(t, "mars-random", 1, "p=0.001 jobs=5 load=0.3"); jobs[0].At == 0 || math.Abs(loadOf(t, jobs, "50x1")-0.3) > 1e-4 {
		t.Errorf("mars-random p=0.001: load %v from %v on, want 0.3 from later than 0", loadOf(t, jobs, "50x1"), jobs[0].At)
	}
	// The load of other slots: half of them need twice the time.
	one, two := make1(t, "hfsp-test", 3, "load=0.5"), make1(t, "hfsp-test", 3, "load=0.5 map-slots=20 reduce-slots=10")
	if a, b := one[len(one)-1].At, two[len(two)-1].At; b < 2*a-2 || b > 2*a+2 {
		t.Errorf("40 map slots: the last job arrives at %v, 20: at %v, want twice that", a, b)
	}
}

// Draws for one purpose do not depend on the options of another.
func TestOptionsChangeNoOtherStream(t *testing.T) {
	for _, tc := range []struct {
		name, options string
		same          func(a, b *sim.Job) bool
	}{
		{"hfsp-dev", "map-median=50s map-noise=1 maps=9,9,9,200-300", func(a, b *sim.Job) bool {
			return a.At == b.At && a.Name == b.Name && reflect.DeepEqual(a.Times[1], b.Times[1])
		}},
		{"hfsp-dev", "interval=1s reduce-sigma=0", func(a, b *sim.Job) bool { return a.Name == b.Name && reflect.DeepEqual(a.Times[0], b.Times[0]) }},
		{"hfsp-dev", "jobs=1000 nodes=7", func(a, b *sim.Job) bool { return a.At == b.At && reflect.DeepEqual(a.Times, b.Times) }},
		{"td-mix", "replicas=4 reduces=2", func(a, b *sim.Job) bool { return reflect.DeepEqual(a.Times[0], b.Times[0]) }},
		{"td-mix", "times=1s,2s,3s,4s", func(a, b *sim.Job) bool { return reflect.DeepEqual(a.Phases[0].Inputs, b.Phases[0].Inputs) }},
		{"rtmr-1", "map-time=1s slow-maps=0", func(a, b *sim.Job) bool {
			return a.At == b.At && a.Deadline == b.Deadline && len(a.Times[1].List) == len(b.Times[1].List)
		}},
		{"mars-random", "weight-sd=1 reduce-sd=1s", func(a, b *sim.Job) bool { return a.At == b.At && reflect.DeepEqual(a.Times[0], b.Times[0]) }},
		{"spark", "load=none jobs=200 noise=1 start=0s scan-time=1s", func(a, b *sim.Job) bool { return reflect.DeepEqual(a.Phases, b.Phases) }},
		{"spark", "partitions=3 selectivity=0.1 interval=1s", func(a, b *sim.Job) bool {
			return a.Name == b.Name && a.Phases[0].Tasks == b.Phases[0].Tasks && len(a.Phases) == len(b.Phases)
		}},
		{"bursty", "mean=7s sizes=pareto load=none", func(a, b *sim.Job) bool { return a.At == b.At }},
	} {
		base := ""
		if tc.name == "bursty" {
			base = "load=none"
		}
		a, b := make1(t, tc.name, 5, base), make1(t, tc.name, 5, tc.options)
		for i := range min(len(a), len(b)) {
			if !tc.same(a[i], b[i]) {
				t.Errorf("%s: %s changes job %d from %+v to %+v", tc.name, tc.options, i+1, a[i], b[i])
				break
			}
		}
	}
}

// Bad options name the option and what it may be.
func TestBadOptions(t *testing.T) {
	for _, tc := range []struct{ name, options, want string }{
		{"poisson", "job=5", `workload poisson: unknown option "job"; known options: jobs, interval, sizes, mean, weibull-shape, `},
		{"poisson", "=5", `unknown option ""`},
		{"poisson", "jobs=0", `option jobs: "0" is not an integer from 1 to 100000000`},
		{"poisson", "jobs=-1", `option jobs: "-1" is not an integer from 1 `},
		{"poisson", "jobs=1e3", `option jobs: "1e3" is not an integer`},
		{"poisson", "jobs=", `option jobs: "" is not an integer`},
		{"poisson", "jobs=100000001", `option jobs: "100000001" is not an integer from 1 to 100000000`},
		{"poisson", "load=0", `option load: "0" is not none, or a number above 0, at most 1000`},
		{"poisson", "load=-0.5", `option load: "-0.5" is not`},
		{"poisson", "load=Inf", `option load: "Inf" is not`},
		{"poisson", "load=NaN", `option load: "NaN" is not`},
		{"poisson", "load=1e999", `option load: "1e999" is not`},
		{"poisson", "load=1e-9 mean=100s jobs=2 slots=2000000000 tasks=1", ""},
		{"poisson", "jobs=1", `option load: all jobs arrive at once`},
		{"poisson", "jobs=5 mean=1ns", `option load: 0.9 leaves 0 ns between the first arrival and the last, want at least 1000`},
		{"poisson", "interval=0s", `option interval: "0s" is not a duration from 1ns to 10000h, such as 90s or 1m30s`},
		{"poisson", "interval=-5s", `option interval: "-5s" is not a duration`},
		{"poisson", "interval=5", `option interval: "5" is not a duration`},
		{"poisson", "interval=10001h", `option interval: "10001h" is not a duration`},
		{"poisson", "sizes=normal", `option sizes: "normal" is not one of exponential, weibull, pareto, lognormal, constant`},
		{"poisson", "pareto-alpha=1", `option pareto-alpha: "1" is not a number from 1.01 to 100`},
		{"poisson", "weibull-shape=NaN", `option weibull-shape: "NaN" is not a number from 0.1 to 100`},
		{"poisson", "tasks=9-1", `option tasks: "9-1" is not an integer or a range such as 1-5, from 1 to 1000000`},
		{"poisson", "tasks=0-1", `option tasks: "0-1" is not`},
		{"poisson", "tasks=1-", `option tasks: "1-" is not`},
		{"poisson", "tasks=-1", `option tasks: "-1" is not`},
		{"poisson", "tasks=" + strings.Repeat("9", 1000), `option tasks: "9999999999999999999999999999999999999999..." is not`},
		{"bursty", "on=1s off=0s interval=10000h", `option on: with off, it is less than a 10,000th of interval`},
		{"bursty", "batch=0.5", `option batch: "0.5" is not a number from 1 to 1e+08`},
		{"hfsp-dev", "bins=1,2,3", `option bins: "1,2,3" is not 4 values separated by commas, each a number from 0 to 1e+06`},
		{"hfsp-dev", "bins=1,2,3,4,5", `option bins: "1,2,3,4,5" is not 4 values`},
		{"hfsp-dev", "bins=1,2,-3,4", `option bins: "1,2,-3,4" is not 4 values`},
		{"hfsp-dev", "bins=0,0,0,0", `option bins: no bin has any jobs`},
		{"hfsp-dev", "slowstart=0", `option slowstart: "0" is not a number above 0, at most 1`},
		{"hfsp-dev", "nodes=2", `option replicas: 3 replicas on 2 nodes`},
		{"hpfsp-fig4", "workload=F5B", `option workload: "F5B" is not one of A, B, C, D`},
		{"hpfsp-fig4", "tasks=13.5", `option tasks: workload A has the same number of tasks in each job, and 13.5 is not an integer`},
		{"hpfsp-fig5", "time=1ms", `option min-time: want min-time <= mean-min <= mean-max, and min-time <= time`},
		{"hpfsp-fig5", "workload=F5C mean-min=19m", `option min-time: want`},
		{"td-small", "replicas=51", `option replicas: 51 replicas on 50 nodes`},
		{"td-small", "load=0.5", `unknown option "load"`},
		{"spark", "stages=0", `option stages: "0" is not alibaba, or an integer or a range such as 1-5, from 1 to 40`},
		{"spark", "stages=41", `option stages: "41" is not alibaba`},
		{"spark", "selectivity=0.6", `option selectivity: "0.6" is not a number from 0 to 0.5`},
		{"spark", "inputs=1,2,3,4,5,6,0", `option inputs: "1,2,3,4,5,6,0" is not 7 values separated by commas, each a number above 0`},
		{"mars-random", "min-time=11s", `option min-time: it is above the mean time of a task`},
		{"mars-random", "min-weight=31", `option min-weight: it is above weight-mean`},
		{"mars-random", "release=zero load=0.9", `option load: all jobs arrive at once`},
	} {
		_, err := lookup(t, tc.name).Jobs(1, set(tc.options))
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s %s: %v, want no error", tc.name, tc.options, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "workload "+tc.name+": ")):
			t.Errorf("%s %.60s: error %v\nwant %s", tc.name, tc.options, err, tc.want)
		}
	}
}

// A time that cannot be told ends the sequence with an error.
func TestTimesOutOfRange(t *testing.T) {
	for _, tc := range []struct{ name, options, want string }{
		{"hfsp-dev", "map-median=10000h map-sigma=10", "its tasks take longer than time can tell"},
		{"hfsp-dev", "map-median=10000h map-sigma=10 maps=1,1,1,1 reduces=0,0,0,0", "its tasks take longer than time can tell"},
		{"poisson", "load=none interval=10000h jobs=1000", "it arrives later than time can tell"},
	} {
		seq, err := lookup(t, tc.name).Jobs(1, set(tc.options))
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for j, err := range seq {
			if last != nil {
				t.Fatalf("%s: job %v after error %v", tc.options, j, last)
			}
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), tc.want) {
			t.Errorf("%s %s: error %v, want %s", tc.name, tc.options, last, tc.want)
		}
	}
}

func TestNoJobs(t *testing.T) {
	for seed := range uint64(100) {
		seq, err := lookup(t, "rtmr-2").Jobs(seed, set("max-reduces=1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range seq {
			if err == nil {
				break // one of the 9 small jobs has 1 reduce, as in 87 of 100 workloads
			}
			const want = "workload rtmr-2: the options leave no job"
			if err.Error() != want {
				t.Errorf("seed %d: %v, want %s", seed, err, want)
			}
			if _, err := lookup(t, "rtmr-2").Jobs(seed, set("max-reduces=1 load=0.5")); err == nil || err.Error() != want {
				t.Errorf("seed %d, with a load: %v, want %s", seed, err, want)
			}
			return
		}
	}
	t.Error("no seed leaves no job")
}

// A slow start is a number of maps, rounded up; all of them are 0. 0.07 x 100 is
// above 7 in floating point.
func TestThreshold(t *testing.T) {
	for _, tc := range []struct {
		share      float64
		maps, want int
	}{{0.8, 10, 8}, {0.8, 11, 9}, {0.8, 4, 0}, {0.07, 100, 7}, {1, 5, 0}, {1e-300, 5, 1}, {0.05, 1, 0}, {0.5, 2, 1}} {
		if got := threshold(tc.share, tc.maps); got != tc.want {
			t.Errorf("threshold(%v, %d) = %d, want %d", tc.share, tc.maps, got, tc.want)
		}
	}
}

// For any options, a workload is an error or something that package trace can
// write.
func TestExtremeOptions(t *testing.T) {
	extreme := map[string][]string{
		"jobs": {"1", "2", "40"}, "interval": {"1ns", "10000h"}, "load": {"none", "1e-9", "1000", "0.9"}, "slots": {"1", "2147483647"},
		"map-slots": {"1", "2147483647"}, "reduce-slots": {"1", "2147483647"},
		"mean": {"1ns", "10000h"}, "weibull-shape": {"0.1", "100"}, "pareto-alpha": {"1.01", "100"}, "lognormal-sigma": {"0", "10"},
		"tasks": {"1", "2", "7"}, "noise": {"0", "10"}, "reduce-share": {"0", "0.99"}, "reduces": {"1", "9"}, "on": {"1ns", "10000h"}, "off": {"0s", "10000h"},
		"mode": {"batch", "onoff"}, "batch": {"1", "1.0000001", "1e8"}, "sizes": {"exponential", "weibull", "pareto", "lognormal", "constant"},
		"bins": {"0,0,0,1", "1e6,1e-300,0,0"}, "map-sigma": {"0", "10"}, "map-noise": {"0", "10"}, "reduce-noise": {"0", "10"}, "times": {"job", "query", "random", "uniform"},
		"slowstart": {"1e-300", "1"}, "nodes": {"3", "1000"}, "replicas": {"1", "3"}, "queries": {"1", "1000000"},
		"workload": {"A", "B", "C", "D", "F5A", "F5B", "F5C"}, "time": {"1s", "10000h"}, "sd": {"0s", "10000h"}, "truncate": {"clamp", "redraw"}, "min-time": {"0s", "1ns"},
		"spread": {"0", "1"}, "size": {"1", "3"}, "panel": {"a", "b"}, "splits": {"1", "3"},
		"estimate": {"none", "1000"}, "slow-factor": {"1", "1000"}, "slow-maps": {"0", "1"}, "maps": {"1", "bins", "normal"}, "map-sd": {"0s", "1e-300", "1000"}, "max-reduces": {"1"},
		"release": {"process", "coin", "zero"}, "p": {"1", "1e-300", "1e-9"}, "slot": {"1ns", "10000h"}, "delay": {"0", "1000"}, "weight-sd": {"0", "1e6"}, "weight-mean": {"1e6", "1"},
		"unit-weights": {"increasing", "decreasing"}, "sort": {"weights", "jobs"}, "split": {"jobs", "tasks"}, "longer-reduces": {"yes"}, "counts": {"random", "uniform"},
		"inputs": {"1e-300,1e-9,1,1,1,1,1"}, "stages": {"1", "2-40", "40"}, "partitions": {"1", "3"}, "selectivity": {"0", "0.5"}, "start": {"0s", "10000h"},
		"scan-time": {"1ns", "10000h"}, "shuffle-time": {"1ns", "10000h"},
	}
	made := 0
	check := func(t *rapid.T) {
		g, _ := Lookup(rapid.SampledFrom(Names()).Draw(t, "name"))
		options := map[string]string{}
		for _, o := range g.Options {
			if values := extreme[o.Name]; values != nil && rapid.IntRange(0, 3).Draw(t, "set") == 0 {
				value := rapid.SampledFrom(values).Draw(t, o.Name)
				if _, ok := o.parse(value); ok {
					options[o.Name] = value
				}
			}
		}
		seq, err := g.Jobs(rapid.Uint64().Draw(t, "seed"), options)
		if err != nil {
			return
		}
		w := trace.NewWriter(io.Discard, nil)
		for j, err := range seq {
			if err != nil {
				return
			}
			if err := w.Write(j); err != nil {
				t.Fatalf("%s %v: %v", g.Name, options, err)
			}
		}
		made++
	}
	rapid.Check(t, check)
	made = 0
	for n := 1; made == 0 && n < 1000; n *= 2 {
		histories.Fixed(n, check)
	}
	if made == 0 {
		t.Error("no options at all made a workload")
	}
}

func FuzzOption(f *testing.F) {
	for _, name := range Names() {
		for _, o := range lookup(f, name).Options {
			f.Add(name, o.Name, o.Default)
		}
	}
	for _, value := range []string{"", "-", ",", "NaN", "-Inf", "0x1p-1074", "1e400", "99999999999999999999", "1-2-3", "1h-1", "\xff", "1,1,1,1", "none"} {
		f.Add("hfsp-dev", "bins", value)
		f.Add("poisson", "load", value)
		f.Add("poisson", "tasks", value)
	}
	f.Fuzz(func(t *testing.T, name, option, value string) {
		g, err := Lookup(name)
		if err != nil {
			return
		}
		v, err := g.parse(map[string]string{option: value})
		if err != nil {
			if len(err.Error()) > 1000 || !strings.Contains(err.Error(), "option") {
				t.Fatalf("%s %s=%q: %v", name, option, value, err)
			}
			return
		}
		for _, o := range g.Options {
			switch x := v[o.Name].(type) {
			case float64:
				if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
					t.Fatalf("%s %s=%q: option %s is %v", name, option, value, o.Name, x)
				}
			case int:
				if x < 0 {
					t.Fatalf("%s %s=%q: option %s is %v", name, option, value, o.Name, x)
				}
			case span:
				if x.min < 0 || x.max < x.min {
					t.Fatalf("%s %s=%q: option %s is %v", name, option, value, o.Name, x)
				}
			}
		}
		if _, err := g.model(draws{1}, v); err != nil && !strings.HasPrefix(err.Error(), "option ") {
			t.Fatalf("%s %s=%q: %v", name, option, value, err)
		}
	})
}
