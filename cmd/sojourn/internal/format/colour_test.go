package format

import (
	"strings"
	"testing"
)

// Verdicts are coloured, with their later lines, however the text is cut; nothing else is, and
// without the escape sequences the text is what was written.
func TestPainter(t *testing.T) {
	text := "a => b\n=> best\n   of all\nplain\n =x\n\n=> \n   \n=>x\n=" // the last line has no end
	want := "a => b\n\x1b[1m\x1b[32m=> best\x1b[0m\n\x1b[1m\x1b[32m   of all\x1b[0m\nplain\n =x\n\n\x1b[1m\x1b[32m=> \x1b[0m\n\x1b[1m\x1b[32m   \x1b[0m\n=>x\n="
	for size := 1; size <= len(text); size++ {
		var b strings.Builder
		p := &Painter{To: &b}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := p.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("Write = %d, %v", got, err)
			}
			rest = rest[n:]
		}
		if err := p.Close(); err != nil || b.String() != want {
			t.Fatalf("in pieces of %d: %q, want %q", size, b.String(), want)
		}
	}
}
