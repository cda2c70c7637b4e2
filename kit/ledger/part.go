package ledger

import (
	"bytes"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Part is what an account says of some jobs and of the slots that they hold, as kept by
// somebody else.
type Part = Ledger[struct{}]

// RestorePart reads the account with which the snapshot of a policy begins. It returns nil
// if the bytes are no such snapshot.
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

// Covers reports whether part agrees with l at this instant: it knows of these jobs, where
// nil stands for none, and of no others, all that l does; its slots are those on which they
// run; and what it knows of nodes is right, and all of which are down. Whatever then fits l
// and concerns these jobs fits part as well.
func (l *Ledger[J]) Covers(part *Part, jobs []*Job[J]) bool {
	live, running := 0, 0
	for _, j := range jobs {
		if j == nil {
			continue
		}
		k := part.jobs.byID[j.spec.ID]
		if k == nil || !bytes.Equal(tasks(j), tasks(k)) {
			return false
		}
		live++
		running += j.running
	}
	for id, s := range part.slots.all() {
		t := l.slots.at(id)
		if t == nil || t.job == nil || s.job == nil || s.state != busy || t.job.spec.ID != s.job.spec.ID ||
			t.phase != s.phase || t.index != s.index || t.attempt != s.attempt || t.start != s.start ||
			t.node != s.node || t.class != s.class || s.node != 0 && s.rack != 0 && s.rack != l.slots.nodes[s.node].rack {
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
	return l.now == part.now && live == len(part.jobs.byID) && running == 0 && !slices.ContainsFunc(l.AppendDown(nil), missing)
}

// tasks returns what is known of a job and its tasks, as bytes.
func tasks[J any](j *Job[J]) []byte {
	data, _ := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) { // which nothing makes fail
		w.Job(j.spec)
		w.Bool(j.cancelled)
		j.saveTasks(w)
	})
	return data
}
