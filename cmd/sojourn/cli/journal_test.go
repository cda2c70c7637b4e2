package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
)

// writeJournal makes a journal of two segments under FIFO, in which the shorter job waits.
func writeJournal(t *testing.T) string {
	dir := t.TempDir()
	s, err := journal.OpenFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(s, p, journal.Options{Policy: "fifo", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		if err := j.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	for id, estimate := range []int{9, 2} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, At: 1, Job: &sojourn.Job{ID: sojourn.JobID(id + 1), Phases: []sojourn.Phase{{Tasks: 2, Estimate: 1e9 * 1}}, Weight: float64(estimate)}})
	}
	a, _ := j.Assign(0)
	if err := j.Snapshot(); err != nil {
		t.Fatal(err)
	}
	observe(sojourn.Event{Kind: sojourn.TaskFinished, At: 5, Task: a.Task, Attempt: 1})
	j.Assign(0)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func runText(args ...string) (status int, stdout, stderr string) {
	var out, err strings.Builder
	status = Run(args, strings.NewReader(""), &out, &err)
	return status, out.String(), err.String()
}

// A journal can be looked into, exported, and replayed like a history.
func TestJournal(t *testing.T) {
	dir := writeJournal(t)
	status, out, errs := runText("journal", "inspect", dir)
	if lines := strings.Split(strings.TrimSpace(out), "\n"); status != 0 || len(lines) != 3 || !strings.Contains(lines[0], "decisions") {
		t.Errorf("inspect: status %d\n%s%s", status, out, errs)
	}
	if status, out, _ := runText("journal", "inspect", dir, "--json"); status != 0 || !strings.Contains(out, `"maxJob": 2`) {
		t.Errorf("inspect --json: status %d\n%s", status, out)
	}
	if status, out, _ := runText("journal", "verify", dir); status != 0 || !strings.Contains(out, ": 2 segments, 11 records, all right\n") {
		t.Errorf("verify: status %d\n%s", status, out)
	}
	status, text, errs := runText("journal", "export", dir)
	if want := "sojourn history 1\npolicy: fifo\n@0s SlotAdded 0\n"; status != 0 || !strings.HasPrefix(text, want) {
		t.Errorf("export: status %d\n%s%s", status, text, errs)
	}
	file := filepath.Join(t.TempDir(), "history.txt")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, file} {
		if status, out, errs := runText("replay", name); status != 0 || !strings.Contains(out, "6 calls, all equal under fifo") {
			t.Errorf("replay %s: status %d\n%s%s", name, status, out, errs)
		}
		status, out, _ := runText("replay", name, "-p", "las")
		if status != 1 || !strings.Contains(out, "las, job 2: ") || !strings.Contains(out, "fifo, job 1: ") {
			t.Errorf("replay %s under las: status %d\n%s", name, status, out)
		}
	}
}

// A byte that is wrong is bad input, with the file and the byte. A folder without a journal is an error.
func TestJournalDamaged(t *testing.T) {
	dir := writeJournal(t)
	name := filepath.Join(dir, "00000002.journal")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data[40] ^= 1
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"journal", "verify", dir}, {"journal", "inspect", dir}, {"journal", "export", dir}, {"replay", dir}} {
		if status, _, errs := runText(args...); status != exitBadInput || !strings.Contains(errs, name) || !strings.Contains(errs, "byte ") {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
	}
	if status, _, errs := runText("journal", "verify", t.TempDir()); status != exitFailure || !strings.Contains(errs, "no segment of a journal") {
		t.Errorf("an empty folder: status %d: %s", status, errs)
	}
	if status, _, errs := runText("journal", "verify", filepath.Join(dir, "nowhere")); status != exitFailure || !strings.Contains(errs, "nowhere") {
		t.Errorf("no folder: status %d: %s", status, errs)
	}
}
