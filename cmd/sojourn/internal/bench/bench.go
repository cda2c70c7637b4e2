package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// A Bench is what is to be run.
type Bench struct {
	Policies  catalog.Catalog
	Folder    string // of the traces
	Dir       string // of what comes of it
	Version   string // of the command
	Traces    []Trace
	Specs     []catalog.Spec // the first one is what the others are compared with
	Loads     []string
	Estimates []string
	Seed      uint64

	// Convert is the command convert: it reads a file and writes the workload.
	Convert func(ctx context.Context, args []string, to, notes io.Writer) error
}

// Check finds values that no run accepts.
func (b *Bench) Check() error {
	for _, text := range b.Loads {
		if err := new(input.Load).Set(text); err != nil && text != Recorded {
			return usage.Errorf("--loads %s: %v, or %s", format.Visible(text), err, Recorded)
		}
	}
	for _, text := range b.Estimates {
		if err := new(trial.Estimates).Set(text); err != nil && text != Requested {
			return usage.Errorf("--estimates %s: %v, or %s", format.Visible(text), err, Requested)
		}
	}
	return nil
}

// Cells returns all runs, in their order.
func (b *Bench) Cells() (all []Cell) {
	for _, t := range b.Traces {
		for _, load := range b.Loads {
			for _, told := range b.Estimates {
				if told == Requested && !t.Requested {
					continue
				}
				for _, spec := range b.Specs {
					all = append(all, Cell{t.Name, load, told, spec.String()})
				}
			}
		}
	}
	return all
}

// Prepare converts the traces into workloads below Dir, those that are not there yet, and counts their jobs. notes learns what
// convert says of each.
func (b *Bench) Prepare(ctx context.Context, terminal, notes io.Writer, stdin io.Reader) error {
	bar := progress.New(terminal, "traces", len(b.Traces))
	defer bar.Clear()
	for i := range b.Traces {
		t := &b.Traces[i]
		for _, requested := range []bool{false, true} {
			if requested && !(t.Requested && slices.Contains(b.Estimates, Requested)) {
				continue
			}
			if err := b.convert(ctx, t, requested, notes); err != nil {
				return fmt.Errorf("trace %s: %w", t.Name, err)
			}
		}
		_, w, err := (&input.Source{File: b.workload(t, false), Cluster: t.Cluster, Stream: true}).Open(ctx, stdin, b.Seed)
		if err != nil {
			return fmt.Errorf("trace %s: %w", t.Name, err)
		}
		t.Jobs = w.Facts().Jobs
		if err := w.Release(); err != nil {
			return err
		}
		bar.Add(1)
	}
	return nil
}

// byName returns the traces by name.
func (b *Bench) byName() map[string]*Trace {
	traces := map[string]*Trace{}
	for i := range b.Traces {
		traces[b.Traces[i].Name] = &b.Traces[i]
	}
	return traces
}

// inputs returns the sum of all that a cell rests on besides what it says itself and the version of the command.
func (b *Bench) inputs(c Cell, t *Trace) string {
	return fmt.Sprintf("%s %s %d %q", t.made(), t.Cluster, b.Seed, named(t.Cluster+","+c.Policy))
}

// requestedTime is the option of convert that makes what users requested the estimates.
const requestedTime = "--requested-time"

// workload returns the file of the workload of a trace. Its name has the sum of what it is made of.
func (b *Bench) workload(t *Trace, requested bool) string {
	if len(t.Convert) == 0 {
		return filepath.Join(b.Folder, t.File)
	}
	made := t.made()
	if requested {
		made = t.made(requestedTime)
	}
	return filepath.Join(b.Dir, "workloads", t.Name+"-"+made[:12]+".jsonl")
}

// convert converts a trace, and says what was dropped and assumed.
func (b *Bench) convert(ctx context.Context, t *Trace, requested bool, notes io.Writer) error {
	path := b.workload(t, requested)
	if _, err := os.Stat(path); err == nil || len(t.Convert) == 0 {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	args := append(slices.Clone(t.Convert), filepath.Join(b.Folder, t.File))
	if requested {
		args = append([]string{requestedTime}, args...)
	}
	var said strings.Builder
	err := files.Replace(path, func(to io.Writer) error {
		if err := b.Convert(ctx, args, to, &said); err != nil {
			return err
		}
		return ctx.Err()
	})
	if err == nil && !requested && said.Len() > 0 {
		fmt.Fprintf(notes, "trace %s\n%s", t.Name, said.String())
	}
	return err
}

// Run runs the cells that the book does not have, as many at a time as there are processors. If ctx ends, what is done stays in the book.
func (b *Bench) Run(ctx context.Context, terminal io.Writer, book *Book) error {
	traces := b.byName()
	specs := map[string]catalog.Spec{}
	for _, s := range b.Specs {
		specs[s.String()] = s
	}
	jobs := 0
	var todo []Cell
	for _, c := range b.Cells() {
		if _, done := book.find(c, b.inputs(c, traces[c.Trace])); !done {
			todo = append(todo, c)
			jobs += traces[c.Trace].Jobs
		}
	}
	bar := progress.New(terminal, "jobs", jobs)
	defer bar.Clear()
	err := trial.Parallel(ctx, len(todo), func(ctx context.Context, i int) error {
		c := todo[i]
		if err := b.cell(ctx, bar, book, c, traces[c.Trace], specs[c.Policy]); err != nil {
			return fmt.Errorf("trace %s, load %s, estimates %s: %w", c.Trace, c.Load, c.Estimates, err)
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// cell runs a cell and enters what came of it. A policy that refuses the workload is no error.
func (b *Bench) cell(ctx context.Context, bar *progress.Bar, book *Book, c Cell, t *Trace, spec catalog.Spec) error {
	setup := trial.Setup{Policies: b.Policies, Seed: b.Seed, Source: input.Source{File: b.workload(t, c.Estimates == Requested), Cluster: t.Cluster, Stream: true}}
	if c.Load != Recorded {
		if err := setup.Load.Load.Set(c.Load); err != nil {
			return err
		}
	}
	if c.Estimates != Requested {
		if err := setup.Estimates.Set(c.Estimates); err != nil {
			return err
		}
	}
	s, err := setup.Open(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Workload.Release()
	s.NoBound = true
	results, err := s.RunCounted(ctx, bar, []catalog.Spec{spec}, nil)
	r := Record{Cell: c, Inputs: b.inputs(c, t)}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(usage.Error)):
		r.Refused = err.Error()
		bar.Add(t.Jobs)
	case err != nil:
		return err
	default:
		r.Result = &(&report.Comparison{Scenario: s, Specs: []catalog.Spec{spec}, Results: results}).Summary().Policies[0]
	}
	return book.Add(r)
}
