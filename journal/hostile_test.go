package journal

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
)

// A hostile is a folder as Linux has it, on a disk that fails. A failed sync counts what it should have written as
// written: it is in memory until it is needed for something else, and no later sync writes it. Any call may fail, with or
// without having done something.
type hostile struct {
	rng    *rand.Rand
	names  map[string]*inode           // as a process sees it
	kept   map[string]*inode           // on the disk
	dirty  map[string]bool             // names of which the disk may have what was before
	holder atomic.Pointer[hostileLock] // of the lock

	calls int
	fails map[int]bool // calls that fail
	power int          // the call at which the power goes; 0: none
}

var errIO = errors.New("input/output error")

// page is how many bytes a disk writes at once, far fewer than those of a real one, so that a record has several.
const page = 16

// An inode is the bytes of a file. Spans are from, to, and within a page.
type inode struct {
	cache, disk []byte
	dirty, lost [][2]int // of cache: not written yet, and taken for written
}

func newHostile(seed uint64) *hostile {
	return &hostile{rng: rand.New(rand.NewPCG(seed, 1)), names: map[string]*inode{}, kept: map[string]*inode{}, dirty: map[string]bool{}}
}

func (h *hostile) coin() bool { return h.rng.IntN(2) == 0 }

// call says whether a call fails.
func (h *hostile) call() error {
	h.calls++
	switch {
	case h.power > 0 && h.calls >= h.power:
		return errPower
	case h.fails[h.calls]:
		return errIO
	}
	return nil
}

// did makes a change, unless the call fails before it.
func (h *hostile) did(change func()) error {
	err := h.call()
	if err == nil || h.coin() {
		change()
	}
	return err
}

// flush writes a span.
func (c *inode) flush(from, to int) {
	if n := to - len(c.disk); n > 0 {
		c.disk = append(c.disk, make([]byte, n)...)
	}
	copy(c.disk[from:to], c.cache[from:])
}

// restart begins a new process, after the power was gone or not.
func (h *hostile) restart(powerless bool) {
	h.holder.Store(nil)
	h.calls, h.fails, h.power = 0, nil, 0
	if powerless {
		for _, name := range slices.Sorted(maps.Keys(h.dirty)) {
			if c := h.names[name]; h.coin() && c != nil {
				h.kept[name] = c
			} else if c == nil && h.coin() {
				delete(h.kept, name)
			}
		}
		h.names, h.dirty = maps.Clone(h.kept), map[string]bool{}
	}
	seen := map[*inode]bool{} // a file may have two names
	for _, name := range slices.Sorted(maps.Keys(h.names)) {
		if c := h.names[name]; !seen[c] {
			seen[c] = true
			h.reread(c, powerless)
		}
	}
}

// reread is what becomes of a file until the next process reads it.
func (h *hostile) reread(c *inode, powerless bool) {
	if !powerless { // memory was needed for something else
		for _, s := range c.lost {
			if h.coin() {
				there := c.disk[min(s[0], len(c.disk)):min(s[1], len(c.disk))]
				clear(c.cache[s[0]:s[1]])
				copy(c.cache[s[0]:], there)
			}
		}
		return
	}
	for _, s := range c.dirty {
		switch h.rng.IntN(4) {
		case 0:
			c.flush(s[0], s[1])
		case 1:
			c.flush(s[0], s[0]+h.rng.IntN(s[1]-s[0]+1))
		case 2: // the size was written, and some of the bytes
			c.flush(s[0], s[1])
			for i := s[0]; i < s[1]; i++ {
				if h.coin() {
					c.disk[i] = byte(h.rng.Uint32())
				}
			}
		}
	}
	c.cache, c.dirty, c.lost = slices.Clone(c.disk), nil, nil
}

func (h *hostile) list() ([]string, error) { return slices.Collect(maps.Keys(h.names)), h.call() }

func (h *hostile) read(name string) ([]byte, error) {
	if c := h.names[name]; c != nil {
		return slices.Clone(c.cache), h.call()
	}
	return nil, fs.ErrNotExist
}

func (h *hostile) create(name string) (file, error) {
	c := &inode{}
	err := h.did(func() { h.names[name], h.dirty[name] = c, true })
	return &hostileFile{h, c}, err
}

func (h *hostile) open(name string) (file, error) {
	if c := h.names[name]; c != nil {
		return &hostileFile{h, c}, h.call()
	}
	return nil, fs.ErrNotExist
}

func (h *hostile) rename(from, to string) error {
	return h.did(func() {
		h.names[to] = h.names[from]
		delete(h.names, from)
		h.dirty[from], h.dirty[to] = true, true
	})
}

func (h *hostile) remove(name string) error {
	return h.did(func() {
		delete(h.names, name)
		h.dirty[name] = true
	})
}

// sync forgets what it should have written if it fails.
func (h *hostile) sync() error {
	err := h.call()
	if err == errPower {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(h.dirty)) {
		if err != nil && h.coin() {
			continue
		}
		if c := h.names[name]; c != nil {
			h.kept[name] = c
		} else {
			delete(h.kept, name)
		}
	}
	h.dirty = map[string]bool{}
	return err
}

func (h *hostile) lock() (io.Closer, error) {
	l := &hostileLock{h}
	if !h.holder.CompareAndSwap(nil, l) {
		return nil, ErrLocked
	}
	return l, nil
}

type hostileLock struct{ h *hostile }

// Close may come late: the journal lets go of the lock in a goroutine after an error, when another process may have it already.
func (l *hostileLock) Close() error { l.h.holder.CompareAndSwap(l, nil); return nil }

type hostileFile struct {
	h *hostile
	c *inode
}

func (f *hostileFile) Write(data []byte) (int, error) {
	err := f.h.call()
	if err != nil {
		data = data[:f.h.rng.IntN(len(data)+1)]
	}
	for at, end := len(f.c.cache), len(f.c.cache)+len(data); at < end; {
		to := min((at/page+1)*page, end)
		f.c.dirty = append(f.c.dirty, [2]int{at, to})
		at = to
	}
	f.c.cache = append(f.c.cache, data...)
	return len(data), err
}

func (f *hostileFile) Sync() error {
	err := f.h.call()
	if err == errPower {
		return err
	}
	for _, s := range f.c.dirty {
		if err != nil && f.h.coin() {
			f.c.lost = append(f.c.lost, s)
		} else {
			f.c.flush(s[0], s[1])
		}
	}
	f.c.dirty = nil
	return err
}

func (f *hostileFile) Close() error { return nil }

// A life is one process, and what befalls it.
type life struct {
	Fails     []int // calls of the file system that fail once
	Power     int   // the call at which the power goes; 0: none
	Close     bool  // at the end, if nothing failed
	Powerless bool  // the power is gone before the next life
}

var lives = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) life {
	return life{
		Fails:     rapid.SliceOfN(rapid.IntRange(1, 60), 0, 6).Draw(t, "fails"),
		Power:     rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 60)).Draw(t, "power"),
		Close:     rapid.Bool().Draw(t, "close"),
		Powerless: rapid.Bool().Draw(t, "powerless"),
	}
}), 1, 8)

// Whatever call of the file system fails, with whatever of it done, and with power lost after it or not: what was waited for
// is there, what Open has found stays, and Open names no damage. The history of a kept journal is whole. With Retry the process
// goes on instead.
func TestHostileDisk(t *testing.T) {
	want := states(t)
	rapid.Check(t, func(t *rapid.T) {
		h := newHostile(rapid.Uint64().Draw(t, "seed"))
		o := Options{Keep: rapid.Bool().Draw(t, "keep"), SnapshotBytes: rapid.SampledFrom([]int64{-1, 1, 60, 0}).Draw(t, "snapshot bytes"), Policy: "fifo", inline: true}
		if rapid.Bool().Draw(t, "another") {
			o.Another = func() (sojourn.Policy, error) { return newFIFO(nil), nil }
		}
		o.Retry = rapid.Bool().Draw(t, "retry")
		w := told{want: want, options: o}
		for i, l := range lives.Draw(t, "lives") {
			h.power, h.fails = l.Power, map[int]bool{}
			for _, call := range l.Fails {
				h.fails[call] = true
			}
			j, err := w.live(h)
			if err != nil && !errors.Is(err, errIO) && !errors.Is(err, errPower) {
				t.Fatalf("life %d: %v", i, err)
			}
			if err == nil && l.Close {
				j.Close()
			}
			h.restart(l.Powerless || l.Power > 0)
		}
		j, err := w.live(h)
		if err == nil {
			err = j.Close()
		}
		if err != nil {
			t.Fatalf("the last life: %v", err)
		}
		if s := (&files{folder: h, dir: "dir", readOnly: true}); o.Keep {
			if err := history.Replay(newFIFO(nil), history.Check(History(s))); err != nil {
				t.Fatalf("the history: %v", err)
			}
		}
	})
}

// told is how far a story was told by all processes so far.
type told struct {
	want       []string // the facts after each number of calls
	options    Options
	safe, made int // calls that were waited for, and calls
}

// live opens the journal, and tells the rest of the story.
func (w *told) live(h *hostile) (*Journal, error) {
	s, err := openFiles(h, "dir")
	if err != nil {
		return nil, err
	}
	j, err := Open(s, newFIFO(nil), w.options)
	if err != nil {
		return nil, err
	}
	if why := j.Restored().Rebuilt; why != nil {
		return nil, why
	}
	got, n := facts(slices.Collect(j.Account().Facts())), w.made
	for ; w.want[n] != got; n-- {
		if n == w.safe {
			return nil, errors.New("it is none of the states since the last wait, but\n" + got)
		}
	}
	made, safe, err := tell(j, story()[n:])
	w.made, w.safe = n+made, n+safe // what was found is durable
	if err == nil {
		for err = j.Flush(); err != nil && goesOn(j, err); err = j.Flush() {
		}
		if err == nil {
			w.safe = w.made
		}
	}
	return j, err
}

// A sync fails, Linux takes the bytes for written, and the journal is opened again. What is acknowledged then outlives the power.
func TestFailedSync(t *testing.T) {
	for fail := 1; fail < 12; fail++ {
		h := newHostile(uint64(fail))
		w := told{want: states(t)}
		h.fails = map[int]bool{fail: true}
		if _, err := w.live(h); !errors.Is(err, errIO) {
			t.Fatalf("call %d fails: %v", fail, err)
		}
		h.restart(false)
		if _, err := w.live(h); err != nil {
			t.Fatalf("call %d failed, and the next process: %v", fail, err)
		}
		h.restart(true)
		if _, err := w.live(h); err != nil || w.safe != len(story()) {
			t.Fatalf("call %d failed, and after the power was gone: %v", fail, err)
		}
	}
}
