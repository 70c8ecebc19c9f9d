package exercise_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	exercise "example.com/client-go-workbook/05-controller/exercises/09-stale-store"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/09-stale-store"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(
	ctx context.Context,
	lister corelisters.SecretLister,
	secrets typedcorev1.SecretInterface,
	configMap *corev1.ConfigMap,
) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.EnsureSecret,
	Accepted: []answer{answers.EnsureSecret, answers.AsksTheServer},
	Rejected: []grade.Rejected[answer]{
		{Name: "waits for the store", Answer: answers.WaitsForTheStore, Says: "it has 2"},
		{Name: "overwrites", Answer: answers.Overwrites, Says: "has another password"},
		{Name: "applies again", Answer: answers.AppliesAgain, Says: "has another password"},
		{Name: "takes any Secret for its own", Answer: answers.TakesAnySecretForItsOwn, Says: "it returns nil"},
	},
	Grade: func(t *grade.T, ensureSecret answer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		core := typedcorev1.NewForConfigOrDie(config)
		recorded, writes := testkit.Writes(config)
		g := &world{T: t, configMaps: core.ConfigMaps(namespace), secrets: core.Secrets(namespace)}
		learners := typedcorev1.NewForConfigOrDie(recorded).Secrets(namespace)
		store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		ensure := func(when string, configMap *corev1.ConfigMap) error {
			t.Doing("EnsureSecret is called: %s", when)
			return ensureSecret(t.Context(), corelisters.NewSecretLister(store), learners, configMap)
		}

		name := fmt.Sprintf("orders-%d", t.Rand.IntN(1000))
		orders := g.createConfigMap(name)
		if err := ensure("there is no Secret", orders); err != nil {
			t.Reject("EnsureSecret returns nil when there is no Secret", fmt.Sprintf("it returns: %v", err), "SecretInterface.Create")
		}
		first := g.secretOf("the first sync", orders)
		_ = ensure("the store does not have it yet", orders) // an error is allowed: the key comes back
		g.checkSame("a sync with a stale store", orders, first)
		billing := g.createConfigMap(name + "-billing")
		if err := ensure("another ConfigMap", billing); err != nil {
			t.Reject("EnsureSecret returns nil for another ConfigMap", fmt.Sprintf("it returns: %v", err), "SecretInterface.Create")
		}
		g.secretOf("the sync of another ConfigMap", billing)

		if err := store.Add(first); err != nil {
			t.Fatal(err)
		}
		writes()
		if err := ensure("the store has the Secret", orders); err != nil {
			t.Reject("EnsureSecret returns nil if the store has the Secret", fmt.Sprintf("it returns: %v", err), "SecretLister")
		}
		if sent := writes(); len(sent) > 0 {
			t.Reject("no write if the store has the Secret", "it sends "+strings.Join(sent, ", "), "SecretLister")
		}

		again := g.recreate(orders, first)
		if err := store.Delete(first); err != nil {
			t.Fatal(err)
		}
		err := ensure("the ConfigMap is a new one, and the old Secret is still there", again)
		if err == nil && len(g.controlled(again)) == 0 {
			t.Reject("an error, or a Secret that the new ConfigMap controls: the Secret of an earlier one is still there",
				"it returns nil, and there is no Secret of the new ConfigMap", "apierrors.IsAlreadyExists: whose is what exists already?")
		}
		g.checkSame("a sync of a new ConfigMap with the same name", orders, first)
	},
}

type world struct {
	*grade.T
	configMaps typedcorev1.ConfigMapInterface
	secrets    typedcorev1.SecretInterface
}

func (g *world) createConfigMap(name string) *corev1.ConfigMap {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return testkit.Must(g.configMaps.Create(g.Context(), configMap, metav1.CreateOptions{}))(g)
}

// controlled returns the Secrets that a ConfigMap controls.
func (g *world) controlled(configMap *corev1.ConfigMap) []corev1.Secret {
	list := testkit.Must(g.secrets.List(g.Context(), metav1.ListOptions{}))(g)
	return slices.DeleteFunc(list.Items, func(secret corev1.Secret) bool { return !metav1.IsControlledBy(&secret, configMap) })
}

// secretOf returns the only Secret of a ConfigMap.
func (g *world) secretOf(after string, configMap *corev1.ConfigMap) *corev1.Secret {
	secrets := g.controlled(configMap)
	if len(secrets) != 1 {
		g.Reject(fmt.Sprintf("after %s, ConfigMap %s controls one Secret", after, configMap.Name), fmt.Sprintf("it has %d", len(secrets)),
			`metav1.OwnerReference; the section "Why" of the chapter, "A store can be stale"`)
	}
	if len(secrets[0].Data["password"]) < 10 {
		g.Reject("the Secret has a password of at least ten characters", fmt.Sprintf("it has %q", secrets[0].Data["password"]), "rand.Text")
	}
	return &secrets[0]
}

// checkSame checks that a ConfigMap's Secret is as it was.
func (g *world) checkSame(after string, configMap *corev1.ConfigMap, before *corev1.Secret) {
	now := g.secretOf(after, configMap)
	switch {
	case now.UID != before.UID:
		g.Reject("after "+after+", the Secret is the same one", "it is another one", "apierrors.IsAlreadyExists")
	case string(now.Data["password"]) != string(before.Data["password"]):
		g.Reject("after "+after+", the Secret has the same password", "it has another password", "apierrors.IsAlreadyExists")
	}
}

// recreate deletes a ConfigMap and creates it again. A finalizer keeps its Secret from the garbage collector until the end.
func (g *world) recreate(configMap *corev1.ConfigMap, secret *corev1.Secret) *corev1.ConfigMap {
	patch := func(patch string) error {
		_, err := g.secrets.Patch(context.Background(), secret.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	g.Cleanup(func() { _ = patch(`{"metadata":{"finalizers":null}}`) })
	if err := patch(`{"metadata":{"finalizers":["example.com/keep"]}}`); err != nil {
		g.Fatal(err)
	}
	if err := g.configMaps.Delete(g.Context(), configMap.Name, metav1.DeleteOptions{}); err != nil {
		g.Fatal(err)
	}
	return g.createConfigMap(configMap.Name)
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
