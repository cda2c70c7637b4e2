package whatif

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// What is foreseen comes true if sizes are told exactly, as a task that has finished shows, and no job arrives later: the
// start and the finish of each job are those of the rest of the run, whatever the instant.
func TestForecastComesTrue(t *testing.T) {
	policies := map[string]func() (sojourn.Policy, error){
		"fifo": func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) },
		"srpt": func() (sojourn.Policy, error) { return baseline.NewSRPT(baseline.SRPTOptions{}) },
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"fifo", "srpt"}).Draw(t, "policy")
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		var jobs []*sim.Job
		at := sojourn.Time(0)
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			j := &sim.Job{At: at, Job: sojourn.Job{ID: sojourn.JobID(i + 1)}}
			for range rapid.IntRange(1, 3).Draw(t, "phases") {
				list := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, 50), func(s int) time.Duration { return time.Duration(s) * time.Second }), 1, 5).Draw(t, "times")
				j.Phases = append(j.Phases, sojourn.Phase{Tasks: len(list), Estimates: list})
				j.Times = append(j.Times, sim.Times{List: list})
			}
			jobs = append(jobs, j)
			at = at.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "gap")) * time.Second)
		}
		entries, ends := recordedRun(t, policies[name], jobs, slots)
		instant := jobs[len(jobs)-1].At.Add(time.Duration(rapid.IntRange(0, 200_000).Draw(t, "after")) * time.Millisecond)
		first := slices.IndexFunc(entries, func(e history.Entry) bool { return e.Kind == history.Observe && e.Event.Kind == sojourn.TaskFinished })
		instant = max(instant, entries[first].Event.At)
		c := Case{Entries: func() iter.Seq2[history.Entry, error] { return all(entries) }, Policy: policies[name], Name: name}
		f, err := Foresee(context.Background(), c, Question{At: &instant, Draws: 2})
		if err != nil {
			t.Fatal(err)
		}
		live := 0
		for id, want := range ends {
			if want[1] > instant {
				live++
			}
			i := slices.IndexFunc(f.Jobs, func(j Outlook) bool { return j.Job == id })
			if i < 0 {
				if want[1] > instant {
					t.Errorf("job %d is live at %v and not foreseen", id, instant)
				}
				continue
			}
			got := f.Jobs[i]
			if got.Finish == nil || *got.Finish != exactly(want[1]) {
				t.Errorf("job %d finishes at %v, foreseen %v", id, want[1], got.Finish)
			}
			if want[0] > instant && (got.Start == nil || *got.Start != exactly(want[0])) {
				t.Errorf("job %d starts at %v, foreseen %v", id, want[0], got.Start)
			}
			if want[0] <= instant && !got.Started {
				t.Errorf("job %d started at %v, and not as foreseen at %v", id, want[0], instant)
			}
		}
		if len(f.Jobs) != live {
			t.Errorf("%d jobs are foreseen, and %d are live", len(f.Jobs), live)
		}
	})
}

func exactly(at sojourn.Time) Interval {
	s := format.Seconds(at)
	return Interval{s, s, s}
}

func all(entries []history.Entry) iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// recordedRun runs jobs and returns the history, and when each job started and finished.
func recordedRun(t *rapid.T, policy func() (sojourn.Policy, error), jobs []*sim.Job, slots int) ([]history.Entry, map[sojourn.JobID][2]sojourn.Time) {
	p, err := policy()
	if err != nil {
		t.Fatal(err)
	}
	var entries []history.Entry
	ends := map[sojourn.JobID][2]sojourn.Time{}
	now := sojourn.Time(0)
	_, err = sim.Run(context.Background(), sim.Config{
		Cluster: sim.Cluster{Uniform: true, Nodes: []sim.Node{{Slots: []int{slots}}}}, Policy: p, NoAudit: true, Jobs: sim.Jobs(jobs...),
		Hooks: sim.Hooks{
			Event: func(ev sojourn.Event, err error) {
				now = ev.At
				entries = append(entries, history.Entry{Kind: history.Observe, Event: ev, Err: err})
			},
			Assigned: func(slot sojourn.SlotID, a sojourn.Assignment, ok bool) {
				entries = append(entries, history.Entry{Kind: history.Assign, At: now, Slot: slot, Assignment: a, OK: ok})
				if _, started := ends[a.Task.Job]; ok && !started {
					ends[a.Task.Job] = [2]sojourn.Time{now, 0}
				}
			},
			Job: func(j *sim.JobRecord) { ends[j.ID] = [2]sojourn.Time{ends[j.ID][0], j.Finish} },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, ends
}

// A history is followed with a policy that decides as is recorded, and with no other. What fails is returned.
func TestFollow(t *testing.T) {
	srpt := func() (sojourn.Policy, error) { return baseline.NewSRPT(baseline.SRPTOptions{}) }
	fifos := func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
	text := func(text string) Case {
		return Case{Entries: func() iter.Seq2[history.Entry, error] { return history.Read(strings.NewReader(text), "test") }}
	}
	const begin = "sojourn history 1\n@0s SlotAdded 0\n@0s JobArrived 1 | 1x9s\n@0s JobArrived 2 | 1x1s\n"
	for _, tc := range []struct {
		name, text string
		fifo, srpt bool
	}{
		{"the first", begin + "@0s Assign 0 -> 1/0/0#1\n", true, false},
		{"the smallest", begin + "@0s Assign 0 -> 2/0/0#1\n", false, true},
		{"none", begin + "@0s Assign 0 -> none\n", false, false},
		{"refused", begin + "@0s JobCancelled 1 !ErrUnsupported\n@0s Assign 0 -> 1/0/0#1\n", true, false},
	} {
		for i, policy := range []func() (sojourn.Policy, error){fifos, srpt} {
			p, err := policy()
			if err != nil {
				t.Fatal(err)
			}
			want := error(errOther)
			if i == 0 && tc.fifo || i == 1 && tc.srpt {
				want = nil
			}
			if _, err := follow(text(tc.text), nil, p); err != want {
				t.Errorf("%s, policy %d: %v, want %v", tc.name, i, err, want)
			}
		}
	}
	for name, wrong := range map[string]string{
		"a line":  begin + "@1s Nonsense\n",
		"a job":   begin + "@1s JobArrived 2 | 1\n",
		"a task":  begin + "@1s TaskFinished 2/0/0#1 slot=0\n",
		"a start": begin + "@1s Assign 0 -> 7/0/0#1\n",
	} {
		c := text(wrong)
		c.Policy = fifos
		if _, err := Foresee(context.Background(), c, Question{Draws: 1}); err == nil {
			t.Errorf("wrong by %s: no error", name)
		}
	}
}

// Without a change there are no times with it.
func TestNoChange(t *testing.T) {
	c := Case{
		Entries: func() iter.Seq2[history.Entry, error] {
			return history.Read(strings.NewReader("sojourn history 1\n@0s SlotAdded 0\n@0s JobArrived 1 | 1x9s\n"), "test")
		},
		Policy: func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) },
	}
	for _, what := range []string{"", "one slot"} {
		f, err := Foresee(context.Background(), c, Question{Draws: 1, Change: Different{Slots: 1, What: what}})
		if err != nil || len(f.Jobs) != 1 {
			t.Fatal(f, err)
		}
		if j := f.Jobs[0]; (j.ChangedStart != nil) != (what != "") || (j.ChangedFinish != nil) != (what != "") {
			t.Errorf("with %q: %v and %v", what, j.ChangedStart, j.ChangedFinish)
		}
	}
}
