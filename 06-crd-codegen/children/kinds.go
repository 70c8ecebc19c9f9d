// kinds.go: the kinds of children, and what differs from one to the next.

package children

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/ssa"
)

// Kind is a kind of child whose objects are O, such as *corev1.Secret, and whose apply configurations are A, such as
// *corev1ac.SecretApplyConfiguration.
type Kind[O ssa.Object, A ssa.Configuration[A]] struct {
	Name       string
	Suffix     string                                            // added to spec.deploymentName, makes the name of a child
	Extract    func(existing O, fieldManager string) (A, error)  // the fields of existing that the manager has applied
	Desired    func(d *dbv1alpha1.DatabaseManager, existing O) A // existing is nil if there is none; the result is nil if none is desired
	CanReplace bool                                              // ssa.KeepSpec or ssa.ReplaceSpec
}

// The kinds of children.
var (
	Secret = Kind[*corev1.Secret, *corev1ac.SecretApplyConfiguration]{
		"Secret", database.SecretSuffix, corev1ac.ExtractSecret, database.Secret, ssa.KeepSpec,
	}
	Claim = Kind[*corev1.PersistentVolumeClaim, *corev1ac.PersistentVolumeClaimApplyConfiguration]{
		"PersistentVolumeClaim", database.ClaimSuffix, corev1ac.ExtractPersistentVolumeClaim, database.Claim, ssa.KeepSpec,
	}
	Deployment = Kind[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
		"Deployment", "", appsv1ac.ExtractDeployment, database.Deployment, ssa.ReplaceSpec,
	}
	Service = Kind[*corev1.Service, *corev1ac.ServiceApplyConfiguration]{
		"Service", "", corev1ac.ExtractService, database.Service, ssa.ReplaceSpec,
	}
)
