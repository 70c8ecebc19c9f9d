package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhyKindCannotRun has a docker or podman that prints these: where its daemon is, and about itself.
func TestWhyKindCannotRun(t *testing.T) {
	const rootless = `"CgroupVersion": "2", "MemoryLimit": true, "PidsLimit": true, "SecurityOptions": ["name=seccomp", "name=rootless"]`
	for name, test := range map[string]struct{ runtime, where, info, want string }{
		"a socket":             {"docker", "unix:///var/run/docker.sock", `{"CgroupVersion": "2"}`, ""},
		"a virtual machine":    {"podman", "ssh://core@127.0.0.1:5/podman.sock", `{"host": {"cgroupVersion": "v2"}}`, ""},
		"it does not say":      {"docker", "", "", ""},
		"another machine":      {"docker", "ssh://me:secret@far", "", "docker's daemon is on another machine, ssh://me:xxxxx@far"},
		"another container":    {"docker", "tcp://docker:2375", "", "docker's daemon is on another machine, tcp://docker:2375"},
		"another, of Podman's": {"podman", "ssh://core@far/podman.sock", "", "podman's daemon is on another machine, ssh://core@far/"},

		"version 1":              {"docker", "", `{"CgroupVersion": "1"}`, "docker has control groups of version 1"},
		"version 1, of Podman's": {"podman", "", `{"host": {"cgroupVersion": "v1"}}`, "podman has control groups of version 1"},
		"rootless":               {"docker", "", `{` + rootless + `, "CPUShares": true, "CgroupDriver": "systemd"}`, ""},
		"rootless, no driver":    {"docker", "", `{` + rootless + `, "CPUShares": true, "CgroupDriver": "none"}`, "docker is rootless"},
		"rootless, no limits":    {"docker", "", `{` + rootless + `, "CgroupDriver": "systemd"}`, "docker is rootless and may not"},
		"rootless Podman": {"podman", "", `{"host": {"cgroupControllers": ["cpu", "memory", "pids"],
			"security": {"rootless": true}}}`, ""},
		"rootless Podman, no limits": {"podman", "", `{"host": {"cgroupControllers": ["memory", "pids"],
			"security": {"rootless": true}}}`, "podman is rootless and may not"},
		"rootless Podman before version 4": {"podman", "", `{"host": {"security": {"rootless": true}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			script := "#!/bin/sh\ncase $1 in context) echo \"$WHERE\" ;; info) echo \"$INFO\" ;; esac\n"
			if err := os.WriteFile(filepath.Join(folder, test.runtime), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
			t.Setenv("WHERE", test.where)
			t.Setenv("INFO", test.info)
			t.Setenv("CONTAINER_HOST", test.where) // Podman has no command that says it
			got := remote(t.Context(), test.runtime) + lacksCgroups(t.Context(), test.runtime)
			if test.want == "" && got != "" || !strings.HasPrefix(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestContainerRuntime has a docker that cannot be used, and no podman.
func TestContainerRuntime(t *testing.T) {
	for name, test := range map[string]struct{ docker, why string }{
		"it says why":          {"echo usage >&2; echo permission denied >&2; exit 1", "docker ps fails: permission denied"},
		"it says nothing":      {"exit 1", ""},
		"it is Podman":         {"case $1 in -v) echo podman version 5.0.3 ;; esac", ""},
		"it warns, and it can": {"echo a warning >&2; case $1 in -v) echo Docker version 29 ;; esac", "can"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "docker"), []byte("#!/bin/sh\n"+test.docker+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", folder)
			docker, why := containerRuntime(t.Context())
			if can := test.why == "can"; can != (docker == "docker") || !can && why != test.why {
				t.Errorf("got %q, %q, want %q", docker, why, test.why)
			}
		})
	}
}
