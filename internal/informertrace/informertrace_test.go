package informertrace

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func pod(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mypod", ResourceVersion: version}}
}

func TestFind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		log.Arrive(watch.Added, pod("1"))
		time.Sleep(120 * time.Microsecond)
		log.Arrive(watch.Modified, pod("2"))
		if got, want := log.Find(pod("1")).String(), "Pod default/mypod ADDED +0.12ms"; got != want {
			t.Errorf("Find = %q, want %q", got, want)
		}
		if got := log.Find(pod("3")); got != nil {
			t.Errorf("Find of a state that never came = %s", got)
		}
	})
}

func TestArrivalsAreForgottenAMinuteAfterTheyWereStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		log.Arrive(watch.Added, pod("1"))
		log.Arrive(watch.Modified, pod("2"))
		log.Stored(pod("1"))
		time.Sleep(2 * time.Minute)
		log.Arrive(watch.Modified, pod("3"))
		if log.Find(pod("1")) != nil || log.Find(pod("2")) == nil {
			t.Error("want 1, which was stored, forgotten, and 2 kept")
		}
	})
}

func TestArrivalsOfAnObjectThatNeverComesAgainAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log Log
		log.Arrive(watch.Added, pod("1"))
		log.Stored(pod("1"))
		time.Sleep(2 * time.Minute)
		other := pod("2")
		other.Name = "other"
		log.Arrive(watch.Added, other)
		if log.Find(pod("1")) != nil || len(log.arrivals) != 1 {
			t.Errorf("arrivals of %d objects, want other's only", len(log.arrivals))
		}
	})
}

// TestStored asks a real store's index function what happens to it.
func TestStored(t *testing.T) {
	var log Log
	var stored []watch.EventType
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"": func(object any) ([]string, error) {
		if a := log.Stored(object); a != nil {
			stored = append(stored, a.Event)
		}
		return nil, nil
	}})
	// All have come before the first is stored, as with a queue that is not empty.
	log.Arrive(watch.Added, pod("1"))
	log.Arrive(watch.Modified, pod("2"))
	log.Arrive(watch.Deleted, pod("3"))
	log.Arrive(watch.Added, pod("4"))
	for i, store := range []func(any) error{store.Add, store.Update, store.Delete, store.Add} {
		want := []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Added}[:i+1]
		if err := store(pod(string(rune('1' + i)))); err != nil {
			t.Fatal(err)
		}
		if len(stored) != i+1 || stored[i] != want[i] {
			t.Fatalf("stored %v, want %v", stored, want)
		}
	}
}
