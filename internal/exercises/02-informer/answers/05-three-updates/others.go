package exercise

import (
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// ImplementsTheInterface implements the handler's interface.
func ImplementsTheInterface(pods cache.TypedSharedIndexInformer[*corev1.Pod], out io.Writer) error {
	_, err := pods.AddEventHandler(printer{out: out})
	return err
}

type printer struct {
	cache.ResourceEventHandlerFuncs
	out io.Writer
}

func (p printer) OnUpdate(old, object any) {
	before, after := old.(*corev1.Pod), object.(*corev1.Pod)
	name := after.Namespace + "/" + after.Name
	if before.ResourceVersion != after.ResourceVersion {
		fmt.Fprintf(p.out, "changed %s\n", name)
		return
	}
	if old == object {
		fmt.Fprintf(p.out, "resync %s\n", name)
		return
	}
	fmt.Fprintf(p.out, "relisted %s\n", name)
}
