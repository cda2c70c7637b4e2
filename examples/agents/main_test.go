package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/doortest"
	"github.com/sojourn-sched/sojourn/live"
)

// A system serves sessions as programs.
type system struct {
	pool     *live.Pool
	mu       sync.Mutex
	programs map[string]*program
}

func newSystem(t *testing.T, policy func() (sojourn.Policy, error)) func(int) doortest.System {
	return func(places int) doortest.System {
		p, err := policy()
		if err != nil {
			t.Fatal(err)
		}
		pool, err := live.New(p, live.Options{Slots: places})
		if err != nil {
			t.Fatal(err)
		}
		return &system{pool: pool, programs: map[string]*program{}}
	}
}

func (s *system) Enter(_ context.Context, tenant, session string) (func(uint64), error) {
	s.mu.Lock()
	g := s.programs[session]
	if g == nil {
		g = &program{pool: s.pool, tenant: tenant}
		s.programs[session] = g
	}
	s.mu.Unlock()
	begun, left, ended := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		if err := g.call(func(context.Context) { begun <- nil; <-left }); err != nil {
			begun <- err
		}
	}()
	return func(uint64) { close(left); <-ended }, <-begun
}

func (s *system) Close() {
	for _, g := range s.programs { //sojourn:unordered each by itself
		_ = g.end()
	}
	_ = s.pool.Close(context.Background())
}

// Light programs take half of the time where the program that has had least is served first: go test ./examples/agents -run TestPrograms -v prints the table of
// docs/tenants.md. Heavy ones pay for it: see the 99th percentile of all.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: hours of virtual time")
	}
	results := map[string]doortest.SessionResult{}
	for _, s := range []struct {
		name string
		make func(int) doortest.System
	}{
		{"first come", doortest.Semaphore},
		{"las", newSystem(t, las)},
		{"fair, las inside", newSystem(t, fairLAS)},
		{"door", doortest.Door},
	} {
		r := doortest.Sessions(t, s.make, 8)
		t.Logf("%-17s light programs: mean %5.1f s, 99 %% %5.0f s; all: mean %5.1f s, 99 %% %5.0f s", s.name, r.Light, r.Light99, r.All, r.All99)
		results[s.name] = r
	}
	first := results["first come"]
	if r := results["las"]; r.Light > .6*first.Light || r.Light99 > .6*first.Light99 {
		t.Errorf("las: %+v, want .6 of what light programs take of %+v", r, first)
	}
	if r := results["fair, las inside"]; r.Light > .7*first.Light || r.All99 > 1.2*first.All99 {
		t.Errorf("fair, las inside: %+v, want .7 of what light programs take of %+v, and 1.2 of its 99 %% of all", r, first)
	}
}

// What the command prints, in virtual time.
func TestCompare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := compare(&out, time.Second); err != nil {
			t.Fatal(err)
		}
		var fifo, las, long time.Duration
		var names string
		for i, d := range []*time.Duration{&fifo, &las} {
			f := strings.Fields(strings.Split(out.String(), "\n")[i+1])
			names += f[0]
			*d, _ = time.ParseDuration(f[1])
			long, _ = time.ParseDuration(f[2])
		}
		if names != "fifolas" || las <= 0 || las > fifo/5 || long > 6*time.Minute {
			t.Errorf("got %q, want short programs to take a fifth under las", out.String())
		}
	})
}
