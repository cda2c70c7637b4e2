package cli

import (
	"fmt"
	"io"
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
