package scripts_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kind/pkg/apis/config/defaults"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
)

// checkKindConfig reads a kind configuration as kind does, and checks what kind itself would only refuse once it has
// a container runtime at hand: kind's own validation is in an internal package.
func checkKindConfig(data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var cluster v1alpha4.Cluster
	if err := decoder.Decode(&cluster); err != nil {
		return err
	}
	if err := decoder.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	v1alpha4.SetDefaultsCluster(&cluster)

	if cluster.Kind != "Cluster" || cluster.APIVersion != "kind.x-k8s.io/v1alpha4" {
		return fmt.Errorf("kind %q, apiVersion %q", cluster.Kind, cluster.APIVersion)
	}
	// None is usual: cluster-up.sh gives one on the command line.
	if !regexp.MustCompile(`^[a-z0-9.-]*$`).MatchString(cluster.Name) {
		return fmt.Errorf("name %q", cluster.Name)
	}
	if port := cluster.Networking.APIServerPort; port < -1 || port > 65535 {
		return fmt.Errorf("API server port %d", port)
	}
	controlPlanes := 0
	for i, node := range cluster.Nodes {
		switch node.Role {
		case v1alpha4.ControlPlaneRole:
			controlPlanes++
		case v1alpha4.WorkerRole:
		default:
			return fmt.Errorf("node %d: role %q", i, node.Role)
		}
		if node.Image != defaults.Image {
			return fmt.Errorf("node %d: image %q, but this kind was released with %q", i, node.Image, defaults.Image)
		}
		for _, mapping := range node.ExtraPortMappings {
			if mapping.ContainerPort < 1 || mapping.ContainerPort > 65535 || mapping.HostPort < -1 || mapping.HostPort > 65535 {
				return fmt.Errorf("node %d: port mapping %d to %d", i, mapping.HostPort, mapping.ContainerPort)
			}
		}
	}
	if controlPlanes == 0 {
		return errors.New("no control-plane node")
	}
	return nil
}

func TestKindConfigIsValid(t *testing.T) {
	data, err := os.ReadFile("../kind-config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkKindConfig(data); err != nil {
		t.Error(err)
	}
}

// The README shows what to add for a registry mirror.
func TestKindConfigOfTheREADME(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)  ```yaml\n(.*?)  ```\n").FindSubmatch(readme)
	if block == nil {
		t.Fatal("the README has no YAML")
	}
	text := strings.ReplaceAll("\n"+string(block[1]), "\n  ", "\n")
	text = "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\n" + text
	text = strings.Replace(text, "- role: control-plane\n", "- role: control-plane\n  image: "+defaults.Image+"\n", 1)
	if err := checkKindConfig([]byte(text)); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestKindConfigCheckRefuses(t *testing.T) {
	const valid = `kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
nodes:
- role: control-plane
  image: ` + defaults.Image + "\n"
	if err := checkKindConfig([]byte(valid)); err != nil {
		t.Fatalf("the valid one: %v", err)
	}
	for name, test := range map[string]struct{ old, new, want string }{
		"a field that kind doesn't know": {"role: control-plane", "rule: control-plane", "field rule not found"},
		"a role that is none":            {"role: control-plane", "role: boss", `role "boss"`},
		"only workers":                   {"role: control-plane", "role: worker", "no control-plane node"},
		"an image that is not kind's":    {defaults.Image, "kindest/node:v1.37.0", "was released with"},
		"another apiVersion":             {"v1alpha4", "v1alpha3", `"kind.x-k8s.io/v1alpha3"`},
		"another kind":                   {"kind: Cluster", "kind: Custer", `kind "Custer"`},
		"a name with a capital letter":   {"nodes:", "name: Workbook\nnodes:", `name "Workbook"`},
		"a port that is none":            {"nodes:", "networking: {apiServerPort: 70000}\nnodes:", "70000"},
		"a mapped port that is none":     {"  image:", "  extraPortMappings: [{containerPort: 0}]\n  image:", "port mapping"},
		"a mapped port's protocol that isn't": {
			"  image:", "  extraPortMappings: [{containerPort: 80, protocol: xxx}]\n  image:", "PortMappingProtocol",
		},
		"a second document": {"nodes:", "---\nnodes:", "more than one document"},
	} {
		t.Run(name, func(t *testing.T) {
			broken := strings.Replace(valid, test.old, test.new, 1)
			if broken == valid {
				t.Fatal("nothing was replaced")
			}
			err := checkKindConfig([]byte(broken))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}
