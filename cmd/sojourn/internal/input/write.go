package input

import (
	"bufio"
	"io"
	"iter"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// WriteTwice writes jobs. They are made twice: nothing is written if one of them cannot
// be.
func WriteTwice(to, terminal io.Writer, jobs iter.Seq2[*sim.Job, error]) error {
	bar := progress.New(terminal, "drawing", -1)
	n := 0
	for _, err := range jobs {
		if err != nil {
			bar.Clear()
			return err
		}
		n++
		bar.Add(1)
	}
	bar.Clear()

	bar = progress.New(terminal, "writing", n)
	defer bar.Clear()
	out := bufio.NewWriterSize(to, 1<<16)
	w := trace.NewWriter(out, nil)
	for j, err := range jobs {
		if err != nil {
			return err
		}
		if err := w.Write(j); err != nil {
			return err
		}
		bar.Add(1)
	}
	return out.Flush()
}
