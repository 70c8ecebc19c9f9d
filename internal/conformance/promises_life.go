package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// shape is what every controller's children have in common, whatever else it puts into them.
type shape struct {
	Kinds      []string `json:"kinds of children,omitempty"`
	NotOwned   []string `json:"without the DatabaseManager as controller,omitempty"`
	Deployment string   `json:"Deployment,omitempty"` // its name
	Replicas   int32    `json:"replicas"`
	Image      string   `json:"image of a container,omitempty"`
	Volume     string   `json:"size of the claim that a container mounts,omitempty"`

	SelectsItsPods  bool `json:"the Deployment selects its pods,omitempty"`
	ServesItsPods   bool `json:"the Service selects its pods,omitempty"`
	SelectsNoOthers bool `json:"the Deployment selects no other pods,omitempty"`
	ServesNoOther   bool `json:"the Service selects no other pods,omitempty"`
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
	if s.Volume, err = w.volumeOf(ctx, &deployment.Spec.Template.Spec); err != nil {
		return s, err
	}
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

// volumeOf returns the size of the claim that the pod's first container mounts.
func (w *World) volumeOf(ctx context.Context, pod *corev1.PodSpec) (size string, err error) {
	for _, volume := range pod.Volumes {
		isMounted := slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume.Name })
		if volume.PersistentVolumeClaim == nil || !isMounted {
			continue
		}
		claims := w.client.CoreV1().PersistentVolumeClaims(w.namespace)
		claim, err := claims.Get(ctx, volume.PersistentVolumeClaim.ClaimName, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return claim.Spec.Resources.Requests.Storage().String(), nil
	}
	return "", nil
}

// life takes a DatabaseManager through its life, beside objects of others.
func life(ctx context.Context, w *World) error {
	if _, err := w.startController(); err != nil {
		return err
	}
	other, err := w.createOther(ctx, "other", dbv1alpha1.MySQL, "8.4.4", "2Gi")
	if err != nil {
		return err
	}
	maria, err := w.createOther(ctx, "maria", dbv1alpha1.MariaDB, "11.4.5", "1Gi")
	if err != nil {
		return err
	}
	d := &dbv1alpha1.DatabaseManager{}
	check := func(did string, count int32, image string) error {
		w.say("%s", did)
		if d, err = w.untilDatabaseReady(ctx, "life"); err != nil {
			return during(did, err)
		}
		seen, err := w.shapeOf(ctx, d, other)
		if err != nil {
			return err
		}
		expected := shape{
			[]string{"Deployment", "Secret", "Service"}, []string{}, "life-db", count, image, "", true, true, true, true,
		}
		if image == "" { // the controller's own choice
			expected.Image = seen.Image
		}
		if err := failed(did, expected, seen); err != nil {
			return err
		}
		return failed(did+"; read availableReplicas", count, d.Status.AvailableReplicas)
	}
	createLife := func() error {
		_, err := w.create(ctx, "life", withPod, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = "life-db" })
		return err
	}
	if err := createLife(); err != nil {
		return err
	}
	if err := check("created a DatabaseManager", 1, ""); err != nil {
		return err
	}
	for _, o := range []*dbv1alpha1.DatabaseManager{other, maria} {
		seen, err := w.shapeOf(ctx, o, d)
		if err != nil {
			return err
		}
		did := fmt.Sprintf("created a DatabaseManager of %s with a volume of %s", o.Spec.Dbtype, o.Spec.StorageSize)
		err = failed(did, shape{
			[]string{"Deployment", "PersistentVolumeClaim", "Secret", "Service"}, []string{}, o.Name, 0,
			fmt.Sprintf("%s:%s", o.Spec.Dbtype, o.Spec.Version), o.Spec.StorageSize.String(), true, true, true, true,
		}, seen)
		if err == nil {
			err = w.passwordsDiffer(ctx, d, o)
		}
		if err != nil {
			return err
		}
	}
	taken, strangers, err := w.createStrangers(ctx, d)
	if err != nil {
		return err
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "life"}, Spec: autoscalingv1.ScaleSpec{Replicas: 2}}
	if _, err := w.databases.UpdateScale(ctx, "life", scale, metav1.UpdateOptions{}); err != nil {
		return err
	}
	if err := check("scaled it to 2", 2, ""); err != nil {
		return err
	}
	foreign, err := w.annotations(ctx, d, true)
	if err != nil {
		return err
	}
	if err := w.notReadyEarly(ctx, d); err != nil {
		return err
	}
	if err := check("changed its version", 2, "mysql:8.4.5"); err != nil {
		return err
	}
	now, err := w.annotations(ctx, d, false)
	if err != nil {
		return err
	}
	const did = "another manager set an annotation of each child, and minReadySeconds of the Deployment; changed the version; read them"
	if err := failed(did, foreign, now); err != nil {
		return err
	}
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, d.Spec.DeploymentName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := failed(did, int32(1), deployment.Spec.MinReadySeconds); err != nil {
		return err
	}
	if err := w.conflicts(ctx, d, taken, strangers); err != nil {
		return err
	}

	// On a cluster that has just got the CRD, the garbage collector does not know it for up to 30 seconds: the children would stay so long.
	if err := w.untilCollected(ctx); err != nil {
		return err
	}
	w.say("deleting it, and creating another one of its name")
	first := d.UID
	if err := w.databases.Delete(ctx, "life", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := createLife(); err != nil {
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
	if err := w.untilGone(ctx, "life"); err != nil {
		return during("deleted a DatabaseManager", err)
	}
	if err := w.untilCollectedOf(ctx, d); err != nil {
		return during("deleted a DatabaseManager", err)
	}
	after, err := w.strangers(ctx)
	if err != nil {
		return err
	}
	return failed("looked at the objects of others in the end", strangers, after)
}

// untilDatabaseReady waits until a DatabaseManager is Ready.
func (w *World) untilDatabaseReady(ctx context.Context, name string) (*dbv1alpha1.DatabaseManager, error) {
	o, _, err := w.untilReady(ctx, name, "")
	if err != nil {
		return nil, err
	}
	return databaseOf(o)
}

// createOther creates a DatabaseManager with a volume, and waits until it is Ready.
func (w *World) createOther(
	ctx context.Context, name string, dbtype dbv1alpha1.DatabaseType, version, size string,
) (*dbv1alpha1.DatabaseManager, error) {
	_, err := w.create(ctx, name, func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.Dbtype, s.Version, s.StorageSize = dbtype, version, new(resource.MustParse(size))
	})
	if err != nil {
		return nil, err
	}
	d, err := w.untilDatabaseReady(ctx, name)
	return d, during(fmt.Sprintf("created a DatabaseManager of %s with a volume of %s", dbtype, size), err)
}

// passwordsDiffer compares the Secrets of two DatabaseManagers.
func (w *World) passwordsDiffer(ctx context.Context, one, other *dbv1alpha1.DatabaseManager) error {
	sums := map[string]bool{}
	for _, d := range []*dbv1alpha1.DatabaseManager{one, other} {
		children, err := w.children(ctx, d)
		if err != nil {
			return err
		}
		for _, o := range children {
			if o.GetKind() == "Secret" {
				sums[sum(o.Object["data"])] = true
			}
		}
	}
	return failed("compared the Secrets of two DatabaseManagers", "2 passwords", fmt.Sprintf("%d passwords", len(sums)))
}

// annotations returns what another manager has set of the children: an annotation of each. It sets them before if set is true.
func (w *World) annotations(ctx context.Context, d metav1.Object, set bool) (string, error) {
	children, err := w.children(ctx, d)
	if err != nil {
		return "", err
	}
	texts := []string{}
	for _, child := range children {
		o := &child
		if set {
			const patch = `{"metadata": {"annotations": {"example.com/team": "shop"}}}`
			options := metav1.PatchOptions{FieldManager: manager + "-other"}
			if o, err = w.objectsOf(o).Patch(ctx, child.GetName(), types.MergePatchType, []byte(patch), options); err != nil {
				return "", err
			}
		}
		texts = append(texts, fmt.Sprintf("%s: team %s", o.GetKind(), o.GetAnnotations()["example.com/team"]))
	}
	return strings.Join(texts, "\n"), nil
}

// notReadyEarly changes the version while the Deployment is paused, so that its pods stay the old ones. The DatabaseManager must not be
// Ready until they are replaced.
func (w *World) notReadyEarly(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	deployments := w.client.AppsV1().Deployments(w.namespace)
	pausing := func(paused bool) error {
		patch := fmt.Sprintf(`{"spec": {"paused": %t, "minReadySeconds": 1}}`, paused)
		options := metav1.PatchOptions{FieldManager: manager + "-other"}
		_, err := deployments.Patch(ctx, d.Spec.DeploymentName, types.MergePatchType, []byte(patch), options)
		return err
	}
	const did = "another manager paused its Deployment; changed the version"
	w.say(did)
	if err := pausing(true); err != nil {
		return err
	}
	if err := w.patch(ctx, d.Name, `{"spec": {"version": "8.4.5"}}`); err != nil {
		return err
	}
	for range 15 {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		now, err := w.databases.Get(ctx, d.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		deployment, err := deployments.Get(ctx, d.Spec.DeploymentName, metav1.GetOptions{}) // the controller may let it go on
		if err != nil {
			return err
		}
		if deployment.Spec.Paused && w.resource.told(now) == isReady {
			return failed(did, "Ready=False, or Unknown, as long as the pods are the old ones", "Ready=True")
		}
	}
	return pausing(false)
}

// conflicts asks for names that are taken: by another DatabaseManager, and by objects of others, one of each kind.
func (w *World) conflicts(ctx context.Context, d *dbv1alpha1.DatabaseManager, taken []string, strangers string) error {
	before, err := w.identities(ctx, d)
	if err != nil {
		return err
	}
	for i, taken := range append([]string{d.Spec.DeploymentName}, taken...) {
		name := fmt.Sprintf("late%d", i)
		did := "created a DatabaseManager whose deploymentName " + taken + " is taken"
		w.say("%s", did)
		if _, err := w.create(ctx, name, withPod, func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = taken }); err != nil {
			return err
		}
		err := w.await(ctx, "its status to name "+taken, func(ctx context.Context) (string, error) {
			d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return "", err
			}
			if now := w.resource.told(d); !strings.HasPrefix(now, "Ready=False") || !strings.Contains(now, taken) {
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
		if err := w.untilGone(ctx, name); err != nil {
			return during(did+", deleted it", err)
		}
		if i > 0 {
			continue
		}
		if err := w.untilQuiet(ctx); err != nil {
			return err
		}
		if _, _, err := w.untilReady(ctx, d.Name, ""); err != nil {
			return during(did+", deleted it", err)
		}
		same, err := w.identities(ctx, d)
		if err != nil {
			return err
		}
		if err := failed(did+", deleted it; looked at the children of the one that has the name", before, same); err != nil {
			return err
		}
	}
	return nil
}

// createStrangers creates objects that are none of the controller's business: for each kind of a DatabaseManager's children, one with the
// name that a child would have, and for a Secret also one without data. It returns the names of the Deployments to which such children
// belong, and the objects as text.
func (w *World) createStrangers(ctx context.Context, d *dbv1alpha1.DatabaseManager) (taken []string, strangers string, err error) {
	children, err := w.children(ctx, d)
	if err != nil {
		return nil, "", err
	}
	for _, child := range children {
		name := "taken-" + strings.ToLower(child.GetKind())
		stranger := &unstructured.Unstructured{Object: map[string]any{}}
		for _, field := range []string{"apiVersion", "kind", "type", "data", "spec"} {
			if value, ok := child.Object[field]; ok {
				stranger.Object[field] = runtime.DeepCopyJSONValue(value)
			}
		}
		stranger.SetName(strings.Replace(child.GetName(), d.Spec.DeploymentName, name, 1))
		stranger.SetLabels(map[string]string{"example.com/team": "shop"})
		unstructured.RemoveNestedField(stranger.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(stranger.Object, "spec", "clusterIPs")
		if child.GetKind() == "Deployment" {
			_ = unstructured.SetNestedField(stranger.Object, int64(0), "spec", "replicas") // a spec is an object
		}
		options := metav1.CreateOptions{FieldManager: manager}
		if _, err := w.objectsOf(&child).Create(ctx, stranger, options); err != nil {
			return nil, "", err
		}
		taken = append(taken, name)
		if _, has := stranger.Object["data"]; has {
			delete(stranger.Object, "data")
			stranger.SetName(strings.Replace(stranger.GetName(), name, name+"-empty", 1))
			if _, err := w.objectsOf(&child).Create(ctx, stranger, options); err != nil {
				return nil, "", err
			}
			taken = append(taken, name+"-empty")
		}
	}
	strangers, err = w.strangers(ctx)
	return taken, strangers, err
}

// strangers returns these objects as text, without what Kubernetes' own controllers write.
func (w *World) strangers(ctx context.Context) (string, error) {
	texts := []string{}
	for _, r := range w.resource.children {
		list, err := w.dynamic.Resource(r).Namespace(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: "example.com/team=shop"})
		if err != nil {
			return "", err
		}
		for _, o := range list.Items {
			texts = append(texts, fmt.Sprintf("%s %s: uid %s, generation %d, data %s, labels %v, %d owners",
				o.GetKind(), o.GetName(), o.GetUID(), o.GetGeneration(), sum(o.Object["data"]), o.GetLabels(), len(o.GetOwnerReferences())))
		}
	}
	return strings.Join(texts, "\n"), nil
}
