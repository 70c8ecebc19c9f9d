package main

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/hops"
	"example.com/client-go-workbook/internal/program"
)

// tracer prints the hops of each object between the wire and the handlers. It stands wherever client-go lets one
// put a function of one's own: in a ListWatch, a transform, a metric and an index. A nil tracer traces nothing.
// It is of use for seeing, not for doing: no controller needs any of this.
type tracer struct {
	out *program.Printer
	log hops.Log

	mu       sync.Mutex
	incoming map[string][]*hops.Arrival // by kind: transformed, and not yet reported by the queue
}

// follow puts informers into the factory that are as its own would be, with the tracer hung on them.
func (t *tracer) follow(factory informers.SharedInformerFactory, clientset kubernetes.Interface, s selection) {
	name, _ := cache.NewInformerName(rand.Text()) // without a name that nobody else has, there are no metrics
	put := func(object runtime.Object, resource schema.GroupVersionResource, client cache.Getter) {
		listWatch := cache.NewFilteredListWatchFromClient(client, resource.Resource, s.namespace, func(options *metav1.ListOptions) {
			options.LabelSelector = s.labels.String()
		})
		informer := factory.InformerFor(object, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformerWithOptions(t.listWatch(listWatch), object, cache.SharedIndexInformerOptions{
				ResyncPeriod:            resync,
				Indexers:                cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "trace": t.index},
				Identifier:              name.WithResource(resource),
				InformerMetricsProvider: metrics{t, hops.Kind(object)},
			})
		})
		_ = informer.SetTransform(t.transform(stripManagedFields))
	}
	put(&appsv1.Deployment{}, appsv1.SchemeGroupVersion.WithResource("deployments"), clientset.AppsV1().RESTClient())
	put(&corev1.Pod{}, corev1.SchemeGroupVersion.WithResource("pods"), clientset.CoreV1().RESTClient())
}

// listWatch shows what the reflector is given. Here the clock starts: an event has come, and was decoded.
func (t *tracer) listWatch(next *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := next.ListWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, meta.EachListItem(list, func(object runtime.Object) error {
				t.out.Line("REFLECTOR", "%s", t.log.Arrive("LISTED", object))
				return nil
			})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watcher, err := next.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(watcher, func(event watch.Event) (watch.Event, bool) {
				if event.Type == watch.Error && ctx.Err() != nil {
					return event, true // the program is ending, and has closed the connection itself
				}
				if event.Type == watch.Bookmark || event.Type == watch.Error {
					t.out.Line("REFLECTOR", "%s %s", hops.Kind(event.Object), event.Type)
				} else {
					t.out.Line("REFLECTOR", "%s", t.log.Arrive(event.Type, event.Object))
				}
				return event, true
			}), nil
		},
	}
}

// transform shows each call of next. The reflector's goroutine makes them, before it puts the object into the queue.
func (t *tracer) transform(next cache.TransformFunc) cache.TransformFunc {
	return func(object any) (any, error) {
		if a := t.log.Find(object); a != nil {
			t.out.Line("TRANSFORM", "%s", a)
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.incoming == nil {
				t.incoming = map[string][]*hops.Arrival{}
			}
			t.incoming[a.Kind] = append(t.incoming[a.Kind], a)
		}
		return next(object)
	}
}

// metrics shows the queue. That has no place for a function, but it reports its length.
type metrics struct {
	*tracer
	kind string
}

func (m metrics) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric { return m }

// Set is called when something was put into the queue, and when something was taken out.
func (m metrics) Set(length float64) {
	m.mu.Lock()
	put := m.incoming[m.kind]
	delete(m.incoming, m.kind)
	m.mu.Unlock()
	switch len(put) {
	case 0:
		m.out.Line("QUEUE", "%s: %.0f waiting", m.kind, length)
	case 1:
		m.out.Line("QUEUE", "%s: %.0f waiting", put[0], length)
	default:
		m.out.Line("QUEUE", "%s: %.0f waiting, the whole list counts as one", m.kind, length)
	}
}

// The other two metrics are not shown.
func (m metrics) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return unused{}
}
func (m metrics) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return unused{}
}

type unused struct{}

func (unused) Set(float64)     {}
func (unused) Observe(float64) {}

// index shows what gets into the store, or out of it, by standing there as an index that has nothing in it.
func (t *tracer) index(object any) ([]string, error) {
	if a := t.log.Stored(object); a != nil {
		t.out.Line("STORE", "%s", a)
	}
	return nil, nil
}

// since returns how long ago an object came, for the last hop: a handler.
func (t *tracer) since(object any) string {
	if t == nil {
		return ""
	}
	return " " + t.log.Find(object).Since()
}
