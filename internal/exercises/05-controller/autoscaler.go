package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/readfault"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type autoscalerAnswer = func(
	ctx context.Context,
	deployments typedappsv1.DeploymentInterface,
	name, image string,
	replicas *int32,
) error

// Autoscaler grades the answers to "Leave the number to an autoscaler".
var Autoscaler = grade.Exercise[autoscalerAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, applyDeployment autoscalerAnswer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		g := &autoscaled{
			T: t, config: config, namespace: namespace, applyDeployment: applyDeployment,
			deployments: typedappsv1.NewForConfigOrDie(config).Deployments(namespace),
			name:        fmt.Sprintf("web-%d", t.Rand.IntN(1000)),
		}
		number := func() *int32 {
			g.last = g.last%40 + 2 + t.Rand.Int32N(8) // from 2 to 48, and never the one before
			return new(g.last)
		}
		g.apply("for a Deployment that is missing, with nil", nil, 1)
		g.name += "-b"
		first := number()
		g.apply(fmt.Sprintf("for a Deployment that is missing, with %d", *first), first, *first)
		g.annotate(g.name)
		g.scale(*number())
		g.apply(fmt.Sprintf("with %d again, when others have set another number", *first), first, *first)
		g.apply(fmt.Sprintf("with nil, after %d", *first), nil, *first)
		others := number()
		g.scale(*others)
		g.apply(fmt.Sprintf("with nil, when others have set %d", *others), nil, *others)
		g.applyNumber()
		back := number()
		g.apply(fmt.Sprintf("with %d, after nil", *back), back, *back)
		g.apply(fmt.Sprintf("with nil, after %d", *back), nil, *back)
		g.apply("with 0", new(int32(0)), 0)
		g.apply("with nil, after 0", nil, 0)

		g.name += "-earlier"
		earlier := number()
		g.applyAs("workbook", g.name, *earlier)
		g.annotate(g.name)
		g.apply(fmt.Sprintf("with nil, when an earlier process has applied %d", *earlier), nil, *earlier)
		again := number()
		g.applyAs("workbook", g.name, *again)
		g.apply(fmt.Sprintf("with nil, after another process of yours has applied %d", *again), nil, *again)
		g.name += "-theirs"
		theirs := number()
		g.applyAs("somebody", g.name, *theirs)
		g.apply(fmt.Sprintf("with nil, when others have created the Deployment, with %d", *theirs), nil, *theirs)
		g.race(number)

		for i, c := range []struct {
			isThere  bool
			replicas *int32
		}{{true, nil}, {true, number()}, {false, nil}, {false, number()}} {
			calls := &grade.Calls{
				Name: "ApplyDeployment", Config: config, Done: "the Deployment has the new image, and the number that it should have",
				Right: func(request grade.Request, fault grade.Fault) grade.Outcome {
					if c.isThere && fault == grade.NotFound {
						return grade.NotTried // a Deployment that is not there has no number to keep
					}
					return readfault.Right(request, fault)
				},
				New: func(number int) grade.Case {
					return g.newCase(fmt.Sprintf("%s-case-%d-%d", g.name, i, number), c.isThere, c.replicas)
				},
			}
			calls.FailEachRequest(t)
			calls.EndContext(t)
		}
	},
}

// autoscaled is a Deployment whose number others set, too.
type autoscaled struct {
	*grade.T
	config          *rest.Config
	deployments     typedappsv1.DeploymentInterface
	applyDeployment autoscalerAnswer
	namespace, name string
	images          int
	last            int32
}

// apply calls the answer with a new image. The Deployment must have that and the number then, and no other number on the way.
func (g *autoscaled) apply(when string, replicas *int32, want int32) {
	before := g.deployment(g.name)
	g.Doing("ApplyDeployment is called %s", when)
	image := g.image()
	g.again(when, func() error { return g.applyDeployment(g.Context(), g.deployments, g.name, image, replicas) })
	allowed := []int32{want}
	if before != nil {
		allowed = []int32{*before.Spec.Replicas, want}
	}
	g.check(when, before, image, allowed)
}

// again calls the answer until it returns no conflict: Kubernetes' controller writes the status meanwhile.
func (g *autoscaled) again(when string, call func() error) {
	err := call()
	for tries := 0; apierrors.IsConflict(err) && tries < 20; tries++ {
		err = call()
	}
	if err != nil {
		g.Reject("ApplyDeployment returns nil when it is called "+when, fmt.Sprintf("it returns: %v", err), "metav1.ApplyOptions")
	}
}

// check compares the Deployment with what it should be. It has had the allowed numbers, one after the other, and has the last.
func (g *autoscaled) check(when string, before *appsv1.Deployment, image string, allowed []int32) {
	after, want := g.deployment(g.name), allowed[len(allowed)-1]
	switch {
	case after == nil:
		g.Reject("called "+when+": there is a Deployment", "there is none", "DeploymentInterface.Apply")
	case before != nil && before.UID != after.UID:
		g.Reject("called "+when+": the Deployment is the same one", "it was deleted, and created again", "DeploymentInterface.Apply")
	case after.Spec.Template.Spec.Containers[0].Image != image:
		g.Reject("called "+when+": the image is "+image, "it is "+after.Spec.Template.Spec.Containers[0].Image, "deployment in exercise.go")
	case !after.Spec.Paused:
		g.Reject("called "+when+": the Deployment is paused", "it is not", "deployment in exercise.go")
	case *after.Spec.Replicas != want:
		g.Reject(fmt.Sprintf("called %s: replicas is %d", when, want), fmt.Sprintf("it is %d", *after.Spec.Replicas),
			"metadata.managedFields: whose is spec.replicas?")
	case before != nil && before.Annotations[theirNote] != after.Annotations[theirNote]:
		g.Reject("called "+when+": an annotation that others have set stays", "it is gone", "what does your write replace?")
	}
	if before == nil {
		return
	}
	if number, found := outOfOrder(g.numbers(before, after), allowed); found {
		inOrder := strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Compact(allowed)), "[]"), " ", ", then ")
		g.Reject(fmt.Sprintf("called %s: replicas is %s, and nothing else", when, inOrder), fmt.Sprintf("for a moment it is %d", number),
			"which write changes the number?")
	}
}

// outOfOrder returns the first number that is not in the allowed order.
func outOfOrder(numbers, allowed []int32) (number int32, found bool) {
	for _, number := range numbers {
		i := slices.Index(allowed, number)
		if i < 0 {
			return number, true
		}
		allowed = allowed[i:]
	}
	return 0, false
}

// numbers returns what replicas has been after one state of the Deployment, and until another one.
func (g *autoscaled) numbers(from, to *appsv1.Deployment) (numbers []int32) {
	if from.ResourceVersion == to.ResourceVersion {
		return nil
	}
	watch := testkit.Must(g.deployments.Watch(g.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + to.Name, ResourceVersion: from.ResourceVersion,
	}))(g)
	defer watch.Stop()
	for event := range watch.ResultChan() {
		deployment, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			g.Fatalf("%v", apierrors.FromObject(event.Object))
		}
		numbers = append(numbers, *deployment.Spec.Replicas)
		if deployment.ResourceVersion == to.ResourceVersion {
			return numbers
		}
	}
	if g.Context().Err() == nil {
		g.Fatal("the watch has ended")
	}
	return numbers
}

// applyNumber is an autoscaler that applies the number. After the answer's call with nil, it applies another one, without Force.
func (g *autoscaled) applyNumber() {
	apply := func(replicas int32, force bool) error {
		_, err := g.deployments.Apply(g.Context(),
			appsv1ac.Deployment(g.name, g.namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas)),
			metav1.ApplyOptions{FieldManager: "autoscaler", Force: force})
		return err
	}
	if err := apply(60, true); err != nil {
		g.Fatal(err)
	}
	g.apply("with nil, when an autoscaler has applied 60", nil, 60)
	if err := apply(61, false); apierrors.IsConflict(err) {
		g.Reject("called with nil, when an autoscaler has applied 60: its next apply, of 61, has no conflict", err.Error(),
			"metadata.managedFields: whose is spec.replicas?")
	} else if err != nil {
		g.Fatal(err)
	}
	g.apply("with nil, when an autoscaler has applied 61", nil, 61)
}

// race has others set the number while the answer runs: just before its first request and the next two, its second, and so on, up to
// its twelfth, which is more than right answers send.
func (g *autoscaled) race(number func() *int32) {
	name := g.name
	defer func() { g.name = name }()
	for i, sent := 1, 12; i <= min(sent, 12); i++ {
		g.name = fmt.Sprintf("%s-race-%d", name, i)
		allowed := []int32{*number()}
		sent = 0
		g.applyAs("workbook", g.name, allowed[0])
		var scaled error
		config := testkit.Intercept(g.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			if sent++; sent >= i && sent < i+3 {
				allowed = append(allowed, *number())
				scaled = errors.Join(scaled, g.setNumber(allowed[len(allowed)-1]))
			}
			return next.RoundTrip(request)
		})
		learners := typedappsv1.NewForConfigOrDie(config).Deployments(g.namespace)
		when := "with nil, while others set the number"
		g.Doing("ApplyDeployment is called %s", when)
		before, image := g.deployment(g.name), g.image()
		g.again(when, func() error { return g.applyDeployment(g.Context(), learners, g.name, image, nil) })
		if scaled != nil {
			g.Fatal(scaled)
		}
		g.check(when, before, image, allowed)
	}
}

// newCase makes a call in which a request fails. With isThere, an earlier process has applied a number.
func (g *autoscaled) newCase(name string, isThere bool, replicas *int32) grade.Case {
	allowed := []int32{1}
	var before *appsv1.Deployment
	if isThere {
		allowed = []int32{50} // no other call's
		g.applyAs("workbook", name, allowed[0])
		g.annotate(name)
		before = g.deployment(name)
	}
	if replicas != nil {
		allowed = append(allowed, *replicas)
	}
	image, want := g.image(), allowed[len(allowed)-1]
	return grade.Case{
		Call: func(ctx context.Context, config *rest.Config) error {
			testkit.Await(g, "Kubernetes' controller to have written the status", func() bool {
				deployment := g.deployment(name)
				return deployment == nil || deployment.Status.ObservedGeneration == deployment.Generation
			})
			learners := typedappsv1.NewForConfigOrDie(config).Deployments(g.namespace)
			return g.applyDeployment(ctx, learners, name, image, replicas)
		},
		Check: readfault.Check(g.T),
		State: func() string {
			deployment := g.deployment(name)
			switch {
			case deployment == nil:
				return "there is no Deployment"
			case before != nil && before.Annotations[theirNote] != deployment.Annotations[theirNote]:
				return "an annotation that others have set is gone"
			case !slices.Contains(allowed, *deployment.Spec.Replicas):
				return "the number is lost"
			case deployment.Spec.Template.Spec.Containers[0].Image != image || *deployment.Spec.Replicas != want:
				return "the Deployment does not have them yet"
			}
			if before != nil {
				if _, found := outOfOrder(g.numbers(before, deployment), allowed); found {
					return "for a moment the Deployment had another number"
				}
			}
			return "the Deployment has the new image, and the number that it should have"
		},
	}
}

// applyAs is an apply of somebody, such as an earlier process.
func (g *autoscaled) applyAs(manager, name string, replicas int32) {
	labels := map[string]string{"app": name}
	testkit.Must(g.deployments.Apply(g.Context(), appsv1ac.Deployment(name, g.namespace).WithSpec(appsv1ac.DeploymentSpec().
		WithReplicas(replicas).WithPaused(true).WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName("web").WithImage(g.image()))))),
		metav1.ApplyOptions{FieldManager: manager, Force: true}))(g)
}

// theirNote is an annotation of others. Its name is in metadata.managedFields, and is none of spec.replicas.
const theirNote = "replicas"

func (g *autoscaled) annotate(name string) {
	testkit.Must(g.deployments.Patch(g.Context(), name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+theirNote+`":"9"}}}`),
		metav1.PatchOptions{FieldManager: "somebody"}))(g)
}

// scale sets the number, as an autoscaler does.
func (g *autoscaled) scale(replicas int32) {
	if err := g.setNumber(replicas); err != nil {
		g.Fatal(err)
	}
}

func (g *autoscaled) setNumber(replicas int32) error {
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	_, err := g.deployments.Patch(g.Context(), g.name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "autoscaler"}, "scale")
	return err
}

// deployment returns what the server has, or nil.
func (g *autoscaled) deployment(name string) *appsv1.Deployment {
	deployment, err := g.deployments.Get(g.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return testkit.Must(deployment, err)(g)
}

// image returns another one each time.
func (g *autoscaled) image() string {
	g.images++
	return fmt.Sprintf("nginx:1.%d", g.images)
}
