// picture.go: --picture, which shows the informers, the queue and the workers in a browser.
// Before: watcherror.go.

package main

import (
	"context"
	"embed"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

//go:embed README.md picture.yaml *.go
var chapterFiles embed.FS

// traceInformers puts informers that report to the picture into the factories, with chapter 2's tracer. It must be called before
// the factories are asked for one. It is for seeing: no controller needs it, and without the flag it does nothing.
func traceInformers(
	p *picture.Picture,
	configMaps, deployments informers.SharedInformerFactory,
	clientset kubernetes.Interface,
	namespace string,
) error {
	described := &informertrace.Tracer{Observer: p, Tweak: selection{labels: databaseSelector}.tweak}
	all := &informertrace.Tracer{Observer: p}
	return errors.Join(
		informertrace.Trace(described, configMaps, clientset, &corev1.ConfigMap{},
			corev1.SchemeGroupVersion.WithResource("configmaps"), clientset.CoreV1().ConfigMaps(namespace)),
		informertrace.Trace(all, deployments, clientset, &appsv1.Deployment{},
			appsv1.SchemeGroupVersion.WithResource("deployments"), clientset.AppsV1().Deployments(namespace)),
	)
}

// showController lets the controller's queue and workers report to the picture, and serves it until stop is called.
func showController(
	ctx context.Context,
	p *picture.Picture,
	c *Controller,
	leader func() string,
	namespace string,
	out *program.Printer,
) (stop func(), err error) {
	p.ShowLeader(leader)
	c.syncHandler = p.Controller(c.queue, queueName, c.syncHandler)
	return p.Start(ctx, chapterFiles, namespace, out)
}
