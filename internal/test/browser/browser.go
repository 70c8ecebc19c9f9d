// Package browser gives a test a page in a real browser: Chromium, or Chrome. Where there is none, the test skips; not so in CI.
//
// A [Page] is driven with JavaScript: [Page.Await] waits until an expression is true, [Page.Press] presses the button with a
// text. [Page.Axe] checks the page with the rules of axe-core, which are in the folder axe, with their licence.
package browser

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

//go:embed axe/axe.min.js
var axe string

// Browser is a browser without windows, in which a test can open pages.
type Browser struct {
	ctx     context.Context
	Program string // the chapter's, which has the pages
}

// Start starts a browser, which ends with the test, and builds a chapter's program.
func Start(t testing.TB, chapter string) *Browser {
	t.Helper()
	testkit.All(t, "starts a browser")
	path := find()
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("there is no Chromium, which CI insists on: install it")
		}
		t.Skip("there is no Chromium and no Chrome: the picture is not tested")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-dev-shm-usage", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		_ = chromedp.Cancel(ctx) // waits until the browser has ended
		cancelBrowser()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return &Browser{ctx, testcluster.Build(t, "./"+chapter)}
}

// find returns the path of the first browser there is, or "".
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome",
		"/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Page is a page that is open in a tab of its own.
type Page struct {
	Address string
	ctx     context.Context
	errors  *testkit.Buffer // what the page's scripts complain about
}

// Options are how a page is shown.
type Options struct {
	Width, Height int // in pixels; 1280×720 if they are 0
	Dark          bool
	Still         bool // with reduced motion
}

// Open opens a page. A script's error fails the test at its end.
func (b *Browser) Open(t testing.TB, address string, o Options) *Page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(b.ctx)
	p := &Page{address, ctx, &testkit.Buffer{}}
	err := chromedp.Listen(ctx, func(event any) {
		if thrown, ok := event.(*cdpruntime.EventExceptionThrown); ok {
			fmt.Fprintln(p.errors, &chromedp.ExceptionError{ExceptionDetails: thrown.ExceptionDetails})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if text := p.errors.String(); text != "" {
			t.Errorf("the page's scripts complain: %s", text)
		}
		cancel()
	})
	if o.Width == 0 {
		o.Width, o.Height = 1280, 720
	}
	colors, motion := "light", "no-preference"
	if o.Dark {
		colors = "dark"
	}
	if o.Still {
		motion = "reduce"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: colors}, {Name: "prefers-reduced-motion", Value: motion},
	}}
	p.run(t, "opening "+address, chromedp.EmulateViewport(int64(o.Width), int64(o.Height)),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, media)
			return err
		}), chromedp.Navigate(address))
	return p
}

func (p *Page) run(t testing.TB, what string, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Do evaluates JavaScript, and waits if it is a promise. It returns the value.
func Do[T any](t testing.TB, p *Page, script string) T {
	t.Helper()
	value, err := evaluate[T](p, script)
	if err != nil {
		t.Fatalf("%.200s: %v", script, err)
	}
	return value
}

func evaluate[T any](p *Page, script string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Await waits until a JavaScript expression is true. what is what the test waits for. An expression can fail while the page is loaded.
func (p *Page) Await(t testing.TB, what, expression string) {
	t.Helper()
	var last struct {
		Text string
		Err  error
	}
	testkit.Await(t, what, func() bool {
		var is bool
		if is, last.Err = evaluate[bool](p, "Boolean("+expression+")"); is {
			return true
		}
		last.Text, _ = evaluate[string](p, "document.body?.innerText")
		return false
	}, &last)
}

// Press presses the button with that text, with a mouse.
func (p *Page) Press(t testing.TB, text string) {
	t.Helper()
	at := Do[struct{ X, Y float64 }](t, p, fmt.Sprintf(`(() => {
		const button = [...document.querySelectorAll('button')].find(b => b.textContent.trim() === %q && b.ariaDisabled !== 'true')
		button.scrollIntoView({block: 'nearest'})
		const {x, y, width, height} = button.getBoundingClientRect()
		return {X: x + width / 2, Y: y + height / 2}
	})()`, text))
	p.run(t, "pressing "+text, chromedp.MouseClickXY(at.X, at.Y))
}

// Type presses keys, such as chromedp's kb.Tab.
func (p *Page) Type(t testing.TB, keys string) {
	t.Helper()
	p.run(t, "typing", chromedp.KeyEvent(keys))
}

// Reload loads the page again.
func (p *Page) Reload(t testing.TB) {
	t.Helper()
	p.run(t, "loading the page again", chromedp.Reload())
}

// Picture returns a picture of what can be seen, as PNG.
func (p *Page) Picture(t testing.TB) []byte {
	t.Helper()
	return testkit.Must(chromedp.Run(p.ctx, chromedp.CaptureScreenshot()))(t)
}

// Axe checks the page as it is now with axe-core, and reports what breaks one of its rules.
func (p *Page) Axe(t testing.TB) {
	t.Helper()
	type violation struct {
		ID, Help string
		Nodes    []struct{ HTML, FailureSummary string }
	}
	Do[chromedp.Void](t, p, axe)
	for _, v := range Do[[]violation](t, p, "axe.run().then(result => result.violations)") {
		var nodes strings.Builder
		for _, n := range v.Nodes[:min(3, len(v.Nodes))] {
			fmt.Fprintf(&nodes, "\n%s\n%s", n.HTML, n.FailureSummary)
		}
		t.Errorf("axe: %s: %s: %d element(s):%s", v.ID, v.Help, len(v.Nodes), nodes.String())
	}
}
