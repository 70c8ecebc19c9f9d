// adopt.go: what a DatabaseManager with adoptFrom may have of what an earlier one has left.

package database

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/failure"
)

// MustWait reports whether one of the siblings, which ask for the same names, comes before d: an older one, whether it has the children or
// is to adopt them. With Retain they have no owner references, which would keep the two apart. The server gives the ages in whole seconds:
// of two that are as old, neither adopts.
func MustWait(d *dbv1alpha1.DatabaseManager, siblings []*dbv1alpha1.DatabaseManager) bool {
	return slices.ContainsFunc(siblings, func(s *dbv1alpha1.DatabaseManager) bool {
		return s.UID != d.UID && FirstOwner(s) == FirstOwner(d) && !d.CreationTimestamp.Before(&s.CreationTimestamp)
	})
}

// HasAdopted reports whether the children of d's first owner are d's: always without adoptFrom, and else once CannotAdopt has returned nil
// and all owner references were right, which the status shows by its observedGeneration.
func HasAdopted(d *dbv1alpha1.DatabaseManager) bool {
	return d.Spec.AdoptFrom == "" || d.Status.ObservedGeneration > 0
}

// TakenBySibling returns the error for a DatabaseManager whose children another one has: their first owner, or one that has adopted them.
func TakenBySibling(d *dbv1alpha1.DatabaseManager) error {
	return failure.Blocked{Reason: ReasonNameConflict, Message: "another DatabaseManager already has the children of " + FirstOwner(d)}
}

// CannotAdopt returns the error for a DatabaseManager that must not have the children that an earlier one has left, or nil. In one object,
// the CRD's rules keep dbtype, and keep storageSize from shrinking, coming or going. The data outlive the object, so the next one
// has to keep the same rules.
func CannotAdopt(d *dbv1alpha1.DatabaseManager, kept []metav1.Object) error {
	cannot := func(format string, args ...any) error {
		return failure.Blocked{Reason: ReasonCannotAdopt, Message: fmt.Sprintf(format, args...)}
	}
	hasSecret := false
	asked := d.Spec.StorageSize
	for _, child := range kept {
		switch dbtype := child.GetLabels()[TypeLabel]; dbtype {
		case string(d.Spec.Dbtype):
		case "":
			return cannot("%s has no label %s: set it to the type of the data", child.GetName(), TypeLabel)
		default:
			return cannot("%s has the label %s=%s, so dbtype cannot be %s", child.GetName(), TypeLabel, dbtype, d.Spec.Dbtype)
		}
		switch child := child.(type) {
		case *corev1.Secret:
			hasSecret = true
		case *corev1.PersistentVolumeClaim:
			size := child.Spec.Resources.Requests.Storage()
			if asked == nil || size.Cmp(sizeOf(asked)) > 0 {
				return cannot("the data are in PersistentVolumeClaim %s: storageSize must be %s or more", child.Name, size)
			}
		case *appsv1.Deployment:
			onClaim := slices.ContainsFunc(child.Spec.Template.Spec.Volumes, func(volume corev1.Volume) bool {
				return volume.PersistentVolumeClaim != nil
			})
			if onClaim && asked == nil {
				return cannot("the data of Deployment %s are in a PersistentVolumeClaim: storageSize must not be left out", child.Name)
			}
			if !onClaim && asked != nil {
				return cannot("the data of Deployment %s are in no PersistentVolumeClaim: storageSize must be left out", child.Name)
			}
		}
	}
	if !hasSecret {
		return cannot("no Secret %s%s was kept, so there are no children of %s", d.Spec.DeploymentName, SecretSuffix, FirstOwner(d))
	}
	return nil
}

// CannotCreate returns the error for a child of this kind that d must find, and must not create, or nil. A DatabaseManager that adopts
// creates no Secret: a new password would not open the data that are there.
func CannotCreate(d *dbv1alpha1.DatabaseManager, kind string) error {
	if kind != "Secret" || d.Spec.AdoptFrom == "" {
		return nil
	}
	return failure.Blocked{Reason: ReasonCannotAdopt, Message: fmt.Sprintf(
		"Secret %s%s is gone: only its password opens the data", d.Spec.DeploymentName, SecretSuffix)}
}
