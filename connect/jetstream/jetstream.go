package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/journal"
)

// Options of a store. The zero Options are valid.
type Options struct {
	// Replicas is how many servers keep the stream, if Open makes it. Zero means 1.
	Replicas int

	// Lease is for how long nothing is heard from the process that leads before another one tries to take over. Zero means 1 s; others are at
	// least 10 ms. If those of two processes differ, the longer one counts.
	Lease time.Duration

	// Who is how other processes name this one. Empty means the number of the process and the name of the machine.
	Who string
}

// Headers of messages.
const (
	headKind  = "Sojourn-Kind"
	headFrom  = "Sojourn-From"  // which store has written it
	headWho   = "Sojourn-Who"   // of kindLead, kindBeat and kindRemove: the same, for people
	headFirst = "Sojourn-First" // with this message a write begins
	headLeft  = "Sojourn-Left"  // how many messages follow that belong to it
	headOf    = "Sojourn-Of"    // of kindRemove: the segment
	headLease = "Sojourn-Lease" // of the same: the lease of who leads
)

// Kinds of messages. Those of segments have the subject PREFIX.NUMBER, all others PREFIX.lead, where only the last one is kept.
const (
	kindCreate = "create" // a segment begins, or begins anew
	kindAppend = "append"
	kindLead   = "lead"   // the store leads from here on
	kindBeat   = "beat"   // it is still there
	kindFree   = "free"   // it has ended in order
	kindRemove = "remove" // a segment
)

const (
	part     = 256 << 10       // of a segment, in one message, or less if the server takes less
	leastMax = 16 << 10        // what the server has to take in one message
	patience = 5 * time.Second // for an answer of the server
	mostKept = 64 << 20        // bytes of a segment that are kept for who follows
)

// Open opens the journal of a name, and makes its stream, SOJOURN_NAME with the subjects sojourn.NAME.>, if there is none. A name has letters, digits, - and _. The
// connection stays the caller's. Close of the store says that this process does not lead any more. A stream that is there must be as Open
// would have made it, but for the number of servers: the error names what is not (TestForeignStream).
func Open(ctx context.Context, conn *nats.Conn, name string, o Options) (journal.Store, error) {
	if name == "" || strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		return nil, visible.Errorf("jetstream: name %q: want letters, digits, - and _", name)
	}
	if o.Replicas < 0 || o.Lease < 0 {
		return nil, fmt.Errorf("jetstream: %d replicas, a lease of %v: want none that is negative", o.Replicas, o.Lease)
	}
	if o.Lease > 0 && o.Lease < 10*time.Millisecond {
		return nil, fmt.Errorf("jetstream: a lease of %v: want at least 10ms; a number without a unit counts nanoseconds", o.Lease)
	}
	if o.Lease == 0 {
		o.Lease = time.Second
	}
	if most := conn.MaxPayload(); most > 0 && most < leastMax { // 0: it is not connected yet
		return nil, fmt.Errorf("jetstream: the server takes messages of %d bytes: want a max_payload of at least %d", most, leastMax)
	}
	if o.Who == "" {
		host, _ := os.Hostname()
		o.Who = fmt.Sprintf("process %d on %s", os.Getpid(), host)
	}
	api, err := js.New(conn)
	if err != nil {
		return nil, visible.Errorf("jetstream: %w", err)
	}
	s := &store{conn: conn, api: api, name: name, prefix: "sojourn." + name + ".", lease: o.Lease, who: o.Who, id: rand.Text(), book: newBook(mostKept), quit: make(chan struct{})}
	s.stream, err = api.Stream(ctx, "SOJOURN_"+name)
	if errors.Is(err, js.ErrStreamNotFound) {
		s.stream, err = api.CreateStream(ctx, js.StreamConfig{Name: "SOJOURN_" + name, Subjects: []string{s.prefix + ">"}, Storage: js.FileStorage,
			Replicas: max(o.Replicas, 1), AllowRollup: true, Description: "a journal of sojourn"})
		if errors.Is(err, js.ErrStreamNameAlreadyInUse) {
			s.stream, err = api.Stream(ctx, "SOJOURN_"+name)
		}
	}
	if err == nil {
		err = s.fits()
	}
	if err == nil {
		err = s.follow(ctx)
	}
	if err != nil {
		return nil, visible.Errorf("jetstream: %w", err)
	}
	return s, nil
}

// fits returns why the stream cannot keep a journal.
func (s *store) fits() error {
	c := s.stream.CachedInfo().Config
	bad := ""
	switch {
	case !slices.Equal(c.Subjects, []string{s.prefix + ">"}):
		bad = fmt.Sprintf("the subjects %q: want %q", c.Subjects, s.prefix+">")
	case !c.AllowRollup || c.DenyPurge || c.DenyDelete:
		bad = "no roll-ups, purges or deletions: allow them"
	case c.Retention != js.LimitsPolicy || c.MaxAge > 0 || c.MaxMsgs > 0 || c.MaxMsgsPerSubject > 0 || c.MaxBytes > 0 && c.Discard != js.DiscardNew:
		bad = "limits by which it would lose messages"
	case c.MaxMsgSize > 0 && c.MaxMsgSize < leastMax:
		bad = fmt.Sprintf("messages of at most %d bytes: want %d", c.MaxMsgSize, leastMax)
	case c.Storage != js.FileStorage:
		bad = "its messages in memory: want them in files"
	case c.AllowDirect:
		bad = "direct access: forbid it, or a server answers that does not have the last messages"
	case c.Sealed || c.NoAck || c.Mirror != nil || len(c.Sources) > 0 || c.SubjectTransform != nil:
		bad = "a mirror, a source, a transformation of subjects, a seal or no acknowledgements"
	default:
		return nil
	}
	return fmt.Errorf("stream %s has %s", c.Name, bad)
}

// A content is what is known of a segment.
type content struct {
	first, last uint64 // messages
	size        int64
	tail        []byte // the last bytes, for who follows
	seen        uint64 // first, when ReadAt was called; 0: it was not
}

// keep keeps bytes at the end.
func (c *content) keep(data []byte, most int) {
	if c.size += int64(len(data)); len(c.tail)+len(data) > most {
		c.tail = nil
		return
	}
	c.tail = append(c.tail, data...)
}

// A group is messages that belong together, of which the last one has not come.
type group struct {
	kind  string
	from  string
	first uint64
	left  int
	data  []byte
}

// A book is what the messages of a stream say, up to one of them.
type book struct {
	last     uint64 // the message
	segments map[uint64]*content
	groups   map[uint64]*group
	leader   string // the store that leads, and its name for people
	who      string
	free     bool // it has ended in order, or nobody has led
	lease    time.Duration
	most     int // bytes of a segment that are kept
}

func newBook(most int) book {
	return book{segments: map[uint64]*content{}, groups: map[uint64]*group{}, free: true, most: most}
}

// A message is one of the stream.
type message struct {
	seq     uint64
	subject string // after the prefix
	header  nats.Header
	data    []byte
}

// enter enters the next message. It returns the segment that is complete with it; 0: none is.
func (b *book) enter(m message) (done uint64) {
	b.last = m.seq
	kind, from := m.header.Get(headKind), m.header.Get(headFrom)
	if m.subject == "lead" {
		switch kind {
		case kindLead, kindBeat, kindRemove:
			b.leader, b.who, b.free = from, m.header.Get(headWho), false
			b.lease, _ = time.ParseDuration(m.header.Get(headLease))
		case kindFree:
			b.free = true
		}
		switch kind {
		case kindLead:
			clear(b.groups) // of the one before, who does not end them
		case kindRemove:
			n, _ := strconv.ParseUint(m.header.Get(headOf), 10, 64)
			delete(b.segments, n)
			delete(b.groups, n)
		}
		return 0
	}
	n, err := strconv.ParseUint(m.subject, 10, 64)
	left, e := strconv.Atoi(m.header.Get(headLeft))
	if err != nil || e != nil {
		return 0
	}
	g := b.groups[n]
	switch {
	case m.header.Get(headFirst) != "": // if another one had begun, it never ended
		g = &group{kind: kind, from: from, first: m.seq}
	case g == nil || g.kind != kind || g.from != from || g.left != left+1:
		return 0
	}
	g.left = left
	g.data = append(g.data, m.data...)
	if left > 0 {
		b.groups[n] = g
		return 0
	}
	delete(b.groups, n)
	c := b.segments[n]
	switch {
	case kind == kindCreate:
		was := c
		c = &content{first: g.first}
		if was != nil {
			c.seen = was.seen
		}
		b.segments[n] = c
	case c == nil:
		return 0
	}
	c.last = m.seq
	c.keep(g.data, b.most)
	return n
}
