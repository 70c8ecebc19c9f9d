package controller

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercises/readfault"
	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

type nothingDiffersAnswer = func(ctx context.Context, services typedcorev1.ServiceInterface, name, app string) error

// NothingDiffers grades the answers to "No write when nothing differs".
var NothingDiffers = grade.Exercise[nothingDiffersAnswer]{
	Cluster: true,
	Grade: func(t *grade.T, ensureService nothingDiffersAnswer) {
		config := testcluster.Config(t)
		namespace := testcluster.Namespace(t, config)
		recorded, writes := testkit.Writes(config)
		s := serviceState{
			T:         t,
			namespace: namespace,
			services:  typedcorev1.NewForConfigOrDie(config).Services(namespace),
			name:      fmt.Sprintf("orders-%d", t.Rand.IntN(1000)),
			app:       fmt.Sprintf("orders-%d", t.Rand.IntN(1000)),
		}
		learners := typedcorev1.NewForConfigOrDie(recorded).Services(namespace)
		ensure := func(after string) []string {
			t.Doing("EnsureService is called after %s", after)
			if err := ensureService(t.Context(), learners, s.name, s.app); err != nil {
				t.Reject("EnsureService returns nil after "+after, fmt.Sprintf("it returns: %v", err), "ServiceInterface")
			}
			s.check(after)
			return writes()
		}
		quiet := func(after string) {
			if sent := ensure(after); len(sent) > 0 {
				t.Reject("no write after "+after+": nothing of yours differs", "it sends "+strings.Join(sent, ", "),
					`what has the server filled in? the section "It writes only what differs" of the chapter`)
			}
		}
		ensure("nothing: there is no Service")
		quiet("its own write")
		s.patch(fmt.Sprintf(`{"metadata":{"labels":{"team":%q}}}`, s.app))
		s.team = s.app
		quiet("somebody has added the label team")
		s.patch(`{"spec":{"selector":{"app":"somebody"}}}`)
		ensure("somebody has changed the selector")
		quiet("its own repair")
		s.patch(`{"spec":{"selector":{"also":"this"}}}`) // the selector selects no pod now
		ensure("somebody has added a label to the selector")
		s.patch(`{"metadata":{"labels":{"workbook/database":null}}}`)
		ensure("somebody has removed the label workbook/database")
		s.patch(`{"metadata":{"labels":{"workbook/database":"somebodys"}}}`)
		ensure("somebody has changed the label workbook/database")
		s.patch(`{"metadata":{"labels":null},"spec":{"selector":null}}`)
		s.team = ""
		ensure("somebody has removed all labels and the selector")
		s.patch(`{"metadata":{"annotations":{"team":"a"}},"spec":{"sessionAffinity":"ClientIP"}}`)
		quiet("somebody has set an annotation and the sessionAffinity")
		s.app += "b"
		ensure("the app is another")
		quiet("its own change")
		s.checkFaster(config, ensureService)

		calls := &grade.Calls{
			Name: "EnsureService", Config: config, Done: "the Service is as it should be", Right: readfault.Right,
			New: func(number int) grade.Case { return s.newCase(ensureService, fmt.Sprintf("%s-%d", s.name, number)) },
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
		calls = &grade.Calls{
			Name: "EnsureService", Config: config, Done: "the Service is as it should be", Right: readfault.Right,
			New: func(int) grade.Case {
				s.patch(`{"metadata":{"labels":{"workbook/database":null}},"spec":{"selector":{"app":"somebody"}}}`)
				return s.newCase(ensureService, s.name)
			},
		}
		calls.FailEachRequest(t)
		calls.EndContext(t)
	},
}

// serviceState is what the server should hold.
type serviceState struct {
	*grade.T
	services        typedcorev1.ServiceInterface
	namespace       string
	name, app, team string
	uid             types.UID
}

// newCase makes a case in which a request fails.
func (s *serviceState) newCase(ensureService nothingDiffersAnswer, name string) grade.Case {
	return grade.Case{
		Call: func(ctx context.Context, config *rest.Config) error {
			return ensureService(ctx, typedcorev1.NewForConfigOrDie(config).Services(s.namespace), name, s.app)
		},
		Check: readfault.Check(s.T),
		State: func() string {
			service, err := s.services.Get(s.Context(), name, metav1.GetOptions{})
			switch {
			case apierrors.IsNotFound(err):
				return "there is no Service"
			case testkit.Must(service, err)(s).Labels["workbook/database"] != "true" || service.Spec.Selector["app"] != s.app:
				return "the Service is as it was"
			}
			return "the Service is as it should be"
		},
	}
}

// checkFaster calls the answer for a Service that is missing. Another program creates it just before the answer's first write.
func (s *serviceState) checkFaster(config *rest.Config, ensureService nothingDiffersAnswer) {
	name, created := s.name+"-faster", false
	intercepted := testkit.Intercept(config, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Method != http.MethodGet && !created {
			created = true
			testkit.Must(s.services.Create(s.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 3306}}},
			}, metav1.CreateOptions{}))(s)
		}
		return next.RoundTrip(request)
	})
	c := s.newCase(ensureService, name)
	expected := "another creates the Service just before your write: EnsureService returns an error, or nil when it is as it should be"
	s.Doing("%s", expected)
	if err := c.Call(s.Context(), intercepted); err != nil {
		return
	}
	if state := c.State(); state != "the Service is as it should be" {
		s.Reject(expected, "it returns nil, and "+state, "the error of Create: who compares the Service that is there?")
	}
}

// patch changes the Service as somebody else does.
func (s *serviceState) patch(patch string) {
	options := metav1.PatchOptions{FieldManager: "somebody"}
	testkit.Must(s.services.Patch(s.Context(), s.name, types.MergePatchType, []byte(patch), options))(s)
}

// check compares the Service that the server holds with what it should be.
func (s *serviceState) check(after string) {
	service, err := s.services.Get(s.Context(), s.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		s.Reject("the server has Service "+s.name, "it has none", "ServiceInterface.Create")
	}
	testkit.Must(service, err)(s)
	if s.uid == "" {
		s.uid = service.UID
	}
	if service.UID != s.uid {
		s.Reject(fmt.Sprintf("after %s, the Service is the same one", after), "it was deleted, and created again",
			"ServiceInterface.Update")
	}
	for _, field := range []struct{ name, want, got string }{
		{"the label workbook/database", "true", service.Labels["workbook/database"]},
		{"the label team, which is somebody else's,", s.team, service.Labels["team"]},
		{"the selector", "app=" + s.app, metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: service.Spec.Selector})},
		{"the port", "3306", ports(service)},
	} {
		if field.want != field.got {
			s.Reject(fmt.Sprintf("after %s, %s is %s", after, field.name, field.want),
				fmt.Sprintf("%s is %s", field.name, orNone(field.got)), "which fields do you write, and which of them are yours?")
		}
	}
}

func orNone(value string) string {
	if value == "" {
		return "not there"
	}
	return value
}
