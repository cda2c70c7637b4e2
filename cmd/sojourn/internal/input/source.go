package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// A Source says where a workload and the cluster that it runs on come from: from files,
// from a generator, or from what is built in.
type Source struct {
	File    string // of the workload, "-" for stdin; or
	Sample  bool   // the built-in one; or
	Gen     Generator
	Cluster string // "" for that of the built-in workload or the generator

	// Stream keeps no jobs in memory; see [Streamed].
	Stream bool
}

// Open reads the cluster, which the built-in workload and some generators bring along
// unless one is named, and reads the workload or makes that of a seed.
func (f *Source) Open(ctx context.Context, stdin io.Reader, seed uint64) (*Cluster, *Workload, error) {
	if err := f.Check(); err != nil {
		return nil, nil, err
	}
	spec := f.Cluster
	if spec == "" && f.Sample {
		spec = sampleCluster
	}
	if spec == "" && f.Gen.Given() {
		spec = f.Gen.From.Cluster
	}
	if spec == "" {
		return nil, nil, usage.Errorf("no cluster: give -c, such as -c 20x4+1")
	}
	c, err := ReadCluster(spec)
	if err != nil {
		return nil, nil, err
	}
	if f.Gen.Given() {
		w, err := f.Gen.Workload(ctx, seed, f.Stream)
		return c, w, err
	}
	w, err := f.OpenWorkload(stdin, c)
	return c, w, err
}

// Check returns an error unless exactly one workload is named.
func (f *Source) Check() error {
	switch {
	case f.Sample && f.File != "":
		return usage.Errorf("--sample and -w exclude each other")
	case f.Gen.Given() && (f.Sample || f.File != ""):
		return usage.Errorf("--gen and -w or --sample exclude each other")
	case !f.Sample && !f.Gen.Given() && f.File == "":
		return usage.Errorf("no workload: give -w FILE, or --sample for the built-in one")
	}
	return nil
}

// OpenWorkload reads the workload, unless it is a generator's. c is the cluster that its
// nodes belong to, or nil.
func (f *Source) OpenWorkload(stdin io.Reader, c *Cluster) (*Workload, error) {
	if f.Sample {
		return readWorkload(bytes.NewReader(SampleWorkload), sampleName, c)
	}
	file, name, err := files.OpenOrStdin(stdin, f.File)
	if err != nil {
		return nil, err
	}
	var w *Workload
	if f.Stream {
		w, err = Streamed(file, name, c)
	} else {
		w, err = readWorkload(file, name, c)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	w.Name = filepath.Base(name)
	if !f.Stream {
		return w, file.Close()
	}
	spool := w.Close
	w.Close = func() error { return errors.Join(spool(), file.Close()) }
	return w, nil
}
