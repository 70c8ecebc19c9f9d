package testkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(.*)$`)

// Overlay applies a patch to copies, in a folder, of the files that it changes. It returns the file by which go takes the copies:
// go build -overlay FILE.
func Overlay(root, folder, patch string) (file string, err error) {
	replace := map[string]string{}
	for _, match := range patched.FindAllStringSubmatch(patch, -1) {
		copied := filepath.Join(folder, match[1])
		content, err := os.ReadFile(filepath.Join(root, match[1]))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(copied), 0o700)
		}
		if err == nil {
			err = os.WriteFile(copied, content, 0o600)
		}
		if err != nil {
			return "", err
		}
		replace[filepath.Join(root, match[1])] = copied
	}
	if len(replace) == 0 {
		return "", errors.New("the change names no file: begin it with --- a/PATH and +++ b/PATH")
	}
	git := exec.Command("git", "apply", "-")
	git.Dir = folder
	git.Env = append(os.Environ(), "GIT_DIR="+filepath.Join(folder, "none")) // a repository around it is none of its business
	git.Stdin = strings.NewReader(patch)
	if output, err := git.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the change does not fit any more, so mend it: %w: %s", err, output)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file = filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

var modules sync.Map // folders, by path: go takes a while to answer

// Module returns the folder of a module's source, in the version that the workbook or else its local cluster uses. Root is the
// workbook's.
func Module(root, path string) (folder string, err error) {
	if folder, known := modules.Load(path); known {
		return folder.(string), nil
	}
	for _, user := range []string{root, filepath.Join(root, "scripts", "localcluster")} {
		list := func() (string, error) {
			folder, err := exec.Command("go", "-C", user, "list", "-m", "-f", "{{.Dir}}", path).Output()
			return strings.TrimSpace(string(folder)), err
		}
		folder, err = list()
		if err != nil {
			continue // user does not use it
		}
		if folder == "" { // nothing has been compiled of it yet
			if output, err := exec.Command("go", "-C", user, "mod", "download", path).CombinedOutput(); err != nil {
				return "", fmt.Errorf("downloading %s: %w: %s", path, err, output)
			}
			if folder, err = list(); err != nil {
				return "", err
			}
		}
		modules.Store(path, folder)
		return folder, nil
	}
	return "", fmt.Errorf("neither the workbook nor its local cluster uses %s", path)
}
