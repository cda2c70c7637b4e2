package format

import (
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Widest is how many columns help texts and tables take where there is room.
const Widest = 100

// narrowest is below what nothing could be laid out.
const narrowest = 40

// Width returns how many columns what people read takes at most, where words allow it: COLUMNS, from 40 to [Widest], or Widest.
func Width() int {
	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || columns <= 0 {
		return Widest
	}
	return max(narrowest, min(columns, Widest))
}

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

// Hang returns a text behind a title, in lines of [Width]; those after the
// first begin below the text. The title ends in what separates the two.
func Hang(title, text string) string {
	indent := strings.Repeat(" ", utf8.RuneCountInString(title))
	lines := Wrap(text, Width()-len(indent), "")
	return title + strings.Join(lines, "\n"+indent) + "\n"
}

// WriteWrapped writes a text in lines of [Width].
func WriteWrapped(w io.Writer, first, rest, text string) {
	io.WriteString(w, first+strings.Join(Wrap(text, Width()-len(first), strings.TrimPrefix(rest, first)), "\n"+first)+"\n")
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
