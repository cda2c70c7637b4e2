package trace

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// The numbers were computed independently of this package.
func TestFacebookTraceHasTheKnownTasks(t *testing.T) {
	file := filepath.Join("..", "..", "shared", "data", "swim-facebook", "FB-2009_samples_24_times_1hr_0.tsv.gz")
	f, err := os.Open(file)
	if err != nil {
		t.Skipf("the public Facebook trace is not part of the repository: %v", err)
	}
	defer f.Close()
	var jobs, maps, reduces int
	for j, err := range ReadSWIM(f, SWIMOptions{File: file}) {
		if err != nil {
			t.Fatal(err)
		}
		jobs++
		maps += j.Phases[0].Tasks
		if len(j.Phases) > 1 {
			reduces += j.Phases[1].Tasks
		}
	}
	if jobs != 5894 || maps != 243250 || reduces != 21900 {
		t.Errorf("%d jobs, %d maps, %d reduces, want 5894, 243250, 21900", jobs, maps, reduces)
	}
}

// swim reads SWIM lines without faults, in which spaces stand for tabs.
func swim(t testing.TB, text string, o SWIMOptions) []*sim.Job {
	t.Helper()
	jobs, err := collect(t, ReadSWIM(strings.NewReader(strings.ReplaceAll(text, " ", "\t")), o))
	if err != nil {
		t.Fatalf("ReadSWIM(%q): %v", text, err)
	}
	return jobs
}

func TestSWIMStats(t *testing.T) {
	const text = "a 1 0 300000000 5 5\n" + // three maps and a reduce
		"b 1 0 5 0 5\n" +
		"c 1 0 0 0 0\n" +
		"d 1 0 0 0 1\n"
	const want = `jobs: 4
tasks: 7
jobs without a shuffle, no reduces: 2
jobs that move no bytes, one map of the overhead alone: 1
`
	var stats Stats
	swim(t, text, SWIMOptions{Stats: &stats})
	if got := stats.String(); got != want {
		t.Errorf("stats:\n%s\nwant\n%s", got, want)
	}
}

// With MB for 2^20 bytes, a slot moves 10 MB a second by default.
func TestSWIMMapping(t *testing.T) {
	const MB = 1 << 20
	type phase struct {
		tasks int
		each  time.Duration
	}
	tests := []struct {
		name                   string
		input, shuffle, output int64
		o                      SWIMOptions
		want                   []phase
	}{
		// 256 MB are 2 blocks; 3 + 128/10 s. One reduce moves 100 + 200 MB; 3 + 300/10 s.
		{"map and reduce", 256 * MB, 100 * MB, 200 * MB, SWIMOptions{}, []phase{{2, 15_800_000_000}, {1, 33_000_000_000}}},
		// One byte more is a third block: 3 + (256*2^20 + 1)/3/(10*2^20) s = 3 + 8.533333365122...
		{"a block more", 256*MB + 1, 1, 1, SWIMOptions{}, []phase{{3, 11_533_333_365}, {1, 3_000_000_191}}},
		// Output blocks count: 640 MB are 5; 3 + (10 + 640)/5/10 s.
		{"map only", 10 * MB, 0, 640 * MB, SWIMOptions{}, []phase{{5, 16_000_000_000}}},
		// ... but not where there are reduces.
		{"with a shuffle", 10 * MB, 1, 640 * MB, SWIMOptions{}, []phase{{1, 4_000_000_000}, {1, 67_000_000_095}}},
		// The larger of both decides for reduces. 2.5 GB are 3; 3 + (1024 + 2560)/3/10 s
		// = 3 + 119.4666...
		{"large output", 0, 1024 * MB, 2560 * MB, SWIMOptions{}, []phase{{1, 3 * seconds}, {3, 122_466_666_667}}},
		{"large shuffle", 0, 2560 * MB, 1024 * MB, SWIMOptions{}, []phase{{1, 3 * seconds}, {3, 122_466_666_667}}},
		{"nothing", 0, 0, 0, SWIMOptions{}, []phase{{1, 3 * seconds}}},
		// Whether a job is map only is decided before scaling: a tenth of a byte is still
		// a shuffle.
		{"scale", 2560 * MB, 1, 0, SWIMOptions{ByteScale: 0.1}, []phase{{2, 15_800_000_000}, {1, 3_000_000_010}}},
		{"own constants", 100, 50, 20,
			SWIMOptions{BytesPerMap: 30, BytesPerReduce: 20, Overhead: 7, Rate: 5},
			// 4 maps of 25 bytes in 5 s, 3 reduces of 70/3 bytes in 14/3 s
			[]phase{{4, 5_000_000_007}, {3, 4_666_666_674}}},
		// Ties go to even: 1 byte at 2 GB/s takes 0.5 ns, 3 bytes 1.5.
		{"half down", 1, 0, 0, SWIMOptions{NoOverhead: true, Rate: 2e9}, []phase{{1, 0}}},
		{"half up", 3, 0, 0, SWIMOptions{NoOverhead: true, Rate: 2e9}, []phase{{1, 2}}},
	}
	for _, tc := range tests {
		j := swim(t, fmt.Sprintf("job7 1 1 %d %d %d", tc.input, tc.shuffle, tc.output), tc.o)[0]
		var got []phase
		for i, p := range j.Phases {
			got = append(got, phase{p.Tasks, j.Times[i].Each})
			if p.Class != sojourn.Class(i) || p.After != 0 || j.Times[i].List != nil {
				t.Errorf("%s: phase %d is %+v %+v, want class %d, a barrier, one time", tc.name, i, p, j.Times[i], i)
			}
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}

// The oracle follows the formulas of the package comment in rational numbers.
func TestSWIMMappingIsExact(t *testing.T) {
	size := rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, 1<<36))
	rapid.Check(t, func(t *rapid.T) {
		in, shuffle, out := size.Draw(t, "in"), size.Draw(t, "shuffle"), size.Draw(t, "out")
		scale := rapid.SampledFrom([]string{"1", "0.1", "3", "0.007", "1.25"}).Draw(t, "scale")
		o := SWIMOptions{
			BytesPerMap:    rapid.Int64Range(1<<20, 1<<30).Draw(t, "B"),
			BytesPerReduce: rapid.Int64Range(1<<20, 1<<30).Draw(t, "BR"),
			Overhead:       time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "overhead")),
			Rate:           rapid.Int64Range(1, 1<<30).Draw(t, "rate"),
		}
		fmt.Sscan(scale, &o.ByteScale)
		f, _ := new(big.Rat).SetString(scale)
		rat := func(n int64) *big.Rat { return big.NewRat(n, 1) }
		scaled := func(n int64) *big.Rat { return new(big.Rat).Mul(f, rat(n)) }
		div := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Quo(a, b) }
		ceil := func(r *big.Rat) int64 {
			n := new(big.Int).Div(r.Num(), r.Denom()).Int64()
			if !r.IsInt() {
				n++
			}
			return n
		}
		nanos := func(seconds *big.Rat) *big.Rat { return new(big.Rat).Mul(seconds, rat(1e9)) }

		maps := max(1, ceil(div(scaled(in), rat(o.BytesPerMap))))
		reduces := max(1, ceil(div(scaled(max(shuffle, out)), rat(o.BytesPerReduce))))
		if shuffle == 0 {
			maps, reduces = max(maps, ceil(div(scaled(out), rat(o.BytesPerMap)))), 0
		}
		mapTime := nanos(div(div(scaled(in), rat(maps)), rat(o.Rate)))
		if shuffle == 0 {
			mapTime.Add(mapTime, nanos(div(div(scaled(out), rat(maps)), rat(o.Rate))))
		}
		want, times := []int64{maps}, []*big.Rat{mapTime}
		if reduces > 0 {
			moved := new(big.Rat).Add(scaled(shuffle), scaled(out))
			want, times = append(want, reduces), append(times, nanos(div(div(moved, rat(reduces)), rat(o.Rate))))
		}

		line := fmt.Sprintf("j\t0\t0\t%d\t%d\t%d", in, shuffle, out)
		for j, err := range ReadSWIM(strings.NewReader(line), o) {
			if err != nil {
				if strings.Contains(err.Error(), "out of range") {
					return // hours at a byte a second
				}
				t.Fatal(err)
			}
			if len(j.Phases) != len(want) {
				t.Fatalf("%d phases, want %d", len(j.Phases), len(want))
			}
			for i, p := range j.Phases {
				exact := times[i].Add(times[i], rat(int64(o.Overhead)))
				off := new(big.Rat).Sub(rat(int64(j.Times[i].Each)), exact)
				if int64(p.Tasks) != want[i] || off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
					t.Fatalf("phase %d: %d tasks of %d ns, want %d of %s", i, p.Tasks, j.Times[i].Each, want[i], exact.FloatString(3))
				}
			}
		}
	})
}

func TestSWIMFields(t *testing.T) {
	jobs := swim(t, "job5 1 1 0 0 0\r\n\njob9 1.5 0.5 0 0 0 /logs\njob9 86400 9 0 0 0 \njob10 86400 0 0 0 0 in out x", SWIMOptions{})
	want := []struct {
		name string
		at   time.Duration
	}{{"job5", seconds}, {"/logs", 1500 * time.Millisecond}, {"job9", 86400 * seconds}, {"in", 86400 * seconds}}
	if len(jobs) != len(want) {
		t.Fatalf("%d jobs, want %d", len(jobs), len(want))
	}
	for i, j := range jobs {
		if j.ID != sojourn.JobID(i+1) || j.Name != want[i].name || j.At != sojourn.Time(want[i].at) {
			t.Errorf("job %d: id %d, name %q, at %v, want id %d, %q, %v", i, j.ID, j.Name, j.At, i+1, want[i].name, want[i].at)
		}
	}
}

// A mark ^ stands where the fault is, and spaces for tabs.
func TestSWIMFaults(t *testing.T) {
	const good = "job0 10 10 1 1 1\n"
	for _, tc := range []struct{ marked, reason string }{
		{"job0 1^", "2 fields, want at least 6"},
		{good + "job1 1 1 1 1^\njob2", "5 fields, want at least 6"},
		{"j 1 1 1 1 1 a b c ^d", "10 fields, want at most 9"},
		{"^ 1 1 1 1 1", "empty job name"},
		{"^\xff 1 1 1 1 1", "invalid UTF-8"},
		{"j 1 1 1 1 1 é^\xff", "invalid UTF-8"},
		{"j ^-1 1 1 1 1", `want a time in seconds, found "-1"`},
		{"j ^NaN 1 1 1 1", `want a time in seconds, found "NaN"`},
		{"j ^1e3 1 1 1 1", `want a time in seconds, found "1e3"`},
		{"j ^ 1 1 1 1", `want a time in seconds, found ""`},
		{"j ^1. 1 1 1 1", `want a time in seconds, found "1."`},
		{"j ^9223372037 1 1 1 1", "9223372037 is out of range"},
		{"j 1 ^x 1 1 1", `want a time in seconds, found "x"`},
		{"j 1 1 ^-5 1 1", `want a number of bytes from 0 to 9223372036854775807, found "-5"`},
		{"j 1 1 1 ^1.5 1", `found "1.5"`},
		{"j 1 1 1 1 ^9223372036854775808", `found "9223372036854775808"`},
		{"j 1 1 1 1 ^", `found ""`},
		{"j 1 1 ^9223372036854775807 1 1", "more than 16777216 tasks in a job"},
		{"j 1 1 ^1 1 9223372036854775807", "more than 16777216 tasks in a job"},
		{good + "\n" + "job1 ^9 1 1 1 1", "arrival at 9 is before that of the job before, 10"},
	} {
		marked := strings.ReplaceAll(tc.marked, " ", "\t")
		text, line, column := cut(t, marked)
		jobs, err := collect(t, ReadSWIM(strings.NewReader(text), SWIMOptions{File: "s.tsv"}))
		checkError(t, text, err, "s.tsv", line, column, tc.reason)
		if want := strings.Count(tc.marked, good); len(jobs) != want {
			t.Errorf("%q: %d jobs before the error, want %d", text, len(jobs), want)
		}
	}

	// Only odd constants make these inputs too large.
	const text = "j\t1\t1\t10000000000\t1\t1"
	_, err := collect(t, ReadSWIM(strings.NewReader(text), SWIMOptions{Rate: 1, BytesPerMap: 1 << 40}))
	checkError(t, text, err, "-", 1, 7, "the sum of the times of the job's tasks is out of range")
	_, err = collect(t, ReadSWIM(strings.NewReader(text), SWIMOptions{Overhead: math.MaxInt64 / 2, BytesPerMap: 1 << 40}))
	checkError(t, text, err, "-", 1, 7, "the sum of the times of the job's tasks is out of range")
	_, err = collect(t, ReadSWIM(strings.NewReader(text), SWIMOptions{Noise: 1e9, Seed: 4}))
	checkError(t, text, err, "-", 1, 7, "the sum of the times of the job's tasks is out of range")
}

func TestSWIMOptionsOutOfRange(t *testing.T) {
	for _, o := range []SWIMOptions{
		{BytesPerMap: -1}, {BytesPerReduce: -1}, {Overhead: -1}, {Rate: -1}, {Overhead: 1, NoOverhead: true},
		{ByteScale: -1}, {ByteScale: math.NaN()}, {ByteScale: math.Inf(1)},
		{Noise: -1}, {Noise: math.NaN()}, {Noise: math.Inf(1)},
	} {
		jobs, err := collect(t, ReadSWIM(strings.NewReader("j\t0\t0\t1\t1\t1"), o))
		if err == nil || len(jobs) > 0 || !strings.HasPrefix(err.Error(), "trace: SWIM options: ") {
			t.Errorf("%+v: %d jobs, error %v, want an error of the options", o, len(jobs), err)
		}
	}
}

// The logarithm of time over plain time has mean 0 and standard deviation Noise. 2000
// draws are within 5 standard errors, 0.5*5/sqrt(2000) and 0.5*5/sqrt(4000).
func TestSWIMNoise(t *testing.T) {
	const n = 2000
	line := fmt.Sprintf("j 0 0 %d 0 0\nk 0 0 1 1 1", int64(n*128)<<20)
	o := SWIMOptions{Noise: 0.5, Seed: 7}
	jobs := swim(t, line, o)
	times := jobs[0].Times[0].List
	if len(times) != n {
		t.Fatalf("%d times, want %d", len(times), n)
	}
	var sum, squares float64
	for _, d := range times {
		log := math.Log(float64(d) / 15.8e9) // 3 + 128/10 s
		sum += log
		squares += log * log
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean) > 0.056 || math.Abs(deviation-0.5) > 0.040 {
		t.Errorf("mean %.3f, deviation %.3f, want 0 and 0.5", mean, deviation)
	}
	if a, b := jobs[1].Times[0].List[0], jobs[1].Times[1].List[0]; a == b {
		t.Errorf("two tasks have the same noise: %v and %v", a, b)
	}

	if again := swim(t, line, o); !reflect.DeepEqual(again, jobs) {
		t.Error("the same seed makes other times")
	}
	o.Seed++
	if other := swim(t, line, o); reflect.DeepEqual(other, jobs) {
		t.Error("another seed makes the same times")
	}
}

// At a ByteScale of 1, numbers of 128 bits and those without a bound say the same, at the ends of all ranges.
func TestSWIMPlainScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := func(least int64, name string) int64 {
			return rapid.OneOf(rapid.Int64Range(least, least+3), rapid.Int64Range(least, math.MaxInt64), rapid.Int64Range(math.MaxInt64-3, math.MaxInt64)).Draw(t, name)
		}
		m, err := newMapping(SWIMOptions{Overhead: time.Duration(size(1, "overhead")), Rate: size(1, "rate"), limits: limits{tasks: int(min(size(1, "limit"), 1<<31-1))}})
		if err != nil {
			t.Fatal(err)
		}
		slow := *m
		slow.plain = false
		bytes, per := size(0, "bytes"), size(1, "bytes of a task")
		if got, want := m.tasks(bytes, per), slow.tasks(bytes, per); got != want {
			t.Fatalf("%d tasks, want %d", got, want)
		}
		n, moved := int(min(size(1, "tasks"), 1<<31-1)), uint64(bytes)+uint64(size(0, "more bytes"))
		got, fits := m.each(n, moved)
		want, wantFits := slow.each(n, moved)
		if fits != wantFits || fits && got != want {
			t.Fatalf("%d, %t, want %d, %t", got, fits, want, wantFits)
		}
	})
}

// At 1,024 bytes a second, an odd number of bytes takes a time that ends in half a nanosecond.
func TestSWIMPlainScaleRoundsHalvesToEven(t *testing.T) {
	m, err := newMapping(SWIMOptions{Rate: 1 << 10, NoOverhead: true})
	if err != nil {
		t.Fatal(err)
	}
	slow := *m
	slow.plain = false
	for bytes := range uint64(100) {
		got, _ := m.each(1, bytes)
		if want, _ := slow.each(1, bytes); got != want {
			t.Errorf("%d bytes take %d ns, want %d", bytes, got, want)
		}
	}
}
