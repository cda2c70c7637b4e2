package main

import (
	_ "embed"
	"os/exec"
	"path/filepath"
	"strings"
)

// SimGrid, a simulator in C++ (interface S4U), with an actor for each slot, which takes tasks from a
// queue, and an actor that brings the jobs: simgrid.c++. A task sleeps for its length. No network and no
// model of processors are at work, which are what SimGrid is for.

//go:embed simgrid.c++
var simgridSource string

func simgrid() ([]string, error) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return nil, missing("apt-get install g++ libsimgrid-dev")
	}
	probe := exec.Command(compiler, "-x", "c++", "-fsyntax-only", "-include", "simgrid/s4u.hpp", "-")
	if probe.Run() != nil {
		return nil, missing("apt-get install g++ libsimgrid-dev")
	}
	dir, err := scratch()
	if err != nil {
		return nil, err
	}
	binary := filepath.Join(dir, "simgrid")
	build := exec.Command(compiler, "-O2", "-x", "c++", "-o", binary, "-", "-lsimgrid")
	build.Stdin = strings.NewReader(simgridSource)
	_, err = output(build)
	return []string{binary}, err
}
