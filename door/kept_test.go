package door_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/doortest"
	"github.com/sojourn-sched/sojourn/live"
)

// 16 requests leave each second. Those who come exactly when they were told find a place, whenever they were told, in whatever parts of a
// second.
func TestComesWhenTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := mustDoor(t, places, door.Options{MaxWaiting: 40})
		ctx, cancel := context.WithCancel(bg)
		var wg sync.WaitGroup
		for range places + 40 {
			wg.Go(func() {
				if p, err := d.Enter(ctx, door.Request{Tenant: "a"}); err == nil {
					<-ctx.Done()
					p.Leave()
				}
			})
			synctest.Wait() // in this order
		}
		come := func() {
			_, err := d.Enter(ctx, door.Request{Tenant: "a"})
			told := after(t, err)
			wg.Go(func() {
				time.Sleep(told)
				p, err := d.Enter(ctx, door.Request{Tenant: "a"})
				if err == nil {
					p.Leave()
				} else if !errors.Is(err, context.Canceled) {
					t.Errorf("who was told to come after %v is told: %v", told, err)
				}
			})
		}
		for range 17 {
			come()
		}
		time.Sleep(500 * time.Millisecond)
		come()
		time.Sleep(10 * time.Second)
		cancel()
		wg.Wait()
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
	})
}

// A place that was promised is there for a tenant that has as many waiting as it may have.
func TestPromiseAboveTheBoundOfATenant(t *testing.T) {
	inDoor(t, 1, door.Options{MaxWaiting: 2, MaxTenantWaiting: 1}, func(t *testing.T, d *door.Door) {
		first := must(d.Enter(bg, door.Request{Tenant: "a"}))
		gone, cancel := context.WithCancel(bg)
		var wg sync.WaitGroup
		enter := func(ctx context.Context, tenant string) {
			wg.Go(func() {
				if p, err := d.Enter(ctx, door.Request{Tenant: tenant}); err == nil {
					time.Sleep(time.Minute)
					p.Leave()
				}
			})
			synctest.Wait()
		}
		enter(gone, "b")
		enter(gone, "c")
		_, err := d.Enter(bg, door.Request{Tenant: "x"})
		told := after(t, err)
		cancel() // there is room, and x does not wait for its time
		synctest.Wait()
		enter(bg, "x")
		enter(bg, "y")
		_, err = d.Enter(bg, door.Request{Tenant: "x"})
		if !errors.Is(err, door.ErrTenant) {
			t.Errorf("a place is kept for x, and another one: %v", err)
		}
		time.Sleep(told)
		wg.Go(func() {
			p, err := d.Enter(bg, door.Request{Tenant: "x"})
			if err != nil {
				t.Errorf("x has come when it was told: %v", err)
				return
			}
			p.Leave()
		})
		synctest.Wait()
		first.Leave()
		wg.Wait()
	})
	// A promise keeps nobody out while places are free.
	inDoor(t, 1, door.Options{MaxWaiting: 1, MaxTenantWaiting: 1}, func(t *testing.T, d *door.Door) {
		first := must(d.Enter(bg, door.Request{Tenant: "a"}))
		go func() { must(d.Enter(bg, door.Request{Tenant: "b"})).Leave() }()
		synctest.Wait()
		if _, err := d.Enter(bg, door.Request{Tenant: "x"}); !errors.Is(err, door.ErrFull) {
			t.Fatal(err)
		}
		first.Leave()
		synctest.Wait()
		must(d.Enter(bg, door.Request{Tenant: "x"})).Leave()
	})
}

// What a refusal costs does not depend on how many tenants wait, nor on how many of them ask, for those that have too much here and for those that have
// waited too long.
func TestRefusalsTakeLittle(t *testing.T) {
	took := func(tenants int) (least time.Duration) {
		d := mustDoor(t, 1, door.Options{MaxTenantWaiting: 1})
		ctx, cancel := context.WithCancel(bg)
		first := must(d.Enter(bg, door.Request{Tenant: "first"}))
		var wg sync.WaitGroup
		for i := range tenants {
			wg.Go(func() { _, _ = d.Enter(ctx, door.Request{Tenant: fmt.Sprint(i)}) })
		}
		waitFor(t, "all wait", func() bool { return d.Status().Waiting == tenants })
		least = time.Hour
		for range 5 {
			begun := time.Now()
			for i := range 1000 {
				if _, err := d.Enter(bg, door.Request{Tenant: fmt.Sprint(i % tenants)}); !errors.Is(err, door.ErrTenant) {
					t.Fatal(err)
				}
			}
			least = min(least, time.Since(begun))
		}
		cancel()
		wg.Wait()
		first.Leave()
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
		return least
	}
	if few, many := took(10), took(5000); many > 20*few { // 500 times as many
		t.Errorf("1,000 refusals take %v with 10 tenants, %v with 5,000", few, many)
	}
}

// What a tenant is told that has too much here is near what Expect says: less by half a request of each other tenant in the mean, and no more.
func TestSoonIsLikeExpect(t *testing.T) {
	const inFlight = 2
	inDoor(t, inFlight, door.Options{MaxTenantWaiting: 4, MaxWait: 10 * time.Minute}, func(t *testing.T, d *door.Door) {
		r := rand.New(rand.NewPCG(1, 7))
		var wg sync.WaitGroup
		compared, longest, less := 0, 0., 0.
		for range 3000 {
			time.Sleep(doortest.Seconds(1 + r.ExpFloat64()))
			synctest.Wait()
			name := fmt.Sprint(r.IntN(8))
			expected := d.Expect(name).Seconds()
			size := doortest.Seconds((1 + float64(name[0]-'0')) * 2 * r.Float64())
			said := make(chan time.Duration, 1)
			wg.Go(func() {
				p, err := d.Enter(bg, door.Request{Tenant: name})
				if err == nil {
					time.Sleep(size)
					p.Leave()
				} else if no := (*door.Refusal)(nil); errors.As(err, &no) && errors.Is(err, door.ErrTenant) {
					said <- no.After
				}
			})
			synctest.Wait()
			if len(said) == 0 {
				continue
			}
			compared++
			told := (<-said).Seconds()
			longest = max(longest, told)
			less += expected - told
			if told > max(expected, 1)+1e-6 {
				t.Errorf("%s is told %.2f s, and expects %.2f s", name, told, expected)
			}
		}
		if less /= float64(compared); less > 36./2/inFlight { // half of 1 s to 8 s, on two places
			t.Errorf("what is told is less by %.2f s in the mean", less)
		}
		t.Logf("%d compared, the longest %.1f s, less by %.2f s in the mean", compared, longest, less)
		if compared < 100 || longest < 20 {
			t.Errorf("%d compared, the longest wait %.1f s: want more", compared, longest)
		}
		wg.Wait()
	})
}

// A sender is a body that takes a while, and then ends or fails.
type sender struct {
	io.Reader
	takes time.Duration
	fails func() error
}

func (s *sender) Read(p []byte) (int, error) {
	time.Sleep(s.takes)
	s.takes = 0
	if s.fails != nil {
		return 0, s.fails()
	}
	return s.Reader.Read(p)
}

// Who comes when it was told has its place, however slowly it sends, and nobody else has it meanwhile. If the body fails, the place is free.
func TestPlaceOfASlowSender(t *testing.T) {
	for what, fails := range map[string]func() error{"whole": nil, "cut": func() error { return io.ErrUnexpectedEOF }, "panic": func() error { panic("a body") }} {
		inDoor(t, 1, door.Options{MaxWaiting: 1, Tenant: byHeader("tenant")}, func(t *testing.T, d *door.Door) {
			first := must(d.Enter(bg, door.Request{Tenant: "a"}))
			second := make(chan *door.Pass, 1)
			go func() { second <- must(d.Enter(bg, door.Request{Tenant: "b"})) }()
			synctest.Wait()
			h := d.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			ask := func(takes time.Duration) int {
				defer func() { _ = recover() }()
				r := httptest.NewRequest("POST", "/", &sender{strings.NewReader("12345"), takes, fails})
				r.ContentLength = 5
				r.Header.Set("tenant", "x")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code
			}
			if code := ask(0); code != 503 {
				t.Fatalf("%d, want 503", code)
			}
			time.Sleep(time.Second)
			code := make(chan int, 1)
			go func() { code <- ask(time.Hour) }()
			time.Sleep(time.Minute)
			first.Leave()
			p := <-second
			if _, err := d.Enter(bg, door.Request{Tenant: "c"}); !errors.Is(err, door.ErrFull) || d.Status().Promised != 2 {
				t.Errorf("%s: another one comes while the body does: %v, %+v", what, err, d.Status())
			}
			time.Sleep(2 * time.Hour)
			synctest.Wait()
			if st := d.Status(); fails == nil && st.Waiting != 1 || fails != nil && st.Waiting+st.Promised > 0 {
				t.Errorf("%s: %+v", what, st)
			}
			p.Leave()
			if got, want := <-code, map[string]int{"whole": 200, "cut": 400}[what]; got != want {
				t.Errorf("%s: %d, want %d", what, got, want)
			}
		})
	}
}

// A reader that must not be read.
type unread struct {
	io.Reader
	t *testing.T
}

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body of a request that is refused is read")
	return 0, io.EOF
}

// A request that is refused at once is refused before its body is read, and has a place kept.
func TestRefusedUnread(t *testing.T) {
	inDoor(t, 1, door.Options{MaxWaiting: 1, Tenant: byHeader("tenant")}, func(t *testing.T, d *door.Door) {
		first := must(d.Enter(bg, door.Request{Tenant: "a"}))
		go func() { must(d.Enter(bg, door.Request{Tenant: "b"})).Leave() }()
		synctest.Wait()
		served := false
		h := d.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			served = err == nil && string(body) == "12345"
		}))
		ask := func(body io.Reader) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "/", body)
			r.ContentLength = 5
			r.Header.Set("tenant", "c")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		if w := ask(unread{nil, t}); w.Code != 503 || w.Header().Get("Retry-After") != "1" || d.Status().Promised != 1 || d.Status().Refused != 1 {
			t.Errorf("%d %v: %+v", w.Code, w.Header(), d.Status())
		}
		first.Leave()
		time.Sleep(time.Second)
		if w := ask(io.MultiReader(io.LimitReader(zeros{}, 0), &chars{"12345"})); w.Code != 200 || !served {
			t.Errorf("%d when it was told to come", w.Code)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type chars struct{ left string }

func (c *chars) Read(p []byte) (int, error) {
	if c.left == "" {
		return 0, io.EOF
	}
	n := copy(p, c.left[:1])
	c.left = c.left[n:]
	return n, nil
}

// Refusals of the pool count like those of the door.
func TestPoolIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1, MaxWaiting: 1}))
		d := must(door.New(p, door.Options{}))
		for range 2 {
			go func() {
				x := must(d.Enter(bg, door.Request{}))
				time.Sleep(10 * time.Second)
				x.Leave()
			}()
			synctest.Wait()
		}
		_, err := d.Enter(bg, door.Request{})
		var no *door.Refusal
		if !errors.As(err, &no) || no.Status != 503 || !errors.Is(err, door.ErrFull) || !errors.Is(err, live.ErrFull) || no.After < time.Second || no.After%time.Second != 0 {
			t.Errorf("%v", err)
		}
		if st := d.Status(); st.Refused != 1 || st.Waiting != 1 {
			t.Errorf("%+v", st)
		}
		time.Sleep(time.Minute)
		if err := errors.Join(d.Close(bg), p.Close(bg)); err != nil {
			t.Error(err)
		}
	})
}
