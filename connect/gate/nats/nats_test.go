package nats_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournnats "github.com/sojourn-sched/sojourn/connect/gate/nats"
)

// A small job that is put in behind a large one ends long before it: each task once.
func TestSmallBesideLarge(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	g, _ := h.gate(quick)
	h.enqueue("large", 200, 10*time.Millisecond)
	h.enqueue("small", 4, 10*time.Millisecond)
	h.serve(4)
	until(t, "the small job has ended", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.ends["small-1"]+h.ends["small-2"]+h.ends["small-3"]+h.ends["small-4"] == 4
	})
	if n := h.ended(); n > 100 {
		t.Errorf("%d tasks had ended when the small job had, want few", n)
	}
	h.ran(once)
	until(t, "the gate knows all ends", func() bool { s := g.Status(); return s.Held+s.Released == 0 && s.Workers == 4 })
}

// Tasks that fail, panic or run on a server that stops are tried again after their delay; those that may not be are kept as dead. Each
// runs as often as it fails and once more.
func TestFailures(t *testing.T) {
	t.Parallel()
	o := options
	o.Attempts = 3
	o.Delay = func(n int) time.Duration { return time.Duration(n) * 300 * time.Millisecond }
	h := newHost(t, newEngine(t, 1), o)
	var mu sync.Mutex
	attempts, times := map[string][]int{}, map[string][]time.Time{}
	h.handle = func(_ context.Context, task sojournnats.Task) error {
		mu.Lock()
		defer mu.Unlock()
		attempts[task.ID] = append(attempts[task.ID], task.Attempt)
		times[task.ID] = append(times[task.ID], time.Now())
		switch kind, _, _ := strings.Cut(task.ID, "-"); {
		case kind == "drop":
			return fmt.Errorf("bad data: %w", sojournnats.ErrDrop)
		case kind == "never", kind == "twice" && task.Attempt < 3:
			return errors.New("it fails")
		case kind == "panic" && task.Attempt == 1:
			panic("once")
		}
		return nil
	}
	g, _ := h.gate(quick)
	h.serve(3)
	for _, kind := range []string{"good", "twice", "panic", "never", "drop"} {
		h.enqueue(kind, 3, 0)
	}
	h.wait(9)
	until(t, "the gate knows all ends", func() bool { s := g.Status(); return s.Held+s.Released == 0 })
	want := map[string]string{"good": "[1]", "twice": "[1 2 3]", "panic": "[1 2]", "never": "[1 2 3]", "drop": "[1]"}
	mu.Lock()
	defer mu.Unlock()
	for id, got := range attempts {
		kind, _, _ := strings.Cut(id, "-")
		if fmt.Sprint(got) != want[kind] {
			t.Errorf("task %s had the attempts %v, want %s", id, got, want[kind])
		}
		for i := 1; i < len(got); i++ {
			if d := times[id][i].Sub(times[id][i-1]); d < time.Duration(i)*300*time.Millisecond {
				t.Errorf("task %s was tried again after %v", id, d)
			}
		}
	}
	api := must(js.New(h.conn))
	stream := must(api.Stream(t.Context(), "SOJOURN_jobs_HELD"))
	for _, id := range []string{"never-1", "drop-3"} {
		if m, err := stream.GetLastMsgForSubject(t.Context(), "sojourn.jobs.dead."+id); err != nil || string(m.Data) != "0s" {
			t.Errorf("dead task %s: %v, %v, want its data", id, m, err)
		}
	}
	if n := must(stream.Info(t.Context())).State.Msgs; n != 6 {
		t.Errorf("the held stream has %d messages at the end, want 6 dead ones", n)
	}
}

// A server that stops gives its tasks to others at once, without counting a failure.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	o := options
	o.AckWait = time.Hour
	h := newHost(t, newEngine(t, 1), o)
	g, _ := h.gate(quick)
	begun := make(chan int, 10)
	h.handle = func(ctx context.Context, task sojournnats.Task) error {
		begun <- task.Attempt
		h.mu.Lock()
		first := h.runs[task.ID] == 1
		h.mu.Unlock()
		if first {
			<-ctx.Done()
			return ctx.Err()
		}
		return nil
	}
	stop := h.serve(2)
	h.enqueue("a", 2, 0)
	<-begun
	<-begun
	stop()
	until(t, "the gate knows that it has stopped", func() bool { return g.Status().Workers == 0 })
	h.serve(2)
	h.ran(func(string) int { return 2 })
	if a, b := <-begun, <-begun; a != 1 || b != 1 {
		t.Errorf("attempts %d and %d, want 1", a, b)
	}
}

// Tasks run at their times and not before, and a task that was deleted does not run.
func TestTimesAndDelete(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	ctx := t.Context()
	start := time.Now()
	for id, after := range map[string]time.Duration{"past": -time.Hour, "soon": 2 * time.Second, "hour": time.Hour, "gone": 0} {
		if err := h.queue.Enqueue(ctx, gate.Job{ID: "a"}, sojournnats.Task{ID: id, Data: []byte("0s"), NotBefore: start.Add(after)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.queue.Delete(ctx, "gone"); err != nil {
		t.Fatal(err)
	}
	h.serve(2)
	h.gate(quick)
	h.wait(1)
	if err := h.queue.Delete(ctx, "past"); !errors.Is(err, gate.ErrGone) {
		t.Errorf("error %v of a delete of a task that has ended, want ErrGone", err)
	}
	h.wait(2)
	if took := time.Since(start); took < 2*time.Second {
		t.Errorf("two tasks have ended after %v, want one of them not before 2 s", took)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ends["past"] != 1 || h.ends["soon"] != 1 || len(h.runs) != 2 {
		t.Errorf("ends %v, runs %v, want past and soon once", h.ends, h.runs)
	}
}

// A held task that is deleted while the gate knows it, and one that runs, are forgotten by the gate within the time of a note.
func TestDeleteWhileDeciding(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	o := quick
	o.Compare = time.Hour
	g, _ := h.gate(o)
	h.serve(1)
	h.enqueue("a", 2, 24*time.Hour)
	until(t, "one runs and one is held", func() bool { s := g.Status(); return s.Released == 1 && s.Held == 1 })
	for _, id := range []string{"a-1", "a-2"} {
		if err := h.queue.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "none is left", func() bool { s := g.Status(); return s.Released+s.Held == 0 })
}

// Clients of NATS that know nothing of this package work, and put tasks in, whose IDs are what a token of a subject may be.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	ctx := t.Context()
	api := must(js.New(h.conn))
	for id, header := range map[string]string{"other-1": "", "a:b": "{", "bGk/cw==": `[]`, "ä": `{"ID":7}`, strings.Repeat("long", 50): `{"ID":"b","Pool":"p"}`, "{$}": "", "gone=": ""} {
		m := nats.NewMsg("sojourn.jobs.held." + id)
		m.Data = []byte("0s")
		if header != "" {
			m.Header.Set("Sojourn-Job", header)
		}
		_ = must(api.PublishMsg(ctx, m))
	}
	if err := h.queue.Delete(ctx, "gone="); err != nil {
		t.Error(err)
	}
	h.put = 6
	o := quick
	o.Workers = 2
	g, _ := h.gate(o)
	consumer := must(api.Consumer(ctx, "SOJOURN_jobs_WORK", "workers"))
	consuming := must(consumer.Consume(func(m js.Msg) {
		h.tell("runs", m.Subject()[len("sojourn.jobs.work."):])
		h.tell("ends", m.Subject()[len("sojourn.jobs.work."):])
		_ = m.Ack()
	}))
	defer consuming.Stop()
	h.ran(once)
	until(t, "the gate knows that", func() bool { s := g.Status(); return s.Released+s.Held == 0 })
}

// What cannot be is refused, with the reason. A task that is put in twice is there once.
func TestBadInput(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	ctx := t.Context()
	for _, name := range []string{"", "a.b", "a b", "*", "ä"} {
		if _, err := sojournnats.New(ctx, h.conn, name, sojournnats.Options{}); err == nil || !strings.Contains(err.Error(), "letters") {
			t.Errorf("queue %q: error %v", name, err)
		}
		if name == "" {
			continue
		}
		if err := h.queue.Enqueue(ctx, gate.Job{ID: "a"}, sojournnats.Task{ID: name}); err == nil || !strings.Contains(err.Error(), "letters") {
			t.Errorf("task %q: error %v", name, err)
		}
		if state, err := h.queue.State(ctx, name); state != gate.Gone || err != nil {
			t.Errorf("task %q: state %v, error %v, want Gone", name, state, err)
		}
	}
	for _, o := range []sojournnats.Options{{Replicas: -1}, {AckWait: -1}, {Attempts: -1}} {
		if _, err := sojournnats.New(ctx, h.conn, "x", o); err == nil || !strings.Contains(err.Error(), "negative") {
			t.Errorf("options %+v: error %v", o, err)
		}
	}
	if err := h.queue.Work(ctx, 0, nil); err == nil {
		t.Error("no workers are no error")
	}
	if err := h.queue.Release(ctx, "a"); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("error %v of a release without the lock, want ErrLocked", err)
	}
	if _, _, err := h.queue.Lock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h.enqueue("a", 3, 0)
	}
	for _, id := range []string{"nobody", "a.b", "", "*", ">", "a-*", "a-1.>", "a-1 ", "a-1\t", "\na-1", "a-1\r", "\fa-1"} {
		if err := h.queue.Release(ctx, id); !errors.Is(err, gate.ErrGone) {
			t.Errorf("error %v of a release of %q, want ErrGone", err, id)
		}
		if err := h.queue.Delete(ctx, id); !errors.Is(err, gate.ErrGone) {
			t.Errorf("error %v of a delete of %q, want ErrGone", err, id)
		}
		if state, err := h.queue.State(ctx, id); state != gate.Gone || err != nil {
			t.Errorf("task %q: state %v, error %v, want Gone", id, state, err)
		}
	}
	if err := h.conn.Publish("sojourn.jobs.held.a*b", nil); err != nil { // NATS takes it, and Release does not
		t.Fatal(err)
	}
	until(t, "the gate sees the task with the bad ID", func() bool { return len(must(h.queue.Tasks(ctx))) == 4 })
	if err := h.queue.Release(ctx, "a*b"); !errors.Is(err, gate.ErrGone) {
		t.Errorf("error %v of a release of a bad ID, want ErrGone", err)
	}
	if tasks, err := h.queue.Tasks(ctx); err != nil || len(tasks) != 3 || tasks[0].ID != "a-1" || tasks[2].State != gate.Held {
		t.Errorf("tasks %v, error %v, want a-1 to a-3, held", tasks, err)
	}
}

// A task that has ended elsewhere, since it was deleted or another worker had it meanwhile, does not come back when its worker fails late.
func TestLateFailure(t *testing.T) {
	t.Parallel()
	h := newHost(t, newEngine(t, 1), options)
	begun, fail := make(chan struct{}, 2), make(chan struct{})
	h.handle = func(_ context.Context, task sojournnats.Task) error {
		if task.ID == "after-1" {
			return nil
		}
		begun <- struct{}{}
		<-fail
		return errors.New("late")
	}
	g, _ := h.gate(quick)
	stop := h.serve(2)
	h.enqueue("late", 2, 0)
	<-begun
	<-begun
	for _, id := range []string{"late-1", "late-2"} {
		if err := h.queue.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	close(fail)
	h.enqueue("after", 1, 0)
	h.wait(1)
	stop()
	until(t, "the gate knows of no task", func() bool { s := g.Status(); return s.Held+s.Released == 0 })
	api := must(js.New(h.conn))
	for _, name := range []string{"SOJOURN_jobs_HELD", "SOJOURN_jobs_WORK"} {
		s := must(api.Stream(t.Context(), name))
		if info := must(s.Info(t.Context(), js.WithSubjectFilter(">"))); len(info.State.Subjects) > 1 || info.State.Subjects["sojourn.jobs.let"] != info.State.Msgs {
			t.Errorf("stream %s has %v, want no task", name, info.State.Subjects)
		}
	}
}
