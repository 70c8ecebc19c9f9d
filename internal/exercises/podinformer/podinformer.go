// Package podinformer has the informers of pods that this chapter's graders give to answers.
package podinformer

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/exercise/grade"
)

// Informer is what the answers get.
type Informer = cache.TypedSharedIndexInformer[*corev1.Pod]

// New returns an informer of the pods of all namespaces. It does not run yet.
func New(client cache.Getter, resync time.Duration) Informer {
	pods := cache.NewListWatchFromClient(client, "pods", metav1.NamespaceAll, fields.Everything())
	return cache.NewTypedSharedIndexInformer[*corev1.Pod](cache.NewSharedIndexInformer(pods, &corev1.Pod{}, resync, nil))
}

// RejectWithoutError calls an answer with an informer that has stopped. Such an informer accepts no handler, and its method says
// so with an error: the answer must return it, and wait for nothing. It is called in a bubble.
func RejectWithoutError(t *grade.T, client cache.Getter, name string, answer func(Informer) error) {
	t.Helper()
	stopped := New(client, 0)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stopped.RunWithContext(ctx)

	expected := name + " returns an error when the informer has stopped: it accepts no handler"
	returned := make(chan error, 1)
	go func() { returned <- answer(stopped) }()
	select {
	case err := <-returned:
		if err == nil {
			t.Reject(expected, name+" returned nil", "what does adding a handler return besides the registration?")
		}
	case <-time.After(time.Hour):
		t.Reject(expected, "it had not returned an hour later", "the error of adding the handler: is it read before anything waits?")
	}
}

// Changed is an informer that puts another handler into the place of each one that is added to it.
type Changed struct {
	cache.SharedIndexInformer
	Handler func(added cache.ResourceEventHandler) cache.ResourceEventHandler
	Remove  error // of RemoveEventHandler, which does nothing if this is not nil
}

// Typed returns the informer as answers get it.
func (i Changed) Typed() Informer { return cache.NewTypedSharedIndexInformer[*corev1.Pod](i) }

func (i Changed) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	if i.Handler != nil {
		handler = i.Handler(handler)
	}
	return i.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
}

func (i Changed) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

func (i Changed) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, period time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &period})
}

func (i Changed) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	if i.Remove != nil {
		return i.Remove
	}
	return i.SharedIndexInformer.RemoveEventHandler(registration)
}
