package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// A Bar counts things, and may show how many they are. The zero Bar shows nothing. Several
// goroutines may use a Bar at once.
type Bar struct {
	terminal io.Writer // nil: it shows nothing
	things   string
	max      int // -1: nobody knows
	began    time.Time

	mu    sync.Mutex
	count int
	drawn time.Time // when it was drawn last
	width int       // of what is on the terminal
}

// New returns a progress bar that counts things up to max, or without end if max is
// -1. It shows nothing if stderr is not a terminal. It has no colours, so that NO_COLOR
// changes nothing.
func New(stderr io.Writer, things string, max int) *Bar {
	file, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return new(Bar)
	}
	return &Bar{terminal: file, things: things, max: max, began: time.Now()}
}

// Add counts n more, and draws the bar if that is 100 ms ago.
func (b *Bar) Add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count += n
	if b.terminal == nil {
		return
	}
	if now := time.Now(); now.Sub(b.drawn) >= 100*time.Millisecond {
		b.drawn = now
		b.write(b.line())
	}
}

// Count returns how many were counted.
func (b *Bar) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// Clear removes the bar from the terminal.
func (b *Bar) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.width > 0 {
		b.write("")
	}
}

// line returns the bar as text.
func (b *Bar) line() string {
	if b.max <= 0 {
		return fmt.Sprintf("%s %d", b.things, b.count)
	}
	const width = 40
	full := min(b.count, b.max) * width / b.max
	return fmt.Sprintf("%s [%s%s] %d/%d%s", b.things, strings.Repeat("=", full), strings.Repeat(" ", width-full), b.count, b.max, b.left())
}

// left says how long it will take if it goes on as it did, once it has taken 10 s.
func (b *Bar) left() string {
	took := time.Since(b.began)
	if b.began.IsZero() || took < 10*time.Second || b.count <= 0 || b.count >= b.max {
		return ""
	}
	left := took.Seconds() / float64(b.count) * float64(b.max-b.count)
	switch {
	case left < 90:
		return fmt.Sprintf(", %.0f s left", left)
	case left < 2*3600:
		return fmt.Sprintf(", %.0f min left", left/60)
	case left < 100*3600:
		return fmt.Sprintf(", %.0f h left", left/3600)
	}
	return fmt.Sprintf(", %.0f days left", left/86400)
}

// write replaces what is on the terminal. Errors are nobody's concern: the bar is a help only.
func (b *Bar) write(line string) {
	fmt.Fprint(b.terminal, "\r", line, strings.Repeat(" ", max(b.width-len(line), 0)))
	if b.width = len(line); line == "" {
		fmt.Fprint(b.terminal, "\r")
	}
}
