package exercise_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/07-retain"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/07-retain"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Release,
	Accepted: []answer{answers.Release, answers.PatchesOneOwnerAway},
	Rejected: []grade.Rejected[answer]{
		{Name: "removes the finalizer first", Answer: answers.RemovesTheFinalizerFirst, Says: "the finalizer stays until"},
		{Name: "ignores that a child has failed", Answer: answers.IgnoresThatAChildHasFailed, Says: "the finalizer stays until"},
		{Name: "removes all owners", Answer: answers.RemovesAllOwners, Says: "other owners"},
		{Name: "removes all owners of that name", Answer: answers.RemovesAllOwnersOfThatName, Says: "other owners"},
		{Name: "removes all finalizers", Answer: answers.RemovesAllFinalizers, Says: "example.com/archive"},
	},
	Grade: gradeRetain,
}

var databaseManager = schema.GroupVersionKind{Group: dbv1alpha1.GroupName, Version: "v1alpha1", Kind: "DatabaseManager"}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

func gradeRetain(t *grade.T, release answer) {
	config, namespace := isolatedgroup.Start(t)
	databases := dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace)
	core := typedcorev1.NewForConfigOrDie(config)
	secrets := core.Secrets(namespace)

	d := testkit.Must(databases.Create(t.Context(), &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Finalizers: []string{"example.com/archive", "coolops.cn/retain"}},
		Spec: dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db",
			DeletionPolicy: dbv1alpha1.DeletionPolicyRetain},
	}, metav1.CreateOptions{}))(t)
	configMap := testkit.Must(core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "db"}},
		metav1.CreateOptions{}))(t)
	team := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: configMap.Name, UID: configMap.UID}
	var names []string
	for i := range 3 + t.Rand.IntN(3) {
		name := fmt.Sprintf("s-%d-%d", i, t.Rand.IntN(1000))
		testkit.Must(secrets.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name:   name,
				Labels: map[string]string{"coolops.cn/databasemanager": string(d.UID)},
				OwnerReferences: []metav1.OwnerReference{team, *metav1.NewControllerRef(d,
					databaseManager)},
			},
			Data: map[string][]byte{"password": []byte(name)},
		}, metav1.CreateOptions{}))(t)
		names = append(names, name)
	}
	if err := databases.Delete(t.Context(), "db", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d = testkit.Must(databases.Get(t.Context(), "db", metav1.GetOptions{}))(t)

	// The first time, the write of one Secret fails.
	denied := names[t.Rand.IntN(len(names))]
	var deny atomic.Bool
	deny.Store(true)
	failing := testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if deny.Load() && r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets/"+denied) {
			return nil, fmt.Errorf("the connection is gone")
		}
		return next.RoundTrip(r)
	})
	call := func() error {
		return release(t.Context(), dbclient.NewForConfigOrDie(failing).DatabaseManagers(namespace),
			typedcorev1.NewForConfigOrDie(failing).Secrets(namespace), d.DeepCopy())
	}
	t.Doing("Release to return, while the write of Secret %s fails", denied)
	err := call()
	now := testkit.Must(databases.Get(t.Context(), "db", metav1.GetOptions{}))(t)
	if !slices.Contains(now.Finalizers, "coolops.cn/retain") {
		t.Reject("the finalizer stays until every child is released", fmt.Sprintf("it is gone, and Secret %s still refers to the owner",
			denied),
			"when the last finalizer goes, the object goes, and the garbage collector deletes its children")
	}
	if err == nil {
		t.Reject("Release returns an error when the write of a Secret fails", "it returns nil",
			"with nil, the controller does not call it again")
	}

	t.Doing("Release to return the second time")
	deny.Store(false)
	if err := call(); err != nil {
		t.Reject("the second call succeeds", err.Error(), "it begins with Secrets that are released already")
	}
	for _, name := range names {
		secret, err := secrets.Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			t.Reject("Secret "+name+" is there", "it is gone", "Release deletes nothing")
		case err != nil:
			t.Fatal(err)
		case slices.ContainsFunc(secret.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == d.UID }):
			t.Reject("no Secret refers to the DatabaseManager", "Secret "+name+" does", "metadata.ownerReferences of each child")
		case len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != team.UID:
			t.Reject("other owners of a Secret stay", fmt.Sprintf("Secret %s has %d owners, it had a ConfigMap", name,
				len(secret.OwnerReferences)),
				"which of the references have the owner's UID?")
		case string(secret.Data["password"]) != name:
			t.Reject("the data of Secret "+name+" stay", "they have changed", "what does your request write?")
		}
	}
	now, err = databases.Get(t.Context(), "db", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !slices.Contains(now.Finalizers, "example.com/archive") {
		t.Reject("the finalizer example.com/archive stays: it belongs to somebody else", "it is gone",
			"which finalizers does your request have?")
	}
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(now.Finalizers, "coolops.cn/retain") {
		t.Reject("the finalizer coolops.cn/retain is gone when Release has succeeded", "it is there: the object can never go",
			"metadata.finalizers of the DatabaseManager")
	}
}
