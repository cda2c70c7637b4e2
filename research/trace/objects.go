package trace

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// nesting follows JSON text byte by byte, to find the end of a value and to
// bound its depth and strings. It also accepts text that is not JSON.
type nesting struct {
	depth    int
	inString bool
	escaped  bool // by a backslash before
	length   int  // of the string so far
}

// next takes the next byte and returns which limit it exceeds, or "".
func (n *nesting) next(b byte, limits *limits) string {
	if n.inString {
		n.length++
		switch {
		case n.escaped:
			n.escaped = false
		case b == '\\':
			n.escaped = true
		case b == '"':
			n.inString = false
			return ""
		}
		if n.length > limits.text {
			return fmt.Sprintf("string is longer than %d bytes", limits.text)
		}
		return ""
	}
	switch b {
	case '"':
		n.inString, n.length = true, 0
	case '{', '[':
		n.depth++
		if n.depth > limits.depth {
			return fmt.Sprintf("lists and objects are nested deeper than %d", limits.depth)
		}
	case '}', ']':
		n.depth--
	}
	return ""
}

// skip returns the first place from i on at which the limits or the end of a value may be.
func (n *nesting) skip(text []byte, i int, limits *limits) int {
	if n.inString && !n.escaped {
		end := plain(text[:min(len(text), i+max(limits.text-n.length, 0))], i)
		n.length += end - i
		return end
	}
	for !n.inString && i < len(text) && text[i] != '"' && text[i]|0x20 != '{' && text[i]|0x20 != '}' {
		i++
	}
	return i
}

// checkNesting returns the first fault of text against the limits of depth and
// strings, or nil.
func checkNesting(text []byte, limits *limits) *fault {
	var n nesting
	for i := n.skip(text, 0, limits); i < len(text); i = n.skip(text, i+1, limits) {
		if reason := n.next(text[i], limits); reason != "" {
			return &fault{i, reason}
		}
	}
	return nil
}

// objects splits an input into JSON objects, which follow one another with white
// space in between or nothing at all.
type objects struct {
	in           *input
	src          *bufio.Reader
	buf          []byte // the latest object
	line, column int    // of its first byte, from 1
	next         struct{ line, column int }
}

func newObjects(in *input) *objects {
	o := &objects{in: in, src: bufio.NewReaderSize(in, 1<<16)}
	o.next.line, o.next.column = 1, 1
	return o
}

// read returns the next object, valid until the next call, or io.EOF. The object
// need not be valid JSON.
func (o *objects) read() ([]byte, error) {
	var n nesting
	o.buf = o.buf[:0]
	for {
		_, err := o.src.Peek(1)
		if err == io.EOF {
			if len(o.buf) == 0 {
				return nil, io.EOF
			}
			return o.buf, nil // incomplete
		}
		if err != nil {
			return nil, o.in.fail(err, o.next.line, o.next.column)
		}
		text, _ := o.src.Peek(o.src.Buffered())
		if len(o.buf) == 0 {
			if i := blanks(text, 0); i > 0 {
				o.pass(text[:i])
				continue
			}
			o.line, o.column = o.next.line, o.next.column
			if text[0] != '{' {
				return nil, o.fail(fmt.Sprintf("want a JSON object, found %q", text[0]))
			}
		}
		most := o.in.limits.line - len(o.buf)
		if most <= 0 {
			return nil, o.fail(fmt.Sprintf("object is longer than %d bytes", len(o.buf)))
		}
		size, end, reason := n.object(text[:min(len(text), most)], &o.in.limits)
		o.buf = append(o.buf, text[:size]...)
		o.pass(text[:size])
		if reason != "" {
			return nil, o.fail(reason)
		}
		if end {
			return o.buf, nil
		}
	}
}

// object returns how much of text, which continues an object, belongs to it, and whether it ends there.
// If it exceeds a limit, it returns the bytes before that place, and which limit it is.
func (n *nesting) object(text []byte, limits *limits) (size int, end bool, reason string) {
	for i := n.skip(text, 0, limits); i < len(text); i = n.skip(text, i+1, limits) {
		if reason := n.next(text[i], limits); reason != "" {
			return i, false, reason
		}
		if !n.inString && n.depth == 0 || n.inString && text[i] == '\n' { // a string holds no line end
			return i + 1, true, ""
		}
	}
	return len(text), false, ""
}

// pass moves behind the next bytes.
func (o *objects) pass(text []byte) {
	o.src.Discard(len(text))
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
		o.next.line += bytes.Count(text, []byte("\n"))
		o.next.column = len(text) - last
	} else {
		o.next.column += len(text)
	}
}

// fail returns an error at the next byte.
func (o *objects) fail(reason string) *Error {
	return errorAt(o.in.file, o.next.line, o.next.column, reason)
}

// place returns the line and column of an offset in the latest object.
func (o *objects) place(off int) (line, column int) {
	before := o.buf[:off]
	last := bytes.LastIndexByte(before, '\n')
	if last < 0 {
		return o.line, o.column + off
	}
	return o.line + bytes.Count(before, []byte("\n")), off - last
}

// fault returns a fault of the latest object as an Error.
func (o *objects) fault(f *fault) *Error {
	line, column := o.place(f.off)
	return errorAt(o.in.file, line, column, f.reason)
}
