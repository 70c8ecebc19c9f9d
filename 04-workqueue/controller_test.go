package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"example.com/client-go-workbook/internal/program"
)

// output is what a controller prints. Handlers and workers write at the same time.
type output struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines.String()
}

func (o *output) check(t *testing.T, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(o.String(), "\n")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func name(s string) cache.ObjectName { return cache.NewObjectName("default", s) }

func pod(name cache.ObjectName) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
}

// synced stands for an informer whose handlers have seen the first list.
type synced struct {
	cache.ResourceEventHandlerRegistration
}

func (synced) HasSyncedChecker() cache.DoneChecker { return synced{} }
func (synced) Name() string                        { return "nothing" }
func (synced) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// newTestController returns a controller whose queue the test fills itself.
func newTestController(sync func(cache.ObjectName) error, queueName string) (*Controller, *output) {
	out := &output{}
	retries := newBackoff()
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(retries, workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: queueName})
	c := NewController(queue, cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil), synced{}, retries, program.NewPrinter(out))
	if sync != nil {
		c.syncHandler = sync
	}
	return c, out
}

// quiet is a context whose log goes to the returned buffer.
func quiet(t *testing.T) (context.Context, context.CancelFunc, *output) {
	// The other handler keeps two reported errors a millisecond apart, which it counts from the process's start.
	// In a bubble that begins in the year 2000 it would wait for decades.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	log := &output{}
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log))))
	ctx, cancel := context.WithCancel(ctx)
	return ctx, cancel, log
}

// What the articles show, on fakes: the first list, the pod that only the store knew, an update, a deletion.
// Which of the first list's events comes first is what client-go's queues differ in.
func TestFromEventToSync(t *testing.T) {
	for name, test := range map[string]struct {
		gates         map[features.Feature]bool
		events, syncs string
	}{
		"today, missing pods come first": {
			events: "delete default/mypod, add default/old",
			syncs:  "Pod default/mypod does not exist anymore, Sync/Add/Update for Pod old",
		},
		"the same without AtomicFIFO": {
			gates:  map[features.Feature]bool{features.AtomicFIFO: false, features.UnlockWhileProcessingFIFO: false},
			events: "delete default/mypod, add default/old",
			syncs:  "Pod default/mypod does not exist anymore, Sync/Add/Update for Pod old",
		},
		"in the articles' time, with a DeltaFIFO, last": {
			gates:  map[features.Feature]bool{features.InOrderInformers: false},
			events: "add default/old, delete default/mypod",
			syncs:  "Sync/Add/Update for Pod old, Pod default/mypod does not exist anymore",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for gate, on := range test.gates {
				clientfeatures.SetFeatureDuringTest(t, gate, on)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel, _ := quiet(t)
				pods := fake.NewClientset(pod(cache.NewObjectName("default", "old")))
				factory := newFactory(pods, selection{labels: labels.Everything()})
				informer := factory.Core().V1().Pods().TypedInformer()
				c, out := newTestController(nil, "")
				registration, err := informer.AddTypedEventHandler(podHandler(c.out, c.queue))
				if err != nil {
					t.Fatal(err)
				}
				c.indexer, c.informer = informer.GetIndexer(), registration
				if err := c.indexer.Add(pod(cache.NewObjectName("default", "mypod"))); err != nil {
					t.Fatal(err)
				}
				factory.StartWithContext(ctx)
				var group sync.WaitGroup
				group.Go(func() { c.Run(ctx, 1) })
				synctest.Wait()

				nginx := pod(cache.NewObjectName("nginx", "nginx-1"))
				client := pods.CoreV1().Pods("nginx")
				if _, err := client.Create(ctx, nginx, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				nginx.Annotations = map[string]string{"a": "b"}
				if _, err := client.Update(ctx, nginx, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if err := client.Delete(ctx, "nginx-1", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				cancel()
				group.Wait()
				factory.Shutdown()

				// Handlers and workers print at the same time. Each for themselves have an order.
				var events, syncs []string
				for line := range strings.Lines(out.String()) {
					line = strings.TrimSuffix(line, "\n")
					if event, name, ok := strings.Cut(line, " pod:  "); ok {
						events = append(events, event+" "+name)
					} else {
						syncs = append(syncs, line)
					}
				}
				test.events += ", add nginx/nginx-1, update nginx/nginx-1, delete nginx/nginx-1"
				if got := strings.Join(events, ", "); got != test.events {
					t.Errorf("handlers:\n got %s\nwant %s", got, test.events)
				}
				test.syncs += ", Sync/Add/Update for Pod nginx-1, Sync/Add/Update for Pod nginx-1, Pod nginx/nginx-1 does not exist anymore" +
					", DRAIN      0 in work, 0 queued, 0 failed before, DRAINED    all workers are done"
				if got := strings.Join(syncs, ", "); got != test.syncs {
					t.Errorf("workers:\n got %s\nwant %s", got, test.syncs)
				}
			})
		})
	}
}

func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		fails    int             // how many of the first attempts fail
		attempts []time.Duration // when they came
		want     string
		reported bool
	}{
		"a pod that goes on failing is dropped after 5 retries, and reported": {
			fails: 99,
			attempts: []time.Duration{
				0, 5 * time.Millisecond, 15 * time.Millisecond, 35 * time.Millisecond, 75 * time.Millisecond, 155 * time.Millisecond,
				// The event after that begins anew.
				time.Hour, time.Hour + 5*time.Millisecond, time.Hour + 15*time.Millisecond, time.Hour + 35*time.Millisecond, time.Hour + 75*time.Millisecond, time.Hour + 155*time.Millisecond,
			},
			want: strings.Repeat(`RETRY      default/a attempt 1 failed, next in 5ms: no luck
RETRY      default/a attempt 2 failed, next in 10ms: no luck
RETRY      default/a attempt 3 failed, next in 20ms: no luck
RETRY      default/a attempt 4 failed, next in 40ms: no luck
RETRY      default/a attempt 5 failed, next in 80ms: no luck
DROPPED    default/a after attempt 6: no luck
`, 2),
			reported: true,
		},
		"a pod that succeeds is forgiven": {
			fails:    2,
			attempts: []time.Duration{0, 5 * time.Millisecond, 15 * time.Millisecond, time.Hour},
			want: `RETRY      default/a attempt 1 failed, next in 5ms: no luck
RETRY      default/a attempt 2 failed, next in 10ms: no luck
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel, log := quiet(t)
				start := time.Now()
				var attempts []time.Duration
				c, out := newTestController(func(cache.ObjectName) error {
					attempts = append(attempts, time.Since(start))
					if len(attempts) <= test.fails {
						return errors.New("no luck")
					}
					return nil
				}, "")
				var group sync.WaitGroup
				group.Go(func() { c.Run(ctx, 1) })
				c.queue.Add(cache.NewObjectName("default", "a"))
				time.Sleep(time.Hour)
				c.queue.Add(cache.NewObjectName("default", "a"))
				time.Sleep(time.Hour)
				cancel()
				group.Wait()
				if diff := cmp.Diff(test.attempts, attempts); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
				out.check(t, test.want+"DRAIN      0 in work, 0 queued, 0 failed before\nDRAINED    all workers are done\n")
				if got := strings.Contains(log.String(), `"Dropping pod out of the queue" err="no luck"`); got != test.reported {
					t.Errorf("error reported: %t, want %t:\n%s", got, test.reported, log)
				}
			})
		})
	}
}

// A thousand updates that come while a pod is in work are one more sync, not a thousand.
func TestUpdatesMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel, _ := quiet(t)
		syncs := 0
		c, _ := newTestController(trouble{work: 50 * time.Millisecond}.around(func(cache.ObjectName) error {
			syncs++
			return nil
		}), "")
		handler := podHandler(c.out, c.queue)
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx, 4) })
		a := pod(name("a"))
		handler.OnAdd(a, false)
		synctest.Wait() // in work from here on
		for range 1000 {
			handler.OnUpdate(a, a)
		}
		start := time.Now()
		cancel()
		group.Wait()
		if syncs != 2 || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%d syncs in %s, want 2, one after the other", syncs, time.Since(start))
		}
	})
}

// However many workers there are, a key is never with two of them, and none of its changes is lost.
func TestOneWorkerPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel, _ := quiet(t)
		var mu sync.Mutex
		changed, seen := map[cache.ObjectName]int{}, map[cache.ObjectName]int{}
		working := map[cache.ObjectName]bool{}
		together := 0
		c, _ := newTestController(func(key cache.ObjectName) error {
			mu.Lock()
			if working[key] {
				t.Errorf("%s is with two workers", key)
			}
			working[key] = true
			together = max(together, len(working))
			state := changed[key] // read first: what comes later must bring the key back
			mu.Unlock()
			time.Sleep(rand.N(10 * time.Millisecond))
			mu.Lock()
			defer mu.Unlock()
			delete(working, key)
			seen[key] = state
			if rand.N(10) == 0 {
				seen[key] = -1
				return errors.New("no luck")
			}
			return nil
		}, "")
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx, 8) })
		var changers sync.WaitGroup
		for range 8 {
			changers.Go(func() {
				for range 500 {
					key := name(fmt.Sprint(rand.N(5)))
					mu.Lock()
					changed[key]++
					mu.Unlock()
					c.queue.Add(key)
					time.Sleep(rand.N(2 * time.Millisecond))
				}
			})
		}
		changers.Wait()
		time.Sleep(time.Hour) // the last retries
		cancel()
		group.Wait()
		if diff := cmp.Diff(changed, seen); diff != "" {
			t.Errorf("changes and what the last syncs saw (-want +got):\n%s", diff)
		}
		if together < 2 {
			t.Errorf("at most %d keys were in work at once: this tested nothing", together)
		}
	})
}

func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		drainFor time.Duration
		want     string
		took     time.Duration
	}{
		"keys in work are finished, queued ones handled, those that wait for a retry named": {
			drainFor: time.Minute,
			want: `RETRY      default/failing attempt 1 failed, next in 5ms: no luck
DRAIN      3 in work, 2 queued, 1 failed before
SYNCED     a
SYNCED     b
SYNCED     d
SYNCED     changed
SYNCED     changed
LEFT       default/failing is due for attempt 2
LEFT       default/failing-late is due for attempt 2
DRAINED    all workers are done
`,
			took: 2 * time.Second,
		},
		"when it takes too long, queued ones are named": {
			drainFor: time.Millisecond,
			want: `RETRY      default/failing attempt 1 failed, next in 5ms: no luck
DRAIN      3 in work, 2 queued, 1 failed before
SYNCED     a
SYNCED     b
SYNCED     changed
LEFT       default/changed was queued
LEFT       default/d was queued
LEFT       default/failing is due for attempt 2
LEFT       default/failing-late was queued
DRAINED    all workers are done
`,
			took: time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel, _ := quiet(t)
				c, out := newTestController(nil, "")
				c.drainFor = test.drainFor
				c.syncHandler = func(key cache.ObjectName) error {
					if key.Name != "failing" {
						time.Sleep(time.Second)
					}
					if strings.HasPrefix(key.Name, "failing") {
						return errors.New("no luck")
					}
					c.out.Line("SYNCED", "%s", key.Name)
					return nil
				}
				var group sync.WaitGroup
				group.Go(func() { c.Run(ctx, 3) })
				for _, key := range []string{"failing", "a", "b", "changed", "d", "failing-late"} {
					c.queue.Add(cache.NewObjectName("default", key))
				}
				synctest.Wait()
				c.queue.Add(cache.NewObjectName("default", "changed")) // it is in work: not queued yet, and not lost
				start := time.Now()
				cancel()
				synctest.Wait()
				c.queue.Add(cache.NewObjectName("default", "too-late"))
				group.Wait()
				// Workers that end in the same moment print in any order.
				lines := strings.SplitAfter(out.String(), "\n")
				slices.SortStableFunc(lines, func(a, b string) int {
					rank := func(line string) int {
						return slices.IndexFunc([]string{"RETRY", "DRAIN ", "SYNCED     a", "SYNCED     b", "SYNCED     d", "SYNCED", "LEFT", "DRAINED", ""}, func(prefix string) bool {
							return strings.HasPrefix(line, prefix)
						})
					}
					if rank(a) == rank(b) {
						return strings.Compare(a, b)
					}
					return rank(a) - rank(b)
				})
				if diff := cmp.Diff(strings.SplitAfter(test.want, "\n"), lines); diff != "" {
					t.Errorf("printed (-want +got):\n%s", diff)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("the drain took %s, want %s", took, test.took)
				}
			})
		})
	}
}

// A ShutDownWithDrain in the place of ShutDown and Wait would leave what is queued: the reason for drain.go.
func TestShutDownWithDrainLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newTestController(nil, "")
		c.queue.Add(name("a"))
		c.queue.ShutDownWithDrain()
		if got := c.queue.Len(); got != 1 {
			t.Errorf("%d keys in the queue afterwards, want 1", got)
		}
		c.queue.ShutDown() // ends its goroutine
	})
}

// Nothing can be said of a key before the store is filled. It is named all the same.
func TestRunEndsBeforeTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel, _ := quiet(t)
		c, out := newTestController(nil, "")
		factory := newFactory(fake.NewClientset(), selection{labels: labels.Everything()}) // never started
		registration, err := factory.Core().V1().Pods().TypedInformer().AddTypedEventHandler(podHandler(c.out, c.queue))
		if err != nil {
			t.Fatal(err)
		}
		c.informer = registration
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx, 1) })
		c.queue.Add(name("a"))
		synctest.Wait()
		cancel()
		group.Wait()
		if got := out.String(); !strings.Contains(got, "LEFT       default/a was queued\n") || strings.Contains(got, "not exist") {
			t.Errorf("printed:\n%s", got)
		}
	})
}

func TestMetricsSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel, _ := quiet(t)
		queue := fmt.Sprint(t.Name(), rand.Uint64()) // the registry is one for all runs
		failed := false
		c, _ := newTestController(func(key cache.ObjectName) error {
			time.Sleep(time.Second)
			if !failed {
				failed = true
				return errors.New("no luck")
			}
			return nil
		}, queue)
		var group sync.WaitGroup
		group.Go(func() { c.Run(ctx, 1) })
		c.queue.Add(name("a")) // fails at 1 s, is queued again 5 ms later, and in work again at 2 s
		c.queue.Add(name("b")) // in work at 1 s
		c.queue.Add(name("b"))
		time.Sleep(time.Minute)
		cancel()
		group.Wait()
		const want = "3 adds, 1 retries, 0 queued; a key waited 665ms and was in work for 1s, on average"
		if got := metricsSummary(queue); got != want {
			t.Errorf("metricsSummary = %q, want %q", got, want)
		}
	})
}
