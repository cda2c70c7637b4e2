package browsertest

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	shots = flag.String("shots", "", "write pictures of the pages to this `folder`")
	axe   = flag.String("axe", "", "run the checks of axe-core, whose program axe.min.js is this `file`")
)

// browser is the process in which each test opens a tab.
var browser context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	path, err := find()
	if err != nil && os.Getenv("CI") != "true" {
		fmt.Println("no test runs: Chromium is not installed (apt-get install chromium):", err)
		return 0
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("disable-gpu", true), chromedp.WSURLReadTimeout(time.Minute))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	browser, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(browser); err != nil {
		fmt.Println("the browser does not start:", err)
		return 1
	}
	return m.Run()
}

func find() (path string, err error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

// noted is run in a page before its own program, and notes what is drawn on canvases.
//
//go:embed noted.js
var noted string

// A tab shows a page. Each of its steps must end within 20 s.
type tab struct {
	*testing.T
	ctx context.Context

	leave func() // closes the tab: a browser keeps six connections to a server, and a page that renews itself has one
	below string // addresses that the page may ask for begin so; "": none

	mu       sync.Mutex
	requests []string
	faults   []string // exceptions, messages of errors, dialogs
}

// A view is what a page is looked at with.
type view struct {
	width, height int64
	dark          bool
}

var usual = view{width: 1280, height: 900}

// open opens an address in a new tab. When the test ends, it fails if a request was made for anything but that address and, of a page that
// renews itself, what is below it, or if a script failed.
func open(t *testing.T, address string, v view) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	b := &tab{T: t, ctx: ctx, leave: cancel}
	if err := chromedp.Do(ctx); err != nil { // a deadline here would be one for the whole tab
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	theme := "light"
	if v.dark {
		theme = "dark"
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.width, Height: v.height, DeviceScaleFactor: 1})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // the browser gives a new tab the focus when it has time
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: noted})
	do(b, "open "+address, chromedp.Navigate(address))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.requests {
			if own, _, _ := strings.Cut(r, "#"); own != address && !(b.below != "" && strings.HasPrefix(own, b.below)) && !strings.HasPrefix(r, "data:") && !strings.HasPrefix(r, "blob:") {
				t.Errorf("the page asks for %s", r)
			}
		}
		for _, f := range b.faults {
			t.Error(f)
		}
	})
	return b
}

// openReport opens a report and waits until it is ready.
func openReport(t *testing.T, file string, v view) *tab {
	t.Helper()
	b := open(t, (&url.URL{Scheme: "file", Path: file}).String(), v)
	b.until("the page is ready", `window.failed || document.documentElement.dataset.ready === 'true'`)
	b.settle()
	return b
}

func (b *tab) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, ev.Request.URL)
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, "the page's program fails: "+(&chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails}).Error())
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.ConsoleAPICalledTypeError {
			b.faults = append(b.faults, fmt.Sprint("the page complains: ", ev.Args))
		}
	case *page.EventJavascriptDialogOpening:
		b.faults = append(b.faults, "the page opens a dialog: "+ev.Message)
	}
}

// do runs an action, and ends the test if it fails or takes long.
func do[T any](b *tab, what string, action chromedp.Action[T]) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("not done within 20 s")
		}
		b.Fatalf("%s: %v", what, err)
	}
	return v
}

// call runs a command of the browser's protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) R {
	b.Helper()
	return do(b, command.Method, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, command, params) })
}

// value evaluates an expression of JavaScript in the page.
func value[T any](b *tab, expression string) T {
	b.Helper()
	return do(b, expression, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// run runs statements of JavaScript in the page.
func (b *tab) run(statements string) {
	b.Helper()
	do(b, statements, chromedp.Evaluate[chromedp.Void](statements))
}

// until waits until an expression is true.
func (b *tab) until(what, expression string) {
	b.Helper()
	do(b, what, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(19*time.Second)))
}

// settle waits until what was asked for is drawn.
func (b *tab) settle() {
	b.Helper()
	value[bool](b, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}

// A box is where an element is in the window, in pixels.
type box struct{ X, Y, W, H float64 }

// show scrolls an element into the window and returns where it is.
func (b *tab) show(selector string) box {
	b.Helper()
	return value[box](b, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q);
		e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
		const r = e.getBoundingClientRect();
		return {X: r.x, Y: r.y, W: r.width, H: r.height};
	})()`, selector))
}

func (b *tab) mouse(kind input.DispatchMouseEventType, x, y float64, more ...func(*input.DispatchMouseEventParams)) {
	b.Helper()
	p := input.DispatchMouseEventParams{Type: kind, X: x, Y: y}
	for _, f := range more {
		f(&p)
	}
	call(b, input.DispatchMouseEvent, p)
}

const (
	moved    = input.DispatchMouseEventTypeMouseMoved
	pressed  = input.DispatchMouseEventTypeMousePressed
	released = input.DispatchMouseEventTypeMouseReleased
	wheel    = input.DispatchMouseEventTypeMouseWheel
)

// left is an event of the left button; held is a move while it is pressed.
func left(p *input.DispatchMouseEventParams) { p.Button, p.ClickCount = input.MouseButtonLeft, 1 }
func held(p *input.DispatchMouseEventParams) { p.Buttons = 1 }

// clickAt clicks on a place in an element, in pixels from its left upper corner.
func (b *tab) clickAt(selector string, x, y float64) {
	b.Helper()
	at := b.show(selector)
	b.mouse(moved, at.X+x, at.Y+y)
	b.mouse(pressed, at.X+x, at.Y+y, left)
	b.mouse(released, at.X+x, at.Y+y, left)
	b.settle()
}

// click clicks in the middle of an element.
func (b *tab) click(selector string) {
	b.Helper()
	at := b.show(selector)
	b.clickAt(selector, at.W/2, at.H/2)
}

// press presses keys, such as kb.Tab, one after another.
func (b *tab) press(keys ...string) {
	b.Helper()
	for _, k := range keys {
		do(b, fmt.Sprintf("press %q", k), chromedp.KeyEvent(k))
	}
	b.settle()
}

// choose takes an option of a select element with the keyboard.
func (b *tab) choose(selector, option string) {
	b.Helper()
	b.run(fmt.Sprintf(`document.querySelector(%q).focus()`, selector))
	b.press(kb.Home)
	for range 10 {
		if value[string](b, fmt.Sprintf(`document.querySelector(%q).selectedOptions[0].textContent`, selector)) == option {
			b.settle()
			return
		}
		b.press(kb.ArrowDown)
	}
	b.Fatalf("%s has no option %q", selector, option)
}

func (b *tab) text(selector string) string {
	b.Helper()
	return value[string](b, fmt.Sprintf(`document.querySelector(%q).textContent`, selector))
}

// shot writes a picture of the whole page, if pictures are wanted.
func (b *tab) shot(name string) {
	b.Helper()
	if *shots == "" {
		return
	}
	b.write(name, do(b, "picture", chromedp.FullScreenshot(100)))
}

func (b *tab) write(name string, picture []byte) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o644); err != nil {
		b.Fatal(err)
	}
}
