package bench

import (
	"cmp"
	"context"
	"errors"
	"flag"
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
	"github.com/sojourn-sched/sojourn/research/sim"
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
	if err := check("--loads", b.Loads, new(input.Load), Recorded); err != nil {
		return err
	}
	return check("--estimates", b.Estimates, new(trial.Estimates), Requested)
}

// check finds texts that are no value and not the other one, and values that are named twice, however they are written.
func check(option string, texts []string, value flag.Value, other string) error {
	seen := map[string]bool{}
	for _, text := range texts {
		as := text
		if text != other {
			if err := value.Set(text); err != nil {
				return usage.Errorf("%s %s: %v, or %s", option, format.Visible(text), err, other)
			}
			as = value.String()
		}
		if seen[as] {
			return usage.Errorf("%s: the value %s is named twice", option, format.Visible(text))
		}
		seen[as] = true
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
// convert says of each. The error says which traces cannot be run; the others can. If ctx ends, Prepare leaves out the rest.
func (b *Bench) Prepare(ctx context.Context, terminal, notes io.Writer, stdin io.Reader) (failed error) {
	bar := progress.New(terminal, "traces", len(b.Traces))
	defer bar.Clear()
	for i := range b.Traces {
		t := &b.Traces[i]
		for k, requested := range [...]bool{false, true} {
			if requested && !(t.Requested && t.failed[0] == nil && slices.Contains(b.Estimates, Requested)) {
				continue
			}
			jobs, err := 0, t.failed[0] // of a file that cannot be read
			if err == nil {
				jobs, err = b.prepare(ctx, t, requested, notes, stdin)
			}
			switch {
			case ctx.Err() != nil:
				return failed
			case err != nil:
				t.failed[k] = err
				failed = errors.Join(failed, fmt.Errorf("trace %s: %w", t.Name, err))
			case !requested:
				t.Jobs = jobs
			}
		}
		bar.Add(1)
	}
	return failed
}

// prepare converts a trace, if need be, and counts its jobs.
func (b *Bench) prepare(ctx context.Context, t *Trace, requested bool, notes io.Writer, stdin io.Reader) (jobs int, err error) {
	if err := b.convert(ctx, t, requested, notes); err != nil {
		return 0, err
	}
	_, w, err := b.source(t, requested).Open(ctx, stdin, b.Seed)
	if err != nil {
		return 0, err
	}
	return w.Facts().Jobs, w.Release()
}

// source returns where the workload of a trace is, and its cluster.
func (b *Bench) source(t *Trace, requested bool) *input.Source {
	return &input.Source{File: b.workload(t, requested), Cluster: b.beside(t.Cluster), Stream: true}
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
	return fmt.Sprintf("%s %s %d %q", b.made(t), t.Cluster, b.Seed, append(named(b.beside(t.Cluster)), named(c.Policy)...))
}

// requestedTime is the option of convert that makes what users requested the estimates.
const requestedTime = "--requested-time"

// workload returns the file of the workload of a trace. Its name has the sum of what it is made of.
func (b *Bench) workload(t *Trace, requested bool) string {
	if len(t.Convert) == 0 {
		return filepath.Join(b.Folder, t.File)
	}
	made := b.made(t)
	if requested {
		made = b.made(t, requestedTime)
	}
	return filepath.Join(b.Dir, "workloads", t.Name+"-"+made[:12]+".jsonl")
}

// convert converts a trace, says what was dropped and assumed, and removes what was converted of it before, by another program or otherwise.
func (b *Bench) convert(ctx context.Context, t *Trace, requested bool, notes io.Writer) error {
	path := b.workload(t, requested)
	if _, err := os.Stat(path); err == nil || len(t.Convert) == 0 {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	args := append(b.options(t), filepath.Join(b.Folder, t.File))
	if requested {
		args = append([]string{requestedTime}, args...)
	}
	var said strings.Builder
	var fault error // of the trace, and not of the file that is written
	err := files.Replace(path, func(to io.Writer) error {
		fault = cmp.Or(b.Convert(ctx, args, to, &said), ctx.Err())
		return fault
	})
	if err != nil {
		return cmp.Or(fault, err)
	}
	if !requested && said.Len() > 0 {
		fmt.Fprintf(notes, "trace %s\n%s", t.Name, said.String())
	}
	entries, _ := os.ReadDir(filepath.Dir(path)) // what cannot be removed stays
	for _, e := range entries {
		old := filepath.Join(filepath.Dir(path), e.Name())
		mine, _ := filepath.Match(t.Name+"-????????????.jsonl", e.Name())
		if mine && old != b.workload(t, false) && old != b.workload(t, true) {
			_ = os.Remove(old)
		}
	}
	return nil
}

// Run runs the cells that the book does not have, as many at a time as there are processors. If ctx ends, what is done stays in the book. A
// cell that fails stops no other one.
func (b *Bench) Run(ctx context.Context, terminal io.Writer, book *Book) error {
	traces := b.byName()
	specs := map[string]catalog.Spec{}
	for _, s := range b.Specs {
		specs[s.String()] = s
	}
	jobs := 0
	var todo []Cell
	for _, c := range b.Cells() {
		if traces[c.Trace].refused(c.Estimates) != nil {
			continue
		}
		if _, done := book.find(c, b.inputs(c, traces[c.Trace])); !done {
			todo = append(todo, c)
			jobs += traces[c.Trace].Jobs
		}
	}
	bar := progress.New(terminal, "jobs", jobs)
	defer bar.Clear()
	failed := make([]error, len(todo))
	err := trial.Keep(ctx, len(todo), func(ctx context.Context, i int) (func(), error) {
		c := todo[i]
		r, err := b.cell(ctx, bar, c, traces[c.Trace], specs[c.Policy])
		if err != nil {
			return func() {
				failed[i] = fmt.Errorf("trace %s, load %s, estimates %s: %w", c.Trace, c.Load, c.Estimates, err)
			}, nil
		}
		return nil, book.Add(r)
	})
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	switch {
	case ctx.Err() != nil:
		return nil
	case len(failed) == 0:
		return err
	case len(failed) == 1:
		return errors.Join(err, failed[0])
	}
	return errors.Join(err, fmt.Errorf("%s failed, the first one: %w", format.Count(len(failed), "run"), failed[0]))
}

// cell runs a cell and returns what came of it. A policy that refuses the workload is no error, nor is a load that the workload cannot have.
func (b *Bench) cell(ctx context.Context, bar *progress.Bar, c Cell, t *Trace, spec catalog.Spec) (Record, error) {
	r := Record{Cell: c, Inputs: b.inputs(c, t)}
	setup := trial.Setup{Policies: b.Policies, Seed: b.Seed, Source: *b.source(t, c.Estimates == Requested)}
	told := c.Estimates
	if told == Requested {
		told = "none" // besides what the workload says
	}
	if err := setup.Estimates.Set(told); err != nil {
		return r, err
	}
	if c.Load != Recorded {
		if err := setup.Load.Load.Set(c.Load); err != nil {
			return r, err
		}
	}
	s, err := setup.Open(ctx, nil)
	if s != nil {
		defer s.Workload.Release()
	}
	var results []*sim.Result
	if err == nil {
		s.NoBound = true
		results, err = s.RunCounted(ctx, bar, []catalog.Spec{spec}, nil)
	}
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case errors.As(err, new(usage.Error)) || errors.As(err, new(input.LoadError)):
		r.Refused = err.Error()
		bar.Add(t.Jobs)
	case err != nil:
		return r, err
	default:
		r.Result = &(&report.Comparison{Scenario: s, Specs: []catalog.Spec{spec}, Results: results}).Summary().Policies[0]
	}
	return r, nil
}
