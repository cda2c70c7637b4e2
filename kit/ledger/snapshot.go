package ledger

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// Save writes the account without the Data of jobs, which belongs to the policy.
//
// It writes handles and the order in which free handles will be used, since
// they decide the order of [Ledger.All] and of [Ledger.AppendJobs]. Pending,
// startable and ready follow from done, held and running, and are not written.
func (l *cluster) Save(w *snapshot.Writer) {
	w.Time(l.now)
	latest, seq := snapshot.Seqs(l.jobs.seq, func(add func(uint64)) {
		for _, j := range l.jobs.table.All() {
			if j != nil {
				add(j.seq)
			}
		}
	})
	w.Uint(latest)
	w.Len(l.jobs.table.Len())
	for _, j := range l.jobs.table.All() {
		w.Bool(j != nil)
		if j != nil {
			j.save(w, seq(j.seq))
		}
	}
	w.Free(l.jobs.spare.Slice())

	w.Len(len(l.slots.nodes))
	for _, id := range l.slots.nodes.sorted() {
		w.Uint(uint64(id))
		w.Uint(uint64(l.slots.nodes[id].rack))
		w.Bool(l.slots.nodes[id].down)
	}

	n := 0
	for c := range l.slots.classes {
		n += l.slots.classes[c].capacity
	}
	w.Len(n)
	for s := range l.slots.all() {
		w.Uint(uint64(s.ID))
		w.Uint(uint64(s.Node))
		w.Uint(uint64(s.Rack))
		w.Uint(uint64(s.Class))
		w.Uint(uint64(s.Speed))
		w.Uint(uint64(s.state))
		if s.holder != 0 {
			w.Uint(uint64(s.holder - 1))
			w.Uint(uint64(s.phase))
			w.Uint(uint64(s.index))
			w.Uint(uint64(s.attempt))
			w.Time(s.start)
			w.Bool(l.Pinned(s.ID))
		}
	}
}

func (j *job) save(w *snapshot.Writer, seq uint64) {
	w.Job(j.spec)
	w.Uint(seq)
	w.Bool(j.cancelled)
	for i := range j.sides {
		w.Count(j.sides[i].started)
	}
	j.saveTasks(w)
}

// saveTasks writes which tasks are done, were tried and are held.
func (j *job) saveTasks(w *snapshot.Writer) {
	for i := range j.phases {
		saveSet(w, &j.phases[i].finished)
	}
	m := j.more.get()
	w.Len(len(m.tries))
	for _, t := range slices.SortedFunc(maps.Keys(m.tries), task.compare) {
		t.save(w)
		w.Uint(uint64(m.tries[t]))
	}
	w.Bool(j.heldTasks > 0)
	for i := range m.held {
		if j.heldTasks > 0 {
			saveSet(w, &m.held[i])
		}
	}
}

func (t task) compare(u task) int {
	return cmp.Or(cmp.Compare(t.phase, u.phase), cmp.Compare(t.index, u.index))
}

func (t task) save(w *snapshot.Writer) {
	w.Uint(uint64(t.phase))
	w.Uint(uint64(t.index))
}

// saveSet writes a set as runs of members. For each run it writes how many integers
// lie between it and the run before, and its length. A run of length 0 ends the
// list.
func saveSet(w *snapshot.Writer, s *bitset.Set) {
	end := 0
	for from, to := range runs(s) {
		w.Uint(uint64(to - from))
		w.Uint(uint64(from - end))
		end = to
	}
	w.Uint(0)
}

// runs iterates over the runs of members of a set: the begin and the end of each.
func runs(s *bitset.Set) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for from, to := s.Next(0), 0; from >= 0; from = s.Next(to) {
			if to = s.NextGap(from); !yield(from, to) {
				return
			}
		}
	}
}

// restoreSet adds the members of a saved set, all of them below n.
func restoreSet(r *snapshot.Reader, s *bitset.Set, n int) {
	for at := 0; ; {
		length := r.Index(n - at + 1)
		if length == 0 {
			return
		}
		gap := r.Index(n - at - length + 1)
		if !r.Check(gap > 0 || at == 0, "two runs are one") {
			return
		}
		s.AddRange(at+gap, at+gap+length)
		at += gap + length
	}
}

// Restore reads what [Ledger.Save] has written into an empty ledger. If anything is
// wrong, the ledger stays empty. The Data of jobs is zero afterwards; the policy
// fills it, in the order in which it wrote it.
func (l *Ledger[J]) Restore(r *snapshot.Reader) {
	l.restore(r, l.Supports, func(handles int) func(h uint32) *job {
		l.own.Grow(handles)
		return func(h uint32) *job {
			j := new(Job[J])
			*l.own.At(h) = j
			return &j.job
		}
	})
	if r.Err() != nil {
		*l = Ledger[J]{Supports: l.Supports}
	}
}

// restore reads a cluster whose jobs use what is supported. It asks table for a function that makes
// the zero job of a handle.
func (l *cluster) restore(r *snapshot.Reader, supported sojourn.Features, table func(handles int) func(h uint32) *job) {
	l.now = r.Time()
	l.jobs.seq = r.Seq()
	l.jobs.restore(r, table)
	ids := l.slots.restoreNodes(r)
	l.restoreSlots(r, supported)
	for _, id := range ids {
		r.Check(l.slots.nodes[id].slots > 0 || l.slots.nodes[id].down, "there is nothing to know of a node")
	}
	for _, j := range l.jobs.table.All() {
		if j == nil {
			continue
		}
		if j.cancelled {
			j.cancel()
		}
		j.countUnmet()
		for i := range j.phases {
			j.updateReady(i)
		}
		for i := range j.sides {
			r.Check(j.sides[i].started >= j.sides[i].Running(), "more attempts run than were started")
		}
		r.Check(!j.ended(), "a job has ended")
		r.Check(j.spec.Features()&^supported == 0, "a job uses what the policy does not know")
	}
}

func (t *jobs) restore(r *snapshot.Reader, table func(handles int) func(h uint32) *job) {
	t.table.Grow(r.Len())
	zero := table(t.table.Len())
	var order []uint64
	for h := range uint32(t.table.Len()) {
		if !r.Bool() {
			continue
		}
		j := zero(h)
		j.restore(r)
		if r.Err() != nil || !r.Check(t.find(j.id) == nil && j.seq <= t.seq, "a job is there twice, or too early") {
			return
		}
		order = append(order, j.seq)
		j.handle = h
		*t.table.At(h) = j
		t.byID.add(j.id, j.handle)
		t.sum += uint64(h)
	}
	slices.Sort(order)
	r.Check(len(slices.Compact(order)) == len(order) && (len(order) == 0 || order[0] > 0), "two jobs came at once")
	t.spare = heap.TableOf(r.Free(t.table.Len(), func(h int) bool { return *t.table.At(uint32(h)) == nil }))
}

func (j *job) restore(r *snapshot.Reader) {
	spec := r.Job()
	if spec == nil {
		return
	}
	j.describe(spec, r.Uint())
	j.cancelled = r.Bool()
	for i := range j.sides {
		j.sides[i].started = r.Count()
	}
	for i := range j.phases {
		p, n := &j.phases[i], spec.Phases[i].Tasks
		restoreSet(r, &p.finished, n)
		j.left -= int32(p.Done())
		for from, to := range runs(&p.finished) {
			p.pending.RemoveRange(from, to)
		}
	}
	var last task
	for i := range r.Len() {
		t, n := restoreTask(r, j), uint32(r.Below(1<<32))
		if r.Err() != nil || !r.Check(!j.cancelled && (i == 0 || last.compare(t) < 0), "tries are not in order, or of a cancelled job") {
			return
		}
		last = t
		j.setTries(t, n)
	}
	if r.Bool() {
		restoreHeld(r, j)
	}
}

// restoreHeld reads which tasks are held.
func restoreHeld(r *snapshot.Reader, j *job) {
	for i := range j.phases {
		var set bitset.Set
		restoreSet(r, &set, j.spec.Phases[i].Tasks)
		for from, to := range runs(&set) {
			if r.Err() != nil || !r.Check(j.phases[i].pending.NextGap(from) >= to && !j.cancelled, "a task is held that is not pending") {
				return
			}
			j.hold(i, from, to)
		}
	}
	r.Check(j.heldTasks > 0, "nothing is held")
}

// restoreTask reads the name of a task of j.
func restoreTask(r *snapshot.Reader, j *job) (t task) {
	t.phase = uint16(r.Below(uint64(len(j.phases))))
	t.index = uint32(r.Below(uint64(j.spec.Phases[t.phase].Tasks)))
	return t
}

// restoreNodes reads the states of nodes, and returns their IDs.
func (t *slots) restoreNodes(r *snapshot.Reader) []sojourn.NodeID {
	ids := make([]sojourn.NodeID, r.Len())
	t.nodes = make(nodes, len(ids))
	for i := range ids {
		ids[i] = sojourn.NodeID(r.Below(1 << 32))
		r.Check(ids[i] > ids[max(i, 1)-1] || i == 0 && ids[0] > 0, "nodes are not in order")
		t.nodes[ids[i]] = node{rack: sojourn.RackID(r.Below(1 << 32)), down: r.Bool()}
	}
	return ids
}

func (l *cluster) restoreSlots(r *snapshot.Reader, supported sojourn.Features) {
	next := uint64(0)
	for range r.Len() {
		s := sojourn.Slot{
			ID:    sojourn.SlotID(r.Below(sojourn.MaxSlots)),
			Node:  sojourn.NodeID(r.Below(1 << 32)),
			Rack:  sojourn.RackID(r.Below(1 << 32)),
			Class: sojourn.Class(r.Below(sojourn.MaxClasses)),
			Speed: uint16(r.Below(1 << 16)),
		}
		state := slotState(r.Below(uint64(retiring) + 1))
		n, known := l.slots.nodes[s.Node]
		if r.Err() != nil || !r.Check(uint64(s.ID) >= next && state != absent &&
			known == (s.Node != 0) && (s.Node == 0 || s.Rack == 0 || s.Rack == n.rack), "a slot does not fit") {
			return
		}
		r.Check(s.Speed == 0 || supported&sojourn.FeatureSpeed != 0, "a slot has a speed, which the policy does not know")
		next = uint64(s.ID) + 1
		if known {
			n.slots++
			l.slots.nodes[s.Node] = n
		}
		l.slots.open(s)
		if state != free && !l.restoreAttempt(r, s, state) {
			return
		}
	}
}

// restoreAttempt reads the attempt on a slot, and reports whether it may be there.
func (l *cluster) restoreAttempt(r *snapshot.Reader, s sojourn.Slot, state slotState) bool {
	j := l.jobs.read(r)
	phase, index := r.Below(1<<16), uint32(r.Below(sojourn.MaxTasks))
	number, start := uint32(r.Below(1<<32)), r.Time()
	if r.Err() != nil || !r.Check(phase < uint64(len(j.phases)) && j.phases[phase].IsPending(index) &&
		j.spec.Phases[phase].Class == s.Class && start <= l.now && number > 0, "an attempt does not fit") {
		return false
	}
	started := &j.sides[j.phases[phase].side].started
	was := *started
	l.start(j, int(phase), index, number, s.ID)
	*started = was
	at := l.slots.at(s.ID)
	at.start, at.state = start, state
	if r.Bool() {
		l.slots.pin(s.ID)
	}
	return true
}

// RestoreJob reads the handle of a live job that the policy wrote, and returns the
// job; nil after an error.
func (l *Ledger[J]) RestoreJob(r *snapshot.Reader) *Job[J] { return l.whole(l.jobs.read(r)) }

// read reads the handle of a live job and returns the job; nil after an error.
func (t *jobs) read(r *snapshot.Reader) *job {
	h := uint32(r.Below(uint64(t.table.Len())))
	if r.Err() != nil || !r.Check(*t.table.At(h) != nil, "there is no such job") {
		return nil
	}
	return *t.table.At(h)
}
