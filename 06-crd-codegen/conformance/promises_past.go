package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/netfault"
)

// history is what becomes of a DatabaseManager, and what a controller does not know that sees the beginning only.
type history struct {
	did    string
	policy dbv1alpha1.DeletionPolicy // in the beginning; empty: the DatabaseManager is not there
	then   action                    // with a controller that sees it
	later  action                    // with one that sees the beginning; may be nil
	end    outcome
}

type action func(w *World, ctx context.Context, name string) error

// outcome is what has to be true in the end.
type outcome string

const (
	alive outcome = "it is Ready, and its children are those of before, unchanged"
	gone  outcome = "nothing is left"
	kept  outcome = "it is gone, and its children are those of before, without an owner"
)

var histories = []history{
	{"changed its version", "Delete", (*World).changeVersion, nil, alive},
	{"created it", "", (*World).createAgain, nil, alive},
	{"deleted it, and created another one of its name", "Delete", (*World).replace, nil, alive},
	{"changed its deletionPolicy from Retain to Delete, and deleted it later", "Retain", (*World).policyDelete, (*World).delete, gone},
	{"changed its deletionPolicy from Delete to Retain, and deleted it later", "Delete", (*World).policyRetain, (*World).delete, kept},
	{"deleted it with the deletionPolicy Retain, and then its children", "Retain", (*World).deleteAll, nil, gone},
}

func (w *World) changeVersion(ctx context.Context, name string) error {
	return w.patch(ctx, name, `{"spec": {"version": "8.4.5"}}`)
}

func (w *World) policyDelete(ctx context.Context, name string) error {
	return w.patch(ctx, name, `{"spec": {"deletionPolicy": "Delete"}}`)
}

func (w *World) policyRetain(ctx context.Context, name string) error {
	return w.patch(ctx, name, `{"spec": {"deletionPolicy": "Retain"}}`)
}

func (w *World) createAgain(ctx context.Context, name string) error {
	_, err := w.create(ctx, name)
	return err
}

func (w *World) delete(ctx context.Context, name string) error {
	return w.databases.Delete(ctx, name, metav1.DeleteOptions{})
}

func (w *World) replace(ctx context.Context, name string) error {
	if err := w.delete(ctx, name); err != nil {
		return err
	}
	if err := w.untilGone(ctx, name); err != nil {
		return err
	}
	return w.createAgain(ctx, name)
}

func (w *World) deleteAll(ctx context.Context, name string) error {
	if err := w.delete(ctx, name); err != nil {
		return err
	}
	if err := w.untilGone(ctx, name); err != nil {
		return err
	}
	return w.deleteChildren(ctx, name, "")
}

// past starts a controller that sees an earlier state of some resources, as from an API server that is behind: lists are answered as
// of then, and watches bring nothing. Writes, and reads of one object, reach the server of today. Later, the controller sees it all.
func past(ctx context.Context, w *World) error {
	views := [][]string{watched()}
	for _, resource := range watched() {
		if resource != "pods" { // they are about the status only
			views = append(views, []string{resource})
		}
	}
	for i, view := range choose(w, views) {
		name := strings.Join(view, ", ")
		if len(view) > 1 {
			name = "all resources"
		}
		w.say("a controller that sees the past of %s", name)
		if err := w.seePast(ctx, i, view); err != nil {
			return during("started a controller that sees the past of "+name, err)
		}
	}
	return nil
}

// witness is what has been true before a controller sees the past.
type witness struct {
	history
	name, before string
	d            *dbv1alpha1.DatabaseManager
}

// seePast takes a DatabaseManager through each history, and then starts the controller that sees the past.
func (w *World) seePast(ctx context.Context, view int, resources []string) error {
	witnesses := []*witness{}
	for i, h := range histories {
		witnesses = append(witnesses, &witness{history: h, name: fmt.Sprintf("past%d%d", view, i)})
	}
	p, err := w.startController()
	if err != nil {
		return err
	}
	err = each(ctx, witnesses, func(ctx context.Context, _ int, x *witness) error {
		if x.policy == "" {
			return nil
		}
		_, err := w.create(ctx, x.name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = x.policy })
		if err == nil {
			x.d, _, err = w.untilReady(ctx, x.name, "")
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := w.untilCollected(ctx); err != nil {
		return err
	}
	beginning, err := w.databases.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	err = each(ctx, witnesses, func(ctx context.Context, _ int, x *witness) error {
		err := x.then(w, ctx, x.name)
		if err != nil || x.end == gone && x.later == nil {
			return err
		}
		if x.d, _, err = w.untilReady(ctx, x.name, ""); err == nil {
			x.before, err = w.lives(ctx, x.d)
		}
		return err
	})
	if err != nil {
		return err
	}
	p.kill()
	<-p.stopped

	for _, resource := range resources {
		w.gates[resource].CloseAt(beginning.ResourceVersion)
	}
	present := func() {
		for _, resource := range resources {
			w.gates[resource].Open()
		}
	}
	defer present()
	if p, err = w.startController(); err != nil {
		return err
	}
	if err := pause(ctx, 2*time.Second); err != nil { // its time to do harm
		return err
	}
	if err := w.allUnchanged(ctx, witnesses, "; it sees the past"); err != nil {
		return err
	}
	for _, x := range witnesses {
		if x.later != nil {
			if err := x.later(w, ctx, x.name); err != nil {
				return err
			}
		}
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	present()
	for _, x := range witnesses {
		if x.later != nil {
			if err := w.untilGone(ctx, x.name); err != nil {
				return during("for one "+x.name+": "+x.did+"; then let it see the present", about(x.name, err))
			}
		}
	}
	if err := w.untilQuiet(ctx); err != nil {
		return err
	}
	if err := w.untilCollected(ctx); err != nil {
		return err
	}
	if err := w.allUnchanged(ctx, witnesses, "; then let it see the present"); err != nil {
		return err
	}
	p.kill()
	<-p.stopped
	for _, x := range witnesses {
		if x.end == alive {
			if err := w.delete(ctx, x.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// allUnchanged compares what must not have changed.
func (w *World) allUnchanged(ctx context.Context, witnesses []*witness, when string) error {
	for _, x := range witnesses {
		now, err := w.lives(ctx, x.d)
		if err != nil {
			return err
		}
		_, err = w.databases.Get(ctx, x.name, metav1.GetOptions{})
		want, isGone := x.before, apierrors.IsNotFound(err)
		switch {
		case err != nil && !isGone:
			return err
		case x.end == kept && isGone:
			want = strings.ReplaceAll(want, owned, "")
		case x.end == gone && isGone:
			want = ""
		}
		did := fmt.Sprintf("for one %s: %s%s. In the end, %s", x.name, x.did, when, x.end)
		if err := failed(did, want, now); err != nil {
			return about(x.name, err)
		}
	}
	return nil
}

// lives returns what must stay as it is as long as nobody changes the spec: each child, its content, and its owner.
func (w *World) lives(ctx context.Context, d *dbv1alpha1.DatabaseManager) (string, error) {
	children, err := w.children(ctx, d)
	lines := []string{}
	for _, o := range children {
		line := fmt.Sprintf("%s %s uid %s, generation %d", o.GetKind(), o.GetName(), o.GetUID(), o.GetGeneration())
		if o.GetKind() == "Secret" {
			line += ", data " + sum(o.Object["data"])
		}
		if o.GetDeletionTimestamp() != nil {
			line += ", being deleted"
		}
		if slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == d.UID }) {
			line += owned
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), err
}

// gap is what becomes of the watch of one resource.
type gap struct {
	resource, did string
	meanwhile     func(*netfault.Gate) // just before each change; nil: an object is deleted while the watch is broken
}

// In gapKinds, a watch breaks, and the server does not know the resourceVersion any more: the controller sees no event of the meantime.
var gapKinds = []gap{
	{did: "late", meanwhile: func(gate *netfault.Gate) {
		gate.Close()
		time.AfterFunc(500*time.Millisecond, gate.Open)
	}},
	{did: "broken, and its version expired", meanwhile: (*netfault.Gate).Expire},
	{did: "late, then broken, and its version expired", meanwhile: func(gate *netfault.Gate) {
		gate.Close()
		time.AfterFunc(500*time.Millisecond, func() {
			gate.Expire()
			gate.Open()
		})
	}},
	{did: "broken while one is deleted"},
}

// gaps holds, or breaks, the controller's watches one by one, while users change what they show.
func gaps(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	cases := []gap{}
	for _, resource := range watched() {
		for _, g := range gapKinds {
			if g.meanwhile != nil || resource != "pods" { // there are none
				cases = append(cases, gap{resource, g.did, g.meanwhile})
			}
		}
	}
	for i, g := range choose(w, cases) {
		// A controller waits longer after each error. A new one begins with the shortest time.
		last := w.processes[len(w.processes)-1]
		last.kill()
		<-last.stopped
		if _, err := w.startController(); err != nil {
			return err
		}
		w.say("the watch of %s is %s", g.resource, g.did)
		name := fmt.Sprintf("gap%02d", i)
		if g.meanwhile == nil {
			err = w.missDeletion(ctx, name, g.resource, want)
		} else {
			_, err = w.createAndChange(ctx, name, want, func() { g.meanwhile(w.gates[g.resource]) })
		}
		if err != nil {
			return about(name, during("let the watch of "+g.resource+" be "+g.did, err))
		}
	}
	return nil
}

// missDeletion deletes an object of a resource while its watch is broken. The controller sees only that it is not there any more, or
// that another one has its name.
func (w *World) missDeletion(ctx context.Context, name, resource string, want ends) error {
	if _, err := w.create(ctx, name); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, name, want.created); err != nil {
		return err
	}
	gate := w.gates[resource]
	gate.Close()
	var err error
	if resource == "databasemanagers" {
		// Its finalizers would hold it: the controller sees nothing, and cannot remove them.
		if err = w.patch(ctx, name, `{"metadata": {"finalizers": null}}`); err == nil {
			err = w.replace(ctx, name)
		}
	} else {
		err = w.deleteChildren(ctx, name, resource)
	}
	gate.Expire()
	gate.Open()
	if err != nil {
		return err
	}
	if _, _, err = w.untilReady(ctx, name, want.created); err != nil {
		return err
	}
	return w.delete(ctx, name)
}
