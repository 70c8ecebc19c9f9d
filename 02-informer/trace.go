// trace.go: --trace, which prints each hop of an object between the server and the handlers.
// Before: badhandler.go.

package main

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"example.com/client-go-workbook/internal/informertrace"
	"example.com/client-go-workbook/internal/program"
)

// trace puts informers with a tracer into the factory. They send the same requests as the factory's own. The tracer stands
// wherever client-go calls a function of the program: in a ListWatch, a transform, a metric, an index and a handler. It is
// for seeing. No controller needs it.
func trace(factory informers.SharedInformerFactory, clientset kubernetes.Interface, s selection, out *program.Printer) error {
	selectObjects := func(options *metav1.ListOptions) { options.LabelSelector = s.labels.String() }
	tracer := &informertrace.Tracer{Out: out, Transform: stripManagedFields, Tweak: selectObjects}
	deployments, pods := clientset.AppsV1().Deployments(s.namespace), clientset.CoreV1().Pods(s.namespace)
	return errors.Join(
		informertrace.Trace(tracer, factory, clientset, &appsv1.Deployment{},
			appsv1.SchemeGroupVersion.WithResource("deployments"), deployments),
		informertrace.Trace(tracer, factory, clientset, &corev1.Pod{}, corev1.SchemeGroupVersion.WithResource("pods"), pods),
	)
}
