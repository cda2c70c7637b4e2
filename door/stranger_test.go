package door_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
)

// A handler that asks the door once more, by the context of its request, does not wait for itself, though there is one place. What the second pass says
// costs nothing, and its end frees no place. Its context is the one that it asked with, which has all that was put into it on the way.
func TestEnterInside(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		outer := must(d.Enter(bg, door.Request{Tenant: "a"}))
		type key struct{}
		asks, cancel := context.WithCancel(context.WithValue(outer.Context(), key{}, "value"))
		inner := must(d.Enter(asks, door.Request{Tenant: "b"}))
		if v := inner.Context().Value(key{}); v != "value" {
			t.Errorf("the value of the context is %v", v)
		}
		again := must(d.Enter(inner.Context(), door.Request{}))
		inner.Charge(1)
		again.Leave()
		inner.Leave()
		inner.Leave()
		if st := d.Status(); st.Running != 1 || st.Admitted != 1 || inner.Waited() != 0 || inner.Context().Err() != nil {
			t.Errorf("after the second pass: %+v, waited %v, %v", st, inner.Waited(), inner.Context().Err())
		}
		cancel()
		if inner.Context().Err() == nil || outer.Context().Err() != nil {
			t.Errorf("the second context was ended: %v, the first one %v", inner.Context().Err(), outer.Context().Err())
		}
		kept := context.WithoutCancel(outer.Context())
		outer.Leave()
		outer.Leave()
		if st := d.Status(); st.Running != 0 {
			t.Errorf("after the first one: %+v", st)
		}
		late := must(d.Enter(kept, door.Request{})) // it has no place any more
		if st := d.Status(); st.Running != 1 || st.Admitted != 2 {
			t.Errorf("of a context whose request has left: %+v", st)
		}
		late.Leave()
	})
}

// A pool that is paused, or let on, by who has the pool of the door takes no part in the order, nor holds virtual time, from a second on: those who come are told
// how long they wait.
func TestPausedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := must(live.New(must(fair.New(fair.Options{})), live.Options{Slots: 1}))
		d := must(door.New(pool, door.Options{Paths: true}))
		set := func(name string, paused bool) {
			if err := pool.ChangePool(name, func(n *sojourn.Pool) { n.Paused = paused }); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		over, cancel := context.WithCancel(bg)
		serve := func(tenant string) {
			for p, err := d.Enter(over, door.Request{Tenant: tenant}); err == nil; p, err = d.Enter(over, door.Request{Tenant: tenant}) {
				time.Sleep(time.Second)
				p.Leave()
			}
		}
		comes := func(tenant string) {
			t.Helper()
			for range 8 {
				wg.Go(func() {
					p := must(d.Enter(bg, door.Request{Tenant: tenant}))
					time.Sleep(time.Second)
					p.Leave()
				})
				synctest.Wait()
			}
			told, begun := d.Expect(tenant), time.Now()
			p := must(d.Enter(bg, door.Request{Tenant: tenant}))
			if took := time.Since(begun); (told - took).Abs() > 4*time.Second {
				t.Errorf("%s waits for %v, and was told %v", tenant, took, told)
			}
			p.Leave()
		}
		for _, name := range []string{"g", "g/p"} {
			set(name, true)
			for range 12 {
				wg.Go(func() { serve("g/p") })
			}
			synctest.Wait()
			for i := range 18 {
				wg.Go(func() { serve(string("ab"[i%2])) })
			}
			time.Sleep(100*time.Second + time.Millisecond)
			comes("new")
			set(name, false)
			time.Sleep(100 * time.Second)
			comes("other")
			cancel()
			wg.Wait()
			over, cancel = context.WithCancel(bg)
		}
		cancel()
		if st := d.Status(); len(st.Tenants) > 0 || st.Running+st.Waiting > 0 {
			t.Errorf("left at the end: %+v", st)
		}
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
		if err := pool.Close(bg); err != nil {
			t.Error(err)
		}
	})
}

// The functions that look at a request may read a form of it: the handler has the form as well. One that reads the body, and puts another one in its
// place, has no effect on what the handler reads.
func TestFunctionsThatReadTheBody(t *testing.T) {
	for version := 1; version <= 2; version++ {
		var seen []string
		d := mustDoor(t, 1, door.Options{
			Tenant: func(r *http.Request) string { seen = append(seen, r.FormValue("user")); return r.FormValue("user") },
		})
		srv := serve(t, version, d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, r.FormValue("user"), r.FormValue("what"))
		})))
		resp, err := srv.Client().Post(srv.URL, "application/x-www-form-urlencoded", strings.NewReader("user=alice&what=x"))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		if string(body) != "alicex" || len(seen) != 1 || seen[0] != "alice" {
			t.Errorf("HTTP/%d: the handler reads %q, and Tenant %q", version, body, seen)
		}
		_ = resp.Body.Close()
		srv.Close()

		d = mustDoor(t, 1, door.Options{Session: func(r *http.Request) string {
			data, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(data)))
			return string(data)
		}})
		srv = serve(t, version, d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })))
		if _, body, _, err := get(bg, srv, "", "/"); err != nil || body != "hello" {
			t.Errorf("HTTP/%d: the handler reads %q %v, want what Session has read", version, body, err)
		}
		srv.Close()
	}
}

// Refuse may panic, or say nothing, and a refused request keeps nothing.
func TestRefuseThatPanics(t *testing.T) {
	d := mustDoor(t, 1, door.Options{MaxTenantWaiting: 1, Tenant: byHeader("Tenant"), Refuse: func(_ http.ResponseWriter, r *http.Request, no *door.Refusal) {
		if r.URL.Path == "/panic" {
			panic(http.ErrAbortHandler)
		}
	}})
	srv := serve(t, 1, d.Wrap(new(backend)))
	defer srv.Close()
	running := must(d.Enter(bg, door.Request{Tenant: "a"}))
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: "a"}) })
	waitFor(t, "one waits", func() bool { return d.Status().Waiting == 1 })
	if status, body, _, err := get(bg, srv, "a", "/"); err != nil || status != 200 || body != "" {
		t.Errorf("Refuse says nothing: %d %q %v", status, body, err) // that is net/http's answer of a handler that says nothing
	}
	if _, _, _, err := get(bg, srv, "a", "/panic"); err == nil {
		t.Error("Refuse panics: no error")
	}
	cancel()
	wg.Wait()
	running.Leave()
	if st := d.Status(); st.Running+st.Waiting > 0 {
		t.Errorf("%+v", st)
	}
}

// A handler that closes the door by which it came is told that it would wait for itself, and the door goes on.
func TestCloseInside(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		p := must(d.Enter(bg, door.Request{}))
		if err := d.Close(p.Context()); !errors.Is(err, live.ErrDeadlock) {
			t.Errorf("%v, want %v", err, live.ErrDeadlock)
		}
		p.Leave()
		must(d.Enter(bg, door.Request{})).Leave()
	})
}

// Who comes before it was told is told the same instant again. Who comes after it, up to a tenth of the time and 2 s, has its place, which nobody else has
// until then; later the place is another one's. It is one place: of two that come for it, one is let into the line.
func TestEarlyLateAndTwice(t *testing.T) {
	trial := func(what string, test func(t *testing.T, d *door.Door, come func(tenant string) (told time.Duration))) {
		inDoor(t, 1, door.Options{MaxWaiting: 2}, func(t *testing.T, d *door.Door) {
			// come returns 0 if the request is in the line.
			come := func(tenant string) time.Duration {
				refused := make(chan error, 1)
				go func() {
					p, err := d.Enter(bg, door.Request{Tenant: tenant})
					if err != nil {
						refused <- err
						return
					}
					time.Sleep(10 * time.Second)
					p.Leave()
				}()
				synctest.Wait()
				if len(refused) == 0 {
					return 0
				}
				return after(t, <-refused)
			}
			come("first")
			time.Sleep(10 * time.Second) // from now on the door knows how long requests take
			synctest.Wait()
			for _, tenant := range []string{"a", "b", "c"} {
				if told := come(tenant); told > 0 {
					t.Fatalf("%s: %s was told to come after %v", what, tenant, told)
				}
			}
			if told := come("d"); told != 10*time.Second {
				t.Fatalf("%s: d was told to come after %v, want 10s", what, told)
			}
			test(t, d, come)
		})
	}
	trial("early", func(t *testing.T, d *door.Door, come func(string) time.Duration) {
		time.Sleep(5 * time.Second)
		if told, n := come("d"), d.Status().Promised; told != 5*time.Second || n != 1 {
			t.Errorf("5 s early: told to come after %v, and %d places are kept; want 5s and 1", told, n)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if told := come("d"); told != 0 {
			t.Errorf("then in time: told to come after %v", told)
		}
	})
	for late, kept := range map[time.Duration]bool{2900 * time.Millisecond: true, 3100 * time.Millisecond: false} { // 1 s and 2 s
		trial("late", func(t *testing.T, d *door.Door, come func(string) time.Duration) {
			time.Sleep(10*time.Second + late)
			synctest.Wait()
			if in := come("e") == 0; in == kept {
				t.Errorf("%v after d was told to come, another one is let in: %v", late, in)
			}
			if in := come("d") == 0; in != kept {
				t.Errorf("%v late d is let in: %v", late, in)
			}
		})
	}
	trial("twice", func(t *testing.T, d *door.Door, come func(string) time.Duration) {
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if first, second := come("d"), come("d"); first != 0 || second == 0 {
			t.Errorf("of two that come for one place, the first is told %v and the second %v; want 0s and a time", first, second)
		}
	})
}

// 100,000 names come once each beside two tenants that always wait. The door, the pool and the policy keep a bounded memory of them, and the last of them
// wait no longer than the first.
func TestTenantsThatComeOnce(t *testing.T) {
	long(t)
	inDoor(t, places, door.Options{MaxTenants: 1000}, func(t *testing.T, d *door.Door) {
		ctx, cancel := context.WithCancel(bg)
		var wg sync.WaitGroup
		r := rand.New(rand.NewPCG(1, 20))
		for i := range 2 * (places + 1) {
			wg.Go(func() {
				for p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])}); err == nil; p, err = d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])}) {
					time.Sleep(time.Second)
					p.Leave()
				}
			})
		}
		come := func(from int) (waited time.Duration) {
			var mu sync.Mutex
			var each sync.WaitGroup
			for i := range 50_000 {
				time.Sleep(time.Second / 8)
				size := time.Duration(r.Int64N(int64(2 * time.Second)))
				each.Go(func() {
					p := must(d.Enter(bg, door.Request{Tenant: fmt.Sprint("name", from+i)}))
					time.Sleep(size)
					p.Leave()
					mu.Lock()
					defer mu.Unlock()
					waited += p.Waited() / 50_000
				})
			}
			each.Wait()
			return waited
		}
		first := come(0)
		before := heapInUse()
		second := come(50_000)
		grown := int64(heapInUse()) - int64(before)
		t.Logf("waited %v, then %v; the second 50,000 names have taken %d bytes", first, second, grown)
		if grown > 200_000 || len(d.Status().Tenants) > 1001 || second > 2*first {
			t.Errorf("waited %v, then %v; the second 50,000 names have taken %d bytes", first, second, grown)
		}
		cancel()
		wg.Wait()
	})
}

// A server is told to stop while many wait. If its door is closed before, those that wait are served, or refused at the end of the context of Close; to shut
// down the server alone serves them all. Each client has an answer.
func TestShutdown(t *testing.T) {
	const clients, inFlight = 30, 2
	for version := 1; version <= 2; version++ {
		for _, how := range []string{"serve", "refuse", "server alone"} {
			t.Run(fmt.Sprintf("HTTP/%d/%s", version, how), func(t *testing.T) {
				d := mustDoor(t, inFlight, door.Options{Tenant: byHeader("Tenant")})
				goOn := make(chan bool)
				start := clearText // HTTP/2 of httptest with TLS does not end by Shutdown, with a door or without
				if version == 1 {
					start = func(t *testing.T, h http.Handler) *httptest.Server { return serve(t, 1, h) }
				}
				srv := start(t, d.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					select {
					case <-goOn:
					case <-r.Context().Done():
					}
				})))
				var wg sync.WaitGroup
				var served, refused atomic.Int64
				for i := range clients {
					wg.Go(func() {
						switch status, _, _, err := get(bg, srv, fmt.Sprint(i%3), "/"); {
						case err != nil:
							t.Error(err)
						case status == http.StatusOK:
							served.Add(1)
						case status == http.StatusServiceUnavailable:
							refused.Add(1)
						}
					})
				}
				waitFor(t, "all are here", func() bool { st := d.Status(); return st.Waiting == clients-inFlight && st.Running == inFlight })
				ctx, cancel := context.WithCancel(bg)
				defer cancel()
				stopped := make(chan error, 1)
				go func() {
					var err error
					if how != "server alone" {
						err = d.Close(ctx)
					}
					stopped <- errors.Join(err, srv.Config.Shutdown(bg))
				}()
				if how != "server alone" {
					waitFor(t, "the door is closed", func() bool { return d.Status().Closed })
				}
				if how == "refuse" {
					cancel()
				} else {
					close(goOn)
				}
				wg.Wait()
				want := int64(clients)
				if how == "refuse" {
					want = inFlight
				}
				if served.Load() != want || refused.Load() != clients-want {
					t.Errorf("%d were served and %d refused, want %d and %d", served.Load(), refused.Load(), want, clients-want)
				}
				waitFor(t, "the server has stopped", func() bool { // net/http may wait for HTTP/2 connections that clients keep though they are told to go
					srv.Client().CloseIdleConnections()
					return len(stopped) > 0
				})
				if err := <-stopped; (how == "refuse") != errors.Is(err, context.Canceled) || how != "refuse" && err != nil {
					t.Errorf("stopped: %v", err)
				}
				srv.Close()
				if err := d.Close(bg); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// Who leaves from many goroutines at once frees one place.
func TestLeaveAtOnce(t *testing.T) {
	inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
		first, second := must(d.Enter(bg, door.Request{})), must(d.Enter(bg, door.Request{}))
		var wg sync.WaitGroup
		stop := make(chan bool)
		for range 5 {
			wg.Go(func() {
				p := must(d.Enter(bg, door.Request{}))
				<-stop
				p.Leave()
			})
		}
		synctest.Wait()
		for range 50 {
			wg.Go(first.Leave)
		}
		synctest.Wait()
		if st := d.Status(); st.Running != 2 || st.Waiting != 4 {
			t.Errorf("%d are in the handler and %d wait, want 2 and 4", st.Running, st.Waiting)
		}
		close(stop)
		second.Leave()
		wg.Wait()
	})
}

// Of a request that has left, or has gone while it waited, the door keeps nothing, though its tenant is here: what its context has may be much.
func TestNothingIsKeptOfWhoHasLeft(t *testing.T) {
	type key struct{}
	d := mustDoor(t, 2, door.Options{})
	var freed atomic.Int64
	ask := func() {
		big := new([1 << 10]byte)
		runtime.AddCleanup(big, func(*atomic.Int64) { freed.Add(1) }, &freed)
		must(d.Enter(context.WithValue(bg, key{}, big), door.Request{Tenant: "a"})).Leave()
	}
	stays := must(d.Enter(bg, door.Request{Tenant: "a"}))
	for range 10 {
		ask()
	}
	waitFor(t, "freed but for the last one, whose memory the pool has", func() bool { runtime.GC(); return freed.Load() >= 9 })
	stays.Leave()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// Close refuses those who wait also where others of their tenant, who came later, have gone.
func TestCloseAfterOneHasGone(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		p := must(d.Enter(bg, door.Request{}))
		go func() { <-p.Context().Done(); p.Leave() }()
		over, cancel := context.WithCancel(bg)
		results := make(chan error, 3)
		for _, ctx := range []context.Context{bg, over, over} {
			go func() { _, err := d.Enter(ctx, door.Request{Tenant: "a"}); results <- err }()
			synctest.Wait()
		}
		cancel()
		<-results
		<-results
		if err := d.Close(over); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		if err := <-results; !errors.Is(err, door.ErrClosed) {
			t.Errorf("who waits: %v, want %v", err, door.ErrClosed)
		}
	})
}
