package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"k8s.io/client-go/tools/cache"
)

// prompt answers queries.
type prompt struct {
	pods        podCache
	out         io.Writer
	interactive bool       // somebody sits there and types
	limit       int        // how many names to print
	requests    func() int // how many requests the whole program has sent to the API server

	queried int // how many of them while it answered queries
}

// run answers the queries that in has, one a line, until it ends or ctx does.
func (p *prompt) run(ctx context.Context, in io.Reader) error {
	lines := make(chan string)
	var scanErr error
	go func() { // a read from a terminal can't be interrupted: it is left behind when ctx ends
		defer close(lines)
		scanner := bufio.NewScanner(in)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
		scanErr = scanner.Err()
	}()
	if p.interactive {
		p.line("", "key=value, joined by and, or, ( ); keys: name, namespace, node, image, owner, label; Ctrl-D ends")
	}
	for {
		if p.interactive {
			fmt.Fprintf(p.out, "%-10s ", "QUERY")
		}
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if !ok {
				if p.interactive {
					fmt.Fprintln(p.out)
				}
				return scanErr
			}
			if err := p.answer(line); err != nil {
				return err
			}
		}
	}
}

// answer parses a query, asks it, and prints the answer.
func (p *prompt) answer(text string) error {
	text = strings.Map(func(r rune) rune { // one character of it shall be one on the screen
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if !p.interactive {
		p.line("QUERY", "%s", text)
	}
	q, err := parse(text)
	var wrong syntaxError
	if errors.As(err, &wrong) {
		p.line("", "%s", wrong.pointer())
		return nil
	}

	requests, start := p.requests(), time.Now()
	found, err := q.find(p.pods)
	took := time.Since(start)
	p.queried += p.requests() - requests
	if err != nil {
		return err
	}
	names := slices.SortedFunc(maps.Keys(found), func(a, b cache.ObjectName) int {
		return strings.Compare(a.String(), b.String())
	})
	for _, name := range names[:min(p.limit, len(names))] {
		p.line("POD", "%s", name)
	}
	if more := len(names) - p.limit; more > 0 {
		p.line("...", "and %d more", more)
	}
	p.line("FOUND", "%d pod(s) by %s in %s; API requests: %d for queries, %d for the cache",
		len(names), q.way(), took, p.queried, p.requests()-p.queried)
	return nil
}

// line prints what happened, in one word, and to what.
func (p *prompt) line(word, format string, args ...any) {
	fmt.Fprintf(p.out, "%-10s "+format+"\n", append([]any{word}, args...)...)
}
