package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// watched returns the resources whose watches can be held.
func (r *Resource) watched() []string {
	resources := []string{r.gvr.Resource}
	for _, child := range r.children {
		resources = append(resources, child.Resource)
	}
	return append(resources, "pods")
}

// createSample creates an object like a sample, with changes.
func (w *World) createSample(ctx context.Context, i int, name string, changes ...patch) (*unstructured.Unstructured, error) {
	options := metav1.CreateOptions{FieldManager: manager, FieldValidation: metav1.FieldValidationStrict}
	return w.owners.Create(ctx, w.resource.sample(i, name, changes...), options)
}

// create creates a DatabaseManager like the first sample, with changes.
func (w *World) create(
	ctx context.Context, name string, change ...func(*dbv1alpha1.DatabaseManagerSpec),
) (*dbv1alpha1.DatabaseManager, error) {
	d, err := databaseOf(w.resource.sample(0, name))
	if err != nil {
		return nil, err
	}
	for _, change := range change {
		change(&d.Spec)
	}
	return w.databases.Create(ctx, d, metav1.CreateOptions{FieldManager: manager})
}

// databaseOf returns an object as a DatabaseManager.
func databaseOf(o *unstructured.Unstructured) (*dbv1alpha1.DatabaseManager, error) {
	d := &dbv1alpha1.DatabaseManager{}
	return d, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d)
}

// manager is the suite's own name in managedFields.
const manager = "conformance"

// patch changes an object by a JSON merge patch, in which {name} becomes its name.
func (w *World) patch(ctx context.Context, name, patch string) error {
	patch = strings.ReplaceAll(patch, "{name}", name)
	_, err := w.owners.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager})
	return err
}

// objectsOf returns the client for objects of a child's kind.
func (w *World) objectsOf(child *unstructured.Unstructured) dynamic.ResourceInterface {
	return w.dynamic.Resource(w.resource.resourceOf(child)).Namespace(w.namespace)
}

// children returns the objects whose names have an object's stem as a part, or that have it as an owner, or the label.
func (w *World) children(ctx context.Context, d metav1.Object) (children []unstructured.Unstructured, err error) {
	return w.childrenOf(ctx, stem(d), d.GetUID())
}

// childrenOf does so for a stem and a UID.
func (w *World) childrenOf(ctx context.Context, stem string, uid types.UID) (children []unstructured.Unstructured, err error) {
	label, value, hasLabel := strings.Cut(strings.ReplaceAll(w.resource.Label, "{name}", stem), "=")
	for _, r := range w.resource.children {
		list, err := w.dynamic.Resource(r).Namespace(w.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for _, o := range list.Items {
			named := Request{Name: o.GetName()}.about(stem)
			if named || isOwnedBy(&o, uid) || hasLabel && o.GetLabels()[label] == value {
				children = append(children, o)
			}
		}
	}
	return children, nil
}

// normal returns an object as text, without what differs from one run to the next, and without what others answer for. So two runs
// can be compared, and the server's defaults do not matter: both have them.
func (w *World) normal(d metav1.Object, o *unstructured.Unstructured) string {
	o = o.DeepCopy()
	owners := []string{}
	for _, owner := range o.GetOwnerReferences() {
		whose := map[bool]string{true: "this one", false: "another"}[owner.UID == d.GetUID()]
		isController := owner.Controller != nil && *owner.Controller
		owners = append(owners, fmt.Sprintf("%s %s, %s, controller %t", owner.Kind, owner.Name, whose, isController))
	}
	data, _, _ := unstructured.NestedMap(o.Object, "data")
	if o.GetKind() == "Secret" && data != nil {
		for key := range data {
			data[key] = "some"
		}
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
	names := strings.NewReplacer(string(d.GetUID()), "UID", w.namespace, "NAMESPACE", stem(d), "NAME", d.GetName(), "NAME")
	normal := names.Replace(string(text))
	for _, ignored := range w.resource.ignored {
		normal = ignored.ReplaceAllString(normal, "…")
	}
	return normal
}

// state returns all children of an object as text, and what its status says.
func (w *World) state(ctx context.Context, d *unstructured.Unstructured) (string, error) {
	children, err := w.children(ctx, d)
	available, _, _ := unstructured.NestedInt64(d.Object, "status", "availableReplicas")
	texts := []string{fmt.Sprintf("status: %s, %d available\n", w.resource.told(d), available)}
	for _, o := range children {
		texts = append(texts, w.normal(d, &o))
	}
	slices.Sort(texts[1:]) // their names may be any
	return strings.Join(texts, "---\n"), err
}

// identities returns what must stay as long as an object lives: its children's UIDs, and the Secret's content.
func (w *World) identities(ctx context.Context, d metav1.Object) (string, error) {
	children, err := w.children(ctx, d)
	var all strings.Builder
	for _, o := range children {
		all.WriteString(identity(&o) + "\n")
	}
	return all.String(), err
}

// identity is what must stay of a child, as one line.
func identity(o *unstructured.Unstructured) string {
	text := fmt.Sprintf("%s %s uid %s", o.GetKind(), o.GetName(), o.GetUID())
	if o.GetKind() == "Secret" {
		text += " data " + sum(o.Object["data"])
	}
	return text
}

// isOwnedBy reports whether one of an object's owner references has a UID.
func isOwnedBy(o metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == uid })
}

// sum tells contents apart, and does not show them.
func sum(content any) string { return fmt.Sprintf("%.4x", sha256.Sum256(fmt.Append(nil, content))) }

// unsettled says what is not done yet about an object whose status does not say for which generation it is: it needs a second without a
// write, also of the suite. Otherwise, it says nothing.
func (w *World) unsettled(name string) string {
	if len(w.resource.Ready.ObservedGeneration) > 0 {
		return ""
	}
	created := w.own.all(func(r Request) bool { return r.Verb == "create" && r.Name == name })
	if len(created) > 0 && len(w.tap.writes(name, created[len(created)-1].At)) == 0 {
		return "no write of the controller"
	}
	since := time.Now().Add(-time.Second)
	return list(append(w.own.writes(name, since), w.tap.writes(name, since)...))
}

// untilReady waits until an object is Ready, for its current spec, and its state is the wanted one, if one is given.
func (w *World) untilReady(ctx context.Context, name, want string) (d *unstructured.Unstructured, state string, err error) {
	err = w.await(ctx, name+" to be Ready, with the children that it asks for", func(ctx context.Context) (string, error) {
		if d, err = w.owners.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return "", err
		}
		if diff := diffOf(isReady, w.resource.told(d)); diff != "" {
			return diff, nil
		}
		if want == "" {
			if diff := w.unsettled(name); diff != "" {
				return diff, nil
			}
		}
		if state, err = w.state(ctx, d); err != nil {
			return "", err
		}
		if want != "" {
			return diffOf(want, state), nil
		}
		if !strings.Contains(state, "---\n") {
			return "- children: their names have the owner's as a part, or it is their owner\n+ none", nil
		}
		return "", nil
	})
	return d, state, err
}

// untilGone waits until an object is gone.
func (w *World) untilGone(ctx context.Context, name string) error {
	return w.untilGoneIn(ctx, w.timeout, name)
}

func (w *World) untilGoneIn(ctx context.Context, timeout time.Duration, name string) error {
	return w.awaitFor(ctx, timeout, name+" to be gone", func(ctx context.Context) (string, error) {
		d, err := w.owners.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", unlessGone(err)
		}
		return fmt.Sprintf("+ it is there, with the finalizers %q, and %s", d.GetFinalizers(), w.resource.told(d)), nil
	})
}

// deleteChildren deletes the children that are named after an object, as a user does: all, or those of one resource.
func (w *World) deleteChildren(ctx context.Context, name, resource string) error {
	children, err := w.childrenOf(ctx, name, "none")
	if err != nil {
		return err
	}
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	for _, child := range children {
		if resource != "" && resource != w.resource.resourceOf(&child).Resource {
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

// clusterTimeout is how long await waits for the cluster's own controllers, scheduler and kubelets, and for the server: Ready depends on
// them, too, and on a busy machine they can be late. The controller under test is not to blame for that time.
const clusterTimeout = 5 * time.Minute

// clusterIsLate reports whether the cluster does none of its work on an object for a second, or has just written the status of a
// Deployment, a third of the timeout or more after the last write of the Deployment: then the controller under test has had little time
// since. One that writes all the time gives the cluster another object or generation within that second.
func (w *World) clusterIsLate(ctx context.Context, timeout time.Duration) (bool, error) {
	before, err := w.late(ctx, timeout/3)
	if err != nil || len(before) == 0 {
		return false, err
	}
	if err := pause(ctx, time.Second); err != nil {
		return false, err
	}
	now, err := w.late(ctx, timeout/3)
	for uid, generation := range now {
		if before[uid] == generation {
			return true, err
		}
	}
	return false, err
}

// deployments returns the Deployments that the cluster's own controller works on.
func (w *World) deployments(ctx context.Context) ([]appsv1.Deployment, error) {
	if w.resource.gvr.GroupResource() == (schema.GroupResource{Group: "apps", Resource: "deployments"}) {
		return nil, nil // they are the tried controller's
	}
	list, err := w.client.AppsV1().Deployments(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// late returns the generations of the objects on which the cluster has work left: Deployments and their ReplicaSets whose generation, or
// whose ready pods, nobody has counted yet, and pods without a node, or whose containers no kubelet has started yet. With them are the
// Deployments whose status was written in the last third of the timeout, and a third of it or more after their last write.
func (w *World) late(ctx context.Context, third time.Duration) (map[types.UID]int64, error) {
	deployments, err := w.deployments(ctx)
	if err != nil || len(deployments) == 0 {
		return nil, err
	}
	sets, err := w.client.AppsV1().ReplicaSets(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods, err := w.client.CoreV1().Pods(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	late, ready := map[types.UID]int64{}, map[types.UID]int32{} // ready pods by their owner
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if owner := metav1.GetControllerOf(&pod); owner != nil && isReadyPod(&pod) {
			ready[owner.UID]++
		}
		if isWaiting(&pod) {
			late[pod.UID] = pod.Generation
		}
	}
	for _, set := range sets.Items {
		if owner := metav1.GetControllerOf(&set); owner != nil {
			ready[owner.UID] += set.Status.ReadyReplicas
		}
		if set.Status.ObservedGeneration < set.Generation || set.Status.ReadyReplicas != ready[set.UID] {
			late[set.UID] = set.Generation
		}
	}
	for _, d := range deployments {
		var written, looked time.Time
		for _, e := range d.ManagedFields {
			switch {
			case e.Time == nil:
			case e.Manager == "kube-controller-manager" && e.Subresource == "status":
				looked = e.Time.Time
			case e.Subresource == "" && e.Time.After(written):
				written = e.Time.Time
			}
		}
		if d.Status.ObservedGeneration < d.Generation || d.Status.ReadyReplicas != ready[d.UID] ||
			time.Since(looked) < third+time.Second && looked.Sub(written) >= third {
			late[d.UID] = d.Generation
		}
	}
	return late, nil
}

func isReadyPod(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// isWaiting reports whether the scheduler, or a kubelet, has not said yet that it has started a pod, nor why it cannot. The two reasons say
// only that it is at work: k8s.io/kubernetes/pkg/kubelet/kubelet_pods.go.
func isWaiting(pod *corev1.Pod) bool {
	isAtWork := []string{"ContainerCreating", "PodInitializing"}
	return pod.Status.Phase == corev1.PodPending &&
		!slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		}) &&
		!slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
			return c.State.Waiting != nil && !slices.Contains(isAtWork, c.State.Waiting.Reason)
		})
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
			switch p := w.processes[newest]; {
			case w.restarts:
				if _, err := w.startController(p.arguments...); err != nil {
					return err
				}
			case !p.isAsked.Load():
				ended := fmt.Sprintf(hasEnded+" with exit code %d", p.cmd.ProcessState.ExitCode())
				return w.unlessSlow(failed("waited for "+what, "a controller that runs", ended))
			}
		}
		if time.Now().After(deadline) {
			late, err := w.clusterIsLate(ctx, timeout)
			if err != nil {
				return err
			}
			if at := w.slowAt.Load(); at != nil && time.Since(*at) < timeout/3 {
				late = true // the server is, and the controller under test asks it, too
			}
			if !late || time.Now().After(last) {
				return &Failure{Did: fmt.Sprintf("waited %s for %s", timeout, what), Diff: diff}
			}
			deadline = time.Now().Add(timeout)
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil { // between two questions
			return err
		}
	}
}

// unlessSlow returns err. Where a request of the suite has taken more than a second during an election, a failure becomes an error that
// blames nobody: so slow a server can let a leader lose its Lease, and the next one not get it.
func (w *World) unlessSlow(err error) error {
	slowest := time.Duration(w.slowest.Load())
	if f, ok := err.(*Failure); ok && slowest > slow {
		return fmt.Errorf("%v\nA request of the suite took %.1fs: so slow a server can let a leader lose its Lease", f, slowest.Seconds())
	}
	return err
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

// untilCollectedOf waits until the children of an object are gone that is gone itself. The garbage collector can be late. A child
// that does not have it as its controller is not for the garbage collector: the controller under test has left it behind.
func (w *World) untilCollectedOf(ctx context.Context, d metav1.Object) error {
	const what = "the end of its children"
	deadline := time.Now().Add(w.timeout)
	return w.awaitCluster(ctx, what, func(ctx context.Context) (string, error) {
		children, err := w.children(ctx, d)
		if err != nil {
			return "", err
		}
		for _, o := range children {
			if owner := metav1.GetControllerOf(&o); time.Now().After(deadline) && (owner == nil || owner.UID != d.GetUID()) {
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
