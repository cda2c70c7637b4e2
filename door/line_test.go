package door_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/internal/doortest"
)

// after returns how long a client waits that was refused: as the header says it.
func after(t *testing.T, err error) time.Duration {
	var no *door.Refusal
	if !errors.As(err, &no) {
		t.Fatalf("no refusal: %v", err)
	}
	if no.After < time.Second || no.After%time.Second != 0 {
		t.Errorf("after %v, want whole seconds", no.After)
	}
	return no.After
}

// A crowd is clients that want in again and again.
type crowd struct {
	t   *testing.T
	d   *door.Door
	ctx context.Context
	wg  sync.WaitGroup

	from              time.Time
	counted           time.Duration
	admitted, refused atomic.Int64
	promised, broken  atomic.Int64 // of those who come when they are told
	busy              atomic.Int64
	mu                sync.Mutex
	each              map[string]float64 // admitted, by client
}

// inCrowd runs clients for 2,000 s in front of 16 places with a line of 32, and counts from 200 s on.
func inCrowd(t *testing.T, clients int, client func(c *crowd, i int, r *rand.Rand)) *crowd {
	return inCrowdFor(t, 2000*time.Second, clients, client)
}

func inCrowdFor(t *testing.T, span time.Duration, clients int, client func(c *crowd, i int, r *rand.Rand)) (c *crowd) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), span)
		defer cancel()
		c = &crowd{counted: span - 200*time.Second, t: t, d: mustDoor(t, places, door.Options{MaxWaiting: 32}), ctx: ctx, from: time.Now().Add(200 * time.Second), each: map[string]float64{}}
		for i := range clients {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			c.wg.Go(func() { client(c, i, r) })
		}
		c.wg.Wait()
		time.Sleep(time.Hour) // promises pass
		if st := c.d.Status(); st.Waiting+st.Running+st.Promised+len(st.Tenants) > 0 {
			t.Errorf("left at the end: %+v", st)
		}
		if err := c.d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// once tries to get in, works for 2 s in the mean if it does, and says what the door has said.
func (c *crowd) once(tenant string, r *rand.Rand) error {
	p, err := c.d.Enter(c.ctx, door.Request{Tenant: tenant})
	counts := time.Now().After(c.from)
	if err != nil {
		if c.ctx.Err() == nil && counts {
			c.refused.Add(1)
		}
		return err
	}
	size := doortest.Seconds(doortest.Lognormal(r, 2, 1))
	time.Sleep(size)
	p.Leave()
	if counts && c.ctx.Err() == nil {
		c.admitted.Add(1)
		c.busy.Add(int64(size))
		c.mu.Lock()
		c.each[tenant]++
		c.mu.Unlock()
	}
	return nil
}

func (c *crowd) share() float64 { return float64(c.busy.Load()) / places / float64(c.counted) }

// Clients that come again at the second that they were told are refused about once for each time that they are admitted, all of them
// get the same, and the places are busy. Clients that come after a fixed time take everything, or nothing.
func TestRetryAfterIsKept(t *testing.T) {
	for _, clients := range []int{60, 200, 1000} {
		if testing.Short() && clients > 60 {
			continue // it takes long
		}
		for _, fixed := range []time.Duration{0, time.Second, 30 * time.Second} {
			if fixed > 0 && testing.Short() || fixed == time.Second && clients > 200 {
				continue
			}
			c := inCrowd(t, clients, func(c *crowd, i int, r *rand.Rand) {
				told := time.Duration(0)
				for c.ctx.Err() == nil {
					counts := told > 0 && time.Now().After(c.from)
					err := c.once(fmt.Sprint("client", i), r)
					if counts && c.ctx.Err() == nil {
						c.promised.Add(1)
					}
					if err == nil || c.ctx.Err() != nil {
						told = 0
						continue
					}
					if counts {
						c.broken.Add(1)
					}
					if told = after(c.t, err); fixed > 0 {
						told = fixed
					}
					time.Sleep(told)
				}
			})
			for i := range clients {
				c.each[fmt.Sprint("client", i)] += 0 // those who got nothing count
			}
			refusals, fair := float64(c.refused.Load())/float64(c.admitted.Load()), doortest.Jain(c.each, "")
			t.Logf("%4d clients, fixed %3v: %6.2f refusals for each admitted, Jain of the clients %.3f, places busy %.3f; refused when told to come %d of %d", clients, fixed, refusals, fair, c.share(), c.broken.Load(), c.promised.Load())
			if fixed == 0 && (refusals > 1.1 || fair < .98 || c.share() < .99 || c.broken.Load()*20 > c.promised.Load()) {
				t.Errorf("%d clients: %.2f refusals for each admitted, want 1.1; Jain %.3f, want .98; busy %.3f, want .99; promises broken: %d of %d, want a twentieth",
					clients, refusals, fair, c.share(), c.broken.Load(), c.promised.Load())
			}
		}
	}
}

// Half of those who are refused never come again, and others come under new names: the places are busy all the same, and nothing is
// left of the promises.
func TestNoShows(t *testing.T) {
	long(t)
	for _, clients := range []int{100, 200, 1000} {
		c := inCrowd(t, clients, func(c *crowd, i int, r *rand.Rand) {
			for n := 0; c.ctx.Err() == nil; {
				err := c.once(fmt.Sprint(i, "-", n), r)
				switch {
				case err == nil || c.ctx.Err() != nil:
				case r.IntN(2) == 0:
					n++
					time.Sleep(10 * time.Second)
				default:
					time.Sleep(after(c.t, err))
				}
			}
		})
		t.Logf("%4d clients: places busy %.3f", clients, c.share())
		if c.share() < .99 {
			t.Errorf("%d clients: busy %.3f, want .99", clients, c.share())
		}
	}
}

// Half of the clients come each second, whatever they are told: they gain nothing by it, and take nothing from the others.
func TestImpatientGainNothing(t *testing.T) {
	long(t)
	const clients = 200
	c := inCrowd(t, clients, func(c *crowd, i int, r *rand.Rand) {
		for c.ctx.Err() == nil {
			if err := c.once(fmt.Sprint("client", i), r); err != nil && c.ctx.Err() == nil {
				told := after(c.t, err)
				if i%2 == 0 {
					told = time.Second
				}
				time.Sleep(told)
			}
		}
	})
	var impatient, patient float64
	for i := range clients {
		if n := c.each[fmt.Sprint("client", i)]; i%2 == 0 {
			impatient += n
		} else {
			patient += n
		}
	}
	t.Logf("admitted: impatient %v, patient %v; Jain %.3f; busy %.3f", impatient, patient, doortest.Jain(c.each, ""), c.share())
	if fair := doortest.Jain(c.each, ""); fair < .98 || impatient > 1.05*patient || c.share() < .99 {
		t.Errorf("impatient ones %v, patient ones %v, Jain %.3f, busy %.3f", impatient, patient, fair, c.share())
	}
}

// A flood of 200 requests of one tenant, each of which tries again after a second, fills a line of 64. The light tenant is refused once in a
// hundred times at most, and waits as long as with an endless line.
func TestFloodPushesOutItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := mustDoor(t, places, door.Options{MaxWaiting: 64})
		ctx, cancel := context.WithTimeout(context.Background(), 2000*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var floods atomic.Int64
		for i := range 200 {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			wg.Go(func() {
				for ctx.Err() == nil {
					p, err := d.Enter(ctx, door.Request{Tenant: "flood"})
					if err != nil {
						floods.Add(1)
						time.Sleep(time.Second)
						continue
					}
					time.Sleep(doortest.Seconds(doortest.Lognormal(r, 20, 1)))
					p.Leave()
				}
			})
		}
		y := doortest.NewTally(0)
		r := rand.New(rand.NewPCG(1, 999))
		var tries, refused atomic.Int64
		for ctx.Err() == nil {
			time.Sleep(doortest.Seconds(r.ExpFloat64() * 2))
			size := doortest.Lognormal(r, 1, 1)
			wg.Go(func() {
				began := time.Now()
				tries.Add(1)
				p, err := d.Enter(ctx, door.Request{Tenant: "light"})
				if err != nil {
					refused.Add(1)
					return
				}
				time.Sleep(doortest.Seconds(size))
				p.Leave()
				y.Add("light", "light", began, size)
			})
		}
		wg.Wait()
		mean, _, _ := y.Of("light")
		t.Logf("light tenant: refused %d of %d, mean %.2f s; flood: refused %d", refused.Load(), tries.Load(), mean, floods.Load())
		if refused.Load()*100 > tries.Load() || mean > 4 || floods.Load() < 1000 {
			t.Errorf("light tenant: refused %d of %d, mean %.2f s; flood: refused %d", refused.Load(), tries.Load(), mean, floods.Load())
		}
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Whoever comes to a full line has fewer here than those who have most, or is refused: nobody is refused beside one who has two more. Places that
// are kept for one count as if it were here.
func TestLightestIsNotRefused(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			d := mustDoor(t, 2, door.Options{MaxWaiting: 1 + r.IntN(12)})
			var mu sync.Mutex
			here := map[string]int{}
			var wg sync.WaitGroup
			var pushed, full int
			for range 400 {
				time.Sleep(doortest.Seconds(r.ExpFloat64() * .3))
				synctest.Wait() // one at a time, so that all agree on who is here
				tenant, size := fmt.Sprint(r.IntN(1+r.IntN(6))), doortest.Seconds(r.ExpFloat64())
				wg.Go(func() {
					mu.Lock()
					here[tenant]++
					mu.Unlock()
					p, err := d.Enter(context.Background(), door.Request{Tenant: tenant})
					mu.Lock()
					if err != nil {
						mine := here[tenant] - 1 // and the places that are kept, the one of this refusal included
						for _, s := range d.Status().Tenants {
							if s.Name == tenant {
								mine += s.Promised
							}
						}
						for other, n := range here {
							if n > mine+1 {
								t.Errorf("%s is refused with %d here or to come, and %s has %d: %v", tenant, mine, other, n, err)
							}
						}
						here[tenant]--
						if errors.Is(err, door.ErrPushed) {
							pushed++
						} else {
							full++
						}
						mu.Unlock()
						return
					}
					mu.Unlock()
					time.Sleep(size)
					p.Leave()
					mu.Lock()
					here[tenant]--
					mu.Unlock()
				})
			}
			wg.Wait()
			if pushed+full == 0 {
				t.Error("nobody was refused")
			}
			_ = d.Close(context.Background())
		})
	}
}

// When costs count for the first time, the order in which tenants are pushed out of a full line stays: of those that have as much here, the one
// that came to it first.
func TestPushedAfterPrices(t *testing.T) {
	inDoor(t, 3, door.Options{MaxWaiting: 20}, func(t *testing.T, d *door.Door) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var pushed []string
		ctx, cancel := context.WithCancel(bg)
		come := func(tenant string) {
			wg.Go(func() {
				p, err := d.Enter(ctx, door.Request{Tenant: tenant})
				if err == nil {
					<-ctx.Done()
					p.Leave()
				} else if errors.Is(err, door.ErrPushed) {
					mu.Lock()
					defer mu.Unlock()
					pushed = append(pushed, tenant)
				}
			})
			synctest.Wait()
		}
		var first []*door.Pass
		for range 3 {
			first = append(first, must(d.Enter(bg, door.Request{Tenant: "first"})))
		}
		for i := range 20 {
			come(fmt.Sprint("t", i/2))
		}
		for _, p := range first {
			p.Charge(1)
			p.Leave()
			synctest.Wait()
		}
		for i := range 6 {
			come(fmt.Sprint("new", i))
		}
		cancel()
		wg.Wait()
		if got, want := fmt.Sprint(pushed), "[t3 t4 t5]"; got != want {
			t.Errorf("pushed out were %v, want %v", got, want)
		}
	})
}
