package door_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/door"
)

// Places that were promised while requests took 30 s keep nobody out once they take 10 ms, and whoever is refused then, of a new tenant or of one
// with such promises, is told to come again soon.
func TestPromisesAfterABrownout(t *testing.T) {
	for _, one := range []bool{true, false} { // one tenant, or many
		t.Run(fmt.Sprint(one), func(t *testing.T) {
			inDoor(t, 4, door.Options{MaxWaiting: 100}, func(t *testing.T, d *door.Door) {
				name := func(i int) string {
					if one {
						return "burst"
					}
					return fmt.Sprint("burst", i)
				}
				serve := func(tenant string, takes time.Duration) {
					p, err := d.Enter(bg, door.Request{Tenant: tenant})
					if err != nil {
						t.Fatal(err)
					}
					time.Sleep(takes)
					p.Leave()
				}
				for range 20 {
					serve("a", 30*time.Second)
				}
				told := func(tenant string) time.Duration {
					var no *door.Refusal
					ctx, cancel := context.WithTimeout(bg, time.Nanosecond)
					defer cancel()
					if _, err := d.Enter(ctx, door.Request{Tenant: tenant}); errors.As(err, &no) {
						return no.After
					}
					return 0 // it waits
				}
				ctx, cancel := context.WithCancel(bg)
				var wg sync.WaitGroup
				for i := range 104 {
					wg.Go(func() {
						if p, err := d.Enter(ctx, door.Request{Tenant: name(i)}); err == nil {
							time.Sleep(30 * time.Second)
							p.Leave()
						}
					})
				}
				synctest.Wait()
				longest := time.Duration(0)
				for i := range 300 {
					longest = max(longest, told(name(i)))
				}
				if longest < 5*time.Minute || longest > 10*time.Minute {
					t.Errorf("the last one is told %v, want above 5 minutes and at most 10", longest)
				}
				cancel() // they give up, and never come again
				wg.Wait()
				for range 1000 {
					serve("a", 10*time.Millisecond)
				}
				kept := d.Status().Promised
				if kept < 50 {
					t.Fatalf("%d places are kept, want many", kept)
				}
				var inside []*door.Pass
				fill := func(name func(int) string) {
					for i := range 4 {
						inside = append(inside, must(d.Enter(bg, door.Request{Tenant: fmt.Sprint("b", i)})))
					}
					ctx, cancel = context.WithCancel(bg)
					for i := range 90 {
						wg.Go(func() {
							if p, err := d.Enter(ctx, door.Request{Tenant: name(i)}); err == nil {
								p.Leave()
							}
						})
					}
					synctest.Wait()
					if got := d.Status().Waiting; got != 90 {
						t.Errorf("%d of 90 requests wait in a line of 100, of which %d places are promised for later", got, d.Status().Promised)
					}
				}
				empty := func() {
					cancel()
					for _, p := range inside {
						p.Leave()
					}
					inside = nil
					wg.Wait()
				}
				others := func(i int) string { return fmt.Sprint("x", i%20) }
				fill(others)
				for i := range 40 {
					wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: fmt.Sprint("x", i%20)}) })
				}
				synctest.Wait()
				for _, tenant := range []string{"x1", "burst", "burst1"} {
					if after := told(tenant); after > 5*time.Second {
						t.Errorf("%s is told %v, though the line has gone in a second", tenant, after)
					}
				}
				empty()
				time.Sleep(20 * time.Second) // the places of those who were told now are over, and the others are those of before
				if kept := d.Status().Promised; kept < 50 {
					t.Fatalf("%d places are kept, want many", kept)
				}
				fill(name)
				for i := range 60 { // those of the burst who are refused might come sooner than they were told
					wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: name(i)}) })
				}
				synctest.Wait()
				empty()
				time.Sleep(20 * time.Second)
				fill(others) // nobody of the burst comes before the time that it was told
				empty()
			})
		})
	}
}

// Places that are due soon, and that nobody came for, are free when their times are over, though places that were promised before them, while
// requests took 30 s, are kept for longer.
func TestNoShowsAfterABrownout(t *testing.T) {
	for _, one := range []bool{true, false} { // one tenant, or many
		inDoor(t, 4, door.Options{MaxWaiting: 100}, func(t *testing.T, d *door.Door) {
			var wg sync.WaitGroup
			come := func(ctx context.Context, name func(int) string, n int, takes time.Duration) {
				for i := range n {
					wg.Go(func() {
						if p, err := d.Enter(ctx, door.Request{Tenant: name(i)}); err == nil {
							time.Sleep(takes)
							p.Leave()
						}
					})
				}
				synctest.Wait()
			}
			each := func(name string) func(int) string { return func(i int) string { return fmt.Sprint(name, i) } }
			burst := func(name string) func(int) string {
				if one {
					return func(int) string { return "burst" }
				}
				return each(name)
			}
			// crowd is more than the line holds, of whom nobody comes again.
			crowd := func(name string, n int, takes time.Duration) {
				ctx, cancel := context.WithCancel(bg)
				come(ctx, burst(name), n, takes)
				cancel()
				wg.Wait()
			}
			serve := func(n int, takes time.Duration) {
				for range n {
					come(bg, each("steady"), 1, takes)
					wg.Wait()
				}
			}
			serve(20, 30*time.Second)
			crowd("slow", 4+100+60, 30*time.Second)
			serve(1000, 10*time.Millisecond)
			before := d.Status().Promised
			crowd("fast", 250, 10*time.Millisecond)
			if after := d.Status().Promised; before < 10 || after < before+40 {
				t.Fatalf("%d places are kept, then %d: want more", before, after)
			}
			time.Sleep(time.Minute)
			if kept := d.Status().Promised; kept > before {
				t.Errorf("%d places are kept a minute later, want those %d that are due later at most", kept, before)
			}
			come(bg, each("inside"), 4, time.Second)
			come(bg, each("new"), 20, time.Millisecond)
			if st := d.Status(); st.Waiting != 20 {
				t.Errorf("%d of 20 wait in a line of 100", st.Waiting)
			}
			wg.Wait()
			for range 2 * before { // one that comes when it is due has its place, and not one that is over
				come(bg, burst("slow"), 1, time.Millisecond)
				wg.Wait()
			}
		})
	}
}

// A door takes options at the ends of their ranges.
func TestGreatOptions(t *testing.T) {
	d := must(door.NewFair(1, door.Options{MaxWaiting: math.MaxInt, MaxTenantWaiting: math.MaxInt, MaxTenants: math.MaxInt, MaxWait: math.MaxInt64, Buffer: math.MaxInt}))
	const body = "nine byte"
	h := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if data, err := io.ReadAll(r.Body); string(data) != body || err != nil {
			t.Errorf("the handler reads %q, %v, want %q", data, err, body)
		}
	}))
	first := must(d.Enter(bg, door.Request{}))
	done := make(chan int)
	for range 3 {
		go func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("POST", "/", strings.NewReader(body)))
			done <- w.Code
		}()
	}
	for d.Status().Waiting < 3 && !t.Failed() {
		time.Sleep(time.Millisecond)
	}
	first.Leave()
	for range 3 {
		if code := <-done; code != http.StatusOK {
			t.Errorf("status %d, want 200", code)
		}
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}
