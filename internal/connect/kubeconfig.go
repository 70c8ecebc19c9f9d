package connect

import (
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// shape is what a kubeconfig must look like for its parts to be found.
type shape struct {
	Clusters       []part `yaml:"clusters"`
	Users          []part `yaml:"users"`
	Contexts       []part `yaml:"contexts"`
	CurrentContext string `yaml:"current-context"`
}

type part struct {
	Name    string         `yaml:"name"`
	Cluster map[string]any `yaml:"cluster"`
	User    map[string]any `yaml:"user"`
	Context map[string]any `yaml:"context"`
}

// checkSyntax names the file and the line of the first mistake in a kubeconfig.
// clientcmd reads YAML by way of JSON, and has lost the line by the time it finds a mistake.
func checkSyntax(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(content, &shape{}); err != nil {
		return fmt.Errorf("malformed kubeconfig %s: %s: mend it, or name another with --kubeconfig", file, oneLine(err))
	}
	return nil
}
