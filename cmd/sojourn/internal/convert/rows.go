package convert

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// Rows are the rows of a log, one after the other.
type rows interface {
	titles() []string                      // of the columns
	next() error                           // moves to the next row; io.EOF behind the last
	cell(column int) string                // "" if the row has none
	place(column int) (line, position int) // of a cell in the file, from 1
}

// maxLine is the most bytes of a line, and of a record in JSON.
const maxLine = 64 << 20

// unzipped returns the text of a file that may be compressed by gzip, without a byte order mark.
func unzipped(from io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(from, 1<<16)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	return in, recognized(in)
}

// recognized discards a byte order mark, and refuses what is no text that is read here; text that gzip compressed is.
func recognized(in *bufio.Reader) error {
	switch mark, _ := in.Peek(512); {
	case bytes.HasPrefix(mark, []byte("\x1f\x8b")):
	case bytes.HasPrefix(mark, []byte("\ufeff")):
		in.Discard(3)
	case bytes.HasPrefix(mark, []byte("\xff\xfe")), bytes.HasPrefix(mark, []byte("\xfe\xff")), len(mark) > 1 && (mark[0] == 0) != (mark[1] == 0):
		return errors.New("the text is UTF-16: make it UTF-8, such as by iconv -f UTF-16 -t UTF-8, or save it as CSV UTF-8")
	case bytes.HasPrefix(mark, []byte("PAR1")):
		return errors.New("this is Parquet: export the table as CSV")
	case bytes.HasPrefix(mark, []byte("PK\x03\x04")):
		return errors.New("this is a zip archive or a spreadsheet: unpack it, or export the sheet as CSV")
	case bytes.HasPrefix(mark, []byte("LZ4Block")), bytes.HasPrefix(mark, []byte("\x82SNAPPY")):
		return errors.New("the file is compressed as only Spark reads it: write it with spark.eventLog.compress=false, or with spark.eventLog.compression.codec=zstd")
	default:
		for _, z := range [...]struct{ magic, program string }{{"\x28\xb5\x2f\xfd", "zstd"}, {"\xfd7zX", "xz"}, {"BZh", "bzip2"}} {
			if bytes.HasPrefix(mark, []byte(z.magic)) {
				return fmt.Errorf("the file is compressed by %s: give %[1]s -dc FILE | sojourn convert ... -", z.program)
			}
		}
		if first, _, _ := bytes.Cut(mark, []byte("\n")); bytes.IndexByte(first, 0) >= 0 {
			return errors.New("this is no text: export the table as CSV, or the log as text")
		}
	}
	return nil
}

// A placed error is a fault of the file, and its place.
type placed struct {
	line, position int
	err            error
}

func (e *placed) Error() string { return e.err.Error() }
func (e *placed) Unwrap() error { return e.err }

// An unended error is a fault of the last line of a file that was copied while it grew: the line has no end.
type unended struct{ error }

func (e unended) Unwrap() error { return e.error }

// in returns the error with the name of the file.
func in(file string, err error) error {
	var p *placed
	if errors.As(err, &p) {
		return &trace.Error{File: file, Line: max(p.line, 1), Column: max(p.position, 1), Reason: p.err.Error()}
	}
	if errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &trace.Error{File: file, Line: 1, Column: 1, Reason: "gzip: " + strings.TrimPrefix(err.Error(), "gzip: ")}
	}
	return fmt.Errorf("%s: %w", file, err)
}

// Cells are rows of cells that a sign separates, and the first row names the columns.
type cells struct {
	csv   *csv.Reader // nil if quotes mean nothing
	lines *lines
	comma string
	head  []string
	row   []string
	offs  []int // of the cells in the line, unless there is csv
	width int
}

// separators are those that a file may have without saying so.
const separators = "|\t;,"

// newCells reads the first row. Separator 0 is the one that the first row has most of.
func newCells(in *bufio.Reader, separator rune, quotes bool) (*cells, error) {
	start, _ := in.Peek(1 << 15)
	if len(bytes.TrimSpace(start)) == 0 {
		if _, err := in.Peek(1); err != nil && err != io.EOF {
			return nil, err
		}
		return nil, &placed{1, 1, errors.New("the file is empty: the first row must name the columns")}
	}
	if i := bytes.IndexByte(start, '\r'); i >= 0 && len(bytes.TrimRight(start, "\r")) > i && bytes.IndexByte(start, '\n') < 0 {
		return nil, &placed{1, i + 1, errors.New("the lines end in CR without LF: make it LF, such as by tr '\\r' '\\n'")}
	}
	first, _, _ := bytes.Cut(bytes.TrimLeft(start, "\r\n"), []byte("\n"))
	if separator == 0 {
		separator = ','
		most := 0
		for _, s := range separators {
			if n := bytes.Count(first, []byte(string(s))); n > most {
				separator, most = s, n
			}
		}
	}
	c := &cells{comma: string(separator)}
	if quotes || separator == ',' || separator == ';' { // what writes no quotes has other separators
		c.csv = csv.NewReader(in)
		c.csv.LazyQuotes = !quotes
		c.csv.Comma = separator
		c.csv.ReuseRecord = true
		c.csv.TrimLeadingSpace = separator != '\t'
		c.csv.FieldsPerRecord = -1
	} else {
		c.lines = &lines{in: in}
	}
	if err := c.next(); err != nil {
		return nil, err
	}
	for len(c.row) > 1 && strings.TrimSpace(c.row[len(c.row)-1]) == "" { // a separator behind the last title
		c.row = c.row[:len(c.row)-1]
	}
	for _, title := range c.row {
		c.head = append(c.head, strings.TrimSpace(title))
	}
	c.width = len(c.row)
	return c, nil
}

func (c *cells) titles() []string { return c.head }

// unnamed says what helps if the first row does not look like titles.
func (c *cells) unnamed() string {
	const must = "; the first row must name the columns"
	if len(c.head) <= 2 {
		return must + ": remove lines before it; --separator says what is between cells"
	}
	for _, title := range c.head {
		if _, ok := number(title, false); ok {
			return must
		}
	}
	return ""
}

// rule reports whether the row is a line of a table for people, such as ---+---.
func (c *cells) rule() bool {
	return slices.ContainsFunc(c.row, func(text string) bool {
		return strings.Contains(text, "---") || strings.Contains(text, "===")
	}) && strings.Trim(strings.Join(c.row, ""), "-=+ ") == ""
}

// next moves to the next row. The titles may come again, where files were put together, and empty cells behind the last one do not count.
func (c *cells) next() error {
	for again := true; again; again = c.head != nil && slices.EqualFunc(c.row, c.head, func(text, title string) bool { return strings.TrimSpace(text) == title }) {
		if err := c.read(); err != nil {
			return err
		}
		for c.head != nil && c.rule() {
			if err := c.read(); err != nil {
				return err
			}
		}
		for c.head != nil && len(c.row) > c.width && c.row[len(c.row)-1] == "" {
			c.row = c.row[:len(c.row)-1]
		}
	}
	if c.head != nil && len(c.row) != c.width {
		line, _ := c.place(0)
		if len(c.row) < c.width && c.csv == nil && c.lines.open && c.lines.n > 1 {
			return c.lines.fault("%s, but the first row has %d", format.Count(len(c.row), "cell"), c.width)
		}
		hint := ""
		if len(c.row) > c.width {
			hint = fmt.Sprintf(": perhaps a cell has %q in it", c.comma)
		}
		return &placed{line, 1, fmt.Errorf("%s, but the first row has %d%s; --separator says what is between cells", format.Count(len(c.row), "cell"), c.width, hint)}
	}
	for i, text := range c.row {
		if !utf8.ValidString(text) {
			line, position := c.place(i)
			return &placed{line, position, errors.New("invalid UTF-8: convert the file first, such as by iconv -f latin1 -t UTF-8")}
		}
	}
	return nil
}

// read reads a row.
func (c *cells) read() (err error) {
	if c.csv == nil {
		return c.split()
	}
	c.row, err = c.csv.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return &placed{parse.Line, parse.Column, errors.New(parse.Err.Error() + ": a quoted cell ends with a quote, and a quote in it is doubled")}
	}
	return err
}

// split splits the next line that is not empty.
func (c *cells) split() error {
	for {
		line, err := c.lines.next()
		if err != nil {
			return err
		}
		text := strings.TrimRight(string(line), "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		c.row = strings.Split(text, c.comma)
		c.offs = c.offs[:0]
		off := 0
		for _, cell := range c.row {
			c.offs = append(c.offs, off)
			off += len(cell) + len(c.comma)
		}
		return nil
	}
}

func (c *cells) cell(i int) string { return strings.TrimSpace(c.row[i]) }

func (c *cells) place(i int) (line, position int) {
	if c.csv != nil {
		return c.csv.FieldPos(i)
	}
	return c.lines.n, c.offs[i] + 1
}

// Lines are the lines of a text.
type lines struct {
	in   *bufio.Reader
	n    int  // of the latest line, from 1
	open bool // the latest line has no end
	long []byte
}

// next returns the next line without its end, valid until the next call.
func (l *lines) next() ([]byte, error) {
	l.n++
	l.long = l.long[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return part[:len(part)-1], nil
		}
		if l.long = append(l.long, part...); len(l.long) > maxLine {
			return nil, &placed{l.n, 1, fmt.Errorf("the line is longer than %d bytes", maxLine)}
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == nil:
			return l.long[:len(l.long)-1], nil
		case err == io.EOF && len(l.long) > 0:
			l.open = true
			return l.long, nil
		default:
			return nil, err
		}
	}
}

// fault returns an error in the latest line.
func (l *lines) fault(format string, args ...any) error {
	err := &placed{l.n, 1, fmt.Errorf(format, args...)}
	if l.open && l.n > 1 {
		return unended{err}
	}
	return err
}

// Pairs are lines of KEY=VALUE words, in front of which may be cells that semicolons separate. Words
// without a known key are part of the value before.
type pairs struct {
	lines  *lines
	head   []string // cells in front, then known keys
	front  int
	values []string
	offs   []int
}

func newPairs(in *bufio.Reader, front, keys []string) *pairs {
	head := append(append([]string{}, front...), keys...)
	return &pairs{lines: &lines{in: in}, head: head, front: len(front), values: make([]string, len(head)), offs: make([]int, len(head))}
}

func (p *pairs) titles() []string       { return p.head }
func (p *pairs) cell(i int) string      { return p.values[i] }
func (p *pairs) place(i int) (int, int) { return p.lines.n, p.offs[i] + 1 }

func (p *pairs) next() error {
	for {
		line, err := p.lines.next()
		if err != nil {
			return err
		}
		text := strings.TrimRight(string(line), " \r")
		if text == "" {
			continue
		}
		if !utf8.ValidString(text) {
			return &placed{p.lines.n, 1, errors.New("invalid UTF-8")}
		}
		clear(p.values)
		clear(p.offs)
		off := 0
		for i := range p.front {
			cell, rest, ok := strings.Cut(text[off:], ";")
			if !ok {
				return p.lines.fault("want a line of %s and KEY=VALUE words, with semicolons in between", strings.Join(p.head[:p.front], ", "))
			}
			p.values[i], p.offs[i] = cell, off
			off = len(text) - len(rest)
		}
		last, found := -1, false
		for off < len(text) {
			word, _, _ := strings.Cut(text[off:], " ")
			key, value, ok := strings.Cut(word, "=")
			i := -1
			if ok {
				found = true
				i = slices.Index(p.head[p.front:], key)
			}
			if i >= 0 {
				i += p.front
			}
			if i >= 0 && (key == "UserId" || key == "GroupId") {
				value, _, _ = strings.Cut(value, "(") // ann(1000)
			}
			switch {
			case i >= 0:
				p.values[i], p.offs[i], last = value, off+len(key)+1, i
			case last >= 0 && !ok:
				p.values[last] += " " + word
			}
			off += len(word) + 1
		}
		if p.front == 0 && !found {
			return p.lines.fault("want a line of KEY=VALUE words")
		}
		return nil
	}
}

// Objects are the objects of a text in JSON: those of a list, those of the lists under known keys of an
// object, or objects one after the other. Values within have paths such as metadata.name and
// labels.0; an object with a type, within a list, has that in place of its number, and gres/gpu if it has a name, too.
type objects struct {
	data   []byte
	dec    *json.Decoder                                           // of data
	lists  []string                                                // the keys of lists of records
	known  []string                                                // paths that count
	derive func(record []byte, set func(path, value string)) error // may be nil

	values  []string
	offs    []int    // of the values, 0 for those that are derived
	queue   [][2]int // records to come
	start   int      // of the record
	line    int      // lines before the record
	counted int      // up to where they were counted
	keys    []string // of the first record
}

// maxJSON is the most bytes of a log in JSON: it is held in memory.
const maxJSON = 4 << 30

func newObjects(in io.Reader, lists, known []string, derive func([]byte, func(string, string)) error) (*objects, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxJSON))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) == maxJSON {
		return nil, &placed{1, 1, fmt.Errorf("more than %d bytes of JSON: give it in several files", int64(maxJSON))}
	}
	return &objects{
		data: data, dec: json.NewDecoder(bytes.NewReader(data)), lists: lists, known: known, derive: derive,
		values: make([]string, len(known)), offs: make([]int, len(known)),
	}, nil
}

func (o *objects) titles() []string  { return o.known }
func (o *objects) cell(i int) string { return o.values[i] }
func (o *objects) place(i int) (int, int) {
	return o.at(max(o.start, o.offs[i]))
}

// at returns the line and the position in it of an offset that is not before the record.
func (o *objects) at(off int) (line, position int) {
	before := o.data[:off]
	return o.line + bytes.Count(o.data[o.counted:off], []byte("\n")) + 1, off - bytes.LastIndexByte(before, '\n')
}

func (o *objects) fault(off int, err error) error {
	line, position := o.at(off)
	return &placed{line, position, err}
}

func (o *objects) next() error {
	for len(o.queue) == 0 {
		var raw json.RawMessage
		err := o.dec.Decode(&raw)
		var syntax *json.SyntaxError
		switch {
		case err == io.EOF:
			return err
		case errors.As(err, &syntax):
			return o.fault(min(max(int(syntax.Offset)-1, o.counted), len(o.data)), fmt.Errorf("invalid JSON: %w", err))
		case err != nil:
			return o.fault(len(o.data), errors.New("invalid JSON: it ends too early"))
		}
		end := int(o.dec.InputOffset())
		if err := o.find(end-len(raw), 0); err != nil {
			return err
		}
	}
	start, end := o.queue[0][0], o.queue[0][1]
	o.queue = o.queue[1:]
	o.line += bytes.Count(o.data[o.counted:start], []byte("\n"))
	o.start, o.counted = start, start
	clear(o.values)
	clear(o.offs)
	first := o.keys == nil
	o.flatten(start, 0, "", func(path, value string, off int) {
		if first && len(o.keys) <= 20 {
			o.keys = append(o.keys, path)
		}
		if i := slices.Index(o.known, path); i >= 0 {
			o.values[i], o.offs[i] = value, off
		}
	})
	if o.derive == nil {
		return nil
	}
	err := o.derive(o.data[start:end], func(path, value string) {
		if i := slices.Index(o.known, path); i >= 0 {
			o.values[i] = value
		}
	})
	if err != nil {
		return o.fault(start, err)
	}
	return nil
}

// find finds the records of the value at an offset.
func (o *objects) find(off, depth int) (err error) {
	switch o.data[off] {
	case '[':
		if depth > 2 { // pages of lists
			return o.fault(off, errors.New("want an object, found a list"))
		}
		children(o.data, off, func(_ string, start, _ int) {
			if err == nil {
				err = o.find(start, depth+1)
			}
		})
		return err
	case '{':
		listed := false
		end := children(o.data, off, func(key string, start, _ int) {
			if err == nil && o.data[start] == '[' && slices.Contains(o.lists, key) {
				listed, err = true, o.find(start, depth+1)
			}
		})
		if !listed {
			o.queue = append(o.queue, [2]int{off, end})
		}
		return err
	}
	return o.fault(off, errors.New("want an object or a list of objects in JSON"))
}

// flatten calls value for each text, number and truth in the value at an offset, which has a path.
func (o *objects) flatten(off, depth int, path string, value func(path, text string, off int)) {
	switch c := o.data[off]; c {
	case '{', '[':
		if depth++; depth > 64 {
			return // nothing that counts is so deep
		}
		n := 0
		children(o.data, off, func(key string, start, end int) {
			if c == '[' {
				key = strconv.Itoa(n)
				if o.data[start] == '{' {
					var kind, name string
					children(o.data, start, func(k string, s, e int) {
						switch {
						case k == "type" && o.data[s] == '"':
							kind = unquoted(o.data[s:e])
						case k == "name" && o.data[s] == '"':
							name = unquoted(o.data[s:e])
						}
					})
					if kind != "" && name != "" {
						key = kind + "/" + name
					} else if kind != "" {
						key = kind
					}
				}
				n++
			}
			if path != "" {
				key = path + "." + key
			}
			o.flatten(start, depth, key, value)
		})
	case '"':
		value(path, unquoted(o.data[off:valueEnd(o.data, off)]), off)
	case 'n':
	default:
		value(path, string(o.data[off:valueEnd(o.data, off)]), off)
	}
}

// children calls child for each member of the object, or element of the list, at an offset of valid JSON, and
// returns its end.
func children(data []byte, off int, child func(key string, start, end int)) int {
	listed := data[off] == '['
	for off++; ; {
		switch c := data[off]; {
		case c == ']', c == '}':
			return off + 1
		case c == ',', c == ' ', c == '\t', c == '\r', c == '\n':
			off++
			continue
		}
		key := ""
		if !listed {
			end := valueEnd(data, off)
			key = unquoted(data[off:end])
			for off = end; strings.IndexByte(": \t\r\n", data[off]) >= 0; {
				off++
			}
		}
		end := valueEnd(data, off)
		child(key, off, end)
		off = end
	}
}

// valueEnd returns the end of the value at an offset of valid JSON.
func valueEnd(data []byte, off int) int {
	depth := 0
	for {
		switch data[off] {
		case '{', '[':
			depth++
			off++
		case '}', ']':
			depth--
			off++
		case '"':
			for off++; data[off] != '"'; off++ {
				if data[off] == '\\' {
					off++
				}
			}
			off++
		case ',', ':', ' ', '\t', '\r', '\n':
			off++
		default:
			for off < len(data) && strings.IndexByte(",:]} \t\r\n", data[off]) < 0 {
				off++
			}
		}
		if depth == 0 {
			return off
		}
	}
}

// unquoted returns what a string in valid JSON denotes.
func unquoted(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text[1 : len(text)-1])
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		panic(err) // it was valid before
	}
	return s
}
