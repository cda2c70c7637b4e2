package journal

// A Store keeps the segments of a journal: byte strings with numbers, from 1. One journal uses it at a
// time, and makes one call at a time.
//
// The store of [OpenFiles] keeps each segment in a file. Module connect/bolt has one on bbolt.
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
