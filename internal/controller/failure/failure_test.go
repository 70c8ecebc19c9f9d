package failure

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"example.com/client-go-workbook/internal/controller/consistency"
)

var (
	conflict  = apierrors.NewConflict(corev1.Resource("secrets"), "a", errors.New("changed"))
	invalid   = apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "a", nil)
	taken     = Blocked{Reason: "NameConflict", Message: "taken"}
	waiting   = Blocked{Reason: "WaitingForDeletion", Message: "waiting", Ends: true}
	errBroken = errors.New("connection reset")
)

func TestJoinOrdersByWhatIsWorse(t *testing.T) {
	if err := Join(nil, nil); err != nil {
		t.Errorf("without errors: %v", err)
	}
	for name, test := range map[string]struct {
		errs     []error
		first    error
		race     bool
		reported bool
		reason   string
	}{
		"one":                    {[]error{invalid}, invalid, false, true, "Invalid"},
		"two, in order":          {[]error{nil, invalid, taken}, invalid, false, true, "NameConflict"},
		"a race, last":           {[]error{invalid, conflict}, conflict, true, false, "Conflict"},
		"an old store, last":     {[]error{taken, consistency.ErrStale}, consistency.ErrStale, true, false, "NameConflict"},
		"a watch that hangs":     {[]error{consistency.ErrWatchStalled}, consistency.ErrWatchStalled, true, true, ReasonWatchDelayed},
		"what may end by itself": {[]error{errBroken}, errBroken, false, false, ReasonSyncFailed},
		"what usually ends soon": {[]error{waiting}, waiting, false, false, "WaitingForDeletion"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Join(test.errs...)
			if first := err.(interface{ Unwrap() []error }).Unwrap()[0]; first != test.first {
				t.Errorf("first %v, want %v", first, test.first)
			}
			if got := consistency.IsConflictOrStale(err); got != test.race {
				t.Errorf("race %v, want %v", got, test.race)
			}
			if got := IsReported(err, 0); got != test.reported {
				t.Errorf("reported %v, want %v", got, test.reported)
			}
			if got := IsReported(err, maxTransient); got != (test.reported || !test.race) {
				t.Errorf("reported after %d attempts: %v", maxTransient, got)
			}
			if got := ReasonOf(err); got != test.reason {
				t.Errorf("reason %s, want %s", got, test.reason)
			}
		})
	}
}
