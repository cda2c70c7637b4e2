package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A longTrace is a trace of many jobs, made while it is read. It records the most memory
// that was in use meanwhile.
type longTrace struct {
	line       string // the line of a job, by its number
	jobs, next int
	rest       string
	most       uint64
}

func (s *longTrace) Read(p []byte) (int, error) {
	if s.rest == "" {
		if s.next == s.jobs {
			return 0, io.EOF
		}
		var b strings.Builder
		for range min(1000, s.jobs-s.next) {
			s.next++
			fmt.Fprintf(&b, s.line, s.next)
		}
		s.rest = b.String()
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		s.most = max(s.most, m.HeapAlloc)
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// The memory of convert does not grow with the trace. Ten bytes for each job would show;
// a job in memory takes hundreds.
func TestConvertMemory(t *testing.T) {
	const (
		swim = "job%[1]d\t%[1]d\t0\t%[1]d\t1000\t1000\n"
		swf  = "%[1]d %[1]d 0 9 4 -1 -1 -1 -1 -1 1 %[1]d 2 %[1]d 1 -1 -1 -1\n" // each job has a user and a program of its own
	)
	for _, tc := range []struct {
		line string
		args []string
	}{
		{swim, []string{"swim"}},
		{swim, []string{"swim", "--load", "0.5", "-c", "10x2+1"}},
		{swf, []string{"swf"}},
	} {
		var most [2]uint64
		for i, jobs := range []int{10_000, 200_000} {
			in := &longTrace{line: tc.line, jobs: jobs}
			args := append([]string{"convert", "-", "--from"}, tc.args...)
			var messages strings.Builder
			if status := Run(args, in, io.Discard, &messages); status != 0 {
				t.Fatalf("exit status %d: %s", status, &messages)
			}
			most[i] = in.most
		}
		if most[1] > most[0]+1_000_000 { // what is read ahead varies
			t.Errorf("%v: %d bytes in use with 10,000 jobs, %d with 200,000", tc.args, most[0], most[1])
		}
	}
}

// What convert makes of each made-up log works in compare, advise and report, on the cluster that it names.
func TestLogsGoOn(t *testing.T) {
	paths, err := filepath.Glob("../internal/convert/testdata/*.want")
	if err != nil || len(paths) == 0 {
		t.Fatal("no logs", err)
	}
	for _, want := range paths {
		path := strings.TrimSuffix(want, ".want")
		from, _, _ := strings.Cut(filepath.Base(path), ".")
		args := []string{"convert", "--from", strings.TrimSuffix(from, "-pai"), path}
		if from == "batsim" {
			args = append(args, "--topology", "../internal/convert/testdata/batsim.xml")
		}
		var workload, messages strings.Builder
		if status := Run(args, nil, &workload, &messages); status != 0 {
			t.Fatalf("%v: exit status %d: %s", args, status, &messages)
		}
		cluster := "20x1"
		if _, after, ok := strings.Cut(messages.String(), "such as -c "); ok {
			cluster, _, _ = strings.Cut(after, ")")
		}
		dir := t.TempDir()
		for _, next := range []string{"compare -q -w - -p fifo,default -c", "advise -q -w - -p fifo,fair --loads recorded -c", "compare -q -w - -p fifo,fair -o " + dir + "/out -c"} {
			var out, messages strings.Builder
			if status := Run(append(strings.Fields(next), cluster), strings.NewReader(workload.String()), &out, &messages); status != 0 || out.Len() == 0 {
				t.Fatalf("%s: %s %s: exit status %d: %s", path, next, cluster, status, &messages)
			}
		}
		var out strings.Builder
		if status := Run([]string{"report", dir + "/out"}, nil, &out, &out); status != 0 {
			t.Fatalf("%s: report: exit status %d: %s", path, status, &out)
		}
	}
}

// A conversion whose context ends stops where it reads.
func TestConvertStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	log := &longTrace{line: "%[1]d %[1]d 0 9 4 -1 -1 -1 -1 -1 1 %[1]d 2 %[1]d 1 -1 -1 -1\n", jobs: 10_000}
	var out, notes bytes.Buffer
	cmd := newConvert()
	cmd.SetArgs([]string{"--from", "swf", "-"})
	cmd.SetIn(stops{log, cancel})
	cmd.SetOut(&out)
	cmd.SetErr(&notes)
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after %d bytes, want that the context has ended", err, out.Len())
	}
}

// A stops is a reader that ends a context as soon as it is read.
type stops struct {
	io.Reader
	cancel func()
}

func (s stops) Read(p []byte) (int, error) {
	s.cancel()
	return s.Reader.Read(p)
}
