package codegen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbclient "example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned/typed/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/exercise/grade"
	"example.com/client-go-workbook/internal/exercise/isolatedgroup"
	"example.com/client-go-workbook/internal/test/testkit"
)

type adoptAnswer = func(
	ctx context.Context,
	databases dbclient.DatabaseManagerInterface,
	secrets typedcorev1.SecretInterface,
	d *dbv1alpha1.DatabaseManager,
	name string,
) error

// Adopt grades the answers to "Adoption on purpose".
var Adopt = grade.Exercise[adoptAnswer]{
	Cluster: true,
	Timeout: time.Minute, // it sends more requests than other graders
	Grade:   gradeAdopt,
}

// adoptServer is what the grader asks and changes.
type adoptServer struct {
	t          *grade.T
	databases  dbclient.DatabaseManagerInterface
	secrets    typedcorev1.SecretInterface
	configMaps typedcorev1.ConfigMapInterface
	team       metav1.OwnerReference // a ConfigMap, which owns each Secret, too

	adopt func(ctx context.Context, config *rest.Config, d *dbv1alpha1.DatabaseManager, name string) error
}

func gradeAdopt(t *grade.T, adopt adoptAnswer) {
	config, namespace := isolatedgroup.Start(t)
	core := typedcorev1.NewForConfigOrDie(config)
	s := adoptServer{
		t: t, databases: dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace), secrets: core.Secrets(namespace),
		configMaps: core.ConfigMaps(namespace),
	}
	s.adopt = func(ctx context.Context, config *rest.Config, d *dbv1alpha1.DatabaseManager, name string) error {
		return adopt(ctx, dbclient.NewForConfigOrDie(config).DatabaseManagers(namespace),
			typedcorev1.NewForConfigOrDie(config).Secrets(namespace), d, name)
	}
	s.team = s.configMap("team")

	d, other := s.database("db"), s.database("other")
	asks := map[string]string{"coolops.cn/adopt": d.Name}
	recorded, writes := testkit.Writes(config)
	call := func(d *dbv1alpha1.DatabaseManager, secret *corev1.Secret) error {
		t.Doing("Adopt to return for Secret %s", secret.Name)
		writes()
		defer t.Unchanged(d)()
		return s.adopt(t.Context(), recorded, d, secret.Name)
	}

	wanted := s.secret(asks)
	if err := call(d, wanted); err != nil {
		t.Reject("Adopt returns nil for a Secret with the annotation coolops.cn/adopt: "+d.Name, err.Error(),
			"the error, and the cases of the task")
	}
	now := s.get(wanted.Name)
	asBefore := now.DeepCopy()
	asBefore.OwnerReferences = wanted.OwnerReferences
	asBefore.ResourceVersion, asBefore.ManagedFields = wanted.ResourceVersion, wanted.ManagedFields
	controller := metav1.GetControllerOf(now)
	switch {
	case controller == nil || controller.UID != d.UID:
		t.Reject("the Secret's controller is the DatabaseManager", fmt.Sprintf("its owners are %s", owners(now)),
			"metav1.NewControllerRef, and metadata.ownerReferences")
	case controller.APIVersion != "coolops.cn/v1alpha1" || controller.Kind != "DatabaseManager" || controller.Name != d.Name:
		t.Reject("the reference is to coolops.cn/v1alpha1 DatabaseManager "+d.Name,
			fmt.Sprintf("it is to %s %s %s", controller.APIVersion, controller.Kind, controller.Name),
			"the garbage collector looks for an owner by all of them")
	case len(now.OwnerReferences) != 2 || !slices.ContainsFunc(now.OwnerReferences, s.isTeam):
		t.Reject("the ConfigMap team is still an owner of the Secret", fmt.Sprintf("its owners are %s", owners(now)),
			"are the references added, or replaced?")
	case now.UID != wanted.UID:
		t.Reject("the Secret is still the same object", "it is another one of that name", "an update, or a patch")
	case !apiequality.Semantic.DeepEqual(asBefore, wanted):
		t.Reject("the rest of the Secret stays", "its data, labels or annotations have changed", "what does your request write?")
	}
	if err := call(d, now); err != nil {
		t.Reject("Adopt returns nil if the Secret belongs to d already", err.Error(), "metav1.IsControlledBy")
	}
	if sent := writes(); len(sent) > 0 {
		t.Reject("no request that writes if the Secret belongs to d already", fmt.Sprintf("it has sent %s", sent), "metav1.IsControlledBy")
	}

	// d is an owner already, and not the controller.
	owned := metav1.NewControllerRef(d, databaseManager)
	owned.Controller = nil
	if t.Rand.IntN(2) == 0 {
		owned.Controller = new(false)
	}
	owns := s.secret(asks, *owned)
	err := call(d, owns)
	now = s.get(owns.Name)
	if err != nil || !metav1.IsControlledBy(now, d) || !slices.ContainsFunc(now.OwnerReferences, s.isTeam) {
		t.Reject("d owns it already, and is not its controller: d becomes the controller, and the other owner stays",
			fmt.Sprintf("Adopt returns %v, d is its controller: %t, its owners are %s", err, metav1.IsControlledBy(now, d), owners(now)),
			"metav1.IsControlledBy: which owner has controller: true?")
	}

	s.hasEarlierOwner(config, d, other)

	rejects := func(what, look string, d *dbv1alpha1.DatabaseManager, before *corev1.Secret) {
		err := call(d, before)
		now := s.get(before.Name)
		seen := "its owners are " + owners(now)
		if apiequality.Semantic.DeepEqual(now.OwnerReferences, before.OwnerReferences) {
			seen = "its data, labels or annotations have changed"
		}
		now.ResourceVersion, now.ManagedFields = before.ResourceVersion, before.ManagedFields
		if !apiequality.Semantic.DeepEqual(now, before) {
			t.Reject("the Secret stays as it is: "+what, seen, look)
		}
		if err == nil {
			t.Reject("Adopt returns an error: "+what, "it returns nil", look)
		}
	}
	look := "the annotation is the user's consent"
	rejects("nobody has asked for it", look, d, s.secret(nil))
	for what, annotations := range map[string]map[string]string{
		"the annotation is for the DatabaseManager other":           {"coolops.cn/adopt": "other"},
		"the annotation is for db-2, whose name begins like that":   {"coolops.cn/adopt": "db-2"},
		"the annotation is empty":                                   {"coolops.cn/adopt": ""},
		"another annotation has the name of the DatabaseManager":    {"coolops.cn/adopted-by": d.Name},
		"only in another group there is an annotation of that name": {"example.com/adopt": d.Name},
	} {
		rejects(what, look, d, s.secret(annotations))
	}
	rejects("it belongs to another DatabaseManager", "metav1.GetControllerOf", d,
		s.secret(asks, *metav1.NewControllerRef(other, databaseManager)))
	owner := s.configMap("owner")
	owner.Controller = new(true)
	rejects("it belongs to a ConfigMap", "metav1.GetControllerOf", d, s.secret(asks, owner))

	// Somebody changes the Secret between a read and a write: at the first write. d can go meanwhile, too.
	const read = "how does the server know which version of the Secret you have read? what do you check again after a conflict?"
	const again = "after a conflict, all is asked again: also whether the DatabaseManager is there"
	annotated := `{"metadata":{"annotations":{"example.com/changed":"now"}}}`
	for _, race := range []struct {
		d                 *dbv1alpha1.DatabaseManager
		what, patch, look string
		meanwhile         func(name string)
	}{
		{d, "the user removes the annotation before the write", `{"metadata":{"annotations":null}}`, read, func(string) {}},
		{d, "before the write, another one becomes its controller",
			string(testkit.Must(json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []any{owner}}}))(t)),
			read, func(string) {}},
		{s.database("marked"), "before the write, the Secret is changed and the DatabaseManager is marked as deleted", annotated, again,
			s.delete},
		{s.database("soon-gone"), "before the write, the Secret is changed and the DatabaseManager is deleted", annotated, again, s.delete},
		{s.database("soon-another"), "before the write, the Secret is changed and the DatabaseManager is replaced", annotated, again,
			func(name string) { s.delete(name); s.database(name) }},
	} {
		secret := s.secret(map[string]string{"coolops.cn/adopt": race.d.Name})
		changed := false
		recorded = testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method != http.MethodGet && !changed {
				changed = true
				*secret = *testkit.Must(s.secrets.Patch(t.Context(), secret.Name, types.MergePatchType, []byte(race.patch),
					metav1.PatchOptions{}))(t)
				race.meanwhile(race.d.Name)
			}
			return next.RoundTrip(r)
		})
		rejects(race.what, race.look, race.d, secret)
	}
	recorded = config

	look = "the store can be behind: the server knows"
	replaced := s.database("replaced")
	s.delete("replaced")
	replacement := s.database("replaced")
	rejects("it belongs to the one that has replaced the DatabaseManager, of the same name", "owners are compared by their UIDs", replaced,
		s.secret(map[string]string{"coolops.cn/adopt": "replaced"}, *metav1.NewControllerRef(replacement, databaseManager)))
	rejects("the DatabaseManager was replaced by another one of its name", look, replaced,
		s.secret(map[string]string{"coolops.cn/adopt": "replaced"}))
	gone := s.database("gone")
	s.delete("gone")
	rejects("the DatabaseManager is gone", look, gone, s.secret(map[string]string{"coolops.cn/adopt": "gone"}))
	s.hasEarlierController(config, d)
	s.delete(d.Name)
	rejects("the DatabaseManager is being deleted", look, d, s.secret(asks))
	s.gradeErrors(config)
}

// hasEarlierOwner lets a Secret refer to an earlier DatabaseManager of the name of d, and to others of its kind or its name.
func (s adoptServer) hasEarlierOwner(config *rest.Config, d, other *dbv1alpha1.DatabaseManager) {
	sameKind := *metav1.NewControllerRef(other, databaseManager)
	sameKind.Controller = nil
	sameName := s.configMap(d.Name)
	for _, version := range []string{"v1alpha1", "v1beta1", "v1alpha1"} {
		earlier := *metav1.NewControllerRef(d, databaseManager)
		earlier.APIVersion, earlier.UID, earlier.Controller = "coolops.cn/"+version, uuid.NewUUID(), nil
		secret := s.secret(map[string]string{"coolops.cn/adopt": d.Name}, earlier, sameKind, sameName)
		// The garbage collector takes such a reference away when it knows its kind: before the call, or in its middle. So what
		// counts is what there is just before the answer's write, and what the write makes of it.
		written := s.get(secret.Name)
		var lost []string
		wrote := false
		observed := testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			if r.Method == http.MethodGet {
				return next.RoundTrip(r)
			}
			now := s.get(secret.Name)
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusOK {
				wrote, written = true, s.readSecret(response)
				for _, owner := range now.OwnerReferences {
					switch {
					case slices.ContainsFunc(written.OwnerReferences, hasUID(owner.UID)):
					case owner.UID == earlier.UID:
						lost = append(lost, "the earlier "+owner.Kind+" "+owner.Name)
					case owner.UID != d.UID:
						lost = append(lost, owner.Kind+" "+owner.Name)
					}
				}
			}
			return response, err
		})
		s.t.Doing("Adopt to return for a Secret to which an earlier DatabaseManager of the name %s is an owner", d.Name)
		err := s.adopt(s.t.Context(), observed, d, secret.Name)
		if apierrors.IsConflict(err) && !wrote && !slices.ContainsFunc(s.get(secret.Name).OwnerReferences, hasUID(earlier.UID)) {
			continue // with the garbage collector
		}
		seen := fmt.Sprintf("Adopt returns %v, d is its controller: %t, its owners are %s",
			err, metav1.IsControlledBy(written, d), owners(written))
		const look = "owners are compared by their UIDs"
		if err != nil || !metav1.IsControlledBy(written, d) {
			s.t.Reject("an earlier one of its name is an owner of the Secret: d becomes the controller", seen, look)
		}
		if len(lost) > 0 {
			s.t.Reject("other owners of the Secret stay: "+lost[0], seen, look)
		}
	}
}

// hasEarlierController lets a Secret belong to an earlier DatabaseManager of the name of d.
func (s adoptServer) hasEarlierController(config *rest.Config, d *dbv1alpha1.DatabaseManager) {
	for _, version := range []string{"v1alpha1", "v1beta1"} {
		earlier := *metav1.NewControllerRef(d, databaseManager)
		earlier.APIVersion, earlier.UID = "coolops.cn/"+version, uuid.NewUUID()
		secret := s.secret(map[string]string{"coolops.cn/adopt": d.Name}, earlier)
		// The garbage collector can take the reference away. So what counts is what the answer has read last.
		belongs := false
		observed := testkit.Intercept(config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusOK && r.Method == http.MethodGet && path.Base(r.URL.Path) == secret.Name {
				belongs = slices.ContainsFunc(s.readSecret(response).OwnerReferences, hasUID(earlier.UID))
			}
			return response, err
		})
		s.t.Doing("Adopt to return for a Secret that belongs to an earlier DatabaseManager of the name %s", d.Name)
		if err := s.adopt(s.t.Context(), observed, d, secret.Name); err == nil && belongs {
			s.t.Reject("Adopt returns an error: the Secret belongs to an earlier DatabaseManager of that name", "it returns nil",
				"owners are compared by their UIDs")
		}
	}
}

// readSecret reads the Secret in an answer of the server, and leaves the answer as it is.
func (s adoptServer) readSecret(response *http.Response) *corev1.Secret {
	body := testkit.Must(io.ReadAll(response.Body))(s.t)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	secret := &corev1.Secret{}
	if err := json.Unmarshal(body, secret); err != nil {
		s.t.Fatal(err)
	}
	return secret
}

// gradeErrors lets each request of the answer fail.
func (s adoptServer) gradeErrors(config *rest.Config) {
	d := s.database("errors")
	done := "the Secret belongs to d"
	calls := &grade.Calls{Name: "Adopt", Config: config, Done: done, New: func(int) grade.Case {
		secret := s.secret(map[string]string{"coolops.cn/adopt": d.Name})
		return grade.Case{
			Call: func(ctx context.Context, config *rest.Config) error {
				return s.adopt(ctx, config, d.DeepCopy(), secret.Name)
			},
			State: func() string {
				if !metav1.IsControlledBy(s.get(secret.Name), d) {
					return "the Secret does not belong to d"
				}
				return done
			},
			Check: func(failed grade.Failed) {
				if !failed.Request.Reads() {
					return
				}
				for _, next := range failed.Requests[failed.Request.Number:] { // it may read again
					if next.Reads() && next.Resource == failed.Request.Resource {
						return
					}
					if !next.Reads() {
						s.t.Reject(failed.String()+": nothing is written when it is not known what the server has",
							"Adopt sends "+next.String(), "what becomes of the error of this request?")
					}
				}
			},
		}
	}}
	calls.FailEachRequest(s.t)
	calls.EndContext(s.t)
}

func hasUID(uid types.UID) func(metav1.OwnerReference) bool {
	return func(owner metav1.OwnerReference) bool { return owner.UID == uid }
}

func (s adoptServer) isTeam(owner metav1.OwnerReference) bool { return owner.UID == s.team.UID }

func (s adoptServer) database(name string) *dbv1alpha1.DatabaseManager {
	d := &dbv1alpha1.DatabaseManager{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       dbv1alpha1.DatabaseManagerSpec{Dbtype: dbv1alpha1.MySQL, DeploymentName: name},
	}
	if name == "db" || name == "marked" {
		d.Finalizers = []string{"example.com/archive"} // it is only marked as deleted
	}
	return testkit.Must(s.databases.Create(s.t.Context(), d, metav1.CreateOptions{}))(s.t)
}

// configMap creates a ConfigMap, and returns a reference to it.
func (s adoptServer) configMap(name string) metav1.OwnerReference {
	configMap := testkit.Must(s.configMaps.Create(s.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{}))(s.t)
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: configMap.UID}
}

func (s adoptServer) delete(name string) {
	if err := s.databases.Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s adoptServer) secret(annotations map[string]string, owners ...metav1.OwnerReference) *corev1.Secret {
	return testkit.Must(s.secrets.Create(s.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "root-", Annotations: annotations, Labels: map[string]string{"team": "shop"},
			OwnerReferences: append(owners, s.team)},
		Data: map[string][]byte{"password": fmt.Append(nil, s.t.Rand.Uint64())},
	}, metav1.CreateOptions{}))(s.t)
}

func (s adoptServer) get(name string) *corev1.Secret {
	return testkit.Must(s.secrets.Get(s.t.Context(), name, metav1.GetOptions{}))(s.t)
}

func owners(secret *corev1.Secret) string {
	names := []string{}
	for _, owner := range secret.OwnerReferences {
		names = append(names, owner.Kind+" "+owner.Name)
	}
	return fmt.Sprintf("%q", names)
}
