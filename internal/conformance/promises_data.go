package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// heir is a DatabaseManager that is to adopt data with which its spec does not agree.
type heir struct {
	name   string
	did    string
	change func(*dbv1alpha1.DatabaseManagerSpec)
}

var heirs = []heir{
	{"dbtype", "with another dbtype", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Dbtype = dbv1alpha1.MariaDB }},
	{"smaller", "with a smaller storageSize", func(s *dbv1alpha1.DatabaseManagerSpec) { s.StorageSize = new(resource.MustParse("512Mi")) }},
	{"none", "without storageSize", func(s *dbv1alpha1.DatabaseManagerSpec) { s.StorageSize = nil }},
}

// data has DatabaseManagers adopt what others have left, and deletes children that a finalizer holds.
func data(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	cases := choose(w, append([]heir{{name: "held"}}, heirs...))
	return each(ctx, cases, func(ctx context.Context, _ int, h heir) error {
		if h.change == nil {
			return about(h.name, w.holdClaim(ctx, h.name))
		}
		return about(h.name, w.inherit(ctx, h))
	})
}

// inherit has a wrong heir adopt first, then the right one.
func (w *World) inherit(ctx context.Context, h heir) error {
	w.say("%s: data are kept, and adopted %s", h.name, h.did)
	retain := func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }
	if _, err := w.create(ctx, h.name, retain); err != nil {
		return err
	}
	first, _, err := w.untilReady(ctx, h.name, "")
	if err != nil {
		return err
	}
	if err := w.delete(ctx, h.name); err != nil {
		return err
	}
	if err := w.untilGone(ctx, h.name); err != nil {
		return err
	}
	// state is what must stay as it is.
	state := func() (string, error) {
		identities, err := w.identities(ctx, first)
		if err != nil {
			return "", err
		}
		all, err := w.state(ctx, first)
		_, children, _ := strings.Cut(all, "---\n") // without the status
		return identities + children, err
	}
	before, err := state()
	if err != nil {
		return err
	}
	adopt := func(s *dbv1alpha1.DatabaseManagerSpec) {
		retain(s)
		s.AdoptFrom = string(first.GetUID())
	}
	if _, err := w.create(ctx, h.name, adopt, h.change); err != nil {
		return err
	}
	did := "deleted a DatabaseManager with deletionPolicy Retain, and created another one that adopts its children, " + h.did
	if err := w.refused(ctx, h.name, did); err != nil {
		return err
	}
	after, err := state()
	if err != nil {
		return err
	}
	if err := failed(did+"; read the children", before, after); err != nil {
		return err
	}
	if err := w.delete(ctx, h.name); err != nil {
		return err
	}
	if err := w.untilGone(ctx, h.name); err != nil {
		return during(did, err)
	}
	if _, err := w.create(ctx, h.name, adopt); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, h.name, ""); err != nil {
		return during(did+"; deleted that, and created one that adopts them as they are", err)
	}
	after, err = state()
	if err != nil {
		return err
	}
	return failed(did+"; deleted that, created one that adopts them as they are, and read the children", before, after)
}

// refused waits until the status says of the current spec that it is not Ready, and not yet observed.
func (w *World) refused(ctx context.Context, name, did string) error {
	return during(did, w.await(ctx, name+" to say why it is not Ready", func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if now := w.resource.told(d); !strings.HasPrefix(now, "Ready=False ") || d.Status.ObservedGeneration == d.Generation {
			return fmt.Sprintf("- Ready=False, observedGeneration behind\n+ %s, observedGeneration %d of %d",
				now, d.Status.ObservedGeneration, d.Generation), nil
		}
		return "", nil
	}))
}

// holdClaim deletes a claim that a finalizer holds, as that of a claim does which a pod uses. What ends pods lets it go.
func (w *World) holdClaim(ctx context.Context, name string) error {
	w.say("%s: its claim is deleted, and a finalizer holds it", name)
	if _, err := w.create(ctx, name); err != nil {
		return err
	}
	d, _, err := w.untilReady(ctx, name, "")
	if err != nil {
		return err
	}
	children, err := w.children(ctx, d)
	if err != nil {
		return err
	}
	deployments := w.client.AppsV1().Deployments(w.namespace)
	before, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, child := range children {
		if child.GetKind() != "PersistentVolumeClaim" {
			continue
		}
		if err := w.halfDelete(ctx, d, &child); err != nil {
			return err
		}
		const did = "deleted the claim, which a finalizer holds; changed the version and the deletionPolicy to Retain"
		if err := w.patch(ctx, name, `{"spec": {"version": "8.4.5", "deletionPolicy": "Retain"}}`); err != nil {
			return err
		}
		if err := w.refused(ctx, name, did); err != nil {
			return err
		}
		if err := pause(ctx, time.Second); err != nil { // the status may be written first
			return err
		}
		after, err := deployments.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := failed(did+"; read the Deployment's pod template", before.Spec.Template, after.Spec.Template); err != nil {
			return err
		}
		if err := w.removeFinalizers(ctx, d, &child); err != nil {
			return err
		}
		_, _, err = w.untilReady(ctx, name, "")
		return during(did+"; removed the finalizer, so that the claim went", err)
	}
	return failed("created a DatabaseManager with storageSize, and looked for its claim", "a claim", "none")
}
