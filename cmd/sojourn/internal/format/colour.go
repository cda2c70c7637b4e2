package format

import (
	"bytes"
	"fmt"
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

// A Painter writes lines for a terminal: verdicts in bold green. A line is a verdict if it begins with the mark, or below one
// with as many spaces.
type Painter struct {
	To      io.Writer
	line    []byte // the latest, unless it has ended
	verdict bool   // the line before is one, or continues one
}

// Write writes the lines that have ended, coloured.
func (p *Painter) Write(text []byte) (int, error) {
	p.line = append(p.line, text...)
	var out bytes.Buffer
	for {
		line, rest, ended := bytes.Cut(p.line, []byte("\n"))
		if !ended {
			break
		}
		p.line = rest
		indented := bytes.HasPrefix(line, []byte(strings.Repeat(" ", len(verdictMark))))
		if p.verdict = bytes.HasPrefix(line, []byte(verdictMark)) || p.verdict && indented; p.verdict {
			line = fmt.Append(nil, bold+green, string(line), plain)
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	if _, err := p.To.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close writes a line that has not ended.
func (p *Painter) Close() error {
	rest := p.line
	p.line = nil
	_, err := p.To.Write(rest)
	return err
}
