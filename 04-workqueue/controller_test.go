package main

import (
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

	"example.com/client-go-workbook/internal/controller/retryqueue"
	"example.com/client-go-workbook/internal/program"
	"example.com/client-go-workbook/internal/test/testkit"
)

// checkOutput compares all that was printed.
func checkOutput(t *testing.T, out *testkit.Buffer, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(out.String(), "\n")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

func key(s string) cache.ObjectName { return cache.NewObjectName("default", s) }

func pod(name cache.ObjectName) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name}}
}

// newTestController returns a controller whose queue the test fills itself. It has no handlers to wait for.
func newTestController(syncHandler syncFunc) (*Controller, *testkit.Buffer) {
	var out testkit.Buffer
	c := &Controller{
		indexer:  cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
		queue:    newTestQueue(""),
		drainFor: 20 * time.Second,
		out:      program.NewPrinter(&out),
	}
	c.syncHandler = syncHandler
	if syncHandler == nil {
		c.syncHandler = c.syncToStdout
	}
	return c, &out
}

func newTestQueue(name string) *retryqueue.Queue {
	return retryqueue.New(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName](),
		workqueue.TypedRateLimitingQueueConfig[cache.ObjectName]{Name: name})
}

// start runs a controller, and returns a function that ends it and returns when it has ended.
func (c *Controller) start(ctx context.Context, workers int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { c.Run(ctx, context.WithoutCancel(ctx), workers) })
	return func() {
		cancel()
		group.Wait()
	}
}

// withLog returns a context whose log goes to the returned buffer.
func withLog(t *testing.T) (context.Context, *testkit.Buffer) {
	// The other handler keeps two reported errors a millisecond apart, which it counts from the process's start.
	// In a bubble that begins in the year 2000 it would wait for decades.
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = handlers[:1]
	t.Cleanup(func() { utilruntime.ErrorHandlers = handlers })
	var log testkit.Buffer
	return klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))), &log
}

// What the articles show, on fakes: the first list, the pod that only the store knows, an update, a deletion. Client-go's
// queues differ in which of the first list's events comes first.
func TestFromEventToSync(t *testing.T) {
	for name, test := range map[string]struct {
		gates         map[features.Feature]bool
		events, syncs []string
	}{
		"today, missing pods come first": {
			events: []string{"delete pod:  default/mypod", "add pod:  default/old"},
			syncs:  []string{"Pod default/mypod does not exist anymore", "Sync/Add/Update for Pod old"},
		},
		"the same without AtomicFIFO": {
			gates:  map[features.Feature]bool{features.AtomicFIFO: false, features.UnlockWhileProcessingFIFO: false},
			events: []string{"delete pod:  default/mypod", "add pod:  default/old"},
			syncs:  []string{"Pod default/mypod does not exist anymore", "Sync/Add/Update for Pod old"},
		},
		"in the articles' time, with a DeltaFIFO, last": {
			gates:  map[features.Feature]bool{features.InOrderInformers: false},
			events: []string{"add pod:  default/old", "delete pod:  default/mypod"},
			syncs:  []string{"Sync/Add/Update for Pod old", "Pod default/mypod does not exist anymore"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for gate, on := range test.gates {
				clientfeatures.SetFeatureDuringTest(t, gate, on)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, _ := withLog(t)
				clientset := fake.NewClientset(pod(cache.NewObjectName("default", "old")))
				factory := newFactory(clientset, selection{labels: labels.Everything()})
				var out testkit.Buffer
				c := testkit.Must(NewController(factory.Core().V1().Pods(), program.NewPrinter(&out)))(t)
				c.drainFor = time.Second
				if err := addUnknownPod(c.indexer, ""); err != nil {
					t.Fatal(err)
				}
				informerCtx, stopInformers := context.WithCancel(ctx)
				factory.StartWithContext(informerCtx)
				stop := c.start(ctx, 1)
				synctest.Wait()

				nginx := pod(cache.NewObjectName("nginx", "nginx-1"))
				client := clientset.CoreV1().Pods("nginx")
				testkit.Must(client.Create(ctx, nginx, metav1.CreateOptions{}))(t)
				synctest.Wait()
				nginx.Annotations = map[string]string{"a": "b"}
				testkit.Must(client.Update(ctx, nginx, metav1.UpdateOptions{}))(t)
				synctest.Wait()
				if err := client.Delete(ctx, "nginx-1", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				stop()
				stopInformers()
				factory.Shutdown()

				// Handlers and workers print at the same time. The lines of each of them have an order.
				var events, syncs []string
				for _, line := range out.Lines() {
					if strings.Contains(line, " pod:  ") {
						events = append(events, line)
					} else {
						syncs = append(syncs, line)
					}
				}
				wantEvents := append(test.events, "add pod:  nginx/nginx-1", "update pod:  nginx/nginx-1", "delete pod:  nginx/nginx-1")
				if diff := cmp.Diff(wantEvents, events); diff != "" {
					t.Errorf("handlers (-want +got):\n%s", diff)
				}
				wantSyncs := append(test.syncs,
					"Sync/Add/Update for Pod nginx-1", "Sync/Add/Update for Pod nginx-1", "Pod nginx/nginx-1 does not exist anymore",
					"DRAIN      0 processing, 0 queued, 0 due for a retry", "DRAINED    all workers are done, after 5 sync(s)")
				if diff := cmp.Diff(wantSyncs, syncs); diff != "" {
					t.Errorf("workers (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestRetries(t *testing.T) {
	for name, test := range map[string]struct {
		fails    int             // how many of the first attempts after an event fail
		attempts []time.Duration // when they came
		want     string
		reported bool
	}{
		"a pod that goes on failing is dropped after 5 retries, and reported": {
			fails: 99,
			attempts: []time.Duration{
				0, 5 * time.Millisecond, 15 * time.Millisecond, 35 * time.Millisecond, 75 * time.Millisecond, 155 * time.Millisecond,
				// The event after that begins with the first delay again.
				time.Hour, time.Hour + 5*time.Millisecond, time.Hour + 15*time.Millisecond, time.Hour + 35*time.Millisecond,
				time.Hour + 75*time.Millisecond, time.Hour + 155*time.Millisecond,
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
		"after a success, the next failure is a first one again": {
			fails: 2,
			attempts: []time.Duration{
				0, 5 * time.Millisecond, 15 * time.Millisecond,
				time.Hour, time.Hour + 5*time.Millisecond, time.Hour + 15*time.Millisecond,
			},
			want: strings.Repeat(`RETRY      default/a attempt 1 failed, next in 5ms: no luck
RETRY      default/a attempt 2 failed, next in 10ms: no luck
`, 2),
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, log := withLog(t)
				start := time.Now()
				var attempts []time.Duration
				failed := 0
				c, out := newTestController(func(context.Context, cache.ObjectName) error {
					attempts = append(attempts, time.Since(start))
					if failed < test.fails {
						failed++
						return errors.New("no luck")
					}
					return nil
				})
				stop := c.start(ctx, 1)
				c.queue.Add(key("a"))
				time.Sleep(time.Hour)
				synctest.Wait()
				failed = 0
				c.queue.Add(key("a"))
				time.Sleep(time.Hour)
				stop()
				if diff := cmp.Diff(test.attempts, attempts); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
				checkOutput(t, out, fmt.Sprintf("%sDRAIN      0 processing, 0 queued, 0 due for a retry\n"+
					"DRAINED    all workers are done, after %d sync(s)\n",
					test.want, len(attempts)))
				if got := strings.Contains(log.String(), `"Dropping pod out of the queue" err="no luck"`); got != test.reported {
					t.Errorf("error reported: %t, want %t:\n%s", got, test.reported, log)
				}
			})
		})
	}
}

// A thousand updates that come while a worker processes the pod are one more sync, not a thousand.
func TestUpdatesMerge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := withLog(t)
		syncs := 0
		c, _ := newTestController(faults{delay: 50 * time.Millisecond}.wrap(func(context.Context, cache.ObjectName) error {
			syncs++
			return nil
		}))
		handler := podHandler(c.out, c.queue)
		stop := c.start(ctx, 4)
		a := pod(key("a"))
		handler.OnAdd(a, false)
		synctest.Wait() // a worker processes it from here on
		for range 1000 {
			handler.OnUpdate(a, a)
		}
		start := time.Now()
		stop()
		if syncs != 2 || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%d syncs in %s, want 2, one after the other", syncs, time.Since(start))
		}
	})
}

// However many workers there are, no two of them process the same key, and none of its changes is lost.
func TestOneWorkerPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := withLog(t)
		var mu sync.Mutex
		changed, synced := map[cache.ObjectName]int{}, map[cache.ObjectName]int{}
		processing := map[cache.ObjectName]bool{}
		together := 0
		c, _ := newTestController(func(_ context.Context, key cache.ObjectName) error {
			mu.Lock()
			if processing[key] {
				t.Errorf("two workers process %s", key)
			}
			processing[key] = true
			together = max(together, len(processing))
			state := changed[key] // read first: a later change must bring the key back
			mu.Unlock()
			time.Sleep(rand.N(10 * time.Millisecond))
			mu.Lock()
			defer mu.Unlock()
			delete(processing, key)
			synced[key] = state
			if rand.N(10) == 0 {
				synced[key] = -1
				return errors.New("no luck")
			}
			return nil
		})
		stop := c.start(ctx, 8)
		var changers sync.WaitGroup
		for range 8 {
			changers.Go(func() {
				for range 500 {
					key := key(fmt.Sprint(rand.N(5)))
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
		stop()
		if diff := cmp.Diff(changed, synced); diff != "" {
			t.Errorf("changes, and what the last syncs read (-want +got):\n%s", diff)
		}
		if together < 2 {
			t.Errorf("at most %d keys were processed at once: this tested nothing", together)
		}
	})
}

func TestDrain(t *testing.T) {
	for name, test := range map[string]struct {
		drainFor time.Duration
		want     string
		took     time.Duration
	}{
		"workers finish their keys, sync the queued ones, and name those that wait for a retry": {
			drainFor: time.Minute,
			want: `RETRY      default/failing attempt 1 failed, next in 5ms: no luck
DRAIN      3 processing, 2 queued, 1 due for a retry
SYNCED     a
SYNCED     b
SYNCED     d
SYNCED     changed
SYNCED     changed
LEFT       default/failing is due for a retry
LEFT       default/failing-late is due for a retry
DRAINED    all workers are done, after 7 sync(s)
`,
			took: 2 * time.Second,
		},
		"when it takes too long, the queued ones are named": {
			drainFor: time.Millisecond,
			want: `RETRY      default/failing attempt 1 failed, next in 5ms: no luck
DRAIN      3 processing, 2 queued, 1 due for a retry
SYNCED     a
SYNCED     b
SYNCED     changed
LEFT       default/changed was queued
LEFT       default/d was queued
LEFT       default/failing is due for a retry
LEFT       default/failing-late was queued
DRAINED    all workers are done, after 4 sync(s)
`,
			took: time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, _ := withLog(t)
				c, out := newTestController(nil)
				c.drainFor = test.drainFor
				c.syncHandler = func(_ context.Context, key cache.ObjectName) error {
					if key.Name != "failing" {
						time.Sleep(time.Second)
					}
					if strings.HasPrefix(key.Name, "failing") {
						return errors.New("no luck")
					}
					c.out.Line("SYNCED", "%s", key.Name)
					return nil
				}
				ctx, cancel := context.WithCancel(ctx)
				stop := c.start(ctx, 3)
				for _, key := range []string{"failing", "a", "b", "changed", "d", "failing-late"} {
					c.queue.Add(cache.NewObjectName("default", key))
				}
				synctest.Wait()
				c.queue.Add(cache.NewObjectName("default", "changed")) // a worker has it: it is not queued yet, and not lost
				start := time.Now()
				cancel()
				synctest.Wait()
				c.queue.Add(cache.NewObjectName("default", "too-late"))
				stop()
				// Workers that end in the same moment print in any order.
				lines := strings.SplitAfter(out.String(), "\n")
				slices.SortStableFunc(lines, func(a, b string) int {
					rank := func(line string) int {
						prefixes := []string{
							"RETRY", "DRAIN ", "SYNCED     a", "SYNCED     b", "SYNCED     d", "SYNCED", "LEFT", "DRAINED", "",
						}
						return slices.IndexFunc(prefixes, func(prefix string) bool {
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
		c, _ := newTestController(nil)
		c.queue.Add(key("a"))
		c.queue.ShutDownWithDrain()
		if got := c.queue.Len(); got != 1 {
			t.Errorf("%d keys in the queue afterwards, want 1", got)
		}
		c.queue.ShutDown() // ends its goroutine
	})
}

// Before the store is filled, a key cannot be synced. It is named all the same.
func TestRunEndsBeforeTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, _ := withLog(t)
		factory := newFactory(fake.NewClientset(), selection{labels: labels.Everything()}) // never started
		var out testkit.Buffer
		c := testkit.Must(NewController(factory.Core().V1().Pods(), program.NewPrinter(&out)))(t)
		stop := c.start(ctx, 1)
		c.queue.Add(key("a"))
		synctest.Wait()
		stop()
		if got := out.String(); !strings.Contains(got, "LEFT       default/a was queued\n") || strings.Contains(got, "not exist") {
			t.Errorf("printed:\n%s", got)
		}
	})
}
