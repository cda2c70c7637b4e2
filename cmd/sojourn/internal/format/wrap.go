package format

import (
	"io"
	"strings"
	"unicode/utf8"
)

// The columns that help texts and tables take at most, where words allow it.
const (
	HelpWidth  = 100
	tableWidth = 100
)

// Wrap breaks a text between words into lines of at most width characters, where words
// allow it. Lines after the first are indented.
func Wrap(text string, width int, indent string) []string {
	var lines []string
	line, start := "", ""
	for word := range strings.FieldsSeq(text) {
		word = Visible(word)
		switch {
		case line == start:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			start = indent
			line = start + word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Hang returns a text behind a title, in lines of the width of tables; those after the
// first begin below the text. The title ends in what separates the two.
func Hang(title, text string) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(title))
	lines := Wrap(text, tableWidth-len(indent), "")
	return title + strings.Join(lines, "\n"+indent) + "\n"
}

// WriteWrapped writes a text in lines of the width of help texts.
func WriteWrapped(w io.Writer, first, rest, text string) {
	io.WriteString(w, first+strings.Join(Wrap(text, HelpWidth-len(first), strings.TrimPrefix(rest, first)), "\n"+first)+"\n")
}

// Listed returns words as a sentence lists them: "a, b or c".
func Listed(words []string) string { return Joined(words, "or") }

// Joined joins the parts of a sentence with commas, and a word before the last one.
func Joined(parts []string, word string) string {
	last := len(parts) - 1
	if last < 1 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:last], ", ") + " " + word + " " + parts[last]
}
