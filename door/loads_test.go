package door_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/door"
)

// A system lets work in, on behalf of a session of a tenant.
type system interface {
	enter(ctx context.Context, tenant, session string) (leave func(), err error)
	close()
}

// A doorway is a door as a system.
type doorway struct{ *door.Door }

func (d doorway) enter(ctx context.Context, tenant, session string) (func(), error) {
	p, err := d.Enter(ctx, door.Request{Tenant: tenant, Session: session})
	if err != nil {
		return nil, err
	}
	return p.Leave, nil
}

func (d doorway) close() { _ = d.Close(context.Background()) }

// A turnstile lets in n at a time: who came first, or the tenants in turn.
type turnstile struct {
	mu     sync.Mutex
	n      int
	inTurn bool
	order  []string // tenants that wait, the next one first
	lines  map[string][]chan struct{}
}

func (s *turnstile) enter(ctx context.Context, tenant, _ string) (func(), error) {
	if !s.inTurn {
		tenant = ""
	}
	s.mu.Lock()
	if s.n > 0 {
		s.n--
		s.mu.Unlock()
		return s.leave, nil
	}
	turn := make(chan struct{})
	if len(s.lines[tenant]) == 0 {
		s.order = append(s.order, tenant)
	}
	s.lines[tenant] = append(s.lines[tenant], turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return s.leave, nil
	case <-ctx.Done():
		return nil, ctx.Err() // the loads end then, and the place does not matter
	}
}

func (s *turnstile) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.order) == 0 {
		s.n++
		return
	}
	t := s.order[0]
	s.order = s.order[1:]
	close(s.lines[t][0])
	s.lines[t] = s.lines[t][1:]
	if len(s.lines[t]) > 0 {
		s.order = append(s.order, t)
	}
}

func (s *turnstile) close() {}

func newSystem(t testing.TB, name string, places int) system {
	switch name {
	case "semaphore", "round robin":
		return &turnstile{n: places, inTurn: name == "round robin", lines: map[string][]chan struct{}{}}
	case "door":
		return doorway{mustDoor(t, places, door.Options{})}
	}
	panic(name)
}

func mustDoor(t testing.TB, inFlight int, o door.Options) *door.Door {
	t.Helper()
	d, err := door.NewFair(inFlight, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// lognormal draws seconds.
func lognormal(r *rand.Rand, mean, sigma float64) float64 {
	return mean * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A tally is what requests have got, from a moment on.
type tally struct {
	mu      sync.Mutex
	from    time.Time
	over    bool
	latency map[string][]float64 // by kind of tenant
	waits   map[string]guesses
	served  map[string]float64 // seconds by tenant
}

func newTally(warm time.Duration) *tally {
	return &tally{from: time.Now().Add(warm), waits: map[string]guesses{}, latency: map[string][]float64{}, served: map[string]float64{}}
}

func (y *tally) add(kind, tenant string, began time.Time, size float64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.over {
		return
	}
	if time.Now().After(y.from) {
		y.served[tenant] += size
	}
	if !began.Before(y.from) {
		y.latency[kind] = append(y.latency[kind], time.Since(began).Seconds())
	}
}

// guesses compare what was expected of waits with what they were: sums of seconds.
type guesses struct{ expected, waited, off float64 }

// expected enters a request that is admitted, of which it was said how long it would wait.
func (y *tally) expected(kind string, began time.Time, s float64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.over || began.Before(y.from) {
		return
	}
	g, waited := y.waits[kind], time.Since(began).Seconds()
	y.waits[kind] = guesses{g.expected + s, g.waited + waited, g.off + math.Abs(s-waited)}
}

// of returns the mean, the median and the 99th percentile.
func (y *tally) of(kind string) (mean, p50, p99 float64) {
	l := y.latency[kind]
	slices.Sort(l)
	for _, x := range l {
		mean += x / float64(len(l))
	}
	return mean, l[len(l)/2], l[len(l)*99/100]
}

func (y *tally) work() (sum float64) {
	for _, x := range y.served {
		sum += x
	}
	return sum
}

// jain is the index of fairness of Jain, of the tenants with a prefix: 1 if all have got the same, 1/n if one has got everything.
func jain(served map[string]float64, prefix string) float64 {
	var sum, squares, n float64
	for t, x := range served {
		if strings.HasPrefix(t, prefix) {
			sum, squares, n = sum+x, squares+x*x, n+1
		}
	}
	return sum * sum / (n * squares)
}

// A load is what tenants send. closed tenants have so many requests outstanding at any time, open ones send at a rate.
type load struct {
	t   *testing.T
	s   system
	y   *tally
	ctx context.Context
	r   *rand.Rand
	wg  sync.WaitGroup
}

func (l *load) one(kind, tenant string, size float64) {
	began := time.Now()
	expected := time.Duration(0)
	if d, ok := l.s.(doorway); ok {
		expected = d.Expect(tenant)
	}
	leave, err := l.s.enter(l.ctx, tenant, "")
	if err != nil {
		if l.ctx.Err() == nil {
			l.t.Errorf("%s: %v", tenant, err)
		}
		return
	}
	l.y.expected(kind, began, expected.Seconds())
	time.Sleep(seconds(size))
	leave()
	l.y.add(kind, tenant, began, size)
}

func (l *load) closed(kind, tenant string, outstanding int, mean, sigma float64) {
	for range outstanding {
		r := rand.New(rand.NewPCG(l.r.Uint64(), 1))
		l.wg.Go(func() {
			for l.ctx.Err() == nil {
				l.one(kind, tenant, lognormal(r, mean, sigma))
			}
		})
	}
}

func (l *load) open(kind, tenant string, rate, mean, sigma float64) {
	r := rand.New(rand.NewPCG(l.r.Uint64(), 2))
	l.wg.Go(func() {
		for {
			time.Sleep(seconds(r.ExpFloat64() / rate))
			if l.ctx.Err() != nil {
				return
			}
			size := lognormal(r, mean, sigma)
			l.wg.Go(func() { l.one(kind, tenant, size) })
		}
	})
}

// run sends a load for a time, in a bubble, and returns what the requests got after a third of it.
func run(t *testing.T, name string, places int, horizon time.Duration, send func(l *load)) (y *tally) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		y = newTally(horizon / 6)
		l := &load{t: t, s: newSystem(t, name, places), y: y, ctx: ctx, r: rand.New(rand.NewPCG(1, 1))}
		send(l)
		time.Sleep(horizon)
		y.mu.Lock()
		y.over = true
		y.mu.Unlock()
		cancel()
		l.wg.Wait()
		l.s.close()
	})
	return y
}

const places = 16

// flood: one tenant keeps 200 requests of 20 s waiting, a light one sends one of 1 s every other second.
func flood(l *load) {
	l.closed("flood", "flood", 200, 20, 1)
	l.open("light", "light", 0.5, 1, 1)
}

// hundreds has 150 light tenants, which need 6.4 of 16 places together, and 50 heavy ones that have so many requests outstanding, with
// means from 0.5 s to 16 s.
func hundreds(outstanding int) func(l *load) {
	return func(l *load) {
		for i := range 50 {
			l.closed("heavy", fmt.Sprint("heavy", i), outstanding, 0.5*math.Pow(32, float64(i)/49), 1.5)
		}
		for i := range 150 {
			l.open("light", fmt.Sprint("light", i), 6.4/150, 1, 1.5)
		}
	}
}

// What the door gains on three loads, beside a semaphore and round robin: go test ./door -run TestLoads -v prints the table of
// docs/door.md. The bars are a good deal beyond the noise of a run.
func TestLoads(t *testing.T) {
	type got struct{ mean, p50, p99, jain, work float64 }
	for name, tc := range map[string]struct {
		send  func(*load)
		check func(t *testing.T, d, fifo, turns got)
	}{
		"flood": {flood, func(t *testing.T, d, fifo, turns got) {
			if d.mean > fifo.mean/50 || d.mean > turns.mean {
				t.Errorf("the light tenant waits %.1f s in the mean, want a fiftieth of %.1f s and less than %.1f s", d.mean, fifo.mean, turns.mean)
			}
		}},
		"200 tenants": {hundreds(8), func(t *testing.T, d, fifo, turns got) {
			if d.p50 > 1 || d.jain < .97 || d.mean > min(fifo.mean, turns.mean)/5 {
				t.Errorf("light ones %+v, want a median of 1 s, a Jain index of 0.97 and a fifth of the mean of %+v and %+v", d, fifo, turns)
			}
		}},
		"one outstanding request": {hundreds(1), func(t *testing.T, d, fifo, turns got) {
			if d.p50 > 1 || d.jain < .97 || d.mean > fifo.mean {
				t.Errorf("light ones %+v, want a median of 1 s, a Jain index of 0.97 and no more than the mean of %+v", d, fifo)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var all []got
			for _, s := range []string{"door", "semaphore", "round robin"} {
				y := run(t, s, places, 3000*time.Second, tc.send)
				g := got{work: y.work() / places / 2500, jain: jain(y.served, "heavy")}
				g.mean, g.p50, g.p99 = y.of("light")
				t.Logf("%-12s light tenants: mean %6.2f s, median %6.2f s, 99 %% %6.1f s; Jain of the heavy ones %.3f; work %.3f", s, g.mean, g.p50, g.p99, g.jain, g.work)
				all = append(all, g)
				if math.Abs(g.work-1) > .05 {
					t.Errorf("%s: work %.3f of what the places can do, want 1", s, g.work)
				}
			}
			tc.check(t, all[0], all[1], all[2])
		})
	}
}

// What Expect says of waits is near what they are in a flood, where those who wait stay the same: go test ./door -run TestExpect -v prints by how much it is wrong in the mean, as a part of the
// mean wait.
func TestExpect(t *testing.T) {
	for name, send := range map[string]func(*load){"flood": flood, "200 tenants": hundreds(8), "one outstanding request": hundreds(1)} {
		y := run(t, "door", places, 3000*time.Second, send)
		for _, kind := range slices.Sorted(maps.Keys(y.waits)) {
			g, n := y.waits[kind], float64(len(y.latency[kind]))
			t.Logf("%-24s %-6s waits %6.1f s in the mean, expected %6.1f s, off by %6.1f s in the mean", name, kind, g.waited/n, g.expected/n, g.off/n)
			if name == "flood" && (kind == "flood" && g.off > .4*g.waited || kind == "light" && g.off > 3*n) {
				t.Errorf("of the flood itself: off by %.1f s of %.1f s, want .4; of the light tenant: want 3 s", g.off/n, g.waited/n)
			}
		}
	}
}

// Sessions of calls: 20 tenants, whose sessions have 5 to 30 calls of 1 s, and every tenth one 30 calls of 9 s, 5 at a time; load .91. The
// light sessions gain a third, and nobody pays much for it.
func TestSessions(t *testing.T) {
	const seeds = 3
	type got struct{ light, light99, all, all99 float64 }
	means := map[string]got{}
	systems := []string{"door", "semaphore", "round robin"}
	for _, s := range systems {
		for seed := range uint64(seeds) {
			synctest.Test(t, func(t *testing.T) {
				y := sessions(t, newSystem(t, s, places), rand.New(rand.NewPCG(seed, 2)))
				g := means[s]
				light, _, light99 := y.of("light")
				all, _, all99 := y.of("all")
				means[s] = got{g.light + light/seeds, g.light99 + light99/seeds, g.all + all/seeds, g.all99 + all99/seeds}
			})
		}
		g := means[s]
		t.Logf("%-12s light sessions: mean %5.1f s, 99 %% %5.0f s; all: mean %5.1f s, 99 %% %5.0f s", s, g.light, g.light99, g.all, g.all99)
	}
	if d, fifo := means["door"], means["semaphore"]; d.light > .65*fifo.light || d.all > fifo.all || d.all99 > 1.1*fifo.all99 {
		t.Errorf("door %+v, semaphore %+v: want .65 of its mean of light sessions, its mean, and 1.1 of its 99 %% of all", d, fifo)
	}
}

// sessions runs sessions of calls, and closes the system.
func sessions(t *testing.T, s system, r *rand.Rand) *tally {
	y := newTally(300 * time.Second)
	var wg sync.WaitGroup
	for i, began := 0, time.Now(); time.Since(began) < 3000*time.Second; i++ {
		time.Sleep(seconds(r.ExpFloat64() / 0.34))
		r := rand.New(rand.NewPCG(r.Uint64(), 7))
		tenant, session := fmt.Sprint("t", r.IntN(20)), fmt.Sprint("s", i)
		calls, mean, fan, kind := 5+r.IntN(26), 1.0, 1, "light"
		if r.IntN(10) == 0 {
			calls, mean, fan, kind = 30, 9, 5, "heavy"
		}
		wg.Go(func() {
			began := time.Now()
			for c := 0; c < calls; c += fan {
				var each sync.WaitGroup
				for range fan {
					size := lognormal(r, mean, 1)
					each.Go(func() {
						leave, err := s.enter(context.Background(), tenant, session)
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(seconds(size))
						leave()
					})
				}
				each.Wait()
				time.Sleep(seconds(r.ExpFloat64()))
			}
			y.add(kind, tenant, began, 0)
			y.add("all", tenant, began, 0)
		})
	}
	wg.Wait()
	s.close()
	return y
}
