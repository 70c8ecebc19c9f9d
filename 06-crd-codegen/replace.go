package main

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
)

// An apply cannot undo every change. It sets fields, and removes what it has set before. What somebody else has added it
// leaves alone, even where that excludes our own fields: a rollingUpdate beside our strategy Recreate, or a value beside
// our valueFrom. The server then answers Invalid to each apply. And where somebody has changed the field by which the
// server tells a list's elements apart, such as a container's name, an apply adds ours as one more.
//
// The way back is an update, which replaces the spec as a whole. What others have set in it goes, too.

// replace updates a child to have the desired spec and nothing else in it, and returns it as it is then.
func (k childKind[O, A]) replace(ctx context.Context, existing O, desired A) (O, error) {
	client, options := k.clientIn(existing.GetNamespace()), metav1.UpdateOptions{FieldManager: fieldManager}
	replaced, err := k.withSpec(existing, desired)
	if err == nil {
		replaced, err = client.Update(ctx, replaced, options) // with the resourceVersion that was read
	}
	if err == nil {
		// The server has recorded these fields as updated. As applied ones they are compared, and removed when a later
		// version of this program no longer sets them.
		err = csaupgrade.UpgradeManagedFields(replaced, sets.New(fieldManager), fieldManager)
	}
	if err == nil {
		replaced, err = client.Update(ctx, replaced, options)
	}
	if err != nil {
		return existing, fmt.Errorf("replacing %s %s: %w", k.kind, existing.GetName(), err)
	}
	return replaced, nil
}

// convert writes the fields of an apply configuration into a struct of the type that it is for.
func convert(configuration, into any) error {
	text, err := json.Marshal(configuration)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// lacksElement reports whether one of the lists of objects in desired's spec has fewer elements in owned: somebody has
// removed an element that was ours, or changed the field that tells it apart.
func lacksElement(owned, desired any) bool {
	var specs [2]struct{ Spec any }
	for i, configuration := range []any{owned, desired} {
		if err := convert(configuration, &specs[i]); err != nil {
			panic(err) // what the server has sent, or we send, is JSON
		}
	}
	return lacks(specs[0].Spec, specs[1].Spec)
}

func lacks(owned, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		owned, ok := owned.(map[string]any)
		for key, value := range desired {
			if ok && lacks(owned[key], value) {
				return true
			}
		}
	case []any:
		owned, _ := owned.([]any)
		for i, value := range desired {
			if _, object := value.(map[string]any); object && (i >= len(owned) || lacks(owned[i], value)) {
				return true
			}
		}
	}
	return false
}
