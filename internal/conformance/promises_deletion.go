package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// farewell is one way in which a DatabaseManager is deleted.
type farewell struct {
	name     string
	policy   dbv1alpha1.DeletionPolicy
	cascade  metav1.DeletionPropagation
	resource string // of a child that somebody else deletes; empty for none
	moment   string // when: before, with or after
}

func (f farewell) String() string {
	text := fmt.Sprintf("deleted %s, deletionPolicy %s, with --cascade=%s", f.name, f.policy, strings.ToLower(string(f.cascade)))
	if f.resource != "" {
		text += fmt.Sprintf("; somebody else deleted its %s %s that", f.resource, f.moment)
	}
	return text
}

// stay reports whether the children must outlive their owner.
func (f farewell) stay() bool {
	return f.policy == dbv1alpha1.DeletionPolicyRetain || f.cascade == metav1.DeletePropagationOrphan
}

// deletion deletes DatabaseManagers in all ways: each policy, each cascade, and each child deleted by another at the same time.
func deletion(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	cases := []farewell{}
	for _, policy := range []dbv1alpha1.DeletionPolicy{dbv1alpha1.DeletionPolicyDelete, dbv1alpha1.DeletionPolicyRetain} {
		for _, cascade := range []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
		} {
			cases = append(cases, farewell{policy: policy, cascade: cascade})
			for _, r := range w.resource.children {
				for _, moment := range []string{"before", "with", "after"} {
					cases = append(cases, farewell{policy: policy, cascade: cascade, resource: r.Resource, moment: moment})
				}
			}
		}
	}
	cases = choose(w, cases)
	for i := range cases {
		cases[i].name = fmt.Sprintf("gone%02d", i)
	}
	w.say("%d ways to delete a DatabaseManager", len(cases))
	before := make([]map[string]string, len(cases))
	uids := make([]types.UID, len(cases))
	err := each(ctx, cases, func(ctx context.Context, i int, f farewell) error {
		_, err := w.create(ctx, f.name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeletionPolicy = f.policy })
		if err != nil {
			return err
		}
		d, _, err := w.untilReady(ctx, f.name, "")
		if err == nil {
			uids[i] = d.GetUID()
			before[i], err = w.left(ctx, d)
		}
		return about(f.name, during("created "+f.name, err))
	})
	if err != nil {
		return err
	}
	if err := w.untilCollected(ctx); err != nil {
		return err
	}
	w.say("deleting them")
	err = each(ctx, cases, func(ctx context.Context, _ int, f farewell) error { return about(f.name, w.sayFarewell(ctx, f)) })
	if err != nil {
		return err
	}
	if err := w.untilCollected(ctx); err != nil {
		return err
	}
	w.say("all are gone: looking at their children")
	return each(ctx, cases, func(ctx context.Context, i int, f farewell) error {
		d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: f.name, UID: uids[i]}}
		d.Spec.DeploymentName = f.name
		expected := map[string]string{}
		if f.stay() {
			for resource, text := range before[i] {
				expected[resource] = strings.TrimSuffix(text, owned)
			}
		}
		return about(f.name, w.await(ctx, "its children to be as they should", func(ctx context.Context) (string, error) {
			after, err := w.left(ctx, d)
			if f.stay() && f.resource != "" {
				// The controller may have created it once more before it knew of the deletion.
				if f.moment != "after" && !strings.HasSuffix(after[f.resource], owned) {
					delete(after, f.resource)
				}
				delete(expected, f.resource)
			}
			if diff := diffOf(expected, after); err != nil || diff != "" {
				return f.String() + "\n" + diff, err
			}
			return "", nil
		}))
	})
}

const owned = ", owned"

// left returns for each child, by resource, what must not change when it outlives its owner.
func (w *World) left(ctx context.Context, d metav1.Object) (map[string]string, error) {
	children, err := w.children(ctx, d)
	left := map[string]string{}
	for _, o := range children {
		text := fmt.Sprintf("%s uid %s", o.GetName(), o.GetUID())
		if o.GetDeletionTimestamp() != nil {
			text += ", being deleted"
		}
		if isOwnedBy(&o, d.GetUID()) {
			text += owned
		}
		left[w.resource.resourceOf(&o).Resource] = text
	}
	return left, err
}

// sayFarewell deletes a DatabaseManager, and one of its children, and waits until the first is gone.
func (w *World) sayFarewell(ctx context.Context, f farewell) error {
	deleteChild := func(moment string) error {
		if f.moment != moment {
			return nil
		}
		return w.deleteChildren(ctx, f.name, f.resource)
	}
	if err := deleteChild("before"); err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return deleteChild("with") })
	group.Go(func() error {
		return w.databases.Delete(ctx, f.name, metav1.DeleteOptions{PropagationPolicy: &f.cascade})
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := w.untilGone(ctx, f.name); err != nil {
		return during(f.String(), err)
	}
	return deleteChild("after")
}

// markers are an object of each kind of children, which belong to an owner that has never been there.
const markers = `
- {apiVersion: v1, kind: Secret}
- {apiVersion: v1, kind: Service, spec: {ports: [{port: 1}]}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
- apiVersion: apps/v1
  kind: Deployment
  spec:
    replicas: 0
    selector: {matchLabels: {app: marker}}
    template: {metadata: {labels: {app: marker}}, spec: {containers: [{name: marker, image: marker}]}}
`

// untilCollected waits until the garbage collector has seen all owner references, and has collected what it has to. It watches each
// kind, and can be late: --cascade=orphan then does not reach a child that has just got its owner
// (https://github.com/kubernetes/kubernetes/issues/26120). So it gets one more object of each kind to collect.
func (w *World) untilCollected(ctx context.Context) error {
	var objects []unstructured.Unstructured
	var contents []map[string]any
	if err := yaml.Unmarshal([]byte(markers), &contents); err != nil {
		return err
	}
	owner := w.resource.kind
	name := fmt.Sprintf("marker-%d", time.Now().UnixNano())
	for _, content := range contents {
		o := unstructured.Unstructured{Object: content}
		if !slices.Contains(w.resource.kinds, o.GroupVersionKind()) {
			continue
		}
		o.SetName(name)
		o.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: owner.GroupVersion().String(), Kind: owner.Kind, Name: name, UID: types.UID(name),
		}})
		if _, err := w.objectsOf(&o).Create(ctx, &o, metav1.CreateOptions{FieldManager: manager}); err != nil {
			return err
		}
		objects = append(objects, o)
	}
	return w.awaitCluster(ctx, "the garbage collector", func(ctx context.Context) (string, error) {
		for _, o := range objects {
			_, err := w.objectsOf(&o).Get(ctx, name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return "+ " + o.GetKind() + " " + name, err
			}
		}
		return "", nil
	})
}
