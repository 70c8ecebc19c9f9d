package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

const drain = 30 * time.Second // after SIGTERM, Kubernetes waits for so long, and then sends SIGKILL

// end sends SIGTERM to a controller that works on 20 objects, and then starts it again.
func end(ctx context.Context, w *World) error {
	const count = 20
	name := func(i int) string { return fmt.Sprintf("end%02d", i) }
	for i := range count { // before the start, so that it has them all to do
		if _, err := w.create(ctx, name(i)); err != nil {
			return err
		}
	}
	p, err := w.startController()
	if err != nil {
		return err
	}
	after := 1 + w.random.IntN(2*count) // each needs more than two writes
	err = w.await(ctx, fmt.Sprintf("%d writes", after), func(context.Context) (string, error) {
		if n := len(w.tap.writes("", time.Time{})); n < after {
			return fmt.Sprintf("%d writes", n), nil
		}
		return "", nil
	})
	if err != nil {
		return during("created 20 DatabaseManagers, started the controller", err)
	}
	p.signal(syscall.SIGTERM)
	start := time.Now()
	did := fmt.Sprintf("sent SIGTERM after %d writes or more, of a controller with %d DatabaseManagers to do", after, count)
	code, err := p.exit(ctx, drain)
	if err != nil {
		return failed(did, "an end within 30 s", err.Error())
	}
	w.say("%s: it ended after %.1fs", did, time.Since(start).Seconds())
	if err := failed(did+", read the exit code", 0, code); err != nil {
		return err
	}
	if p, err = w.startController(); err != nil {
		return err
	}
	want := ""
	for i := range count {
		_, state, err := w.untilReady(ctx, name(i), want)
		if err != nil {
			return during(did+", started it again", err)
		}
		want = state // all of them are to be alike
	}
	p.signal(syscall.SIGTERM)
	if code, err = p.exit(ctx, drain); err != nil {
		return failed("sent SIGTERM to a controller at rest", "an end within 30 s", err.Error())
	}
	return failed("sent SIGTERM to a controller at rest, read the exit code", 0, code)
}

// leaders has two processes with an election, and always something to write. It kills the leader, pauses the next one, and cuts the
// connection of the next one.
func leaders(ctx context.Context, w *World) error {
	const count = 10
	names := []string{}
	for i := range count {
		names = append(names, fmt.Sprintf("led%02d", i))
		if _, err := w.create(ctx, names[i]); err != nil {
			return err
		}
	}
	// Whoever leads has something to write.
	changing, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() {
		for i := 0; changing.Err() == nil; i++ {
			patch := fmt.Sprintf(`{"spec": {"version": "8.4.%d"}}`, i)
			_ = w.patch(changing, names[i%count], patch) // the next one comes soon
			_ = pause(changing, 50*time.Millisecond)
		}
	})

	first, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	if err := w.untilWrites(ctx, first, "started a controller with "+strings.Join(w.leaderFlags, " ")); err != nil {
		return err
	}
	second, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	w.say("a second process, while the first one leads")
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := w.oneAfterTheOther("started a second process beside the leader"); err != nil {
		return err
	}
	w.say("the leader is killed")
	first.kill()
	if err := w.untilWrites(ctx, second, "killed the leader"); err != nil {
		return err
	}
	third, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	w.say("the next leader is paused")
	second.signal(syscall.SIGSTOP)
	if err := w.untilWrites(ctx, third, "paused the next leader by SIGSTOP"); err != nil {
		return err
	}
	w.say("it goes on, while another one leads")
	second.isAsked.Store(true) // it may end: it has lost the Lease
	second.signal(syscall.SIGCONT)
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	if err := w.oneAfterTheOther("let the paused leader go on by SIGCONT, while another one leads"); err != nil {
		return err
	}
	fourth, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	w.say("the connection of the next leader is cut")
	mend := w.tap.add(&Fault{Who: third.who, Verb: anyVerb})
	defer mend()
	if err := w.untilWrites(ctx, fourth, "closed each connection of the next leader"); err != nil {
		return err
	}
	third.isAsked.Store(true)
	w.say("it has a connection again, while another one leads")
	mend()
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	return w.oneAfterTheOther("mended the connection of the leader before, while another one leads")
}

// untilWrites waits until a process writes: it leads. That can take as long as a Lease lasts, and longer.
func (w *World) untilWrites(ctx context.Context, p *Process, did string) error {
	for range 3 {
		err := w.await(ctx, "a write of process "+p.who, func(context.Context) (string, error) {
			if len(w.writesOf(p.who)) == 0 {
				return "- a write\n+ none", nil
			}
			return "", nil
		})
		if err == nil {
			return nil
		}
	}
	return failed(did, "writes of process "+p.who, "none")
}

// writesOf returns the writes of one process that have reached the server.
func (w *World) writesOf(who string) []Request {
	return w.tap.all(func(r Request) bool { return r.isWrite() && r.Who == who && r.Broken == "" })
}

// oneAfterTheOther returns a failure if a process has written after the first write of a later one.
func (w *World) oneAfterTheOther(did string) error {
	for i, p := range w.processes[:len(w.processes)-1] {
		next := w.writesOf(w.processes[i+1].who)
		if len(next) == 0 {
			continue
		}
		late := []Request{}
		for _, r := range w.writesOf(p.who) {
			if r.At.After(next[0].At) {
				late = append(late, r)
			}
		}
		looked := fmt.Sprintf("; looked for writes of process %s after the first one of process %s", p.who, w.processes[i+1].who)
		err := failed(did+looked, "", list(late[:min(len(late), 5)]))
		if err != nil {
			return err
		}
	}
	return nil
}
