package journal

import "fmt"

const (
	mostUnwritten = 64 << 20 // bytes that are kept in memory while the store fails
	mostTail      = 8 << 20  // bytes that are written without a sync
)

// A stallError says that the store fails, and that the journal goes on: see Options.Retry.
type stallError struct{ err error }

func (e *stallError) Error() string {
	return fmt.Sprintf("journal: %v: what was waited for is kept, and the rest is in memory", e.err)
}

func (e *stallError) Unwrap() error { return e.err }

// Stalled returns true: whoever calls Wait, Flush or Write again may succeed.
func (e *stallError) Stalled() bool { return true }

// keepTail keeps what is about to be appended to the segment, in case that it cannot be synced.
func (l *log) keepTail(data []byte) {
	if l.retry {
		l.tail = append(l.tail, data...)
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
		g.data = append(g.data, l.tail...)
		g.at = int64(len(g.data))
		if err := l.renew(g); err != nil {
			return err
		}
		l.torn, l.tail = false, l.tail[:0]
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
