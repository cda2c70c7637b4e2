package ledger

import "github.com/sojourn-sched/sojourn"

// ids finds handles by the IDs of jobs. IDs mostly count up, and neighbours arrive and end at about the same time. They
// are in pages, so that they share what has to be read from memory, and most of what a map costs.
type ids struct {
	pages map[sojourn.JobID]*idPage // by ID / idsPerPage
	spare *idPage                   // that has no job any more; nil if there is none
}

const idsPerPage = 16

// An idPage holds handles plus 1; 0: no such job. It has at least one.
type idPage [idsPerPage]uint32

func (t *ids) find(id sojourn.JobID) (handle uint32, ok bool) {
	p := t.pages[id/idsPerPage]
	if p == nil {
		return 0, false
	}
	h := p[id%idsPerPage]
	return h - 1, h > 0
}

func (t *ids) add(id sojourn.JobID, handle uint32) {
	p := t.pages[id/idsPerPage]
	if p == nil {
		if t.pages == nil {
			t.pages = make(map[sojourn.JobID]*idPage)
		}
		if p, t.spare = t.spare, nil; p == nil {
			p = new(idPage)
		}
		t.pages[id/idsPerPage] = p
	}
	p[id%idsPerPage] = handle + 1
}

func (t *ids) remove(id sojourn.JobID) {
	p := t.pages[id/idsPerPage]
	p[id%idsPerPage] = 0
	if *p == (idPage{}) {
		delete(t.pages, id/idsPerPage)
		t.spare = p
	}
}
