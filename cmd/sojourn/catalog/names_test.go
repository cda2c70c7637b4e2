package catalog_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// No error about a spec or about a pools file has a character that terminals obey, wherever in the spec or in the file it stands.
// All options of all policies are tried.
func TestErrorsShowNames(t *testing.T) {
	t.Chdir(t.TempDir())
	const evil = "e\x1b[2J\a\r\n\t\x7f\u0085\u202e\u2028\ufeff\xff"
	seen := 0
	see := func(text string, err error) {
		if err == nil {
			return
		}
		seen++
		got := err.Error()
		bad := func(r rune) bool {
			return unicode.IsControl(r) || slices.Contains([]rune{0x2028, 0xfeff}, r) || unicode.Is(unicode.Bidi_Control, r)
		}
		if strings.ContainsFunc(got, bad) || !utf8.ValidString(got) {
			t.Errorf("%q: error %q", text, got)
		}
	}
	all := catalog.Builtin()
	try := func(text string) {
		_, err := all.Make(text)
		see(text, err)
		_, err = all.Constructor(text)
		see(text, err)
		_, err = catalog.Parse(text)
		see(text, err)
	}
	for _, text := range []string{evil, evil + "=" + evil, evil + ":" + evil, ":" + evil, evil + ",,", "fifo," + evil, "=" + evil} {
		try(text)
		_, err := all.Find(text)
		see(text, err)
	}
	for _, e := range all {
		try(e.Name + evil)
		for _, option := range append(e.Options(), "") {
			name, _, _ := strings.Cut(option, "[") // the key of a map follows a dot
			for _, text := range []string{option + evil, option + "=" + evil, option + "=1" + evil, option + "=1," + option + "=2", name + "." + evil + "=0", name + "." + evil + "=" + evil, name + "." + evil + "=1," + name + "." + evil + "=2"} {
				try(e.Name + ":" + text)
			}
		}
	}
	if seen < 500 {
		t.Errorf("%d errors", seen)
	}

	seen = 0
	const good = `{"pools":[{"name":"a","weight":2},{"name":"b","parent":"a","policy":"hfsp"}]}`
	name := "f" + evil
	for i := range len(good) + 1 {
		for _, at := range []string{evil, "\\u001b\\u202e"} {
			if err := os.WriteFile(name, []byte(good[:i]+at+good[i:]), 0o666); err != nil {
				t.Skip(err) // the file system has no such names
			}
			try("fair:pools=" + name)
		}
	}
	if seen < 100 {
		t.Errorf("%d errors of pools files", seen)
	}
	try("fair:pools=.")
	try("fair:pools=" + name + "none")
}
