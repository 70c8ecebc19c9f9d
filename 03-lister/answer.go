package main

import (
	"fmt"
	"io"
	"time"
)

// printer prints answers.
type printer struct {
	out      io.Writer
	pods     podCache
	limit    int        // how many names to print of each
	requests func() int // how many requests the program has sent to the API server so far

	queried int // how many of them while it looked for an answer
}

// answer asks the cache, and prints what it finds and what that took.
func (p *printer) answer(q query) error {
	requests, start := p.requests(), time.Now()
	found, err := q.find(p.pods)
	took := time.Since(start)
	p.queried += p.requests() - requests
	if err != nil {
		return err
	}
	names := found.names()
	for _, name := range names[:min(p.limit, len(names))] {
		p.line("POD", "%s", name)
	}
	if more := len(names) - p.limit; more > 0 {
		p.line("...", "and %d more", more)
	}
	p.line("FOUND", "%d pod(s) by %s in %s; API requests: %d for queries, %d for the cache",
		len(names), q.way, took, p.queried, p.requests()-p.queried)
	return nil
}

// line prints what happened, in one word, and to what.
func (p *printer) line(word, format string, args ...any) {
	fmt.Fprintf(p.out, "%-10s "+format+"\n", append([]any{word}, args...)...)
}
