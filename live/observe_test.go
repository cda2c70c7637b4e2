package live_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/trace"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// notes keeps what it is told, but for decisions.
type notes struct {
	list    []string
	decided int
}

func (o *notes) Note(n live.Note) {
	if n.Kind == live.Decided {
		o.decided++
		return
	}
	s := fmt.Sprintf("%v %v: job %d %q", n.At, n.Kind, n.Job.ID, n.Job.Name)
	if n.Attempt > 0 {
		s += fmt.Sprintf(" task %v#%d on %d", n.Task, n.Attempt, n.Slot)
	}
	if n.Kind == live.TaskEnded {
		s += fmt.Sprintf(" took %v of %v", n.Took, n.Estimate)
	}
	o.list = append(o.list, fmt.Sprintf("%s age %v: %v", s, n.Age, n.Err))
}

// An observer hears everything in order: of a job whose first attempt fails, of one that is cancelled, and of
// one that is refused.
func TestObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o notes
		p := must(live.New(constructors.RTMR.Must(rtmr.Options{}), live.Options{Slots: 1, Observer: &o, Retry: live.Retry{Attempts: 2}}))
		time.Sleep(time.Second)
		first := bag(1, func(ctx context.Context, task live.Task) error {
			time.Sleep(10 * ms)
			if task.Attempt == 1 {
				return errors.New("broken")
			}
			return nil
		})
		first.Name, first.Deadline, first.Phases[0].Estimate = "first", time.Second, 20*ms
		h := must(p.Submit(bg, first))
		late := bag(2, sleep(time.Second))
		late.Name, late.Deadline, late.Phases[0].Estimate = "late", 500*ms, time.Second
		if _, err := p.Submit(bg, late); err == nil {
			t.Error("a job that cannot be in time is accepted")
		}
		_ = h.Wait(bg)
		long := bag(1, sleep(time.Minute))
		long.Name, long.Phases[0].Estimates = "long", []time.Duration{time.Minute}
		long.Deadline = time.Hour
		h = must(p.Submit(bg, long))
		time.Sleep(5 * ms)
		h.Cancel()
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
		want := []string{
			`1s job submitted: job 1 "first" age 0s: <nil>`,
			`1s task started: job 1 "first" task 1/0/0#1 on 0 age 0s: <nil>`,
			`1s job refused: job 2 "late" age 0s: `,
			`1.01s task ended: job 1 "first" task 1/0/0#1 on 0 took 10ms of 20ms age 10ms: broken`,
			`1.01s task started: job 1 "first" task 1/0/0#2 on 0 age 10ms: <nil>`,
			`1.02s task ended: job 1 "first" task 1/0/0#2 on 0 took 10ms of 20ms age 20ms: <nil>`,
			`1.02s job ended: job 1 "first" age 20ms: <nil>`,
			`1.02s job submitted: job 2 "long" age 0s: <nil>`,
			`1.02s task started: job 2 "long" task 2/0/0#1 on 0 age 0s: <nil>`,
			`1.025s task stopped: job 2 "long" task 2/0/0#1 on 0 age 5ms: live: the job was cancelled`,
			`1.025s task ended: job 2 "long" task 2/0/0#1 on 0 took 5ms of 1m0s age 5ms: context canceled`,
			`1.025s job ended: job 2 "long" age 5ms: live: the job was cancelled`,
		}
		if !slices.EqualFunc(o.list, want, strings.HasPrefix) || o.decided < 5 {
			t.Errorf("%d decisions, and the notes are\n%s\nwant\n%s", o.decided, strings.Join(o.list, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A logger gets jobs, and of tasks only failures, unless it wants more.
func TestLog(t *testing.T) {
	for level, want := range map[slog.Level]string{
		slog.LevelInfo: "INFO job submitted job=1 name=a age=0s\n" +
			"WARN task ended job=1 name=a age=1ms task=1/0/0 attempt=1 slot=0 took=1ms error=broken\n" +
			"WARN job ended job=1 name=a age=1ms error=\"live: task 1/0/0 failed, attempt 1: broken\"\n",
		slog.LevelDebug: "INFO job submitted job=1 name=a age=0s\n" +
			"DEBUG task started job=1 name=a age=0s task=1/0/0 attempt=1 slot=0\n" +
			"WARN task ended job=1 name=a age=1ms task=1/0/0 attempt=1 slot=0 took=1ms error=broken\n" +
			"WARN job ended job=1 name=a age=1ms error=\"live: task 1/0/0 failed, attempt 1: broken\"\n",
	} {
		var buf bytes.Buffer
		l := slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		inPool(t, live.Options{Slots: 1, Observer: live.Log(l)}, func(t *testing.T, p *live.Pool) {
			j := bag(1, func(context.Context, live.Task) error { time.Sleep(ms); return errors.New("broken") })
			j.Name = "a"
			_ = must(p.Submit(bg, j)).Wait(bg)
		})
		got := strings.NewReplacer("level=", "", "msg=", "", `"job submitted"`, "job submitted", `"task ended"`, "task ended",
			`"job ended"`, "job ended", `"task started"`, "task started").Replace(buf.String())
		if got != want {
			t.Errorf("level %v: the log is\n%swant\n%s", level, got, want)
		}
	}
}

// An execution trace has a region for each attempt, with the name of the job.
func TestTraceRegions(t *testing.T) {
	var buf bytes.Buffer
	if err := trace.Start(&buf); err != nil {
		t.Skip("something else is traced: ", err)
	}
	p := must(live.New(newFIFO(), live.Options{Slots: 1}))
	for _, name := range []string{"resize pictures", ""} {
		j := bag(1, func(context.Context, live.Task) error { return nil })
		j.Name = name
		if err := must(p.Submit(bg, j)).Wait(bg); err != nil {
			t.Error(err)
		}
	}
	if err := p.Close(bg); err != nil {
		t.Error(err)
	}
	trace.Stop()
	for _, want := range []string{"resize pictures", "sojourn task"} {
		if !bytes.Contains(buf.Bytes(), []byte(want)) {
			t.Errorf("the trace has no region %q", want)
		}
	}
}

// A job whose promise is void is late, and Status says why.
func TestStatusOfPromises(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(constructors.RTMR.Must(rtmr.Options{}), live.Options{Slots: 2}))
		time.Sleep(time.Second)
		j := bag(4, sleep(time.Second))
		j.Deadline, j.Phases[0].Estimate = 2500*ms, time.Second
		_ = must(p.Submit(bg, j))
		time.Sleep(500 * ms)
		st := p.Status()
		if job := st.Jobs[0]; job.Void != "" || job.Age != 500*ms {
			t.Errorf("a job in time: %+v", job)
		}
		if err := p.Drain(1); err != nil {
			t.Error(err)
		}
		time.Sleep(600 * ms) // the slot has left
		st = p.Status()
		if job := st.Jobs[0]; job.Void == "" {
			t.Errorf("a job that has lost a slot: %+v", job)
		}
		if attrs, ok := p.Explain(1); !ok || len(attrs) == 0 {
			t.Error("a live job is not explained")
		}
		if _, ok := p.Explain(9); ok {
			t.Error("a job that never was is explained")
		}
		if err := p.Close(bg); err != nil {
			t.Error(err)
		}
		if _, ok := p.Explain(1); ok {
			t.Error("a job is explained after Close")
		}
	})
}
