package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"example.com/client-go-workbook/scripts/cluster/marker"
	"example.com/client-go-workbook/scripts/cluster/ports"
)

// cluster is the one cluster of a folder.
type cluster struct {
	root   string // of the checkout
	cache  string // of programs, which all checkouts share
	path   string // as the reader knows it
	folder string // path without symbolic links; empty if there is none
}

func newCluster() (*cluster, error) {
	root, err := os.Getwd() // scripts/cluster.sh sees to it
	if err != nil {
		return nil, err
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home := os.Getenv("HOME")
		if home == "" {
			return nil, errors.New("$HOME is not set: set it, or XDG_CACHE_HOME, to a folder that can be written")
		}
		cache = filepath.Join(home, ".cache")
	}
	path := os.Getenv("CLUSTER_DIR")
	if path == "" {
		path = filepath.Join(root, ".cluster")
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c := &cluster{root: root, cache: filepath.Join(cache, "client-go-workbook"), path: path}
	c.folder, err = filepath.EvalSymlinks(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: set CLUSTER_DIR to a folder that can be written", err)
	}
	return c, nil
}

// ours are the names of what this program and its fronts make in a cluster's folder. The marker is the last: what an
// interrupted down leaves is still marked.
var ours = []string{
	"kubeconfig", ".kwok", "kwokctl.yaml", "audit.yaml", "kwokctl.log", "bin", "kubectl-cache", "etcd-damaged-*", "deploy",
	partialPrefix + "*", marker.File,
}

// partialPrefix begins the names of files that are being written.
const partialPrefix = ".partial-"

// testClusters are the folders of the clusters that scripts/test.sh makes beside this one. They may be all that is there.
var testClusters = []string{"test-local", "test-kind"}

// clusterType is what the marker says: local, kind, or nothing where there is no cluster.
func (c *cluster) clusterType() string { return c.marker().Type }

func (c *cluster) marker() (m marker.Marker) {
	if c.folder != "" {
		m, _ = marker.Read(c.folder)
	}
	return m
}

// origin returns the folder that the cluster was made for, if it is not this one, and whether this one is a copy of it. If not,
// this one was moved: the other is gone, or is a link that leads here.
func (c *cluster) origin() (folder string, isCopy bool) {
	m := c.marker()
	if m.Folder == "" || m.Folder == c.folder {
		return "", false
	}
	_, err := marker.Read(m.Folder)
	return m.Folder, err == nil && m.Check(c.folder) != nil
}

// settle prepares a folder that was copied or moved. A copy must get a cluster of its own, with keys of its own: else
// the kubeconfig of one would be good for the other. Of one that was moved, the processes still run, with the old paths.
func (c *cluster) settle() error {
	origin, isCopy := c.origin()
	if !isCopy {
		return c.stopMoved()
	}
	say("%s is a copy of %s: it gets a cluster of its own.", c.path, origin)
	l := c.local()
	return errors.Join(os.RemoveAll(filepath.Join(c.folder, "kubeconfig")), os.RemoveAll(c.kubectl()),
		os.RemoveAll(filepath.Join(l.folder, "pki")), os.RemoveAll(filepath.Join(l.folder, "kwok.yaml")),
		os.RemoveAll(filepath.Join(c.folder, "kwokctl.yaml")))
}

// stopMoved ends the processes that a local cluster has started before its folder was moved.
func (c *cluster) stopMoved() error {
	origin, isCopy := c.origin()
	if origin == "" || isCopy {
		return nil
	}
	before := *c
	before.folder = origin
	return before.local().stop()
}

// checkOurs returns an error if the folder is foreign: not made by this program, or made by another user.
func (c *cluster) checkOurs() error {
	if c.folder == "" {
		return nil
	}
	info, err := os.Stat(c.folder)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file, not a cluster's folder: set CLUSTER_DIR to another place", c.path)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (number %d): set CLUSTER_DIR to a folder of your own", c.path, owner)
	}
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return err
	}
	marked := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == marker.File && e.Type().IsRegular() })
	others := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		partial := strings.HasPrefix(e.Name(), partialPrefix) // the marker, where a call was killed before it had its name
		return !partial && !slices.Contains(testClusters, e.Name())
	})
	if !marked && others {
		return fmt.Errorf("%s is not a cluster of the workbook: it has no file %q, and is not empty: set CLUSTER_DIR to another place",
			c.path, marker.File)
	}
	return nil
}

// make makes the folder, private to its owner, and marks it.
func (c *cluster) make(kind, name string) error {
	if link, err := os.Readlink(c.path); err == nil && c.folder == "" {
		return fmt.Errorf("%s is a link to %s, which does not exist: make that folder, or remove the link", c.path, link)
	}
	if err := os.MkdirAll(c.path, 0o700); err != nil {
		return fmt.Errorf("the cluster's folder cannot be made: %w: set CLUSTER_DIR to a folder that can be written", err)
	}
	folder, err := filepath.EvalSymlinks(c.path)
	if err != nil {
		return err
	}
	c.folder = folder
	if err := os.Chmod(c.folder, 0o700); err != nil { // it may be older
		return err
	}
	return c.write(marker.File, []byte(marker.Marker{Type: kind, Name: name, Folder: folder}.String()))
}

// write writes a file of the folder, whole or not at all.
func (c *cluster) write(name string, data []byte) error {
	file, err := os.CreateTemp(c.folder, partialPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(c.folder, name))
}

// missing says what is missing for the cluster to be up: nothing, or a line for the reader.
func (c *cluster) missing(ctx context.Context) string {
	kind := c.clusterType()
	if kind == "" {
		return "There is no cluster: run make cluster."
	}
	if err := c.marker().Check(c.folder); err != nil {
		return err.Error()
	}
	if kind == "local" {
		if gone := c.local().missing(); len(gone) > 0 {
			return fmt.Sprintf("The local cluster is not whole, these don't run: %s - run make cluster.", strings.Join(gone, " "))
		}
	}
	api, err := c.api()
	if err != nil || !api.ready(ctx) {
		return fmt.Sprintf("The %s cluster does not answer: run make cluster.", kind)
	}
	if _, err := os.Stat(c.kubectl()); err != nil {
		return "The cluster's kubectl is missing: run make cluster."
	}
	if data, err := os.ReadFile(filepath.Join(c.folder, "kubeconfig")); err != nil || !api.isIn(data) {
		return "The cluster's kubeconfig is missing, or is not its own any more: run make cluster."
	}
	return ""
}

// kubectl is the path of a kubectl of the cluster's version.
func (c *cluster) kubectl() string { return filepath.Join(c.folder, "bin", "kubectl") }

func (c *cluster) up(ctx context.Context) error {
	want := os.Getenv("CLUSTER")
	if want != "" && want != "local" && want != "kind" {
		return usageError(fmt.Sprintf("CLUSTER=%s is neither kind nor local: try CLUSTER=local make cluster, or unset CLUSTER.", want))
	}
	nodes, err := wantedNodes()
	if err != nil {
		return err
	}
	// The usual answer is that the cluster is up, and it should come fast: without the lock.
	if done, err := c.isUp(ctx, want, nodes); done || err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	// While this one waited, another may have done it all, or have made the other type of cluster.
	if done, err := c.isUp(ctx, want, nodes); done || err != nil {
		return err
	}

	if err := c.settle(); err != nil {
		return err
	}
	if have := c.clusterType(); want != "" && have != "" && have != want {
		say("The %s cluster was never whole: it is replaced.", have)
		if err := c.clear(ctx); err != nil {
			return err
		}
	}
	kind := cmp.Or(c.clusterType(), want)
	if kind == "" {
		if kind, err = choose(ctx, c.root); err != nil {
			return err
		}
	}
	if kind == "local" && nodes > 0 {
		return usageError("NODES is for a kind cluster: try NODES=3 CLUSTER=kind make cluster, or unset NODES.")
	}
	name := kwokName
	if kind == "kind" {
		name = c.kindName()
	}
	if err := c.make(kind, name); err != nil {
		return err
	}
	if kind == "kind" {
		return c.kindUp(ctx, nodes)
	}
	return c.localUp(ctx)
}

// isUp reports whether the cluster is up, and an error if it is not one that up may start. One that never was whole may be of the
// other type: where one type cannot start, its error advises the other.
func (c *cluster) isUp(ctx context.Context, want string, nodes int) (bool, error) {
	if c.folder == "" {
		c.folder, _ = filepath.EvalSymlinks(c.path) // another call may have made it
	}
	if err := c.checkOurs(); err != nil {
		return false, err
	}
	if have := c.clusterType(); have != "" && want != "" && have != want {
		if !c.wasUp() && !c.local().hasData() {
			return false, nil
		}
		return false, messagef("There is a %s cluster already: unset CLUSTER, or run make cluster-down, then CLUSTER=%s make cluster.",
			have, want)
	}
	if c.clusterType() == "local" && nodes > 0 {
		return false, usageError("NODES is for a kind cluster: unset it, or run make cluster-down, then NODES=3 CLUSTER=kind make cluster.")
	}
	if c.missing(ctx) != "" {
		return false, nil
	}
	if nodes > 0 {
		api, err := c.api()
		if err != nil {
			return false, err
		}
		if _, have, err := api.readyNodes(ctx); err != nil {
			return false, err
		} else if have != nodes {
			return false, messagef(
				"There is a cluster of %d node(s) already: unset NODES, or run make cluster-down, then NODES=%d CLUSTER=kind make cluster.",
				have, nodes)
		}
	}
	return true, nil
}

func (c *cluster) status(ctx context.Context) error {
	if err := c.checkOurs(); err != nil {
		return err
	}
	if c.locked() {
		return message("The cluster is starting, or being repaired or removed: make cluster waits for it.")
	}
	if text := c.missing(ctx); text != "" {
		return errors.New(text)
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	version, err := api.version(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("The %s cluster is up: %s, Kubernetes %s%s, kubeconfig %s.\n",
		c.clusterType(), api.Server, version, c.source(), filepath.Join(c.folder, "kubeconfig"))
	return nil
}

// source says where a local cluster's programs come from.
func (c *cluster) source() string {
	p := newPrograms(c.root, c.cache)
	kubectl, _ := os.Readlink(c.kubectl()) // it comes from where the others come from
	switch folder := filepath.Dir(kubectl); {
	case c.clusterType() == "local" && folder == p.downloadFolder():
		return " (downloaded)"
	case c.clusterType() == "local" && folder == p.buildFolder():
		return " (built)"
	}
	return ""
}

// down removes the cluster and the tests' clusters, and says so.
func (c *cluster) down(ctx context.Context) error {
	if err := c.checkOurs(); err != nil {
		return err
	}
	removed := 0
	for _, name := range testClusters {
		test := *c
		test.path = filepath.Join(c.folder, name)
		if _, err := os.Stat(test.path); c.folder == "" || err != nil {
			continue
		}
		test.folder = test.path
		kind := test.clusterType()
		if err := test.remove(ctx); err != nil {
			return err
		}
		if kind != "" {
			say("The %s cluster of the tests is removed.", kind)
			removed++
		}
	}
	kind := c.clusterType()
	if err := c.remove(ctx); err != nil {
		return err
	}
	if kind != "" {
		say("The %s cluster is removed.", kind)
	} else if removed == 0 {
		say("There is no cluster.")
	}
	return nil
}

// remove removes the cluster and what belongs to it in its folder, and the folder. The programs stay, for the next one.
func (c *cluster) remove(ctx context.Context) error {
	if c.folder == "" {
		return nil
	}
	if err := c.checkOurs(); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.clear(ctx); err != nil {
		return err
	}
	if c.folder != c.path {
		return nil // reached through a link: both are the reader's
	}
	left, err := os.ReadDir(c.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(left) > 0 {
		say("Not removed, since the cluster did not make it: %s", filepath.Join(c.path, left[0].Name()))
		return nil
	}
	if err := os.Remove(c.folder); !errors.Is(err, syscall.EBUSY) { // a disk of the reader's
		return err
	}
	return nil
}

// clear removes the cluster and what belongs to it in its folder. Its caller holds the lock.
func (c *cluster) clear(ctx context.Context) error {
	if _, isCopy := c.origin(); c.clusterType() == "kind" && !isCopy {
		if err := c.kindDown(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(c.local().count(), c.stopMoved(), c.local().stop()); err != nil {
		return err
	}
	for _, name := range ours {
		paths, err := filepath.Glob(filepath.Join(escapeGlob(c.folder), name))
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// escapeGlob returns a pattern that matches just this path.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// realPath returns the folder's path without symbolic links. It is the same before and after the folder is made, and by
// whatever links the folder is reached.
func (c *cluster) realPath() string {
	if c.folder != "" {
		return c.folder
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(c.path)); err == nil {
		return filepath.Join(parent, filepath.Base(c.path))
	}
	return c.path
}

// number distinguishes this cluster from others on the machine.
func (c *cluster) number() uint32 { return ports.Number(c.realPath()) }
