// Command peers measures what a decision costs in schedulers that other projects have, beside
// those of this library, in one run:
//
//	go run .                   every row
//	go run . -only 1000        rows whose name contains this
//
// Each peer has a file, which says what is compared and what is not: floor.go, sojourn.go,
// apiserver.go, kueue.go, http2.go, and for simulators sim.go, simpy.go and simgrid.go. A row whose
// program is not installed is left out, and a line says so.
//
// Times are processor times, the least of several runs that take turns. The rows of one size are a
// group, and the last column is the quotient with its first row.
//
// Some peers cannot be had as Go modules, and are not here: yunikorn-core, armada, volcano and nomad
// ("This module version is not available", says the module proxy).
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func main() {
	only := flag.String("only", "", "rows whose name contains this")
	reps := flag.Int("reps", 5, "runs of each row")
	flag.Parse()
	err := run(*only, *reps)
	clean()
	if err != nil {
		log.Fatal(err)
	}
}

// run measures rows and prints them.
func run(only string, reps int) error {
	list := rows()
	list = slices.DeleteFunc(list, func(r row) bool { return !strings.Contains(r.name, only) })
	least := make([]float64, len(list))
	left := map[string]missing{} // by name
	for rep := range reps {
		for i, r := range list {
			if _, ok := left[r.name]; ok {
				continue
			}
			took, err := r.run(r.ops)
			if why := missing(""); errors.As(err, &why) {
				left[r.name] = why
				continue
			} else if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if ns := float64(took) / float64(r.ops); rep == 0 || ns < least[i] {
				least[i] = ns
			}
		}
	}
	fmt.Printf("%-40s %12s %12s\n", "", "ns, CPU", "quotient")
	first := 0
	for i, r := range list {
		if r.group != list[first].group {
			first = i
			fmt.Println()
		}
		if why, ok := left[r.name]; ok {
			fmt.Printf("%s: left out, %s\n", r.name, why)
			continue
		}
		fmt.Printf("%-40s %12.0f %12.1f\n", r.name, least[i], least[i]/least[first])
	}
	return nil
}

// A row is measured by a function that does some operations, and returns the processor time that
// they took without what goes before. The first row of a group is one of this module, which is never
// missing.
type row struct {
	group string
	name  string
	ops   int
	run   func(ops int) (time.Duration, error)
}

// A missing program is an error that says what is to be installed.
type missing string

func (m missing) Error() string { return string(m) }

func rows() (list []row) {
	for _, n := range []int{1000, 100_000} {
		group := fmt.Sprint(n, " jobs")
		list = append(list, floorRow(group, n))
		list = append(list, policyRows(group, n)...)
	}
	for _, n := range []int{1, 64, 1000} {
		group := fmt.Sprint(n, " pools")
		list = append(list, policyRow(group, "fair", n, newFair, true), apiserverRow(group, n))
	}
	list = append(list, kueueRows()...)
	list = append(list, http2Rows()...)
	return append(list, simulatorRows()...)
}

// scratch returns a folder for what is built, which clean removes.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "peers") })

func clean() {
	if dir, err := scratch(); err == nil {
		os.RemoveAll(dir)
	}
}

// output runs a program and returns what it prints. The error has what it prints to standard error.
func output(cmd *exec.Cmd) (string, error) {
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%s: %w: %s", cmd, err, exit.Stderr)
	}
	return string(text), err
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
