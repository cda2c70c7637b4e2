package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/research/shadow"
)

// faulty says that the disk of the command is slow and at times full, and that its policy is exchanged now and then.
const faulty = "SOJOURN_EXAMPLE_FAULTY"

// fullFile is there while the disk is full.
const fullFile = "full"

var errFull = syscall.ENOSPC

// A dice is for several goroutines.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

// below draws a number from 0 to n - 1.
func (d *dice) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// A faultyStore is on a disk that is slow and at times full. A full one keeps a part of what is written.
type faultyStore struct {
	journal.Store
	dir  string
	dice *dice
}

func (s faultyStore) full() bool {
	_, err := os.Stat(filepath.Join(s.dir, fullFile))
	return err == nil
}

func (s faultyStore) Create(segment uint64, data []byte) error {
	if s.full() {
		return errFull
	}
	return s.Store.Create(segment, data)
}

func (s faultyStore) Append(segment uint64, data []byte) error {
	if s.full() {
		_ = s.Store.Append(segment, data[:s.dice.below(len(data)+1)])
		return errFull
	}
	return s.Store.Append(segment, data)
}

func (s faultyStore) Sync(segment uint64) error {
	switch s.dice.below(100) {
	case 0:
		time.Sleep(300 * time.Millisecond)
	default:
		time.Sleep(time.Duration(s.dice.below(2000)) * time.Microsecond)
	}
	if s.full() {
		return errFull
	}
	return s.Store.Sync(segment)
}

// serveFaulty is main on such a disk. Every other process has a shadow, and swaps.
func serveFaulty(dir string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dice := &dice{rng: rand.New(rand.NewPCG(uint64(os.Getpid()), 1))}
	policy := newPolicy
	var first sync.Once // the others are those of the journal
	if os.Getpid()%2 == 0 {
		policy = func() (sojourn.Policy, error) {
			p, err := newPolicy()
			if err != nil {
				return nil, err
			}
			other, err := leastwork.New(leastwork.Options{})
			if err != nil {
				return nil, err
			}
			s, err := shadow.New(p, other, shadow.Options{Policy: func(string) (sojourn.Policy, error) { return newPolicy() }})
			if err == nil {
				first.Do(func() { go swap(s, dice) })
			}
			return s, err
		}
	}
	open := func(dir string) (journal.Store, error) {
		s, err := journal.OpenFiles(dir)
		return faultyStore{s, filepath.Dir(dir), dice}, err
	}
	if err := run(ctx, dir, "127.0.0.1:0", policy, open); err != nil {
		log.Fatal(err)
	}
}

// swap exchanges the policy for another one of its kind, again and again.
func swap(s *shadow.Shadow, dice *dice) {
	for {
		time.Sleep(time.Duration(50+dice.below(1000)) * time.Millisecond)
		if err := s.Swap([]string{"", "other"}[dice.below(2)]); err != nil {
			fmt.Fprintln(os.Stderr, "swap:", err)
		}
	}
}

// The service is killed, stopped and let go on, told to end, and has a disk that is slow, and full now and then, with any of these while it is; and its policy
// is exchanged. No job is lost, none runs as two, no attempt is started twice under one number, and of each one the service has told what became of it.
func TestFaults(t *testing.T) {
	did := map[string]int{}
	jobs := soak(t, func(rng *rand.Rand, dir string, now *atomic.Pointer[process]) {
		full := filepath.Join(dir, fullFile)
		for end := time.Now().Add(*faults); time.Now().Before(end); {
			time.Sleep(time.Duration(100+rng.IntN(400)) * time.Millisecond)
			if rng.IntN(2) == 0 {
				did["full"]++
				if err := os.WriteFile(full, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Duration(rng.IntN(600)) * time.Millisecond)
			}
			p := now.Load()
			what := []string{"nothing", "pause", "kill", "end", "hurry"}[rng.IntN(5)]
			did[what]++
			switch what {
			case "pause":
				_ = p.cmd.Process.Signal(syscall.SIGSTOP)
				time.Sleep(time.Duration(rng.IntN(500)) * time.Millisecond)
				_ = p.cmd.Process.Signal(syscall.SIGCONT)
			case "kill", "end", "hurry":
				if what != "kill" {
					_ = p.cmd.Process.Signal(syscall.SIGTERM)
				}
				if what == "hurry" { // it is killed while it ends
					time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
				}
				if what != "end" {
					_ = p.cmd.Process.Kill()
				}
				err := p.end()
				if log := p.log.String(); strings.Contains(log, "panic:") || strings.Contains(log, "DATA RACE") || what == "kill" && fmt.Sprint(err) != "signal: killed" {
					t.Errorf("the service ended by itself: %v, %s", err, log)
				}
				now.Store(start(t, dir, faulty+"=1"))
			}
			if err := os.Remove(full); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}, faulty+"=1")
	t.Log(did)
	if jobs < 50 || did["full"] == 0 || did["kill"] == 0 {
		t.Errorf("%d jobs, %v: too little to show anything", jobs, did)
	}
}
