package jetstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/killtest"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// The server and the folder of a process that shares a journal with others.
const (
	childServer = "SOJOURN_TEST_SERVER"
	childFolder = "SOJOURN_TEST_FOLDER"

	clusterServer = "SOJOURN_TEST_CLUSTER" // the process is a server of a cluster
)

func TestMain(m *testing.M) {
	if command := os.Getenv(clusterServer); command != "" {
		runServer(command)
	}
	if url := os.Getenv(childServer); url != "" {
		if err := child(url, os.Getenv(childFolder)); err != nil {
			fmt.Println("ends:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A hearer hears when the pool leads and when it is broken.
type hearer struct{ leads, broken chan struct{} }

func (h hearer) Note(n live.Note) {
	switch {
	case n.Kind == live.PoolStandby && n.Err == nil:
		close(h.leads)
	case n.Kind == live.PoolBroken:
		close(h.broken)
	}
}

// open returns a pool on the journal, and what closes that. Its tasks say what they do. The url names all servers, each of which keeps the journal.
func open(url string, say func(string, ...any)) (p *live.Pool, h hearer, end func() error, err error) {
	h = hearer{make(chan struct{}), make(chan struct{})}
	conn, err := connect(url)
	if err != nil {
		return nil, h, nil, err
	}
	store, err := Open(bg, conn, "test", Options{Lease: time.Second, Replicas: 1 + strings.Count(url, ",")})
	if err != nil {
		return nil, h, nil, err
	}
	another := func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }
	policy, err := another()
	if err != nil {
		return nil, h, nil, err
	}
	j, err := journal.Open(store, policy, journal.Options{SnapshotBytes: 3000, Another: another, Retry: true})
	if err != nil {
		return nil, h, nil, err
	}
	p, err = live.New(j, live.Options{Slots: 4, Observer: h, Retry: live.Retry{Deaths: 100}, Handlers: map[string]live.Handler{
		"work": func(ctx context.Context, t live.Task, _ []byte) error {
			say("x %v#%d", t.TaskID, t.Attempt)
			time.Sleep(time.Duration(uint64(t.Job)*31%2000) * time.Microsecond)
			say("f %v#%d", t.TaskID, t.Attempt)
			return ctx.Err()
		}}})
	return p, h, j.Close, err
}

// connect connects as somebody who wants to know soon that a server is frozen.
func connect(url string) (*nats.Conn, error) {
	return nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
}

// child submits jobs and runs them while it leads, and notes what it does in a file of its own. It says on its output when it leads, and why it ends.
func child(url, dir string) error {
	effects, err := os.Create(filepath.Join(dir, fmt.Sprintf("effects.%d", os.Getpid())))
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(effects, format+"\n", args...) }
	p, h, _, err := open(url, say)
	if bad := new(journal.DamageError); err != nil && !errors.As(err, &bad) && !errors.Is(err, journal.ErrDiffers) {
		time.Sleep(100 * time.Millisecond) // another process is started at once
		return fmt.Errorf("away: %w", err)
	}
	if err != nil {
		return err
	}
	if errors.Is(p.Err(), live.ErrStandby) {
		fmt.Println("standby")
		<-h.leads
	}
	fmt.Println("leads")
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	for {
		tasks := 1 + rng.IntN(3)
		job, err := p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: tasks}}})
		switch {
		case err == nil:
			say("ack %d %d", job.ID(), tasks)
		case errors.Is(err, live.ErrStalled):
		default:
			<-h.broken
			if err := p.Err(); !errors.Is(err, journal.ErrLocked) {
				return fmt.Errorf("the pool is broken otherwise: %w", err)
			}
			if _, err := p.Submit(bg, live.Job{Handler: "work", Phases: []live.Phase{{Tasks: 1}}}); err == nil {
				return errors.New("a pool that does not lead accepts a job")
			}
			return errors.New("another process leads")
		}
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
	}
}

// A peer is one of the processes.
type peer struct {
	cmd   *exec.Cmd
	said  atomic.Pointer[string] // its last line
	ended chan struct{}
}

func newPeer(t *testing.T, url, dir string) *peer {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{cmd: exec.Command(exe), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childServer+"="+url, childFolder+"="+dir)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.said.Store(new(string))
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line := lines.Text()
			p.said.Store(&line)
		}
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *peer) says(what string) bool { return strings.HasPrefix(*p.said.Load(), what) }

func (p *peer) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *peer) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// The process that leads is killed, or stopped until the other one leads and then let go on: it ends, since another process leads. The server is away for a while, longer than a
// lease. No acknowledged job is lost, and no attempt is started twice under one number, by all processes together. On a busy machine a process that is only slow may have to end, too.
func TestKilledProcesses(t *testing.T) {
	e, dir := newEngine(t), t.TempDir()
	peers := []*peer{newPeer(t, e.ClientURL(), dir), newPeer(t, e.ClientURL(), dir)}
	leader := func() (p *peer) { // waits for one, and starts others in place of those that have ended
		waitFor(t, func() bool {
			p = nil
			for i := range peers {
				switch {
				case !peers[i].over():
				case peers[i].says("ends: another process leads"):
					peers[i] = newPeer(t, e.ClientURL(), dir)
				default:
					t.Fatalf("a process ended, and said %q", *peers[i].said.Load())
				}
				if peers[i].says("leads") {
					p = peers[i]
				}
			}
			return p != nil && slices.ContainsFunc(peers, func(p *peer) bool { return p.says("standby") })
		})
		return p
	}
	replace := func(old *peer) { peers[slices.Index(peers, old)] = newPeer(t, e.ClientURL(), dir) }
	for i := range rounds {
		p := leader()
		other := peers[1-slices.Index(peers, p)]
		time.Sleep(time.Duration(100*(i%4)) * time.Millisecond)
		switch i % 3 {
		case 0:
			p.kill()
			replace(p)
		case 1:
			_ = p.cmd.Process.Signal(syscall.SIGSTOP)
			waitFor(t, func() bool { return other.says("leads") || other.over() })
			led := other.says("leads")
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			if !led {
				continue
			}
			waitFor(t, p.over)
			if !p.says("ends: another process leads") {
				t.Errorf("a process that was stopped while another one took over ends with %q", *p.said.Load())
			}
			replace(p)
		case 2:
			other.kill()
			replace(other)
		}
	}
	leader()
	e.away()
	time.Sleep(away)
	e.start(t)
	leader().kill() // either may be the first to lead again
	waitFor(t, func() bool {
		return slices.ContainsFunc(peers, func(p *peer) bool { return !p.over() && p.says("leads") })
	})
	time.Sleep(300 * time.Millisecond)
	for _, p := range peers {
		p.kill()
	}
	effects := must(os.Create(filepath.Join(dir, "effects.last")))
	p, h, end, err := open(e.ClientURL(), func(format string, args ...any) { fmt.Fprintf(effects, format+"\n", args...) })
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(p.Err(), live.ErrStandby) {
		<-h.leads
	}
	if err := errors.Join(p.Close(bg), end(), effects.Close()); err != nil {
		t.Fatal(err)
	}
	killtest.Ledgers(t, dir, 2*rounds)
}
