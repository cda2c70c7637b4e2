package live

import "github.com/sojourn-sched/sojourn"

// A table finds live jobs by their IDs, which count from 1. It costs less than a map. A job
// that lives for ever keeps one page, and 8 bytes for each 512 jobs after it.
type table struct {
	pages []*page       // nil: all jobs of the page have ended
	base  sojourn.JobID // of pages[0], in pages
	last  sojourn.JobID // that was given
	spare *page
	live  int

	waiting int // live jobs of which no attempt has been started by this pool
}

const pageSize = 512

type page struct {
	jobs [pageSize]*Handle
	live int
}

// begin makes an empty table in which first to last are IDs that were given.
func (t *table) begin(first, last sojourn.JobID) { t.base, t.last = first/pageSize, last }

// add enters a job under the next ID.
func (t *table) add(h *Handle) {
	t.last++
	t.put(h)
}

// put enters a job under its ID, which was given.
func (t *table) put(h *Handle) {
	id := h.spec.ID
	i := int(id/pageSize - t.base)
	for i >= len(t.pages) {
		t.pages = append(t.pages, nil)
	}
	if t.pages[i] == nil {
		if t.spare == nil {
			t.spare = new(page)
		}
		t.pages[i], t.spare = t.spare, nil
	}
	t.pages[i].jobs[id%pageSize] = h
	t.pages[i].live++
	t.live++
	t.waiting++
}

// get returns a live job; nil if there is none of that ID.
func (t *table) get(id sojourn.JobID) *Handle {
	i := id/pageSize - t.base
	if i >= sojourn.JobID(len(t.pages)) || t.pages[i] == nil { // IDs are unsigned: one before base is above all
		return nil
	}
	return t.pages[i].jobs[id%pageSize]
}

// remove removes a live job.
func (t *table) remove(id sojourn.JobID) {
	i := id/pageSize - t.base
	p := t.pages[i]
	if p.jobs[id%pageSize].first.h == nil {
		t.waiting--
	}
	p.jobs[id%pageSize] = nil
	t.live--
	if p.live--; p.live > 0 {
		return
	}
	t.spare, t.pages[i] = p, nil
	for t.pages[0] == nil && t.base < t.last/pageSize { // the page of the last ID stays
		t.pages = t.pages[1:]
		t.base++
	}
}

// from returns the first page with live jobs that does not come before an ID, and the first ID after it; nil if there is none.
func (t *table) from(id sojourn.JobID) (pg *page, next sojourn.JobID) {
	first := max(id/pageSize, t.base)
	for i := first - t.base; i < sojourn.JobID(len(t.pages)); i++ {
		if t.pages[i] != nil {
			return t.pages[i], (t.base + i + 1) * pageSize
		}
	}
	return nil, 0
}

// all returns the live jobs in the order of their submission.
func (t *table) all() []*Handle {
	list := make([]*Handle, 0, t.live)
	for pg, next := t.from(0); pg != nil; pg, next = t.from(next) {
		for _, h := range pg.jobs {
			if h != nil {
				list = append(list, h)
			}
		}
	}
	return list
}
