package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// foreignEdits are changes that other users make to the children, each of which the controller undoes as a whole.
var foreignEdits = []struct{ kind, patch string }{
	{"Deployment", `{"spec": {"replicas": 3}}`},
	{"Deployment", `{"spec": {"strategy": {"type": "RollingUpdate"}}}`},
	{"Deployment", `{"spec": {"template": {"spec": {"containers": [{"name": "other", "image": "other:1.0.0"}]}}}}`},
	{"Deployment", `{"metadata": {"ownerReferences": null}}`},
	{"Service", `{"spec": {"selector": {"` + database.FirstOwnerLabel + `": "others"}}}`},
	{"Service", `{"spec": {"ports": [{"name": "database", "port": 1}]}}`},
	{"Service", `{"metadata": {"ownerReferences": null}}`},
	{"Secret", `{"metadata": {"labels": {"` + database.ManagedByLabel + `": null}}}`},
	{"Secret", `{"metadata": {"ownerReferences": null}}`},
	{"PersistentVolumeClaim", `{"metadata": {"ownerReferences": null}}`}, // and no label: a claim of an impossible size cannot be applied
}

// walk takes a DatabaseManager through a random walk over what the schema lets a user change, with foreign edits of its children
// between the steps. In the end the children must be like the children of a new DatabaseManager with the same spec, and when it is
// deleted, they stay or go as its deletionPolicy says. The API server may be away at times.
func (e *env) walk(ctx context.Context, name string, random *rand.Rand) error {
	fresh := name + "-fresh"
	d := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: dbv1alpha1.DatabaseManagerSpec{
		Dbtype: dbv1alpha1.MySQL, DeploymentName: name, Replicas: new(int32(0)), StorageSize: new(resource.MustParse("1Gi")),
	}}
	var err error
	if _, err = tried(ctx, func() (*dbv1alpha1.DatabaseManager, error) {
		return e.databases.Create(ctx, d, metav1.CreateOptions{})
	}); err != nil {
		return err
	}
	for range 12 {
		patch := []string{
			fmt.Sprintf(`{"spec": {"version": "8.4.%d"}}`, random.IntN(6)),
			fmt.Sprintf(`{"spec": {"replicas": %d}}`, random.IntN(2)),
			`{"spec": {"deletionPolicy": "Retain"}}`,
			`{"spec": {"deletionPolicy": "Delete"}}`,
			fmt.Sprintf(`{"spec": {"storageSize": "%dGi"}}`, 1+random.IntN(3)), // impossible, or refused
		}[random.IntN(5)]
		_, err = tried(ctx, func() (*dbv1alpha1.DatabaseManager, error) {
			return e.databases.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		})
		if err != nil && !apierrors.IsInvalid(err) {
			return fmt.Errorf("%s: %w", patch, err)
		}
		if edit := foreignEdits[random.IntN(len(foreignEdits))]; random.IntN(2) == 0 {
			_ = childKinds[edit.kind].patch(e, name+childKinds[edit.kind].suffix, edit.patch) // the child may be missing
		}
		sleep(ctx, time.Duration(random.IntN(300))*time.Millisecond)
	}

	d, err = tried(ctx, func() (*dbv1alpha1.DatabaseManager, error) { return e.databases.Get(ctx, name, metav1.GetOptions{}) })
	if err != nil {
		return err
	}
	other := &dbv1alpha1.DatabaseManager{ObjectMeta: metav1.ObjectMeta{Name: fresh}, Spec: *d.Spec.DeepCopy()}
	other.Spec.DeploymentName = fresh
	other, err = tried(ctx, func() (*dbv1alpha1.DatabaseManager, error) {
		return e.databases.Create(ctx, other, metav1.CreateOptions{})
	})
	if err != nil {
		return err
	}
	var diff string
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 10*time.Minute, true, func(context.Context) (bool, error) {
		diff = cmp.Diff(e.statesOf(ctx, other), e.statesOf(ctx, d))
		if now, err := e.databases.Get(ctx, name, metav1.GetOptions{}); err != nil || now.Status.ObservedGeneration != now.Generation {
			return false, nil
		}
		return diff == "", nil
	})
	if err != nil {
		return fmt.Errorf("%s is not as a new one (-new +%s):\n%s", name, name, diff)
	}

	children := func() (map[string]types.UID, error) { return e.readChildren(name) }
	before, err := tried(ctx, children)
	if err != nil {
		return err
	}
	propagations := []metav1.DeletionPropagation{
		metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan,
	}
	propagation := propagations[random.IntN(3)]
	for _, owner := range []string{name, fresh} {
		err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 10*time.Minute, true, func(context.Context) (bool, error) {
			// A second delete with Orphan would add the finalizer again that the garbage collector has removed. If it misses the
			// moment without it, because the API server was away, it does not remove it any more.
			now, err := e.databases.Get(ctx, owner, metav1.GetOptions{})
			if err == nil && now.DeletionTimestamp == nil {
				_ = e.databases.Delete(ctx, owner, metav1.DeleteOptions{PropagationPolicy: &propagation})
			}
			return apierrors.IsNotFound(err), nil
		})
		if err != nil {
			return fmt.Errorf("deleting %s: %w", owner, err)
		}
	}
	stay := d.Spec.DeletionPolicy == dbv1alpha1.DeletionPolicyRetain || propagation == metav1.DeletePropagationOrphan
	if stay {
		sleep(ctx, 5*time.Second) // the garbage collector's time
		after, err := tried(ctx, children)
		if diff := cmp.Diff(before, after); err != nil || diff != "" {
			return fmt.Errorf("%s, deleted with %s and %s (-before +after):\n%s", name, d.Spec.DeletionPolicy, propagation, diff)
		}
	}
	for _, owner := range []string{name, fresh} {
		err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 10*time.Minute, true, func(context.Context) (bool, error) {
			if stay {
				_ = e.secrets.Delete(ctx, owner+database.SecretSuffix, metav1.DeleteOptions{})
				_ = e.claims.Delete(ctx, owner+database.ClaimSuffix, metav1.DeleteOptions{})
				_ = e.services.Delete(ctx, owner, metav1.DeleteOptions{})
				_ = e.deployments.Delete(ctx, owner, metav1.DeleteOptions{})
			}
			left, err := e.readChildren(owner)
			return err == nil && len(left) == 0, nil
		})
		if err != nil {
			return fmt.Errorf("%s, deleted with %s and %s: its children are still there", owner, d.Spec.DeletionPolicy, propagation)
		}
	}
	return nil
}

// tried returns the result of a request to an API server that may be away. What the server rejects is an error.
func tried[O any](ctx context.Context, request func() (O, error)) (result O, err error) {
	_ = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 10*time.Minute, true, func(context.Context) (bool, error) {
		result, err = request()
		return err == nil || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err), nil
	})
	return result, err
}

// statesOf returns the states of the children, with names and UIDs that are the same for each DatabaseManager. Without the password,
// and without the claim's size, which cannot grow.
func (e *env) statesOf(ctx context.Context, d *dbv1alpha1.DatabaseManager) map[string]string {
	states := map[string]string{}
	for kind, k := range childKinds {
		child, err := k.get(e, d.Spec.DeploymentName+k.suffix)
		if err != nil {
			states[kind] = "not there"
			continue
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(child)
		if err != nil {
			states[kind] = err.Error()
			continue
		}
		compared := state(&unstructured.Unstructured{Object: object})
		unstructured.RemoveNestedField(compared, "data")
		if kind == "PersistentVolumeClaim" {
			delete(compared, "spec")
		}
		text, err := json.MarshalIndent(compared, "", " ")
		if err != nil {
			states[kind] = err.Error()
			continue
		}
		states[kind] = strings.NewReplacer(string(d.UID), "UID", `"`+d.Name, `"NAME`).Replace(string(text))
	}
	return states
}
