package informertrace

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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

// Tracer follows the hops of each object inside an informer. One Tracer can follow several informers of different kinds.
type Tracer struct {
	Out       *program.Printer          // nil: prints nothing
	Observer  Observer                  // nil, or off: tells nobody
	Transform cache.TransformFunc       // of the informers; nil if they have none
	Tweak     func(*metav1.ListOptions) // of each list and watch; nil if they have none

	log Log
	mu  sync.Mutex
	// Per kind: the arrivals that the transform has passed on and the queue has not reported, and the queue's last length.
	incoming map[string][]*Arrival
	length   map[string]float64
}

// Observer is told of each hop, before its line is printed. The hops of several goroutines come at once.
type Observer interface {
	// On returns whether it wants to be told.
	On() bool
	// Informer is called before an informer of that kind starts.
	Informer(kind string, informer cache.SharedIndexInformer)
	// Hop is called in the goroutine that makes the hop. If it waits, the object waits. It must not wait at QUEUE and
	// STORE: there, client-go holds a lock.
	Hop(Hop)
}

// Hop is a hop of an object inside an informer, or something that happens to the informer itself.
type Hop struct {
	// LIST: the server answers with all objects; Note says how, and after which resourceVersion.
	// WATCH: a watch is open, or has ended or failed, with Note.
	// REFLECTOR: an object, a bookmark or an error has arrived.
	// TRANSFORM: an object is on its way into the queue.
	// QUEUE: the queue has another length. Name is empty if more than one object was put in, or anything taken out.
	// STORE: an object has entered the store, or has left it.
	// HANDLER: a handler is called; RETURNED: it has returned.
	Place string

	Kind    string           // of the informer's objects, such as Pod
	Name    cache.ObjectName // empty if the hop is not about one object
	Event   watch.EventType  // with which the object has arrived, or LISTED
	Object  any              // at STORE and HANDLER: its state; for a deletion, the last one
	Handler int              // 1 for the first of the informer's; 0 for the Tracer's own, which never waits
	Length  int              // at QUEUE
	Note    string           // at HANDLER: resync, relist, tombstone or another UID; see LIST and WATCH
}

// Client is a typed client, such as clientset.CoreV1().Pods(namespace). L is the type of a list, such as *corev1.PodList.
type Client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// hop reports a hop, and prints a line if there is a format.
func (t *Tracer) hop(h Hop, format string, args ...any) {
	if t.observed() {
		t.Observer.Hop(h)
	}
	if t.Out != nil && format != "" {
		t.Out.Line(h.Place, format, args...)
	}
}

func (t *Tracer) observed() bool { return t.Observer != nil && t.Observer.On() }

// TraceWorkloads puts informers with a tracer for Deployments and Pods into the factory: see [Trace].
func TraceWorkloads(t *Tracer, factory informers.SharedInformerFactory, clientset kubernetes.Interface, namespace string) error {
	deployments, pods := clientset.AppsV1().Deployments(namespace), clientset.CoreV1().Pods(namespace)
	return errors.Join(
		Trace(t, factory, clientset, &appsv1.Deployment{}, appsv1.SchemeGroupVersion.WithResource("deployments"), deployments),
		Trace(t, factory, clientset, &corev1.Pod{}, corev1.SchemeGroupVersion.WithResource("pods"), pods),
	)
}

// Factory is client-go's informers.SharedInformerFactory, or a generated one. F is its type for a function that creates an informer.
type Factory[F any] interface {
	InformerFor(object runtime.Object, newInformer F) cache.SharedIndexInformer
}

// Trace puts an informer with a tracer into the factory. It must be called before the factory is asked for an informer of
// that object. The informer sends the requests that the factory's own would send: the requests of the typed client.
func Trace[L runtime.Object, C any, F ~func(C, time.Duration) cache.SharedIndexInformer](
	t *Tracer,
	factory Factory[F],
	clientset C,
	object runtime.Object,
	resource schema.GroupVersionResource,
	client Client[L],
) error {
	if t.Out == nil && !t.observed() {
		return nil
	}
	tweak := t.Tweak
	if tweak == nil {
		tweak = func(*metav1.ListOptions) {}
	}
	name, err := cache.NewInformerName(rand.Text()) // an informer without a unique name has no metrics
	if err != nil {
		return err
	}
	kind := Kind(object)
	listWatch := t.listWatch(kind, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			return client.Watch(ctx, options)
		},
	})
	informer := factory.InformerFor(object, func(_ C, resync time.Duration) cache.SharedIndexInformer {
		listerWatcher := cache.ToListWatcherWithWatchListSemantics(listWatch, clientset)
		return &tracedInformer{tracer: t, kind: kind,
			SharedIndexInformer: cache.NewSharedIndexInformerWithOptions(listerWatcher, object, cache.SharedIndexInformerOptions{
				ResyncPeriod:            resync,
				Indexers:                cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, "trace": t.index},
				Identifier:              name.WithResource(resource),
				InformerMetricsProvider: queue{t, kind},
			})}
	})
	if err := informer.SetTransform(t.transform); err != nil {
		return err
	}
	if t.observed() {
		t.Observer.Informer(kind, informer)
	}
	own := informer.(*tracedInformer).SharedIndexInformer
	_, err = own.AddEventHandler(t.handler(kind, 0))
	return err
}

// listWatch reports each object that next delivers. Here the clock starts: the object has arrived and is decoded.
func (t *Tracer) listWatch(kind string, next *cache.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list, err := next.ListWithContext(ctx, options)
			if err != nil {
				t.hop(Hop{Place: "WATCH", Kind: kind, Note: "the list failed: " + err.Error()}, "")
				return nil, err
			}
			if options.Continue == "" {
				t.hop(Hop{Place: "LIST", Kind: kind, Note: "list" + after(options)}, "")
			}
			return list, apimeta.EachListItem(list, func(object runtime.Object) error {
				t.arrive("LISTED", kind, object)
				return nil
			})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			watcher, err := next.WatchWithContext(ctx, options)
			if err != nil {
				t.hop(Hop{Place: "WATCH", Kind: kind, Note: "failed: " + err.Error()}, "")
				return nil, err
			}
			if options.SendInitialEvents != nil && *options.SendInitialEvents {
				t.hop(Hop{Place: "LIST", Kind: kind, Note: "streaming list" + after(options)}, "")
			}
			t.hop(Hop{Place: "WATCH", Kind: kind, Note: "open"}, "")
			return t.follow(ctx, kind, watcher), nil
		},
	}
}

func after(options metav1.ListOptions) string {
	if options.ResourceVersion == "" || options.ResourceVersion == "0" {
		return ""
	}
	return ", resourceVersion at least " + options.ResourceVersion
}

// follow returns a watch with the events of another, which it reports.
func (t *Tracer) follow(ctx context.Context, kind string, watcher watch.Interface) watch.Interface {
	events := make(chan watch.Event)
	followed := watch.NewProxyWatcher(events)
	go func() { // until the watch ends, or is stopped
		defer close(events)
		defer watcher.Stop()
		defer t.hop(Hop{Place: "WATCH", Kind: kind, Note: "ended"}, "")
		for event := range watcher.ResultChan() {
			switch {
			case event.Type == watch.Error && ctx.Err() != nil:
				// The program is ending, and has closed the connection itself.
			case event.Type == watch.Bookmark || event.Type == watch.Error:
				t.hop(Hop{Place: "REFLECTOR", Kind: kind, Event: event.Type}, "%s %s", Kind(event.Object), event.Type)
			default:
				t.arrive(event.Type, kind, event.Object)
			}
			select {
			case events <- event:
			case <-followed.StopChan():
				return
			}
		}
	}()
	return stoppedWith{followed, watcher}
}

// stoppedWith is a watch that stops another one, too: the loop above may be waiting for the next event.
type stoppedWith struct {
	watch.Interface
	other watch.Interface
}

func (w stoppedWith) Stop() {
	w.Interface.Stop()
	w.other.Stop()
}

func (t *Tracer) arrive(event watch.EventType, kind string, object runtime.Object) {
	a := t.log.Arrive(event, object)
	t.hop(Hop{Place: "REFLECTOR", Kind: kind, Name: a.name, Event: event}, "%s", a)
}

// transform reports each call of the transform. The reflector's goroutine calls it, before it puts the object into the queue.
func (t *Tracer) transform(object any) (any, error) {
	if a := t.log.Find(object); a != nil {
		t.hop(Hop{Place: "TRANSFORM", Kind: a.Kind, Name: a.name, Event: a.Event}, "%s", a)
		t.mu.Lock()
		if t.incoming == nil {
			t.incoming = map[string][]*Arrival{}
		}
		t.incoming[a.Kind] = append(t.incoming[a.Kind], a)
		t.mu.Unlock()
	}
	if t.Transform == nil {
		return object, nil
	}
	return t.Transform(object)
}

// index reports each object that enters or leaves the store, from the place of an index function. The index stays empty.
func (t *Tracer) index(object any) ([]string, error) {
	if a := t.log.Stored(object); a != nil {
		t.hop(Hop{Place: "STORE", Kind: a.Kind, Name: a.name, Event: a.Event, Object: object}, "%s", a)
	}
	return nil, nil
}

// handler reports each call of an event handler that comes with a new state of an object.
func (t *Tracer) handler(kind string, number int) cache.ResourceEventHandler {
	report := func(event watch.EventType, object any, note string) {
		name, err := cache.DeletionHandlingObjectToName(object)
		if err != nil {
			return
		}
		hop := Hop{Place: "HANDLER", Kind: kind, Name: name, Event: event, Object: object, Handler: number, Note: note}
		a := t.log.Find(object)
		if number > 0 || a == nil || note == "resync" {
			t.hop(hop, "")
		} else {
			t.hop(hop, "%s", a)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { report(watch.Added, object, "") },
		UpdateFunc: func(old, object any) { report(watch.Modified, object, noteOf(old, object)) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				if unknown.Obj != nil {
					object = unknown.Obj
				}
				report(watch.Deleted, object, "tombstone")
				return
			}
			report(watch.Deleted, object, "")
		},
	}
}

// noteOf says what an update is that brings nothing new, or another object.
func noteOf(old, object any) string {
	before, err := apimeta.Accessor(old)
	if err != nil {
		return ""
	}
	now, err := apimeta.Accessor(object)
	switch {
	case err != nil:
		return ""
	case old == object:
		return "resync"
	case before.GetUID() != now.GetUID():
		return "another UID"
	case before.GetResourceVersion() == now.GetResourceVersion():
		return "relist"
	}
	return ""
}

// tracedInformer is an informer that reports the calls of its handlers.
type tracedInformer struct {
	cache.SharedIndexInformer
	tracer   *Tracer
	kind     string
	handlers int
}

func (i *tracedInformer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(i.traced(handler))
}

func (i *tracedInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, resync time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.traced(handler), resync)
}

func (i *tracedInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(i.traced(handler), options)
}

// traced returns a handler that reports its calls, if there is somebody to report to.
func (i *tracedInformer) traced(next cache.ResourceEventHandler) cache.ResourceEventHandler {
	if !i.tracer.observed() {
		return next
	}
	i.handlers++
	number := i.handlers
	return tracedHandler{
		before: i.tracer.handler(i.kind, number), next: next,
		returned: func() { i.tracer.hop(Hop{Place: "RETURNED", Kind: i.kind, Handler: number}, "") },
	}
}

type tracedHandler struct {
	before, next cache.ResourceEventHandler
	returned     func()
}

func (h tracedHandler) OnAdd(object any, isInInitialList bool) {
	h.before.OnAdd(object, isInInitialList)
	h.next.OnAdd(object, isInInitialList)
	h.returned()
}

func (h tracedHandler) OnUpdate(old, object any) {
	h.before.OnUpdate(old, object)
	h.next.OnUpdate(old, object)
	h.returned()
}

func (h tracedHandler) OnDelete(object any) {
	h.before.OnDelete(object)
	h.next.OnDelete(object)
	h.returned()
}

// queue reports the length of an informer's queue. The queue calls no function of the program, but it has this metric.
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
	hop := Hop{Place: "QUEUE", Kind: q.kind, Length: int(length)}
	switch {
	case len(put) == 0 && length == last:
	case len(put) == 0:
		q.hop(hop, "%s: %.0f waiting", q.kind, length)
	case len(put) == 1:
		hop.Name, hop.Event = put[0].name, put[0].Event
		q.hop(hop, "%s: %.0f waiting", put[0], length)
	default:
		q.hop(hop, "%s: %.0f waiting, the whole list counts as one", q.kind, length)
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
