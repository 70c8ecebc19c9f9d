package main

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubefake "k8s.io/client-go/kubernetes/fake"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/fake"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestControllerRunsOnFakeClients runs the whole controller without a cluster. The fakes have no garbage collector, no Deployment
// controller and no versions; what they have is server-side apply, since the clients were generated with a schema.
func TestControllerRunsOnFakeClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "example", UID: "1", Generation: 1},
			Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(2))},
		}
		client, databases := kubefake.NewClientset(), fake.NewClientset(d)
		var out testkit.Buffer
		c, stop := startController(t, client, databases, "", 2, &out)
		time.Sleep(time.Minute)
		deployment, err := client.AppsV1().Deployments("x").Get(t.Context(), "db", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if *deployment.Spec.Replicas != 2 || !metav1.IsControlledBy(deployment, d) {
			t.Errorf("Deployment %+v", deployment)
		}
		// Not how often they were applied: without versions nobody sees that a store is behind.
		if _, err := client.CoreV1().Services("x").Get(t.Context(), "db", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := client.CoreV1().Secrets("x").Get(t.Context(), "db"+database.SecretSuffix, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
		status := func() dbv1alpha1.DatabaseManagerStatus {
			t.Helper()
			d := testkit.Must(databases.CoolopsV1alpha1().DatabaseManagers("x").Get(t.Context(), "example", metav1.GetOptions{}))(t)
			return d.Status
		}
		ready := apimeta.FindStatusCondition(status().Conditions, dbv1alpha1.ConditionReady)
		if ready == nil || ready.Reason != rollout.ReasonPodsNotReady {
			t.Errorf("status %+v", status())
		}

		deployment.Status = appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, AvailableReplicas: 2}
		testkit.Must(client.AppsV1().Deployments("x").UpdateStatus(t.Context(), deployment, metav1.UpdateOptions{}))(t)
		time.Sleep(time.Minute)
		if !apimeta.IsStatusConditionTrue(status().Conditions, dbv1alpha1.ConditionReady) || status().AvailableReplicas != 2 {
			t.Errorf("status %+v", status())
		}
		client.ClearActions()
		databases.ClearActions()
		c.resync(t)
		if n := len(client.Actions()) + len(databases.Actions()); n > 0 {
			t.Errorf("a resync with nothing to do sent %d request(s): %v %v", n, client.Actions(), databases.Actions())
		}
		stop()
	})
}

// TestAnotherControllerAlwaysWins has somebody change the image back after each write, for an hour. The controller writes less and less
// often, and says so.
func TestAnotherControllerAlwaysWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "example", UID: "1", Generation: 1},
			Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db", Replicas: new(int32(0))},
		}
		client, databases := kubefake.NewClientset(), fake.NewClientset(d)
		deployments := client.AppsV1().Deployments("x")
		events := testkit.Must(deployments.Watch(t.Context(), metav1.ListOptions{}))(t)
		defer events.Stop()
		changes := 0
		go func() {
			for event := range events.ResultChan() {
				deployment := event.Object.(*appsv1.Deployment)
				if image := &deployment.Spec.Template.Spec.Containers[0].Image; *image != "mirror/mysql" && changes < 100 {
					*image = "mirror/mysql"
					_, _ = deployments.Update(context.Background(), deployment, metav1.UpdateOptions{FieldManager: "other"})
					changes++
				}
			}
		}()
		_, stop := startController(t, client, databases, "", 2, io.Discard)
		defer stop()
		time.Sleep(time.Hour)
		synctest.Wait() // or the detector could not see that nobody changes it now
		ready := func() *metav1.Condition {
			d := testkit.Must(databases.CoolopsV1alpha1().DatabaseManagers("x").Get(t.Context(), "example", metav1.GetOptions{}))(t)
			return readyOf(d)
		}
		if changes < 10 || changes > 25 {
			t.Errorf("%d times in an hour, the controller wrote, and somebody changed it back; want 10 to 25", changes)
		}
		const want = "Deployment db is not as asked for: somebody changes .spec.template.spec.containers[0].image back each time, " +
			"an admission policy, a webhook or another controller"
		if got := ready(); got.Status != metav1.ConditionFalse || got.Reason != database.ReasonUndone || got.Message != want {
			t.Errorf("Ready: %+v", got)
		}
		events.Stop()
		time.Sleep(10 * time.Minute)
		if got := ready(); got.Reason != rollout.ReasonScaledToZero {
			t.Errorf("after its end, Ready: %+v", got)
		}
	})
}
