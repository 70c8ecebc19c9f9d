package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/readfault"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type staleStoreAnswer = func(
	ctx context.Context,
	lister corelisters.SecretLister,
	secrets typedcorev1.SecretInterface,
	configMap *corev1.ConfigMap,
) error

// StaleStore grades the answers to "A stale store must not make two".
var StaleStore = grade.Exercise[staleStoreAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, ensureSecret staleStoreAnswer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		core := typedcorev1.NewForConfigOrDie(config)
		g := &secretWorld{T: t, configMaps: core.ConfigMaps(namespace), secrets: core.Secrets(namespace)}
		recorded, requests := grade.Failing(g.withStaleCache(config), 0, "")
		learners := typedcorev1.NewForConfigOrDie(recorded).Secrets(namespace)
		store := newStore()
		ensure := func(when string, configMap *corev1.ConfigMap) (sent []grade.Request, err error) {
			t.Doing("EnsureSecret is called: %s", when)
			before := len(requests.All())
			unchanged := t.Unchanged(append(store.List(), configMap)...)
			err = ensureSecret(t.Context(), corelisters.NewSecretLister(store), learners, configMap)
			unchanged()
			return requests.All()[before:], err
		}

		name := fmt.Sprintf("orders-%d", t.Rand.IntN(1000))
		orders := g.createConfigMap(name)
		sent, err := ensure("there is no Secret", orders)
		if err != nil {
			t.Reject("EnsureSecret returns nil when there is no Secret", fmt.Sprintf("it returns: %v", err), "SecretInterface.Create")
		}
		first := g.secretOf("the first sync", orders)
		for _, other := range []string{"z-last", "a-first"} { // the answer's Secret is the first in a list, and then the last but one
			_ = store.Add(g.createSecret(other))
			_, _ = ensure("the store does not have it yet", orders) // an error is allowed: the key comes back
			g.checkSame("a sync with a stale store", orders, first)
		}
		passwords := []string{password(first)}
		for _, other := range []struct{ what, name string }{
			{"another ConfigMap", name + "-billing"},
			{"a ConfigMap with a long name", longName(name, "a")},
			{"another ConfigMap, whose long name ends with another letter", longName(name, "b")},
		} {
			configMap := g.createConfigMap(other.name)
			if _, err := ensure(other.what, configMap); err != nil {
				t.Reject("EnsureSecret returns nil for "+other.what, "it returns: "+strings.ReplaceAll(err.Error(), other.name, "NAME"),
					"a name has at most 253 characters, a label 63")
			}
			secret := g.secretOf("the sync of "+other.what, configMap)
			if slices.Contains(passwords, password(secret)) {
				t.Reject("each Secret has a password of its own", "two have the same", "rand.Text")
			}
			passwords = append(passwords, password(secret))
		}

		// The connection breaks after a create, and then the store is still stale.
		lost := g.createConfigMap(name + "-lost")
		create := slices.IndexFunc(sent, func(request grade.Request) bool { return !request.Reads() }) + 1
		breaking, _ := grade.Failing(g.withStaleCache(config), create, grade.AnswerLost)
		t.Doing("EnsureSecret is called: the answer of Create is lost")
		_ = ensureSecret(t.Context(), corelisters.NewSecretLister(store),
			typedcorev1.NewForConfigOrDie(breaking).Secrets(namespace), lost)
		_, _ = ensure("the answer of Create was lost, and the store does not have it yet", lost)
		left := g.secretOf("a Create whose answer was lost, and another sync", lost)
		if err := g.secrets.Delete(t.Context(), left.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		_, _ = ensure("somebody has deleted the Secret, and the store does not have it", lost)
		g.secretOf("a sync when somebody has deleted the Secret", lost)

		_ = store.Add(first)
		sent, err = ensure("the store has the Secret", orders)
		if err != nil {
			t.Reject("EnsureSecret returns nil if the store has the Secret", fmt.Sprintf("it returns: %v", err), "SecretLister")
		}
		if len(sent) > 0 {
			t.Reject("no request if the store has the Secret", "it sends "+describeRequest(sent[0]), "SecretLister")
		}

		again := g.recreate(orders, first)
		for _, c := range []struct {
			when  string
			store cache.Indexer
		}{
			{"the ConfigMap is a new one, the old Secret is on the server", newStore()},
			{"the ConfigMap is a new one, the old Secret is in the store", newStore(first)},
		} {
			store = c.store
			sent, err := ensure(c.when, again)
			for _, request := range sent {
				if !request.Reads() && request.Name == first.Name {
					t.Reject(c.when+": it is not touched", "it sends "+describeRequest(request),
						"whose Secret is it? metav1.IsControlledBy")
				}
			}
			if err == nil && len(g.controlled(again)) == 0 {
				t.Reject(c.when+": an error, or a new Secret",
					"it returns nil, and the new ConfigMap controls no Secret", "whose is what exists already? metav1.IsControlledBy")
			}
			g.checkSame("a sync of a new ConfigMap with the same name", orders, first)
		}

		t.Doing("EnsureSecret is called, and the lister returns an error")
		if err := ensureSecret(t.Context(), brokenLister{}, learners, g.createConfigMap(name+"-unread")); err == nil {
			t.Reject("EnsureSecret returns an error when the lister does", "it returns nil", "SecretNamespaceLister: Get and List")
		}
		calls := &grade.Calls{
			Name: "EnsureSecret", Config: config, Done: "the ConfigMap has one Secret", Right: readfault.Right,
			New: func(number int) grade.Case {
				return g.newCase(g.createConfigMap(fmt.Sprintf("%s-%d", name, number)), ensureSecret)
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

// longName returns a name that is as long as a ConfigMap's can be.
func longName(begin, end string) string {
	const most = 253
	return begin + strings.Repeat("-x", most)[:most-len(begin+end)] + end
}

// describeRequest says what a request does: "DELETE secrets/orders".
func describeRequest(request grade.Request) string {
	return strings.TrimSuffix(request.Method+" "+request.Resource+"/"+request.Name, "/")
}

func newStore(secrets ...*corev1.Secret) cache.Indexer {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, secret := range secrets {
		_ = store.Add(secret) // it never fails: each Secret has a name
	}
	return store
}

// brokenLister returns errors only.
type brokenLister struct{}

var errBroken = errors.New("the store cannot be read")

func (brokenLister) List(labels.Selector) ([]*corev1.Secret, error)     { return nil, errBroken }
func (brokenLister) Get(string) (*corev1.Secret, error)                 { return nil, errBroken }
func (l brokenLister) Secrets(string) corelisters.SecretNamespaceLister { return l }

type secretWorld struct {
	*grade.T
	configMaps typedcorev1.ConfigMapInterface
	secrets    typedcorev1.SecretInterface
}

// withStaleCache returns a configuration for a server whose watch cache has no Secret yet. It answers by this cache where the
// client says that any version will do.
func (g *secretWorld) withStaleCache(config *rest.Config) *rest.Config {
	empty := testkit.Must(g.secrets.List(g.Context(), metav1.ListOptions{}))(g)
	return testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		query := request.URL.Query()
		if request.Method == http.MethodGet && query.Get("resourceVersion") == "0" {
			request = request.Clone(request.Context())
			query.Set("resourceVersion", empty.ResourceVersion)
			query.Set("resourceVersionMatch", string(metav1.ResourceVersionMatchExact))
			request.URL.RawQuery = query.Encode()
		}
		return next.RoundTrip(request)
	})
}

// newCase makes a case in which a request fails: the store is empty at first, and has what there is at the next call.
func (g *secretWorld) newCase(configMap *corev1.ConfigMap, ensureSecret staleStoreAnswer) grade.Case {
	return grade.Case{
		Call: func(ctx context.Context, config *rest.Config) error {
			store := newStore()
			for _, secret := range g.controlled(configMap) {
				_ = store.Add(&secret)
			}
			learners := typedcorev1.NewForConfigOrDie(config).Secrets(configMap.Namespace)
			return ensureSecret(ctx, corelisters.NewSecretLister(store), learners, configMap)
		},
		Check: readfault.Check(g.T),
		State: func() string {
			switch n := len(g.controlled(configMap)); n {
			case 0:
				return "the ConfigMap has no Secret"
			case 1:
				return "the ConfigMap has one Secret"
			default:
				return fmt.Sprintf("the ConfigMap has %d Secrets", n)
			}
		},
	}
}

func (g *secretWorld) createSecret(name string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return testkit.Must(g.secrets.Create(g.Context(), secret, metav1.CreateOptions{}))(g)
}

func (g *secretWorld) createConfigMap(name string) *corev1.ConfigMap {
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	return testkit.Must(g.configMaps.Create(g.Context(), configMap, metav1.CreateOptions{}))(g)
}

// controlled returns the Secrets that a ConfigMap controls.
func (g *secretWorld) controlled(configMap *corev1.ConfigMap) []corev1.Secret {
	list := testkit.Must(g.secrets.List(g.Context(), metav1.ListOptions{}))(g)
	return slices.DeleteFunc(list.Items, func(secret corev1.Secret) bool { return !metav1.IsControlledBy(&secret, configMap) })
}

// secretOf returns the only Secret of a ConfigMap.
func (g *secretWorld) secretOf(after string, configMap *corev1.ConfigMap) *corev1.Secret {
	secrets := g.controlled(configMap)
	if len(secrets) != 1 {
		g.Reject(fmt.Sprintf("after %s, ConfigMap %.40s controls one Secret", after, configMap.Name),
			fmt.Sprintf("it has %d", len(secrets)),
			`metav1.OwnerReference; the section "Why" of the chapter, "A store can be stale"`)
	}
	secret := &secrets[0]
	if len(password(secret)) < 10 {
		g.Reject("the Secret has a password of at least ten characters", fmt.Sprintf("it has %q", password(secret)), "rand.Text")
	}
	owner := metav1.GetControllerOf(secret)
	if got, want := owner.APIVersion+" "+owner.Kind+" "+owner.Name, "v1 ConfigMap "+configMap.Name; got != want {
		g.Reject("the owner reference of the Secret names "+want, "it names "+got, "metav1.NewControllerRef")
	}
	return secret
}

func password(secret *corev1.Secret) string { return string(secret.Data["password"]) }

// checkSame checks that a ConfigMap's Secret is as it was.
func (g *secretWorld) checkSame(after string, configMap *corev1.ConfigMap, before *corev1.Secret) {
	now := g.secretOf(after, configMap)
	switch {
	case now.UID != before.UID:
		g.Reject("after "+after+", the Secret is the same one", "it is another one", "apierrors.IsAlreadyExists")
	case password(now) != password(before):
		g.Reject("after "+after+", the Secret has the same password", "it has another password", "apierrors.IsAlreadyExists")
	}
}

// recreate deletes a ConfigMap and creates it again. A finalizer keeps its Secret from the garbage collector until the end.
func (g *secretWorld) recreate(configMap *corev1.ConfigMap, secret *corev1.Secret) *corev1.ConfigMap {
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
