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
	enter(ctx context.Context, tenant, session string) (leave func(cost uint64), err error)
	close()
}

// A doorway is a door as a system.
type doorway struct{ *door.Door }

func (d doorway) enter(ctx context.Context, tenant, session string) (func(uint64), error) {
	p, err := d.Enter(ctx, door.Request{Tenant: tenant, Session: session})
	if err != nil {
		return nil, err
	}
	return func(cost uint64) {
		if cost > 0 {
			p.Charge(cost)
		}
		p.Leave()
	}, nil
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

func (s *turnstile) enter(ctx context.Context, tenant, _ string) (func(uint64), error) {
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

func (s *turnstile) leave(uint64) {
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
		return doorway{mustDoor(t, places, door.Options{MaxWaiting: 1 << 20})}
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
	t    *testing.T
	s    system
	y    *tally
	ctx  context.Context
	r    *rand.Rand
	wg   sync.WaitGroup
	work func(size float64) (cost uint64) // what the handler does
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
	leave(l.work(size))
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
		l := &load{t: t, s: newSystem(t, name, places), y: y, ctx: ctx, r: rand.New(rand.NewPCG(1, 1)), work: sleepFor}
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

// sleepFor is a handler that takes so many seconds. Nothing is charged but time.
func sleepFor(size float64) uint64 {
	time.Sleep(seconds(size))
	return 0
}

// An engine decodes up to 64 sequences together: a token of each in a step, which takes 10 ms and half a millisecond for each sequence.
type engine struct {
	mu    sync.Mutex
	queue chan struct{} // its places
	batch map[chan struct{}]float64
	steps float64
	at    time.Time
	timer *time.Timer
}

func newEngine() *engine {
	e := &engine{queue: make(chan struct{}, 64), batch: map[chan struct{}]float64{}, at: time.Now()}
	e.timer = time.AfterFunc(time.Hour, func() { e.change(func() {}) })
	return e
}

// change lets the steps pass until now, ends the sequences that are done, changes the batch, and waits for the next one to be done.
func (e *engine) change(how func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	step := func() float64 { return .010 + .0005*float64(len(e.batch)) }
	now := time.Now()
	e.steps += now.Sub(e.at).Seconds() / step()
	e.at = now
	for done, last := range e.batch {
		if last <= e.steps+1e-6 {
			delete(e.batch, done)
			close(done)
		}
	}
	how()
	next := math.Inf(1)
	for _, last := range e.batch {
		next = min(next, last-e.steps)
	}
	if len(e.batch) > 0 {
		e.timer.Reset(seconds(next*step()) + 1)
	}
}

// decode takes as long as the engine needs for so many tokens, and returns them.
func (e *engine) decode(tokens float64) uint64 {
	e.queue <- struct{}{}
	done := make(chan struct{})
	e.change(func() { e.batch[done] = e.steps + tokens })
	<-done
	<-e.queue
	return uint64(tokens) + 1
}

// tokens is hundreds(8) before an engine: the sizes are tokens, of 75 to 2,400 in the mean for heavy tenants and 150 for light ones.
func tokens(l *load) {
	l.work = newEngine().decode
	for i := range 50 {
		l.closed("heavy", fmt.Sprint("heavy", i), 8, 75*math.Pow(32, float64(i)/49), 1.5)
	}
	for i := range 150 {
		l.open("light", fmt.Sprint("light", i), 3.2/150, 150, 1.5)
	}
}

// long skips a test of loads where -short is given, as by the race detector: most of its work is that of the test itself.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: hours of virtual time, in which the test works more than the door")
	}
}

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
	long(t)
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
	long(t)
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
// light sessions need half of the time, and nobody pays much for it. Eight seeds, since three happen to have little work.
func TestSessions(t *testing.T) {
	long(t)
	const seeds = 8
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
	if d, fifo := means["door"], means["semaphore"]; d.light > .6*fifo.light || d.all > fifo.all || d.all99 > 1.1*fifo.all99 {
		t.Errorf("door %+v, semaphore %+v: want .6 of its mean of light sessions, its mean, and 1.1 of its 99 %% of all", d, fifo)
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
						leave(0)
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

// Before an engine that batches, tokens are shared, and InFlight below its batch costs throughput: go test ./door -run TestTokens -v prints
// the tables of docs/door.md.
func TestTokens(t *testing.T) {
	long(t)
	type got struct{ mean, p50, p99, jain, rate float64 }
	of := func(s string, inFlight int) got {
		y := run(t, s, inFlight, 3000*time.Second, tokens)
		g := got{jain: jain(y.served, "heavy"), rate: y.work() / 2500}
		g.mean, g.p50, g.p99 = y.of("light")
		t.Logf("%-12s %2d in flight: light tenants: mean %6.2f s, median %6.2f s, 99 %% %6.1f s; Jain of the tokens of heavy ones %.3f; %.0f tokens/s", s, inFlight, g.mean, g.p50, g.p99, g.jain, g.rate)
		return g
	}
	d, fifo := of("door", 48), of("semaphore", 48)
	of("round robin", 48)
	if d.mean > fifo.mean/5 || d.jain < .95 || d.rate < .97*fifo.rate {
		t.Errorf("door %+v, semaphore %+v: want a fifth of its mean, a Jain index of .95, and the same tokens", d, fifo)
	}
	small, full := of("door", 16), of("door", 64)
	of("door", 96)
	if small.rate > .8*full.rate {
		t.Errorf("%.0f tokens/s with 16 in flight, and %.0f with 64: want less than .8", small.rate, full.rate)
	}
}
