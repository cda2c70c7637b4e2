package visible_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/internal/visible"
	"pgregory.net/rapid"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "",
		"map 1 of é, 日本, 👩‍💻":                 "map 1 of é, 日本, 👩‍💻",
		"\x1b[2J\x07\r\n\t\x00":               `\u001b[2J\u0007\r\n\t\u0000`,
		"\x7f\u0085\u009b31m":                 `\u007f\u0085\u009b31m`,
		"\u202egpj.exe\u202c\u2066\u200f":     `\u202egpj.exe\u202c\u2066\u200f`,
		"\u2028\u2029\ufeff":                  `\u2028\u2029\ufeff`,
		"web\u200b\u00ad\u2060":               `web\u200b\u00ad\u2060`,
		"\xff\x9b\xc3(\xed\xa0\x80\xf5\ufffd": `\xff\x9b\xc3(\xed\xa0\x80\xf5` + "\ufffd",
		"a\U000e0041":                         `a\udb40\udc41`,
	} {
		if got := visible.Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
	if got, want := visible.Lines("a\tb\n\x1b\n\r\n"), "a\tb\n\\u001b\n\\r\n"; got != want {
		t.Errorf("Lines = %q, want %q", got, want)
	}
}

// Nothing remains that a terminal obeys, what is clean stays as it is, and a string of JSON keeps its value.
func TestTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text") + string(rune(rapid.IntRange(0, unicode.MaxRune).Draw(t, "rune")))
		got, lines := visible.Text(s), visible.Lines(s)
		if !utf8.ValidString(got+lines) || strings.ContainsFunc(got, unicode.IsControl) || strings.ContainsFunc(got+lines, func(r rune) bool {
			return unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
		}) {
			t.Fatalf("Text(%q) = %q, Lines = %q", s, got, lines)
		}
		if strings.NewReplacer("\n", "", "\t", "").Replace(lines) != strings.NewReplacer(`\n`, "", `\t`, "").Replace(got) && !strings.ContainsAny(s, `\`) {
			t.Fatalf("Lines(%q) = %q, but Text is %q", s, lines, got)
		}
		if again := visible.Text(got); again != got {
			t.Fatalf("Text(%q) = %q", got, again)
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		if err := json.Unmarshal(quoted, &was); err != nil {
			t.Fatal(err)
		}
		shown := visible.Lines(string(quoted))
		if err := json.Unmarshal([]byte(shown), &is); err != nil || is != was {
			t.Fatalf("%v, %q is %q in JSON, and %q after Lines", err, s, was, is)
		}
	})
}

// What is often taken for text is called by its name.
func TestNotUTF8(t *testing.T) {
	for line, want := range map[string]string{
		"\xff\xfes\x00": "invalid UTF-8: this seems to be UTF-16", "\xfe\xff\x00s": "invalid UTF-8: this seems to be UTF-16",
		"PK\x03\x04\x80": "invalid UTF-8: this seems to be a zip file", "\xfd7zXZ\x00\x80": "invalid UTF-8: this seems to be a file of xz",
		"\x28\xb5\x2f\xfd": "invalid UTF-8: this seems to be a file of zstd", "BZh9\x80": "invalid UTF-8: this seems to be a file of bzip2",
		"\x80": "invalid UTF-8", "": "invalid UTF-8", "PK\x80": "invalid UTF-8",
	} {
		if got := visible.NotUTF8([]byte(line)); got != want {
			t.Errorf("NotUTF8(%q) = %q, want %q", line, got, want)
		}
	}
}
