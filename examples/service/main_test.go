package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// faults is how long TestFaults takes.
var faults = flag.Duration("faults", faultsFor, "how long TestFaults takes")

// folderOf names the folder in which this binary is the command, until it is killed.
const folderOf = "SOJOURN_EXAMPLE_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(folderOf); dir != "" {
		if os.Getenv(faulty) != "" {
			serveFaulty(dir)
			return
		}
		os.Args = []string{"service", "-dir", dir, "-addr", "127.0.0.1:0"}
		main()
		return
	}
	os.Exit(m.Run())
}

// A process is the command that serves now.
type process struct {
	cmd *exec.Cmd
	url string
	log bytes.Buffer // read it when the process has ended
}

// end waits for a process that was told to end. One that does not is killed.
func (p *process) end() error {
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	return p.cmd.Wait()
}

// start starts the command. A disk that is full, or was, keeps it from that: it is started again, as by who supervises it.
func start(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		p := &process{cmd: exec.Command(exe)}
		p.cmd.Env = append(append(os.Environ(), folderOf+"="+dir), env...)
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.cmd.Stderr = &p.log
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.cmd.Process.Kill() })
		lines, late := bufio.NewScanner(out), time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
		if lines.Scan() && late.Stop() {
			p.url = "http://" + strings.TrimPrefix(lines.Text(), "serving on ")
			return p
		}
		err = p.end()
		if len(env) == 0 || !strings.Contains(p.log.String(), errFull.Error()) {
			t.Fatalf("the service does not start: %v, %s", err, &p.log)
		}
		_ = os.Remove(filepath.Join(dir, fullFile))
	}
	t.Fatal("the service does not start")
	return nil
}

// The service is killed again and again while four clients submit jobs. Each client sends a request until it has an answer, so it
// knows which job it has. No job is lost, none runs as two, no attempt is started twice under one number, and of each one the service
// has told what became of it.
func TestKillLoop(t *testing.T) {
	jobs := soak(t, func(rng *rand.Rand, dir string, now *atomic.Pointer[process]) {
		for range kills {
			time.Sleep(time.Duration(20+rng.IntN(100)) * time.Millisecond)
			p := now.Load()
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
			now.Store(start(t, dir))
		}
	})
	if jobs < 2*kills {
		t.Errorf("%d jobs are too few to show anything", jobs)
	}
}

// Two processes have the folder, and either is killed again and again: the one that leads or the standby. Clients ask the one that was not killed, though the one that is
// started then may lead sooner, and does if the other one is slow. The same holds as of one process.
func TestKillLoopOfTwo(t *testing.T) {
	var other *process
	jobs := soak(t, func(rng *rand.Rand, dir string, now *atomic.Pointer[process]) {
		other = start(t, dir)
		for range kills {
			time.Sleep(time.Duration(20+rng.IntN(100)) * time.Millisecond)
			dies := &other
			if lead := now.Load(); rng.IntN(3) > 0 {
				now.Store(other)
				dies = &lead
			}
			_ = (*dies).cmd.Process.Kill()
			_ = (*dies).cmd.Wait()
			survives := now.Load().cmd.Process
			slow := rng.IntN(3) == 0
			if slow {
				_ = survives.Signal(syscall.SIGSTOP)
			}
			other = start(t, dir)
			if slow {
				_ = survives.Signal(syscall.SIGCONT)
			}
		}
		for end := time.Now().Add(patience); !leads(now.Load()); time.Sleep(5 * time.Millisecond) {
			if leads(other) {
				other = now.Swap(other)
			} else if time.Now().After(end) {
				t.Errorf("of two processes none leads after %v", patience)
				return
			}
		}
	})
	if jobs < 2*kills {
		t.Errorf("%d jobs are too few to show anything", jobs)
	}
	_ = other.cmd.Process.Signal(os.Interrupt)
	if err := other.end(); err != nil {
		t.Errorf("the second process was told to end: %v, %s", err, &other.log)
	}
}

// patience is for how long a service may give no answer.
const patience = 2 * time.Minute

var client = http.Client{Timeout: patience}

// leads reports whether a process answers as the one that leads.
func leads(p *process) bool {
	res, err := client.Get(p.url + "/ended")
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// soak lets four clients submit jobs while something befalls the service, and checks what became of each job. It returns how many there
// were.
func soak(t *testing.T, befall func(*rand.Rand, string, *atomic.Pointer[process]), env ...string) int {
	dir := t.TempDir()
	var now atomic.Pointer[process]
	now.Store(start(t, dir, env...))
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var mu sync.Mutex
	ids, tasks, refused := map[string]uint64{}, map[string]int{}, 0 // by key: what the clients know
	for c := range 4 {
		clients.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 1))
			for n := 0; ; n++ {
				q := request{fmt.Sprintf("%d-%d", c, n), string("abc"[rng.IntN(3)]), 1 + rng.IntN(4), rng.IntN(20)}
				body, _ := json.Marshal(q)
				for sent, begun := 0, time.Now(); ; sent++ {
					if time.Since(begun) > 2*patience {
						t.Errorf("no answer to %s, sent %d times", body, sent)
						return
					}
					res, err := client.Post(now.Load().url+"/jobs", "application/json", bytes.NewReader(body))
					if err == nil {
						var a answer
						err = json.NewDecoder(res.Body).Decode(&a)
						_ = res.Body.Close()
						if err == nil && res.StatusCode == http.StatusOK {
							mu.Lock()
							if a.Key != q.Key || a.Tenant != q.Tenant || sent == 0 && a.Duplicate {
								t.Errorf("the answer to %s is %+v", body, a)
							}
							ids[q.Key], tasks[q.Key] = uint64(a.ID), q.Tasks
							mu.Unlock()
							break
						}
					}
					mu.Lock()
					refused++
					mu.Unlock()
					time.Sleep(5 * time.Millisecond)
				}
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rng.IntN(40)) * time.Millisecond):
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 1))
	befall(rng, dir, &now)
	close(stop)
	clients.Wait()
	for deadline := time.Now().Add(patience); len(missing(told(t, dir), ids)) > 0 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	p := now.Load()
	last := uint64(0)
	for _, id := range ids {
		last = max(last, id)
	}
	for key, id := range ids { // the service says the same of those that it remembers
		if id+5000 < last {
			continue
		}
		res, err := client.Get(fmt.Sprintf("%s/jobs/%d", p.url, id))
		if err != nil {
			t.Fatal(err)
		}
		var a answer
		err = json.NewDecoder(res.Body).Decode(&a)
		_ = res.Body.Close()
		if err != nil || a.Key != key || a.Ended == nil || a.Ended.Err != "" {
			t.Fatalf("job %d of key %s: %v, %+v, %+v", id, key, err, a, a.Ended)
		}
	}
	_ = p.cmd.Process.Signal(os.Interrupt)
	if err := p.end(); err != nil {
		t.Errorf("the service was told to end: %v", err)
	}
	outcomes := told(t, dir)
	if list := missing(outcomes, ids); len(list) > 0 {
		t.Errorf("of %d of %d jobs nobody was told: %v", len(list), len(ids), list)
	}
	starts, done, jobs := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, line := range lines(t, dir, "ledger") {
		var word, key, attempt string
		fmt.Sscan(line, &word, &key, &attempt)
		task, _, _ := strings.Cut(attempt, "#")
		job, _, _ := strings.Cut(task, "/")
		if was := jobs[key]; was != "" && was != job {
			t.Errorf("key %s is jobs %s and %s", key, was, job)
		}
		jobs[key] = job
		switch {
		case word == "done":
			done[task] = true
		case starts[attempt]:
			t.Errorf("attempt %s was started twice", attempt)
		default:
			starts[attempt] = true
		}
	}
	for key, id := range ids {
		if outcomes[key] != "finished" {
			t.Errorf("job %d of key %s has %s", id, key, outcomes[key])
		}
		for i := range tasks[key] {
			if task := fmt.Sprintf("%d/0/%d", id, i); !done[task] {
				t.Errorf("task %s is lost", task)
			}
		}
	}
	t.Logf("%d jobs, %d attempts, %d requests without an answer", len(ids), len(starts), refused)
	return len(ids)
}

// told returns what the service has told of jobs, by key.
func told(t *testing.T, dir string) map[string]string {
	outcomes := map[string]string{}
	for _, line := range lines(t, dir, "outcomes") {
		key, outcome, _ := strings.Cut(line, " ")
		outcomes[key] = outcome
	}
	return outcomes
}

func missing(outcomes map[string]string, ids map[string]uint64) (keys []string) {
	for key := range ids {
		if outcomes[key] == "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// lines returns the whole lines of a file.
func lines(t *testing.T, dir, name string) []string {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data[:bytes.LastIndexByte(data, '\n')+1]), "\n")[:bytes.Count(data, []byte("\n"))]
}
