package controller

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/storewatch"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type ownerAnswer = func(ctx context.Context, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap) error

// Owner grades the answers to "A child with an owner".
var Owner = grade.Exercise[ownerAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, createService ownerAnswer) {
		config := testcluster.Config(t)
		core := typedcorev1.NewForConfigOrDie(config)
		namespace := testcluster.Namespace(t, config)
		configMaps, services := core.ConfigMaps(namespace), core.Services(namespace)
		name := fmt.Sprintf("orders-%d", t.Rand.IntN(1000))
		parent := testkit.Must(configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "parent"}},
			metav1.CreateOptions{}))(t)
		create := func(name string) *corev1.ConfigMap { // it has labels, and an owner itself
			configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{"app": name}, OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "ConfigMap", Name: parent.Name, UID: parent.UID},
				},
			}}
			return testkit.Must(configMaps.Create(t.Context(), configMap, metav1.CreateOptions{}))(t)
		}
		configMap := create(name)
		watched, unchanged := storewatch.Unchanged(t, config, configMap)

		t.Doing("CreateService is called for ConfigMap %s", name)
		if err := createService(t.Context(), typedcorev1.NewForConfigOrDie(watched).Services(namespace), configMap); err != nil {
			t.Reject("CreateService creates Service "+name, fmt.Sprintf("it returns: %v", err),
				"the fields of metav1.OwnerReference; print configMap.Kind")
		}
		unchanged()
		service, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			t.Reject("the server has Service "+name, "it has none", "ServiceInterface.Create")
		}
		testkit.Must(service, err)(t)
		if ports := service.Spec.Ports; len(ports) != 1 || ports[0].Port != 3306 {
			t.Reject("Service "+name+" has port 3306", fmt.Sprintf("its ports are %v", ports), "corev1.ServiceSpec.Ports")
		}
		checkOwner(t, service, configMap)

		if err := createService(t.Context(), services, configMap); err != nil {
			t.Reject("a second call returns nil: the Service is there", fmt.Sprintf("it returns: %v", err), "apierrors.IsAlreadyExists")
		}
		checkAnothers(t, config, create(name+"-another"), false, createService)
		checkAnothers(t, config, create(name+"-faster"), true, createService)
		checkDeleted(t, services, configMap, createService)

		calls := &grade.Calls{
			Name: "CreateService", Config: config, Done: "the Service is there, with its owner",
			More: append([]grade.Fault{grade.Terminating}, grade.Busy...),
			New: func(number int) grade.Case {
				configMap := create(fmt.Sprintf("%s-%d", name, number))
				return grade.Case{
					Call: func(ctx context.Context, config *rest.Config) error {
						return createService(ctx, typedcorev1.NewForConfigOrDie(config).Services(namespace), configMap)
					},
					State: func() string {
						service, err := services.Get(t.Context(), configMap.Name, metav1.GetOptions{})
						switch {
						case apierrors.IsNotFound(err):
							return "there is no Service"
						case !metav1.IsControlledBy(testkit.Must(service, err)(t), configMap):
							return "the Service has no owner"
						}
						return "the Service is there, with its owner"
					},
				}
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)

		if err := configMaps.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Eventually("Service "+name+" goes, after ConfigMap "+name+" is deleted", "metav1.OwnerReference", func() (bool, string) {
			_, err := services.Get(t.Context(), name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), "the Service is still there"
		})
	},
}

// checkAnothers calls the answer for a ConfigMap, when somebody else has a Service of this name: before the call, or just before
// the answer's first write.
func checkAnothers(t *grade.T, config *rest.Config, configMap *corev1.ConfigMap, late bool, createService ownerAnswer) {
	services := typedcorev1.NewForConfigOrDie(config).Services(configMap.Namespace)
	var before *corev1.Service
	create := func() {
		before = testkit.Must(services.Create(t.Context(), &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: configMap.Name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306, TargetPort: intstr.FromInt32(13306)}}},
		}, metav1.CreateOptions{}))(t)
	}
	when := "somebody else creates a Service of this name just before you do: "
	if !late {
		when = "somebody else has created a Service of this name: "
		create()
	}
	intercepted := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && before == nil {
			create()
		}
		return next.RoundTrip(request)
	})
	t.Doing("%sCreateService returns", when)
	err := createService(t.Context(), typedcorev1.NewForConfigOrDie(intercepted).Services(configMap.Namespace), configMap)
	if err != nil {
		t.Reject(when+"CreateService returns nil", fmt.Sprintf("it returns: %v", err), "apierrors.IsAlreadyExists")
	}
	if before == nil {
		t.Reject("there is no Service of this name: CreateService creates it", "it sends no write",
			"what do you remember from call to call?")
	}
	after := testkit.Must(services.Get(t.Context(), configMap.Name, metav1.GetOptions{}))(t)
	if !apiequality.Semantic.DeepEqual(before, after) {
		t.Reject(when+"it stays as it is", "CreateService has changed it", "which of your requests change a Service that is there?")
	}
}

// checkDeleted calls the answer again, after its Service was deleted.
func checkDeleted(t *grade.T, services typedcorev1.ServiceInterface, configMap *corev1.ConfigMap, createService ownerAnswer) {
	if err := services.Delete(t.Context(), configMap.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	const when = "somebody has deleted the Service: the next call creates it again"
	t.Doing(when)
	err := createService(t.Context(), services, configMap)
	service, getErr := services.Get(t.Context(), configMap.Name, metav1.GetOptions{})
	if err != nil || apierrors.IsNotFound(getErr) {
		t.Reject(when, fmt.Sprintf("the server has none, and it returns: %v", err), "what do you remember from call to call?")
	}
	checkOwner(t, testkit.Must(service, getErr)(t), configMap)
}

func checkOwner(t *grade.T, service *corev1.Service, configMap *corev1.ConfigMap) {
	const look = `metav1.OwnerReference; the section "Why" of the chapter, "Names enqueue, UIDs decide"`
	expected := "ConfigMap " + configMap.Name + " is the Service's controller"
	if len(service.OwnerReferences) == 0 {
		t.Reject(expected, "the Service has no owner reference", look)
	}
	owner := service.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "ConfigMap" || owner.Name != configMap.Name:
		t.Reject(expected, fmt.Sprintf("its owner is %s %s of version %s", owner.Kind, owner.Name, owner.APIVersion), look)
	case owner.UID != configMap.UID:
		t.Reject(expected, fmt.Sprintf("its owner has UID %q, and the ConfigMap %q", owner.UID, configMap.UID), look)
	case !metav1.IsControlledBy(service, configMap):
		t.Reject(expected, "it is an owner, but controller is not set", look)
	}
}
