package trace

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// limits bound the cost of input, so that a broken or hostile file causes an
// error and not the end of the process. Zero means the default.
type limits struct {
	// line is the greatest length of a line in bytes, or of a JSON object in
	// formats made of these. Zero means 64 MiB. A reader holds one in memory.
	line int

	// bytes is the size of the whole input after decompression. Zero means
	// 16 GiB.
	bytes int64

	// ratio is how many bytes of text a byte of gzip data may stand for, on
	// average from the start. It is checked only after 64 MiB of text. Zero means
	// 500: lists of equal numbers reach some hundreds, a gzip bomb 1000.
	ratio int64

	// tasks is the number of tasks of a job. Zero means 2^24.
	tasks int

	// spread is how many values the single numbers for bytes and delay may stand
	// for, one for each task, in all jobs of a workload. Zero means 2^26, which
	// is half a gigabyte if all jobs are kept.
	spread int

	// depth is the greatest nesting of lists and objects of a trace in JSON.
	// Zero means 64: Hadoop's have less than ten.
	depth int

	// text is the length of the longest string of a trace in JSON, in bytes.
	// Zero means 1 MiB.
	text int
}

// withDefaults returns l with its zero fields replaced.
func (l limits) withDefaults() limits {
	l.line = cmp.Or(l.line, 64<<20)
	l.bytes = cmp.Or(l.bytes, 16<<30)
	l.ratio = cmp.Or(l.ratio, 500)
	l.tasks = cmp.Or(l.tasks, 1<<24)
	l.spread = cmp.Or(l.spread, 1<<26)
	l.depth = cmp.Or(l.depth, 64)
	l.text = cmp.Or(l.text, 1<<20)
	return l
}

// ratioFloor is the amount of text below which limits.ratio does not count.
const ratioFloor = 64 << 20

// An input is text from a reader, decompressed if need be, within limits.
type input struct {
	file   string
	limits limits
	raw    source
	text   *unmarked
	zipped bool
	size   int64 // bytes of text so far
}

// Errors of input.Read that are faults of the text wrap errInput.
var errInput = errors.New("bad input")

// open returns the text that r delivers. It decompresses the text if this begins
// like gzip data. limits have no defaults left to fill in.
func open(r io.Reader, file string, limits limits) *input {
	in := &input{file: cmp.Or(file, "-"), limits: limits, raw: source{r: r}}
	buf := bufio.NewReaderSize(&in.raw, 1<<16)
	if magic, _ := buf.Peek(2); string(magic) == "\x1f\x8b" {
		in.zipped = true
		buf = bufio.NewReaderSize(&unzipper{src: buf}, 1<<16)
	}
	in.text = &unmarked{text: buf}
	return in
}

// Read reads text. An error other than io.EOF wraps errInput, or is that of the
// reader below.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.text.Read(p)
	in.size += int64(n)
	switch {
	case in.size > in.limits.bytes:
		n -= int(min(in.size-in.limits.bytes, int64(n)))
		err = fmt.Errorf("%w: more than %d bytes of text", errInput, in.limits.bytes)
	case in.zipped && in.size > ratioFloor && in.size/in.limits.ratio > in.raw.n:
		err = fmt.Errorf("%w: %d bytes of gzip data make more than %d times as much text", errInput, in.raw.n, in.limits.ratio)
	case in.zipped && err != nil && err != io.EOF && in.raw.err == nil:
		err = fmt.Errorf("%w: gzip data: %w", errInput, err)
	}
	return n, err
}

// fail turns an error of Read into the one to report, at a place in the text.
func (in *input) fail(err error, line, column int) error {
	if errors.Is(err, errInput) {
		return errorAt(in.file, line, column, err.Error()[len(errInput.Error()+": "):])
	}
	return visible.Errorf("%s:%d: %w", in.file, line, err)
}

// A source counts the bytes of a reader, and remembers its failure. This
// distinguishes faults of compressed data from failures to read it.
type source struct {
	r   io.Reader
	n   int64
	err error // other than io.EOF
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// An unzipper is a gzip.Reader that reports a bad header at the first Read.
type unzipper struct {
	src *bufio.Reader
	z   *gzip.Reader
	err error // of the header
}

func (u *unzipper) Read(p []byte) (int, error) {
	if u.z == nil && u.err == nil {
		u.z, u.err = gzip.NewReader(u.src)
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.z.Read(p)
}

// byteOrderMark is what some editors put before text in UTF-8.
const byteOrderMark = "\uFEFF"

// An unmarked is text without a byte order mark at its beginning.
type unmarked struct {
	text  *bufio.Reader
	begun bool
}

func (u *unmarked) Read(p []byte) (int, error) {
	if !u.begun {
		u.begun = true
		if start, _ := u.text.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
			u.text.Discard(len(byteOrderMark))
		}
	}
	return u.text.Read(p)
}

// lines splits an input into lines.
type lines struct {
	in  *input
	src *bufio.Reader
	buf []byte // of a line that does not fit into src
	n   int    // number of the latest line, from 1
}

func newLines(in *input) *lines {
	return &lines{in: in, src: bufio.NewReaderSize(in, 1<<16)}
}

// next returns the next line without its end, valid until the next call, or
// io.EOF. The last line may lack its end.
func (l *lines) next() ([]byte, error) {
	l.n++
	l.buf = l.buf[:0]
	for {
		line, err := l.src.ReadSlice('\n')
		if len(l.buf) > 0 || err == bufio.ErrBufferFull {
			l.buf = append(l.buf, line...)
			line = l.buf
		}
		text := line
		if err == nil {
			text = line[:len(line)-1]
		}
		switch {
		case len(text) > l.in.limits.line:
			return nil, l.fault(faultf(l.in.limits.line, "line is longer than %d bytes", l.in.limits.line))
		case err == nil, err == io.EOF && len(line) > 0:
			return text, nil
		case err == io.EOF:
			return nil, err
		case err != bufio.ErrBufferFull:
			return nil, l.in.fail(err, l.n, len(line)+1)
		}
	}
}

// each calls row with each line that is not blank, until row reports a fault or false. It reports whether to go on at
// the end. fail gets errors.
func (l *lines) each(fail func(error) bool, row func(line []byte) (bool, *fault)) bool {
	for {
		line, err := l.next()
		switch {
		case err == io.EOF:
			return true
		case err != nil:
			return fail(err)
		case isBlank(line):
			continue
		}
		switch more, fault := row(line); {
		case fault != nil:
			return fail(l.fault(fault))
		case !more:
			return false
		}
	}
}

// plainly returns a function that ends a sequence with an error, and reports false.
func plainly(yield func(*sim.Job, error) bool) func(error) bool {
	return func(err error) bool {
		yield(nil, err)
		return false
	}
}

// fault returns a fault of the latest line as an Error.
func (l *lines) fault(f *fault) *Error {
	return errorAt(l.in.file, l.n, f.off+1, f.reason)
}
