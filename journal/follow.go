package journal

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// FollowFiles opens the folder of a journal for a process that may have to wait for it: for a standby. If no other process has it open, it is
// as [OpenFiles]. Otherwise Open follows that process: see [Journal.Follow]. The error wraps [errors.ErrUnsupported] on platforms where files
// have no locks for this package, such as Windows, since two processes would write then. The file system must have them, too: on NFS
// that is so if locks are not local to each machine.
func FollowFiles(dir string) (Store, error) {
	if !locksFiles {
		return nil, fmt.Errorf("journal: %w: files have no locks here, so that nothing would keep two processes apart", errors.ErrUnsupported)
	}
	dir, err := makeFolder(dir)
	if err != nil {
		return nil, err
	}
	return &followed{files: files{folder: osFolder(dir), dir: dir, readOnly: true}, reading: map[uint64]*os.File{}}, nil
}

// A shared store is one that several processes have open, one of which leads. Store says what the methods do.
type shared interface {
	Store
	Lead() error
	Leader() string
	Yield()
	ReadAt(segment uint64, b []byte, offset int64) (int, error)
}

// halfShared returns an error if a store says who leads, and has not all methods of a shared one.
func halfShared(s Store) error {
	if _, ok := s.(shared); ok {
		return nil
	}
	var has, lacks []string
	is := func(name string, ok bool) {
		if ok {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	_, ok := s.(interface{ Lead() error })
	is("Lead", ok)
	_, ok = s.(interface{ Leader() string })
	is("Leader", ok)
	_, ok = s.(interface {
		ReadAt(segment uint64, b []byte, offset int64) (int, error)
	})
	is("ReadAt", ok)
	_, ok = s.(interface{ Yield() })
	is("Yield", ok)
	if !slices.Contains(has, "Lead") && !slices.Contains(has, "Leader") { // a store of one process may have the others
		return nil
	}
	list := func(names []string) string {
		last := len(names) - 1
		if last == 0 {
			return names[0]
		}
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return fmt.Errorf("journal: a %T has %s, but not %s: a store that several processes have open has all four", s, list(has), list(lacks))
}

// followed is a folder whose lock is waited for.
type followed struct {
	files
	reading map[uint64]*os.File // two at most: who follows looks whether there is a next one
	closed  bool
}

// Lead takes the lock.
func (s *followed) Lead() error {
	switch {
	case s.closed:
		return visible.Errorf("journal: %w", ErrClosed)
	case !s.readOnly:
		return nil
	}
	l, err := s.lock()
	if err != nil {
		return visible.Errorf("journal: %s: %w", s.dir, err)
	}
	s.locked, s.readOnly = l, false
	return nil
}

// Leader returns what the process that has the lock has written into it.
func (s *followed) Leader() string {
	data, _ := s.read(lockName)
	return visible.Text(strings.TrimSpace(string(data[:min(len(data), 200)])))
}

// ReadAt reads the file that it has read before, and then says if there is another one of this name.
func (s *followed) ReadAt(segment uint64, b []byte, offset int64) (n int, err error) {
	f := s.reading[segment]
	if f == nil {
		if f, err = os.Open(s.Name(segment)); err != nil {
			return 0, err
		}
		s.stopReading(func(n uint64) bool { return n+1 < segment })
		s.reading[segment] = f
	}
	n, err = f.ReadAt(b, offset)
	if err != nil && err != io.EOF {
		return n, err
	}
	was, e := f.Stat()
	if e != nil {
		return n, e
	}
	if now, e := os.Stat(s.Name(segment)); e != nil || !os.SameFile(was, now) {
		s.stopReading(func(n uint64) bool { return n == segment })
		return 0, fs.ErrNotExist
	}
	return n, err
}

func (s *followed) stopReading(which func(uint64) bool) {
	for n, f := range s.reading { //sojourn:unordered each by itself
		if which(n) {
			f.Close()
			delete(s.reading, n)
		}
	}
}

func (s *followed) Close() error {
	s.closed = true
	s.stopReading(func(uint64) bool { return true })
	return s.files.Close()
}

// A standby follows what the process that leads writes.
type standby struct {
	store  shared
	policy sojourn.Policy
	blank  []byte   // its snapshot when it was new, with the policies of the code; nil if it has none
	used   bool     // it is not new any more
	at     *segment // that is read; nil if nothing has been
	sum    uint32   // the checksum of what was used of it
	cold   error    // why the policy is not what it was at the end of what was read; nil if it is
	buf    []byte

	unread  error // why there may be more to read than is used; nil: it has all, unless cold
	differs bool  // it is cold because of the policy: to read the same again changes nothing
	nap     int   // calls of Follow after which what could not be read is read again
	rest    int   // of these

	why   error // it cannot lead, though no other process does, as far as this one knows
	pause int   // calls of Follow without a try, after the last one
	left  int   // of these
}

const (
	firstPause = 4 // calls
	mostPause  = 2048
)

// A standbyError says that another process leads.
type standbyError struct {
	leader string
	cold   error
	why    error
}

func (e *standbyError) Error() string {
	s := "journal: a standby"
	if e.leader != "" {
		s += ": " + e.leader + " leads"
	}
	if e.why != nil {
		return s + "; this process cannot: " + e.why.Error()
	}
	if e.cold != nil {
		s += "; taking over will take as long as a start: " + e.cold.Error()
	}
	return s
}

func (e *standbyError) Unwrap() []error { return []error{ErrLocked, e.why} }

// Standby returns true: whoever calls Follow again may succeed.
func (e *standbyError) Standby() bool { return true }

// CanLead reports whether this process has not just tried in vain to take over.
func (e *standbyError) CanLead() bool { return e.why == nil }

// standBy makes a journal that follows.
func (j *Journal) standBy(s shared, p sojourn.Policy) error {
	y := &standby{store: s, policy: p}
	if saves, ok := sojourn.As[sojourn.Snapshotter](p); ok {
		if b, err := saves.AppendBinary(nil); err == nil {
			y.blank = b
		}
	}
	j.acc = account.New(p)
	j.standby = y
	j.log.failed.Store(true)
	j.log.err = &standbyError{leader: s.Leader()}
	if err := j.Follow(); err != nil && !errors.Is(err, ErrLocked) {
		return err
	}
	return nil
}

// Follow reads what the process that leads has written since, and takes its place if it has gone. It returns nil if this process leads:
// then the journal has all that the other one has written, and goes on as one that Open has restored. Otherwise the error wraps [ErrLocked] and
// says who leads, if that is known, or why this process cannot; call Follow again soon. Until then Observe and all that would change the journal
// return that error, and Assign declines. After any other error the journal is of no use.
//
// Taking over takes no longer than a write of the last segment, if the policy is the same with the same options as that of the process that
// leads, and that one has Options.Another. Otherwise it may take as long as Open. If it fails, as on a full disk, another process may try, and
// this one tries again, after 4 more calls, then after 8, at the most after 2,048.
//
// If it cannot read what there is, it says why, and reads again: soon, or, where it has to begin anew, after as many calls.
//
// TestFollow, TestFollowAnother, TestTakeoverFails, TestFollowUnreadable
func (j *Journal) Follow() error {
	j.following.Lock()
	defer j.following.Unlock()
	y := j.standby
	if y == nil {
		return j.log.failure()
	}
	y.read(j)
	if y.left > 0 {
		y.left--
		return j.waits(y)
	}
	err := y.store.Lead()
	if err == nil {
		if err = j.takeOver(y); err == nil {
			j.log.begins(j.opts.Retry)
			return nil
		}
		y.store.Yield()
		if !y.forget(j, err) {
			return j.log.failure()
		}
	}
	if y.why = err; errors.Is(err, ErrLocked) {
		y.why, y.pause = nil, 0
	}
	return j.waits(y)
}

// waits returns that this process does not lead.
func (j *Journal) waits(y *standby) error {
	err := &standbyError{y.store.Leader(), cmp.Or(y.cold, y.unread), y.why}
	j.log.mu.Lock()
	defer j.log.mu.Unlock()
	j.log.err = err
	return err
}

// takeOver goes on with what the process before has written.
func (j *Journal) takeOver(y *standby) error {
	l := &j.log
	l.mu.Lock()
	j.standby, l.err = nil, nil
	l.mu.Unlock()
	err := y.lead(j)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		err = l.err
	}
	l.err = err
	l.failed.Store(err != nil)
	return err
}

// forget makes the journal a standby again that has read nothing, after it could not lead. It reports false if it cannot.
func (y *standby) forget(j *Journal, why error) bool {
	if err := y.renew(j); err != nil {
		return false
	}
	j.standby, j.acc = y, account.New(y.policy)
	y.at, y.cold, y.differs = nil, why, true
	if list, err := y.store.Segments(); err == nil && len(list) > 0 {
		y.at = &segment{number: list[len(list)-1]} // it is not read again before it is tried again
	}
	y.pause = min(max(2*y.pause, firstPause), mostPause)
	y.left = y.pause
	return true
}

// read uses what there is. If that is not possible, y.cold or y.unread says why.
func (y *standby) read(j *Journal) {
	y.unread = nil
	for tries := 0; tries < 3; tries++ {
		if y.at == nil || y.cold != nil {
			list, err := y.store.Segments()
			if err != nil || len(list) == 0 {
				return
			}
			if y.at != nil && y.at.number == list[len(list)-1] { // there is nothing new
				if y.rest--; y.differs || y.rest >= 0 {
					return
				}
			}
			if y.cold = y.load(j, list[len(list)-1]); y.cold != nil {
				y.at = nil // what was read may have been replaced meanwhile
				if !errors.Is(y.cold, fs.ErrNotExist) && !errors.Is(y.cold, ErrMissing) {
					y.at = &segment{number: list[len(list)-1]}
					y.tire()
				}
				continue
			}
			y.nap = 0
		}
		if y.cold = y.advance(j); y.cold == nil {
			return
		}
		if errors.Is(y.cold, fs.ErrNotExist) {
			y.at = nil // it was replaced by its state
		} else {
			y.tire()
		}
	}
}

// tire lets some calls pass before what could not be read is read again.
func (y *standby) tire() {
	y.nap = min(max(2*y.nap, firstPause), mostPause)
	y.rest = y.nap
}

// asks asks the policy again.
func (y *standby) asks(read func() error) error {
	err := read()
	bad := (*DamageError)(nil)
	y.differs = err != nil && !errors.As(err, &bad)
	return err
}

// renew makes the policy new.
func (y *standby) renew(j *Journal) error {
	if !y.used {
		y.used = true
		return nil
	}
	saves, ok := sojourn.As[sojourn.Snapshotter](y.policy)
	if !ok || y.blank == nil {
		return errors.New("the policy has no snapshots")
	}
	if err := j.enforce(nil); err != nil {
		return err
	}
	return saves.UnmarshalBinary(y.blank)
}

// load makes the policy what it was at the end of a segment.
func (y *standby) load(j *Journal, number uint64) error {
	if err := y.asks(func() error { return y.renew(j) }); err != nil {
		return err
	}
	if _, err := y.store.ReadAt(number, make([]byte, 1), 0); err != nil && err != io.EOF { // so that the next ReadAt says whether it was replaced after it was read
		return err
	}
	c, err := openChain(y.store, number)
	if err != nil {
		return err
	}
	j.head = c.last().head
	if err := y.asks(func() error { return j.enforce(c[0].head.names) }); err != nil {
		return err
	}
	if err := y.asks(func() error { return j.replay(c, y.policy) }); err != nil {
		return err
	}
	g := c.last()
	y.sum = crc32.Checksum(g.data[:g.at], castagnoli)
	y.at = &segment{file: g.file, number: g.number, from: g.at, at: g.at, body: g.body, trace: g.trace, ended: g.ended}
	y.at.dec.last = g.dec.last
	return nil
}

// advance uses what was appended since.
func (y *standby) advance(j *Journal) error {
	for {
		g := y.at
		_, err := y.store.ReadAt(g.number+1, make([]byte, 1), 0)
		next := err == nil // then the segment is whole
		for more := true; more; {
			if more, err = y.use(j, g); err != nil {
				return err
			}
		}
		if !next || y.unread != nil {
			return nil
		}
		if len(g.data) > 0 {
			return fs.ErrNotExist
		}
		h, err := openSegment(y.store, g.number+1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !final(err) {
			y.unread = err
			return nil
		}
		if err != nil {
			return err
		}
		if !h.follows {
			return fs.ErrNotExist // its state may be another one
		}
		j.head = h.head
		y.sum = crc32.Checksum(h.data[:h.at], castagnoli)
		y.at = &segment{file: h.file, number: h.number, from: h.at, at: h.at, body: h.body, trace: h.trace}
		y.at.dec.last = h.dec.last
	}
}

// use uses some more of a segment, and reports whether there was any.
func (y *standby) use(j *Journal, g *segment) (more bool, err error) {
	if y.buf == nil {
		y.buf = make([]byte, 4*overflow)
	}
	n, err := y.store.ReadAt(g.number, y.buf, g.end())
	if errors.Is(err, fs.ErrNotExist) {
		g.data = nil // it may have been cut off
		return true, y.again(g)
	}
	if err != nil && err != io.EOF {
		y.unread = err
		return false, nil
	}
	g.data = append(g.data, y.buf[:n]...)
	g.torn = false
	start := g.at
	defer func() {
		used := int(g.at - start)
		y.sum = crc32.Update(y.sum, castagnoli, g.data[:used])
		g.data = append(g.data[:0], g.data[used:]...)
		g.from = g.at
	}()
	return n > 0, y.asks(func() error { return ask(func() error { return g.read((*asker)(j)) }) })
}

// again goes on with a segment that was written anew, if it begins with what was used of it. If not, it was replaced by its state or removed, and the error is
// [fs.ErrNotExist].
func (y *standby) again(g *segment) error {
	b := make([]byte, g.at)
	n, err := y.store.ReadAt(g.number, b, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < len(b) || crc32.Checksum(b, castagnoli) != y.sum {
		return fs.ErrNotExist
	}
	return nil
}

// lead takes over. Nobody else writes.
func (y *standby) lead(j *Journal) error {
	list, err := y.store.Segments()
	if err != nil {
		return visible.Errorf("journal: %w", err)
	}
	if len(list) == 0 {
		return j.create(y.policy)
	}
	last := list[len(list)-1]
	if y.read(j); y.cold != nil || y.unread != nil || y.at == nil || y.at.number != last {
		return y.restore(j, list)
	}
	data, err := y.store.Read(last)
	g := y.at
	if err != nil || int64(len(data)) < g.at || crc32.Checksum(data[:g.at], castagnoli) != y.sum {
		return y.restore(j, list)
	}
	g.data, g.from = data, 0
	j.pruneUnborn()
	j.restored.Segment = last
	if j.opts.Policy != "" {
		j.head.name = j.opts.Policy
	}
	i := len(list) - 1
	for i > 0 && list[i-1] == list[i]-1 {
		i--
	}
	j.log.base = list[i] // or a later one: those before it are not needed then
	return j.goOn(g)
}

// restore is what Open does.
func (y *standby) restore(j *Journal, list []uint64) error {
	if err := y.renew(j); err != nil {
		return visible.Errorf("journal: %w: open the journal again", err)
	}
	j.restored = Restored{}
	return j.restore(list, y.policy)
}
