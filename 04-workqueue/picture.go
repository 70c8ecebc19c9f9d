// picture.go: --picture, which shows the informer, the queue and the workers in a browser.
// Before: watcherror.go.

package main

import (
	"context"
	"embed"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

//go:embed README.md picture.yaml *.go
var chapterFiles embed.FS

// traceInformer puts an informer that reports to the picture into the factory, with chapter 2's tracer. It must be called
// before the factory is asked for one. It is for seeing: no controller needs it, and without the flag it does nothing.
func traceInformer(p *picture.Picture, factory informers.SharedInformerFactory, clientset kubernetes.Interface, s selection) error {
	tracer := &informertrace.Tracer{Observer: p, Transform: stripManagedFields, Tweak: s.tweak}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	return informertrace.Trace(tracer, factory, clientset, &corev1.Pod{}, pods, clientset.CoreV1().Pods(s.namespace))
}

// showController lets the controller's queue and workers report to the picture, and serves it until stop is called.
func showController(
	ctx context.Context,
	p *picture.Picture,
	c *Controller,
	namespace string,
	out *program.Printer,
) (stop func(), err error) {
	c.syncHandler = p.Controller(c.queue, queueName, c.syncHandler)
	return p.Start(ctx, chapterFiles, namespace, out)
}
