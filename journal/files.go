package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// OpenFiles opens the folder of a journal, and makes it if it does not exist. It locks the folder
// against other processes, as far as the platform can: on others than Linux, macOS and the BSDs
// nothing is locked, and the caller must see to it.
func OpenFiles(dir string) (Store, error) {
	dir, err := makeFolder(dir)
	if err != nil {
		return nil, err
	}
	return openFiles(osFolder(dir), dir)
}

// makeFolder makes a folder, unless it is there, and returns its path from the root: the process may go to another folder.
func makeFolder(dir string) (path string, err error) {
	if err = os.MkdirAll(dir, 0o777); err == nil {
		path, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", visible.Errorf("journal: %w: make a folder that this process may write to", err)
	}
	return path, nil
}

// ReadFiles opens the folder of a journal for reading only. It takes no lock, so the journal may be
// in use; its end is then cut off somewhere.
func ReadFiles(dir string) (Store, error) {
	if _, err := os.ReadDir(dir); err != nil {
		return nil, visible.Errorf("journal: %w", err)
	}
	return &files{folder: osFolder(dir), dir: dir, readOnly: true}, nil
}

// A folder is the part of a file system that the store uses. Tests have one that forgets what was not
// synced.
type folder interface {
	list() ([]string, error)
	read(name string) ([]byte, error)
	create(name string) (file, error) // an empty file, or one made empty
	open(name string) (file, error)   // for appending
	rename(from, to string) error
	remove(name string) error
	sync() error // of the names in it
	lock() (io.Closer, error)
}

type file interface {
	io.WriteCloser
	Sync() error
}

// files keeps each segment in a file. It writes a segment to another name first, and renames it when
// it is synced: so a segment is whole or not there.
type files struct {
	folder
	dir      string
	locked   io.Closer
	readOnly bool

	newest atomic.Uint64 // the segment that last is open for
	last   file
}

const (
	extension = ".journal"
	temporary = "new" + extension + ".tmp"
	remade    = "old" + extension + ".tmp" // of a segment before the newest one, while that may be written
	lockName  = "lock"
)

func openFiles(f folder, dir string) (*files, error) {
	l, err := f.lock()
	if err != nil {
		return nil, visible.Errorf("journal: %s: %w", dir, err)
	}
	return &files{folder: f, dir: dir, locked: l}, nil
}

func base(segment uint64) string { return fmt.Sprintf("%08d%s", segment, extension) }

// Name returns the path of the file.
func (s *files) Name(segment uint64) string { return filepath.Join(s.dir, base(segment)) }

func (s *files) Segments() ([]uint64, error) {
	names, err := s.list()
	if err != nil {
		return nil, err
	}
	var list []uint64
	for _, name := range names {
		number, ok := strings.CutSuffix(name, extension)
		if n, err := strconv.ParseUint(number, 10, 64); ok && err == nil && n > 0 && base(n) == name {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Read reads the file that is written, if it is that of the segment: it may have been removed meanwhile.
func (s *files) Read(segment uint64) ([]byte, error) {
	if s.newest.Load() == segment && s.last != nil {
		if f, ok := s.last.(io.ReaderAt); ok {
			return io.ReadAll(io.NewSectionReader(f, 0, math.MaxInt64))
		}
	}
	return s.read(base(segment))
}

func (s *files) Create(segment uint64, data []byte) error {
	if s.readOnly {
		return ErrReadOnly
	}
	name, old := temporary, segment < s.newest.Load()
	if old {
		name = remade
	}
	f, err := s.create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = s.rename(name, base(segment))
	}
	if err == nil {
		err = s.sync()
	}
	if err != nil || old {
		f.Close()
		if err != nil {
			_ = s.remove(name) // on a full disk others want the room
		}
		return err
	}
	s.closeLast()
	s.newest.Store(segment)
	s.last = f
	return nil
}

// appendable opens the file of a segment.
func (s *files) appendable(segment uint64) error {
	switch {
	case s.readOnly:
		return ErrReadOnly
	case s.last != nil && s.newest.Load() == segment:
		return nil
	}
	f, err := s.open(base(segment))
	if err != nil {
		return err
	}
	s.closeLast()
	s.newest.Store(segment)
	s.last = f
	return nil
}

func (s *files) closeLast() {
	if s.last != nil {
		s.last.Close()
		s.last = nil
	}
}

func (s *files) Append(segment uint64, data []byte) error {
	if err := s.appendable(segment); err != nil {
		return err
	}
	_, err := s.last.Write(data)
	return err
}

func (s *files) Sync(segment uint64) error {
	if err := s.appendable(segment); err != nil {
		return err
	}
	err := s.last.Sync()
	if f, ok := s.folder.(osFolder); ok && err == nil {
		err = f.has(s.last, base(segment))
	}
	return err
}

func (s *files) Remove(segment uint64) error {
	if s.readOnly {
		return ErrReadOnly
	}
	if s.newest.Load() == segment {
		s.closeLast()
	}
	return s.remove(base(segment))
}

// Yield lets go of the lock: nothing more is written.
func (s *files) Yield() {
	s.readOnly = true
	_ = s.Close()
}

func (s *files) Close() error {
	s.closeLast()
	if s.locked == nil {
		return nil
	}
	err := s.locked.Close()
	s.locked = nil
	return err
}

// osFolder is a folder of the operating system.
type osFolder string

func (f osFolder) path(name string) string { return filepath.Join(string(f), name) }

func (f osFolder) list() ([]string, error) {
	entries, err := os.ReadDir(string(f))
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (f osFolder) read(name string) ([]byte, error) { return os.ReadFile(f.path(name)) }

func (f osFolder) create(name string) (file, error) {
	return os.OpenFile(f.path(name), os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o666)
}

func (f osFolder) open(name string) (file, error) {
	return os.OpenFile(f.path(name), os.O_RDWR|os.O_APPEND, 0)
}

// has returns an error if a file that is open does not have its name any more, and so would not be found by the next process.
func (f osFolder) has(open file, name string) error {
	was, err := open.(*os.File).Stat()
	if err != nil {
		return err
	}
	if now, err := os.Stat(f.path(name)); err != nil || !os.SameFile(was, now) {
		return fmt.Errorf("%s was removed, or replaced, while it is written", f.path(name))
	}
	return nil
}

func (f osFolder) rename(from, to string) error { return os.Rename(f.path(from), f.path(to)) }
func (f osFolder) remove(name string) error     { return os.Remove(f.path(name)) }

// sync makes names durable. A platform that cannot sync a folder does so by itself.
func (f osFolder) sync() error {
	d, err := os.Open(string(f))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// locks are the file and the folder that are locked.
type locks [2]*os.File

func (l locks) Close() error { return errors.Join(l[1].Close(), l[0].Close()) }

// lock takes the lock of a folder, a file that stays. It also locks the folder itself, where the file system can: somebody may
// remove the file.
func (f osFolder) lock() (io.Closer, error) {
	l, err := os.OpenFile(f.path(lockName), os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, visible.Errorf("%w: a journal needs a folder that this process may write to", err)
	}
	d, err := os.Open(string(f))
	if err == nil {
		if err = lockFile(d); err != nil && !errors.Is(err, ErrLocked) {
			err = nil // as on NFS
		}
	}
	if err == nil {
		err = lockFile(l)
	}
	if err != nil {
		l.Close()
		d.Close()
		return nil, err
	}
	if l.Truncate(0) == nil { // who has it, for people: a standby tells
		host, _ := os.Hostname()
		_, _ = fmt.Fprintf(l, "process %d on %s\n", os.Getpid(), host)
	}
	return locks{l, d}, nil
}
