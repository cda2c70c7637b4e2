package statuspage_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// crowded returns a pool with so many live jobs of three tenants, and its recorder.
func crowded(b testing.TB, n int) (*live.Pool, *statuspage.Recorder) {
	b.Helper()
	policy, err := fair.New(fair.Options{Pools: map[string]fair.Pool{"web": {Weight: 3}, "etl": {Weight: 2}, "research": {Weight: 1}}})
	if err != nil {
		b.Fatal(err)
	}
	r := statuspage.NewRecorder()
	p, err := live.New(policy, live.Options{Slots: 64, Observer: r})
	if err != nil {
		b.Fatal(err)
	}
	phases := []live.Phase{{Tasks: 1, Run: func(ctx context.Context, _ live.Task) error { <-ctx.Done(); return nil }}}
	for i := range n {
		if _, err := p.Submit(context.Background(), live.Job{Name: "job", Pool: []string{"web", "etl", "research"}[i%3], Phases: phases}); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() {
		ctx, stop := context.WithCancel(context.Background())
		stop()
		_ = p.Close(ctx)
	})
	return p, r
}

// BenchmarkPage is what a page costs that nobody has asked for in the same second.
func BenchmarkPage(b *testing.B) {
	for _, n := range []int{100, 20_000, 1_000_000} {
		p, r := crowded(b, n)
		for _, path := range []string{"/", "/?state=all&pool=web", "/?state=all&q=needle", "/job/99", "/status.json", "/status.json?jobs=500"} {
			b.Run(fmt.Sprintf("jobs=%d/path=%s", n, path), func(b *testing.B) {
				for b.Loop() {
					w := httptest.NewRecorder()
					statuspage.Handler(p, statuspage.WithRecorder(r)).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
					if w.Code != 200 {
						b.Fatal(w.Body)
					}
					b.ReportMetric(float64(w.Body.Len()), "bytes")
				}
			})
		}
	}
}

// BenchmarkSubmitWithVisitors is what Submit takes while visitors reload the page without a pause.
func BenchmarkSubmitWithVisitors(b *testing.B) {
	for _, visitors := range []int{0, 10} {
		b.Run(fmt.Sprintf("jobs=20000/visitors=%d", visitors), func(b *testing.B) {
			p, r := crowded(b, 20_000)
			h := statuspage.Handler(p, statuspage.WithRecorder(r))
			ctx, stop := context.WithCancel(context.Background())
			var all sync.WaitGroup
			for range visitors {
				all.Go(func() {
					for ctx.Err() == nil {
						h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil).WithContext(ctx))
						time.Sleep(100 * time.Millisecond) // a visitor who reloads
					}
				})
			}
			job := live.Job{Name: "job", Pool: "web", Phases: []live.Phase{{Tasks: 1, Run: func(ctx context.Context, _ live.Task) error { <-ctx.Done(); return nil }}}}
			var took []time.Duration
			for b.Loop() {
				begun := time.Now()
				if _, err := p.Submit(context.Background(), job); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(begun))
				time.Sleep(100 * time.Microsecond)
			}
			stop()
			all.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
		})
	}
}
