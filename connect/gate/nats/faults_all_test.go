//go:build all

package nats_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/sojourn-sched/sojourn/connect/gate"
	sojournnats "github.com/sojourn-sched/sojourn/connect/gate/nats"
	"github.com/sojourn-sched/sojourn/internal/killtest"
)

// runServer is a server of a cluster, in a process of its own: name, folder, port, port of the cluster, routes.
func runServer(text string) {
	part := strings.Split(text, " ")
	o := &server.Options{ServerName: part[0], Host: "127.0.0.1", JetStream: true, StoreDir: part[1], NoSigs: true, NoLog: true,
		Port: must(strconv.Atoi(part[2])), Cluster: server.ClusterOpts{Name: "cluster", Host: "127.0.0.1", Port: must(strconv.Atoi(part[3])), NoAdvertise: true, PoolSize: -1}}
	for _, p := range part[4:] {
		o.Routes = append(o.Routes, must(url.Parse("nats://127.0.0.1:"+p)))
	}
	s := must(server.NewServer(o))
	s.Start()
	select {}
}

// newCluster returns three servers in processes of their own.
func newCluster(t testing.TB, say func(string, ...any)) *killtest.Cluster {
	return killtest.NewCluster(t, "SOJOURN_NATS", say, func(ports [3]int) (ok bool) {
		conn := lively(fmt.Sprintf("nats://127.0.0.1:%d", ports[0]))
		defer conn.Close()
		api := must(js.New(conn))
		for end := time.Now().Add(time.Minute); !ok && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := api.CreateStream(ctx, js.StreamConfig{Name: "first", Replicas: 3}) // it needs all three
			cancel()
			ok = err == nil
		}
		return ok
	})
}

// lively connects as somebody who wants to know soon that a server is frozen.
func lively(address string) *nats.Conn {
	return must(nats.Connect(address, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2)))
}

// Faults of a cluster of NATS and of gates, at random: servers are killed and come back with their disk, an empty or an old one, are stopped, cut off from both others or from one;
// leaders step down; gates are killed, or stopped for longer than the lease, meanwhile. Each task ends, and none is let go twice. NATS may give a task to a worker again, as it does without a
// gate. SOJOURN_SEED and SOJOURN_CASES say which cases.
func TestRandomFaults(t *testing.T) {
	killtest.Cases(t, 4, func(t *testing.T, seed uint64) { t.Parallel(); testFaults(t, seed) })
}

func testFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	begun := time.Now()
	log := &diary{}
	say := func(format string, args ...any) {
		fmt.Fprintf(log, "time=%s TEST "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("\n" + log.text.String())
		}
	})
	c := newCluster(t, say)
	o := options
	o.Replicas, o.AckWait = 3, 4*time.Second
	open := func() *sojournnats.Queue {
		conn := lively(c.URL("nats"))
		t.Cleanup(conn.Close)
		var q *sojournnats.Queue
		until(t, "there is a queue", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var err error
			q, err = sojournnats.New(ctx, conn, "jobs", o)
			if err != nil {
				say("no queue: %v", err)
				time.Sleep(200 * time.Millisecond)
			}
			return err == nil
		})
		return q
	}
	conn := lively(c.URL("nats"))
	t.Cleanup(conn.Close)
	api := must(js.New(conn))

	var mu sync.Mutex
	given := map[string]map[uint64]time.Time{} // task and attempt: messages
	done, put, again := map[string]int{}, map[string]bool{}, 0
	producer := open()
	for range 2 {
		q := open()
		sojournnats.Spy(q, func(m js.Msg) {
			meta, err := m.Metadata()
			if err != nil {
				return
			}
			key := m.Subject()[len("sojourn.jobs.work."):] + "/" + m.Headers().Get("Sojourn-Attempt")
			mu.Lock()
			defer mu.Unlock()
			if given[key] == nil {
				given[key] = map[uint64]time.Time{}
			}
			if _, ok := given[key][meta.Sequence.Stream]; ok {
				again++
			}
			given[key][meta.Sequence.Stream] = time.Now()
		})
		background(t, func(ctx context.Context) error {
			return q.Work(ctx, 4, func(ctx context.Context, task sojournnats.Task) error {
				select {
				case <-time.After(50 * time.Millisecond):
				case <-ctx.Done():
					return ctx.Err()
				}
				if strings.HasPrefix(task.ID, "f") && task.Attempt == 1 {
					return errors.New("fails")
				}
				mu.Lock()
				done[task.ID]++
				mu.Unlock()
				return nil
			})
		})
	}
	var gates []*exec.Cmd
	startGate := func() {
		cmd := exec.Command(must(os.Executable()))
		cmd.Env = append(os.Environ(), "SOJOURN_FAULTS="+c.URL("nats"))
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		gates = append(gates, cmd)
	}
	startGate()
	startGate()

	// The producer.
	over := make(chan struct{})
	var producing sync.WaitGroup
	producing.Go(func() {
		for n := 0; ; n++ {
			var tasks []sojournnats.Task
			for i := range 10 {
				kind := "t"
				if i == 0 {
					kind = "f"
				}
				tasks = append(tasks, sojournnats.Task{ID: fmt.Sprintf("%s%d-%d", kind, n, i)})
			}
			for {
				ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				err := producer.Enqueue(ctx, gate.Job{ID: fmt.Sprint("job", n)}, tasks...)
				cancel()
				if err == nil {
					break
				}
				say("enqueue %d: %v", n, err)
				time.Sleep(100 * time.Millisecond)
			}
			mu.Lock()
			for _, task := range tasks {
				put[task.ID] = true
			}
			mu.Unlock()
			select {
			case <-over:
				return
			case <-time.After(250 * time.Millisecond):
			}
		}
	})
	ended := func() int { mu.Lock(); defer mu.Unlock(); return len(done) }
	until(t, "tasks end", func() bool { return ended() > 20 })

	streams := []string{"SOJOURN_jobs_HELD", "SOJOURN_jobs_WORK", "KV_SOJOURN_jobs", "SOJOURN_jobs_GONE"}
	current := func() bool {
		for _, name := range streams {
			s, err := api.Stream(t.Context(), name)
			if err != nil || s.CachedInfo().Cluster == nil || len(s.CachedInfo().Cluster.Replicas) != 2 {
				return false
			}
			for _, r := range s.CachedInfo().Cluster.Replicas {
				if !r.Current {
					return false
				}
			}
		}
		consumer, err := api.Consumer(t.Context(), streams[1], "workers")
		if err != nil || consumer.CachedInfo().Cluster == nil || len(consumer.CachedInfo().Cluster.Replicas) != 2 {
			return false
		}
		for _, r := range consumer.CachedInfo().Cluster.Replicas {
			if !r.Current {
				return false
			}
		}
		return true
	}
	stepDown := func() {
		name := streams[random.IntN(3)]
		subject := "$JS.API.STREAM.LEADER.STEPDOWN." + name
		switch random.IntN(4) {
		case 0:
			subject = "$JS.API.CONSUMER.LEADER.STEPDOWN.SOJOURN_jobs_WORK.workers"
		case 1:
			subject = "$JS.API.META.LEADER.STEPDOWN"
		}
		say("%s", subject)
		_, err := conn.Request(subject, nil, time.Second)
		say("%s: %v", subject, err)
	}
	some := func(most time.Duration) { time.Sleep(time.Duration(random.Int64N(int64(most)))) }
	old := map[int]string{}
	for range 2 + random.IntN(3) {
		i := random.IntN(3)
		j := (i + 1 + random.IntN(2)) % 3
		switch fault := random.IntN(killtest.Faults + 5); fault - killtest.Faults {
		default:
			c.Fault(fault, i, j, some)
		case 0: // killed, an empty or an old disk
			until(t, "all servers are current", current)
			c.Kill(i)
			some(6 * time.Second)
			if dir := old[i]; dir != "" && random.IntN(2) == 0 {
				say("old disk %d", i)
				_ = os.RemoveAll(c.Dir(i))
				must(0, os.CopyFS(c.Dir(i), os.DirFS(dir)))
			} else if random.IntN(3) == 0 {
				old[i] = filepath.Join(t.TempDir(), "old")
				must(0, os.CopyFS(old[i], os.DirFS(c.Dir(i))))
			} else {
				say("empty disk %d", i)
				_ = os.RemoveAll(c.Dir(i))
			}
			c.Start(i)
			until(t, "all servers are current", current)
		case 1: // leaders
			for range 1 + random.IntN(4) {
				stepDown()
				some(time.Second)
			}
		case 2: // a gate stops for longer than the lease, while leaders change
			k := random.IntN(len(gates))
			say("stop gate %d", k)
			_ = gates[k].Process.Signal(syscall.SIGSTOP)
			some(4 * time.Second)
			if random.IntN(2) == 0 {
				stepDown()
			} else {
				c.Kill(i)
			}
			some(5 * time.Second)
			say("continue gate %d", k)
			_ = gates[k].Process.Signal(syscall.SIGCONT)
			c.Start(i)
		case 3: // a gate is killed while leaders change
			k := random.IntN(len(gates))
			say("kill gate %d", k)
			_ = gates[k].Process.Kill()
			_ = gates[k].Wait()
			gates = append(gates[:k], gates[k+1:]...)
			stepDown()
			some(3 * time.Second)
			startGate()
		case 4: // two do not see each other, and both see the third one
			c.Between(i, j, true)
			some(15 * time.Second)
			c.Between(i, j, false)
		}
		some(4 * time.Second)
	}
	say("no more faults")
	close(over)
	producing.Wait()
	end := time.Now().Add(90 * time.Second)
	healed := time.Now()
	for ; time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		n, want := len(done), len(put)
		mu.Unlock()
		if n >= want {
			break
		}
	}
	mu.Lock()
	for id := range put {
		if done[id] == 0 {
			t.Errorf("task %s is lost", id)
			say("LOST %s", id)
		}
	}
	for key, messages := range given {
		if len(messages) > 1 {
			t.Errorf("task %s was let go as %v", key, messages)
			say("TWICE %s %v", key, messages)
		}
	}
	t.Logf("seed %d: %d tasks in %v, %d given again by NATS; the last one ended %v after the last fault", seed, len(put), time.Since(begun).Round(time.Second), again, time.Since(healed).Round(100*time.Millisecond))
	mu.Unlock()
	if t.Failed() {
		for _, name := range streams[:2] {
			if s, err := api.Stream(t.Context(), name); err == nil {
				info, err := s.Info(t.Context(), js.WithSubjectFilter(">"))
				say("%s: %+v %v", name, info, err)
				for seq := uint64(1); ; {
					m, err := s.GetMsg(t.Context(), seq, js.WithGetMsgSubject(">"))
					if err != nil {
						break
					}
					say("%d %s %v %v", m.Sequence, m.Subject, m.Time, m.Header)
					seq = m.Sequence + 1
				}
			}
		}
		if consumer, err := api.Consumer(t.Context(), streams[1], "workers"); err == nil {
			say("%+v", consumer.CachedInfo())
		}
		mu.Lock()
		say("given %v", given)
		mu.Unlock()
		return
	}
	until(t, "both streams are empty", func() bool {
		for _, name := range streams[:2] {
			s, err := api.Stream(t.Context(), name)
			if err != nil {
				return false
			}
			info, err := s.Info(t.Context(), js.WithSubjectFilter("sojourn.jobs.>"))
			if err != nil {
				return false
			}
			n := 0
			for subject := range info.State.Subjects {
				if subject != "sojourn.jobs.let" {
					n++
				}
			}
			if n > 0 {
				return false
			}
		}
		return true
	})
	if log.has("another one than before") {
		t.Error("the gate takes a stream for another one")
	}
	if log.has("panic") {
		t.Error("a gate has panicked")
	}
}

// faultGate is a gate, in a process of its own.
func faultGate(address string) {
	o := options
	o.Replicas, o.AckWait = 3, 4*time.Second
	conn := lively(address)
	var queue *sojournnats.Queue
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		var err error
		queue, err = sojournnats.New(ctx, conn, "jobs", o)
		cancel()
		if err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.String("time", fmt.Sprintf("%s gate %d", time.Now().Format("15:04:05.000"), os.Getpid()))
		}
		return a
	}}))
	g := must(gate.New(newFair(), queue, gate.Options{Compare: time.Second, Log: log}))
	go func() {
		for ; ; time.Sleep(3 * time.Second) {
			log.Info("status", "is", fmt.Sprintf("%+v", g.Status()))
		}
	}()
	panic(g.Run(context.Background()))
}

// The program is also a server or a gate that the test kills.
func init() {
	if text := os.Getenv("SOJOURN_NATS"); text != "" {
		runServer(text)
	}
	if text := os.Getenv("SOJOURN_FAULTS"); text != "" {
		faultGate(text)
	}
}
