package history

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// Limits of the input.
const (
	maxLine   = 64 << 20 // bytes of a line
	maxValues = 1 << 24  // values in the lists of a line, once runs are spread
)

// An Error is a fault of a history, and its place. Failures of the reader that
// delivers the history are not of this type.
type Error struct {
	File   string // as the caller named it
	Line   int    // from 1, after decompression
	Column int    // from 1, in bytes; one past the end if something is missing there
	Reason string
}

// Error returns "file:line:column: reason".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", visible.Text(e.File), e.Line, e.Column, e.Reason)
}

// Read returns the entries of a history in order. The history may be compressed by gzip, and may
// begin with a byte order mark. file names it in errors; empty means "-". Read reads r as the
// sequence is consumed, which is possible once, and keeps one line in memory.
//
// The first error ends the sequence. It is an [*Error] if the history is bad;
// otherwise it wraps the error of r. A line without an end is an error, since it
// may be the beginning of a longer one. [Check] says whether the history is
// possible.
func Read(r io.Reader, file string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l := &lines{file: cmp.Or(file, "-"), src: bufio.NewReaderSize(r, 1<<16)}
		if err := l.readAll(yield); err != nil {
			yield(Entry{}, err)
		}
	}
}

// byteOrderMark is what some editors put before text in UTF-8. It is skipped.
const byteOrderMark = "\uFEFF"

// lines splits text into lines.
type lines struct {
	file string
	src  *bufio.Reader
	zip  bool
	buf  []byte // of a line that does not fit into src
	n    int    // number of the latest line, from 1
}

// readAll yields all entries, until an error or until yield reports false.
func (l *lines) readAll(yield func(Entry, error) bool) error {
	if magic, _ := l.src.Peek(2); string(magic) == "\x1f\x8b" {
		l.zip = true
		z, err := gzip.NewReader(l.src)
		if err != nil {
			l.n = 1
			return l.fail(err, 0)
		}
		l.src = bufio.NewReaderSize(z, 1<<16)
	}
	if mark, _ := l.src.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		l.src.Discard(len(byteOrderMark))
	}
	line, err := l.next()
	if err != nil && err != io.EOF {
		return err
	}
	if reason := checkFirstLine(line); reason != "" {
		return &Error{l.file, 1, 1, reason}
	}
	var (
		headers []string // their names
		calls   bool
	)
	for {
		line, err := l.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p := newParser(string(line))
		if p.tok == "" && p.fault == nil {
			continue // blank, or a comment
		}
		e := Entry{File: l.file, Line: l.n}
		switch {
		case p.fault != nil:
		case p.tok[0] == '@':
			calls = true
			p.call(&e)
		case calls:
			p.fail(p.off, "want a call, which starts with @ and its time")
		default:
			p.header(&e)
			if slices.Contains(headers, e.Name) {
				p.fail(p.off, "duplicate header %q", brief(e.Name))
			}
			headers = append(headers, e.Name)
		}
		if p.fault != nil {
			return &Error{l.file, l.n, p.fault.off + 1, p.fault.reason}
		}
		if !yield(e, nil) {
			return nil
		}
	}
}

// checkFirstLine returns what is wrong with the first line, or "".
func checkFirstLine(line []byte) string {
	text := trimBlanks(string(line))
	if text == firstLine {
		return ""
	}
	before := firstLine[:strings.LastIndexByte(firstLine, ' ')+1]
	if version, ok := strings.CutPrefix(text, before); ok {
		return fmt.Sprintf("version %q of the format is not known, only %q", brief(version), firstLine[len(before):])
	}
	return fmt.Sprintf("not a history: the first line is not %q", firstLine)
}

// next returns the next line without its end, valid until the next call, or
// io.EOF.
func (l *lines) next() ([]byte, error) {
	l.n++
	l.buf = l.buf[:0]
	for {
		line, err := l.src.ReadSlice('\n')
		if len(l.buf) > 0 || err == bufio.ErrBufferFull {
			l.buf = append(l.buf, line...)
			line = l.buf
		}
		switch {
		case len(line) > maxLine:
			return nil, &Error{l.file, l.n, maxLine, fmt.Sprintf("line is longer than %d bytes", maxLine)}
		case err == nil:
			line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
			return line, checkUTF8(l, line)
		case err == io.EOF && len(line) == 0:
			return nil, io.EOF
		case err == io.EOF:
			return nil, &Error{l.file, l.n, len(line) + 1, "the last line has no end: the history is cut off"}
		case err != bufio.ErrBufferFull:
			return nil, l.fail(err, len(line))
		}
	}
}

func checkUTF8(l *lines, line []byte) error {
	if utf8.Valid(line) {
		return nil
	}
	off := 0
	for {
		r, size := utf8.DecodeRune(line[off:])
		if r == utf8.RuneError && size == 1 {
			return &Error{l.file, l.n, off + 1, visible.NotUTF8(line)}
		}
		off += size
	}
}

// fail turns a failure to read into the error to report: faults of compressed
// data are faults of the history.
func (l *lines) fail(err error, off int) error {
	if l.zip && (err == io.EOF || err == io.ErrUnexpectedEOF || err == gzip.ErrHeader || err == gzip.ErrChecksum || isFlate(err)) {
		return &Error{l.file, l.n, off + 1, "gzip data: " + err.Error()}
	}
	return visible.Errorf("%s:%d: %w", l.file, l.n, err)
}
