package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
)

// Resource is what the suite knows of a resource and its children. A file says it: databasemanager.yaml is one.
type Resource struct {
	CRD        string                      `json:"crd"`        // a manifest, beside the file; conformance.sh applies it
	Samples    []patch                     `json:"samples"`    // objects without a name; {name} becomes the object's name
	Change     patch                       `json:"change"`     // of the first sample; its children show it
	Impossible patch                       `json:"impossible"` // the server refuses it for a child; empty: there is no such change
	Keep       patch                       `json:"keep"`       // with it, children stay when their owner is deleted; empty: they never do
	MayChange  map[string]map[string][]any `json:"mayChange"`  // spec: fields, with their values; none: those that the CRD allows
	Ready      Ready                       `json:"ready"`
	Children   []metav1.TypeMeta           `json:"children"`
	KnownBy    string                      `json:"knownBy"` // owner, labels or either: without it, a child is nobody's
	Label      string                      `json:"label"`   // of children that have neither the owner nor its name; {name} becomes that
	Ignore     []string                    `json:"ignore"`  // regular expressions: what differs between two children of equal owners

	kind     schema.GroupVersionKind
	gvr      schema.GroupVersionResource
	kinds    []schema.GroupVersionKind // of the children
	children []schema.GroupVersionResource
	ignored  []*regexp.Regexp
	global   map[schema.GroupResource]bool // resources without a namespace
}

// patch is a part of an object: a JSON merge patch.
type patch map[string]any

func (p patch) String() string {
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // it comes from YAML
	}
	return string(text)
}

// Ready is how a status says that all is as asked for. Without it, that is so when nothing is written for a second.
type Ready struct {
	Condition          string   `json:"condition"`          // is True
	ObservedGeneration []string `json:"observedGeneration"` // the condition, the status, or both say of which generation
	JSONPath           string   `json:"jsonPath"`           // or this has a value
	Value              string   `json:"value"`
}

// readResource reads the file of a custom resource, and asks the server for the names of its resources.
func readResource(file string, config *rest.Config) (*Resource, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &Resource{}
	if err := yaml.UnmarshalStrict(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	switch {
	case len(r.Samples) == 0 || len(r.Children) == 0 || len(r.Change) == 0:
		return nil, fmt.Errorf("%s: samples, change or children are missing", file)
	case !slices.Contains([]string{"owner", "labels", "either"}, r.KnownBy):
		return nil, fmt.Errorf("%s: knownBy is none of owner, labels, either", file)
	case r.Ready.Condition != "" && r.Ready.JSONPath != "":
		return nil, fmt.Errorf("%s: ready has a condition and a jsonPath: keep one", file)
	case r.Ready.JSONPath != "" && !(r.Ready.Value != "" && isPath(r.Ready.JSONPath)):
		return nil, fmt.Errorf("%s: ready needs a jsonPath such as {.status.phase}, and a value", file)
	case len(r.Ready.ObservedGeneration) > 0 && r.Ready.Condition == "":
		return nil, fmt.Errorf("%s: ready has observedGeneration, and no condition", file)
	}
	for _, part := range r.Ready.ObservedGeneration {
		if part != "condition" && part != "status" {
			return nil, fmt.Errorf("%s: observedGeneration is in the condition or in the status, and not in %q", file, part)
		}
	}
	for _, expression := range r.Ignore {
		compiled, err := regexp.Compile(expression)
		if err != nil {
			return nil, fmt.Errorf("%s: ignore: %w", file, err)
		}
		r.ignored = append(r.ignored, compiled)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, err := restmapper.GetAPIGroupResources(client)
	if err != nil {
		return nil, err
	}
	r.global = globalResources(groups)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	r.kind = r.sample(0, "").GroupVersionKind()
	for _, t := range r.Children {
		r.kinds = append(r.kinds, t.GroupVersionKind())
	}
	for _, kind := range append([]schema.GroupVersionKind{r.kind}, r.kinds...) {
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if mapping.Scope.Name() != apimeta.RESTScopeNameNamespace {
			return nil, fmt.Errorf("%s: a %s has no namespace, and the suite works in one", file, kind.Kind)
		}
		r.children = append(r.children, mapping.Resource)
	}
	r.gvr, r.children = r.children[0], r.children[1:]
	return r, nil
}

// isPath reports whether a text is a JSONPath with braces: without them, it would stand for itself.
func isPath(text string) bool {
	return strings.Contains(text, "{") && jsonpath.New("ready").Parse(text) == nil
}

func globalResources(groups []*restmapper.APIGroupResources) map[schema.GroupResource]bool {
	global := map[schema.GroupResource]bool{}
	for _, group := range groups {
		for _, resources := range group.VersionedResources {
			for _, resource := range resources {
				if !resource.Namespaced {
					global[schema.GroupResource{Group: group.Group.Name, Resource: resource.Name}] = true
				}
			}
		}
	}
	return global
}

// split parts rules: a Role can have those about resources with a namespace. Those about others are for a ClusterRole, and are of no use to
// write.
func (r *Resource) split(rules []rbacv1.PolicyRule) (namespaced, global []rbacv1.PolicyRule) {
	for _, rule := range rules {
		isGlobal := func(resource string) bool {
			return slices.ContainsFunc(rule.APIGroups, func(group string) bool {
				return r.global[schema.GroupResource{Group: group, Resource: resource}]
			})
		}
		inside, outside := *rule.DeepCopy(), *rule.DeepCopy()
		inside.Resources = slices.DeleteFunc(inside.Resources, isGlobal)
		outside.Resources = slices.DeleteFunc(outside.Resources, func(resource string) bool { return !isGlobal(resource) })
		if len(inside.Resources) > 0 {
			namespaced = append(namespaced, inside)
		}
		if len(outside.Resources) > 0 {
			outside.Verbs = []string{"get", "list", "watch"}
			global = append(global, outside)
		}
	}
	return namespaced, global
}

// isDatabaseManager reports whether the promises that are about DatabaseManagers can be tried.
func (r *Resource) isDatabaseManager() bool {
	return r.kind.Kind == "DatabaseManager" && r.kind.GroupVersion().String() == dbv1alpha1.GroupVersion.String()
}

// sample returns the object of a sample, of which there may be fewer, with changes.
func (r *Resource) sample(i int, name string, changes ...patch) *unstructured.Unstructured {
	text := r.Samples[i%len(r.Samples)].String()
	for _, change := range changes {
		if len(change) > 0 {
			text = merge(text, change.String())
		}
	}
	o := &unstructured.Unstructured{}
	text = strings.ReplaceAll(text, "{name}", name)
	if err := json.Unmarshal([]byte(text), &o.Object); err != nil {
		panic(err) // it comes from YAML
	}
	o.SetName(name)
	return o
}

// merge returns a JSON object with a merge patch.
func merge(object, patch string) string {
	merged, err := jsonpatch.MergePatch([]byte(object), []byte(patch))
	if err != nil {
		panic(err) // both come from YAML
	}
	return string(merged)
}

// undo returns the patch that takes a patch of the first sample back.
func (r *Resource) undo(change patch) patch {
	back, err := jsonpatch.CreateMergePatch([]byte(merge(r.Samples[0].String(), change.String())), []byte(r.Samples[0].String()))
	undone := patch{}
	if err == nil {
		err = json.Unmarshal(back, &undone)
	}
	if err != nil {
		panic(err) // both come from YAML
	}
	return undone
}

// resourceOf returns the resource of a child.
func (r *Resource) resourceOf(child *unstructured.Unstructured) schema.GroupVersionResource {
	return r.children[slices.Index(r.kinds, child.GroupVersionKind())] // children are looked for in these resources only
}

// stem is a part of the names of an object's children.
func stem(o metav1.Object) string {
	if d, ok := o.(*dbv1alpha1.DatabaseManager); ok {
		return d.Spec.DeploymentName
	}
	return o.GetName() // in a sample, the two are the same
}

// told returns in a few words what the status says about the current spec.
func (r *Resource) told(o metav1.Object) string {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			panic(err) // it is an object of the API
		}
		u = &unstructured.Unstructured{Object: content}
	}
	switch {
	case r.Ready.JSONPath != "":
		return r.toldByPath(u)
	case r.Ready.Condition != "":
		return r.toldByCondition(u)
	}
	return isReady
}

func (r *Resource) toldByPath(o *unstructured.Unstructured) string {
	path, value := jsonpath.New("ready").AllowMissingKeys(true), bytes.Buffer{}
	if err := path.Parse(r.Ready.JSONPath); err != nil {
		return err.Error()
	}
	if err := path.Execute(&value, o.Object); err != nil {
		return err.Error()
	}
	if value.String() != r.Ready.Value {
		return fmt.Sprintf("%s is %q", r.Ready.JSONPath, value.String())
	}
	return isReady
}

func (r *Resource) toldByCondition(o *unstructured.Unstructured) string {
	condition := r.condition(o)
	if condition == nil {
		return "no condition " + r.Ready.Condition
	}
	of, _, _ := unstructured.NestedInt64(condition, "observedGeneration")
	switch status := text(condition, "status"); {
	case r.Ready.observes("condition") && of != o.GetGeneration():
		return fmt.Sprintf("%s with observedGeneration %d of generation %d", r.Ready.Condition, of, o.GetGeneration())
	case status != "True":
		return fmt.Sprintf("%s=%s %s: %s", r.Ready.Condition, status, text(condition, "reason"), text(condition, "message"))
	case r.behind(o) != "":
		return fmt.Sprintf("%s=True, but %s", r.Ready.Condition, r.behind(o))
	}
	return isReady
}

// condition returns the condition that says whether an object is ready, or nil.
func (r *Resource) condition(o *unstructured.Unstructured) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, condition := range conditions {
		if condition, ok := condition.(map[string]any); ok && condition["type"] == r.Ready.Condition {
			return condition
		}
	}
	return nil
}

// observes reports whether a part of the status says of which generation it is.
func (r Ready) observes(part string) bool { return slices.Contains(r.ObservedGeneration, part) }

// behind says that a status is about an earlier generation.
func (r *Resource) behind(o *unstructured.Unstructured) string {
	observed, what := int64(0), "status.observedGeneration"
	switch {
	case r.Ready.observes("status"):
		observed, _, _ = unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	case r.Ready.observes("condition"):
		what = "observedGeneration of " + r.Ready.Condition
		observed, _, _ = unstructured.NestedInt64(r.condition(o), "observedGeneration")
	default:
		return ""
	}
	if observed == o.GetGeneration() {
		return ""
	}
	return fmt.Sprintf("%s %d of generation %d", what, observed, o.GetGeneration())
}

// isReady is what is told of an object whose children are as it asks for.
const isReady = "Ready=True"

// text returns a field of an object that is a text.
func text(object any, field string) string {
	fields, _ := object.(map[string]any)
	text, _ := fields[field].(string)
	return text
}
