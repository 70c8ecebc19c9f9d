package scripts_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	kind "sigs.k8s.io/kind/pkg/cluster"

	"example.com/client-go-workbook/internal/test/testkit"
)

// checkKindConfig has kind read and check a configuration. If it is valid, kind comes as far as the network of the containers, which
// this Docker cannot make.
func checkKindConfig(t *testing.T, config string) error {
	t.Helper()
	path := fakes(t, map[string]string{"docker": "case $1 in info) echo {} ;; network) exit 1 ;; esac"})
	t.Setenv("PATH", strings.TrimPrefix(path, "PATH="))
	err := kind.NewProvider(kind.ProviderWithDocker()).Create("", kind.CreateWithRawConfig([]byte(config)),
		kind.CreateWithKubeconfigPath(filepath.Join(t.TempDir(), "kubeconfig")))
	if err == nil {
		return errors.New("kind has made a cluster")
	}
	if strings.Contains(err.Error(), "failed to ensure docker network") {
		return nil
	}
	return err
}

func TestKindConfigIsValid(t *testing.T) {
	config := string(testkit.Must(os.ReadFile("../kind-config.yaml"))(t))
	if err := checkKindConfig(t, config); err != nil {
		t.Error(err)
	}
	if !strings.Contains(config, "\n  image: "+defaults.Image+"\n") {
		t.Errorf("the image is not %s, with which this kind was released", defaults.Image)
	}
	if strings.Contains(config, "\n---") {
		t.Error("kind ignores a second document")
	}
	boss := strings.Replace(config, "role: control-plane", "role: boss", 1)
	if err := checkKindConfig(t, boss); err == nil || !strings.Contains(err.Error(), `"boss" is not a valid node role`) {
		t.Errorf("a role that is none: %v", err)
	}
}

// The README shows what to add for a registry mirror.
func TestKindConfigOfTheREADME(t *testing.T) {
	readme := testkit.Must(os.ReadFile("../README.md"))(t)
	block := regexp.MustCompile("(?s)  ```yaml\n(.*?)  ```\n").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no YAML")
	}
	text := strings.ReplaceAll("\n"+string(block[1]), "\n  ", "\n")
	if err := checkKindConfig(t, "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n"+text); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}
