package testcluster

import (
	"os"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationv1ac "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"example.com/client-go-workbook/internal/test/testkit"
)

const (
	idlePolicy = "idle-containers.example.com" // the policy's name, and the label of its namespaces
	idleImage  = "registry.k8s.io/pause:3.10"
)

// IdleContainers has an admission policy replace the containers of a namespace's new pods by ones that do nothing: on kind,
// since on the local cluster no container runs. A test of what a controller writes needs no database server in each pod. Fifty
// of them would take more than a laptop has, and their images would be pulled.
func IdleContainers(t testing.TB, config *rest.Config, namespace string) {
	t.Helper()
	if os.Getenv("CLUSTER") != "kind" {
		return
	}
	client := kubernetes.NewForConfigOrDie(config)
	policies, options := client.AdmissionregistrationV1(), metav1.ApplyOptions{FieldManager: "testcluster", Force: true}
	testkit.Must(policies.MutatingAdmissionPolicies().Apply(t.Context(), admissionregistrationv1ac.MutatingAdmissionPolicy(idlePolicy).
		WithSpec(admissionregistrationv1ac.MutatingAdmissionPolicySpec().
			WithFailurePolicy(admissionregistrationv1.Fail).
			WithReinvocationPolicy(admissionregistrationv1.NeverReinvocationPolicy).
			WithMatchConstraints(admissionregistrationv1ac.MatchResources().
				WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{idlePolicy: ""})).
				WithResourceRules(admissionregistrationv1ac.NamedRuleWithOperations().
					WithOperations(admissionregistrationv1.Create).WithAPIGroups("").WithAPIVersions("v1").WithResources("pods"))).
			WithMutations(admissionregistrationv1ac.Mutation().
				WithPatchType(admissionregistrationv1.PatchTypeJSONPatch).
				WithJSONPatch(admissionregistrationv1ac.JSONPatch().WithExpression(`[JSONPatch{op: "replace", path: "/spec/containers",
					value: object.spec.containers.map(c, Object.spec.containers{
						name: c.name, image: "`+idleImage+`", ?securityContext: c.?securityContext})}]`)))), options))(t)
	testkit.Must(policies.MutatingAdmissionPolicyBindings().Apply(t.Context(),
		admissionregistrationv1ac.MutatingAdmissionPolicyBinding(idlePolicy).
			WithSpec(admissionregistrationv1ac.MutatingAdmissionPolicyBindingSpec().WithPolicyName(idlePolicy)), options))(t)
	label := corev1ac.Namespace(namespace).WithLabels(map[string]string{idlePolicy: ""})
	testkit.Must(client.CoreV1().Namespaces().Apply(t.Context(), label, options))(t)

	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "any:1"}}},
	}
	testkit.Await(t, "the policy to be in force", func() bool {
		dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		return testkit.Must(client.CoreV1().Pods(namespace).Create(t.Context(), probe, dry))(t).Spec.Containers[0].Image == idleImage
	})
}
