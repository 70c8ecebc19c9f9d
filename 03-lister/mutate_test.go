package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"example.com/client-go-workbook/internal/program"
)

// TestMutationDetector runs mutate in a process of its own: the detector is switched on where client-go is
// initialized, and what it finds ends the process.
func TestMutationDetector(t *testing.T) {
	if mutation := os.Getenv("MUTATE"); mutation != "" {
		synctest.Test(t, func(t *testing.T) { // its clock skips the seconds between two comparisons
			pods := startCache(t, t.Context(), fake.NewClientset(newPod("x/a image=nginx:1")))
			if err := mutate(t.Context(), pods, mutation == "copy", program.NewPrinter(os.Stdout)); err != nil {
				t.Error(err)
			}
		})
		return
	}

	for name, test := range map[string]struct {
		mutation, detector string
		exit               int
		want               []string
	}{
		"ends a program that writes into the cache": {"cached", "true", 2, []string{
			"MUTATED    x/a: image is now mutated, and in the cache mutated\n",
			"CACHE *v1.Pod[0] ALTERED!\n",
			"panic: cache *v1.Pod modified",
		}},
		"accepts a change of a deep copy": {"copy", "true", 0, []string{
			"MUTATED    x/a: image is now mutated, and in the cache nginx:1\n",
			"UNHARMED   the mutation detector has compared twice and found no change in the cache\n",
		}},
		"notices nothing while it is off": {"cached", "false", 0, []string{
			"MUTATED    x/a: image is now mutated, and in the cache mutated\n",
			"UNWATCHED  the mutation detector is off: KUBE_CACHE_MUTATION_DETECTOR=true turns it on\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMutationDetector$")
			cmd.Env = append(os.Environ(), "MUTATE="+test.mutation, "KUBE_CACHE_MUTATION_DETECTOR="+test.detector)
			output, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != test.exit {
				t.Errorf("exit code %d, want %d", got, test.exit)
			}
			for _, want := range test.want {
				if !bytes.Contains(output, []byte(want)) {
					t.Errorf("%q is not in the output", want)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s", output)
			}
		})
	}
}

func TestNothingToMutate(t *testing.T) {
	err := mutate(t.Context(), newCache(t), false, program.NewPrinter(&bytes.Buffer{}))
	if err == nil || !strings.Contains(err.Error(), "no pod") {
		t.Errorf("got error %v, want one that says that there is no pod", err)
	}
}

// TestMutationBreaksTheIndex shows what becomes of a store whose objects were changed in place.
func TestMutationBreaksTheIndex(t *testing.T) {
	pods := newCache(t, "x/a image=nginx")
	pod, err := pods.lister.Pods("x").Get("a")
	if err != nil {
		t.Fatal(err)
	}
	pod.Spec.Containers[0].Image = "mutated"

	// The index has the image that the pod had when it arrived. The pod itself has the new one.
	for text, want := range map[string]string{"image=nginx": "x/a", "image=mutated": "", "name=a and image=mutated": "x/a"} {
		if got := strings.Join(ask(t, pods, text), " "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}

	// The store asks the changed pod which entries to remove. So the old ones outlive the image,
	if err := pods.indexer.Update(newPod("x/a image=httpd")); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"image=nginx": "x/a", "image=httpd": "x/a", "name=a and image=nginx": ""} {
		if got := strings.Join(ask(t, pods, text), " "); got != want {
			t.Errorf("with another image: %s: got %q, want %q", text, got, want)
		}
	}
	// and then the pod.
	if err := pods.indexer.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	if objects, err := pods.indexer.ByIndex(imageIndex, "nginx"); err != nil || len(objects) != 1 || objects[0] != nil {
		t.Errorf("index image has %v under nginx, and error %v, want a nil that nothing removes", objects, err)
	}
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "is nil, not *v1.Pod") {
			t.Errorf("panic: %s, want one about a nil", got)
		}
	}()
	found, err := pods.indexer.ByTypedIndex(imageIndex, "nginx")
	t.Errorf("ByTypedIndex returned %v and error %v, want a panic", found, err)
}
