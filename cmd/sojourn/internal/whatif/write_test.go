package whatif

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// at returns a time in seconds.
func at(n int) *format.Seconds {
	s := format.Seconds(time.Duration(n) * time.Second)
	return &s
}

func TestVerdict(t *testing.T) {
	span := func(n int) *Interval { return &Interval{*at(n - 1), *at(n), *at(n + 1)} }
	job := func(finish, changed *Interval) Outlook { return Outlook{Finish: finish, ChangedFinish: changed} }
	for _, tc := range []struct {
		jobs   []Outlook
		change string
		want   string
	}{
		{[]Outlook{job(nil, nil)}, "", "none of the jobs finishes"},
		{[]Outlook{job(span(5), nil)}, "", "1 of 1 job finishes, the last one at 4 to 6 s"},
		{[]Outlook{job(nil, nil), job(span(9), nil)}, "", "1 of 2 jobs finishes, the last one at 8 to 10 s"},
		{[]Outlook{job(span(9), nil), job(span(5), nil), job(nil, nil)}, "", "2 of 3 jobs finish, the last one at 8 to 10 s"},
		{[]Outlook{job(span(9), span(9))}, "srpt", "1 of 1 job finishes, the last one at 8 to 10 s; with srpt, 0 finish sooner and 0 later, on average 0 s sooner"},
		{[]Outlook{job(span(9), span(3)), job(span(5), span(6)), job(span(5), span(5)), job(span(2), span(1))}, "srpt",
			"4 of 4 jobs finish, the last one at 8 to 10 s; with srpt, 2 finish sooner and 1 later, on average 1.5 s sooner"},
		{[]Outlook{job(span(9), span(19)), job(span(5), span(1))}, "srpt",
			"2 of 2 jobs finish, the last one at 8 to 10 s; with srpt, 1 finish sooner and 1 later, on average 3 s later"},
		{[]Outlook{job(nil, nil)}, "srpt", "none of the jobs finishes; with srpt, none does either"},
		{[]Outlook{job(nil, span(3)), job(nil, nil)}, "srpt", "none of the jobs finishes; with srpt, 1 more finishes"},
		{[]Outlook{job(span(9), nil), job(span(8), nil)}, "srpt", "2 of 2 jobs finish, the last one at 8 to 10 s; with srpt, 2 no longer finish"},
		{[]Outlook{job(span(9), nil), job(span(8), span(4)), job(nil, span(4)), job(nil, span(3))}, "srpt",
			"2 of 4 jobs finish, the last one at 8 to 10 s; with srpt, 1 finish sooner and 0 later, on average 4 s sooner; 2 more finish; 1 no longer finishes"},
	} {
		if got := (&Forecast{Jobs: tc.jobs, Change: tc.change}).verdict(); got != tc.want {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}

func TestAhead(t *testing.T) {
	one := []Ahead{{Job: 2, Running: 1, Started: 3}}
	for _, tc := range []struct {
		w    Wait
		want string
	}{
		{Wait{Start: at(1), Waited: 1, Before: one}, "\nBefore it:\n  job 2 had 1 task running and started 3 more.\n"},
		{Wait{Start: at(1), Waited: 0, Before: one}, ""},
		{Wait{Start: nil, Waited: 0, Before: one}, "\nBefore it:\n  job 2 had 1 task running and started 3 more.\n"},
		{Wait{Start: at(1), Waited: 1}, ""},
	} {
		if got := tc.w.ahead(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestSooner(t *testing.T) {
	const same, changed = "it starts at the same time.", ": faults, kills and measured times are not repeated."
	for _, tc := range []struct {
		start  *format.Seconds
		change Change
		want   string
	}{
		{at(4), Change{}, same + " With one thing changed:\n  x: it does not start\n"},
		{at(5), Change{}, "it starts at 4 s" + changed + " With one thing changed:\n  x: it does not start\n"},
		{nil, Change{}, "it starts at 4 s" + changed + " With one thing changed:\n  x: it does not start\n"},
		{at(4), Change{Error: "no such cluster"}, same + " With one thing changed:\n  x: no such cluster\n"},
		{at(4), Change{Start: at(4), Sooner: at(0)}, same + " With one thing changed:\n  no help: x\n"},
		{at(4), Change{Start: at(1), Sooner: at(3)}, same + " With one thing changed:\n  x: it starts 3 s sooner\n"},
		{at(4), Change{Start: at(6), Sooner: at(-2), Finish: at(9), FinishesSooner: at(-1)}, same + " With one thing changed:\n  x: it starts 2 s later, and finishes at 9 s, 1 s later\n"},
		{at(4), Change{Start: at(4), Sooner: at(0), Finish: at(9), FinishesSooner: at(1)}, same + " With one thing changed:\n  x: it starts at the same time, and finishes at 9 s, 1 s sooner\n"},
		{at(4), Change{Start: at(4), Sooner: at(0), Finish: at(9), FinishesSooner: at(0)}, same + " With one thing changed:\n  no help: x\n"},
		{at(4), Change{Start: at(4), Sooner: at(0), Finish: at(9)}, same + " With one thing changed:\n  no help: x\n"},
	} {
		tc.change.What = "x"
		w := Wait{Start: tc.start, Changes: []Change{tc.change}, again: &Again{start: at(4)}}
		// The paragraph is broken at the width of a line.
		got := strings.ReplaceAll(strings.TrimPrefix(w.sooner(), "\nRun again, "), "\n", " ")
		if got != strings.ReplaceAll(tc.want, "\n", " ") {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestLaterText(t *testing.T) {
	const waited, unknown = "\nAfter its start, tasks that could have run waited for 9 s in all.", "fifo does not decide as was recorded, so that its quantities are not known. "
	const behind = " For 5 s of these, other jobs had slots that they could have used."
	list := []Ahead{{Job: 2, Running: 1, Started: 3}}
	const lines = " In that time:   job 2 had 1 task running and started 3 more. "
	for _, tc := range []struct {
		w    Wait
		want string
	}{
		{Wait{}, ""},
		{Wait{Later: &Later{Waited: *at(9)}}, waited + " No other job had a slot that they could have used. "},
		{Wait{Later: &Later{Waited: *at(9), Behind: *at(5)}}, waited + behind + " None of these jobs got such a slot in that time. "},
		{Wait{Later: &Later{Waited: *at(9), Behind: *at(5), Before: list}}, waited + behind + lines},
		// What is not known is said once: here if there is no list of those before its start.
		{Wait{Differs: true, Start: at(0), Before: list, Later: &Later{Waited: *at(9), Behind: *at(5), Before: list}}, waited + behind + lines + unknown},
		{Wait{Differs: true, Start: at(1), Waited: *at(1), Later: &Later{Waited: *at(9), Behind: *at(5), Before: list}}, waited + behind + lines + unknown},
		{Wait{Differs: true, Start: at(1), Waited: *at(1), Before: list, Later: &Later{Waited: *at(9), Behind: *at(5), Before: list}}, waited + behind + lines},
	} {
		tc.w.Policy = "fifo"
		// The paragraph is broken at the width of a line.
		if got := strings.ReplaceAll(tc.w.later(), "\n", " "); got != strings.ReplaceAll(tc.want, "\n", " ") {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestBeginning(t *testing.T) {
	const free = " When it arrived, 1 of the 2 slots that it could use were free."
	for _, tc := range []struct {
		w    Wait
		want string
	}{
		{Wait{Waited: *at(4)}, "Under fifo, job 1 arrived at 3 s and has waited for 4 s; it has not started." + free},
		{Wait{Start: at(3)}, "Under fifo, job 1 arrived at 3 s and started at once." + free},
		{Wait{Start: at(5), Waited: *at(2), Finish: at(9), Name: "n"}, "Under fifo, job 1 (n) arrived at 3 s, waited 2 s, and started at 5 s. It finished at 9 s." + free},
		{Wait{Waited: *at(4), Release: at(8), Sequence: "s"}, "Under fifo, job 1 arrived at 3 s and has waited for 4 s; it has not started. It may not start before 8 s." +
			` It may not start before the jobs of sequence "s" that arrived before it have ended.` + free},
	} {
		tc.w.Policy, tc.w.Job, tc.w.Arrival, tc.w.Free, tc.w.Slots = "fifo", 1, *at(3), 1, 2
		if got := strings.ReplaceAll(strings.TrimSpace(tc.w.beginning()), "\n", " "); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// Three jobs are listed, those with most tasks first, with what the policy compares where it tells.
func TestListOfJobsAhead(t *testing.T) {
	const line = "  job 2 had 1 task running and started 3 more.\n"
	two := Ahead{Job: 2, Running: 1, Started: 3}
	told := two
	for n, want := range map[int]string{
		0: "",
		1: line,
		3: strings.Repeat(line, 3),
		4: strings.Repeat(line, 3) + "  and 1 more job; --json lists them\n",
		6: strings.Repeat(line, 3) + "  and 3 more jobs; --json lists them\n",
	} {
		if got := (&Wait{Policy: "srpt"}).list(slices.Repeat([]Ahead{two}, n)); got != want {
			t.Errorf("%d jobs: %q, want %q", n, got, want)
		}
	}
	ranked := (&Wait{}).list([]Ahead{two, {Job: 3, Running: 4, Started: 2}, {Job: 4, Running: 0, Started: 5}})
	if want := "  job 3 had 4 tasks running and started 2 more.\n  job 4 had 0 tasks running and started 5 more.\n" + line; ranked != want {
		t.Errorf("%q, want %q", ranked, want)
	}
	const want = "job 2 had 1 task running and started 3 more. srpt went first with size 2 s against 5 s"
	for n, more := range []string{".", ", rank 0 against 1."} {
		told.Quantities = []Quantity{{Key: "size", Own: "5 s", Ahead: "2 s"}, {Key: "rank", Own: "1", Ahead: "0"}}[:n+1]
		if got := strings.Join(strings.Fields((&Wait{Policy: "srpt"}).list([]Ahead{told})), " "); got != want+more {
			t.Errorf("%q, want %q", got, want+more)
		}
	}
}

// Why a job went first is said in words, with two quantities at most: those that say most, and no state.
func TestReasons(t *testing.T) {
	for _, tc := range []struct {
		told []Quantity
		want string
	}{
		{nil, ""},
		{[]Quantity{{"done", "0", "24"}, {"running", "2", "9"}, {"startable", "277", "2"}, {"pool", "batch", "etl"}, {"pool_running", "20", "9"}, {"class0", "[running=10 share=10]", "[running=9 share=10]"}},
			"pool_running 9 against 20, running 9 against 2"},
		{[]Quantity{{"phase0", "[v=7417.000000001 late=false]", "[v=6246.287962963 late=false]"}, {"rank", "2", "1"}}, "19.5 minutes less virtual work, rank 1 against 2"},
		{[]Quantity{{"phase0", "[v=5]", "[v=9]"}, {"phase1", "[v=x]", "[v=1]"}}, ""},
		{[]Quantity{{"other", "a", "b"}, {"size", "5 s", "2 s"}, {"more", "1", "2"}}, "size 2 s against 5 s, other b against a"},
	} {
		if got := strings.Join(reasons(tc.told), ", "); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.told, got, tc.want)
		}
	}
}

// The table says when a job starts, or that it has, and how much sooner it finishes.
func TestForecastTable(t *testing.T) {
	span := func(n int) *Interval { return &Interval{*at(n - 1), *at(n), *at(n + 1)} }
	f := Forecast{Policy: "fifo", Change: "srpt", Jobs: []Outlook{
		{Job: 1, Started: true, Running: 2, Finish: span(9), ChangedFinish: span(7)},
		{Job: 2, Start: span(4), Finish: span(9), ChangedFinish: span(12)},
		{Job: 3, Start: span(4), Finish: span(9)},
		{Job: 4, ChangedFinish: span(9)},
	}}
	var out strings.Builder
	if err := f.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 0 0 2 has started 8 to 10 6 to 8 2",
		"2 0 0 0 3 to 5 8 to 10 11 to 13 -3",
		"3 0 0 0 3 to 5 8 to 10 - -",
		"4 0 0 0 - - 8 to 10 -",
	} {
		if !slices.ContainsFunc(strings.Split(out.String(), "\n"), func(line string) bool { return strings.Join(strings.Fields(line), " ") == want }) {
			t.Errorf("no line %q in\n%s", want, &out)
		}
	}
}

// Where times are told in hours and minutes, a gain of less than a minute is told in seconds, and none looks like no gain.
func TestSmallGain(t *testing.T) {
	const hour = format.Seconds(2 * time.Hour)
	for gain, want := range map[time.Duration]string{
		0: "0 h 00", 29 * time.Second: "29 s", -29 * time.Second: "-29 s", 59900 * time.Millisecond: "59.9 s", time.Minute: "0 h 01", -90 * time.Second: "-0 h 02",
		time.Millisecond: "0.001 s", -2 * time.Microsecond: "-0.000002 s", 61 * time.Minute: "1 h 01",
	} {
		j := Outlook{Finish: &Interval{hour, hour, hour}, ChangedFinish: &Interval{Median: hour - format.Seconds(gain)}}
		if got := clock(true).gain(&j); got != want {
			t.Errorf("a gain of %v is %q, want %q", gain, got, want)
		}
	}
}

// A forecast begins with its verdict, if there is one, and what it rests on.
func TestForecastBegins(t *testing.T) {
	for _, jobs := range [][]Outlook{nil, {{Job: 1}}} {
		var out strings.Builder
		f := Forecast{Policy: "fifo", At: *at(90), Draws: 200, Jobs: jobs}
		if err := f.Write(&out); err != nil {
			t.Fatal(err)
		}
		want := "Under fifo, from 90 s on, if no other job arrives: 90 % intervals of 200 draws.\n"
		if jobs != nil {
			want = "=> none of the jobs finishes\n\n" + want
		}
		if !strings.HasPrefix(out.String(), want) || strings.Contains(out.String(), "No job is live then.") != (jobs == nil) {
			t.Errorf("%d jobs:\n%swant it to begin with %q", len(jobs), &out, want)
		}
	}
}

// One slot more is of the class of the first phase, on a node that no other is.
func TestOneSlotMore(t *testing.T) {
	c := sim.Cluster{Nodes: []sim.Node{{Name: "n1", Slots: []int{1}}, {Name: "n2", Slots: []int{0, 0, 1}}}}
	j := &sim.Job{Job: sojourn.Job{Phases: []sojourn.Phase{{Tasks: 1, Class: 2}, {Tasks: 1}}}}
	for _, uniform := range []bool{false, true} {
		c.Uniform = uniform
		want := sim.Node{Name: "n3", Slots: []int{0, 0, 1}}
		if uniform {
			want.Slots = []int{1}
		}
		if got := oneMore(c, j).Nodes; len(got) != 3 || !reflect.DeepEqual(got[2], want) {
			t.Errorf("uniform %t: %+v, want one more: %+v", uniform, got, want)
		}
		if len(c.Nodes) != 2 {
			t.Errorf("the cluster itself has changed: %+v", c)
		}
	}
}

// How much sooner is known if both times are.
func TestSoonerNeedsBothTimes(t *testing.T) {
	for _, tc := range []struct{ was, is, want *format.Seconds }{
		{nil, nil, nil}, {at(3), nil, nil}, {nil, at(3), nil}, {at(3), at(1), at(2)}, {at(1), at(3), at(-2)}, {at(3), at(3), at(0)},
	} {
		if got := sooner(tc.was, tc.is); (got == nil) != (tc.want == nil) || got != nil && *got != *tc.want {
			t.Errorf("%v and %v: %v, want %v", tc.was, tc.is, got, tc.want)
		}
	}
}
