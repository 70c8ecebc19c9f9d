package fakeserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes/scheme"
)

var statusKind = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}

// call is a request that is being answered.
type call struct {
	Request
	resource     schema.GroupVersionResource
	metadataOnly bool // the client has asked for PartialObjectMetadata
	options      internalversion.ListOptions
	body         []byte
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, err := newCall(r)
	s.mu.Lock()
	s.requests = append(s.requests, c.Request)
	s.mu.Unlock()
	_, known := s.kinds[c.resource]
	switch {
	case !scheme.Scheme.IsVersionRegistered(c.resource.GroupVersion()):
		http.NotFound(w, r)
		return
	case !known || (c.Subresource != "" && c.Subresource != "status"):
		err = apierrors.NewGenericServerResponse(http.StatusNotFound, c.Verb, schema.GroupResource{}, "", "", 0, false)
	case err == nil && c.Verb == "watch":
		err = s.watch(w, r, c)
		if err == nil {
			return
		}
	}
	code, answer := http.StatusOK, any(nil)
	if err == nil {
		answer, err = s.answer(c)
	}
	if c.Verb == "create" {
		code = http.StatusCreated
	}
	var failure apierrors.APIStatus
	switch {
	case errors.As(err, &failure):
		status := failure.Status()
		status.TypeMeta = statusKind
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
		}
		code, answer = int(status.Code), status
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // fails only if the client has gone
}

// newCall reads a request: its path is /api/v1 or /apis/GROUP/VERSION, then /namespaces/NAMESPACE where there is one, and
// /RESOURCE/NAME/SUBRESOURCE.
func newCall(r *http.Request) (*call, error) {
	c := &call{
		Request:      Request{Query: r.URL.Query()},
		metadataOnly: strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata"),
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	path = append(path, make([]string, 8)...) // empty words for the parts that it does not have
	if path[0] == "apis" {
		c.resource.Group, path = path[1], path[1:]
	}
	c.resource.Version, path = path[1], path[2:]
	if path[0] == "namespaces" && path[2] != "" && path[2] != "status" && path[2] != "finalize" {
		c.Namespace, path = path[1], path[2:]
	}
	c.Resource, c.Name, c.Subresource = path[0], path[1], path[2]
	c.resource.Resource = c.Resource

	c.Verb = map[string]string{"POST": "create", "PUT": "update", "DELETE": "delete", "PATCH": "patch"}[r.Method]
	if r.Method == http.MethodGet {
		switch {
		case c.Name != "":
			c.Verb = "get"
		case c.Query.Get("watch") == "true" || c.Query.Get("watch") == "1":
			c.Verb = "watch"
		default:
			c.Verb = "list"
		}
	}
	var err error
	switch c.Verb {
	case "list", "watch":
		err = c.readOptions()
	case "create", "update", "delete":
		c.body, err = io.ReadAll(r.Body)
		if mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); len(c.body) > 0 && mediaType != runtime.ContentTypeJSON {
			err = apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, c.Verb, c.resource.GroupResource(), "",
				"this server reads only application/json: set ContentType in the rest.Config", 0, true)
		}
	}
	return c, err
}

// readOptions reads the options of a list or watch with the functions of the real server.
func (c *call) readOptions() error {
	if err := internalscheme.ParameterCodec.DecodeParameters(c.Query, metav1.SchemeGroupVersion, &c.options); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	internalversion.SetListOptionsDefaults(&c.options, true)
	if errs := validation.ValidateListOptions(&c.options, true); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if c.options.LabelSelector == nil {
		c.options.LabelSelector = labels.Everything()
	}
	if c.options.FieldSelector == nil {
		c.options.FieldSelector = fields.Everything()
	}
	for _, requirement := range c.options.FieldSelector.Requirements() {
		if c.Resource == "pods" && (requirement.Field == "spec.nodeName" || requirement.Field == "status.phase") {
			continue
		}
		if _, _, err := runtime.DefaultMetaV1FieldSelectorConversion(requirement.Field, requirement.Value); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	return nil
}

// matches reports whether an object is one of those that a list or watch has asked for.
func (c *call) matches(object *unstructured.Unstructured) bool {
	if object == nil || (c.Namespace != "" && object.GetNamespace() != c.Namespace) {
		return false
	}
	values := fields.Set{}
	for _, requirement := range c.options.FieldSelector.Requirements() {
		values[requirement.Field], _, _ = unstructured.NestedString(object.Object, strings.Split(requirement.Field, ".")...)
	}
	return c.options.LabelSelector.Matches(labels.Set(object.GetLabels())) && c.options.FieldSelector.Matches(values)
}

// view returns what the client gets of an object: all of it, or its metadata.
func (c *call) view(object *unstructured.Unstructured) *unstructured.Unstructured {
	if !c.metadataOnly {
		return object
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object.Object["metadata"],
	}}
}

// answer answers what is not a watch, with an object, a list, or an error that is an [apierrors.APIStatus].
func (s *Server) answer(c *call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var object *unstructured.Unstructured
	var err error
	switch c.Verb {
	case "list":
		return s.list(c)
	case "get":
		if object = s.find(c.resource, c.Namespace, c.Name); object == nil {
			err = apierrors.NewNotFound(c.resource.GroupResource(), c.Name)
		}
	case "create", "update":
		sent := &unstructured.Unstructured{}
		if err := sent.UnmarshalJSON(c.body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if sent.GetNamespace() == "" {
			sent.SetNamespace(c.Namespace)
		}
		switch {
		case sent.GetNamespace() != c.Namespace:
			err = apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
		case c.Verb == "create":
			delete(sent.Object, "status") // a new object has none
			object, err = s.create(c.resource, sent)
		case sent.GetName() != c.Name:
			err = apierrors.NewBadRequest("the name of the object does not match the name on the URL")
		default:
			object, err = s.update(c.resource, sent, c.Subresource)
		}
	case "delete":
		options := metav1.DeleteOptions{}
		if len(c.body) > 0 {
			if err := json.NewDecoder(bytes.NewReader(c.body)).Decode(&options); err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
		}
		if _, err := s.delete(c.resource, c.Namespace, c.Name, options.Preconditions); err != nil {
			return nil, err
		}
		return metav1.Status{TypeMeta: statusKind, Status: metav1.StatusSuccess}, nil
	default:
		err = apierrors.NewMethodNotSupported(c.resource.GroupResource(), c.Verb)
	}
	if err != nil {
		return nil, err
	}
	return c.view(object), nil
}

// The next functions are called with s.mu locked.

func (s *Server) create(resource schema.GroupVersionResource, sent *unstructured.Unstructured) (written, error) {
	if sent.GetName() == "" && sent.GetGenerateName() != "" {
		sent.SetName(sent.GetGenerateName() + utilrand.String(5))
	}
	switch {
	case sent.GetName() == "":
		return nil, apierrors.NewInvalid(sent.GroupVersionKind().GroupKind(), "", nil)
	case sent.GetResourceVersion() != "":
		return nil, unnamed("resourceVersion should not be set on objects to be created")
	case s.find(resource, sent.GetNamespace(), sent.GetName()) != nil:
		return nil, apierrors.NewAlreadyExists(resource.GroupResource(), sent.GetName())
	}
	sent.SetUID("") // the server chooses it
	return s.write(resource, nil, sent), nil
}

// update replaces a part of an object: "status", "" for all but the status, or "all".
func (s *Server) update(resource schema.GroupVersionResource, sent *unstructured.Unstructured, part string) (written, error) {
	before := s.find(resource, sent.GetNamespace(), sent.GetName())
	switch {
	case before == nil:
		return nil, apierrors.NewNotFound(resource.GroupResource(), sent.GetName())
	case sent.GetUID() != "" && sent.GetUID() != before.GetUID(),
		sent.GetResourceVersion() != "" && sent.GetResourceVersion() != before.GetResourceVersion():
		return nil, conflict(resource, sent.GetName())
	}
	after := sent.DeepCopy()
	switch part {
	case "":
		setStatus(after, before)
	case "status":
		after = before.DeepCopy()
		setStatus(after, sent)
	}
	after.SetResourceVersion(before.GetResourceVersion())
	after.SetUID(before.GetUID())
	after.SetCreationTimestamp(before.GetCreationTimestamp())
	if reflect.DeepEqual(after.Object, before.Object) {
		return before, nil // nothing is written, and no version counted
	}
	return s.write(resource, before, after), nil
}

func (s *Server) delete(
	resource schema.GroupVersionResource, namespace, name string, preconditions *metav1.Preconditions,
) (written, error) {
	before := s.find(resource, namespace, name)
	switch {
	case before == nil:
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	case preconditions != nil && preconditions.UID != nil && *preconditions.UID != before.GetUID(),
		preconditions != nil && preconditions.ResourceVersion != nil && *preconditions.ResourceVersion != before.GetResourceVersion():
		return nil, conflict(resource, name)
	}
	return s.write(resource, before, nil), nil
}

func setStatus(object, from *unstructured.Unstructured) {
	delete(object.Object, "status")
	if status, exists := from.Object["status"]; exists {
		object.Object["status"] = runtime.DeepCopyJSONValue(status)
	}
}

// unnamed is an error without a reason: the real server has some, too.
func unnamed(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

func conflict(resource schema.GroupVersionResource, name string) error {
	return apierrors.NewConflict(resource.GroupResource(), name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// token is what a list's continue says: the first page's version, and the key after the last object of the page.
type token struct {
	APIVersion      string `json:"v"`
	ResourceVersion int64  `json:"rv"` // -1 for the newest
	Start           string `json:"start"`
}

func (t token) String() string {
	text, _ := json.Marshal(t) // cannot fail: strings and a number
	return base64.RawURLEncoding.EncodeToString(text)
}

// list returns a page as it was at the version that the options ask for.
func (s *Server) list(c *call) (any, error) {
	asked, err := parseVersion(c.options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	version, start := s.version, ""
	exact := c.options.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
		(asked > 0 && c.options.Limit > 0 && c.options.ResourceVersionMatch == "")
	switch {
	case c.options.Continue != "" && asked > 0:
		return nil, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	case c.options.Continue != "":
		text, err := base64.RawURLEncoding.DecodeString(c.options.Continue)
		t := token{}
		if err != nil || json.Unmarshal(text, &t) != nil || t.ResourceVersion == 0 || t.Start == "" {
			return nil, apierrors.NewBadRequest("continue key is not valid")
		}
		start = t.Start
		if t.ResourceVersion > 0 {
			version = t.ResourceVersion
		}
		if version < s.compacted {
			t.ResourceVersion = -1
			expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result.")
			expired.ErrStatus.Continue = t.String()
			return nil, expired
		}
	case asked > s.version:
		return nil, tooLarge(asked, s.version)
	case exact && asked < s.compacted:
		return nil, apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	case exact:
		version = asked
	}

	items := []any{}
	metadata := map[string]any{"resourceVersion": strconv.FormatInt(version, 10)}
	last, rest := "", 0
	for _, object := range s.at(c.resource, version) {
		switch {
		case !c.matches(object) || keyOf(object) < start:
		case c.options.Limit > 0 && len(items) == int(c.options.Limit) && c.options.ResourceVersion != "0":
			rest++
		default:
			items = append(items, c.view(object).Object)
			last = keyOf(object)
		}
	}
	if rest > 0 {
		metadata["continue"] = token{"meta.k8s.io/v1", version, last + "\x00"}.String()
		if c.options.LabelSelector.Empty() && c.options.FieldSelector.Empty() {
			metadata["remainingItemCount"] = rest
		}
	}
	kind := s.kinds[c.resource]
	kind.Kind += "List"
	if c.metadataOnly {
		kind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
	}
	return map[string]any{
		"kind": kind.Kind, "apiVersion": kind.GroupVersion().String(), "metadata": metadata, "items": items,
	}, nil
}

func parseVersion(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 0 {
		return 0, apierrors.NewBadRequest(fmt.Sprintf("resourceVersion: Invalid value: %q", text))
	}
	return version, nil
}

func tooLarge(asked, version int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, version), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"},
	}
	return err
}
