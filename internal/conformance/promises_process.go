package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

const drain = 30 * time.Second // after SIGTERM, Kubernetes waits for so long, and then sends SIGKILL

// end sends SIGTERM to a controller that works on 20 objects, and then starts it again.
func end(ctx context.Context, w *World) error {
	const count = 20
	name := func(i int) string { return fmt.Sprintf("end%02d", i) }
	for i := range count { // before the start, so that it has them all to do
		if _, err := w.createSample(ctx, 0, name(i)); err != nil {
			return err
		}
	}
	p, err := w.startController()
	if err != nil {
		return err
	}
	after := 1 + w.random.IntN(count) // each needs a write
	err = w.await(ctx, fmt.Sprintf("%d writes", after), func(context.Context) (string, error) {
		if n := len(w.tap.writes("", time.Time{})); n < after {
			return fmt.Sprintf("%d writes", n), nil
		}
		return "", nil
	})
	if err != nil {
		return during(fmt.Sprintf("created %d objects, started the controller", count), err)
	}
	p.signal(syscall.SIGTERM)
	start := time.Now()
	did := fmt.Sprintf("sent SIGTERM after %d writes or more, of a controller with %d objects to do", after, count)
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

// leaders has two processes with an election, and always something to write. It kills the leader, pauses the next one, keeps the
// next one from renewing its Lease, and changes the Lease by hand.
func leaders(ctx context.Context, w *World) error {
	const count = 10
	names := []string{}
	for i := range count {
		names = append(names, fmt.Sprintf("led%02d", i))
		if _, err := w.createSample(ctx, 0, names[i]); err != nil {
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
			change := []patch{w.resource.Change, w.resource.undo(w.resource.Change)}[i/count%2]
			sent := time.Now()
			_ = w.patch(changing, names[i%count], change.String()) // the next one comes soon
			w.slowest.Store(max(w.slowest.Load(), int64(time.Since(sent))))
			_ = pause(changing, 50*time.Millisecond)
		}
	})

	first, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	started := fmt.Sprintf("started a controller with %q; its ServiceAccount may have a Lease in the namespace %s only, "+
		"with the name that --rbac allows: --leader-flags is what it takes for that", strings.Join(w.leaderFlags, " "), w.namespace)
	if err := w.untilWrites(ctx, first, started); err != nil {
		return err
	}
	second, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	w.say("a second process, while the first one leads")
	const beside = "started a second process beside the leader"
	if err := w.untilBegins(ctx, second); err != nil {
		return during(beside, err)
	}
	if err := pause(ctx, 5*time.Second); err != nil { // its time to write
		return err
	}
	if err := w.oneAfterTheOther(beside); err != nil {
		return err
	}
	w.say("the leader is killed")
	killed := time.Now()
	first.kill()
	if err := w.untilWrites(ctx, second, "killed the leader"); err != nil {
		return err
	}
	w.figure("without a leader, after it was killed", "%.1f s", w.writesOf(second.who)[0].At.Sub(killed).Seconds())
	third, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	w.say("the next leader is paused")
	if err := w.pauseBetweenWrites(ctx, second); err != nil {
		return err
	}
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
	second.kill() // it may wait for the Lease again, and get it
	fourth, err := w.startController(w.leaderFlags...)
	if err != nil {
		return err
	}
	w.say("the requests of the next leader for its Lease fail, and no others")
	mend := w.tap.add(&Fault{Who: third.who, Verb: anyVerb, Resource: "leases"})
	defer mend()
	third.isAsked.Store(true)
	const did = "closed each connection of the next leader that is about its Lease, and no others"
	if err := w.untilWrites(ctx, fourth, did); err != nil {
		return err
	}
	if err := w.oneAfterTheOther(did); err != nil {
		return err
	}
	mend()
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := w.oneAfterTheOther(did + "; let them through again, while another one leads"); err != nil {
		return err
	}
	return w.changeLease(ctx)
}

// pauseBetweenWrites pauses a process when each of its workers waits for the answer to a write. Elsewhere, the pause could come
// between a worker's look at the Lease and its write, which no controller can prevent.
func (w *World) pauseBetweenWrites(ctx context.Context, p *Process) error {
	p.proxy.writes.Lock()
	defer p.proxy.writes.Unlock()
	for count := -1; count != len(w.writesOf(p.who)); {
		count = len(w.writesOf(p.who))
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	p.signal(syscall.SIGSTOP)
	return nil
}

// untilBegins waits until a process writes, or has asked for the Lease twice. From its start, that can take seconds.
func (w *World) untilBegins(ctx context.Context, p *Process) error {
	return w.awaitFor(ctx, 3*w.timeout, "process "+p.who, func(context.Context) (string, error) {
		looks := len(w.tap.all(func(r Request) bool { return r.Who == p.who && r.Resource == "leases" }))
		if looks < 2 && len(w.writesOf(p.who)) == 0 {
			return fmt.Sprintf("- a write, or two requests for the Lease\n+ %d requests for the Lease", looks), nil
		}
		return "", nil
	})
}

// changeLease deletes the Lease, and then writes another one's name into it, while three processes run. A leader notices that at its next
// renewal: after the time that a Lease lasts, only one writes.
func (w *World) changeLease(ctx context.Context) error {
	w.restarts = true // whoever has lost the Lease may end, and on a busy machine each of the three can lose it
	for range 2 {     // beside the leader
		if _, err := w.startController(w.leaderFlags...); err != nil {
			return err
		}
	}
	lease, err := w.lease(ctx)
	if err != nil {
		return err
	}
	leases := w.client.CoordinationV1().Leases(w.namespace)
	lasts := time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	w.say("the Lease is deleted, which lasts %s", lasts)
	if err := leases.Delete(ctx, lease.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := w.onlyOne(ctx, "deleted the Lease while three processes ran", lasts); err != nil {
		return err
	}
	w.say("the Lease is given to another one, which does not renew it")
	patch := fmt.Sprintf(`{"spec": {"holderIdentity": "conformance", "renewTime": %q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
	if _, err := leases.Patch(ctx, lease.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return err
	}
	return w.onlyOne(ctx, "gave the Lease to another one, which does not renew it", lasts)
}

// lease returns the Lease of the election, of which there is one.
func (w *World) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	list, err := w.client.CoordinationV1().Leases(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 || list.Items[0].Spec.LeaseDurationSeconds == nil || list.Items[0].Spec.HolderIdentity == nil {
		return nil, failed("looked for the Lease of the election", "1 in the controller's namespace, with its holder and duration",
			fmt.Sprint(len(list.Items)))
	}
	return &list.Items[0], nil
}

// onlyOne waits for as long as a Lease lasts, and then until there are writes for 3 s, which have to be those of one process.
func (w *World) onlyOne(ctx context.Context, did string, lasts time.Duration) error {
	if err := pause(ctx, lasts); err != nil {
		return err
	}
	since := time.Now()
	writes := func() []Request {
		return w.tap.all(func(r Request) bool { return r.isWrite() && r.Broken == "" && r.At.After(since) })
	}
	err := w.unlessSlow(w.await(ctx, "a leader", func(context.Context) (string, error) {
		if len(writes()) == 0 {
			return "- a write\n+ none", nil
		}
		return "", nil
	}))
	if err == nil {
		err = pause(ctx, 3*time.Second)
	}
	if err != nil {
		return during(did, err)
	}
	writers := sets.New[string]()
	for _, r := range writes() {
		writers.Insert(r.Who)
	}
	return failed(did+fmt.Sprintf("; counted the processes that write, %s later", lasts), 1, writers.Len())
}

// untilWrites waits until a process writes: it leads. That can take as long as a Lease lasts, and longer.
func (w *World) untilWrites(ctx context.Context, p *Process, did string) error {
	return during(did, w.unlessSlow(w.awaitFor(ctx, 3*w.timeout, "a write of process "+p.who, func(context.Context) (string, error) {
		if len(w.writesOf(p.who)) == 0 {
			return "- a write\n+ none", nil
		}
		return "", nil
	})))
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
		if len(late) > 0 {
			shown := late[:min(len(late), 5)]
			f := failed(did+looked, "", list(shown)).(*Failure)
			f.Until = shown[len(shown)-1].At
			return f
		}
	}
	return nil
}
