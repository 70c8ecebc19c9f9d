package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/dynamicinformer"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/test/testkit"
)

// Three namespaces, not one and not all: a factory for each, one handler for all of them, and a lister for each namespace.
func Example_threeNamespaces() {
	clientset := fake.NewClientset()
	for _, namespace := range []string{"orders", "billing", "shop", "secret"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		if err := clientset.Tracker().Add(pod); err != nil {
			fmt.Println(err)
		}
	}
	handler := coreinformers.PodHandlerFuncs{
		AddFunc: func(pod *corev1.Pod) { fmt.Println("ADD", cache.MetaObjectToName(pod)) },
	}

	ctx, cancel := context.WithCancel(context.Background())
	listers := map[string]corelisters.PodLister{}
	for _, namespace := range []string{"orders", "billing", "shop"} {
		factory := informers.NewSharedInformerFactoryWithOptions(clientset, 0, informers.WithNamespace(namespace))
		defer factory.Shutdown()
		pods := factory.Core().V1().Pods()
		registration, err := pods.TypedInformer().AddTypedEventHandler(handler)
		if err != nil {
			fmt.Println(err)
			continue
		}
		listers[namespace] = pods.Lister()
		factory.StartWithContext(ctx)
		cache.WaitFor(ctx, "", registration.HasSyncedChecker())
	}
	defer cancel() // before the factories wait

	key := cache.NewObjectName("shop", "web")
	pod, err := listers[key.Namespace].Pods(key.Namespace).Get(key.Name)
	fmt.Println("GET", cache.MetaObjectToName(pod), err)
	// Output:
	// ADD orders/web
	// ADD billing/web
	// ADD shop/web
	// GET shop/web <nil>
}

// A dynamic informer needs no Go type. Its objects are maps. It also waits for a CRD that comes later: the server answers 404 until then,
// and the informer asks again, after a minute at most.
func TestTypeWithoutGoCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gadgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
			map[schema.GroupVersionResource]string{gadgets: "GadgetList"},
			&unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"namespace": "shop", "name": "train"},
				"spec": map[string]any{"wheels": int64(8)},
			}})
		begin := time.Now()
		const installed = 10 * time.Minute
		client.PrependReactor("list", "gadgets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return time.Since(begin) < installed, nil, apierrors.NewNotFound(gadgets.GroupResource(), "")
		})

		var out testkit.Buffer
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		informer := factory.ForResource(gadgets).Informer()
		var asked atomic.Int32
		// The default handler would sleep for years: utilruntime.HandleError waits for a clock that has gone back, as a bubble's has.
		err := informer.SetWatchErrorHandler(func(*cache.Reflector, error) { asked.Add(1) })
		if err != nil {
			t.Fatal(err)
		}
		_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) {
				gadget := object.(*unstructured.Unstructured)
				wheels, _, err := unstructured.NestedInt64(gadget.Object, "spec", "wheels")
				fmt.Fprintln(&out, "ADD", gadget.GetKind(), cache.MetaObjectToName(gadget), wheels, err)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		factory.Start(stop)
		defer factory.Shutdown()
		defer close(stop)

		time.Sleep(installed - time.Second)
		if synctest.Wait(); out.String() != "" || asked.Load() < 10 || informer.HasSynced() {
			t.Errorf("without a CRD: %s after %d questions", out.String(), asked.Load())
		}
		time.Sleep(time.Second + time.Minute)
		synctest.Wait()
		if want := "ADD Gadget shop/train 8 <nil>\n"; out.String() != want {
			t.Errorf("a minute after the CRD: %q, want %q", out.String(), want)
		}
	})
}
