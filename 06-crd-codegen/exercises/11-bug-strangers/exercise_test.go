package exercise_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/11-bug-strangers"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/11-bug-strangers"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = answers.Answer

var grader = grade.Exercise[answer]{
	Learner: answer{NewDeployment: exercise.NewDeployment, NewService: exercise.NewService},
	Accepted: []answer{
		{NewDeployment: answers.NewDeployment, NewService: answers.NewService},
		answers.SelectsByTheName,
	},
	Rejected: []grade.Rejected[answer]{
		{Name: "leaves the Service as it was", Answer: answers.LeavesTheServiceAsItWas, Says: "the selector of Service"},
		{Name: "sets a label of the pods only", Answer: answers.SetsALabelOfThePodsOnly, Says: "the selector of Deployment"},
		{Name: "sets a label of the selector only", Answer: answers.SetsALabelOfTheSelectorOnly, Says: "does not match template"},
	},
	Grade: gradeSelectors,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeSelectors(t *grade.T, a answer) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	core := typedcorev1.NewForConfigOrDie(config)
	deployments := typedappsv1.NewForConfigOrDie(config).Deployments(namespace)
	var all []*dbv1alpha1.DatabaseManager
	var pods int32
	for _, name := range []string{"orders", "users"} {
		replicas := 1 + t.Rand.Int32N(2)
		pods += replicas
		d := &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID(fmt.Sprint(t.Rand.Uint64()))},
			Spec: dbv1alpha1.DatabaseManagerSpec{
				Dbtype: dbv1alpha1.MySQL, DeploymentName: fmt.Sprintf("%s-%d", name, t.Rand.IntN(1000)), Replicas: &replicas,
			},
		}
		all = append(all, d)
		if _, err := deployments.Create(t.Context(), a.NewDeployment(d), metav1.CreateOptions{}); err != nil {
			t.Reject("the API server accepts the Deployment of "+name, strings.ReplaceAll(err.Error(), "\n", " "),
				"its spec: the selector, and the labels of the pods")
		}
		if _, err := core.Services(namespace).Create(t.Context(), a.NewService(d), metav1.CreateOptions{}); err != nil {
			t.Reject("the API server accepts the Service of "+name, strings.ReplaceAll(err.Error(), "\n", " "), "NewService")
		}
	}
	t.Eventually(fmt.Sprintf("%d pods, the replicas of both", pods), "spec.replicas of the Deployments", func() (bool, string) {
		list := testkit.Must(core.Pods(namespace).List(t.Context(), metav1.ListOptions{}))(t)
		return len(list.Items) == int(pods), fmt.Sprint(len(list.Items))
	})
	for _, d := range all {
		selects := func(kind string, selector map[string]string) {
			text := labels.FormatLabels(selector)
			if len(selector) == 0 {
				t.Reject("the selector of "+kind+" "+d.Spec.DeploymentName+" selects its own pods", "it has no selector", "New"+kind)
			}
			list := testkit.Must(core.Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: text}))(t)
			var strangers []string
			for _, pod := range list.Items {
				if !strings.HasPrefix(pod.Name, d.Spec.DeploymentName+"-") { // a ReplicaSet's pods are named after the Deployment
					strangers = append(strangers, pod.Name)
				}
			}
			what := fmt.Sprintf("the selector of %s %s selects its own %d pods", kind, d.Spec.DeploymentName, *d.Spec.Replicas)
			if len(strangers) > 0 {
				t.Reject(what, fmt.Sprintf("%s also selects %s", text, strings.Join(strangers, ", ")),
					"which label do these pods have in common, and which one does only d have?")
			}
			if len(list.Items) != int(*d.Spec.Replicas) {
				t.Reject(what, fmt.Sprintf("%s selects %d", text, len(list.Items)), "the labels of the pods, in the template")
			}
		}
		selects("Deployment", testkit.Must(deployments.Get(t.Context(), d.Spec.DeploymentName,
			metav1.GetOptions{}))(t).Spec.Selector.MatchLabels)
		selects("Service", testkit.Must(core.Services(namespace).Get(t.Context(), d.Spec.DeploymentName,
			metav1.GetOptions{}))(t).Spec.Selector)
	}
}
