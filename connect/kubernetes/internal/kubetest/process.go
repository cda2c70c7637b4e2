package kubetest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	startTime = 3 * time.Minute       // a server that is not ready by then never is
	stopTime  = 3 * time.Second       // then a server is killed: kube-apiserver waits longer for its watches
	pollTime  = 20 * time.Millisecond // between two questions whether a server is ready
	tailSize  = 4 << 10
)

// A process is a server that can be started and stopped many times.
type process struct {
	name, path string
	args       []string
	dir        string // of its log
	ready      string // URL that answers 200 once the server works

	cmd  *exec.Cmd     // nil if it does not run
	gone chan struct{} // closed when cmd has ended
}

func (p *process) log() string { return filepath.Join(p.dir, p.name+".log") }

// start runs the program, and waits until it is ready.
func (p *process) start(ctx context.Context) error {
	if p.cmd != nil {
		return fmt.Errorf("%s runs already", p.name)
	}
	f, err := os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = f, f, p.dir
	cmd.SysProcAttr = child()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	gone := make(chan struct{})
	go func() { cmd.Wait(); close(gone) }()
	p.cmd, p.gone = cmd, gone
	if err := p.wait(ctx); err != nil {
		p.stop()
		return fmt.Errorf("%s: %w\n%s", p.name, err, p.tail())
	}
	return nil
}

// wait returns when the server is ready, has ended, or is too late.
func (p *process) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer tr.CloseIdleConnections()
	cl := &http.Client{Transport: tr, Timeout: 5 * time.Second}
	last := "no answer"
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if resp, err := cl.Do(req); err != nil {
			last = err.Error()
		} else {
			b, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			last = resp.Status + " " + string(b)
		}
		select {
		case <-p.gone:
			return fmt.Errorf("ended: %v", p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w, %s", ctx.Err(), last)
		case <-time.After(pollTime):
		}
	}
}

// stop ends the process, also one that was paused, and waits until it is gone.
func (p *process) stop() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.cmd.Process.Signal(syscall.SIGCONT)
	select {
	case <-p.gone:
	case <-time.After(stopTime):
		p.cmd.Process.Kill()
		<-p.gone
	}
	p.cmd, p.gone = nil, nil
}

// kill ends the process at once, and waits until it is gone.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.gone
	p.cmd, p.gone = nil, nil
}

func (p *process) pause(on bool) error {
	sig := syscall.SIGCONT
	if on {
		sig = syscall.SIGSTOP
	}
	if p.cmd == nil {
		return fmt.Errorf("%s does not run", p.name)
	}
	if err := p.cmd.Process.Signal(sig); err != nil || !on {
		return err
	}
	for deadline := time.Now().Add(startTime); ; time.Sleep(pollTime) { // a busy machine stops its threads one by one
		if stopped, err := stopped(p.pid()); stopped || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not stop", p.name)
		}
	}
}

// stopped reports whether all threads of a process are stopped.
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		b, err := os.ReadFile(thread)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil // it has ended meanwhile
		}
		if err != nil {
			return false, err
		}
		if _, state, _ := strings.Cut(string(b), ") "); !strings.HasPrefix(state, "T") {
			return false, nil
		}
	}
	return true, err
}

// pid returns the process id, 0 if the server does not run.
func (p *process) pid() int {
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// tail returns the end of the log.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-tailSize):])
}

// CPU returns the user and system time of a process so far, as Linux tells it in /proc.
func CPU(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on all platforms of Go
	// The second field is the name in parentheses, which may hold blanks; fields 14 and 15 are the times.
	_, rest, _ := strings.Cut(string(b), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("process %d: cannot read %q", pid, b)
	}
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

// Memory returns the resident memory of a process and the most that it was, in bytes, as Linux
// tells them in /proc.
func Memory(pid int) (now, peak int64, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "VmRSS:" && f[0] != "VmHWM:" {
			continue
		}
		kib, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		if f[0] == "VmRSS:" {
			now = kib << 10
		} else {
			peak = kib << 10
		}
	}
	if now == 0 || peak == 0 {
		return 0, 0, fmt.Errorf("process %d: no VmRSS and VmHWM", pid)
	}
	return now, peak, nil
}
