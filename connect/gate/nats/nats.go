package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// Headers of messages.
const (
	headJob     = "Sojourn-Job"     // the gate.Job, as JSON
	headAttempt = "Sojourn-Attempt" // 1 for the first one
	headAfter   = "Sojourn-After"   // how long after the time of the message the task is held at least
	headTook    = "Sojourn-Took"    // how long the attempt took that has failed
	headSince   = "Sojourn-Since"   // when the task was put in, if this message is not that one
	headGone    = "Sojourn-Gone"    // the task was deleted
	headTask    = "Sojourn-Task"    // the task that the next message of the work stream lets go
	headGate    = "Sojourn-Gate"    // that says so
	headHeld    = "Sojourn-Held"    // its message in the held stream
	headStamp   = "Sojourn-Stamp"   // the time of that message
)

const (
	// lease is how long a gate, and a server of Work, lives that is silent.
	lease = 2500 * time.Millisecond

	// beat is the time between two tellings of a server.
	beat = 500 * time.Millisecond

	// pause is the time between two tries of what must succeed.
	pause = 100 * time.Millisecond

	// patience is how long a call waits for an answer, which does not come if the server has gone meanwhile.
	patience = time.Second

	// stale is longer than a server of NATS that was a leader, and is cut off, takes itself for one.
	stale = 12 * time.Second

	// window is the number of messages that Enqueue sends before it waits for an answer.
	window = 1000

	// room is what a release and a failure may add to a message, in bytes.
	room = 1024
)

// Options configure a [Queue]. Those of the first [New] of a name count, except Attempts and Delay.
type Options struct {
	// Replicas is how many servers of NATS keep each stream. Zero means 1.
	Replicas int

	// AckWait is after how long without a word from its worker NATS gives a task to another one. Zero means 30 s. [Queue.Work] tells
	// three times as often that a task goes on.
	AckWait time.Duration

	// Attempts is how often a task may fail. The last time it goes to PREFIX.dead.ID. Zero means any number.
	Attempts int

	// Delay is how long a task waits that has failed for the nth time, from 1 on. Nil means a second, doubled each time, up to ten minutes.
	Delay func(n int) time.Duration
}

// A Queue is two streams, one of held tasks and one of those that were let go. It is safe for concurrent use.
type Queue struct {
	name   string
	prefix string
	opts   Options

	api  js.JetStream
	conn *nats.Conn
	parts
	say func(*nats.Msg) error // sends a message, and does not wait

	asking sync.Mutex // of info
	info   js.Stream  // work, to ask what is in it

	lock lock

	mu   sync.Mutex
	view *view // nil: no gate decides here
}

// parts are what a queue has in JetStream.
type parts struct {
	held     js.Stream
	work     js.Stream
	gone     js.Stream // what was deleted within the window of duplicates
	consumer js.Consumer
	alive    js.KeyValue
	beats    js.Stream // of alive
}

var _ interface {
	gate.Backend
	gate.Fleet
	gate.Locker
} = (*Queue)(nil)

// New returns the queue of a name, which has letters, digits, - and _. It makes what is missing: the streams SOJOURN_NAME_HELD,
// SOJOURN_NAME_WORK and SOJOURN_NAME_GONE, the consumer "workers" of WORK, and the bucket SOJOURN_NAME. Whoever finds later that one of them is
// missing makes it anew (TestOperator). The connection stays the caller's; give it nats.MaxReconnects(-1), so that it outlives an outage.
func New(ctx context.Context, conn *nats.Conn, name string, o Options) (*Queue, error) {
	q, err := open(ctx, conn, name, o)
	if err != nil {
		return nil, fmt.Errorf("connect/gate/nats: queue %q: %w", name, err)
	}
	return q, nil
}

func open(ctx context.Context, conn *nats.Conn, name string, o Options) (*Queue, error) {
	switch {
	case !token(name):
		return nil, errors.New("want letters, digits, - and _")
	case o.Replicas < 0 || o.AckWait < 0 || o.Attempts < 0:
		return nil, fmt.Errorf("%d replicas, AckWait %v, %d attempts: want none that is negative", o.Replicas, o.AckWait, o.Attempts)
	}
	if o.AckWait == 0 {
		o.AckWait = 30 * time.Second
	}
	if o.Delay == nil {
		o.Delay = func(n int) time.Duration { return min(time.Second<<min(n-1, 10), 10*time.Minute) }
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	api, err := js.New(conn, js.WithPublishAsyncMaxPending(window), js.WithDefaultTimeout(patience))
	if err != nil {
		return nil, err
	}
	q := &Queue{name: name, prefix: "sojourn." + name + ".", opts: o, api: api, conn: conn, say: conn.PublishMsg}
	if q.parts, err = q.make(ctx); err != nil {
		return nil, err
	}
	q.opts.AckWait = q.consumer.CachedInfo().Config.AckWait
	q.info, err = api.Stream(ctx, q.title("_WORK"))
	return q, err
}

func (q *Queue) title(end string) string { return "SOJOURN_" + q.name + end }

// make makes what is missing.
func (q *Queue) make(ctx context.Context) (p parts, err error) {
	replicas := max(q.opts.Replicas, 1)
	held := js.StreamConfig{Name: q.title("_HELD"), Subjects: []string{q.prefix + "held.*", q.prefix + "dead.*"}, MaxMsgsPerSubject: 1,
		Replicas: replicas, Description: "tasks that a gate of sojourn holds back"}
	if p.held, err = q.find(ctx, held); errors.Is(err, js.ErrStreamNotFound) {
		// Its numbers begin anew, and those of tombstones mean nothing then.
		if p.gone, err = q.api.Stream(ctx, q.title("_GONE")); err == nil {
			err = p.gone.Purge(ctx)
		}
		if err == nil || errors.Is(err, js.ErrStreamNotFound) {
			p.held, err = q.stream(ctx, held)
		}
	}
	if err != nil {
		return p, err
	}
	if p.work, err = q.stream(ctx, js.StreamConfig{Name: q.title("_WORK"), Subjects: []string{q.prefix + "work.*", q.prefix + "let"}, MaxMsgsPerSubject: 1,
		Retention: js.WorkQueuePolicy, Replicas: replicas, Description: "tasks that a gate of sojourn has let go"}); err != nil {
		return p, err
	}
	if p.gone, err = q.stream(ctx, js.StreamConfig{Name: q.title("_GONE"), Subjects: []string{q.prefix + "gone.*"}, MaxMsgsPerSubject: 1,
		MaxAge: 2 * p.held.CachedInfo().Config.Duplicates, Replicas: replicas, Description: "tasks that were deleted, whose IDs may be used again"}); err != nil {
		return p, err
	}
	if p.consumer, err = q.workers(ctx); err != nil {
		return p, err
	}
	p.alive, err = q.api.CreateKeyValue(ctx, js.KeyValueConfig{Bucket: q.title(""), TTL: lease, Replicas: replicas, Description: "the gate and the servers that live"})
	if errors.Is(err, js.ErrBucketExists) {
		p.alive, err = q.api.KeyValue(ctx, q.title(""))
	}
	if err == nil {
		p.beats, err = q.api.Stream(ctx, "KV_"+q.title(""))
	}
	return p, err
}

// mend makes what is missing if an error says that something is, and returns the error.
func (q *Queue) mend(ctx context.Context, err error) error {
	for _, missing := range []error{js.ErrStreamNotFound, js.ErrConsumerNotFound, js.ErrBucketNotFound, js.ErrNoStreamResponse} {
		if errors.Is(err, missing) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			_, failed := q.make(ctx)
			return errors.Join(err, failed)
		}
	}
	return err
}

// workers makes the consumer of the workers, or takes the one that is there.
func (q *Queue) workers(ctx context.Context) (js.Consumer, error) {
	c, err := q.api.CreateConsumer(ctx, q.title("_WORK"), js.ConsumerConfig{Durable: "workers", FilterSubject: q.prefix + "work.*", AckPolicy: js.AckExplicitPolicy,
		AckWait: q.opts.AckWait, MaxAckPending: -1, MaxDeliver: -1, SampleFrequency: "100"})
	if errors.Is(err, js.ErrConsumerExists) {
		c, err = q.api.Consumer(ctx, q.title("_WORK"), "workers")
	}
	return c, err
}

// stream makes a stream, or takes the one that is there. Servers of a cluster that are asked again for the same stream count it as made anew,
// and do not agree since when it is there (TestStreamsAreMadeOnce). So each request is for another one, which they refuse.
func (q *Queue) stream(ctx context.Context, c js.StreamConfig) (js.Stream, error) {
	s, err := q.find(ctx, c)
	if !errors.Is(err, js.ErrStreamNotFound) {
		return s, err
	}
	c.Metadata = map[string]string{"sojourn-made": rand.Text()}
	s, err = q.api.CreateStream(ctx, c)
	if errors.Is(err, js.ErrStreamNameAlreadyInUse) {
		s, err = q.api.Stream(ctx, c.Name)
	}
	return s, err
}

// find returns a stream. A server of a cluster that has just started may say that there is none, since it does not have it yet. So the one that keeps the list
// of all streams is asked, too.
func (q *Queue) find(ctx context.Context, c js.StreamConfig) (js.Stream, error) {
	s, err := q.api.Stream(ctx, c.Name)
	if errors.Is(err, js.ErrStreamNotFound) {
		name, listed := q.api.StreamNameBySubject(ctx, c.Subjects[0])
		switch {
		case listed == nil && name == c.Name:
			return nil, fmt.Errorf("stream %s is listed: %w", name, js.ErrNoStreamResponse)
		case listed != nil && !errors.Is(listed, js.ErrStreamNotFound):
			return nil, listed
		}
	}
	return s, err
}

// token reports whether a text can be a part of a subject and of the name of a stream.
func token(s string) bool {
	return s != "" && len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// single reports whether a text is one token of a subject, which the ID of a task of another client is.
func single(s string) bool { return s != "" && !strings.ContainsAny(s, ".*> \t\r\n\f") }

// A Task is a task for [Queue.Enqueue], and for the function of [Queue.Work].
type Task struct {
	// ID names the task. It has letters, digits, - and _. Empty means one that nobody else has. A task that was put in twice within two minutes, or that is held
	// already, is there once, unless it was deleted in between (TestEnqueueBehindDelete). Do not use an ID again while its task runs.
	ID   string
	Data []byte

	// Header has what the function is to find beside the data. Keys that begin with Nats- or Sojourn- are left out, here and there: they belong to one message.
	Header nats.Header

	NotBefore time.Time // by the clock of this process; zero means at once
	Attempt   int       // 1 for the first one; only for Work
}

// Enqueue puts tasks of a job into the queue. They may be added to a job that has tasks. The error says how many the
// server has confirmed. Others may be in the queue all the same: if the tasks have IDs, put all of them in again.
func (q *Queue) Enqueue(ctx context.Context, job gate.Job, tasks ...Task) error {
	told, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("connect/gate/nats: job %q: %w", job.ID, err)
	}
	var messages []*nats.Msg
	for i, t := range tasks {
		if t.ID == "" {
			t.ID = rand.Text()
		}
		if !token(t.ID) {
			return fmt.Errorf("connect/gate/nats: job %q: task %d has the ID %q: want letters, digits, - and _", job.ID, i+1, t.ID)
		}
		m := &nats.Msg{Subject: q.prefix + "held." + t.ID, Data: t.Data, Header: free(t.Header)}
		m.Header.Set(headJob, string(told))
		m.Header.Set(headAttempt, "1")
		if after := time.Until(t.NotBefore); after > 0 {
			m.Header.Set(headAfter, after.String())
		}
		size := m.Size()
		if head, most := size-len(m.Subject)-len(t.Data), 1<<16-room; head > most {
			return fmt.Errorf("connect/gate/nats: job %q: task %d has headers of %d bytes, with the job: want at most %d", job.ID, i+1, head, most)
		}
		if most := int(q.conn.MaxPayload()) - room; q.conn.IsConnected() && size > most {
			return fmt.Errorf("connect/gate/nats: job %q: task %d has %d bytes: want at most %d", job.ID, i+1, size, most)
		}
		messages = append(messages, m)
	}
	confirmed := 0
	var answers []js.PubAckFuture
	confirm := func() error {
		a := answers[0]
		answers = answers[1:]
		var err error
		select {
		case ack := <-a.Ok():
			err = q.settle(ctx, messages[confirmed], ack, nil)
		case e := <-a.Err():
			err = q.settle(ctx, messages[confirmed], nil, e)
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		confirmed++
		return nil
	}
	for _, m := range messages {
		var a js.PubAckFuture
		if a, err = q.api.PublishMsgAsync(m, js.WithMsgID(m.Subject), js.WithExpectLastSequencePerSubject(0)); err != nil {
			break
		}
		if answers = append(answers, a); len(answers) == window {
			if err = confirm(); err != nil {
				break
			}
		}
	}
	for err == nil && len(answers) > 0 {
		err = confirm()
	}
	if err = q.mend(ctx, err); err != nil {
		return fmt.Errorf("connect/gate/nats: job %q: %d of %d tasks are in the queue for certain: %w", job.ID, confirmed, len(tasks), err)
	}
	return nil
}

// settle makes of the answer to a message of Enqueue whether its task is in the queue for certain, or has been there since it was deleted the last time. If
// not, it puts it in.
func (q *Queue) settle(ctx context.Context, m *nats.Msg, ack *js.PubAck, err error) error {
	for range 10 {
		if err != nil && !refused(err) || err == nil && !ack.Duplicate {
			return err
		}
		deleted, e := q.bury(ctx, m.Subject)
		if e != nil || err == nil && ack.Sequence > deleted {
			return e
		}
		if state, e := q.State(ctx, m.Subject[len(q.prefix+"held."):]); e != nil || state != gate.Gone {
			return e
		}
		id := m.Subject
		if deleted > 0 {
			id = fmt.Sprintf("%s.%d", id, deleted)
		}
		ack, err = q.api.PublishMsg(ctx, m, js.WithMsgID(id), js.WithExpectLastSequencePerSubject(0))
	}
	return err
}

// Delete removes a task from the queue, which may be held or let go. A worker that has begun it goes on. A task that is
// let go in this moment may run. If it fails, call it again, until it
// succeeds or the error wraps [gate.ErrGone].
func (q *Queue) Delete(ctx context.Context, id string) error {
	if err := q.mend(ctx, q.delete(ctx, id)); err != nil {
		return fmt.Errorf("connect/gate/nats: task %q: %w", id, err)
	}
	return nil
}

func (q *Queue) delete(ctx context.Context, id string) error {
	if !single(id) {
		return gate.ErrGone
	}
	state, err := q.State(ctx, id)
	switch {
	case err != nil:
		return err
	case state == gate.Gone:
		if _, err := q.bury(ctx, q.prefix+"held."+id); err != nil {
			return err
		}
		return gate.ErrGone
	}
	ack, err := q.api.PublishMsg(ctx, &nats.Msg{Subject: q.prefix + "held." + id, Header: nats.Header{headGone: {"1"}}})
	if err != nil {
		return err
	}
	if err := q.note(ctx, id, ack.Sequence); err != nil {
		return err
	}
	if m, err := q.work.GetLastMsgForSubject(ctx, q.prefix+"work."+id); err == nil {
		if err := remove(ctx, q.work, m.Sequence); err != nil {
			return err
		}
	} else if !errors.Is(err, js.ErrMsgNotFound) {
		return err
	}
	return remove(ctx, q.held, ack.Sequence)
}

// note notes the number of the tombstone of a task.
func (q *Queue) note(ctx context.Context, id string, tombstone uint64) error {
	_, err := q.api.PublishMsg(ctx, &nats.Msg{Subject: q.prefix + "gone." + id, Data: []byte(strconv.FormatUint(tombstone, 10))})
	return err
}

// bury removes the tombstone of a Delete that was cut off, and returns the number of the last one within the window of duplicates; 0 if there is none.
func (q *Queue) bury(ctx context.Context, subject string) (tombstone uint64, err error) {
	id := subject[len(q.prefix+"held."):]
	m, err := q.held.GetLastMsgForSubject(ctx, subject)
	if err == nil && m.Header.Get(headGone) != "" {
		if err := q.note(ctx, id, m.Sequence); err != nil {
			return 0, err
		}
		return m.Sequence, remove(ctx, q.held, m.Sequence)
	}
	if err != nil && !errors.Is(err, js.ErrMsgNotFound) {
		return 0, err
	}
	m, err = q.gone.GetLastMsgForSubject(ctx, q.prefix+"gone."+id)
	switch {
	case errors.Is(err, js.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return strconv.ParseUint(string(m.Data), 10, 64)
}

// remove removes a message of a stream. One that is not there is no error.
func remove(ctx context.Context, s js.Stream, seq uint64) error {
	err := s.DeleteMsg(ctx, seq)
	if err != nil {
		if _, missing := s.GetMsg(ctx, seq); errors.Is(missing, js.ErrMsgNotFound) {
			return nil
		}
	}
	return err
}

// refused reports whether the server says that another message came first.
func refused(err error) bool {
	var e *js.APIError
	return errors.As(err, &e) && (e.ErrorCode == 10071 || e.ErrorCode == 10164 || e.ErrorCode == 10070)
}

// large reports whether the server says that a message is too large.
func large(err error) bool {
	var e *js.APIError
	return errors.Is(err, nats.ErrMaxPayload) || errors.As(err, &e) && (e.ErrorCode == 10054 || e.ErrorCode == 10097)
}

// free returns the headers that the caller may choose. The others tell the server, and the gate, what to do with one message.
func free(h nats.Header) nats.Header {
	chosen := nats.Header{}
	for key, values := range h {
		if low := strings.ToLower(key); !strings.HasPrefix(low, "nats-") && !strings.HasPrefix(low, "sojourn-") {
			chosen[key] = values
		}
	}
	return chosen
}

// attempt returns which attempt of its task a message is.
func attempt(h nats.Header) int {
	n, _ := strconv.Atoi(h.Get(headAttempt))
	return max(n, 1)
}

// length returns a duration that a header has; 0 if it has none.
func length(h nats.Header, key string) time.Duration {
	d, _ := time.ParseDuration(h.Get(key))
	return max(d, 0)
}

// A lock is what a queue knows of the lock of its gate.
type lock struct {
	mu       sync.Mutex
	gate     string // that had it the last time
	revision uint64
	until    time.Time
	term     uint64
	why      error // it is to be taken anew
}

// anew says why a gate is to begin anew, which is to it as if another one had decided.
type anew struct{ error }

func (anew) Is(target error) bool { return target == gate.ErrLocked }

// Lock implements [gate.Locker]. The lock is a key with a time to live. It only elects: that a gate that has lost it does no harm is the work
// of the work stream, which takes no message of it.
func (q *Queue) Lock(ctx context.Context, name string) (term uint64, held time.Duration, err error) {
	l := &q.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.why; err != nil && l.gate == name {
		l.why = nil
		return 0, 0, err
	}
	start := time.Now()
	ours := l.gate == name && start.Before(l.until)
	var revision uint64
	if ours {
		revision, err = q.alive.Update(ctx, "gate", []byte(name), l.revision)
	}
	if !ours || refused(err) {
		ours = false
		revision, err = q.alive.Create(ctx, "gate", []byte(name))
	}
	if errors.Is(err, js.ErrKeyExists) {
		var e js.KeyValueEntry
		if e, err = q.alive.Get(ctx, "gate"); err == nil {
			if string(e.Value()) != name {
				if l.gate == name { // and not another gate of this queue
					q.leave()
				}
				return 0, 0, gate.ErrLocked
			}
			revision, err = q.alive.Update(ctx, "gate", []byte(name), e.Revision()) // the answer to an earlier call was lost
		}
	}
	if err != nil {
		return 0, 0, q.mend(ctx, err)
	}
	if !ours {
		l.term++
		if l.gate != name {
			q.leave()
		}
	}
	l.gate, l.revision, l.until, l.why = name, revision, start.Add(lease), nil
	return l.term, lease, nil
}

// Unlock implements [gate.Locker].
func (q *Queue) Unlock(ctx context.Context, name string) error {
	l := &q.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gate != name {
		return nil
	}
	q.leave()
	l.gate = ""
	err := q.alive.Delete(ctx, "gate", js.LastRevision(l.revision))
	if refused(err) {
		return nil // another gate has it
	}
	return err
}

// drop makes the gate take the lock anew.
func (l *lock) drop(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until, l.why = time.Time{}, anew{why}
}

// ours returns an error unless this queue has the lock, and since when it has.
func (l *lock) ours() (term uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != nil:
		return 0, l.why
	case l.gate == "" || !time.Now().Before(l.until):
		return 0, gate.ErrLocked
	}
	return l.term, nil
}
