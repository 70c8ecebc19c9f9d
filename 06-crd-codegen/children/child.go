// child.go: one child: read it, decide, ask the server whether the DatabaseManager is still the store's, write.

package children

import (
	"cmp"
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// Access reads and writes the objects of a kind.
type Access[O ssa.Object, A ssa.Configuration[A]] interface {
	Stored(ctx context.Context, namespace, name string) (O, error) // from the store; nil if it has none
	Client(d *dbv1alpha1.DatabaseManager) ssa.Client[O, A]         // to the server, in the namespace of d
	Wrote(d *dbv1alpha1.DatabaseManager, object O)                 // d's next sync waits until the store has it
}

// childKind brings the children of one kind in line, one for each DatabaseManager.
type childKind[O ssa.Object, A ssa.Configuration[A]] struct {
	all     *Children
	kind    Kind[O, A]
	objects Access[O, A]
}

// Add adds a kind: its objects are created after those of the kinds before.
func Add[O ssa.Object, A ssa.Configuration[A]](c *Children, kind Kind[O, A], access Access[O, A]) {
	c.kinds = append(c.kinds, childKind[O, A]{c, kind, access})
}

// apply brings a child in line with its desired state, its owner reference first. It returns the child, or nil if there is none, and
// whether its owner reference is right.
func (c childKind[O, A]) apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, p *progress) (metav1.Object, bool, error) {
	var none A
	var missing O
	existing, err := c.objects.Stored(ctx, d.Namespace, c.name(d))
	if database.FinalizerGoes(d) { // after that, nobody would add an owner reference that only the store has
		existing, err = c.read(ctx, d)
	}
	if err != nil {
		return nil, false, err
	}
	switch {
	case c.kind.Desired(d, existing) == none:
		return nil, true, nil
	case p.isMissing && (existing == missing || !database.BelongsTo(existing, d)):
		return nil, true, nil // it waits for the child before
	case existing == missing:
		return c.create(ctx, d, p)
	}
	return c.adjust(ctx, d, existing, p)
}

// create creates a child that the store does not have. The store may lack one that exists: it is new, or without the label by which the
// stores select. Then create goes on with that.
func (c childKind[O, A]) create(ctx context.Context, d *dbv1alpha1.DatabaseManager, p *progress) (metav1.Object, bool, error) {
	var missing O
	// One answer is enough for all children of a sync: if d is deleted after it, the garbage collector deletes the new children. With
	// Retain, the finalizer keeps d until Release.
	if !p.mayCreate && !c.all.begin(d) {
		if err := c.confirm(ctx, d); err != nil {
			return nil, false, err
		}
	}
	p.mayCreate = true
	createErr := database.CannotCreate(d, c.kind.Name)
	if createErr == nil {
		// A plain apply would change an object that exists. No object has a resourceVersion so old, so this apply can only create.
		desired := ssa.WithOwners(c.kind.Desired(d, missing), database.OwnerReferences(d)).WithResourceVersion("1")
		created, err := c.objects.Client(d).Apply(ctx, desired, ApplyOptions)
		if err == nil {
			return created, true, c.wrote(d, created, "CREATED")
		}
		createErr = fmt.Errorf("creating %s %s: %w", c.kind.Name, c.name(d), err)
	}
	existing, err := c.read(ctx, d)
	if err != nil || existing == missing {
		return nil, err == nil, cmp.Or(err, createErr)
	}
	return c.adjust(ctx, d, existing, p)
}

// adjust brings an object that has the child's name in line.
func (c childKind[O, A]) adjust(ctx context.Context, d *dbv1alpha1.DatabaseManager, existing O, p *progress) (metav1.Object, bool, error) {
	existing, step, err := c.setOwner(ctx, d, existing)
	if err != nil {
		return existing, false, err
	}
	switch step {
	case database.NameTaken, database.WaitForDeletion:
		return nil, true, step.Blocked(d, c.kind.Name, existing)
	case database.BeingDeleted:
		if err := c.confirm(ctx, d); err != nil {
			return existing, false, err // d may be deleted, and the child with it
		}
		return existing, !database.Retains(d), step.Blocked(d, c.kind.Name, existing) // Retain cannot keep it any more
	}
	return c.update(ctx, d, existing, p)
}

// setOwner writes the owner reference that the spec wants, and nothing else, if existing is d's and has another one. It returns the
// object, and the step that is next.
func (c childKind[O, A]) setOwner(ctx context.Context, d *dbv1alpha1.DatabaseManager, existing O) (O, database.Step, error) {
	step := database.Next(d, existing)
	if step != database.AddOwner && step != database.RemoveOwner {
		return existing, step, nil
	}
	written := existing
	err := c.confirm(ctx, d) // after the read: if the garbage collector has removed the reference, this answer says that d is deleted
	if err == nil {
		written, err = ssa.SetOwners(ctx, c.objects.Client(d), existing, d.UID, database.OwnerReferences(d), database.FieldManager)
	}
	if apierrors.IsNotFound(err) {
		err = consistency.ErrStale // it is deleted
	}
	if err != nil {
		err = fmt.Errorf("deletionPolicy %s has not reached %s %s yet: %w", d.Spec.DeletionPolicy, c.kind.Name, c.name(d), err)
		return existing, step, err
	}
	_ = c.wrote(d, written, ownerWords[step]) // an error is about the label: update writes it back, or reports it
	return written, database.NextOwned(written), nil
}

// ownerWords are printed when an owner reference is written.
var ownerWords = map[database.Step]string{database.AddOwner: "ADOPTED", database.RemoveOwner: "RELEASED"}

// update applies the desired state if a field differs, and returns the new object.
//
// It sends nothing if the fields that the API server has recorded as this controller's are the desired fields, no more
// and no less, and have the desired values. If somebody else changes such a field, the field becomes theirs, so the
// change is noticed here and undone. Fields that the controller never sets are not compared: others are allowed to set
// them.
func (c childKind[O, A]) update(ctx context.Context, d *dbv1alpha1.DatabaseManager, existing O, p *progress) (metav1.Object, bool, error) {
	owned, err := ssa.Owned(existing, c.kind.Extract, database.FieldManager)
	if err != nil {
		return existing, true, fmt.Errorf("%s %s: %w", c.kind.Name, c.name(d), err)
	}
	desired := c.kind.Desired(d, existing)
	if apiequality.Semantic.DeepEqual(owned, desired) {
		return existing, true, nil
	}
	if c.kind.Name == "Deployment" && p.isGoing {
		return existing, true, nil // a rollout would end the pods that still use the child before, and then that would be deleted
	}
	key, change := cache.MetaObjectToName(d), ssa.ChangeOf(owned, desired)
	if times, tooSoon := c.all.undone.Again(key, c.kind.Name, change); tooSoon {
		undone := database.Undone(c.kind.Name, existing, change.Field, times == 1)
		return existing, true, cmp.Or(database.LabelChanged(c.kind.Name, existing), undone)
	}
	if err := c.confirm(ctx, d); err != nil {
		return existing, false, err
	}
	desired = ssa.WithOwners(desired, database.OwnerReferences(d))
	applied, err := ssa.Apply(ctx, c.objects.Client(d), existing, owned, desired, c.kind.CanReplace, ApplyOptions)
	if err != nil {
		return existing, true, fmt.Errorf("updating %s %s: %w", c.kind.Name, c.name(d), err)
	}
	c.all.undone.Wrote(key, c.kind.Name, change)
	if err := c.wrote(d, applied, "UPDATED"); err != nil {
		return applied, true, err
	}
	owned, err = ssa.Owned(applied, c.kind.Extract, database.FieldManager)
	if err == nil && !apiequality.Semantic.DeepEqual(owned, c.kind.Desired(d, applied)) {
		err = database.Undone(c.kind.Name, applied, change.Field, false) // in this write already
	}
	return applied, true, err
}

// ApplyOptions takes back the fields that others have changed.
var ApplyOptions = metav1.ApplyOptions{FieldManager: database.FieldManager, Force: true}

// leftToAdopt returns the child that an earlier DatabaseManager has left for d to adopt, if there is one.
func (c childKind[O, A]) leftToAdopt(ctx context.Context, d *dbv1alpha1.DatabaseManager) ([]metav1.Object, error) {
	var missing O
	existing, err := c.read(ctx, d)
	if err != nil || existing == missing {
		return nil, err
	}
	if step := database.Next(d, existing); step == database.NameTaken || step == database.WaitForDeletion {
		return nil, step.Blocked(d, c.kind.Name, existing)
	}
	return []metav1.Object{existing}, nil
}

// release brings the owner reference of a deleted DatabaseManager's child in line with the deletionPolicy.
func (c childKind[O, A]) release(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	var none A
	var missing O
	existing, err := c.read(ctx, d)
	if err != nil || existing == missing || c.kind.Desired(d, existing) == none {
		return err
	}
	if !database.HasAdopted(d) && !metav1.IsControlledBy(existing, d) {
		return nil // an earlier DatabaseManager has left it, and d has not adopted it
	}
	existing, step, err := c.setOwner(ctx, d, existing)
	if err != nil {
		return err
	}
	if step == database.Orphaned || step == database.BeingDeleted && database.Retains(d) {
		return step.Blocked(d, c.kind.Name, existing)
	}
	return nil // it is as the deletionPolicy says, or not d's
}

// confirm returns nil if the server has the DatabaseManager as the store has it: see database.IsCurrent.
//
// A store can be behind, with a watch that hangs for minutes. If the controller believed it, it would create children for an owner that
// is gone. It would undo a newer change of the spec. And it would add a reference that the garbage collector has removed after
// `kubectl delete --cascade=orphan`: the child would be deleted with its owner.
func (c childKind[O, A]) confirm(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	server, err := c.all.program.FromServer(ctx, d)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading DatabaseManager %s: %w", d.Name, err)
	}
	if err != nil || !database.IsCurrent(d, server) {
		return fmt.Errorf("DatabaseManager %s has changed: %w", d.Name, consistency.ErrStale)
	}
	return nil
}

// read returns the object that has the child's name, or nil. It asks the server, not the store: a child that the store does not have yet
// would keep an owner reference, and be deleted with d.
func (c childKind[O, A]) read(ctx context.Context, d *dbv1alpha1.DatabaseManager) (O, error) {
	var missing O
	existing, err := c.objects.Client(d).Get(ctx, c.name(d), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return missing, nil
	case err != nil:
		return missing, fmt.Errorf("reading %s %s: %w", c.kind.Name, c.name(d), err)
	}
	return existing, nil
}

// wrote reports that a child was written.
func (c childKind[O, A]) wrote(d *dbv1alpha1.DatabaseManager, written O, word string) error {
	c.all.out.Line(word, "%s %s/%s for DatabaseManager %s", c.kind.Name, written.GetNamespace(), written.GetName(), d.Name)
	if err := database.LabelChanged(c.kind.Name, written); err != nil {
		return err // no event reports this write, so the next sync must not wait for it
	}
	c.objects.Wrote(d, written)
	return nil
}

func (c childKind[O, A]) name(d *dbv1alpha1.DatabaseManager) string {
	return d.Spec.DeploymentName + c.kind.Suffix
}
