package cli

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// A swimTrace is a trace of so many jobs, made as it is read. It notes the most memory
// that was in use meanwhile.
type swimTrace struct {
	jobs, next int
	rest       string
	most       uint64
}

func (s *swimTrace) Read(p []byte) (int, error) {
	if s.rest == "" {
		if s.next == s.jobs {
			return 0, io.EOF
		}
		var b strings.Builder
		for range min(1000, s.jobs-s.next) {
			s.next++
			fmt.Fprintf(&b, "job%d\t%d\t0\t%d\t1000\t1000\n", s.next, s.next, s.next)
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

// The memory that convert takes does not grow with the trace: ten bytes a job would show.
// A job in memory takes hundreds.
func TestConvertMemory(t *testing.T) {
	for _, more := range [][]string{nil, {"--load", "0.5", "-c", "10x2+1"}} {
		var most [2]uint64
		for i, jobs := range []int{2000, 22000} {
			in := &swimTrace{jobs: jobs}
			args := append([]string{"convert", "--from", "swim", "-"}, more...)
			var messages strings.Builder
			if status := Run(args, in, io.Discard, &messages); status != 0 {
				t.Fatalf("exit status %d: %s", status, &messages)
			}
			most[i] = in.most
		}
		if most[1] > most[0]+200_000 {
			t.Errorf("%v: %d bytes in use with 2,000 jobs, %d with 22,000", more, most[0], most[1])
		}
	}
}
