package live

import "slices"

// A line is jobs that have ended, one after the other. It grows by pages, so that nothing is copied when it is long.
type line struct {
	pages [][]*entry // none is empty, except for one alone
	n     int
}

// linePage is how many jobs a page has room for.
const linePage = 512

// push adds a job at the end.
func (l *line) push(e *entry) {
	k := len(l.pages) - 1
	if k < 0 || len(l.pages[k]) == cap(l.pages[k]) {
		l.pages = append(l.pages, make([]*entry, 0, linePage))
		k++
	}
	l.pages[k] = append(l.pages[k], e)
	l.n++
}

// first returns the first job. There must be one.
func (l *line) first() *entry { return l.pages[0][0] }

// pop removes the first job, and returns it.
func (l *line) pop() *entry {
	e := l.first()
	l.drop(0, 0)
	return e
}

// remove removes a job, and reports whether it was there.
func (l *line) remove(e *entry) bool {
	for p := range l.pages {
		if i := slices.Index(l.pages[p], e); i >= 0 {
			l.drop(p, i)
			return true
		}
	}
	return false
}

// drop removes a job of a page.
func (l *line) drop(p, i int) {
	page := l.pages[p]
	if i == 0 {
		page[0], page = nil, page[1:]
	} else {
		page = slices.Delete(page, i, i+1)
	}
	l.n--
	if l.pages[p] = page; len(page) == 0 && (len(l.pages) > 1 || cap(page) == 0) {
		l.pages = slices.Delete(l.pages, p, p+1)
	}
}
