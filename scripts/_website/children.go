package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"example.com/website/apis/website/v1alpha1"
	"example.com/website/internal/ssa"
)

// What the controller may do. ./codegen.sh writes role.yaml from these comments.
//
// +kubebuilder:rbac:groups=example.com,resources=websites,verbs=list;watch;get
// +kubebuilder:rbac:groups=example.com,resources=websites/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;update;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=list;watch;create;update;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=website-controller,verbs=get;update

// childInformers returns an informer for each kind of children. They hold all objects of that kind in the namespaces that the
// controller watches.
func childInformers(factory informers.SharedInformerFactory) []cache.SharedIndexInformer {
	return []cache.SharedIndexInformer{factory.Core().V1().Services().Informer(), factory.Apps().V1().Deployments().Informer()}
}

// applyChildren applies the children, and returns the one that decides whether the Website is ready. One more kind is one more call here,
// an informer above, and a rule.
func (c *controller) applyChildren(ctx context.Context, object *v1alpha1.Website) (*appsv1.Deployment, error) {
	_, err := apply(ctx, c, object, child[*corev1.Service, *corev1ac.ServiceApplyConfiguration]{
		kind:       "Service",
		informer:   c.children.Core().V1().Services().Informer(),
		client:     c.clients.CoreV1().Services(object.Namespace),
		extract:    corev1ac.ExtractService,
		desired:    desiredService,
		canReplace: ssa.ReplaceSpec,
	})
	if err != nil {
		return nil, err
	}
	return apply(ctx, c, object, child[*appsv1.Deployment, *appsv1ac.DeploymentApplyConfiguration]{
		kind:       "Deployment",
		informer:   c.children.Apps().V1().Deployments().Informer(),
		client:     c.clients.AppsV1().Deployments(object.Namespace),
		extract:    appsv1ac.ExtractDeployment,
		desired:    desiredDeployment,
		canReplace: ssa.ReplaceSpec, // ssa.KeepSpec for a kind without a spec, such as a ConfigMap
	})
}

// labels are those of the children and their pods.
func labels(object *v1alpha1.Website) map[string]string {
	return map[string]string{"example.com/website": object.Name}
}

// desiredService returns the fields of the Service that are this controller's.
func desiredService(object *v1alpha1.Website) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(object.Name, object.Namespace).
		WithLabels(labels(object)).
		WithSpec(corev1ac.ServiceSpec().
			WithSelector(labels(object)).
			WithPorts(corev1ac.ServicePort().WithName("http").WithPort(80)))
}

// desiredDeployment returns the fields of the Deployment that are this controller's.
func desiredDeployment(object *v1alpha1.Website) *appsv1ac.DeploymentApplyConfiguration {
	spec := appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels(object))).
		WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(labels(object)).
			WithSpec(corev1ac.PodSpec().
				WithContainers(corev1ac.Container().WithName("main").WithImage(object.Spec.Image))))
	spec.Replicas = object.Spec.Replicas
	return appsv1ac.Deployment(object.Name, object.Namespace).WithLabels(labels(object)).WithSpec(spec)
}

// readiness says whether all pods are there, of the newest template, as the status and the reason of the condition Ready.
func readiness(deployment *appsv1.Deployment) (status metav1.ConditionStatus, reason string) {
	now, replicas := deployment.Status, *deployment.Spec.Replicas // the API server sets a default
	if now.ObservedGeneration < deployment.Generation {
		return metav1.ConditionFalse, "Progressing"
	}
	for _, c := range now.Conditions {
		isFailure := c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue
		if isFailure || c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse {
			return metav1.ConditionFalse, c.Reason // such as FailedCreate or ProgressDeadlineExceeded
		}
	}
	if now.UpdatedReplicas != replicas || now.Replicas != replicas || now.AvailableReplicas != replicas {
		return metav1.ConditionFalse, "Progressing"
	}
	return metav1.ConditionTrue, "Available"
}
