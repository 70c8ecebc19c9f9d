package main

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// reconcile brings the world in line with the DatabaseManager of that name, and its status in line with the world.
// It isn't told what has happened. It looks what there is, and writes what differs; so it may be run at any time, any
// number of times, and after it was killed between any two writes.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	d, err := c.lister.DatabaseManagers(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		c.written.forget(key)
		return nil // the garbage collector looks after the children
	}
	if err != nil {
		return fmt.Errorf("looking up %s: %w", key, err)
	}
	if !c.written.seen(key) {
		return nil // the event of our own last write is still to come, and brings the key back
	}

	if d.DeletionTimestamp != nil {
		return c.release(ctx, d)
	}
	if err := c.setFinalizer(ctx, d, d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain); err != nil {
		return err
	}
	deployment, err := c.applyChildren(ctx, d)
	if err != nil && !concernsUser(err) && c.queue.NumRequeues(key) < passesBy {
		return err
	}
	return errors.Join(err, c.applyStatus(ctx, d, deployment, err))
}

// applyChildren brings all children in line. It stops at the first that it can't, and returns the Deployment, if
// there is one.
func (c *Controller) applyChildren(ctx context.Context, d *dbv1alpha1.DatabaseManager) (*appsv1.Deployment, error) {
	name := d.Spec.DeploymentName
	children := c.childrenIn(d.Namespace)
	deployment, err := children.deployments.lister.Get(name)
	if err != nil || !belongsTo(deployment, d) {
		deployment = nil
	}

	// First what pods can't start without.
	_, err = children.secrets.apply(ctx, c, d, name+secretSuffix, func(have *corev1.Secret) *corev1ac.SecretApplyConfiguration {
		return wantSecret(d, have)
	})
	if err != nil {
		return deployment, err
	}
	if d.Spec.StorageSize != nil {
		_, err = children.claims.apply(ctx, c, d, name+claimSuffix, func(*corev1.PersistentVolumeClaim) *corev1ac.PersistentVolumeClaimApplyConfiguration {
			return wantClaim(d)
		})
		if err != nil {
			return deployment, err
		}
	}
	applied, err := children.deployments.apply(ctx, c, d, name, func(*appsv1.Deployment) *appsv1ac.DeploymentApplyConfiguration {
		return wantDeployment(d)
	})
	if err != nil {
		return deployment, err
	}
	_, err = children.services.apply(ctx, c, d, name, func(*corev1.Service) *corev1ac.ServiceApplyConfiguration {
		return wantService(d)
	})
	return applied, err
}

// children are the kinds of children, in one namespace.
type children struct {
	secrets     kind[*corev1.Secret, *corev1ac.SecretApplyConfiguration]
	claims      kind[*corev1.PersistentVolumeClaim, *corev1ac.PersistentVolumeClaimApplyConfiguration]
	deployments kind[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]
	services    kind[*corev1.Service, *corev1ac.ServiceApplyConfiguration]
}

func (c *Controller) childrenIn(namespace string) children {
	core, coreListers := c.client.CoreV1(), c.world.Core().V1()
	return children{
		secrets: kind[*corev1.Secret, *corev1ac.SecretApplyConfiguration]{
			"Secret", coreListers.Secrets().Lister().Secrets(namespace), core.Secrets(namespace), corev1ac.ExtractSecret},
		claims: kind[*corev1.PersistentVolumeClaim, *corev1ac.PersistentVolumeClaimApplyConfiguration]{
			"PersistentVolumeClaim", coreListers.PersistentVolumeClaims().Lister().PersistentVolumeClaims(namespace), core.PersistentVolumeClaims(namespace), corev1ac.ExtractPersistentVolumeClaim},
		deployments: kind[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
			"Deployment", c.world.Apps().V1().Deployments().Lister().Deployments(namespace), c.client.AppsV1().Deployments(namespace), appsv1ac.ExtractDeployment},
		services: kind[*corev1.Service, *corev1ac.ServiceApplyConfiguration]{
			"Service", coreListers.Services().Lister().Services(namespace), core.Services(namespace), corev1ac.ExtractService},
	}
}
