package exercise_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"

	exercise "example.com/client-go-workbook/06-crd-codegen/exercises/10-bug-twice"
	answers "example.com/client-go-workbook/06-crd-codegen/exercises/answers/10-bug-twice"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
)

type answer = func(
	ctx context.Context,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.Run,
	Accepted: []answer{answers.Run, answers.Polls},
	Rejected: []grade.Rejected[answer]{
		{Name: "sleeps first", Answer: answers.SleepsFirst, Says: "has a Deployment"},
		{Name: "drops the keys that come too early", Answer: answers.DropsTheKeysThatComeTooEarly, Says: "has no Deployment"},
		{Name: "waits until there is a Deployment", Answer: answers.WaitsUntilThereIsADeployment, Says: "has no Deployment"},
	},
	Grade: func(t *grade.T, run answer) {
		t.Bubble(func(t *grade.T) { gradeRun(t, run, 2+t.Rand.IntN(3)) })
		t.Bubble(func(t *grade.T) { gradeRun(t, run, 0) })
		t.Bubble(func(t *grade.T) { gradeEnd(t, run) })
	},
}

func TestExercise(t *testing.T) { grader.Test(t) }
func TestGrader(t *testing.T)   { grader.TestGrader(t) }

// gradeRun has some DatabaseManagers with a Deployment, and three without. It runs in a bubble, in which an hour passes at once.
func gradeRun(t *grade.T, run answer, existing int) {
	list := time.Duration(10+t.Rand.IntN(50)) * time.Minute
	databases, addDatabase := informer(t, &dbv1alpha1.DatabaseManager{}, time.Duration(t.Rand.IntN(60))*time.Second)
	deployments, addDeployment := informer(t, &appsv1.Deployment{}, list)
	var missing []string
	for i := range existing + 3 {
		d := database(fmt.Sprintf("d%d-%d", i, t.Rand.IntN(1000)))
		addDatabase(d)
		if i < existing {
			addDeployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Spec.DeploymentName}})
		} else {
			missing = append(missing, d.Name)
		}
	}
	addDeployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: missing[0]}})
	if existing == 0 {
		deployments, _ = informer(t, &appsv1.Deployment{}, list) // of an empty cluster
	}

	ctx, cancel := context.WithCancel(t.Context())
	var created []string
	failed := false
	create := func(d *dbv1alpha1.DatabaseManager) error {
		if !failed {
			failed = true
			return fmt.Errorf("the network is down")
		}
		created = append(created, d.Name)
		addDeployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Spec.DeploymentName}})
		return nil
	}
	running := start(ctx, run, databases, deployments, create)
	time.Sleep(2 * time.Hour)
	cancel()
	running()

	took := fmt.Sprintf("(the list of Deployments took %s)", list)
	for _, name := range created {
		if !slices.Contains(missing, name) {
			t.Reject(fmt.Sprintf("create is not called for %s, which has a Deployment", name), "it is called "+took,
				"which stores does sync read, and what has been waited for before?")
		}
	}
	slices.Sort(created)
	if !slices.Equal(created, missing) {
		t.Reject(fmt.Sprintf("create succeeds once for each DatabaseManager that has no Deployment: %s", strings.Join(missing, ", ")),
			fmt.Sprintf("in two hours it has succeeded for %q %s", created, took),
			"what becomes of a key that comes before both lists are there?")
	}
}

// gradeEnd ends ctx before the list of Deployments is there.
func gradeEnd(t *grade.T, run answer) {
	databases, addDatabase := informer(t, &dbv1alpha1.DatabaseManager{}, 0)
	deployments, _ := informer(t, &appsv1.Deployment{}, time.Hour)
	addDatabase(database("early"))
	ctx, cancel := context.WithCancel(t.Context())
	var created atomic.Int32
	running := start(ctx, run, databases, deployments, func(*dbv1alpha1.DatabaseManager) error {
		created.Add(1)
		return nil
	})
	time.Sleep(time.Minute)
	cancel()
	running()
	if created.Load() > 0 {
		t.Reject("create is not called before the list of Deployments is there", "it is called", "which stores does sync read?")
	}
}

// start starts the informers and run. The result waits until run has returned, and then for the informers.
func start(
	ctx context.Context,
	run answer,
	databases, deployments cache.SharedIndexInformer,
	create func(d *dbv1alpha1.DatabaseManager) error,
) (wait func()) {
	informerCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	for _, informer := range []cache.SharedIndexInformer{databases, deployments} {
		go informer.RunWithContext(informerCtx)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx, databases, deployments, create)
	}()
	return func() {
		<-done
		stop()
	}
}

func database(name string) *dbv1alpha1.DatabaseManager {
	return &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       dbv1alpha1.DatabaseManagerSpec{DeploymentName: name},
	}
}

// informer returns an informer whose list takes that long, and a function that adds an object to its server.
func informer(t *grade.T, of runtime.Object, takes time.Duration) (cache.SharedIndexInformer, func(runtime.Object)) {
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
		source.Add
}

// noStreaming is a client whose server sends a list as a list, not as the beginning of a watch.
type noStreaming struct{}

func (noStreaming) IsWatchListSemanticsUnSupported() bool { return true }
