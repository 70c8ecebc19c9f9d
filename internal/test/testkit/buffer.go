package testkit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Buffer is a bytes.Buffer that several goroutines write and read at the same time.
type Buffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write appends p. It never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

// String returns everything written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// Lines returns the lines written so far, without their newlines: all of them, or only those whose first word is one of
// the words.
func (b *Buffer) Lines(words ...string) []string {
	var lines []string
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if first, _, _ := strings.Cut(line, " "); len(words) == 0 || slices.Contains(words, first) {
			lines = append(lines, line)
		}
	}
	return lines
}

// Await waits until a part of the text matches a regular expression, and returns the first match. In it, ^ and $ match
// at the beginning and end of each line. After five minutes it ends the test and shows the text.
func (b *Buffer) Await(t testing.TB, pattern string) string {
	t.Helper()
	return b.await(t, pattern, nil)
}

// await is Await. It ends the test as soon as the text is complete, which a closed channel says, and has no match.
func (b *Buffer) await(t testing.TB, pattern string, complete <-chan struct{}) string {
	t.Helper()
	expression := regexp.MustCompile(`(?m)` + pattern)
	var match []int
	var text string
	Await(t, fmt.Sprintf("output that matches %q", pattern), func() bool {
		last := closed(complete) // before the text is read
		text = b.String()
		match = expression.FindStringIndex(text)
		if match == nil && last {
			t.Fatalf("the process has ended without output that matches %q:\n%s", pattern, text)
		}
		return match != nil
	}, b)
	return text[match[0]:match[1]]
}
