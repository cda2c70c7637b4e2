package convert

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A swfWriter writes jobs in the Standard Workload Format.
type swfWriter struct {
	out           io.Writer
	names, queues numbering
	flattened     int // jobs whose tasks are not alike
	rounded       int // jobs with times that are no whole seconds
	plain         int // jobs of which more was said than a record can hold
}

// A numbering gives numbers to texts, from 1 on in the order in which they appear.
type numbering struct {
	of    map[string]int
	texts []string
}

func (n *numbering) number(text string) int {
	if text == "" {
		return -1
	}
	if n.of == nil {
		n.of = map[string]int{}
	}
	if n.of[text] == 0 {
		n.texts = append(n.texts, text)
		n.of[text] = len(n.texts)
	}
	return n.of[text]
}

// writeSWF writes jobs to a writer, and what it assumed to notes. The header comes first
// in the file, and what it says is known last, so the records wait in a temporary file.
func writeSWF(to, notes io.Writer, jobs iter.Seq2[*sim.Job, error]) error {
	spool, err := files.NewSpool("")
	if err != nil {
		return err
	}
	defer spool.Remove()
	buf := bufio.NewWriterSize(spool, 1<<16)
	w := &swfWriter{out: buf}
	n := 0
	for j, err := range jobs {
		if err != nil {
			return err
		}
		n++
		if err := w.write(n, j); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	fmt.Fprintf(to, "; Version: 2.2\n; MaxJobs: %d\n; MaxRecords: %d\n", n, n)
	for i, name := range w.names.texts {
		fmt.Fprintf(to, "; Note: application %d is %s\n", i+1, line(name))
	}
	for i, pool := range w.queues.texts {
		fmt.Fprintf(to, "; Queue: %d %s\n", i+1, line(pool))
	}
	if w.flattened > 0 {
		fmt.Fprintf(notes, "jobs whose tasks are not alike, written with the processors of their widest phase and the same work: %d\n", w.flattened)
	}
	if w.plain > 0 {
		fmt.Fprintf(notes, "jobs written without their weights, deadlines, priorities, bounds on parallelism, releases, sequences, costs or times at which tasks come: %d\n", w.plain)
	}
	if w.rounded > 0 {
		fmt.Fprintf(notes, "jobs with times rounded to whole seconds: %d\n", w.rounded)
	}
	_, err = io.Copy(to, spool)
	return err
}

// line returns a text without ends of lines.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// write writes a job: a record of so many processors as its widest phase has tasks, for the
// time that gives the same work.
func (w *swfWriter) write(n int, j *sim.Job) error {
	width, whole, alike := 0, true, len(j.Phases) == 1
	hi, lo := uint64(0), uint64(0)
	estimate := time.Duration(0)
	for i := range j.Phases {
		p := &j.Phases[i]
		width = max(width, p.Tasks)
		for k := range p.Tasks {
			t := j.Times[i].Of(k)
			alike = alike && t == j.Times[i].Of(0)
			var carry uint64
			lo, carry = bits.Add64(lo, uint64(t), 0)
			hi += carry
			if estimate < p.EstimateOf(k) {
				estimate = p.EstimateOf(k)
			}
		}
	}
	run := time.Duration(0)
	if width > 0 {
		q, _ := bits.Div64(hi%uint64(width), lo, uint64(width))
		run = time.Duration(q)
	}
	seconds := func(d time.Duration) int64 {
		whole = whole && d%time.Second == 0
		s := int64(d / time.Second)
		if d%time.Second >= time.Second/2 {
			s++
		}
		return s
	}
	submit, ran, requested := seconds(time.Duration(j.At)), seconds(run), int64(-1)
	if estimate > 0 {
		requested = seconds(estimate)
	}
	if !alike {
		w.flattened++
	}
	if j.Weight != 0 || j.Deadline != 0 || j.Features()&^sojourn.FeatureNeeds != 0 || slices.ContainsFunc(j.Times, func(t sim.Times) bool { return t.Costs != nil }) {
		w.plain++
	}
	if !whole {
		w.rounded++
	}
	_, err := fmt.Fprintf(w.out, "%d %d -1 %d %d -1 -1 %d %d -1 1 -1 -1 %d %d -1 -1 -1\n",
		n, submit, ran, width, width, requested, w.names.number(j.Name), w.queues.number(j.Pool))
	return err
}
