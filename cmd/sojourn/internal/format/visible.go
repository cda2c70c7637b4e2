package format

import (
	"io"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// Visible returns a name with what a terminal would obey as its number: see [visible.Text].
func Visible(name string) string { return visible.Text(name) }

// VisibleLines is Visible for a text of several lines.
func VisibleLines(text string) string { return visible.Lines(text) }

// A Shown writes text for people with what a terminal would obey as its number, apart from ends of lines and tabs. A string
// of JSON has the same value after it.
type Shown struct {
	To   io.Writer
	rest []byte // the beginning of a character
}

// Exact returns the writer behind a Shown, for what programs read that is no JSON.
func Exact(w io.Writer) io.Writer {
	if s, ok := w.(*Shown); ok {
		return s.To
	}
	return w
}

// Write writes a text.
func (s *Shown) Write(text []byte) (int, error) {
	all := append(s.rest, text...)
	n := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if at := len(all) - i; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				n = at
			}
			break
		}
	}
	s.rest = append([]byte(nil), all[n:]...)
	if _, err := io.WriteString(s.To, visible.Lines(string(all[:n]))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close writes what is held back.
func (s *Shown) Close() error {
	rest := s.rest
	s.rest = nil
	_, err := io.WriteString(s.To, visible.Lines(string(rest)))
	return err
}
