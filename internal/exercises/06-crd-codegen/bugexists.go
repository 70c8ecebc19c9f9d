package codegen

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type bugExistsAnswer = func(ctx context.Context, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager) error

// BugExists grades the answers to "Find the bug: already exists".
var BugExists = grade.Exercise[bugExistsAnswer]{
	Cluster: true,
	Grade:   gradeSync,
}

func gradeSync(t *grade.T, sync bugExistsAnswer) {
	config := testcluster.Config(t)
	namespace := testcluster.Namespace(t, config)
	recorded, writes := testkit.Writes(config)
	deployments := typedappsv1.NewForConfigOrDie(recorded).Deployments(namespace)
	all := []*dbv1alpha1.DatabaseManager{
		databaseWithReplicas(t, "shop-0", dbv1alpha1.MySQL, 2+t.Rand.Int32N(2)),
		databaseWithReplicas(t, "shop-1", dbv1alpha1.MariaDB, 0),
		databaseWithReplicas(t, "shop-2", dbv1alpha1.MySQL, 1), // it has a Deployment which the bug has created
	}
	unrecorded := typedappsv1.NewForConfigOrDie(config).Deployments(namespace)
	bugs := starterDeployment(all[2])
	bugs.Name, bugs.Spec.Replicas = all[2].Name, new(int32(0))
	bugs = testkit.Must(unrecorded.Create(t.Context(), bugs, metav1.CreateOptions{}))(t)
	uids := map[string]types.UID{} // of the Deployments
	check := func(when string) {
		for _, d := range all {
			names := fmt.Sprintf("DatabaseManager %s with deploymentName %s", d.Name, d.Spec.DeploymentName)
			t.Doing("Sync of %s to return, %s", names, when)
			unchanged := t.Unchanged(d)
			err := syncUnlessConflict(t.Context(), sync, deployments, d)
			unchanged()
			deployment, getErr := deployments.Get(t.Context(), d.Spec.DeploymentName, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(getErr):
				t.Reject(fmt.Sprintf("there is a Deployment %s, %s, for %s", d.Spec.DeploymentName, when, names),
					fmt.Sprintf("there are %s; Sync returns %v", deploymentNames(t, deployments), err),
					"under which name is it created, and under which is it looked for?")
			case getErr != nil:
				t.Fatal(getErr)
			case err != nil:
				t.Reject("Sync returns no error, "+when, err.Error(), "which request fails, and for which object?")
			case *deployment.Spec.Replicas != *d.Spec.Replicas:
				t.Reject(fmt.Sprintf("Deployment %s has %d replicas, %s", deployment.Name, *d.Spec.Replicas, when),
					fmt.Sprint(*deployment.Spec.Replicas), "what does Sync compare, and what becomes of the error of its write?")
			case describe(deployment) != wanted(d):
				t.Reject("apart from its name, Deployment "+deployment.Name+" is as before: "+wanted(d), describe(deployment),
					"only one thing in newDeployment is wrong")
			case !sameSpec(t, unrecorded, deployment, d):
				t.Reject("apart from its name, Deployment "+deployment.Name+" is as before", "something else in its spec differs",
					"only one thing in newDeployment is wrong")
			case uids[d.Name] != "" && uids[d.Name] != deployment.UID:
				t.Reject(fmt.Sprintf("Deployment %s is still the same object, %s", deployment.Name, when), "it is another one of that name",
					"an update keeps the pods, a deletion does not")
			}
			uids[d.Name] = deployment.UID
		}
		now, err := unrecorded.Get(t.Context(), bugs.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		seen := ""
		switch {
		case err != nil || now.UID != bugs.UID:
			seen = "it is gone"
		case !apiequality.Semantic.DeepEqual(now.Spec, bugs.Spec):
			seen = "its spec has changed"
		case describe(now) != describe(bugs):
			seen = describe(now)
		}
		if seen != "" {
			t.Reject(fmt.Sprintf("Deployment %s, which the bug has created under another name, stays as it is: %s",
				bugs.Name, describe(bugs)),
				seen+", "+when, "which names are in your requests? Only spec.deploymentName is right")
		}
	}
	writes()
	check("at the first sync")
	if sent := writes(); len(sent) != len(all) {
		t.Reject("a Deployment is created with one request that writes", fmt.Sprintf("for %d of them it has sent %s", len(all), sent),
			"what is left to the second request?")
	}
	check("at the second sync")
	if sent := writes(); len(sent) > 0 {
		t.Reject("a sync with nothing to do sends no request that writes", fmt.Sprintf("it has sent %s", sent), "what does Sync compare?")
	}
	*all[0].Spec.Replicas--
	*all[1].Spec.Replicas++
	check("after a change of the replicas")
	if err := deployments.Delete(t.Context(), all[1].Spec.DeploymentName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	delete(uids, all[1].Name)
	check("after somebody has deleted a Deployment")
	if names := deploymentNames(t, deployments); len(names) != len(all)+1 {
		t.Reject(fmt.Sprintf("%d Deployments, one for each DatabaseManager, and %s", len(all), bugs.Name),
			fmt.Sprintf("there are %s", names), "the names")
	}
	note := fmt.Sprint(t.Rand.Uint64())
	for _, d := range all { // somebody else adds a note, and then the replicas change
		patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"example.com/note": %q}}}`, note)
		testkit.Must(unrecorded.Patch(t.Context(), d.Spec.DeploymentName, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
		*d.Spec.Replicas++
		_ = syncUnlessConflict(t.Context(), sync, deployments, d) // gradeErrors is about errors
		deployment := testkit.Must(unrecorded.Get(t.Context(), d.Spec.DeploymentName, metav1.GetOptions{}))(t)
		if deployment.Annotations["example.com/note"] != note {
			t.Reject("what others have set in Deployment "+deployment.Name+" stays when the replicas change", "their annotation is gone",
				"which object does the update send: the one that was read, or a new one?")
		}
	}
	gradeSyncErrors(t, sync, config, namespace, false)
	gradeSyncErrors(t, sync, config, namespace, true)
}

// gradeSyncErrors lets each request of a sync fail: of one that creates a Deployment, or of one that updates it.
func gradeSyncErrors(t *grade.T, sync bugExistsAnswer, config *rest.Config, namespace string, exists bool) {
	deployments := typedappsv1.NewForConfigOrDie(config).Deployments(namespace)
	done := "the Deployment has the replicas of the spec"
	calls := &grade.Calls{Name: "Sync", Config: config, Done: done, New: func(number int) grade.Case {
		d := databaseWithReplicas(t, fmt.Sprintf("case-%d-%t", number, exists), dbv1alpha1.MySQL, 0)
		if exists {
			if err := syncUnlessConflict(t.Context(), sync, deployments, d); err != nil {
				t.Reject("Sync returns no error for a new DatabaseManager", err.Error(), "which request fails, and for which object?")
			}
			*d.Spec.Replicas++
		}
		return grade.Case{
			Call: func(ctx context.Context, config *rest.Config) error {
				return syncUnlessConflict(ctx, sync, typedappsv1.NewForConfigOrDie(config).Deployments(namespace), d)
			},
			State: func() string {
				deployment, err := deployments.Get(t.Context(), d.Spec.DeploymentName, metav1.GetOptions{})
				switch {
				case err != nil:
					return "there is no Deployment"
				case *deployment.Spec.Replicas != *d.Spec.Replicas:
					return "the Deployment has other replicas"
				}
				return done
			},
			Check: func(failed grade.Failed) {
				if !failed.Request.Reads() || failed.Fault == grade.NotFound || len(failed.Requests) == failed.Request.Number {
					return
				}
				if next := failed.Requests[failed.Request.Number]; !next.Reads() {
					t.Reject(failed.String()+": nothing is written when it is not known what is there", "Sync has sent "+next.String(),
						"which errors of Get say that there is none?")
				}
			},
		}
	}}
	calls.FailEachRequest(t)
	calls.EndContext(t)
}

// syncUnlessConflict calls sync until there is no conflict with the Deployment controller, which writes into the Deployment,
// too. A controller would sync again.
func syncUnlessConflict(
	ctx context.Context, sync bugExistsAnswer, deployments typedappsv1.DeploymentInterface, d *dbv1alpha1.DatabaseManager,
) error {
	for {
		if err := sync(ctx, deployments, d); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func databaseWithReplicas(t *grade.T, name string, dbtype dbv1alpha1.DatabaseType, replicas int32) *dbv1alpha1.DatabaseManager {
	return &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, t.Rand.IntN(100)), UID: types.UID(fmt.Sprint(t.Rand.Uint64()))},
		Spec: dbv1alpha1.DatabaseManagerSpec{
			Dbtype: dbtype, DeploymentName: fmt.Sprintf("db-%s-%d", name, t.Rand.IntN(100)), Replicas: &replicas,
		},
	}
}

// wanted is what a Deployment has besides its name and its replicas.
func wanted(d *dbv1alpha1.DatabaseManager) string {
	labels := map[string]string{"app": string(d.Spec.Dbtype), "database": string(d.UID)}
	return fmt.Sprintf("owners [], labels map[], selector %v, pods with %v, container db, image %s:8.4.6", labels, labels, d.Spec.Dbtype)
}

func describe(deployment *appsv1.Deployment) string {
	owners := []string{}
	for _, owner := range deployment.OwnerReferences {
		owners = append(owners, owner.Kind+" "+owner.Name)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	return fmt.Sprintf("owners %v, labels %v, selector %v, pods with %v, container %s, image %s", owners, deployment.Labels,
		deployment.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels, container.Name, container.Image)
}

// sameSpec says whether a Deployment has the spec that the starter would give it. The server adds what a new one has by default.
func sameSpec(
	t *grade.T, deployments typedappsv1.DeploymentInterface, deployment *appsv1.Deployment, d *dbv1alpha1.DatabaseManager,
) bool {
	starters := starterDeployment(d)
	starters.GenerateName = "starter-"
	starters = testkit.Must(deployments.Create(t.Context(), starters, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}))(t)
	return apiequality.Semantic.DeepEqual(deployment.Spec, starters.Spec)
}

// starterDeployment is the Deployment that the starter would create, without its name.
func starterDeployment(d *dbv1alpha1.DatabaseManager) *appsv1.Deployment {
	labels := map[string]string{"app": string(d.Spec.Dbtype), "database": string(d.UID)}
	return &appsv1.Deployment{
		Spec: appsv1.DeploymentSpec{
			Replicas: d.Spec.Replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: string(d.Spec.Dbtype) + ":8.4.6"}}},
			},
		},
	}
}

func deploymentNames(t *grade.T, deployments typedappsv1.DeploymentInterface) []string {
	names := []string{}
	for _, deployment := range testkit.Must(deployments.List(t.Context(), metav1.ListOptions{}))(t).Items {
		names = append(names, deployment.Name)
	}
	return names
}
