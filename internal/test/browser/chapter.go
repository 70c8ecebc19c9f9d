package browser

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// OpenChapter starts the chapter's program with a picture, and opens its page.
func (b *Browser) OpenChapter(t testing.TB, args ...string) (*testkit.Process, *Page) {
	t.Helper()
	program := testkit.Start(t, exec.Command(b.Program, append([]string{"--picture", "127.0.0.1:0"}, args...)...))
	page := b.Open(t, strings.TrimPrefix(program.Await(t, `^PICTURE    http.*$`), "PICTURE    "), Options{})
	page.AwaitConnected(t)
	return program, page
}

// AwaitConnected waits for the program's first message.
func (p *Page) AwaitConnected(t testing.TB) {
	t.Helper()
	p.Await(t, "the program's first message", "document.getElementById('program').textContent.startsWith('Connected')")
}

// Count is an expression: the text of a part that says how many things it has.
func Count(part string) string {
	return fmt.Sprintf("document.querySelector('#%s .count').textContent", part)
}

// Event is an expression that is true if the timeline has such an event.
func Event(text string) string {
	return fmt.Sprintf("[...document.querySelectorAll('#timeline button')].some(b => b.textContent.includes(%q))", text)
}

// AwaitEvent chooses the newest event of the timeline that has this text, and the next one when that comes, and waits until an
// expression about the chosen event is true. what is what the test waits for.
func (p *Page) AwaitEvent(t testing.TB, what, text, expression string) {
	t.Helper()
	p.Await(t, what, fmt.Sprintf(`(() => {
		const newest = [...document.querySelectorAll('#timeline button')].find(b => b.textContent.includes(%q))
		if (!newest) return false
		if (document.querySelector('#event h3')?.textContent !== newest.textContent) newest.click()
		return %s
	})()`, text, expression))
}

// Differs is an expression: the rows of the chosen event's table in which the desired and the actual state differ.
const Differs = "[...document.querySelectorAll('#event .differs')].map(row => row.innerText)"
