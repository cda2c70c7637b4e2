package nats

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// leader returns a queue that has the lock, and holds tasks.
func leader(t *testing.T, ids ...string) *Queue {
	t.Helper()
	q := pair(t)[0]
	if _, _, err := q.Lock(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if err := q.Enqueue(t.Context(), gate.Job{ID: "x"}, Task{ID: id, Data: []byte(id)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Tasks(t.Context()); err != nil {
		t.Fatal(err)
	}
	return q
}

// letGo lets a task go, however long it is ago that the queue took its lock.
func letGo(t *testing.T, q *Queue, id string) {
	t.Helper()
	_, _, err := q.Lock(t.Context(), "me")
	if err == nil {
		err = q.Release(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run lets a task go, and runs it until it is not let go any more.
func run(t *testing.T, q *Queue, id string, f func(context.Context, Task) error) {
	t.Helper()
	letGo(t, q, id)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- q.Work(ctx, 1, f) }()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := q.work.GetLastMsgForSubject(ctx, q.prefix+"work."+id); errors.Is(err, js.ErrMsgNotFound) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("after a minute the task has not ended")
		}
	}
	stop()
	<-ended
}

// A function puts in the next task with the headers of its own, as one does with those of a trace. They have nothing that concerns
// the message of the first one.
func TestHeadersOfTheTaskBefore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := leader(t)
	chosen := nats.Header{"Trace": {"1", "2"}, "own": {""}}
	all := maps.Clone(chosen)
	for key, value := range map[string]string{js.MsgIDHeader: "same", js.ExpectedLastSeqHeader: "7", "nats-expected-last-subject-sequence": "7", headGone: "1", "sojourn-after": "1h", headSince: "2000-01-01T00:00:00Z"} {
		all[key] = []string{value}
	}
	if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "first", Header: all}); err != nil {
		t.Fatal(err)
	}
	same := func(h nats.Header) bool { return maps.EqualFunc(h, chosen, slices.Equal[[]string]) }
	run(t, q, "first", func(ctx context.Context, x Task) error {
		if !same(x.Header) {
			t.Errorf("headers %v, want %v", x.Header, chosen)
		}
		return q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "second", Header: x.Header})
	})
	m, err := q.held.GetLastMsgForSubject(ctx, "sojourn.jobs.held.second")
	if err != nil {
		t.Fatalf("the task that was put in is not there: %v", err)
	}
	if !same(free(m.Header)) || m.Header.Get(headSince) != "" || m.Header.Get(headGone) != "" {
		t.Errorf("message with %v, want %v and no other one", m.Header, chosen)
	}
}

// A task is kept as dead whatever was dead under its ID before.
func TestDeadTwice(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := leader(t, "a")
	if _, err := q.api.PublishMsg(ctx, &nats.Msg{Subject: "sojourn.jobs.dead.a", Data: []byte("old"), Header: nats.Header{headAttempt: {"5"}}}); err != nil {
		t.Fatal(err)
	}
	run(t, q, "a", func(context.Context, Task) error { return ErrDrop })
	if m, err := q.held.GetLastMsgForSubject(ctx, "sojourn.jobs.dead.a"); err != nil || string(m.Data) != "a" {
		t.Errorf("dead message %v, error %v, want that of the new task", m, err)
	}
	if state, err := q.State(ctx, "a"); err != nil || state != gate.Gone {
		t.Errorf("state %v, error %v, want gone", state, err)
	}
}

// A worker of another client terminates a task, of which no sample tells. The gate learns it, although there is always something new.
func TestLostSampleInTraffic(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := leader(t, "a")
	letGo(t, q, "a")
	m, err := q.consumer.Next()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.TermWithReason("bad"); err != nil {
		t.Fatal(err)
	}
	told := func(n gate.Note) bool { return n.Task == "a" && n.Kind == gate.Finished }
	start := time.Now()
	for i := 0; ; i++ {
		if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: fmt.Sprint("b", i)}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := q.Lock(ctx, "me"); err != nil {
			t.Fatal(err)
		}
		notes, err := q.Notes(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(notes, told) {
			return
		}
		if time.Since(start) > time.Minute {
			t.Fatal("after a minute of traffic no note has told the end")
		}
	}
}

// Tasks come in the same order each time: those that are held as they were put in, and those that were let go as that was done.
func TestOrderOfTasks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var ids, want []string
	for i := range 12 {
		ids = append(ids, fmt.Sprint(i))
	}
	q := leader(t, ids...)
	for i := range 10 {
		id := ids[(7*i+3)%10]
		want = append(want, id)
		letGo(t, q, id)
	}
	want = append([]string{"10", "11"}, want...)
	tasks, err := q.Tasks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range tasks {
		got = append(got, x.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("tasks %v, want %v", got, want)
	}
}

// A letter is a message of the held stream.
type letter struct {
	js.Msg
	subject string
	header  nats.Header
}

func (l letter) Subject() string      { return l.subject }
func (l letter) Headers() nats.Header { return l.header }

// A task was deleted, put in again and let go before the gate has read any of that. What it then reads does not hold the task again; the
// failure does, which stands behind.
func TestReadsWhatWasLetGo(t *testing.T) {
	q := leader(t, "a")
	v := q.view
	read := func(seq uint64, header nats.Header) {
		v.enter(letter{subject: "sojourn.jobs.held.a", header: header}, &js.MsgMetadata{Sequence: js.SequencePair{Stream: seq}, Timestamp: time.Now()})
	}
	v.inbox = nil
	v.release("a", 9, 3)
	read(2, nats.Header{headGone: {"1"}})
	read(3, nil)
	if len(v.inbox) > 0 || v.released["a"] == nil || len(v.at) > 0 {
		t.Errorf("notes %v, released %v, held %v, want the task let go and no note", v.inbox, v.released, v.at)
	}
	read(4, nats.Header{headAttempt: {"2"}})
	if len(v.inbox) != 1 || v.inbox[0].Kind != gate.Failed || v.released["a"] != nil {
		t.Errorf("notes %v, released %v, want a failure", v.inbox, v.released)
	}
}

// A task that Enqueue confirms is there, or has been since its ID was deleted the last time, within the window of duplicates and
// behind it: whether the one that was deleted was held, let go or had failed.
func TestEnqueueBehindDelete(t *testing.T) {
	t.Parallel()
	for _, was := range []string{"held", "let go", "failed"} {
		t.Run(was, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			q := leader(t)
			put := func(want gate.State) {
				t.Helper()
				if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "a"}, Task{ID: "b"}, Task{ID: "a"}); err != nil {
					t.Fatal(err)
				}
				if state, err := q.State(ctx, "a"); err != nil || state != want {
					t.Errorf("state %v, error %v, want %v", state, err, want)
				}
			}
			for range 3 {
				put(gate.Held)
				put(gate.Held)
				switch was {
				case "let go":
					letGo(t, q, "a")
					put(gate.Released)
				case "failed":
					run(t, q, "a", func(context.Context, Task) error { return errors.New("it fails") })
					put(gate.Held)
				}
				if err := q.Delete(ctx, "a"); err != nil {
					t.Fatal(err)
				}
			}
			put(gate.Held)
			run(t, q, "a", func(context.Context, Task) error { return nil })
			put(gate.Gone) // it has ended: it is not there twice
		})
	}
}

// All that Enqueue takes can be let go and can fail, up to the largest task. A larger one of another client does not keep others waiting.
func TestLargeTasks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := leader(t)
	id := strings.Repeat("i", 128)
	text := strings.Repeat("x", int(q.conn.MaxPayload()))
	data := []byte(text)
	for what, largest := range map[string]func(n int) Task{
		"headers": func(n int) Task { return Task{ID: id, Header: nats.Header{"Large": {text[:min(n, 1<<16)]}}} },
		"data":    func(n int) Task { return Task{ID: id, Data: data[:n]} },
	} {
		n := len(text)
		if what == "headers" {
			n = 1 << 16
		}
		for ; ; n -= 3 {
			err := q.Enqueue(ctx, gate.Job{ID: "x"}, largest(n))
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), "want at most") {
				t.Fatalf("%s of %d bytes: error %v, want what is possible", what, n, err)
			}
		}
		run(t, q, id, func(context.Context, Task) error { return errors.New("it fails") })
		if state, err := q.State(ctx, id); err != nil || state != gate.Held {
			t.Errorf("%s: state %v, error %v behind a failure, want held", what, state, err)
		}
		letGo(t, q, id)
		if err := q.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.api.PublishMsg(ctx, &nats.Msg{Subject: "sojourn.jobs.held.large", Header: nats.Header{"Large": {text[:1<<16-60]}}}); err != nil {
		t.Fatal(err)
	}
	if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "small"}); err != nil {
		t.Fatal(err)
	}
	letGo(t, q, "small")
	if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != 2 { // the gate lets go what it has heard of
		t.Fatalf("tasks %v, error %v, want both", tasks, err)
	}
	if err := q.Release(ctx, "large"); !errors.Is(err, gate.ErrGone) {
		t.Errorf("error %v of a release of what is too large, want ErrGone", err)
	}
	if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != 1 || tasks[0].ID != "small" {
		t.Errorf("tasks %v, error %v, want only the small one", tasks, err)
	}
}

// Somebody deletes the consumer of the workers. They make it anew, and run what was let go.
func TestConsumerIsDeleted(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := leader(t, "a")
	if err := q.work.DeleteConsumer(ctx, "workers"); err != nil {
		t.Fatal(err)
	}
	run(t, q, "a", func(context.Context, Task) error { return nil })
	if info, err := q.consumer.Info(ctx); err != nil || info.Config.AckWait != 30*time.Second || info.Config.SampleFrequency == "" {
		t.Errorf("consumer %+v, error %v, want that of New", info, err)
	}
}

// Two gates of one process share a queue. The one that waits does not take from the other one what it has read.
func TestTwoGatesOfOneQueue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := leader(t, "a")
	v := q.view
	if _, _, err := q.Lock(ctx, "other"); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
	letGo(t, q, "a")
	if q.view != v {
		t.Error("the gate that decides has read all tasks again")
	}
	if err := q.Unlock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := q.Lock(ctx, "other"); err != nil {
		t.Fatal(err)
	}
	if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != 1 || tasks[0].State != gate.Released || q.view == v {
		t.Errorf("tasks %v, error %v, want what the other one reads itself: a is let go", tasks, err)
	}
}

// wrong is a stream of a server whose clock is wrong.
type wrong struct {
	js.Stream
	by time.Duration
}

func (w wrong) Info(ctx context.Context, o ...js.StreamInfoOpt) (*js.StreamInfo, error) {
	info, err := w.Stream.Info(ctx, o...)
	if err == nil {
		info.TimeStamp = info.TimeStamp.Add(w.by)
	}
	return info, err
}

// The clock of the server is wrong by years: a task is held for as long as was said, and its age is right.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	q := leader(t)
	v := q.view
	for _, by := range []time.Duration{-20 * 8760 * time.Hour, -time.Minute, 0, time.Minute, 20 * 8760 * time.Hour} {
		q.info = wrong{must(q.api.Stream(t.Context(), "SOJOURN_jobs_WORK")), by}
		v.last = 0
		if err := q.claim(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		v.enter(letter{subject: "sojourn.jobs.held.a", header: nats.Header{headAfter: {"1h"}}}, &js.MsgMetadata{Timestamp: time.Now().Add(by)})
		x := v.tasks[v.at["a"].index]
		if wait, age := time.Until(x.NotBefore), time.Since(x.Since); wait < 59*time.Minute || wait > 61*time.Minute || age < -time.Minute/2 || age > time.Minute/2 {
			t.Errorf("the clock is wrong by %v: a task is held for %v and is %v old, want an hour, and new", by, wait, age)
		}
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
