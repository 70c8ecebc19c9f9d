package picture

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"example.com/client-go-workbook/internal/controller/retryqueue"
)

// Controller lets the picture show a controller's queue and workers: it puts a queue that reports into the place of
// client-go's, which must be empty, and returns the controller's sync with the buttons' faults. The queue is client-go's own:
// what it is made of (workqueue.Queue, TypedInterface) can be given to its constructors.
func (p *Picture) Controller(
	queue *retryqueue.Queue,
	name string,
	syncHandler func(context.Context, cache.ObjectName) error,
) func(context.Context, cache.ObjectName) error {
	if !p.On() {
		return syncHandler
	}
	queue.TypedRateLimitingInterface.ShutDown() // it ends, and the new one takes its place
	q := &observed{log: &p.log, due: map[cache.ObjectName]time.Time{}, merges: map[cache.ObjectName]int{}}
	q.TypedInterface = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[cache.ObjectName]{Name: name, Queue: order{q}})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(
		workqueue.TypedDelayingQueueConfig[cache.ObjectName]{Name: name, Queue: q})
	queue.TypedRateLimitingInterface = workqueue.NewTypedRateLimitingQueueWithConfig(queue.Limiter(),
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{DelayingQueue: front{delaying, q, p}})
	p.mu.Lock()
	p.queue = q
	p.mu.Unlock()

	return func(ctx context.Context, key cache.ObjectName) error {
		p.wait()
		p.faults.pass(&p.faults.hold, p.ended)
		err := errMadeToFail
		if !p.faults.failed() {
			err = syncHandler(context.WithValue(ctx, syncing{}, key), key)
		}
		if err != nil {
			q.fail(key)
			p.log.add(Event{Part: "worker", What: "failed", Key: key, Note: err.Error()})
		} else {
			p.syncs.Add(1)
			p.log.add(Event{Part: "worker", What: "synced", Key: key})
		}
		return err
	}
}

// syncing is the key of a context's value, which is the key that is synced. A sync's requests have it in their context.
type syncing struct{}

var errMadeToFail = errors.New("made to fail by a button of the picture")

// front is the queue that handlers and workers use. Here they wait in slow motion: client-go holds no lock here.
type front struct {
	workqueue.TypedDelayingInterface[cache.ObjectName]
	observed *observed
	picture  *Picture
}

func (f front) Add(key cache.ObjectName) {
	f.observed.add(key)
	f.picture.wait()
}

func (f front) Done(key cache.ObjectName) {
	f.picture.wait()
	f.TypedDelayingInterface.Done(key)
}

// ShutDown lets all go on that waits for a button: the program ends, or it has lost its Lease.
func (f front) ShutDown() {
	f.picture.end()
	f.TypedDelayingInterface.ShutDown()
}

// AddAfter stretches the delay in slow motion: 5 ms are too short to be seen.
func (f front) AddAfter(key cache.ObjectName, delay time.Duration) {
	delay = f.picture.pace.stretch(delay)
	if !f.ShuttingDown() {
		f.observed.wait(key, delay)
	}
	f.TypedDelayingInterface.AddAfter(key, delay)
}

// observed is client-go's queue, and reports what becomes of each key.
type observed struct {
	workqueue.TypedInterface[cache.ObjectName]
	log *log

	calls   sync.Mutex // held during Add and Done, so that outcome is that call's
	outcome string     // what the call has done to the key: queued, merged, or nothing

	mu     sync.Mutex // never held while client-go is called
	order  []cache.ObjectName
	hands  []hand                         // the keys that are processed; a hand that is free has no key
	due    map[cache.ObjectName]time.Time // of the keys that wait
	merges map[cache.ObjectName]int       // how many times a key was merged since a worker has taken it last
}

// hand is what one worker holds. There are as many as workers have been busy at once.
type hand struct {
	key    cache.ObjectName
	dirty  bool // the key was added again
	failed bool // its sync has failed
	since  int64
}

// Add is called when a key that waited is due.
func (q *observed) Add(key cache.ObjectName) {
	q.mu.Lock()
	delete(q.due, key)
	q.mu.Unlock()
	q.log.add(Event{Part: "queue", What: "due", Key: key})
	q.add(key)
}

func (q *observed) add(key cache.ObjectName) {
	q.calls.Lock()
	defer q.calls.Unlock()
	q.outcome = ""
	q.TypedInterface.Add(key)
	if q.outcome != "" {
		return // order has reported it
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.hands {
		switch hand := &q.hands[i]; {
		case hand.key != key:
		case hand.dirty:
			q.merged(key)
			return
		default:
			hand.dirty = true
			q.log.add(Event{Part: "queue", What: "dirty", Key: key, N: i + 1})
			return
		}
	}
	// Neither queued nor processed: the queue is shut down.
}

// merged reports that a key was added which is there already. The caller holds mu.
func (q *observed) merged(key cache.ObjectName) {
	q.merges[key]++
	q.log.add(Event{Part: "queue", What: "merged", Key: key})
}

// Done reports that a worker has put a key down.
func (q *observed) Done(key cache.ObjectName) {
	q.calls.Lock()
	defer q.calls.Unlock()
	q.mu.Lock()
	for i := range q.hands {
		if held := q.hands[i]; held.key == key {
			if _, waits := q.due[key]; held.failed && !held.dirty && !waits {
				q.log.add(Event{Part: "worker", What: "not retried", Key: key, N: i + 1})
			}
			q.hands[i] = hand{}
			q.log.add(Event{Part: "worker", What: "done", Key: key, N: i + 1})
		}
	}
	q.mu.Unlock()
	q.TypedInterface.Done(key) // queues it again if it was dirty
}

// fail remembers that the sync of a key has failed.
func (q *observed) fail(key cache.ObjectName) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.hands {
		if q.hands[i].key == key {
			q.hands[i].failed = true
		}
	}
}

// wait reports that a key waits. A second delay can only make it earlier: client-go keeps the earliest time.
func (q *observed) wait(key cache.ObjectName, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due := time.Now().Add(delay)
	if before, ok := q.due[key]; !ok || due.Before(before) {
		q.due[key] = due
		q.log.add(Event{Part: "queue", What: "waits", Key: key, N: int(delay.Milliseconds())})
	}
}

// order is where client-go's queue keeps the keys that are ready. It calls these methods while it holds its lock.
type order struct{ *observed }

func (o order) Push(key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.observed.order = append(o.observed.order, key)
	o.outcome = "queued"
	o.log.add(Event{Part: "queue", What: "queued", Key: key, N: len(o.observed.order)})
}

// Touch is called when a key is added that is queued already.
func (o order) Touch(key cache.ObjectName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.outcome = "merged"
	o.merged(key)
}

func (o order) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.observed.order)
}

func (o order) Pop() cache.ObjectName {
	o.mu.Lock()
	defer o.mu.Unlock()
	key := o.observed.order[0]
	o.observed.order[0] = cache.ObjectName{}
	o.observed.order = o.observed.order[1:]
	delete(o.merges, key)
	free := 0
	for free < len(o.hands) && o.hands[free].key != (cache.ObjectName{}) {
		free++
	}
	if free == len(o.hands) {
		o.hands = append(o.hands, hand{})
	}
	o.hands[free] = hand{key: key, since: o.log.now()}
	o.log.add(Event{Part: "worker", What: "got", Key: key, N: free + 1})
	return key
}
