package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/netfault"
)

// World is what a promise is tried in: a namespace of its own, an identity for the controller, and the record of its requests.
type World struct {
	options
	namespace string
	config    *rest.Config // of the suite, as are the clients
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	owners    dynamic.ResourceInterface // of the custom resource
	databases dbclient.DatabaseManagerInterface
	random    *rand.Rand
	say       func(format string, arguments ...any) // prints progress

	tap       Tap // the controllers' requests
	own       Tap // the suite's
	figures   []figure
	token     string
	rules     []rbacv1.PolicyRule // of the role
	resources map[string]bool     // those of the rules
	folder    string              // for kubeconfigs and logs
	processes []*Process
	blamed    *Process                  // whose last lines are shown; nil: those of the last one
	restarts  bool                      // a controller that has ended is started again, as Kubernetes does it
	gates     map[string]*netfault.Gate // by resource: where the watches of controllers pass that are started from now on
	slowest   atomic.Int64              // during an election: the longest request of the suite, in nanoseconds
	slowAt    atomic.Pointer[time.Time] // when a request of the suite was slow, the last time
}

// newWorld makes a world. Its close has to be called in any case.
func newWorld(ctx context.Context, o options, config *rest.Config, say func(string, ...any)) (*World, error) {
	w := &World{
		options: o, config: config, say: say, resources: map[string]bool{}, random: rand.New(rand.NewPCG(o.seed, 0)),
		gates: newGates(o.resource),
	}
	config = rest.CopyConfig(config)
	config.Wrap(w.record)
	databases, err := versioned.NewForConfig(config)
	if err != nil {
		return w, err
	}
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return w, err
	}
	if w.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return w, err
	}
	if w.folder, err = os.MkdirTemp("", "conformance"); err != nil {
		return w, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-"}}
	if namespace, err = w.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return w, fmt.Errorf("creating a namespace: %w", err)
	}
	w.namespace = namespace.Name
	w.owners = w.dynamic.Resource(o.resource.gvr).Namespace(w.namespace)
	w.databases = databases.CoolopsV1alpha1().DatabaseManagers(w.namespace)
	return w, w.createIdentity(ctx)
}

// record keeps the suite's own requests, for the diagram.
func (w *World) record(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context()) // read puts another body into it
		request := (&Proxy{who: suite}).read(r)
		w.own.begin(request)
		sent := time.Now()
		answer, err := next.RoundTrip(r)
		if now := time.Now(); now.Sub(sent) > slow {
			w.slowAt.Store(&now)
		}
		if err == nil {
			w.own.end(request, answer.StatusCode)
		}
		return answer, err
	})
}

const suite = "suite"

// slow is a request that takes longer. On a machine that is not too busy, it is some milliseconds.
const slow = time.Second

// roundTripper is a function that sends a request.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newGates returns open gates, by resource.
func newGates(of *Resource) map[string]*netfault.Gate {
	gates := map[string]*netfault.Gate{}
	for _, resource := range of.watched() {
		gates[resource] = netfault.NewGate(resource)
	}
	return gates
}

// createIdentity creates a ServiceAccount for the controller. In the namespace it has the permissions of the manifest, and no others.
func (w *World) createIdentity(ctx context.Context) error {
	rules, err := rulesOf(w.rbac)
	if err != nil {
		return err
	}
	rules, global := w.resource.split(rules)
	if len(rules) == 0 {
		return fmt.Errorf("%s: no rule is about a resource in a namespace", w.rbac)
	}
	w.rules = rules
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			w.resources[resource] = true
		}
	}
	const account = "controller"
	meta, create := metav1.ObjectMeta{Name: account}, metav1.CreateOptions{}
	accounts, rbac := w.client.CoreV1().ServiceAccounts(w.namespace), w.client.RbacV1()
	_, accountErr := accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, create)
	_, roleErr := rbac.Roles(w.namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, create)
	_, bindingErr := rbac.RoleBindings(w.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}},
	}, create)
	if len(global) > 0 {
		roleErr = errors.Join(roleErr, w.mayRead(ctx, account, global))
	}
	if err := errors.Join(accountErr, roleErr, bindingErr); err != nil {
		return fmt.Errorf("creating the controller's ServiceAccount: %w", err)
	}
	// The API server learns of new roles by a watch, like any other client.
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + w.namespace + ":" + account,
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: w.namespace, Verb: rules[0].Verbs[0], Group: rules[0].APIGroups[0], Resource: rules[0].Resources[0],
		},
	}}
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, w.timeout, true, func(ctx context.Context) (bool, error) {
		answer, err := w.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, create)
		return err == nil && answer.Status.Allowed, err
	})
	if err != nil {
		return fmt.Errorf("waiting for the permissions of the controller's ServiceAccount: %w", err)
	}
	token, err := accounts.CreateToken(ctx, account, &authenticationv1.TokenRequest{}, create)
	if err != nil {
		return err
	}
	w.token = token.Status.Token
	return nil
}

// mayRead lets the ServiceAccount read objects that have no namespace.
func (w *World) mayRead(ctx context.Context, account string, rules []rbacv1.PolicyRule) error {
	meta, create := metav1.ObjectMeta{Name: w.namespace}, metav1.CreateOptions{} // World.close deletes both
	_, roleErr := w.client.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, create)
	_, bindingErr := w.client.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: w.namespace},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.namespace, Name: account}},
	}, create)
	return errors.Join(roleErr, bindingErr)
}

// rulesOf returns the rules of all ClusterRoles and Roles of a manifest.
func rulesOf(manifest string) (rules []rbacv1.PolicyRule, err error) {
	file, err := os.Open(manifest)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		var role rbacv1.ClusterRole // a Role has the same fields
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) && len(rules) > 0 {
			return rules, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the roles of %s: %w", manifest, err)
		}
		rules = append(rules, role.Rules...)
	}
}

// errOther means that the suite cannot say who has done what.
var errOther = errors.New("another controller of such objects runs on this cluster: end that one, and run this again")

// untouched creates an object for which the suite starts no controller, and calls do. If somebody changes it, do's context ends,
// and the error is errOther.
func (w *World) untouched(ctx context.Context, do func(context.Context)) error {
	made, err := w.createSample(ctx, 0, "untouched")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	look := func(ctx context.Context) (touched bool, _ error) {
		now, err := w.owners.Get(ctx, made.GetName(), metav1.GetOptions{})
		if touched = err == nil && now.GetResourceVersion() != made.GetResourceVersion(); touched {
			cancel(errOther)
		}
		return touched, nil // a look that fails is repeated
	}
	var group sync.WaitGroup
	group.Go(func() { _ = wait.PollUntilContextCancel(ctx, time.Second, false, look) })
	do(ctx)
	_, _ = look(ctx)
	cancel(nil) // the first cause stays
	group.Wait()
	if err := context.Cause(ctx); errors.Is(err, errOther) {
		return err
	}
	return nil
}

// close ends all processes, waits for them, and deletes the namespace. It does not wait until that is gone.
func (w *World) close() error {
	for _, p := range w.processes {
		p.kill()
		<-p.stopped
	}
	defer os.RemoveAll(w.folder)
	if w.namespace == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the caller's context may have ended
	defer cancel()
	list, err := w.owners.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range list.Items { // no controller is left that would remove its finalizers
		if err := unlessGone(w.patch(ctx, o.GetName(), `{"metadata": {"finalizers": null}}`)); err != nil {
			return err
		}
	}
	for _, r := range w.resource.children { // nor the suite's own
		objects := w.dynamic.Resource(r).Namespace(w.namespace)
		list, err := objects.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, o := range list.Items {
			if !slices.Contains(o.GetFinalizers(), finalizer) {
				continue
			}
			patch := []byte(`{"metadata": {"finalizers": null}}`)
			_, err := objects.Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
			if unlessGone(err) != nil {
				return err
			}
		}
	}
	return errors.Join(
		unlessGone(w.client.RbacV1().ClusterRoleBindings().Delete(ctx, w.namespace, metav1.DeleteOptions{})),
		unlessGone(w.client.RbacV1().ClusterRoles().Delete(ctx, w.namespace, metav1.DeleteOptions{})),
		w.client.CoreV1().Namespaces().Delete(ctx, w.namespace, metav1.DeleteOptions{}),
	)
}
