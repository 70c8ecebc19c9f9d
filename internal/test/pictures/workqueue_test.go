package pictures

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/test/browser"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

func TestWorkqueue(t *testing.T) {
	b := browser.Start(t, "04-workqueue")
	for name, test := range map[string]func(*testing.T, *browser.Browser){
		"buttons":      buttons,
		"many objects": manyObjects,
		"restart":      restart,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// buttons presses each button, and follows what becomes of the key of one pod.
func buttons(t *testing.T, b *browser.Browser) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	pods := kubernetes.NewForConfigOrDie(config).CoreV1().Pods(namespace)
	testkit.Must(pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "nginx-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "nginx", Image: "nginx:1.28.0"}}},
	}, metav1.CreateOptions{}))(t)
	testkit.Await(t, "a pod that runs", func() bool {
		return testkit.Must(pods.Get(t.Context(), "nginx-1", metav1.GetOptions{}))(t).Status.Phase == corev1.PodRunning
	})
	program, page := b.OpenChapter(t, "--kubeconfig", testcluster.Kubeconfig(t), "--context", "workbook", "-n", namespace, "--workers", "3")
	page.Await(t, "one pod in the store", browser.Count("store")+" === '1 object'")
	page.Axe(t)

	page.Press(t, "Create")
	page.Await(t, "two pods in the store", browser.Count("store")+" === '2 objects'")
	page.Await(t, "a dot with the pod's kind and name", fmt.Sprintf(
		"[...document.querySelectorAll('#dots title')].some(t => /^Pod %s.sample: (added|modified)$/.test(t.textContent))", namespace))
	page.Await(t, "the end of its syncs", browser.Count("workers")+" === 'idle' && "+browser.Event("worker: synced "+namespace+"/sample"))
	page.Press(t, "Create")
	page.Await(t, "the server's refusal", "document.getElementById('said').textContent.includes('is there already')")

	// A key that is added while a worker holds it is dirty, and merged from the second time on. No other worker gets it.
	page.Press(t, "Hold a worker")
	page.Press(t, "Change")
	page.Await(t, "a worker that holds it", browser.Count("workers")+" === '1 processing'")
	page.Press(t, "1,000 updates")
	page.Await(t, "the end of the updates", browser.Event("1000 updates in"))
	page.Await(t, "the last update in the queue", "Number(/1 dirty, (.*) merged/.exec("+browser.Count("queue")+")?.[1]) >= 999")
	page.Illustrate(t, "04-workqueue", 585)
	if got := browser.Do[string](t, page, browser.Count("workers")); got != "1 processing" {
		t.Errorf("the key is with more than one worker: %s", got)
	}

	// Another page, and this one once more, show the same.
	other := b.Open(t, page.Address, browser.Options{Width: 360, Height: 740, Dark: true})
	for name, p := range map[string]*browser.Page{"another page": other, "the page, loaded again": page} {
		if p == page {
			p.Reload(t)
		}
		p.AwaitConnected(t)
		p.Await(t, name+": the same state",
			browser.Count("workers")+" === '1 processing' && "+browser.Count("queue")+".startsWith('0 queued, 1 dirty')")
		p.Await(t, name+": the button is pressed",
			"document.querySelector('[data-do=hold]').getAttribute('aria-pressed') === 'true'")
	}
	if got := browser.Do[int](t, other, "document.documentElement.scrollWidth"); got > 360 {
		t.Errorf("on a phone the page is %d pixels wide, want at most 360", got)
	}
	page.Press(t, "Hold a worker")
	page.Await(t, "all workers idle", browser.Count("workers")+" === 'idle'")
	page.Await(t, "the syncs in the timeline", browser.Event("worker: synced "+namespace+"/sample"))
	made := browser.Do[int](t, page, `(() => {
		const events = [...document.querySelectorAll('#timeline button')].map(b => b.textContent) // the newest is first
		return events.slice(0, events.findIndex(e => e.includes('1000 updates in'))).filter(e => e.includes('worker: synced')).length
	})()`)
	if made < 2 || made > 3 {
		t.Errorf("1,001 changes while a worker held the key made %d more syncs, want 2, or 3 if the kubelet has written once more", made)
	}

	// A retry, which slow motion makes long enough to be seen.
	page.Press(t, "Slow motion")
	page.Await(t, "slow motion", "document.querySelector('[data-do=slow]').getAttribute('aria-pressed') === 'true'")
	page.Press(t, "Let the next sync fail")
	page.Press(t, "Change")
	page.Await(t, "a key that waits, with its countdown",
		browser.Count("waiting")+" === '1 waiting' && /0\\.[0-9] s sample/.test(document.getElementById('dots').textContent)")
	page.Await(t, "a key that is due", browser.Event("queue: due "+namespace+"/sample"))
	page.Await(t, "why it has failed", browser.Event("worker: failed")+" && "+browser.Event("made to fail by a button"))

	// Step by step.
	page.Press(t, "Pause")
	page.Await(t, "the pause", "document.querySelector('[data-do=pause]').getAttribute('aria-pressed') === 'true'")
	page.Press(t, "Change")
	page.Await(t, "the change", "document.getElementById('said').textContent.startsWith('Changed')")
	page.Await(t, "a hop that waits", "document.querySelector('[data-do=step]').ariaDisabled !== 'true'")
	page.Press(t, "Step")
	page.Await(t, "the step", "document.getElementById('said').textContent.startsWith('One hop.')")
	page.Press(t, "Full speed")
	page.Await(t, "all workers idle", browser.Count("workers")+" === 'idle'")

	// A handler that blocks has a buffer, which grows. The object in it goes through the store all the same.
	page.Press(t, "Block the handlers")
	for range 3 {
		page.Press(t, "Change")
	}
	page.Await(t, "two events in the buffer", "/busy, [2-9] in its buffer/.test("+browser.Count("handlers")+")")
	page.Press(t, "Block the handlers")
	page.Await(t, "an empty buffer", browser.Count("handlers")+".includes('idle, 0 in its buffer')")

	// What an object contains is text, and never markup.
	patch := []byte("{\"metadata\": {\"annotations\": {\"a\": \"<img src=x onerror=alert(1)>\u202eturned\"}}}")
	testkit.Must(pods.Patch(t.Context(), "sample", types.MergePatchType, patch, metav1.PatchOptions{}))(t)
	const newest = "[...document.querySelectorAll('#timeline button')].find(b => b.textContent.includes('store: MODIFIED'))"
	page.Await(t, "what has changed, as text", `(() => {
		const newest = `+newest+`
		if (document.querySelector('#event h3')?.textContent !== newest.textContent) newest.click()
		return [...document.querySelectorAll('#event .plus')].some(line => /<img src=x.*\\u202eturned/.test(line.textContent))
	})()`)
	// A key press is as good as a click, and the whole frame around what has the focus can be seen.
	browser.Do[any](t, page, "document.getElementById('timeline').focus()")
	page.Type(t, kb.ArrowDown)
	page.Await(t, "an event with the focus", "document.activeElement.closest('#timeline li')")
	ring := browser.Do[struct{ Width, Offset float64 }](t, page, `(({outlineStyle, outlineWidth, outlineOffset}) => ({
		Width: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth), Offset: parseFloat(outlineOffset)
	}))(getComputedStyle(document.activeElement))`)
	if ring.Width < 2 || ring.Width+ring.Offset > 0 {
		t.Errorf("the frame around an event is %v pixels wide, %v outside of its line: the list cuts it off", ring.Width, ring.Width+ring.Offset)
	}
	chosen := browser.Do[string](t, page,
		"document.getElementById('event').replaceChildren(), "+newest+".focus(), document.activeElement.textContent")
	page.Type(t, "\r")
	page.Await(t, "the event", fmt.Sprintf("document.querySelector('#event h3')?.textContent === %q", chosen))
	page.Await(t, "the object's way", "document.querySelectorAll('#event ol li').length > 5")
	if browser.Do[int](t, page, "document.querySelectorAll('img').length") != 0 {
		t.Error("an annotation has become markup")
	}
	browser.Do[any](t, page, "document.querySelectorAll('details').forEach(d => d.open = true)")
	page.Axe(t)
	other.Axe(t) // dark, on a phone

	browser.Do[any](t, page, "document.querySelector('[data-do=delete]').focus()")
	page.Type(t, "\r")
	page.Await(t, "one pod in the store", browser.Count("store")+" === '1 object'")

	program.Signal(t, syscall.SIGTERM)
	if code := program.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if lines := strings.Count(program.Out.String(), "\n"); lines != 2 {
		t.Errorf("the terminal has %d lines, want the address, and that what happens is shown there", lines)
	}
}

// restart leaves a page open while the program ends and begins again, as with make picture at the same port.
func restart(t *testing.T, b *browser.Browser) {
	free := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	free.Close()
	home := t.TempDir()
	start := func(pods int) (*testkit.Process, string) {
		cmd := exec.Command(b.Program, "--picture", free.Addr().String(), "--kubeconfig", podServer(t, pods, 0))
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home) // where it keeps the token
		program := testkit.Start(t, cmd)
		return program, strings.TrimPrefix(program.Await(t, `^PICTURE    http.*$`), "PICTURE    ")
	}
	program, address := start(3)
	page := b.Open(t, address, browser.Options{Still: true})
	page.AwaitConnected(t)
	page.Await(t, "three pods", browser.Count("store")+" === '3 objects'")
	program.Kill()
	page.Await(t, "that the page has noticed", "document.body.classList.contains('lost')")

	_, address = start(4)
	page.Await(t, "four pods", browser.Count("store")+" === '4 objects'")
	page.Press(t, "Slow motion")
	page.Await(t, "slow motion", "document.querySelector('[data-do=slow]').getAttribute('aria-pressed') === 'true'")
	page.Await(t, "what it is", "document.getElementById('said').textContent.startsWith('Each hop waits')")
	// With reduced motion a dot is at its place at once.
	if moves := browser.Do[int](t, page, "import('/dots.js').then(dots => dots.frames.length)"); moves > 10 {
		t.Errorf("with reduced motion there were %d frames in which something moved", moves)
	}

	// Without the token there is only a sentence. Whoever pastes the printed address then sees the program.
	address, token, _ := strings.Cut(address, "#")
	stranger := b.Open(t, address, browser.Options{})
	stranger.Await(t, "what to do", "document.getElementById('program').textContent.startsWith('Open the address that the terminal')")
	browser.Do[any](t, stranger, fmt.Sprintf("location.hash = %q", token))
	stranger.AwaitConnected(t)
}

// manyObjects measures how fast a page is that shows thousands of objects, of which some change all the time. Their names are as long
// as names can be.
func manyObjects(t *testing.T, b *browser.Browser) {
	for objects, least := range map[int]float64{200: 5, 2000: 3} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			_, page := b.OpenChapter(t, "--kubeconfig", podServer(t, objects, 50*time.Millisecond))
			page.Await(t, "all pods", browser.Count("store")+fmt.Sprintf(" === '%d objects'", objects))
			perSecond := browser.Do[float64](t, page, `import('/dots.js').then(dots => new Promise(done => setTimeout(() => {
				dots.frames.length = 0
				const begin = performance.now()
				setTimeout(() => done(dots.frames.length * 1000 / (performance.now() - begin)), 2000)
			}, 500)))`)
			type sizes struct{ Bytes, Paint float64 }
			loaded := browser.Do[sizes](t, page, `({
				Bytes: performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
					.filter(e => !e.name.endsWith('/events')).reduce((sum, e) => sum + e.encodedBodySize, 0),
				Paint: performance.getEntriesByName('first-contentful-paint')[0].startTime})`)
			t.Logf("%d objects: %.0f frames a second; the page has %.0f bytes, and is there after %.0f ms",
				objects, perSecond, loaded.Bytes, loaded.Paint)
			if perSecond < least {
				t.Errorf("%.0f frames a second, want %.0f even on a machine that is busy with all other tests", perSecond, least)
			}
			if loaded.Bytes > 200_000 || loaded.Bytes < 10_000 {
				t.Errorf("the page has %.0f bytes, want at most 200,000", loaded.Bytes)
			}
			for _, width := range []int{320, 1280} {
				still := b.Open(t, page.Address, browser.Options{Width: width, Height: 720, Still: true}) // no dot is on its way
				still.Await(t, "all pods", browser.Count("store")+fmt.Sprintf(" === '%d objects'", objects))
				still.AwaitEvent(t, "a change in a pod with a long name", "store: MODIFIED",
					"document.querySelector('#event pre')?.textContent.includes('resourceVersion')")
				if got := browser.Do[int](t, still, "document.getElementById('event').scrollWidth"); got > width {
					t.Errorf("the page is %d pixels wide, want at most %d", got, width)
				}
				still.Await(t, "dots within their part, and the number of the others", `(() => {
					const pool = document.querySelector('#store .pool'), {left, right, top, bottom} = pool.getBoundingClientRect()
					const dots = [...document.querySelectorAll('#dots circle')].map(dot => dot.getBoundingClientRect())
						.filter(dot => dot.right > left && dot.left < right && dot.bottom > top) // below it, too
					const more = Number(/^\+([\d,]*) more$/.exec(pool.textContent)?.[1].replaceAll(',', '') ?? 0)
					return dots.length + more === `+fmt.Sprint(objects)+` && dots.every(dot => dot.bottom < bottom - (more ? 16 : 0))
				})()`)
			}
		})
	}
}

// podServer answers for an informer of so many pods, one of which changes each time, or none if that is 0.
func podServer(t *testing.T, pods int, each time.Duration) (kubeconfig string) {
	t.Helper()
	type object = map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, version := json.NewEncoder(w), 0
		send := func(event string, name int) {
			version++
			metadata := object{"namespace": "nginx", "name": fmt.Sprintf("%0253d", name), "resourceVersion": fmt.Sprint(version)}
			answer.Encode(object{"type": event, "object": object{"kind": "Pod", "apiVersion": "v1", "metadata": metadata}})
		}
		if r.URL.Path == "/version" {
			answer.Encode(object{"gitVersion": "v1.37.0"})
			return
		}
		for i := range pods {
			send("ADDED", i)
		}
		metadata := object{"resourceVersion": fmt.Sprint(version), "annotations": object{"k8s.io/initial-events-end": "true"}}
		answer.Encode(object{"type": "BOOKMARK", "object": object{"kind": "Pod", "apiVersion": "v1", "metadata": metadata}})
		change := time.Tick(each) // nil for 0
		for i := 0; ; i++ {
			w.(http.Flusher).Flush()
			select {
			case <-change:
				send("MODIFIED", i*7%pods)
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return testkit.Kubeconfig(t, server.URL)
}
