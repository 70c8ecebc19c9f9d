// Package database decides: the desired state of a DatabaseManager's children, what to do with an object that has a child's name, and the
// status. It has functions without a client or a store. Only a new password is random. As in chapter 5, other code reads and writes.
package database

import (
	"cmp"
	"crypto/rand"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/utils/ptr"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// A child's name is spec.deploymentName with one of these suffixes, or without.
const (
	SecretSuffix = "-root"
	ClaimSuffix  = "-data"
)

const (
	// FieldManager is recorded by the server for each field that the controller sets. The children have it as their ManagedByLabel.
	FieldManager   = "databasemanager-controller"
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// FirstOwnerLabel has the UID of the children's first owner: no other has it, not even one of the same name later on.
	FirstOwnerLabel = "coolops.cn/databasemanager"
	// TypeLabel has the dbtype of the data.
	TypeLabel = "app.kubernetes.io/name"
)

// Secret is the Secret with the root password: a random one if there is no Secret yet, and else the existing one.
// It is immutable: the API server then rejects every change of the password, also one by a mistake of this controller.
func Secret(d *dbv1alpha1.DatabaseManager, existing *corev1.Secret) *corev1ac.SecretApplyConfiguration {
	password := []byte(rand.Text())
	if existing != nil && existing.Data["password"] != nil {
		password = existing.Data["password"]
	}
	return corev1ac.Secret(d.Spec.DeploymentName+SecretSuffix, d.Namespace).
		WithLabels(Labels(d)).
		WithType(corev1.SecretTypeOpaque).
		WithImmutable(true).
		WithData(map[string][]byte{"password": password})
}

// Claim is the PersistentVolumeClaim, or nil if no storage is asked for.
func Claim(d *dbv1alpha1.DatabaseManager, _ *corev1.PersistentVolumeClaim) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	if d.Spec.StorageSize == nil {
		return nil
	}
	size := sizeOf(d.Spec.StorageSize)
	return corev1ac.PersistentVolumeClaim(d.Spec.DeploymentName+ClaimSuffix, d.Namespace).
		WithLabels(Labels(d)).
		WithSpec(corev1ac.PersistentVolumeClaimSpec().
			WithAccessModes(corev1.ReadWriteOnce).
			WithResources(corev1ac.VolumeResourceRequirements().
				WithRequests(corev1.ResourceList{corev1.ResourceStorage: size})))
}

// sizeOf rounds up as the server does.
func sizeOf(asked *resource.Quantity) resource.Quantity {
	size := asked.DeepCopy()
	size.RoundUp(resource.Milli)
	return size
}

// Service is the Service. It is headless: its name stands for the pods themselves, since each has a database of
// its own, and an address that leads to any of them would be of no use. It also saves the API server the search for
// a free address: for each new Service it counts all allocated ones.
func Service(d *dbv1alpha1.DatabaseManager, _ *corev1.Service) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(d.Spec.DeploymentName, d.Namespace).
		WithLabels(Labels(d)).
		WithSpec(corev1ac.ServiceSpec().
			WithClusterIP(corev1.ClusterIPNone).
			WithSelector(Selector(d)).
			WithPorts(corev1ac.ServicePort().
				WithName("database").
				WithProtocol(corev1.ProtocolTCP).
				WithPort(Port).
				WithTargetPort(intstr.FromString("database"))))
}

// Deployment is the Deployment. The pods are what the Pod Security level "restricted" accepts.
func Deployment(d *dbv1alpha1.DatabaseManager, _ *appsv1.Deployment) *appsv1ac.DeploymentApplyConfiguration {
	engine := engines[d.Spec.Dbtype]
	data := corev1ac.Volume().WithName("data")
	if d.Spec.StorageSize != nil {
		data.WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(d.Spec.DeploymentName + ClaimSuffix))
	} else {
		data.WithEmptyDir(corev1ac.EmptyDirVolumeSource())
	}
	listens := corev1ac.TCPSocketAction().WithPort(intstr.FromString("database"))

	container := corev1ac.Container().
		WithName(string(d.Spec.Dbtype)).
		WithImage(string(d.Spec.Dbtype) + ":" + cmp.Or(d.Spec.Version, engine.version)).
		WithEnv(corev1ac.EnvVar().WithName(engine.passwordVar).WithValueFrom(corev1ac.EnvVarSource().
			WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(d.Spec.DeploymentName + SecretSuffix).WithKey("password")))).
		WithPorts(corev1ac.ContainerPort().WithName("database").WithContainerPort(Port).WithProtocol(corev1.ProtocolTCP)).
		// The first start creates the database and may take minutes, in which the other probes wait. Most starts take seconds.
		WithStartupProbe(corev1ac.Probe().WithTCPSocket(listens).WithPeriodSeconds(1).WithFailureThreshold(300)).
		WithReadinessProbe(corev1ac.Probe().WithTCPSocket(listens).WithPeriodSeconds(5)).
		WithLivenessProbe(corev1ac.Probe().WithTCPSocket(listens).WithPeriodSeconds(20)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("512Mi"),
			}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")})).
		WithSecurityContext(corev1ac.SecurityContext().
			WithAllowPrivilegeEscalation(false).
			WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))).
		WithVolumeMounts(corev1ac.VolumeMount().WithName("data").WithMountPath("/var/lib/mysql"))

	return appsv1ac.Deployment(d.Spec.DeploymentName, d.Namespace).
		WithLabels(Labels(d)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(Replicas(d)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(Selector(d))).
			// The new server cannot use the volume as long as the old one uses it.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(Labels(d)).
				WithSpec(corev1ac.PodSpec().
					WithAutomountServiceAccountToken(false).
					WithSecurityContext(corev1ac.PodSecurityContext().
						WithRunAsNonRoot(true).WithRunAsUser(999).WithRunAsGroup(999).WithFSGroup(999). // mysql in both images
						WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithContainers(container).
					WithVolumes(data))))
}

// FirstOwner returns the UID of the children's first owner. It stays when another one adopts them: the Deployment's
// selector is immutable, and with another label, its pods would be replaced.
func FirstOwner(d *dbv1alpha1.DatabaseManager) string { return cmp.Or(d.Spec.AdoptFrom, string(d.UID)) }

// Selector returns the labels by which the Deployment and the Service find their pods.
func Selector(d *dbv1alpha1.DatabaseManager) map[string]string {
	return map[string]string{FirstOwnerLabel: FirstOwner(d)}
}

// Labels returns the labels of all children, and of the pods.
func Labels(d *dbv1alpha1.DatabaseManager) map[string]string {
	return map[string]string{FirstOwnerLabel: FirstOwner(d), ManagedByLabel: FieldManager, TypeLabel: string(d.Spec.Dbtype)}
}

// OwnerReferences returns the owner reference of a DatabaseManager's children: with it the garbage collector deletes them when
// their owner is gone. With deletionPolicy Retain they have none from the beginning, because with `kubectl delete
// --cascade=foreground` the garbage collector deletes them before their owner, and does not wait for finalizers.
//
// With --cascade=orphan, d has the finalizer OrphanDependents, and the garbage collector removes the references: they are not added again.
func OwnerReferences(d *dbv1alpha1.DatabaseManager) []metav1.OwnerReference {
	if Retains(d) || slices.Contains(d.Finalizers, metav1.FinalizerOrphanDependents) {
		return nil
	}
	return []metav1.OwnerReference{{
		APIVersion: dbv1alpha1.GroupVersion.String(), // d.APIVersion is empty: typed objects do not carry it
		Kind:       "DatabaseManager",
		Name:       d.Name,
		UID:        d.UID,
		Controller: new(true),
	}}
}

// Replicas returns the number of replicas. The API server fills it in, but not in the objects of tests.
func Replicas(d *dbv1alpha1.DatabaseManager) int32 { return ptr.Deref(d.Spec.Replicas, 1) }

// engine is what the controller has to know about a type of database.
type engine struct {
	version     string // if the spec names none; changing it rolls out every database that relies on it
	passwordVar string // environment variable with the root password
}

var engines = map[dbv1alpha1.DatabaseType]engine{
	dbv1alpha1.MySQL:   {version: "8.4.6", passwordVar: "MYSQL_ROOT_PASSWORD"},
	dbv1alpha1.MariaDB: {version: "11.8.3", passwordVar: "MARIADB_ROOT_PASSWORD"},
}

// Port is the TCP port of both engines.
const Port = 3306
