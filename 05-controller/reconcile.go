package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/consistency"
)

// fieldManager is the name under which the server remembers which fields are this controller's.
const fieldManager = "workbook"

// reconcile brings the Deployments of a ConfigMap in line with what it asks for. It isn't told what has happened,
// and does not need to: it looks at how things are, in the stores, and writes what is not as it should be. To do
// it twice, or to die in the middle and begin anew, makes no difference.
func (c *Controller) reconcile(ctx context.Context, key cache.ObjectName) error {
	if err := c.consistency.EnsureReady(key); err != nil {
		return err // what the store does not have yet would be written again
	}
	owned, err := c.deployments.ByTypedIndex(byOwner, key.String())
	if err != nil {
		return err
	}
	configMap, err := c.configMaps.ConfigMaps(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) {
		return c.prune(ctx, key, nil, "", owned)
	}
	if err != nil {
		return err
	}
	if configMap.DeletionTimestamp != nil {
		return nil // what is made now would only be in the way of its end
	}
	db, err := parse(configMap)
	if err != nil {
		return &problem{about: configMap, reason: "Invalid", text: err.Error()}
	}
	if err := c.apply(ctx, configMap, db); err != nil {
		return err
	}
	return c.prune(ctx, key, configMap, db.deploymentName, owned)
}

// apply makes the Deployment that a ConfigMap asks for, or puts it right.
func (c *Controller) apply(ctx context.Context, configMap *corev1.ConfigMap, db database) error {
	want := db.deployment(configMap)
	word := "CREATED"
	have, exists, err := c.deployments.GetByKey(configMap.Namespace + "/" + db.deploymentName)
	if err != nil {
		return err
	}
	if exists {
		have := have.(*appsv1.Deployment)
		switch owner, ours := ownerOf(have); {
		case ours && metav1.IsControlledBy(have, configMap): // go on below
		case ours && owner == cache.MetaObjectToName(configMap):
			return fmt.Errorf("the Deployment of an earlier %s is still there: %w", owner, consistency.ErrStale)
		default:
			return &problem{about: configMap, reason: "NameConflict", retryAfter: c.slowRetry,
				text: fmt.Sprintf("Deployment %q exists and is not this ConfigMap's: delete it, or ask for another deploymentName", have.Name)}
		}
		if have.DeletionTimestamp != nil {
			return nil // its end is an event, which brings us back here
		}
		// What the server remembers as applied by us, with the values of now. A field that somebody else has changed
		// is not among it any more, and what others have added never was.
		applied, err := appsv1ac.ExtractDeployment(have, fieldManager)
		if err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(applied, want) {
			return nil
		}
		word = "UPDATED"
		// That object, as it was read. If it is gone or has changed meanwhile, this is a conflict. Otherwise the apply could
		// put an owner reference back that somebody else has just removed.
		want.WithUID(have.UID).WithResourceVersion(have.ResourceVersion)
	}
	if !exists {
		want.WithResourceVersion("1") // no object has a version so old: this can only create
	}
	// Force takes back the fields that somebody else has changed.
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	is, err := c.client.AppsV1().Deployments(configMap.Namespace).Apply(ctx, want, options)
	if err != nil {
		return fmt.Errorf("applying Deployment %s/%s: %w", configMap.Namespace, db.deploymentName, err)
	}
	c.consistency.WroteAt(cache.MetaObjectToName(configMap), c.deployments, is.ResourceVersion)
	c.wrote(configMap, word, db.deploymentName, fmt.Sprintf("%s, %d replica(s)", db.dbtype, db.replicas))
	return nil
}

// prune deletes the Deployments in owned, except the one to keep, that belong to a ConfigMap which does not ask for
// them: it has changed its deploymentName, or lost its label.
//
// The stores are good enough to decide what to make, since a mistake is put right a moment later. To destroy
// something takes more: they are two watches, and one may be behind the other. So this asks the server.
func (c *Controller) prune(ctx context.Context, key cache.ObjectName, known *corev1.ConfigMap, keep string, owned []*appsv1.Deployment) error {
	for _, deployment := range owned {
		if deployment.Name == keep || deployment.DeletionTimestamp != nil {
			continue
		}
		configMap, err := c.client.CoreV1().ConfigMaps(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil // the garbage collector deletes what has lost its owner
		case err != nil:
			return err
		case known == nil && c.selector.Matches(labels.Set(configMap.Labels)), known != nil && known.ResourceVersion != configMap.ResourceVersion:
			// The server has a ConfigMap where our store has none, or a newer one: perhaps it asks for this Deployment.
			return fmt.Errorf("ConfigMap %s: %w", key, consistency.ErrStale)
		case !metav1.IsControlledBy(deployment, configMap):
			continue // an earlier ConfigMap's: the garbage collector is on its way
		}
		err = c.client.AppsV1().Deployments(key.Namespace).Delete(ctx, deployment.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &deployment.UID},
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("deleting Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
		}
		c.wrote(configMap, "DELETED", deployment.Name, "no longer asked for")
	}
	return nil
}
