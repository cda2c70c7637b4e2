package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// A world is a pool that is flooded, and what its page must say.
type world struct {
	name   string
	policy func() (core.Policy, error)
	flood  func(b *board)
	says   string // a regular expression of JavaScript
}

func pools(of map[string]fair.Pool) func() (core.Policy, error) {
	return func() (core.Policy, error) { return fair.New(fair.Options{Pools: of}) }
}

// long is longer than a test takes, so that what is looked at stays.
const long = 24 * time.Hour

// Worlds are floods of several kinds. They stand still after five minutes, however slow the machine is.
var worlds = []world{
	{"large-job", pools(nil), func(b *board) {
		b.submit("reindex", "web", 5000, long, 0)
		time.Sleep(2 * time.Minute / speed)
		b.others()
	}, `^etl waits \d+( h \d\d)? min, and so does (etl|research): web holds 32 of 32 slots, 21\.3 above its share (since|for more than) [^,.]*, most of them in job 2\. etl has 0 of the 10\.7 .* a limit for web, or more slots\.`},
	{"small-jobs", func() (core.Policy, error) { return leastwork.New(leastwork.Options{}) }, func(b *board) {
		for i := range 3000 {
			each := time.Minute
			if i >= 700 {
				each = long // than it says
			}
			b.turns(fmt.Sprint("thumb-", i), 1, func(ctx context.Context) { wait(ctx, each) })
		}
		b.others()
	}, `^(etl|research) waits \d+( h \d\d)? min, and so does (etl|research): web holds 32 of 32 slots (since|for more than) [^,.]*\. What would help: a policy that divides slots among tenants, such as fair, or more slots\.`},
	{"weight", func() (core.Policy, error) {
		return fair.New(fair.Options{Order: fair.Running, Pools: map[string]fair.Pool{"web": {Weight: 10}}})
	}, func(b *board) {
		come, first := make(chan struct{}), atomic.Int64{}
		b.turns("reindex", 2000, func(ctx context.Context) {
			if first.Add(1) <= 32 { // which have all slots until others have come
				<-come
				return
			}
			wait(ctx, long)
		})
		time.Sleep(2 * time.Minute / speed)
		defer close(come)
		for i := range 4 {
			b.submit(fmt.Sprint("daily-", i), "etl", 8, long, 20*time.Minute)
			b.submit(fmt.Sprint("eval-", i), "research", 4, long, 20*time.Minute)
		}
	}, `^(etl|research) waits \d+( h \d\d)? min(, and so does (etl|research))?: web holds 2[67] of 32 slots, by its weight of 10, (since|for more than) [^,.]*, most of them in job 2\. (etl|research) has \d, about its share of 2\.7\. What would help: a lower weight for web, or more slots\.`},
	{"limit", pools(map[string]fair.Pool{"web": {Max: fair.Slots{0: 4}}}), func(b *board) {
		b.submit("reindex", "web", 500, 5*time.Minute, 0)
		time.Sleep(2 * time.Minute / speed)
		b.others()
	}, `^web runs 4 tasks, its limit, and 4\d\d tasks of it wait\. A higher limit would help it\. 4 of 32 slots are busy`},
	{"classes", pools(nil), func(b *board) {
		if _, err := b.pool.AddSlots(4, core.Slot{Class: 1}); err != nil {
			b.Fatal(err)
		}
		for _, tenant := range []string{"web", "etl", "research"} {
			_, err := b.pool.Submit(b.Context(), live.Job{Name: "train", Pool: tenant, Phases: []live.Phase{{Tasks: 40, Class: 1, Estimate: time.Hour, Run: func(ctx context.Context, _ live.Task) error {
				<-ctx.Done()
				return context.Cause(ctx)
			}}}})
			if err != nil {
				b.Fatal(err)
			}
			time.Sleep(time.Minute / speed)
		}
		b.submit("reports", "etl", 20, long, 0)
	}, `^etl waits \d+( h \d\d)? min, and so does research: web holds 4 of 4 slots of class 1, 2\.7 above its share (since|for more than) [^,.]*, most of them in job 2\. etl has 0 of the 1\.3 it is entitled to\. What would help: a limit for web, or more slots of class 1\. $`},
	{"door", func() (core.Policy, error) { return fair.New(fair.Options{Order: fair.Running}) }, func(b *board) {
		d, err := door.New(b.pool, door.Options{Tenant: func(r *http.Request) string { return r.Header.Get("Tenant") }})
		if err != nil {
			b.Fatal(err)
		}
		come, first := make(chan struct{}), atomic.Int64{}
		h := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if first.Add(1) <= 32 {
				<-come
				return
			}
			wait(r.Context(), long)
		}))
		var all sync.WaitGroup
		ctx, stop := context.WithCancel(context.Background())
		b.Cleanup(func() { stop(); all.Wait() })
		here := func(tenant string) (n int) {
			for _, j := range b.pool.Status().Jobs {
				if j.Pool == tenant {
					n++
				}
			}
			return n
		}
		ask := func(tenant string, n int) {
			for range n {
				all.Go(func() {
					r := httptest.NewRequestWithContext(ctx, "POST", "/v1/chat", nil)
					r.Header.Set("Tenant", tenant)
					h.ServeHTTP(httptest.NewRecorder(), r)
				})
			}
			for turn := 0; here(tenant) < n; turn++ {
				if turn > 1000 {
					b.Errorf("%d requests of %s are here, want %d", here(tenant), tenant, n)
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		}
		ask("web", 400)
		ask("etl", 8)
		ask("research", 3)
		close(come)
	}, `^web waits \d+( h \d\d)? min behind its own tasks: it has 21 of 32 slots, its share, and 347 tasks wait\. Nobody else waits long\. More slots would help, or fewer tasks\.`},
}

// wait waits so long, of the pool's time.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d / speed):
	case <-ctx.Done():
	}
}

// turns submits a job of web whose tasks say that they take a minute.
func (b *board) turns(name string, tasks int, run func(context.Context)) {
	b.Helper()
	_, err := b.pool.Submit(b.Context(), live.Job{Name: name, Pool: "web", Phases: []live.Phase{{Tasks: tasks, Estimate: time.Minute, Run: func(ctx context.Context, _ live.Task) error {
		run(ctx)
		return context.Cause(ctx)
	}}}})
	if err != nil {
		b.Fatal(err)
	}
}

// others submits jobs of two tenants that do not flood.
func (b *board) others() {
	b.Helper()
	for i := range 4 {
		b.submit(fmt.Sprint("daily-", i), "etl", 8, 5*time.Minute, 20*time.Minute)
		b.submit(fmt.Sprint("eval-", i), "research", 4, 5*time.Minute, 20*time.Minute)
	}
}

// However a pool is flooded, the first screen says who floods, who suffers, since when, and what would help.
func TestDashboardOfFloods(t *testing.T) {
	boards := make([]*board, len(worlds))
	var all sync.WaitGroup
	for i, w := range worlds {
		boards[i] = boardUnder(t, w.policy, 32)
		if err := boards[i].submit("warm up", "web", 1, time.Minute, 0).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { w.flood(boards[i]) })
	}
	all.Wait()
	time.Sleep(6 * time.Minute / speed)
	for i, w := range worlds {
		b := boards[i].look(t, "", view{1280, 800, false})
		b.until(fmt.Sprintf("%s says %s instead of %q", w.name, w.says, b.text("#says")), fmt.Sprintf("new RegExp(%q).test(document.getElementById('says').textContent)", w.says))
		if cut := value[[]string](b, `[...document.querySelectorAll('#hour svg')].flatMap(s => [...s.querySelectorAll('text')].filter(e => {
			const r = e.getBoundingClientRect(), o = s.getBoundingClientRect();
			return r.top < o.top - 2 || r.bottom > o.bottom + 2 || r.left < o.left - 1 || r.right > o.right + 1;
		}).map(e => e.textContent))`); len(cut) > 0 {
			t.Errorf("%s: cut off in the charts: %q", w.name, cut)
		}
		if text := b.text("#state"); w.name == "classes" && !strings.Contains(text, "class 0: 20 of 32; class 1: 4 of 4") {
			t.Errorf("by class: %s", text)
		}
		b.fits()
		b.readable()
		b.window("flood-" + w.name)
		b.leave()
	}
}
