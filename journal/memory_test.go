package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// A memory is a folder that forgets what was not synced when the power fails. Names and contents are synced apart, as in
// a file system.
type memory struct {
	names  map[string]*content // as a process sees it
	synced map[string]*content // what a crash leaves of the names
	locked bool

	calls int // that change something
	fail  int // the call that fails, and all after it; 0 if none does
}

var errPower = errors.New("the power is gone")

// content is the bytes of a file.
type content struct {
	data []byte
	safe int // how many of them a crash leaves for sure
}

// String returns all that there is.
func (m *memory) String() string {
	s := ""
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		s += fmt.Sprintf("%s %q\n", name, m.names[name].data)
	}
	return s
}

func newMemory() *memory { return &memory{names: map[string]*content{}, synced: map[string]*content{}} }

// call counts a call, and fails from a certain one on.
func (m *memory) call() error {
	if m.calls++; m.fail > 0 && m.calls >= m.fail {
		return errPower
	}
	return nil
}

// unsynced returns how many bytes a crash may take from the newest segment.
func (m *memory) unsynced() int {
	n := 0
	for _, c := range m.names {
		n = max(n, len(c.data)-c.safe)
	}
	return n
}

// crash returns what is left after the power failed: of what was not synced in each file, the first keep bytes, the rest is gone
// or zero. Names that were not synced are as before, or as they were meant to be.
func (m *memory) crash(keep int, zeros, names bool) *memory {
	n := newMemory()
	of := m.synced
	if names {
		of = m.names
	}
	for name, c := range of {
		end := min(c.safe+keep, len(c.data))
		data := slices.Clone(c.data[:end])
		if zeros {
			data = append(data, make([]byte, len(c.data)-end)...)
		}
		n.names[name] = &content{data, len(data)}
	}
	n.synced = maps.Clone(n.names)
	return n
}

func (m *memory) list() ([]string, error) { return slices.Collect(maps.Keys(m.names)), nil }

func (m *memory) read(name string) ([]byte, error) {
	c := m.names[name]
	if c == nil {
		return nil, fs.ErrNotExist
	}
	return slices.Clone(c.data), nil
}

func (m *memory) create(name string) (file, error) {
	if err := m.call(); err != nil {
		return nil, err
	}
	m.names[name] = &content{}
	return &handle{m, m.names[name]}, nil
}

func (m *memory) open(name string) (file, error) {
	c := m.names[name]
	if c == nil {
		return nil, fs.ErrNotExist
	}
	return &handle{m, c}, nil
}

func (m *memory) rename(from, to string) error {
	if err := m.call(); err != nil {
		return err
	}
	m.names[to] = m.names[from]
	delete(m.names, from)
	return nil
}

func (m *memory) remove(name string) error {
	if err := m.call(); err != nil {
		return err
	}
	delete(m.names, name)
	return nil
}

func (m *memory) sync() error {
	if err := m.call(); err != nil {
		return err
	}
	m.synced = maps.Clone(m.names)
	return nil
}

func (m *memory) lock() (io.Closer, error) {
	if m.locked {
		return nil, ErrLocked
	}
	m.locked = true
	return unlock{m}, nil
}

type unlock struct{ m *memory }

func (u unlock) Close() error { u.m.locked = false; return nil }

type handle struct {
	m *memory
	c *content
}

// Write writes half if it fails.
func (h *handle) Write(data []byte) (int, error) {
	if err := h.m.call(); err != nil {
		h.c.data = append(h.c.data, data[:len(data)/2]...)
		return len(data) / 2, err
	}
	h.c.data = append(h.c.data, data...)
	return len(data), nil
}

func (h *handle) Sync() error {
	if err := h.m.call(); err != nil {
		return err
	}
	h.c.safe = len(h.c.data)
	return nil
}

func (h *handle) Close() error { return nil }
