// Package rollout turns the state of a Deployment and of its pods into two conditions, Ready and Progressing.
//
// A Deployment's status counts its pods, and does not contain why they are not ready: the image cannot be pulled, the
// server crashes, no node has room. That is in the pods' own statuses, where [CauseOf] finds it. [Conditions] puts both
// together. The same state always gives the same text: each status that differs is a write, each write is an event, and
// each event is another sync.
package rollout

import (
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of the conditions. While pods are not ready, Ready can also have the reason of their [Cause].
const (
	ReasonReplicasReady    = "ReplicasReady"
	ReasonScaledToZero     = "ScaledToZero"
	ReasonPodsNotReady     = "PodsNotReady"
	ReasonPodsRejected     = "PodsRejected"
	ReasonQuotaExceeded    = "QuotaExceeded"
	ReasonRollingOut       = "RollingOut"
	ReasonComplete         = "Complete"
	ReasonDeadlineExceeded = "ProgressDeadlineExceeded"
)

// Conditions returns the conditions of a Deployment whose desired state asks for that many replicas. Their types, times
// and generations are left to the caller.
func Conditions(deployment *appsv1.Deployment, replicas int32, cause Cause) (ready, progressing metav1.Condition) {
	status := deployment.Status
	message := fmt.Sprintf("%d of %d replicas are ready", status.AvailableReplicas, replicas)
	if status.ObservedGeneration >= deployment.Generation && status.Replicas == replicas &&
		status.UpdatedReplicas == replicas && status.AvailableReplicas == replicas {
		ready = metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonReplicasReady, Message: message}
		if replicas == 0 {
			ready.Reason = ReasonScaledToZero
		}
		return ready, metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonComplete, Message: message}
	}
	if status.AvailableReplicas >= replicas {
		message += "; rollout not complete" // these are of an earlier version, or too many
	}
	ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonPodsNotReady, Message: message}
	progressing = metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonRollingOut, Message: message}
	if IsReason(cause.Reason) {
		ready.Reason, ready.Message = cause.Reason, Message(message+": "+cause.Message)
	}
	for _, condition := range status.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
			ready.Reason = ReasonPodsRejected
			if strings.Contains(condition.Message, "exceeded quota") {
				ready.Reason = ReasonQuotaExceeded
			}
			// Without the pod's name, which is new at each attempt.
			because := condition.Message
			if _, reason, found := strings.Cut(because, "is forbidden: "); found {
				because = reason
			}
			ready.Message = Message(message + ": " + because)
		case condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse:
			progressing = metav1.Condition{Status: metav1.ConditionFalse, Reason: ReasonDeadlineExceeded,
				Message: message + "; no progress before the deadline: see the events of the pods"}
		}
	}
	return ready, progressing
}

// IsReason reports whether a text is one word in CamelCase, as the API conventions ask of a condition's reason.
func IsReason(text string) bool { return camelCase.MatchString(text) }

// Message returns a text in one line, as valid UTF-8 of at most 1000 bytes: an event takes 1 kB. Without the port that a
// broken connection came from, which is a new one each time.
func Message(text string) string {
	text = clientAddress.ReplaceAllString(strings.ReplaceAll(text, "\n", "; "), "")
	return strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")
}

const maxMessage = 1000

var (
	camelCase     = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	clientAddress = regexp.MustCompile(`\S+:\d+->`)
)
