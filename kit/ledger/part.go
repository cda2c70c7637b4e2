package ledger

import (
	"bytes"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Part is an account that another policy keeps of some of the jobs and of the slots that
// they hold.
type Part = Ledger[struct{}]

// RestorePart reads the account with which the snapshot of a policy begins. It returns nil
// if the bytes are not such a snapshot.
func RestorePart(data []byte) *Part {
	r := snapshot.Body(data)
	if r == nil {
		return nil
	}
	part := new(Part)
	if part.Restore(r); r.Err() != nil {
		return nil
	}
	return part
}

// Covers reports whether part agrees with l at this instant:
//
//   - it knows the given jobs, and no others, exactly as l does; nil entries of jobs are
//     skipped;
//   - its slots are those on which these jobs run;
//   - what it knows about nodes is right, and it knows all nodes that are down.
//
// An event that fits l and concerns these jobs then fits part as well.
func (l *Ledger[J]) Covers(part *Part, jobs []*Job[J]) bool {
	return l.covers(&part.cluster, func(yield func(*job) bool) {
		for _, j := range jobs {
			if j != nil && !yield(&j.job) {
				return
			}
		}
	})
}

func (l *cluster) covers(part *cluster, jobs iter.Seq[*job]) bool {
	live, running := 0, 0
	for j := range jobs {
		k := part.jobs.find(j.id)
		if k == nil || !bytes.Equal(tasks(j), tasks(k)) {
			return false
		}
		live++
		running += j.Running()
	}
	for s := range part.slots.all() {
		t := l.slots.at(s.ID)
		if t == nil || t.holder == 0 || s.holder == 0 || s.state != busy || l.jobs.on(t).id != part.jobs.on(s).id ||
			t.phase != s.phase || t.index != s.index || t.attempt != s.attempt || t.start != s.start ||
			t.Node != s.Node || t.Class != s.Class || s.Node != 0 && s.Rack != 0 && s.Rack != l.slots.nodes[s.Node].rack {
			return false
		}
		running--
	}
	for _, id := range part.slots.nodes.sorted() {
		n, own := part.slots.nodes[id], l.slots.nodes[id]
		if n.down != own.down || n.rack != 0 && n.rack != own.rack {
			return false
		}
	}
	missing := func(s sojourn.Slot) bool { return !part.slots.nodes[s.Node].down }
	return l.now == part.now && live == part.jobs.live() && running == 0 && !slices.ContainsFunc(l.AppendDown(nil), missing)
}

// tasks returns the account of a job and its tasks, as bytes.
func tasks(j *job) []byte {
	data, _ := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) { // it cannot fail
		w.Job(j.spec)
		w.Bool(j.cancelled)
		j.saveTasks(w)
	})
	return data
}
