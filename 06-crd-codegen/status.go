package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/cache"

	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	dbv1alpha1ac "example.com/client-go-workbook/06-crd-codegen/pkg/generated/applyconfiguration/databasemanager/v1alpha1"
	"example.com/client-go-workbook/internal/podcause"
)

// The reasons of the conditions, besides those of the API server (Forbidden, Invalid).
const (
	reasonReplicasReady     = "ReplicasReady"
	reasonScaledToZero      = "ScaledToZero"
	reasonPodsNotReady      = "PodsNotReady"
	reasonPodsRejected      = "PodsRejected"
	reasonQuotaExceeded     = "QuotaExceeded"
	reasonNameConflict      = "NameConflict"
	reasonWaiting           = "WaitingForDeletion"
	reasonLabelChanged      = "LabelChanged"
	reasonSyncFailed        = "SyncFailed"
	reasonDeadlineExceeded  = "ProgressDeadlineExceeded"
	reasonRollingOut        = "RollingOut"
	reasonRolloutIsComplete = "Complete"
)

// isUserFacing reports whether an error goes into the status at once: the API server has understood what we want and
// refuses it, or a name is taken. All others are expected to pass by themselves, and would only make the status flicker.
func isUserFacing(err error) bool {
	return !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		(errors.As(err, &nameConflict{}) || errors.As(err, &labelChanged{}) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err))
}

// maxTransientErrors is how many times the others may occur, one after another, before the status reports them. The
// delays between so many add up to 1.3 s, in which the garbage collector has usually deleted what is to be replaced.
const maxTransientErrors = 8

// reasonOf returns the reason of the condition that reports an error. The CRD accepts no condition without one, and an
// error that is not the API server's has none; nor need a webhook's be a word.
func reasonOf(err error) string {
	switch reason := string(apierrors.ReasonForError(err)); {
	case errors.As(err, &nameConflict{}):
		return reasonNameConflict
	case errors.As(err, &waitingForDeletion{}):
		return reasonWaiting
	case errors.As(err, &labelChanged{}):
		return reasonLabelChanged
	case strings.Contains(err.Error(), "exceeded quota"):
		return reasonQuotaExceeded
	case camelCase.MatchString(reason):
		return reason
	}
	return reasonSyncFailed
}

// oneLine returns an error's text in one line, and the same for the same error: each status that differs is a write, and
// each write another sync. The port that a broken connection came from is a new one each time.
func oneLine(text string) string {
	text = clientAddress.ReplaceAllString(strings.ReplaceAll(text, "\n", "; "), "")
	return strings.ToValidUTF8(text[:min(len(text), maxMessage)], "")
}

var (
	camelCase     = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)
	clientAddress = regexp.MustCompile(`\S+:\d+->`)
)

// maxMessage is the length of a condition's message, in bytes. The CRD takes 32 kB, an event 1 kB.
const maxMessage = 1000

// statusOf says how things stand: from the Deployment, which is nil if there's none, from the pods' cause for not being
// ready, and from what kept the controller from making the children. The same things always give the same status, or each write would be followed by another.
func statusOf(d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, cause podcause.Cause, err error) dbv1alpha1.DatabaseManagerStatus {
	status := *d.Status.DeepCopy()
	status.ObservedGeneration = d.Generation
	status.Selector = labels.FormatLabels(selectorOf(d))
	status.AvailableReplicas = 0
	ready, progressing := metav1.Condition{Status: metav1.ConditionFalse}, metav1.Condition{Status: metav1.ConditionFalse}
	if deployment != nil {
		status.AvailableReplicas = deployment.Status.AvailableReplicas
		ready, progressing = rollout(deployment, replicasOf(d), cause)
	}
	if err != nil {
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonOf(err), Message: oneLine(err.Error())}
		progressing = ready
	}
	ready.Type, progressing.Type = dbv1alpha1.ConditionReady, dbv1alpha1.ConditionProgressing
	ready.ObservedGeneration, progressing.ObservedGeneration = d.Generation, d.Generation
	// Not "now" in the transition time of a condition that is as it was.
	apimeta.SetStatusCondition(&status.Conditions, ready)
	apimeta.SetStatusCondition(&status.Conditions, progressing)
	return status
}

// rollout returns the conditions of a Deployment that is as the controller wants it.
func rollout(deployment *appsv1.Deployment, want int32, cause podcause.Cause) (ready, progressing metav1.Condition) {
	have := deployment.Status
	message := fmt.Sprintf("%d of %d replicas are ready", have.AvailableReplicas, want)
	if have.ObservedGeneration >= deployment.Generation && have.UpdatedReplicas == want && have.Replicas == want && have.AvailableReplicas == want {
		ready = metav1.Condition{Status: metav1.ConditionTrue, Reason: reasonReplicasReady, Message: message}
		if want == 0 {
			ready.Reason = reasonScaledToZero
		}
		return ready, metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonRolloutIsComplete, Message: message}
	}
	if have.AvailableReplicas >= want {
		message += "; rollout not complete" // another version's, or too many
	}
	ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonPodsNotReady, Message: message}
	progressing = metav1.Condition{Status: metav1.ConditionTrue, Reason: reasonRollingOut, Message: message}
	if camelCase.MatchString(cause.Reason) {
		ready.Reason, ready.Message = cause.Reason, oneLine(message+": "+cause.Message)
	}
	for _, condition := range have.Conditions {
		switch {
		case condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue:
			ready.Reason = reasonPodsRejected
			if strings.Contains(condition.Message, "exceeded quota") {
				ready.Reason = reasonQuotaExceeded
			}
			// Without the pod's name, which is another one at each attempt.
			_, because, _ := strings.Cut(condition.Message, "is forbidden: ")
			ready.Message = message + ": " + because
		case condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse:
			progressing = metav1.Condition{Status: metav1.ConditionFalse, Reason: reasonDeadlineExceeded, Message: message + "; no progress before the deadline: see the events of the pods"}
		}
	}
	return ready, progressing
}

// applyStatus writes the status if it has changed, and an event if the database became ready or stopped being so.
func (c *Controller) applyStatus(ctx context.Context, d *dbv1alpha1.DatabaseManager, deployment *appsv1.Deployment, because error) error {
	status := statusOf(d, deployment, c.podCause(d), because)
	if equality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	want := dbv1alpha1ac.DatabaseManagerStatus().
		WithObservedGeneration(status.ObservedGeneration).
		WithAvailableReplicas(status.AvailableReplicas).
		WithSelector(status.Selector)
	for _, name := range []string{dbv1alpha1.ConditionReady, dbv1alpha1.ConditionProgressing} {
		condition := apimeta.FindStatusCondition(status.Conditions, name)
		want.WithConditions(metav1ac.Condition().
			WithType(condition.Type).WithStatus(condition.Status).WithReason(condition.Reason).WithMessage(condition.Message).
			WithObservedGeneration(condition.ObservedGeneration).WithLastTransitionTime(condition.LastTransitionTime))
	}
	ready, before := apimeta.FindStatusCondition(status.Conditions, dbv1alpha1.ConditionReady), apimeta.FindStatusCondition(d.Status.Conditions, dbv1alpha1.ConditionReady)
	// With the resourceVersion, because the status is about this object as it was read. A UID does not help: the server
	// would take the status of an earlier object of that name.
	made, err := c.databases.CoolopsV1alpha1().DatabaseManagers(d.Namespace).ApplyStatus(ctx,
		dbv1alpha1ac.DatabaseManager(d.Name, d.Namespace).WithResourceVersion(d.ResourceVersion).WithStatus(want),
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return fmt.Errorf("writing the status Ready=%s %s (%s): %w", ready.Status, ready.Reason, ready.Message, err)
	}
	c.writes.Add(1)
	c.consistency.WroteAt(cache.MetaObjectToName(d), c.databaseStore, made.ResourceVersion)

	c.out.Line("STATUS", "%s/%s Ready=%s %s: %s", d.Namespace, d.Name, ready.Status, ready.Reason, ready.Message)
	if before == nil || before.Status != ready.Status || before.Reason != ready.Reason {
		level := corev1.EventTypeNormal
		if ready.Status == metav1.ConditionFalse && ready.Reason != reasonPodsNotReady {
			level = corev1.EventTypeWarning
		}
		c.recorder.Event(d, level, ready.Reason, ready.Message)
	}
	return nil
}
