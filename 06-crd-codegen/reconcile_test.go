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

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

func TestChildrenFollowTheirOwnerThroughItsLife(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	output, _ := e.run(e.config)

	e.create("example")
	d := e.untilReady("example", rollout.ReasonReplicasReady)
	deployment, service, secret := e.deployment("db"), e.service("db"), e.secret("db-root")
	container := deployment.Spec.Template.Spec.Containers[0]
	if container.Image != "mysql:8.4.6" || *deployment.Spec.Replicas != 1 ||
		deployment.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Errorf("Deployment %+v", deployment.Spec)
	}
	for _, child := range []metav1.Object{deployment, service, secret} {
		if !metav1.IsControlledBy(child, d) {
			t.Errorf("%T is not owned: %v", child, child.GetOwnerReferences())
		}
	}
	pods := testkit.Must(e.pods.List(t.Context(), metav1.ListOptions{LabelSelector: d.Status.Selector}))(e)
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
	e.patch("example", patch)
	d = e.untilReady("example", rollout.ReasonReplicasReady)
	changed := e.deployment("db")
	if changed.UID != deployment.UID || changed.Spec.Template.Spec.Containers[0].Image != "mysql:8.4.5" ||
		*changed.Spec.Replicas != 2 || d.Status.AvailableReplicas != 2 {
		t.Errorf("after a change: Deployment %+v, status %+v", changed.Spec, d.Status)
	}
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "example", Namespace: e.namespace}} // to 0 replicas
	testkit.Must(e.databases.UpdateScale(t.Context(), "example", scale, metav1.UpdateOptions{}))(e)
	e.untilReady("example", rollout.ReasonScaledToZero)
	if string(e.secret("db-root").Data["password"]) != password {
		t.Error("the password has changed")
	}

	e.delete("example")
	untilGone(e, "the Deployment", e.deployments.Get, "db")
	untilGone(e, "the Service", e.services.Get, "db")
	untilGone(e, "the Secret", e.secrets.Get, "db-root")

	// An event each time that the database became ready or stopped being so, and only then. Lines and events come after the
	// write that they are about, so both are counted until they are equal.
	changes := func() (changes int) {
		last := ""
		for _, line := range output.Lines("STATUS") {
			if words := strings.Fields(line); words[3] != last {
				changes, last = changes+1, words[3]
			}
		}
		return changes
	}
	until(e, "there is an event for each change of the condition", func(ctx context.Context) (n int, err error) {
		options := metav1.ListOptions{FieldSelector: "involvedObject.kind=DatabaseManager"}
		events, err := e.client.CoreV1().Events(e.namespace).List(ctx, options)
		if err != nil {
			return 0, err
		}
		for _, event := range events.Items {
			n += int(event.Count)
		}
		return n, nil
	}, func(n int) bool { return n == changes() })
}

func TestMariaDBHasItsOwnImageAndVariable(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.Dbtype = dbv1alpha1.MariaDB })
	e.untilReady("example", rollout.ReasonReplicasReady)
	container := e.deployment("db").Spec.Template.Spec.Containers[0]
	if container.Image != "mariadb:11.8.3" || container.Env[0].Name != "MARIADB_ROOT_PASSWORD" {
		t.Errorf("container %+v", container)
	}
}

// TestDatabasesOfOneTypeAreSeparate shows that the Service of one database never leads to the pods of another, and that no two have the
// same password.
func TestDatabasesOfOneTypeAreSeparate(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	const databases = 4
	for i := range databases {
		e.create(fmt.Sprintf("db-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = fmt.Sprintf("db-%d", i) })
	}
	passwords := map[string]bool{}
	for i := range databases {
		name := fmt.Sprintf("db-%d", i)
		e.untilReady(name, rollout.ReasonReplicasReady)
		selector := labels.SelectorFromSet(e.service(name).Spec.Selector)
		pods := testkit.Must(e.pods.List(t.Context(), metav1.ListOptions{LabelSelector: selector.String()}))(e).Items
		if len(pods) != 1 || !strings.HasPrefix(pods[0].Name, name+"-") {
			t.Errorf("the Service %s leads to %d pods", name, len(pods))
		}
		passwords[string(e.secret(name + database.SecretSuffix).Data["password"])] = true
	}
	if len(passwords) != databases {
		t.Errorf("%d passwords", len(passwords))
	}
}

// TestLongestNamesWork takes the longest names that the API server accepts.
func TestLongestNamesWork(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	output, _ := e.run(e.config)
	long, deployment := strings.Repeat("d", 253), strings.Repeat("d", 63)
	e.create(long, func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.DeploymentName, s.DeletionPolicy = deployment, dbv1alpha1.DeletionPolicyRetain
	})
	e.untilReady(long, rollout.ReasonReplicasReady)
	e.delete(long)
	untilGone(e, "the DatabaseManager", e.databases.Get, long)
	e.service(deployment)
	e.secret(deployment + database.SecretSuffix)
	if n := len(output.Lines("RETRY")); n > 0 {
		t.Errorf("%d failures: %s", n, output)
	}
}

func TestClaimIsCreatedAndCannotGrow(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	defer e.createVolume("db-data")()
	e.create("example", func(s *dbv1alpha1.DatabaseManagerSpec) { s.StorageSize = new(resource.MustParse("1.5Gi")) })
	d := e.untilReady("example", rollout.ReasonReplicasReady)
	claim := testkit.Must(e.claims.Get(t.Context(), "db-data", metav1.GetOptions{}))(e)
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(resource.MustParse("1536Mi")) != 0 || !metav1.IsControlledBy(claim, d) {
		t.Errorf("claim %+v, owners %v", claim.Spec, claim.OwnerReferences)
	}
	if source := e.deployment("db").Spec.Template.Spec.Volumes[0].PersistentVolumeClaim; source == nil || source.ClaimName != "db-data" {
		t.Errorf("the pods' volume is %+v", source)
	}

	// This volume cannot grow, so the API server rejects the change, and the status reports it while the database runs on.
	e.patch("example", `{"spec": {"storageSize": "2Gi"}}`)
	d = e.untilReady("example", "Forbidden")
	if message := readyOf(d).Message; !strings.Contains(message, "resize") || d.Status.AvailableReplicas != 1 {
		t.Errorf("status %+v", d.Status)
	}
}

// TestPodsMeetTheLevelRestricted runs a database where only pods of the strictest Pod Security level are let in.
func TestPodsMeetTheLevelRestricted(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	testkit.Must(e.client.CoreV1().Namespaces().Patch(t.Context(), e.namespace, types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}`), metav1.PatchOptions{}))(e)
	e.run(e.config)
	e.create("example")
	e.untilReady("example", rollout.ReasonReplicasReady)
}

func TestStatusReportsAQuotaUntilItIsGone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		quota string
		words string
	}{
		"of pods":     {"pods", "0 of 1 replicas are ready: exceeded quota"},
		"of Services": {"services", "exceeded quota"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			quota := testkit.Must(e.client.CoreV1().ResourceQuotas(e.namespace).Create(t.Context(), &corev1.ResourceQuota{
				ObjectMeta: metav1.ObjectMeta{Name: "none"},
				Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceName(test.quota): resource.MustParse("0")}},
			}, metav1.CreateOptions{}))(e)
			until(e, "the quota is in force", func(ctx context.Context) (*corev1.ResourceQuota, error) {
				return e.client.CoreV1().ResourceQuotas(e.namespace).Get(ctx, "none", metav1.GetOptions{})
			}, func(q *corev1.ResourceQuota) bool { return len(q.Status.Hard) > 0 })
			e.run(e.config)
			e.create("example")
			d := e.untilReady("example", rollout.ReasonQuotaExceeded)
			if message := readyOf(d).Message; !strings.Contains(message, test.words) {
				t.Errorf("message %q, want %q in it", message, test.words)
			}
			if err := e.client.CoreV1().ResourceQuotas(e.namespace).Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			e.untilReady("example", rollout.ReasonReplicasReady)
		})
	}
}

// TestRemovedMetadataComesBack has others change what no single field of a child's spec is. The suite's promise drift changes those,
// and deletes each child.
func TestRemovedMetadataComesBack(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	d := e.create("example")
	e.untilReady("example", rollout.ReasonReplicasReady)
	password := e.secret("db-root").Data["password"]
	patchDeployment := func(patch string) error {
		options := metav1.PatchOptions{FieldManager: "others"}
		_, err := e.deployments.Patch(t.Context(), "db", types.StrategicMergePatchType, []byte(patch), options)
		return err
	}
	for name, drift := range map[string]func() error{
		"owner reference": func() error { return patchDeployment(`{"metadata": {"ownerReferences": null}}`) },
		"several": func() error {
			return patchDeployment(`{
				"metadata": {"managedFields": [{}], "labels": {"team": "dba", "` + database.FirstOwnerLabel + `": "x"}},
				"spec": {"replicas": 0, "minReadySeconds": 1}}`)
		},
		"Secret's label": func() error {
			patch := []byte(`{"metadata": {"labels": null}}`)
			_, err := e.secrets.Patch(t.Context(), "db-root", types.MergePatchType, patch, metav1.PatchOptions{})
			return err
		},
		"status": func() error {
			patch := []byte(`{"status": {"availableReplicas": 5}}`)
			_, err := e.databases.Patch(t.Context(), "example", types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := drift(); err != nil {
				t.Fatal(err)
			}
			e := e.in(t)
			var wrong string
			testkit.Await(t, "the desired state", func() bool {
				wrong = e.wrong(d, password)
				return wrong == ""
			}, &wrong)
		})
	}
}

// wrong says what is not as a DatabaseManager with one replica wants it, or nothing.
func (e *env) wrong(d *dbv1alpha1.DatabaseManager, password []byte) string {
	name := d.Spec.DeploymentName
	d, err := e.databases.Get(e.Context(), d.Name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	deployment, err := e.deployments.Get(e.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	service, err := e.services.Get(e.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	secret, err := e.secrets.Get(e.Context(), name+database.SecretSuffix, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, child := range []metav1.Object{deployment, service, secret} {
		if !metav1.IsControlledBy(child, d) || child.GetLabels()[database.ManagedByLabel] != database.FieldManager ||
			child.GetLabels()[database.FirstOwnerLabel] != string(d.UID) {
			return fmt.Sprintf("%T: owners %v, labels %v", child, child.GetOwnerReferences(), child.GetLabels())
		}
	}
	desired := database.Deployment(d, nil).Spec
	if *deployment.Spec.Replicas != database.Replicas(d) ||
		deployment.Spec.Template.Spec.Containers[0].Image != *desired.Template.Spec.Containers[0].Image {
		return fmt.Sprintf("Deployment %+v", deployment.Spec)
	}
	if service.Spec.Selector[database.FirstOwnerLabel] != string(d.UID) || len(service.Spec.Ports) != 1 {
		return fmt.Sprintf("Service %+v", service.Spec)
	}
	if password != nil && string(secret.Data["password"]) != string(password) {
		return "another password"
	}
	if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != database.Replicas(d) ||
		!apimeta.IsStatusConditionTrue(d.Status.Conditions, dbv1alpha1.ConditionReady) {
		return fmt.Sprintf("status %+v", d.Status)
	}
	return ""
}

// TestFieldsOfOthersStay shows that what others set, and the controller never did, stays through all its writes.
func TestFieldsOfOthersStay(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.run(e.config)
	e.create("example")
	e.untilReady("example", rollout.ReasonReplicasReady)
	_, err := e.deployments.Patch(t.Context(), "db", types.StrategicMergePatchType, []byte(`{
		"metadata": {"annotations": {"somebody": "else"}, "labels": {"team": "dba"}},
		"spec": {"minReadySeconds": 1, "template": {"spec": {"containers": [
			{"name": "mysql", "env": [{"name": "TZ", "value": "Asia/Shanghai"}]},
			{"name": "exporter", "image": "mysql:8.4.6", "command": ["sleep", "1d"], "resources": {"limits": {"memory": "64Mi"}}}]}}}}`),
		metav1.PatchOptions{FieldManager: "others"})
	if err != nil {
		t.Fatal(err)
	}
	e.patch("example", `{"spec": {"version": "8.4.5", "replicas": 2}}`)
	e.untilReady("example", rollout.ReasonReplicasReady)
	deployment := e.deployment("db")
	containers := deployment.Spec.Template.Spec.Containers
	if deployment.Annotations["somebody"] != "else" || deployment.Labels["team"] != "dba" || deployment.Spec.MinReadySeconds != 1 ||
		len(containers) != 2 || len(containers[0].Env) != 2 || containers[0].Image != "mysql:8.4.5" || *deployment.Spec.Replicas != 2 {
		t.Errorf("Deployment %v %v %+v", deployment.Annotations, deployment.Labels, deployment.Spec)
	}
}

// TestResyncWithNothingToDoSendsNothing syncs every object ten times and sends nothing.
func TestResyncWithNothingToDoSendsNothing(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var counted requests
	for i := range 3 {
		e.create(fmt.Sprintf("example-%d", i), func(s *dbv1alpha1.DatabaseManagerSpec) { s.DeploymentName = fmt.Sprintf("db-%d", i) })
	}
	e.createWithAll("retained", retain, func(s *dbv1alpha1.DatabaseManagerSpec) {
		s.StorageSize = new(resource.MustParse("1.0000000001Gi")) // the server rounds it
	})
	c := e.startController(counted.wrap(e.config))
	for i := range 3 {
		e.untilReady(fmt.Sprintf("example-%d", i), rollout.ReasonReplicasReady)
	}
	e.untilReady("retained", rollout.ReasonScaledToZero)
	before := c.syncs.Load()
	counts := e.undisturbed(c, &counted, func() {
		for range 10 {
			c.resync(e)
		}
	})
	if len(counts) > 0 || c.syncs.Load() < before+40 {
		t.Errorf("%d syncs with nothing to do sent %v", c.syncs.Load()-before, counts)
	}
}
