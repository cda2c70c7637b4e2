// Command tables prints the tables of docs/cost.md from results/steady.txt, peers.txt, noop.txt and shards.txt:
//
//	go run ./tables
//
// The first lines of a result say on which commit and machine it was measured, and with which command.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	if err := tables(os.Stdout, "results"); err != nil {
		log.Fatal(err)
	}
}

// tables writes the tables of the results in a folder.
func tables(w io.Writer, dir string) error {
	for _, t := range []struct {
		file  string
		write func(io.Writer, io.Reader) error
	}{{"steady.txt", steady}, {"peers.txt", peers}, {"noop.txt", noop}, {"shards.txt", shards}} {
		f, err := os.Open(filepath.Join(dir, t.file))
		if err != nil {
			return err
		}
		err = t.write(w, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", t.file, err)
		}
	}
	return nil
}

// A column is a benchmark of a package, and the one of the heap in the same run.
type column struct{ title, pkg, bench, floor string }

var columns = []column{
	{"`fifo`", "fifo", "BenchmarkSteady", "BenchmarkFloor"},
	{"`leastwork`", "leastwork", "BenchmarkSteady", "BenchmarkFloor"},
	{"`fair`", "fair", "BenchmarkSteady", "BenchmarkFloor"},
	{"`hfsp`", "hfsp", "BenchmarkSteady/hfsp", "BenchmarkSteady/floor"},
	{"`fsp`", "baseline", "BenchmarkSteady/fsp", "BenchmarkSteady/floor"},
	{"`srpt`", "baseline", "BenchmarkSteady/srpt", "BenchmarkSteady/floor"},
	{"`las`", "baseline", "BenchmarkSteady/las", "BenchmarkSteady/floor"},
	{"`td`", "td", "BenchmarkSteady", "BenchmarkFloor"},
	{"`mars`", "mars", "BenchmarkSteady", ""},
	{"`pfsp`", "pfsp", "BenchmarkSteady/default", ""},
	{"`pfsp:fair-limit=0`", "pfsp", "BenchmarkSteady/k=0", ""},
}

var (
	packageLine = regexp.MustCompile(`^pkg: \S*/([a-z]+)$`)
	resultLine  = regexp.MustCompile(`^(Benchmark\S+/jobs=\d+)-\d+\s+\d+\s+([0-9.]+) ns/op`)
)

// steady writes what a finish and a decision take: the least of several runs, and the quotient with the heap.
func steady(w io.Writer, r io.Reader) error {
	least, pkg := map[string]float64{}, ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if m := packageLine.FindStringSubmatch(lines.Text()); m != nil {
			pkg = m[1]
		}
		m := resultLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		ns, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return err
		}
		name := pkg + " " + m[1]
		if was, ok := least[name]; !ok || ns < was {
			least[name] = ns
		}
	}
	const sizes = "1,000 100,000 1,000,000"
	fmt.Fprintf(w, "| live jobs | %s |\n|---|%s\n", strings.ReplaceAll(sizes, " ", " | "), strings.Repeat("---|", 3))
	for _, c := range columns {
		fmt.Fprintf(w, "| %s |", c.title)
		for size := range strings.FieldsSeq(sizes) {
			jobs := "/jobs=" + strings.ReplaceAll(size, ",", "")
			ns, ok := least[c.pkg+" "+c.bench+jobs]
			if !ok {
				return fmt.Errorf("no result of %s %s%s", c.pkg, c.bench, jobs)
			}
			fmt.Fprintf(w, " %s", thousands(ns))
			if c.floor != "" {
				floor, ok := least[c.pkg+" "+c.floor+jobs]
				if !ok {
					return fmt.Errorf("no result of %s %s%s", c.pkg, c.floor, jobs)
				}
				fmt.Fprintf(w, " (%.1f x)", ns/floor)
			}
			fmt.Fprint(w, " |")
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	return nil
}

var (
	peerLine = regexp.MustCompile(`^(.+?) +([0-9]+) +([0-9.]+)$`)
	noopLine = regexp.MustCompile(`^(\S.*?) +(\d+) \( *\d+\) +(\d+) \( *\d+\)`)
)

// peers writes the rows of command peers, each with its quotient with the first of its group.
func peers(w io.Writer, r io.Reader) error { return named(w, r, "| | ns | quotient |", peerLine) }

// noop writes the rows of command noop: the least of its runs.
func noop(w io.Writer, r io.Reader) error {
	return named(w, r, "| ns of processor time a task | 1,000 queued | 100,000 queued |", noopLine)
}

// named writes a table of the lines that have a name and two numbers.
func named(w io.Writer, r io.Reader, head string, line *regexp.Regexp) error {
	rows := 0
	fmt.Fprintf(w, "%s\n|---|---|---|\n", head)
	for lines := bufio.NewScanner(r); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		rows++
		fmt.Fprintf(w, "| %s |", m[1])
		for _, text := range m[2:] {
			if n, err := strconv.Atoi(text); err == nil {
				text = thousands(float64(n))
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintln(w)
	}
	if rows == 0 {
		return fmt.Errorf("no rows")
	}
	fmt.Fprintln(w)
	return nil
}

var shardLine = regexp.MustCompile(`^([a-z]+) +(\d+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+)$`)

// shards writes what command shards prints: for each number of parts, the mean sojourn time and slowdown under each
// policy, then the processor time of a decision with a policy each and with one in a lock.
func shards(w io.Writer, r io.Reader) error {
	write := func(title, unit string, rows map[string]string, names, parts []string) error {
		if len(parts) < 2 {
			return fmt.Errorf("no rows")
		}
		fmt.Fprintf(w, "| %s |", title)
		for _, n := range names {
			fmt.Fprintf(w, " `%s`%s |", n, unit)
		}
		fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(names)))
		for _, k := range parts {
			fmt.Fprintf(w, "| %s |", k)
			for _, n := range names {
				if rows[n+k] == "" {
					return fmt.Errorf("no row of %s with %s parts", n, k)
				}
				fmt.Fprintf(w, " %s |", rows[n+k])
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
		return nil
	}
	lost, won, deciding := map[string]string{}, map[string]string{}, false
	var names, parts []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		deciding = deciding || strings.Contains(lines.Text(), "; millions of decisions a second")
		m := shardLine.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case deciding:
			won[m[1]+m[2]] = m[4] + ", " + m[6]
		default:
			lost[m[1]+m[2]] = m[3] + ", " + m[4]
			if !slices.Contains(names, m[1]) {
				names = append(names, m[1])
			}
			if !slices.Contains(parts, m[2]) {
				parts = append(parts, m[2])
			}
		}
	}
	if err := write("parts: sojourn time in s, slowdown", "", lost, names, parts); err != nil {
		return err
	}
	return write("parts: ns of processor time a decision", ": a policy each, one with a lock", won, names, parts)
}

// thousands returns a number rounded to a whole one, with a comma between thousands.
func thousands(x float64) string {
	s := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
