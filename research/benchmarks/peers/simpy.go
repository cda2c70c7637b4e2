package main

import (
	_ "embed"
	"os/exec"
)

// SimPy, a simulator in Python, with a process for each job and each task and a resource for the slots:
// simpy.py, for SimPy 2, as Debian has it. It runs as usual, under CPython.

//go:embed simpy.py
var simpyScript string

func simpy() ([]string, error) {
	const python = "/usr/bin/python3" // Debian's packages are not for another one
	if exec.Command(python, "-c", "import SimPy.Simulation").Run() != nil {
		return nil, missing("apt-get install python3-simpy")
	}
	return []string{python, "-c", simpyScript}, nil
}
