package statuspage

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

// ranked is the most live jobs that are asked for in the order of the policy, and explained in lists. Above it a list is in
// the order of submission, and shares are computed from counts.
const ranked = 1000

// A board makes what is shown of a pool: a snapshot each second at most, whoever asks.
type board struct {
	pool  *live.Pool
	rec   *Recorder
	snaps memo[string, *snap]
	costs bool // the policy divides no slots, but what tasks cost
}

func newBoard(p *live.Pool, rec *Recorder) *board {
	b := &board{pool: p, rec: rec}
	if rec == nil {
		b.rec = NewRecorder()
		b.rec.polled = true
	}
	return b
}

// A snap is what all visitors of a second see.
type snap struct {
	now     sojourn.Time
	wall    time.Time // at now
	st      live.Status
	small   bool                   // st.Jobs has all live jobs, as the policy ranks them
	broken  map[sojourn.JobID]bool // jobs to which a promise was broken
	void    int                    // those of them of which no deadline has passed
	all     row
	tenants []row // the one with the most waiting and running tasks first
	cut     int   // tenants that are not in the list
	hour    []sample
	polled  bool // there is no recorder
	last    gone // the last job that has ended
	sharing bool // the policy divides slots among tenants
	says    saying
	holds   map[int]map[sojourn.JobID]int // slots, by the number of a tenant and the job
	classes []sojourn.Class               // of the slots
	parts   map[sojourn.Class]*snap       // what this would be without slots of other classes, if there are several
	stuck   gone                          // a job that cannot go on, why, and since when nothing of it runs
	bad     span                          // the last attempt that has failed
	dead    gone                          // the last job that has failed
	least   map[int]int32                 // the least priority of what a tenant runs, by number
	release sojourn.Time                  // when the next job may start that may not yet, as far as one chunk of them tells; 0 if there is none
}

// A row is what is known of a tenant.
type row struct {
	tenantModel
	*who
	past
	active, idle      int // jobs
	oldest            time.Duration
	oldestJob         sojourn.JobID
	needs             []sojourn.Class           // slots that oldestJob can use, one entry for each phase
	priority          int32                     // of oldestJob
	entitled          float64                   // -1: nobody says
	shares            map[sojourn.Class]float64 // entitled, by class, where all is known
	most              sojourn.Slots
	jobs              int    // that may run tasks at a time; 0 is any number
	hour, now, before window // waits: of the hour, the last quarter and what was before
}

const mostRows = 200 // tenants that are listed

// snap returns the snapshot of this second, or a new one if the pool has broken since.
func (b *board) snap(ctx context.Context) (*snap, error) {
	s, err := b.snaps.get(ctx, "", func() (*snap, error) { return b.take(), nil })
	if err == nil && s.st.Err == nil && b.pool.Err() != nil {
		b.snaps.clear()
		return b.snap(ctx)
	}
	return s, err
}

// status returns the status of the pool without jobs, or with all if the pool tells no recorder. What only the pool knows of jobs is
// entered.
func (b *board) status() live.Status {
	look := b.rec.pool
	if look == nil {
		st := b.pool.Status()
		b.rec.load(&st)
		return st
	}
	ids, stuck := b.rec.doubts()
	st, _ := look.Status(ids)
	if len(ids)+len(stuck) > 0 {
		b.rec.settle(st.Jobs, stuck, look.Stuck(stuck))
	}
	st.Jobs = nil
	return st
}

func (b *board) take() *snap {
	s := &snap{st: b.status(), broken: map[sojourn.JobID]bool{}}
	s.now, s.wall = s.st.Now, time.Now()
	s.copy(b.rec)
	switch s.small = s.all.Live <= ranked; {
	case b.rec.pool == nil:
	case s.small:
		s.st = b.pool.Status()
	default:
		for _, id := range b.rec.pool.Void() {
			s.broken[id] = true
		}
	}
	for i := range s.st.Jobs {
		if j := &s.st.Jobs[i]; j.Void != "" {
			s.broken[j.ID] = true
		}
	}
	s.void = b.rec.timely(s.broken)
	b.shares(s)
	if n := len(s.classes); n > 1 && n <= ofClasses && !s.polled { // whoever polls does not know classes of jobs
		s.parts = map[sojourn.Class]*snap{}
		for _, c := range s.classes {
			s.parts[c] = s.in(c)
		}
	}
	s.says = s.say()
	if n := len(s.tenants) - mostRows; n > 0 {
		s.cut, s.tenants = n, s.tenants[:mostRows]
	}
	return s
}

// timely returns how many of these jobs are live and not late.
func (r *Recorder) timely(ids map[sojourn.JobID]bool) (n int) {
	list := slices.Collect(maps.Keys(ids)) //sojourn:unordered they are counted
	r.each(len(list), func(i int) {
		if j := r.jobs.get(list[i]); j != nil && !j.late {
			n++
		}
	})
	return n
}

// copy copies what the recorder knows of tenants.
func (s *snap) copy(r *Recorder) {
	s.lookAt(r)
	s.all.sum(s.now)
	rows := s.tenants[:0]
	for i := range s.tenants {
		x := &s.tenants[i]
		if x.sum(s.now); x.Live+x.Ended == 0 {
			continue
		}
		if rows = append(rows, *x); x.oldestJob != 0 && (s.all.oldestJob == 0 || x.oldest > s.all.oldest) {
			s.all.oldest, s.all.oldestJob, s.all.Oldest = x.oldest, x.oldestJob, x.Oldest
		}
	}
	s.tenants = rows
	slices.SortFunc(s.tenants, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.Waiting+b.Busy, a.Waiting+a.Busy), cmp.Compare(b.Live, a.Live), cmp.Compare(a.number, b.number))
	})
}

// lookAt is the part of copy in which the recorder is locked.
func (s *snap) lookAt(r *Recorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(s.now)
	s.polled = r.pool == nil
	s.all = r.row(r.all)
	s.tenants = append(make([]row, 0, len(r.tenants)+1), r.row(r.other))
	for _, t := range r.tenants { //sojourn:unordered sorted in copy
		s.tenants = append(s.tenants, r.row(t))
	}
	r.hour.each(func(x *sample) { s.hour = append(s.hour, *x) })
	s.holds, s.least = map[int]map[sojourn.JobID]int{}, map[int]int32{}
	for _, x := range r.slots { //sojourn:unordered counts
		if s.holds[x.number] == nil {
			s.holds[x.number] = map[sojourn.JobID]int{}
		}
		s.holds[x.number][x.task.Job]++
		if j := r.jobs.get(x.task.Job); j != nil {
			if least, ok := s.least[x.number]; !ok || j.spec.Priority < least {
				s.least[x.number] = j.spec.Priority
			}
		}
	}
	for _, j := range r.due.jobs[:min(len(r.due.jobs), chunk)] {
		if at := j.spec.Release; at > r.now && (s.release == 0 || at < s.release) {
			s.release = at
		}
	}
	for _, id := range r.stuck {
		if j := r.jobs.get(id); j != nil && s.stuck.id == 0 {
			if s.stuck = (gone{id: id, err: j.bad.stuck}); j.idle() {
				s.stuck.end = j.times[since]
			}
		}
	}
	r.bad.each(func(x *span) { s.bad = *x })
	r.failed.each(func(x *gone) { s.dead = *x })
	for _, ended := range []*ring[gone]{&r.ended, &r.failed} {
		ended.each(func(g *gone) {
			if s.last.id == 0 || g.end >= s.last.end {
				s.last = *g
			}
		})
	}
}

func (r *Recorder) row(t *tenant) row {
	x := row{who: t.who, past: t.past.copied(), active: t.active, idle: t.idle, entitled: -1,
		tenantModel: tenantModel{Name: t.full, Live: t.live, Late: t.late, Failing: t.failing, Waiting: t.waiting, Busy: t.running}}
	if t.waits.Len() > 0 { // what has failed, may not start yet or cannot, does not wait for others
		j := t.waits.jobs[0]
		x.oldest, x.oldestJob = r.now.Sub(j.times[since]), j.spec.ID
		x.needs, x.priority = needs(j.spec), j.spec.Priority
		x.Oldest = x.oldest.Seconds()
	}
	return x
}

// sum adds up the past.
func (x *row) sum(now sojourn.Time) {
	x.now, x.before = x.hourOf(now, 0, 2), x.hourOf(now, 3, windows-1)
	x.hour = x.now
	x.hour.add(&x.before)
	x.Ended, x.Failed, x.P50, x.P90 = int(x.hour.ended), int(x.hour.failed), x.hour.seconds(50), x.hour.seconds(90)
}

const noTenant = "(no tenant)"

// shares says what tenants are entitled to.
func (b *board) shares(s *snap) {
	for _, x := range s.st.Slots {
		if c := x.Slot.Class; !slices.Contains(s.classes, c) {
			s.classes = append(s.classes, c)
		}
	}
	slices.Sort(s.classes)
	at := map[string][]*row{} // those below a FIFO pool share one
	for i := range s.tenants {
		t := &s.tenants[i]
		n, ok := b.pool.Settings(t.Name)
		if !ok || t.number < 0 {
			continue
		}
		s.sharing = true
		t.Weight, t.Paused, t.most, t.jobs = cmp.Or(n.Weight, 1), n.Paused, n.Max, n.MaxJobs
		at[n.Name] = append(at[n.Name], t)
	}
	switch {
	case !s.sharing:
	case s.small:
		demand, sum, of, each := 0, 0.0, map[string]float64{}, map[string]map[sojourn.Class]float64{}
		for _, c := range s.classes {
			for _, share := range b.pool.Shares(c) {
				demand += share.Demand
				sum += share.Entitled
				of[share.Pool] += share.Entitled
				if each[share.Pool] == nil {
					each[share.Pool] = map[sojourn.Class]float64{}
				}
				each[share.Pool][c] = share.Entitled
			}
		}
		if demand > 0 {
			b.costs = sum == 0 // what is shared is not slots
		}
		for name, rows := range at { //sojourn:unordered each by itself
			rows[0].entitled, rows[0].shares = of[name], each[name]
		}
	default:
		s.divide(at)
	}
	for _, rows := range at { //sojourn:unordered each by itself
		if t := rows[0]; b.costs || len(rows) > 1 {
			t.entitled = -1
		} else {
			t.Entitled = &t.entitled
		}
	}
}

// divide computes entitlements from counts and weights: max-min fair, as if all pools were siblings of one class without limits. The
// first row of each pool has it.
func (s *snap) divide(at map[string][]*row) {
	type claim struct {
		*row
		want float64
	}
	var open []claim
	weight, left := 0.0, float64(len(s.st.Slots))
	for _, rows := range at { //sojourn:unordered sorted below
		x := claim{row: rows[0]}
		x.entitled = 0
		for _, t := range rows {
			x.want += float64(t.Waiting + t.Busy)
		}
		if x.Weight > 0 && !x.Paused {
			open = append(open, x)
		}
	}
	slices.SortFunc(open, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.want/a.Weight, b.want/b.Weight), cmp.Compare(a.number, b.number))
	})
	for _, x := range open {
		weight += x.Weight
	}
	for _, x := range open {
		x.entitled = min(x.want, left*(x.Weight/max(weight, x.Weight)))
		left -= x.entitled
		weight -= x.Weight
	}
}

// A filter says which jobs are listed.
type filter struct {
	State string // one of states
	Pool  string // of this tenant alone, by its key; "": of all
	Text  string
	Page  int // from 1
	Size  int
}

var states = []string{"waiting", "running", "late", "failing", "ended", "all"}

// A list is a page of jobs.
type list struct {
	found int
	rows  []listed
}

// A listed job is live or has ended.
type listed struct {
	job                // a copy, without links
	gone *gone         // not nil if it has ended
	last string        // why something has failed, or why it cannot go on
	turn sojourn.JobID // that has to end before, 0 if there is none
	next sojourn.Time
	st   live.JobStatus
}

// list returns the jobs that a filter wants. Jobs are looked at chunk by chunk, until ctx ends.
func (b *board) list(ctx context.Context, s *snap, f filter) (*list, error) {
	l := &list{}
	if f.Pool != "" && f.Pool[0] != '#' { // a name, and not what stands for one
		f.Pool = keyOf(f.Pool)
	}
	text, from := strings.ToLower(f.Text), (f.Page-1)*f.Size
	shows := func() bool { // one more that was found
		l.found++
		return l.found > from && l.found <= from+f.Size
	}
	id, notID := strconv.ParseUint(text, 10, 64)
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), text) })
	}
	if f.State == "ended" {
		for _, g := range b.rec.goneJobs() {
			if (f.Pool == "" || g.who.key == f.Pool) && (has(g.name, g.who.name, g.err) || notID == nil && id == uint64(g.id)) && shows() {
				l.rows = append(l.rows, listed{job: job{spec: &sojourn.Job{ID: g.id}}, gone: &g, last: g.err})
			}
		}
		return l, nil
	}
	err := b.rec.walk(ctx, s, func(j *job) bool { // which are copied: without a text, those that are shown
		return (f.Pool == "" || j.tenant.key == f.Pool) && (j.is(f.State) || f.State == "late" && s.broken[j.spec.ID]) && (text != "" || shows())
	}, func(x listed) {
		x.late = x.late || s.broken[x.spec.ID]
		if text == "" || (has(x.spec.Name, x.spec.Pool, x.last) || notID == nil && id == uint64(x.spec.ID)) && shows() {
			l.rows = append(l.rows, x)
		}
	})
	b.look(s, l)
	return l, err
}

// is reports whether a live job is in a state.
func (x *job) is(state string) bool {
	switch state {
	case "waiting":
		return x.idle()
	case "running":
		return x.running > 0
	case "late":
		return x.late
	case "failing":
		return x.failing()
	}
	return true
}

// look asks the pool about the jobs of a list.
func (b *board) look(s *snap, l *list) {
	st, next := s.st, []sojourn.Time(nil)
	if b.rec.pool != nil {
		ids := make([]sojourn.JobID, len(l.rows))
		for i := range l.rows {
			ids[i] = l.rows[i].spec.ID
		}
		st, next = b.rec.pool.Status(ids)
	}
	of := map[sojourn.JobID]int{}
	for i := range st.Jobs {
		of[st.Jobs[i].ID] = i
	}
	for i := range l.rows {
		x := &l.rows[i]
		if k, ok := of[x.spec.ID]; ok {
			x.st = st.Jobs[k]
			if next != nil {
				x.next = next[k]
			}
		}
	}
}

// goneJobs returns the jobs that have ended, the last one first.
func (r *Recorder) goneJobs() (all []gone) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ended := range []*ring[gone]{&r.ended, &r.failed} {
		ended.each(func(g *gone) {
			if r.now.Sub(g.end) <= time.Hour {
				all = append(all, *g)
			}
		})
	}
	slices.SortFunc(all, func(a, b gone) int { return cmp.Or(cmp.Compare(b.end, a.end), cmp.Compare(b.id, a.id)) })
	return all
}

// walk calls f for all live jobs that are wanted: in the order of the policy if the snapshot has it, else in that of submission. While it calls f,
// the recorder is not locked.
func (r *Recorder) walk(ctx context.Context, s *snap, want func(*job) bool, f func(listed)) error {
	rows, seen := make([]listed, 0, chunk), 0
	take := func(j *job) {
		if seen++; j != nil && want(j) {
			rows = append(rows, r.copied(j))
		}
	}
	locked := func(look func() (more bool)) (more bool) {
		rows, seen = rows[:0], 0
		r.mu.Lock()
		more = look()
		r.longest = max(r.longest, seen)
		r.mu.Unlock()
		for i := range rows {
			f(rows[i])
		}
		return more
	}
	if s.small {
		locked(func() bool {
			for i := range s.st.Jobs {
				take(r.jobs.get(s.st.Jobs[i].ID))
			}
			return false
		})
		return ctx.Err()
	}
	at := sojourn.JobID(0)
	for ctx.Err() == nil && locked(func() bool {
		list := r.jobs.from(at)
		for _, j := range list {
			take(j)
			at = j.spec.ID + 1
		}
		return list != nil
	}) {
	}
	return ctx.Err()
}

// someFailed is the trouble of a job of which a task has failed. It is not written.
var someFailed = &trouble{tasks: map[sojourn.TaskID]bool{{}: true}}

// copied returns a copy of a job that may be read when the recorder is not locked.
func (r *Recorder) copied(j *job) listed {
	x := listed{job: *j}
	if first := r.before(j); first != nil {
		x.turn = first.spec.ID
	}
	if b := j.bad; b != nil { // its map changes
		x.last, x.bad = cmp.Or(b.stuck, b.last), &trouble{}
		if len(b.tasks) > 0 {
			x.bad = someFailed
		}
	}
	return x
}

// find returns what is known of one job, live or ended.
func (b *board) find(s *snap, id sojourn.JobID) (x listed, ok bool) {
	r := b.rec
	r.mu.Lock()
	j := r.jobs.get(id)
	if ok = j != nil; ok {
		x = r.copied(j)
	}
	r.mu.Unlock()
	if ok {
		l := &list{rows: []listed{x}}
		b.look(s, l)
		return l.rows[0], true
	}
	for _, g := range r.goneJobs() {
		if g.id == id {
			return listed{job: job{spec: &sojourn.Job{ID: id, Name: g.name, Pool: g.who.name}, at: g.at}, gone: &g, last: g.err}, true
		}
	}
	return x, false
}

// named returns the name of the tenant with a key.
func (r *Recorder) named(key string) (name string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, t := range r.tenants { //sojourn:unordered one has it
		if t.key == key {
			return name, true
		}
	}
	return "", false
}

// spansOf returns the attempts of a job, the first one first, and how long each other job had slots between a time and its first start, or
// end if it has not started.
func (r *Recorder) spansOf(id sojourn.JobID, from, end sojourn.Time) (own []span, took map[sojourn.JobID]time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	each := func(see func(*span)) {
		r.spans.each(see)
		r.bad.each(see)
		for _, x := range r.slots { //sojourn:unordered sums, and a list that is sorted below
			see(x)
		}
	}
	each(func(x *span) {
		if x.task.Job == id {
			own = append(own, *x)
		}
	})
	slices.SortFunc(own, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.slot, b.slot), cmp.Compare(a.attempt, b.attempt))
	})
	if len(own) > 0 && own[0].start >= 0 {
		end = own[0].start
	}
	took = map[sojourn.JobID]time.Duration{}
	each(func(x *span) {
		if d := min(cmp.Or(x.end, r.now), end).Sub(max(x.start, from)); d > 0 && x.start >= 0 && x.task.Job != id {
			took[x.task.Job] += d
		}
	})
	return own, took
}

// A memo keeps values for a second. It makes one at a time, and none that is being made or kept: so all visitors together use one
// processor at most, and those who ask for the same make one a second.
type memo[K comparable, V any] struct {
	most int // that are made or wait for their turn, besides the one of the zero key; 0 is any number

	once    sync.Once
	turn    chan struct{} // holds a value while one is made
	mu      sync.Mutex    // guards what follows, and whole and at of the values until done
	made    map[K]*made[V]
	waiting int // of made: those that are being made or wait for that
}

// made is a value that is made, or why there is none.
type made[V any] struct {
	done  chan struct{} // closed when it is made, or given up
	whole bool          // it is made; else it was given up, since the visitor who asked for it is gone
	at    time.Time     // when it was made
	v     V
	err   error
}

var errBusy = errors.New("too many different things are asked about at once: ask again")

// get returns a value that was made less than a second ago or is being made, or makes one when its turn comes, unless ctx ends first. The
// error is errBusy if too many are being made.
func (m *memo[K, V]) get(ctx context.Context, k K, make func() (V, error)) (v V, err error) {
	for {
		x, own := m.find(k)
		if x == nil {
			return v, errBusy
		}
		if own {
			m.make(ctx, k, x, make)
			return x.v, x.err
		}
		select {
		case <-ctx.Done():
			return v, ctx.Err()
		case <-x.done:
		}
		if x.whole {
			return x.v, x.err
		}
	}
}

// find returns the value of a key that is kept or being made. If there is none, it returns one for the caller to make, or nil
// if too many are being made.
func (m *memo[K, V]) find(k K) (x *made[V], own bool) {
	m.once.Do(func() { m.turn, m.made = make(chan struct{}, 1), map[K]*made[V]{} })
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.made, func(_ K, x *made[V]) bool { return x.whole && time.Since(x.at) >= kept })
	if x := m.made[k]; x != nil {
		return x, false
	}
	var first K
	if m.most > 0 && m.waiting >= m.most && k != first {
		return nil, false
	}
	m.waiting++
	x = &made[V]{done: make(chan struct{})}
	m.made[k] = x
	return x, true
}

// make makes a value when its turn comes.
func (m *memo[K, V]) make(ctx context.Context, k K, x *made[V], make func() (V, error)) {
	defer func() { // after a panic, too
		m.mu.Lock()
		m.waiting--
		if x.at = time.Now(); !x.whole && m.made[k] == x {
			delete(m.made, k)
		}
		m.mu.Unlock()
		close(x.done)
	}()
	select {
	case <-ctx.Done():
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	}
	if x.err = ctx.Err(); x.err != nil {
		return
	}
	x.v, x.err = make()
	m.mu.Lock()
	defer m.mu.Unlock()
	x.whole = x.err == nil || ctx.Err() == nil
}

// clear forgets all.
func (m *memo[K, V]) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.made)
}
