package live_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// childFolder names the folder in which this binary is a pool until it is killed.
const childFolder = "SOJOURN_TEST_CHILD"
const childUnsynced = "SOJOURN_TEST_UNSYNCED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childFolder); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	for env, run := range map[string]func(string) error{childPoison: poisonChild, childStandby: standbyChild, childLeader: leaderChild, childStopped: stoppedChild} {
		if dir := os.Getenv(env); dir != "" {
			if err := run(dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// openJournal opens the journal of a folder under the policy to start with.
func openJournal(dir string) (*journal.Journal, error) {
	another := func() (sojourn.Policy, error) { return constructors.LeastWork(leastwork.Options{}) }
	p, err := another()
	if err != nil {
		return nil, err
	}
	store, err := journal.OpenFiles(dir)
	if err != nil {
		return nil, err
	}
	j, err := journal.Open(store, p, journal.Options{SnapshotBytes: 3000, Another: another})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return j, nil
}

// child submits jobs and runs them until it is killed. If there is a file stop, it only ends what is there. What it does to the world it appends to a file, effects,
// which outlives it:
//
//	ack JOB TASKS TASKS   the job was acknowledged
//	x TASK#N              the attempt runs
//	f TASK#N              it is about to succeed
//	end JOB               Wait has returned nil
func child(dir string) error {
	// A kill in a write that crosses a page of the file leaves a line without its end.
	if data, err := os.ReadFile(filepath.Join(dir, "effects")); err == nil {
		if err := os.Truncate(filepath.Join(dir, "effects"), int64(bytes.LastIndexByte(data, '\n')+1)); err != nil {
			return err
		}
	}
	effects, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(effects, format+"\n", args...) } // one write for each line
	j, err := openJournal(filepath.Join(dir, "journal"))
	if err != nil {
		return err
	}
	work := func(_ context.Context, t live.Task, payload []byte) error {
		if string(payload) != fmt.Sprint("payload of ", len(payload)) {
			return fmt.Errorf("payload %q", payload)
		}
		say("x %v#%d", t.TaskID, t.Attempt)
		rng := rand.New(rand.NewPCG(uint64(t.Job), uint64(t.Index)<<32|uint64(t.Attempt)))
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
		if rng.IntN(8) == 0 {
			return errors.New("by chance")
		}
		say("f %v#%d", t.TaskID, t.Attempt)
		return nil
	}
	rng := rand.New(rand.NewPCG(uint64(j.MaxJob()), 1)) // before the pool has the journal to itself
	p, err := live.New(j, live.Options{Slots: 4, Handlers: map[string]live.Handler{"work": work},
		Retry: live.Retry{Attempts: 100, Backoff: ms, Deaths: 100}, UnsyncedStarts: os.Getenv(childUnsynced) != ""})
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	watch := func(h *live.Handle) {
		all.Go(func() {
			if err := h.Wait(bg); err == nil {
				say("end %d", h.ID())
			} else {
				say("error %v", err)
			}
		})
	}
	for _, h := range p.Handles() {
		watch(h)
	}
	fmt.Println("open")
	if _, err := os.Stat(filepath.Join(dir, "stop")); err == nil { // the last one ends what is there
		all.Wait()
		return errors.Join(p.Close(bg), j.Close())
	}
	for {
		a, b := 1+rng.IntN(6), 1+rng.IntN(3)
		h, err := p.Submit(bg, live.Job{Handler: "work", Payload: []byte("payload of 13"), Phases: []live.Phase{{Tasks: a}, {Tasks: b}}})
		if err != nil {
			return err
		}
		say("ack %d %d %d", h.ID(), a, b)
		watch(h)
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
	}
}

// A process with a durable pool is killed with SIGKILL at random moments, again and again. No acknowledged job is lost, no attempt
// is started twice under one number, and no task runs again when the end of its job was known.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range kills + 1 {
		if i == kills {
			if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), childFolder+"="+dir)
		if i%2 == 1 {
			cmd.Env = append(cmd.Env, childUnsynced+"=1")
		}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !bufio.NewScanner(out).Scan() {
			t.Fatalf("process %d did not open the journal: %v", i, cmd.Wait())
		}
		if i < kills {
			for tries := 0; tries < 6000 && !shows(dir, i); tries++ { // on a machine that is slow
				time.Sleep(10 * ms)
			}
			time.Sleep(time.Duration(rng.IntN(60)) * ms)
			cmd.Process.Kill()
		}
		if err := cmd.Wait(); i == kills && err != nil {
			t.Fatalf("the last process: %v", err)
		}
	}
	checkEffects(t, dir)
}

// shows reports whether there are so many jobs that were acknowledged, and five times as many attempts.
func shows(dir string, n int) bool {
	data, _ := os.ReadFile(filepath.Join(dir, "effects"))
	return bytes.Count(data, []byte("ack ")) >= n && bytes.Count(data, []byte("x ")) >= 5*n
}

func checkEffects(t *testing.T, dir string) {
	data, err := os.ReadFile(filepath.Join(dir, "effects"))
	if err != nil {
		t.Fatal(err)
	}
	type job struct{ id, a, b int }
	var acked []job
	started, finished, ended, again := map[string]bool{}, map[string]bool{}, map[int]bool{}, 0
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		word, rest, _ := strings.Cut(line, " ")
		task, _, _ := strings.Cut(rest, "#")
		var j job
		switch word {
		case "ack":
			fmt.Sscan(rest, &j.id, &j.a, &j.b)
			acked = append(acked, j)
		case "x":
			if fmt.Sscanf(task, "%d/", &j.id); ended[j.id] {
				t.Errorf("attempt %s is started after the end of the job", rest)
			}
			if started[rest] {
				t.Errorf("attempt %s is started twice", rest)
			}
			started[rest] = true
		case "f":
			if finished[task] {
				again++
			}
			finished[task] = true
		case "end":
			fmt.Sscan(rest, &j.id)
			ended[j.id] = true
		default:
			t.Errorf("a process says %q", line)
		}
	}
	for _, j := range acked {
		for phase, tasks := range []int{j.a, j.b} {
			for i := range tasks {
				if task := fmt.Sprintf("%d/%d/%d", j.id, phase, i); !finished[task] {
					t.Errorf("job %d was acknowledged, and task %s is lost", j.id, task)
				}
			}
		}
	}
	if len(acked) < kills-1 || len(started) < 5*(kills-1) {
		t.Errorf("%d jobs were acknowledged, %d attempts started: too few to show anything", len(acked), len(started))
	}
	t.Logf("%d kills, %d jobs acknowledged, %d attempts, %d tasks ran again after an end that was not durable yet", kills, len(acked), len(started), again)
}
