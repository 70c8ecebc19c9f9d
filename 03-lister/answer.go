package main

import (
	"time"

	"example.com/client-go-workbook/internal/program"
)

// answerer answers queries from the cache.
type answerer struct {
	out      *program.Printer
	pods     podCache
	limit    int        // how many names to print of an answer
	requests func() int // how many the program has sent so far

	queried int // how many of them while it looked for an answer
}

// answer prints what a query finds, and what that took.
func (a *answerer) answer(q query) error {
	requests, start := a.requests(), time.Now()
	found, err := q.find(a.pods)
	took := time.Since(start)
	a.queried += a.requests() - requests
	if err != nil {
		return err
	}
	names := found.names()
	for _, name := range names[:min(a.limit, len(names))] {
		a.out.Line("POD", "%s", name)
	}
	if more := len(names) - a.limit; more > 0 {
		a.out.Line("", "and %d more", more)
	}
	a.out.Line("FOUND", "%d pod(s) by %s in %s; API requests: %d for queries, %d for the cache",
		len(names), q.way, took, a.queried, a.requests()-a.queried)
	return nil
}
