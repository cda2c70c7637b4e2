package recorded

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"pgregory.net/rapid"
)

// story is the folder of a run of two jobs on two slots: job 1 runs two tasks of 10 s at 0 s and job 2 one of 5 s,
// which arrives at 1 s and waits until 10 s.
func story(policy string) map[string]string {
	return map[string]string{
		files.Run: `{"version": "v0.1.0", "policy": "` + policy + `", "estimates": "exact",
			"input": {"name": "story", "jobs": 2, "tasks": 3}, "cluster": {"name": "1x2", "nodes": 1, "slots": {"slots": 2}},
			"result": {"finished": 2, "attempts": 3, "makespan": 15}}`,
		files.Jobs: "id,name,pool,arrival,first_start,finish,sojourn,slowdown,ps_finish,late_vs_ps,deadline,met,outcome\n" +
			"1,big,etl,0,0,10,10,1,12,-2,,,finished\n2,<b>small</b>,,1,10,15,14,2.8,6,9,,,finished\n",
		files.Tasks: "job,phase,index,attempt,node,slot,class,start,end,outcome,locality,source\n" +
			"1,0,0,1,n1,0,slots,0,10,finished,any,\n1,0,1,1,n1,1,slots,0,10,finished,remote,\n2,0,0,1,n1,0,slots,10,10,refused,any,\n2,0,0,2,n1,1,slots,10,15,finished,node,\n",
	}
}

// lay writes files into a new folder.
func lay(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with returns a story in which part of a file is another text.
func with(file, old, other string) map[string]string {
	s := story("fifo")
	if !strings.Contains(s[file], old) {
		panic(old + " is not in " + file)
	}
	s[file] = strings.Replace(s[file], old, other, 1)
	return s
}

// A folder that is not what this version writes is an error that names the file and what is wrong.
func TestBadFolders(t *testing.T) {
	missing := story("fifo")
	delete(missing, files.Tasks)
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing", nil, "holds no run: it has no run.json, and no folder in it has one"},
		{"no tasks", missing, "tasks.csv: no such file"},
		{"cut JSON", with(files.Run, `"makespan": 15}}`, `"makes`), "run.json: byte 229: unexpected end of JSON input; is the file complete?"},
		{"other JSON", map[string]string{files.Run: `{"version": "v9.0.0", "runs": []}`}, "run.json (sojourn v9.0.0 wrote it): this version of sojourn cannot read it: it does not name a policy"},
		{"other type", with(files.Run, `"policy": "fifo"`, `"policy": 7`), "run.json: this version of sojourn cannot read it"},
		{"cut jobs", with(files.Jobs, "2,<b>small</b>,,1,10,15,14,2.8,6,9,,,finished\n", ""), "jobs.csv: 1 job, but the run has 2: the folder is not complete"},
		{"cut row", with(files.Jobs, "14,2.8,6,9,,,finished\n", ""), "jobs.csv: record on line 3: wrong number of fields; is the file complete?"},
		{"no header", with(files.Tasks, story("fifo")[files.Tasks], ""), "tasks.csv: no header; the folder is not complete"},
		{"cut tasks", with(files.Tasks, "2,0,0,2,n1,1,slots,10,15,finished,node,\n", ""), "tasks.csv: 2 attempts, but the run has 3: the folder is not complete"},
		{"other column", with(files.Jobs, "late_vs_ps", "late"), "jobs.csv (sojourn v0.1.0 wrote it): this version of sojourn cannot read it: there is no column late_vs_ps"},
		{"no number", with(files.Jobs, ",10,15,14,", ",10,soon,14,"), `jobs.csv:3: "soon" is no number`},
		{"back in time", with(files.Tasks, "1,slots,10,15,finished", "1,slots,10,5,finished"), "tasks.csv:5: slot 1 from 10 to 5 is no attempt"},
		{"no class, as before", with(files.Tasks, "slot,class,", "slot,place,"), "tasks.csv (sojourn v0.1.0 wrote it): this version of sojourn cannot read it: there is no column class"},
		{"unknown class", with(files.Tasks, "1,slots,10,15,finished", "1,<b>,10,15,finished"), `tasks.csv:5: class "<b>" is not in run.json`},
		{"unknown job", with(files.Tasks, "2,0,0,2,", "7,0,0,2,"), "tasks.csv:5: job 7 is not in jobs.csv"},
		{"sweep of another version", map[string]string{files.Sweep: `{"policies": []}`}, "sweep.json: this version of sojourn cannot read it"},
		{"plan of another version", map[string]string{files.Plan: `{}`}, "plan.json: this version of sojourn cannot read it"},
	} {
		if _, err := Page(t.Context(), []string{lay(t, tc.files)}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %s", tc.name, err, tc.want)
		}
	}
	other := story("fsp")
	other[files.Run] = strings.Replace(other[files.Run], "story", "tale", 1)
	_, err := Page(t.Context(), []string{lay(t, story("fifo")), lay(t, other)})
	if want := "runs of one workload can be compared"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("two workloads: error %v, want %s", err, want)
	}
}

// Where slots are of several classes, each has a plot of its own in place of that of all, those with the most slots first.
func TestUseByClass(t *testing.T) {
	s := with(files.Run, `{"slots": 2}`, `{"map": 1, "gpu": 1, "none": 0}`)
	s[files.Tasks] = strings.NewReplacer("n1,0,slots", "n1,0,map", "n1,1,slots", "n1,1,gpu").Replace(s[files.Tasks])
	r, err := Page(t.Context(), []string{lay(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Plots { // slot 0 runs a task from 0 to 10 s, and slot 1 one from 0 to 10 s and one from 10 s to 15 s
		want, ok := map[string]string{"Slots in use over time: gpu": "1 at 12 s", "Slots in use over time: map": "0 at 12 s"}[p.Title]
		if strings.HasPrefix(p.ID, "utilisation") != ok {
			t.Errorf("there is a plot %s: %s", p.ID, p.Title)
		}
		if x := p.Series[0].X; ok {
			k := slices.IndexFunc(x, func(v float64) bool { return v >= 12 })
			if k < 0 {
				k = len(x) - 1
			}
			if got := fmt.Sprintf("%.3g at 12 s", p.Series[0].Y[k]); got != want {
				t.Errorf("%s: %s, want %s", p.Title, got, want)
			}
		}
	}
	if s[files.Run] = strings.Replace(s[files.Run], `"map": 1`, `"a": 9, "b": 8, "c": 7, "map": 9`, 1); !strings.Contains(s[files.Run], `"b"`) {
		t.Fatal(s[files.Run])
	}
	if r, err = Page(t.Context(), []string{lay(t, s)}); err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, p := range r.Plots {
		if strings.HasPrefix(p.ID, "utilisation") {
			titles = append(titles, strings.TrimPrefix(p.Title, "Slots in use over time: "))
		}
	}
	if want := "a map b c"; strings.Join(titles, " ") != want {
		t.Errorf("plots of %q, want %s", titles, want)
	}
	if help := r.Plots[slices.IndexFunc(r.Plots, func(p page.Plot) bool { return p.ID == "utilisation-1" })].Help; !strings.Contains(help, "Of 5 classes of slots, those 4 are shown that have the most slots.") {
		t.Errorf("the page says %q", help)
	}
}

// A page of two runs says which is better, by how much, and whom it hurts.
func TestVerdict(t *testing.T) {
	better := story("srpt")
	better[files.Jobs] = strings.Replace(better[files.Jobs], "1,10,15,14,2.8,6,9", "1,1,6,5,1,6,0", 1)
	better[files.Jobs] = strings.Replace(better[files.Jobs], "0,0,10,10,1,12,-2", "0,0,14,14,1.4,12,2", 1)
	r, err := Page(t.Context(), []string{lay(t, story("fifo")), lay(t, better)})
	if err != nil {
		t.Fatal(err)
	}
	// fifo: (10 + 14) / 2 = 12 s; srpt: (14 + 5) / 2 = 9.5 s, 20.8 % less. Job 1 takes 14 s, not 10 s.
	want := "srpt is best here, though nothing can be said of chance: a job takes 9.5 seconds on average from its arrival to its end.\n" +
		"Its mean sojourn time is 21 % lower than under fifo; its p90 is 14 seconds, the same as under fifo.\n" +
		"It is worse than fifo for 1 of 2 jobs; job 1 (big) loses most, with 14 seconds instead of 10 seconds."
	if got := strings.Join(r.Verdict, "\n"); got != want {
		t.Errorf("verdict\n%s\nwant\n%s", got, want)
	}
	if r, err = Page(t.Context(), []string{lay(t, story("fifo"))}); err != nil {
		t.Fatal(err)
	}
	want = "Under fifo, a job takes 12 seconds on average from its arrival to its end; half of them take at most 10 seconds.\n" +
		"1 of 2 jobs end later than if all had shared the cluster equally, at most by 9 seconds."
	if got := strings.Join(r.Verdict, "\n"); got != want {
		t.Errorf("verdict\n%s\nwant\n%s", got, want)
	}
}

// The lines over time have the area of what they count: the slot-seconds of attempts, and the
// seconds of jobs in the system.
func TestMeterKeepsArea(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMeter(5, 5+float64(rapid.IntRange(1, 1000).Draw(t, "expected")))
		want := 0.0
		for range rapid.IntRange(1, 20).Draw(t, "intervals") {
			from := 5 + float64(rapid.IntRange(0, 5000).Draw(t, "from"))/3
			length := float64(rapid.IntRange(0, 3000).Draw(t, "length")) / 7
			m.add(from, from+length)
			want += length
		}
		s, got := m.line("", 1), 0.0
		for k := range len(s.X) - 1 {
			got += s.Y[k] * (s.X[k+1] - s.X[k])
		}
		if math.Abs(got-want) > 1e-6*max(1, want) || len(s.X) > meterParts+1 {
			t.Errorf("area %v in %d points, want %v", got, len(s.X), want)
		}
	})
}

// Each point of an ECDF is the share of the numbers that are at most its place.
func TestECDF(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := make([]float64, rapid.SampledFrom([]int{0, 1, 2, 10, 999, 1000, 1001, 3000}).Draw(t, "numbers"))
		draw := rapid.IntRange(-50, rapid.SampledFrom([]int{-49, 50, 100_000}).Draw(t, "most"))
		for i := range values {
			values[i] = float64(draw.Draw(t, "value"))
		}
		s := ecdf("", append(values, math.NaN()), math.Inf(-1))
		for k, x := range s.X {
			n := 0
			for _, v := range values {
				if v <= x {
					n++
				}
			}
			if got, want := s.Y[k], float64(n)/float64(len(values)); got != want {
				t.Fatalf("at %v: %v, want %v", x, got, want)
			}
		}
		if len(s.X) > 1000 || len(values) > 0 && s.Y[len(s.Y)-1] != 1 {
			t.Errorf("%d points, the last %v", len(s.X), s.Y)
		}
	})
}

// The line of equal numbers is one point, where the share goes from 0 to 1. No number is no line.
func TestECDFOfEqualNumbers(t *testing.T) {
	s := ecdf("fifo", []float64{7, math.NaN(), 7}, 0)
	if s.Name != "fifo" || !slices.Equal(s.X, []float64{7}) || !slices.Equal(s.Y, []float64{1}) {
		t.Errorf("%+v, want one point at 7 and 1", s)
	}
	if s := ecdf("", []float64{-3, 0.5}, 1); !slices.Equal(s.X, []float64{1, 1}) || !slices.Equal(s.Y, []float64{0.5, 1}) {
		t.Errorf("%+v, want two points at 1", s)
	}
	if s := ecdf("", []float64{math.NaN()}, 0); len(s.X) != 0 || len(s.Y) != 0 {
		t.Errorf("%+v, want no point", s)
	}
}

// A sample has at most as many boxes as it may, all of those of the slots that it keeps unless
// one slot has too many, and counts what it was given.
func TestSampler(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sampler{most: rapid.IntRange(1, 40).Draw(t, "most")}
		slots := rapid.IntRange(1, 20).Draw(t, "slots")
		n := rapid.IntRange(0, 300).Draw(t, "attempts")
		on := map[int]int{}
		for i := range n {
			slot := rapid.IntRange(0, slots-1).Draw(t, "slot") * rapid.SampledFrom([]int{1, 4}).Draw(t, "step")
			s.add(slot, float64(i), float64(i+1), 0, 0, 0)
			on[slot]++
		}
		kept := map[int]int{}
		for _, b := range s.boxes {
			kept[b.Slot]++
		}
		if s.seen != n || len(s.boxes) > s.most || n > 0 && len(s.boxes) == 0 || n <= s.most && len(s.boxes) < n {
			t.Fatalf("%d of %d boxes, %d seen, at most %d", len(s.boxes), n, s.seen, s.most)
		}
		for slot, k := range kept {
			if s.thin == 1 && k != on[slot] {
				t.Errorf("%d of %d boxes of slot %d", k, on[slot], slot)
			}
		}
		if (s.note() == "") != (len(s.boxes) == n) {
			t.Errorf("note %q for %d of %d boxes", s.note(), len(s.boxes), n)
		}
	})
}

// The page of a run with too many tasks says that it shows a sample.
func TestSampleIsAnnounced(t *testing.T) {
	s := story("fifo")
	var tasks strings.Builder
	tasks.WriteString("job,phase,index,attempt,node,slot,class,start,end,outcome,locality,source\n")
	const n = MaxBoxes + 1
	for i := range n {
		fmt.Fprintf(&tasks, "1,0,%d,1,n1,%d,slots,%d,%d,finished,any,\n", i, i%2, i/2, i/2+1)
	}
	s[files.Tasks] = tasks.String()
	s[files.Run] = strings.Replace(s[files.Run], `"attempts": 3`, fmt.Sprintf(`"attempts": %d`, n), 1)
	r, err := Page(t.Context(), []string{lay(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	want := "fifo: This is a sample: 50,001 of 100,001 attempts (about 1 of every 2 slots is drawn). Numbers, lines and tables count all."
	if len(r.Notes) != 1 || r.Notes[0] != want {
		t.Errorf("notes %q, want %q", r.Notes, want)
	}
	if got, want := r.Gantt.Runs[0].Share, 50_001.0/100_001; got != want {
		t.Errorf("%v of the attempts are drawn, want %v", got, want)
	}
	if _, err := json.Marshal(r.Gantt); err != nil {
		t.Error(err)
	}
}

// A line over time is an average in each part of it. An interval that begins before the first part counts from there on, one
// that ends with it counts no further, and one that ends later than the last part makes all parts twice as long.
func TestMeterAverages(t *testing.T) {
	m := newMeter(10, 10+meterParts)
	m.add(5, 12)             // 2 s of it
	m.add(11, 12)            // ends with a part
	m.add(10, 10+meterParts) // ends with the last one
	m.add(20, 20)            // nothing
	m.add(math.NaN(), 30)    // nothing
	s := m.line("jobs", 2)
	if m.width != 1 || len(s.X) != meterParts+1 || s.X[0] != 10 || s.X[meterParts] != 10+meterParts {
		t.Fatalf("parts of %v s, %d points from %v to %v", m.width, len(s.X), s.X[0], s.X[len(s.X)-1])
	}
	for k, want := range map[int]float64{0: 1, 1: 1.5, 2: 0.5, meterParts - 1: 0.5, meterParts: 0.5} {
		if s.Y[k] != want {
			t.Errorf("part %d: %v, want %v", k, s.Y[k], want)
		}
	}
	m.add(10+meterParts, 11+meterParts)
	if s = m.line("jobs", 2); m.width != 2 || s.Y[0] != 1.25 || s.Y[1] != 0.5 {
		t.Errorf("after a longer interval: parts of %v s, %v", m.width, s.Y[:2])
	}
}

// If the only slot with boxes would go, it stays, and every other box goes.
func TestSamplerKeepsTheOnlySlot(t *testing.T) {
	s := sampler{most: 4}
	slot := 1
	for s.slots = 2; s.keeps(slot); slot++ {
	}
	s = sampler{most: 4}
	for i := range 9 {
		s.add(slot, float64(i), float64(i+1), 0, 0, 0)
	}
	if len(s.boxes) == 0 || s.slots != 1 || s.thin != 4 {
		t.Errorf("%d boxes, of 1 of every %d slots, 1 of every %d attempts; want some, 1 and 4", len(s.boxes), s.slots, s.thin)
	}
}

// The parts of a line over time are short if the run is.
func TestShortRun(t *testing.T) {
	s := story("fifo")
	s[files.Jobs] = "id,name,pool,arrival,first_start,finish,sojourn,slowdown,ps_finish,late_vs_ps,deadline,met,outcome\n" +
		"1,,,0,0,0.001,0.001,1,0.001,0,,,finished\n2,,,0,0,0.00128,0.00128,1,0.00128,0,,,finished\n"
	s[files.Tasks] = "job,phase,index,attempt,node,slot,class,start,end,outcome,locality,source\n" +
		"1,0,0,1,n1,0,slots,0,0.0005,finished,any,\n1,0,1,1,n1,0,slots,0.0005,0.001,finished,any,\n2,0,0,1,n1,1,slots,0,0.00128,finished,any,\n"
	r, err := Page(t.Context(), []string{lay(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Plots {
		if p.ID == "queue" && len(p.Series[0].X) != meterParts+1 {
			t.Errorf("%d points, want %d", len(p.Series[0].X), meterParts+1)
		}
		if p.Steps != (p.ID != "backlog") {
			t.Errorf("%s has steps: %t", p.ID, p.Steps)
		}
	}
}

// A job that takes exactly 1 % longer is not hurt. Of jobs that lose equally much, the first is named.
func TestWhoIsHurt(t *testing.T) {
	runs := func(policy string, sojourn ...int) string {
		s := story(policy)
		var jobs, tasks strings.Builder
		jobs.WriteString("id,name,pool,arrival,first_start,finish,sojourn,slowdown,ps_finish,late_vs_ps,deadline,met,outcome\n")
		tasks.WriteString("job,phase,index,attempt,node,slot,class,start,end,outcome,locality,source\n")
		for i, v := range sojourn {
			fmt.Fprintf(&jobs, "%d,,,0,0,%d,%d,1,%d,0,,,finished\n", i+1, v, v, v)
			fmt.Fprintf(&tasks, "%d,0,0,1,n1,%d,slots,0,%d,finished,any,\n", i+1, i, v)
		}
		s[files.Jobs], s[files.Tasks] = jobs.String(), tasks.String()
		n := len(sojourn)
		s[files.Run] = strings.NewReplacer(`"jobs": 2, "tasks": 3`, fmt.Sprintf(`"jobs": %d, "tasks": %d`, n, n), `"finished": 2, "attempts": 3`, fmt.Sprintf(`"finished": %d, "attempts": %d`, n, n)).Replace(s[files.Run])
		return lay(t, s)
	}
	r, err := Page(t.Context(), []string{runs("fifo", 100, 20, 30, 1000), runs("srpt", 101, 30, 40, 10)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "It is worse than fifo for 2 of 4 jobs"; !strings.HasPrefix(r.Verdict[2], want) || !strings.HasSuffix(r.Verdict[2], "; job 2 loses most, with 30 seconds instead of 20 seconds.") {
		t.Errorf("verdict %q, want %q, and job 2", r.Verdict[2], want)
	}
	// (100 + 20 + 30 + 1000) / 4 s and (101 + 30 + 40 + 10) / 4 s; nothing is known of chance.
	if row := r.Ratios.Grids[0].Rows[0]; !slices.Equal(row.Values, page.Numbers{287.5, 45.25}) || r.Ratios.Baseline != 0 || !math.IsNaN(row.Half[1]) {
		t.Errorf("averages %+v", row)
	}
}

// A run that one job does not finish says so.
func TestUnfinished(t *testing.T) {
	s := with(files.Run, `"finished": 2`, `"finished": 1`)
	s[files.Jobs] = strings.Replace(s[files.Jobs], "2,<b>small</b>,,1,10,15,14,2.8,6,9,,,finished", "2,<b>small</b>,,1,10,,,,6,,,,unfinished", 1)
	r, err := Page(t.Context(), []string{lay(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	if want := "Not all jobs finish: 1 of 2 jobs under fifo do not."; !strings.HasPrefix(r.Verdict[len(r.Verdict)-1], want) {
		t.Errorf("verdict %q, want %q", r.Verdict, want)
	}
	for n, want := range map[int]float64{0: math.NaN(), 1: 7} {
		if got := quantile([]float64{7}[:n], 0.5); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("median of %d numbers: %v, want %v", n, got, want)
		}
	}
}

// Files beside the folders of runs are passed over.
func TestFilesBesideRuns(t *testing.T) {
	dir := t.TempDir()
	for _, policy := range []string{"2-srpt", "10-fifo"} {
		if err := os.Rename(lay(t, story(policy[strings.Index(policy, "-")+1:])), filepath.Join(dir, policy)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"notes.txt", "1-notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := runsIn(dir)
	if want := []string{filepath.Join(dir, "2-srpt"), filepath.Join(dir, "10-fifo")}; err != nil || !slices.Equal(got, want) {
		t.Errorf("runs %q and %v, want %q", got, err, want)
	}
}

// An ID that is used again stands for the job that was the last to arrive.
func TestFindTakesTheLatest(t *testing.T) {
	r := &run{jobs: []job{{arrival: 5}, {arrival: 10}, {arrival: 20}}, byID: map[string][]int{"1": {0, 1, 2}}}
	for at, want := range map[float64]int{5: 0, 9: 0, 10: 1, 19: 1, 20: 2, 30: 2, 1: 0} {
		if got := r.find("1", at); got != want {
			t.Errorf("at %v: job %d, want %d", at, got, want)
		}
	}
	if got := r.find("2", 5); got != -1 {
		t.Errorf("of an unknown ID: job %d, want -1", got)
	}
}

// Infinite numbers are none.
func TestNumbers(t *testing.T) {
	for cell, want := range map[string]float64{"1.5": 1.5, "-2": -2, "0": 0} {
		if got, err := number(cell); got != want || err != nil {
			t.Errorf("%q: %v and %v, want %v", cell, got, err, want)
		}
	}
	for _, cell := range []string{"Inf", "-Inf", "+Infinity", "1e999", "x"} {
		if got, err := number(cell); err == nil {
			t.Errorf("%q: %v, want an error", cell, got)
		}
	}
	for s, want := range map[float64]string{math.NaN(): "-", 9e9: "104,167 days", 9.1e9: "-", -9.1e9: "-"} {
		if got := duration(s); got != want {
			t.Errorf("%v s: %q, want %q", s, got, want)
		}
	}
}

// Each plot of a page has a line of each run. The page of one run lists the jobs that take longest.
func TestLinesOfRuns(t *testing.T) {
	better := story("srpt")
	better[files.Jobs] = strings.Replace(better[files.Jobs], "1,10,15,14,2.8,6,9", "1,1,6,5,1,6,0", 1)
	r, err := Page(t.Context(), []string{lay(t, story("fifo")), lay(t, better)})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Plots {
		if len(p.Series) != 2 || p.Series[0].Name != "fifo" || p.Series[1].Name != "srpt" {
			t.Errorf("%s: %+v, want a line of each policy", p.Title, p.Series)
		}
	}
	if len(r.Plots) != 6 {
		t.Errorf("%d plots, want 6", len(r.Plots))
	}
	one, err := Page(t.Context(), []string{lay(t, better)})
	if err != nil {
		t.Fatal(err)
	}
	// Job 2 ends exactly as under fair sharing, so that it is not late.
	if want := "No job ends later than if all had shared the cluster equally."; one.Verdict[1] != want {
		t.Errorf("verdict %q, want %q", one.Verdict[1], want)
	}
	if got, want := one.Tables[1].Title, "The jobs that take longest"; got != want {
		t.Errorf("one run: %q, want %q", got, want)
	}
	if got, want := r.Tables[1].Title, "The jobs that the policies treat most differently"; got != want {
		t.Errorf("two runs: %q, want %q", got, want)
	}
}
