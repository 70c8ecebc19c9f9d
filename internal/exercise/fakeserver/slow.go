package fakeserver

import (
	"time"

	"k8s.io/client-go/tools/cache"
)

// SlowInformer is an informer that lets a second pass before each call of OnAdd, in a bubble of testing/synctest: a handler
// that is behind the store.
type SlowInformer struct{ cache.SharedIndexInformer }

func (i SlowInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(slowHandler{handler}, options)
}

func (i SlowInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{})
}

func (i SlowInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, period time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, cache.HandlerOptions{ResyncPeriod: &period})
}

type slowHandler struct{ cache.ResourceEventHandler }

func (h slowHandler) OnAdd(object any, isInInitialList bool) {
	time.Sleep(time.Second)
	h.ResourceEventHandler.OnAdd(object, isInInitialList)
}
