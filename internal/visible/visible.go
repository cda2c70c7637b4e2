// Package visible shows text of others on terminals and in logs. Such text may have characters that make a terminal do
// something: move the cursor, change colours, hide or reorder what stands beside them.
package visible

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with each character that a terminal would obey as its number: \u001b for an escape, \u202e for what turns
// the direction of writing, \xff for a byte that is no UTF-8; \n, \r and \t for these three. What is in a string of JSON has the
// same value there afterwards, apart from bytes that are no UTF-8.
func Text(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && invalid(s[i:]):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case !Obeyed(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r) // as in JSON
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

func clean(s string) bool {
	for i, r := range s {
		if Obeyed(r) || r == utf8.RuneError && invalid(s[i:]) {
			return false
		}
	}
	return true
}

// invalid reports whether s, whose first rune is a RuneError, begins with a byte that is no UTF-8.
func invalid(s string) bool {
	_, size := utf8.DecodeRuneInString(s)
	return size == 1
}

// Obeyed reports whether terminals and browsers do something else with a character than to show it: control characters, marks and
// overrides of the direction, separators of lines, what has no width (but for the joiners that scripts and emoji need), annotations, and tags.
func Obeyed(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r <= 0x9f:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, 0x2028 <= r && r <= 0x202e, 0x2066 <= r && r <= 0x2069:
		return true
	case r == 0xad, r == 0x180e, r == 0x200b, 0x2060 <= r && r <= 0x2064, r == 0xfeff, 0xfff9 <= r && r <= 0xfffb, 0xe0000 <= r && r <= 0xe007f:
		return true
	}
	return false
}

// Lines returns s with each of its lines as [Text] shows it, apart from tabs, which stay as the ends of lines do.
func Lines(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexAny(s, "\n\t")
		if i < 0 {
			b.WriteString(Text(s))
			return b.String()
		}
		b.WriteString(Text(s[:i]))
		b.WriteByte(s[i])
		s = s[i+1:]
	}
}

// Errorf is fmt.Errorf for an error whose text is as [Text] shows it: of one line. It wraps what fmt.Errorf wraps, such as the
// error of a file, which has the name of the file as it is.
func Errorf(format string, args ...any) error { return shown{fmt.Errorf(format, args...)} }

type shown struct{ err error }

func (e shown) Error() string { return Text(e.err.Error()) }
func (e shown) Unwrap() error { return e.err }

// kinds are how files begin that are often taken for text.
var kinds = []struct{ magic, name string }{
	{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"}, {"PK\x03\x04", "a zip file"}, {"\xfd7zXZ\x00", "a file of xz"},
	{"\x28\xb5\x2f\xfd", "a file of zstd"}, {"BZh", "a file of bzip2"}, {"7z\xbc\xaf", "a file of 7-Zip"},
}

// NotUTF8 says that a line is not UTF-8, and what it looks like.
func NotUTF8(line []byte) string {
	for _, k := range kinds {
		if strings.HasPrefix(string(line[:min(len(line), 8)]), k.magic) {
			return "invalid UTF-8: this seems to be " + k.name
		}
	}
	return "invalid UTF-8"
}
