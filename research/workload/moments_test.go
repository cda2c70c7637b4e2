package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// tolerance is how many standard errors a moment may be off. Seeds are fixed, so
// that a test that passes once passes always.
const tolerance = 4

// checkMoments compares the mean and the variance of independent numbers with
// those of their distribution. The standard error of the variance follows from
// the fourth moment of the sample. A variance of NaN is not checked.
func checkMoments(t *testing.T, what string, xs []float64, mean, variance float64) {
	t.Helper()
	n := float64(len(xs))
	if n < 100 {
		t.Fatalf("%s: %v numbers are too few", what, n)
	}
	var sum, sum2, sum4 float64
	for _, x := range xs {
		d := x - mean
		sum += d
		sum2 += d * d
		sum4 += d * d * d * d
	}
	spread := variance
	if math.IsNaN(variance) {
		spread = sum2 / n
	}
	if se := math.Sqrt(spread / n); !(math.Abs(sum/n) <= tolerance*se+1e-9*math.Abs(mean)) {
		t.Errorf("%s: mean of %v numbers %v, want %v, which is %.1f standard errors off", what, n, mean+sum/n, mean, math.Abs(sum/n)/se)
	}
	if !math.IsNaN(variance) {
		se := math.Sqrt((sum4/n - sum2/n*sum2/n) / n)
		if off := math.Abs(sum2/n - variance); !(off <= tolerance*se+1e-9*variance) {
			t.Errorf("%s: variance of %v numbers %v, want %v, which is %.1f standard errors off", what, n, sum2/n, variance, off/se)
		}
	}
}

// checkShare compares how many of n independent events happened with their
// probability.
func checkShare(t *testing.T, what string, hits, n int, p float64) {
	t.Helper()
	if off, se := float64(hits)/float64(n)-p, math.Sqrt(p*(1-p)/float64(n)); math.Abs(off) > tolerance*se {
		t.Errorf("%s: %d of %d, want a share of %v, which is %.1f standard errors off", what, hits, n, p, math.Abs(off)/se)
	}
}

// many returns a number of draws, or a quarter of it unless thorough.
func many(n int) int {
	if thorough {
		return n
	}
	return n / 4
}

// overSeeds returns the jobs of many seeds, one workload after the other.
func overSeeds(t *testing.T, name, options string, seeds int) (all [][]*sim.Job) {
	t.Helper()
	g := lookup(t, name)
	for seed := range uint64(seeds) {
		all = append(all, make1Of(t, g, seed, options))
	}
	return all
}

// each returns f of every job of many workloads.
func each(all [][]*sim.Job, f func(j *sim.Job) float64) (xs []float64) {
	for _, jobs := range all {
		for _, j := range jobs {
			xs = append(xs, f(j))
		}
	}
	return xs
}

// only returns the jobs that are wanted.
func only(all [][]*sim.Job, want func(j *sim.Job) bool) [][]*sim.Job {
	var some [][]*sim.Job
	for _, jobs := range all {
		some = append(some, slices.DeleteFunc(slices.Clone(jobs), func(j *sim.Job) bool { return !want(j) }))
	}
	return some
}

// gapsOf returns the seconds between arrivals.
func gapsOf(all [][]*sim.Job) (xs []float64) {
	for _, jobs := range all {
		for i := 1; i < len(jobs); i++ {
			xs = append(xs, jobs[i].At.Sub(jobs[i-1].At).Seconds())
		}
	}
	return xs
}

func sized(j *sim.Job) float64 {
	sum := 0.0
	for p, times := range j.Times {
		sum += times.Total(j.Phases[p].Tasks).Seconds()
	}
	return sum
}

// taskTime returns the seconds of a task.
func taskTime(phase, task int) func(*sim.Job) float64 {
	return func(j *sim.Job) float64 { return j.Times[phase].Of(task).Seconds() }
}

func tasks(phase int) func(*sim.Job) float64 {
	return func(j *sim.Job) float64 { return float64(j.Phases[phase].Tasks) }
}

func logOf(f func(*sim.Job) float64) func(*sim.Job) float64 {
	return func(j *sim.Job) float64 { return math.Log(f(j)) }
}

// uniformMoments are those of the integers from lo to hi.
func uniformMoments(lo, hi float64) (mean, variance float64) {
	return (lo + hi) / 2, ((hi-lo+1)*(hi-lo+1) - 1) / 12
}

// The truncated normal distribution has mean m + sd h and variance
// sd^2 (1 + a h - h^2), where a = (min-m)/sd and h = phi(a) / (1-Phi(a)).
func truncatedMoments(m, sd, least float64) (mean, variance float64) {
	a := (least - m) / sd
	h := math.Exp(-a*a/2) / math.Sqrt(2*math.Pi) / (math.Erfc(a/math.Sqrt2) / 2)
	return m + sd*h, sd * sd * (1 + a*h - h*h)
}

// The clamped normal distribution max(min, N): E = min Phi(a) + m (1-Phi(a)) +
// sd phi(a), E^2 = min^2 Phi(a) + (m^2+sd^2)(1-Phi(a)) + sd (m+min) phi(a).
func clampedMoments(m, sd, least float64) (mean, variance float64) {
	a := (least - m) / sd
	up := math.Erfc(a/math.Sqrt2) / 2
	phi := math.Exp(-a*a/2) / math.Sqrt(2*math.Pi)
	mean = least*(1-up) + m*up + sd*phi
	return mean, least*least*(1-up) + (m*m+sd*sd)*up + sd*(m+least)*phi - mean*mean
}

func TestGamma(t *testing.T) {
	for x := 0.01; x < 100; x *= 1.07 {
		if got, want := gamma(x), math.Gamma(x); math.Abs(got-want) > 1e-12*want {
			t.Errorf("gamma(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestDistributions(t *testing.T) {
	n := many(200_000)
	geometricMoments := func(mean float64) (float64, float64) { return mean, mean * (mean - 1) }
	roundedExponential := func(m float64) (mean, variance float64) {
		// P(N > k) = exp(-(k+1/2)/m) from k = 1 on; E N = sum P(N > k),
		// E N^2 = sum (2k+1) P(N > k).
		mean, second := 1.0, 1.0
		for k := 1.0; k < 60*m; k++ {
			p := math.Exp(-(k + 0.5) / m)
			mean += p
			second += (2*k + 1) * p
		}
		return mean, second - mean*mean
	}
	type moments = func() (float64, float64)
	given := func(mean, variance float64) moments { return func() (float64, float64) { return mean, variance } }
	for i, tc := range []struct {
		name string
		draw func(r *rand.Rand) float64
		want moments
	}{
		{"uniform", func(r *rand.Rand) float64 { return uniform(r, 2, 18) }, given(10, 256.0/12)},
		{"within", func(r *rand.Rand) float64 { return float64(within(r, span{3, 9})) }, func() (float64, float64) { return uniformMoments(3, 9) }},
		{"geometric 1", func(r *rand.Rand) float64 { return geometric(r, 1) }, given(1, 0)},
		{"geometric 1.25", func(r *rand.Rand) float64 { return geometric(r, 1.25) }, func() (float64, float64) { return geometricMoments(1.25) }},
		{"geometric 2", func(r *rand.Rand) float64 { return geometric(r, 2) }, func() (float64, float64) { return geometricMoments(2) }},
		{"geometric 50", func(r *rand.Rand) float64 { return geometric(r, 50) }, func() (float64, float64) { return geometricMoments(50) }},
		{"poisson 0.3", func(r *rand.Rand) float64 { return float64(poissonCount(r, 0.3)) }, given(0.3, 0.3)},
		{"poisson 30", func(r *rand.Rand) float64 { return float64(poissonCount(r, 30)) }, given(30, 30)},
		{"rounded exponential 0.4", func(r *rand.Rand) float64 { return float64(exponentialCount(r, 0.4)) }, func() (float64, float64) { return roundedExponential(0.4) }},
		{"rounded exponential 13.5", func(r *rand.Rand) float64 { return float64(exponentialCount(r, 13.5)) }, func() (float64, float64) { return roundedExponential(13.5) }},
		{"weibull 2", func(r *rand.Rand) float64 { return weibull(r, 3, 2) }, given(3*math.Gamma(1.5), 9*(1-math.Gamma(1.5)*math.Gamma(1.5)))},
		{"weibull 0.7", func(r *rand.Rand) float64 { return weibull(r, 1, 0.7) }, given(math.Gamma(1+1/0.7), math.Gamma(1+2/0.7)-math.Pow(math.Gamma(1+1/0.7), 2))},
		{"pareto 6", func(r *rand.Rand) float64 { return pareto(r, 5, 6) }, given(6, 25*6/25.0/4)},
		{"log-normal", func(r *rand.Rand) float64 { return math.Log(logNormal(r, 25, 0.7)) }, given(math.Log(25), 0.49)},
		{"normal", normal{mean: 10, sd: 5, min: 1}.draw, func() (float64, float64) { return truncatedMoments(10, 5, 1) }},
		{"half normal", normal{mean: 3, sd: 2, min: 3}.draw, given(3+2*math.Sqrt(2/math.Pi), 4*(1-2/math.Pi))},
		{"clamped normal", normal{mean: 10, sd: 5, min: 9, clamp: true}.draw, func() (float64, float64) { return clampedMoments(10, 5, 9) }},
	} {
		r := rand.New(rand.NewPCG(uint64(i), 99))
		xs := make([]float64, n)
		for k := range xs {
			xs[k] = tc.draw(r)
		}
		mean, variance := tc.want()
		checkMoments(t, tc.name, xs, mean, variance)
	}
}

// Neighbouring streams are independent: jobs, purposes and seeds that differ by 1
// give numbers that do not correlate, and that are uniform over the streams.
func TestStreamsAreIndependent(t *testing.T) {
	const n = 20_000
	for name, at := range map[string]func(i int) *rand.Rand{ // each is checked by itself
		"job":     func(i int) *rand.Rand { return draws{1}.stream(gaps, i) },
		"purpose": func(i int) *rand.Rand { return draws{1}.stream(purpose(i), 1) },
		"seed":    func(i int) *rand.Rand { return draws{uint64(i)}.stream(gaps, 1) },
	} {
		var xs, products []float64
		for i := range n {
			x, y := at(i).Float64()-0.5, at(i+1).Float64()-0.5
			xs = append(xs, x)
			products = append(products, x*y)
		}
		checkMoments(t, name, xs, 0, 1.0/12)
		checkMoments(t, name+" and the next", products, 0, 1.0/144)
	}
	if a, b := (draws{1}).stream(gaps, 3).Uint64(), (draws{1}).stream(order, 3).Uint64(); a == b {
		t.Errorf("two purposes draw %x", a)
	}
}

func TestGeneralSizes(t *testing.T) {
	for _, tc := range []struct {
		options        string
		mean, variance float64
	}{
		{"sizes=constant", 100, 0},
		{"sizes=exponential", 100, 1e4},
		{"sizes=exponential mean=5s tasks=1-20", 5, 25},
		// Scale 100/Gamma(3) = 50: variance 2500 (Gamma(5) - Gamma(3)^2) = 2500 x 20.
		{"sizes=weibull", 100, 5e4},
		{"sizes=weibull weibull-shape=2", 100, 1e4 * (math.Gamma(2)/math.Pow(math.Gamma(1.5), 2) - 1)},
		// Least value 100 x 5/6: variance xm^2 a / ((a-1)^2 (a-2)).
		{"sizes=pareto pareto-alpha=6", 100, math.Pow(100*5.0/6, 2) * 6 / 25 / 4},
		{"sizes=lognormal lognormal-sigma=0.5", 100, 1e4 * (math.Exp(0.25) - 1)},
		{"sizes=lognormal lognormal-sigma=0", 100, 0},
		// Two tasks of half the work each, times factors of mean 1 and E = exp(s^2).
		{"sizes=constant tasks=2 noise=0.5", 100, 2 * 2500 * (math.Exp(0.25) - 1)},
		{"sizes=constant reduce-share=0.25 reduces=3", 100, 0},
	} {
		xs := each(overSeeds(t, "poisson", tc.options+" load=none", many(20)), sized)
		if tc.variance == 0 {
			for _, x := range xs {
				if math.Abs(x-tc.mean) > 1e-6 {
					t.Errorf("poisson %s: work %v, want %v", tc.options, x, tc.mean)
					break
				}
			}
			continue
		}
		checkMoments(t, "poisson "+tc.options, xs, tc.mean, tc.variance)
	}
	// Heavy tails have no variance to be checked; the share above a size is known.
	for _, tc := range []struct {
		options string
		above   float64
		p       float64
	}{
		{"sizes=pareto", 100, math.Pow((1-1/1.5)/1, 1.5)}, // P(X > x) = (xm/x)^a, xm = 100/3
		{"sizes=pareto", 1000, math.Pow(1.0/30, 1.5)},
		{"sizes=weibull", 100, math.Exp(-math.Sqrt2)}, // exp(-sqrt(100/50))
		{"sizes=lognormal", 100 * math.Exp(-1.125), 0.5},
		{"sizes=lognormal", 100 * math.Exp(-1.125+1.5), math.Erfc(1/math.Sqrt2) / 2},
	} {
		hits, n := 0, 0
		for _, x := range each(overSeeds(t, "poisson", tc.options+" load=none", many(20)), sized) {
			n++
			if x > tc.above {
				hits++
			}
		}
		checkShare(t, fmt.Sprintf("poisson %s: work above %v", tc.options, tc.above), hits, n, tc.p)
	}
}

func TestGeneralShape(t *testing.T) {
	all := overSeeds(t, "poisson", "tasks=3-17 reduces=2-4 reduce-share=0.25", 10)
	mean, variance := uniformMoments(3, 17)
	checkMoments(t, "tasks", each(all, tasks(0)), mean, variance)
	mean, variance = uniformMoments(2, 4)
	checkMoments(t, "reduces", each(all, tasks(1)), mean, variance)
	for _, j := range all[0] {
		reduce := j.Times[1].Total(j.Phases[1].Tasks).Seconds()
		if share := reduce / sized(j); math.Abs(share-0.25) > 1e-6 {
			t.Errorf("job %d: the second phase has a share of %v, want 0.25", j.ID, share)
		}
	}
	// With noise the factors of tasks have mean 1, variance exp(s^2) - 1.
	all = overSeeds(t, "poisson", "sizes=constant tasks=10 noise=0.4", 10)
	checkMoments(t, "noise", each(all, taskTime(0, 3)), 10, 100*(math.Exp(0.16)-1))
}

func TestArrivalProcesses(t *testing.T) {
	for _, tc := range []struct {
		name, options  string
		mean, variance float64
	}{
		{"poisson", "load=none", 10, 100},
		{"hfsp-dev", "jobs=1000 maps=1,1,1,1 reduces=0,0,0,0", 30, 900},
		{"hfsp-test", "jobs=1000 maps=1,1,1,1 reduces=0,0,0,0", 60, 3600},
		{"hfsp-prod", "jobs=1000 maps=1,1,1,1 reduces=0,0,0,0", 60, 3600},
		{"hpfsp-fig4", "jobs=1000", 300, 90000},
		{"hpfsp-fig5", "jobs=1000 tasks=1", 300, 90000},
		{"rtmr-1", "scale=10", 14, 196},
		{"rtmr-2", "scale=10", 14, 196},
		// In batches a gap is 0 with 1-1/b, else Exp(I b): variance 2 I^2 b - I^2.
		{"bursty", "mode=batch load=none", 10, 1900},
		{"bursty", "mode=batch batch=1 load=none", 10, 100},
		// A gap has on-time G = Exp(g), g = I on/(on+off), and Poisson(G/on) off-periods:
		// mean g (1 + off/on) = I, variance I^2 + 2 g off^2/on.
		{"bursty", "load=none", 10, 100 + 2*10.0/300*240*240},
		{"bursty", "on=5s off=20s load=none", 10, 100 + 2*10.0/25*400},
		{"bursty", "off=0s load=none", 10, 100},
		// Slots of 1 s up to the one with a release: geometric.
		{"mars-random", "jobs=1000 maps=1", 2, 2},
		{"mars-random", "jobs=1000 maps=1 p=0.2 slot=3s", 15, 9 * 20},
	} {
		all := overSeeds(t, tc.name, tc.options, many(20))
		checkMoments(t, "gaps of "+tc.name+" "+tc.options, gapsOf(all), tc.mean, tc.variance)
		first := 0
		for _, jobs := range all {
			if jobs[0].At > 0 {
				first++
			}
		}
		if first > 0 && !strings.HasPrefix(tc.name, "mars-") {
			t.Errorf("%s %s: %d of 20 workloads do not begin at 0", tc.name, tc.options, first)
		}
	}

	hits, n := 0, 0
	for _, gap := range gapsOf(overSeeds(t, "bursty", "mode=batch load=none", many(20))) {
		n++
		if gap == 0 {
			hits++
		}
	}
	checkShare(t, "bursty mode=batch: gaps of 0", hits, n, 0.9)
	// The next gap does not depend on this one.
	var products []float64
	xs := gapsOf(overSeeds(t, "bursty", "load=none", many(20)))
	for i := 1; i < len(xs); i++ {
		products = append(products, (xs[i]-10)*(xs[i-1]-10))
	}
	checkMoments(t, "bursty: products of neighbouring gaps", products, 0, math.NaN())
}

// bin returns the bin of a job of HFSP.
func bin(j *sim.Job) int {
	_, set, _ := strings.Cut(j.Name, "/")
	return slices.Index([]string{"1GB", "10GB", "100GB", "1TB"}, set)
}

// In the run of Figure 10, 18 of 100 jobs arrive between 0.4 and 0.6 hours and 35 between 1.34 and 1.5 hours, whatever is drawn. The
// others are 47, the first at once; nobody else is in a burst.
func TestHFSPBursts(t *testing.T) {
	for _, jobs := range overSeeds(t, "hfsp-prod", "bursts=fig10 interval=90s", 20) {
		first, second, before := 0, 0, jobs[0].At
		for _, j := range jobs {
			hours := j.At.Sub(0).Hours()
			switch {
			case hours >= 0.4 && hours < 0.6:
				first++
			case hours >= 1.34 && hours < 1.5:
				second++
			}
			if j.At < before {
				t.Fatalf("job %d arrives before the job before it", j.ID)
			}
			before = j.At
		}
		if first != 18 || second != 35 || len(jobs) != 100 || jobs[0].At != 0 {
			t.Errorf("%d and %d of %d jobs are in the bursts, and the first comes at %v", first, second, len(jobs), jobs[0].At)
		}
	}
	if few := overSeeds(t, "hfsp-prod", "bursts=fig10 jobs=3", 1); len(few[0]) != 3 {
		t.Errorf("%d jobs, want 3", len(few[0]))
	}
}

func TestHFSP(t *testing.T) {
	shares := map[string][4]float64{"hfsp-dev": {65, 20, 10, 5}, "hfsp-test": {30, 40, 10, 20}, "hfsp-prod": {0, 10, 60, 30}}
	for _, name := range []string{"hfsp-dev", "hfsp-test", "hfsp-prod"} {
		all := overSeeds(t, name, "", many(100))
		var counts [4]int
		total, queries := 0, 0
		for _, jobs := range all {
			if len(jobs) != 100 {
				t.Fatalf("%s: %d jobs, want 100", name, len(jobs))
			}
			for _, j := range jobs {
				counts[bin(j)]++
				total++
				if strings.HasPrefix(j.Name, "L17/") {
					queries++
				}
				maps := j.Phases[0].Tasks
				if got, want := j.Threshold(1), (8*maps+9)/10; got != want || j.Phases[0].Class != sojourn.MapClass || j.Phases[1].Class != sojourn.ReduceClass {
					t.Fatalf("%s: %d maps: reduces wait for %d of them, want %d", name, maps, got, want)
				}
			}
		}
		checkShare(t, name+": query 17", queries, total, 1.0/17)
		spans := [4][4]float64{{1, 4, 1, 1}, {10, 50, 1, 10}, {50, 150, 5, 20}, {151, 500, 20, 40}}
		medians := [4]float64{4, 8, 20, 60}
		for b, share := range shares[name] {
			what := fmt.Sprintf("%s, bin %d", name, b+1)
			checkShare(t, what, counts[b], total, share/100)
			if share == 0 {
				continue
			}
			some := only(all, func(j *sim.Job) bool { return bin(j) == b })
			mean, variance := uniformMoments(spans[b][0], spans[b][1])
			checkMoments(t, what+": maps", each(some, tasks(0)), mean, variance)
			if b > 0 {
				mean, variance = uniformMoments(spans[b][2], spans[b][3])
				checkMoments(t, what+": reduces", each(some, tasks(1)), mean, variance)
			}
			// The first task of each job: the variances of jobs and of tasks add up.
			checkMoments(t, what+": log of map times", each(some, logOf(taskTime(0, 0))), math.Log(25), 0.16+0.04)
			checkMoments(t, what+": log of reduce times", each(some, logOf(taskTime(1, 0))), math.Log(medians[b]), 0.49+0.09)
		}
		// Between two tasks of a job only the variance of tasks is left.
		large := only(all, func(j *sim.Job) bool { return j.Phases[0].Tasks > 1 && j.Phases[1].Tasks > 1 })
		checkMoments(t, name+": ratio of map times", each(large, func(j *sim.Job) float64 { return math.Log(taskTime(0, 0)(j) / taskTime(0, 1)(j)) }), 0, 2*0.04)
		checkMoments(t, name+": ratio of reduce times", each(large, func(j *sim.Job) float64 { return math.Log(taskTime(1, 0)(j) / taskTime(1, 1)(j)) }), 0, 2*0.09)
	}
}

// The maps have the loads that the documentation of map-median tells: by the
// formula, shares x maps x 25 s exp(0.16/2 + 0.04/2) / (40 x interval).
func TestHFSPLoads(t *testing.T) {
	for name, want := range map[string]float64{"hfsp-dev": 0.8, "hfsp-test": 1.0, "hfsp-prod": 1.9} {
		var loads []float64
		for _, jobs := range overSeeds(t, name, "jobs=1000", many(12)) {
			loads = append(loads, loadOf(t, jobs, "20x2+1"))
		}
		if got := mean(loads); math.Abs(got-want) > 0.06 {
			t.Errorf("%s: load of the maps %v, want about %v", name, got, want)
		}
	}
}

func TestHFSPOptions(t *testing.T) {
	// Runs of a query have the times of the query.
	times := map[string]float64{}
	for _, j := range make1(t, "hfsp-test", 1, "times=query map-noise=0 reduce-noise=0 jobs=500 queries=3") {
		for p := range j.Phases {
			key := fmt.Sprint(j.Name, p)
			if got, seen := times[key]; seen && got != taskTime(p, 0)(j) {
				t.Errorf("%s: a task of phase %d takes %v s, and in another job %v s", j.Name, p, taskTime(p, 0)(j), got)
			}
			times[key] = taskTime(p, 0)(j)
		}
	}
	distinct := map[float64]bool{}
	for _, x := range times {
		distinct[x] = true
	}
	if len(times) != 3*4*2 || len(distinct) != len(times) {
		t.Errorf("%d times, of which %d are different, of 3 queries on 4 bins in 2 phases", len(times), len(distinct))
	}
	for _, j := range make1(t, "hfsp-dev", 1, "reduces=0,0,0,0") {
		if len(j.Phases) != 1 {
			t.Fatalf("job %d has %d phases, want no reduces", j.ID, len(j.Phases))
		}
	}
	all := overSeeds(t, "hfsp-test", "nodes=20", 10)
	checkPlacement(t, "hfsp-test", all, 20, 3, 128<<20)
}

// checkPlacement checks that inputs are on as many different nodes as there are
// replicas, each node alike.
func checkPlacement(t *testing.T, name string, all [][]*sim.Job, nodes, replicas int, bytes int64) {
	t.Helper()
	counts := make([]int, nodes+1)
	pairs, total := 0, 0 // tasks with node 1, and with node 2 as well
	for _, jobs := range all {
		for _, j := range jobs {
			p := &j.Phases[0]
			for i := range p.Tasks {
				on := slices.Sorted(slices.Values(p.Inputs.Of(i)))
				if len(on) != replicas || len(slices.Compact(on)) != replicas || int(on[replicas-1]) > nodes || p.Bytes[i] != bytes {
					t.Fatalf("%s: job %d, task %d: %d bytes on nodes %v, want %d on %d different ones of %d",
						name, j.ID, i, p.Bytes[i], p.Inputs.Of(i), bytes, replicas, nodes)
				}
				for _, n := range on {
					counts[n]++
				}
				if slices.Contains(on, 1) && slices.Contains(on, 2) {
					pairs++
				}
				total++
			}
		}
	}
	for n := 1; n <= nodes; n++ {
		checkShare(t, fmt.Sprintf("%s: inputs on node %d", name, n), counts[n], total, float64(replicas)/float64(nodes))
	}
	if replicas > 1 {
		checkShare(t, name+": inputs on nodes 1 and 2", pairs, total, float64(replicas*(replicas-1))/float64(nodes*(nodes-1)))
	}
}

func TestHPFSPBenchmarks(t *testing.T) {
	for _, tc := range []struct {
		name, options string
		jobs          int
		gb            func(i int) int
		mapTime       float64
		reduces       int
		reduceTime    float64 // of all reduces together, for a GB
	}{
		{"hpfsp-fig2", "", 10, func(int) int { return 1 }, 30, 1, 10},
		{"hpfsp-fig2", "jobs=3 size=4 reduces=6", 3, func(int) int { return 4 }, 30, 6, 10},
		{"hpfsp-fig3", "", 5, func(i int) int { return i + 1 }, 15, 10, 120},
		{"hpfsp-fig3", "panel=a size=2", 5, func(int) int { return 2 }, 15, 10, 120},
	} {
		what := tc.name + " " + tc.options
		all := overSeeds(t, tc.name, tc.options, 100)
		for _, jobs := range all {
			if len(jobs) != tc.jobs {
				t.Fatalf("%s: %d jobs, want %d", what, len(jobs), tc.jobs)
			}
			for i, j := range jobs {
				maps, reduces := j.Phases[0].Tasks, j.Phases[1].Tasks
				if maps != 16*tc.gb(i) || reduces != tc.reduces || j.At != 0 {
					t.Fatalf("%s: job %d at %v: %d maps and %d reduces, want %d and %d at 0", what, j.ID, j.At, maps, reduces, 16*tc.gb(i), tc.reduces)
				}
				if got, want := j.Threshold(1), (maps+19)/20; got != want {
					t.Fatalf("%s: reduces wait for %d of %d maps, want %d", what, got, maps, want)
				}
			}
		}
		checkMoments(t, what+": log of map times", each(all, logOf(taskTime(0, 5))), math.Log(tc.mapTime), 0.01)
		checkMoments(t, what+": log of reduce times", each(all, func(j *sim.Job) float64 {
			return math.Log(taskTime(1, 0)(j) / (tc.reduceTime * float64(j.Phases[0].Tasks) / 16 / float64(tc.reduces)))
		}), 0, 0.01)
	}
}

func TestHPFSPSimulations(t *testing.T) {
	equal := func(j *sim.Job) bool { return j.Times[0].List == nil }
	for _, j := range make1(t, "hpfsp-fig4", 1, "") { // A
		if j.Phases[0].Tasks != 200 || !equal(j) || taskTime(0, 0)(j) != 600 {
			t.Fatalf("hpfsp-fig4: job %d is %+v, want 200 tasks of 600 s", j.ID, j)
		}
	}
	rounded := func(m float64) (mean, variance float64) { // as in TestDistributions
		second := 1.0
		mean = 1
		for k := 1.0; k < 60*m; k++ {
			p := math.Exp(-(k + 0.5) / m)
			mean += p
			second += (2*k + 1) * p
		}
		return mean, second - mean*mean
	}
	for kind, m := range map[string]float64{"B": 200, "D": 13.5} {
		all := overSeeds(t, "hpfsp-fig4", "workload="+kind, many(100))
		mean, variance := rounded(m)
		checkMoments(t, "hpfsp-fig4 "+kind, each(all, tasks(0)), mean, variance)
		for _, j := range all[0] {
			if !equal(j) || taskTime(0, 0)(j) != 600 {
				t.Fatalf("hpfsp-fig4 %s: job %d: %+v, want tasks of 600 s", kind, j.ID, j)
			}
		}
	}
	// D has a load of 0.9: 13.5 x 10 min / (30 x 5 min).
	var loads []float64
	for _, jobs := range overSeeds(t, "hpfsp-fig4", "workload=D jobs=2000", many(20)) {
		loads = append(loads, loadOf(t, jobs, "30x1"))
	}
	if got := mean(loads); math.Abs(got-0.9) > 0.02 {
		t.Errorf("hpfsp-fig4 D: load %v, want 0.9", got)
	}
	all := overSeeds(t, "hpfsp-fig4", "workload=C", many(100))
	checkMoments(t, "hpfsp-fig4 C", each(all, taskTime(0, 0)), 600, 360_000)
	for _, j := range all[0] {
		if !equal(j) || j.Phases[0].Tasks != 200 {
			t.Fatalf("hpfsp-fig4 C: job %d: %+v, want 200 tasks of one time", j.ID, j)
		}
	}

	// N(10 min, 5 min^2), hardly truncated at 1 s: 4.46 standard deviations below.
	mean, variance := truncatedMoments(600, 134.164, 1)
	for _, kind := range []string{"F5A", "F5B"} {
		all := overSeeds(t, "hpfsp-fig5", "workload="+kind, many(60))
		checkMoments(t, "hpfsp-fig5 "+kind, each(all, taskTime(0, 0)), mean, variance)
		m, v := 200.0, 0.0
		if kind == "F5B" {
			m, v = rounded(200)
		}
		checkMoments(t, "hpfsp-fig5 "+kind+": tasks", each(all, tasks(0)), m, v)
	}
	all = overSeeds(t, "hpfsp-fig5", "workload=F5C sd=0s", many(60))
	checkMoments(t, "hpfsp-fig5 F5C: means", each(all, taskTime(0, 0)), 600, 960*960/12.0)
	// Within a job of the least mean: 2 min, of which 1 s is 0.887 standard deviations
	// below.
	mean, variance = truncatedMoments(120, 134.164, 1)
	all = overSeeds(t, "hpfsp-fig5", "workload=F5C mean-max=2m", many(60))
	checkMoments(t, "hpfsp-fig5 F5C: least mean", each(all, taskTime(0, 0)), mean, variance)
	mean, variance = clampedMoments(120, 134.164, 1)
	all = overSeeds(t, "hpfsp-fig5", "workload=F5C mean-max=2m truncate=clamp", many(60))
	checkMoments(t, "hpfsp-fig5 F5C: least mean, clamped", each(all, taskTime(0, 0)), mean, variance)
}

func TestTD(t *testing.T) {
	for _, tc := range []struct {
		name   string
		lo, hi int
	}{{"td-small", 10, 100}, {"td-mix", 50, 300}, {"td-large", 250, 400}} {
		for _, gb := range []int{100, 200, 300} {
			all := overSeeds(t, tc.name, fmt.Sprintf("size=%d", gb), 40)
			var sizes, factors []float64
			for _, jobs := range all {
				total := 0
				for i, j := range jobs {
					n := j.Phases[0].Tasks
					total += n
					if n > tc.hi || n < tc.lo && i < len(jobs)-1 || j.At != 0 {
						t.Fatalf("%s: job %d at %v has %d splits", tc.name, j.ID, j.At, n)
					}
					// Which job is the last depends on the sizes; these many are never it.
					if i < gb*16/tc.hi-1 {
						sizes = append(sizes, float64(n))
					}
					name, mean := []string{"grep", "sort", "wordcount", "index"}[i%4], []float64{9, 12, 18, 25}[i%4]
					if j.Name != name {
						t.Fatalf("%s: job %d is %s, want %s", tc.name, j.ID, j.Name, name)
					}
					factors = append(factors, taskTime(0, 0)(j)/mean)
					if f := j.Times[0].Longest().Seconds() / mean; f > 1.15 {
						t.Fatalf("%s: a task takes %v times the mean", tc.name, f)
					}
				}
				if total != 16*gb {
					t.Fatalf("%s: %d splits, want %d", tc.name, total, 16*gb)
				}
			}
			mean, variance := uniformMoments(float64(tc.lo), float64(tc.hi))
			checkMoments(t, tc.name+": splits", sizes, mean, variance)
			checkMoments(t, tc.name+": times", factors, 1, 0.3*0.3/12)
		}
		checkPlacement(t, tc.name, overSeeds(t, tc.name, "", 10), 50, 1, 64<<20)
		checkPlacement(t, tc.name, overSeeds(t, tc.name, "replicas=3 nodes=9", 10), 9, 3, 64<<20)
	}
	for _, j := range make1(t, "td-small", 1, "reduces=4") {
		if len(j.Phases) != 2 || j.Phases[1].Tasks != 4 || j.Threshold(1) != j.Phases[0].Tasks || taskTime(1, 3)(j) != 20 {
			t.Fatalf("job %d: %+v, want 4 reduces after all maps", j.ID, j)
		}
	}
}

func TestRTMR(t *testing.T) {
	// jobs, maps, reduces, deadlines: Tables III and IV as they stand in the paper.
	type line [7]int
	for _, tc := range []struct {
		name  string
		table []line
	}{
		{"rtmr-1", []line{{38, 1, 1, 1, 5, 200, 300}, {16, 2, 2, 1, 5, 200, 300}, {14, 10, 10, 5, 10, 300, 400},
			{8, 50, 50, 10, 20, 500, 800}, {6, 100, 100, 20, 30, 1000, 1500}, {6, 200, 200, 30, 30, 2000, 2500}}},
		{"rtmr-2", []line{{9, 1, 10, 1, 5, 200, 300}, {24, 10, 50, 5, 10, 300, 500}, {25, 50, 100, 15, 30, 1000, 1500},
			{18, 100, 200, 25, 50, 1500, 2500}, {13, 200, 300, 35, 70, 2500, 3500}}},
	} {
		all := overSeeds(t, tc.name, "", 60)
		deadline := func(j *sim.Job) float64 { return j.Deadline.Sub(j.At).Seconds() }
		for _, l := range tc.table {
			name := fmt.Sprintf("maps %d-%d", l[1], l[2])
			some := only(all, func(j *sim.Job) bool { return j.Name == name })
			for _, jobs := range some {
				if len(jobs) != l[0] {
					t.Fatalf("%s: %d jobs of %s, want %d", tc.name, len(jobs), name, l[0])
				}
			}
			mean, variance := uniformMoments(float64(l[1]), float64(l[2]))
			checkMoments(t, tc.name+", "+name, each(some, tasks(0)), mean, variance)
			mean, variance = uniformMoments(float64(l[3]), float64(l[4]))
			checkMoments(t, tc.name+", "+name+": reduces", each(some, tasks(1)), mean, variance)
			lo, hi := float64(l[5]), float64(l[6])
			checkMoments(t, tc.name+", "+name+": deadlines", each(some, deadline), (lo+hi)/2, (hi-lo)*(hi-lo)/12)
		}

		// A time is mean x U(0.7, 1.3) x (1.3 with probability p): E U^2 = 1 + 0.6^2/12.
		factor := func(phase int, mean func(*sim.Job) float64, p float64) {
			t.Helper()
			m, second := 1+0.3*p, (1+0.03)*(1+0.69*p)
			xs := each(all, func(j *sim.Job) float64 { return taskTime(phase, 0)(j) / mean(j) })
			checkMoments(t, fmt.Sprintf("%s: times of phase %d", tc.name, phase), xs, m, second-m*m)
			for _, jobs := range all {
				for _, j := range jobs {
					if got, want := j.Phases[phase].Estimate.Seconds(), 3*mean(j); math.Abs(got-want) > 1e-8 {
						t.Fatalf("%s: estimate %v of phase %d, want %v", tc.name, got, phase, want)
					}
					if j.Times[phase].Longest() > j.Phases[phase].Estimate {
						t.Fatalf("%s: job %d, phase %d: a task takes longer than its estimate", tc.name, j.ID, phase)
					}
				}
			}
		}
		factor(0, func(*sim.Job) float64 { return 12 }, 0.2)
		factor(1, func(j *sim.Job) float64 { return 10 + 4*tasks(0)(j)/tasks(1)(j) }, 1.0/3)

		// Shuffled, each place is as likely to hold a job of the first bin.
		checkShuffled(t, tc.name, overSeeds(t, tc.name, "", many(300)), fmt.Sprintf("maps %d-%d", tc.table[0][1], tc.table[0][2]), tc.table[0][0])
		for i, j := range make1(t, tc.name, 3, "order=bins") {
			if i < tc.table[0][0] != (j.Name == fmt.Sprintf("maps %d-%d", tc.table[0][1], tc.table[0][2])) {
				t.Fatalf("%s order=bins: job %d is %s", tc.name, i, j.Name)
			}
		}
	}
	if n := len(make1(t, "rtmr-1", 1, "")); n != 88 {
		t.Errorf("rtmr-1: %d jobs, want 88", n)
	}
	for _, jobs := range overSeeds(t, "rtmr-2", "max-reduces=30", 10) {
		if len(jobs) >= 89-13 || len(jobs) < 89-13-18 {
			t.Errorf("rtmr-2 max-reduces=30: %d jobs, want less than 76 and at least 58", len(jobs))
		}
		for _, j := range jobs {
			if j.Phases[1].Tasks > 30 {
				t.Errorf("rtmr-2 max-reduces=30: %d reduces", j.Phases[1].Tasks)
			}
		}
	}
	for _, j := range make1(t, "rtmr-2", 1, "estimate=none") {
		if j.Phases[0].Estimate != 0 {
			t.Fatalf("rtmr-2 estimate=none: estimate %v", j.Phases[0].Estimate)
		}
	}

	// N(100, 75) rounded, from 1 to 300.
	cdf := func(x float64) float64 { return math.Erfc((100-x)/75/math.Sqrt2) / 2 }
	var mean, second, mass float64
	for k := 1.0; k <= 300; k++ {
		p := cdf(k+0.5) - cdf(k-0.5)
		mass += p
		mean += k * p
		second += k * k * p
	}
	mean, second = mean/mass, second/mass
	maps := each(overSeeds(t, "rtmr-2", "maps=normal", many(60)), tasks(0))
	checkMoments(t, "rtmr-2 maps=normal", maps, mean, second-mean*mean)
	if most := slices.Max(maps); most > 300 {
		t.Errorf("rtmr-2 maps=normal: %v maps, want at most 300", most)
	}
}

// checkShuffled checks how often a job of a bin stands in the first, the middle and
// the last place.
func checkShuffled(t *testing.T, name string, all [][]*sim.Job, bin string, jobs int) {
	t.Helper()
	for _, place := range []int{0, len(all[0]) / 2, len(all[0]) - 1} {
		hits := 0
		for _, w := range all {
			if w[place].Name == bin {
				hits++
			}
		}
		checkShare(t, fmt.Sprintf("%s: %s in place %d", name, bin, place), hits, len(all), float64(jobs)/float64(len(all[0])))
	}
}

func TestMarS(t *testing.T) {
	weight := func(j *sim.Job) float64 { return j.Weight }
	all := overSeeds(t, "mars-random", "", 100)
	checkMoments(t, "maps", each(all, tasks(0)), 30, 30)
	// Given M, reduces are uniform on 1 to M: mean (M+1)/2, variance (M^2-1)/12.
	checkMoments(t, "reduces", each(all, func(j *sim.Job) float64 {
		m := tasks(0)(j)
		return (tasks(1)(j) - (m+1)/2) / math.Sqrt((m*m-1)/12)
	}), 0, 1)
	mean, variance := truncatedMoments(10, 5, 1)
	checkMoments(t, "map times", each(all, taskTime(0, 0)), mean, variance)
	mean, variance = truncatedMoments(15, 5, 1)
	checkMoments(t, "reduce times", each(all, taskTime(1, 0)), mean, variance)
	mean, variance = truncatedMoments(30, 10, 1)
	checkMoments(t, "weights", each(all, weight), mean, variance)
	first := 0
	for _, jobs := range all {
		if jobs[0].At == 0 {
			first++
		}
		for _, j := range jobs {
			for i, d := range j.Phases[0].Delays {
				if got, want := d.Seconds(), 0.5*taskTime(0, i)(j); math.Abs(got-want) > 1e-9 {
					t.Fatalf("delay %v after a map of %v s, want %v", got, taskTime(0, i)(j), want)
				}
			}
			if len(j.Phases[0].Delays) != j.Phases[0].Tasks || !j.AnyClass[0] || j.At%1e9 != 0 {
				t.Fatalf("job %d: %+v", j.ID, j)
			}
		}
	}
	checkShare(t, "release in the first slot", first, len(all), 0.5)

	clamped := overSeeds(t, "mars-random", "truncate=clamp map-sd=10s min-time=2s", 60)
	mean, variance = clampedMoments(10, 10, 2)
	checkMoments(t, "map times, clamped", each(clamped, taskTime(0, 0)), mean, variance)

	late := 0
	coins := overSeeds(t, "mars-random", "release=coin p=0.3", 60)
	for _, jobs := range coins {
		for _, j := range jobs {
			switch j.At {
			case 1e9:
				late++
			case 0:
			default:
				t.Fatalf("release=coin: job %d at %v", j.ID, j.At)
			}
		}
	}
	checkShare(t, "release=coin: released late", late, 6000, 0.3)
	for _, j := range make1(t, "mars-random", 1, "release=zero") {
		if j.At != 0 {
			t.Fatalf("release=zero: job %d at %v", j.ID, j.At)
		}
	}

	for _, j := range make1(t, "mars-uniform-tasks", 1, "") {
		if j.Phases[0].Tasks != 30 || j.Phases[1].Tasks != 10 {
			t.Fatalf("mars-uniform-tasks: %d and %d tasks, want 30 and 10", j.Phases[0].Tasks, j.Phases[1].Tasks)
		}
	}
	for _, j := range make1(t, "mars-uniform-times", 1, "") {
		if want := []sim.Times{{Each: 10e9}, {Each: 15e9}}; !reflect.DeepEqual(j.Times, want) {
			t.Fatalf("mars-uniform-times: times %v, want %v", j.Times, want)
		}
	}
	for _, j := range make1(t, "mars-random", 1, "longer-reduces=yes") {
		for i := range j.Phases[1].Tasks {
			if longest, reduce := j.Times[0].Longest(), j.Times[1].Of(i); longest > reduce {
				t.Errorf("longer-reduces=yes: a map of %v and a reduce of %v in job %d", longest, reduce, j.ID)
			}
		}
	}
}

func TestMarSUnitWeights(t *testing.T) {
	unit := func(j *sim.Job) float64 { return j.Weight / sized(j) }
	for seed := range uint64(5) {
		random := make1(t, "mars-random", seed, "")
		for _, name := range []string{"mars-increasing-uw", "mars-decreasing-uw"} {
			for _, sort := range []string{"jobs", "weights"} {
				jobs := make1(t, name, seed, "sort="+sort)
				var units, randomUnits []float64
				for i, j := range jobs {
					units = append(units, unit(j))
					randomUnits = append(randomUnits, unit(random[i]))
					if j.At != random[i].At {
						t.Fatalf("%s: job %d is released at %v, in mars-random at %v", name, j.ID, j.At, random[i].At)
					}
					if sort == "weights" && !reflect.DeepEqual(j.Times, random[i].Times) {
						t.Fatalf("%s sort=weights: job %d has other tasks than in mars-random", name, j.ID)
					}
				}
				slices.Sort(randomUnits)
				if name == "mars-decreasing-uw" {
					slices.Reverse(randomUnits)
				}
				for i := range units {
					if math.Abs(units[i]-randomUnits[i]) > 1e-12 {
						t.Fatalf("%s sort=%s: unit weights %v\nwant %v", name, sort, units, randomUnits)
					}
				}
			}
		}
		// The same jobs in another order.
		times := func(name string) (all []string) {
			for _, j := range make1(t, name, seed, "") {
				all = append(all, fmt.Sprint(j.Weight, j.Times))
			}
			slices.Sort(all)
			return all
		}
		if !slices.Equal(times("mars-random"), times("mars-increasing-uw")) {
			t.Errorf("seed %d: mars-increasing-uw has other jobs than mars-random", seed)
		}
	}
}

func TestMarSTasks(t *testing.T) {
	var ws []float64
	for seed := range uint64(many(20)) {
		for n := 1; n <= 1000; n += 1 + n/3 {
			total := 0
			options := fmt.Sprintf("tasks=%d", n)
			jobs := make1(t, "mars-tasks", seed, options)
			for _, j := range jobs {
				total += j.Tasks()
				sum := 0.0
				for p, list := range TaskWeights(seed, j) {
					if len(list) != j.Phases[p].Tasks {
						t.Fatalf("%d weights of %d tasks", len(list), j.Phases[p].Tasks)
					}
					for _, w := range list {
						sum += w
						if n > 500 {
							ws = append(ws, w)
						}
					}
				}
				if got, want := j.Weight, sum/float64(j.Tasks()); math.Abs(got-want) > 1e-9 {
					t.Errorf("mars-tasks %s, seed %d: job %d has weight %v, its tasks %v on average", options, seed, j.ID, got, want)
				}
				if j.Phases[0].Delays != nil || j.Tasks() > 1 && len(j.Phases) != 2 {
					t.Errorf("mars-tasks %s: job %d: %+v, want a map and a reduce phase, without delays", options, j.ID, j)
				}
			}
			if total != n {
				t.Errorf("mars-tasks %s, seed %d: %d tasks", options, seed, total)
			}
			for _, j := range make1(t, "mars-tasks", seed, options+" delay=2") {
				if len(j.Phases[0].Delays) != j.Phases[0].Tasks {
					t.Errorf("mars-tasks %s delay=2: %d delays of %d tasks", options, len(j.Phases[0].Delays), j.Phases[0].Tasks)
				}
			}
			// The same tasks, each by itself.
			single := make1(t, "mars-tasks", seed, options+" split=tasks")
			if len(single) != n {
				t.Fatalf("mars-tasks %s split=tasks, seed %d: %d jobs", options, seed, len(single))
			}
			i := 0
			for _, j := range jobs {
				for p, list := range TaskWeights(seed, j) {
					for k, w := range list {
						if s := single[i]; s.Weight != w || s.At != j.At || s.Tasks() != 1 || taskTime(0, 0)(s) != taskTime(p, k)(j) {
							t.Fatalf("mars-tasks %s split=tasks, seed %d: task %d of phase %d of job %d became %+v", options, seed, k, p, j.ID, s)
						}
						i++
					}
				}
			}
		}
	}
	mean, variance := truncatedMoments(30, 10, 1)
	checkMoments(t, "weights of tasks", ws, mean, variance)
	if least := slices.Min(ws); least < 1 {
		t.Errorf("a weight of %v, want at least 1", least)
	}
}

// The set-up of the experiments has what the text gives: 27 files from 149 MB to 9.98 GB,
// 43.7 GB in all, 10 of them below 1 GB and in set 1; a map task for each 64 MB, half as
// many reduce tasks, 950 in all (Figure 20; one more here); times of maps around 80 s, and of most reduces
// over 150 s. Each file has its job, whatever the order.
// Reference: MarS, Sections 6.2 and 6.3.
func TestMarsWikipedia(t *testing.T) {
	sum, small := 0, 0
	for i, size := range wikipediaMB {
		sum += size
		if size < 1000 {
			small++
		}
		if i > 0 && size < wikipediaMB[i-1] {
			t.Errorf("file %d has %d MB, the one before %d: want them in order", i, size, wikipediaMB[i-1])
		}
	}
	if first, last := wikipediaMB[0], wikipediaMB[len(wikipediaMB)-1]; len(wikipediaMB) != 27 || first != 149 || last != 9980 || sum != 43_700 || small != 10 {
		t.Errorf("%d files from %d to %d MB, %d MB in all, %d below 1 GB; want 27, 149, 9980, 43700, 10", len(wikipediaMB), first, last, sum, small)
	}
	for name, want := range map[string]struct{ jobs, tasks int }{"set=1": {10, 87}, "set=2": {27, 951}} {
		all := overSeeds(t, "mars-wikipedia", name, 20)
		orders := map[string]bool{}
		var maps, reduces, weights []float64
		for _, jobs := range all {
			tasks, turn := 0, ""
			files := map[string]bool{}
			for _, j := range jobs {
				tasks += j.Tasks()
				turn += j.Name + ","
				files[j.Name] = true
				weights = append(weights, j.Weight)
				if len(j.Phases) != 2 || j.Phases[1].Tasks != j.Phases[0].Tasks/2 || j.Phases[0].Delays == nil {
					t.Fatalf("%s: job %d: %+v, want maps with delays and half as many reduces", name, j.ID, j)
				}
				for k := range j.Phases[0].Tasks {
					maps = append(maps, j.Times[0].Of(k).Seconds())
				}
				for k := range j.Phases[1].Tasks {
					reduces = append(reduces, j.Times[1].Of(k).Seconds())
				}
			}
			if len(jobs) != want.jobs || len(files) != want.jobs || tasks != want.tasks {
				t.Errorf("%s: %d jobs of %d files, %d tasks; want %d, %d", name, len(jobs), len(files), tasks, want.jobs, want.tasks)
			}
			orders[turn] = true
		}
		if len(orders) != 20 {
			t.Errorf("%s: %d orders in 20 seeds", name, len(orders))
		}
		checkMoments(t, name+", maps", maps, 80, 64)
		checkMoments(t, name+", reduces", reduces, 200, 1600)
		mean, variance := truncatedMoments(30, 10, 1)
		checkMoments(t, name+", weights", weights, mean, variance)
	}
}
