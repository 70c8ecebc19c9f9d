package codegen

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type retainAnswer = func(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
) error

// Retain grades the answers to "Retain on delete".
var Retain = grade.Exercise[retainAnswer]{
	Cluster: true,
	Timeout: time.Minute, // it sends more requests than other graders
	Grade:   gradeRetain,
}

var databaseManager = schema.GroupVersionKind{Group: dbv1alpha1.GroupName, Version: "v1alpha1", Kind: "DatabaseManager"}

const retainFinalizer = "coolops.cn/retain"

// retainWorld is what the answer works on.
type retainWorld struct {
	*grade.T
	config    *rest.Config
	databases dbclient.DatabaseManagerInterface
	secrets   typedcorev1.SecretInterface
	namespace string
	team      metav1.OwnerReference // of a ConfigMap
}

func newRetainWorld(t *grade.T, config *rest.Config, namespace string) *retainWorld {
	core := typedcorev1.NewForConfigOrDie(config)
	configMap := testkit.Must(core.ConfigMaps(namespace).Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "db"}}, metav1.CreateOptions{}))(t)
	return &retainWorld{
		T: t, config: config, namespace: namespace,
		databases: dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace),
		secrets:   core.Secrets(namespace),
		team:      metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: configMap.Name, UID: configMap.UID},
	}
}

func gradeRetain(t *grade.T, release retainAnswer) {
	config, namespace := isolatedgroup.Start(t)
	g := newRetainWorld(t, config, namespace)
	another := g.create("another")
	anothers := g.child("s-another", another)
	// A child of d can have another DatabaseManager as an owner, too.
	d := g.create("db")
	var names []string
	controls := map[string]string{}
	for i := range 3 + t.Rand.IntN(3) {
		name := fmt.Sprintf("s-%d-%d", i, t.Rand.IntN(1000))
		owner := metav1.NewControllerRef(d, databaseManager)
		controls[name] = "its controller"
		if i == 1 {
			owner.Controller = nil
			controls[name] = "an owner, and not its controller"
		}
		g.childOf(name, d, *owner, metav1.OwnerReference{APIVersion: databaseManager.GroupVersion().String(), Kind: databaseManager.Kind,
			Name: another.Name, UID: another.UID})
		names = append(names, name)
	}
	g.delete("db")
	t.Doing("Release to return")
	if err := g.release(t.Context(), config, release, "db"); err != nil {
		t.Reject("Release returns nil", fmt.Sprintf("it returns: %v", err), "the error")
	}
	for _, name := range names {
		secret, err := g.secrets.Get(t.Context(), name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			t.Reject("Secret "+name+" is there", "it is gone", "Release deletes nothing")
		case err != nil:
			t.Fatal(err)
		case refersTo(*secret, d):
			t.Reject("no Secret refers to the DatabaseManager", fmt.Sprintf("Secret %s does (d is %s)", name, controls[name]),
				"metadata.ownerReferences of each child: each reference with the owner's UID")
		case len(secret.OwnerReferences) != 2 || !refersTo(*secret, another):
			t.Reject("other owners of a Secret stay", fmt.Sprintf("other owners of Secret %s: %d, it had a ConfigMap and %s",
				name, len(secret.OwnerReferences), another.Name), "which of the references have the owner's UID?")
		case string(secret.Data["password"]) != name:
			t.Reject("the data of Secret "+name+" stay", "they have changed", "what does your request write?")
		}
	}
	if secret := testkit.Must(g.secrets.Get(t.Context(), anothers.Name, metav1.GetOptions{}))(t); !refersTo(*secret, another) {
		t.Reject("a child of another DatabaseManager keeps its owner", "it has lost it", "the label of the children")
	}
	now, err := g.databases.Get(t.Context(), "db", metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !slices.Contains(now.Finalizers, "example.com/archive") {
		t.Reject("the finalizer example.com/archive stays: it belongs to somebody else", "it is gone",
			"which finalizers does your request have?")
	}
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(now.Finalizers, retainFinalizer) {
		t.Reject("the finalizer coolops.cn/retain is gone when Release has succeeded", "it is there: the object can never go",
			"metadata.finalizers of the DatabaseManager")
	}

	calls := &grade.Calls{
		Name: "Release", Config: config, Done: "0 Secrets refer to the DatabaseManager, and its finalizer is gone",
		Look: "with nil, the controller does not call it again",
		New:  func(number int) grade.Case { return g.newCase(fmt.Sprintf("db-%d", number), release) },
		Right: func(request grade.Request, fault grade.Fault) grade.Outcome {
			switch {
			case fault == grade.NotFound && request.Resource == "secrets":
				return grade.NotTried // the Secret would be gone, and it is not
			case fault == grade.NotFound:
				return grade.Anything // the DatabaseManager is gone
			}
			return grade.ErrorOrDone
		},
	}
	calls.FailEachRequest(t)
	calls.EndContext(t)
	g = newRetainWorld(t, config, testcluster.Namespace(t, config)) // some answers read all Secrets of the namespace: here are few
	g.hasPages(release)
	g.addsAnOwner(release)
	g.removesAFinalizer(release)
	g.isReplaced(release)
}

// hasPages lets the server send two Secrets in a page to those who ask for pages: it may always send fewer than they ask for.
func (g *retainWorld) hasPages(release retainAnswer) {
	d := g.create("pages")
	children := 3 + g.Rand.IntN(3)
	for i := range children {
		g.child(fmt.Sprintf("s-pages-%d", i), d)
	}
	g.delete(d.Name)
	config := testkit.Intercept(g.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if query := request.URL.Query(); query.Has("limit") && strings.HasSuffix(request.URL.Path, "/secrets") {
			request = request.Clone(request.Context())
			query.Set("limit", "2")
			request.URL.RawQuery = query.Encode()
		}
		return next.RoundTrip(request)
	})
	g.Doing("Release to return for a DatabaseManager whose children fill more than one page")
	for range 3 { // an error is allowed: the key comes back
		if g.release(g.Context(), config, release, d.Name) == nil {
			break
		}
	}
	if left := g.referring(d); left > 0 || slices.Contains(g.get(d.Name).Finalizers, retainFinalizer) {
		g.Reject("no Secret refers to the DatabaseManager, and coolops.cn/retain is gone, also if the children fill more than one page",
			fmt.Sprintf("%d of %d Secrets refer to it, and its finalizers are %q", left, children, g.get(d.Name).Finalizers),
			"a page has a continue token if there are more: metadata.continue of the list")
	}
}

// addsAnOwner lets somebody else add an owner to a child just before the answer writes it. It is the first one then.
func (g *retainWorld) addsAnOwner(release retainAnswer) {
	another, d := g.create("owns-it-too"), g.create("shared")
	child := g.childOf("s-shared", d, *metav1.NewControllerRef(d, databaseManager), metav1.OwnerReference{
		APIVersion: databaseManager.GroupVersion().String(), Kind: databaseManager.Kind, Name: another.Name, UID: another.UID})
	g.delete(d.Name)
	team := testkit.Must(typedcorev1.NewForConfigOrDie(g.config).ConfigMaps(g.namespace).Create(g.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "another-team"}}, metav1.CreateOptions{}))(g)
	added := false
	config := testkit.Intercept(g.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !added && request.Method != http.MethodGet && strings.HasSuffix(request.URL.Path, "/secrets/"+child.Name) {
			added = true
			child.OwnerReferences = slices.Insert(child.OwnerReferences, 0, metav1.OwnerReference{
				APIVersion: "v1", Kind: "ConfigMap", Name: team.Name, UID: team.UID})
			child = testkit.Must(g.secrets.Update(request.Context(), child, metav1.UpdateOptions{}))(g)
		}
		return next.RoundTrip(request)
	})
	for range 3 { // an error is allowed: the key comes back
		if g.release(g.Context(), config, release, d.Name) == nil {
			break
		}
	}
	now := testkit.Must(g.secrets.Get(g.Context(), child.Name, metav1.GetOptions{}))(g)
	for _, owner := range child.OwnerReferences {
		isOwner := func(other metav1.OwnerReference) bool { return owner.UID == other.UID }
		if owner.UID != d.UID && !slices.ContainsFunc(now.OwnerReferences, isOwner) {
			g.Reject("all other owners stay, also if somebody else adds an owner to a Secret between your List and your write",
				fmt.Sprintf("%s %s is no owner any more", owner.Kind, owner.Name),
				"how does the server know which version of the Secret you have read?")
		}
	}
	if refersTo(*now, d) {
		g.Reject("no Secret refers to the DatabaseManager, also if somebody else adds an owner between your List and your write",
			"Secret "+child.Name+" does, after three calls", "the second call reads the Secret again")
	}
}

// removesAFinalizer lets somebody else remove a finalizer that d still has in the store: before the call, or just before the
// answer writes d.
func (g *retainWorld) removesAFinalizer(release retainAnswer) {
	for _, name := range []string{"behind", "meanwhile"} {
		d := g.create(name)
		g.delete(d.Name)
		d = g.get(d.Name)
		removed := false
		remove := func() {
			now := d.DeepCopy()
			now.Finalizers = slices.DeleteFunc(now.Finalizers, func(name string) bool { return name == "example.com/backup" })
			testkit.Must(g.databases.Update(g.Context(), now, metav1.UpdateOptions{}))(g)
			removed = true
		}
		config, when := g.config, "before your write"
		if name == "behind" {
			remove()
			when = "before the call"
		} else {
			config = testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
				if !removed && request.Method != http.MethodGet && strings.HasSuffix(request.URL.Path, "/"+d.Name) {
					remove()
				}
				return next.RoundTrip(request)
			})
		}
		g.Doing("Release to return for a DatabaseManager that loses a finalizer of somebody else %s", when)
		for range 3 { // an error is allowed: the key comes back, with a newer d
			if slices.Contains(d.Finalizers, retainFinalizer) && g.call(g.Context(), config, release, d) == nil {
				break
			}
			d = g.get(d.Name)
		}
		now := g.get(d.Name).Finalizers
		if !slices.Contains(now, "example.com/archive") || slices.Contains(now, retainFinalizer) {
			g.Reject("only coolops.cn/retain goes, also if another one goes between your read and your write",
				fmt.Sprintf("another one goes %s: the finalizers are then %q", when, now),
				"an index is that of the version which was read: metadata.resourceVersion")
		}
	}
}

// isReplaced lets the store have a DatabaseManager that is gone: there is another one of its name, to which a child refers, too.
func (g *retainWorld) isReplaced(release retainAnswer) {
	old := g.create("again")
	g.delete(old.Name)
	old = g.get(old.Name)
	now := old.DeepCopy()
	now.Finalizers = nil
	testkit.Must(g.databases.Update(g.Context(), now, metav1.UpdateOptions{}))(g)
	another := g.create(old.Name)
	reference := *metav1.NewControllerRef(old, databaseManager)
	reference.Controller = nil
	child := g.childOf("s-again", old, reference, *metav1.NewControllerRef(another, databaseManager))
	g.Doing("Release to return for a DatabaseManager that is gone")
	for range 3 { // an error is allowed: the garbage collector removes the reference to the old one, too, and the key comes back
		if g.call(g.Context(), g.config, release, old) == nil {
			break
		}
	}
	if now := g.get(old.Name); !slices.Contains(now.Finalizers, retainFinalizer) {
		g.Reject("one of its name, created since, keeps its finalizer", fmt.Sprintf("its finalizers are %q", now.Finalizers),
			"a request names an object only by its name, unless it has a UID or a resourceVersion")
	}
	if secret := testkit.Must(g.secrets.Get(g.Context(), child.Name, metav1.GetOptions{}))(g); !refersTo(*secret, another) {
		g.Reject("a reference to one of its name, created since, stays: that is another owner", "Secret "+child.Name+" has lost it",
			"which of the references have the owner's UID?")
	}
}

// referring counts the children of d that refer to it.
func (g *retainWorld) referring(d *dbv1alpha1.DatabaseManager) (children int) {
	secrets := testkit.Must(g.secrets.List(g.Context(), metav1.ListOptions{LabelSelector: childLabel + "=" + string(d.UID)}))(g)
	for _, secret := range secrets.Items {
		if refersTo(secret, d) {
			children++
		}
	}
	return children
}

// newCase makes a DatabaseManager with two children for a call of Release in which a request fails.
func (g *retainWorld) newCase(name string, release retainAnswer) grade.Case {
	d := g.create(name)
	g.child(name+"-a", d)
	g.child(name+"-b", d)
	g.delete(name)
	finalizer := func() string {
		if slices.Contains(g.get(name).Finalizers, retainFinalizer) {
			return "there"
		}
		return "gone"
	}
	return grade.Case{
		Call: func(ctx context.Context, config *rest.Config) error { return g.release(ctx, config, release, name) },
		State: func() string {
			return fmt.Sprintf("%d Secrets refer to the DatabaseManager, and its finalizer is %s", g.referring(d), finalizer())
		},
		Check: func(failed grade.Failed) {
			if finalizer() == "gone" && g.referring(d) > 0 {
				g.Reject("the finalizer stays until every child is released",
					fmt.Sprintf("%s: it is gone, and a Secret still refers to the owner", failed),
					"when the last finalizer goes, the object goes, and the garbage collector deletes its children")
			}
		},
	}
}

// release calls the answer, if the DatabaseManager is there and has the finalizer.
func (g *retainWorld) release(ctx context.Context, config *rest.Config, release retainAnswer, name string) error {
	d := g.get(name)
	if !slices.Contains(d.Finalizers, retainFinalizer) {
		return nil
	}
	return g.call(ctx, config, release, d)
}

// call calls the answer with d from a store.
func (g *retainWorld) call(ctx context.Context, config *rest.Config, release retainAnswer, d *dbv1alpha1.DatabaseManager) error {
	unchanged := g.Unchanged(d)
	defer unchanged()
	return release(ctx, dbclient.NewForConfigOrDie(config).DatabaseManagers(g.namespace),
		typedcorev1.NewForConfigOrDie(config).Secrets(g.namespace), d)
}

func (g *retainWorld) get(name string) *dbv1alpha1.DatabaseManager {
	return testkit.Must(g.databases.Get(g.Context(), name, metav1.GetOptions{}))(g)
}

// create makes a DatabaseManager with finalizers.
func (g *retainWorld) create(name string) *dbv1alpha1.DatabaseManager {
	return testkit.Must(g.databases.Create(g.Context(), &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"example.com/backup", retainFinalizer, "example.com/archive"}},
		Spec: dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: "db",
			DeletionPolicy: dbv1alpha1.DeletionPolicyRetain},
	}, metav1.CreateOptions{}))(g)
}

const childLabel = "coolops.cn/databasemanager"

// child makes a Secret that d controls.
func (g *retainWorld) child(name string, d *dbv1alpha1.DatabaseManager) *corev1.Secret {
	return g.childOf(name, d, *metav1.NewControllerRef(d, databaseManager))
}

// childOf makes a Secret of d, with these owners and a ConfigMap.
func (g *retainWorld) childOf(name string, d *dbv1alpha1.DatabaseManager, owners ...metav1.OwnerReference) *corev1.Secret {
	return testkit.Must(g.secrets.Create(g.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Labels:          map[string]string{childLabel: string(d.UID)},
			OwnerReferences: append([]metav1.OwnerReference{g.team}, owners...),
		},
		Data: map[string][]byte{"password": []byte(name)},
	}, metav1.CreateOptions{}))(g)
}

func (g *retainWorld) delete(name string) {
	if err := g.databases.Delete(g.Context(), name, metav1.DeleteOptions{}); err != nil {
		g.Fatal(err)
	}
}

func refersTo(secret corev1.Secret, d *dbv1alpha1.DatabaseManager) bool {
	return slices.ContainsFunc(secret.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == d.UID })
}
