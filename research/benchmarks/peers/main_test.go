package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	code := m.Run()
	clean()
	os.Exit(code)
}

// Each row makes as many operations as it says, and ends. Rows of programs that are not installed say so.
// Kueue takes long to build, and has tests in its own module.
func TestRows(t *testing.T) {
	for _, r := range rows() {
		if strings.HasPrefix(r.name, "kueue") {
			continue
		}
		_, err := r.run(3000)
		if why := missing(""); errors.As(err, &why) {
			t.Logf("%s: %s", r.name, why)
		} else if err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

// The first row of a group is there on every machine, and no two rows have one name.
func TestGroups(t *testing.T) {
	group, names := "", map[string]bool{}
	for _, r := range rows() {
		if r.group != group && !strings.HasPrefix(r.name, "floor") && !strings.HasPrefix(r.name, "sojourn") {
			t.Errorf("%s is the first of its group", r.name)
		}
		if names[r.name] || !strings.HasSuffix(r.name, r.group) && !strings.Contains(r.name, "queues") {
			t.Errorf("name %q in group %s", r.name, r.group)
		}
		group, names[r.name] = r.group, true
	}
}

// An iteration of the benchmark in golang.org/x/net/http2 pops as many frames as its source says.
func TestHTTP2Pops(t *testing.T) {
	dir := moduleDir(t, "golang.org/x/net")
	source, err := os.ReadFile(filepath.Join(dir, "http2", "writesched_benchmarks_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func benchmarkThroughput(")
	body, _, _ = strings.Cut(body, "\n}\n")
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sizes := regexp.MustCompile(`maxFrameSize\*(\d+)\)`).FindAllStringSubmatch(body, -1)
	streams := regexp.MustCompile(`streamCount = (\d+)`).FindStringSubmatch(body)
	if len(sizes) == 0 || streams == nil {
		t.Fatal("the benchmark has changed")
	}
	pops := 0
	for i := range number(streams[1]) {
		pops += number(sizes[i%len(sizes)][1])
	}
	if pops != http2Pops {
		t.Errorf("%d pops, not %d", pops, http2Pops)
	}
}

func goList(path string) *exec.Cmd { return exec.Command("go", "list", "-m", "-f", "{{.Dir}}", path) }

func moduleDir(t *testing.T, path string) string {
	t.Helper()
	text, err := output(goList(path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text)
}

// A program whose mean sojourn time is another one has simulated something else.
func TestSimAnswer(t *testing.T) {
	for text, want := range map[string]time.Duration{"0.5 100\n": time.Second / 2, "2 100.00001": 2 * time.Second} {
		if got, err := simAnswer(text, 100); err != nil || got != want {
			t.Errorf("simAnswer(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1", "1 101", "1 99.999", "x 100", "1 x", "1 100 1"} {
		if got, err := simAnswer(text, 100); err == nil {
			t.Errorf("simAnswer(%q) = %v, want an error", text, got)
		}
	}
}

// What other programs read is what package sim runs: as many slots, jobs and tasks, and the same times.
func TestSimText(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(string(simText(200))), "\n")
	jobs := simJobs(200)
	if lines[0] != strconv.Itoa(simSlots) || len(lines) != 1+len(jobs) || len(jobs)*simTasks != 200 {
		t.Fatalf("%d lines for %d jobs, the first %q", len(lines), len(jobs), lines[0])
	}
	nanoseconds := func(text string) int64 {
		n, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, j := range jobs {
		fields := strings.Fields(lines[i+1])
		if len(fields) != 1+simTasks || nanoseconds(fields[0]) != int64(j.At) {
			t.Fatalf("job %d: %q", i, lines[i+1])
		}
		for k, text := range fields[1:] {
			if nanoseconds(text) != int64(j.Times[0].List[k]) {
				t.Errorf("job %d, task %d: %s", i, k, text)
			}
		}
	}
}

func TestOutputSaysWhatIsWrong(t *testing.T) {
	if _, err := output(goList("no.such/module")); err == nil || !strings.Contains(err.Error(), "no.such/module") {
		t.Errorf("error %v", err)
	}
}
