package main

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// finalizer keeps a deleted DatabaseManager until its children are out of the garbage collector's reach. Only those
// with deletionPolicy Retain have it: where the garbage collector does the work, it would only be one more thing that
// can get stuck.
const finalizer = "coolops.cn/retain"

// release makes the children of a deleted DatabaseManager ownerless where that is asked for, and lets it go.
func (c *Controller) release(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	if !slices.Contains(d.Finalizers, finalizer) {
		return nil // others' finalizers may still hold it, but that is not our concern; nor is making children for it
	}
	if d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain {
		children, name := c.childrenIn(d.Namespace), d.Spec.DeploymentName
		// All four are tried, then the first error is told.
		for _, err := range []error{
			children.secrets.release(ctx, c, d, name+secretSuffix, func(have *corev1.Secret) *corev1ac.SecretApplyConfiguration { return wantSecret(d, have) }),
			children.claims.release(ctx, c, d, name+claimSuffix, func(*corev1.PersistentVolumeClaim) *corev1ac.PersistentVolumeClaimApplyConfiguration {
				return wantClaim(d)
			}),
			children.deployments.release(ctx, c, d, name, func(*appsv1.Deployment) *appsv1ac.DeploymentApplyConfiguration { return wantDeployment(d) }),
			children.services.release(ctx, c, d, name, func(*corev1.Service) *corev1ac.ServiceApplyConfiguration { return wantService(d) }),
		} {
			if err != nil {
				return err
			}
		}
	}
	return c.setFinalizer(ctx, d, false)
}

// release takes the owner reference off a child. It asks the server, not the store: a child that the store doesn't
// have yet would be lost.
func (k kind[O, A]) release(ctx context.Context, c *Controller, d *dbv1alpha1.DatabaseManager, name string, want func(have O) A) error {
	have, err := k.client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(have, d) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading %s %s: %w", k.name, name, err)
	}
	made, err := k.client.Apply(ctx, want(have).WithUID(have.GetUID()), metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("releasing %s %s: %w", k.name, name, err)
	}
	c.wrote(d, k.name, made, "RELEASED")
	return nil
}

// setFinalizer adds our finalizer or takes it away. Others' stay.
func (c *Controller) setFinalizer(ctx context.Context, d *dbv1alpha1.DatabaseManager, on bool) error {
	if slices.Contains(d.Finalizers, finalizer) == on {
		return nil
	}
	d = d.DeepCopy() // the store's object is everybody's
	word := "HELD"
	if on {
		d.Finalizers = append(d.Finalizers, finalizer)
	} else {
		word = "LET GO"
		d.Finalizers = slices.DeleteFunc(d.Finalizers, func(name string) bool { return name == finalizer })
	}
	// A whole-object write, but one with a resourceVersion: it fails if anything has changed since we looked.
	made, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).Update(ctx, d, metav1.UpdateOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return nil // gone: somebody was faster
	}
	if err != nil {
		return fmt.Errorf("setting the finalizer: %w", err)
	}
	c.writes.Add(1)
	c.written.add(d, "DatabaseManager", made)
	c.out.line(word, "DatabaseManager %s/%s by finalizer %s", d.Namespace, d.Name, finalizer)
	return nil
}
