package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"example.com/client-go-workbook/internal/netfault"
)

// history is what becomes of an object, and what a controller does not know that sees the beginning only.
type history struct {
	did   string
	first beginning
	then  action // with a controller that sees it
	later action // with one that sees the beginning; may be nil
	end   outcome
}

// beginning is what an object is like at first.
type beginning int

const (
	present beginning = iota
	absent
	keeping // its children stay when it is deleted
)

type action func(w *World, ctx context.Context, name string) error

// outcome is what has to be true in the end.
type outcome string

const (
	alive outcome = "it is Ready, and its children are those of before, unchanged"
	gone  outcome = "nothing is left"
	kept  outcome = "it is gone, and its children are those of before, without an owner"
)

var histories = []history{
	{"changed it", present, (*World).changeIt, nil, alive},
	{"created it", absent, (*World).createAgain, nil, alive},
	{"deleted it, and created another one of its name", present, (*World).replace, nil, alive},
	{"changed it, so that its children no longer stay, and deleted it later", keeping, (*World).keepNot, (*World).delete, gone},
	{"changed it, so that its children stay, and deleted it later", present, (*World).keep, (*World).delete, kept},
	{"deleted it, so that its children stay, and then deleted these", keeping, (*World).deleteAll, nil, gone},
}

func (w *World) changeIt(ctx context.Context, name string) error {
	return w.patch(ctx, name, w.resource.Change.String())
}

func (w *World) keep(ctx context.Context, name string) error {
	return w.patch(ctx, name, w.resource.Keep.String())
}

func (w *World) keepNot(ctx context.Context, name string) error {
	return w.patch(ctx, name, w.resource.undo(w.resource.Keep).String())
}

func (w *World) createAgain(ctx context.Context, name string) error {
	_, err := w.createSample(ctx, 0, name)
	return err
}

func (w *World) delete(ctx context.Context, name string) error {
	return w.owners.Delete(ctx, name, metav1.DeleteOptions{})
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
	watched := w.resource.watched()
	views := []view{{of: "all resources", resources: watched}}
	for _, resource := range watched {
		if resource != "pods" { // they are about the status only
			views = append(views, view{of: resource, resources: []string{resource}})
		}
	}
	if w.claimed("leaders") {
		views = append(views, view{"all resources, and leads when the leader before is killed", watched, true})
	}
	for i, v := range choose(w, views) {
		w.say("a controller that sees the past of %s", v.of)
		if err := w.seePast(ctx, i, v); err != nil {
			return during("started a controller that sees the past of "+v.of, err)
		}
	}
	return nil
}

// view is what a controller sees the past of.
type view struct {
	of        string
	resources []string
	nextLeads bool // it has waited beside a leader, and its watches hang since then
}

// witness is what has been true before a controller sees the past.
type witness struct {
	history
	name, before string
	d            *unstructured.Unstructured
}

// seePast takes an object through each history, and then starts the controller that sees the past.
func (w *World) seePast(ctx context.Context, number int, v view) error {
	witnesses := []*witness{}
	for i, h := range histories {
		if !w.keeps() && (h.first == keeping || h.end == kept) {
			continue
		}
		witnesses = append(witnesses, &witness{history: h, name: fmt.Sprintf("past%d%d", number, i)})
	}
	flags := map[bool][]string{true: w.leaderFlags}[v.nextLeads]
	p, err := w.startController(flags...)
	if err != nil {
		return err
	}
	err = each(ctx, witnesses, func(ctx context.Context, _ int, x *witness) error {
		if x.first == absent {
			return nil
		}
		var changes []patch
		if x.first == keeping {
			changes = append(changes, w.resource.Keep)
		}
		_, err := w.createSample(ctx, 0, x.name, changes...)
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
	before, err := w.owners.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var late *Process
	if v.nextLeads {
		w.gates = newGates(w.resource) // those of the leader stay open
		if late, err = w.startInPast(before.GetResourceVersion(), v.resources, flags); err != nil {
			return err
		}
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
	lease := &coordinationv1.Lease{}
	if v.nextLeads {
		if lease, err = w.lease(ctx); err != nil {
			return err
		}
	}
	p.kill()
	<-p.stopped
	if v.nextLeads {
		err = w.untilNextLeads(ctx, lease)
	} else {
		late, err = w.startInPast(before.GetResourceVersion(), v.resources, flags)
	}
	open := func() {
		for _, gate := range w.gates {
			gate.Open()
		}
	}
	defer open()
	if err != nil {
		return err
	}
	if err := w.untilListed(ctx, late, p, v.resources); err != nil {
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
	open()
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
	late.kill()
	<-late.stopped
	for _, x := range witnesses {
		if x.end == alive {
			if err := w.delete(ctx, x.name); err != nil {
				return err
			}
		}
	}
	return nil
}

// startInPast starts a controller that sees resources as they were, until their gates are opened.
func (w *World) startInPast(resourceVersion string, resources, flags []string) (*Process, error) {
	for _, resource := range resources {
		w.gates[resource].CloseAt(resourceVersion)
	}
	return w.startController(flags...)
}

// listed returns the resources of which a process has asked for all objects.
func (w *World) listed(p *Process) sets.Set[string] {
	resources := sets.New[string]()
	for _, r := range w.tap.all(func(r Request) bool { return r.Who == p.who && (r.Verb == "list" || r.Verb == "watch") }) {
		resources.Insert(r.Resource)
	}
	return resources
}

// untilListed waits until a process has asked for all objects of those resources of which an earlier process has asked for them.
func (w *World) untilListed(ctx context.Context, p, earlier *Process, resources []string) error {
	return w.await(ctx, "the lists of controller "+p.who, func(context.Context) (string, error) {
		missing := w.listed(earlier).Intersection(sets.New(resources...)).Difference(w.listed(p))
		if missing.Len() > 0 {
			return "- a list of " + strings.Join(sets.List(missing), ", "), nil
		}
		return "", nil
	})
}

// untilNextLeads waits until a Lease has another holder than before.
func (w *World) untilNextLeads(ctx context.Context, before *coordinationv1.Lease) error {
	return w.await(ctx, "the next leader", func(ctx context.Context) (string, error) {
		now, err := w.lease(ctx)
		if err != nil {
			return "", err
		}
		if holder := *now.Spec.HolderIdentity; holder == "" || holder == *before.Spec.HolderIdentity {
			return fmt.Sprintf("+ the Lease is held by %q", holder), nil
		}
		return "", nil
	})
}

// allUnchanged compares what must not have changed.
func (w *World) allUnchanged(ctx context.Context, witnesses []*witness, when string) error {
	for _, x := range witnesses {
		now, err := w.lives(ctx, x.d)
		if err != nil {
			return err
		}
		_, err = w.owners.Get(ctx, x.name, metav1.GetOptions{})
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
func (w *World) lives(ctx context.Context, d metav1.Object) (string, error) {
	children, err := w.children(ctx, d)
	lines := []string{}
	for _, o := range children {
		line := fmt.Sprintf("%s %s uid %s, generation %d", o.GetKind(), o.GetName(), o.GetUID(), o.GetGeneration())
		if data := o.Object["data"]; data != nil {
			line += ", data " + sum(data)
		}
		if o.GetDeletionTimestamp() != nil {
			line += ", being deleted"
		}
		if isOwnedBy(&o, d.GetUID()) {
			line += owned
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), err
}

// gap is what becomes of the watch of one resource, or of all.
type gap struct {
	of        string
	resources []string
	did       string
	meanwhile func(*Process, *netfault.Gate) // just before each change; nil: an object is deleted while the watch is broken
}

// late is how long a watch shows nothing: long against what the others take.
const late = 250 * time.Millisecond

// In gapKinds, a watch breaks, and the server does not know the resourceVersion any more: the controller sees no event of the meantime.
var gapKinds = []gap{
	{did: "late", meanwhile: func(_ *Process, gate *netfault.Gate) {
		gate.Close()
		time.AfterFunc(late, gate.Open)
	}},
	{did: "broken, and its version expired", meanwhile: func(_ *Process, gate *netfault.Gate) { gate.Expire() }},
	{did: "late, then broken, and its version expired", meanwhile: func(_ *Process, gate *netfault.Gate) {
		gate.Close()
		time.AfterFunc(late, func() {
			gate.Expire()
			gate.Open()
		})
	}},
	{did: "broken while one is deleted"},
}

// In connectionKinds, it is about all watches.
var connectionKinds = []gap{
	{did: "without bookmarks, and their versions expired", meanwhile: func(p *Process, gate *netfault.Gate) {
		p.proxy.noBookmarks.Store(true)
		gate.Expire()
	}},
	{did: "silent: the connection is open, and brings nothing", meanwhile: func(p *Process, _ *netfault.Gate) { p.proxy.silence() }},
}

// gaps holds, or breaks, the controller's watches one by one, while users change what they show.
func gaps(ctx context.Context, w *World) error {
	want, err := w.withoutFaults(ctx)
	if err != nil {
		return err
	}
	cases := []gap{}
	for _, resource := range w.resource.watched() {
		if resource == "pods" { // there are none, so that a gap has nothing to hide
			continue
		}
		for _, g := range gapKinds {
			cases = append(cases, gap{"the watch of " + resource, []string{resource}, g.did, g.meanwhile})
		}
	}
	for _, g := range connectionKinds {
		cases = append(cases, gap{"all watches", w.resource.watched(), g.did, g.meanwhile})
	}
	for i, g := range choose(w, cases) {
		// A controller waits longer after each error. A new one begins with the shortest time.
		last := w.processes[len(w.processes)-1]
		last.kill()
		<-last.stopped
		p, err := w.startController()
		if err != nil {
			return err
		}
		did := fmt.Sprintf("let %s be %s", g.of, g.did)
		w.say("%s", did)
		name := fmt.Sprintf("gap%02d", i)
		if g.meanwhile == nil {
			err = w.missDeletion(ctx, name, g.resources[0], want)
		} else {
			_, err = w.live(ctx, name, want, func() {
				for _, resource := range g.resources {
					g.meanwhile(p, w.gates[resource])
				}
			})
		}
		if err != nil {
			return about(name, during(did, err))
		}
	}
	return nil
}

// missDeletion deletes an object of a resource while its watch is broken. The controller sees only that it is not there any more, or
// that another one has its name.
func (w *World) missDeletion(ctx context.Context, name, resource string, want ends) error {
	if _, err := w.createSample(ctx, 0, name); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, name, want.created); err != nil {
		return err
	}
	gate := w.gates[resource]
	gate.Close()
	var err error
	if resource == w.resource.gvr.Resource {
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
