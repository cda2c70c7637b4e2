package advice

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	arrival "github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/sim"
)

const second = sojourn.Time(time.Second)

// A planted is a job of equal tasks. spread is by how much their number differs from
// round to round.
type planted struct{ at, tasks, each, deadline, spread int }

// plant repeats some jobs on one slot, each round a fixed time after the one before. The
// policy called fair serves them in the order of their arrival.
func plant(t *testing.T, rounds, apart int, jobs ...planted) *trial.Scenario {
	t.Helper()
	c, err := input.ReadCluster("1x1")
	if err != nil {
		t.Fatal(err)
	}
	w := &input.Workload{Name: "planted"}
	for round := range rounds {
		for _, p := range jobs {
			j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(len(w.Jobs) + 1), Phases: []sojourn.Phase{{Tasks: p.tasks + round%(2*p.spread+1) - p.spread}}}}
			j.At = sojourn.Time(round*apart+p.at) * second
			j.Times = []sim.Times{{Each: time.Duration(p.each) * time.Second}}
			if p.deadline > 0 {
				j.Deadline = j.At + sojourn.Time(p.deadline)*second
			}
			w.Jobs = append(w.Jobs, j)
		}
	}
	policies := catalog.Builtin().With(catalog.NewEntry(fair, "", arrival.New))
	return &trial.Scenario{Setup: trial.Setup{Policies: policies}, Workload: w, Cluster: c}
}

// advised returns the advice for an objective.
func advised(t *testing.T, s *trial.Scenario, objective, policies string, loads Loads) *Advice {
	t.Helper()
	var o Objective
	if err := o.Set(objective); err != nil {
		t.Fatal(err)
	}
	q := Question{Objectives: []Objective{o}, Loads: loads, Resamples: 100}
	if policies != "" {
		var err error
		if q.Policies, err = catalog.Parse(policies); err != nil {
			t.Fatal(err)
		}
	}
	st, err := Run(t.Context(), io.Discard, s, q)
	if err != nil {
		t.Fatal(err)
	}
	a, err := st.Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// line returns the line about a policy.
func (a *Advice) line(policy string) *Line {
	return &a.Lines[slices.IndexFunc(a.Lines, func(l Line) bool { return l.Policy == policy })]
}

// If one policy is clearly best, it is advised, with numbers that are computed here by
// hand.
func TestPlanted(t *testing.T) {
	// A job of ten tasks of 10 s. A job of one task of 1 s follows 5 s later. Under srpt
	// the short one waits for a task, 6 s in all, and the long one takes 101 s. Under
	// fifo they take 96 s and 100 s.
	short := []planted{{0, 10, 10, 0, 0}, {5, 1, 1, 0, 0}}
	// The same with 8 to 12 tasks in turn, and the same means.
	uneven := []planted{{0, 10, 10, 0, 2}, {5, 1, 1, 0, 0}}
	// A task of 100 s, and then a task of 50 s every 50 s. Under srpt the long one is
	// last.
	stream := []planted{{0, 1, 50, 0, 0}, {1, 1, 100, 0, 0}}
	for i := range 20 {
		stream = append(stream, planted{50 * (i + 1), 1, 50, 0, 0})
	}
	// 100 s that cannot be done within 50, 50 s within 60 and 30 s within 200. By
	// deadline, two of three jobs are in time. A policy that begins with the least job or
	// the first has one in time.
	deadlines := []planted{{0, 10, 10, 50, 0}, {0, 1, 50, 60, 0}, {0, 1, 30, 200, 0}}
	for _, tc := range []struct {
		objective, policies, want string
		rounds, apart             int
		jobs                      []planted
		best, fifo                float64
	}{
		{"mean", "srpt", "srpt", 40, 1000, uneven, 53.5, 98},
		{"slowdown", "srpt", "srpt", 40, 1000, short, (6 + 1.01) / 2, (96 + 1.0) / 2},
		{"median", "srpt", "srpt", 40, 1000, uneven, 6, 96},
		{"p99", "srpt", "fifo", 20, 5000, stream, 150, 150},
		{"deadlines", "srpt,rtmr", "rtmr", 30, 1000, deadlines, 1.0 / 3, 2.0 / 3},
	} {
		t.Run(tc.objective, func(t *testing.T) {
			a := advised(t, plant(t, tc.rounds, tc.apart, tc.jobs...), tc.objective, tc.policies, Loads{Recorded})
			got, yard := a.Lines[0], a.line("fifo")
			if got.Policy != tc.want || math.Abs(got.Values[0]/tc.best-1) > 1e-9 || math.Abs(yard.Values[0]/tc.fifo-1) > 1e-9 {
				t.Errorf("%s of %v, fifo %v; want %s of %v, fifo %v", got.Policy, got.Values, yard.Values, tc.want, tc.best, tc.fifo)
			}
			for i := range a.Lines[1:] {
				if l := &a.Lines[i+1]; l.Tied() != (l.Values[0] == got.Values[0]) {
					t.Errorf("%s is tied: %v, against the best %v", l.Policy, l.Tied(), l.Best)
				}
			}
			// fair is fifo here, and both get the same draws.
			if same := a.line("fair").FIFO; same != (stats.Interval{}) || !(got.Best == stats.Interval{}) {
				t.Errorf("fair against fifo %v, the best against itself %v, want 0 ± 0", same, got.Best)
			}
			if s := a.Sentences(); len(s) != 5 || !strings.HasPrefix(s[0], "Use "+tc.want+": ") {
				t.Errorf("%d sentences: %q", len(s), s)
			}
		})
	}
}

// Policies are tied if the difference between them may be chance.
func TestTied(t *testing.T) {
	for _, tc := range []struct {
		best stats.Interval
		want bool
	}{
		{stats.Interval{}, true}, {stats.Interval{Mean: 0.02, Half: 0.03}, true}, {stats.Interval{Mean: 0.03, Half: 0.03}, true},
		{stats.Interval{Mean: 0.03, Half: 0.02}, false}, {stats.Interval{Mean: 0.03}, false}, {stats.Interval{Mean: 0.03, Half: math.NaN()}, true},
	} {
		if l := (Line{Best: tc.best}); l.Tied() != tc.want {
			t.Errorf("%v: tied is %v", tc.best, l.Tied())
		}
	}
}

// A policy that leaves jobs out is left out, except for deadlines.
func TestLeftOut(t *testing.T) {
	s := plant(t, 10, 1000, planted{0, 10, 10, 50, 0}, planted{0, 1, 50, 60, 0})
	a := advised(t, s, "mean", "rtmr", Loads{Recorded})
	if len(a.Lines) != 2 || len(a.left) != 1 || a.left[0] != (leftOut{"rtmr", "it did not finish 10 of 20 jobs"}) {
		t.Errorf("%d policies, left out %v", len(a.Lines), a.left)
	}
	if a := advised(t, s, "deadlines", "rtmr", Loads{Recorded}); len(a.Lines) != 3 || a.line("rtmr").Refused[0] != 0.5 || a.line("fifo").Refused[0] != 0 {
		t.Errorf("for deadlines: %v", a.Lines)
	}
}

// The advice says for which jobs a policy is worse: the quarter of the long jobs, which
// take 101 s under srpt and 100 s in the order of arrival, as the 90th percentile does. Two sizes fill two quarters.
func TestWorse(t *testing.T) {
	a := advised(t, plant(t, 40, 1000, planted{0, 10, 10, 0, 0}, planted{5, 1, 1, 0, 0}), "mean", "srpt", Loads{Recorded})
	want := []float64{6.0 / 96, math.NaN(), 1.01, math.NaN()}
	for q, w := range want {
		if got := 1 + a.Objective.amount(a.Lines[0].Quarterly[q].Mean)/100; math.IsNaN(w) != math.IsNaN(got) || math.Abs(got-w) > 1e-9 {
			t.Errorf("quarter %d: %v times fair, want %v", q, got, w)
		}
	}
	if s := a.worse(); s != "It is worse than fair for these quarters of the jobs by their work: those of 1 second to 100 seconds, whose mean sojourn time is 1.0 % higher. Its 90th percentile of the sojourn time is 1.0 % higher than under fair." {
		t.Error(s)
	}
}

// A quarter by work has a quarter of the jobs, not of the work, and the small jobs of a workload are not lost among those of its large ones.
func TestQuartersAreOfJobs(t *testing.T) {
	a := advised(t, plant(t, 10, 20000, planted{0, 1, 1, 0, 0}, planted{1, 1, 2, 0, 0}, planted{2, 1, 3, 0, 0}, planted{3, 10, 1000, 0, 0}), "mean", "srpt", Loads{Recorded})
	if want := [3]float64{1, 2, 3}; a.bounds != want {
		t.Errorf("bounds %v, want %v", a.bounds, want)
	}
	for i, q := range a.quarter {
		if int(q) != i%4 {
			t.Errorf("job %d is in quarter %d, want %d", i, q, i%4)
		}
	}
}

// Nobody is said to be worse off only if it is so in each quarter and in the 90th percentile, whatever the mean over all jobs says.
func TestWorseForNobody(t *testing.T) {
	a := advised(t, plant(t, 40, 1000, planted{0, 10, 10, 0, 0}, planted{5, 1, 1, 0, 0}), "mean", "srpt", Loads{Recorded})
	const none, some, tail = "worse than fair for none", "worse than fair for these quarters", "90th percentile"
	better, worse, perhaps := stats.Interval{Mean: -0.2, Half: 0.01}, stats.Interval{Mean: 0.2, Half: 0.01}, stats.Interval{Mean: 0.2, Half: 0.3}
	all := [quarters]stats.Interval{better, better, better, better}
	for q := -1; q < quarters; q++ {
		for _, effect := range []stats.Interval{better, worse, perhaps} {
			for _, p90 := range []stats.Interval{better, worse, perhaps} {
				a.Lines[0].Quarterly, a.Lines[0].Tail, a.Lines[0].Fair = all, p90, better
				if q >= 0 {
					a.Lines[0].Quarterly[q] = effect
				}
				got := a.worse()
				hurt := q >= 0 && effect.Mean > 0
				if strings.Contains(got, none) == hurt || strings.Contains(got, some) != hurt || strings.Contains(got, tail) != (p90.Mean > 0) {
					t.Errorf("quarter %d changed by %v, the 90th percentile by %v: %s", q, effect, p90, got)
				}
				chance := hurt && effect == perhaps || p90 == perhaps
				if strings.Contains(got, "may be chance") != chance {
					t.Errorf("quarter %d changed by %v, the 90th percentile by %v: %s", q, effect, p90, got)
				}
			}
		}
	}
}

// The advice says if loads do not agree. At a low load nothing waits, and fifo is as
// good.
func TestLoads(t *testing.T) {
	s := plant(t, 40, 1000, planted{0, 10, 10, 0, 0}, planted{5, 1, 1, 0, 0})
	a := advised(t, s, "mean", "srpt,las", Loads{"0.001", "0.9"})
	if line := a.line("fifo"); !(line.Values[0] < 52 && line.Values[1] > 90) {
		t.Errorf("mean sojourn times under fifo %v, want one without and one with waiting", line.Values)
	}
	if got := a.loadName(0); got != "0.001" {
		t.Errorf("load %s", got)
	}
	// fifo is no worse at the low load, and the loads agree on srpt or las.
	if got := a.agreement(); !strings.HasPrefix(got, "The loads agree: at none of 0.001 and 0.9 ") {
		t.Error(got)
	}
	a.Lines[1].BestAt[1] = stats.Interval{Mean: -0.1, Half: 0.11}
	if got := a.agreement(); !strings.HasPrefix(got, "The loads agree") {
		t.Error(got)
	}
	a.Lines[1].BestAt[1] = stats.Interval{Mean: -0.1, Half: 0.01}
	if got, want := a.agreement(), "The loads do not agree: at 0.9, that of "+a.Lines[1].Policy+" is 9.5 % lower (8.6 to 10.4 %)."; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Candidates are policies that the catalog knows. Those that need sizes are left out
// where there are none, and those that need chains where there are graphs.
func TestCandidates(t *testing.T) {
	more := catalog.Builtin()
	for _, tc := range []struct {
		policies        catalog.Catalog
		deadlines, told bool
		features        sojourn.Features
		want, left      string
	}{
		{more, false, true, 0, "fifo fair default las hfsp srpt fsp pfsp", ""},
		{more, true, true, 0, "fifo fair default las hfsp srpt fsp pfsp rtmr", ""},
		{more, false, false, 0, "fifo fair default las hfsp", "srpt fsp pfsp"},
		{more, true, true, sojourn.FeatureNeeds, "fifo fair default las hfsp srpt fsp pfsp", "rtmr"},
		{more[:2], true, true, 0, "fifo default", ""},
	} {
		specs, left := choose(tc.policies, tc.deadlines, tc.told, tc.features)
		var names, out []string
		for _, s := range specs {
			names = append(names, s.Name)
		}
		for _, l := range left {
			out = append(out, l.Policy)
		}
		if got := strings.Join(names, " "); got != tc.want || strings.Join(out, " ") != tc.left {
			t.Errorf("candidates %s, left out %v; want %s, %s", got, out, tc.want, tc.left)
		}
	}
	if got := withYardsticks([]catalog.Spec{{Name: "las"}, {Name: "fair"}}); len(got) != 3 || got[0].Name != "fifo" || got[1].Name != "las" {
		t.Errorf("with yardsticks: %v", got)
	}
	s := plant(t, 10, 100, planted{0, 1, 10, 0, 0})
	s.Estimates = noEstimates
	if told(s) {
		t.Error("sizes are told that are not")
	}
	s.Workload.Jobs[3].Phases[0].Estimate = time.Second
	if !told(s) {
		t.Error("an estimate of the workload is not told")
	}
}

// The summary is JSON of a known form, the same each time. Another seed changes only the
// intervals.
func TestSummary(t *testing.T) {
	text := func(seed uint64) string {
		s := plant(t, 20, 1000, planted{0, 10, 10, 300, 0}, planted{5, 1, 1, 50, 0}, planted{7, 2, 3, 0, 0})
		s.Seed = seed
		var b bytes.Buffer
		for _, objective := range []string{"mean", "deadlines"} {
			if err := json.NewEncoder(&b).Encode(advised(t, s, objective, "srpt", nil).Summary()); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	first := text(1)
	if again := text(1); again != first {
		t.Errorf("the same seed gives\n%s\nand\n%s", first, again)
	}
	if other := text(2); other == first {
		t.Error("another seed gives the same intervals")
	}
	lines := strings.Split(first, "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for key := range got {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if want := "cluster estimates intervals left_out loads objective policies schema seed sentences use work workload"; strings.Join(keys, " ") != want {
		t.Errorf("keys %v, want %s", keys, want)
	}
	if got["schema"] != "sojourn-advice/1" || got["use"] != "srpt" || len(got["sentences"].([]any)) != 5 || len(got["left_out"].([]any)) != 0 {
		t.Errorf("summary %s", lines[0])
	}
	policy := got["policies"].([]any)[0].(map[string]any)
	for _, key := range []string{"policy", "tied", "values", "against_best", "against_fair", "against_fifo", "quarters_against_fair"} {
		if _, ok := policy[key]; !ok {
			t.Errorf("no %s in %v", key, policy)
		}
	}
	if n := len(policy["quarters_against_fair"].([]any)); n != quarters {
		t.Errorf("%d quarters", n)
	}
	if refused := strings.Contains(lines[0], "refused"); refused || !strings.Contains(lines[1], `"refused":[0,0,0]`) {
		t.Errorf("what is refused stands in the wrong place: %v, %s", refused, lines[1])
	}
}

// If nothing is known about chance, no interval is given, and the text says so.
func TestNoIntervals(t *testing.T) {
	for _, tc := range []struct {
		name string
		s    *trial.Scenario
		want string
	}{
		{"one job", plant(t, 1, 1, planted{0, 3, 1, 0, 0}), "One job is no evidence"},
		{"few jobs", plant(t, 9, 10, planted{0, 3, 1, 0, 0}), "There are 9 jobs over 80 seconds, too few for intervals"},
		{"one instant", plant(t, 30, 0, planted{0, 3, 1, 0, 0}), "All 30 jobs arrive at one instant"},
	} {
		a := advised(t, tc.s, "mean", "", nil)
		text := a.sureness()
		if a.Length != 0 || !strings.HasPrefix(text, tc.want) || !strings.HasSuffix(a.what(), "though nothing can be said of chance.") {
			t.Errorf("%s: blocks of %d, %s %s", tc.name, a.Length, a.what(), text)
		}
		var b bytes.Buffer
		if err := a.Write(&b); err != nil || strings.Contains(b.String(), "[") || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %v\n%s", tc.name, err, &b)
		}
	}
}

// If policies cannot be compared, an error says why.
func TestNothingToCompare(t *testing.T) {
	cluster := func(s *trial.Scenario, spec string) *trial.Scenario {
		c, err := input.ReadCluster(spec)
		if err != nil {
			t.Fatal(err)
		}
		s.Cluster = c
		for _, j := range s.Workload.Jobs {
			j.Phases[0].Class = 1
		}
		return s
	}
	for _, tc := range []struct {
		s               *trial.Scenario
		objective, want string
	}{
		{plant(t, 20, 1, planted{0, 1, 0, 0, 0}), "mean", "planted: the mean sojourn time is 0 or unknown, so that there is nothing to compare"},
		{plant(t, 20, 1, planted{0, 1, 1, 0, 0}), "deadlines", "--objective deadlines: no job of planted has a deadline"},
		{cluster(plant(t, 20, 1, planted{0, 1, 1, 0, 0}), "1x1+0"), "mean", "planted: job 1 needs slots of class 1, of which cluster 1x1+0 has none"},
	} {
		var o Objective
		if err := o.Set(tc.objective); err != nil {
			t.Fatal(err)
		}
		st, err := Run(t.Context(), io.Discard, tc.s, Question{Objectives: []Objective{o}, Loads: Loads{Recorded}, Resamples: 100})
		if err == nil {
			_, err = st.Evaluate(t.Context(), o)
		}
		if err == nil || err.Error() != tc.want {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, io.Discard, plant(t, 20, 1, planted{0, 1, 1, 0, 0}), Question{Objectives: objectives[:1], Resamples: 100}); err == nil || !strings.HasPrefix(err.Error(), "interrupted after 0 of ") {
		t.Errorf("after an interrupt: %v", err)
	}
}

func TestLoadsFlag(t *testing.T) {
	var l Loads
	if err := l.Set("recorded,0.5,1.1"); err != nil || l.String() != "recorded,0.5,1.1" {
		t.Errorf("%v, %v", l, err)
	}
	for _, text := range []string{"", "0", "-1", "NaN", "inf", "1e999", "recorded,", "Recorded", "0.5,0.5", "recorded,recorded"} {
		l := Loads{"1"}
		if err := l.Set(text); err == nil || l.String() != "1" {
			t.Errorf("%q: %v, %v; want an error and no change", text, l, err)
		}
	}
}

func TestSplitTrace(t *testing.T) {
	for text, want := range map[string][2]string{"a.jsonl@1x1": {"a.jsonl", "1x1"}, "me@home.jsonl@c.json": {"me@home.jsonl", "c.json"}, "-@1x1": {"-", "1x1"}} {
		if file, cluster, err := SplitTrace(text); err != nil || [2]string{file, cluster} != want {
			t.Errorf("%s: %q, %q, %v", text, file, cluster, err)
		}
	}
	for _, text := range []string{"", "a.jsonl", "@1x1", "a.jsonl@", "@"} {
		if _, _, err := SplitTrace(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

// Amounts are printed with as many digits as mean something.
func TestWords(t *testing.T) {
	mean, share := objectives[0], objectives[5]
	log := math.Log
	for _, tc := range []struct {
		o    Objective
		i    stats.Interval
		want string
	}{
		{mean, stats.Interval{Mean: 0, Half: 0}, "the same"},
		{mean, stats.Interval{Mean: log(0.5), Half: math.NaN()}, "50 % lower"},
		{mean, stats.Interval{Mean: log(0.5), Half: log(1.2)}, "50 % lower (40 to 58 %)"},
		{mean, stats.Interval{Mean: log(0.5), Half: log(5)}, "50 % lower (from 90 % lower to 150 % higher)"},
		{mean, stats.Interval{Mean: log(1.05), Half: log(1.02)}, "5.0 % higher (2.9 to 7.1 %)"},
		{mean, stats.Interval{Mean: log(20), Half: log(1.1)}, "1,900 % higher (1,718 to 2,100 %)"},
		{mean, stats.Interval{Mean: log(0.01), Half: log(1.1)}, "99.0 % lower (98.9 to 99.1 %)"},
		{share, stats.Interval{Mean: -0.12, Half: 0.01}, "12 points lower (11 to 13 points)"},
		{share, stats.Interval{Mean: 0.02, Half: 0.03}, "2.0 points higher (from 1.0 points lower to 5.0 points higher)"},
	} {
		if got := tc.o.change(tc.i); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.i, got, tc.want)
		}
	}
	if got, want := waiting(10*time.Second, 21, &input.Facts{Meter: input.Meter{Jobs: 1e6}, Tasks: 1e7}), "The first of 21 runs of 1,000,000 jobs and 10,000,000 tasks took 10 seconds; the others may take "; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// A tie names the simplest policy that is hardly worse. One that may be as good by chance alone, and looks worse, is named as tied.
func TestTieNamesTheSimplest(t *testing.T) {
	specs, err := catalog.Parse("srpt,hfsp,fair:order=running,default,fair,fifo")
	if err != nil {
		t.Fatal(err)
	}
	of := func(percent, half float64) stats.Interval {
		return stats.Interval{Mean: math.Log1p(percent / 100), Half: half}
	}
	far, near, wide := of(50, 0.01), of(3, 0.1), of(40, 2)
	for _, tc := range []struct {
		name  string
		best  []stats.Interval // of srpt, hfsp, fair by running, default, fair, fifo; the first or second is the best
		use   string
		says  string
		table string // behind the best
	}{
		{"alone", []stats.Interval{{}, far, far, far, far, far}, "srpt", "more than chance", ""},
		{"with default", []stats.Interval{{}, near, far, near, far, far}, "default", "Use default: the mean sojourn time of srpt is the least, but default and hfsp cannot be told from it", ", tied with hfsp and default"},
		{"with all", []stats.Interval{near, {}, near, near, near, near}, "fifo", "fifo is the simplest of those within 5 %", ", tied with srpt, fair:order=running, default, fair and fifo"},
		{"with what may be far worse", []stats.Interval{{}, far, far, near, wide, wide}, "default", "default cannot be told from it on this workload: that is a tie, and it may be chance that fair and fifo have up to 40 % more, and default is the simplest", ", tied with default, by chance perhaps not better than fair and fifo"},
		{"with nothing near", []stats.Interval{{}, far, wide, far, far, far}, "srpt", "its mean sojourn time is the least, but it may be chance that fair:order=running has 40 % more.", ", by chance perhaps not better than fair:order=running"},
		{"with options only", []stats.Interval{far, {}, near, far, far, far}, "hfsp", "Use hfsp: its mean sojourn time is the least, but fair:order=running cannot be told from it", ", tied with fair:order=running"},
	} {
		a := &Advice{Study: &Study{specs: specs}, Objective: objectives[0], Length: 10}
		best := 0
		for p, spec := range specs {
			a.Lines = append(a.Lines, Line{Policy: spec.String(), Best: tc.best[p]})
			if tc.best[p] == (stats.Interval{}) {
				best = p
			}
		}
		a.Use = a.simplest(best)
		if got := a.Lines[a.Use].Policy; got != tc.use {
			t.Errorf("%s: %s is advised, want %s", tc.name, got, tc.use)
		}
		// The best is the first line.
		a.Lines[0], a.Lines[best] = a.Lines[best], a.Lines[0]
		a.Use = slices.IndexFunc(a.Lines, func(l Line) bool { return l.Policy == tc.use })
		if got := strings.Join(strings.Fields(a.first()), " "); got != "=> "+a.Lines[0].Policy+" is the best"+tc.table {
			t.Errorf("%s: the table says %q, want %q", tc.name, got, tc.table)
		}
		if said := a.what(); !strings.Contains(said, tc.says) {
			t.Errorf("%s: %q, want %q in it", tc.name, said, tc.says)
		}
	}
	a := &Advice{Study: &Study{specs: specs}, Objective: objectives[0], Lines: []Line{{Best: near}, {}, {}, {}, {}, {}}}
	if a.simplest(1) != 1 {
		t.Error("without intervals the best is not advised")
	}
}
