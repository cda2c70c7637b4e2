package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/live"
)

// childPoison names the folder in which this binary runs payloads that end it.
const childPoison = "SOJOURN_TEST_POISON"

// poisonChild runs what there is in a folder, or submits it if there is nothing.
func poisonChild(dir string) error {
	effects, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	j, err := openJournal(filepath.Join(dir, "journal"))
	if err != nil {
		return err
	}
	first := j.MaxJob() == 0
	var start sync.WaitGroup // of all that run at first
	if first {
		start.Add(8)
	}
	p, err := live.New(j, live.Options{Slots: 8, Handlers: map[string]live.Handler{"work": func(_ context.Context, t live.Task, payload []byte) error {
		fmt.Fprintf(effects, "x %s %d\n", payload, t.Attempt)
		if first && t.Attempt == 1 {
			start.Done()
			start.Wait()
		}
		switch kind, _, _ := strings.Cut(string(payload), " "); kind {
		case "exit":
			os.Exit(137)
		case "kill":
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			_ = self.Kill()
			select {}
		case "panic":
			go panic("in a goroutine of the task")
			select {}
		case "stack":
			debug.SetMaxStack(1 << 16)
			return deep(1)
		}
		time.Sleep(5 * ms)
		fmt.Fprintf(effects, "f %s %d\n", payload, t.Attempt)
		return nil
	}}})
	if err != nil {
		return err
	}
	for _, h := range p.Handles() {
		_ = h.Wait(bg)
	}
	if first {
		for i, kind := range []string{"good", "exit", "good", "kill", "panic", "stack", "good", "good"} {
			h, err := p.Submit(bg, live.Job{Handler: "work", Payload: fmt.Appendf(nil, "%s %d", kind, i), Phases: []live.Phase{{Tasks: 1}}})
			if err != nil {
				return err
			}
			defer func() { _ = h.Wait(bg) }()
		}
	}
	return nil
}

// deep calls itself until the stack is full.
//
//go:noinline
func deep(n int) error {
	if n < 0 {
		return nil
	}
	if err := deep(n + 1); err != nil {
		return fmt.Errorf("%d: %w", n, err)
	}
	return nil
}

// Four payloads end their process in four ways: by os.Exit, SIGKILL, a panic that nobody recovers, and too much memory. Each does so
// three times at most, and the good ones beside them lose one attempt at most.
func TestPoisonedProcesses(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	processes := 0
	for ended := false; !ended; processes++ {
		if processes > 12 {
			t.Fatal("processes end for ever")
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childPoison+"="+dir)
		ended = cmd.Run() == nil
	}
	data, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	started, finished := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(data)) {
		word := strings.Fields(line)
		what := word[1] + " " + word[2]
		if word[0] == "x" {
			started[what]++
		} else {
			finished[what] = true
		}
	}
	if len(started) != 8 || processes != 1+8+1 {
		t.Errorf("%d payloads, %d processes: %v", len(started), processes, started)
	}
	for what, n := range started {
		switch good := strings.HasPrefix(what, "good"); {
		case good && (n > 2 || !finished[what]):
			t.Errorf("%s was started %d times", what, n)
		case !good && n != 3:
			t.Errorf("%s was started %d times, want 3", what, n)
		}
	}
}
