// Package pictures tries in a browser what the chapters show with --picture, and holds the READMEs' pictures to it. It is apart from
// the chapters, whose tests a reader can run without compiling what drives a browser.
package pictures

import (
	"fmt"
	"syscall"
	"testing"

	"example.com/client-go-workbook/internal/test/browser"
	"example.com/client-go-workbook/internal/test/testcluster"
)

// TestInformer breaks the connection in each way, and follows what becomes of the objects. Chapter 4's test has what the pages
// have in common.
func TestInformer(t *testing.T) {
	b := browser.Start(t, "02-informer")
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "2")
	t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
	program, page := b.OpenChapter(t, "--kubeconfig", testcluster.Kubeconfig(t), "--context", "workbook", "-n", namespace)

	count := func(part, text string) string {
		return fmt.Sprintf("document.querySelector('#%s .count').textContent.includes(%q)", part, text)
	}
	state := func(name string) string {
		return fmt.Sprintf("document.getElementById('connection').dataset.state === %q", name)
	}
	sample := "Pod " + namespace + "/sample"
	page.Await(t, "an open connection", state("open")+" && "+count("connection", "Pods: open"))
	page.Axe(t)
	page.Press(t, "Create")
	page.Await(t, "the pod in the store", count("store", "1 object"))
	page.Await(t, "a call of the handler", browser.Event("handler: ADDED #1 "+sample))

	// No network: the pod is deleted meanwhile, and the store keeps it. The relist does not have it.
	page.Press(t, "Cut: no route")
	page.Await(t, "a connection that is cut", state("noroute"))
	page.Await(t, "the end of the watch", browser.Event("connection: watch Pod ended"))
	page.Press(t, "Delete")
	page.Await(t, "the deletion", "document.getElementById('said').textContent.startsWith('Deleted')")
	if !browser.Do[bool](t, page, count("store", "1 object")) {
		t.Error("the store has noticed a deletion without a connection")
	}
	page.Illustrate(t, "02-informer", 640)
	page.Press(t, "Restore")
	page.Await(t, "a tombstone", browser.Event("handler: DELETED #1 "+sample+" tombstone"))
	page.Await(t, "an empty store", count("store", "0 objects"))
	page.Await(t, "a second list", count("reflector", "Pods: 2 lists"))

	// A silent connection is open, and the store grows old. Then the informer relists.
	page.Press(t, "Create")
	page.Await(t, "the pod in the store", count("store", "1 object"))
	page.Press(t, "Cut silently")
	page.Await(t, "a silent connection", state("silent"))
	page.Press(t, "Change")
	page.Await(t, "the change", "document.getElementById('said').textContent.startsWith('Changed')")
	page.Press(t, "Restore")
	page.Await(t, "a third list", count("reflector", "Pods: 3 lists"))
	page.Await(t, "the change in the relist", browser.Event("handler: MODIFIED #1 "+sample))

	// The server restarts: the watch goes on where it was, and nothing is listed. (It would be after a watch of less than a second.)
	page.Await(t, "two quiet seconds",
		"/Pods: 3 lists, heard ([2-9]|\\d\\d+) s ago/.test(document.querySelector('#reflector .count').textContent)")
	page.Press(t, "Cut: refused")
	page.Await(t, "a connection that is cut", state("refused"))
	page.Press(t, "Change")
	page.Press(t, "Restore")
	page.Await(t, "an open connection", state("open"))
	if !browser.Do[bool](t, page, count("reflector", "Pods: 3 lists")) {
		t.Error("it has listed again, though connections were only refused")
	}
	page.Await(t, "that what was said of the connection is gone", "document.getElementById('said').textContent === ''")

	// A relist of what has not changed.
	page.Press(t, "Cut: no route")
	page.Await(t, "a connection that is cut", state("noroute"))
	page.Await(t, "the end of the watch", count("connection", "Cut: new connections find no network")+" && "+
		"!"+count("connection", "Pods: open"))
	page.Press(t, "Restore")
	page.Await(t, "a fourth list", count("reflector", "Pods: 4 lists"))
	page.AwaitEvent(t, "that nothing has changed", "handler: MODIFIED #1 "+sample+" relist",
		"document.getElementById('event').innerText.includes('Nothing changed.') && !document.querySelector('#event pre')")

	page.Press(t, "Block the handlers")
	page.Press(t, "Change")
	page.Press(t, "Change")
	page.Await(t, "an event in the buffer", count("handlers", "Pods: #1 busy, "))
	page.Axe(t)
	program.Signal(t, syscall.SIGTERM) // a handler that blocks does not hold up the end
	if code := program.Exit(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
