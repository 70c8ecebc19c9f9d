package exercise_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/08-adopt"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/08-adopt"
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
	name string,
) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Adopt,
	Accepted: []answer{answers.Adopt, answers.AsksForTheOwnerFirst},
	Rejected: []grade.Rejected[answer]{
		{Name: "adopts whatever has the name", Answer: answers.AdoptsWhateverHasTheName, Says: "nobody has asked for it"},
		{Name: "believes the store", Answer: answers.BelievesTheStore, Says: "was replaced by another one"},
		{Name: "writes without a version", Answer: answers.WritesWithoutAVersion, Says: "the user removes the annotation before the write"},
		{Name: "takes it from another owner", Answer: answers.TakesItFromAnotherOwner, Says: "it belongs to another DatabaseManager"},
	},
	Grade: gradeAdopt,
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

// server is what the grader asks and changes.
type server struct {
	t         *grade.T
	databases dbclient.DatabaseManagerInterface
	secrets   typedcorev1.SecretInterface
	team      metav1.OwnerReference // a ConfigMap, which owns each Secret, too
}

func gradeAdopt(t *grade.T, adopt answer) {
	config, namespace := isolatedgroup.Start(t)
	core := typedcorev1.NewForConfigOrDie(config)
	s := server{t: t, databases: dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace), secrets: core.Secrets(namespace)}
	configMap := testkit.Must(core.ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "team"}},
		metav1.CreateOptions{}))(t)
	s.team = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: configMap.Name, UID: configMap.UID}

	d, other := s.database("db"), s.database("other")
	asks := map[string]string{"coolops.cn/adopt": d.Name}
	recorded, writes := testkit.Writes(config)
	call := func(d *dbv1alpha1.DatabaseManager, secret *corev1.Secret) error {
		t.Doing("Adopt to return for Secret %s", secret.Name)
		writes()
		return adopt(t.Context(), dbclient.NewForConfigOrDie(recorded).DatabaseManagers(namespace),
			typedcorev1.NewForConfigOrDie(recorded).Secrets(namespace), d, secret.Name)
	}

	wanted := s.secret(asks)
	if err := call(d.DeepCopy(), wanted); err != nil {
		t.Reject("Adopt returns nil for a Secret with the annotation coolops.cn/adopt: "+d.Name, err.Error(),
			"the error, and the cases of the task")
	}
	now := s.get(wanted.Name)
	switch {
	case !metav1.IsControlledBy(now, d):
		t.Reject("the Secret's controller is the DatabaseManager", fmt.Sprintf("its owners are %s", owners(now)),
			"metav1.NewControllerRef, and metadata.ownerReferences")
	case len(now.OwnerReferences) != 2:
		t.Reject("the ConfigMap team is still an owner of the Secret", fmt.Sprintf("its owners are %s", owners(now)),
			"are the references added, or replaced?")
	case string(now.Data["password"]) != string(wanted.Data["password"]):
		t.Reject("the password stays", "it has changed", "what does your request write?")
	}
	if err := call(d.DeepCopy(), now); err != nil || len(writes()) > 0 {
		t.Reject("no error, and no request that writes, if the Secret belongs to d already", fmt.Sprintf("error %v, or a request", err),
			"metav1.IsControlledBy")
	}

	rejects := func(what, look string, d *dbv1alpha1.DatabaseManager, before *corev1.Secret) {
		err := call(d.DeepCopy(), before)
		now := s.get(before.Name)
		if !apiequality.Semantic.DeepEqual(now.OwnerReferences, before.OwnerReferences) {
			t.Reject("the Secret stays as it is: "+what, "its owners are "+owners(now), look)
		}
		if err == nil {
			t.Reject("Adopt returns an error: "+what, "it returns nil", look)
		}
	}
	look := "the annotation is the user's consent"
	rejects("nobody has asked for it", look, d, s.secret(nil))
	rejects("the annotation is for the DatabaseManager other", look, d, s.secret(map[string]string{"coolops.cn/adopt": "other"}))
	owned := s.secret(asks, *metav1.NewControllerRef(other, answers.Kind))
	rejects("it belongs to another DatabaseManager", "metav1.GetControllerOf", d, owned)

	// Somebody changes the Secret between a read and a write: at the first write.
	race := s.secret(asks)
	var changed bool
	recorded = testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if r.Method != http.MethodGet && !changed {
			changed = true
			patch := []byte(`{"metadata":{"annotations":null}}`)
			testkit.Must(s.secrets.Patch(t.Context(), race.Name, types.MergePatchType, patch, metav1.PatchOptions{}))(t)
		}
		return next.RoundTrip(r)
	})
	rejects("the user removes the annotation before the write", "how does the server know which version of the Secret you have read?", d,
		race)
	recorded = config

	look = "the store can be behind: the server knows"
	replaced := s.database("replaced")
	s.delete("replaced")
	s.database("replaced")
	rejects("the DatabaseManager was replaced by another one of its name", look, replaced,
		s.secret(map[string]string{"coolops.cn/adopt": "replaced"}))
	s.delete(d.Name)
	rejects("the DatabaseManager is being deleted", look, d, s.secret(asks))
}

func (s server) database(name string) *dbv1alpha1.DatabaseManager {
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: name},
	}
	if name == "db" {
		d.Finalizers = []string{"example.com/archive"} // it is only marked as deleted
	}
	return testkit.Must(s.databases.Create(s.t.Context(), d, metav1.CreateOptions{}))(s.t)
}

func (s server) delete(name string) {
	if err := s.databases.Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s server) secret(annotations map[string]string, owners ...metav1.OwnerReference) *corev1.Secret {
	return testkit.Must(s.secrets.Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "root-", Annotations: annotations, OwnerReferences: append(owners, s.team)},
		Data:       map[string][]byte{"password": fmt.Append(nil, s.t.Rand.Uint64())},
	}, metav1.CreateOptions{}))(s.t)
}

func (s server) get(name string) *corev1.Secret {
	return testkit.Must(s.secrets.Get(s.t.Context(), name, metav1.GetOptions{}))(s.t)
}

func owners(secret *corev1.Secret) string {
	names := []string{}
	for _, owner := range secret.OwnerReferences {
		names = append(names, owner.Kind+" "+owner.Name)
	}
	return fmt.Sprintf("%q", names)
}
