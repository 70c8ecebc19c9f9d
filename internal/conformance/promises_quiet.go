package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// pause waits for a span of time.
func pause(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}

// untilQuiet waits until there was no write for 2 s. An object is Ready before its controller has seen the last change. The next
// change can come from the cluster's controller of Deployments, so that one must have had nothing to do for 2 s, too.
func (w *World) untilQuiet(ctx context.Context) error {
	const span = 2 * time.Second
	work, hadWork := "", time.Now()
	return w.await(ctx, "2 s without a write", func(ctx context.Context) (string, error) {
		now, err := w.workOfTheCluster(ctx)
		if err != nil {
			return "", err
		}
		if now != "" {
			work, hadWork = now, time.Now()
		}
		if writes := list(w.tap.writes("", time.Now().Add(-span))); writes != "" {
			return writes, nil
		}
		if time.Since(hadWork) < span {
			return "the cluster's controller had work with the Deployments " + work, nil
		}
		return "", nil
	})
}

// workOfTheCluster names the Deployments whose status does not say yet what their spec does: there are pods to create or to delete.
func (w *World) workOfTheCluster(ctx context.Context) (work string, err error) {
	list, err := w.deployments(ctx)
	for _, d := range list {
		if d.Status.ObservedGeneration < d.Generation || d.Status.Replicas != *d.Spec.Replicas {
			work += d.Name + " "
		}
	}
	return work, err
}

// list returns one line for each request.
func list(requests []Request) string {
	var lines strings.Builder
	for _, r := range requests {
		fmt.Fprintf(&lines, "%s %s %s\n", r.Verb, r.Resource, r.Name)
	}
	return lines.String()
}

// quiet counts the writes where nothing is to be written.
func quiet(ctx context.Context, w *World) error {
	first, err := w.startController()
	if err != nil {
		return err
	}
	for i, name := range []string{"quiet-first", "quiet-second", "quiet-kept"} {
		var changes []patch
		if i == 2 {
			changes = append(changes, w.resource.Keep)
		}
		if _, err := w.createSample(ctx, i%2, name, changes...); err != nil {
			return err
		}
		if _, _, err := w.untilReady(ctx, name, ""); err != nil {
			return err
		}
	}
	if err := w.untilQuiet(ctx); err != nil {
		return err
	}
	w.say("at rest for %s", w.rest)
	since := time.Now()
	if err := pause(ctx, w.rest); err != nil {
		return err
	}
	if err := failed(fmt.Sprintf("waited %s at rest", w.rest), "", list(w.tap.writes("", since))); err != nil {
		return err
	}
	w.say("started again, with the watches of the children late")
	first.kill()
	<-first.ended
	since = time.Now()
	resources := []string{}
	for _, r := range w.resource.children { // it sees them later than their owners
		resources = append(resources, r.Resource)
		w.gates[r.Resource].Close()
		defer w.gates[r.Resource].Open()
	}
	second, err := w.startController()
	if err == nil {
		err = w.untilListed(ctx, second, first, resources)
	}
	if err == nil {
		err = pause(ctx, time.Second)
	}
	if err != nil {
		return err
	}
	for _, r := range w.resource.children {
		w.gates[r.Resource].Open()
	}
	// The write of a new one shows that it works again.
	if _, err := w.createSample(ctx, 0, "new"); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, "new", ""); err != nil {
		return err
	}
	if err := pause(ctx, w.rest/4); err != nil {
		return err
	}
	const did = "started it again, with all as desired, and the watches of the children late by 1 s"
	return failed(did, "", list(w.tap.writes("quiet", since)))
}
