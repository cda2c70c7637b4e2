package nats

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
)

// A follower reads the messages of a stream, and goes on with what comes.
type follower struct {
	stream   js.Stream
	subject  string // of all that it reads
	consumer js.Consumer
	messages js.MessagesContext
	last     atomic.Pointer[js.MsgMetadata]
}

func follow(ctx context.Context, s js.Stream, subject string, headers bool, each func(js.Msg, *js.MsgMetadata)) (*follower, error) {
	c, err := s.OrderedConsumer(ctx, js.OrderedConsumerConfig{FilterSubjects: []string{subject}, HeadersOnly: headers})
	if err != nil {
		return nil, err
	}
	f := &follower{stream: s, subject: subject, consumer: c}
	if f.messages, err = c.Messages(js.PullMaxMessages(5*window), js.PullExpiry(5*time.Second), js.PullHeartbeat(patience)); err != nil {
		return nil, err
	}
	go func() {
		for {
			m, err := f.messages.Next()
			if errors.Is(err, js.ErrMsgIteratorClosed) {
				return
			}
			if err != nil {
				time.Sleep(pause)
				continue // it begins anew by itself where it was
			}
			if meta, err := m.Metadata(); err == nil {
				each(m, meta)
				f.last.Store(meta)
			}
		}
	}()
	return f, nil
}

// catchUp waits until it has read all that there is. The server may be slow to answer while it sends a million messages. Its number of messages that are still to come
// may lack those that were put in last, so the stream is asked for the next one at the end.
func (f *follower) catchUp(ctx context.Context) error {
	var before *js.MsgMetadata
	for failed := 0; ; {
		call, cancel := context.WithTimeout(ctx, patience)
		info, err := f.info(call)
		cancel()
		last := f.last.Load()
		switch {
		case err != nil && (ctx.Err() != nil || failed > 1):
			return err
		case err != nil && last == before:
			failed++
		case err != nil:
			failed, before = 0, last
		case info.NumPending > 0:
		case info.Delivered.Consumer == 0, last != nil && last.Consumer == info.Name && last.Sequence.Consumer >= info.Delivered.Consumer:
			next := uint64(1)
			if last != nil {
				next = last.Sequence.Stream + 1
			}
			if _, err := f.stream.GetMsg(ctx, next, js.WithGetMsgSubject(f.subject)); err != nil {
				if errors.Is(err, js.ErrMsgNotFound) {
					return nil
				}
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// info asks the server. The library does that under a lock, which it keeps while it tries to read a stream that is missing.
func (f *follower) info(ctx context.Context) (info *js.ConsumerInfo, err error) {
	told := make(chan struct{})
	var got *js.ConsumerInfo
	var failed error
	go func() { defer close(told); got, failed = f.consumer.Info(ctx) }()
	select {
	case <-told:
		return got, failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// stop ends the reading, and does not wait for that lock.
func (f *follower) stop() {
	if f != nil {
		go f.messages.Stop()
	}
}

// A view is what a gate that decides sees of the queue.
type view struct {
	id      string
	term    uint64 // of the lock
	prefix  string
	held    *follower
	gone    *follower
	beats   *follower
	samples *nats.Subscription
	streams []js.Stream  // held and work, as they were the last time
	behind  [2]time.Time // since when they have had fewer messages than that

	last uint64 // message of the work stream, which this gate wrote; 0: another one may have come
	told bool   // all that was there at first

	mu       sync.Mutex
	removal  *removal      // of the held message of the latest release
	skew     time.Duration // of the clock of the server, from that of this process
	tasks    []gate.Task   // that are held, in order; Gone: it is not held any more
	at       map[string]place
	jobs     map[string]gate.Job
	released map[string]*released
	messages map[uint64]string        // of the work stream
	early    map[uint64]time.Duration // samples that came before the message was known
	servers  map[string]crewState
	inbox    []gate.Note
	news     chan struct{} // the inbox has some
	swept    time.Time
}

// A place is where a held task is.
type place struct {
	index   int       // of tasks
	message uint64    // of the held stream
	missing time.Time // since when the held stream has not had it
}

// A released task is in the work stream.
type released struct {
	task    gate.Task
	message uint64 // of the work stream
	held    uint64 // of the held stream, that was deleted then; 0 if that is not known
	running bool   // a server has told so
}

// A removal deletes a held message while the gate goes on.
type removal struct {
	message uint64
	done    chan struct{}
	err     error
}

// remove deletes the held message of a task that was let go.
func (v *view) remove(held js.Stream, message uint64) {
	r := &removal{message: message, done: make(chan struct{})}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.removal = r
	go func() {
		defer close(r.done)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r.err = remove(ctx, held, message)
	}()
}

// removed waits until the held message of the latest release is deleted, and deletes it if that has failed.
func (v *view) removed(ctx context.Context, held js.Stream) error {
	v.mu.Lock()
	r := v.removal
	v.mu.Unlock()
	if r == nil {
		return nil
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.err != nil {
		return remove(ctx, held, r.message)
	}
	return nil
}

// lead returns the view. There is one if this queue has the lock.
func (q *Queue) lead(ctx context.Context) (*view, error) {
	term, err := q.lock.ours()
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	v := q.view
	q.mu.Unlock()
	switch {
	case v == nil:
		v = &view{id: rand.Text(), term: term, prefix: q.prefix, at: map[string]place{}, jobs: map[string]gate.Job{}, released: map[string]*released{}, messages: map[uint64]string{},
			early: map[uint64]time.Duration{}, servers: map[string]crewState{}, news: make(chan struct{}, 1)}
		if err := q.start(ctx, v); err != nil {
			v.stop()
			return nil, err
		}
		q.mu.Lock()
		q.view = v
		q.mu.Unlock()
	case v.term != term: // it is as true as before if no other gate has decided meanwhile, which claim finds out
		v.mu.Lock()
		v.inbox = nil // all tasks are listed now
		v.mu.Unlock()
		v.term, v.last = term, 0
	}
	if err := q.claim(ctx, v); err != nil {
		return nil, err
	}
	if v.told {
		return v, nil
	}
	err = v.beats.catchUp(ctx)
	if err == nil {
		err = v.catchUp(ctx) // and goes on where it was if the lock is lost meanwhile
	}
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.told = true
	return v, nil
}

// start claims the work stream first, so that what it then sees is changed by nobody else.
func (q *Queue) start(ctx context.Context, v *view) error {
	there, err := q.make(ctx)
	if err != nil {
		return err
	}
	v.streams = []js.Stream{there.held, there.work}
	if err := q.claim(ctx, v); err != nil {
		return err
	}
	if v.samples, err = q.conn.Subscribe("$JS.EVENT.METRIC.CONSUMER.ACK."+q.work.CachedInfo().Config.Name+".workers", v.sample); err != nil {
		return err
	}
	if v.beats, err = follow(ctx, q.beats, "$KV."+q.alive.Bucket()+".server.>", false, v.beat); err != nil {
		return err
	}
	if v.held, err = follow(ctx, q.held, q.prefix+"*.*", true, v.enter); err != nil {
		return err
	}
	v.gone, err = follow(ctx, q.gone, q.prefix+"gone.*", false, v.delete)
	return err
}

// catchUp waits until it knows what is held.
func (v *view) catchUp(ctx context.Context) error {
	if err := v.held.catchUp(ctx); err != nil {
		return err
	}
	return v.gone.catchUp(ctx)
}

func (v *view) stop() {
	v.held.stop()
	v.gone.stop()
	v.beats.stop()
	if v.samples != nil {
		_ = v.samples.Unsubscribe()
	}
}

// leave ends the view, if there is one.
func (q *Queue) leave() {
	q.mu.Lock()
	v := q.view
	q.view = nil
	q.mu.Unlock()
	if v != nil {
		v.stop()
	}
}

// claim makes sure that no other gate writes to the work stream behind the last message, and ends the release that was
// begun last.
//
// A release writes two messages at once, each after the one that it knows to be the last: "let" names a task, and the next one, which names that "let" as the
// message before it, is the task. Then it deletes the held one, before there is another "let". So the last "let" says which task may still be held though it was let go: it was if anything stands
// behind, whether or not that is still there. No window of time is in this.
func (q *Queue) claim(ctx context.Context, v *view) error {
	for v.last == 0 {
		info, err := q.look(ctx)
		if err != nil {
			return err
		}
		v.mu.Lock()
		v.skew = time.Until(info.TimeStamp) // the true one is that or more, so that no task is let go too early
		v.mu.Unlock()
		let, err := q.work.GetLastMsgForSubject(ctx, q.prefix+"let")
		switch {
		case errors.Is(err, js.ErrMsgNotFound):
		case err != nil:
			return err
		case v.held != nil && let.Header.Get(headGate) != v.id:
			q.leave() // another gate has decided meanwhile
			return gate.ErrLocked
		case let.Header.Get(headTask) != "" && info.State.LastSeq > let.Sequence:
			held, _ := strconv.ParseUint(let.Header.Get(headHeld), 10, 64)
			m, err := q.held.GetMsg(ctx, held)
			switch {
			case errors.Is(err, js.ErrMsgNotFound):
			case err != nil:
				return err
			case stamp(m) == let.Header.Get(headStamp): // and not the message of another stream with this number
				if err := remove(ctx, q.held, held); err != nil {
					return err
				}
			}
			v.release(let.Header.Get(headTask), let.Sequence+1, held)
		}
		v.last = info.State.LastSeq
		if _, err := q.put(ctx, v, "let", nats.Header{headGate: {v.id}}, nil); err != nil && !errors.Is(err, gate.ErrLocked) {
			return err
		}
	}
	return nil
}

// put writes a message of the work stream behind the last one. An error that wraps gate.ErrLocked says that another one stands there.
func (q *Queue) put(ctx context.Context, v *view, subject string, header nats.Header, data []byte) (uint64, error) {
	after := v.last
	v.last = 0
	ack, err := q.api.PublishMsg(ctx, &nats.Msg{Subject: q.prefix + subject, Header: header, Data: data}, js.WithExpectLastSequence(after), js.WithRetryAttempts(0))
	switch {
	case refused(err):
		return 0, fmt.Errorf("%w: %w", gate.ErrLocked, err)
	case err != nil:
		return 0, err
	case ack.Duplicate:
		return ack.Sequence, nil // the last message is to be found out
	}
	v.last = ack.Sequence
	return ack.Sequence, nil
}

// look asks what is in the work stream, with the subjects of tasks.
func (q *Queue) look(ctx context.Context) (*js.StreamInfo, error) {
	q.asking.Lock()
	defer q.asking.Unlock()
	return q.info.Info(ctx, js.WithSubjectFilter(q.prefix+"work.*"))
}

// Tasks implements [gate.Backend]. What is held is known by watching, so that only the names of tasks that were let go come from the
// server.
func (q *Queue) Tasks(ctx context.Context) ([]gate.Task, error) {
	v, err := q.lead(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.catchUp(ctx); err != nil {
		return nil, err
	}
	info, err := q.look(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for subject := range info.State.Subjects {
		id := subject[len(q.prefix+"work."):]
		if there[id] = true; v.known(id) {
			continue
		}
		m, err := q.work.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, js.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v.adopt(id, m)
	}
	return v.list(there), nil
}

// known reports whether a task is known, held or let go.
func (v *view) known(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, held := v.at[id]
	return held || v.released[id] != nil
}

// adopt enters a task that another gate has let go.
func (v *view) adopt(id string, m *js.RawStreamMsg) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &released{task: v.task(id, m.Header, m.Time), message: m.Sequence}
	r.task.State = gate.Released
	v.released[id], v.messages[m.Sequence] = r, id
}

// list returns the tasks, then those that were let go and are there, in that order.
func (v *view) list(there map[string]bool) []gate.Task {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.tasks) > len(v.at) {
		v.tasks = slices.DeleteFunc(v.tasks, func(t gate.Task) bool { return t.State == gate.Gone })
		for i := range v.tasks {
			p := v.at[v.tasks[i].ID]
			p.index = i
			v.at[v.tasks[i].ID] = p
		}
	}
	tasks := slices.Clone(v.tasks)
	for _, message := range slices.Sorted(maps.Keys(v.messages)) {
		if id := v.messages[message]; there[id] {
			tasks = append(tasks, v.released[id].task)
		}
	}
	return tasks
}

// State implements [gate.Backend].
func (q *Queue) State(ctx context.Context, id string) (gate.State, error) {
	if !single(id) {
		return gate.Gone, nil
	}
	q.mu.Lock()
	v := q.view
	q.mu.Unlock()
	if v != nil {
		if err := v.removed(ctx, q.held); err != nil {
			return gate.Gone, err
		}
	}
	for range 2 { // a task that fails goes back behind the look at held ones
		m, err := q.held.GetLastMsgForSubject(ctx, q.prefix+"held."+id)
		if err == nil && m.Header.Get(headGone) == "" {
			return gate.Held, nil
		}
		if err != nil && !errors.Is(err, js.ErrMsgNotFound) {
			return gate.Gone, err
		}
		if _, err = q.work.GetLastMsgForSubject(ctx, q.prefix+"work."+id); err == nil {
			return gate.Released, nil
		}
		if !errors.Is(err, js.ErrMsgNotFound) {
			return gate.Gone, err
		}
	}
	return gate.Gone, nil
}

// Release implements [gate.Backend].
func (q *Queue) Release(ctx context.Context, id string) error {
	v, err := q.lead(ctx)
	if err != nil {
		return err
	}
	if v.isReleased(id) { // by an earlier call, whose answer was lost
		if _, err := q.work.GetLastMsgForSubject(ctx, q.prefix+"work."+id); !errors.Is(err, js.ErrMsgNotFound) {
			return err
		}
	}
	if !single(id) {
		v.forget(id)
		return gate.ErrGone
	}
	m, err := q.held.GetLastMsgForSubject(ctx, q.prefix+"held."+id)
	if errors.Is(err, js.ErrMsgNotFound) || err == nil && m.Header.Get(headGone) != "" {
		v.miss(id, q.held)
		if state, err := q.State(ctx, id); err != nil || state == gate.Released {
			return err
		}
		return fmt.Errorf("%w: task %q", gate.ErrGone, id)
	}
	if err != nil {
		return err
	}
	if err := v.removed(ctx, q.held); err != nil {
		return err
	}
	let := fmt.Sprintf("%s.%d", v.id, v.last)
	if err := q.say(&nats.Msg{Subject: q.prefix + "let", Header: nats.Header{headGate: {v.id}, headTask: {id}, headHeld: {strconv.FormatUint(m.Sequence, 10)},
		headStamp: {stamp(m)}, js.MsgIDHeader: {let}, js.ExpectedLastSeqHeader: {strconv.FormatUint(v.last, 10)}}}); err != nil {
		return err
	}
	v.last++ // or the next message is refused, since it names the one before
	header := nats.Header{headSince: {m.Time.Format(time.RFC3339Nano)}}
	for key, values := range m.Header {
		if key != headAfter && key != headTook && !strings.HasPrefix(key, "Nats-") {
			header[key] = values
		}
	}
	header.Set(js.MsgIDHeader, let+".task")
	header.Set(js.ExpectedLastMsgIDHeader, let)
	message, err := q.put(ctx, v, "work."+id, header, m.Data)
	if large(err) { // Enqueue leaves room, another client need not
		v.forget(id)
		err = fmt.Errorf("%w: task %q: %w", gate.ErrGone, id, err)
	}
	if err != nil {
		return err
	}
	v.release(id, message, m.Sequence)
	v.remove(q.held, m.Sequence)
	return nil
}

func (v *view) isReleased(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.released[id] != nil
}

// release enters that a task was let go.
func (v *view) release(id string, message, held uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, ok := v.at[id]
	if !ok {
		return // it is found in the work stream, if it is there
	}
	if p.message > held {
		v.fail(id, 0) // it has failed before this gate knew that it was let go
		return
	}
	r := &released{task: v.tasks[p.index], message: message, held: held}
	r.task.State, r.task.NotBefore = gate.Released, time.Time{}
	v.unhold(id)
	v.released[id], v.messages[message] = r, id
	if took, ok := v.early[message]; ok {
		v.end(id, gate.Finished, took)
	}
	clear(v.early) // they are of tasks that the view does not know
}

// forget enters that a task is not held.
func (v *view) forget(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.unhold(id)
}

// miss enters that a stream does not have a held task. While that is not certain, the task is listed again.
func (v *view) miss(id string, held js.Stream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p, ok := v.at[id]
	switch {
	case !ok:
	case certain(held, &p.missing):
		v.unhold(id)
	default:
		v.at[id] = p
	}
}

// unhold, and what follows, are called with the lock.
func (v *view) unhold(id string) {
	if p, ok := v.at[id]; ok {
		v.tasks[p.index] = gate.Task{State: gate.Gone}
		delete(v.at, id)
	}
}

// end enters that a task has ended, and tells that.
func (v *view) end(id string, kind gate.NoteKind, took time.Duration) {
	if r := v.released[id]; r != nil {
		delete(v.messages, r.message)
		delete(v.released, id)
	}
	v.tell(gate.Note{Kind: kind, Task: id, Service: took})
	v.rouse()
}

// tell adds a note. Tasks that are added together are told together.
func (v *view) tell(n gate.Note) {
	if !v.told {
		return
	}
	if last := len(v.inbox) - 1; n.Kind == gate.Added && last >= 0 && v.inbox[last].Kind == gate.Added {
		v.inbox[last].Tasks = append(v.inbox[last].Tasks, n.Tasks...)
		return
	}
	v.inbox = append(v.inbox, n)
}

func (v *view) rouse() {
	select {
	case v.news <- struct{}{}:
	default:
	}
}

// task returns the held task of a message.
func (v *view) task(id string, h nats.Header, at time.Time) gate.Task {
	text := h.Get(headJob)
	job, ok := v.jobs[text]
	if !ok {
		if len(v.jobs) >= window {
			clear(v.jobs)
		}
		if json.Unmarshal([]byte(text), &job) != nil {
			job = gate.Job{ID: id} // somebody else's message, which is a job of its own
		}
		if text != "" && job.ID != id {
			v.jobs[text] = job
		}
	}
	t := gate.Task{ID: id, Job: job, State: gate.Held, Since: at.Add(-v.skew)}
	if after := length(h, headAfter); after > 0 {
		t.NotBefore = t.Since.Add(after)
	}
	if since, err := time.Parse(time.RFC3339Nano, h.Get(headSince)); err == nil {
		t.Since = since.Add(-v.skew)
	}
	return t
}

// enter enters a message of the held stream.
func (v *view) enter(m js.Msg, meta *js.MsgMetadata) {
	kind, id, _ := strings.Cut(m.Subject()[len(v.prefix):], ".")
	h := m.Headers()
	v.mu.Lock()
	defer v.mu.Unlock()
	if meta.NumPending == 0 {
		defer v.rouse()
	}
	r := v.released[id]
	switch {
	case r != nil && meta.Sequence.Stream <= r.held:
		return
	case kind == "dead", h.Get(headGone) != "":
		v.unhold(id)
		v.end(id, gate.Dropped, length(h, headTook))
		return
	}
	t := v.task(id, h, meta.Timestamp)
	v.unhold(id)
	v.at[id] = place{index: len(v.tasks), message: meta.Sequence.Stream}
	v.tasks = append(v.tasks, t)
	if r == nil {
		v.tell(gate.Note{Kind: gate.Added, Tasks: []gate.Task{t}})
		return
	}
	v.fail(id, length(h, headTook))
}

// delete enters that a task was deleted. Its tombstone in the held stream may have gone before anybody has read it.
func (v *view) delete(m js.Msg, _ *js.MsgMetadata) {
	tombstone, _ := strconv.ParseUint(string(m.Data()), 10, 64)
	id := m.Subject()[len(v.prefix+"gone."):]
	v.mu.Lock()
	defer v.mu.Unlock()
	if p, ok := v.at[id]; ok && p.message < tombstone {
		v.unhold(id)
		v.end(id, gate.Dropped, 0)
	}
}

// fail tells that a task has failed, which is held again.
func (v *view) fail(id string, took time.Duration) {
	v.end(id, gate.Failed, took)
	if last := len(v.inbox) - 1; last >= 0 {
		v.inbox[last].After = max(0, time.Until(v.tasks[v.at[id].index].NotBefore))
	}
}

// sample enters that a worker has acknowledged a message.
func (v *view) sample(m *nats.Msg) {
	var s struct {
		Message uint64        `json:"stream_seq"`
		Took    time.Duration `json:"ack_time"`
	}
	if json.Unmarshal(m.Data, &s) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if id, ok := v.messages[s.Message]; ok {
		v.end(id, gate.Finished, s.Took)
	} else {
		v.early[s.Message] = s.Took
	}
}

// Notes implements [gate.Backend]. Once a second it looks for tasks whose end no sample has told (TestLostSampleInTraffic).
func (q *Queue) Notes(ctx context.Context) ([]gate.Note, error) {
	q.mu.Lock()
	v := q.view
	q.mu.Unlock()
	if v == nil {
		return nil, gate.ErrLocked
	}
	v.mu.Lock()
	due := v.swept.Add(time.Second)
	v.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-v.news:
	case <-time.After(time.Until(due)):
	}
	if now := time.Now(); !now.Before(due) {
		err := q.same(ctx, v)
		if err == nil {
			err = q.sweep(ctx, v)
		}
		if err != nil {
			return nil, err
		}
		v.mu.Lock()
		v.swept = now
		v.mu.Unlock()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	notes := v.inbox
	v.inbox = nil
	return notes, nil
}

// stamp says which message of its subject and number this is, since another stream has these numbers, too. All servers of a cluster have the
// same time of a message.
func stamp(m *js.RawStreamMsg) string { return m.Time.UTC().Format(time.RFC3339Nano) }

// same returns an error if a stream is not the one any more that the view is of, and ends the view: somebody has deleted it, or the server has
// lost messages. What is missing is made anew.
func (q *Queue) same(ctx context.Context, v *view) error {
	for i, was := range v.streams {
		is, err := q.find(ctx, was.CachedInfo().Config)
		if err != nil && !errors.Is(err, js.ErrStreamNotFound) {
			return err
		}
		if err == nil {
			made, last := is.CachedInfo().Created, is.CachedInfo().State.LastSeq
			switch {
			case !made.Equal(was.CachedInfo().Created):
				err = fmt.Errorf("it was made at %v, and not at %v", made, was.CachedInfo().Created)
			case last >= was.CachedInfo().State.LastSeq:
				v.streams[i], v.behind[i] = is, time.Time{}
				continue
			default:
				err = fmt.Errorf("its last message is %d, and was %d", last, was.CachedInfo().State.LastSeq)
				if !certain(is, &v.behind[i]) {
					return fmt.Errorf("stream %s: %w", was.CachedInfo().Config.Name, err)
				}
			}
		}
		err = fmt.Errorf("stream %s is another one than before: the gate begins anew: %w", was.CachedInfo().Config.Name, err)
		q.lock.drop(err)
		q.leave()
		return q.mend(ctx, errors.Join(err, js.ErrStreamNotFound))
	}
	return nil
}

// certain reports whether a stream lacks what it had, and not only a server that was its leader and does not know yet that another one is. Since says since when
// that is so.
func certain(s js.Stream, since *time.Time) bool {
	if c := s.CachedInfo().Cluster; c == nil || len(c.Replicas) == 0 {
		return true
	}
	if since.IsZero() {
		*since = time.Now()
	}
	return time.Since(*since) > stale
}

// sweep finds tasks that are not in the work stream any more.
func (q *Queue) sweep(ctx context.Context, v *view) error {
	v.mu.Lock()
	was := make(map[string]uint64, len(v.released))
	for id, r := range v.released {
		was[id] = r.message
	}
	v.mu.Unlock()
	info, err := q.look(ctx)
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		delete(was, subject[len(q.prefix+"work."):])
	}
	for _, id := range slices.Sorted(maps.Keys(was)) {
		state, err := q.State(ctx, id)
		if err != nil {
			return err
		}
		v.mu.Lock()
		if r := v.released[id]; state == gate.Gone && r != nil && r.message == was[id] {
			v.end(id, gate.Finished, 0)
		}
		v.mu.Unlock()
	}
	return nil
}
