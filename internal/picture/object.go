package picture

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"example.com/client-go-workbook/internal/fielddiff"
	"example.com/client-go-workbook/internal/informertrace"
)

// keptObjects is how many states of objects can be shown.
const keptObjects = 1000

// keptApplies is how many applies can be compared with what there was.
const keptApplies = 100

// objects are the last states of objects that have entered the stores, and the last applies.
type objects struct {
	mu      sync.Mutex
	states  []state // the newest is last
	applies []sent
}

type state struct {
	seq    int64 // of the event at which it entered the store
	kind   string
	name   cache.ObjectName
	object runtime.Object
}

func (o *objects) add(seq int64, hop informertrace.Hop) {
	object, ok := hop.Object.(runtime.Object)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.states) >= 2*keptObjects {
		o.states = slices.Clone(o.states[keptObjects:])
	}
	o.states = append(o.states, state{seq, hop.Kind, hop.Name, object})
}

// bodyOf returns the object that an apply sends, or nil for any other request, and for a Secret.
func bodyOf(request *http.Request) *unstructured.Unstructured {
	if request.Header.Get("Content-Type") != string(types.ApplyPatchType) || request.GetBody == nil {
		return nil
	}
	body, err := request.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err == nil {
		text, err = yaml.YAMLToJSON(text)
	}
	// Unlike encoding/json, this makes integers of integers, as the objects of a store have them.
	object := &unstructured.Unstructured{}
	if err != nil || json.Unmarshal(text, &object.Object) != nil || object.GetKind() == "" || object.GetKind() == "Secret" ||
		strings.Contains(request.URL.Path, "/secrets/") {
		return nil
	}
	return object
}

// want keeps what an apply asks for, and what the store has now.
func (o *objects) want(seq int64, desired *unstructured.Unstructured, actual runtime.Object) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.applies) >= 2*keptApplies {
		o.applies = slices.Clone(o.applies[keptApplies:])
	}
	o.applies = append(o.applies, sent{seq, desired, actual})
}

// sent is an apply.
type sent struct {
	seq     int64 // of the event
	desired *unstructured.Unstructured
	actual  runtime.Object // nil: the store had none
}

// wanted compares an apply with what the store had when it was sent. It returns nothing if this event is no apply.
func (o *objects) wanted(seq int64) (*apply, error) {
	o.mu.Lock()
	at := slices.IndexFunc(o.applies, func(s sent) bool { return s.seq == seq })
	if at < 0 {
		o.mu.Unlock()
		return nil, nil
	}
	s := o.applies[at]
	o.mu.Unlock() // the comparison takes its time, and a store waits for the lock
	fields, err := fielddiff.Against(s.desired, s.actual)
	name := cache.NewObjectName(s.desired.GetNamespace(), s.desired.GetName())
	return &apply{s.desired.GetKind() + " " + name.String(), s.actual != nil, fields}, err
}

// apply is what the page shows of an apply.
type apply struct {
	Object string            `json:"object"`
	Exists bool              `json:"exists"` // in the store
	Fields []fielddiff.Field `json:"fields"`
}

// ownerOf returns the kind and the key of the object's controller, or nothing.
func ownerOf(object any) string {
	metadata, err := apimeta.Accessor(object)
	if err != nil {
		return ""
	}
	owner := metav1.GetControllerOfNoCopy(metadata)
	if owner == nil {
		return ""
	}
	return owner.Kind + " " + cache.NewObjectName(metadata.GetNamespace(), owner.Name).String()
}

// diff returns the state that an event brings, as lines of YAML. Each begins with "+", "-" or " ", as in a diff to the state
// before. If none is kept, or it is too long, compared is false, and no line begins with "+" or "-". The event's object has not yet
// entered the store if ahead is true. kind is empty for an event of the queue, whose keys have none.
func (o *objects) diff(kind, name string, seq int64, ahead bool) (lines []string, compared bool) {
	o.mu.Lock()
	states := slices.DeleteFunc(slices.Clone(o.states), func(s state) bool {
		return s.name.String() != name || kind != "" && s.kind != kind
	})
	o.mu.Unlock()
	if len(states) == 0 {
		return nil, false
	}
	at, exact := slices.BinarySearchFunc(states, seq, func(s state, seq int64) int { return int(s.seq - seq) })
	if !exact && !ahead {
		at--
	}
	at = max(0, min(at, len(states)-1))
	lines = linesOf(states[at].object)
	if at == 0 {
		return prefixed(" ", lines), false
	}
	before := linesOf(states[at-1].object)
	if max(len(before), len(lines)) > maxLines {
		return prefixed(" ", lines), false
	}
	return diff(before, lines), true
}

// linesOf returns an object as YAML, without the values of Secrets, and without managedFields.
func linesOf(object runtime.Object) []string {
	object = object.DeepCopyObject()
	if metadata, err := apimeta.Accessor(object); err == nil {
		metadata.SetManagedFields(nil)
	}
	if secret, ok := object.(*corev1.Secret); ok {
		hide(secret)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return []string{err.Error()}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// hide replaces the values of a Secret, and of its annotations: kubectl apply and others keep copies there.
func hide(secret *corev1.Secret) {
	shown := map[string]string{}
	for name := range secret.Data {
		shown[name] = "(hidden)"
	}
	for name := range secret.StringData {
		shown[name] = "(hidden)"
	}
	secret.Data, secret.StringData = nil, shown
	for name := range secret.Annotations {
		secret.Annotations[name] = "(hidden)"
	}
}

// maxLines is the longest object that is compared: the time grows with its square.
const maxLines = 2000

// diff returns the lines of both texts, with "-" in front of those that only old has, and "+" where only new has them.
func diff(old, new []string) (lines []string) {
	// common[i][j] is how many lines old[i:] and new[j:] have in common, in the same order.
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(new)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(new) - 1; j >= 0; j-- {
			if old[i] == new[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) && j < len(new) {
		switch {
		case old[i] == new[j]:
			lines = append(lines, " "+new[j])
			i++
			j++
		case common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "-"+old[i])
			i++
		default:
			lines = append(lines, "+"+new[j])
			j++
		}
	}
	lines = append(lines, prefixed("-", old[i:])...)
	return append(lines, prefixed("+", new[j:])...)
}

func prefixed(sign string, lines []string) []string {
	result := make([]string, len(lines))
	for i, line := range lines {
		result[i] = sign + line
	}
	return result
}
