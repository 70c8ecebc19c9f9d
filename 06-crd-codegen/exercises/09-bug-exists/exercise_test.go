package exercise_test

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/09-bug-exists"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/09-bug-exists"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Sync,
	Accepted: []answer{answers.Sync, answers.AsksForWhatItCreates},
	Rejected: []grade.Rejected[answer]{
		{Name: "ignores that it exists", Answer: answers.IgnoresThatItExists, Says: "there is a Deployment"},
		{Name: "uses the object's name for both", Answer: answers.UsesTheObjectsNameForBoth, Says: "there is a Deployment"},
		{Name: "generates a name", Answer: answers.GeneratesAName, Says: "there is a Deployment"},
	},
	Grade: gradeSync,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeSync(t *grade.T, sync answer) {
	config, writes := testkit.Writes(testcluster.Config(t))
	deployments := typedappsv1.NewForConfigOrDie(config).Deployments(testcluster.Namespace(t, config))
	var all []*dbv1alpha1.DatabaseManager
	for i := range 2 {
		all = append(all, &dbv1alpha1.DatabaseManager{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("shop-%d-%d", i, t.Rand.IntN(100)),
				UID: types.UID(fmt.Sprint(t.Rand.Uint64()))},
			Spec: dbv1alpha1.DatabaseManagerSpec{
				Dbtype: dbv1alpha1.MySQL, DeploymentName: fmt.Sprintf("db-%d-%d", i, t.Rand.IntN(100)), Replicas: new(t.Rand.Int32N(3)),
			},
		})
	}
	check := func(when string) {
		for _, d := range all {
			names := fmt.Sprintf("DatabaseManager %s with deploymentName %s", d.Name, d.Spec.DeploymentName)
			t.Doing("Sync of %s to return, %s", names, when)
			err := sync(t.Context(), deployments, d.DeepCopy())
			for apierrors.IsConflict(err) { // the Deployment controller has written its status: a controller syncs again
				err = sync(t.Context(), deployments, d.DeepCopy())
			}
			deployment, getErr := deployments.Get(t.Context(), d.Spec.DeploymentName, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(getErr):
				t.Reject(fmt.Sprintf("there is a Deployment %s, %s, for %s", d.Spec.DeploymentName, when, names),
					fmt.Sprintf("there are %s; Sync returns %v", list(t, deployments), err),
					"under which name is it created, and under which is it looked for?")
			case getErr != nil:
				t.Fatal(getErr)
			case err != nil:
				t.Reject("Sync returns no error, "+when, err.Error(), "which request fails, and for which object?")
			case *deployment.Spec.Replicas != *d.Spec.Replicas:
				t.Reject(fmt.Sprintf("Deployment %s has %d replicas, %s", deployment.Name, *d.Spec.Replicas, when),
					fmt.Sprint(*deployment.Spec.Replicas), "what does Sync compare?")
			}
		}
	}
	check("at the first sync")
	writes()
	check("at the second sync")
	if sent := writes(); len(sent) > 0 {
		t.Reject("a sync with nothing to do sends no request that writes", fmt.Sprintf("it has sent %s", sent), "what does Sync compare?")
	}
	*all[0].Spec.Replicas += 1
	check("after a change of the replicas")
	if err := deployments.Delete(t.Context(), all[1].Spec.DeploymentName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("after somebody has deleted a Deployment")
	if names := list(t, deployments); len(names) != len(all) {
		t.Reject(fmt.Sprintf("%d Deployments, one for each DatabaseManager", len(all)), fmt.Sprintf("there are %s", names), "the names")
	}
}

func list(t *grade.T, deployments typedappsv1.DeploymentInterface) []string {
	names := []string{}
	for _, deployment := range testkit.Must(deployments.List(t.Context(), metav1.ListOptions{}))(t).Items {
		names = append(names, deployment.Name)
	}
	return names
}
