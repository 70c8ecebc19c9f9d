package ssa

import (
	"testing"
	"testing/synctest"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestUndoneDelaysTheSameWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := cache.NewObjectName("x", "example")
		desired := deployment(corev1ac.Container().WithName("mysql").WithImage("mysql:8.4.6"))
		owned := deployment(corev1ac.Container().WithName("mysql").WithImage("other"))
		change := ChangeOf(owned, desired)
		if want := ".spec.template.spec.containers[0].image"; change.Field != want {
			t.Errorf("field %q, want %q", change.Field, want)
		}
		other := ChangeOf(deployment(), desired)
		var u Undone
		if times, tooSoon := u.Again(owner, "Deployment", change); times != 0 || tooSoon {
			t.Errorf("before any write: %d, %t", times, tooSoon)
		}
		for i, delay := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			u.Wrote(owner, "Deployment", change)
			time.Sleep(delay - time.Nanosecond)
			if times, tooSoon := u.Again(owner, "Deployment", change); times != i+1 || !tooSoon {
				t.Errorf("less than %s after the write: %d, %t", delay, times, tooSoon)
			}
			time.Sleep(time.Nanosecond)
			if times, tooSoon := u.Again(owner, "Deployment", change); times != i+1 || tooSoon {
				t.Errorf("%s after the write: %d, %t", delay, times, tooSoon)
			}
		}
		for range 50 {
			u.Wrote(owner, "Deployment", change)
		}
		time.Sleep(lastDelay)
		if _, tooSoon := u.Again(owner, "Deployment", change); tooSoon {
			t.Errorf("too soon after %s", lastDelay)
		}
		for name, again := range map[string]func() (int, bool){
			"another desired state": func() (int, bool) { return u.Again(owner, "Deployment", ChangeOf(owned, owned)) },
			"another actual state":  func() (int, bool) { return u.Again(owner, "Deployment", other) },
			"another kind":          func() (int, bool) { return u.Again(owner, "Service", change) },
			"another owner": func() (int, bool) {
				return u.Again(cache.NewObjectName("x", "other"), "Deployment", change)
			},
			"long ago": func() (int, bool) {
				time.Sleep(forgottenAfter + time.Nanosecond)
				return u.Again(owner, "Deployment", change)
			},
		} {
			if times, tooSoon := again(); times != 0 || tooSoon {
				t.Errorf("%s: %d, %t", name, times, tooSoon)
			}
			u.Wrote(owner, "Deployment", change)
		}
		for range 2 { // in turns with another field
			u.Wrote(owner, "Deployment", change)
			u.Wrote(owner, "Deployment", other)
		}
		for _, change := range []Change{change, other} {
			if times, tooSoon := u.Again(owner, "Deployment", change); times < 2 || !tooSoon {
				t.Errorf("%s is undone in turns with another one: %d, %t", change.Field, times, tooSoon)
			}
		}
		back := ChangeOf(desired, owned) // another state is desired, and then this one again
		u.Wrote(owner, "Deployment", back)
		if times, tooSoon := u.Again(owner, "Deployment", change); times != 0 || tooSoon {
			t.Errorf("after another desired state: %d, %t", times, tooSoon)
		}
		u.Wrote(owner, "Deployment", change)
		u.Clear(owner)
		if times, _ := u.Again(owner, "Deployment", change); times != 0 {
			t.Error("after Clear, it is the same write again")
		}
	})
}
