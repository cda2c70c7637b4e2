package recorded

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// many returns the folder of a run of jobs on a slot each: job i arrives at 10 i s, and takes as many seconds as sojourn says.
func many(t *testing.T, policy string, n int, pool func(i int) string, work, sojourn func(i int) int) string {
	s := story(policy)
	var jobs, tasks strings.Builder
	jobs.WriteString("id,name,pool,arrival,first_start,finish,sojourn,slowdown,ps_finish,late_vs_ps,deadline,met,outcome\n")
	tasks.WriteString("job,phase,index,attempt,node,slot,class,start,end,outcome,locality,source\n")
	for i := range n {
		end := 10*i + sojourn(i)
		fmt.Fprintf(&jobs, "%d,,%s,%d,%d,%d,%d,1,%d,0,,,finished\n", i+1, pool(i), 10*i, end-work(i), end, sojourn(i), end)
		fmt.Fprintf(&tasks, "%d,0,0,1,n1,%d,slots,%d,%d,finished,any,\n", i+1, i, end-work(i), end)
	}
	s[files.Jobs], s[files.Tasks] = jobs.String(), tasks.String()
	s[files.Run] = strings.NewReplacer(`"jobs": 2, "tasks": 3`, fmt.Sprintf(`"jobs": %d, "tasks": %d`, n, n), `"finished": 2, "attempts": 3`, fmt.Sprintf(`"finished": %d, "attempts": %d`, n, n)).Replace(s[files.Run])
	return lay(t, s)
}

// Tenths by size and tenants have the quotients of their own jobs. Of many pools, those with most jobs are there, and the page says so.
func TestWhoPays(t *testing.T) {
	pool := func(i int) string {
		if i < 40 {
			return []string{"etl", "web"}[i%2]
		}
		return fmt.Sprint("one-", i)
	}
	work := func(i int) int { return 1 + i*7%60 }
	slow := func(i int) int { return work(i) * 2 }
	fast := func(i int) int { // the 30 largest jobs take three times as long, the others as long
		if work(i) > 30 {
			return work(i) * 6
		}
		return work(i) * 2
	}
	r, err := Page(t.Context(), []string{many(t, "fair", 60, pool, work, slow), many(t, "srpt", 60, pool, work, fast)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ratios.Grids) != 3 || r.Ratios.Baseline != 1 { // fair is best, so that it is compared with the next
		t.Fatalf("%d grids, baseline %d", len(r.Ratios.Grids), r.Ratios.Baseline)
	}
	sizes := r.Ratios.Grids[1]
	if len(sizes.Rows) != 10 || sizes.Rows[0].Name != "up to 6 seconds" || sizes.Rows[9].Name != "up to 60 seconds" {
		t.Errorf("tenths %+v", sizes.Rows)
	}
	for k, row := range sizes.Rows {
		want := 1.0
		if k >= 5 {
			want = 3
		}
		if got := row.Values[1] / row.Values[0]; math.Abs(got-want) > 1e-9 {
			t.Errorf("tenth %d: %v times fair, want %v", k, got, want)
		}
		if row.Half[1] != row.Half[2] || row.Half[1] > 1e-9 {
			t.Errorf("tenth %d: halves of the intervals %v, want 0: all jobs of it are changed alike", k, row.Half)
		}
	}
	tenants := r.Ratios.Grids[2]
	if len(tenants.Rows) != maxTenants || tenants.Rows[0].Name != "etl (20 jobs)" || !strings.Contains(tenants.Help, "These are the 12 pools with most jobs, of 22.") {
		t.Errorf("tenants %+v, %s", tenants.Rows[0], tenants.Help)
	}
	sum := [2]float64{}
	for i := 0; i < 40; i += 2 {
		sum[0] += float64(slow(i)) / 20
		sum[1] += float64(fast(i)) / 20
	}
	if got := tenants.Rows[0].Values; math.Abs(got[0]-sum[0]) > 1e-9 || math.Abs(got[1]-sum[1]) > 1e-9 {
		t.Errorf("etl %v, want %v", got, sum)
	}
}

// The backlog is the slot time of the jobs that have arrived, less what ran.
func TestBacklog(t *testing.T) {
	work := func(i int) int { return 3 + i%4 }
	dir := many(t, "fifo", 12, func(int) string { return "" }, work, func(i int) int { return work(i) + i })
	r, err := readRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	line := r.backlog("fifo")
	for k, at := range line.X[1:] {
		want := 0.0
		for i := range 12 {
			end := float64(10*i + work(i) + i)
			if float64(10*i) <= at {
				want += float64(work(i)) - math.Max(0, math.Min(float64(work(i)), at-(end-float64(work(i)))))
			}
		}
		if got := line.Y[k+1]; math.Abs(got-want) > 1e-6 {
			t.Fatalf("at %v s: %v, want %v", at, got, want)
		}
	}
	if n := len(line.Y); line.X[0] != 0 || line.Y[n-1] > 1e-9 || line.X[n-1] != r.busy.last {
		t.Errorf("from %v, in the end %v at %v", line.X[0], line.Y[n-1], line.X[n-1])
	}
}

// Names of others are short on a page, and have nothing that a browser obeys.
func TestNamesAreBounded(t *testing.T) {
	for _, name := range []string{strings.Repeat("long ", 10_000), strings.Repeat("\u202e", 500), "a\x1b[2Jb\u2066c", strings.Repeat("ü", 119) + "\xff\xfe", strings.Repeat("\xff", 50_000)} {
		got := bounded(name)
		if n := len([]rune(got)); n > maxName || strings.ContainsFunc(got, visible.Obeyed) || got == "" {
			t.Errorf("%.20q becomes %d characters: %q", name, n, got)
		}
	}
	if got := bounded("naïve 作业"); got != "naïve 作业" {
		t.Errorf("a harmless name becomes %q", got)
	}
	s := story("fifo")
	huge := strings.Repeat("<b>", 20_000)
	s[files.Jobs] = strings.ReplaceAll(strings.ReplaceAll(s[files.Jobs], "big", huge), "etl", huge)
	r, err := Page(t.Context(), []string{lay(t, s)})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.Write(&b); err != nil || b.Len() > 100_000 {
		t.Errorf("a page of %d bytes, and %v", b.Len(), err)
	}
}

// The command line of a run has all its flags, and a shell reads it as it was.
func TestAgain(t *testing.T) {
	info := runInfo{Command: "compare", Flags: map[string]string{
		"sample": "true", "policies": `["fifo,fair:order=running",pfsp]`, "workload": "my file's.jsonl", "load": "0.9", "estimates": "",
	}}
	if got, want := info.again(), `sojourn compare --estimates='' --load=0.9 --policies=fifo,fair:order=running --policies=pfsp --sample --workload='my file'\''s.jsonl'`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got := new(runInfo).again(); got != "" {
		t.Errorf("without a command: %q", got)
	}
}
