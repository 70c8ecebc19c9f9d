package codegen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type bugTwiceAnswer = func(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error

// BugTwice grades the answers to "Find the bug: created twice".
var BugTwice = grade.Exercise[bugTwiceAnswer]{
	Grade: func(t *grade.T, run bugTwiceAnswer) {
		t.Bubble(func(t *grade.T) { gradeRun(t, run, 2+t.Rand.IntN(3)) })
		t.Bubble(func(t *grade.T) { gradeRun(t, run, 0) })
		t.Bubble(func(t *grade.T) { gradeEnd(t, run) })
		t.Bubble(func(t *grade.T) { gradeCreateErrors(t, run) })
		t.Bubble(func(t *grade.T) { gradeStoppedInformer(t, run) })
	},
}

// gradeRun has some DatabaseManagers with a Deployment, and three without. It runs in a bubble, in which an hour passes at once.
func gradeRun(t *grade.T, run bugTwiceAnswer, existing int) {
	list := time.Duration(10+t.Rand.IntN(50)) * time.Minute
	databases, databaseSource := slowInformer(t, &dbv1alpha1.DatabaseManager{}, time.Duration(t.Rand.IntN(60))*time.Second)
	deployments, deploymentSource := slowInformer(t, &appsv1.Deployment{}, list)
	var all []*dbv1alpha1.DatabaseManager
	var missing []string
	for i := range existing + 3 {
		d := databaseInShop(fmt.Sprintf("d%d-%d", i, t.Rand.IntN(1000)))
		all = append(all, d)
		databaseSource.Add(d)
		if i < existing {
			deploymentSource.Add(deployment(d.Namespace, d.Spec.DeploymentName))
		} else {
			missing = append(missing, d.Name)
		}
	}
	last := all[len(all)-1]
	if existing > 0 { // two Deployments that are not the last one's: in another namespace, and with the name of the DatabaseManager
		deploymentSource.Add(deployment("other", last.Spec.DeploymentName))
		deploymentSource.Add(deployment(last.Namespace, last.Name))
	}
	deleted := databaseInShop("deleted")
	databaseSource.Add(deleted)

	var mu sync.Mutex
	var created []string
	failed := false
	create := func(d *dbv1alpha1.DatabaseManager) error {
		mu.Lock()
		defer mu.Unlock()
		if !failed {
			failed = true
			return errors.New("the network is down")
		}
		created = append(created, d.Name)
		deploymentSource.Add(deployment(d.Namespace, d.Spec.DeploymentName))
		return nil
	}
	stop := startRun(t, run, databases, deployments, create)
	time.Sleep(5 * time.Minute) // the list of Deployments is not there yet
	databaseSource.Delete(deleted)
	unchanged := t.Unchanged(databases.GetStore().List()...)
	time.Sleep(2 * time.Hour)
	mu.Lock()
	took := fmt.Sprintf("(the list of Deployments took %s)", list)
	for _, name := range created {
		if !slices.Contains(missing, name) && name != deleted.Name {
			t.Reject(fmt.Sprintf("create is not called for %s, which has a Deployment", name), "it is called "+took,
				"which stores does sync read, and what has been waited for before?")
		}
	}
	if slices.Contains(created, deleted.Name) {
		t.Reject("create is not called for a DatabaseManager that was deleted before", "it is called "+took,
			"what does the store have when its turn comes?")
	}
	slices.Sort(created)
	if !slices.Equal(created, missing) {
		t.Reject(fmt.Sprintf("create succeeds once for each DatabaseManager that has no Deployment: %s", strings.Join(missing, ", ")),
			fmt.Sprintf("in two hours it has succeeded for %q %s", created, took),
			"what becomes of a key that comes before both lists are there?")
	}
	unchanged()
	created = nil
	mu.Unlock()

	// Somebody deletes a Deployment, and then the DatabaseManager changes.
	deploymentSource.Delete(deployment(last.Namespace, last.Spec.DeploymentName))
	time.Sleep(time.Minute)
	databaseSource.Modify(relabeled(last))
	time.Sleep(time.Minute)
	stop()
	if !slices.Equal(created, []string{last.Name}) {
		t.Reject(fmt.Sprintf("create is called for %s, which changes when its Deployment is gone", last.Name),
			fmt.Sprintf("it is called for %q", created), "UpdateFunc, and what your code remembers")
	}
}

// gradeEnd ends ctx before the list of Deployments is there.
func gradeEnd(t *grade.T, run bugTwiceAnswer) {
	databases, source := slowInformer(t, &dbv1alpha1.DatabaseManager{}, 0)
	deployments, _ := slowInformer(t, &appsv1.Deployment{}, time.Hour)
	source.Add(databaseInShop("early"))
	var created atomic.Int32
	stop := startRun(t, run, databases, deployments, func(*dbv1alpha1.DatabaseManager) error {
		created.Add(1)
		return nil
	})
	time.Sleep(time.Minute)
	stop()
	if created.Load() > 0 {
		t.Reject("create is not called before the list of Deployments is there", "it is called", "which stores does sync read?")
	}
}

// gradeCreateErrors lets create fail eight times, and once again after it has succeeded.
func gradeCreateErrors(t *grade.T, run bugTwiceAnswer) {
	databases, source := slowInformer(t, &dbv1alpha1.DatabaseManager{}, 0)
	deployments, _ := slowInformer(t, &appsv1.Deployment{}, 0) // what create has made is not seen here
	d := databaseInShop("late")
	source.Add(d)
	const errs = 8
	var calls []time.Time
	stop := startRun(t, run, databases, deployments, func(*dbv1alpha1.DatabaseManager) error {
		calls = append(calls, time.Now())
		if n := len(calls); n <= errs || n == errs+2 {
			return errors.New("the network is down")
		}
		return nil
	})
	time.Sleep(time.Minute)
	minute := time.Now()
	source.Modify(relabeled(d)) // a new sync
	time.Sleep(time.Minute)
	stop()
	inTime := 0
	for _, call := range calls {
		if call.Before(minute) {
			inTime++
		}
	}
	if inTime != errs+1 || len(calls) != errs+3 {
		t.Reject(fmt.Sprintf("create is called %d times in a minute if it fails %d times, and then 2 times if it fails once", errs+1, errs),
			fmt.Sprintf("%d times, and then %d times", inTime, len(calls)-inTime),
			"AddRateLimited after an error, Forget after a success")
	}
	delay := func(n int) time.Duration { return calls[n].Sub(calls[n-1]) }
	longest := delay(errs)
	if first := delay(1); first <= 0 || longest <= first {
		t.Reject("create is called again later after an error, and later after each one more",
			fmt.Sprintf("after %s, and after %s at the end", first, longest), "AddRateLimited")
	}
	if again := delay(errs + 2); again >= longest {
		t.Reject("after a success, the delays begin with the shortest", fmt.Sprintf("the next one is %s", again), "Forget")
	}
}

// gradeStoppedInformer gives Run an informer that takes no handler any more.
func gradeStoppedInformer(t *grade.T, run bugTwiceAnswer) {
	databases, _ := slowInformer(t, &dbv1alpha1.DatabaseManager{}, time.Hour)
	deployments, _ := slowInformer(t, &appsv1.Deployment{}, time.Hour)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	databases.RunWithContext(stopped)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := run(ctx, databases, deployments, func(*dbv1alpha1.DatabaseManager) error { return nil }); err == nil {
		t.Reject("Run returns an error if the informer was stopped before", "it returns nil", "AddEventHandler returns one")
	}
}

// startRun starts the informers and run. The result ends ctx, waits until run has returned, and then for the informers.
func startRun(
	t *grade.T,
	run bugTwiceAnswer,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	informerCtx, stopInformers := context.WithCancel(t.Context())
	for _, informer := range []cache.SharedIndexInformer{databases, deployments} {
		go informer.RunWithContext(informerCtx)
	}
	done := make(chan error, 1)
	go func() { done <- run(ctx, databases, deployments, create) }()
	return func() {
		select {
		case err := <-done:
			t.Reject("Run returns when ctx ends", fmt.Sprintf("it returns earlier: %v", err), "what ends Run?")
		default:
		}
		cancel()
		select {
		case <-done:
		case <-time.After(time.Minute):
			t.Reject("Run returns when ctx ends", "a minute later it has not returned", "who tells each wait in Run that ctx has ended?")
		}
		stopInformers()
	}
}

func databaseInShop(name string) *dbv1alpha1.DatabaseManager {
	return &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       dbv1alpha1.DatabaseManagerSpec{DeploymentName: "of-" + name},
	}
}

// relabeled returns d with another label.
func relabeled(d *dbv1alpha1.DatabaseManager) *dbv1alpha1.DatabaseManager {
	d = d.DeepCopy()
	d.Labels = map[string]string{"changed": "true"}
	return d
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// slowInformer returns an informer whose list takes that long, and its server.
func slowInformer(t *grade.T, of runtime.Object, takes time.Duration) (cache.SharedIndexInformer, *cachetesting.FakeControllerSource) {
	source := cachetesting.NewFakeControllerSource()
	t.TB.Cleanup(source.Shutdown)
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			select {
			case <-time.After(takes):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return source.List(options)
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return source.Watch(options)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lists, noStreaming{}), of, 0, cache.Indexers{}),
		source
}

// noStreaming is a client whose server sends a list as a list, not as the beginning of a watch.
type noStreaming struct{}

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }
