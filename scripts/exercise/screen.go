package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// watchScreen is the terminal screen that grades on save.
func (w *workbook) watchScreen(ctx context.Context, t *task) error {
	if t == nil {
		t = &w.tasks[0]
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &screen{w: w, ctx: ctx, width: 80, height: 24}
	// The signals are main's, whose context ends the program as q does. Its own context only ends what is sent to it later.
	ofProgram, end := context.WithCancel(context.Background())
	defer end()
	program := tea.NewProgram(s, tea.WithContext(ofProgram), tea.WithoutSignalHandler())
	s.send = program.Send
	s.show(*t)
	s.running.Go(func() {
		<-ctx.Done()
		program.Quit()
	})
	s.running.Go(func() {
		err := w.watchFiles(ctx, func(e exercise) { program.Send(saved{e}) })
		if err != nil && ctx.Err() == nil {
			program.Send(note(err.Error() + ": r grades"))
		}
	})
	_, err := program.Run()
	end()
	cancel()
	s.running.Wait()
	s.work.running.Wait()
	return err
}

// screen is the model of bubbletea: what is shown now. Only Update changes it.
type screen struct {
	w       *workbook
	ctx     context.Context
	send    func(tea.Msg)
	running sync.WaitGroup // the other goroutines
	work    latest         // the grading, or a prediction's program

	width, height int
	task          task
	busy          string // what is done now
	body          func(width int) string
	hints         int      // shown with the body
	list          bool     // the body is the list
	chosen        int      // in the list
	scroll        int      // lines of the body that are above the screen
	number        int      // of the work that was started last: what an earlier one sends is too late
	output        []string // of a prediction's program
}

type (
	saved  struct{ exercise exercise }
	note   string
	graded struct {
		number  int
		outcome outcome
		err     error
	}
	progressed struct {
		number int
		line   string
	}
	shown struct {
		number int
		chosen manifest.Choice
		err    error
	}
)

func (s *screen) Init() tea.Cmd { return nil }

func (s *screen) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.WindowSizeMsg:
		s.width, s.height = m.Width, m.Height
	case tea.KeyPressMsg:
		return s, s.key(m.String())
	case saved:
		if s.task.id != m.exercise.ID {
			s.show(s.w.taskOf(m.exercise))
		}
		s.grade()
	case note:
		s.busy = string(m)
	case progressed:
		if m.number == s.number {
			if s.task.prediction != nil {
				s.output = append(s.output, m.line)
				question, printed := *s.task.prediction, strings.Join(s.output, "\n")
				s.body = func(width int) string { return questionText(question, width) + "\n\n" + printed }
				s.scroll = 1 << 30 // to the end
			} else {
				s.busy = m.line
			}
		}
	case graded:
		if m.number == s.number {
			s.busy, s.list, s.scroll = "", false, 0
			if m.err != nil {
				s.body = unwrapped(m.err.Error())
			} else {
				s.busy = fmt.Sprintf("graded in %.1fs", m.outcome.took.Seconds())
				s.body = func(width int) string { return s.w.outcomeText(m.outcome, width) }
			}
		}
	case shown:
		if m.number == s.number {
			s.busy = ""
			above, question := s.body, *s.task.prediction
			s.body = func(width int) string {
				if m.err != nil {
					return above(width) + "\n\n" + m.err.Error()
				}
				return above(width) + "\n\n" + answerText(question, m.chosen, width)
			}
			s.scroll = 1 << 30
		}
	}
	return s, nil
}

// key does what a key means.
func (s *screen) key(key string) tea.Cmd {
	switch key {
	case "q", "ctrl+c":
		return tea.Quit
	case "up", "k":
		s.move(-1)
	case "down", "j":
		s.move(1)
	case "pgup":
		s.move(-s.height / 2)
	case "pgdown", "space":
		s.move(s.height / 2)
	case "enter":
		if s.list {
			s.show(s.w.tasks[s.chosen])
		}
	case "l", "esc":
		if s.list {
			s.show(s.task)
		} else if key == "l" {
			s.list, s.scroll = true, 0
			s.chosen = slices.IndexFunc(s.w.tasks, func(t task) bool { return t.id == s.task.id })
		}
	case "n":
		if t := s.w.openAfter(s.task.id); t != nil {
			s.show(*t)
		} else {
			s.busy = "All exercises are solved."
		}
	default:
		if !s.list && s.task.prediction != nil {
			s.answer(key)
		} else if !s.list {
			s.exerciseKey(key)
		}
	}
	return nil
}

// exerciseKey does what a key means for an exercise.
func (s *screen) exerciseKey(key string) {
	e := *s.task.exercise
	switch key {
	case "r":
		s.grade()
	case "h":
		hints, err := s.w.showHint(e)
		if err != nil {
			s.busy = err.Error()
			return
		}
		s.hints = hints
		s.scroll = 1 << 30
	case "s":
		if s.w.mark(s.task) != markSolved {
			s.busy = fmt.Sprintf("The solution is shown when %s is solved. FORCE=1 make solution %s shows it all the same.", e.ID, e.ID)
			return
		}
		text, err := s.w.solutionText(e)
		if err != nil {
			text = err.Error()
		}
		s.body, s.hints, s.scroll = unwrapped(text), 0, 0
	}
}

// show makes a task the current one.
func (s *screen) show(t task) {
	s.number++ // what still runs for the last one is not shown
	s.task, s.list, s.scroll, s.busy, s.hints, s.output = t, false, 0, "", 0, nil
	if t.prediction != nil {
		s.body = func(width int) string { return questionText(*t.prediction, width) }
		return
	}
	if s.w.mark(t) == markChanged {
		s.grade()
		return
	}
	text, err := os.ReadFile(filepath.Join(s.w.root, t.exercise.Folder, "README.md"))
	s.body = func(width int) string { return taskText(string(text), width) }
	if err != nil {
		s.body = unwrapped(err.Error())
	}
}

// unwrapped is a body that is the same for each width.
func unwrapped(text string) func(int) string { return func(int) string { return text } }

// grade starts the grading of the current exercise, and ends one that still runs.
func (s *screen) grade() {
	s.number++
	number, e := s.number, *s.task.exercise
	s.busy = "grading ..."
	s.work.start(s.ctx, func(ctx context.Context) {
		o, err := s.w.grade(ctx, e, func(line string) { s.send(progressed{number, line}) })
		if ctx.Err() == nil {
			s.send(graded{number, o, err})
		}
	})
}

// answer runs the program that shows whether an answer to a prediction is right.
func (s *screen) answer(key string) {
	t := s.task
	chosen := t.prediction.Choice(key)
	if chosen == nil {
		return
	}
	s.number++
	number := s.number
	s.busy, s.output = "The program runs ...", nil
	s.work.start(s.ctx, func(ctx context.Context) {
		out := &lineWriter{report: func(line string) { s.send(progressed{number, ansi.Strip(line)}) }}
		err := s.w.show(ctx, *t.prediction, out)
		if err == nil {
			err = s.w.update(t, func(r *record) { r.Answer, r.Later = chosen.Word, false })
		}
		if ctx.Err() == nil {
			s.send(shown{number, *chosen, err})
		}
	})
}

// move moves the choice in the list, or the body.
func (s *screen) move(lines int) {
	if s.list {
		s.chosen = min(max(s.chosen+lines, 0), len(s.w.tasks)-1)
		return
	}
	s.scroll = max(s.scroll+lines, 0)
}

func (s *screen) View() tea.View {
	view := tea.NewView(strings.Join(s.lines(), "\n"))
	view.AltScreen = true
	return view
}

// lines are what the terminal shows: the task, its file, the body, and the keys.
func (s *screen) lines() []string {
	head := []string{bold.Styled(s.task.id + " " + s.task.title())}
	keys := []string{"h hint", "n next", "l list", "s solution", "r run"}
	if s.task.prediction != nil {
		head = []string{bold.Styled("Chapter " + s.task.chapter)}
		keys = []string{"a b c ... answer", "n next", "l list"}
	} else {
		head = append(head, faint.Styled(s.task.exercise.File()))
	}
	var body []string
	if s.list {
		keys = []string{"up and down choose", "Enter takes it", "l back"}
		for i, t := range s.w.tasks {
			line := fmt.Sprintf("  %s %-5s %s", s.w.mark(t), t.id, t.title())
			if i == s.chosen {
				line = bold.Styled("> " + line[2:])
			}
			body = append(body, line)
		}
	} else {
		text := s.body(s.width)
		if s.hints > 0 {
			text += "\n\n" + hintText(*s.task.exercise, s.hints, s.width)
		}
		body = strings.Split(ansi.Wrap(strings.ReplaceAll(text, "\t", "    "), s.width, ""), "\n")
	}
	foot := s.keyLines(append([]string{"q quit", "down more"}, keys...))
	room := max(s.height-len(head)-3-len(foot), 1)
	if s.list {
		s.scroll = min(s.scroll, s.chosen)
		s.scroll = max(s.scroll, s.chosen-room+1)
	}
	s.scroll = min(s.scroll, max(len(body)-room, 0))
	if len(body) <= s.scroll+room {
		foot = s.keyLines(append([]string{"q quit"}, keys...))
	}
	body = body[s.scroll:min(s.scroll+room, len(body))]
	for len(body) < room {
		body = append(body, "")
	}
	lines := append(append(head, ""), body...)
	lines = append(append(lines, "", s.busy), foot...)
	lines = lines[max(len(lines)-s.height, 0):]
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, s.width, "")
	}
	return lines
}

// keyLines are the keys in as many lines as they need, and the window has room for: how to quit is the first.
func (s *screen) keyLines(keys []string) []string {
	const inside = "\u00a0" // a space at which no line ends
	for i, key := range keys {
		keys[i] = strings.ReplaceAll(key, " ", inside)
	}
	lines := strings.Split(strings.ReplaceAll(ansi.Wordwrap(strings.Join(keys, "  "), s.width, ""), inside, " "), "\n")
	lines = lines[:min(len(lines), max(s.height/4, 1))]
	for i, line := range lines {
		lines[i] = faint.Styled(strings.TrimSpace(line))
	}
	return lines
}
