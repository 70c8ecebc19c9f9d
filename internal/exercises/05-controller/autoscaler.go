package controller

import (
	"context"
	"fmt"
	"net/http"

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
			g.last = g.last%40 + 2 + t.Rand.Int32N(8) // never 1, nor the one before
			return new(g.last)
		}
		g.apply("for a Deployment that is missing, with nil", nil, 1)
		g.name += "-b"
		first := number()
		g.apply(fmt.Sprintf("for a Deployment that is missing, with %d", *first), first, *first)
		g.scale(*number())
		g.apply(fmt.Sprintf("with %d again, when others have set another number", *first), first, *first)
		g.apply(fmt.Sprintf("with nil, after %d", *first), nil, *first)
		others := number()
		g.scale(*others)
		g.apply(fmt.Sprintf("with nil, when others have set %d", *others), nil, *others)
		g.apply("with nil once more", nil, *others)
		back := number()
		g.apply(fmt.Sprintf("with %d, after nil", *back), back, *back)
		g.apply(fmt.Sprintf("with nil, after %d", *back), nil, *back)

		g.name += "-earlier"
		earlier := number()
		g.applyEarlier(g.name, *earlier)
		g.apply(fmt.Sprintf("with nil, when an earlier process has applied %d", *earlier), nil, *earlier)
		g.name += "-theirs"
		theirs := number()
		g.applyAs("somebody", g.name, *theirs)
		g.apply(fmt.Sprintf("with nil, when others have created the Deployment, with %d", *theirs), nil, *theirs)
		g.race(number)

		for i, c := range []struct {
			isThere  bool
			replicas *int32
		}{{true, nil}, {true, number()}, {false, number()}} {
			calls := &grade.Calls{
				Name: "ApplyDeployment", Config: config, Done: "the Deployment has the new image, and its number",
				Right: func(request grade.Request, fault grade.Fault) grade.Outcome {
					if request.Reads() && fault == grade.NotFound {
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

// apply calls the answer with a new image. The Deployment must have that and the number then, and no other number on the way from
// what it was, if replicas is nil.
func (g *autoscaled) apply(when string, replicas *int32, want int32) {
	before := g.deployment(g.name)
	g.Doing("ApplyDeployment is called %s", when)
	image := g.image()
	var err error
	for range 20 { // Kubernetes' controller writes the status meanwhile
		err = g.applyDeployment(g.Context(), g.deployments, g.name, image, replicas)
		if !apierrors.IsConflict(err) {
			break
		}
	}
	if err != nil {
		g.Reject("ApplyDeployment returns nil when it is called "+when, fmt.Sprintf("it returns: %v", err), "metav1.ApplyOptions")
	}
	after := g.check(when, before, image, want)
	if before == nil || replicas != nil {
		return
	}
	for _, number := range g.numbers(before, after) {
		if number != want {
			g.Reject(fmt.Sprintf("called %s: replicas is %d all the time", when, want), fmt.Sprintf("for a moment it is %d", number),
				"which apply takes the number away?")
		}
	}
}

func (g *autoscaled) check(when string, before *appsv1.Deployment, image string, want int32) *appsv1.Deployment {
	after := g.deployment(g.name)
	switch {
	case after == nil:
		g.Reject("called "+when+": there is a Deployment", "there is none", "DeploymentInterface.Apply")
	case before != nil && before.UID != after.UID:
		g.Reject("called "+when+": the Deployment is the same one", "it was deleted, and created again", "DeploymentInterface.Apply")
	case after.Spec.Template.Spec.Containers[0].Image != image:
		g.Reject("called "+when+": the image is "+image, "it is "+after.Spec.Template.Spec.Containers[0].Image, "deployment in exercise.go")
	case *after.Spec.Replicas != want:
		g.Reject(fmt.Sprintf("called %s: replicas is %d", when, want), fmt.Sprintf("it is %d", *after.Spec.Replicas),
			"metadata.managedFields: whose is spec.replicas?")
	}
	return after
}

// numbers returns what replicas has been between two states of the Deployment.
func (g *autoscaled) numbers(from, to *appsv1.Deployment) (numbers []int32) {
	if from.ResourceVersion == to.ResourceVersion {
		return nil
	}
	watch := testkit.Must(g.deployments.Watch(g.Context(), metav1.ListOptions{
		FieldSelector: "metadata.name=" + g.name, ResourceVersion: from.ResourceVersion,
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
	g.Fatal("the watch has ended")
	return nil
}

// race has others set the number while the answer runs: just before its first request, its second, and so on.
func (g *autoscaled) race(number func() *int32) {
	name := g.name
	for i := 1; ; i++ {
		g.name = fmt.Sprintf("%s-race-%d", name, i)
		g.applyEarlier(g.name, *number())
		others, sent := *number(), 0
		config := testkit.Intercept(g.config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			if sent++; sent == i {
				g.scale(others)
			}
			return next.RoundTrip(request)
		})
		learners := typedappsv1.NewForConfigOrDie(config).Deployments(g.namespace)
		when := "with nil, while others set the number"
		g.Doing("ApplyDeployment is called %s", when)
		before, image := g.deployment(g.name), g.image()
		err := g.applyDeployment(g.Context(), learners, g.name, image, nil)
		if sent < i {
			g.name = name
			return
		}
		for tries := 0; err != nil && tries < 20; tries++ {
			err = g.applyDeployment(g.Context(), learners, g.name, image, nil)
		}
		if err != nil {
			g.Reject("ApplyDeployment returns nil when it is called again, after others have set the number while it ran",
				fmt.Sprintf("it returns: %v", err), "the error")
		}
		g.check(when, before, image, others)
	}
}

// newCase makes a call in which a request fails. With isThere, an earlier process has applied a number.
func (g *autoscaled) newCase(name string, isThere bool, replicas *int32) grade.Case {
	want := int32(50)
	if isThere {
		g.applyEarlier(name, want)
	}
	if replicas != nil {
		want = *replicas
	}
	image := g.image()
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
			case *deployment.Spec.Replicas != want:
				return "the Deployment has another number"
			case deployment.Spec.Template.Spec.Containers[0].Image != image:
				return "the Deployment has the old image"
			}
			return "the Deployment has the new image, and its number"
		},
	}
}

// applyEarlier is an apply of an earlier process.
func (g *autoscaled) applyEarlier(name string, replicas int32) { g.applyAs("workbook", name, replicas) }

func (g *autoscaled) applyAs(manager, name string, replicas int32) {
	labels := map[string]string{"app": name}
	testkit.Must(g.deployments.Apply(g.Context(), appsv1ac.Deployment(name, g.namespace).WithSpec(appsv1ac.DeploymentSpec().
		WithReplicas(replicas).WithPaused(true).WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().
			WithContainers(corev1ac.Container().WithName("web").WithImage(g.image()))))),
		metav1.ApplyOptions{FieldManager: manager}))(g)
}

// scale sets the number, as an autoscaler does.
func (g *autoscaled) scale(replicas int32) {
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	testkit.Must(g.deployments.Patch(g.Context(), g.name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: "autoscaler"}, "scale"))(g)
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
