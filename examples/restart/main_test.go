package main

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// folder names the folder in which this binary is the command, until it is killed.
const folder = "SOJOURN_EXAMPLE_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(folder); dir != "" {
		os.Args = []string{"restart", dir}
		main()
		return
	}
	os.Exit(m.Run())
}

// The command is killed after its fifth start, and goes on: no attempt is started twice, and each task runs to its end.
func TestKilledAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), folder+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var first []string
	for lines := bufio.NewScanner(out); len(first) < 6 && lines.Scan(); {
		first = append(first, lines.Text())
	}
	cmd.Process.Kill()
	cmd.Wait()
	if len(first) < 6 || first[0] != "2 jobs to do, 0 attempts lost" {
		t.Fatalf("before the kill:\n%s", strings.Join(first, "\n"))
	}

	var again strings.Builder
	if err := run(dir, &again); err != nil {
		t.Fatal(err)
	}
	second := strings.Split(strings.TrimSpace(again.String()), "\n")
	if !strings.Contains(second[0], "jobs to do") || strings.Contains(second[0], " 0 attempts lost") || second[len(second)-1] != "all jobs have ended" {
		t.Errorf("after the kill:\n%s", again.String())
	}
	starts := append(first[1:], second[1:len(second)-1]...)
	if unique := slices.Compact(slices.Sorted(slices.Values(starts))); len(unique) != len(starts) {
		t.Errorf("an attempt was started twice:\n%s", strings.Join(starts, "\n"))
	}
	tasks := map[string]bool{}
	for _, line := range starts {
		tasks[strings.Fields(line)[1]] = true
	}
	if len(tasks) != 12 {
		t.Errorf("%d tasks were started, want 12", len(tasks))
	}
}
