package exercise_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/02-informer/exercises/07-transform"
	answers "example.com/client-go-workbook/02-informer/exercises/answers/07-transform"
	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(any) (any, error)

var grader = grade.Exercise[answer]{
	Learner:  exercise.Shrink,
	Accepted: []answer{answers.Shrink, answers.ReturnsANewObject},
	Rejected: []grade.Rejected[answer]{
		{Name: "trusts the annotation", Answer: answers.TrustsTheAnnotation, Says: "it still has the data"},
		{Name: "asserts a Secret", Answer: answers.AssertsASecret, Says: "*v1.ConfigMap, not *v1.Secret (mistakes.go:"},
		{Name: "fails for other types", Answer: answers.FailsForOtherTypes, Says: "it is not in the store"},
		{Name: "computes the checksum again", Answer: answers.ComputesTheChecksumAgain, Says: "the checksum of no data"},
	},
	Grade: func(t *grade.T, shrink answer) { t.Bubble(func(t *grade.T) { gradeShrink(t, shrink) }) },
}

func gradeShrink(t *grade.T, shrink answer) {
	server := fakeserver.Start(t)
	newSecret := func(name string, annotations map[string]string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations},
			Data:       map[string][]byte{"user": []byte("web"), "password": fmt.Appendf(nil, "secret-%d", t.Rand.IntN(10000))},
		}
	}
	early := newSecret("early", nil)
	marked := newSecret("marked", map[string]string{"example.com/sum": "not a checksum", "owner": "team"})
	server.Create(early)
	server.Create(marked)
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings"}, Data: map[string]string{"color": fmt.Sprint(t.Rand.IntN(100))},
	}

	// The informers of a factory with this transform.
	secrets := newInformer(t, server, "secrets", &corev1.Secret{}, shrink)
	synctest.Wait()
	expectSum(t, secrets, "after the first list", early)
	expectSum(t, secrets, "after the first list", marked)
	late := newSecret("late", nil)
	server.Create(late)
	synctest.Wait()
	expectSum(t, secrets, "after its creation", late)
	early.Data["password"] = []byte("another one")
	server.Update(early)
	synctest.Wait()
	expectSum(t, secrets, "after a change", early)
	server.Silence()
	time.Sleep(5 * time.Minute) // a relist
	expectSum(t, secrets, "after a relist", early)

	server.Create(settings)
	configMaps := newInformer(t, server, "configmaps", &corev1.ConfigMap{}, shrink)
	synctest.Wait()
	const expected = "the ConfigMap shop/settings is in its informer's store, with its data"
	const look = "what does a transform return for an object that is not a Secret?"
	switch stored, exists, _ := configMaps.GetStore().GetByKey("shop/settings"); {
	case !exists:
		t.Reject(expected, "it is not in the store", look)
	case stored.(*corev1.ConfigMap).Data["color"] != settings.Data["color"]:
		t.Reject(expected, "its data is different", look)
	}
}

func newInformer(t *grade.T, server *fakeserver.Server, resource string, object runtime.Object, shrink answer) cache.SharedIndexInformer {
	listWatch := cache.NewListWatchFromClient(server.Core().RESTClient(), resource, metav1.NamespaceAll, fields.Everything())
	informer := cache.NewSharedIndexInformer(listWatch, object, 0, nil)
	if err := informer.SetTransform(shrink); err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	return informer
}

// expectSum rejects the answer if the Secret in the store is not as it should be after a transform of this one.
func expectSum(t *grade.T, informer cache.SharedIndexInformer, when string, secret *corev1.Secret) {
	name := secret.Namespace + "/" + secret.Name
	stored, exists, _ := informer.GetStore().GetByKey(name)
	if !exists {
		t.Reject(fmt.Sprintf("%s, the Secret %s is in the store", when, name), "it is not", "an error of the transform keeps an object out")
	}
	small, ok := stored.(*corev1.Secret)
	if !ok {
		t.Reject(fmt.Sprintf("%s, the Secret %s is a *v1.Secret in the store", when, name), fmt.Sprintf("it is a %T", stored),
			"handlers expect the informer's type")
	}
	got, expected := small.Annotations["example.com/sum"], checksum(secret.Data)
	switch {
	case len(small.Data) > 0:
		t.Reject(fmt.Sprintf("%s, the Secret %s has no data in the store", when, name), "it still has the data",
			"how does Shrink find out that it has nothing to do?")
	case got == checksum(nil), got == checksum(map[string][]byte{}):
		t.Reject(fmt.Sprintf("%s, the Secret %s has the checksum of its data", when, name), "the checksum of no data",
			"what does the second call of Shrink get?")
	case got != expected:
		t.Reject(fmt.Sprintf("%s, the Secret %s has the checksum %.8s...", when, name, expected), fmt.Sprintf("%q", got),
			"the annotation example.com/sum")
	}
	for key, value := range secret.Annotations {
		if key != "example.com/sum" && small.Annotations[key] != value {
			t.Reject(fmt.Sprintf("the Secret %s keeps its annotation %s", name, key), fmt.Sprintf("%q", small.Annotations[key]),
				"which annotations does Shrink set?")
		}
	}
}

func checksum(data map[string][]byte) string {
	text, _ := json.Marshal(data)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }
