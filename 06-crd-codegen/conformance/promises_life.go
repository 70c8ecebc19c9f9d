package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// shape is what every controller's children have in common, whatever else it puts into them.
type shape struct {
	Kinds                          []string // of all children
	NotOwned                       []string // children without the DatabaseManager as their controller
	Deployment                     string   // its name
	Replicas                       int32
	Image                          string // of a container
	SelectsItsPods, ServesItsPods  bool   // by the selectors of the Deployment and the Service
	SelectsNoOthers, ServesNoOther bool
}

// shapeOf reads the shape of a DatabaseManager's children. Pods of the other one must not be selected.
func (w *World) shapeOf(ctx context.Context, d, other *dbv1alpha1.DatabaseManager) (s shape, err error) {
	children, err := w.children(ctx, d)
	if err != nil {
		return s, err
	}
	s.Kinds, s.NotOwned = []string{}, []string{}
	for _, o := range children {
		s.Kinds = append(s.Kinds, o.GetKind())
		owner := metav1.GetControllerOf(&o)
		if owner == nil || owner.UID != d.UID || owner.Name != d.Name || owner.Kind != "DatabaseManager" {
			s.NotOwned = append(s.NotOwned, o.GetKind()+" "+o.GetName())
		}
	}
	slices.Sort(s.Kinds)
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, d.Spec.DeploymentName, metav1.GetOptions{})
	if err != nil {
		return s, err
	}
	s.Deployment, s.Replicas, s.Image = deployment.Name, *deployment.Spec.Replicas, deployment.Spec.Template.Spec.Containers[0].Image
	theirs, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, other.Spec.DeploymentName, metav1.GetOptions{})
	if err != nil {
		return s, err
	}
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return s, err
	}
	pods, strangers := labels.Set(deployment.Spec.Template.Labels), labels.Set(theirs.Spec.Template.Labels)
	s.SelectsItsPods, s.SelectsNoOthers = selector.Matches(pods), !selector.Matches(strangers)
	services, err := w.client.CoreV1().Services(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return s, err
	}
	for _, service := range services.Items {
		if owner := metav1.GetControllerOf(&service); owner != nil && owner.UID == d.UID && len(service.Spec.Selector) > 0 {
			selector := labels.SelectorFromSet(service.Spec.Selector)
			s.ServesItsPods, s.ServesNoOther = selector.Matches(pods), !selector.Matches(strangers)
		}
	}
	return s, nil
}

// life takes a DatabaseManager through its life, beside objects of others.
func life(ctx context.Context, w *World) error {
	if err := w.createStrangers(ctx); err != nil {
		return err
	}
	strangers, err := w.strangers(ctx)
	if err != nil {
		return err
	}
	if _, err := w.startController(); err != nil {
		return err
	}
	replicas := func(s *dbv1alpha1.DatabaseManagerSpec) { s.Replicas, s.StorageSize = new(int32(1)), nil }
	if _, err := w.create(ctx, "other"); err != nil {
		return err
	}
	other, _, err := w.untilReady(ctx, "other", "")
	if err != nil {
		return during("created a DatabaseManager with a volume", err)
	}
	d := &dbv1alpha1.DatabaseManager{}
	check := func(did string, count int32, image string) error {
		w.say("%s", did)
		if d, _, err = w.untilReady(ctx, "life", ""); err != nil {
			return during(did, err)
		}
		seen, err := w.shapeOf(ctx, d, other)
		if err != nil {
			return err
		}
		expected := shape{
			[]string{"Deployment", "Secret", "Service"}, []string{}, "life-db", count, image, true, true, true, true,
		}
		if image == "" { // the controller's own choice
			expected.Image = seen.Image
		}
		if err := failed(did, expected, seen); err != nil {
			return err
		}
		return failed(did+"; read availableReplicas", count, d.Status.AvailableReplicas)
	}

	if _, err := w.create(ctx, "life", replicas, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "life-db" }); err != nil {
		return err
	}
	if err := check("created a DatabaseManager", 1, ""); err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "life"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	if _, err := w.databases.UpdateScale(ctx, "life", scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := check("scaled it to 2", 2, ""); err != nil {
		return err
	}
	deployments := w.client.AppsV1().Deployments(w.namespace)
	foreign := []byte(`{"metadata": {"annotations": {"example.com/team": "shop"}}, "spec": {"minReadySeconds": 1}}`)
	options := metav1.PatchOptions{FieldManager: manager + "-other"}
	if _, err := deployments.Patch(ctx, "life-db", types.MergePatchType, foreign, options); err != nil {
		return err
	}
	if err := w.patch(ctx, "life", `{"spec": {"version": "8.4.5"}}`); err != nil {
		return err
	}
	if err := check("changed its version", 2, "mysql:8.4.5"); err != nil {
		return err
	}
	deployment, err := deployments.Get(ctx, "life-db", metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := fmt.Sprintf("team %s, %d s", deployment.Annotations["example.com/team"], deployment.Spec.MinReadySeconds)
	const did = "another manager set an annotation and minReadySeconds of its Deployment; changed its version; read them"
	if err := failed(did, "team shop, 1 s", now); err != nil {
		return err
	}
	if err := w.conflicts(ctx, d, strangers); err != nil {
		return err
	}

	w.say("deleting it, and creating another one of its name")
	first := d.UID
	if err := w.databases.Delete(ctx, "life", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if _, err := w.create(ctx, "life", replicas, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "life-db" }); err != nil {
		return err
	}
	if err := check("deleted it, and created another one of its name", 1, ""); err != nil {
		return err
	}
	if d.UID == first {
		return fmt.Errorf("DatabaseManager life has not been replaced")
	}
	w.say("deleting it")
	if err := w.databases.Delete(ctx, "life", metav1.DeleteOptions{}); err != nil {
		return err
	}
	err = w.await(ctx, "the end of its children", func(ctx context.Context) (string, error) {
		children, err := w.children(ctx, d)
		return strings.Join(names(children), "\n"), err
	})
	if err != nil {
		return during("deleted a DatabaseManager", err)
	}
	after, err := w.strangers(ctx)
	if err != nil {
		return err
	}
	return failed("looked at the objects of others in the end", strangers, after)
}

// conflicts asks for names that are taken, by another DatabaseManager and by nobody's Deployment.
func (w *World) conflicts(ctx context.Context, d *dbv1alpha1.DatabaseManager, strangers string) error {
	before, err := w.identities(ctx, d)
	if err != nil {
		return err
	}
	for name, taken := range map[string]string{"late": "life-db", "conflict": "stranger"} {
		did := "created a DatabaseManager whose deploymentName " + taken + " is taken"
		w.say("%s", did)
		if _, err := w.create(ctx, name, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = taken }); err != nil {
			return err
		}
		err := w.await(ctx, "its status to name "+taken, func(ctx context.Context) (string, error) {
			d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			if now := told(d); !strings.HasPrefix(now, "Ready=False") || !strings.Contains(now, taken) {
				return diffOf("Ready=False, with a message that contains "+taken, now), nil
			}
			return "", nil
		})
		if err != nil {
			return during(did, err)
		}
		after, err := w.strangers(ctx)
		if err != nil {
			return err
		}
		if err := failed(did+", looked at the objects of others", strangers, after); err != nil {
			return err
		}
		if err := w.databases.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	if _, _, err := w.untilReady(ctx, d.Name, ""); err != nil {
		return during("created and deleted a DatabaseManager with the same deploymentName", err)
	}
	after, err := w.identities(ctx, d)
	if err != nil {
		return err
	}
	return failed("compared the children of the one that has the name, before and after the conflict", before, after)
}

// createStrangers creates objects that are none of the controller's business.
func (w *World) createStrangers(ctx context.Context) error {
	metadata := metav1.ObjectMeta{Name: "stranger", Labels: map[string]string{"app.kubernetes.io/name": "mysql"}}
	options := metav1.CreateOptions{FieldManager: manager}
	if _, err := w.client.CoreV1().ConfigMaps(w.namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metadata}, options); err != nil {
		return err
	}
	_, err := w.client.AppsV1().Deployments(w.namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metadata,
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "stranger"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "stranger"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "stranger", Image: "registry.k8s.io/pause:3.10"}}},
			},
		},
	}, options)
	return err
}

// strangers returns these objects as text, without what the Deployment's own controller writes.
func (w *World) strangers(ctx context.Context) (string, error) {
	texts := []string{}
	for _, resource := range []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}, childResources[0]} {
		o, err := w.dynamic.Resource(resource).Namespace(w.namespace).Get(ctx, "stranger", metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			texts = append(texts, resource.Resource+": gone")
		case err != nil:
			return "", err
		default:
			texts = append(texts, fmt.Sprintf("%s: uid %s, generation %d, labels %v, %d owners",
				resource.Resource, o.GetUID(), o.GetGeneration(), o.GetLabels(), len(o.GetOwnerReferences())))
		}
	}
	return strings.Join(texts, "\n"), nil
}
