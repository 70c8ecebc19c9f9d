package program

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Printer prints lines. Each line is one Write, so the lines of several goroutines do not mix. What has no shape of its own,
// such as a control character in the name of an object's field, is printed as Go writes it: a terminal would obey it.
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
	quiet      bool // nothing is printed any longer
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
	if p.quiet {
		return
	}
	p.buffer = p.buffer[:0]
	if p.timestamps {
		p.buffer = time.Now().AppendFormat(p.buffer, "15:04:05.000 ")
	}
	for i, part := range parts {
		if i == 0 && p.colors {
			p.buffer = appendColored(p.buffer, part)
		} else {
			p.buffer = appendVisible(p.buffer, part)
		}
	}
	p.buffer = append(p.buffer, '\n')
	_, _ = p.out.Write(p.buffer) // Stdout ends the program if it fails
}

// Quiet ends the printing: no line comes after it. It is for a program that shows elsewhere what happens.
func (p *Printer) Quiet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = true
}

// Prefix returns a Printer whose Line puts this text between the word and the rest. It says who prints.
func (p *Printer) Prefix(text string) *Printer {
	return &Printer{lines: p.lines, prefix: p.prefix + text}
}

// appendVisible appends the text to the line. Instead of a character that a terminal obeys or does not show, it appends its
// number: \x1b for ESC, \u202e for the one that turns the text around. A tab stays: queries have some.
func appendVisible(line []byte, text string) []byte {
	for len(text) > 0 {
		char, size := utf8.DecodeRuneInString(text)
		switch {
		case char == utf8.RuneError && size == 1: // no UTF-8: a byte of its own is a control character for some terminals
			line = fmt.Appendf(line, `\x%02x`, text[0])
		case char == '\t' || strconv.IsGraphic(char):
			line = append(line, text[:size]...)
		default:
			quoted := strconv.QuoteRune(char)
			line = append(line, quoted[1:len(quoted)-1]...)
		}
		text = text[size:]
	}
	return line
}
