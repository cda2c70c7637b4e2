package live_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/killtest"
	"github.com/sojourn-sched/sojourn/live"
)

// A peer is one of the processes that share a journal.
type peer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func newPeer(t *testing.T, env ...string) *peer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{cmd: exec.Command(exe)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	p.lines = bufio.NewScanner(out)
	return p
}

func (p *peer) expect(t *testing.T, want string) {
	t.Helper()
	if !p.lines.Scan() || p.lines.Text() != want {
		t.Fatalf("the process says %q, %v, want %q", p.lines.Text(), p.lines.Err(), want)
	}
}

func (p *peer) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Of two processes one leads, and is killed or stopped and let go on, at random moments; sometimes the other one is killed. While the one that leads is
// stopped, the other one waits. No acknowledged job is lost, and no attempt is started twice under one number, by all processes together.
func TestKilledStandby(t *testing.T) {
	dir := t.TempDir()
	env := childStandby + "=" + dir
	rng := rand.New(rand.NewPCG(1, 1))
	leader := newPeer(t, env)
	leader.expect(t, "leads")
	standby := newPeer(t, env)
	standby.expect(t, "standby")
	for range 2 * kills {
		time.Sleep(time.Duration(20+rng.IntN(60)) * ms)
		switch rng.IntN(4) {
		case 0:
			standby.kill()
			standby = newPeer(t, env)
			standby.expect(t, "standby")
			continue
		case 1:
			size := func() int64 {
				s, err := os.Stat(filepath.Join(dir, fmt.Sprintf("effects.%d", standby.cmd.Process.Pid)))
				if err != nil {
					t.Fatal(err)
				}
				return s.Size()
			}
			_ = leader.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(100 * ms) // it is stopped for longer than a standby looks
			if size() > 0 {
				t.Error("the standby has not waited for a process that is stopped")
			}
			_ = leader.cmd.Process.Signal(syscall.SIGCONT)
			continue
		}
		leader.kill()
		standby.expect(t, "leads")
		leader, standby = standby, newPeer(t, env)
		standby.expect(t, "standby")
	}
	leader.kill()
	standby.expect(t, "leads")
	standby.kill()
	effects, err := os.Create(filepath.Join(dir, "effects.last"))
	if err != nil {
		t.Fatal(err)
	}
	j := must(followJournal(filepath.Join(dir, "journal"), 3000))
	p := must(live.New(j, live.Options{Retry: live.Retry{Deaths: 100}, Handlers: map[string]live.Handler{"work": func(_ context.Context, t live.Task, _ []byte) error {
		fmt.Fprintf(effects, "x %v#%d\nf %v#%d\n", t.TaskID, t.Attempt, t.TaskID, t.Attempt)
		return nil
	}}}))
	if err := errors.Join(p.Close(bg), j.Close(), effects.Close()); err != nil {
		t.Fatal(err)
	}
	killtest.Ledgers(t, dir, kills)
}

// takeover is how many jobs there are in TestTakeover.
var takeover = flag.Int("takeover", 5000, "how many jobs TestTakeover has")

// A standby has the handles of the jobs when the process that leads is killed: to take over costs a fraction of a start in allocations. It prints how long
// it takes from the kill to the first attempt.
func TestTakeover(t *testing.T) {
	dir := t.TempDir()
	leader := newPeer(t, childLeader+"="+dir, fmt.Sprintf("%s=%d", childJobs, *takeover))
	leader.expect(t, "ready")
	started := make(chan time.Time, 10)
	work := map[string]live.Handler{"work": func(ctx context.Context, _ live.Task, _ []byte) error {
		started <- time.Now()
		<-ctx.Done()
		return ctx.Err()
	}}
	var m runtime.MemStats
	allocs := func() uint64 { runtime.ReadMemStats(&m); return m.Mallocs }
	before := allocs()
	cold := time.Now()
	j := must(followJournal(dir, 0))
	p := must(live.New(j, live.Options{Slots: 1, Handlers: work}))
	start := allocs() - before
	if !errors.Is(p.Err(), live.ErrStandby) {
		t.Fatal(p.Err())
	}
	t.Logf("%d jobs: to be a standby takes %v, and %d allocations", *takeover, time.Since(cold).Round(ms), start)
	runtime.GC()
	before = allocs()
	used := processorTime()
	killed := time.Now()
	leader.kill()
	first := <-started
	took := processorTime() - used
	over := allocs() - before
	t.Logf("to take over takes %v, %v of processor time, and %d allocations", first.Sub(killed).Round(ms), took.Round(ms), over)
	if over*4 > start {
		t.Errorf("to take over takes %d allocations, and to start %d: want a quarter at most", over, start)
	}
	stop, cancel := context.WithCancel(bg)
	cancel()
	_ = p.Suspend(stop)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// processorTime returns how much of it this process has taken.
func processorTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// A process is stopped for longer than a store may be silent, and goes on: nothing has failed meanwhile.
func TestStopped(t *testing.T) {
	if kills < 20 {
		t.Skip("it takes 15 s")
	}
	p := newPeer(t, childStopped+"="+t.TempDir())
	p.expect(t, "begun")
	for range 3 {
		time.Sleep(time.Second)
		_ = p.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(12 * time.Second)
		_ = p.cmd.Process.Signal(syscall.SIGCONT)
	}
	p.expect(t, "ended: []")
}
