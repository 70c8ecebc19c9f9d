// Package marker is about the file in a cluster's folder that says which cluster it has, and for which folder it was made.
//
// A folder can be copied or moved, with its kubeconfig. The kubeconfig of a copy leads to the original's cluster. The local
// cluster of a folder that was moved still runs, with paths that are gone. In both, [Check] fails until `make cluster`.
package marker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// File is the file's name. It has one line: TYPE NAME FOLDER.
const File = "type"

// Marker is what the file says. The files of earlier versions have no folder, and of a local cluster no name.
type Marker struct {
	Type   string // local or kind
	Name   string // of the cluster, for those who started it: kind or kwokctl
	Folder string // that the cluster was made for, without symbolic links
}

func (m Marker) String() string { return fmt.Sprintf("%s %s %s\n", m.Type, m.Name, m.Folder) }

// Read returns a folder's marker, and an error if the folder has none.
func Read(folder string) (Marker, error) {
	content, err := os.ReadFile(filepath.Join(folder, File))
	if err != nil {
		return Marker{}, err
	}
	parts := append(strings.SplitN(strings.TrimSuffix(string(content), "\n"), " ", 3), "", "")
	m := Marker{parts[0], parts[1], parts[2]}
	if m.Type != "local" && m.Type != "kind" {
		return Marker{}, fmt.Errorf("%s is not a cluster of the workbook", folder)
	}
	return m, nil
}

// Check returns an error if the cluster of a folder was made for another one. The same folder can have several paths.
func (m Marker) Check(folder string) error {
	here, err := os.Stat(folder)
	if err == nil {
		if there, err := os.Stat(m.Folder); err == nil && os.SameFile(here, there) {
			return nil
		}
	}
	return fmt.Errorf("%s was copied or moved, and has no cluster of its own: run make cluster", folder)
}

// CheckKubeconfig is Check for the folder of a kubeconfig. Any other kubeconfig is fine.
func CheckKubeconfig(file string) error {
	path, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil // whoever reads it says so
	}
	m, err := Read(filepath.Dir(path))
	if err != nil {
		return nil
	}
	return m.Check(filepath.Dir(path))
}
