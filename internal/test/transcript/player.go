package transcript

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"
)

// player runs the blocks of one README, in order.
type player struct {
	readme    string
	root      string   // the folder to run commands in
	env       []string // what the commands' environment has besides this process's
	hint      string   // what to do where README and output differ
	update    bool     // note differences in edits, don't fail
	limits    limits
	terminals map[string]*terminal
	edits     map[int]edit // by the index of the first line
}

// limits say how long to wait for what.
type limits struct {
	start  time.Duration // for a command's first output, or for its end if it runs alone: client-go may have to be compiled
	output time.Duration // for what a running command prints
	end    time.Duration // for the end of an interrupted command
	quiet  time.Duration // with -update: so long without output means that no more will come
}

// play runs a section's blocks, up to the first error, and ends the terminals that end with it.
func (p *player) play(s section) (err error) {
	defer func() {
		if err != nil {
			p.kill() // what the terminals show from here on means nothing
		}
	}()
	for _, b := range s.blocks {
		if b.terminal == "" {
			err = p.runShell(b)
		} else {
			err = p.runTerminal(b, s.level)
		}
		if err != nil {
			return err
		}
	}
	for name, term := range p.terminals {
		if term.level >= s.next {
			err = errors.Join(err, p.at(term.last, p.close(name)))
		}
	}
	return err
}

// runShell runs all commands of a block in one shell.
func (p *player) runShell(b block) error {
	var script strings.Builder
	for _, s := range b.steps {
		// After each, its exit code behind a mark. The next command finds $? as this one left it.
		fmt.Fprintf(&script, "%s\n_code=$?; printf '\\036%%d\\n' $_code; (exit $_code)\n", s.command)
	}
	term, err := p.start(script.String())
	if err != nil {
		return err
	}
	if !until(p.limits.start, term.hasEnded) {
		term.kill()
	}
	output := term.output()
	for i, s := range b.steps {
		var printed, code string
		var ended bool
		printed, output, _ = strings.Cut(output, "\x1e")
		code, output, ended = strings.Cut(output, "\n")
		switch {
		case !ended:
			return p.at(s, fmt.Errorf("its shell ends here, or not within %s:\n%s", p.limits.start, printed))
		case code != "0" && (i+1 == len(b.steps) || b.steps[i+1].command != "echo $?"):
			return p.at(s, fmt.Errorf("it fails with exit code %s; if it should, let `$ echo $?` follow:\n%s", code, printed))
		}
		got := split(printed, true)
		if _, v := compare(s.want, got, b.unordered, true); v != same {
			if err := p.differ(s, "it prints something else", got); err != nil {
				return p.at(s, err)
			}
		}
	}
	return nil
}

func (p *player) runTerminal(b block, level int) error {
	for _, s := range b.steps {
		if err := p.runStep(b, s, level); err != nil {
			return p.at(s, err)
		}
	}
	return nil
}

func (p *player) runStep(b block, s step, level int) (err error) {
	term := p.terminals[b.terminal]
	switch {
	case term == nil && (s.command == "" || s.command == "^C" || s.command == "^Z"):
		return fmt.Errorf("nothing runs in terminal %s: let a command come first, under this heading or one above it", b.terminal)
	case s.command == "":
		return p.expect(term, s, b.unordered, false, p.limits.output)
	case s.command == "^C":
		if term.hasEnded() {
			return fmt.Errorf("the command has ended before it (%s): leave ^C out", term.status())
		}
		if err := p.end(b.terminal); err != nil {
			return err
		}
		if err := p.expect(term, s, b.unordered, true, 0); err != nil {
			return err
		}
		return term.err
	case s.command == "^Z":
		if err := term.signal(syscall.SIGSTOP); err != nil {
			return err
		}
		return p.expect(term, s, b.unordered, false, 0)
	case term != nil && s.command == "fg":
		if err := term.signal(syscall.SIGCONT); err != nil {
			return err
		}
		return p.expect(term, s, b.unordered, false, p.limits.output)
	case term != nil && strings.HasPrefix(s.command, "echo $?"):
		if !until(p.limits.output, term.hasEnded) {
			return errors.New("the command before it still runs in this terminal")
		}
		if got := strconv.Itoa(term.cmd.ProcessState.ExitCode()); !slices.Equal(s.want, []string{got}) {
			return p.differ(s, "it prints something else", []string{got})
		}
		term.err = nil
		return nil
	case term != nil:
		if !until(p.limits.start, term.hasEnded) {
			return errors.New("the command before it still runs in this terminal: let ^C come first")
		}
		if err := p.close(b.terminal); err != nil {
			return fmt.Errorf("the command before it in this terminal: %w", err)
		}
	}
	if term, err = p.start(s.command); err != nil {
		return err
	}
	term.level = level
	p.terminals[b.terminal] = term
	return p.expect(term, s, b.unordered, false, p.limits.start)
}

// expect waits until a terminal prints what a step wants. With whole, it must print nothing else.
func (p *player) expect(term *terminal, s step, unordered, whole bool, limit time.Duration) error {
	want := s.want
	if term.more {
		want = append([]string{anything}, want...)
	}
	var n int
	var v verdict
	until(limit, func() bool {
		ended := term.hasEnded() // asked first: what it has printed is then complete
		n, v = compare(want, term.lines(), unordered, whole)
		return v != short || ended
	})
	if p.update && len(want) == 0 && !whole {
		v = differs // a block that is still empty goes with any output, but is to be filled
	}
	if v != same {
		if p.update {
			term.settle(p.limits)
		}
		n = len(term.lines())
	}
	term.last, term.got = s, term.lines()[:n]
	term.seen += n
	term.more = v == same && len(want) > 0 && want[len(want)-1] == anything
	switch v {
	case short:
		return p.differ(s, fmt.Sprintf("it does not print all of it (%s, after at most %s)", term.status(), limit), term.got)
	case differs:
		return p.differ(s, "it prints something else", term.got)
	}
	return nil
}

// close ends a terminal that the README shows nothing more of. So it must not have printed more, and if it has ended
// by itself, then well; how it ends when it is interrupted here, the README does not say.
func (p *player) close(name string) error {
	term := p.terminals[name]
	if !term.more && until(100*time.Millisecond, func() bool { return len(term.lines()) > 0 }) {
		if err := p.differ(term.last, "it prints more", append(term.got, term.lines()...)); err != nil {
			return err
		}
	}
	interrupted := !term.hasEnded()
	if err := p.end(name); err != nil || interrupted {
		return err
	}
	return term.err
}

// end interrupts a terminal's command if it still runs, and waits for its end.
func (p *player) end(name string) error {
	term := p.terminals[name]
	delete(p.terminals, name)
	if !term.hasEnded() {
		if err := term.interrupt(); err != nil {
			return err
		}
	}
	defer term.kill()
	if !until(p.limits.end, term.hasEnded) {
		return fmt.Errorf("it does not end within %s after ^C", p.limits.end)
	}
	if !until(p.limits.end, func() bool { return !term.isLeft() }) {
		return errors.New("it leaves processes behind")
	}
	return nil
}

func (p *player) kill() {
	for name, term := range p.terminals {
		term.kill()
		delete(p.terminals, name)
	}
}

// at says where in the README the error is.
func (p *player) at(s step, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s:%d: %w", p.readme, s.line, err)
}

// differ returns an error that shows the difference, or notes it as an edit.
func (p *player) differ(s step, why string, got []string) error {
	if p.update {
		p.edits[s.from] = edit{old: s.want, new: got}
		return nil
	}
	diff := cmp.Diff(s.want, got, cmp.Comparer(func(a, b string) bool { return mask(a) == mask(b) }))
	return fmt.Errorf("%s (- README, + printed):\n%s%s", why, diff, p.hint)
}

// edit replaces lines of the README.
type edit struct {
	old, new []string
}

func rewrite(text string, edits map[int]edit) string {
	lines := strings.Split(text, "\n")
	// From the end, so that the places of the others stay.
	for _, from := range slices.Backward(slices.Sorted(maps.Keys(edits))) {
		lines = slices.Replace(lines, from, from+len(edits[from].old), edits[from].new...)
	}
	return strings.Join(lines, "\n")
}
