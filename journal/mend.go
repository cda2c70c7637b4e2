package journal

import "fmt"

const (
	mostUnwritten = 64 << 20 // bytes that are kept in memory while the store fails
	mostTail      = 8 << 20  // bytes that are written without a sync
	tailPage      = 64 << 10 // bytes
)

// A stallError says that the store fails, and that the journal goes on: see Options.Retry.
type stallError struct{ err error }

func (e *stallError) Error() string {
	return fmt.Sprintf("journal: %v: what was waited for is kept, and the rest is in memory", e.err)
}

func (e *stallError) Unwrap() error { return e.err }

// Stalled returns true: whoever calls Wait, Flush or Write again may succeed.
func (e *stallError) Stalled() bool { return true }

// A tail is bytes in pages, so that nothing is copied when it grows.
type tail struct {
	pages [][]byte // each but the last one is full
	n     int
}

func (t *tail) add(data []byte) {
	t.n += len(data)
	for len(data) > 0 {
		last := len(t.pages) - 1
		if last < 0 || len(t.pages[last]) == cap(t.pages[last]) {
			t.pages = append(t.pages, make([]byte, 0, tailPage))
			last++
		}
		page := &t.pages[last]
		k := min(len(data), cap(*page)-len(*page))
		*page, data = append(*page, data[:k]...), data[k:]
	}
}

// reset makes the tail empty. It keeps a page.
func (t *tail) reset() {
	if t.n = 0; len(t.pages) > 0 {
		clear(t.pages[1:])
		t.pages = append(t.pages[:0], t.pages[0][:0])
	}
}

// keepTail keeps what is about to be appended to the segment, in case that it cannot be synced.
func (l *log) keepTail(data []byte) {
	if l.retry {
		l.tail.add(data)
	}
}

// mend makes the segment appendable after an error, as Open does: nothing is appended to a file after a write or a sync of it has
// failed, since nobody can tell what is there. What was synced is read, what was not is in memory, and both take the place of the
// segment. It also removes segments that are still there.
func (l *log) mend() error {
	if l.torn {
		g, err := openSegment(l.store, l.segment)
		if err != nil {
			return err
		}
		if int64(len(g.data)) < l.synced {
			g.at = int64(len(g.data))
			return g.damage("bytes that were synced are missing")
		}
		g.data = g.data[:l.synced:l.synced]
		for g.at < l.synced {
			body, size := g.record(g.at)
			if body == nil {
				return g.damage("the record is damaged")
			}
			g.at += size
		}
		for _, page := range l.tail.pages {
			g.data = append(g.data, page...)
		}
		g.at = int64(len(g.data))
		if err := l.renew(g); err != nil {
			return err
		}
		l.torn = false
		l.tail.reset()
	}
	return l.trimDue()
}

// trimDue removes the segments that are to be removed.
func (l *log) trimDue() error {
	if l.due == 0 {
		return nil
	}
	err := l.trim(l.due)
	if err == nil {
		l.due = 0
	}
	return err
}
