package cli

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/spf13/cobra"
)

// An interrupted command ends with a status other than 0, whatever it is doing, and leaves no file but whole ones. What it prints goes
// to a full pipe that nobody reads. A command that is not tried here fails the test.
func TestInterruptedCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent such a signal")
	}
	small := []string{"--gen", "hfsp-dev:jobs=3", "-q"}
	large := []string{"--gen", "bursty:jobs=1000000", "-q"}
	slow := []string{"--gen", "mars-random:jobs=3000", "-p", "mars", "-q"}
	with := func(list []string, args ...string) []string { return slices.Concat(args, list) }
	// What is written takes its place before the command prints: then it is stuck in printing. Else it is interrupted in the middle.
	written, writing := "out", ".out-*"
	tries := map[string][]struct {
		args  []string
		await string // a file, by a pattern; "" is a moment
	}{
		"run":             {{with(small, "run", "-p", "fifo", "-o", "out"), written}, {with(slow, "run", "-o", "out"), writing}, {with(large, "run", "-p", "fifo"), ""}},
		"compare":         {{with(small, "compare", "-p", "fifo,fair", "-o", "out"), written}, {with(slow, "compare", "-o", "out"), writing}, {with(small, "compare", "-p", "fifo,fair", "--seeds", "100000"), ""}},
		"sweep":           {{with(small, "sweep", "-p", "fifo", "--vary", "load=1", "-o", "out"), written}, {with(large, "sweep", "-p", "fifo", "--vary", "load=1"), ""}},
		"bench":           {{[]string{"bench", "traces", "-o", "out", "-p", "fifo", "--loads", "recorded", "--estimates", "exact", "-q"}, "out/index.html"}},
		"advise":          {{with(large, "advise", "-p", "fifo,fair"), ""}},
		"plan":            {{with(small, "plan", "-p", "huwf", "-o", "out"), written}, {[]string{"plan", "--gen", "mars-random:jobs=3000", "-p", "bestof", "-o", "out", "-q"}, ""}},
		"fluid":           {{[]string{"fluid", "-w", "w.jsonl", "--slots", "2"}, ""}, {[]string{"fluid", "-w", "-", "--slots", "2"}, ""}},
		"explain":         {{[]string{"explain", "recorded", "1"}, ""}},
		"forecast":        {{[]string{"forecast", "recorded", "--at", "60s"}, ""}, {[]string{"forecast", "recorded", "--at", "60s", "--draws", "1000000"}, ""}},
		"replay":          {{[]string{"replay", "recorded/history.txt"}, ""}, {[]string{"replay", "-"}, ""}},
		"report":          {{[]string{"report", "recorded", "-o", "out"}, written}},
		"validate":        {{[]string{"validate", "-"}, ""}},
		"convert":         {{[]string{"convert", "--from", "history", "recorded/history.txt", "--cluster-out", "out"}, written}, {[]string{"convert", "--from", "workload", "-"}, ""}},
		"gen":             {{[]string{"gen", "bursty:jobs=1000000"}, ""}, {[]string{"gen", "bursty:jobs=10"}, ""}},
		"paper":           {{[]string{"paper", "--all", "-o", "out", "-q"}, ""}, {[]string{"paper"}, ""}},
		"journal inspect": {{[]string{"journal", "inspect", "journal"}, ""}},
		"journal verify":  {{[]string{"journal", "verify", "journal"}, ""}},
		"journal export":  {{[]string{"journal", "export", "journal"}, ""}},
	}
	for _, name := range []string{"policies", "version", "help", "journal", "completion", "completion bash", "completion zsh", "completion fish", "completion powershell"} {
		tries[name] = append(tries[name], struct {
			args  []string
			await string
		}{strings.Fields(name), ""}) // prints at once
	}
	recorded, journal, workload := filepath.Join(t.TempDir(), "recorded"), writeJournal(t), firstOfSample(t, 300)
	if status, stderr := try(t, strings.NewReader(""), with(small, "run", "-p", "fifo", "-o", recorded)...); status != 0 {
		t.Fatal(stderr)
	}
	full := fullPipe(t)
	traces := t.TempDir()
	if err := os.WriteFile(filepath.Join(traces, "one.swf"), []byte("; MaxProcs: 4\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n"), 0o666); err != nil {
		t.Fatal(err)
	}

	// begin starts a command in a folder of its own.
	begin := func(t *testing.T, args []string, stdin, stdout *os.File) (*exec.Cmd, *bytes.Buffer) {
		dir := t.TempDir()
		for from, to := range map[string]string{recorded: "recorded", journal: "journal", workload: "w.jsonl", traces: "traces"} {
			if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
				t.Fatal(err)
			}
		}
		cmd, stderr := exec.Command("sojourn", args...), new(bytes.Buffer)
		cmd.Dir, cmd.Stdin, cmd.Stderr = dir, stdin, stderr
		if stdout != nil {
			cmd.Stdout = stdout
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, stderr
	}
	interrupt := func(t *testing.T, args []string, await string, sig os.Signal) {
		t.Parallel()
		stdin, open, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer stdin.Close()
		defer open.Close()
		cmd, stderr := begin(t, args, stdin, full)
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if await == "" {
			time.Sleep(200 * time.Millisecond)
		} else if !appears(filepath.Join(cmd.Dir, await)) {
			t.Errorf("no %s", await)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Errorf("it has ended before: %v", err)
		}
		select {
		case err = <-ended:
		case <-time.After(20 * time.Second):
			t.Errorf("%v: not ended after 20 s", sig)
			cmd.Process.Kill()
			err = <-ended
		}
		if status := cmd.ProcessState.ExitCode(); status != -1 && status != exitFailure { // -1: by the signal itself
			t.Errorf("%v: %v\n%s", sig, err, stderr)
		}
		if strings.Contains(stderr.String(), "context canceled") {
			t.Errorf("%v: stderr has %q, want that it was interrupted", sig, stderr)
		}
		left := contents(t, cmd.Dir)
		want := map[string]string{}
		if await == written || strings.HasPrefix(await, written+"/") {
			whole, stderr := begin(t, args, nil, nil)
			if err := whole.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			want = contents(t, whole.Dir)
		}
		if !maps.Equal(left, want) {
			t.Errorf("%v: left %q, want %q or other bytes of them", sig, slices.Sorted(maps.Keys(left)), slices.Sorted(maps.Keys(want)))
		}
	}
	var walk func(c *cobra.Command)
	n := 0
	walk = func(c *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "sojourn"), " ")
		if c.Runnable() && path != "" {
			if tries[path] == nil {
				t.Errorf("command %q is not tried", path)
			}
			for _, try := range tries[path] {
				sigs := []os.Signal{os.Interrupt, syscall.SIGTERM}
				if n++; signal.Ignored(os.Interrupt) { // as in the background of a script: the command ignores it, too
					sigs = sigs[1:]
				} else if !thorough {
					sigs = sigs[n%2 : n%2+1]
				}
				for _, sig := range sigs {
					t.Run(strings.Join(try.args, " "), func(t *testing.T) { interrupt(t, try.args, try.await, sig) })
				}
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := newRoot(catalog.Builtin())
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	walk(root)
}

// A comparison that is stopped prints what it has, says what is missing, and keeps the folders of the policies that have ended.
func TestInterruptedComparison(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent such a signal")
	}
	dir := t.TempDir()
	cmd := exec.Command("sojourn", "compare", "--gen", "mars-random:jobs=3000", "-p", "fifo,mars", "-q", "-o", "out")
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append(os.Environ(), "COLUMNS=80")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !appears(filepath.Join(dir, ".out-*", "1-fifo", "jobs.csv")) {
		t.Error("fifo does not end")
	}
	time.Sleep(100 * time.Millisecond) // the file is small
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitFailure {
		t.Errorf("status %d, want %d", status, exitFailure)
	}
	if got, want := stderr.String(), "sojourn: interrupted after 1 of 2 policies; out has what has ended, and 'sojourn report out' makes its page\n"; got != want {
		t.Errorf("stderr has %q, want %q", got, want)
	}
	if got, want := stdout.String(), "=> interrupted: only fifo has ended, of 2 policies\n"; !strings.HasPrefix(got, want) || !strings.Contains(got, "=> under fifo, jobs were in the system for ") {
		t.Errorf("stdout has\n%swant %q first, and the table of fifo", got, want)
	}
	want := []string{"out", "out/1-fifo", "out/1-fifo/history.txt", "out/1-fifo/jobs.csv", "out/1-fifo/run.json", "out/1-fifo/tasks.csv"}
	if got := slices.Sorted(maps.Keys(contents(t, dir))); !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
	if status, stderr := try(t, strings.NewReader(""), "report", filepath.Join(dir, "out")); status != 0 {
		t.Errorf("report: %s", stderr)
	}
}

// appears waits for a file.
func appears(pattern string) bool {
	for range 600 {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// contents returns what the files of a folder hold, apart from those behind links.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.IsDir() {
			all[rel] = "a folder"
			return nil
		}
		data, err := os.ReadFile(name)
		all[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fullPipe returns a pipe that takes nothing more.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	for {
		if err := w.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, 1<<10)); err != nil {
			return w
		}
	}
}
