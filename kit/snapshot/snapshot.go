package snapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// A Header says which policy and which options a snapshot belongs to.
type Header struct {
	Policy  string // the name of the policy, such as "fsp"
	Version uint64 // of what the policy writes, and of the rules by which it decides
	Options []Option
}

// An Option is an option that the state of a policy rests on: a snapshot that was taken
// under another value is refused. Name and value are part of the format. The code that
// makes the header writes the name out, so the name stays if a Go field is renamed.
type Option struct {
	name  string // as on the command line, such as "default-task-time"
	value string // canonical, defaults resolved
}

// Opt returns an option. A value is a truth value, a number, a string, or has a method
// String. Opt panics if it is anything else, since no format defines what fmt prints
// for structs, maps and pointers.
func Opt(name string, value any) Option {
	switch value := value.(type) {
	case fmt.Stringer:
		return Option{name, value.String()}
	case bool, string, int, int64, uint32, uint64, float64:
		return Option{name, fmt.Sprint(value)}
	}
	panic(fmt.Sprintf("snapshot: option %s is a %T, which has no text of its own", name, value))
}

// magic begins a snapshot. Its last byte is the version of the frame.
const magic = "sojourn\x04"

const (
	lengthAt = len(magic)
	headerAt = lengthAt + 8
	sumSize  = 4
)

// Append appends a snapshot to dst; save writes its body. If save has called
// [Writer.Fail], Append returns dst and the error.
func Append(dst []byte, h Header, save func(*Writer)) ([]byte, error) {
	w := Writer{buf: append(dst, magic...)}
	w.buf = append(w.buf, make([]byte, headerAt-lengthAt)...)
	w.String(h.Policy)
	w.Uint(h.Version)
	w.Len(len(h.Options))
	for _, o := range h.Options {
		w.String(o.name)
		w.String(o.value)
	}
	save(&w)
	if w.err != nil {
		return dst, visible.Errorf("snapshot of %s: %w", h.Policy, w.err)
	}
	w.buf = append(w.buf, make([]byte, sumSize)...)
	Seal(w.buf[len(dst):])
	return w.buf, nil
}

// Seal writes the length of a snapshot and its checksum to their places. It does nothing
// if there is no room for them. Tests use it to forge snapshots.
func Seal(data []byte) {
	own := len(data) - sumSize
	if own < headerAt {
		return
	}
	binary.LittleEndian.PutUint64(data[lengthAt:], uint64(len(data)))
	binary.LittleEndian.PutUint32(data[own:], sum(data[:own]))
}

// Restore replaces the state of the policy *p by that in a snapshot. reset gives *p
// a fresh state of the same options, which shares nothing with the old one that
// either may change, and restore reads the body into it. Restore returns an error, and
// leaves *p as it was, if the snapshot is damaged, if it was taken by another policy or
// version or under other options, or if restore finds anything wrong. The error wraps
// [sojourn.ErrForeignSnapshot] if the snapshot is undamaged but does not match the header.
func Restore[P any](p *P, data []byte, h Header, reset func(), restore func(*Reader)) error {
	r, err := open(data, h)
	if err != nil {
		return visible.Errorf("snapshot of %s: %w", h.Policy, err)
	}
	old := *p
	reset()
	restore(r)
	if r.err == nil && len(r.rest) > 0 {
		r.Fail("%d bytes are left over", len(r.rest))
	}
	if r.err != nil {
		*p = old
		return visible.Errorf("snapshot of %s: %w", h.Policy, r.err)
	}
	return nil
}

// Body returns a reader of the body of a snapshot of any policy; nil if its frame is
// damaged.
func Body(data []byte) *Reader {
	r, _, err := frame(data)
	if err != nil {
		return nil
	}
	return r
}

// open checks the frame and the header, and returns a reader of the body.
func open(data []byte, want Header) (*Reader, error) {
	r, got, err := frame(data)
	switch {
	case err != nil:
		return nil, err
	case got.Policy != want.Policy:
		return nil, foreign("it is one of %s", got.Policy)
	case got.Version != want.Version:
		return nil, foreign("its version is %d, not %d", got.Version, want.Version)
	}
	for i := range max(len(got.Options), len(want.Options)) {
		switch {
		case i >= len(got.Options) || i < len(want.Options) && got.Options[i].name != want.Options[i].name && !has(got.Options, want.Options[i].name):
			return nil, foreign("it was taken without the option %v, which may not change", want.Options[i])
		case i >= len(want.Options) || got.Options[i].name != want.Options[i].name:
			return nil, foreign("it was taken with the option %v, which may not change", got.Options[i])
		case got.Options[i] != want.Options[i]:
			return nil, foreign("the option %s may not change: it was taken with %s, not %s", want.Options[i].name, got.Options[i].value, want.Options[i].value)
		}
	}
	return r, nil
}

func foreign(format string, args ...any) error {
	return fmt.Errorf("%w: %s", sojourn.ErrForeignSnapshot, fmt.Sprintf(format, args...))
}

func has(list []Option, name string) bool {
	return slices.ContainsFunc(list, func(o Option) bool { return o.name == name })
}

// String returns the name and the value with an equals sign between them.
func (o Option) String() string { return o.name + "=" + o.value }

// frame checks the frame, and returns a reader of the body and the header.
func frame(data []byte) (*Reader, Header, error) {
	bad := func(err error) (*Reader, Header, error) { return nil, Header{}, err }
	switch {
	case len(data) < headerAt+sumSize:
		return bad(fmt.Errorf("%d bytes are too few", len(data)))
	case string(data[:lengthAt-1]) != magic[:lengthAt-1]:
		return bad(errors.New("these bytes are something else"))
	case data[lengthAt-1] != magic[lengthAt-1]:
		return bad(fmt.Errorf("the format is %d, not %d", data[lengthAt-1], magic[lengthAt-1]))
	}
	if n := binary.LittleEndian.Uint64(data[lengthAt:]); n != uint64(len(data)) {
		return bad(fmt.Errorf("%d bytes, but there were %d", len(data), n))
	}
	own := data[:len(data)-sumSize]
	if binary.LittleEndian.Uint32(data[len(own):]) != sum(own) {
		return bad(errors.New("the checksum is wrong"))
	}
	r := &Reader{rest: own[headerAt:], size: len(own)}
	got := Header{r.String(), r.Uint(), nil}
	for range r.Len() {
		got.Options = append(got.Options, Option{r.String(), r.String()})
	}
	return r, got, r.err
}

func sum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }
