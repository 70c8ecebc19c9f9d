package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/muesli/cancelreader"

	"example.com/client-go-workbook/internal/exercise/manifest"
)

// predict asks a prediction, unless the answer is given, and runs the program that shows what is right.
func (w *workbook) predict(ctx context.Context, t task, answer string, in *os.File) error {
	p := *t.prediction
	var chosen *manifest.Choice
	if answer != "" {
		if chosen = p.Choice(answer); chosen == nil {
			return usageError(fmt.Sprintf("%q is none of the choices of %s: give a letter or a word.", answer, p.ID))
		}
	} else {
		var err error
		if chosen, err = w.ask(ctx, p, in); err != nil {
			return err
		}
	}
	if chosen == nil {
		if err := w.update(t, func(r *record) { r.Later = true }); err != nil {
			return err
		}
		return w.sayNext(ctx, t.id)
	}
	if err := w.show(ctx, p, w.out); err != nil {
		return err
	}
	w.say("\n" + answerText(p, *chosen, w.width))
	if err := w.update(t, func(r *record) { r.Answer, r.Later = chosen.Word, false }); err != nil {
		return err
	}
	return w.sayNext(ctx, t.id)
}

// ask asks a prediction. It returns nil if the learner puts the answer off.
func (w *workbook) ask(ctx context.Context, p prediction, in *os.File) (*manifest.Choice, error) {
	lines := bufio.NewReader(in) // a file cannot be waited for, and need not
	if reader, err := cancelreader.NewReader(in); err == nil {
		defer reader.Close()
		defer context.AfterFunc(ctx, func() { reader.Cancel() })()
		lines.Reset(reader)
	}
	w.say(questionText(p, w.width))
	if !w.clusterRuns(ctx) {
		w.say("An answer starts the cluster, which takes minutes the first time. Enter goes on with the next exercise.")
	}
	for {
		fmt.Fprint(w.out, "Your answer (Enter: later): ")
		line, err := lines.ReadString('\n')
		line = strings.TrimSpace(line)
		switch chosen := p.Choice(line); {
		case ctx.Err() != nil:
			w.say("")
			return nil, ctx.Err()
		case chosen != nil:
			return chosen, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case err != nil:
			w.say("")
			return nil, usageError(fmt.Sprintf("There is nobody to ask. Give the answer so: make exercise %s ANSWER=a", p.ID))
		case line == "":
			return nil, nil
		}
		w.say(fmt.Sprintf("%q is none of the choices: type a letter or a word of the first columns.", line))
	}
}

// show runs a prediction's command, or says why a kind cluster cannot show it. It returns an error if that does not print what it must.
func (w *workbook) show(ctx context.Context, p prediction, out io.Writer) error {
	// Before the command: a cluster that it starts itself would be killed with it.
	if err := w.startCluster(ctx, func(line string) { fmt.Fprintln(out, line) }); err != nil {
		return err
	}
	if p.NotOnKind != "" && w.onKind(ctx) {
		fmt.Fprintln(out, "A kind cluster does not show this: "+p.NotOnKind)
		return nil
	}
	fmt.Fprintln(out, bold.Styled("$ "+strings.ReplaceAll(strings.TrimSpace(p.Run), "\n", "\n  ")))
	var printed bytes.Buffer
	// An interrupt, at which the chapters' programs end as they should.
	cmd := command(ctx, syscall.SIGINT, "bash", "-p", "-c", p.Run) // without the functions that the reader has exported
	cmd.Dir, cmd.Env = w.root, append(environment(), "KUBERC=off")
	both := io.MultiWriter(out, &printed)
	cmd.Stdout, cmd.Stderr = both, both
	err := runGroup(cmd)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case strings.Contains(printed.String(), p.Prints):
		return nil
	case err != nil:
		return fmt.Errorf("the command has failed (%w), so it shows nothing: try again", err)
	}
	return fmt.Errorf("this time the command has not printed %q, so it shows nothing: try again", p.Prints)
}
