package consistency

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"
	clientfeatures "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/textlogger"

	"example.com/client-go-workbook/internal/test/testkit"
)

var orders, billing = cache.NewObjectName("shop", "orders"), cache.NewObjectName("shop", "billing")

// storeAt returns a store whose informer has received an event with that resourceVersion.
func storeAt(resourceVersion string) cache.Store {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	store.Bookmark(resourceVersion)
	return store
}

func TestEnsureReady(t *testing.T) {
	for name, test := range map[string]struct {
		read, wrote string
		ready       bool
	}{
		"the event has not arrived":                     {"99", "100", false},
		"the event has arrived":                         {"100", "100", true},
		"a later event has arrived":                     {"101", "100", true},
		"versions are numbers, not words":               {"1000", "999", true},
		"the store has no version, as without the gate": {"", "100", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := New()
			s.WroteAt(orders, "Deployment", storeAt(test.read), test.wrote)
			err := s.EnsureReady(orders)
			if ready := err == nil; ready != test.ready || !ready && !errors.Is(err, ErrStale) {
				t.Errorf("EnsureReady = %v, want ready: %t", err, test.ready)
			}
			if want := map[bool]int{true: 0, false: 1}[test.ready]; s.Len() != want {
				t.Errorf("%d owners are remembered, want %d", s.Len(), want)
			}
		})
	}
}

func TestEachOwnerWaitsForItsOwnWrites(t *testing.T) {
	deployments, services := storeAt("10"), storeAt("10")
	s := New()
	s.WroteAt(orders, "Deployment", deployments, "10")
	s.WroteAt(orders, "Service", services, "11")
	if err := s.EnsureReady(billing); err != nil {
		t.Errorf("nothing was written for it: %v", err)
	}
	if err := s.EnsureReady(orders); !errors.Is(err, ErrStale) {
		t.Errorf("one of its two stores is late: %v", err)
	}
	s.WroteAt(orders, "Service", services, "12")
	services.Bookmark("11")
	if err := s.EnsureReady(orders); !errors.Is(err, ErrStale) {
		t.Errorf("the store has only the first of its two writes: %v", err)
	}
	services.Bookmark("12")
	if err := s.EnsureReady(orders); err != nil {
		t.Errorf("both stores are up to date: %v", err)
	}
	s.WroteAt(orders, "Service", services, "13")
	s.Clear(orders)
	if err := s.EnsureReady(orders); err != nil || s.Len() != 0 {
		t.Errorf("it is forgotten: %v, %d owners", err, s.Len())
	}
}

func TestIsConflictOrStale(t *testing.T) {
	deployments := appsv1.Resource("deployments")
	for _, test := range []struct {
		err  error
		race bool
	}{
		{nil, false},
		{errors.New("no route to host"), false},
		{fmt.Errorf("looking up: %w", ErrStale), true},
		{fmt.Errorf("applying: %w", apierrors.NewConflict(deployments, "db", errors.New("it has changed"))), true},
		{apierrors.NewAlreadyExists(deployments, "db"), false},
		{apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "db", nil), false},
	} {
		if got := IsConflictOrStale(test.err); got != test.race {
			t.Errorf("IsConflictOrStale(%v) = %t", test.err, got)
		}
	}
}

// TestMissingGateIsLogged shows that without AtomicFIFO, on which the check rests, the log says so.
func TestMissingGateIsLogged(t *testing.T) {
	for _, on := range []bool{true, false} {
		clientfeatures.SetFeatureDuringTest(t, features.AtomicFIFO, on)
		var log testkit.Buffer
		LogIfDisabled(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
		if logged := strings.Contains(log.String(), "AtomicFIFO is off"); logged == on {
			t.Errorf("with AtomicFIFO %t the log is %q", on, log.String())
		}
	}
}

// TestStoreWithoutGate shows why the gate matters: without it, a store has no resourceVersion.
func TestStoreWithoutGate(t *testing.T) {
	clientfeatures.SetFeatureDuringTest(t, features.AtomicFIFO, false)
	store := storeAt("99")
	if err := store.Add(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "99"}}); err != nil {
		t.Fatal(err)
	}
	s := New()
	s.WroteAt(orders, "Deployment", store, "100")
	if err := s.EnsureReady(orders); err != nil || store.LastStoreSyncResourceVersion() != "" {
		t.Errorf("EnsureReady = %v, the store is at %q", err, store.LastStoreSyncResourceVersion())
	}
}
