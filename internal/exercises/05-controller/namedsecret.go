package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/podinformer"
	"example.com/client-go-workbook/internal/exercises/podstore"
)

type namedSecretAnswer = func(
	configMaps cache.TypedSharedIndexInformer[*corev1.ConfigMap],
	secrets cache.TypedSharedIndexInformer[*corev1.Secret],
	add func(key cache.ObjectName),
) error

// NamedSecret grades the answers to "Sync when a Secret changes that is not yours".
var NamedSecret = grade.Exercise[namedSecretAnswer]{
	Grade: func(t *grade.T, watch namedSecretAnswer) {
		t.Bubble(func(t *grade.T) { gradeNamedSecret(t, watch) })
		t.Bubble(func(t *grade.T) { informersFail(t, watch) })
	},
}

const (
	lookAtHandlers = "which events of which informer call add?"
	lookAtIndex    = "an index of the ConfigMaps, by what they name"
	lookAtNow      = "what does a ConfigMap name, since its update?"
)

func gradeNamedSecret(t *grade.T, watch namedSecretAnswer) {
	n := &named{T: t, configMaps: cachetesting.NewFakeControllerSource(), secrets: cachetesting.NewFakeControllerSource()}
	secret, late, other := n.name("password"), n.name("late"), n.name("other")
	one, two, three := configMap("shop", "one", secret), configMap("shop", "two", secret), configMap("shop", "three", other)
	elsewhere, waits, none := configMap("bank", "one", secret), configMap("shop", "waits", late), configMap("shop", "none", "")
	first := []*corev1.ConfigMap{
		one, two, three, elsewhere, waits, none,
		configMap("sho", "one", "p"+secret), configMap("shop-a", "one", secret), // with "shop" and the Secrets' names, nearly the same text
	}
	for i := range 30 { // nothing happens to these
		first = append(first, configMap("shop", fmt.Sprintf("other-%d", i), fmt.Sprintf("of-%d", i)),
			configMap(fmt.Sprintf("namespace-%d", i), "one", secret))
	}
	for _, configMap := range first {
		n.configMaps.Add(configMap.DeepCopy())
	}
	password, others, banks := newSecret("shop", secret), newSecret("shop", other), newSecret("bank", secret)
	unnamed, sameName := newSecret("shop", "a-"+secret), newSecret("shop", one.Name) // no ConfigMap names these
	for _, s := range []*corev1.Secret{password, others, banks, unnamed, sameName} {
		n.secrets.Add(s.DeepCopy())
	}

	informer := n.informer(n.configMaps, &corev1.ConfigMap{})
	n.store = &podstore.Store{Indexer: informer.GetIndexer()}
	configMaps := counted{informer, n.store}
	secrets := n.informer(n.secrets, &corev1.Secret{})
	t.Doing("Watch returns")
	if err := watch(
		cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](configMaps), cache.NewTypedSharedIndexInformer[*corev1.Secret](secrets), n.add,
	); err != nil {
		t.Reject("Watch returns nil", "it returns: "+err.Error(), "the words of the error")
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group wait.Group
	group.StartWithContext(ctx, configMaps.RunWithContext)
	n.expect("a first list of ConfigMaps", lookAtHandlers, first...)
	group.StartWithContext(ctx, secrets.RunWithContext)
	n.expect("a first list of Secrets", "two namespaces can have a Secret of the same name", one, two, three, elsewhere)

	// ConfigMaps, and what they name.
	n.changeConfigMap(one, func(*corev1.ConfigMap) {})
	n.expect("a change of ConfigMap "+key(one), lookAtHandlers, one)
	n.changeConfigMap(one, func(c *corev1.ConfigMap) { c.Labels = map[string]string{"tier": "front"} })
	n.expect("a change of the labels of ConfigMap "+key(one), lookAtHandlers, one)
	created := configMap("shop", "created", secret)
	n.configMaps.Add(created.DeepCopy())
	n.expect("the creation of ConfigMap "+key(created), lookAtHandlers, created)
	n.changeSecret(password)
	n.expect("a change of Secret "+key(password), lookAtIndex, one, two, created)
	n.changeSecret(password)
	synctest.Wait()
	n.take()
	n.changeSecret(password)
	n.expect("a change of Secret "+key(password)+" soon after another one", lookAtHandlers, one, two, created)
	n.changeSecret(banks)
	n.expect("a change of Secret "+key(banks), "two namespaces can have a Secret of the same name", elsewhere)
	for _, secret := range []*corev1.Secret{unnamed, sameName} {
		n.changeSecret(secret)
		n.expect("a change of Secret "+key(secret)+", which no ConfigMap names", "namespace, name, and what is between them in an index")
	}
	one = n.names(one, other)
	n.expect("a change of what ConfigMap "+key(one)+" names", lookAtHandlers, one)
	n.changeSecret(others)
	n.expect("a change of Secret "+key(others)+", which ConfigMap "+key(one)+" names now", lookAtNow, one, three)
	n.changeSecret(password)
	n.expect("a change of Secret "+key(password)+", which ConfigMap "+key(one)+" does not name any more", lookAtNow, two, created)
	none = n.names(none, other)
	n.expect("a change of what ConfigMap "+key(none)+" names, which has named none", lookAtHandlers, none)
	three = n.names(three, "")
	n.expect("a change of what ConfigMap "+key(three)+" names", lookAtHandlers, three)
	n.changeSecret(others)
	n.expect(fmt.Sprintf("a change of Secret %s, which ConfigMap %s names now, and %s does not", key(others), key(none), key(three)),
		lookAtNow, one, none)
	n.changeConfigMap(created, func(c *corev1.ConfigMap) { c.DeletionTimestamp = new(metav1.Now()) })
	n.expect("the beginning of the deletion of ConfigMap "+key(created), lookAtHandlers, created)
	n.configMaps.Delete(created.DeepCopy())
	n.expect("the deletion of ConfigMap "+key(created), lookAtHandlers, created)
	n.changeSecret(password)
	n.expect("a change of a Secret, when one of the ConfigMaps that name it is gone", lookAtIndex, two)

	// Secrets that come and go.
	lates := newSecret("shop", late)
	n.secrets.Add(lates.DeepCopy())
	n.expect("the creation of Secret "+key(lates)+", which a ConfigMap has named for long", lookAtHandlers, waits)
	n.secrets.Delete(lates.DeepCopy())
	n.expect("the deletion of Secret "+key(lates), lookAtHandlers, waits)
	n.secrets.Add(lates.DeepCopy())
	n.expect("the creation of Secret "+key(lates)+" after its deletion", lookAtHandlers, waits)

	// The handlers of the two informers run at the same time, which the race detector sees.
	for i := range 200 {
		n.changeSecret(others)
		three = n.names(three, []string{other, ""}[i%2])
	}
	n.settle()
	n.read = n.store.Read()
	n.expect("200 changes of a Secret, and of the ConfigMaps that name it", lookAtHandlers, one, none, three)

	// What the informers have missed. A new list may bring other objects again.
	n.secrets.DeleteDropWatch(lates.DeepCopy())
	n.secrets.ResetWatch()
	n.expectWith("the deletion of Secret "+key(lates)+", which the informer has missed", lookAtHandlers,
		[]*corev1.ConfigMap{one, two, none, elsewhere}, waits)
	n.configMaps.DeleteDropWatch(two.DeepCopy())
	n.configMaps.ResetWatch()
	n.settle()
	n.includes("the deletion of ConfigMap "+key(two)+", which the informer has missed", two)
	n.changeSecret(password)
	n.expect("a change of a Secret that no ConfigMap names any more", lookAtIndex)

	stop()
	group.Wait()
	n.configMaps.Shutdown()
	n.secrets.Shutdown()
}

// informersFail has the methods of the informers return errors, one after the other.
func informersFail(t *grade.T, watch namedSecretAnswer) {
	server := cachetesting.NewFakeControllerSource()
	defer server.Shutdown()
	for fails := 1; ; fails++ {
		calls := 0
		failure := fmt.Errorf("the informer has stopped already: %d", t.Rand.IntN(1000))
		failing := func(example runtime.Object) cache.SharedIndexInformer {
			informer := cache.NewSharedIndexInformer(server, example, 0, cache.Indexers{})
			return &failingInformer{SharedIndexInformer: informer, fails: func() error {
				if calls++; calls == fails {
					return failure
				}
				return nil
			}}
		}
		err := watch(
			cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](failing(&corev1.ConfigMap{})),
			cache.NewTypedSharedIndexInformer[*corev1.Secret](failing(&corev1.Secret{})),
			func(cache.ObjectName) {},
		)
		if calls < fails {
			return // each has failed once
		}
		if !errors.Is(err, failure) {
			t.Reject("Watch returns the error of an informer", fmt.Sprintf("it returns: %v", err),
				"what does the method return that adds a handler, or an index? With words of yours, wrap it by %w")
		}
	}
}

// named has the ConfigMaps and Secrets, and the keys that the answer has added.
type named struct {
	*grade.T
	configMaps, secrets *cachetesting.FakeControllerSource
	changes             int
	store               *podstore.Store // of the ConfigMaps
	read                int             // from it, so far

	mu    sync.Mutex
	added sets.Set[cache.ObjectName]
}

func (n *named) add(key cache.ObjectName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.added == nil {
		n.added = sets.New[cache.ObjectName]()
	}
	n.added.Insert(key)
}

// settle waits until the informers have nothing more to tell: a new list comes after a few seconds.
func (n *named) settle() {
	time.Sleep(10 * time.Second)
	synctest.Wait()
}

// take returns the keys since the last call.
func (n *named) take() sets.Set[cache.ObjectName] {
	n.mu.Lock()
	defer n.mu.Unlock()
	added := n.added
	n.added = nil
	return added
}

// includes rejects the answer if a key is missing.
func (n *named) includes(event string, configMaps ...*corev1.ConfigMap) sets.Set[cache.ObjectName] {
	n.Helper()
	added := n.take()
	for _, configMap := range configMaps {
		if key := cache.MetaObjectToName(configMap); !added.Has(key) {
			n.Reject(fmt.Sprintf("after %s, add is called with %s", event, key), "with "+list(added), lookAtHandlers)
		}
		added.Delete(cache.MetaObjectToName(configMap))
	}
	return added
}

// expect rejects the answer if a key is missing, or one too many, or if much was read for it.
func (n *named) expect(event, look string, configMaps ...*corev1.ConfigMap) {
	n.Helper()
	n.expectWith(event, look, nil, configMaps...)
}

// expectWith is expect, and others are allowed, too.
func (n *named) expectWith(event, look string, others []*corev1.ConfigMap, configMaps ...*corev1.ConfigMap) {
	n.Helper()
	n.settle()
	more := n.includes(event, configMaps...)
	for _, configMap := range others {
		more.Delete(cache.MetaObjectToName(configMap))
	}
	if len(more) > 0 {
		n.Reject(fmt.Sprintf("after %s, add is called with the keys of %d ConfigMap(s)", event, len(configMaps)),
			"also with "+list(more), look)
	}
	before := n.read
	n.read = n.store.Read()
	if read := n.read - before; read > 20 && len(configMaps) < 10 {
		n.Reject(fmt.Sprintf("after %s, only those of more than 60 ConfigMaps are read that name the Secret", event),
			fmt.Sprintf("%d ConfigMaps or keys were read from the informer's store", read), lookAtIndex)
	}
}

// list is some of the keys, as text.
func list(keys sets.Set[cache.ObjectName]) string {
	var names []string
	for key := range keys {
		names = append(names, key.String())
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names[:min(3, len(names))], ", ")
}

// name is another one each time.
func (n *named) name(prefix string) string { return fmt.Sprintf("%s-%d", prefix, n.Rand.IntN(1000)) }

func key(object metav1.Object) string { return cache.MetaObjectToName(object).String() }

func configMap(namespace, name, secret string) *corev1.ConfigMap {
	configMap := &corev1.ConfigMap{ObjectMeta: objectMeta(namespace, name)}
	if secret != "" {
		configMap.Data = map[string]string{"secret": secret}
	}
	return configMap
}

func newSecret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: objectMeta(namespace, name)}
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + " " + name)}
}

// names changes what the ConfigMap names. The informer has the one before.
func (n *named) names(before *corev1.ConfigMap, secret string) *corev1.ConfigMap {
	after := configMap(before.Namespace, before.Name, secret)
	n.configMaps.Modify(after.DeepCopy())
	return after
}

// changeConfigMap changes what the ConfigMap has besides the name of a Secret.
func (n *named) changeConfigMap(configMap *corev1.ConfigMap, change func(*corev1.ConfigMap)) {
	configMap = configMap.DeepCopy()
	configMap.Data["change"] = "is the same from now on"
	change(configMap)
	n.configMaps.Modify(configMap)
}

func (n *named) changeSecret(secret *corev1.Secret) {
	secret = secret.DeepCopy()
	n.changes++
	secret.Data = map[string][]byte{"change": []byte(fmt.Sprint(n.changes))}
	n.secrets.Modify(secret)
}

// informer has handlers that do not learn what an object was whose deletion was missed.
func (n *named) informer(server cache.ListerWatcher, example runtime.Object) cache.SharedIndexInformer {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc} // as a factory's informers have it
	return podinformer.Changed{
		SharedIndexInformer: cache.NewSharedIndexInformer(server, example, 0, byNamespace),
		Handler:             func(added cache.ResourceEventHandler) cache.ResourceEventHandler { return forgetful{added} },
	}
}

type forgetful struct{ cache.ResourceEventHandler }

func (h forgetful) OnDelete(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = cache.DeletedFinalStateUnknown{Key: tombstone.Key}
	}
	h.ResourceEventHandler.OnDelete(object)
}

// counted is an informer whose store counts what an answer reads.
type counted struct {
	cache.SharedIndexInformer
	store *podstore.Store
}

func (c counted) GetIndexer() cache.Indexer { return c.store }
func (c counted) GetStore() cache.Store     { return c.store }

// failingInformer asks fails for the error of each method that has one.
type failingInformer struct {
	cache.SharedIndexInformer
	fails func() error
}

func (i *failingInformer) AddIndexers(indexers cache.Indexers) error {
	if err := i.fails(); err != nil {
		return err
	}
	return i.SharedIndexInformer.AddIndexers(indexers)
}

func (i *failingInformer) GetIndexer() cache.Indexer {
	return failingIndexer{i.SharedIndexInformer.GetIndexer(), i.fails}
}

type failingIndexer struct {
	cache.Indexer
	fails func() error
}

func (i failingIndexer) AddIndexers(indexers cache.Indexers) error {
	if err := i.fails(); err != nil {
		return err
	}
	return i.Indexer.AddIndexers(indexers)
}

func (i *failingInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	if err := i.fails(); err != nil {
		return nil, err
	}
	return i.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

func (i *failingInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}
