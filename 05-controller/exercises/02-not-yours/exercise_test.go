package exercise_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	exercise "example.com/client-go-workbook/05-controller/exercises/02-not-yours"
	answers "example.com/client-go-workbook/05-controller/exercises/answers/02-not-yours"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type answer = func(
	ctx context.Context,
	services typedcorev1.ServiceInterface,
	configMap *corev1.ConfigMap,
	service *corev1.Service,
	port int32,
) error

var grader = grade.Exercise[answer]{
	Learner:  exercise.SetPort,
	Accepted: []answer{answers.SetPort, answers.FindsTheOwnerItself},
	Rejected: []grade.Rejected[answer]{
		{Name: "decides by the Service's name", Answer: answers.DecidesByTheServicesName, Says: "no write"},
		{Name: "decides by the owner's name", Answer: answers.DecidesByTheOwnersName, Says: "an earlier ConfigMap"},
		{Name: "takes any owner", Answer: answers.TakesAnyOwner, Says: "but is not its controller"},
		{Name: "says nothing", Answer: answers.SaysNothing, Says: "it returns: <nil>"},
		{Name: "adopts", Answer: answers.Adopts, Says: "that has no owner"},
		{Name: "changes the store's object", Answer: answers.ChangesTheStoresObject, Says: "its port was 3306, and is"},
	},
	Grade: func(t *grade.T, setPort answer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		core := typedcorev1.NewForConfigOrDie(config)
		configMaps, services := core.ConfigMaps(namespace), core.Services(namespace)
		recorded, writes := testkit.Writes(config)
		learners := typedcorev1.NewForConfigOrDie(recorded).Services(namespace)
		createConfigMap := func(name string) *corev1.ConfigMap {
			configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			return testkit.Must(configMaps.Create(t.Context(), configMap, metav1.CreateOptions{}))(t)
		}

		type ref = metav1.OwnerReference
		billing := controller(createConfigMap("billing"))
		cases := []struct {
			whose  string
			owners func(ours ref) []ref
			write  bool
		}{
			{"that the ConfigMap controls", func(ours ref) []ref { return []ref{ours} }, true},
			{"that has no owner", func(ref) []ref { return nil }, false},
			{"of another ConfigMap", func(ref) []ref { return []ref{billing} }, false},
			{"of an earlier ConfigMap with the same name", func(ours ref) []ref {
				ours.UID = types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", t.Rand.Uint32()))
				return []ref{ours}
			}, false},
			{"that the ConfigMap owns, but is not its controller", func(ours ref) []ref {
				ours.Controller = nil
				return []ref{billing, ours}
			}, false},
		}
		t.Rand.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })

		for i, c := range cases {
			t.Doing("SetPort is called for a Service %s", c.whose)
			name := fmt.Sprintf("orders-%d-%d", i, t.Rand.IntN(1000))
			configMap := createConfigMap(name)
			owners := c.owners(controller(configMap))
			// The finalizer keeps it from the garbage collector, and at the end the namespace cannot be deleted with it.
			service := testkit.Must(services.Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners, Finalizers: []string{"example.com/keep"}},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}},
			}, metav1.CreateOptions{}))(t)
			t.Cleanup(func() {
				patch := []byte(`{"metadata":{"finalizers":null}}`)
				_, _ = services.Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{})
			})
			stored := service.DeepCopy()
			port := 1024 + t.Rand.Int32N(60000)
			err := setPort(t.Context(), learners, configMap, stored, port)
			sent := writes()
			service = testkit.Must(services.Get(t.Context(), name, metav1.GetOptions{}))(t)
			switch {
			case !c.write && len(sent) > 0:
				t.Reject("no write: this is a Service "+c.whose, "it sends "+strings.Join(sent, ", "),
					`metav1.OwnerReference; the section "Break it" of the chapter, "Name conflict"`)
			case !c.write && (err == nil || !strings.Contains(err.Error(), name)):
				t.Reject(fmt.Sprintf("an error that names Service %s: it is one %s", name, c.whose),
					fmt.Sprintf("it returns: %v", err), "fmt.Errorf")
			case c.write && err != nil:
				t.Reject("the port of a Service "+c.whose+" is set", fmt.Sprintf("it returns: %v", err), "ServiceInterface.Update")
			case c.write && (len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != port):
				t.Reject(fmt.Sprintf("a Service %s has port %d", c.whose, port), fmt.Sprintf("its ports are %v", service.Spec.Ports),
					"ServiceInterface.Update")
			case c.write && stored.Spec.Ports[0].Port != 3306:
				t.Reject("the Service from the store stays as it is",
					fmt.Sprintf("its port was 3306, and is %d", stored.Spec.Ports[0].Port), "Service.DeepCopy")
			case c.write && !apiequality.Semantic.DeepEqual(service.OwnerReferences, owners):
				t.Reject("the owners stay", fmt.Sprintf("they are %v", service.OwnerReferences), "Service.OwnerReferences")
			}
		}
	},
}

// controller returns the reference that says that a ConfigMap is the controller.
func controller(configMap *corev1.ConfigMap) metav1.OwnerReference {
	return *metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}

func TestExercise(t *testing.T) { grader.Test(t) }

func TestGrader(t *testing.T) { grader.TestGrader(t) }
