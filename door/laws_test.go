package door_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/doortest"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// The bound of start-time fair queueing holds through the door: of two tenants that always have requests waiting, the service for each unit
// of weight differs by N (c/v + c/w) at most from the beginning on, and by twice that over any interval, where c is the greatest cost of a request and a
// sixteenth. Requests have sessions, some give up while they wait, and other tenants come and go. Service is time, or what requests say.
//
// Reference: the proof of package kit/flow.
func TestServiceWithinTheBound(t *testing.T) {
	least := math.Inf(1)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 10))
		n, costs := 1+r.IntN(4), seed%2 == 1
		weights := [2]float64{1, float64(1 + r.IntN(4))}
		scale := [2]float64{1, 1 + 9*r.Float64()} // of what their requests cost
		inDoor(t, n, door.Options{}, func(t *testing.T, d *door.Door) {
			for i, w := range weights {
				if err := d.SetWeight(string("ab"[i]), w); err != nil {
					t.Fatal(err)
				}
			}
			for range 3 * (seed % 2) { // from here on costs count, and not times
				p := must(d.Enter(bg, door.Request{Tenant: "first"}))
				p.Charge(1)
				p.Leave()
			}
			ctx, cancel := context.WithTimeout(bg, 300*time.Second)
			defer cancel()
			var mu sync.Mutex
			var got [2]float64 // service for each unit of weight
			var lo, hi, most float64
			one := func(r *rand.Rand, tenant int, q door.Request, scale float64) {
				patience := ctx
				if r.IntN(3) == 0 {
					c, end := context.WithTimeout(ctx, doortest.Seconds(r.ExpFloat64()*5))
					defer end()
					patience = c
				}
				p, err := d.Enter(patience, q)
				if err != nil {
					return
				}
				held := time.Duration(1+r.IntN(int(20*scale))) * 100 * time.Millisecond
				cost := held.Seconds()
				if costs {
					cost = float64(1 + r.IntN(int(100*scale)))
					p.Charge(uint64(cost))
				}
				time.Sleep(held)
				mu.Lock()
				defer mu.Unlock()
				p.Leave()
				most = max(most, cost)
				if tenant < 2 {
					got[tenant] += cost / weights[tenant]
					lo, hi = min(lo, got[0]-got[1]), max(hi, got[0]-got[1])
				}
			}
			var wg sync.WaitGroup
			for i := range 2 {
				for k := range n + 4 { // so that some wait at any time
					r := rand.New(rand.NewPCG(seed, uint64(100*i+k)))
					wg.Go(func() {
						for ctx.Err() == nil {
							one(r, i, door.Request{Tenant: string("ab"[i]), Session: fmt.Sprint(k % 3)}, scale[i])
						}
					})
				}
			}
			for k := range 3 {
				r := rand.New(rand.NewPCG(seed, uint64(1000+k)))
				wg.Go(func() {
					for ctx.Err() == nil {
						time.Sleep(doortest.Seconds(r.ExpFloat64() * 10))
						one(r, 2, door.Request{Tenant: fmt.Sprint("other", r.IntN(3))}, 1)
					}
				})
			}
			wg.Wait()
			u := float64(n) * most * 17 / 16 * (1/weights[0] + 1/weights[1])
			if max(hi, -lo) > u || hi-lo > 2*u {
				t.Errorf("seed %d: %d places, weights %v: they were %.1f apart, and moved by %.1f; want %.1f and %.1f at most", seed, n, weights, max(hi, -lo), hi-lo, u, 2*u)
			}
			least = min(least, u/max(hi, -lo))
			if got[0] < 1.5*u || got[1] < 1.5*u {
				t.Errorf("seed %d: they have got %v: too little for a bound of %.1f to say anything", seed, got, u)
			}
		})
	}
	t.Logf("they came to within %.2f of the bound", 1/least)
}

// A door at rest has left nothing in the pool and its policy: no job, no tenant, no session, no debt. Some requests were given up, some
// refused, and the names were seen once.
func TestNothingIsLeftInThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := must(fair.New(fair.Options{HalfLife: 20 * time.Second}))
		pool := must(live.New(policy, live.Options{Slots: 3}))
		d := must(door.New(pool, door.Options{MaxWaiting: 30}))
		size := func() int {
			t.Helper()
			synctest.Wait()
			if shares, jobs := pool.Shares(0), pool.Handles(); len(jobs) > 0 || len(shares) > 0 {
				t.Fatalf("left: %d jobs, and pools %v", len(jobs), shares)
			}
			return len(must(policy.AppendBinary(nil)))
		}
		first := 0
		r := rand.New(rand.NewPCG(1, 11))
		for round := range 5 {
			var wg sync.WaitGroup
			for i := range 600 {
				time.Sleep(doortest.Seconds(r.ExpFloat64() * .3))
				q := door.Request{Tenant: fmt.Sprint("tenant", round, "-", i/2), Session: fmt.Sprint(i % 5)}
				held, patience := doortest.Seconds(r.ExpFloat64()), doortest.Seconds(r.ExpFloat64()*10)
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(bg, patience)
					defer cancel()
					if p, err := d.Enter(ctx, q); err == nil {
						p.Charge(uint64(held))
						time.Sleep(held)
						p.Leave()
					}
				})
			}
			wg.Wait()
			if n := size(); round == 0 {
				first = n
			} else if n > first+60 { // counters and times grow by some bytes
				t.Errorf("the state of the policy has %d bytes, and had %d", n, first)
			}
		}
		if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// Of 1,000 clients half come when they are told, a quarter each second, and a quarter come again once in two times, under another name. Those who come
// when they are told are refused about once for each time that they are admitted, and get the same as each other and no less than the
// impatient ones; the places are busy.
func TestThousandClients(t *testing.T) {
	long(t)
	const clients = 1000
	var admitted, refused atomic.Int64                                                  // of those who come when they are told
	c := inCrowdFor(t, 5000*time.Second, clients, func(c *crowd, i int, r *rand.Rand) { // long, since each is admitted seldom
		for n := 0; c.ctx.Err() == nil; {
			name := fmt.Sprint("client", i)
			if i%4 == 3 {
				name = fmt.Sprint("seldom", i, "-", n)
			}
			err := c.once(name, r)
			counts := i%2 == 0 && c.ctx.Err() == nil && time.Now().After(c.from)
			switch {
			case c.ctx.Err() != nil:
			case err == nil:
				if counts {
					admitted.Add(1)
				}
			case i%4 == 3 && r.IntN(2) == 0:
				n++
				time.Sleep(10 * time.Second)
			case i%4 == 1:
				time.Sleep(time.Second)
			default:
				if counts {
					refused.Add(1)
				}
				time.Sleep(after(c.t, err))
			}
		}
	})
	told, each := map[string]float64{}, map[string]float64{}
	var patient, impatient float64
	for i := range clients {
		name := fmt.Sprint("client", i)
		switch i % 4 {
		case 0, 2:
			told[name] = c.each[name]
			patient += c.each[name] / 500
		case 1:
			impatient += c.each[name] / 250
		}
		if i%4 != 3 {
			each[name] = c.each[name]
		}
	}
	refusals := float64(refused.Load()) / float64(admitted.Load())
	t.Logf("%.3f refusals for each admitted; Jain of those who come when told %.3f, with the impatient ones %.3f; admitted %.1f and %.1f times; places busy %.3f", refusals, doortest.Jain(told, ""), doortest.Jain(each, ""), patient, impatient, c.share())
	if refusals > 1.1 || doortest.Jain(told, "") < .98 || doortest.Jain(each, "") < .98 || impatient > 1.05*patient || c.share() < .99 {
		t.Error("want 1.1 refusals, a Jain index of .98, no more for the impatient ones, and busy places for .99 of the time")
	}
}

// 50,000 names come once to a full line and never again. The places that are kept for them are no more than there are tenants that the door
// tells apart, and of all that nothing is left but a bounded memory.
func TestNoShowsTakeLittle(t *testing.T) {
	inDoor(t, 1, door.Options{MaxWaiting: 100, MaxTenants: 500}, func(t *testing.T, d *door.Door) {
		ctx, cancel := context.WithCancel(bg)
		first := must(d.Enter(bg, door.Request{}))
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: fmt.Sprint(i)}) })
		}
		synctest.Wait()
		come := func(from int) {
			for i := range 25_000 {
				if _, err := d.Enter(bg, door.Request{Tenant: fmt.Sprint("name", from+i)}); !errors.Is(err, door.ErrFull) {
					t.Fatalf("%v, want %v", err, door.ErrFull)
				}
				if i%100 == 0 {
					if st := d.Status(); st.Promised > 600 {
						t.Fatalf("%d places are kept, want those of 500 tenants and what the others together may have", st.Promised)
					}
				}
				time.Sleep(time.Millisecond)
			}
		}
		come(0)
		before := heapInUse()
		come(25_000)
		if after := heapInUse(); after > before+200_000 {
			t.Errorf("25,000 names more take %d bytes", after-before)
		}
		cancel()
		wg.Wait()
		first.Leave()
	})
}

// Calls of a session are admitted in the order in which they have come, whatever others do.
func TestOrderInASession(t *testing.T) {
	for seed := range uint64(20) {
		inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
			r := rand.New(rand.NewPCG(seed, 12))
			var mu sync.Mutex
			last := map[door.Request]int{}
			var wg sync.WaitGroup
			for i := range 400 {
				time.Sleep(doortest.Seconds(r.ExpFloat64() * .8))
				synctest.Wait()
				q := door.Request{Tenant: fmt.Sprint(r.IntN(3)), Session: fmt.Sprint(r.IntN(3))}
				held, patience := doortest.Seconds(r.ExpFloat64()), doortest.Seconds(r.ExpFloat64()*60)
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(bg, patience)
					defer cancel()
					p, err := d.Enter(ctx, q)
					if err != nil {
						return
					}
					mu.Lock()
					if last[q] > i {
						t.Errorf("seed %d: call %d of %+v is admitted after call %d", seed, i, q, last[q])
					}
					last[q] = i
					mu.Unlock()
					time.Sleep(held)
					p.Leave()
				})
			}
			wg.Wait()
		})
	}
}

// Random requests with deadlines before a pool of package rtmr, which take what they say, or less: whoever is admitted has left in time. Who is refused
// gets a time after which it would not be, unless it can never be in time; and is let in then, if nobody else has come.
func TestDeadlinesAreMet(t *testing.T) {
	var accepted, refused, again atomic.Int64
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 13))
			pool := must(live.New(must(rtmr.New(rtmr.Options{})), live.Options{Slots: 1 + r.IntN(4)}))
			d := must(door.New(pool, door.Options{}))
			var wg sync.WaitGroup
			ask := func(q door.Request, took time.Duration) error {
				came := time.Now()
				p, err := d.Enter(bg, q)
				var no *door.Refusal
				switch {
				case err == nil:
					accepted.Add(1)
					time.Sleep(took)
					p.Leave()
					if late := time.Since(came) - q.Within; late > 0 {
						t.Errorf("seed %d: %+v was accepted and is late by %v", seed, q, late)
					}
				case errors.As(err, &no) && no.Status == 429 && errors.Is(err, door.ErrDeadline):
					refused.Add(1)
					if no.After <= 0 || no.Cause == nil {
						t.Errorf("seed %d: %+v: %v, want when to come again", seed, q, err)
					}
				default:
					t.Errorf("seed %d: %+v: %v", seed, q, err)
				}
				return err
			}
			for range 100 {
				time.Sleep(doortest.Seconds(r.ExpFloat64() * 4))
				estimate := time.Duration(1+r.IntN(10_000)) * time.Millisecond
				q := door.Request{Tenant: fmt.Sprint(r.IntN(3)), Estimate: estimate, Within: estimate + time.Duration(r.IntN(20_000))*time.Millisecond}
				took := estimate
				if r.IntN(2) == 0 {
					took = time.Duration(r.Int64N(int64(estimate)))
				}
				wg.Go(func() { _ = ask(q, took) })
			}
			wg.Wait()
			for range 10 { // each place is taken for 10 s, and who is refused beside them comes when it is told
				for range len(pool.Status().Slots) {
					wg.Go(func() { _ = ask(door.Request{Estimate: 10 * time.Second, Within: time.Minute}, 10*time.Second) })
				}
				synctest.Wait()
				q := door.Request{Estimate: time.Duration(1+r.IntN(5000)) * time.Millisecond}
				q.Within = q.Estimate + time.Duration(r.IntN(4000))*time.Millisecond
				if err := ask(q, q.Estimate); err != nil {
					var no *door.Refusal
					errors.As(err, &no)
					time.Sleep(no.After)
					synctest.Wait()
					if err := ask(q, q.Estimate); err != nil {
						t.Errorf("seed %d: %+v: after %v: %v", seed, q, no.After, err)
					}
					again.Add(1)
				}
				wg.Wait()
			}
			if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("%d accepted, %d refused, %d of them came when they were told", accepted.Load(), refused.Load(), again.Load())
	if min(accepted.Load(), refused.Load(), again.Load()) < 100 {
		t.Error("too few to say anything")
	}
}

// What is charged after a request has left concerns nobody: the tenant that does so gets as much as the other one.
func TestChargeAfterLeave(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		ctx, cancel := context.WithTimeout(bg, 500*time.Second)
		defer cancel()
		var got [2]atomic.Int64
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				for {
					p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])})
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					p.Charge(10)
					p.Leave()
					if i%2 == 1 {
						p.Charge(10_000)
						door.Charge(p.Context(), 10_000)
						p.Leave()
					}
					got[i%2].Add(1)
				}
			})
		}
		wg.Wait()
		if a, b := got[0].Load(), got[1].Load(); a-b > 2 || b-a > 2 {
			t.Errorf("a has had %d and b %d, want the same", a, b)
		}
	})
}

// A request allocates ten times at most also where 10,000 others wait, of 200 tenants.
func TestOneRequestOfManyAllocates(t *testing.T) {
	long(t)
	d := mustDoor(t, places, door.Options{MaxWaiting: 1 << 20})
	const requests = 50_000
	var left atomic.Int64
	var before, after runtime.MemStats
	var wg sync.WaitGroup
	begin := make(chan bool)
	for i := range 10_000 + places {
		tenant := fmt.Sprint("tenant", i%200)
		wg.Go(func() {
			for first := true; ; first = false {
				p := must(d.Enter(bg, door.Request{Tenant: tenant}))
				if first {
					<-begin
				}
				n := left.Add(1)
				if n == requests {
					runtime.ReadMemStats(&after)
				}
				p.Leave()
				if n >= requests {
					return
				}
			}
		})
	}
	waitFor(t, "10,000 wait", func() bool { return d.Status().Waiting == 10_000 })
	runtime.ReadMemStats(&before)
	close(begin)
	wg.Wait()
	if each := float64(after.Mallocs-before.Mallocs) / requests; each > 10 {
		t.Errorf("a request takes %.2f allocations, want 10", each)
	} else {
		t.Logf("a request takes %.2f allocations", each)
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// Close of a door where 1,000 wait refuses them all at the end of its context, and waits for who is in the handler.
func TestCloseWhileMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := mustDoor(t, 2, door.Options{})
		var refused, served atomic.Int64
		var wg sync.WaitGroup
		for i := range 1002 {
			wg.Go(func() {
				p, err := d.Enter(bg, door.Request{Tenant: fmt.Sprint(i % 7), Session: fmt.Sprint(i % 50)})
				if err != nil {
					var no *door.Refusal
					if errors.As(err, &no) && no.Status == 503 && no.After == 0 && errors.Is(err, door.ErrClosed) {
						refused.Add(1)
					} else {
						t.Error(err)
					}
					return
				}
				<-p.Context().Done()
				served.Add(1)
				p.Leave()
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		wg.Wait()
		if st := d.Status(); refused.Load() != 1000 || served.Load() != 2 || st.Waiting+st.Running > 0 {
			t.Errorf("%d were refused and %d served, want 1,000 and 2; left: %+v", refused.Load(), served.Load(), st)
		}
	})
}

// InFlight is never 0: the error changes nothing. It goes down to 1 while more are in the handler, and up again.
func TestSetInFlightAndBack(t *testing.T) {
	inDoor(t, 4, door.Options{}, func(t *testing.T, d *door.Door) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				p := must(d.Enter(bg, door.Request{}))
				time.Sleep(time.Second)
				p.Leave()
			})
		}
		check := func(after time.Duration, n, running int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if st := d.Status(); st.InFlight != n || st.Running != running {
				t.Errorf("%d of %d are in the handler, want %d of %d", st.Running, st.InFlight, running, n)
			}
		}
		check(0, 4, 4)
		for _, n := range []int{0, -1, sojourn.MaxSlots + 1} {
			if d.SetInFlight(n) == nil {
				t.Errorf("SetInFlight(%d): no error", n)
			}
		}
		check(0, 4, 4)
		for _, n := range []int{1, 3, 1, 4, 1} {
			if err := d.SetInFlight(n); err != nil {
				t.Error(err)
			}
		}
		check(500*time.Millisecond, 1, 4)
		check(time.Second, 1, 1)
		if err := d.SetInFlight(4); err != nil {
			t.Error(err)
		}
		check(0, 4, 4)
		wg.Wait()
	})
}

// Down to 2 while 4 are in the handler: in whichever order they leave, nobody is let in while 2 or more are there.
func TestSetInFlightInAnyOrder(t *testing.T) {
	for first := range 4 {
		for second := range 4 {
			if first == second {
				continue
			}
			inDoor(t, 4, door.Options{}, func(t *testing.T, d *door.Door) {
				var passes []*door.Pass
				for range 4 {
					passes = append(passes, must(d.Enter(bg, door.Request{})))
				}
				stop := make(chan struct{})
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						p := must(d.Enter(bg, door.Request{}))
						<-stop
						p.Leave()
					})
				}
				synctest.Wait()
				if err := d.SetInFlight(2); err != nil {
					t.Fatal(err)
				}
				for k, i := range []int{first, second} {
					passes[i].Leave()
					synctest.Wait()
					if st := d.Status(); st.Running != 3-k {
						t.Errorf("%d, then %d leave: %d are in the handler after %d, want %d", first, second, st.Running, k+1, 3-k)
					}
				}
				close(stop)
				for _, p := range passes {
					p.Leave()
				}
				wg.Wait()
			})
		}
	}
}

// Others use the pool, too: what they give back is there for requests, though no request has left.
func TestSetInFlightOfASharedPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := must(live.New(must(fair.New(fair.Options{})), live.Options{Slots: 2}))
		d := must(door.New(pool, door.Options{}))
		a, b := must(pool.Enter(bg, live.Job{})), must(pool.Enter(bg, live.Job{}))
		for _, n := range []int{1, 2} {
			if err := d.SetInFlight(n); err != nil {
				t.Fatal(err)
			}
		}
		a.Leave(nil)
		soon, cancel := context.WithTimeout(bg, time.Hour)
		defer cancel()
		if p, err := d.Enter(soon, door.Request{}); err != nil {
			t.Errorf("one of 2 places is free, and a request waits: %v", err)
		} else {
			p.Leave()
		}
		b.Leave(nil)
		if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// A doneHook is a context that never ends, and is asked for that.
type doneHook struct {
	context.Context
	asked func()
}

func (c *doneHook) Done() <-chan struct{} {
	c.asked()
	return nil
}

// More are let in while one leaves whose slot goes: another slot comes in its place.
func TestSetInFlightWhileOneLeaves(t *testing.T) {
	inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
		ctx := &doneHook{bg, func() {}}
		first, second := must(d.Enter(ctx, door.Request{})), must(d.Enter(bg, door.Request{}))
		first.Context().Done() // so that Leave ends it
		if err := d.SetInFlight(1); err != nil {
			t.Fatal(err)
		}
		changed := false
		ctx.asked = func() { // Leave has entered that the request has left, and its slot is not yet free
			if !changed {
				changed = true
				if err := d.SetInFlight(2); err != nil {
					t.Error(err)
				}
			}
		}
		first.Leave()
		if !changed {
			t.Fatal("Leave does not end the context")
		}
		soon, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		third, err := d.Enter(soon, door.Request{})
		if err != nil {
			t.Errorf("one of 2 is in the handler, and no other one is let in: %v", err)
		} else {
			third.Leave()
		}
		second.Leave()
	})
}
