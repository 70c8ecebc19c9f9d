// reconcile.go: the comparison of the desired with the actual state, and the writes for what differs.
// Before: database.go. Next: controller.go.

package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/controller/consistency"
)

// reconcile brings the Deployments of a ConfigMap in line with what the ConfigMap describes.
//
// It does not know which events led here, and does not need to: it reads the desired and the actual state from the stores,
// and writes what differs. So it can run twice, or be killed between two writes and run again, with the same result.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	if err := c.consistency.EnsureReady(key); err != nil {
		return err // what the store does not have yet would be written again
	}
	configMap, err := c.configMaps.ConfigMaps(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return c.prune(ctx, key, nil, "") // it is gone, or has lost its label
	}
	if err != nil {
		return err
	}
	if configMap.DeletionTimestamp != nil {
		return nil // the garbage collector would have to delete what is created now
	}
	db, err := parse(configMap)
	if err != nil {
		return &terminalError{configMap: configMap, reason: "Invalid", message: err.Error()}
	}
	if err := c.applyDeployment(ctx, configMap, db); err != nil {
		return err
	}
	return c.prune(ctx, key, configMap, db.deploymentName)
}

// applyDeployment creates the Deployment that a ConfigMap describes, or updates what differs in it.
func (c *Controller) applyDeployment(ctx context.Context, configMap *corev1.ConfigMap, db database) error {
	desired := db.deployment(configMap)
	stored, exists, err := c.deployments.GetByKey(configMap.Namespace + "/" + db.deploymentName)
	if err != nil {
		return err
	}
	if !exists {
		// No object has a resourceVersion so old, so this apply can only create.
		return c.apply(ctx, configMap, db, desired.WithResourceVersion("1"), "CREATED")
	}
	existing := stored.(*appsv1.Deployment)
	owner, ours := ownerOf(existing)
	if ours && !metav1.IsControlledBy(existing, configMap) && owner == cache.MetaObjectToName(configMap) {
		return fmt.Errorf("the Deployment of an earlier ConfigMap %s is not deleted yet: %w", owner, consistency.ErrStale)
	}
	if !ours || !metav1.IsControlledBy(existing, configMap) {
		return &terminalError{configMap: configMap, reason: "NameConflict", retryAfter: c.slowRetry,
			message: fmt.Sprintf("Deployment %q exists and is not this ConfigMap's: "+
				"delete it, or ask for another deploymentName", existing.Name)}
	}
	if existing.DeletionTimestamp != nil {
		return nil // its deletion event enqueues the ConfigMap again
	}
	// The fields that the server has recorded as applied by us, with their values now. A field that somebody else has
	// changed is no longer one of them, and what others have added never was.
	owned, err := appsv1ac.ExtractDeployment(existing, fieldManager)
	if err != nil {
		return err
	}
	if apiequality.Semantic.DeepEqual(owned, desired) {
		return nil
	}
	// For that object, as it was read. If it is gone or has changed meanwhile, this is a conflict. Otherwise the apply
	// could bring back an owner reference that somebody else has just removed.
	return c.apply(ctx, configMap, db, desired.WithUID(existing.UID).WithResourceVersion(existing.ResourceVersion), "UPDATED")
}

// apply sends the desired state of a Deployment.
func (c *Controller) apply(
	ctx context.Context,
	configMap *corev1.ConfigMap,
	db database,
	desired *appsv1ac.DeploymentApplyConfiguration,
	word string,
) error {
	// With Force, fields that somebody else has changed become ours again.
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	applied, err := c.clientset.AppsV1().Deployments(configMap.Namespace).Apply(ctx, desired, options)
	if err != nil {
		return fmt.Errorf("applying Deployment %s/%s: %w", configMap.Namespace, db.deploymentName, err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(configMap), "Deployment", c.deployments, applied.ResourceVersion)
	c.reporter.reportWrite(configMap, word, db.deploymentName, fmt.Sprintf("%s, %d replica(s)", db.dbtype, db.replicas))
	return nil
}

// prune deletes the Deployments of a ConfigMap, except the one to keep: the ConfigMap has another deploymentName now, or
// has lost its label. configMap is the store's, nil if the store has none.
//
// For a write that can be undone the stores are new enough: the next sync repairs a mistake. A deletion cannot be undone,
// and the stores are two watches, of which one can be behind the other. So prune asks the server.
func (c *Controller) prune(ctx context.Context, key cache.ObjectName, configMap *corev1.ConfigMap, keep string) error {
	owned, err := c.deployments.ByTypedIndex(ownerIndex, key.String())
	if err != nil {
		return err
	}
	for _, deployment := range owned {
		if deployment.Name == keep || deployment.DeletionTimestamp != nil {
			continue
		}
		current, err := c.clientset.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // the garbage collector deletes its Deployments
		}
		if err != nil {
			return err
		}
		missing := configMap == nil && databaseSelector.Matches(labels.Set(current.Labels))
		changed := configMap != nil && configMap.ResourceVersion != current.ResourceVersion
		if missing || changed {
			return fmt.Errorf("ConfigMap %s is newer than the store's: %w", key, consistency.ErrStale)
		}
		if !metav1.IsControlledBy(deployment, current) {
			continue // it belonged to an earlier ConfigMap: the garbage collector deletes it
		}
		err = c.clientset.AppsV1().Deployments(key.Namespace).Delete(ctx, deployment.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &deployment.UID},
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("deleting Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
		}
		c.reporter.reportWrite(current, "DELETED", deployment.Name, "no longer asked for")
	}
	return nil
}
