// Package bolt keeps a journal in a file of bbolt. Use it if your program keeps its data in bbolt already, or if the journal
// must be one file. The files of package journal are faster, and need no other module.
//
//	store, err := bolt.Open("/var/lib/scheduler.db")
//	...
//	j, err := journal.Open(store, policy, journal.Options{})
//
// Tier: kit.
//
// Each write is a transaction that bbolt syncs. So Write of a journal costs as much as Wait, and what is written survives the
// loss of power.
package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/journal"
	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// patience is how long Open waits for another process to let go of the file.
const patience = 100 * time.Millisecond

// Open opens a file of bbolt, or makes it. Another process that has it open locks it: the error then wraps
// [journal.ErrLocked].
func Open(path string) (journal.Store, error) {
	db, err := bbolt.Open(path, 0o666, &bbolt.Options{Timeout: patience})
	if errors.Is(err, bbolterrors.ErrTimeout) {
		err = journal.ErrLocked
	}
	if err != nil {
		return nil, visible.Errorf("bolt: %s: %w", path, err)
	}
	return &store{db, path}, nil
}

// store has a bucket for each segment, named by its number. The bucket has the bytes in parts, named by their offsets.
// Numbers are written with the most significant byte first, so that bbolt orders them.
type store struct {
	db   *bbolt.DB
	path string
}

func key(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func (s *store) Segments() (list []uint64, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
			if len(name) == 8 {
				list = append(list, binary.BigEndian.Uint64(name))
			}
			return nil
		})
	})
	return list, err
}

// Name returns the path of the file and the number of the segment.
func (s *store) Name(segment uint64) string { return fmt.Sprintf("%s: segment %d", s.path, segment) }

func (s *store) Read(segment uint64) (data []byte, err error) {
	err = s.db.View(func(tx *bbolt.Tx) error {
		b, err := s.bucket(tx, segment)
		if err != nil {
			return err
		}
		return b.ForEach(func(at, part []byte) error {
			if binary.BigEndian.Uint64(at) != uint64(len(data)) {
				return visible.Errorf("%s: byte %d is missing", s.Name(segment), len(data))
			}
			data = append(data, part...)
			return nil
		})
	})
	return data, err
}

func (s *store) bucket(tx *bbolt.Tx, segment uint64) (*bbolt.Bucket, error) {
	if b := tx.Bucket(key(segment)); b != nil {
		return b, nil
	}
	return nil, visible.Errorf("%s: there is none", s.Name(segment))
}

func (s *store) Create(segment uint64, data []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		if tx.Bucket(key(segment)) != nil {
			if err := tx.DeleteBucket(key(segment)); err != nil {
				return err
			}
		}
		b, err := tx.CreateBucket(key(segment))
		if err != nil {
			return err
		}
		return b.Put(key(0), data)
	})
}

// end returns how many bytes a segment has.
func end(b *bbolt.Bucket) uint64 {
	at, part := b.Cursor().Last()
	if at == nil {
		return 0
	}
	return binary.BigEndian.Uint64(at) + uint64(len(part))
}

func (s *store) Append(segment uint64, data []byte) error {
	return s.db.Update(func(tx *bbolt.Tx) error {
		b, err := s.bucket(tx, segment)
		if err != nil {
			return err
		}
		return b.Put(key(end(b)), data)
	})
}

// Sync does nothing: each transaction is synced.
func (s *store) Sync(uint64) error { return nil }

func (s *store) Remove(segment uint64) error {
	return s.db.Update(func(tx *bbolt.Tx) error { return tx.DeleteBucket(key(segment)) })
}

func (s *store) Close() error { return s.db.Close() }
