package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
)

// A source says where a workload and the cluster that it runs on come from: from files,
// from a generator, or from what is built in.
type source struct {
	file    string // of the workload, "-" for stdin; or
	sample  bool   // the built-in one; or
	gen     generator
	cluster string // "" for that of the built-in workload or the generator

	// stream keeps no jobs in memory; see [streamed].
	stream bool
}

// open reads the cluster, which the built-in workload and some generators bring along
// unless one is named, and reads the workload or makes that of a seed.
func (f *source) open(ctx context.Context, stdin io.Reader, seed uint64) (*cluster, *workload, error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	spec := f.cluster
	if spec == "" && f.sample {
		spec = sampleCluster
	}
	if spec == "" && f.gen.given() {
		spec = f.gen.from.Cluster
	}
	if spec == "" {
		return nil, nil, usagef("no cluster: give -c, such as -c 20x4+1")
	}
	c, err := readCluster(spec)
	if err != nil {
		return nil, nil, err
	}
	if f.gen.given() {
		w, err := f.gen.workload(ctx, seed, f.stream)
		return c, w, err
	}
	w, err := f.openWorkload(stdin, c)
	return c, w, err
}

// check returns an error unless exactly one workload is named.
func (f *source) check() error {
	switch {
	case f.sample && f.file != "":
		return usagef("--sample and -w exclude each other")
	case f.gen.given() && (f.sample || f.file != ""):
		return usagef("--gen and -w or --sample exclude each other")
	case !f.sample && !f.gen.given() && f.file == "":
		return usagef("no workload: give -w FILE, or --sample for the built-in one")
	}
	return nil
}

// openWorkload reads the workload, unless it is a generator's. c is the cluster that its
// nodes belong to, or nil.
func (f *source) openWorkload(stdin io.Reader, c *cluster) (*workload, error) {
	if f.sample {
		return readWorkload(bytes.NewReader(sampleWorkload), sampleName, c)
	}
	file, name, err := openInput(stdin, f.file)
	if err != nil {
		return nil, err
	}
	var w *workload
	if f.stream {
		w, err = streamed(file, name, c)
	} else {
		w, err = readWorkload(file, name, c)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	w.name = filepath.Base(name)
	if !f.stream {
		return w, file.Close()
	}
	spool := w.close
	w.close = func() error { return errors.Join(spool(), file.Close()) }
	return w, nil
}
