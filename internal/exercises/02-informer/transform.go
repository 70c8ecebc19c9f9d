package informer

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/fakeserver"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type transformAnswer = func(any) (any, error)

// Transform grades the answers to "A transform that is called twice".
var Transform = grade.Exercise[transformAnswer]{
	Grade: func(t *grade.T, shrink transformAnswer) { t.Bubble(func(t *grade.T) { gradeShrink(t, shrink) }) },
}

func gradeShrink(t *grade.T, shrink transformAnswer) {
	server := fakeserver.Start(t)
	newSecret := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: newMeta(namespace, name),
			Type:       corev1.SecretType("example.com/" + name),
			Data:       map[string][]byte{"user": []byte("web"), "password": fmt.Appendf(nil, "secret-%d", t.Rand.Int64())},
		}
	}
	early, other, fixed := newSecret("shop", "early"), newSecret("other", "early"), newSecret("shop", "fixed")
	fixed.Immutable = new(true)
	// These two arrive with an annotation: the checksum of other data, and the right one.
	marked, right := newSecret("shop", "marked"), newSecret("shop", "right")
	marked.Annotations["example.com/sum"] = checksum(early.Data)
	right.Annotations = map[string]string{"example.com/sum": checksum(right.Data)}
	early.Annotations = nil
	empty, bare := newSecret("shop", "empty"), newSecret("shop", "bare")
	empty.Data, bare.Data, bare.Annotations = nil, nil, nil
	all := []*corev1.Secret{early, other, fixed, marked, right, empty, bare}
	for _, secret := range all {
		server.Create(secret)
	}
	settings := &corev1.ConfigMap{
		ObjectMeta: newMeta("shop", "settings"), Data: map[string]string{"color": fmt.Sprint(t.Rand.IntN(100))},
		BinaryData: map[string][]byte{"logo": []byte("none")},
	}

	// The informers of a factory with this transform.
	secrets := newInformer(t, server, "secrets", &corev1.Secret{}, shrink)
	synctest.Wait()
	for _, secret := range all {
		expectSum(t, secrets, "after the first list", secret)
	}
	late := newSecret("shop", "late")
	server.Create(late)
	synctest.Wait()
	expectSum(t, secrets, "after its creation", late)
	early.Data["password"] = []byte("another one")
	server.Update(early)
	synctest.Wait()
	expectSum(t, secrets, "after a change", early)
	emptied := other.DeepCopy()
	emptied.Data, emptied.Annotations = nil, nil
	server.Update(emptied)
	synctest.Wait()
	expectSum(t, secrets, "after its data were removed", emptied)
	all[1] = emptied
	server.Silence()
	marked.Data["password"] = []byte("another one")
	server.Update(marked)
	time.Sleep(5 * time.Minute) // a relist
	for _, secret := range append(all, late) {
		expectSum(t, secrets, "after a relist", secret)
	}

	server.Create(settings)
	configMaps := newInformer(t, server, "configmaps", &corev1.ConfigMap{}, shrink)
	synctest.Wait()
	const expected = "the ConfigMap shop/settings is in its informer's store, as it is on the server"
	const look = "what does a transform return for an object that is not a Secret?"
	stored, exists, _ := configMaps.GetStore().GetByKey("shop/settings")
	if !exists {
		t.Reject(expected, "it is not in the store", look)
	}
	if part := difference(settings, stored.(*corev1.ConfigMap)); part != "" {
		t.Reject(expected, "its "+part+" is different", look)
	}
}

// newMeta returns metadata with all fields that a Secret on a server can have.
func newMeta(namespace, name string) metav1.ObjectMeta {
	now := metav1.Now().Rfc3339Copy()
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, GenerateName: name + "-", Generation: 1,
		Labels:            map[string]string{"app": name},
		Annotations:       map[string]string{"owner": "team", corev1.LastAppliedConfigAnnotation: "{}"},
		DeletionTimestamp: &now, DeletionGracePeriodSeconds: new(int64(0)), Finalizers: []string{"example.com/" + name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "settings", UID: "1"}},
		ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", Time: &now, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{}}`),
		}},
	}
}

func newInformer(
	t *grade.T, server *fakeserver.Server, resource string, object runtime.Object, shrink transformAnswer,
) cache.SharedIndexInformer {
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
	if len(small.Data) > 0 {
		t.Reject(fmt.Sprintf("%s, the Secret %s has no data in the store", when, name), "it still has the data",
			"how does Shrink find out that it has nothing to do?")
	}
	if len(secret.Data) == 0 {
		if part := difference(secret, small); part != "" {
			t.Reject(fmt.Sprintf("%s, the Secret %s is as it was: it had no data", when, name), "its "+part+" is different",
				"when does a Secret get a checksum? See Done when")
		}
		return
	}
	got, expected := small.Annotations["example.com/sum"], checksum(secret.Data)
	switch {
	case got == checksum(nil), got == checksum(map[string][]byte{}):
		t.Reject(fmt.Sprintf("%s, the Secret %s has the checksum of its data", when, name), "the checksum of no data",
			"what does the second call of Shrink get?")
	case got != expected:
		t.Reject(fmt.Sprintf("%s, the Secret %s has the checksum %.8s...", when, name, expected), fmt.Sprintf("%q", got),
			"the annotation example.com/sum")
	}
	want := secret.DeepCopy()
	metav1.SetMetaDataAnnotation(&want.ObjectMeta, "example.com/sum", expected)
	want.Data = nil
	if part := difference(want, small); part != "" {
		t.Reject(fmt.Sprintf("%s, the Secret %s has lost nothing but its data", when, name), "its "+part+" is different",
			"which fields does Shrink set, and which ones does a new object not have?")
	}
}

// difference names a part in which two objects differ: data, type, metadata.labels. What the server sets is left out.
func difference(want, got fakeserver.Object) string {
	want, got = want.DeepCopyObject().(fakeserver.Object), got.DeepCopyObject().(fakeserver.Object)
	if got.GetUID() == "" || got.GetResourceVersion() == "" {
		return "metadata"
	}
	want.SetUID(got.GetUID())
	want.SetResourceVersion(got.GetResourceVersion())
	want.SetCreationTimestamp(got.GetCreationTimestamp())
	parts, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(want) // cannot fail: API types
	others, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
	for _, object := range []map[string]any{parts, others} {
		delete(object, "kind")
		delete(object, "apiVersion")
	}
	part := differentKey(parts, others)
	if part == "metadata" {
		part += "." + differentKey(parts[part].(map[string]any), others[part].(map[string]any))
	}
	return part
}

// differentKey returns a key with different values in two maps, or an empty text.
func differentKey(a, b map[string]any) string {
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			if !reflect.DeepEqual(a[key], b[key]) {
				return key
			}
		}
	}
	return ""
}

func checksum(data map[string][]byte) string {
	text, _ := json.Marshal(data)
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
