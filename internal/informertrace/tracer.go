package informertrace

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/internal/program"
)

// Tracer prints the hops of each object inside an informer. One Tracer can follow several informers of different kinds.
type Tracer struct {
	Out       *program.Printer
	Transform cache.TransformFunc       // of the informers
	Tweak     func(*metav1.ListOptions) // of each list and watch

	log Log
	mu  sync.Mutex
	// Per kind: the arrivals that the transform has passed on and the queue has not reported, and the queue's last length.
	incoming map[string][]*Arrival
	length   map[string]float64
}

// Client is a typed client, such as clientset.CoreV1().Pods(namespace). L is the type of a list, such as *corev1.PodList.
type Client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Trace puts an informer with a tracer into the factory. It must be called before the factory is asked for an informer of
// that object. The informer sends the requests that the factory's own would send: the requests of the typed client.
func Trace[L runtime.Object](
	t *Tracer,
	factory informers.SharedInformerFactory,
	clientset kubernetes.Interface,
	object runtime.Object,
	resource schema.GroupVersionResource,
	client Client[L],
) error {
	name, err := cache.NewInformerName(rand.Text()) // an informer without a unique name has no metrics
	if err != nil {
		return err
	}
	listWatch := t.listWatch(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			t.Tweak(&options)
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			t.Tweak(&options)
			return client.Watch(ctx, options)
		},
	})
	informer := factory.InformerFor(object, func(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		listerWatcher := cache.ToListWatcherWithWatchListSemantics(listWatch, clientset)
		return cache.NewSharedIndexInformerWithOptions(listerWatcher, object, cache.SharedIndexInformerOptions{
			ResyncPeriod:            resync,
			Indexers:                cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "trace": t.index},
			Identifier:              name.WithResource(resource),
			InformerMetricsProvider: queue{t, Kind(object)},
		})
	})
	if err := informer.SetTransform(t.transform); err != nil {
		return err
	}
	_, err = informer.AddEventHandler(t.handler())
	return err
}

// listWatch prints each object that next delivers. Here the clock starts: the object has arrived and is decoded.
func (t *Tracer) listWatch(next *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := next.ListWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return list, apimeta.EachListItem(list, func(object runtime.Object) error {
				t.Out.Line("REFLECTOR", "%s", t.log.Arrive("LISTED", object))
				return nil
			})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watcher, err := next.WatchWithContext(ctx, options)
			if err != nil {
				return nil, err
			}
			return watch.Filter(watcher, func(event watch.Event) (watch.Event, bool) {
				switch {
				case event.Type == watch.Error && ctx.Err() != nil:
					// The program is ending, and has closed the connection itself.
				case event.Type == watch.Bookmark || event.Type == watch.Error:
					t.Out.Line("REFLECTOR", "%s %s", Kind(event.Object), event.Type)
				default:
					t.Out.Line("REFLECTOR", "%s", t.log.Arrive(event.Type, event.Object))
				}
				return event, true
			}), nil
		},
	}
}

// transform prints each call of the transform. The reflector's goroutine calls it, before it puts the object into the queue.
func (t *Tracer) transform(object any) (any, error) {
	if a := t.log.Find(object); a != nil {
		t.Out.Line("TRANSFORM", "%s", a)
		t.mu.Lock()
		if t.incoming == nil {
			t.incoming = map[string][]*Arrival{}
		}
		t.incoming[a.Kind] = append(t.incoming[a.Kind], a)
		t.mu.Unlock()
	}
	return t.Transform(object)
}

// index prints each object that enters or leaves the store, from the place of an index function. The index stays empty.
func (t *Tracer) index(object any) ([]string, error) {
	if a := t.log.Stored(object); a != nil {
		t.Out.Line("STORE", "%s", a)
	}
	return nil, nil
}

// handler prints each call of an event handler that comes with a new state of an object.
func (t *Tracer) handler() cache.ResourceEventHandler {
	print := func(object any) {
		if a := t.log.Find(object); a != nil {
			t.Out.Line("HANDLER", "%s", a)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: print,
		UpdateFunc: func(old, object any) {
			if old != object { // else it is a resync
				print(object)
			}
		},
		DeleteFunc: print,
	}
}

// queue prints the length of an informer's queue. The queue calls no function of the program, but it has this metric.
type queue struct {
	*Tracer
	kind string
}

func (q queue) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric { return q }

// Set is called after something was put into the queue, and after something was taken out. A bookmark is not reported
// when it is put in.
func (q queue) Set(length float64) {
	q.mu.Lock()
	put := q.incoming[q.kind]
	delete(q.incoming, q.kind)
	last := q.length[q.kind]
	if q.length == nil {
		q.length = map[string]float64{}
	}
	q.length[q.kind] = length
	q.mu.Unlock()
	switch {
	case len(put) == 0 && length == last:
	case len(put) == 0:
		q.Out.Line("QUEUE", "%s: %.0f waiting", q.kind, length)
	case len(put) == 1:
		q.Out.Line("QUEUE", "%s: %.0f waiting", put[0], length)
	default:
		q.Out.Line("QUEUE", "%s: %.0f waiting, the whole list counts as one", q.kind, length)
	}
}

// The other two metrics are not printed.
func (queue) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return unused{}
}
func (queue) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return unused{}
}

type unused struct{}

func (unused) Set(float64)     {}
func (unused) Observe(float64) {}
