package history

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// People write spaces, comments, other units, and fields in any order.
func TestHandWritten(t *testing.T) {
	const text = "sojourn history 1  \r\n" + `
# Two jobs.
policy:   fsp:late=share  # not a comment
	seed : 7

@0 SlotAdded	1   class=0 node=0x2    # no, this is not a number
`
	_, err := collect(Read(strings.NewReader(text), "h"))
	want := `h:7:31: want a number, found "0x2"`
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}

	good := strings.Replace(text, "0x2 ", "2", 1) + `   @1m0.5s JobArrived 1 pool="etl" name = x
`
	good = strings.Replace(good, "name = x", "weight=2.0 name=x|y | 1x10s | 002x1ms class=1 after=0   ", 1)
	got, err := collect(Read(strings.NewReader(good), "h"))
	if err != nil {
		t.Fatal(err)
	}
	canonical := `sojourn history 1
policy: fsp:late=share  # not a comment
seed: 7
@0s SlotAdded 1 node=2
@60.5s JobArrived 1 name="x|y" pool=etl weight=2 | 1x10s | 2x0.001s class=1
`
	if again := write(t, got); again != canonical {
		t.Errorf("%s\nbecomes\n%s\nwant\n%s", good, again, canonical)
	}
}

func TestJobFields(t *testing.T) {
	const line = `@0s JobArrived 18446744073709551615 name="w c" weight=0.5 priority=-2147483648 deadline=300s parallelism=4 release=1s sequence="a b"` +
		` | 3x10s estimates=9s,2x11s inputs=1+7,2x- bytes=2x134217728,9000 delays=1s,0.9s,1.1s | 2 class=1 after=none estimates=`
	got, err := collect(Read(strings.NewReader(firstLine+"\n"+line+"\n"), ""))
	if err != nil {
		t.Fatal(err)
	}
	const sec = time.Second
	want := []Entry{{Kind: Observe, Event: sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
		ID: 1<<64 - 1, Name: "w c", Weight: 0.5, Priority: -1 << 31, Deadline: sojourn.Time(300 * sec), Parallelism: 4, Release: sojourn.Time(sec), Sequence: "a b",
		Phases: []sojourn.Phase{
			{
				Tasks: 3, Estimate: 10 * sec, Estimates: []time.Duration{9 * sec, 11 * sec, 11 * sec},
				Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{1, 7}, nil, nil}),
				Bytes:  []int64{134217728, 134217728, 9000}, Delays: []time.Duration{sec, 900 * time.Millisecond, 1100 * time.Millisecond},
			},
			{Tasks: 2, Class: 1, After: sojourn.NoBarrier, Estimates: []time.Duration{}},
		},
	}}}}
	if !equal(got, want) {
		t.Errorf("%s\nreads as %s\nwant %s", line, dump(got), dump(want))
	}
	if s := got[0].String(); s != line {
		t.Errorf("got  %s\nwant %s", s, line)
	}
}

// checkError fails unless err is an *Error at that place, whose reason has that
// part.
func checkError(t *testing.T, input string, err error, line, column int, reason string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%.200q: error %v, want one at %d:%d: ...%s...", input, err, line, column, reason)
		return
	}
	if e.File != "h" || e.Line != line || e.Column != column || !strings.Contains(e.Reason, reason) {
		t.Errorf("%.200q: got %v, want h:%d:%d: ...%s...", input, e, line, column, reason)
	}
}

// Each line follows the first one, and is wrong at the caret.
func TestFaults(t *testing.T) {
	for _, tc := range []struct{ line, caret, reason string }{
		{"policy fifo", "^", "want a header"},
		{": fifo", "^", "starts with a letter"},
		{"a b: fifo", "^", "letters, digits and - only"},
		{"a: b\x01", "^", "control character"},
		{"a: 1\na: 2", "^", `duplicate header "a"`},
		{"@0s Tick\na: 2", "^", "want a call"},
		{"@0s Tick \xff", "         ^", "invalid UTF-8"},
		{"@", " ^", "want a time"},
		{"@0s", "   ^", "want a kind of event"},
		{"@0s # Tick", "    ^", "want a kind of event"},
		{"@9223372036.854775808s Tick", " ^", "want a time"},
		{"@1.0000000001 Tick", " ^", "want a time"},
		{"@0s Tock", "    ^", `unknown kind of event "Tock"`},
		{"@0s EventKind(256)", "    ^", "unknown kind"},
		{"@0s EventKind(1)", "    ^", "unknown kind"},
		{"@0s Tick 5", "         ^", `unexpected "5"`},
		{"@0s Tick node=1", "         ^", `unexpected "node=1"`},
		{"@0s SlotAdded", "             ^", "want the number of a slot"},
		{"@0s SlotAdded x", "              ^", `want a number, found "x"`},
		{"@0s SlotAdded -1", "              ^", `want a number, found "-1"`},
		{"@0s SlotAdded 4294967296", "              ^", "0 to 4294967295"},
		{"@0s SlotAdded 1 class=65536", "                      ^", "65536 is out of range: 0 to 65535"},
		{"@0s SlotAdded 1 nod=1", "                ^", `unknown field "nod"; known are node, rack, class`},
		{"@0s SlotAdded 1 rack=1 rack=1", "                       ^", `duplicate field "rack"`},
		{"@0s SlotAdded 1 rack", "                ^", `unexpected "rack"`},
		{"@0s NodeDown 1 rack=", "                    ^", `want a number, found ""`},
		{"@0s JobArrived", "              ^", "want the number of a job"},
		{"@0s JobArrived 18446744073709551616", "               ^", "0 to 18446744073709551615"},
		{"@0s JobArrived 1 name=\"x", "                      ^", "string without an end"},
		{"@0s JobArrived 1 name=\"\\q\"", "                      ^", "string without an end, or with an unknown escape"},
		{"@0s JobArrived 1 name=x\"y\"", "                      ^", "want a word or one string"},
		{"@0s JobArrived 1 weight=heavy", "                        ^", `want a number, found "heavy"`},
		{"@0s JobArrived 1 weight=1e999", "                        ^", "out of range"},
		{"@0s JobArrived 1 |", "                  ^", "want a number of tasks"},
		{"@0s JobArrived 1 | x10s", "                   ^", `want a number, found ""`},
		{"@0s JobArrived 1 | 3x10", "                     ^", `want a time such as 12.5s within 292 years, found "10"`},
		{"@0s JobArrived 1 | 3 after=some", "                           ^", "want a number"},
		{"@0s JobArrived 1 | 3 estimates=1s,,2s", "                                  ^", "want a time"},
		{"@0s JobArrived 1 | 3 estimates=1s,0x2s", "                                  ^", "0 times"},
		{"@0s JobArrived 1 | 3 bytes=16777217x1", "                           ^", "more than 16777216 values"},
		{"@0s JobArrived 1 | 3 inputs=8388608x1+2", "                            ^", "more than 16777216 values"},
		{"@0s JobArrived 1 | 3 inputs=1+2+y", "                                ^", "want a number"},
		{"@0s JobArrived 1 | 3 |", "                      ^", "want a number of tasks"},
		{"@0s JobCancelled 1 | 3", "                   ^", `unexpected "|"`},
		{"@0s TaskHeld", "            ^", "want a task as job/phase/index, found"},
		{"@0s TaskHeld 1/2", "             ^", "want a task as job/phase/index, found"},
		{"@0s TaskDone 1/2/3#1", "             ^", "want a task as job/phase/index, found"},
		{"@0s TaskHeld 1/2/3#", "                   ^", "want a number"},
		{"@0s JobArrived 1 age=1s", "                 ^", `unknown field "age"`},
		{"@0s JobArrived 1 | 3 needs=1+", "                             ^", "want a number"},
		{"@0s JobArrived 1 | 3 held=some", "                          ^", `want held=all, found "some"`},
		{"@0s TaskHeld 1/65536/3", "               ^", "0 to 65535"},
		{"@0s TaskHeld 1/0/3/4", "                 ^", `want a number, found "3/4"`},
		{"@0s OutputLost 1/2/3", "               ^", "want a task as job/phase/index#attempt"},
		{"@0s OutputLost 1/2/3#", "                     ^", "want a number"},
		{"@0s TaskFinished 1/0/0#1", "                        ^", "want the slot"},
		{"@0s TaskFinished 1/0/0#1 slot=1 cause=task", "                                ^", `unknown field "cause"; known are slot, service`},
		{"@0s TaskFailed 1/0/0#1 slot=1 cause=rain", "                                    ^", "want one of task, preempted, slot-lost"},
		{"@0s TaskProgress 1/0/0#1 slot=1 progress=65536", "                                         ^", "0 to 65535"},
		{"@0s Tick ErrUnknownJob", "         ^", "unexpected"},
		{"@0s Tick !", "          ^", "unknown error"},
		{"@0s Tick !ErrNone", "          ^", `unknown error "ErrNone"`},
		{"@0s Tick !ErrUnknownJob job=1", "                        ^", "unexpected"},
		{"@0s Tick !ErrRejected exact=maybe", "                            ^", "want true or false"},
		{"@0s Assign", "          ^", "want the number of a slot"},
		{"@0s Assign 1", "            ^", "want -> and the decision"},
		{"@0s Assign 1 1/0/0#1", "             ^", "want -> and the decision"},
		{"@0s Assign 1 ->", "               ^", "want a task"},
		{"@0s Assign 1 -> nobody", "                ^", "want a task"},
		{"@0s Assign 1 -> none slot=1", "                     ^", "unexpected"},
		{"@0s Assign 1 -> 1/0/0#1 locality=far", "                                 ^", "want one of any, node, rack, remote"},
		{"@0s Assign 1 -> 1/0/0#1 !ErrUnknownJob", "                        ^", "unexpected"},
		{"@0s " + strings.Repeat("long", 100), "    ^", `"` + strings.Repeat("long", 10) + `..."`},
	} {
		line := 2 + strings.Count(tc.line, "\n")
		_, err := collect(Read(strings.NewReader(firstLine+"\n"+tc.line+"\n"), "h"))
		checkError(t, tc.line, err, line, len(tc.caret), tc.reason)
	}
}

// The lists of a line share its room; a list of nodes takes one more than its
// nodes.
func TestRoomOfLine(t *testing.T) {
	const room = 10
	for line, fits := range map[string]bool{
		"@0s JobArrived 1 | 3 bytes=10x1":                  true,
		"@0s JobArrived 1 | 3 bytes=10x1,1":                false,
		"@0s JobArrived 1 | 3 bytes=9x1 | 2 estimates=1s":  true,
		"@0s JobArrived 1 | 3 bytes=9x1 delays=1s,1s":      false,
		"@0s JobArrived 1 | 3 inputs=3x1+2,-":              true,
		"@0s JobArrived 1 | 3 inputs=3x1+2,2x-":            false,
		"@0s JobArrived 1 | 3 inputs=2x1+2,1+2+3":          true,
		"@0s JobArrived 1 | 3 inputs=2x1+2,1+2+3+4":        false,
		"@0s JobArrived 1 | 3 bytes= | 2 estimates=10x1s":  true,
		"@0s JobArrived 1 | 3 bytes=1 | 2 estimates=10x1s": false,
	} {
		p := newParser(line)
		p.room = room
		p.call(new(Entry))
		if (p.fault == nil) != fits {
			t.Errorf("%s: fault %v with room for %d values", line, p.fault, room)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for _, tc := range []struct{ text, reason string }{
		{"", "not a history"},
		{"\n", "not a history"},
		{"# comment\nsojourn history 1\n", "not a history: the first line is not \"sojourn history 1\""},
		{"sojourn history 2\n", `version "2" of the format is not known, only "1"`},
		{`{"id":1}` + "\n", "not a history"},
	} {
		_, err := collect(Read(strings.NewReader(tc.text), "h"))
		checkError(t, tc.text, err, 1, 1, tc.reason)
	}
}

const small = firstLine + "\n@0s SlotAdded 0\n@10s SlotRemoved 0\n"

// A line that is cut off may read as another one: SlotRemoved 1 of SlotRemoved 12.
func TestCutOff(t *testing.T) {
	for n := range len(small) {
		entries, err := collect(Read(strings.NewReader(small[:n]), "h"))
		switch lines := strings.Count(small[:n], "\n"); {
		case n == 0:
			checkError(t, small[:n], err, 1, 1, "not a history")
		case strings.HasSuffix(small[:n], "\n"):
			if err != nil || len(entries) != lines-1 {
				t.Errorf("%q: %d entries, error %v, want %d", small[:n], len(entries), err, lines-1)
			}
		default:
			checkError(t, small[:n], err, lines+1, n-strings.LastIndex(small[:n], "\n"), "the last line has no end")
		}
	}
}

func zip(t *testing.T, text string) []byte {
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

func TestGzip(t *testing.T) {
	data := zip(t, small)
	got, err := collect(Read(iotest.OneByteReader(bytes.NewReader(data)), "h"))
	if err != nil || len(got) != 2 {
		t.Errorf("%d entries, error %v, want 2 entries", len(got), err)
	}
	broken := bytes.Clone(data)
	broken[len(broken)-6] ^= 1 // the checksum
	for _, tc := range []struct {
		name   string
		data   []byte
		line   int
		column int
		reason string
	}{
		{"truncated", data[:len(data)-8], 4, 1, "gzip data: unexpected EOF"},
		{"checksum", broken, 4, 1, "gzip data: gzip: invalid checksum"},
		{"no header", []byte("\x1f\x8b\x00 and so on"), 1, 1, "gzip data: gzip: invalid header"},
		{"header alone", data[:5], 1, 1, "gzip data: unexpected EOF"},
		{"fault of the text", zip(t, small+"@x"), 4, 3, "no end"},
	} {
		_, err := collect(Read(bytes.NewReader(tc.data), "h"))
		checkError(t, tc.name, err, tc.line, tc.column, tc.reason)
	}
}

// An error of the reader below is not a fault of the history.
func TestFailureToRead(t *testing.T) {
	disk := errors.New("disk on fire")
	_, err := collect(Read(io.MultiReader(strings.NewReader(small+"@0"), iotest.ErrReader(disk)), "h"))
	var e *Error
	if !errors.Is(err, disk) || errors.As(err, &e) || err.Error() != "h:4: disk on fire" {
		t.Errorf("got %v, want h:4: disk on fire", err)
	}
}

// endless counts what is read of a line without an end.
type endless struct{ n int }

func (r *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '9'
	}
	r.n += len(p)
	return len(p), nil
}

// A number out of range is told with the range.
func TestRangeInFault(t *testing.T) {
	const arrived = "@0s JobArrived 1 | 1x1s "
	for _, tc := range []struct{ line, want string }{
		{arrived + "bytes=9223372036854775808", "9223372036854775808 is out of range: -9223372036854775808 to 9223372036854775807"},
		{arrived + "after=9223372036854775808", fmt.Sprintf("9223372036854775808 is out of range: %d to %d", math.MinInt, math.MaxInt)},
		{"@0s SlotAdded 4294967296", "4294967296 is out of range: 0 to 4294967295"},
		{"@0s JobArrived 18446744073709551616 | 1", "18446744073709551616 is out of range: 0 to 18446744073709551615"},
	} {
		_, err := collect(Read(strings.NewReader(firstLine+"\n"+tc.line+"\n"), ""))
		var bad *Error
		if !errors.As(err, &bad) || bad.Reason != tc.want {
			t.Errorf("%s: error %v, want %s", tc.line, err, tc.want)
		}
	}
}

// A byte order mark before the text changes nothing.
func TestByteOrderMark(t *testing.T) {
	const text = firstLine + "\n@0s Tick\n"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "\uFEFF"+text)
	z.Close()
	for _, data := range []string{"\uFEFF" + text, zipped.String()} {
		if got, err := collect(Read(iotest.OneByteReader(strings.NewReader(data)), "")); len(got) != 1 || err != nil {
			t.Errorf("%q: %d entries, error %v, want 1", data, len(got), err)
		}
	}
	_, err := collect(Read(strings.NewReader("\uFEFF\uFEFF"+text), ""))
	if err == nil || !strings.Contains(err.Error(), ":1:1: ") {
		t.Errorf("two marks: error %v", err)
	}
}

func TestLineWithoutEnd(t *testing.T) {
	var r endless
	_, err := collect(Read(io.MultiReader(strings.NewReader(small+"@"), &r), "h"))
	checkError(t, "endless", err, 4, maxLine, "line is longer than 67108864 bytes")
	if most := maxLine + 1<<17; r.n > most {
		t.Errorf("read %d bytes of a line that may have %d", r.n, maxLine)
	}
}

func TestStopEarly(t *testing.T) {
	for e, err := range Read(io.MultiReader(strings.NewReader(small), iotest.ErrReader(errors.New("read too much"))), "h") {
		if e.File != "h" || e.Line != 2 || err != nil {
			t.Errorf("first entry %v of %s:%d, error %v, want that of h:2", e, e.File, e.Line, err)
		}
		break
	}
}

type full struct{}

func (full) Write(p []byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterErrors(t *testing.T) {
	w := NewWriter(full{})
	w.Event(sojourn.Event{Kind: sojourn.Tick}, nil)
	if err := w.Flush(); err != io.ErrShortWrite {
		t.Errorf("Flush to a full disk = %v, want %v", err, io.ErrShortWrite)
	}
	for name, misuse := range map[string]func(*Writer){
		"late header":    func(w *Writer) { w.Event(sojourn.Event{Kind: sojourn.Tick}, nil); w.Header("policy", "fifo") },
		"two lines":      func(w *Writer) { w.Header("policy", "fifo\n@0s Tick") },
		"name":           func(w *Writer) { w.Header("the policy", "fifo") },
		"spaces":         func(w *Writer) { w.Header("policy", " fifo") },
		"not UTF-8":      func(w *Writer) { w.Header("policy", "\xff") },
		"call as header": func(w *Writer) { w.Header("@0s Tick", "") },
	} {
		var buf bytes.Buffer
		w := NewWriter(&buf)
		misuse(w)
		if err := w.Flush(); err == nil || !strings.HasPrefix(err.Error(), "history: header ") {
			t.Errorf("%s: Flush = %v, want an error about the header", name, err)
		}
	}
}
