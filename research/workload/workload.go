package workload

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A Generator makes workloads of one kind.
type Generator struct {
	Name    string // in lower case, such as "hfsp-dev"
	Doc     string // what it makes, in one sentence
	Source  string // the paper and its place, or why there is none
	Cluster string // the cluster of the source in the short form of package trace; "" if it names none
	Options []Option

	model model
}

// A model makes the jobs of a workload, in the order of arrival. The sequence can
// be used several times. An error is about options that do not fit together.
type model func(d draws, v values) (iter.Seq[*draft], error)

// Names returns the names of all generators: general ones first, then paper by
// paper.
func Names() []string {
	var names []string
	for _, g := range generators() {
		names = append(names, g.Name)
	}
	return names
}

// Lookup returns the generator of a name. The error for an unknown name lists the
// known ones.
func Lookup(name string) (*Generator, error) {
	for _, g := range generators() {
		if g.Name == name {
			return g, nil
		}
	}
	return nil, fmt.Errorf("unknown workload %q; known workloads: %s%s", name, strings.Join(Names(), ", "), visible.Meant(name, Names()))
}

func generators() []*Generator {
	var all []*Generator
	for _, family := range [][]*Generator{general(), hfsp(), hpfsp(), td(), rtmr(), mars(), spark()} {
		all = append(all, family...)
	}
	return all
}

// Jobs returns the jobs of one workload, in the order of arrival and with IDs 1,
// 2, ... They are made as the sequence is consumed, which is possible many times.
// Equal seeds and options make equal jobs.
//
// Options maps names to values; missing options have their default. The error
// names the option that is wrong: it is unknown (the error then lists the known
// ones), its value is not one of [Option.Values], or it does not fit the others.
// A load can also be wrong because no distance between arrivals gives it.
//
// An error ends the sequence: a drawn time is out of range, or the options leave
// no job.
func (g *Generator) Jobs(seed uint64, options map[string]string) (iter.Seq2[*sim.Job, error], error) {
	fail := func(err error) error { return fmt.Errorf("workload %s: %w", g.Name, err) }
	v, err := g.parse(options)
	if err != nil {
		return nil, fail(err)
	}
	drafts, err := g.model(draws{seed}, v)
	if err != nil {
		return nil, fail(err)
	}
	stretch := 1.0
	if load, ok := v["load"].(float64); ok && load > 0 {
		if stretch, err = stretchFor(drafts, load, v.capacity()); err != nil {
			return nil, fail(err)
		}
	}
	return func(yield func(*sim.Job, error) bool) {
		id := uint64(0)
		for d := range drafts {
			id++
			job, err := d.finish(id, stretch)
			if err != nil {
				yield(nil, fail(err))
				return
			}
			if !yield(job, nil) {
				return
			}
		}
		if id == 0 {
			yield(nil, fail(errNoJobs))
		}
	}, nil
}

var errNoJobs = errors.New("the options leave no job")
