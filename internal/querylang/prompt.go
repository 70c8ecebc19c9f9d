package querylang

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/client-go-workbook/internal/program"
)

// Prompt reads queries and answers them. The answer to a query that cannot be parsed is its mistake.
type Prompt[Query any] struct {
	Language Language[Query]
	Answer   func(Query) error
	Out      *program.Printer
	Terminal io.Writer // shows the prompt to a person who types the queries; nil if they come from elsewhere
}

// maxQuery is the length in bytes from which on a query is not answered, and not kept in memory.
const maxQuery = 64 << 10

// Run answers the queries that in has, one a line, until it or ctx ends.
func (p *Prompt[Query]) Run(ctx context.Context, in io.Reader) error {
	lines := make(chan string)
	var readErr error
	go func() { // nothing interrupts a read from a terminal: this goroutine outlives ctx until the process ends
		defer close(lines)
		reader := bufio.NewReaderSize(in, maxQuery+len("\r\n"))
		for {
			line, more, err := reader.ReadLine()
			if err != nil {
				if err != io.EOF {
					readErr = err
				}
				return
			}
			text := string(line)
			for more && err == nil { // what does not fit is skipped
				_, more, err = reader.ReadLine()
			}
			select {
			case lines <- text:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		if p.Terminal != nil {
			fmt.Fprint(p.Terminal, "QUERY      ")
		}
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-lines:
			if ok {
				if err := p.Ask(line); err != nil {
					return err
				}
				continue
			}
			if p.Terminal != nil {
				fmt.Fprintln(p.Terminal) // Ctrl-D leaves the cursor behind the prompt
			}
			return readErr
		}
	}
}

// Ask answers a single query. An empty one has no answer.
func (p *Prompt[Query]) Ask(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if len(text) > maxQuery {
		p.Out.Line("QUERY", "%.60s...", text)
		p.Out.Line("", "a query has at most %d bytes: shorten it", maxQuery)
		return nil
	}
	if p.Terminal == nil {
		p.Out.Line("QUERY", "%s", text)
	}
	query, err := p.Language.Parse(text)
	var wrong Error
	if errors.As(err, &wrong) {
		p.Out.Line("", "%s", wrong.Pointer())
		return nil
	}
	return p.Answer(query)
}
