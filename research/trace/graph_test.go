package trace

import (
	"fmt"
	"io"
	"iter"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

func readAlibaba(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error] {
	return ReadAlibaba(r, ReadOptions{limits: limits, Stats: stats})
}

func readWfCommons(r io.Reader, limits limits, stats *Stats) iter.Seq2[*sim.Job, error] {
	return ReadWfCommons(r, ReadOptions{limits: limits, Stats: stats})
}

func testdata(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAlibabaNames(t *testing.T) {
	for name, want := range map[string]string{
		"M1": "1 []", "R2_1": "2 [1]", "J3_1_2": "3 [1 2]", "task_xyz": " []", "MergeTask": " []", "task_12": " []", "": " []", "_1": " []",
		"M12_3_Stg4": "12 [3]", "R02_01": "2 [1]", "M0_1": " []", "7_1": " []", "M1x_2": " []", "M3_-1_2": "3 [2]", "M99999999999999999999_1": "99999999999999999999 [1]",
	} {
		number, needs := aliNames(name)
		if got := fmt.Sprintf("%s %v", number, needs); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestGraphFaults(t *testing.T) {
	row := func(task, instances, job, start, end string) string {
		return task + "," + instances + "," + job + ",1,Terminated," + start + "," + end + ",1,1\n"
	}
	for _, tc := range []struct {
		read       reader
		text, want string
	}{
		{readAlibaba, "M1,1\n", "-:1:1: 2 fields, want 9"},
		{readAlibaba, row("M1", "1", "", "1", "2"), "-:1:6: a row without a job"},
		{readAlibaba, row("M1", "x", "j", "1", "2"), `-:1:4: want an integer, or nothing, found x`},
		{readAlibaba, row("M1", "1.5", "j", "1", "2"), `-:1:4: want an integer, or nothing, found 1.5`},
		{readAlibaba, row("M1", "1", "j", "1", "9223372037"), `want an integer, or nothing, found 9223372037`},
		{readAlibaba, row("M1", "4000000000", "j", "1", "2"), "more than 16777216 tasks in a job"},
		{readAlibaba, row("M1", "16777216", "j", "0", "2") + row("M2", "1", "j", "0", "2"), "-:1:1: more than 16777216 tasks in a job"},
		{readAlibaba, row("M1", "3", "j", "0", "9223372036"), "the sum of the times of the job's tasks"},
		{readAlibaba, row("M1", "1", "a", "1", "2") + row("M1", "1", "b", "1", "2") + row("M2", "1", "a", "1", "2"), "-:3:6: job a has rows further up"},
		{readAlibaba, "\xff,1,j,1,Terminated,1,2,1,1\n", "-:1:1: the row is not UTF-8"},
		{readWfCommons, `{"name":"a"}`, `-:1:1: no "workflow" with tasks`},
		{readWfCommons, `{"workflow":{"tasks":[]}}`, `no "workflow" with tasks`},
		{readWfCommons, `{"workflow":{"tasks":[{"parents":[]}]}}`, `-:1:23: missing key "id"`},
		{readWfCommons, `{"workflow":{"tasks":[{"id":"a","runtimeInSeconds":-1}]}}`, "-:1:52:"},
		{readWfCommons, `{"workflow":{"tasks":[{"id":"a","parents":"b"}]}}`, "want a list"},
	} {
		_, err := collect(t, tc.read(strings.NewReader(tc.text), limits{}, nil))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %s", brief([]byte(tc.text)), err, tc.want)
		}
	}
}

// In the phases of a merged graph, a task waits for the tasks that it waited for, and for no others.
func TestMergedGraphsWaitForTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "tasks")
		perm := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range n {
				yield(i)
			}
		})).Draw(t, "names")
		var text strings.Builder
		waits := map[[2]string]bool{}
		for i, v := range perm {
			fmt.Fprintf(&text, `%s{"id":"%d","runtime":%d,"parents":[`, [...]string{"", ","}[min(i, 1)], v, v)
			comma := ""
			for u := range v {
				if rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
					fmt.Fprintf(&text, `%s"%d"`, comma, u)
					waits[[2]string{fmt.Sprint(v), fmt.Sprint(u)}], comma = true, ","
				}
			}
			text.WriteString("]}")
		}
		var j *sim.Job
		for job, err := range ReadWfCommons(strings.NewReader(`{"workflow":{"tasks":[`+text.String()+`]}}`), ReadOptions{}) {
			if j = job; err != nil {
				t.Fatal(err)
			}
		}
		got := map[[2]string]bool{}
		tasks := 0
		for p := range j.Phases {
			tasks += j.Phases[p].Tasks
			for _, k := range j.Phases[p].Needs {
				for _, a := range j.Times[p].List {
					for _, b := range j.Times[k].List {
						got[[2]string{fmt.Sprint(a.Seconds()), fmt.Sprint(b.Seconds())}] = true
					}
				}
			}
		}
		if err := (&sojourn.Job{ID: 1, Phases: j.Phases}).Check(); err != nil || tasks != n || !reflect.DeepEqual(got, waits) {
			t.Fatalf("%s: %d tasks that wait as in %v, %v, want %d and %v", text.String(), tasks, got, err, n, waits)
		}
	})
}

func FuzzAlibaba(f *testing.F) {
	for _, seed := range []string{testdata(f, "alibaba.csv"), "M1,1,j,1,x,1,2,,\nM1,1,j,1,x,1,2,,\nR2_1_1,1,j,1,x,1,2,,", ",,", "\x1f\x8b"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzTrace(t, data, readAlibaba) })
}

func FuzzWfCommons(f *testing.F) {
	for _, seed := range []string{testdata(f, "wfcommons.json"), `{"workflow":{"tasks":[{"id":"a","runtime":1,"parents":["a"]}]}}`, "{}", "[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzTrace(t, data, readWfCommons) })
}
