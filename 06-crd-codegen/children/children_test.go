package children

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/program"
)

var (
	errFailed = errors.New("failed")
	errOwner  = errors.New("owner")
	errPatch  = errors.New("patch")
	there     = &corev1.Secret{}
	going     = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}}
)

// world is a program whose kinds answer what a test says, and which records what is done.
type world struct {
	Program
	patchErr error
	done     []string
}

func (w *world) PatchFinalizers(
	_ context.Context, d *dbv1alpha1.DatabaseManager, finalizers []string,
) (*dbv1alpha1.DatabaseManager, error) {
	w.done = append(w.done, "finalizers: "+strings.Join(finalizers, " "))
	changed := d.DeepCopy()
	changed.Finalizers = finalizers
	return changed, w.patchErr
}

// answer is a kind that says what became of its child.
type answer struct {
	object         metav1.Object
	ownersAreRight bool
	err            error
	world          *world
}

func (a answer) apply(_ context.Context, _ *dbv1alpha1.DatabaseManager, p *progress) (metav1.Object, bool, error) {
	did := "apply"
	for _, known := range []struct {
		is   bool
		name string
	}{{p.mayCreate, "may create"}, {p.isMissing, "missing"}, {p.isGoing, "going"}} {
		if known.is {
			did += " " + known.name
		}
	}
	a.world.done = append(a.world.done, did)
	return a.object, a.ownersAreRight, a.err
}

func (a answer) leftToAdopt(context.Context, *dbv1alpha1.DatabaseManager) ([]metav1.Object, error) {
	return nil, nil
}

func (a answer) release(context.Context, *dbv1alpha1.DatabaseManager) error {
	a.world.done = append(a.world.done, "release")
	return a.err
}

func (w *world) children(answers []answer) *Children {
	c := New(w, program.NewPrinter(io.Discard))
	for _, a := range answers {
		a.world = w
		c.kinds = append(c.kinds, a)
	}
	return c
}

func dbm(change ...func(*dbv1alpha1.DatabaseManager)) *dbv1alpha1.DatabaseManager {
	d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "db", UID: "uid", Generation: 2}}
	for _, change := range change {
		change(d)
	}
	return d
}

func retains(d *dbv1alpha1.DatabaseManager) { d.Spec.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }

func holds(finalizers ...string) func(*dbv1alpha1.DatabaseManager) {
	return func(d *dbv1alpha1.DatabaseManager) { d.Finalizers = append(d.Finalizers, finalizers...) }
}

func adopts(d *dbv1alpha1.DatabaseManager) { d.Spec.AdoptFrom = "first" }

// TestOrderOfAnApply shows what is done with the finalizer and the children, in which order, and what a child knows of those before.
func TestOrderOfAnApply(t *testing.T) {
	ok, missing := answer{object: there, ownersAreRight: true}, answer{ownersAreRight: true, err: errFailed}
	for name, test := range map[string]struct {
		d              *dbv1alpha1.DatabaseManager
		answers        []answer
		patchErr       error
		done           []string
		ownersAreRight bool
		first          error
	}{
		"all is well":    {dbm(), []answer{ok, ok}, nil, []string{"apply", "apply"}, true, nil},
		"one is missing": {dbm(), []answer{missing, ok}, nil, []string{"apply", "apply missing"}, true, errFailed},
		"one is being deleted": {dbm(), []answer{{going, true, errFailed, nil}, ok}, nil,
			[]string{"apply", "apply going"}, true, errFailed},
		"Retain comes": {dbm(retains, holds("theirs")), []answer{ok}, nil,
			[]string{"finalizers: theirs " + database.Finalizer, "apply may create"}, true, nil},
		"Retain cannot come": {dbm(retains), []answer{ok}, errPatch, []string{"finalizers: " + database.Finalizer}, false, errPatch},
		"Retain is there":    {dbm(retains, holds(database.Finalizer)), []answer{ok}, nil, []string{"apply"}, true, nil},
		"Retain goes": {dbm(holds("theirs", database.Finalizer)), []answer{ok, missing}, nil,
			[]string{"apply", "apply", "finalizers: theirs"}, true, errFailed},
		"Delete has not reached one": {dbm(holds(database.Finalizer)), []answer{ok, missing, {there, false, errOwner, nil}}, nil,
			[]string{"apply", "apply", "apply missing"}, false, errOwner},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{patchErr: test.patchErr}
			_, _, ownersAreRight, err := w.children(test.answers).Apply(t.Context(), test.d, nil)
			if diff := cmp.Diff(test.done, w.done); diff != "" || ownersAreRight != test.ownersAreRight {
				t.Errorf("ownersAreRight %v, want %v; done (-want +got):\n%s", ownersAreRight, test.ownersAreRight, diff)
			}
			if !errors.Is(err, test.first) || err != nil && !strings.HasSuffix(strings.Split(err.Error(), "\n")[0], test.first.Error()) {
				t.Errorf("%v, want %v first", err, test.first)
			}
		})
	}
}

// TestOrderOfARelease shows when the finalizer goes.
func TestOrderOfARelease(t *testing.T) {
	deleted := func(d *dbv1alpha1.DatabaseManager) { d.DeletionTimestamp = going.DeletionTimestamp }
	processed := func(d *dbv1alpha1.DatabaseManager) { d.Status.ObservedGeneration = d.Generation }
	ours := holds(database.Finalizer)
	for name, test := range map[string]struct {
		d              *dbv1alpha1.DatabaseManager
		errs           []error
		done           string
		ownersAreRight bool
	}{
		"all is well":    {dbm(deleted, ours, retains), []error{nil, nil}, "release, release, finalizers: ", true},
		"one fails":      {dbm(deleted, ours, retains), []error{errOwner, nil}, "release, release", false},
		"held by others": {dbm(deleted, ours, holds("theirs")), []error{nil}, "release", true},
		"by the collector": {dbm(deleted, ours, holds("foregroundDeletion")), []error{nil},
			"release, finalizers: foregroundDeletion", true},
		"not processed yet":    {dbm(deleted, holds("theirs")), []error{nil}, "release", true},
		"processed":            {dbm(deleted, holds("theirs"), processed), []error{nil}, "", true},
		"--cascade=orphan":     {dbm(deleted, holds("orphan")), []error{nil}, "", true},
		"it has never adopted": {dbm(deleted, ours, adopts), []error{nil}, "release, finalizers: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{}
			var answers []answer
			for _, err := range test.errs {
				answers = append(answers, answer{err: err})
			}
			_, ownersAreRight, err := w.children(answers).Release(t.Context(), test.d)
			if done := strings.Join(w.done, ", "); done != test.done || ownersAreRight != test.ownersAreRight {
				t.Errorf("done %q, want %q; ownersAreRight %v, want %v", done, test.done, ownersAreRight, test.ownersAreRight)
			}
			if want := slices.Contains(test.errs, errOwner); (err != nil) != want {
				t.Errorf("error %v, want one: %v", err, want)
			}
		})
	}
}

func TestTheFirstChildrenAreCreatedOnce(t *testing.T) {
	c := New(&world{}, program.NewPrinter(io.Discard))
	d := dbm()
	first := []bool{c.begin(d), c.begin(d)}
	c.Clear(cache.MetaObjectToName(d))
	d.Status.ObservedGeneration = 1
	first = append(first, c.begin(d))
	c.Clear(cache.MetaObjectToName(d))
	first = append(first, c.begin(dbm(retains)), c.begin(dbm()))
	c.Clear(cache.MetaObjectToName(d))
	first = append(first, c.begin(dbm()))
	if want := []bool{true, false, false, false, false, true}; !slices.Equal(first, want) {
		t.Errorf("%v, want %v: new; again; with a status; without owner references; again; one of that name, later", first, want)
	}
}
