package door_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
)

// A handler that asks the door once more, by the context of its request, does not wait for itself, though there is one place. What the second pass says
// costs nothing, and its end frees no place.
func TestEnterInside(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		outer := must(d.Enter(bg, door.Request{Tenant: "a"}))
		inner := must(d.Enter(outer.Context(), door.Request{Tenant: "b"}))
		again := must(d.Enter(inner.Context(), door.Request{}))
		inner.Charge(1)
		again.Leave()
		inner.Leave()
		inner.Leave()
		if st := d.Status(); st.Running != 1 || st.Admitted != 1 || inner.Waited() != 0 || inner.Context().Err() != nil {
			t.Errorf("after the second pass: %+v, waited %v, %v", st, inner.Waited(), inner.Context().Err())
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
