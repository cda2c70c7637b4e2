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
func (n *nesting) next(b byte, limits *Limits) string {
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
		if n.length > limits.String {
			return fmt.Sprintf("string is longer than %d bytes", limits.String)
		}
		return ""
	}
	switch b {
	case '"':
		n.inString, n.length = true, 0
	case '{', '[':
		n.depth++
		if n.depth > limits.Depth {
			return fmt.Sprintf("lists and objects are nested deeper than %d", limits.Depth)
		}
	case '}', ']':
		n.depth--
	}
	return ""
}

// checkNesting returns the first fault of text against the limits of depth and
// strings, or nil.
func checkNesting(text []byte, limits *Limits) *fault {
	var n nesting
	for i, b := range text {
		if reason := n.next(b, limits); reason != "" {
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
		b, err := o.src.ReadByte()
		if err == io.EOF {
			if len(o.buf) == 0 {
				return nil, io.EOF
			}
			return o.buf, nil // incomplete
		}
		if err != nil {
			return nil, o.in.fail(err, o.next.line, o.next.column)
		}
		line, column := o.next.line, o.next.column
		if o.next.column++; b == '\n' {
			o.next.line, o.next.column = line+1, 1
		}
		if len(o.buf) == 0 {
			if b == ' ' || b == '\t' || b == '\n' || b == '\r' {
				continue
			}
			o.line, o.column = line, column
			if b != '{' {
				return nil, &Error{o.in.file, line, column, fmt.Sprintf("want a JSON object, found %q", b)}
			}
		}
		if len(o.buf) == o.in.limits.Line {
			return nil, &Error{o.in.file, line, column, fmt.Sprintf("object is longer than %d bytes", len(o.buf))}
		}
		o.buf = append(o.buf, b)
		if reason := n.next(b, &o.in.limits); reason != "" {
			return nil, &Error{o.in.file, line, column, reason}
		}
		if !n.inString && n.depth == 0 || n.inString && b == '\n' { // a string holds no line end
			return o.buf, nil
		}
	}
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
	return &Error{o.in.file, line, column, f.reason}
}
