package journal

// A Store keeps the segments of a journal: byte strings with numbers, from 1. One journal uses it at a
// time, and makes one call at a time.
//
// The store of [OpenFiles] keeps each segment in a file. Module connect/bolt has one on bbolt, connect/jetstream one
// on NATS JetStream.
//
// A store that several processes have open, one of which leads, has these methods, too, all of them (TestHalfShared). Open then follows that process, see [Journal.Follow],
// and calls none that writes before Lead has returned nil. The process before can write no more from then on.
//
//	Lead() error   // so that this process may write; an error that wraps ErrLocked while another one may
//	Leader() string // which one, for people; "" if that is not known
//	Yield()        // this process does not write any more, so that another one may lead; it is called while no other method runs
//
//	// ReadAt reads from an offset of a segment, as io.ReaderAt does. The error wraps fs.ErrNotExist if there is no such segment, and once if
//	// Create or Remove was called for it since it was first read.
//	ReadAt(segment uint64, b []byte, offset int64) (int, error)
//
// An error of the store that wraps ErrLocked is the last one, also with Options.Retry. A store that learns that another process leads while nothing is
// written has this method besides. It calls f, which returns at once, with such an error:
//
//	OnLost(f func(error))
//
// It is of the tier kit.
type Store interface {
	// Segments returns the numbers of the segments, in increasing order.
	Segments() ([]uint64, error)

	// Name returns how errors name a segment.
	Name(segment uint64) string

	// Read returns all of a segment. The bytes belong to the caller.
	Read(segment uint64) ([]byte, error)

	// Create makes a segment, or replaces it. When it returns nil, the segment is durable. After an error or
	// a crash it has all of data, or is what it was before. Data is not kept.
	Create(segment uint64, data []byte) error

	// Append adds bytes to the end of a segment, at least in the memory of the operating system. After
	// a crash any part of what was not synced may be there. Data is not kept.
	Append(segment uint64, data []byte) error

	// Sync makes durable what was appended to a segment. After an error nothing more is appended to the segment
	// before Create has replaced it.
	Sync(segment uint64) error

	// Remove removes a segment. After a crash it may be there again.
	Remove(segment uint64) error

	// Close releases what the store holds.
	Close() error
}
