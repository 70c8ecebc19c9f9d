package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// event is something that happens to an object. If it lasts, it is undone in the end.
type event struct {
	did     string
	do      happening
	holds   bool                       // it holds an object that is deleted
	blocks  bool                       // as long as it lasts, the controller cannot do all that is asked for
	seed    uint64                     // of its own chance, so that it can be repeated
	kind    int                        // the number of a child's resource, if it is about a child
	cascade metav1.DeletionPropagation // of a deletion
	waits   bool                       // before it, the suite waits for the status, for 2 s at most
	isDone  bool
}

// happening lets an event happen. What it returns undoes that; nil: nothing lasts.
type happening func(ctx context.Context, x *combination, s *subject, e *event) (undoing, error)

type undoing func(context.Context) error

func (e *event) random() *rand.Rand { return rand.New(rand.NewPCG(e.seed, 0)) }

// events returns what can happen to an object. What is there twice happens more often.
func (w *World) events() []event {
	events := []event{
		{did: "changed it: " + w.resource.Change.String(), do: change},
		{did: "another user added a finalizer", do: hold, holds: true},
		{did: "another user added a finalizer", do: hold, holds: true},
		{did: "another user changed a field of a child", do: editChild},
		{did: "another user deleted the {kind}", do: deleteOne},
		{did: "another user deleted the {kind}, and a finalizer holds it", do: holdChild, blocks: true},
		{did: "each write of the {kind} is answered 403", do: refuse, blocks: true},
		{did: "30 % of the writes, 20 at most, are answered 500, and not done", do: lose, blocks: true},
		{did: "30 % of the writes, 20 at most, are answered 500, and done", do: loseAnswer, blocks: true},
	}
	if w.keeps() {
		turn := event{did: "changed whether its children stay", do: turn}
		events = append(events, turn, turn, turn)
	}
	if len(w.resource.Impossible) > 0 {
		did := "asked for what the server refuses for a child: " + w.resource.Impossible.String()
		events = append(events, event{did: did, do: askTooMuch})
	}
	return events
}

func change(ctx context.Context, x *combination, s *subject, _ *event) (undoing, error) {
	s.isChanged = true
	return nil, x.changeIt(ctx, s.name)
}

func askTooMuch(ctx context.Context, x *combination, s *subject, _ *event) (undoing, error) {
	s.asksTooMuch = true
	return nil, x.patch(ctx, s.name, x.resource.Impossible.String())
}

// turn asks for the children to stay when their owner is deleted, or not to stay.
func turn(ctx context.Context, x *combination, s *subject, e *event) (undoing, error) {
	change := x.resource.Keep
	if s.keepsNow {
		change = x.resource.undo(change)
	}
	e.did = "changed it: " + change.String()
	if err := x.patch(ctx, s.name, change.String()); err != nil {
		return nil, err
	}
	s.keepsNow, s.hasTurned = !s.keepsNow, s.cascade != ""
	return nil, nil
}

func hold(ctx context.Context, x *combination, s *subject, _ *event) (undoing, error) {
	return func(ctx context.Context) error { return x.changeFinalizers(ctx, s.name, false) }, x.changeFinalizers(ctx, s.name, true)
}

// changeFinalizers adds or removes the suite's own, and leaves others alone.
func (x *combination) changeFinalizers(ctx context.Context, name string, add bool) error {
	for {
		d, err := x.owners.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		finalizers := slices.DeleteFunc(d.GetFinalizers(), func(f string) bool { return f == finalizer })
		if add {
			finalizers = append(finalizers, finalizer)
		}
		d.SetFinalizers(finalizers)
		if _, err = x.owners.Update(ctx, d, metav1.UpdateOptions{FieldManager: manager}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// editChild changes no metadata: a child that has lost its owner when that is deleted is nobody's. Whether the content of a Secret comes
// back is up to the controller.
func editChild(ctx context.Context, x *combination, s *subject, e *event) (undoing, error) {
	step, err := x.edit(ctx, s.name, e.random())
	if err != nil || step.kind == "" || step.kind == "Secret" || strings.Contains(step.patch, "/metadata/") {
		e.did = ""
		return nil, err
	}
	e.did = "another user changed a child: " + step.String()
	return nil, x.patchKind(ctx, s.d, step)
}

// childrenOfKind returns the children that an event is about. They are not looked for any more among those that have to be there.
func (x *combination) childrenOfKind(ctx context.Context, s *subject, e *event) (found []unstructured.Unstructured, err error) {
	children, err := x.children(ctx, s.d)
	for _, o := range children {
		if o.GroupVersionKind() == x.resource.kinds[e.kind] {
			found = append(found, o)
			s.children.Delete(identity(&o))
			s.toStay.Delete(identity(&o))
		}
	}
	return found, err
}

func deleteOne(ctx context.Context, x *combination, s *subject, e *event) (undoing, error) {
	children, err := x.childrenOfKind(ctx, s, e)
	for i := 0; err == nil && i < len(children); i++ {
		err = unlessGone(x.deleteChild(ctx, s.d, &children[i]))
	}
	return nil, err
}

func holdChild(ctx context.Context, x *combination, s *subject, e *event) (undoing, error) {
	children, err := x.childrenOfKind(ctx, s, e)
	for i := 0; err == nil && i < len(children); i++ {
		err = unlessGone(x.halfDelete(ctx, s.d, &children[i]))
	}
	return func(ctx context.Context) error {
		var errs []error
		for i := range children {
			errs = append(errs, unlessGone(x.removeFinalizers(ctx, s.d, &children[i])))
		}
		return errors.Join(errs...)
	}, err
}

// fault puts a fault in the way of the writes about an object.
func (x *combination) fault(s *subject, f Fault) (undoing, error) {
	f.Name = s.name
	remove := x.tap.add(&f)
	return func(context.Context) error { remove(); return nil }, nil
}

func refuse(_ context.Context, x *combination, s *subject, e *event) (undoing, error) {
	return x.fault(s, Fault{Resource: x.resource.children[e.kind].Resource, Code: http.StatusForbidden})
}

func lose(_ context.Context, x *combination, s *subject, e *event) (undoing, error) {
	return x.fault(s, Fault{Code: http.StatusInternalServerError, Chance: sometimes(e.random())})
}

func loseAnswer(_ context.Context, x *combination, s *subject, e *event) (undoing, error) {
	return x.fault(s, Fault{Code: http.StatusInternalServerError, Done: true, Chance: sometimes(e.random())})
}

// deleteIt deletes the object, and decides what has to become of its children. The garbage collector has to know their owners, or
// --cascade=orphan would not reach a child that has just got its owner.
func deleteIt(ctx context.Context, x *combination, s *subject, e *event) (undoing, error) {
	wasTold, err := x.settle(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	before, err := x.here(ctx, s)
	if err == nil && e.cascade == metav1.DeletePropagationOrphan {
		err = x.untilCollected(ctx)
	}
	if err != nil {
		return nil, err
	}
	isTold, err := x.settle(ctx, s, 0)
	if err != nil {
		return nil, err
	}
	s.cascade = e.cascade
	if err := x.decide(ctx, s, wasTold && isTold); err != nil {
		return nil, err
	}
	if s.toStay != nil {
		s.toStay = s.toStay.Intersection(before)
	}
	return nil, x.owners.Delete(ctx, s.name, metav1.DeleteOptions{
		PropagationPolicy: &e.cascade, Preconditions: &metav1.Preconditions{UID: new(s.d.GetUID())},
	})
}
