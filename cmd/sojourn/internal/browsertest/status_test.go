package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	core "github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// speed is how many seconds of a dashboard's pool pass in one: an hour in 15 s.
const speed = 240

// A board is a pool with its dashboard.
type board struct {
	*testing.T
	pool *live.Pool
	url  string
	stop func() // ends the server
}

// newBoard returns a pool under fair whose tenants web, etl and research have weights 3, 2 and 1, and its dashboard.
func newBoard(t *testing.T, slots int, options ...statuspage.Option) *board {
	t.Helper()
	return boardUnder(t, func() (core.Policy, error) {
		return fair.New(fair.Options{Pools: map[string]fair.Pool{"web": {Weight: 3}, "etl": {Weight: 2}, "research": {Weight: 1}}})
	}, slots, options...)
}

// boardUnder returns a pool under a policy, and its dashboard.
func boardUnder(t *testing.T, another func() (core.Policy, error), slots int, options ...statuspage.Option) *board {
	t.Helper()
	policy, err := another()
	if err != nil {
		t.Fatal(err)
	}
	w := forecast.New(policy)
	rec := statuspage.NewRecorder()
	begun := time.Now()
	p, err := live.New(w, live.Options{Slots: slots, Observer: rec, Retry: live.Retry{Attempts: 3, Backoff: time.Second},
		Now: func() core.Time { return core.Time(speed * time.Since(begun)) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, h := range p.Handles() {
			h.Cancel()
		}
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	all := []statuspage.Option{statuspage.WithRecorder(rec), statuspage.WithForecast(w, another), statuspage.WithPolicy("fifo", func() (core.Policy, error) { return fifo.New(fifo.Options{}) })}
	server := httptest.NewServer(http.StripPrefix("/sojourn", statuspage.Handler(p, append(all, options...)...)))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return &board{t, p, server.URL + "/sojourn/", func() { server.CloseClientConnections(); server.Listener.Close() }}
}

// submit submits a job whose tasks take so long, of the pool's time.
func (b *board) submit(name, tenant string, tasks int, each time.Duration, deadline time.Duration) *live.Handle {
	b.Helper()
	h, err := b.pool.Submit(b.Context(), live.Job{Name: name, Pool: tenant, Deadline: deadline, Phases: []live.Phase{{Tasks: tasks, Estimate: each, Run: func(ctx context.Context, _ live.Task) error {
		select {
		case <-time.After(each / speed):
		case <-ctx.Done():
		}
		return context.Cause(ctx)
	}}}})
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// fails submits a job that fails soon.
func (b *board) fails(name, tenant, why string) {
	b.Helper()
	_, err := b.pool.Submit(b.Context(), live.Job{Name: name, Pool: tenant, Retry: &live.Retry{Attempts: 3, Backoff: 2 * time.Hour, MaxBackoff: 2 * time.Hour}, Phases: []live.Phase{{Tasks: 1, Run: func(context.Context, live.Task) error {
		time.Sleep(50 * time.Millisecond)
		return errors.New(why)
	}}}})
	if err != nil {
		b.Fatal(err)
	}
}

// flood makes web flood the pool: half an hour in which all work, then 25 minutes in which research and etl wait for web.
func (b *board) flood() {
	b.Helper()
	for i := range 6 { // 5 minutes each
		b.submit(fmt.Sprint("search-", i), "web", 40, 4*time.Minute, time.Hour)
		b.submit(fmt.Sprint("rollup-", i), "etl", 20, 5*time.Minute, time.Hour)
		b.submit(fmt.Sprint("eval-", i), "research", 12, 4*time.Minute, time.Hour)
		time.Sleep(5 * time.Minute / speed)
	}
	time.Sleep(3 * time.Minute / speed)
	b.submit("search-reindex", "web", 300, 5*time.Hour, 0) // longer than a test takes
	b.fails("export-ledger", "etl", "exit status 137: out of memory\nat line 7")
	time.Sleep(6 * time.Minute / speed)
	b.submit(strings.Repeat("a-long-name-", 17)[:200], "research", 30, 5*time.Minute, 8*time.Minute)
	for i := range 9 {
		b.submit(fmt.Sprint("embed-corpus-", i), "research", 6, 5*time.Minute, 10*time.Minute)
		b.submit(fmt.Sprint("daily-", i), "etl", 8, 5*time.Minute, 20*time.Minute)
	}
	b.submit(hostile, "etl", 3, time.Minute, 0)
	time.Sleep(19 * time.Minute / speed)
}

// look opens the dashboard, or a page of it.
func (b *board) look(t *testing.T, path string, v view) *tab {
	t.Helper()
	x := open(t, b.url+path, v)
	x.below = b.url
	x.until("the page is there", `document.readyState === 'complete' && document.getElementById('main')`)
	return x
}

// window writes a picture of what a visitor sees without scrolling.
func (b *tab) window(name string) {
	b.Helper()
	if *shots == "" {
		return
	}
	b.run(`scrollTo(0, 0)`)
	b.settle()
	b.write(name, call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{}).Data)
}

var boardViews = map[string]view{"wide": {1280, 800, false}, "wide-dark": {1280, 800, true}, "phone": {390, 844, false}, "phone-dark": {390, 844, true}}

// From the first screen a visitor knows who floods, who suffers, since when, and what would help.
func TestDashboardOfAFlood(t *testing.T) {
	pool := newBoard(t, 64)
	pool.flood()
	for name, v := range boardViews {
		b := pool.look(t, "", v)
		says := b.text("#says")
		for _, want := range []string{"research waits ", "web holds ", " above its share since ", "What would help", "What if there were 8 slots more?"} {
			if !strings.Contains(says, want) {
				t.Errorf("%s: the sentence lacks %q: %s", name, want, says)
			}
		}
		if bottom := value[float64](b, `document.getElementById('says').getBoundingClientRect().bottom`); bottom > float64(v.height) {
			t.Errorf("%s: the sentence ends %v pixels from the top", name, bottom)
		}
		if w := value[int](b, `document.documentElement.scrollWidth`); w != int(v.width) {
			t.Errorf("%s: the page is %d wide", name, w)
		}
		b.fits()
		b.readable()
		b.accessible()
		if n := value[int](b, `document.querySelectorAll('img, main script').length`); n != 0 {
			t.Errorf("%s: names made %d elements", name, n)
		}
		for _, tenant := range []string{"web", "etl", "research"} {
			row := value[string](b, fmt.Sprintf(`[...document.querySelectorAll('#tenants tbody tr')].find(r => r.cells[0].textContent.includes(%q)).textContent`, tenant))
			if !strings.Contains(row, " / ") || !strings.Contains(row, "its share") {
				t.Errorf("%s: the row of %s: %s", name, tenant, row)
			}
		}
		b.window("dashboard-" + name)
		if name == "wide" {
			b.run(`document.documentElement.style.filter = 'grayscale(1)'`)
			b.window("dashboard-grey")
			b.run(`document.documentElement.style.filter = ''`)
		}
		b.shot("dashboard-whole-" + name)
		if name == "wide-dark" { // on paper it is dark on white, nothing is to be clicked, and nothing is cut off
			call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: 703, Height: 1032, DeviceScaleFactor: 1})
			call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
			b.settle()
			if ground, ink := value[string](b, `getComputedStyle(document.body).backgroundColor`), value[string](b, `getComputedStyle(document.body).color`); ground != "rgb(255, 255, 255)" || ink != "rgb(27, 31, 36)" {
				t.Errorf("on paper, %s on %s", ink, ground)
			}
			if n := value[int](b, `[...document.querySelectorAll('button, input, select')].filter(e => e.checkVisibility()).length`); n != 0 {
				t.Errorf("%d fields and buttons are printed", n)
			}
			b.fits()
			b.readable()
			b.shot("dashboard-print")
		}
		b.leave()
	}
}

// A tenant floods the pool: within two seconds, without a reload, the sentence and the charts change, and what a visitor types, has opened
// and looks at stays.
func TestDashboardRenewsItself(t *testing.T) {
	pool := newBoard(t, 8)
	for i := range 40 {
		pool.submit(fmt.Sprint("job-", i), "web", 1, 24*time.Hour, 0)
	}
	b := pool.look(t, "?state=all", view{1280, 800, false})
	b.until("it is live", `document.getElementById('status').textContent === 'live'`)
	queue := `document.querySelector('#hour svg').outerHTML`
	before := value[string](b, queue)
	b.click("#table0 summary")
	b.run(`new MutationObserver(() => { if (!window.seen && document.getElementById('tenants').textContent.includes('etl')) window.seen = Date.now(); }).observe(document.body, {childList: true, subtree: true, characterData: true})`)
	b.run(`document.querySelector('.filter input[name=q]').focus(); scrollTo(0, 400); window.kept = document.querySelector('.filter input[name=q]')`)
	b.run(`window.flooded = Date.now()`)
	for i := range 100 {
		pool.submit(fmt.Sprint("more-", i), "etl", 3, 24*time.Hour, 0)
	}
	for i := range 25 {
		b.press(string(rune('a' + i)))
		time.Sleep(200 * time.Millisecond) // a visitor who types
	}
	b.until("the flood is there", fmt.Sprintf(`%s !== %q && document.getElementById('tenants').textContent.includes('etl')`, queue, before))
	fmt.Fprintln(t.Output(), value[float64](b, `window.seen - window.flooded`), "ms from the flood to the page")
	if got := value[string](b, `document.activeElement.value`); got != "abcdefghijklmnopqrstuvwxy" || !value[bool](b, `document.activeElement === window.kept`) {
		t.Errorf("after typing for 5 s the focus has %q", got)
	}
	if y := value[float64](b, `scrollY`); y != 400 {
		t.Errorf("the page is scrolled to %v", y)
	}
	if !value[bool](b, `document.getElementById('table0').open`) {
		t.Error("what was open is closed")
	}
	if got := b.text("#shown"); got != "1–50 of 140" {
		t.Errorf("the list shows %s", got)
	}
	// It is paused while the page waits for an answer.
	b.run(`{ const f = fetch; window.fetch = async (...a) => { window.asked = true; await new Promise(r => setTimeout(r, 500)); return f(...a) } }`)
	pool.submit("one more", "web", 1, time.Hour, 0)
	b.until("it asks", `window.asked === true`)
	b.run(`document.getElementById('pause').click()`)
	pool.submit("last", "web", 1, time.Hour, 0)
	time.Sleep(1500 * time.Millisecond) // paused: what comes is not shown
	if got := b.text("#shown"); got != "1–50 of 140" {
		t.Errorf("paused, the list shows %s", got)
	}
	b.run(`document.getElementById('pause').click()`)
	b.until("it goes on", `document.getElementById('shown').textContent === '1–50 of 142'`)
}

// Where a proxy keeps the events, the page asks by itself.
func TestDashboardBehindAProxy(t *testing.T) {
	pool := newBoard(t, 4)
	target, err := url.Parse(pool.url)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target.Host})
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			<-r.Context().Done()
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	t.Cleanup(proxy.CloseClientConnections)
	pool.url = proxy.URL + "/sojourn/"
	b := pool.look(t, "", view{1280, 800, false})
	pool.submit("build", "web", 8, 24*time.Hour, 0)
	b.until("the job is there", `document.getElementById('tenants') && document.getElementById('tenants').textContent.includes('web')`)
	b.leave()
}

// sound checks that a page fits, can be read, and has what screen readers need, and takes a picture of its window.
func (b *tab) sound(picture string) {
	b.Helper()
	b.fits()
	b.readable()
	b.accessible()
	b.window(picture)
}

// state checks the page of a state: it says what to do, and no table is empty.
func (b *tab) state(name, want string) {
	b.Helper()
	if got := b.text("main"); !strings.Contains(got, want) {
		b.Errorf("%s: want %q in %s", name, want, got)
	}
	if n := value[int](b, `[...document.querySelectorAll('table')].filter(t => !t.tBodies[0] || !t.tBodies[0].rows.length).length`); n != 0 {
		b.Errorf("%s: %d tables are empty", name, n)
	}
	b.sound("state-" + name)
	b.leave()
}

// Each state has a sentence that says what to do.
func TestDashboardStates(t *testing.T) {
	v, phone := view{1280, 800, false}, view{390, 844, true}
	empty := newBoard(t, 4)
	empty.look(t, "", v).state("empty", "Idle: 4 of 4 slots are free. No job has come yet: submit one.")
	empty.look(t, "?slots=x&state=all&q=abc", phone).state("wrong", `slots="x": want a number from -10000 to 10000`)
	empty.look(t, "job/77", v).state("no-job", "Job 77 is not live")
	if err := empty.submit("build", "web", 1, time.Minute, 0).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // a snapshot is kept for a second
	empty.look(t, "?state=ended", v).state("idle", "The last job, build, ended at ")
	if err := empty.pool.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond)
	empty.look(t, "", v).state("closed", "The pool is closed, and no job is left.")

	large := newBoard(t, 4)
	for range 3 {
		large.submit("large", "web", 10_000, 24*time.Hour, 0)
	}
	b := large.look(t, "?slots=8", v)
	b.until("the answer is there", `document.getElementById('compared')`)
	b.state("large", "The forecast looks at the first 20,000 of 30,000 tasks. Ends behind them follow from how fast a job went until then. Of 3 live jobs in 20 draws")
	b = large.look(t, "", phone)
	if says := b.text("#says"); !strings.Contains(says, "What if") {
		t.Errorf("no question: %s", says)
	}
	b.until("it is live", `document.getElementById('status').textContent === 'live'`)
	large.stop()
	b.until("the loss is told", `document.getElementById('status').textContent.startsWith('Not renewed since ')`)
	b.below = "http"
	b.fits()
	b.window("state-lost")
	b.mu.Lock()
	b.faults = nil // the browser complains of the connection
	b.mu.Unlock()
}

// What would follow from more slots and another policy is seen at once, each change apart.
func TestDashboardWhatIf(t *testing.T) {
	pool := newBoard(t, 4)
	for i := range 6 {
		pool.submit(fmt.Sprint("web-", i), "web", 6, time.Hour, 3*time.Hour)
		pool.submit(fmt.Sprint("etl-", i), "etl", 2, time.Hour, time.Hour+90*time.Minute)
	}
	for name, v := range boardViews {
		b := pool.look(t, "", v)
		b.click("input[name=slots]")
		b.press(kb.End, kb.Backspace, "8")
		b.choose("select[name=policy]", "fifo")
		asks := value[string](b, `new URLSearchParams(new FormData(document.querySelector('#whatif form'))).toString()`)
		if asks != "state=waiting&slots=8&tasks=0&each=60s&policy=fifo" {
			t.Errorf("%s: the form asks %s", name, asks)
		}
		b.leave()
		b = pool.look(t, "?"+asks, v) // what a click on the button does
		b.until("the answer is there", `document.getElementById('compared')`)
		heads := value[[]string](b, `[...document.querySelectorAll('#compared thead th')].map(h => h.textContent)`)
		if strings.Join(heads, "|") != "Live jobs|As it is|under fifo|with 8 slots more|all together" {
			t.Errorf("%s: the columns are %q", name, heads)
		}
		rows := strings.Join(b.column("compared", 0), "|")
		for _, want := range []string{"mean time until a job ends", "90 of 100 jobs end within", "late jobs", "web, mean", "etl, mean"} {
			if !strings.Contains(rows, want) {
				t.Errorf("%s: no row says %s: %s", name, want, rows)
			}
		}
		if bottom := value[float64](b, `document.getElementById('whatif').getBoundingClientRect().top + scrollY`); bottom > float64(v.height) {
			t.Errorf("%s: the answer begins %v pixels from the top", name, bottom)
		}
		b.sound("whatif-" + name)
		b.leave()
	}
}

// The page of a job shows its attempts and errors. By keyboard, a visitor who may act cancels it, and is asked once.
func TestDashboardOfAJob(t *testing.T) {
	pool := newBoard(t, 4, statuspage.WithActions(func(*http.Request) bool { return true }))
	pool.submit("others", "web", 4, 5*time.Minute, 0)
	h, err := pool.pool.Submit(t.Context(), live.Job{Name: strings.Repeat("render ", 30), Pool: "etl", Deadline: 40 * time.Minute, Retry: &live.Retry{Attempts: 4, Backoff: 20 * time.Hour, MaxBackoff: 20 * time.Hour},
		Phases: []live.Phase{{Tasks: 3, Estimate: 6 * time.Minute, Run: func(_ context.Context, task live.Task) error {
			time.Sleep(6 * time.Minute / speed)
			if task.Index == 1 {
				return errors.New("exit status 137: out of memory")
			}
			return nil
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Minute / speed)
	path := fmt.Sprint("job/", h.ID())
	for name, v := range boardViews {
		b := pool.look(t, path, v)
		if got := b.text("main"); !strings.Contains(got, "retries at ") || !strings.Contains(got, "out of memory") || !strings.Contains(got, "while it waited") {
			t.Errorf("%s: %s", name, got)
		}
		if n := value[int](b, `document.querySelectorAll('rect.fails').length`); n != 1 {
			t.Errorf("%s: %d bars of failures", name, n)
		}
		b.sound("job-" + name)
		b.leave()
	}
	for _, page := range []string{"", path} {
		b := pool.look(t, page, view{1280, 800, false})
		b.click("#pause") // what comes and goes is not where it was
		b.reach()
		b.leave()
	}
	b := pool.look(t, path, view{1280, 800, false})
	for range 40 {
		b.press(kb.Tab)
		if value[bool](b, `document.activeElement.matches('#cancel summary')`) {
			break
		}
	}
	b.press(kb.Enter)
	b.press(kb.Tab)
	if got := value[string](b, `document.activeElement.textContent`); got != "Yes, cancel it" {
		t.Fatalf("the focus is on %q", got)
	}
	if h.Progress().Ended {
		t.Error("the job was cancelled before the question was answered")
	}
	do(b, "answer", chromedp.KeyEvent(kb.Enter)) // and the page goes
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	if err := h.Wait(ctx); !errors.Is(err, live.ErrCancelled) {
		t.Errorf("the job ends with %v", err)
	}
	if got := pool.look(t, path, view{1280, 800, false}).text("#head"); !strings.Contains(got, "ended") || !strings.Contains(got, "cancelled") {
		t.Errorf("after that its page says %s", got)
	}
}
