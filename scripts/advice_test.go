package scripts_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
)

// stubs are in place of the local cluster's programs, in a cache folder. With them a local cluster begins to start, which is as far as
// it comes.
func stubs(t *testing.T) (cache string) {
	t.Helper()
	cache = t.TempDir()
	module := testkit.Must(os.ReadFile("localcluster/go.mod"))(t)
	program := testkit.Must(os.ReadFile("localcluster/main.go"))(t)
	version := regexp.MustCompile(`k8s.io/kubernetes (v\S+)`).FindSubmatch(module)[1]
	folder := filepath.Join(cache, "client-go-workbook", fmt.Sprintf("%s-%08x", version, crc32.ChecksumIEEE(append(module, program...))))
	for _, name := range append([]string{"localcluster", "kubectl", "kwokctl"}, programs...) {
		write(t, filepath.Join(folder, name), "#!/bin/sh\nexit 1\n")
	}
	return cache
}

// TestAdviceIsGood makes the scripts say what to do, and does it: they must not refuse what they have advised. There is no Docker but
// a program that answers as one, and can make no cluster.
func TestAdviceIsGood(t *testing.T) {
	t.Parallel()
	testkit.All(t, "runs sixty commands")
	const (
		noDocker  = "exit 1"
		docker    = `case $1 in ps | image) ;; *) exit 1 ;; esac`
		elsewhere = `case $1$DOCKER_HOST in contextssh*) echo "$DOCKER_HOST" ;; ps* | image*) ;; *) exit 1 ;; esac`
		// It has a container of a kind cluster, and cannot start it.
		stopped = `case $1 in ps) [ "$2" = -q ] || echo container ;; start) exit 1 ;; esac`

		localStarts = "Starting a local cluster"
		kindStarts  = "kind could not make the cluster"
	)
	// In the cluster's folder: what there is of one that was up, and of one that never was.
	wasUp := func(kind string) map[string]string {
		return map[string]string{"type": kind + " workbook HERE\n", "kubeconfig": ""}
	}
	begun := func(kind string) map[string]string { return map[string]string{"type": kind + " workbook HERE\n"} }
	cache := stubs(t)
	caches := append(goCaches(t), "XDG_CACHE_HOME="+cache)
	run(t, caches, "./cluster.sh", "programs") // so that none of the commands has to compile
	for name, test := range map[string]struct {
		docker string
		files  map[string]string // in the cluster's folder
		run    string            // the command of the reader
		says   string            // what it advises
		do     string            // that, as a command
		want   string            // what this says
	}{
		"kind fails": {docker, nil, "make cluster", "take CLUSTER=local make cluster", "CLUSTER=local make cluster", localStarts},
		"kind fails, again": {docker, begun("kind"), "make cluster",
			"take CLUSTER=local make cluster", "CLUSTER=local make cluster", localStarts},
		"kind without Docker": {noDocker, nil, "CLUSTER=kind make cluster",
			"take CLUSTER=local make cluster", "CLUSTER=local make cluster", localStarts},
		"kind, and Docker is elsewhere": {elsewhere, nil, "export DOCKER_HOST=ssh://far; CLUSTER=kind make cluster",
			"unset DOCKER_HOST", "unset DOCKER_HOST; CLUSTER=kind make cluster", kindStarts},
		"kind, and Docker is elsewhere: local": {elsewhere, nil, "export DOCKER_HOST=ssh://far; CLUSTER=kind make cluster",
			"take CLUSTER=local make cluster", "export DOCKER_HOST=ssh://far; CLUSTER=local make cluster", localStarts},
		"there is a kind cluster": {docker, wasUp("kind"), "CLUSTER=local make cluster",
			"run make cluster-down, then CLUSTER=local make cluster", "make cluster-down && CLUSTER=local make cluster", localStarts},
		"there is a local cluster": {docker, wasUp("local"), "CLUSTER=kind make cluster",
			"run make cluster-down, then CLUSTER=kind make cluster", "make cluster-down && CLUSTER=kind make cluster", kindStarts},
		"nodes of a local cluster": {docker, nil, "NODES=3 CLUSTER=local make cluster",
			"try NODES=3 CLUSTER=kind make cluster", "NODES=3 CLUSTER=kind make cluster", kindStarts},
		"nodes of a local cluster that is there": {docker, wasUp("local"), "NODES=3 make cluster",
			"run make cluster-down, then NODES=3 CLUSTER=kind make cluster",
			"make cluster-down && NODES=3 CLUSTER=kind make cluster", kindStarts},
		"no number of nodes": {docker, nil, "NODES=ten make cluster",
			"try NODES=3 CLUSTER=kind make cluster", "NODES=3 CLUSTER=kind make cluster", kindStarts},
		"no number of nodes: unset it": {docker, nil, "export NODES=ten; make cluster",
			"unset it", "unset NODES; make cluster", kindStarts},
		"no type": {noDocker, nil, "CLUSTER=docker make cluster",
			"try CLUSTER=local make cluster", "CLUSTER=local make cluster", localStarts},
		"no type: unset it": {noDocker, nil, "export CLUSTER=docker; make cluster",
			"or unset CLUSTER", "unset CLUSTER; make cluster", localStarts},
		"kind, and Docker is gone": {noDocker, wasUp("kind"), "make cluster-down",
			"Or remove the folder ", `rm -r "$CLUSTER_DIR"; make cluster`, localStarts},
		"kind, and Docker cannot start it": {stopped, wasUp("kind"), "make cluster",
			"run make cluster-down", "make cluster-down", "The kind cluster is removed."},

		"status of none":  {noDocker, nil, "make cluster-status", "run make cluster.", "make cluster", localStarts},
		"kubectl on none": {noDocker, nil, "scripts/kubectl get pods", "run make cluster.", "make cluster", localStarts},
		"kubectl on one that was not up": {noDocker, begun("local"), "scripts/kubectl get pods",
			"run make cluster.", "make cluster", localStarts},
		"samples on none": {noDocker, nil, "make samples 1", "run make cluster.", "make cluster", localStarts},
		"stop the API server of none": {noDocker, nil, "scripts/apiserver.sh stop",
			"run CLUSTER=local make cluster.", "CLUSTER=local make cluster", localStarts},
		"stop the API server of kind": {docker, wasUp("kind"), "scripts/apiserver.sh stop",
			"run make cluster-down, then CLUSTER=local make cluster.", "make cluster-down && CLUSTER=local make cluster", localStarts},
		"audit log of none": {noDocker, nil, "scripts/cluster.sh audit", "run make cluster.", "make cluster", localStarts},
		"deploy on none":    {docker, nil, "make deploy", "run CLUSTER=kind make cluster.", "CLUSTER=kind make cluster", kindStarts},
		"deploy on local": {docker, wasUp("local"), "make deploy",
			"run make cluster-down, then CLUSTER=kind make cluster.", "make cluster-down && CLUSTER=kind make cluster", kindStarts},

		"the folder is a foreign one": {noDocker, map[string]string{"thesis.txt": ""}, "make cluster",
			"set CLUSTER_DIR to another place", `CLUSTER_DIR="$CLUSTER_DIR"-2 make cluster`, localStarts},
		"the folder is a file": {noDocker, map[string]string{"../file": ""}, `CLUSTER_DIR="$CLUSTER_DIR/../file" make cluster`,
			"set CLUSTER_DIR to another place", "make cluster", localStarts},
		"the folder is in a file": {noDocker, map[string]string{"../file": ""}, `CLUSTER_DIR="$CLUSTER_DIR/../file/x" make cluster`,
			"set CLUSTER_DIR to a folder that can be written", "make cluster", localStarts},
		"the folder is a link to nowhere": {noDocker, nil, `ln -s "$TMPDIR/gone" "$CLUSTER_DIR"; make cluster`,
			"make that folder", `mkdir "$TMPDIR/gone"; make cluster`, localStarts},
		"the folder is a link to nowhere: remove it": {noDocker, nil, `ln -s "$TMPDIR/gone" "$CLUSTER_DIR"; make cluster`,
			"or remove the link", `rm "$CLUSTER_DIR"; make cluster`, localStarts},
		"no place for locks": {noDocker, nil, `TMPDIR="$TMPDIR/gone" make cluster`,
			"set TMPDIR to a folder that can be written", "make cluster", localStarts},
		"locks that are not mine": {noDocker, nil, `mkdir -p -m 777 "$TMPDIR/client-go-workbook-$UID"; chmod 777 "$TMPDIR"/*; make cluster`,
			"remove it, or set TMPDIR to another folder", `rm -r "$TMPDIR/client-go-workbook-$UID"; make cluster`, localStarts},
		"a cache that cannot be": {noDocker, nil, "XDG_CACHE_HOME=/dev/null make cluster",
			"set XDG_CACHE_HOME to a folder that can be written", "make cluster", localStarts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
			folder, tmp := filepath.Join(base, "cluster"), filepath.Join(base, "tmp")
			for name, text := range test.files {
				write(t, filepath.Join(folder, name), strings.Replace(text, "HERE", folder, 1))
			}
			if err := os.Mkdir(tmp, 0o700); err != nil {
				t.Fatal(err)
			}
			env := append(append([]string{}, caches...), fakes(t, map[string]string{"docker": test.docker, "podman": "exit 1"}),
				"CLUSTER_DIR="+folder, "TMPDIR="+tmp)
			first := run(t, env, "bash", "-c", "cd .. && "+test.run)
			if first.code == 0 || !strings.Contains(first.stderr, test.says) {
				t.Fatalf("%s: %+v, want that it says %q", test.run, first, test.says)
			}
			if then := run(t, env, "bash", "-c", "cd .. && "+test.do); !strings.Contains(then.stderr, test.want) {
				t.Errorf("%s says:\n%s%s says:\n%swant %q", test.run, first.stderr, test.do, then.stderr, test.want)
			}
		})
	}
}

func takesThePlace(t *testing.T, c *cluster) {
	c.run(t, "./cluster-down.sh")
	docker := fakes(t, map[string]string{"docker": "case $1 in ps | image) ;; *) exit 1 ;; esac"})
	got := run(t, append(append([]string{}, c.env...), docker, "CLUSTER=kind"), "./cluster-up.sh")
	if got.code != 1 || !strings.HasSuffix(got.stderr, "or take CLUSTER=local make cluster.\n") {
		t.Fatalf("got %+v", got)
	}
	if got := run(t, append(append([]string{}, c.env...), docker, "CLUSTER=local"), "./cluster-up.sh"); got.code != 0 {
		t.Fatalf("got %+v", got)
	}
	c.isWhole(t)
}

func samplesThatFail(t *testing.T, c *cluster) {
	fails := func(want string) {
		t.Helper()
		got := run(t, c.env, "./apply-samples.sh", "3")
		if got.code != 1 || !regexp.MustCompile(want).MatchString(got.stderr) {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
	c.run(t, "./apply-samples.sh", "3")
	c.run(t, "./apiserver.sh", "stop")
	fails(`^The samples cannot be put on the cluster: error validating .*connection refused.*` +
		`these don't run: kube-apiserver - run make cluster\.\n$`)
	c.run(t, "./cluster-up.sh")
	c.run(t, "./apply-samples.sh", "3")

	c.run(t, "./kubectl", "delete", "deployment", "test-1", "-n", "test")
	c.run(t, "./kubectl", "create", "deployment", "test-1", "-n", "test", "--image=nginx:1.28.0") // with another selector
	fails(`^The samples cannot be put on the cluster: The Deployment "test-1" is invalid: .*spec\.selector: .*immutable.*` +
		`The cluster is up: correct that if need be, and run this again\.\n$`)
	c.run(t, "./kubectl", "delete", "deployment", "test-1", "-n", "test")
	c.run(t, "./apply-samples.sh", "3")
}

// The defaults of kubectl are those of Kubernetes' documentation; with them, a second apply would be refused.
func kuberc(t *testing.T, c *cluster) {
	file := filepath.Join(t.TempDir(), "kuberc")
	write(t, file, `apiVersion: kubectl.config.k8s.io/v1beta1
kind: Preference
defaults:
- {command: apply, options: [{name: server-side, default: "true"}]}
- {command: delete, options: [{name: interactive, default: "true"}]}
- {command: get, options: [{name: show-labels, default: "true"}]}
`)
	with := &cluster{env: append(append([]string{}, c.env...), "KUBERC="+file)}
	if got := with.run(t, "./kubectl", "get", "namespaces"); !strings.Contains(got, "LABELS") {
		t.Errorf("scripts/kubectl, which the reader types, does not follow it:\n%s", got)
	}
	c.run(t, "./kubectl", "delete", "deployment", "web", "-n", "shop", "--ignore-not-found")
	with.run(t, "./apply-samples.sh", "3")
	with.run(t, "./kubectl", "scale", "deployment/web", "-n", "shop", "--replicas=4")
	with.run(t, "./apply-samples.sh", "3")
	if got := c.run(t, "./kubectl", "get", "deployment/web", "-n", "shop", "-o", "jsonpath={.spec.replicas}"); got != "3" {
		t.Errorf("%s replicas, want 3 again", got)
	}
}

// TestScriptsDoNotFollowKuberc has a kubectl that only prints $KUBERC.
func TestScriptsDoNotFollowKuberc(t *testing.T) {
	root := workbook(t)
	asked := filepath.Join(root, "asked")
	for script, text := range map[string]string{
		"kubectl":       `echo "$1 $KUBERC" >>"` + asked + `"`,
		"cluster-up.sh": "true", "cluster.sh": "true",
		"image.sh": "echo image:tag",
	} {
		write(t, filepath.Join(root, "scripts", script), "#!/bin/sh\n"+text+"\n")
	}
	write(t, filepath.Join(root, "internal", "conformance", "databasemanager.yaml"), "crd: crd.yaml\n")
	folder := t.TempDir()
	write(t, filepath.Join(folder, "type"), "kind workbook "+folder+"\n")
	env := []string{"CLUSTER_DIR=" + folder, "KUBERC=the-reader's", fakes(t, map[string]string{"docker": "true", "go": `[ "$1" = tool ]`})}
	for script, want := range map[string]string{
		"undeploy.sh":    "get off\ndelete off\nget off\n",
		"deploy.sh":      "get off\napply off\nrollout off\n",
		"conformance.sh": "apply off\nwait off\n",
	} {
		if err := os.RemoveAll(asked); err != nil {
			t.Fatal(err)
		}
		got := run(t, env, filepath.Join(root, "scripts", script))
		if said, _ := os.ReadFile(asked); string(said) != want {
			t.Errorf("%s asks %q, want %q: %+v", script, said, want, got)
		}
	}
}
