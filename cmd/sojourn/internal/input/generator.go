package input

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/sim"
	workloads "github.com/sojourn-sched/sojourn/research/workload"
)

// A Generator is a generator of workloads with its options. The zero value is none.
type Generator struct {
	text    string
	From    *workloads.Generator
	Options map[string]string
}

// String returns the value in the form that Set reads.
func (g *Generator) String() string { return g.text }

// Set reads NAME or NAME:option=value,... An item without "=" continues the value
// before it, as in hfsp-dev:bins=1,1,0,0,jobs=50.
func (g *Generator) Set(text string) error {
	name, list, hasOptions := strings.Cut(text, ":")
	from, err := workloads.Lookup(name)
	if err != nil {
		return err
	}
	options := map[string]string{}
	if hasOptions {
		last := ""
		for item := range strings.SplitSeq(list, ",") {
			option, value, ok := strings.Cut(item, "=")
			switch _, twice := options[option]; {
			case !ok && last != "":
				options[last] += "," + item
			case !ok || option == "":
				return fmt.Errorf("want option=value, got %q", item)
			case twice:
				return fmt.Errorf("option %s is given twice", option)
			default:
				options[option], last = value, option
			}
		}
	}
	*g = Generator{text, from, options}
	return nil
}

// Given reports whether a generator is named.
func (g *Generator) Given() bool { return g.From != nil }

// Workload makes the workload of a seed, or lets it be made again whenever its jobs are
// asked for.
func (g *Generator) Workload(ctx context.Context, seed uint64, stream bool) (*Workload, error) {
	jobs, err := g.From.Jobs(seed, g.Options)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	w := &Workload{Name: g.text}
	if stream {
		w.Again = func() iter.Seq2[*sim.Job, error] { return jobs }
	}
	n := 0
	for j, err := range jobs {
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case stream:
			w.known.add(j)
		default:
			w.Jobs = append(w.Jobs, j)
		}
		n++
	}
	if n == 0 {
		return nil, errors.New(g.text + ": no jobs")
	}
	return w, nil
}
