package main

import (
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/website/apis/website/v1alpha1"
	"example.com/website/internal/consistency"
	"example.com/website/internal/ssa"
)

// fieldManager is the name by which the API server records the fields that this controller has applied.
const fieldManager = "website-controller"

// child is a child of a Website, an O, with its apply configuration A.
type child[O ssa.Object, A ssa.Configuration[A]] struct {
	kind       string
	informer   cache.SharedIndexInformer
	client     ssa.Client[O, A]
	extract    func(object O, fieldManager string) (A, error)
	desired    func(*v1alpha1.Website) A
	canReplace bool
}

// apply creates a child that has the name of its Website, or applies what differs in it.
func apply[O ssa.Object, A ssa.Configuration[A]](
	ctx context.Context, c *controller, object *v1alpha1.Website, child child[O, A],
) (O, error) {
	var none O
	key := cache.MetaObjectToName(object)
	stored, exists, err := child.informer.GetStore().GetByKey(key.String())
	if err != nil {
		return none, err
	}
	owner := metav1.NewControllerRef(object, v1alpha1.SchemeGroupVersion.WithKind("Website"))
	owner.BlockOwnerDeletion = nil // some clusters allow it only with a permission on websites/finalizers
	desired := ssa.WithOwners(child.desired(object), []metav1.OwnerReference{*owner})
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if !exists {
		if err := c.confirm(ctx, object); err != nil {
			return none, err
		}
		// No object has a resourceVersion so old, so this apply can only create.
		created, err := child.client.Apply(ctx, desired.WithResourceVersion("1"), options)
		return child.wrote(c, object, created, err)
	}

	existing := stored.(O)
	if earlier := metav1.GetControllerOf(existing); earlier != nil && earlier.UID != object.UID && earlier.Kind == "Website" &&
		earlier.Name == object.Name {
		return none, fmt.Errorf("the %s of an earlier Website is not deleted yet: %w", child.kind, consistency.ErrStale)
	}
	if !metav1.IsControlledBy(existing, object) {
		return none, problem{"NameTaken", fmt.Sprintf("there is a %s %s that is not this Website's: delete it, or choose another name",
			child.kind, object.Name)}
	}
	if existing.GetDeletionTimestamp() != nil {
		return none, problem{"Terminating", fmt.Sprintf("the %s is being deleted", child.kind)} // the event of its end enqueues the key
	}
	owned, err := ssa.Owned(existing, child.extract, fieldManager)
	if err != nil || apiequality.Semantic.DeepEqual(owned, child.desired(object)) {
		return existing, err
	}
	change := ssa.ChangeOf(owned, child.desired(object))
	if _, tooSoon := c.undone.Again(key, child.kind, change); tooSoon {
		return none, child.changedBack(change.Field)
	}
	if err := c.confirm(ctx, object); err != nil {
		return none, err
	}
	applied, err := ssa.Apply(ctx, child.client, existing, owned, desired, child.canReplace, options)
	if err == nil {
		c.undone.Wrote(key, child.kind, change)
	}
	return child.wrote(c, object, applied, err)
}

// wrote remembers a write: the next sync waits until the store has it. What the API server has stored can differ from what was sent: a
// policy or a webhook changes it.
func (child child[O, A]) wrote(c *controller, object *v1alpha1.Website, written O, err error) (O, error) {
	var none O
	if err != nil {
		return none, fmt.Errorf("applying the %s %s: %w", child.kind, object.Name, err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(object), child.kind, child.informer.GetStore(), written.GetResourceVersion())
	owned, err := ssa.Owned(written, child.extract, fieldManager)
	if err == nil && !apiequality.Semantic.DeepEqual(owned, child.desired(object)) {
		err = child.changedBack(ssa.ChangeOf(owned, child.desired(object)).Field)
	}
	if err != nil {
		return none, err
	}
	return written, nil
}

func (child child[O, A]) changedBack(field string) error {
	return problem{"ChangedBack", fmt.Sprintf("somebody else changes %s of the %s back", field, child.kind)}
}
