package exercise

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TakesTheWayOfADeployment takes the way of a Deployment's selector.
func TakesTheWayOfADeployment(labels map[string]string) string {
	return metav1.FormatLabelSelector(&metav1.LabelSelector{MatchLabels: labels})
}
