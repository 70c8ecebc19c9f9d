package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// childResources are the resources in which children are looked for.
var childResources = []schema.GroupVersionResource{
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "secrets"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
}

// watched returns the resources whose watches can be held.
func watched() []string {
	resources := []string{"databasemanagers"}
	for _, r := range childResources {
		resources = append(resources, r.Resource)
	}
	return append(resources, "pods")
}

// create creates a DatabaseManager of that name, which is also its Deployment's. It has a volume and no replicas: what matters is
// what the controller writes, and pods would only take time.
func (w *World) create(
	ctx context.Context, name string, change ...func(*dbv1alpha1.DatabaseManagerSpec),
) (*dbv1alpha1.DatabaseManager, error) {
	d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: dbv1alpha1.DatabaseManagerSpec{
		Dbtype: dbv1alpha1.MySQL, DeploymentName: name, Replicas: new(int32(0)), StorageSize: new(resource.MustParse("1Gi")),
	}}
	for _, change := range change {
		change(&d.Spec)
	}
	return w.databases.Create(ctx, d, metav1.CreateOptions{FieldManager: manager})
}

// manager is the suite's own name in managedFields.
const manager = "conformance"

// patch changes a DatabaseManager by a JSON merge patch.
func (w *World) patch(ctx context.Context, name, patch string) error {
	_, err := w.databases.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	return err
}

// resourceOf returns the resource of a child's kind.
func resourceOf(child *unstructured.Unstructured) schema.GroupVersionResource {
	i := slices.IndexFunc(childResources, func(r schema.GroupVersionResource) bool {
		return r.Resource == strings.ToLower(child.GetKind())+"s"
	})
	return childResources[i]
}

// objectsOf returns the client for objects of a child's kind.
func (w *World) objectsOf(child *unstructured.Unstructured) dynamic.ResourceInterface {
	return w.dynamic.Resource(resourceOf(child)).Namespace(w.namespace)
}

// children returns the objects that are named after a DatabaseManager's Deployment, or that have it as an owner.
func (w *World) children(ctx context.Context, d *dbv1alpha1.DatabaseManager) (children []unstructured.Unstructured, err error) {
	for _, r := range childResources {
		list, err := w.dynamic.Resource(r).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			named := Request{Name: o.GetName()}.about(d.Spec.DeploymentName)
			owned := slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == d.UID })
			if named || owned {
				children = append(children, o)
			}
		}
	}
	return children, nil
}

// normal returns an object as text, without what differs from one run to the next, and without what others answer for. So two runs
// can be compared, and the server's defaults do not matter: both have them.
func (w *World) normal(d *dbv1alpha1.DatabaseManager, o *unstructured.Unstructured) string {
	o = o.DeepCopy()
	owners := []string{}
	for _, owner := range o.GetOwnerReferences() {
		whose := map[bool]string{true: "this one", false: "another"}[owner.UID == d.UID]
		isController := owner.Controller != nil && *owner.Controller
		owners = append(owners, fmt.Sprintf("%s %s, %s, controller %t", owner.Kind, owner.Name, whose, isController))
	}
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	for key := range data {
		data[key] = "some"
	}
	if data != nil {
		o.Object["data"] = data
	}
	o.Object["metadata"] = map[string]any{"name": o.GetName(), "labels": o.GetLabels(), "owners": owners, "finalizers": o.GetFinalizers()}
	delete(o.Object, "status")
	unstructured.RemoveNestedField(o.Object, "spec", "volumeName") // set by whoever binds the claim
	if ip, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); ip != "None" {
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP") // any address
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	}
	text, err := yaml.Marshal(o.Object)
	if err != nil {
		panic(err) // it comes from JSON
	}
	names := strings.NewReplacer(string(d.UID), "UID", w.namespace, "NAMESPACE", d.Spec.DeploymentName, "NAME", d.Name, "NAME")
	return names.Replace(string(text))
}

// state returns all children of a DatabaseManager as text, and what its status says.
func (w *World) state(ctx context.Context, d *dbv1alpha1.DatabaseManager) (string, error) {
	children, err := w.children(ctx, d)
	texts := []string{fmt.Sprintf("status: %s, %d available\n", told(d), d.Status.AvailableReplicas)}
	for _, o := range children {
		texts = append(texts, w.normal(d, &o))
	}
	return strings.Join(texts, "---\n"), err
}

// identities returns what must stay as long as a DatabaseManager lives: its children's UIDs, and the Secret's content.
func (w *World) identities(ctx context.Context, d *dbv1alpha1.DatabaseManager) (string, error) {
	children, err := w.children(ctx, d)
	var all strings.Builder
	for _, o := range children {
		fmt.Fprintf(&all, "%s %s uid %s", o.GetKind(), o.GetName(), o.GetUID())
		if o.GetKind() == "Secret" {
			all.WriteString(" data " + sum(o.Object["data"]))
		}
		all.WriteString("\n")
	}
	return all.String(), err
}

// sum tells contents apart, and does not show them.
func sum(content any) string { return fmt.Sprintf("%.4x", sha256.Sum256(fmt.Append(nil, content))) }

// told returns in a few words what the status says about the current spec.
func told(d *dbv1alpha1.DatabaseManager) string {
	ready := apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
	switch {
	case ready == nil:
		return "no condition Ready"
	case ready.ObservedGeneration != d.Generation:
		return fmt.Sprintf("Ready with observedGeneration %d of generation %d", ready.ObservedGeneration, d.Generation)
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("Ready=%s %s: %s", ready.Status, ready.Reason, ready.Message)
	case d.Status.ObservedGeneration != d.Generation:
		return fmt.Sprintf("Ready=True, but status.observedGeneration %d of generation %d", d.Status.ObservedGeneration, d.Generation)
	}
	return "Ready=True"
}

// untilReady waits until a DatabaseManager is Ready, for its current spec, and its state is the wanted one, if one is given.
func (w *World) untilReady(ctx context.Context, name, want string) (d *dbv1alpha1.DatabaseManager, state string, err error) {
	err = w.await(ctx, name+" to be Ready, with the children that it asks for", func(ctx context.Context) (string, error) {
		if d, err = w.databases.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return "", err
		}
		if diff := diffOf("Ready=True", told(d)); diff != "" {
			return diff, nil
		}
		if state, err = w.state(ctx, d); err != nil || want == "" {
			return "", err
		}
		return diffOf(want, state), nil
	})
	return d, state, err
}

// untilGone waits until a DatabaseManager is gone.
func (w *World) untilGone(ctx context.Context, name string) error {
	return w.await(ctx, name+" to be gone", func(ctx context.Context) (string, error) {
		d, err := w.databases.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", unlessGone(err)
		}
		return fmt.Sprintf("+ it is there, with the finalizers %q, and %s", d.Finalizers, told(d)), nil
	})
}

// deleteChildren deletes the children that are named after a DatabaseManager, as a user does: all, or those of one resource.
func (w *World) deleteChildren(ctx context.Context, name, resource string) error {
	children, err := w.children(ctx, &dbv1alpha1.DatabaseManager{Spec: dbv1alpha1.DatabaseManagerSpec{DeploymentName: name}})
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	for _, child := range children {
		if resource != "" && resource != resourceOf(&child).Resource {
			continue
		}
		if err := unlessGone(w.objectsOf(&child).Delete(ctx, child.GetName(), options)); err != nil {
			return err
		}
	}
	return nil
}

// unlessGone takes NotFound for success.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// await asks until the answer is empty: nothing differs from what is expected. Otherwise, after the timeout, it is a failure. So
// is a controller that ends by itself, unless the world restarts it.
func (w *World) await(ctx context.Context, what string, differs func(context.Context) (string, error)) error {
	return w.awaitFor(ctx, w.timeout, what, differs)
}

// clusterTimeout is how long await waits for the cluster's own controller of Deployments: Ready depends on it, too, and on a busy
// machine it can be late. The controller under test is not to blame for that time.
const clusterTimeout = 5 * time.Minute

// clusterIsLate reports whether the cluster's controller does not look at a Deployment for a second. A controller under test that
// writes all the time gives it another generation by then.
func (w *World) clusterIsLate(ctx context.Context) (bool, error) {
	before, err := w.unobserved(ctx)
	if err != nil || len(before) == 0 {
		return false, err
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-time.After(time.Second):
	}
	now, err := w.unobserved(ctx)
	for uid, generation := range now {
		if before[uid] == generation {
			return true, err
		}
	}
	return false, err
}

// unobserved returns the generations of those Deployments at which the cluster's controller has not looked yet.
func (w *World) unobserved(ctx context.Context) (map[types.UID]int64, error) {
	list, err := w.dynamic.Resource(childResources[0]).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	late := map[types.UID]int64{}
	for _, o := range list.Items {
		observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if observed < o.GetGeneration() {
			late[o.GetUID()] = o.GetGeneration()
		}
	}
	return late, nil
}

// awaitFor is await with another timeout.
func (w *World) awaitFor(
	ctx context.Context, timeout time.Duration, what string, differs func(context.Context) (string, error),
) error {
	deadline := time.Now().Add(timeout)
	for last := deadline.Add(clusterTimeout); ; {
		diff, err := differs(ctx)
		if err != nil || diff == "" {
			return err
		}
		if newest := len(w.processes) - 1; newest >= 0 && w.processes[newest].hasEnded() {
			switch p, slowest := w.processes[newest], time.Duration(w.slowest.Load()); {
			case w.restarts:
				if _, err := w.startController(); err != nil {
					return err
				}
			case !p.isAsked.Load():
				ended := fmt.Sprintf(hasEnded+" with exit code %d", p.cmd.ProcessState.ExitCode())
				if slowest > time.Second {
					const text = "waited for %s: %s. A request of the suite took %.1fs: so slow a server can let a leader lose its Lease"
					return fmt.Errorf(text, what, ended, slowest.Seconds())
				}
				return failed("waited for "+what, "a controller that runs", ended)
			}
		}
		if time.Now().After(deadline) {
			late, err := w.clusterIsLate(ctx)
			if err != nil {
				return err
			}
			if !late || time.Now().After(last) {
				return &Failure{Did: fmt.Sprintf("waited %s for %s", timeout, what), Diff: diff}
			}
			deadline = time.Now().Add(timeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond): // between two questions
		}
	}
}

// awaitCluster is await for what the cluster's own controllers do. They can be late, and then the suite has not seen what it looks for.
func (w *World) awaitCluster(ctx context.Context, what string, differs func(context.Context) (string, error)) error {
	deadline := time.Now().Add(clusterTimeout)
	return w.awaitFor(ctx, 2*clusterTimeout, what, func(ctx context.Context) (string, error) {
		diff, err := differs(ctx)
		if err == nil && diff != "" && time.Now().After(deadline) {
			err = fmt.Errorf("waited %s for %s:\n%s", clusterTimeout, what, diff)
		}
		return diff, err
	})
}

// untilCollectedOf waits until the children of a DatabaseManager are gone that is gone itself. The garbage collector can be late. A child
// that does not have it as its controller is not for the garbage collector: the controller under test has left it behind.
func (w *World) untilCollectedOf(ctx context.Context, d *dbv1alpha1.DatabaseManager) error {
	const what = "the end of its children"
	deadline := time.Now().Add(w.timeout)
	return w.awaitCluster(ctx, what, func(ctx context.Context) (string, error) {
		children, err := w.children(ctx, d)
		if err != nil {
			return "", err
		}
		for _, o := range children {
			if owner := metav1.GetControllerOf(&o); time.Now().After(deadline) && (owner == nil || owner.UID != d.UID) {
				return "", failed("waited for "+what, "", strings.Join(names(children), "\n"))
			}
		}
		return strings.Join(names(children), "\n"), nil
	})
}

// hasEnded is how a failure begins whose controller does not run any more.
const hasEnded = "it has ended"

// names returns the kinds and names of objects.
func names(objects []unstructured.Unstructured) (names []string) {
	for _, o := range objects {
		names = append(names, o.GetKind()+" "+o.GetName())
	}
	return names
}
