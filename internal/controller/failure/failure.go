// Package failure says what becomes of an error with which a sync has ended: whether the status reports it, and under which
// reason.
//
// [Blocked] is an error that a user has to end. [Join] makes one error of the errors of several children.
package failure

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"example.com/client-go-workbook/internal/controller/consistency"
	"example.com/client-go-workbook/internal/controller/rollout"
)

// The reasons of a condition that reports an error, besides the reasons of the API server (Forbidden, Invalid) and of Blocked.
const (
	ReasonWatchDelayed = "WatchDelayed"
	ReasonSyncFailed   = "SyncFailed"
)

// Blocked is an error that lasts until somebody else acts. The condition that reports it has this reason.
type Blocked struct {
	Reason, Message string
	Ends            bool // usually soon, and by itself
}

func (e Blocked) Error() string { return e.Message }

// Join returns the errors of several children as one, or nil. The first one decides what becomes of the key, and is the one that a
// short message has room for. A race comes first: after it, the next sync sees more.
func Join(errs ...error) error {
	rank := func(err error) int {
		if consistency.IsConflictOrStale(err) {
			return 0
		}
		return 1
	}
	errs = slices.Clone(errs)
	slices.SortStableFunc(errs, func(a, b error) int { return rank(a) - rank(b) })
	return errors.Join(errs...)
}

// ReasonOf returns the reason of the condition that reports an error. The API server accepts no condition without one, but not
// every error has one, and a webhook's can be any text.
func ReasonOf(err error) string {
	var blocked Blocked
	switch reason := string(apierrors.ReasonForError(err)); {
	case errors.As(err, &blocked):
		return blocked.Reason
	case errors.Is(err, consistency.ErrWatchStalled):
		return ReasonWatchDelayed
	case strings.Contains(err.Error(), "exceeded quota"):
		return rollout.ReasonQuotaExceeded
	case rollout.IsReason(reason):
		return reason
	}
	return ReasonSyncFailed
}

// IsReported reports whether an error belongs in the status, after this number of failures in a row. An error that the user can
// fix is reported at once. Others are expected to end by themselves: the status would change back and forth if it reported
// each of them.
func IsReported(err error, requeues int) bool {
	var blocked Blocked
	switch {
	case errors.Is(err, consistency.ErrWatchStalled):
		return true
	case consistency.IsConflictOrStale(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false
	case errors.As(err, &blocked) && !blocked.Ends, apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return true
	}
	return requeues >= maxTransient
}

// maxTransient is how many such errors can occur, one after another, before the status reports them. The delays between so
// many add up to 1.3 s, in which the garbage collector has usually deleted an earlier object's children.
const maxTransient = 8
