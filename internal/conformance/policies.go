package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const policyMessage = "the conformance suite allows no such deployment"

// allDeployments are those of the world's namespace. Policies have no namespace: they are named after the world's.
func (w *World) allDeployments() *admissionregistrationv1.MatchResources {
	return &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"},
				},
			},
		}},
	}
}

// untilInForce sends a Deployment, which is not stored, until the policy does with it what it is for. The server takes a moment until it
// knows a new policy.
func (w *World) untilInForce(ctx context.Context, name string, does func(*appsv1.Deployment, error) bool) error {
	probe := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: name}}},
		},
	}}
	return w.awaitCluster(ctx, "the policy to be in force", func(ctx context.Context) (string, error) {
		options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		answer, err := w.client.AppsV1().Deployments(w.namespace).Create(ctx, probe, options)
		if !does(answer, err) {
			return fmt.Sprintf("+ %v", err), nil
		}
		return "", nil
	})
}

// mutates returns an action that creates a policy which changes each Deployment of that name, by JSON patches, and so always wins.
func mutates(patches string) action {
	return func(w *World, ctx context.Context, name string) error { return w.createMutation(ctx, name, patches) }
}

// createMutation creates the policy. It also sets an annotation, which tells that it is in force.
func (w *World) createMutation(ctx context.Context, name, patches string) error {
	const mark = "example.com/policy"
	meta, fail := metav1.ObjectMeta{Name: w.namespace + "-" + name}, admissionregistrationv1.Fail
	admission := w.client.AdmissionregistrationV1()
	_, err := admission.MutatingAdmissionPolicies().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy:      &fail,
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints:   w.allDeployments(),
			MatchConditions: []admissionregistrationv1.MatchCondition{{
				Name: "name", Expression: fmt.Sprintf("object.metadata.name == %q", name),
			}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
				ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: fmt.Sprintf(
					"Object{metadata: Object.metadata{annotations: {%q: %q}}}", mark, name)},
			}, {
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: patches},
			}},
		},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = admission.MutatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.MutatingAdmissionPolicyBinding{
			ObjectMeta: meta,
			Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: meta.Name},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		err = w.untilInForce(ctx, name, func(answer *appsv1.Deployment, err error) bool {
			return err == nil && answer.Annotations[mark] == name
		})
	}
	if err != nil {
		return errors.Join(err, w.deleteMutation(ctx, name)) // the policy may be there nevertheless
	}
	return nil
}

func (w *World) deleteMutation(ctx context.Context, name string) error {
	ctx = context.WithoutCancel(ctx) // World.close deletes the namespace only
	admission, policy := w.client.AdmissionregistrationV1(), w.namespace+"-"+name
	return errors.Join(
		unlessGone(admission.MutatingAdmissionPolicyBindings().Delete(ctx, policy, metav1.DeleteOptions{})),
		unlessGone(admission.MutatingAdmissionPolicies().Delete(ctx, policy, metav1.DeleteOptions{})))
}

// changeBesideAdded changes the version, and looks for the container that a policy has added before the database's.
func (w *World) changeBesideAdded(ctx context.Context, name string) error {
	if err := w.patch(ctx, name, `{"spec": {"version": "8.4.5"}}`); err != nil {
		return err
	}
	if _, _, err := w.untilReady(ctx, name, ""); err != nil {
		return during("changed the version", err)
	}
	deployment, err := w.client.AppsV1().Deployments(w.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	images := []string{}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		images = append(images, container.Image)
	}
	slices.Sort(images)
	return failed("changed the version; read the images of the Deployment", []string{"added", "mysql:8.4.5"}, images)
}

// createPolicy creates a policy that allows no Deployment of that name.
func (w *World) createPolicy(ctx context.Context, name string) error {
	meta := metav1.ObjectMeta{Name: w.namespace}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: w.allDeployments(),
			Validations: []admissionregistrationv1.Validation{{
				Expression: fmt.Sprintf("object.metadata.name != %q", name), Message: policyMessage,
			}},
		},
	}
	admission := w.client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	if err == nil {
		_, err = admission.ValidatingAdmissionPolicyBindings().Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: meta,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: w.namespace, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{})
	}
	if err == nil {
		err = w.untilInForce(ctx, name, func(_ *appsv1.Deployment, err error) bool {
			return err != nil && strings.Contains(err.Error(), policyMessage)
		})
	}
	if err != nil {
		return errors.Join(err, w.deletePolicy(ctx, name)) // the policy may be there nevertheless
	}
	return nil
}

func (w *World) deletePolicy(ctx context.Context, _ string) error {
	ctx = context.WithoutCancel(ctx) // World.close deletes the namespace only
	admission := w.client.AdmissionregistrationV1()
	return errors.Join(
		unlessGone(admission.ValidatingAdmissionPolicyBindings().Delete(ctx, w.namespace, metav1.DeleteOptions{})),
		unlessGone(admission.ValidatingAdmissionPolicies().Delete(ctx, w.namespace, metav1.DeleteOptions{})),
	)
}
