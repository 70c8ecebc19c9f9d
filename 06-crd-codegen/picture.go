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

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	dbinformers "example.com/client-go-workbook/06-crd-codegen/pkg/generated/informers/externalversions"
	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/picture"
	"example.com/client-go-workbook/internal/program"
)

//go:embed README.md picture.yaml *.go
var chapterFiles embed.FS

// traceInformers puts informers that report to the picture into the factories, with chapter 2's tracer. It must be called before
// the factories are asked for one. It is for seeing: no controller needs it, and without the flag it does nothing.
func traceInformers(
	p *picture.Picture, children informers.SharedInformerFactory, owners dbinformers.SharedInformerFactory,
	clientset kubernetes.Interface, databases versioned.Interface, all, s selection,
) error {
	everything := &informertrace.Tracer{Observer: p, Tweak: all.tweak}
	ours := &informertrace.Tracer{Observer: p, Tweak: s.tweak}
	core, apps := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion
	return errors.Join(
		informertrace.Trace(everything, owners, databases, &dbv1alpha1.DatabaseManager{},
			dbv1alpha1.Resource("databasemanagers").WithVersion("v1alpha1"), databases.CoolopsV1alpha1().DatabaseManagers(s.namespace)),
		informertrace.Trace(ours, children, clientset, &appsv1.Deployment{},
			apps.WithResource("deployments"), clientset.AppsV1().Deployments(s.namespace)),
		informertrace.Trace(ours, children, clientset, &corev1.Service{},
			core.WithResource("services"), clientset.CoreV1().Services(s.namespace)),
		informertrace.Trace(ours, children, clientset, &corev1.Secret{},
			core.WithResource("secrets"), clientset.CoreV1().Secrets(s.namespace)),
		informertrace.Trace(ours, children, clientset, &corev1.PersistentVolumeClaim{},
			core.WithResource("persistentvolumeclaims"), clientset.CoreV1().PersistentVolumeClaims(s.namespace)),
		informertrace.Trace(ours, children, clientset, &corev1.Pod{},
			core.WithResource("pods"), clientset.CoreV1().Pods(s.namespace)),
	)
}

// showController lets the controller's queue and workers report to the picture, and serves it until stop is called.
func showController(
	ctx context.Context, p *picture.Picture, c *Controller, leader func() string, namespace string, out *program.Printer,
) (stop func(), err error) {
	p.ShowLeader(leader)
	c.syncHandler = p.Controller(c.queue, queueName, c.syncHandler)
	return p.Start(ctx, chapterFiles, namespace, out)
}
