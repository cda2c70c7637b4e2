package killtest

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// A link carries the bytes of one server to another one, unless it is cut.
type link struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	down  bool
	conns map[net.Conn]bool
}

func newLink(t testing.TB, to int) *link {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: fmt.Sprintf("127.0.0.1:%d", to), conns: map[net.Conn]bool{}}
	t.Cleanup(func() { l.listener.Close(); l.cut(true) })
	go func() {
		for {
			c, err := l.listener.Accept()
			if err != nil {
				return
			}
			go l.carry(c)
		}
	}()
	return l
}

func (l *link) port() int { return l.listener.Addr().(*net.TCPAddr).Port }

func (l *link) carry(c net.Conn) {
	defer c.Close()
	d, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer d.Close()
	l.mu.Lock()
	if l.down {
		l.mu.Unlock()
		return
	}
	l.conns[c], l.conns[d] = true, true
	l.mu.Unlock()
	go func() { _, _ = io.Copy(c, d); c.Close() }()
	_, _ = io.Copy(d, c)
	l.mu.Lock()
	delete(l.conns, c)
	delete(l.conns, d)
	l.mu.Unlock()
}

func (l *link) cut(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	for c := range l.conns { //sojourn:unordered each by itself
		c.Close()
	}
}

// A Cluster is three servers in processes of their own, which see each other over links that can be cut.
type Cluster struct {
	t       testing.TB
	env     string
	say     func(string, ...any)
	command [3]string
	dir     [3]string
	ports   [3]int
	links   [3][3]*link
	cmds    [3]*exec.Cmd
}

// NewCluster starts this program three times, each time with a variable in its environment that says what server it is to be: its name, its folder, its port, the port
// for other servers and those of the links to them, with spaces between. ready reports whether servers with these ports are a cluster, within a minute; if they
// are not, since somebody else may have taken a port, others are started. say is told what the test does with them.
func NewCluster(t testing.TB, env string, say func(string, ...any), ready func(ports [3]int) bool) *Cluster {
	t.Helper()
	c := &Cluster{t: t, env: env, say: say}
	t.Cleanup(c.killAll)
	for range 5 {
		c.make()
		if ready(c.ports) {
			return c
		}
		c.killAll()
	}
	t.Fatal("no cluster starts")
	return nil
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *Cluster) make() {
	var inner [3]int
	for i := range c.ports {
		c.ports[i], inner[i], c.dir[i] = freePort(c.t), freePort(c.t), filepath.Join(c.t.TempDir(), fmt.Sprint("s", i))
	}
	for i := range c.ports {
		c.command[i] = fmt.Sprintf("s%d %s %d %d", i, c.dir[i], c.ports[i], inner[i])
		for j := range c.ports {
			if j != i {
				c.links[i][j] = newLink(c.t, inner[j])
				c.command[i] += fmt.Sprint(" ", c.links[i][j].port())
			}
		}
	}
	for i := range c.ports {
		c.Start(i)
	}
}

// Dir is the folder of a server.
func (c *Cluster) Dir(i int) string { return c.dir[i] }

// Start starts a server that was killed.
func (c *Cluster) Start(i int) {
	if c.cmds[i] != nil {
		return
	}
	c.say("start %d", i)
	exe, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), c.env+"="+c.command[i])
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.cmds[i] = cmd
}

// Kill kills a server.
func (c *Cluster) Kill(i int) {
	if cmd := c.cmds[i]; cmd != nil {
		c.say("kill %d", i)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.cmds[i] = nil
	}
}

func (c *Cluster) killAll() {
	for i := range c.cmds {
		c.Kill(i)
	}
}

// Signal sends a signal to a server.
func (c *Cluster) Signal(i int, s os.Signal) {
	if c.cmds[i] != nil {
		c.say("%v %d", s, i)
		_ = c.cmds[i].Process.Signal(s)
	}
}

// Part cuts a server off from the two others, or joins it.
func (c *Cluster) Part(i int, down bool) {
	for j := range c.ports {
		if j != i {
			c.Between(i, j, down)
		}
	}
}

// Between cuts two servers off from each other, or joins them.
func (c *Cluster) Between(i, j int, down bool) {
	c.say("%d and %d are cut off from each other: %v", i, j, down)
	c.links[i][j].cut(down)
	c.links[j][i].cut(down)
}

// URL is the address of all three, each with this prefix.
func (c *Cluster) URL(scheme string) string {
	text := ""
	for i, port := range c.ports {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%s://127.0.0.1:%d", scheme, port)
	}
	return text
}
