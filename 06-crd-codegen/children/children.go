// Package children brings the children of a DatabaseManager in line. Package database decides what to do, and this one does it.
// A [Program] is what reads from the stores, and writes: chapter 6's with client-go, and controller-runtime's.
package children

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/failure"
	"example.com/client-go-workbook/internal/controller/ssa"
	"example.com/client-go-workbook/internal/program"
)

// Program reads and writes DatabaseManagers.
type Program interface {
	// FromServer reads d from the server, not from the store.
	FromServer(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, error)
	// PatchFinalizers writes the list of finalizers and nothing else, and returns the new object. An update would write the whole
	// object, and so remove each field that a newer CRD has and these Go types do not. The error is a conflict if anything has
	// changed since d was read.
	PatchFinalizers(ctx context.Context, d *dbv1alpha1.DatabaseManager, finalizers []string) (*dbv1alpha1.DatabaseManager, error)
	// Siblings returns the DatabaseManagers in the store that ask for the same names as d. One of them is d.
	Siblings(ctx context.Context, d *dbv1alpha1.DatabaseManager) ([]*dbv1alpha1.DatabaseManager, error)
}

// Children are the children of all DatabaseManagers, in the order in which they are created: pods cannot start without the Secret and
// the claim.
type Children struct {
	program Program
	out     *program.Printer
	kinds   []oneKind
	undone  ssa.Undone
	begun   sync.Map // the keys of DatabaseManagers for which this process has begun to create children
}

// New returns no children. Add adds a kind.
func New(program Program, out *program.Printer) *Children {
	return &Children{program: program, out: out}
}

// oneKind is a childKind[O, A]. The interface hides the types, so that all kinds fit into one slice.
type oneKind interface {
	apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, p *progress) (object metav1.Object, ownerIsRight bool, err error)
	leftToAdopt(ctx context.Context, d *dbv1alpha1.DatabaseManager) ([]metav1.Object, error)
	release(ctx context.Context, d *dbv1alpha1.DatabaseManager) error
}

// progress is what a sync knows when it comes to the next child.
type progress struct {
	mayCreate bool // the server has confirmed d in this sync, or need not: enough for all creations, while each change asks again
	isMissing bool // one of the children before is missing, or is somebody else's: those after it are not created
	isGoing   bool // one of the children before is being deleted, and pods may still use it
}

// Apply brings all children in line, in order, and goes on if one of them fails. It returns the DatabaseManager with or without the
// finalizer, and the Deployment, or a newer one if it has written it; ownersAreRight says that the deletionPolicy has
// reached all children: whatever else has failed, their owner references are as the spec wants them.
func (c *Children) Apply(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment) (
	_ *dbv1alpha1.DatabaseManager, _ *appsv1.Deployment, ownersAreRight bool, _ error,
) {
	if err := c.checkAdoption(ctx, d); err != nil {
		return d, nil, false, err // nobody knows whether the Deployment is d's
	}
	// As long as it has the finalizer, children can be without an owner reference. So the finalizer is added first, and removed last.
	var p progress
	if database.Retains(d) && !database.HasFinalizer(d) {
		updated, err := c.setFinalizer(ctx, d, true)
		if err != nil {
			return d, deployment, false, err
		}
		d, p.mayCreate = updated, true // the patch had d's resourceVersion
	}
	var unreached, errs []error // those of children that the deletionPolicy has not reached come first
	for _, kind := range c.kinds {
		object, ownerIsRight, err := kind.apply(ctx, d, &p)
		p.isMissing = p.isMissing || object == nil && err != nil
		if !ownerIsRight {
			unreached, err = append(unreached, err), nil
		}
		errs = append(errs, err)
		p.isGoing = p.isGoing || object != nil && object.GetDeletionTimestamp() != nil
		if object, ok := object.(*appsv1.Deployment); ok {
			deployment = object
		}
	}
	ownersAreRight = len(unreached) == 0
	if ownersAreRight && database.FinalizerGoes(d) {
		updated, err := c.setFinalizer(ctx, d, false)
		d, errs = updated, append(errs, err)
	}
	return d, deployment, ownersAreRight, failure.Join(append(unreached, errs...)...)
}

// Release brings the owner references of a deleted DatabaseManager's children in line with its deletionPolicy, and then removes
// the finalizer. It returns the DatabaseManager with or without the finalizer, and whether the owner references are right. For one that
// never adopted it returns false: with an observedGeneration, it would be one that has.
func (c *Children) Release(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*dbv1alpha1.DatabaseManager, bool, error) {
	if database.IsReleased(d) {
		return d, database.HasAdopted(d), nil
	}
	var errs []error
	for _, kind := range c.kinds { // all of them, even if one fails
		errs = append(errs, kind.release(ctx, d))
	}
	err := failure.Join(errs...)
	if err != nil || database.IsHeldByOthers(d) { // meanwhile its deletionPolicy can change
		return d, err == nil && database.HasAdopted(d), err
	}
	d, err = c.setFinalizer(ctx, d, false)
	return d, database.HasAdopted(d), err
}

// checkAdoption returns an error if d must not have the children that it is to adopt. It is called before anything is written.
func (c *Children) checkAdoption(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	if d.Spec.AdoptFrom == "" {
		return nil
	}
	siblings, err := c.program.Siblings(ctx, d)
	switch {
	case err != nil:
		return err
	case database.MustWait(d, siblings):
		return database.TakenBySibling(d)
	case database.HasAdopted(d):
		return nil
	}
	var kept []metav1.Object
	for _, kind := range c.kinds {
		children, err := kind.leftToAdopt(ctx, d)
		if err != nil {
			return err
		}
		kept = append(kept, children...)
	}
	return database.CannotAdopt(d, kept)
}

// begin remembers that children of d are created now, and reports whether that is for the first time. The first time, the server need not
// be asked: if d is gone already, the garbage collector deletes what is created. From the second time on it is asked, or the controller
// and the garbage collector could go on without end. Without owner references, nobody would delete it, so it is asked, too.
func (c *Children) begin(d *dbv1alpha1.DatabaseManager) bool {
	_, again := c.begun.LoadOrStore(cache.MetaObjectToName(d), nil)
	return !again && d.Status.ObservedGeneration == 0 && len(database.OwnerReferences(d)) > 0
}

// Clear forgets what was written for a DatabaseManager that is gone.
func (c *Children) Clear(key cache.ObjectName) {
	c.undone.Clear(key)
	c.begun.Delete(key)
}
