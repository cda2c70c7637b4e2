package whatif

import (
	"context"
	"errors"
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
)

// waits asks why job 1 of a history waited. The policy is fifo, which need not decide so.
func waits(t *testing.T, text string) *Wait {
	t.Helper()
	c := Case{
		Entries: func() iter.Seq2[history.Entry, error] {
			return history.Check(history.Read(strings.NewReader(text), "test"))
		},
		Policy: func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }, Name: "fifo",
	}
	w, err := Explain(context.Background(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Two slots of class 0 and one of class 1. Tasks of job 1 could run and do not from 0 to 3 s, when they are held; from 6 s,
// when one is released, to 8; from 9, when the other is, to 11; and from 13, when its second phase may start, to 16. Of
// these 10 s, job 2 has a slot of class 0 from 1 to 3, from 6 to 8 and from 10 to 11, and job 3 that of class 1 from 13
// to 14. What job 2 starts at 4 s takes nothing from job 1, and what job 3 starts at 1 s neither.
func TestLater(t *testing.T) {
	const text = `sojourn history 1
@0s SlotAdded 0
@0s SlotAdded 1
@0s SlotAdded 2 class=1
@0s JobArrived 1 | 3x10s | 1x5s class=1
@0s Assign 0 -> 1/0/0#1
@1s JobArrived 2 name=other | 4
@1s JobArrived 3 | 1 class=1
@1s Assign 1 -> 2/0/0#1
@1s Assign 2 -> 3/0/0#1
@3s TaskHeld 1/0/1
@3s TaskHeld 1/0/2
@4s TaskFinished 2/0/0#1 slot=1
@4s Assign 1 -> 2/0/1#1
@6s TaskReady 1/0/2
@8s TaskFinished 2/0/1#1 slot=1
@8s Assign 1 -> 1/0/2#1
@9s TaskReady 1/0/1
@10s TaskFinished 1/0/0#1 slot=0
@10s Assign 0 -> 2/0/2#1
@11s TaskFailed 2/0/2#1 slot=0 cause=preempted
@11s Assign 0 -> 1/0/1#1
@12s TaskFinished 1/0/2#1 slot=1
@13s TaskFinished 1/0/1#1 slot=0
@14s TaskFinished 3/0/0#1 slot=2
@16s Tick
@16s Assign 2 -> 1/1/0#1
@20s TaskFinished 1/1/0#1 slot=2
@30s Tick
`
	w := waits(t, text)
	seconds := func(n int) format.Seconds { return format.Seconds(time.Duration(n) * time.Second) }
	if w.Later == nil || w.Later.Waited != seconds(10) || w.Later.Behind != seconds(6) {
		t.Fatalf("it waited %+v after its start, want 10 s, 6 of them behind others", w.Later)
	}
	if got := w.Later.Before; len(got) != 1 || got[0].Job != 2 || got[0].Name != "other" || got[0].Running != 0 || got[0].Started != 2 || got[0].Quantities != nil {
		t.Errorf("after its start %+v went before it, want job 2 with 2 tasks", got)
	}
	if w.Waited != 0 || len(w.Before) != 0 || w.Finish == nil || *w.Finish != seconds(20) {
		t.Errorf("it waited %v behind %v and finished at %v, want 0 behind none and 20 s", w.Waited, w.Before, w.Finish)
	}
	if !w.Differs {
		t.Error("fifo decides so, it says")
	}
}

// A job that is revised finishes with the last task that is left, and one that is cancelled does not finish. Tasks that are
// cancelled do not wait.
func TestEnds(t *testing.T) {
	const begin = `sojourn history 1
@0s SlotAdded 0
@0s JobArrived 1 | 3
@0s Assign 0 -> 1/0/0#1
`
	for _, tc := range []struct {
		text         string
		later        time.Duration
		finish, gone bool
	}{
		{"@2s JobRevised 1 | 1\n@5s TaskFinished 1/0/0#1 slot=0\n@9s Tick\n", 2, true, false},
		{"@5s TaskFinished 1/0/0#1 slot=0\n@6s JobRevised 1 | 1\n@9s Tick\n", 6, true, false},
		{"@2s JobCancelled 1\n@5s TaskFinished 1/0/0#1 slot=0\n@9s Tick\n", 2, false, true},
		{"@5s TaskFinished 1/0/0#1 slot=0\n@9s Tick\n", 9, false, false},
	} {
		w := waits(t, begin+tc.text)
		if (w.Finish != nil) != tc.finish {
			t.Errorf("%sit finished at %v", tc.text, w.Finish)
		}
		if w.Later == nil || time.Duration(w.Later.Waited) != tc.later*time.Second || w.Later.Behind != 0 || len(w.Later.Before) != 0 {
			t.Errorf("%sit waited %+v after its start, want %d s", tc.text, w.Later, tc.later)
		}
		if tc.finish && time.Duration(*w.Finish) > 6*time.Second {
			t.Errorf("%sit finished at %v", tc.text, *w.Finish)
		}
	}
}

// A job whose first tasks are held does not wait for the slots that others get.
func TestHeldJobIsNotOvertaken(t *testing.T) {
	w := waits(t, `sojourn history 1
@0s SlotAdded 0
@0s JobArrived 1 | 1x1s held=all
@0s JobArrived 2 | 1x1s
@0s Assign 0 -> 2/0/0#1
@1s TaskFinished 2/0/0#1 slot=0
@3s TaskReady 1/0/0
@3s Assign 0 -> 1/0/0#1
`)
	if len(w.Before) != 0 || time.Duration(w.Waited) != 3*time.Second || w.Later != nil {
		t.Errorf("%v went before it, it waited %v, and later %+v", w.Before, w.Waited, w.Later)
	}
}

// The times of a changed run are those of the history's clock, wherever that begins.
func TestChangesKeepTheClock(t *testing.T) {
	w := waits(t, `sojourn history 1
@100s SlotAdded 0
@100s JobArrived 2 | 1x10s
@100s JobArrived 1 | 1x5s
@100s Assign 0 -> 2/0/0#1
@110s TaskFinished 2/0/0#1 slot=0 service=10s
@110s Assign 0 -> 1/0/0#1
@115s TaskFinished 1/0/0#1 slot=0 service=5s
`)
	found := false
	for _, c := range w.Changes {
		if c.What != "one slot more" {
			continue
		}
		found = true
		if c.Start == nil || c.Finish == nil || time.Duration(*c.Start) != 100*time.Second || time.Duration(*c.Finish) != 105*time.Second {
			t.Errorf("with one slot more, it runs from %v to %v, want 100 s to 105 s", c.Start, c.Finish)
		}
	}
	if !found {
		t.Errorf("no slot more in %+v", w.Changes)
	}
}

// overtaken is a history in which job 1 waits behind job 2, which has more weight.
const overtaken = `sojourn history 1
@0s SlotAdded 0
@0s JobArrived 3 | 1x10s
@0s Assign 0 -> 3/0/0#1
@1s JobArrived 2 weight=4 | 4x10s
@1s JobArrived 1 weight=3 | 4x10s
@10s TaskFinished 3/0/0#1 slot=0 service=10s
@10s Assign 0 -> 2/0/0#1
@20s TaskFinished 2/0/0#1 slot=0 service=10s
@20s Assign 0 -> 1/0/0#1
@30s TaskFinished 1/0/0#1 slot=0 service=10s
`

func explained(t *testing.T, text string, policy func() (sojourn.Policy, error)) *Wait {
	t.Helper()
	w, err := Explain(context.Background(), Case{
		Entries: func() iter.Seq2[history.Entry, error] {
			return history.Check(history.Read(strings.NewReader(text), "test"))
		},
		Policy: policy, Name: "test",
	}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// With twice its weight of 3, a job goes before one of weight 4 under a policy that serves the greatest weight first.
func TestTwiceTheWeight(t *testing.T) {
	w := explained(t, overtaken, func() (sojourn.Policy, error) { return baseline.NewHJWF(baseline.ListOptions{}) })
	c := w.Changes[0]
	if c.What != "twice its weight" || c.Start == nil || time.Duration(*c.Start) != 10*time.Second {
		t.Errorf("%s: it starts at %v, want 10 s", c.What, c.Start)
	}
}

// If a policy refuses a changed run, the change says why, and has no times.
func TestChangeThatFails(t *testing.T) {
	calls := 0
	policy := func() (sojourn.Policy, error) { calls++; return fifo.New(fifo.Options{}) }
	explained(t, overtaken, policy)
	last := calls
	calls = 0
	w := explained(t, overtaken, func() (sojourn.Policy, error) {
		if p, err := policy(); calls < last || err != nil {
			return p, err
		}
		return nil, errors.New("no such cluster")
	})
	c := w.Changes[len(w.Changes)-1]
	if !strings.Contains(c.Error, "no such cluster") || c.Start != nil || c.Finish != nil || c.Sooner != nil {
		t.Errorf("%+v, want the error alone", c)
	}
	for _, c := range w.Changes[:len(w.Changes)-1] {
		if c.Error != "" || c.Start == nil {
			t.Errorf("%+v, want no error", c)
		}
	}
}

// An event that the policy refused is no fact, and the end of another job is not that of the job.
func TestEndsByItsOwnEvents(t *testing.T) {
	for name, line := range map[string]string{
		"rejected":    "@2s JobArrived 1 | 2 !ErrDuplicateJob\n",
		"refused":     "@2s JobRevised 1 | 1 !ErrUnsupported\n",
		"another job": "@2s JobCancelled 2\n",
		"neither":     "",
	} {
		w := waits(t, `sojourn history 1
@0s SlotAdded 0
@0s JobArrived 1 | 2
@0s JobArrived 2 | 1
@0s Assign 0 -> 1/0/0#1
`+line+`@5s TaskFinished 1/0/0#1 slot=0
@5s Assign 0 -> 1/0/1#1
@9s TaskFinished 1/0/1#1 slot=0
`)
		if w.Finish == nil || time.Duration(*w.Finish) != 9*time.Second {
			t.Errorf("%s: it finished at %v, want 9 s", name, w.Finish)
		}
	}
}

// A slot whose task has finished is free, and the job of that task runs no longer.
func TestFreeAfterATask(t *testing.T) {
	w := waits(t, `sojourn history 1
@0s SlotAdded 0
@0s SlotAdded 1
@0s JobArrived 2 | 2
@0s Assign 0 -> 2/0/0#1
@0s Assign 1 -> 2/0/1#1
@1s TaskFinished 2/0/0#1 slot=0
@2s JobArrived 1 | 1
@3s Tick
@3s Assign 0 -> 1/0/0#1
`)
	if w.Free != 1 || w.Slots != 2 || len(w.Before) != 1 || w.Before[0].Running != 1 {
		t.Errorf("%d of %d slots were free and %+v before it, want 1 of 2 and one task of job 2", w.Free, w.Slots, w.Before)
	}
}

// After the start of a job, a job that goes before it has what it runs on slots of that class by then.
func TestRunningLater(t *testing.T) {
	w := waits(t, `sojourn history 1
@0s SlotAdded 0
@0s SlotAdded 1
@0s JobArrived 2 | 2
@0s Assign 1 -> 2/0/0#1
@1s JobArrived 1 | 3
@1s Assign 0 -> 1/0/0#1
@2s SlotAdded 2
@2s Assign 2 -> 2/0/1#1
@3s Tick
`)
	if w.Later == nil || len(w.Later.Before) != 1 || w.Later.Before[0].Running != 1 || w.Later.Before[0].Started != 1 {
		t.Errorf("%+v, want that job 2 had 1 task and started 1", w.Later)
	}
}

// What fails is returned: the history, even if the job is not in it, and a run that is interrupted.
func TestExplainErrors(t *testing.T) {
	broken := errors.New("broken")
	fifos := func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
	_, err := Explain(context.Background(), Case{Policy: fifos, Entries: func() iter.Seq2[history.Entry, error] {
		return func(yield func(history.Entry, error) bool) { yield(history.Entry{}, broken) }
	}}, 1)
	if !errors.Is(err, broken) {
		t.Errorf("a broken history: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Explain(ctx, Case{Policy: fifos, Entries: func() iter.Seq2[history.Entry, error] {
		return history.Check(history.Read(strings.NewReader(overtaken), "test"))
	}}, 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// Twice the weight is twice what is told, which is 1 if nothing is: job 1 goes before a job of less weight than that,
// and not before one of more.
func TestTwiceEachWeight(t *testing.T) {
	for _, tc := range []struct {
		own, other string
		first      bool
	}{
		{"", "weight=1.9", true},
		{"", "weight=2.1", false},
		{"weight=1", "weight=1.9", true},
		{"weight=0.25", "weight=0.4", true},
		{"weight=0.25", "weight=0.6", false},
		{"weight=0.6", "weight=1.1", true},
		{"weight=100", "weight=199", true},
		{"weight=100", "weight=201", false},
	} {
		text := strings.NewReplacer("weight=4", tc.other, "weight=3", tc.own).Replace(overtaken)
		w := explained(t, text, func() (sojourn.Policy, error) { return baseline.NewHJWF(baseline.ListOptions{}) })
		want := 50 * time.Second // after the four tasks of job 2
		if tc.first {
			want = 10 * time.Second
		}
		if c := w.Changes[0]; c.Error != "" || c.Start == nil || time.Duration(*c.Start) != want {
			t.Errorf("%s against %s: it starts at %v, want %v (%s)", tc.own, tc.other, c.Start, want, c.Error)
		}
	}
}

// The quantities that differ say why a job went first. There are none for a start that the policy would have decided otherwise.
func TestQuantities(t *testing.T) {
	hjwf := func() (sojourn.Policy, error) { return baseline.NewHJWF(baseline.ListOptions{}) }
	for _, tc := range []struct {
		weight  string
		want    []Quantity
		differs bool
	}{
		{"weight=3", []Quantity{{"weight", "3", "4"}, {"unit_weight", "0.075", "0.1"}, {"rank", "1", "0"}}, false},
		{"weight=5", nil, true},
	} {
		// Job 2 starts a task at 10 s, and job 1 does not start.
		text, _, _ := strings.Cut(strings.Replace(overtaken, "weight=3", tc.weight, 1), "@20s")
		w := explained(t, text, hjwf)
		if len(w.Before) != 2 || w.Before[1].Job != 2 || !slices.Equal(w.Before[1].Quantities, tc.want) || w.Differs != tc.differs {
			t.Errorf("%s: %+v, differs: %t", tc.weight, w.Before, w.Differs)
		}
	}
}

// A job that has not started has waited from its arrival until the latest event.
func TestStillWaiting(t *testing.T) {
	w := waits(t, `sojourn history 1
@0s SlotAdded 0
@0s JobArrived 2 | 1x10s
@0s Assign 0 -> 2/0/0#1
@3s JobArrived 1 | 1x10s
@9s Tick
`)
	if w.Start != nil || w.Waited != *at(6) {
		t.Errorf("it started at %v, and waited for %v: want that it waits, for 6 s", w.Start, w.Waited)
	}
}
