package program

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Printer prints lines. Each line is one Write, so the lines of several goroutines do not mix.
type Printer struct {
	*lines
	prefix string
}

// lines is what a Printer shares with those that [Printer.Prefix] returned.
type lines struct {
	mu         sync.Mutex
	out        io.Writer
	timestamps bool
	colors     bool // the first word of a line has a colour
	buffer     []byte
}

// NewPrinter returns a Printer that writes to out.
func NewPrinter(out io.Writer) *Printer { return &Printer{lines: &lines{out: out}} }

// Line prints what happened, in one word, and to what. The text stays on one line, even if an error in it has more.
func (p *Printer) Line(word, format string, args ...any) {
	text := strings.ReplaceAll(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n", " ")
	p.Print(fmt.Sprintf("%-10s ", word), p.prefix, text)
}

// Print prints the parts as one line, without a space between them. It is for lines that come with each event: it
// allocates nothing.
func (p *Printer) Print(parts ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.buffer = p.buffer[:0]
	if p.timestamps {
		p.buffer = time.Now().AppendFormat(p.buffer, "15:04:05.000 ")
	}
	for i, part := range parts {
		if i == 0 && p.colors {
			p.buffer = appendColored(p.buffer, part)
		} else {
			p.buffer = append(p.buffer, part...)
		}
	}
	p.buffer = append(p.buffer, '\n')
	_, _ = p.out.Write(p.buffer) // Stdout ends the program if it fails
}

// Prefix returns a Printer whose Line puts this text between the word and the rest. It says who prints.
func (p *Printer) Prefix(text string) *Printer {
	return &Printer{lines: p.lines, prefix: p.prefix + text}
}
