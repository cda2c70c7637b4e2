package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/journal"
)

// A store keeps segments in a stream. It writes one message at a time, each after the one that it knows to be the last.
type store struct {
	conn   *nats.Conn
	api    js.JetStream
	stream js.Stream
	name   string
	prefix string
	lease  time.Duration
	who    string
	id     string

	mu       sync.Mutex
	book     book
	heard    time.Time // when a message came, or this process was not connected
	messages js.MessagesContext
	leads    bool
	behind   bool          // more messages were in the stream when the last one came, and those between may be purged
	unsure   bool          // a message may be in the stream that is not in the book
	guessed  uint64        // the first message that skip has passed over; 0: none
	gap      bool          // messages were purged before they came, and one may have said that a segment is removed
	lost     error         // another one leads, or it is closed
	told     func(error)   // of that
	deaf     bool          // it does not lead any more, and does not follow yet
	reading  bool          // it is about to follow
	quit     chan struct{} // closed by Close
	stop     chan struct{} // closed when it does not lead any more
	ended    sync.WaitGroup
}

// consumer makes a consumer. It asks again if no answer comes within a second: a server that has just begun loses questions.
func (s *store) consumer(ctx context.Context, o js.OrderedConsumerConfig) (c js.Consumer, err error) {
	for range patience / time.Second {
		short, cancel := context.WithTimeout(ctx, time.Second)
		c, err = s.stream.OrderedConsumer(short, o)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			break
		}
	}
	return c, err
}

// state returns what the server that leads the stream says of it now. The stream of the store stays as it was, since several goroutines use it.
func (s *store) state(ctx context.Context) (js.StreamState, error) {
	now, err := s.api.Stream(ctx, "SOJOURN_"+s.name)
	if err != nil {
		return js.StreamState{}, err
	}
	return now.CachedInfo().State, nil
}

var errDeaf = errors.New("jetstream: the stream is being read anew")

// follow enters what there is, and goes on with what comes.
func (s *store) follow(ctx context.Context) error {
	state, err := s.state(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	from := s.book.last
	s.mu.Unlock()
	consumer, err := s.consumer(ctx, js.OrderedConsumerConfig{DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: from + 1})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	caught := make(chan struct{})
	waits := state.Msgs > 0 && state.LastSeq > from
	s.mu.Lock()
	select {
	case <-s.quit:
		s.mu.Unlock()
		messages.Stop()
		return s.lost
	default:
	}
	s.messages, s.heard = messages, time.Now()
	if !waits {
		s.gap = s.gap || state.LastSeq > s.book.last
		s.book.last = max(s.book.last, state.LastSeq)
		close(caught)
	}
	s.mu.Unlock()
	s.ended.Go(func() {
		for {
			m, err := messages.Next()
			if errors.Is(err, js.ErrMsgIteratorClosed) {
				return
			}
			if err != nil {
				continue // it was away for a while, and begins anew by itself
			}
			meta, err := m.Metadata()
			if err != nil {
				continue
			}
			s.hears(message{meta.Sequence.Stream, m.Subject(), m.Headers(), m.Data()}, meta.NumPending)
			if waits && meta.NumPending == 0 {
				waits = false
				close(caught)
			}
		}
	})
	select {
	case <-caught:
		return nil
	case <-s.quit:
		return journal.ErrClosed
	case <-ctx.Done():
		messages.Stop()
		return context.Cause(ctx)
	}
}

// hears enters a message after which so many more were in the stream.
func (s *store) hears(m message, pending uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind = pending > 0 && !s.leads; !s.leads && m.seq > s.book.last {
		s.gap = s.gap || m.seq > s.book.last+1
		s.enter(m)
	}
}

// enter enters a message in the book.
func (s *store) enter(m message) {
	m.subject = m.subject[len(s.prefix):]
	s.heard = time.Now()
	n := s.book.enter(m)
	if s.leads && n > 0 {
		s.book.segments[n].tail = nil // nobody follows here
	}
	for number, c := range s.book.segments { //sojourn:unordered each by itself
		if number+1 < n {
			c.tail = nil // who follows is at a later one
		}
	}
}

// Lead leads if nobody else does.
func (s *store) Lead() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear()
	switch {
	case s.lost != nil:
		return s.lost
	case s.leads:
		return nil
	case s.deaf:
		return errDeaf
	case !s.conn.IsConnected():
		s.heard = time.Now()
		return fmt.Errorf("jetstream: the server is away: %w", nats.ErrDisconnected)
	case !s.book.free && time.Since(s.heard) < max(s.lease, s.book.lease):
		return fmt.Errorf("jetstream: %s leads: %w", visible.Text(s.book.who), journal.ErrLocked)
	}
	ack, err := s.send(s.says(kindLead), "lead", nil, patience)
	if err == nil && s.guessed > 0 {
		err = s.hearAll(ack)
	}
	if err != nil {
		s.heard = time.Now()
		if !refused(err) {
			return visible.Errorf("jetstream: %w", err)
		}
		s.skip()
		return fmt.Errorf("jetstream: %w: %w", err, journal.ErrLocked)
	}
	s.leads, s.behind, s.guessed = true, false, 0
	s.book.leader, s.book.who, s.book.free, s.book.last = s.id, s.who, false, ack
	s.messages.Stop()
	s.stop = make(chan struct{})
	go s.beat(s.stop)
	return nil
}

// says returns the header of a message by which this store says that it leads.
func (s *store) says(kind string) nats.Header {
	return nats.Header{headKind: {kind}, headWho: {s.who}, headLease: {s.lease.String()}, js.MsgRollup: {js.MsgRollupSubject}}
}

// OnLost lets f be called when another store leads.
func (s *store) OnLost(f func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told = f; s.lost != nil {
		f(s.lost)
	}
}

// Yield lets another process lead, if none does yet. It follows when it is asked again, since a journal that has failed for good asks nothing more, and
// does not lead again before it has read what there is.
func (s *store) Yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.quit:
		return
	default:
	}
	if !s.leads {
		return
	}
	s.free()
	s.leads, s.unsure, s.lost, s.deaf = false, false, nil, true
}

// hear follows again, if it does not yet, after it has led. The lock is held.
func (s *store) hear() {
	if !s.deaf || s.reading || s.lost != nil {
		return
	}
	s.reading = true
	s.ended.Go(func() {
		for wait := time.Millisecond; ; wait = min(2*wait, time.Second) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			err := s.follow(ctx)
			cancel()
			if err == nil {
				s.mu.Lock()
				s.deaf, s.reading = false, false
				s.mu.Unlock()
				return
			}
			select {
			case <-s.quit:
				return
			case <-time.After(wait):
			}
		}
	})
}

// free ends the beats, and says that this store does not lead any more, if it can: otherwise the lease ends. The lock is held.
func (s *store) free() {
	s.release()
	if s.leads && s.lost == nil && !s.unsure {
		_ = s.write(nats.Header{headKind: {kindFree}, js.MsgRollup: {js.MsgRollupSubject}}, "lead", nil, patience)
	}
}

// skip moves the book behind messages that are not there any more, if nothing else comes. The server that says so may be one that has not heard of
// them, and takes itself for the one that leads: so Lead looks again.
func (s *store) skip() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, err := s.state(ctx)
	if err != nil || state.LastSeq <= s.book.last {
		return
	}
	if _, err := s.stream.GetMsg(ctx, s.book.last+1, js.WithGetMsgSubject(s.prefix+">")); errors.Is(err, js.ErrMsgNotFound) {
		if s.guessed == 0 {
			s.guessed = s.book.last + 1
		}
		s.book.last, s.gap = state.LastSeq, true
	}
}

// hearAll enters the messages before one of this store, from the first one that skip has passed over. A server that knows this one knows all before it.
func (s *store) hearAll(own uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		m, err := s.stream.GetMsg(ctx, s.guessed, js.WithGetMsgSubject(s.prefix+">"))
		if errors.Is(err, js.ErrMsgNotFound) && ctx.Err() == nil { // it is there: another server is to be asked
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		if m.Sequence >= own {
			return nil
		}
		s.enter(message{m.Sequence, m.Subject, m.Header, m.Data})
		s.guessed = m.Sequence + 1
	}
}

// beat says that this store is there, until it does not lead any more.
func (s *store) beat(stop chan struct{}) {
	tick := time.NewTicker(s.lease / 4)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		_ = s.write(s.says(kindBeat), "lead", nil, min(s.lease, patience))
		s.mu.Unlock()
	}
}

// send sends a message that is to stand after the last one that is known, and returns where it stands.
func (s *store) send(header nats.Header, subject string, data []byte, patience time.Duration) (uint64, error) {
	if !s.conn.IsConnected() {
		return 0, nats.ErrDisconnected // it is not to be sent later
	}
	header.Set(headFrom, s.id)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ack, err := s.api.PublishMsg(ctx, &nats.Msg{Subject: s.prefix + subject, Header: header, Data: data}, js.WithExpectLastSequence(s.book.last), js.WithRetryAttempts(0))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// refused reports whether the server says that another message stands there.
func refused(err error) bool {
	var e *js.APIError
	return errors.As(err, &e) && (e.ErrorCode == 10071 || e.ErrorCode == 10164)
}

// write sends a message if this store leads, and enters it. The lock is held.
func (s *store) write(header nats.Header, subject string, data []byte, patience time.Duration) (err error) {
	switch {
	case s.lost != nil:
		return s.lost
	case !s.leads:
		return visible.Errorf("jetstream: %s leads: %w", visible.Text(s.book.who), journal.ErrLocked)
	case s.unsure:
		if err := s.catchUp(); err != nil {
			return err
		}
	}
	for range 3 { // what was sent before may come late
		var seq uint64
		if seq, err = s.send(header, subject, data, patience); err == nil {
			s.enter(message{seq, s.prefix + subject, header, data})
			return nil
		}
		if errors.Is(err, nats.ErrDisconnected) {
			break // it was not sent
		}
		s.unsure = true
		if !refused(err) {
			break
		}
		if err := s.catchUp(); err != nil {
			return err
		}
	}
	return visible.Errorf("jetstream: %w", err)
}

// catchUp enters messages that were sent, of which no answer came. If another store has written any, this one does not lead any more.
func (s *store) catchUp() error {
	if !s.conn.IsConnected() {
		return visible.Errorf("jetstream: %w", nats.ErrDisconnected)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	state, err := s.state(ctx) // before it is asked what is there
	if err != nil {
		return visible.Errorf("jetstream: %w", err)
	}
	for {
		m, err := s.stream.GetMsg(ctx, s.book.last+1, js.WithGetMsgSubject(s.prefix+">"))
		if errors.Is(err, js.ErrMsgNotFound) {
			if state.LastSeq > s.book.last { // the last message is always there: it is a server that does not know of it
				return visible.Errorf("jetstream: %s: message %d is there, says one server, and none after %d, says another", s.name, state.LastSeq, s.book.last)
			}
			s.unsure = false
			return nil
		}
		if err != nil {
			return visible.Errorf("jetstream: %w", err)
		}
		if m.Header.Get(headFrom) != s.id {
			s.lose(m.Header.Get(headWho))
			return s.lost
		}
		s.enter(message{m.Sequence, m.Subject, m.Header, m.Data})
	}
}

// lose enters that another store leads.
func (s *store) lose(who string) {
	if who == "" {
		who = "another process"
	}
	s.lost = visible.Errorf("jetstream: %s leads, and this process does not any more: %w", visible.Text(who), journal.ErrLocked)
	s.release()
	if s.told != nil {
		s.told(s.lost)
	}
}

func (s *store) release() {
	if s.stop != nil {
		close(s.stop)
		s.stop = nil
	}
}

// Leader returns how the process that leads calls itself.
func (s *store) Leader() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return visible.Text(s.book.who)
}

// Name returns the name of the journal and the number of the segment.
func (s *store) Name(segment uint64) string { return fmt.Sprintf("%s: segment %d", s.name, segment) }

func (s *store) Segments() ([]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hear()
	if s.gap {
		s.forget()
	}
	return slices.Sorted(maps.Keys(s.book.segments)), nil
}

// forget forgets the segments of which no message is left: a beat takes the place of the message that removes a segment, and who is late never hears of
// it. If no server can say now, it is asked the next time. The lock is held.
func (s *store) forget() {
	if !s.conn.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stream, err := s.api.Stream(ctx, "SOJOURN_"+s.name)
	if err != nil {
		return
	}
	info, err := stream.Info(ctx, js.WithSubjectFilter(s.prefix+">"))
	if err != nil {
		return
	}
	s.gap = false
	for n, c := range s.book.segments { //sojourn:unordered each by itself
		switch {
		case info.State.Subjects[s.prefix+strconv.FormatUint(n, 10)] > 0:
		case c.last > info.State.LastSeq: // this server does not know of it yet
			s.gap = true
		default:
			delete(s.book.segments, n)
			delete(s.book.groups, n)
		}
	}
}

func (s *store) content(segment uint64) (content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.book.segments[segment]
	if c == nil {
		return content{}, visible.Errorf("%s: %w", s.Name(segment), fs.ErrNotExist)
	}
	return *c, nil
}

// Read reads the messages of a segment.
func (s *store) Read(segment uint64) ([]byte, error) {
	c, err := s.content(segment)
	if err != nil {
		return nil, err
	}
	return s.read(segment, c)
}

func (s *store) read(segment uint64, c content) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := reading{s: s, segment: segment, book: newBook(math.MaxInt)}
	for from := c.first; ; from = max(c.first, r.book.last+1) {
		err := r.some(ctx, from, c.last)
		if err == nil {
			break
		}
		if now, e := s.content(segment); e != nil || now.first != c.first || errors.Is(err, fs.ErrNotExist) {
			return nil, visible.Errorf("%s: %w", s.Name(segment), fs.ErrNotExist) // it was replaced or removed meanwhile
		}
		if !errors.Is(err, errLate) {
			return nil, visible.Errorf("%s: %w", s.Name(segment), err)
		}
	}
	if int64(len(r.data)) != c.size {
		return nil, visible.Errorf("%s: it has %d bytes, and should have %d", s.Name(segment), len(r.data), c.size)
	}
	return r.data, nil
}

// A reading is messages of a segment that are being read.
type reading struct {
	s       *store
	segment uint64
	book    book
	data    []byte
}

var errLate = errors.New("jetstream: the server that was asked does not have all yet")

// some reads messages up to the last one. The server that sends them may be one that has not got all of them yet, or that ends meanwhile: then the error is errLate.
func (r *reading) some(ctx context.Context, from, last uint64) error {
	s := r.s
	consumer, err := s.consumer(ctx, js.OrderedConsumerConfig{FilterSubjects: []string{s.prefix + strconv.FormatUint(r.segment, 10)},
		DeliverPolicy: js.DeliverByStartSequencePolicy, OptStartSeq: from})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for left := consumer.CachedInfo().NumPending; r.book.last < last; {
		if left == 0 {
			return r.late(ctx, last)
		}
		m, err := messages.Next(js.NextMaxWait(patience))
		if errors.Is(err, nats.ErrTimeout) && s.conn.IsConnected() && ctx.Err() == nil {
			return errLate
		}
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		if left = meta.NumPending; meta.Sequence.Stream > last {
			return fs.ErrNotExist
		}
		if r.book.enter(message{meta.Sequence.Stream, m.Subject()[len(s.prefix):], m.Headers(), m.Data()}) > 0 {
			x := r.book.segments[r.segment]
			r.data = append(r.data, x.tail...)
			x.tail = nil
		}
	}
	return nil
}

// late returns errLate, after a while, if the server that leads the stream has a message that another one does not have.
func (r *reading) late(ctx context.Context, seq uint64) error {
	if _, err := r.s.stream.GetMsg(ctx, seq); errors.Is(err, js.ErrMsgNotFound) {
		return fs.ErrNotExist
	} else if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(20 * time.Millisecond):
		return errLate
	}
}

// ReadAt reads from what is kept of the end of a segment, or else all of it. Messages of a segment are purged when it has its state or is removed. Who has not heard
// of that yet may know the segment without its end, and the next one: so nothing is new until all was heard.
func (s *store) ReadAt(segment uint64, b []byte, offset int64) (int, error) {
	s.mu.Lock()
	s.hear()
	c := s.book.segments[segment]
	if c == nil || c.seen != 0 && c.seen != c.first {
		if c != nil {
			c.seen = 0
		}
		s.mu.Unlock()
		return 0, visible.Errorf("%s: %w", s.Name(segment), fs.ErrNotExist)
	}
	c.seen = c.first
	if s.behind {
		s.mu.Unlock()
		return 0, io.EOF
	}
	from := c.size - int64(len(c.tail))
	if offset >= from {
		skip := min(offset-from, int64(len(c.tail)))
		n := copy(b, c.tail[skip:])
		c.tail = c.tail[skip:] // who follows does not go back
		s.mu.Unlock()
		if n < len(b) {
			return n, io.EOF
		}
		return n, nil
	}
	known := *c
	s.mu.Unlock()
	data, err := s.read(segment, known)
	if err != nil {
		return 0, err
	}
	n := copy(b, data[min(offset, int64(len(data))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// put writes bytes to a segment, in as many messages as it takes.
func (s *store) put(kind string, segment uint64, data []byte) error {
	part := part
	if most := int(s.conn.MaxPayload()); most >= leastMax {
		part = min(part, most-leastMax/2) // the headers take some of it
	}
	if most := int(s.stream.CachedInfo().Config.MaxMsgSize); most >= leastMax {
		part = min(part, most-leastMax/2)
	}
	last := max(len(data)-1, 0) / part
	for left := last; left >= 0; left-- {
		n := min(len(data), part)
		header := nats.Header{headKind: {kind}, headLeft: {strconv.Itoa(left)}}
		if left == last {
			header.Set(headFirst, "1")
		}
		s.mu.Lock()
		err := s.write(header, strconv.FormatUint(segment, 10), data[:n], patience)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (s *store) Create(segment uint64, data []byte) error {
	if err := s.put(kindCreate, segment, data); err != nil {
		return err
	}
	if c, err := s.content(segment); err == nil {
		s.purge(segment, js.WithPurgeSequence(c.first))
	}
	return nil
}

// purge removes messages that say nothing any more. If it cannot, they stay.
func (s *store) purge(segment uint64, o ...js.StreamPurgeOpt) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = s.stream.Purge(ctx, append(o, js.WithPurgeSubject(s.prefix+strconv.FormatUint(segment, 10)))...)
}

func (s *store) Append(segment uint64, data []byte) error { return s.put(kindAppend, segment, data) }

// Sync does nothing: what the server has acknowledged is durable.
func (s *store) Sync(uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

func (s *store) Remove(segment uint64) error {
	header := s.says(kindRemove) // it takes the place of the last beat
	header.Set(headOf, strconv.FormatUint(segment, 10))
	s.mu.Lock()
	err := s.write(header, "lead", nil, patience)
	s.mu.Unlock()
	if err == nil {
		s.purge(segment)
	}
	return err
}

// Close says that this process does not lead any more.
func (s *store) Close() error {
	s.mu.Lock()
	s.free()
	if !errors.Is(s.lost, journal.ErrClosed) {
		close(s.quit)
	}
	s.lost = visible.Errorf("jetstream: %w", journal.ErrClosed)
	messages := s.messages
	s.mu.Unlock()
	messages.Stop()
	s.ended.Wait()
	return nil
}
