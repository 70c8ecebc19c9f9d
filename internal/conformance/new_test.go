package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"example.com/client-go-workbook/internal/test/testcluster"
	"example.com/client-go-workbook/internal/test/testkit"
)

// TestNewControllerKeepsItsPromises tries some cases on a controller that make new has begun. With CONFORMANCE=all, it also tries the two
// promises that take longest, which chapter 6 keeps by the same packages in another test.
func TestNewControllerKeepsItsPromises(t *testing.T) {
	testkit.All(t, "generates a controller, and tries it for a minute")
	t.Parallel()
	config := testcluster.Config(t)
	folder := filepath.Join(t.TempDir(), "a policy")
	program := filepath.Join(t.TempDir(), "policy")
	begin := exec.CommandContext(t.Context(), filepath.Join(testcluster.Root(t), "scripts", "new.sh"), "Policy")
	begin.Env = append(os.Environ(), "FOLDER="+folder, "GROUP=new.example.com")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", folder, "-o", program, ".")
	for _, cmd := range []*exec.Cmd{begin, build} {
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	const crd = "policies.new.example.com"
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	t.Cleanup(func() {
		client := dynamic.NewForConfigOrDie(config).Resource(definitions)
		if err := client.Delete(context.WithoutCancel(t.Context()), crd, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	manifest := read(t, filepath.Join(folder, "crd", "new.example.com_policies.yaml"))
	if err := testcluster.InstallCRD(t.Context(), config, []byte(manifest)); err != nil {
		t.Fatal(err)
	}
	tried, arguments := len(promises)-len(aboutDatabaseManagers), []string{"--sample", "2"}
	if os.Getenv("CONFORMANCE") != "all" {
		tried, arguments = tried-2, append(arguments, "--claims=-gaps,-leaders")
	}
	code, output := conformance(t, append(arguments, "--controller", program, "--resource", filepath.Join(folder, "resource.yaml"),
		"--rbac", filepath.Join(folder, "role.yaml"), "--objects", "20", "--timeout", "2m")...)
	if kept := keptLine.FindAllString(output, -1); code != 0 || len(kept) != tried {
		t.Errorf("exit code %d:\n%s", code, output)
	}
}
