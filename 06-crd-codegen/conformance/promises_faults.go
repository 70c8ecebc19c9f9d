package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ends are the states after a creation and after a change, without a fault.
type ends struct {
	created, changed string
	writes           int // until then
}

// createAndChange creates a DatabaseManager, and changes it when it is Ready. Both have to end in the wanted states. Just before
// each of the two, it calls meanwhile.
func (w *World) createAndChange(ctx context.Context, name string, want ends, meanwhile ...func()) (seen ends, err error) {
	start := time.Now()
	call(meanwhile)
	if _, err := w.create(ctx, name); err != nil {
		return seen, err
	}
	d, state, err := w.untilReady(ctx, name, want.created)
	if err != nil {
		return seen, during("created "+name, err)
	}
	before, err := w.identities(ctx, d)
	if err != nil {
		return seen, err
	}
	seen.created = state
	call(meanwhile)
	if err := w.patch(ctx, name, `{"spec": {"version": "8.4.5"}}`); err != nil {
		return seen, err
	}
	if d, seen.changed, err = w.untilReady(ctx, name, want.changed); err != nil {
		return seen, during("created "+name+", changed its version", err)
	}
	seen.writes = len(w.tap.writes(name, start))
	after, err := w.identities(ctx, d)
	if err == nil {
		err = w.databases.Delete(ctx, name, metav1.DeleteOptions{}) // so that the lists of children stay short
	}
	if err != nil {
		return seen, err
	}
	return seen, failed("created "+name+", changed its version, compared its children before and after the change", before, after)
}

func call(functions []func()) {
	for _, f := range functions {
		f()
	}
}

// withoutFaults returns the ends that all cases must have, too.
func (w *World) withoutFaults(ctx context.Context) (ends, error) {
	if _, err := w.startController(); err != nil {
		return ends{}, err
	}
	want, err := w.createAndChange(ctx, "unbroken", ends{})
	if err == nil && want.writes == 0 {
		err = failed("created and changed a DatabaseManager", "writes by way of the kubeconfig that the controller gets", "none")
	}
	w.say("created and changed without a fault: %d writes", want.writes)
	return want, err
}

// with says in a failure which fault there was.
func (w *World) with(f *Fault, err error) error {
	did := fmt.Sprintf("let write %d about %s be %s", f.Nth, f.Name, f.what())
	if hit := w.tap.hit(f); hit != nil {
		did += fmt.Sprintf(" (%s %s %s)", hit.Verb, hit.Resource, hit.Name)
	}
	return about(f.Name, during(did, err))
}

// crash kills the controller at its first write, its second, and so on, until it needs no more.
func crash(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	w.restarts = true
	// Not done is after the answer of the write before.
	cases := []*Fault{}
	for nth := 1; nth <= want.writes; nth++ {
		for _, done := range []bool{false, true} {
			cases = append(cases, &Fault{Nth: nth, Done: done, Kill: true})
		}
	}
	for i, f := range choose(w, cases) {
		f.Name = fmt.Sprintf("crash%02d", i)
		remove := w.tap.add(f)
		_, err := w.createAndChange(ctx, f.Name, want)
		remove()
		if err != nil {
			return w.with(f, err)
		}
		if hit := w.tap.hit(f); hit != nil {
			w.say("write %d of %d, %s %s: %s", f.Nth, want.writes, hit.Verb, hit.Resource, f.what())
		}
	}
	return nil
}

// ambiguity answers each write otherwise than the server. One controller has all cases, each with a DatabaseManager of its own.
func ambiguity(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	cases := []*Fault{}
	for nth := 1; nth <= want.writes; nth++ {
		const closed = 0
		for _, code := range []int{
			http.StatusInternalServerError, http.StatusGatewayTimeout, http.StatusConflict, http.StatusTooManyRequests, closed,
		} {
			cases = append(cases, &Fault{Nth: nth, Code: code}, &Fault{Nth: nth, Code: code, Done: true})
		}
	}
	cases = choose(w, cases)
	w.say("%d cases: 500, 504, 409, 429 or a closed connection, with the write done or not", len(cases))
	return each(ctx, cases, func(ctx context.Context, i int, f *Fault) error {
		f.Name = fmt.Sprintf("answer%02d", i)
		defer w.tap.add(f)()
		_, err := w.createAndChange(ctx, f.Name, want)
		if err != nil {
			return w.with(f, err)
		}
		if (i+1)%10 == 0 {
			w.say("case %d of %d", i+1, len(cases))
		}
		return nil
	})
}
