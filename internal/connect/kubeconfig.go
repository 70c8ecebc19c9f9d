package connect

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"example.com/client-go-workbook/scripts/cluster/marker"
)

// shape is what a kubeconfig looks like.
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

// workbooks is what to do instead. make cluster alone does not help a program that is told to read another file.
const workbooks = "the workbook's is .cluster/kubeconfig, which `make cluster` writes"

// existing returns the files of a list such as $KUBECONFIG that are there. As clientcmd it skips the others, and empty entries; but if
// none is there, it says so.
func existing(list string) (files []string, err error) {
	for _, file := range filepath.SplitList(list) {
		if _, err := os.Stat(file); file != "" && !errors.Is(err, fs.ErrNotExist) {
			files = append(files, file)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("kubeconfig $KUBECONFIG=%s: no such file: correct it, or unset KUBECONFIG; "+workbooks, list)
	}
	return files, nil
}

// check returns an error if the file cannot be read, or is the workbook's kubeconfig but of another folder.
func check(file string) error {
	info, err := os.Stat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("kubeconfig %s: %w: name another file with --kubeconfig", file, reason(err))
	}
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w: name another with --kubeconfig; "+workbooks, file, reason(err))
	}
	if !info.Mode().IsRegular() { // opening a named pipe would wait for its writer, and not end at Ctrl-C
		return fmt.Errorf("kubeconfig %s is a folder or a pipe, not a file: name a file with --kubeconfig", file)
	}
	content, err := os.Open(file)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("kubeconfig %s: %w: name another file with --kubeconfig", file, reason(err))
	}
	if err != nil {
		return fmt.Errorf("kubeconfig %s: %w: make it readable with chmod, or name another file with --kubeconfig", file, reason(err))
	}
	content.Close()
	return marker.CheckKubeconfig(file)
}

// malformed returns clientcmd's error. clientcmd reads YAML by way of JSON, and has lost the line by the time it finds a mistake: if
// another parser finds one in a file, this names the file and the line.
func malformed(source string, files []string, err error) error {
	for _, file := range files {
		content, _ := os.ReadFile(file)
		if err := yaml.Unmarshal(content, &shape{}); err != nil {
			return fmt.Errorf("malformed kubeconfig %s: %s: correct it, or name another with --kubeconfig", file, oneLine(err))
		}
	}
	return fmt.Errorf("%s: %s", source, oneLine(err))
}

// reason returns the error of an os function without the path.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// checkContext returns an error if the context does not lead to a server. The source is the kubeconfig's name.
func checkContext(source, name string, config clientcmdapi.Config) error {
	known := strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", ")
	context := config.Contexts[name]
	switch {
	case known == "":
		return fmt.Errorf("%s has no context, so it names no cluster: name another with --kubeconfig; "+workbooks, source)
	case context == nil && name == "":
		return fmt.Errorf("%s has no current context: choose one with --context (there is: %s)", source, known)
	case context == nil:
		return fmt.Errorf("%s: unknown context %q: choose one of: %s", source, name, known)
	}
	if cluster := config.Clusters[context.Cluster]; cluster == nil || cluster.Server == "" {
		return fmt.Errorf("%s: context %q has the cluster %q, which has no server there: "+
			"correct it, or choose a context with --context (there is: %s)",
			source, name, context.Cluster, known)
	}
	return nil
}

// checkFiles returns an error if one of the files that the context names is none: client-go would open a named pipe, and
// wait for its writer. Client-go itself finds other faults of a file.
func checkFiles(source, name string, config clientcmdapi.Config) error {
	files := [][2]string{{"certificate-authority", config.Clusters[config.Contexts[name].Cluster].CertificateAuthority}}
	if user := config.AuthInfos[config.Contexts[name].AuthInfo]; user != nil {
		files = append(files, [2]string{"client-certificate", user.ClientCertificate}, [2]string{"client-key", user.ClientKey},
			[2]string{"tokenFile", user.TokenFile})
	}
	for _, file := range files {
		if info, err := os.Stat(file[1]); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: the %s of context %q, %s, is a folder or a pipe, not a file: "+
				"name a file there, or choose another context with --context",
				source, file[0], name, file[1])
		}
	}
	return nil
}
