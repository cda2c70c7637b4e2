package statuspage_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// Names of 50 kB with markup, control characters, marks of direction and bytes that are no text stay what they are: short texts on a page
// that they do not change.
func TestNamesOfAnyKind(t *testing.T) {
	options := []statuspage.Option{statuspage.WithActions(func(*http.Request) bool { return true })}
	pooled(t, 2, options, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		kinds := []string{"<script>alert(1)</script>", "\x00\x07\x1b[31m\r\n\t\x7f", "\u202e\u2066\u200f\u061c\u2028", "\u200b\ufeff\u00ad\u2060a", "\xff\xfe\xc3", "=1+1", `"'&<>{{.}}`, "日本語", "\U0001f600"}
		var names []string
		for i, kind := range kinds {
			name := kind + strings.Repeat(kind, 50_000/len(kind))
			names = append(names, name)
			j := live.Job{Name: name, Pool: name, Deadline: time.Minute, Phases: []live.Phase{{Tasks: 9, Run: lasts(time.Hour)}}}
			if i%2 == 1 {
				j.Retry = &live.Retry{Attempts: 2, Backoff: time.Hour, MaxBackoff: time.Hour}
				j.Phases[0].Run = func(context.Context, live.Task) error { return errors.New(name) }
			}
			if _, err := p.Submit(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			submit(t, p, names[0], names[2], 1, lasts(time.Hour))
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		unwanted := regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u061c\u2028\u2029\u2060\ufeff\u00ad]|<script>")
		links := regexp.MustCompile(`href="(\?[^"#]*)`)
		for _, path := range []string{"/", "/?state=all", "/?state=failing", "/?state=late&page=2", "/job/1", "/job/2", "/job/3", "/job/4", "/job/" + url.PathEscape(kinds[0]), "/?state=%3Cb%3E", "/?q=" + url.QueryEscape(kinds[2])} {
			body := ask(h, path).Body.String()
			if bad := unwanted.FindString(body); bad != "" && !strings.Contains(path, "q=") {
				at := strings.Index(body, bad)
				t.Errorf("%s has %q in %q", path, bad, body[max(0, at-60):at+20])
			}
			if len(body) > 300_000 {
				t.Errorf("%s: %d bytes", path, len(body))
			}
			for _, link := range links.FindAllStringSubmatch(body, -1) {
				if len(link[1]) > 1024 {
					t.Errorf("%s leads to an address of %d bytes", path, len(link[1]))
				}
			}
		}
		// Each tenant's own link leads to its jobs.
		all := ask(h, "/").Body.String()
		_, tenants, _ := strings.Cut(all, `id="tenants"`)
		tenants, _, _ = strings.Cut(tenants, "</table>")
		found := links.FindAllStringSubmatch(tenants, -1)
		if len(found) != len(kinds) {
			t.Errorf("%d tenants have a link, want %d", len(found), len(kinds))
		}
		for _, link := range found {
			if body := ask(h, "/"+strings.ReplaceAll(strings.ReplaceAll(link[1], "&amp;", "&"), "&#43;", "+")).Body.String(); !strings.Contains(body, "1–1 of 1") && !strings.Contains(body, "1–50 of 61") {
				t.Errorf("%s: it does not lead to the jobs of the tenant", link[1])
			}
		}
		var pg statuspage.Page
		if err := json.Unmarshal(ask(h, "/status.json").Body.Bytes(), &pg); err != nil || len(pg.Jobs) != 69 || pg.Found != 69 {
			t.Errorf("as JSON: %d jobs, %v", len(pg.Jobs), err)
		}
		rows, err := csv.NewReader(ask(h, "/jobs.csv").Body).ReadAll()
		if err != nil || len(rows) != 70 {
			t.Errorf("as CSV: %d rows, %v", len(rows), err)
		}
		for _, row := range rows {
			for _, cell := range row {
				if strings.HasPrefix(cell, "=") {
					t.Errorf("a cell begins %.20q", cell)
				}
			}
		}
		for _, h := range p.Handles() {
			h.Cancel()
		}
		if _, err := p.Submit(t.Context(), live.Job{Name: names[2], Retry: &live.Retry{Attempts: 1}, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error { return errors.New(kinds[2] + kinds[3]) }}}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		body := ask(h, "/").Body.String()
		if err := json.Unmarshal(ask(h, "/status.json").Body.Bytes(), &pg); err != nil || !strings.Contains(pg.Says, "failed at") || unwanted.MatchString(body+pg.Says) {
			t.Errorf("after the last job has failed: %q\n%s", pg.Says, body)
		}
		fmt.Fprintln(t.Output(), len(all), "bytes")
	})
}

// No span is a number of seconds above 120, and no time a number since 1970, though the clock of a pool with a journal counts from then.
func TestTimesArePeoples(t *testing.T) {
	pooled(t, 1, nil, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		for i := range 5 {
			if _, err := p.Submit(t.Context(), live.Job{Name: "job", Pool: "web", Deadline: time.Duration(i) * time.Hour, Phases: []live.Phase{{Tasks: 2, Run: lasts(7 * time.Hour)}}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(i) * 40 * time.Minute)
		}
		synctest.Wait()
		long, seconds := regexp.MustCompile(`\d{10}`), regexp.MustCompile(`\b(1[2-9]\d|[2-9]\d\d|\d{4,}) s\b`)
		for _, path := range []string{"/", "/?state=all", "/?state=ended", "/job/1", "/job/3"} {
			body := ask(h, path).Body.String()
			if _, rest, ok := strings.Cut(body, "</style>"); ok {
				body = rest
			}
			if bad := long.FindString(body) + seconds.FindString(body); bad != "" {
				t.Errorf("%s has %s", path, bad)
			}
			if !strings.Contains(body, `<time datetime="2000-01-01T0`) {
				t.Errorf("%s has no time of day:\n%s", path, body)
			}
		}
	})
}
