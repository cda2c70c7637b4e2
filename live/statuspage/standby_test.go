package statuspage_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// The page of a standby says that it is one and who leads, /readyz answers 503 with the same, and streams go on. When it leads, the page is that of
// the jobs.
func TestStandbyPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		open := func() (*journal.Journal, *live.Pool, http.Handler) {
			store, err := journal.FollowFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			policy, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(store, policy, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r := statuspage.NewRecorder()
			p, err := live.New(j, live.Options{Slots: 1, Observer: r, Handlers: map[string]live.Handler{"h": func(ctx context.Context, _ live.Task, _ []byte) error {
				<-ctx.Done()
				return ctx.Err()
			}}})
			if err != nil {
				t.Fatal(err)
			}
			return j, p, statuspage.Handler(p, statuspage.WithRecorder(r))
		}
		ja, a, _ := open()
		if _, err := a.Submit(t.Context(), live.Job{Name: "a job", Handler: "h", Phases: []live.Phase{{Tasks: 1}}}); err != nil {
			t.Fatal(err)
		}
		jb, b, h := open()
		ready, page, data := serve(h, "/readyz"), serve(h, "/"), serve(h, "/status.json")
		if ready.Code != http.StatusServiceUnavailable || !strings.Contains(ready.Body.String(), "leads") {
			t.Errorf("/readyz: %d %s", ready.Code, ready.Body)
		}
		if text := page.Body.String(); page.Code != http.StatusOK || !strings.Contains(text, "Standby: ") || !strings.Contains(text, "leads") || strings.Contains(text, "The pool is broken") {
			t.Errorf("the page is\n%s", text)
		}
		var status struct{ Broken, Standby string }
		if err := json.Unmarshal(data.Body.Bytes(), &status); err != nil || status.Broken != "" || !strings.Contains(status.Standby, "leads") {
			t.Errorf("status: %+v, %v", status, err)
		}
		begun := time.Now()
		if serve(h, "/events"); time.Since(begun) != 30*time.Second {
			t.Errorf("a stream ends after %v, want 30 s", time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = a.Suspend(ctx)
		if err := ja.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		ready, page = serve(h, "/readyz"), serve(h, "/")
		if text := page.Body.String(); ready.Code != http.StatusOK || strings.Contains(text, "Standby: ") || !strings.Contains(text, "a job") {
			t.Errorf("it leads: /readyz %d; the page is\n%s", ready.Code, text)
		}
		_ = b.Suspend(ctx)
		if err := jb.Close(); err != nil {
			t.Error(err)
		}
	})
}
