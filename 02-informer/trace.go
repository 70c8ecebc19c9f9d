// trace.go: --trace and --picture, which show each hop of an object between the server and the handlers.
// Before: badhandler.go.

package main

import (
	"context"
	"embed"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/program"
)

//go:embed README.md picture.yaml *.go
var chapterFiles embed.FS

// show puts informers with a tracer into the factory, which has none yet. They send the same requests as the factory's own. The
// tracer stands wherever client-go calls a function of the program: in a ListWatch, a transform, a metric, an index and a handler.
// It is for seeing. No controller needs it.
func (d demo) show(ctx context.Context, factory informers.SharedInformerFactory, clientset kubernetes.Interface, s selection,
	out *program.Printer) (stop func(), err error) {
	tracer := &informertrace.Tracer{Observer: d.picture, Transform: stripManagedFields, Tweak: s.tweak}
	if d.trace {
		tracer.Out = out
	}
	if err := informertrace.TraceWorkloads(tracer, factory, clientset, s.namespace); err != nil {
		return func() {}, err
	}
	return d.picture.Start(ctx, chapterFiles, s.namespace, out)
}
