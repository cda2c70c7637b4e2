package format

import (
	"io"
	"strings"
)

// verdictMark begins a line that says in words what a table shows.
const verdictMark = "=> "

// Verdict returns a text as the line below a table.
func Verdict(text string) string { return Hang(verdictMark, text) }

// The escape sequences of a terminal.
const (
	bold  = "\x1b[1m"
	green = "\x1b[32m"
	plain = "\x1b[0m"
)

// A Painter writes lines for a terminal: verdicts in bold green.
type Painter struct {
	To      io.Writer
	begun   string // of a line that may become a verdict
	verdict bool   // the line is one, or continues one
	inside  bool   // the line has begun
}

// Write writes text, coloured.
func (p *Painter) Write(text []byte) (int, error) {
	var out strings.Builder
	for _, c := range text {
		p.add(&out, c)
	}
	if _, err := io.WriteString(p.To, out.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// add adds a byte. A line is a verdict if it begins with the mark, or with as many spaces
// below one.
func (p *Painter) add(out *strings.Builder, c byte) {
	if p.inside {
		if c == '\n' {
			p.end(out)
		}
		out.WriteByte(c)
		return
	}
	p.begun += string(c)
	switch n := len(p.begun); {
	case p.verdict && p.begun == strings.Repeat(" ", n) || p.begun == verdictMark[:n]:
		if n < len(verdictMark) {
			return
		}
		p.verdict = true
		out.WriteString(bold + green)
	default:
		p.verdict = false
	}
	p.inside = true
	rest := p.begun
	p.begun = ""
	if strings.HasSuffix(rest, "\n") {
		p.inside = false
	}
	out.WriteString(rest)
}

// end ends a line.
func (p *Painter) end(out *strings.Builder) {
	if p.verdict {
		out.WriteString(plain)
	}
	p.inside = false
}

// Close writes what is held back.
func (p *Painter) Close() error {
	rest := p.begun
	p.begun = ""
	_, err := io.WriteString(p.To, rest)
	return err
}
