package door_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/doortest"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
	"github.com/sojourn-sched/sojourn/rtmr"
)

var bg = context.Background()

func must[P any](p P, err error) P {
	if err != nil {
		panic(err)
	}
	return p
}

// inDoor runs a test in a bubble, with a door that is closed at the end and has nothing left: otherwise the bubble fails.
func inDoor(t *testing.T, inFlight int, o door.Options, test func(t *testing.T, d *door.Door)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := mustDoor(t, inFlight, o)
		test(t, d)
		time.Sleep(24 * time.Hour)
		st := d.Status()
		if st.Waiting+st.Running+st.Promised+len(st.Tenants) > 0 {
			t.Errorf("left at the end: %+v", st)
		}
		if err := d.Close(bg); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// Random tenants, sessions, clients that go, bounds, and a change of how many are let in: no more are in the handler, no place is free
// while somebody waits, each request is admitted, refused or gone, and nothing is left.
func TestLaws(t *testing.T) {
	for seed := range uint64(15) {
		r := rand.New(rand.NewPCG(seed, 0))
		o := door.Options{MaxWaiting: 1 + r.IntN(40), MaxTenantWaiting: r.IntN(15), MaxTenants: 1 + r.IntN(6), MaxWait: time.Duration(r.IntN(3)) * 10 * time.Second}
		inDoor(t, 3, o, func(t *testing.T, d *door.Door) {
			var running, admitted, refused, left atomic.Int64
			var limit atomic.Int64
			limit.Store(3)
			var before door.Status
			var wg sync.WaitGroup
			for i := range 2000 {
				time.Sleep(doortest.Seconds(r.ExpFloat64() * .3))
				if i%100 == 99 {
					synctest.Wait()
					n := 1 + r.IntN(5)
					limit.Store(max(int64(n), running.Load())) // who is in the handler stays
					if err := d.SetInFlight(n); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				st := d.Status()
				if before.InFlight == st.InFlight && st.Running > st.InFlight && st.Admitted > before.Admitted {
					t.Fatalf("%d were let in while more than %d were in the handler", st.Admitted-before.Admitted, st.InFlight)
				}
				before = st
				if st.Waiting > 0 && st.Running < st.InFlight {
					t.Fatalf("%d wait while %d of %d are in the handler", st.Waiting, st.Running, st.InFlight)
				} else if st.Waiting > 2*o.MaxWaiting || st.Running != int(running.Load()) {
					t.Fatalf("%d wait, %d run; want at most %d, and %d", st.Waiting, st.Running, 2*o.MaxWaiting, running.Load())
				}
				q := door.Request{Tenant: fmt.Sprint(r.IntN(8))}
				if r.IntN(2) == 0 {
					q.Session = fmt.Sprint(r.IntN(4))
				}
				ctx, cancel := context.WithTimeout(bg, doortest.Seconds(r.ExpFloat64()*10))
				size := doortest.Seconds(r.ExpFloat64() * 2)
				wg.Go(func() {
					defer cancel()
					p, err := d.Enter(ctx, q)
					var no *door.Refusal
					switch {
					case err == nil:
						admitted.Add(1)
					case errors.As(err, &no):
						refused.Add(1)
						return
					case errors.Is(err, context.DeadlineExceeded):
						left.Add(1)
						return
					default:
						t.Errorf("Enter: %v", err)
						return
					}
					if n := running.Add(1); n > limit.Load() {
						t.Errorf("%d are in the handler, want %d", n, limit.Load())
					}
					time.Sleep(size)
					running.Add(-1)
					p.Leave()
					p.Leave()
				})
			}
			wg.Wait()
			st := d.Status()
			if sum := admitted.Load() + refused.Load() + left.Load(); sum != 2000 || st.Admitted != uint64(admitted.Load()) || st.Refused != uint64(refused.Load()) {
				t.Errorf("%d admitted, %d refused, %d gone, and the door says %+v", admitted.Load(), refused.Load(), left.Load(), st)
			}
		})
	}
}

// One whose client goes while it waits is never let in; one that comes with an ended context is not either, though a place is free.
func TestGoneWhileWaiting(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		gone := errors.New("gone")
		over, cancel := context.WithCancelCause(bg)
		cancel(gone)
		if _, err := d.Enter(over, door.Request{}); !errors.Is(err, gone) {
			t.Errorf("an ended context: %v", err)
		}
		p := must(d.Enter(bg, door.Request{}))
		ctx, cancel := context.WithCancelCause(bg)
		result := make(chan error, 1)
		go func() { _, err := d.Enter(ctx, door.Request{Tenant: "b"}); result <- err }()
		synctest.Wait()
		cancel(gone)
		if err := <-result; !errors.Is(err, gone) {
			t.Errorf("gone while it waits: %v", err)
		}
		p.Leave()
		if st := d.Status(); st.Admitted != 1 || st.Waiting+st.Running > 0 {
			t.Errorf("status %+v", st)
		}
	})
}

// Bounds: 429 and ErrTenant for one's own line, 503 and ErrFull for that of all, 503 and ErrTooLong after MaxWait. All say when to come again.
func TestBounds(t *testing.T) {
	inDoor(t, 1, door.Options{MaxWaiting: 3, MaxTenantWaiting: 2, MaxWait: time.Minute}, func(t *testing.T, d *door.Door) {
		first := must(d.Enter(bg, door.Request{Tenant: "a"}))
		time.Sleep(10 * time.Second)
		first.Leave() // from now on the door knows how long requests take
		p := must(d.Enter(bg, door.Request{Tenant: "a"}))
		results := make(chan error, 10)
		enter := func(tenant string) {
			go func() { _, err := d.Enter(bg, door.Request{Tenant: tenant}); results <- err }()
			synctest.Wait()
		}
		refusal := func(what string, status int, why error) {
			t.Helper()
			var no *door.Refusal
			if err := <-results; !errors.As(err, &no) || no.Status != status || !errors.Is(err, why) || no.After < time.Second || no.After > 2*time.Minute {
				t.Errorf("%s: %v, want %d, %v, and some seconds", what, err, status, why)
			}
		}
		enter("a")
		enter("a")
		enter("a")
		refusal("a third one of a waits", 429, door.ErrTenant)
		enter("b")
		enter("b")
		refusal("a has 3 here: its latest is pushed out for the second one of b", 503, door.ErrPushed)
		enter("c")
		refusal("a and b have 2 here", 503, door.ErrPushed)
		for range 3 {
			refusal("after a minute", 503, door.ErrTooLong)
		}
		p.Leave()
	})
}

// Whoever is refused while all have the same is told ErrFull.
func TestFull(t *testing.T) {
	inDoor(t, 1, door.Options{MaxWaiting: 1}, func(t *testing.T, d *door.Door) {
		p := must(d.Enter(bg, door.Request{Tenant: "a"}))
		go func() { must(d.Enter(bg, door.Request{Tenant: "b"})).Leave() }()
		synctest.Wait()
		_, err := d.Enter(bg, door.Request{Tenant: "c"})
		var no *door.Refusal
		if !errors.As(err, &no) || no.Status != 503 || !errors.Is(err, door.ErrFull) || no.After != time.Second {
			t.Errorf("%v, want 503 and a second", err)
		}
		p.Leave()
		time.Sleep(time.Second)
		must(d.Enter(bg, door.Request{Tenant: "c"})).Leave()
	})
}

// A deadline that cannot be met is refused with 429 and the time after which the same request would be accepted, and then is accepted and met.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := must(live.New(must(rtmr.New(rtmr.Options{})), live.Options{Slots: 1}))
		d := must(door.New(pool, door.Options{}))
		q := door.Request{Estimate: 10 * time.Second, Within: 15 * time.Second}
		p := must(d.Enter(bg, door.Request{Estimate: 10 * time.Second, Within: 20 * time.Second}))
		time.AfterFunc(10*time.Second, p.Leave)
		_, err := d.Enter(bg, q)
		var no *door.Refusal
		if !errors.As(err, &no) || no.Status != 429 || !errors.Is(err, door.ErrDeadline) || no.After != 5*time.Second || no.Cause == nil {
			t.Fatalf("%v, want 429 and 5 s", err)
		}
		time.Sleep(no.After)
		came := time.Now()
		p, err = d.Enter(bg, q)
		if err != nil {
			t.Fatalf("after 5 s: %v", err)
		}
		time.Sleep(q.Estimate)
		p.Leave()
		if took := time.Since(came); took > q.Within {
			t.Errorf("it took %v, want %v", took, q.Within)
		}
		if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// What strangers say as a name: different names are different tenants, none nests or is longer than 64 bytes, and the door goes on.
func TestNames(t *testing.T) {
	names := []string{"", "a", "A", "a/b", "a/", "/", "*", "~", "~others", "~anonymous", "\x00", "\xff\xfe", strings.Repeat("a/", 20) + "b", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20) + "y",
		strings.Repeat("x", 64), strings.Repeat("x", 65), "Bearer sk-123", "e3b0c44298fc1c149afbf4c8996fb924", "a\nb", "ä", "%2f", "..",
		"203.0.113.7", "203.0.113.7, 10.0.0.1", "203.0.113.7,10.0.0.1", "2001:db8::1", "[2001:db8::1]:443", "fe80::1%eth0"} // as proxies say from where one comes
	inDoor(t, len(names), door.Options{}, func(t *testing.T, d *door.Door) {
		var passes []*door.Pass
		for _, name := range names {
			passes = append(passes, must(d.Enter(bg, door.Request{Tenant: name, Session: name})))
		}
		st := d.Status()
		if len(st.Tenants) != len(names) {
			t.Errorf("%d tenants of %d names", len(st.Tenants), len(names))
		}
		if !slices.ContainsFunc(st.Tenants, func(tn door.TenantStatus) bool { return tn.Name == "~anonymous" }) {
			t.Errorf("nobody who looks at %+v sees which has no name", st.Tenants)
		}
		for _, tn := range st.Tenants {
			if len(tn.Name) > 64 || !utf8.ValidString(tn.Name) || strings.ContainsAny(tn.Name, "/*\x00\n%") {
				t.Errorf("a tenant is called %q", tn.Name)
			}
		}
		for _, p := range passes {
			p.Leave()
		}
	})
	inDoor(t, 10, door.Options{Paths: true}, func(t *testing.T, d *door.Door) {
		for name, want := range map[string]string{"a/b": "a/b", "b": "b", "a/b/c/d/e/f": "a/b/c/"} {
			p := must(d.Enter(bg, door.Request{Tenant: name}))
			if got := d.Status().Tenants[0].Name; !strings.HasPrefix(got, want) || strings.Count(got, "/") > 3 {
				t.Errorf("%q is %q, want %q", name, got, want)
			}
			p.Leave()
		}
	})
}

// However many names strangers invent, the door tells so many apart, and nobody is refused for that.
func TestTooManyTenants(t *testing.T) {
	inDoor(t, 1, door.Options{MaxTenants: 10}, func(t *testing.T, d *door.Door) {
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				p := must(d.Enter(bg, door.Request{Tenant: fmt.Sprint("invented", i)}))
				time.Sleep(time.Millisecond)
				p.Leave()
			})
		}
		synctest.Wait()
		st := d.Status()
		if len(st.Tenants) > 11 || st.Waiting != 499 || st.Tenants[0].Name != "~others" {
			t.Errorf("%d tenants, %d wait, the first one %+v; want 11, 499 and the others", len(st.Tenants), st.Waiting, st.Tenants[0])
		}
		wg.Wait()
	})
}

// Where there is no room for one more tenant, those who owe and have gone are forgotten before somebody is put among the others.
func TestDebtsMakeRoom(t *testing.T) {
	inDoor(t, 2, door.Options{MaxTenants: 2}, func(t *testing.T, d *door.Door) {
		a := must(d.Enter(bg, door.Request{Tenant: "a"}))
		for i := range 5 {
			name := fmt.Sprint("b", i)
			b := must(d.Enter(bg, door.Request{Tenant: name}))
			time.Sleep(10 * time.Second)
			if st := d.Status(); !slices.ContainsFunc(st.Tenants, func(s door.TenantStatus) bool { return s.Name == name }) {
				t.Errorf("%s is not among %+v", name, st.Tenants)
			}
			b.Leave()
		}
		a.Leave()
	})
}

// Bad input is an error in words, not a panic, and the door goes on.
func TestBadInput(t *testing.T) {
	for _, n := range []int{0, -1, math.MinInt, sojourn.MaxSlots + 1} {
		if _, err := door.NewFair(n, door.Options{}); err == nil || !strings.Contains(err.Error(), "InFlight") {
			t.Errorf("InFlight %d: %v", n, err)
		}
	}
	for _, o := range []door.Options{{MaxWaiting: -1}, {MaxTenantWaiting: -1}, {MaxTenants: -1}, {MaxWait: -1}} {
		if _, err := door.NewFair(1, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := door.New(nil, door.Options{}); err == nil {
		t.Error("no pool: no error")
	}
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		for i, q := range []door.Request{{Estimate: -1}, {Within: -1}, {Estimate: math.MinInt64}} {
			var no *door.Refusal
			if _, err := d.Enter(bg, q); !errors.As(err, &no) || no.Status != 500 || !errors.Is(err, door.ErrRequest) || no.Cause == nil || !strings.Contains(no.Cause.Error(), "negative") {
				t.Errorf("%+v: %v, want 500, and a cause for who runs the server", q, err)
			}
			if n := d.Status().Refused; n != uint64(i+1) {
				t.Errorf("%d are refused, want %d", n, i+1)
			}
		}
		for _, q := range []door.Request{{Estimate: math.MaxInt64}, {Within: math.MaxInt64}, {Estimate: 1, Within: 1}} {
			p, err := d.Enter(bg, q)
			var no *door.Refusal
			if err != nil && (!errors.As(err, &no) || no.Status != 500) {
				t.Errorf("%+v: %v", q, err)
			}
			if p != nil {
				p.Charge(math.MaxUint64)
				p.Leave()
				p.Charge(1)
			}
		}
		if d.SetInFlight(0) == nil || d.SetInFlight(sojourn.MaxSlots+1) == nil || d.SetWeight("a", -1) == nil {
			t.Error("no error")
		}
	})
	store := must(journal.OpenFiles(t.TempDir()))
	j := must(journal.Open(store, must(fifo.New(fifo.Options{})), journal.Options{}))
	pool := must(live.New(j, live.Options{Slots: 1}))
	if _, err := door.New(pool, door.Options{}); err == nil || !strings.Contains(err.Error(), "durable") {
		t.Errorf("a durable pool: %v", err)
	}
	if err := errors.Join(pool.Close(bg), j.Close()); err != nil {
		t.Error(err)
	}
	pool = must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1}))
	must(pool.AddSlots(1, sojourn.Slot{Class: 1}))
	if err := pool.Drain(0); err != nil {
		t.Fatal(err)
	}
	if _, err := door.New(pool, door.Options{}); err == nil {
		t.Error("a pool without slots of class 0: no error")
	}
	if err := pool.Close(bg); err != nil {
		t.Error(err)
	}
}

// A tenant that is paused waits, however many places are free; others go on. A weight of 3 gets three times as much.
func TestPauseAndWeight(t *testing.T) {
	inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
		if err := d.Pause("a", true); err != nil {
			t.Fatal(err)
		}
		entered := make(chan *door.Pass, 1)
		go func() { entered <- must(d.Enter(bg, door.Request{Tenant: "a"})) }()
		synctest.Wait()
		must(d.Enter(bg, door.Request{Tenant: "b"})).Leave()
		if len(entered) > 0 {
			t.Error("a paused tenant was let in")
		}
		if err := d.Pause("a", false); err != nil {
			t.Fatal(err)
		}
		(<-entered).Leave()

		if err := d.SetWeight("a", 3); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(bg, 1000*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var got [2]atomic.Int64
		for i := range 20 {
			wg.Go(func() {
				for ctx.Err() == nil {
					p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])})
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					p.Leave()
					got[i%2].Add(1)
				}
			})
		}
		wg.Wait()
		if a, b := got[0].Load(), got[1].Load(); math.Abs(float64(a)/float64(b)-3) > .05 {
			t.Errorf("a has had %d and b %d, want three times as much", a, b)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		pool := must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1}))
		d := must(door.New(pool, door.Options{}))
		if err := d.Pause("a", true); !errors.Is(err, sojourn.ErrUnsupported) {
			t.Errorf("fifo: %v", err)
		}
		must(d.Enter(bg, door.Request{Tenant: "a", Session: "s"})).Leave()
		if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// A tenant that is paused while it waits, by itself or with its group, takes no part in the order of the others: Expect is right for those
// that come, and for itself when it goes on, and those that have left are forgotten.
func TestExpectBesideAPausedTenant(t *testing.T) {
	for _, name := range []string{"g", "g/p"} {
		inDoor(t, 1, door.Options{Paths: true, MaxTenantWaiting: 9}, func(t *testing.T, d *door.Door) {
			var wg sync.WaitGroup
			var served sync.Map
			serve := func(ctx context.Context, tenant string) {
				for p, err := d.Enter(ctx, door.Request{Tenant: tenant}); err == nil; p, err = d.Enter(ctx, door.Request{Tenant: tenant}) {
					served.Store(tenant, true)
					time.Sleep(time.Second)
					p.Leave()
				}
			}
			// comes asks what one more request would wait after so many others, how long it does, and what a further one is told.
			comes := func(tenant string, others int) {
				t.Helper()
				for range others {
					wg.Go(func() {
						p := must(d.Enter(bg, door.Request{Tenant: tenant}))
						time.Sleep(time.Second)
						p.Leave()
					})
					synctest.Wait()
				}
				told, begun := d.Expect(tenant), time.Now()
				entered := make(chan *door.Pass)
				go func() { entered <- must(d.Enter(bg, door.Request{Tenant: tenant})) }()
				synctest.Wait()
				now, cancel := context.WithTimeout(bg, time.Nanosecond)
				defer cancel()
				_, err := d.Enter(now, door.Request{Tenant: tenant})
				if no := (*door.Refusal)(nil); !errors.As(err, &no) || (told-no.After).Abs() > 3*time.Second {
					t.Errorf("%s was told %v, and then %v", tenant, told, err)
				}
				p := <-entered
				if took := time.Since(begun); (told - took).Abs() > 3*time.Second {
					t.Errorf("%s waits for %v, and was told %v", tenant, took, told)
				}
				time.Sleep(time.Second)
				p.Leave()
			}
			if err := d.Pause(name, true); err != nil {
				t.Fatal(err)
			}
			over, cancel := context.WithCancel(bg)
			gone, giveUp := context.WithCancel(bg)
			for range 4 {
				wg.Go(func() { serve(gone, "g/p") })
			}
			synctest.Wait()
			for i := range 18 { // as many as may wait
				wg.Go(func() { serve(over, string("ab"[i%2])) })
			}
			time.Sleep(100*time.Second + time.Millisecond)
			comes("new", 8)
			time.Sleep(20*time.Second + time.Millisecond) // new has left
			if st := d.Status(); len(st.Tenants) != 3 {
				t.Errorf("a, b and g/p are here: %+v", st.Tenants)
			}
			if _, ok := served.Load("g/p"); ok {
				t.Error("g/p was served in its pause")
			}
			if err := d.Pause(name, false); err != nil {
				t.Fatal(err)
			}
			comes("g/p", 4)
			giveUp()
			cancel()
			wg.Wait()
		})
	}
}

// Close serves those who wait, refuses those who come, and at the end of its context all who wait.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := mustDoor(t, 1, door.Options{})
		p := must(d.Enter(bg, door.Request{}))
		var served atomic.Int64
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				p := must(d.Enter(bg, door.Request{}))
				time.Sleep(time.Second)
				served.Add(1)
				p.Leave()
			})
		}
		synctest.Wait()
		closed := make(chan error)
		go func() { closed <- d.Close(bg) }()
		synctest.Wait()
		var no *door.Refusal
		if _, err := d.Enter(bg, door.Request{}); !errors.As(err, &no) || no.Status != 503 || !errors.Is(err, door.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		p.Leave()
		if err := <-closed; err != nil || served.Load() != 3 {
			t.Errorf("Close: %v, %d were served, want 3", err, served.Load())
		}
		wg.Wait()
		if err := d.Close(bg); err != nil {
			t.Errorf("Close again: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := mustDoor(t, 1, door.Options{})
		p := must(d.Enter(bg, door.Request{}))
		waiting := make(chan error, 1)
		go func() { _, err := d.Enter(bg, door.Request{}); waiting <- err }()
		go func() { <-p.Context().Done(); p.Leave() }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if err := <-waiting; !errors.Is(err, door.ErrClosed) {
			t.Errorf("one that waits: %v", err)
		}
	})
}

// The page of the pool shows requests as it shows jobs: whose they are, those that run, and those that wait.
func TestPageShowsRequests(t *testing.T) {

	pool := must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1}))
	d := must(door.New(pool, door.Options{}))
	p := must(d.Enter(bg, door.Request{Tenant: "alice"}))
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: "bob"}) })
	waitFor(t, "waiting", func() bool { return len(pool.Handles()) == 2 })
	w := httptest.NewRecorder()
	statuspage.Handler(pool).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	for _, name := range []string{"alice", "bob"} {
		if !strings.Contains(w.Body.String(), name) {
			t.Errorf("the page, %d with %d bytes, does not say %s", w.Code, w.Body.Len(), name)
		}
	}
	cancel()
	wg.Wait()
	p.Leave()
	if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
		t.Error(err)
	}
}

// A pool of one's own outlives its door: those who wait are refused at the end of the context of Close, and nobody else is disturbed.
func TestCloseOfAPoolOfOnesOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1}))
		d := must(door.New(pool, door.Options{}))
		p := must(d.Enter(bg, door.Request{}))
		waiting := make(chan error, 1)
		go func() { _, err := d.Enter(bg, door.Request{}); waiting <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(bg, time.Second)
		defer cancel()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		synctest.Wait()
		if len(waiting) == 0 || !errors.Is(<-waiting, door.ErrClosed) {
			t.Error("one that waits was not refused")
		}
		if p.Context().Err() != nil {
			t.Error("one that runs was stopped")
		}
		p.Leave()
		if err := pool.Close(bg); err != nil {
			t.Error(err)
		}
	})
}

// What has been used is charged, whatever came of it: a tenant whose requests end by panics gets no more than the other one.
func TestPanicsAreCharged(t *testing.T) {
	inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
		ctx, cancel := context.WithTimeout(bg, 1000*time.Second)
		defer cancel()
		var got [2]time.Duration
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				for ctx.Err() == nil {
					func() {
						defer func() { _ = recover() }()
						p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])})
						if err != nil {
							return
						}
						defer p.Leave()
						time.Sleep(time.Duration(1+i%2) * time.Second)
						got[i%2] += time.Duration(1+i%2) * time.Second
						if i%2 == 1 {
							panic("no")
						}
					}()
				}
			})
		}
		wg.Wait()
		if d := got[0] - got[1]; d.Abs() > 6*time.Second {
			t.Errorf("got %v, want the same", got)
		}
	})
}

// Requests and jobs of a pool share its slots, and each other's order.
func TestPoolWithJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1}))
		d := must(door.New(pool, door.Options{}))
		var order []string
		h := must(pool.Submit(bg, live.Job{Phases: []live.Phase{{Tasks: 2, Run: func(context.Context, live.Task) error {
			order = append(order, "job")
			time.Sleep(time.Second)
			return nil
		}}}}))
		p := must(d.Enter(bg, door.Request{}))
		order = append(order, "request")
		if err := h.Wait(bg); err != nil {
			t.Error(err)
		}
		p.Leave()
		if want := []string{"job", "job", "request"}; !slices.Equal(order, want) {
			t.Errorf("order %q, want %q", order, want)
		}
		if p.Waited() != 2*time.Second {
			t.Errorf("waited %v, want 2s", p.Waited())
		}
		if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}

// A place that was promised is not given to others, and the promise passes.
func TestPromise(t *testing.T) {
	inDoor(t, 1, door.Options{MaxWaiting: 2}, func(t *testing.T, d *door.Door) {
		serve := func(tenant string) *door.Pass {
			p := must(d.Enter(bg, door.Request{Tenant: tenant}))
			go func() { time.Sleep(10 * time.Second); p.Leave() }()
			return p
		}
		serve("first")
		time.Sleep(10 * time.Second)
		synctest.Wait()
		serve("a")
		go serve("b")
		go serve("c")
		synctest.Wait()
		_, err := d.Enter(bg, door.Request{Tenant: "d"})
		told := after(t, err)
		if told != 10*time.Second {
			t.Errorf("told to come after %v, want 10s", told)
		}
		time.Sleep(told) // a has left, and one of two waits
		synctest.Wait()
		if _, err := d.Enter(bg, door.Request{Tenant: "e"}); !errors.Is(err, door.ErrFull) {
			t.Errorf("another one gets the place: %v", err)
		}
		entered := make(chan error, 1)
		go func() { p, err := d.Enter(bg, door.Request{Tenant: "d"}); entered <- err; p.Leave() }()
		synctest.Wait()
		if st := d.Status(); st.Waiting != 2 {
			t.Errorf("%d wait, want d as well", st.Waiting)
		}
		if err := <-entered; err != nil {
			t.Error(err)
		}
	})
}

// What a request says that it has cost is what its tenant is charged, in any unit that all have in common: whose requests cost ten times
// as much gets a tenth of them.
func TestCharge(t *testing.T) {
	inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
		ctx, cancel := context.WithTimeout(bg, 2000*time.Second)
		defer cancel()
		var got [2]atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for ctx.Err() == nil {
					p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])})
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					door.Charge(p.Context(), 7) // while it streams; the last one counts
					door.Charge(p.Context(), uint64(100+900*(i%2)))
					p.Leave()
					got[i%2].Add(1)
				}
			})
		}
		wg.Wait()
		if a, b := got[0].Load(), got[1].Load(); math.Abs(float64(a)/float64(b)-10) > .5 {
			t.Errorf("a has had %d and b %d, want ten times as much", a, b)
		}
	})
}

// Requests that fail before they know what they have cost are charged by their time, at the price of late: who says nothing gets no more.
func TestChargeOfFew(t *testing.T) {
	inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
		ctx, cancel := context.WithTimeout(bg, 2000*time.Second)
		defer cancel()
		var got [2]atomic.Int64
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				for ctx.Err() == nil {
					p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i%2])})
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					if i%2 == 0 {
						door.Charge(p.Context(), 50)
					} else if i%4 == 1 {
						door.Charge(p.Context(), 0)
					}
					p.Leave()
					got[i%2].Add(1)
				}
			})
		}
		wg.Wait()
		if a, b := got[0].Load(), got[1].Load(); math.Abs(float64(a)/float64(b)-1) > .05 {
			t.Errorf("a has had %d and b %d, want the same", a, b)
		}
	})
}

// One tenant says once what is wrong by far, in any direction, before the others or between them. Tenants whose requests say nothing get as much as
// those that say what they cost, and the others' price is what it was.
func TestWrongCharge(t *testing.T) {
	for _, wrong := range []uint64{1, 1e9, 1 << 53, 1 << 63, math.MaxUint64 - 9} {
		for _, at := range []time.Duration{0, 99 * time.Second} {
			inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
				ctx, cancel := context.WithTimeout(bg, 1000*time.Second)
				defer cancel()
				var got [3]atomic.Int64
				var wg sync.WaitGroup
				one := func(i int, charge uint64) bool {
					p, err := d.Enter(ctx, door.Request{Tenant: string("abc"[i])})
					if err != nil {
						return false
					}
					time.Sleep(time.Second)
					if charge > 0 {
						p.Charge(charge)
					}
					p.Leave()
					got[i].Add(1)
					return true
				}
				wg.Go(func() { time.Sleep(at); one(1, wrong) })
				time.Sleep(time.Nanosecond) // b is first if it comes at 0
				for i := range 20 {
					wg.Go(func() {
						for one(i%2*2, uint64(100*(1-i%2))) {
						}
					})
				}
				wg.Wait()
				if a, c := float64(got[0].Load()), float64(got[2].Load()); math.Abs(a/c-1) > .05 {
					t.Errorf("b has said %d after %v: a has had %v and c %v, want the same", wrong, at, a, c)
				}
			})
		}
	}
}

// One tenant says once what is wrong by far. Tenants that come at the same time afterwards, and one that comes later, get the same.
func TestWrongChargeBeforeOthersCome(t *testing.T) {
	for _, wrong := range []uint64{1, 1e9, 1 << 53} {
		for _, before := range []int{0, 2, 50} {
			inDoor(t, 4, door.Options{}, func(t *testing.T, d *door.Door) {
				ctx, cancel := context.WithTimeout(bg, 600*time.Second)
				defer cancel()
				var got [3]atomic.Int64 // from 300 s on
				one := func(tenant string, charge uint64) bool {
					p, err := d.Enter(ctx, door.Request{Tenant: tenant})
					if err != nil {
						return false
					}
					time.Sleep(time.Second)
					p.Charge(charge)
					p.Leave()
					return true
				}
				for range before {
					one("wrong", 100)
				}
				one("wrong", wrong)
				began := time.Now()
				var wg sync.WaitGroup
				for i := range 24 {
					wg.Go(func() {
						time.Sleep(time.Duration(i/16) * 200 * time.Second)
						for one(string("abc"[i/8]), 100) {
							if time.Since(began) > 300*time.Second {
								got[i/8].Add(1)
							}
						}
					})
				}
				wg.Wait()
				for i := range got {
					if n := got[i].Load(); math.Abs(float64(n)/float64(got[0].Load())-1) > .05 {
						t.Errorf("%d was said after %d requests: tenant %d had %d from 300 s on, and the first one %d", wrong, before, i, n, got[0].Load())
					}
				}
			})
		}
	}
}

// A cost above 2^53 counts as 2^53: who has said the greatest number has the same debt.
func TestHugeCosts(t *testing.T) {
	inDoor(t, 2, door.Options{}, func(t *testing.T, d *door.Door) {
		for range 3 { // from here on costs count, and not times
			p := must(d.Enter(bg, door.Request{Tenant: "c"}))
			p.Charge(1)
			p.Leave()
		}
		ctx, cancel := context.WithTimeout(bg, 200*time.Second)
		defer cancel()
		var got [2]int64
		var wg sync.WaitGroup
		for i, first := range []uint64{1 << 53, math.MaxUint64} {
			for range 5 {
				wg.Go(func() {
					for charge := first; ; charge = 1 {
						p, err := d.Enter(ctx, door.Request{Tenant: string("ab"[i])})
						if err != nil {
							return
						}
						time.Sleep(time.Second)
						p.Charge(charge)
						p.Leave()
						atomic.AddInt64(&got[i], 1)
					}
				})
			}
		}
		wg.Wait()
		if math.Abs(float64(got[0]-got[1])) > 6 {
			t.Errorf("got %v, want the same", got)
		}
	})
}

// With 10,000 waiting, of 200 tenants or of as many, the question allocates next to nothing: BenchmarkExpect has the time.
func TestExpectTakesLittle(t *testing.T) {
	for _, tenants := range []int{200, 10_000} {
		inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
			ctx, cancel := context.WithCancel(bg)
			first := must(d.Enter(bg, door.Request{}))
			var wg sync.WaitGroup
			for i := range 9_999 {
				wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: fmt.Sprint(i % tenants)}) })
			}
			synctest.Wait()
			if n := testing.AllocsPerRun(10, func() { d.Expect("7") }); n > 2 {
				t.Errorf("%v allocations, want at most 2", n)
			}
			cancel()
			wg.Wait()
			first.Leave()
		})
	}
}

// One call of Expect with 10,000 waiting.
func BenchmarkExpect(b *testing.B) {
	for _, tenants := range []int{200, 10_000} {
		b.Run(fmt.Sprint("tenants=", tenants), func(b *testing.B) {
			d := mustDoor(b, 1, door.Options{})
			ctx, cancel := context.WithCancel(bg)
			first := must(d.Enter(bg, door.Request{}))
			var wg sync.WaitGroup
			for i := range 9_999 {
				wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: fmt.Sprint(i % tenants)}) })
			}
			for d.Status().Waiting < 9_999 {
				time.Sleep(time.Millisecond)
			}
			for b.Loop() {
				d.Expect("7")
			}
			cancel()
			wg.Wait()
			first.Leave()
			if err := d.Close(bg); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// What a request costs that waits among 10,000 others of 200 tenants, is in the handler for no time, and leaves; and one that need not wait.
// A request of a tenant that has no other here makes five objects at most, since its tenant and its pool have the memory of others that have gone.
func TestOneRequestAllocates(t *testing.T) {
	d := mustDoor(t, places, door.Options{})
	tenants := [...]string{"a", "b", "c"}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		i++
		must(d.Enter(bg, door.Request{Tenant: tenants[i%len(tenants)]})).Leave()
	}); n > 5 {
		t.Errorf("a request takes %v allocations, want 5", n)
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// heapInUse returns how many bytes live objects take.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A request that waits takes at most 1.5 kB beside the stack of its goroutine.
func TestWaitingTakesLittle(t *testing.T) {
	long(t)
	synctest.Test(t, func(t *testing.T) {
		const n = 10_000
		ctx, cancel := context.WithCancel(bg)
		var wg sync.WaitGroup
		d := mustDoor(t, 1, door.Options{})
		p := must(d.Enter(bg, door.Request{Tenant: "first"}))
		parked := make(chan struct{})
		for i := range n {
			tenant := fmt.Sprint("tenant", i%200)
			wg.Go(func() {
				<-parked
				_, _ = d.Enter(ctx, door.Request{Tenant: tenant})
			})
		}
		synctest.Wait()
		before := heapInUse()
		close(parked)
		synctest.Wait()
		each := (heapInUse() - before) / n
		t.Logf("%d bytes each", each)
		if each > 1536 {
			t.Error("want 1,536")
		}
		cancel()
		wg.Wait()
		p.Leave()
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
	})
}

func BenchmarkEnter(b *testing.B) {
	b.Run("semaphore/waiting=10_000", func(b *testing.B) { benchmarkWaiting(b, doortest.Semaphore(places)) })
	b.Run("door/waiting=10_000", func(b *testing.B) { benchmarkWaiting(b, doortest.Door(places)) })
	b.Run("door/waiting=0", func(b *testing.B) {
		d := mustDoor(b, places, door.Options{})
		b.ReportAllocs()
		for b.Loop() {
			must(d.Enter(bg, door.Request{Tenant: "a"})).Leave()
		}
	})
}

func benchmarkWaiting(b *testing.B, s doortest.System) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for i := range 10_000 + places {
		tenant := fmt.Sprint("tenant", i%200)
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				leave := must(s.Enter(bg, tenant, ""))
				runtime.Gosched()
				leave(0)
			}
		})
	}
	wg.Wait()
}

// The sessions of a tenant count together: the page says which tenant floods, and who is entitled to how much.
func TestPageShowsSessions(t *testing.T) { synctest.Test(t, testSessionsOnPage) }

func testSessionsOnPage(t *testing.T) {
	rec := statuspage.NewRecorder()
	pool := must(live.New(must(fair.New(fair.Options{})), live.Options{Slots: 4, Observer: rec}))
	d := must(door.New(pool, door.Options{}))
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	enter := func(tenant, session string) {
		wg.Go(func() {
			if p, err := d.Enter(ctx, door.Request{Tenant: tenant, Session: session}); err == nil {
				<-ctx.Done()
				p.Leave()
			}
		})
		synctest.Wait()
	}
	for i := range 40 {
		enter("flood", fmt.Sprint("session", i))
	}
	time.Sleep(5 * time.Second) // who floods has waited longer
	enter("light", "one")
	time.Sleep(20 * time.Second)
	w := httptest.NewRecorder()
	statuspage.Handler(pool, statuspage.WithRecorder(rec)).ServeHTTP(w, httptest.NewRequest("GET", "/status.json", nil))
	if body := w.Body.String(); !strings.Contains(body, `"says":"light waits 20 s: flood holds 4 of 4 slots, 1 above its share`) || !strings.Contains(body, `{"name":"flood","live_jobs":40,`) || strings.Count(body, `"live_jobs":`) != 3 {
		t.Errorf("the page is %s", body)
	}
	cancel()
	wg.Wait()
	if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
		t.Error(err)
	}
}
