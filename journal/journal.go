package journal

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// Options of a journal. The zero Options are valid.
type Options struct {
	// Policy names the policy as the command sojourn does, such as "hfsp:aging=none". Exported
	// histories have it as a header. Nothing else depends on it.
	Policy string

	// Epoch is the instant of Time 0, for a journal that is made anew; an existing one keeps its own. Zero means
	// the beginning of 1970, UTC.
	Epoch time.Time

	// SnapshotBytes is how many bytes are appended before the next segment begins with a snapshot. If the
	// last snapshot was larger, it is that many, so that snapshots are at most half of what is written.
	// 0 means 8 MiB, negative: never.
	SnapshotBytes int64

	// Keep keeps segments when the next one has begun. Then the journal has the whole history.
	Keep bool

	// Another, unless nil, returns another new policy like the one that Open gets, with all that is around it. Then no call waits for
	// a snapshot: a goroutine makes it of what the store has, with a policy of its own, which takes the memory of a second one meanwhile.
	// Read, Create and Remove of a segment must be allowed while a later one is written, as those of OpenFiles are. If that
	// fails, and with Keep, calls take snapshots as without it; so does the call after Swap of a shadow inside. Nobody else may swap what
	// Another returns. It is an error of Open if the policy is not like the other one, or has not as many shadows inside
	// (TestNoPause, TestAnother, TestAnotherShadow).
	Another func() (sojourn.Policy, error)

	// Retry says that the store may fail for a while. The journal goes on in memory meanwhile: Observe and Assign work, and Wait, Flush and
	// Write return an error that has a method Stalled, until one of them, called again, has written everything. So does Attach of what there
	// is no room for. After 64 MiB more than what could not be written at first, and without Retry, an error of the store is the last
	// one (TestRetry, TestRetryOfALargeRecord, TestHostileDisk).
	Retry bool

	// Rebuild makes the policy anew by its facts, whatever snapshots and decisions the journal has. What the
	// policy had learned is lost.
	Rebuild bool

	inline bool // for tests: Another is asked by the call that writes the end of a segment, and all segments are as short as SnapshotBytes says
}

// A Restored says what Open found.
type Restored struct {
	Segment uint64 // the one that was read
	Records int    // read from it: facts, events and decisions
	Cut     int64  // bytes of a write that had never ended, at the end of the segment
	Rebuilt error  // why the policy was made anew by its facts; nil if it is as it was
}

// A Journal is a durable policy. It hides none of the optional interfaces. Like any policy it is
// used by one goroutine at a time, except the methods Wait, Write, Flush and End, which are for all.
type Journal struct {
	acc      *account.Account
	opts     Options
	head     head // of the current segment; of a new one, when it begins
	restored Restored
	owned    attachments
	unborn   []sojourn.JobID // while it is read: among those with attachments, these may not have arrived
	kept     keys

	mu      sync.Mutex    // of what changes the state, if there are shadows, since Wait saves it too then
	shadows []swapper     // that are inside
	swaps   uint64        // of them, when a segment last began
	known   atomic.Uint64 // of them, of which the segment is durable

	blank []byte       // the snapshot of the policy when it was new; nil without Another
	limit atomic.Int64 // bytes until the next segment; none begins if it is not positive
	since int64        // bytes since the last one began

	following sync.Mutex // of Follow and Close
	standby   *standby   // unless nil: another process writes

	log log
}

// A log is what is appended, and how far it has come.
type log struct {
	mu    sync.Mutex
	cond  *sync.Cond
	store Store

	encoder           // of what is not written: buf is the end of that
	spare   []byte    // for buf, while the other is written
	next    *rotation // the segment that begins within buf, if any
	end     int64     // position: bytes that were appended since Open
	written int64     // position: given to the store
	durable int64     // position: synced
	busy    bool      // somebody writes
	sent    bool      // somebody is about to
	err     error     // the last one; nothing is written after it
	failed  atomic.Bool
	leads   bool            // Open or Follow has succeeded
	yielded bool            // nothing is written any more
	over    context.Context // with err as its cause, once leads is true
	cancel  context.CancelCauseFunc
	answers atomic.Int64  // of the store
	latest  atomic.Uint64 // segment

	// With Options.Retry; see mend.go.
	retry     bool
	stall     *stallError // of the last call of lead, if it has failed
	stalledAt int64       // position: the end when that began. What waited then may be one large record
	fails     int         // calls that have failed
	tail      tail        // what was appended to the segment since it was synced; only who writes uses it
	torn      bool        // the end of the segment may be anything
	taken     int64       // position: in the store, or in tail
	due       uint64      // segments before this one are to be removed

	// Of the current segment; only who writes uses them.
	segment uint64
	size    int64
	synced  int64
	marked  int64 // what the latest mark says is synced
	keep    bool

	unwritten []byte // what comes before buf; none, unless the store fails

	base     uint64       // the first segment of the chain
	compact  func(uint64) // unless nil: gives the segment of this number, which has ended, its own state; not for all goroutines
	inline   bool         // the leader calls it; otherwise a goroutine does
	making   bool         // it is being called
	failing  bool         // the last call has failed
	stopping atomic.Bool  // it is to end soon
	stopped  *atomic.Bool // of a journal that only reads: that of the one for which it does
}

// A rotation is a segment that begins at a position.
type rotation struct {
	at      int64
	data    []byte
	follows bool // it has no state: that of the segment before holds
	ended   bool // the segment before says so, or its tail does
	begun   bool
}

// overflow is how many bytes may be appended before a goroutine writes them, even if nobody waits.
const overflow = 256 << 10

// Open makes p durable. p is new: nothing was reported to it. If the store has a journal, p becomes what the policy
// was when the journal ended. It is restored from the snapshot with which the last segment begins, and then asked
// again what it was asked since. If this is another policy, one of another release or with other options, so that
// the snapshot does not fit or the decisions differ, p is told the facts instead, as package account does:
// [Journal.Restored] says so.
//
// If another process has the store of [FollowFiles] open, p becomes what the policy is there, and the journal follows that process:
// see [Journal.Follow].
//
// On an error p is of no use, and the store has not been closed.
func Open(s Store, p sojourn.Policy, o Options) (*Journal, error) {
	switch {
	case p == nil:
		return nil, errors.New("journal: no policy")
	case s == nil:
		return nil, errors.New("journal: no store")
	}
	if err := account.New(p).Err(); err != nil {
		return nil, visible.Errorf("journal: %w", err)
	}
	if err := halfShared(s); err != nil {
		return nil, err
	}
	if o.SnapshotBytes == 0 {
		o.SnapshotBytes = 8 << 20
	}
	j := &Journal{opts: o}
	j.limit.Store(o.SnapshotBytes)
	j.log.store, j.log.keep = s, o.Keep
	j.log.cond = sync.NewCond(&j.log.mu)
	j.log.over, j.log.cancel = context.WithCancelCause(context.Background())
	j.shadows = slices.Collect(sojourn.All[swapper](p))
	j.swaps = j.swapped()
	j.known.Store(j.swaps)
	if s, saves := sojourn.As[sojourn.Snapshotter](p); saves && o.Another != nil && !o.Keep {
		var err error
		if j.blank, err = s.AppendBinary(nil); err == nil {
			_, err = j.another()
		}
		if err != nil {
			return nil, err
		}
		j.log.compact, j.log.inline = j.compact, o.inline
	}
	if s, ok := s.(shared); ok {
		if err := s.Lead(); errors.Is(err, ErrLocked) {
			return j, j.standBy(s, p)
		} else if err != nil {
			return nil, err
		}
	}
	list, err := s.Segments()
	if err != nil {
		return nil, visible.Errorf("journal: %w", err)
	}
	if len(list) == 0 {
		err = j.create(p)
	} else {
		err = j.restore(list, p)
	}
	if err != nil {
		return nil, err
	}
	j.log.begins(o.Retry)
	return j, nil
}

// create makes the first segment.
func (j *Journal) create(p sojourn.Policy) error {
	j.acc = account.New(p)
	epoch := j.opts.Epoch
	if epoch.IsZero() {
		epoch = time.Unix(0, 0)
	}
	j.head = head{segment: 1, epoch: epoch.UnixNano(), name: j.opts.Policy}
	e := encoder{buf: []byte(firstLine)}
	e.head(&j.head)
	e.numbers(kindBegin, 0)
	if err := j.log.store.Create(1, e.buf); err != nil {
		return failure(err)
	}
	j.log.base = 1
	j.log.begin(1, int64(len(e.buf)))
	return nil
}

func (j *Journal) sawJob(ev *sojourn.Event) {
	if ev.Job != nil && ev.Job.ID > j.head.maxJob {
		j.head.maxJob = ev.Job.ID
	}
}

// Observe implements [sojourn.Policy]. It appends an event that the policy accepts. After the store has failed it
// returns that error, and nothing changes.
func (j *Journal) Observe(ev sojourn.Event) error {
	if len(j.shadows) > 0 {
		j.mu.Lock()
		defer j.mu.Unlock()
	}
	if j.log.failed.Load() {
		return j.log.failure()
	}
	if err := j.acc.Observe(ev); err != nil {
		return err
	}
	j.sawJob(&ev)
	j.owned.observe(&ev, j.acc)
	l := &j.log
	l.mu.Lock()
	at := len(l.buf)
	l.event(&ev)
	j.appended(len(l.buf) - at)
	return nil
}

// Assign implements [sojourn.Policy]. It appends a decision to start a task. The driver starts it after
// Wait(End()), if a start is to be durable. After the store has failed it declines.
func (j *Journal) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if len(j.shadows) > 0 {
		j.mu.Lock()
		defer j.mu.Unlock()
	}
	if j.log.failed.Load() {
		return sojourn.Assignment{}, false
	}
	a, ok := j.acc.Assign(id)
	if !ok {
		return a, false
	}
	l := &j.log
	l.mu.Lock()
	at := len(l.buf)
	l.assign(&a)
	j.appended(len(l.buf) - at)
	return a, true
}

// appended counts the bytes of a record, unlocks the log, and does what is then due.
func (j *Journal) appended(n int) {
	l := &j.log
	l.end += int64(n)
	end, much := l.end, l.stall == nil && l.end-int64(n)-l.written > mostUnwritten // who writes may wait for the disk
	send := len(l.buf) >= overflow && l.stall == nil && !l.busy && !l.sent
	l.sent = l.sent || send
	busy, failing := l.next != nil || l.making, l.failing
	if l.stall != nil && l.err == nil && l.end-l.stalledAt > mostUnwritten {
		l.abandon(failure(l.stall.err))
	}
	stalled := l.stall != nil
	l.mu.Unlock()
	if j.since += int64(n); !busy && j.limit.Load() > 0 && j.since >= j.limit.Load() {
		j.since = 0
		if l.compact != nil && !failing {
			j.follow()
		} else {
			_ = j.snapshot(false) // if the policy cannot be saved now, another time it may
		}
	}
	if len(j.shadows) > 0 && !stalled {
		j.saveSwapped()
	}
	switch {
	case much:
		j.note(l.advance(end, false)) // the next call returns the error
	case send:
		go j.spill()
	}
}

// spill writes what nobody has waited for, as long as it is much. It is not for the driver, who may hold a lock: the store may never answer.
func (j *Journal) spill() {
	l := &j.log
	for {
		l.mu.Lock()
		end := l.end
		l.sent = len(l.buf) >= overflow && l.stall == nil && l.err == nil
		more := l.sent
		l.mu.Unlock()
		if !more {
			return
		}
		_ = j.note(l.advance(end, false)) // the next call returns the error
	}
}

// A swapper is a shadow inside, whose policy may be exchanged. Its methods are for all goroutines.
type swapper interface {
	Active() (name string, swaps uint64)
	Swap(name string) error
}

// swapped returns how often policies have taken over.
func (j *Journal) swapped() (n uint64) {
	for _, s := range j.shadows {
		_, k := s.Active()
		n += k
	}
	return n
}

// names returns those of the policies in force inside of shadows; nil if all are those of the code.
func (j *Journal) names() (list []string) {
	for i, s := range j.shadows {
		name, _ := s.Active()
		if name != "" && list == nil {
			list = make([]string, i, len(j.shadows))
		}
		if list != nil {
			list = append(list, name)
		}
	}
	return list
}

// enforce puts the policies of the names in force. The policy is new.
func (j *Journal) enforce(names []string) error {
	for i, s := range j.shadows {
		want := ""
		if i < len(names) {
			want = names[i]
		}
		if name, _ := s.Active(); name == want {
			continue
		}
		if err := s.Swap(want); err != nil {
			return &unnamedError{want, err}
		}
	}
	j.swaps = j.swapped()
	j.known.Store(j.swaps)
	return nil
}

// An unnamedError says that a policy cannot be made which a swap had put in force.
type unnamedError struct {
	name string
	err  error
}

func (e *unnamedError) Error() string {
	return visible.Errorf("journal: the policy %q decided when the journal ended: %w: let shadow.Options.Policy make it, or open the journal with Options.Rebuild, which goes on with the policy of the code",
		e.name, e.err).Error()
}

func (e *unnamedError) Unwrap() error { return e.err }

// saveSwapped begins a segment if another policy has taken over inside, so that Open does not ask one policy what another one decided. If another
// segment is about to begin, which has the policy before, the next call does it: nobody waits here.
func (j *Journal) saveSwapped() {
	n := j.swapped()
	if n == j.swaps {
		return
	}
	l := &j.log
	l.mu.Lock()
	busy := l.next != nil
	l.mu.Unlock()
	if busy {
		return
	}
	j.swaps = n
	if err := j.snapshot(false); err != nil {
		_ = j.snapshot(true) // Open then makes a policy anew by the facts, and says so
	}
}

// keepSwapped returns when it is durable which policy is in force.
func (j *Journal) keepSwapped() error {
	for n := j.swapped(); n > j.known.Load() && !j.log.failed.Load(); {
		j.mu.Lock()
		j.saveSwapped()
		begun := j.swaps >= n
		j.mu.Unlock()
		if err := j.log.settle(); err != nil {
			return err
		}
		if begun {
			j.known.Store(n)
		}
	}
	return nil
}

// note remembers that the store has failed.
func (j *Journal) note(err error) error {
	if stalled := (*stallError)(nil); err != nil && !errors.As(err, &stalled) {
		j.log.failed.Store(true)
	}
	return err
}

// maxAttempt bounds the numbers of attempts in events: see [sojourn.ErrInvalidEvent].
const maxAttempt uint32 = 1 << 31

// Snapshot begins a segment with a snapshot of the policy and with the facts. It takes the bytes at once; who next
// waits writes them. Journals take snapshots by themselves: see Options. It returns an error that wraps
// [errors.ErrUnsupported] if the policy cannot be saved; the segment then goes on.
func (j *Journal) Snapshot() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.snapshot(false)
}

// snapshot is Snapshot. It can leave the snapshot of the policy out: the policy is then made anew by the facts.
func (j *Journal) snapshot(factsOnly bool) error {
	if j.standby != nil {
		return j.log.failure()
	}
	h := j.head
	h.segment++
	h.trace, h.names = 0, j.names()
	data, err := j.state(&h, factsOnly)
	if err == nil && j.rotate(&rotation{data: data}) {
		j.begun(&h, len(data))
	}
	return err
}

// follow begins a segment without a state.
func (j *Journal) follow() {
	h := j.head
	h.segment++
	h.trace = 0
	l := &j.log
	l.mu.Lock()
	last, trace := l.last, l.trace
	l.mu.Unlock()
	e := encoder{buf: []byte(firstLine)}
	e.head(&h)
	e.numbers(kindFollows, h.segment-1, uint64(last), uint64(trace))
	e.numbers(kindBegin, 0)
	if j.rotate(&rotation{data: e.buf, follows: true}) {
		j.head, j.since = h, 0
	}
}

// rotate enters a segment that begins now. It reports false if another one is about to begin, which is as good.
func (j *Journal) rotate(r *rotation) bool {
	l := &j.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next != nil {
		return false
	}
	r.at, l.trace = l.end, 0
	l.next = r
	return true
}

// begun enters that a segment begins whose state takes so many bytes.
func (j *Journal) begun(h *head, size int) {
	l := &j.log
	l.mu.Lock()
	l.failing = false // it is tried again at the end of this segment
	l.mu.Unlock()
	j.head.segment, j.head.trace, j.head.names, j.since = h.segment, h.trace, h.names, 0 // the rest is as it was, and the driver may read it
	j.setLimit(size)
}

// setLimit sets the length of segments after a state of so many bytes.
func (j *Journal) setLimit(size int) {
	if j.opts.SnapshotBytes >= 0 && !j.opts.inline {
		j.limit.Store(max(j.opts.SnapshotBytes, int64(size)))
	}
}

// state returns the beginning of a segment: the snapshot of the policy, and the facts.
func (j *Journal) state(h *head, factsOnly bool) ([]byte, error) {
	e := encoder{buf: []byte(firstLine)}
	e.head(h)
	if !factsOnly {
		p := j.acc.Unwrap()
		s, ok := sojourn.As[sojourn.Snapshotter](p)
		if !ok {
			return nil, visible.Errorf("journal: %w: a %T cannot be saved", errors.ErrUnsupported, p)
		}
		at := e.begin(kindPolicy)
		buf, err := s.AppendBinary(e.buf)
		if err != nil {
			return nil, visible.Errorf("journal: %w", err)
		}
		e.buf = buf
		e.end(at)
	}
	n := uint64(0)
	for ev := range j.acc.Facts() {
		if ev.Attempt > maxAttempt {
			return nil, visible.Errorf("journal: %w: no event can tell attempt %d at task %v", errors.ErrUnsupported, ev.Attempt, ev.Task)
		}
		e.event(&ev)
		n++
	}
	j.owned.append(&e)
	j.kept.append(&e)
	e.numbers(kindBegin, n)
	return e.buf, nil
}

// AppendBinary implements [sojourn.Snapshotter], as the account does.
func (j *Journal) AppendBinary(dst []byte) ([]byte, error) { return j.acc.AppendBinary(dst) }

// UnmarshalBinary implements [sojourn.Snapshotter]. The journal goes on with a segment that begins with what was
// restored. If that cannot be written as a segment, the error wraps [errors.ErrUnsupported], and nothing changes.
func (j *Journal) UnmarshalBinary(data []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.note(j.log.settle()); err != nil {
		return err
	}
	old, err := j.acc.AppendBinary(nil)
	if err != nil {
		return err
	}
	if err := j.acc.UnmarshalBinary(data); err != nil {
		return err
	}
	for job := range j.acc.Jobs() {
		j.head.maxJob = max(j.head.maxJob, job.Spec.ID)
	}
	owned := maps.Clone(j.owned)
	j.owned.prune(j.acc)
	if err := j.snapshot(false); err != nil {
		j.owned = owned
		return errors.Join(err, j.acc.UnmarshalBinary(old))
	}
	j.log.mu.Lock()
	j.log.last = j.acc.Now()
	j.log.mu.Unlock()
	return nil
}

// Unwrap returns the account around the policy, which is an [*account.Account]; see [sojourn.As].
func (j *Journal) Unwrap() sojourn.Policy { return j.acc }

// Account returns what is true of the cluster. It is only for questions.
func (j *Journal) Account() *account.Account { return j.acc }

// Restored says what Open found. It is zero for a journal that was made anew.
func (j *Journal) Restored() Restored { return j.restored }

// MaxJob returns the largest ID of a job so far, also of those that ended long ago. New jobs get IDs above it, or a
// late report about an old job would be taken for one about another.
func (j *Journal) MaxJob() sojourn.JobID { return j.head.maxJob }

// Epoch returns the instant of Time 0.
func (j *Journal) Epoch() time.Time { return time.Unix(0, j.head.epoch) }

// Time returns the time of an event that happens at an instant of the wall clock. It never goes back, although the
// clock may: then it is the time of the latest event.
func (j *Journal) Time(wall time.Time) sojourn.Time {
	return max(j.acc.Now(), sojourn.Time(wall.Sub(j.Epoch())))
}
