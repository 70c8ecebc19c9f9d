package database

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// TestNext has the cases of an object with a child's name. Each line says who controls the object and whose label it has.
func TestNext(t *testing.T) {
	const nobody, ours, earlier, another, notControlling = "", "ours", "earlier", "another", "not controlling"
	now := metav1.NewTime(time.Unix(1, 0))
	retain := func(d *dbv1alpha1.DatabaseManager) { d.Spec.DeletionPolicy = dbv1alpha1.DeletionPolicyRetain }
	deleted := func(d *dbv1alpha1.DatabaseManager) { d.DeletionTimestamp = &now }
	finalizers := func(names ...string) func(*dbv1alpha1.DatabaseManager) {
		return func(d *dbv1alpha1.DatabaseManager) { d.Finalizers = append(d.Finalizers, names...) }
	}
	adopts := func(d *dbv1alpha1.DatabaseManager) { d.Spec.AdoptFrom = "first" }
	with := func(changes ...func(*dbv1alpha1.DatabaseManager)) []func(*dbv1alpha1.DatabaseManager) { return changes }
	for _, test := range []struct {
		name       string
		d          []func(*dbv1alpha1.DatabaseManager)
		controlled string
		label      string
		isGoing    bool
		want       Step
	}{
		{"it is d's", with(), ours, "uid", false, Update},
		{"its label was changed", with(), ours, "x", false, Update},
		{"its reference was removed", with(), nobody, "uid", false, AddOwner},
		{"its reference was changed", with(), notControlling, "uid", false, AddOwner},
		{"nobody's", with(), nobody, "", false, NameTaken},
		{"nobody's, with another label", with(), nobody, "first", false, NameTaken},
		{"another's, with d's label", with(), another, "uid", false, NameTaken},
		{"an earlier one's of this name", with(), earlier, "first", false, WaitForDeletion},
		{"an earlier one's, with d's label", with(), earlier, "uid", false, WaitForDeletion},
		{"somebody has deleted it", with(), ours, "uid", true, BeingDeleted},
		{"somebody has deleted it, and it lacks the reference", with(), nobody, "uid", true, AddOwner},
		{"somebody has deleted an earlier one's", with(), earlier, "first", true, WaitForDeletion},

		{"Retain: it has a reference", with(retain), ours, "uid", false, RemoveOwner},
		{"Retain: it has none", with(retain), nobody, "uid", false, Update},
		{"Retain: somebody has deleted it", with(retain), nobody, "uid", true, BeingDeleted},
		{"Retain: another's", with(retain), another, "uid", false, NameTaken},

		{"adoptFrom: it was kept", with(retain, adopts), nobody, "first", false, Update},
		{"adoptFrom: it was kept, with Delete", with(adopts), nobody, "first", false, AddOwner},
		{"adoptFrom: its first owner still has it", with(retain, adopts), another, "first", false, NameTaken},
		{"adoptFrom: it is nobody's", with(retain, adopts), nobody, "", false, NameTaken},

		{"d is deleted: it goes with d", with(deleted), ours, "uid", false, Update},
		{"d is deleted: it has lost its reference", with(deleted, finalizers("theirs")), nobody, "uid", false, Orphaned},
		{"d is deleted, Delete has not reached it yet", with(deleted, finalizers(Finalizer)), nobody, "uid", false, AddOwner},
		{"d is deleted, Retain has not reached it yet", with(deleted, retain, finalizers(Finalizer)), ours, "uid", false, RemoveOwner},
		{"d is deleted, Retain has reached it", with(deleted, retain, finalizers(Finalizer)), nobody, "uid", false, Update},
		{"d is deleted with --cascade=orphan", with(deleted, finalizers("orphan")), ours, "uid", false, RemoveOwner},
		{"the garbage collector has released it", with(deleted, finalizers("orphan")), nobody, "uid", false, Update},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: "db", UID: "uid"}}
			for _, change := range test.d {
				change(d)
			}
			existing := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{FirstOwnerLabel: test.label}}}
			reference := metav1.OwnerReference{APIVersion: "coolops.cn/v1alpha1", Kind: "DatabaseManager", Name: "db", UID: "uid",
				Controller: new(true)}
			switch test.controlled {
			case notControlling:
				reference.Controller = nil
			case earlier:
				reference.UID = "earlier"
			case another:
				reference.Name, reference.UID = "another", types.UID("first")
			}
			if test.controlled != nobody {
				existing.OwnerReferences = []metav1.OwnerReference{reference}
			}
			if test.isGoing {
				existing.DeletionTimestamp = &now
			}
			if got := Next(d, existing); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}
