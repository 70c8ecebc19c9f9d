package codegen

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/uuid"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// BugStrangersAnswer is what exercise.go has.
type BugStrangersAnswer struct {
	NewDeployment func(d *dbv1alpha1.DatabaseManager) *appsv1.Deployment
	NewService    func(d *dbv1alpha1.DatabaseManager) *corev1.Service
}

// BugStrangers grades the answers to "Find the bug: pods of strangers".
var BugStrangers = grade.Exercise[BugStrangersAnswer]{
	Cluster: true,
	Grade:   gradeSelectors,
}

// child is what the API server has of an answer's object.
type child struct {
	what, name string
	selector   labels.Selector
	pods       int // that it must select
}

func gradeSelectors(t *grade.T, a BugStrangersAnswer) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	core := typedcorev1.NewForConfigOrDie(config)
	deployments := typedappsv1.NewForConfigOrDie(config).Deployments(namespace)
	var children []child
	var databases []*dbv1alpha1.DatabaseManager
	pods := 0
	// The second orders is created when the first one is deleted, and its pods are still there. UIDs begin alike by chance.
	alike := uuid.NewUUID()[:8]
	for i, name := range []string{"orders", "users", "more-users", "orders"} {
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: alike + uuid.NewUUID()[8:],
				CreationTimestamp: metav1.Now()},
			Spec: dbv1alpha1.DatabaseManagerSpec{
				Dbtype: dbv1alpha1.MySQL, DeploymentName: fmt.Sprintf("db%d-%d", i, t.Rand.IntN(1000)), Replicas: new(2 - t.Rand.Int32N(2)),
			},
		}
		if name == "orders" {
			*d.Spec.Replicas = 2 // it is 1 if nobody sets it
		}
		if name == "more-users" {
			d.Spec.Dbtype = dbv1alpha1.MariaDB
		}
		pods += int(*d.Spec.Replicas)
		unchanged := t.Unchanged(d)
		newDeployment, newService := a.NewDeployment(d), a.NewService(d)
		unchanged()
		changesNothingElse(t, d, newDeployment, newService)
		deployment, err := deployments.Create(t.Context(), newDeployment, metav1.CreateOptions{})
		if err != nil {
			t.Reject("the API server accepts the Deployment of "+name, strings.ReplaceAll(err.Error(), "\n", " "),
				"its spec: the selector, and the labels of the pods")
		}
		service, err := core.Services(namespace).Create(t.Context(), newService, metav1.CreateOptions{})
		if err != nil {
			t.Reject("the API server accepts the Service of "+name, strings.ReplaceAll(err.Error(), "\n", " "), "NewService")
		}
		databases = append(databases, d)
		children = append(children,
			child{"Deployment", deployment.Name, testkit.Must(metav1.LabelSelectorAsSelector(deployment.Spec.Selector))(t),
				int(*d.Spec.Replicas)},
			child{"Service", service.Name, labels.SelectorFromSet(service.Spec.Selector), int(*d.Spec.Replicas)})
	}
	t.Eventually(fmt.Sprintf("%d pods, the replicas of all", pods), "spec.replicas of the Deployments", func() (bool, string) {
		list, err := core.Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		return len(list.Items) == pods, fmt.Sprint(len(list.Items))
	})
	for _, c := range children {
		what := fmt.Sprintf("the selector of %s %s selects its own %d pods", c.what, c.name, c.pods)
		if c.selector.Empty() {
			t.Reject(what, "it has no selector", "New"+c.what)
		}
		list := testkit.Must(core.Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: c.selector.String()}))(t)
		var strangers []string
		for _, pod := range list.Items {
			if !strings.HasPrefix(pod.Name, c.name+"-") { // a ReplicaSet's pods are named after the Deployment
				strangers = append(strangers, pod.Name)
			}
		}
		if len(strangers) > 0 {
			t.Reject(what, fmt.Sprintf("%s also selects %s", c.selector, strings.Join(strangers, ", ")),
				"which label do these pods have in common, and which one does only d have?")
		}
		if len(list.Items) != c.pods {
			t.Reject(what, fmt.Sprintf("%s selects %d", c.selector, len(list.Items)), "the labels of the pods, in the template")
		}
	}
	for _, d := range databases {
		leavesPodsBehind(t, a, d)
	}
	// A name can be longer than a label, and wherever it is cut, a label cannot end with every character of it.
	for shift := range len("more.") {
		long := databases[1].DeepCopy()
		long.Name, long.Spec.DeploymentName = strings.Repeat("x", shift)+strings.Repeat("more.", 20)+"users", "long"
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := deployments.Create(t.Context(), a.NewDeployment(long), dryRun)
		if err == nil {
			_, err = core.Services(namespace).Create(t.Context(), a.NewService(long), dryRun)
		}
		if err != nil {
			t.Reject(fmt.Sprintf("the API server accepts the children of a DatabaseManager whose name has %d characters", len(long.Name)),
				firstCause(err), "what else is in the value of the label?")
		}
	}
}

// leavesPodsBehind rejects the answer if children of d select the pods of an earlier one, which differs in its UID only.
func leavesPodsBehind(t *grade.T, a BugStrangersAnswer, d *dbv1alpha1.DatabaseManager) {
	t.Helper()
	earlier := d.DeepCopy()
	earlier.UID = d.UID[:8] + uuid.NewUUID()[8:]
	pods := labels.Set(a.NewDeployment(earlier).Spec.Template.Labels)
	for _, c := range []child{
		{what: "Deployment", selector: testkit.Must(metav1.LabelSelectorAsSelector(a.NewDeployment(d).Spec.Selector))(t)},
		{what: "Service", selector: labels.SelectorFromSet(a.NewService(d).Spec.Selector)},
	} {
		if c.selector.Matches(pods) {
			t.Reject(fmt.Sprintf("the selector of %s %s selects its own pods only", c.what, d.Spec.DeploymentName),
				fmt.Sprintf("%s also selects the pods that a deleted %s has left behind, with the same spec and the same time of creation",
					c.selector, d.Name), "which field is another one each time?")
		}
	}
}

// firstCause is the first reason for which the API server has rejected an object.
func firstCause(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			return cause.Field + ": " + cause.Message
		}
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

// changesNothingElse rejects the answer if it has changed more than labels and selectors.
func changesNothingElse(t *grade.T, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, service *corev1.Service) {
	t.Helper()
	if deployment == nil || service == nil {
		t.Reject("NewDeployment and NewService return an object for "+d.Name, "one is nil", "what do they return each time?")
	}
	name, app := d.Spec.DeploymentName, string(d.Spec.Dbtype)
	template := deployment.Spec.Template
	for _, is := range []struct{ what, want, got string }{
		{"Deployment",
			fmt.Sprintf("name %s, app=%s, replicas %d, pods with app=%s, container db of %s:8.4.6", name, app, *d.Spec.Replicas, app, app),
			fmt.Sprintf("name %s, app=%s, replicas %d, pods with app=%s%s", deployment.Name, deployment.Labels["app"],
				ptr.Deref(deployment.Spec.Replicas, -1), template.Labels["app"], containers(template.Spec))},
		{"Service", fmt.Sprintf("name %s, app=%s, port 3306", name, app),
			fmt.Sprintf("name %s, app=%s%s", service.Name, service.Labels["app"], ports(service.Spec))},
	} {
		if is.got != is.want {
			t.Reject(fmt.Sprintf("apart from the new label, the %s of %s is as before: %s", is.what, d.Name, is.want), is.got,
				"only the labels and the selectors are wrong")
		}
	}
}

func containers(spec corev1.PodSpec) (text string) {
	for _, container := range spec.Containers {
		text += fmt.Sprintf(", container %s of %s", container.Name, container.Image)
	}
	return text
}

func ports(spec corev1.ServiceSpec) (text string) {
	for _, port := range spec.Ports {
		text += fmt.Sprintf(", port %d", port.Port)
	}
	return text
}
