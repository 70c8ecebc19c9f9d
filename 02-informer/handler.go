package main

import (
	"fmt"
	"io"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// printer prints what happens to objects.
type printer struct {
	out io.Writer
}

func deploymentHandler(p printer) cache.TypedResourceEventHandler[*appsv1.Deployment] {
	return appsinformers.DeploymentDetailedHandlerFuncs{
		AddFunc: func(deployment *appsv1.Deployment, isInInitialList bool) {
			p.line("ADD", "Deployment %s", cache.MetaObjectToName(deployment))
		},
		UpdateFunc: func(old, deployment *appsv1.Deployment) {
			p.line("UPDATE", "Deployment %s", cache.MetaObjectToName(deployment))
		},
		DeleteFunc: func(deleted appsinformers.DeletedDeployment) {
			p.line("DELETE", "Deployment %s", deleted.GetObjectName())
		},
	}
}

func podHandler(p printer) cache.TypedResourceEventHandler[*corev1.Pod] {
	return coreinformers.PodDetailedHandlerFuncs{
		AddFunc: func(pod *corev1.Pod, isInInitialList bool) {
			p.line("ADD", "Pod %s", cache.MetaObjectToName(pod))
		},
		UpdateFunc: func(old, pod *corev1.Pod) {
			p.line("UPDATE", "Pod %s", cache.MetaObjectToName(pod))
		},
		DeleteFunc: func(deleted coreinformers.DeletedPod) {
			p.line("DELETE", "Pod %s", deleted.GetObjectName())
		},
	}
}

// line prints what happened, in one word, and to what.
func (p printer) line(word, format string, args ...any) {
	fmt.Fprintf(p.out, "%-10s "+format+"\n", append([]any{word}, args...)...)
}
