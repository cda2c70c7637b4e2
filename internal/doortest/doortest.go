// Package doortest sends loads to a door, and to what stands in its place elsewhere, in virtual time, for tests and comparisons.
package doortest

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
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// A System lets work in, on behalf of a session of a tenant.
type System interface {
	Enter(ctx context.Context, tenant, session string) (leave func(cost uint64), err error)
	Close()
}

// Semaphore returns a System that lets in who came first, and RoundRobin one that lets in tenants in turn.
func Semaphore(places int) System  { return newTurnstile(places, false) }
func RoundRobin(places int) System { return newTurnstile(places, true) }

func newTurnstile(places int, inTurn bool) System {
	return &turnstile{n: places, inTurn: inTurn, lines: map[string][]chan struct{}{}}
}

// Door returns a door of NewFair as a System.
func Door(places int) System {
	d, err := door.NewFair(places, door.Options{MaxWaiting: 1 << 20})
	if err != nil {
		panic(err)
	}
	return doorway{d}
}

// A doorway is a door as a System.
type doorway struct{ d *door.Door }

func (d doorway) Enter(ctx context.Context, tenant, session string) (func(uint64), error) {
	p, err := d.d.Enter(ctx, door.Request{Tenant: tenant, Session: session})
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

func (d doorway) Close() { _ = d.d.Close(context.Background()) }

// A turnstile lets in n at a time: who came first, or the tenants in turn.
type turnstile struct {
	mu     sync.Mutex
	n      int
	inTurn bool
	order  []string // tenants that wait, the next one first
	lines  map[string][]chan struct{}
}

func (s *turnstile) Enter(ctx context.Context, tenant, _ string) (func(uint64), error) {
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

func (s *turnstile) Close() {}

// Lognormal draws seconds.
func Lognormal(r *rand.Rand, mean, sigma float64) float64 {
	return mean * detmath.Exp(sigma*r.NormFloat64()-sigma*sigma/2)
}

// Seconds returns so many seconds.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A Tally is what requests have got, from a moment on.
type Tally struct {
	mu      sync.Mutex
	from    time.Time
	over    bool
	latency map[string][]float64 // by kind of tenant
	waits   map[string]guesses
	served  map[string]float64 // seconds by tenant
}

// NewTally returns a Tally that counts what comes in after so long.
func NewTally(warm time.Duration) *Tally {
	return &Tally{from: time.Now().Add(warm), waits: map[string]guesses{}, latency: map[string][]float64{}, served: map[string]float64{}}
}

// Add enters a request that has ended.
func (y *Tally) Add(kind, tenant string, began time.Time, size float64) {
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
func (y *Tally) expected(kind string, began time.Time, s float64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.over || began.Before(y.from) {
		return
	}
	g, waited := y.waits[kind], time.Since(began).Seconds()
	y.waits[kind] = guesses{g.expected + s, g.waited + waited, g.off + math.Abs(s-waited)}
}

// Of returns the mean, the median and the 99th percentile.
func (y *Tally) Of(kind string) (mean, p50, p99 float64) {
	l := y.latency[kind]
	slices.Sort(l)
	for _, x := range l {
		mean += x / float64(len(l))
	}
	return mean, l[len(l)/2], l[len(l)*99/100]
}

func (y *Tally) work() (sum float64) {
	for _, t := range slices.Sorted(maps.Keys(y.served)) {
		sum += y.served[t]
	}
	return sum
}

// Jain is the index of fairness of Jain, of the tenants with a prefix: 1 if all have got the same or there are none, 1/n if one has got everything.
func Jain(served map[string]float64, prefix string) float64 {
	var sum, squares, n float64
	for _, t := range slices.Sorted(maps.Keys(served)) {
		if x := served[t]; strings.HasPrefix(t, prefix) {
			sum, squares, n = sum+x, squares+x*x, n+1
		}
	}
	if n == 0 {
		return 1
	}
	return sum * sum / (n * squares)
}

// A load is a Load that is sent. closed tenants have so many requests outstanding at any time, open ones send at a rate.
type load struct {
	t    *testing.T
	s    System
	y    *Tally
	ctx  context.Context
	r    *rand.Rand
	wg   sync.WaitGroup
	work func(size float64) (cost uint64) // what the handler does
}

func (l *load) one(kind, tenant string, size float64) {
	began := time.Now()
	expected := time.Duration(0)
	if d, ok := l.s.(doorway); ok {
		expected = d.d.Expect(tenant)
	}
	leave, err := l.s.Enter(l.ctx, tenant, "")
	if err != nil {
		if l.ctx.Err() == nil {
			l.t.Errorf("%s: %v", tenant, err)
		}
		return
	}
	l.y.expected(kind, began, expected.Seconds())
	leave(l.work(size))
	l.y.Add(kind, tenant, began, size)
}

func (l *load) closed(kind, tenant string, outstanding int, mean, sigma float64) {
	for range outstanding {
		r := rand.New(rand.NewPCG(l.r.Uint64(), 1))
		l.wg.Go(func() {
			for l.ctx.Err() == nil {
				l.one(kind, tenant, Lognormal(r, mean, sigma))
			}
		})
	}
}

func (l *load) open(kind, tenant string, rate, mean, sigma float64) {
	r := rand.New(rand.NewPCG(l.r.Uint64(), 2))
	l.wg.Go(func() {
		for {
			time.Sleep(Seconds(r.ExpFloat64() / rate))
			if l.ctx.Err() != nil {
				return
			}
			size := Lognormal(r, mean, sigma)
			l.wg.Go(func() { l.one(kind, tenant, size) })
		}
	})
}

// A Load is what tenants send to a number of places for some hours of virtual time. Light tenants are of the kind "light".
type Load struct {
	Name   string
	Places int
	send   func(l *load)
}

// The loads of docs/door.md, but for sessions. Heavy tenants of the second and third have so many requests outstanding, with means
// from 0.5 s to 16 s; the light ones need 6.4 of 16 places together. In the last one the sizes are tokens for an engine.
var (
	Flood    = Load{"one tenant keeps 200 requests of 20 s waiting", 16, flood}
	Hundreds = Load{"150 light tenants, 50 with 8 requests each", 16, hundreds(8)}
	Single   = Load{"150 light tenants, 50 with 1 request each", 16, hundreds(1)}
	Tokens   = Load{"before an engine that batches", 48, tokens}
)

// A Result is what the tenants have got under a load.
type Result struct {
	Mean, P50, P99 float64          // seconds from the arrival to the end of requests of light tenants
	Jain           float64          // index of what the heavy tenants have got
	Work           float64          // seconds of work, or tokens, in each second
	Waits          map[string]Waits // by kind of tenant
}

// Waits are how long requests have waited in the mean, how long it was expected before, and by how much that was wrong in the mean, in seconds.
type Waits struct{ Waited, Expected, Off float64 }

// Run sends a load to a system for 3,000 s of virtual time, and returns what the requests got after 500 s.
func Run(t *testing.T, system func(places int) System, w Load) (r Result) {
	const horizon = 3000 * time.Second
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		y := NewTally(horizon / 6)
		l := &load{t: t, s: system(w.Places), y: y, ctx: ctx, r: rand.New(rand.NewPCG(1, 1)), work: sleepFor}
		w.send(l)
		time.Sleep(horizon)
		y.mu.Lock()
		y.over = true
		y.mu.Unlock()
		cancel()
		l.wg.Wait()
		l.s.Close()
		r = Result{Jain: Jain(y.served, "heavy"), Work: y.work() / 2500, Waits: map[string]Waits{}}
		r.Mean, r.P50, r.P99 = y.Of("light")
		for kind, g := range y.waits { //sojourn:unordered into a map
			n := float64(len(y.latency[kind]))
			r.Waits[kind] = Waits{g.waited / n, g.expected / n, g.off / n}
		}
	})
	return r
}

// sleepFor is a handler that takes so many seconds. Nothing is charged but time.
func sleepFor(size float64) uint64 {
	time.Sleep(Seconds(size))
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
	for done, last := range e.batch { //sojourn:unordered all of them have ended
		if last <= e.steps+1e-6 {
			delete(e.batch, done)
			close(done)
		}
	}
	how()
	next := math.Inf(1)
	for _, last := range e.batch { //sojourn:unordered the least
		next = min(next, last-e.steps)
	}
	if len(e.batch) > 0 {
		e.timer.Reset(Seconds(next*step()) + 1)
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

// growth goes from 1 for the first of 50 heavy tenants to 32 for the last one.
func growth(i int) float64 { return detmath.Exp(float64(i) / 49 * 5 * math.Ln2) }

// tokens is hundreds(8) before an engine: the sizes are tokens, of 75 to 2,400 in the mean for heavy tenants and 150 for light ones.
func tokens(l *load) {
	l.work = newEngine().decode
	for i := range 50 {
		l.closed("heavy", fmt.Sprint("heavy", i), 8, 75*growth(i), 1.5)
	}
	for i := range 150 {
		l.open("light", fmt.Sprint("light", i), 3.2/150, 150, 1.5)
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
			l.closed("heavy", fmt.Sprint("heavy", i), outstanding, 0.5*growth(i), 1.5)
		}
		for i := range 150 {
			l.open("light", fmt.Sprint("light", i), 6.4/150, 1, 1.5)
		}
	}
}

// A SessionResult is how long sessions took, in seconds.
type SessionResult struct{ Light, Light99, All, All99 float64 }

// Sessions runs sessions of calls, with so many seeds, and returns the means. 20 tenants have sessions of 5 to 30 calls of 1 s, and every tenth one has 30 calls
// of 9 s, 5 at a time; the load of 16 places is .91.
func Sessions(t *testing.T, system func(places int) System, seeds int) (r SessionResult) {
	n := float64(seeds)
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			y := sessions(t, system(16), rand.New(rand.NewPCG(seed, 2)))
			light, _, light99 := y.Of("light")
			all, _, all99 := y.Of("all")
			r = SessionResult{r.Light + light/n, r.Light99 + light99/n, r.All + all/n, r.All99 + all99/n}
		})
	}
	return r
}

// sessions closes the system.
func sessions(t *testing.T, s System, r *rand.Rand) *Tally {
	y := NewTally(300 * time.Second)
	var wg sync.WaitGroup
	for i, began := 0, time.Now(); time.Since(began) < 3000*time.Second; i++ {
		time.Sleep(Seconds(r.ExpFloat64() / 0.34))
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
					size := Lognormal(r, mean, 1)
					each.Go(func() {
						leave, err := s.Enter(context.Background(), tenant, session)
						if err != nil {
							t.Error(err)
							return
						}
						time.Sleep(Seconds(size))
						leave(0)
					})
				}
				each.Wait()
				time.Sleep(Seconds(r.ExpFloat64()))
			}
			y.Add(kind, tenant, began, 0)
			y.Add("all", tenant, began, 0)
		})
	}
	wg.Wait()
	s.Close()
	return y
}
