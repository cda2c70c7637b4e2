package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
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

// Worlds are floods of several kinds. They stand still after ten minutes, however slow the machine is.
var worlds = []world{
	{"large-job", pools(nil), func(b *board) {
		b.submit("reindex", "web", 5000, long, 0)
		time.Sleep(2 * time.Minute / speed)
		b.others()
	}, `^etl waits \d+( h \d\d)? min, and so does (etl|research): web holds 32 of 32 slots, 21\.3 above its share (since|for more than) [^,.]*, most of them in job 2\. etl has 0 of the 10\.7 .* a limit for web, or more slots\.`},
	{"small-jobs", func() (core.Policy, error) { return leastwork.New(leastwork.Options{}) }, func(b *board) {
		for i := range 3000 {
			b.turns(fmt.Sprint("thumb-", i), 1, time.Minute, i < 700)
		}
		b.others()
	}, `^(etl|research) waits \d+( h \d\d)? min, and so does (etl|research): web holds 32 of 32 slots (since|for more than) [^,.]*\. What would help: a policy that divides slots among tenants, such as fair, or more slots\.`},
	{"weight", func() (core.Policy, error) {
		return fair.New(fair.Options{Order: fair.Running, Pools: map[string]fair.Pool{"web": {Weight: 10}}})
	}, func(b *board) {
		b.turns("reindex", 2000, 4*time.Minute, false)
		time.Sleep(2 * time.Minute / speed)
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
	{"door", pools(nil), func(b *board) {
		d, err := door.New(b.pool, door.Options{Tenant: func(r *http.Request) string { return r.Header.Get("Tenant") }})
		if err != nil {
			b.Fatal(err)
		}
		var seen atomic.Int64
		h := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			each := long
			if seen.Add(1) <= 32 { // those that web sent when nobody else had come
				each = 10 * time.Minute
			}
			select {
			case <-time.After(each / speed):
			case <-r.Context().Done():
			}
		}))
		var all sync.WaitGroup
		ctx, stop := context.WithCancel(context.Background())
		b.Cleanup(func() { stop(); all.Wait() })
		ask := func(tenant string, n int) {
			for range n {
				all.Go(func() {
					r := httptest.NewRequestWithContext(ctx, "POST", "/v1/chat", nil)
					r.Header.Set("Tenant", tenant)
					h.ServeHTTP(httptest.NewRecorder(), r)
				})
			}
		}
		ask("web", 400)
		time.Sleep(2 * time.Minute / speed)
		ask("etl", 8)
		ask("research", 3)
	}, `^web waits \d+( h \d\d)? min behind its own tasks: it has 21 of 32 slots, its share, and 347 tasks wait\. Nobody else waits long\. More slots would help, or fewer tasks\.`},
}

// turns submits a job of web. Its first 32 tasks end in time, and so do all if all is set; the others run on.
func (b *board) turns(name string, tasks int, each time.Duration, all bool) {
	b.Helper()
	_, err := b.pool.Submit(b.Context(), live.Job{Name: name, Pool: "web", Phases: []live.Phase{{Tasks: tasks, Estimate: each, Run: func(ctx context.Context, task live.Task) error {
		took := each
		if !all && (tasks == 1 || task.Index >= 32) {
			took = long
		}
		select {
		case <-time.After(took / speed):
		case <-ctx.Done():
		}
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
		boards[i].submit("warm up", "web", 1, time.Minute, 0)
		all.Go(func() { w.flood(boards[i]) })
	}
	all.Wait()
	time.Sleep(12 * time.Minute / speed)
	for i, w := range worlds {
		b := boards[i].look(t, "", view{1280, 800, false})
		b.until(fmt.Sprintf("%s says %s instead of %q", w.name, w.says, b.text("#says")), fmt.Sprintf("new RegExp(%q).test(document.getElementById('says').textContent)", w.says))
		if cut := value[[]string](b, `[...document.querySelectorAll('#hour svg')].flatMap(s => [...s.querySelectorAll('text')].filter(e => {
			const r = e.getBoundingClientRect(), o = s.getBoundingClientRect();
			return r.top < o.top - 2 || r.bottom > o.bottom + 2 || r.left < o.left - 1 || r.right > o.right + 1;
		}).map(e => e.textContent))`); len(cut) > 0 {
			t.Errorf("%s: cut off in the charts: %q", w.name, cut)
		}
		b.fits()
		b.readable()
		b.window("flood-" + w.name)
		b.leave()
	}
}
