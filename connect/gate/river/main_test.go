package river_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournriver "github.com/sojourn-sched/sojourn/connect/gate/river"
	"github.com/sojourn-sched/sojourn/fair"
)

// A cluster is a PostgreSQL server of its own, on a socket in a folder.
type cluster struct {
	dir    string
	bin    string
	as     *syscall.SysProcAttr // the user that runs it: PostgreSQL refuses root
	server *exec.Cmd
}

var shared *cluster // of all tests

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// The program runs the tests, or a gate or a client that a test kills.
func TestMain(m *testing.M) {
	if to := os.Getenv("SOJOURN_GATE"); to != "" {
		runGate(to)
		return
	}
	if concurrency, to, ok := strings.Cut(os.Getenv("SOJOURN_CLIENT"), " "); ok {
		runClient(to, concurrency)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	c, err := newCluster()
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		fmt.Println("no test runs: PostgreSQL is not installed (apt-get install postgresql):", err)
		return 0
	}
	if err == nil {
		defer c.remove()
		err = c.start()
	}
	if err == nil {
		err = c.migrate()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	shared = c
	return m.Run()
}

// newCluster makes the files of a server.
func newCluster() (*cluster, error) {
	c := &cluster{}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return nil, err
		}
		initdb = found[len(found)-1]
	}
	c.bin = filepath.Dir(initdb)
	if c.dir, err = os.MkdirTemp("", "river"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		u, err := user.Lookup("nobody")
		if err != nil {
			return nil, err
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(c.dir, uid, gid); err != nil {
			return nil, err
		}
		c.as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	out, err := c.command("initdb", "-D", c.dir+"/data", "-U", "test", "--no-sync", "--locale=C", "-E", "UTF8").CombinedOutput()
	if err != nil {
		c.remove()
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return c, nil
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr = c.dir, c.as
	return cmd
}

// start starts the server and waits until it answers.
func (c *cluster) start() error {
	log, err := os.OpenFile(c.dir+"/log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	c.server = c.command("postgres", "-D", c.dir+"/data", "-c", "listen_addresses=", "-c", "unix_socket_directories="+c.dir)
	c.server.Stdout, c.server.Stderr = log, log
	if err := c.server.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if err = c.exec("SELECT 1"); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(c.dir + "/log")
			return fmt.Errorf("the server does not start: %w\n%s", err, text)
		}
	}
}

// stop ends the server at once, as a crash does.
func (c *cluster) stop() {
	if c.server != nil {
		_ = c.server.Process.Signal(syscall.SIGQUIT)
		_ = c.server.Wait()
		c.server = nil
	}
}

func (c *cluster) remove() {
	c.stop()
	_ = os.RemoveAll(c.dir)
}

func (c *cluster) dsn(database string) string {
	return fmt.Sprintf("host=%s user=test dbname=%s pool_max_conns=12", c.dir, database)
}

// exec runs a statement in the database postgres.
func (c *cluster) exec(sql string) error {
	pool, err := pgxpool.New(context.Background(), c.dsn("postgres"))
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = pool.Exec(context.Background(), sql)
	return err
}

// migrate makes the database that tests copy.
func (c *cluster) migrate() error {
	if err := c.exec("CREATE DATABASE river"); err != nil {
		return err
	}
	pool, err := pgxpool.New(context.Background(), c.dsn("river"))
	if err != nil {
		return err
	}
	defer pool.Close()
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: silent})
	if err != nil {
		return err
	}
	_, err = m.Migrate(context.Background(), rivermigrate.DirectionUp, nil)
	return err
}

// compare returns what a test wants, or what most want.
func compare(most time.Duration) time.Duration {
	if os.Getenv("SOJOURN_COMPARE") == "default" {
		return 0
	}
	return most
}

// runGate runs a gate until somebody kills the process.
func runGate(to string) {
	pool, err := pgxpool.New(context.Background(), to)
	if err != nil {
		panic(err)
	}
	queue, err := sojournriver.New(pool, sojournriver.Options{Queue: "default"})
	if err != nil {
		panic(err)
	}
	f, err := fair.New(fair.Options{})
	if err != nil {
		panic(err)
	}
	g, err := gate.New(f, queue, gate.Options{Compare: compare(300 * time.Millisecond), Log: silent})
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println(g.Run(ctx))
}
