package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// RemembersWhatIsOpen remembers what is open, and compares with that at each event.
func RemembersWhatIsOpen(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	open := map[cache.ObjectName]types.UID{} // one goroutine calls the handler, so it needs no lock
	set := func(name cache.ObjectName, uid types.UID) {
		if open[name] == uid {
			return
		}
		if open[name] != "" {
			fmt.Fprintf(out, "close %s %s\n", name, open[name])
			delete(open, name)
		}
		if uid != "" {
			fmt.Fprintf(out, "open %s %s\n", name, uid)
			open[name] = uid
		}
	}
	_, err := pods.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc:    func(pod *corev1.Pod) { set(cache.MetaObjectToName(pod), pod.UID) },
		UpdateFunc: func(_, pod *corev1.Pod) { set(cache.MetaObjectToName(pod), pod.UID) },
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) { set(deleted.GetObjectName(), "") },
	})
	return err
}
