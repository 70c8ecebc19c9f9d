package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"example.com/client-go-workbook/internal/fielddiff"
)

// drift changes each field of the children that managedFields name as the controller's, and deletes each child.
func drift(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	if _, err := w.createSample(ctx, 0, "drift"); err != nil {
		return err
	}
	d, _, err := w.untilReady(ctx, "drift", "")
	if err != nil {
		return err
	}
	foreign, err := w.annotations(ctx, d, true)
	if err != nil {
		return err
	}
	children, err := w.children(ctx, d)
	if err != nil {
		return err
	}
	for _, child := range children {
		objects := w.objectsOf(&child)
		fields := w.ownedFields(&child)
		w.random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		if w.sample > 0 {
			fields = fields[:min(len(fields), w.sample)]
		}
		if len(fields) == 0 {
			did := "read the managedFields of " + child.GetKind() + " " + child.GetName()
			return failed(did, "fields of the controller, whose manager's name does not begin with kube-", "none")
		}
		changed := 0
		for _, field := range fields {
			did, err := w.change(ctx, objects, child.GetName(), field, d)
			if err != nil {
				return err
			}
			if did == "" {
				continue // the server has refused all other values
			}
			changed++
			if err := w.untilBack(ctx, objects, &child, d); err != nil {
				return about(d.GetName(), during("created "+w.resource.kind.Kind+" drift; "+did, err))
			}
		}
		w.say("%s %s: %d of %d fields have another valid value, and came back", child.GetKind(), child.GetName(), changed, len(fields))
	}
	now, err := w.annotations(ctx, d, false)
	if err == nil {
		err = failed("another manager set an annotation of each child; changed fields of the controller; read them", foreign, now)
	}
	if err != nil {
		return err
	}
	for _, child := range children {
		objects := w.objectsOf(&child)
		if err := objects.Delete(ctx, child.GetName(), metav1.DeleteOptions{}); err != nil {
			return err
		}
		if err := w.untilBack(ctx, objects, &child, d); err != nil {
			return about(d.GetName(), during("deleted "+child.GetKind()+" "+child.GetName(), err))
		}
	}
	if _, _, err = w.untilReady(ctx, "drift", ""); err != nil {
		return err
	}
	for _, child := range children {
		if err := w.replaceSources(ctx, &child, d); err != nil {
			return about(d.GetName(), err)
		}
	}
	if !w.resource.isDatabaseManager() {
		return nil
	}
	return w.addTwice(ctx)
}

// replaceSources gives each variable of a pod template that has a source a value in its place, and each volume another source. An
// apply of the source alone is refused then, as there would be both.
func (w *World) replaceSources(ctx context.Context, child *unstructured.Unstructured, d metav1.Object) error {
	const replacement = `{"op": "replace", "path": "/spec/template/spec/%s", "value": %s}`
	patches := []string{}
	containers, _, _ := unstructured.NestedSlice(child.Object, "spec", "template", "spec", "containers")
	for i, container := range containers {
		variables, _ := container.(map[string]any)["env"].([]any)
		for j, variable := range variables {
			if variable, _ := variable.(map[string]any); variable["valueFrom"] != nil {
				value := patch{"name": variable["name"], "value": "others"}
				patches = append(patches, fmt.Sprintf(replacement, fmt.Sprintf("containers/%d/env/%d", i, j), value))
			}
		}
	}
	volumes, _, _ := unstructured.NestedSlice(child.Object, "spec", "template", "spec", "volumes")
	for i, volume := range volumes {
		if volume, _ := volume.(map[string]any); volume["emptyDir"] == nil {
			value := patch{"name": volume["name"], "emptyDir": map[string]any{}}
			patches = append(patches, fmt.Sprintf(replacement, fmt.Sprintf("volumes/%d", i), value))
		}
	}
	objects, changed := w.objectsOf(child), 0
	for _, replaced := range patches {
		options := metav1.PatchOptions{FieldManager: manager + "-other"}
		_, err := objects.Patch(ctx, child.GetName(), types.JSONPatchType, []byte("["+replaced+"]"), options)
		if apierrors.IsInvalid(err) {
			continue // a pod template that cannot be changed
		}
		if err != nil {
			return err
		}
		if err := w.untilBack(ctx, objects, child, d); err != nil {
			return during("changed "+child.GetKind()+" "+child.GetName()+": "+replaced, err)
		}
		changed++
	}
	if len(patches) > 0 {
		w.say("%s %s: %d of %d sources of variables and volumes could be changed, and came back",
			child.GetKind(), child.GetName(), changed, len(patches))
	}
	return nil
}

// addTwice has another manager add an init container in which a variable is there twice: Extract reads no field of that Deployment.
func (w *World) addTwice(ctx context.Context) error {
	const patch = `{"spec": {"revisionHistoryLimit": 3, "template": {"spec": {"nodeSelector": {"disk": "fast"},
		"initContainers": [{"name": "others", "image": "others", "env": [{"name": "A"}, {"name": "A"}]}]}}}}`
	if _, err := w.create(ctx, "twice"); err != nil {
		return err
	}
	d, _, err := w.untilReady(ctx, "twice", "")
	if err != nil {
		return err
	}
	deployments := w.client.AppsV1().Deployments(w.namespace)
	options := metav1.PatchOptions{FieldManager: manager + "-other"}
	before, err := deployments.Patch(ctx, d.GetName(), types.MergePatchType, []byte(patch), options)
	if err != nil {
		return err
	}
	w.say("another manager has added a variable twice to an init container of its own")
	if err := w.patch(ctx, d.GetName(), `{"spec": {"version": "8.4.5"}}`); err != nil {
		return err
	}
	const did = "another manager added " + patch + "; changed the version"
	const what = "the Deployment to have the version, and what was added"
	return about(d.GetName(), during(did, w.await(ctx, what, func(ctx context.Context) (string, error) {
		now, err := deployments.Get(ctx, d.GetName(), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		image := &now.Spec.Template.Spec.Containers[0].Image
		if !strings.HasSuffix(*image, ":8.4.5") {
			return "- :8.4.5\n+ " + *image, nil
		}
		*image = before.Spec.Template.Spec.Containers[0].Image
		return diffOf(before.Spec, now.Spec), nil
	})))
}

// untilBack waits until a child is what it was.
func (w *World) untilBack(
	ctx context.Context, objects dynamic.ResourceInterface, was *unstructured.Unstructured, d metav1.Object,
) error {
	want := w.normal(d, was)
	return w.await(ctx, was.GetKind()+" "+was.GetName()+" to be what it was", func(ctx context.Context) (string, error) {
		now, err := objects.Get(ctx, was.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "- " + was.GetKind() + " " + was.GetName(), nil
		}
		if err != nil || now.GetDeletionTimestamp() != nil {
			return "it is being deleted", err
		}
		return diffOf(want, w.normal(d, now)), nil
	})
}

// change gives a field another value that the server accepts, or removes it, and returns what it did: nothing if the server accepts
// no other. What makes no difference is no change.
func (w *World) change(
	ctx context.Context, objects dynamic.ResourceInterface, name string, field fieldpath.Path, d metav1.Object,
) (did string, err error) {
	before, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	pointer, value, found := fielddiff.Find(before.Object, field)
	if !found {
		return "", fmt.Errorf("%s %s has no field %s, which its managedFields name", before.GetKind(), name, field)
	}
	patches := []map[string]any{}
	for _, other := range othersOf(value) {
		patches = append(patches, map[string]any{"op": "replace", "path": pointer, "value": other})
	}
	patches = append(patches, map[string]any{"op": "remove", "path": pointer})
	for _, patch := range patches {
		text, err := json.Marshal([]any{patch})
		if err != nil {
			return "", err
		}
		options := metav1.PatchOptions{FieldManager: manager + "-other"}
		after, err := objects.Patch(ctx, name, types.JSONPatchType, text, options)
		if err == nil && w.normal(d, after) != w.normal(d, before) {
			return fmt.Sprintf("changed %s %s: %s", before.GetKind(), name, text), nil
		}
		if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			return "", err
		}
	}
	return "", nil
}

// ownedFields returns the fields that managedFields name, but those of Kubernetes' own controllers, and of the status; and without
// that by which the controller knows its children.
func (w *World) ownedFields(o *unstructured.Unstructured) (fields []fieldpath.Path) {
	known := map[string]string{"owner": ".metadata.ownerReferences", "labels": ".metadata.labels"}[w.resource.KnownBy]
	for _, entry := range o.GetManagedFields() {
		isOthers := strings.HasPrefix(entry.Manager, "kube-") || strings.HasPrefix(entry.Manager, manager)
		if isOthers || entry.Subresource != "" || entry.FieldsV1 == nil {
			continue
		}
		var set fieldpath.Set
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			continue // no fields that anybody could read
		}
		for path := range set.Leaves().All() {
			if known != "" && strings.HasPrefix(path.String(), known) {
				continue
			}
			fields = append(fields, path.Copy())
		}
	}
	return fields
}

// othersOf returns other values that a field could have. Most of them are refused by the server.
func othersOf(value any) []any {
	switch value := value.(type) {
	case bool:
		return []any{!value}
	case int64:
		return []any{value + 1}
	case string:
		return []any{value + "x", "UDP", "RollingUpdate", "Unconfined", "NET_RAW", "600Mi", "b3RoZXI="}
	}
	return nil
}
