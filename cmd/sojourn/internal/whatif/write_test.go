package whatif

import (
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
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
		{at(4), Change{Start: at(4), Sooner: at(0)}, same + " With one thing changed:\n  x: it starts at the same time\n"},
		{at(4), Change{Start: at(1), Sooner: at(3)}, same + " With one thing changed:\n  x: it starts 3 s sooner\n"},
		{at(4), Change{Start: at(6), Sooner: at(-2), Finish: at(9), FinishesSooner: at(-1)}, same + " With one thing changed:\n  x: it starts 2 s later, and finishes at 9 s, 1 s later\n"},
		{at(4), Change{Start: at(4), Sooner: at(0), Finish: at(9), FinishesSooner: at(1)}, same + " With one thing changed:\n  x: it starts at the same time, and finishes at 9 s, 1 s sooner\n"},
		{at(4), Change{Start: at(4), Sooner: at(0), Finish: at(9), FinishesSooner: at(0)}, same + " With one thing changed:\n  x: it starts at the same time, and finishes at 9 s\n"},
		{at(4), Change{Start: at(4), Sooner: at(0), Finish: at(9)}, same + " With one thing changed:\n  x: it starts at the same time, and finishes at 9 s\n"},
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
