package nats

import (
	"context"
	"errors"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// A liar answers for a server of a cluster that does not know what the others know.
type liar struct {
	js.JetStream
	missing bool   // it says that there is no stream
	last    uint64 // number of the last message of each stream; 0: the true one
}

func (l *liar) Stream(ctx context.Context, name string) (js.Stream, error) {
	s, err := l.JetStream.Stream(ctx, name)
	if l.missing {
		err = js.ErrStreamNotFound
	}
	if err != nil || l.last == 0 {
		return s, err
	}
	info := *s.CachedInfo()
	info.State.LastSeq, info.Cluster = l.last, &js.ClusterInfo{Replicas: make([]*js.PeerInfo, 2)}
	return answered{s, &info}, nil
}

// answered is a stream of which a server has told something.
type answered struct {
	js.Stream
	info *js.StreamInfo
}

func (a answered) CachedInfo() *js.StreamInfo { return a.info }

// A server of a cluster that has just started does not know a stream, or one that was its leader does not know the last messages: the gate keeps what it
// knows and asks again. Messages that are missing for longer than a server takes itself for the leader are lost, and the gate begins anew.
func TestStaleServers(t *testing.T) {
	ctx := t.Context()
	q := pair(t)[0]
	decides(t, q, "a", "b")
	v, l := q.view, &liar{JetStream: q.api}
	q.api = l
	for _, lie := range []liar{{missing: true}, {last: 1}} {
		l.missing, l.last = lie.missing, lie.last
		if err := q.same(ctx, v); err == nil || errors.Is(err, gate.ErrLocked) || q.view != v {
			t.Errorf("%+v: error %v, view %p, want an error that is tried again, and %p", lie, err, q.view, v)
		}
		if _, err := q.make(ctx); lie.missing && !errors.Is(err, js.ErrNoStreamResponse) {
			t.Errorf("%+v: error %v of make, want that the stream does not answer", lie, err)
		}
	}
	l.missing, l.last = false, 0
	if err := q.same(ctx, v); err != nil || q.view != v || !v.behind[0].IsZero() {
		t.Errorf("error %v, behind %v, want that all is well", err, v.behind)
	}
	l.last = 1
	v.behind[0] = time.Now().Add(-2 * stale)
	if err := q.same(ctx, v); err == nil || q.view != nil {
		t.Errorf("error %v, view %p, want that the gate begins anew", err, q.view)
	}
}

// A server of a cluster that was a leader does not have a held task: the task is listed again, until that is certain. Another server than one of a cluster is
// believed.
func TestMissingTask(t *testing.T) {
	ctx := t.Context()
	q := pair(t)[0]
	decides(t, q, "a", "b")
	for _, id := range []string{"a", "b"} {
		if err := q.held.DeleteMsg(ctx, q.view.at[id].message); err != nil {
			t.Fatal(err)
		}
	}
	held, info := q.held, *q.held.CachedInfo()
	info.Cluster = &js.ClusterInfo{Replicas: make([]*js.PeerInfo, 2)}
	listed := func(want int) {
		t.Helper()
		if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != want {
			t.Errorf("tasks %v, error %v, want %d", tasks, err, want)
		}
	}
	release := func(id string, want int) {
		t.Helper()
		if err := q.Release(ctx, id); !errors.Is(err, gate.ErrGone) {
			t.Errorf("error %v, want ErrGone", err)
		}
		listed(want)
	}
	listed(2)
	q.held = answered{held, &info}
	release("a", 2)
	release("a", 2)
	p := q.view.at["a"]
	p.missing = p.missing.Add(-2 * stale)
	q.view.at["a"] = p
	release("a", 1)
	q.held = held
	release("b", 0)
}

// A consumer says that nothing is to come, and does not know yet of what was put in last.
type behind struct{ js.Consumer }

func (behind) Info(context.Context) (*js.ConsumerInfo, error) { return &js.ConsumerInfo{}, nil }

func TestConsumerIsBehind(t *testing.T) {
	q := pair(t)[0]
	f := &follower{stream: q.held, subject: "sojourn.jobs.*.*", consumer: behind{}}
	if err := f.catchUp(t.Context()); err != nil {
		t.Errorf("error %v of an empty stream, want none", err)
	}
	if err := q.Enqueue(t.Context(), gate.Job{ID: "x"}, Task{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := f.catchUp(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that it waits for the message", err)
	}
	meta := &js.MsgMetadata{}
	meta.Sequence.Stream = 1
	f.last.Store(meta)
	if err := f.catchUp(t.Context()); err != nil {
		t.Errorf("error %v, want none", err)
	}
}

// A tombstone is gone before the gate has read it: the gate knows all the same that the task was deleted. One of a stream that was deleted since means nothing.
func TestTombstoneThatNobodySaw(t *testing.T) {
	ctx := t.Context()
	q := pair(t)[0]
	decides(t, q, "a", "b")
	v := q.view
	v.held.stop() // it sees no tombstone
	v.held.messages.Stop()
	if err := q.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if err := v.gone.catchUp(ctx); err != nil {
		t.Fatal(err)
	}
	v.mu.Lock()
	_, a := v.at["a"]
	_, b := v.at["b"]
	notes := v.inbox
	v.mu.Unlock()
	if a || !b || len(notes) != 1 || notes[0].Kind != gate.Dropped || notes[0].Task != "a" {
		t.Errorf("held: a %v, b %v, want b; notes %v, want that a was dropped", a, b, notes)
	}
	if err := q.Unlock(ctx, "me"); err != nil {
		t.Fatal(err)
	}
	if err := q.api.DeleteStream(ctx, "SOJOURN_jobs_HELD"); err != nil {
		t.Fatal(err)
	}
	if _, err := q.make(ctx); err != nil {
		t.Fatal(err)
	}
	decides(t, q, "a")
	if err := q.view.catchUp(ctx); err != nil {
		t.Fatal(err)
	}
	if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != 1 {
		t.Errorf("tasks %v, error %v, want a", tasks, err)
	}
}

// The lock is lost for a moment, once while the gate still reads what is held: if no other gate has decided meanwhile, nothing is read anew. Otherwise all is.
func TestLockIsLostForAMoment(t *testing.T) {
	ctx := t.Context()
	queues := pair(t)
	q, second := queues[0], queues[1]
	decides(t, q, "a", "b", "c")
	v := q.view
	lose := func() {
		t.Helper()
		if err := q.alive.Delete(ctx, "gate"); err != nil {
			t.Fatal(err)
		}
	}
	take := func(q *Queue) (term uint64) {
		t.Helper()
		term, _, err := q.Lock(ctx, "me")
		if err != nil {
			t.Fatal(err)
		}
		return term
	}
	listed := func(want int, kept bool) {
		t.Helper()
		if tasks, err := q.Tasks(ctx); err != nil || len(tasks) != want || (q.view == v) != kept {
			t.Errorf("tasks %v, error %v, the view is kept: %v; want %d tasks, %v", tasks, err, q.view == v, want, kept)
		}
	}
	first := take(q)
	lose()
	if again := take(q); again == first {
		t.Errorf("term %d, want another one than before", again)
	}
	v.tell(gate.Note{Kind: gate.Failed, Task: "a"}) // of before
	listed(3, true)
	if len(v.inbox) > 0 {
		t.Errorf("notes %v of before the listing, want none", v.inbox)
	}
	v.told = false // it still reads
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := q.Tasks(stopped); err == nil {
		t.Error("want an error, since the call was cancelled")
	}
	lose()
	take(q)
	listed(3, true)
	if err := q.Release(ctx, "a"); err != nil {
		t.Error(err)
	}
	if err := v.removed(ctx, q.held); err != nil {
		t.Error(err)
	}

	lose()
	if _, _, err := second.Lock(ctx, "another"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Tasks(ctx); err != nil {
		t.Fatal(err)
	}
	if err := second.Release(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	if err := second.Unlock(ctx, "another"); err != nil {
		t.Fatal(err)
	}
	take(q)
	if _, err := q.Tasks(ctx); !errors.Is(err, gate.ErrLocked) {
		t.Errorf("error %v, want that another gate has decided", err)
	}
	take(q)
	listed(3, false)
	if len(q.view.at) != 1 {
		t.Errorf("held: %v, want c alone", q.view.at)
	}

	lose()
	if _, _, err := q.Lock(ctx, "beside"); err != nil || q.view != nil {
		t.Errorf("error %v, view %p, want that another gate of this process reads anew", err, q.view)
	}
}
