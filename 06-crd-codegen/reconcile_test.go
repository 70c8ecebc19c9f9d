package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

func TestLife(t *testing.T) {
	w := newWorld(t)
	output, _ := w.run(w.config)

	w.make("example")
	d := w.untilReady("example", reasonReplicasReady)
	deployment, service, secret := w.deployment("db"), w.service("db"), w.secret("db-root")
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Image != "mysql:8.4.6" || *deployment.Spec.Replicas != 1 || deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("Deployment %+v", deployment.Spec)
	}
	for _, child := range []metav1.Object{deployment, service, secret} {
		if !metav1.IsControlledBy(child, d) {
			t.Errorf("%T is not owned: %v", child, child.GetOwnerReferences())
		}
	}
	pods := got(w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: d.Status.Selector}))(w)
	if len(pods.Items) != 1 || !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pods.Items[0].Labels)) {
		t.Errorf("%d pods by status.selector %q; the Service selects %v", len(pods.Items), d.Status.Selector, service.Spec.Selector)
	}
	if d.Status.AvailableReplicas != 1 || !apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady) ||
		!apimeta.IsStatusConditionFalse(d.Status.Conditions, dbv1alpha1.ConditionProgressing) {
		t.Errorf("status %+v", d.Status)
	}
	password := string(secret.Data["password"])
	if len(password) < 20 || strings.Contains(output.String(), password) {
		t.Error("the password is short, or was printed")
	}

	// Both in place: the same Deployment, the same password.
	patch := `{"spec": {"replicas": 2, "version": "8.4.5"}}`
	got(w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(w)
	d = w.untilReady("example", reasonReplicasReady)
	changed := w.deployment("db")
	if changed.UID != deployment.UID || changed.Spec.Template.Spec.Containers[0].Image != "mysql:8.4.5" || *changed.Spec.Replicas != 2 || d.Status.AvailableReplicas != 2 {
		t.Errorf("after a change: Deployment %+v, status %+v", changed.Spec, d.Status)
	}
	got(w.databases.UpdateScale(t.Context(), "example", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: w.namespace}}, metav1.UpdateOptions{}))(w)
	w.untilReady("example", reasonScaledToZero)
	if string(w.secret("db-root").Data["password"]) != password {
		t.Error("the password has changed")
	}

	if err := w.databases.Delete(t.Context(), "example", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	untilGone(w, "the Deployment", w.client.AppsV1().Deployments(w.namespace).Get, "db")
	untilGone(w, "the Service", w.client.CoreV1().Services(w.namespace).Get, "db")
	untilGone(w, "the Secret", w.client.CoreV1().Secrets(w.namespace).Get, "db-root")

	// An event each time that the database became ready or stopped being so, and only then.
	changes, last := 0, ""
	for line := range strings.Lines(output.String()) {
		if words := strings.Fields(line); words[0] == "STATUS" && words[3] != last {
			changes, last = changes+1, words[3]
		}
	}
	until(w, fmt.Sprintf("there are %d events", changes), func(ctx context.Context) (n int, err error) {
		events, err := w.client.CoreV1().Events(w.namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=DatabaseManager"})
		if err != nil {
			return 0, err
		}
		for _, event := range events.Items {
			n += int(event.Count)
		}
		return n, nil
	}, func(n int) bool { return n == changes })
}

func TestMariaDB(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	w.make("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Dbtype = dbv1alpha1.MariaDB })
	w.untilReady("example", reasonReplicasReady)
	container := w.deployment("db").Spec.Template.Spec.Containers[0]
	if container.Image != "mariadb:11.8.3" || container.Env[0].Name != "MARIADB_ROOT_PASSWORD" {
		t.Errorf("container %+v", container)
	}
}

// TestFiftyOfAType shows that the Service of one database never leads to the pods of another, and that no two have the
// same password.
func TestFiftyOfAType(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	const databases = 50
	for i := range databases {
		w.make(fmt.Sprintf("db-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = fmt.Sprintf("db-%d", i) })
	}
	passwords := map[string]bool{}
	for i := range databases {
		name := fmt.Sprintf("db-%d", i)
		w.untilReady(name, reasonReplicasReady)
		selector := labels.SelectorFromSet(w.service(name).Spec.Selector)
		pods := got(w.client.CoreV1().Pods(w.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: selector.String()}))(w).Items
		if len(pods) != 1 || !strings.HasPrefix(pods[0].Name, name+"-") {
			t.Errorf("the Service %s leads to %d pods", name, len(pods))
		}
		passwords[string(w.secret(name + secretSuffix).Data["password"])] = true
	}
	if len(passwords) != databases {
		t.Errorf("%d passwords", len(passwords))
	}
}

// TestLongNames takes the longest names that the API server accepts.
func TestLongNames(t *testing.T) {
	w := newWorld(t)
	output, _ := w.run(w.config)
	long, deployment := strings.Repeat("d", 253), strings.Repeat("d", 63)
	w.make(long, func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.DeploymentName, s.DeletionPolicy = deployment, dbv1alpha1.DeletionPolicyRetain
	})
	w.untilReady(long, reasonReplicasReady)
	if err := w.databases.Delete(t.Context(), long, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	untilGone(w, "the DatabaseManager", w.databases.Get, long)
	w.service(deployment)
	w.secret(deployment + secretSuffix)
	if n := output.lines("RETRY"); n > 0 {
		t.Errorf("%d failures: %s", n, output)
	}
}

func TestVolume(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	defer w.makeVolume("db-data")()
	w.make("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.StorageSize = new(resource.MustParse("1.5Gi")) })
	d := w.untilReady("example", reasonReplicasReady)
	claim := got(w.client.CoreV1().PersistentVolumeClaims(w.namespace).Get(t.Context(), "db-data", metav1.GetOptions{}))(w)
	if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.Cmp(resource.MustParse("1536Mi")) != 0 || !metav1.IsControlledBy(claim, d) {
		t.Errorf("claim %+v, owners %v", claim.Spec, claim.OwnerReferences)
	}
	if source := w.deployment("db").Spec.Template.Spec.Volumes[0].PersistentVolumeClaim; source == nil || source.ClaimName != "db-data" {
		t.Errorf("the pods' volume is %+v", source)
	}

	// This volume can't grow, so the API server refuses, and the status says so while the database stays.
	got(w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"spec": {"storageSize": "2Gi"}}`), metav1.PatchOptions{}))(w)
	d = w.untilReady("example", "Forbidden")
	if message := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady).Message; !strings.Contains(message, "resize") || d.Status.AvailableReplicas != 1 {
		t.Errorf("status %+v", d.Status)
	}
}

// TestRestricted runs a database where only pods of the strictest Pod Security level are let in.
func TestRestricted(t *testing.T) {
	w := newWorld(t)
	got(w.client.CoreV1().Namespaces().Patch(t.Context(), w.namespace, types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`), metav1.PatchOptions{}))(w)
	w.run(w.config)
	w.make("example")
	w.untilReady("example", reasonReplicasReady)
}

func TestQuota(t *testing.T) {
	for name, test := range map[string]struct {
		quota string
		words string
	}{
		"of pods":     {"pods", "0 of 1 replicas are ready: exceeded quota"},
		"of Services": {"services", "exceeded quota"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			quota := got(w.client.CoreV1().ResourceQuotas(w.namespace).Create(t.Context(), &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "none"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceName(test.quota): resource.MustParse("0")}},
			}, metav1.CreateOptions{}))(w)
			until(w, "the quota is in force", func(ctx context.Context) (*corev1.ResourceQuota, error) {
				return w.client.CoreV1().ResourceQuotas(w.namespace).Get(ctx, "none", metav1.GetOptions{})
			}, func(q *corev1.ResourceQuota) bool { return len(q.Status.Hard) > 0 })
			w.run(w.config)
			w.make("example")
			d := w.untilReady("example", reasonQuotaExceeded)
			if message := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady).Message; !strings.Contains(message, test.words) {
				t.Errorf("message %q, want %q in it", message, test.words)
			}
			if err := w.client.CoreV1().ResourceQuotas(w.namespace).Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			w.untilReady("example", reasonReplicasReady)
		})
	}
}

func TestOtherDrift(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	d := w.make("example")
	w.untilReady("example", reasonReplicasReady)
	password := w.secret("db-root").Data["password"]
	deployments, services, secrets := w.client.AppsV1().Deployments(w.namespace), w.client.CoreV1().Services(w.namespace), w.client.CoreV1().Secrets(w.namespace)

	const foreign = `"annotations": {"somebody": "else"}, "labels": {"team": "dba"`
	patchDeployment := func(patch string) error {
		_, err := deployments.Patch(t.Context(), "db", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
		return err
	}
	for name, drift := range map[string]func() error{
		"replicas": func() error { return patchDeployment(`{"spec": {"replicas": 4}}`) },
		"image": func() error {
			return patchDeployment(`{"spec": {"template": {"spec": {"containers": [{"name": "mysql", "image": "mysql:latest"}]}}}}`)
		},
		"owner reference": func() error { return patchDeployment(`{"metadata": {"ownerReferences": null}}`) },
		"label":           func() error { return patchDeployment(`{"metadata": {"labels": {"` + managedByLabel + `": null}}}`) },
		"several, beside foreign ones": func() error {
			return patchDeployment(`{"metadata": {` + foreign + `, "` + databaseLabel + `": "x"}}, "spec": {"replicas": 0, "minReadySeconds": 1}}`)
		},
		"managed fields": func() error { return patchDeployment(`{"metadata": {"managedFields": [{}]}}`) },
		"Service's selector": func() error {
			_, err := services.Patch(t.Context(), "db", types.MergePatchType, []byte(`{"spec": {"selector": {"`+databaseLabel+`": "x"}}}`), metav1.PatchOptions{})
			return err
		},
		"Deployment deleted": func() error { return deployments.Delete(t.Context(), "db", metav1.DeleteOptions{}) },
		"Service deleted":    func() error { return services.Delete(t.Context(), "db", metav1.DeleteOptions{}) },
		"Secret's label": func() error {
			_, err := secrets.Patch(t.Context(), "db-root", types.MergePatchType, []byte(`{"metadata": {"labels": null}}`), metav1.PatchOptions{})
			return err
		},
		"status": func() error {
			_, err := w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"status": {"availableReplicas": 5}}`), metav1.PatchOptions{}, "status")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := drift(); err != nil {
				t.Fatal(err)
			}
			w := w.in(t)
			until(w, "all is as it was", func(context.Context) (string, error) { return w.wrong(d, password), nil }, func(wrong string) bool { return wrong == "" })
		})
	}
}

// wrong says what is not as a DatabaseManager with one replica wants it, or nothing.
func (w *world) wrong(d *dbv1alpha1.DatabaseManager, password []byte) string {
	name := d.Spec.DeploymentName
	d, err := w.databases.Get(w.Context(), d.Name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	service, err := w.client.CoreV1().Services(w.namespace).Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	secret, err := w.client.CoreV1().Secrets(w.namespace).Get(w.Context(), name+secretSuffix, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, child := range []metav1.Object{deployment, service, secret} {
		if !metav1.IsControlledBy(child, d) || child.GetLabels()[managedByLabel] != fieldManager || child.GetLabels()[databaseLabel] != string(d.UID) {
			return fmt.Sprintf("%T: owners %v, labels %v", child, child.GetOwnerReferences(), child.GetLabels())
		}
	}
	if *deployment.Spec.Replicas != replicasOf(d) || deployment.Spec.Template.Spec.Containers[0].Image != *desiredDeployment(d, nil).Spec.Template.Spec.Containers[0].Image {
		return fmt.Sprintf("Deployment %+v", deployment.Spec)
	}
	if service.Spec.Selector[databaseLabel] != string(d.UID) || len(service.Spec.Ports) != 1 {
		return fmt.Sprintf("Service %+v", service.Spec)
	}
	if password != nil && string(secret.Data["password"]) != string(password) {
		return "another password"
	}
	if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != replicasOf(d) || !apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady) {
		return fmt.Sprintf("status %+v", d.Status)
	}
	return ""
}

// TestForeignFields shows that what others set, and the controller never did, stays through all its writes.
func TestForeignFields(t *testing.T) {
	w := newWorld(t)
	w.run(w.config)
	w.make("example")
	w.untilReady("example", reasonReplicasReady)
	_, err := w.client.AppsV1().Deployments(w.namespace).Patch(t.Context(), "db", types.StrategicMergePatchType, []byte(`{
		"metadata": {"annotations": {"somebody": "else"}, "labels": {"team": "dba"}},
		"spec": {"minReadySeconds": 1, "template": {"spec": {"containers": [
			{"name": "mysql", "env": [{"name": "TZ", "value": "Asia/Shanghai"}]}, {"name": "exporter", "image": "mysql:8.4.6", "command": ["sleep", "1d"], "resources": {"limits": {"memory": "64Mi"}}}]}}}}`),
		metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	got(w.databases.Patch(t.Context(), "example", types.MergePatchType, []byte(`{"spec": {"version": "8.4.5", "replicas": 2}}`), metav1.PatchOptions{}))(w)
	w.untilReady("example", reasonReplicasReady)
	deployment := w.deployment("db")
	containers := deployment.Spec.Template.Spec.Containers
	if deployment.Annotations["somebody"] != "else" || deployment.Labels["team"] != "dba" || deployment.Spec.MinReadySeconds != 1 ||
		len(containers) != 2 || len(containers[0].Env) != 2 || containers[0].Image != "mysql:8.4.5" || *deployment.Spec.Replicas != 2 {
		t.Errorf("Deployment %v %v %+v", deployment.Annotations, deployment.Labels, deployment.Spec)
	}
}

// TestNothingToDo looks at every object ten times and sends nothing.
func TestNothingToDo(t *testing.T) {
	w := newWorld(t)
	var counted requests
	for i := range 3 {
		w.make(fmt.Sprintf("example-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = fmt.Sprintf("db-%d", i) })
	}
	c, resync := w.inside(counted.wrap(w.config))
	for i := range 3 {
		w.untilReady(fmt.Sprintf("example-%d", i), reasonReplicasReady)
	}
	w.quiet(c, &counted)
	before := c.syncs.Load()
	for range 10 {
		resync()
	}
	counts := counted.take()
	delete(counts, "WATCH")
	if len(counts) > 0 || c.syncs.Load() < before+30 {
		t.Errorf("%d syncs with nothing to do sent %v", c.syncs.Load()-before, counts)
	}
}
