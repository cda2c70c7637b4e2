package progress

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// New returns a progress bar that counts things up to max, or without end if max is
// -1. It shows nothing if stderr is not a terminal. It has no colours, so that NO_COLOR
// changes nothing.
func New(stderr io.Writer, things string, max int) *progressbar.ProgressBar {
	file, ok := stderr.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return progressbar.DefaultSilent(1 << 62) // one without end would spin
	}
	return progressbar.NewOptions(max,
		progressbar.OptionSetWriter(file),
		progressbar.OptionSetDescription(things),
		progressbar.OptionShowCount(),
		progressbar.OptionSetWidth(40),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}
