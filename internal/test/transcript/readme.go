package transcript

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// section is a heading and what stands under it, up to the next heading of any level.
type section struct {
	title  string
	level  int // 1 for #, 2 for ##, and so on
	next   int // the next heading's level, 0 at the end
	blocks []block
}

// stopsAPIServer reports whether a command of the section does.
func (s section) stopsAPIServer() bool {
	return slices.ContainsFunc(s.blocks, func(b block) bool {
		return slices.ContainsFunc(b.steps, func(step step) bool { return strings.HasPrefix(step.command, "scripts/apiserver.sh ") })
	})
}

type block struct {
	terminal  string // its number; empty for a block that runs to its end
	unordered bool
	steps     []step
}

// step is a command and what it prints.
type step struct {
	line    int    // counted from 1, as editors do
	command string // empty: the terminal's command, which still runs, prints more; ^C: it is interrupted; ^Z: paused, until fg
	want    []string
	from    int // want's first line, counted from 0
}

var heading = regexp.MustCompile(`^(#{1,6}) +(.+)$`)

// parse finds a README's console blocks. Its errors begin with the line's number.
func parse(text string) ([]section, error) {
	sections := []section{{title: "top", level: 1}}
	last := &sections[0]
	inside := false // a fenced block
	var b *block    // that block, if it is a console block
	for i, line := range strings.Split(text, "\n") {
		h := heading.FindStringSubmatch(line)
		switch {
		case inside && line == "```":
			if b != nil {
				last.blocks = append(last.blocks, *b)
			}
			inside, b = false, nil
		case b != nil:
			b.add(i, line)
			if command := b.steps[len(b.steps)-1].command; b.terminal == "" && (command == "" || command == "^C" || command == "^Z") {
				return nil, fmt.Errorf("%d: only a terminal has output without a command, ^C or ^Z: number the block", i+1)
			}
		case inside:
		case h != nil:
			last.next = len(h[1])
			sections = append(sections, section{title: h[2], level: len(h[1])})
			last = &sections[len(sections)-1]
		case strings.HasPrefix(line, "```"):
			inside = true
			if words := strings.Fields(line[3:]); len(words) > 0 && words[0] == "console" {
				var err error
				if b, err = newBlock(words[1:]); err != nil {
					return nil, fmt.Errorf("%d: %w", i+1, err)
				}
			}
		case strings.HasPrefix(strings.TrimSpace(line), "```console"):
			return nil, fmt.Errorf("%d: an indented console block is not run: let it begin where the line does", i+1)
		}
	}
	return sections, nil
}

var number = regexp.MustCompile(`^[0-9]+$`)

func newBlock(words []string) (*block, error) {
	b := &block{}
	for _, word := range words {
		switch {
		case word == "unordered":
			b.unordered = true
		case number.MatchString(word):
			b.terminal = word
		default:
			return nil, fmt.Errorf("unknown word %q after console: use a terminal's number, or unordered", word)
		}
	}
	return b, nil
}

// add takes in the block's next line, which is lines[i] of the README.
func (b *block) add(i int, line string) {
	var last *step
	if len(b.steps) > 0 {
		last = &b.steps[len(b.steps)-1]
	}
	command, isCommand := strings.CutPrefix(line, "$ ")
	switch {
	case last != nil && strings.HasSuffix(last.command, `\`):
		last.command += "\n" + line
		last.from = i + 1
	case isCommand, line == "^C", line == "^Z":
		b.steps = append(b.steps, step{line: i + 1, command: command, from: i + 1})
	case last == nil:
		b.steps = append(b.steps, step{line: i + 1, want: []string{line}, from: i})
	default:
		last.want = append(last.want, line)
	}
}
