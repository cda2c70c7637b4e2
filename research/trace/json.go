package trace

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"
)

// A cursor reads a JSON text of a known shape. Package encoding/json checks
// that the text is valid JSON, and the cursor then walks through it. The tokens
// of encoding/json are not enough: they have no place and hide duplicate keys.
//
// The first fault sticks: it ends every loop, and later ones are dropped.
type cursor struct {
	data  []byte
	pos   int
	fault *fault
}

// newCursor returns a cursor on the only value of data, or at a fault.
func newCursor(data []byte) *cursor {
	c := &cursor{data: data, fault: checkUTF8(data)}
	if c.fault == nil && !isJSON(data) {
		c.fault = syntaxFault(data)
	}
	if c.fault == nil {
		c.peek()
	}
	return c
}

// syntaxFault returns why data is not JSON.
func syntaxFault(data []byte) *fault {
	var value json.RawMessage
	err := json.Unmarshal(data, &value)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return faultf(0, "invalid JSON: %v", err)
	}
	off := min(int(syntax.Offset), len(data))
	if reason := syntax.Error(); reason != "unexpected end of JSON input" {
		return faultf(max(off-1, 0), "invalid JSON: %s", reason)
	}
	return faultf(off, "invalid JSON: it ends too early")
}

func (c *cursor) fail(off int, format string, args ...any) {
	if c.fault == nil {
		c.fault = faultf(off, format, args...)
	}
}

// peek moves to the next byte that is not white space, and returns it. It stays
// within a value that is known to be complete.
func (c *cursor) peek() byte {
	c.pos = blanks(c.data, c.pos)
	return c.data[c.pos]
}

// want reports whether the value at the cursor is of a kind, which its first
// byte tells, and fails if it is not. After a fault it is of no kind.
func (c *cursor) want(kind kind) bool {
	if c.fault != nil {
		return false
	}
	found := kindOf(c.data[c.pos])
	if found != kind {
		c.fail(c.pos, "want %s, found %s", kind, found)
	}
	return found == kind
}

// A kind is a kind of JSON value.
type kind uint8

const (
	kindNumber kind = iota
	kindObject
	kindList
	kindString
	kindTrue
	kindFalse
	kindNull
)

func (k kind) String() string {
	return [...]string{"a number", "an object", "a list", "a string", "true", "false", "null"}[k]
}

// kindOf returns the kind of the JSON value that starts with b.
func kindOf(b byte) kind {
	switch b {
	case '{':
		return kindObject
	case '[':
		return kindList
	case '"':
		return kindString
	case 't':
		return kindTrue
	case 'f':
		return kindFalse
	case 'n':
		return kindNull
	}
	return kindNumber
}

// object reads an object. It calls field for each key with the cursor on its
// value, which field reads. A key that is not among keys, or comes twice, is a
// fault at the key; if one of the first required ones is missing, that is a
// fault of the object.
func (c *cursor) object(keys []string, required int, field func(key string)) {
	if !c.want(kindObject) {
		return
	}
	start := c.pos
	var seen uint64 // bit i stands for keys[i]
	c.entries(func(name []byte, off int) {
		i := slices.IndexFunc(keys, func(key string) bool { return key == string(name) })
		switch {
		case i < 0:
			c.fail(off, "unknown key %q", brief(name))
		case seen&(1<<i) != 0:
			c.fail(off, "duplicate key %q", keys[i])
		default:
			seen |= 1 << i
			field(keys[i])
		}
	})
	for i, key := range keys[:required] {
		if seen&(1<<i) == 0 {
			c.fail(start, "missing key %q", key)
		}
	}
}

// entries reads an object. It calls entry for each key, which stands at off, with the
// cursor on its value, which entry reads.
func (c *cursor) entries(entry func(key []byte, off int)) {
	if !c.want(kindObject) {
		return
	}
	for c.next('}') {
		off := c.pos
		key := c.text()
		if c.fault != nil {
			return
		}
		c.peek() // the colon
		c.pos++
		c.peek()
		entry(key, off)
	}
}

// list reads a list. It calls element with the cursor on each element, which
// element reads.
func (c *cursor) list(element func()) {
	if !c.want(kindList) {
		return
	}
	for c.next(']') {
		element()
	}
}

// next moves into a list or object, or past an element of it, and reports
// whether there is another one. end is the byte that closes it.
func (c *cursor) next(end byte) bool {
	if c.fault != nil {
		return false
	}
	b := c.peek()
	c.pos++ // past the opening, a comma or the closing
	if b == end {
		return false
	}
	if c.peek() == end { // of an empty list or object
		c.pos++
		return false
	}
	return true
}

// text reads a string and returns what it denotes. It may be a part of the data.
func (c *cursor) text() []byte {
	if !c.want(kindString) {
		return nil
	}
	start := c.pos
	escaped := false
	for c.pos = plain(c.data, c.pos+1); c.data[c.pos] != '"'; c.pos = plain(c.data, c.pos+2) {
		escaped = true // by the backslash at pos
	}
	c.pos++
	if !escaped {
		return c.data[start+1 : c.pos-1]
	}
	var s string
	if err := json.Unmarshal(c.data[start:c.pos], &s); err != nil {
		c.fail(start, "%v", err)
	}
	return []byte(s)
}

// number reads a number and returns its text.
func (c *cursor) number() []byte {
	if !c.want(kindNumber) {
		return nil
	}
	start, end := c.pos, c.pos+1
	for end < len(c.data) && inNumber(c.data[end]) {
		end++
	}
	c.pos = end
	return c.data[start:end]
}

// inNumber reports whether a byte may be part of a number.
func inNumber(b byte) bool {
	return b-'0' <= 9 || b == '.' || b == 'e' || b == 'E' || b == '-' || b == '+'
}

// integer reads an integer in a range. It is written in digits alone.
func (c *cursor) integer(low, high uint64) uint64 {
	off := c.pos
	text := c.number()
	if c.fault != nil {
		return 0
	}
	n, ok := parseUint(text)
	if !ok || n < low || n > high {
		c.fail(off, "want an integer from %d to %d, found %s", low, high, brief(text))
		return 0
	}
	return n
}

// priority reads an integer that a priority can have.
func (c *cursor) priority() int32 {
	off := c.pos
	text := c.number()
	if c.fault != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil {
		c.fail(off, "want an integer from %d to %d, found %s", math.MinInt32, math.MaxInt32, brief(text))
	}
	return int32(n)
}

// float reads a number, which may be infinite.
func (c *cursor) float() float64 {
	f, err := strconv.ParseFloat(string(c.number()), 64)
	if err != nil && c.fault == nil {
		return math.Inf(1) // out of range, the only error of a valid number
	}
	return f
}

// seconds reads a time.
func (c *cursor) seconds() time.Duration {
	off := c.pos
	text := c.number()
	if c.fault != nil {
		return 0
	}
	d, reason := parseSeconds(text)
	if reason != "" {
		c.fail(off, "%s %s", brief(text), reason)
	}
	return d
}

// fields reads an object whose keys are not all known, as those of traces that
// were written by many versions of a program. It calls field for each key among
// keys with the cursor on its value, which field reads. Other keys are skipped,
// and so is null, which means that a value is unknown. A key that comes twice is
// a fault if it is among keys.
func (c *cursor) fields(keys []string, field func(key string)) {
	var seen uint64 // bit i stands for keys[i]
	c.entries(func(name []byte, off int) {
		i := slices.IndexFunc(keys, func(key string) bool { return key == string(name) })
		switch {
		case i >= 0 && seen&(1<<i) != 0:
			c.fail(off, "duplicate key %q", keys[i])
		case i < 0 || c.data[c.pos] == 'n':
			c.skip()
		default:
			seen |= 1 << i
			field(keys[i])
		}
	})
}

// inside reads an object with a single key of any name; read reads its value.
// More keys are a fault.
func (c *cursor) inside(read func()) {
	start, n := c.pos, 0
	c.entries(func([]byte, int) {
		if n++; n > 1 {
			c.fail(start, "want an object of one key")
			return
		}
		read()
	})
	if n == 0 {
		c.fail(start, "want an object of one key")
	}
}

// unwrap reads a value with read. Avro writes a value of a type that may be one
// of several as an object of one key, which names the type.
func (c *cursor) unwrap(read func()) {
	if c.fault == nil && kindOf(c.data[c.pos]) == kindObject {
		c.inside(read)
		return
	}
	read()
}

// skip reads a value of any kind.
func (c *cursor) skip() {
	for depth := 0; ; {
		switch b := c.data[c.pos]; b {
		case '{', '[':
			depth++
			c.pos++
		case '}', ']':
			depth--
			c.pos++
		case ',', ':':
			c.pos++
		case '"':
			c.text()
		case 't', 'n':
			c.pos += len("true")
		case 'f':
			c.pos += len("false")
		default:
			c.number()
		}
		if depth == 0 || c.fault != nil {
			return
		}
		c.peek()
	}
}

// whole reads an integer. A negative one means unknown, and becomes -1.
func (c *cursor) whole() int64 {
	off := c.pos
	text := c.number()
	if c.fault != nil {
		return -1
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		c.fail(off, "want an integer below 2^63, found %s", brief(text))
		return -1
	}
	return max(n, -1)
}
