package nats

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// A trap is sprung at a call that changes something, before the call or behind it.
type trap struct {
	js.JetStream
	say    func(*nats.Msg) error
	left   int // calls before the one
	behind bool
	spring func() error
}

func (p *trap) call(f func() error) error {
	p.left--
	if p.left != 0 {
		return f()
	}
	if !p.behind {
		if err := p.spring(); err != nil {
			return err
		}
		return f()
	}
	if err := f(); err != nil {
		return err
	}
	return p.spring()
}

func (p *trap) PublishMsg(ctx context.Context, m *nats.Msg, o ...js.PublishOpt) (ack *js.PubAck, err error) {
	err = p.call(func() (err error) { ack, err = p.JetStream.PublishMsg(ctx, m, o...); return err })
	return ack, err
}

// first is the first message of a release, which does not wait for an answer.
func (p *trap) first(m *nats.Msg) error { return p.call(func() error { return p.say(m) }) }

// set sets the trap, and returns what takes it away, which waits until it was tried to delete the held message of the latest release.
func (p *trap) set(q *Queue) (away func()) {
	held := q.held
	p.JetStream, p.say = q.api, q.say
	q.api, q.say, q.held = p, p.first, trapped{held, p}
	return func() {
		if v := q.view; v != nil && v.removal != nil {
			<-v.removal.done
		}
		q.api, q.say, q.held = p.JetStream, p.say, held
	}
}

type trapped struct {
	js.Stream
	*trap
}

func (p trapped) DeleteMsg(ctx context.Context, seq uint64) error {
	return p.call(func() error { return p.Stream.DeleteMsg(ctx, seq) })
}

// pair returns two queues of one name, with a server of their own.
func pair(t *testing.T) (queues [2]*Queue) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, DontListen: true, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for i := range queues {
		if queues[i], err = New(t.Context(), conn, "jobs", Options{Attempts: 2, Delay: func(int) time.Duration { return time.Hour }}); err != nil {
			t.Fatal(err)
		}
	}
	return queues
}

// A gate dies, or is stopped and goes on much later, before and behind each step of a release. Meanwhile a worker has run all that was
// let go, the window of duplicates is over, and another gate lets go what it finds. Each task is let go once.
func TestEachStepOfARelease(t *testing.T) {
	for step := 1; step <= 3; step++ {
		for _, behind := range []bool{false, true} {
			for _, stopped := range []bool{false, true} {
				t.Run(fmt.Sprintf("step %d, behind %v, stopped %v", step, behind, stopped), func(t *testing.T) {
					t.Parallel()
					testStep(t, step, behind, stopped)
				})
			}
		}
	}
}

func testStep(t *testing.T, step int, behind, stopped bool) {
	ctx := t.Context()
	queues := pair(t)
	first, second := queues[0], queues[1]
	for _, x := range []js.Stream{first.held, first.work} {
		c := x.CachedInfo().Config
		c.Duplicates = 100 * time.Millisecond
		if _, err := first.api.UpdateStream(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
	runs := map[string]int{}
	work := func() {
		for {
			m, err := second.consumer.Next(js.FetchMaxWait(50 * time.Millisecond))
			if err != nil {
				return
			}
			runs[m.Subject()[len("sojourn.jobs.work."):]]++
			if err := m.DoubleAck(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	ids := []string{"a", "b", "c"}
	decides(t, first, ids...)
	if err := first.Release(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	takeOver := func() {
		work()
		time.Sleep(150 * time.Millisecond) // the window
		if err := first.alive.Delete(ctx, "gate"); err != nil {
			t.Error(err)
		}
		if _, _, err := second.Lock(ctx, "second"); err != nil {
			t.Error(err)
		}
		tasks, err := second.Tasks(ctx)
		if err != nil {
			t.Error(err)
		}
		if !slices.ContainsFunc(tasks, func(x gate.Task) bool { return x.ID == "c" && x.State == gate.Held }) {
			t.Errorf("tasks %v, want c among them", tasks)
		}
		for _, task := range tasks {
			if task.State == gate.Held && task.ID != "c" {
				if err := second.Release(ctx, task.ID); err != nil {
					t.Error(err)
				}
			}
		}
		work()
	}
	p := &trap{left: step, behind: behind}
	errDead := errors.New("dead")
	p.spring = func() error {
		takeOver()
		if stopped {
			return nil
		}
		return errDead
	}
	held, away := first.held, p.set(first)
	err := first.Release(ctx, "b")
	away()
	if p.left > 0 {
		t.Fatal("the trap was not sprung")
	}
	if stopped { // its lease has not run out by its own clock
		if err := first.Release(ctx, "c"); !errors.Is(err, gate.ErrLocked) {
			t.Errorf("error %v of a gate that goes on, want ErrLocked", err)
		}
	} else if step < 3 && !errors.Is(err, errDead) {
		t.Errorf("error %v, want that of a dead gate", err)
	}
	if err := second.Release(ctx, "c"); err != nil {
		t.Error(err)
	}
	work()
	for _, id := range ids {
		if runs[id] != 1 {
			t.Errorf("task %s was let go %d times, want once (all: %v)", id, runs[id], runs)
		}
	}
	if info, err := held.Info(ctx); err != nil || info.State.Msgs != 0 {
		t.Errorf("the held stream has %v, %v, want none", info, err)
	}
}

// A task ends or fails before the gate knows that it has let it go, between two steps of the release: it is gone, held again or dead, and the gate is told.
func TestEndsDuringARelease(t *testing.T) {
	for _, at := range []struct {
		step   int
		behind bool
	}{{2, true}, {3, false}, {3, true}} {
		for _, end := range []struct {
			err   error
			kind  gate.NoteKind
			state gate.State
		}{{nil, gate.Finished, gate.Gone}, {errors.New("it fails"), gate.Failed, gate.Held}, {ErrDrop, gate.Dropped, gate.Gone}} {
			t.Run(fmt.Sprintf("step %d, behind %v, error %v", at.step, at.behind, end.err), func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				queues := pair(t)
				q, other := queues[0], queues[1]
				decides(t, q, "a")
				work := func() error {
					ctx, stop := context.WithCancel(ctx)
					defer stop()
					done := make(chan struct{})
					go func() {
						defer close(done)
						_ = other.Work(ctx, 1, func(context.Context, Task) error { time.Sleep(10 * time.Millisecond); return end.err })
					}()
					for {
						_, err := other.work.GetLastMsgForSubject(ctx, "sojourn.jobs.work.a")
						if errors.Is(err, js.ErrMsgNotFound) {
							break
						}
						time.Sleep(5 * time.Millisecond)
					}
					stop()
					<-done
					return q.view.held.catchUp(context.WithoutCancel(ctx))
				}
				p := &trap{left: at.step, behind: at.behind, spring: work}
				away := p.set(q)
				if err := q.Release(ctx, "a"); err != nil {
					t.Fatal(err)
				}
				away()
				for told := false; !told; {
					notes, err := q.Notes(ctx)
					if err != nil {
						t.Fatal(err)
					}
					for _, n := range notes {
						told = told || n.Kind == end.kind && n.Task == "a"
						if n.Kind == gate.Failed && n.After < 50*time.Minute || n.Kind == gate.Finished && n.Service > 0 && n.Service < 10*time.Millisecond { // 0 if the first look came before the sample
							t.Errorf("note %+v, want a delay of an hour, or a length of 10 ms or none", n)
						}
					}
				}
				if got, err := q.State(ctx, "a"); err != nil || got != end.state {
					t.Errorf("state %v, error %v, want %v", got, err, end.state)
				}
				tasks, err := q.Tasks(ctx)
				if err != nil || end.state == gate.Held && (len(tasks) != 1 || tasks[0].State != gate.Held) || end.state == gate.Gone && len(tasks) > 0 {
					t.Errorf("tasks %v, error %v, want %v", tasks, err, end.state)
				}
			})
		}
	}
}

// A worker acknowledges a task before the gate knows the number of its message: the length that the sample tells is that of the task. What was told of messages that are none
// of its tasks is forgotten then.
func TestEarlySample(t *testing.T) {
	v := &view{told: true, at: map[string]place{"a": {message: 5}}, tasks: []gate.Task{{ID: "a", State: gate.Held}}, released: map[string]*released{}, messages: map[uint64]string{},
		early: map[uint64]time.Duration{}, news: make(chan struct{}, 1)}
	for _, text := range []string{`{"stream_seq": 8, "ack_time": 3000000}`, `{"stream_seq": 9, "ack_time": 7000000}`, `no sample`} {
		v.sample(&nats.Msg{Data: []byte(text)})
	}
	v.release("a", 9, 5)
	want := []gate.Note{{Kind: gate.Finished, Task: "a", Service: 7 * time.Millisecond}}
	if !reflect.DeepEqual(v.inbox, want) || len(v.early)+len(v.released)+len(v.messages)+len(v.at) > 0 {
		t.Errorf("notes %+v, want %+v; early %v, released %v, messages %v, held %v, want none", v.inbox, want, v.early, v.released, v.messages, v.at)
	}
}

// A Delete is cut off behind its tombstone. Another one ends it, and a task that is put in under the same ID is held.
func TestDeleteThatWasCutOff(t *testing.T) {
	for _, at := range []struct {
		step   int
		behind bool
	}{{1, true}, {2, true}, {3, false}} {
		for _, again := range []string{"delete", "enqueue", "both"} {
			t.Run(fmt.Sprintf("step %d, then %s", at.step, again), func(t *testing.T) {
				t.Parallel()
				ctx := t.Context()
				q := pair(t)[0]
				if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "a", Data: []byte("old")}); err != nil {
					t.Fatal(err)
				}
				if _, _, err := q.Lock(ctx, "me"); err != nil {
					t.Fatal(err)
				}
				if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != 1 {
					t.Fatalf("tasks %v, error %v, want a", tasks, err)
				}
				errDead := errors.New("dead")
				p := &trap{left: at.step, behind: at.behind, spring: func() error { return errDead }}
				held, away := q.held, p.set(q)
				if err := q.Delete(ctx, "a"); !errors.Is(err, errDead) {
					t.Fatalf("error %v, want that of a dead process", err)
				}
				away()
				var want uint64
				if again != "enqueue" {
					if err := q.Delete(ctx, "a"); !errors.Is(err, gate.ErrGone) {
						t.Errorf("error %v of the other delete, want ErrGone", err)
					}
				}
				if again != "delete" {
					want = 1
					if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "a", Data: []byte("new")}); err != nil {
						t.Fatal(err)
					}
					if m, err := held.GetLastMsgForSubject(ctx, "sojourn.jobs.held.a"); err != nil || string(m.Data) != "new" || m.Header.Get(headGone) != "" {
						t.Errorf("message %v, error %v, want the new task", m, err)
					}
				}
				if info, err := held.Info(ctx); err != nil || info.State.Msgs != want {
					t.Errorf("the held stream has %v, %v, want %d messages", info, err, want)
				}
				if tasks, err := q.Tasks(ctx); err != nil || uint64(len(tasks)) != want {
					t.Errorf("tasks %v, error %v, want %d", tasks, err, want)
				}
			})
		}
	}
}

// A task that is held already stays what it is when it is put in again, among others that are new.
func TestEnqueueOfWhatIsHeld(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := pair(t)[0]
	if _, err := q.api.Publish(ctx, "sojourn.jobs.held.b", []byte("old")); err != nil { // without an ID of a message
		t.Fatal(err)
	}
	if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: "a", Data: []byte("new")}, Task{ID: "b", Data: []byte("new")}, Task{ID: "c", Data: []byte("new")}); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"a": "new", "b": "old", "c": "new"} {
		if m, err := q.held.GetLastMsgForSubject(ctx, "sojourn.jobs.held."+id); err != nil || string(m.Data) != want {
			t.Errorf("task %s: message %v, error %v, want %s", id, m, err, want)
		}
	}
}

// A gate claims the work stream anew while it reads what is held, which the race detector sees.
func TestClaimWhileReading(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	q := pair(t)[0]
	if _, _, err := q.Lock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	v, err := q.lead(ctx)
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan gate.Task)
	go func() { // as the follower does
		v.mu.Lock()
		x := v.task("a", nil, time.Now())
		v.mu.Unlock()
		read <- x
	}()
	v.last = 0
	if err := q.claim(ctx, v); err != nil || v.last == 0 {
		t.Errorf("last message %d, error %v, want one", v.last, err)
	}
	if x := <-read; x.ID != "a" {
		t.Errorf("task %v, want a", x)
	}
}

// A function that ends its goroutine, as t.FailNow does, has failed, and its worker takes the next task.
func TestGoexit(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	q := pair(t)[0]
	if _, _, err := q.Lock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b"} {
		if err := q.Enqueue(ctx, gate.Job{ID: "x"}, Task{ID: id}); err != nil {
			t.Fatal(err)
		}
		if err := q.Release(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	second, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- q.Work(ctx, 1, func(_ context.Context, task Task) error {
			if task.ID == "a" {
				runtime.Goexit()
			}
			close(second)
			return nil
		})
	}()
	select {
	case <-second:
	case err := <-ended:
		t.Fatalf("Work has returned %v before its context ended", err)
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of Work, want that of its context", err)
	}
	m, err := q.held.GetLastMsgForSubject(t.Context(), "sojourn.jobs.held.a")
	if err != nil || attempt(m.Header) != 2 {
		t.Errorf("message %v, error %v, want a second attempt that is held", m, err)
	}
}

// A gate sends both messages of a release at once. If another one has written a single message meanwhile, the second of the two would stand where it expects to stand: it is
// refused all the same, since it names the first.
func TestReleaseBehindAnother(t *testing.T) {
	ctx := t.Context()
	q := pair(t)[0]
	decides(t, q, "a")
	if _, err := q.api.PublishMsg(ctx, &nats.Msg{Subject: "sojourn.jobs.let", Header: nats.Header{headGate: {"another"}}}); err != nil {
		t.Fatal(err)
	}
	if err := q.Release(ctx, "a"); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("error %v, want ErrLocked", err)
	}
	if _, err := q.work.GetLastMsgForSubject(ctx, "sojourn.jobs.work.a"); !errors.Is(err, js.ErrMsgNotFound) {
		t.Errorf("the task was let go: %v", err)
	}
}

// decides puts tasks of a job in, and lets the gate of q decide.
func decides(t *testing.T, q *Queue, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := q.Enqueue(t.Context(), gate.Job{ID: "x"}, Task{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := q.Lock(t.Context(), "me"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Tasks(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The held message of a release that could not be deleted is deleted before the next task is let go.
func TestHeldMessageStays(t *testing.T) {
	ctx := t.Context()
	q := pair(t)[0]
	decides(t, q, "a", "b")
	p := &trap{left: 3, spring: func() error { return errors.New("it is lost") }}
	away := p.set(q)
	if err := q.Release(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	away()
	if _, err := q.held.GetLastMsgForSubject(ctx, "sojourn.jobs.held.a"); err != nil {
		t.Fatalf("the trap was not sprung: %v", err)
	}
	if err := q.Release(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.held.GetLastMsgForSubject(ctx, "sojourn.jobs.held.a"); !errors.Is(err, js.ErrMsgNotFound) {
		t.Errorf("the first one is held still: %v", err)
	}
	for _, id := range []string{"a", "b"} {
		if state, err := q.State(ctx, id); err != nil || state != gate.Released {
			t.Errorf("task %s: state %v, %v", id, state, err)
		}
	}
}

// The held stream is deleted behind a release, and made anew with tasks whose messages have the numbers of old ones, and once the ID of one, too. The
// next gate does not take them for what was let go last.
func TestNumbersOfAnotherStream(t *testing.T) {
	for _, id := range []string{"a", "b"} {
		ctx := t.Context()
		queues := pair(t)
		q, second := queues[0], queues[1]
		decides(t, q, "a")
		if err := q.Release(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		m, err := q.consumer.Next()
		if err == nil {
			err = m.DoubleAck(ctx)
		}
		if err == nil {
			err = q.view.removed(ctx, q.held)
		}
		if err == nil {
			err = q.api.DeleteStream(ctx, "SOJOURN_jobs_HELD")
		}
		if err == nil {
			_, err = q.make(ctx)
		}
		if err == nil {
			err = q.Unlock(ctx, "me")
		}
		if err != nil {
			t.Fatal(err)
		}
		decides(t, second, id)
		if tasks, err := second.Tasks(ctx); err != nil || len(tasks) != 1 || tasks[0].State != gate.Held {
			t.Errorf("tasks %v, error %v, want %s, held", tasks, err, id)
		}
		if err := second.Release(ctx, id); err != nil {
			t.Error(err)
		}
		if m, err := q.consumer.Next(js.FetchMaxWait(time.Second)); err != nil || m.Subject() != "sojourn.jobs.work."+id {
			t.Errorf("message %v, error %v, want task %s", m, err, id)
		}
	}
}
