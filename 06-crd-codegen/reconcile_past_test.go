package main

import (
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"example.com/client-go-workbook/06-crd-codegen/database"
	dbv1alpha1 "example.com/client-go-workbook/06-crd-codegen/pkg/apis/databasemanager/v1alpha1"
	"example.com/client-go-workbook/06-crd-codegen/pkg/generated/clientset/versioned"
	"example.com/client-go-workbook/internal/controller/rollout"
	"example.com/client-go-workbook/internal/netfault"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestControllerThatSeesThePast starts a second controller, whose store of DatabaseManagers is older than what the first
// one, and users, have done: as after a takeover, with a watch that hangs. It must write to no child by what it sees. When it sees
// the present, the actual state becomes the desired state, and nothing is left over.
func TestControllerThatSeesThePast(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spec     func(*dbv1alpha1.DatabaseManagerSpec)
		meantime func(e *env, stop func()) // from the past to the present; stop ends the first controller
		blind    []string                  // more resources of which the second one sees the past
		before   bool                      // the past is before the first controller has done anything
		held     func(e *env)              // while the second controller sees the past
		after    func(e *env, d *dbv1alpha1.DatabaseManager)
	}{
		"Retain, meanwhile Delete": {
			spec: retain,
			meantime: func(e *env, stop func()) {
				e.patch("db", `{"spec": {"deletionPolicy": "Delete"}}`)
				until(e, "no finalizer", get(e.databases.Get, "db"), func(d *dbv1alpha1.DatabaseManager) bool {
					return len(d.Finalizers) == 0
				})
				stop()
			},
			held: func(e *env) { e.delete("db") },
			after: func(e *env, _ *dbv1alpha1.DatabaseManager) {
				testkit.Await(e, "the end of the children", func() bool { return len(e.childrenOf("db")) == 0 })
			},
		},
		"Retain, meanwhile deleted, and its children, too": {
			spec: retain,
			meantime: func(e *env, stop func()) {
				e.delete("db")
				untilGone(e, "the DatabaseManager", e.databases.Get, "db")
				stop()
				e.deleteChildren("db")
			},
			held: func(*env) {},
			after: func(e *env, d *dbv1alpha1.DatabaseManager) {
				e.garbageCollected(d)
				if children := e.childrenOf("db"); len(children) > 0 {
					e.Errorf("children of an owner that is gone: %v", children)
				}
			},
		},
		"version 8.4.6, meanwhile 8.4.8": {
			spec:     func(*dbv1alpha1.DatabaseManagerSpec) {},
			meantime: toNewVersion,
			held:     (*env).hasNewVersion,
			after:    func(e *env, _ *dbv1alpha1.DatabaseManager) { e.hasNewVersion() },
		},
		"no children, meanwhile all, of version 8.4.8": {
			spec:     func(*dbv1alpha1.DatabaseManagerSpec) {},
			before:   true,
			blind:    []string{"secrets", "persistentvolumeclaims", "deployments", "services"},
			meantime: toNewVersion,
			held:     (*env).hasNewVersion,
			after:    func(e *env, _ *dbv1alpha1.DatabaseManager) { e.hasNewVersion() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			d := e.createWithAll("db", test.spec)
			past := d.ResourceVersion
			_, stop := e.run(e.config)
			d = e.untilReady("db", rollout.ReasonScaledToZero)
			if !test.before {
				past = d.ResourceVersion
			}
			test.meantime(e, stop)

			config, writes := testkit.Writes(e.config)
			var gates []*netfault.Gate
			for _, resource := range append(test.blind, "databasemanagers") {
				gate := netfault.NewGate(resource)
				gate.CloseAt(past)
				gates = append(gates, gate)
				config = gate.Wrap(config)
			}
			c := e.startController(config)
			var wrote []string
			testkit.Await(t, "three syncs, or writes", func() bool {
				wrote = append(wrote, writes()...)
				return c.syncs.Load() >= 3 || len(wrote) >= 4
			})
			if len(wrote) > 0 && len(test.blind) == 0 {
				t.Errorf("by what it sees of the past, the controller sends %v", wrote)
			}
			test.held(e)
			for _, gate := range gates {
				gate.Open()
			}
			test.after(e, d)
		})
	}
}

func toNewVersion(e *env, stop func()) {
	e.patch("db", `{"spec": {"version": "8.4.8"}}`)
	e.untilReady("db", rollout.ReasonScaledToZero)
	stop()
}

// hasNewVersion checks that the Deployment was changed once, to the new version, and not back.
func (e *env) hasNewVersion() {
	e.Helper()
	deployment := e.deployment("db")
	if image := deployment.Spec.Template.Spec.Containers[0].Image; image != "mysql:8.4.8" || deployment.Generation != 2 {
		e.Errorf("the Deployment has the image %s, and generation %d", image, deployment.Generation)
	}
}

// deleteChildren deletes the children of a deploymentName, as a user does.
func (e *env) deleteChildren(name string) {
	e.Helper()
	options := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	for _, err := range []error{
		e.secrets.Delete(e.Context(), name+database.SecretSuffix, options),
		e.claims.Delete(e.Context(), name+database.ClaimSuffix, options),
		e.deployments.Delete(e.Context(), name, options), e.services.Delete(e.Context(), name, options),
	} {
		if err != nil {
			e.Fatal(err)
		}
	}
	testkit.Await(e, "the end of the children", func() bool { return len(e.childrenOf(name)) == 0 })
}

// TestCreationThatIsCollectedBacksOff has a controller see a DatabaseManager that is gone, and no children. It creates them, the
// garbage collector deletes them, which is an event: it must not go on like that.
func TestCreationThatIsCollectedBacksOff(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	d := e.createWithAll("db")
	e.delete("db")
	untilGone(e, "the DatabaseManager", e.databases.Get, "db")
	gate := netfault.NewGate("databasemanagers")
	gate.CloseAt(d.ResourceVersion)
	config, writes := testkit.Writes(gate.Wrap(e.config))
	c, _ := startController(t, kubernetes.NewForConfigOrDie(config), versioned.NewForConfigOrDie(config), e.namespace, 5, io.Discard)
	created := 0
	testkit.Await(t, "five syncs that had to wait, or many creations", func() bool {
		for _, write := range writes() {
			if write == "PATCH secrets/db-root" {
				created++
			}
		}
		return c.queue.NumStale(cache.NewObjectName(e.namespace, "db")) >= 5 || created > 10
	})
	if created > 2 {
		t.Errorf("the Secret was created %d times", created)
	}
	e.garbageCollected(d)
	testkit.Await(t, "the end of the children", func() bool { return len(e.childrenOf("db")) == 0 })
}
