// Chapter 1: List and Watch, the two requests on which all later chapters rest.
//
// The program lists a resource, watches it from the list's resourceVersion on, and prints every event. It continues when
// the watch ends, when the server is away, and when the server no longer has the events after that resourceVersion.
//
// Read in this order: main.go, store.go, list.go, watch.go, resource.go. The flags, Ctrl-C and the texts of errors are in
// internal/program and internal/connect. You can read them later.
package main

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/program"
)

func main() {
	p := program.New("01-listwatch")
	s := selection{labels: labels.Everything(), fields: fields.Everything()}
	p.Flags.StringVar(&s.resource, "resource", "pods", "resource to watch, also as short name or with its group: deploy, deployments.apps")
	p.Flags.StringVarP(&s.namespace, "namespace", "n", "", "namespace to watch (default: all)")
	p.Flags.FuncP("selector", "l", "label selector, such as app=nginx", program.LabelSelector(&s.labels))
	p.Flags.Func("field-selector", "field selector, such as spec.nodeName=node-000000", func(value string) (err error) {
		s.fields, err = fields.ParseSelector(value)
		return err
	})
	w := watcher{out: p.Out}
	p.Flags.Uint32Var(&w.pageSize, "page-size", 500, "objects a page of the list (0: all in one)")
	p.Flags.BoolVar(&w.stream, "stream", false, "let the watch deliver the list too: a streaming list")
	p.Flags.DurationVar(&w.timeout, "watch-timeout", 0, "ask the server to end each watch after this time (0: the server chooses)")

	p.Run(func(ctx context.Context, config *rest.Config) (err error) {
		if w.listWatch, err = newListWatch(ctx, config, s); err != nil {
			return err
		}
		return w.run(ctx)
	})
}
