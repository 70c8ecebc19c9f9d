package controller

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/storewatch"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type notYoursAnswer = func(
	ctx context.Context,
	services typedcorev1.ServiceInterface,
	configMap *corev1.ConfigMap,
	service *corev1.Service,
	port int32,
) error

// NotYours grades the answers to "Leave alone what is not yours".
var NotYours = grade.Exercise[notYoursAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, setPort notYoursAnswer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		core := typedcorev1.NewForConfigOrDie(config)
		configMaps, services := core.ConfigMaps(namespace), core.Services(namespace)
		recorded, writes := testkit.Writes(config)
		createConfigMap := func(name string) *corev1.ConfigMap {
			configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
			return testkit.Must(configMaps.Create(t.Context(), configMap, metav1.CreateOptions{}))(t)
		}
		createService := func(name string, owners ...metav1.OwnerReference) *corev1.Service {
			return testkit.Must(services.Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}, OwnerReferences: owners},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}},
			}, metav1.CreateOptions{}))(t)
		}

		type ref = metav1.OwnerReference
		billing, shop := createConfigMap("billing"), createConfigMap("shop")
		cases := []struct {
			whose  string
			owners func(ours ref) []ref
			write  bool
		}{
			{"that the ConfigMap controls", func(ours ref) []ref { return []ref{ours} }, true},
			{"that the ConfigMap controls, and others own", func(ours ref) []ref {
				return []ref{ownerReference(billing), ours, ownerReference(shop)}
			}, true},
			{"that has no owner", func(ref) []ref { return nil }, false},
			{"of another ConfigMap", func(ref) []ref { return []ref{controllerReference(billing)} }, false},
			{"of an earlier ConfigMap with the same name", func(ours ref) []ref {
				ours.UID = types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", t.Rand.Uint32()))
				// The garbage collector removes the first reference soon; billing's keeps the Service.
				return []ref{ours, ownerReference(billing)}
			}, false},
			{"that the ConfigMap owns, but is not its controller", func(ours ref) []ref {
				ours.Controller = nil
				return []ref{controllerReference(billing), ours}
			}, false},
			{"that the ConfigMap owns with controller: false", func(ours ref) []ref {
				ours.Controller = new(false)
				return []ref{ours}
			}, false},
		}
		t.Rand.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })

		for i, c := range cases {
			name := fmt.Sprintf("orders-%d-%d", i, t.Rand.IntN(1000))
			configMap := createConfigMap(name)
			before := createService(name, c.owners(controllerReference(configMap))...)
			for _, port := range []int32{3306, 1024 + t.Rand.Int32N(60000)} {
				whose := c.whose
				if port == 3306 { // there is nothing to write, but it is still somebody's
					whose += ", and has the port already"
				}
				t.Doing("SetPort is called for a Service %s", whose)
				stored := before.DeepCopy()
				watched, unchanged := storewatch.Unchanged(t, recorded, configMap, stored)
				learners := typedcorev1.NewForConfigOrDie(watched).Services(namespace)
				err := setPort(t.Context(), learners, configMap, stored, port)
				sent := writes()
				service := testkit.Must(services.Get(t.Context(), name, metav1.GetOptions{}))(t)
				switch {
				case !c.write && len(sent) > 0:
					t.Reject("no write: this is a Service "+whose, "it sends "+strings.Join(sent, ", "),
						`metav1.OwnerReference; the section "Break it" of the chapter, "Name conflict"`)
				case !c.write && (err == nil || !strings.Contains(err.Error(), name)):
					t.Reject(fmt.Sprintf("an error that names Service %s: it is one %s", name, whose),
						fmt.Sprintf("it returns: %v", err), "fmt.Errorf")
				case c.write && err != nil:
					t.Reject("the port of a Service "+whose+" is set", fmt.Sprintf("it returns: %v", err), "ServiceInterface.Update")
				case c.write && ports(service) != fmt.Sprint(port):
					t.Reject(fmt.Sprintf("a Service %s has port %d", whose, port), "it has port "+ports(service), "ServiceInterface.Update")
				case c.write && !apiequality.Semantic.DeepEqual(service.OwnerReferences, before.OwnerReferences):
					t.Reject("the owners stay", fmt.Sprintf("they are %v", service.OwnerReferences), "Service.OwnerReferences")
				case c.write && !maps.Equal(service.Labels, before.Labels):
					t.Reject("the labels stay", fmt.Sprintf("they are %v", service.Labels), "an update replaces the whole object")
				}
				unchanged()
			}
		}

		for _, late := range []bool{false, true} {
			configMap := createConfigMap(fmt.Sprintf("orders-replaced-%t", late))
			stored := createService(configMap.Name, controllerReference(configMap))
			checkOld(t, config, setPort, configMap, stored, late, "is gone, and somebody else's has taken its name", func() {
				if err := services.Delete(t.Context(), stored.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				createService(stored.Name)
			})
			configMap = createConfigMap(fmt.Sprintf("orders-given-away-%t", late))
			stored = createService(configMap.Name, controllerReference(configMap))
			checkOld(t, config, setPort, configMap, stored, late, "has got another controller", func() {
				given := stored.DeepCopy()
				given.OwnerReferences = []ref{controllerReference(billing)}
				testkit.Must(services.Update(t.Context(), given, metav1.UpdateOptions{}))(t)
			})
		}

		// Each call has the same Service, whose port is another one before it.
		configMap := createConfigMap("orders-fails")
		createService(configMap.Name, controllerReference(configMap))
		calls := &grade.Calls{
			Name: "SetPort", Config: config, Done: "the Service has the port",
			New: func(int) grade.Case {
				get := func() *corev1.Service {
					return testkit.Must(services.Get(t.Context(), configMap.Name, metav1.GetOptions{}))(t)
				}
				service := get()
				service.Spec.Ports[0].Port = 3306
				testkit.Must(services.Update(t.Context(), service, metav1.UpdateOptions{}))(t)
				return grade.Case{
					Call: func(ctx context.Context, config *rest.Config) error {
						return setPort(ctx, typedcorev1.NewForConfigOrDie(config).Services(namespace), configMap, get(), 8080)
					},
					State: func() string {
						if ports(get()) != "8080" {
							return "its port is another one"
						}
						return "the Service has the port"
					},
				}
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

// checkOld calls the answer with a Service that is old: somebody changes what the server has, before the call, or just before the
// answer's first write.
func checkOld(
	t *grade.T, config *rest.Config, setPort notYoursAnswer, configMap *corev1.ConfigMap, stored *corev1.Service, late bool, what string,
	change func(),
) {
	when, changed := "just before your write, the Service ", false
	if !late {
		when, changed = "the Service in the store is old, the server's ", true
		change()
	}
	intercepted := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && !changed {
			changed = true
			change()
		}
		return next.RoundTrip(request)
	})
	when += what + ": "
	t.Doing("%sSetPort returns", when)
	err := setPort(t.Context(), typedcorev1.NewForConfigOrDie(intercepted).Services(stored.Namespace), configMap, stored, 8080)
	services := typedcorev1.NewForConfigOrDie(config).Services(stored.Namespace)
	service := testkit.Must(services.Get(t.Context(), stored.Name, metav1.GetOptions{}))(t)
	if ports(service) != "3306" {
		t.Reject(when+"this one is left alone", "it has port "+ports(service),
			"by which version did you decide, and which version did you write to?")
	}
	if err == nil {
		t.Reject(when+"an error", "it returns nil", "ServiceInterface.Update")
	}
}

func ports(service *corev1.Service) string {
	var ports []string
	for _, port := range service.Spec.Ports {
		ports = append(ports, fmt.Sprint(port.Port))
	}
	return strings.Join(ports, ", ")
}

// ownerReference returns a reference to an owner that is not the controller.
func ownerReference(configMap *corev1.ConfigMap) metav1.OwnerReference {
	reference := controllerReference(configMap)
	reference.Controller, reference.BlockOwnerDeletion = nil, nil
	return reference
}

// controllerReference returns the reference that says that a ConfigMap is the controller.
func controllerReference(configMap *corev1.ConfigMap) metav1.OwnerReference {
	return *metav1.NewControllerRef(configMap, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
}
