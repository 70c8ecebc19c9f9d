package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// newPod makes a pod from a description such as "namespace/name node=a image=b image=c owner=d app=e"; keys that
// mean nothing else are labels.
func newPod(description string) *corev1.Pod {
	words := strings.Fields(description)
	name, err := cache.ParseObjectName(words[0])
	if err != nil {
		panic(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, Labels: map[string]string{}}}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "node":
			pod.Spec.NodeName = value
		case "init":
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Image: value})
		case "image":
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Image: value})
		case "owner":
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{UID: types.UID(value)})
		default:
			pod.Labels[key] = value
		}
	}
	return pod
}

func TestIndexFunctions(t *testing.T) {
	for description, want := range map[string]map[string][]string{
		"x/bare":                       {},
		"x/placed node=node-000003":    {nodeIndex: {"node-000003"}},
		"x/tag image=nginx:1.28.0":     {imageIndex: {"nginx:1.28.0", "nginx"}},
		"x/no-tag image=nginx":         {imageIndex: {"nginx", "nginx"}},
		"x/port image=host:5000/nginx": {imageIndex: {"host:5000/nginx", "host:5000/nginx"}},
		"x/port-and-tag image=host:5000/a/nginx:1": {imageIndex: {
			"host:5000/a/nginx:1", "host:5000/a/nginx",
		}},
		"x/digest image=nginx:1@sha256:abc": {imageIndex: {"nginx:1@sha256:abc", "nginx"}},
		"x/several init=busybox:1 image=nginx:1 image=envoy:2": {imageIndex: {
			"busybox:1", "busybox", "nginx:1", "nginx", "envoy:2", "envoy",
		}},
		"x/owned owner=a":          {ownerIndex: {"a"}},
		"x/shared owner=a owner=b": {ownerIndex: {"a", "b"}},
	} {
		for index, function := range podIndexers {
			got, err := function(newPod(description))
			if err != nil {
				t.Errorf("%s: index %s: %v", description, index, err)
			}
			if diff := cmp.Diff(want[index], got); diff != "" {
				t.Errorf("%s: index %s (-want +got):\n%s", description, index, diff)
			}
		}
	}
}

// startCache runs an informer with our indexes against a fake API server.
func startCache(t *testing.T, ctx context.Context, clientset *fake.Clientset) podCache {
	t.Helper()
	factory := newFactory(clientset, selection{labels: labels.Everything()})
	pods := factory.Core().V1().Pods()
	informer := pods.TypedInformer()
	if err := informer.AddTypedIndexers(podIndexers); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	factory.StartWithContext(ctx)
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		t.Fatal("the informer has not synced")
	}
	return podCache{pods.Lister(), informer.GetTypedIndexer()}
}

func TestIndexesFollowThePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		clientset := fake.NewClientset(newPod("x/a image=nginx"))
		pods := startCache(t, ctx, clientset)
		expect := func(when string, want map[string][]string) {
			t.Helper()
			synctest.Wait()
			for text, names := range want {
				if diff := cmp.Diff(names, ask(t, pods, text)); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", when, text, diff)
				}
			}
		}
		expect("in the first list", map[string][]string{"image=nginx": {"x/a"}, "node=n1": nil})

		_, err := clientset.CoreV1().Pods("x").Update(ctx, newPod("x/a image=nginx node=n1"), metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect("after it was scheduled", map[string][]string{"image=nginx": {"x/a"}, "node=n1": {"x/a"}})

		_, err = clientset.CoreV1().Pods("x").Update(ctx, newPod("x/a image=httpd image=envoy:2 node=n1"), metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect("with other images", map[string][]string{
			"image=nginx": nil, "image=httpd": {"x/a"}, "image=envoy": {"x/a"}, "node=n1": {"x/a"},
		})

		if err := clientset.CoreV1().Pods("x").Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect("after it was deleted", map[string][]string{"image=httpd": nil, "image=envoy": nil, "node=n1": nil})
		for _, index := range []string{nodeIndex, imageIndex, ownerIndex, cache.NamespaceIndex} {
			if values := pods.indexer.ListIndexFuncValues(index); len(values) > 0 {
				t.Errorf("index %s still has the values %q", index, values)
			}
		}
	})
}

func TestIndexesCanBeAddedLater(t *testing.T) {
	pods := newCache(t, "x/a node=n1", "x/b node=n2")
	late := coreinformers.PodIndexers{"late": func(pod *corev1.Pod) ([]string, error) { return []string{pod.Name}, nil }}
	if err := pods.indexer.AddTypedIndexers(late); err != nil {
		t.Fatal(err)
	}
	got, err := pods.indexer.ByTypedIndex("late", "b")
	if err != nil || len(got) != 1 || got[0].Name != "b" {
		t.Errorf("got %v and error %v, want the pod that was there before the index", got, err)
	}
	if err := pods.indexer.AddTypedIndexers(late); err == nil {
		t.Error("a second index of the same name was taken, want an error")
	}
}

// TestIndexFunctionsMustNotFail shows what an index function's error does: the store panics.
func TestIndexFunctionsMustNotFail(t *testing.T) {
	pods := newCache(t)
	err := pods.indexer.AddTypedIndexers(coreinformers.PodIndexers{"strict": func(pod *corev1.Pod) ([]string, error) {
		if pod.Spec.NodeName == "" {
			return nil, errors.New("not scheduled")
		}
		return []string{pod.Spec.NodeName}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, `unable to calculate an index entry for key "x/a" on index "strict": not scheduled`) {
			t.Errorf("panic: %s, want one about the index", got)
		}
	}()
	err = pods.indexer.Add(newPod("x/a"))
	t.Errorf("Add returned %v, want a panic", err)
}
