//go:build all

package jetstream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"
	"github.com/sojourn-sched/sojourn/internal/killtest"
	"github.com/sojourn-sched/sojourn/live"
)

// Faults of a cluster of three servers and of the two processes that share a journal there, at random: servers are killed and come back with their disk or an empty
// one, are stopped, cut off from both others or from one; leaders step down; the process that leads or the one that follows is killed or stopped, meanwhile too. No
// acknowledged job is lost, no attempt is started twice under one number, and when all servers are back, one process leads and another one follows. SOJOURN_SEED and SOJOURN_CASES say which cases.
func TestClusterFaults(t *testing.T) {
	killtest.Cases(t, 4, testClusterFaults)
}

func testClusterFaults(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	var log strings.Builder
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&log, time.Now().Format("15:04:05.000 ")+format+"\n", args...)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("\n" + log.String())
		}
	})
	c := killtest.NewCluster(t, clusterServer, say, func(ports [3]int) (ok bool) {
		url := fmt.Sprintf("nats://127.0.0.1:%d", ports[0])
		for end := time.Now().Add(time.Minute); !ok && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			conn, err := connect(url)
			if err != nil {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err = must(js.New(conn)).CreateStream(ctx, js.StreamConfig{Name: "first", Replicas: 3}) // it needs all three
			cancel()
			conn.Close()
			ok = err == nil
		}
		return ok
	})
	dir, url := t.TempDir(), c.URL("nats")
	conn := must(connect(url))
	t.Cleanup(conn.Close)
	api := must(js.New(conn))
	current := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := api.Stream(ctx, "SOJOURN_test")
		if err != nil {
			return false
		}
		g := s.CachedInfo().Cluster
		return g != nil && len(g.Replicas) == 2 && g.Replicas[0].Current && g.Replicas[1].Current
	}
	peers := []*peer{newPeer(t, url, dir), newPeer(t, url, dir)}
	// care starts a process in place of each that has ended as it may, and returns the one that leads, and one that follows, if there are.
	care := func() (leads, follows *peer) {
		for i, p := range peers {
			if p.over() {
				said := *p.said.Load()
				say("process %d has ended: %s", i, said)
				if said != "" && !strings.HasPrefix(said, "standby") && !strings.HasPrefix(said, "leads") &&
					!p.says("ends: another process leads") && !p.says("ends: away") {
					t.Fatalf("a process ended, and said %q", said)
				}
				peers[i] = newPeer(t, url, dir)
			}
			switch p := peers[i]; {
			case p.says("leads"):
				leads = p
			case p.says("standby"):
				follows = p
			}
		}
		return leads, follows
	}
	did := func() (n int64) { // bytes that processes have noted
		for _, name := range must(filepath.Glob(filepath.Join(dir, "effects.*"))) {
			n += must(os.Stat(name)).Size()
		}
		return n
	}
	// settled waits until one process leads, another one follows, and jobs end.
	settled := func() (leads, follows *peer) {
		before := did()
		waitFor(t, func() bool {
			time.Sleep(10 * time.Millisecond)
			leads, follows = care()
			return leads != nil && follows != nil && did() > before+1000
		})
		return leads, follows
	}
	some := func(most time.Duration) {
		for end := time.Now().Add(time.Duration(random.Int64N(int64(most)))); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			care()
		}
	}
	stepDown := func() {
		subject := []string{"$JS.API.STREAM.LEADER.STEPDOWN.SOJOURN_test", "$JS.API.META.LEADER.STEPDOWN"}[random.IntN(2)]
		_, err := conn.Request(subject, nil, time.Second)
		say("%s: %v", subject, err)
	}
	faults := map[int]int{}
	for range 6 {
		leads, follows := settled()
		i := random.IntN(3)
		j := (i + 1 + random.IntN(2)) % 3
		fault := random.IntN(killtest.Faults + 5)
		faults[fault]++
		switch fault - killtest.Faults {
		default:
			c.Fault(fault, i, j, some)
		case 0: // killed, an empty disk
			waitFor(t, current)
			c.Kill(i)
			some(4 * time.Second)
			say("empty disk %d", i)
			_ = os.RemoveAll(c.Dir(i))
			c.Start(i)
			waitFor(t, current)
		case 1: // leaders
			for range 1 + random.IntN(4) {
				stepDown()
				some(time.Second)
			}
		case 2: // the process that leads stops for longer than the lease, while leaders change
			_ = leads.cmd.Process.Signal(syscall.SIGSTOP)
			some(2 * time.Second)
			if random.IntN(2) == 0 {
				stepDown()
			} else {
				c.Kill(i)
			}
			some(4 * time.Second)
			_ = leads.cmd.Process.Signal(syscall.SIGCONT)
			c.Start(i)
		case 3: // either is killed while leaders change
			if random.IntN(2) == 0 {
				leads = follows
			}
			leads.kill()
			stepDown()
			some(2 * time.Second)
		case 4: // two do not see each other, and both see the third one; the process that leads is killed
			c.Between(i, j, true)
			some(5 * time.Second)
			leads.kill()
			some(5 * time.Second)
			c.Between(i, j, false)
		}
		some(2 * time.Second)
	}
	say("no more faults")
	settled()
	waitFor(t, current)
	time.Sleep(300 * time.Millisecond)
	for _, p := range peers {
		p.kill()
	}
	effects := must(os.Create(filepath.Join(dir, "effects.last")))
	var p *live.Pool
	var h hearer
	var end func() error
	for again := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var err error
		p, h, end, err = open(url, func(format string, args ...any) { fmt.Fprintf(effects, format+"\n", args...) })
		if err == nil {
			break
		}
		if time.Now().After(again) { // until then the servers may be busy with what was
			t.Fatal(err)
		}
	}
	if errors.Is(p.Err(), live.ErrStandby) {
		<-h.leads
	}
	if err := errors.Join(p.Close(bg), end(), effects.Close()); err != nil {
		t.Fatal(err)
	}
	killtest.Ledgers(t, dir, 50)
	t.Logf("faults by kind: %v", faults)
}
