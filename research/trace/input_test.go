package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"github.com/sojourn-sched/sojourn/research/sim"
	"io"
	"iter"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// A failing reader ends with an error in place of io.EOF.
type failing struct {
	r   io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err == io.EOF {
		err = f.err
	}
	return n, err
}

func zip(t testing.TB, text string) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

const goodLine = `{"id":1,"at":0,"phases":[{"tasks":1,"time":1}]}` + "\n"

func TestReadGzip(t *testing.T) {
	second := strings.Replace(goodLine, `"id":1`, `"id":2`, 1)
	for _, data := range [][]byte{
		zip(t, goodLine+second),
		append(zip(t, goodLine), zip(t, second)...), // gzip data may be concatenated
	} {
		jobs, err := collect(t, Read(iotest.OneByteReader(bytes.NewReader(data)), ReadOptions{}))
		if err != nil || len(jobs) != 2 {
			t.Errorf("%d jobs, error %v, want 2 jobs", len(jobs), err)
		}
	}
}

func TestReadGzipFaults(t *testing.T) {
	whole := zip(t, goodLine+strings.Repeat(" ", 100))
	broken := bytes.Clone(whole)
	broken[len(broken)-6] ^= 1 // the checksum
	tests := []struct {
		name         string
		data         []byte
		line, column int
		reason       string
	}{
		{"fault of the text", zip(t, goodLine+`{"id":0}`), 2, 7, "found 0"},
		{"header alone", whole[:5], 1, 1, "gzip data: unexpected EOF"},
		{"no header", []byte("\x1f\x8b\x00 and so on"), 1, 1, "gzip data: gzip: invalid header"},
		{"truncated", whole[:len(whole)-8], 2, 101, "gzip data: unexpected EOF"},
		{"checksum", broken, 2, 101, "gzip data: gzip: invalid checksum"},
		{"garbage after the end", append(bytes.Clone(whole), "garbage"...), 2, 101, "gzip data: "},
		{"gzip in gzip", zip(t, string(whole)), 1, 2, "invalid UTF-8"}, // 1f is a character, and 8b is none
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := collect(t, Read(bytes.NewReader(tc.data), ReadOptions{File: "w.gz"}))
			checkError(t, tc.name, err, "w.gz", tc.line, tc.column, tc.reason)
		})
	}
}

// A failure to read compressed data is not a fault of the data, even if it looks
// like one.
func TestReadGzipFailure(t *testing.T) {
	data := zip(t, goodLine)
	r := &failing{bytes.NewReader(data[:len(data)-8]), io.ErrUnexpectedEOF}
	_, err := collect(t, Read(r, ReadOptions{}))
	var e *Error
	if !errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &e) {
		t.Errorf("error %v (%T), want one that wraps %q", err, err, io.ErrUnexpectedEOF)
	}
}

// endless is text that repeats one byte without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestLineWithoutEnd(t *testing.T) {
	const most = 64 << 20
	_, err := collect(t, Read(io.MultiReader(strings.NewReader(goodLine), endless('[')), ReadOptions{}))
	checkError(t, "endless line", err, "-", 2, most+1, "line is longer than 67108864 bytes")
}

func TestLimitOfLine(t *testing.T) {
	text := goodLine[:len(goodLine)-1]
	for _, end := range []string{"", "\n", "\n\n"} {
		_, err := collect(t, Read(strings.NewReader(text+end), ReadOptions{limits: limits{line: len(text)}}))
		if err != nil {
			t.Errorf("line as long as the limit, then %q: %v", end, err)
		}
		_, err = collect(t, Read(strings.NewReader(text+end), ReadOptions{limits: limits{line: len(text) - 1}}))
		checkError(t, text+end, err, "-", 1, len(text), "line is longer than")
	}
}

func TestLimitOfBytes(t *testing.T) {
	text := goodLine + "\n"
	jobs, err := collect(t, Read(strings.NewReader(text), ReadOptions{limits: limits{bytes: int64(len(text))}}))
	if err != nil || len(jobs) != 1 {
		t.Errorf("input as long as the limit: %d jobs, error %v", len(jobs), err)
	}
	for name, r := range map[string]io.Reader{
		"text": io.MultiReader(strings.NewReader(text), endless(' ')),
		"gzip": bytes.NewReader(zip(t, text+strings.Repeat(" ", 1<<20))),
	} {
		jobs, err := collect(t, Read(r, ReadOptions{limits: limits{bytes: int64(len(text)) + 7}}))
		checkError(t, name, err, "-", 3, 8, "more than 56 bytes of text")
		if len(jobs) != 1 {
			t.Errorf("%s: %d jobs before the error, want 1", name, len(jobs))
		}
	}
}

// Blank lines of 2^16 bytes compress 1000 times. They are a bomb once there is more than
// 64 MiB of them. The reader looks at 64 KiB of text at a time, so it stops at the first
// or the second line past the limit.
func TestGzipBomb(t *testing.T) {
	line := strings.Repeat(" ", 1<<16-1) + "\n"
	first := ratioFloor/len(line) + 1
	bomb := zip(t, strings.Repeat(line, first+4))
	_, err := collect(t, Read(bytes.NewReader(bomb), ReadOptions{File: "bomb"}))
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Reason, "more than 500 times as much text") {
		t.Fatalf("error %v, want that of the ratio", err)
	}
	if e.Line < first || e.Line > first+1 {
		t.Errorf("stopped at line %d, want %d or the next one", e.Line, first)
	}
	if _, err := collect(t, Read(bytes.NewReader(bomb), ReadOptions{limits: limits{ratio: 2000}})); err != nil {
		t.Errorf("with a limit of 2000: %v", err)
	}
}

// readAnything returns a reader for each kind of input.
func readAnything() map[string]func(r io.Reader) (any, error) {
	all := map[string]func(r io.Reader) (any, error){
		"workload": func(r io.Reader) (any, error) { return gather(Read(r, ReadOptions{})) },
		"swim":     func(r io.Reader) (any, error) { return gather(ReadSWIM(r, SWIMOptions{})) },
		"cluster":  func(r io.Reader) (any, error) { return ReadCluster(r, "") },
		"topology": func(r io.Reader) (any, error) { return ReadTopology(r, TopologyOptions{}) },
	}
	for _, s := range samples {
		all[s.name] = func(r io.Reader) (any, error) { return gather(s.read(r, limits{}, nil)) }
	}
	return all
}

// gather returns the jobs before the first error, and the error.
func gather(seq iter.Seq2[*sim.Job, error]) (jobs []*sim.Job, err error) {
	for j, err := range seq {
		if err != nil {
			return jobs, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// A byte order mark before the text changes nothing, not even the place of a fault.
// Anywhere else it is text.
func TestByteOrderMark(t *testing.T) {
	texts := map[string]string{
		"workload": goodLine,
		"swim":     "a\t1\t0\t5\t5\t5\n",
		"cluster":  `{"nodes":[{"name":"a","slots":2}]}`,
		"topology": `{"name":"r","children":[{"name":"a"}]}`,
	}
	for _, s := range samples {
		texts[s.name] = s.text
	}
	for name, read := range readAnything() {
		text := texts[name]
		want, err := read(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, data := range [][]byte{[]byte("\xEF\xBB\xBF" + text), zip(t, "\xEF\xBB\xBF"+text)} {
			got, err := read(iotest.OneByteReader(bytes.NewReader(data)))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s after a byte order mark: %v, error %v, want %v", name, got, err, want)
			}
		}
		_, plain := read(strings.NewReader("?" + text))
		_, marked := read(strings.NewReader("\xEF\xBB\xBF?" + text))
		if plain == nil && name != "swim" || fmt.Sprint(plain) != fmt.Sprint(marked) {
			t.Errorf("%s: fault %v with a byte order mark, want %v", name, marked, plain)
		}
		if got, err := read(strings.NewReader("\xEF\xBB\xBF\xEF\xBB\xBF" + text)); err == nil && reflect.DeepEqual(got, want) {
			t.Errorf("%s: two byte order marks are skipped", name)
		}
		for n := range 3 { // the beginning of a byte order mark
			if _, err := read(strings.NewReader("\xEF\xBB\xBF"[:n+1])); n < 2 && err == nil {
				t.Errorf("%s: %d bytes of a byte order mark are no fault", name, n+1)
			}
		}
	}
}
