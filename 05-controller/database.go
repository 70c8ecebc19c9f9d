// database.go: the desired state, from what a ConfigMap says to the Deployment for it.
// Before: main.go. Next: reconcile.go.

package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// database is what a ConfigMap describes.
type database struct {
	dbtype         string
	deploymentName string
	replicas       int32
}

// parse reads a ConfigMap. The server accepts any data in it. So a mistake is found only here, after kubectl has
// already reported success.
func parse(configMap *corev1.ConfigMap) (database, error) {
	db := database{dbtype: configMap.Data["dbtype"], deploymentName: configMap.Data["deploymentName"], replicas: 1}
	if _, ok := images[db.dbtype]; !ok {
		return db, fmt.Errorf("dbtype %q is not one of: %s", db.dbtype, strings.Join(slices.Sorted(maps.Keys(images)), ", "))
	}
	if wrong := validation.IsDNS1123Label(db.deploymentName); wrong != nil {
		return db, fmt.Errorf("deploymentName %q: %s", db.deploymentName, wrong[0])
	}
	if value, ok := configMap.Data["replicas"]; ok {
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 || n > maxReplicas {
			return db, fmt.Errorf("replicas %q is not a number from 0 to %d", value, maxReplicas)
		}
		db.replicas = int32(n)
	}
	return db, nil
}

// images have a version: others decide what a tag like latest stands for, and change it.
var images = map[string]string{
	"mysql":   "mysql:8.4.6",
	"mariadb": "mariadb:11.8.3",
}

const maxReplicas = 5

// deployment returns the Deployment for a ConfigMap: all fields that this controller has an opinion on, and no other. It
// is the same each time: no random name, no time.
func (db database) deployment(configMap *corev1.ConfigMap) *appsv1ac.DeploymentApplyConfiguration {
	// No other Deployment has this selector, not even the Deployment of an earlier ConfigMap of the same name. And a selector is
	// immutable, so our fields never get into a Deployment of somebody else.
	selector := map[string]string{"app": db.deploymentName, uidLabel: string(configMap.UID)}
	return appsv1ac.Deployment(db.deploymentName, configMap.Namespace).
		WithLabels(map[string]string{"app.kubernetes.io/managed-by": fieldManager}).
		// With it, the garbage collector deletes the Deployment when its ConfigMap is gone. Without blockOwnerDeletion, which
		// is for owners that wait for their children's deletion: with the admission plugin
		// OwnerReferencesPermissionEnforcement it takes one more permission.
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion("v1"). // configMap.APIVersion is empty: typed objects do not carry it
			WithKind("ConfigMap").
			WithName(configMap.Name).
			WithUID(configMap.UID).
			WithController(true)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(db.replicas).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(selector).
				WithSpec(corev1ac.PodSpec().
					WithContainers(corev1ac.Container().
						WithName("database").
						WithImage(images[db.dbtype]).
						// Both images read it. They print the password in the log; chapter 6 does better.
						WithEnv(corev1ac.EnvVar().WithName("MYSQL_RANDOM_ROOT_PASSWORD").WithValue("yes")).
						WithPorts(corev1ac.ContainerPort().
							WithContainerPort(3306).
							WithProtocol(corev1.ProtocolTCP)))))) // the default, but a part of the port's key
}

// uidLabel is in a Deployment's selector, with its owner's UID.
const uidLabel = "workbook/database-uid"
