package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// stability puts children into states by chance while no controller runs. From each of them, the controller has to find the way back.
func stability(ctx context.Context, w *World) error {
	p, err := w.startController()
	if err != nil {
		return err
	}
	names := []string{}
	for i := range 12 {
		names = append(names, fmt.Sprintf("any%02d", i))
	}
	if w.sample > 0 {
		names = names[:min(len(names), w.sample)]
	}
	states := make([]string, len(names))
	err = each(ctx, names, func(ctx context.Context, i int, name string) error {
		if _, err := w.createSample(ctx, 0, name); err != nil {
			return err
		}
		_, state, err := w.untilReady(ctx, name, "")
		states[i] = state
		return err
	})
	if err != nil {
		return err
	}
	for round := 1; round <= 3; round++ {
		if err := w.untilQuiet(ctx); err != nil {
			return err
		}
		p.kill()
		<-p.stopped
		done := map[string]string{}
		undo, damaged := []func() error{}, 0
		for _, name := range names {
			d, err := w.owners.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			children, err := w.children(ctx, d)
			if err != nil {
				return err
			}
			did := []string{}
			damaged += len(children)
			for _, child := range children {
				damage := damages[w.random.IntN(len(damages))]
				if damage.loses == w.resource.KnownBy {
					damage = damages[0]
				}
				if damage.do != nil {
					if err := damage.do(w, ctx, d, &child); err != nil {
						return fmt.Errorf("%s: %w", damage.did, err)
					}
				}
				if damage.undo != nil {
					undo = append(undo, func() error { return damage.undo(w, ctx, d, &child) })
				}
				did = append(did, fmt.Sprintf("%s: %s", child.GetKind(), damage.did))
			}
			done[name] = strings.Join(did, "; ")
		}
		w.say("round %d: started with %d damaged children, %d of them half deleted or doubled", round, damaged, len(undo))
		if p, err = w.startController(); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		for _, undo := range undo {
			if err := undo(); err != nil {
				return err
			}
		}
		err := each(ctx, names, func(ctx context.Context, i int, name string) error {
			_, _, err := w.untilReady(ctx, name, states[i])
			return about(name, during("while no controller ran: "+done[name]+"; then started the controller", err))
		})
		if err != nil {
			return err
		}
	}
	if err := w.untilQuiet(ctx); err != nil {
		return err
	}
	since := time.Now()
	if err := pause(ctx, w.rest/4); err != nil {
		return err
	}
	return failed("waited, with all as desired again", "", list(w.tap.writes("", since)))
}

// damage is what may have happened to a child.
type damage struct {
	did   string
	do    damaging // may be nil
	undo  damaging // what the one who did it does later; may be nil
	loses string   // that by which some controllers know their children
}

type damaging func(w *World, ctx context.Context, d metav1.Object, child *unstructured.Unstructured) error

var damages = []damage{
	{"nothing", nil, nil, ""},
	{"deleted", (*World).deleteChild, nil, ""},
	{"half deleted, with a finalizer of somebody else", (*World).halfDelete, (*World).removeFinalizers, ""},
	{"a field changed", (*World).changeAny, nil, ""},
	{"no owner", (*World).removeOwners, nil, "owner"},
	{"the labels changed", (*World).changeLabels, nil, "labels"},
	{"doubled, with the same labels and owner", (*World).double, (*World).deleteDouble, ""},
}

func (w *World) deleteChild(ctx context.Context, _ metav1.Object, child *unstructured.Unstructured) error {
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	return w.objectsOf(child).Delete(ctx, child.GetName(), options)
}

const finalizer = "example.com/conformance"

func (w *World) halfDelete(ctx context.Context, d metav1.Object, child *unstructured.Unstructured) error {
	if err := w.patchChild(ctx, child, `{"metadata": {"finalizers": ["`+finalizer+`"]}}`); err != nil {
		return err
	}
	return w.deleteChild(ctx, d, child)
}

func (w *World) removeFinalizers(ctx context.Context, _ metav1.Object, child *unstructured.Unstructured) error {
	return w.patchChild(ctx, child, `{"metadata": {"finalizers": null}}`)
}

// double creates a copy of a child under another name. What a controller does with it is its own decision, but all else has to stay right.
func (w *World) double(ctx context.Context, _ metav1.Object, child *unstructured.Unstructured) error {
	copied := child.DeepCopy()
	copied.SetName(doubleName(child))
	for _, set := range [][]string{
		{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "volumeName"},
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "managedFields"},
	} {
		unstructured.RemoveNestedField(copied.Object, set...)
	}
	_, err := w.objectsOf(child).Create(ctx, copied, metav1.CreateOptions{FieldManager: manager + "-other"})
	return err
}

func (w *World) deleteDouble(ctx context.Context, _ metav1.Object, child *unstructured.Unstructured) error {
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	return unlessGone(w.objectsOf(child).Delete(ctx, doubleName(child), options))
}

func doubleName(child *unstructured.Unstructured) string { return child.GetName() + "-double" }

func (w *World) changeAny(ctx context.Context, d metav1.Object, child *unstructured.Unstructured) error {
	fields := w.ownedFields(child)
	if len(fields) == 0 {
		return nil
	}
	_, err := w.change(ctx, w.objectsOf(child), child.GetName(), fields[w.random.IntN(len(fields))], d)
	return err
}

func (w *World) removeOwners(ctx context.Context, _ metav1.Object, child *unstructured.Unstructured) error {
	return w.patchChild(ctx, child, `{"metadata": {"ownerReferences": null}}`)
}

// changeLabels leaves the owner reference as it is: an object with neither is somebody else's.
func (w *World) changeLabels(ctx context.Context, _ metav1.Object, child *unstructured.Unstructured) error {
	labels := map[string]any{}
	for label := range child.GetLabels() {
		labels[label] = []any{nil, "another"}[w.random.IntN(2)]
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
	if err != nil {
		return err
	}
	return w.patchChild(ctx, child, string(patch))
}

func (w *World) patchChild(ctx context.Context, child *unstructured.Unstructured, patch string) error {
	_, err := w.objectsOf(child).Patch(
		ctx, child.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager + "-other"})
	return err
}
