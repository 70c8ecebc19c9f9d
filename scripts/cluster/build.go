package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/shirou/gopsutil/v4/mem"
	"golang.org/x/mod/modfile"
	"golang.org/x/term"
)

// programs are the local cluster's, of the versions that scripts/localcluster/go.mod pins: downloaded or built. All checkouts that
// want the same versions share them.
type programs struct {
	root, cache string
	system      string // such as linux/amd64
	web         web
}

func newPrograms(root, cache string) programs {
	return programs{root: root, cache: cache, system: runtime.GOOS + "/" + runtime.GOARCH, web: newWeb()}
}

// names are those of the one program of scripts/localcluster.
var names = append(slices.Clone(components), "kwokctl")

const (
	clusterPackage = "example.com/client-go-workbook/scripts/localcluster"
	kubectlPackage = "k8s.io/kubernetes/cmd/kubectl"
)

// packages are what is built. kubectl is a program of its own: it is started often, and within the other it takes half as long again.
var packages = []string{clusterPackage, kubectlPackage}

// kwokPackages are what is built beside downloaded programs.
var kwokPackages = []string{"sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok/cmd/kwokctl"}

// links are the names of a package's program that differ from its own: links to it.
var links = map[string][]string{clusterPackage: names, kwokPackages[0]: {"kwok-controller"}}

// notInlined are the packages that are compiled without inlining, which takes a third of the time off them. They are large,
// and their code is on the way of few requests. What each request passes through (apiserver, apimachinery, etcd) keeps it,
// and so does what the workbook's own module uses, too.
var notInlined = []string{
	"k8s.io/kubernetes/...",
	"k8s.io/apiextensions-apiserver/...",
	"k8s.io/cloud-provider/...",
	"k8s.io/kube-aggregator/...",
	"k8s.io/kubectl/...",
	"sigs.k8s.io/kwok/...",
}

// buildGB is the build's peak on the disk: Go's module and build caches, and the programs themselves.
const buildGB = 8

func (p programs) module() string { return filepath.Join(p.root, "scripts", "localcluster") }

// version returns the version of Kubernetes, such as v1.37.1.
func (p programs) version() string { return requires(p.module())["k8s.io/kubernetes"] }

// requires returns the version of each module that a folder's go.mod names.
func requires(folder string) map[string]string {
	versions := map[string]string{}
	data, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return versions
	}
	mod, err := modfile.ParseLax("go.mod", data, nil)
	if err != nil {
		return versions
	}
	for _, require := range mod.Require {
		versions[require.Mod.Path] = require.Mod.Version
	}
	return versions
}

// gcflags returns the compiler's flags. What the workbook's own module uses, too, is compiled as go compiles it by itself: a reader's
// go test then finds it compiled. In the modules that only these programs use, nobody needs debug information.
func (p programs) gcflags() (flags []string) {
	shared := requires(p.root)
	for _, module := range slices.Sorted(maps.Keys(requires(p.module()))) {
		if shared[module] == "" {
			flags = append(flags, "-gcflags="+module+"/...=-dwarf=false")
		}
	}
	for _, pattern := range notInlined { // the last flag that fits a package is in force
		flags = append(flags, "-gcflags="+pattern+"=-dwarf=false -l")
	}
	return append(flags, "-gcflags=k8s.io/apiextensions-apiserver/pkg/apis/...=") // the types of CRDs: the tests have them, too
}

// buildFolder returns the folder of built programs: another one for each content of their module.
func (p programs) buildFolder() string {
	sum := crc32.NewIEEE()
	for _, name := range []string{"go.mod", "main.go"} {
		data, _ := os.ReadFile(filepath.Join(p.module(), name))
		sum.Write(data)
	}
	return filepath.Join(p.cache, fmt.Sprintf("%s-%08x", p.version(), sum.Sum32()))
}

// downloadFolder returns the folder of downloaded programs, and of kwok's.
func (p programs) downloadFolder() string {
	return p.buildFolder() + "-downloaded-" + path.Base(p.system)
}

// folder returns where the wanted programs are, or all, or where they would be built. Built ones come first, so that
// WORKBOOK_DOWNLOAD, set for one command only, does not change which the next one takes.
func (p programs) folder(wanted ...string) string {
	if p.built(wanted...) || !p.downloaded(wanted...) {
		return p.buildFolder()
	}
	return p.downloadFolder()
}

// path returns where the program of that name is.
func (p programs) path(name string) string { return filepath.Join(p.folder(), name) }

// has reports whether a folder has a program.
func has(folder, name string) bool {
	info, err := os.Stat(filepath.Join(folder, name))
	return err == nil && info.Mode()&0o111 != 0
}

// missing returns those of the wanted packages, or of all, whose programs are not all in the folder.
func (p programs) missing(folder string, wanted []string) []string {
	if len(wanted) == 0 {
		wanted = packages
	}
	return slices.DeleteFunc(slices.Clone(wanted), func(pkg string) bool {
		names := links[pkg]
		if names == nil {
			names = []string{path.Base(pkg)}
		}
		return !slices.ContainsFunc(names, func(name string) bool { return !has(folder, name) })
	})
}

func (p programs) built(wanted ...string) bool { return len(p.missing(p.buildFolder(), wanted)) == 0 }

func (p programs) downloaded(wanted ...string) bool {
	return os.Getenv("WORKBOOK_DOWNLOAD") != "off" && len(p.missing(p.downloadFolder(), wanted)) == 0
}

// ready reports whether the wanted programs are there, or all.
func (p programs) ready(wanted ...string) bool { return p.built(wanted...) || p.downloaded(wanted...) }

// build downloads or builds the programs that are not there, or only kubectl.
func (p programs) build(ctx context.Context, wanted ...string) error {
	if len(wanted) == 0 {
		wanted = packages
	}
	if p.ready(wanted...) {
		return nil
	}
	if err := os.MkdirAll(p.buildFolder(), 0o700); err != nil {
		return fmt.Errorf("the programs' folder cannot be made: %w: set XDG_CACHE_HOME to a folder that can be written", err)
	}
	unlock, err := lock(ctx, fmt.Sprintf("build-%08x", crc32.ChecksumIEEE([]byte(p.buildFolder()))),
		"Waiting for another download or build of Kubernetes to end.")
	if err != nil {
		return err
	}
	defer unlock()
	if p.ready(wanted...) {
		return nil
	}
	if done, err := p.download(ctx, wanted); done || err != nil {
		return err
	}
	missing := p.missing(p.buildFolder(), wanted)
	free, err := free(p.buildFolder())
	if err != nil {
		return err
	}
	if free>>30 < buildGB {
		return messagef("Building the local cluster takes %d GB of disk, and %s has %d.\n"+
			"Free some, or start Docker or Podman and run CLUSTER=kind make cluster.",
			buildGB, p.cache, free>>30)
	}
	say("Building Kubernetes %s into %s, once.", p.version(), p.buildFolder())
	if slices.Contains(missing, clusterPackage) {
		say("This compiles all of it: some minutes on 2 cores, less on more. Meanwhile, read 01-listwatch/README.md.")
	}
	if err := p.goBuild(ctx, p.buildFolder(), missing); err != nil {
		return err
	}
	partial, _ := filepath.Glob(filepath.Join(p.downloadFolder(), partialPrefix+"*"))
	for _, file := range partial { // nobody goes on with it now
		os.Remove(file)
	}
	return nil
}

// free returns how many bytes are free on a folder's disk.
func free(folder string) (uint64, error) {
	var disk syscall.Statfs_t
	err := syscall.Statfs(folder, &disk)
	return disk.Bavail * uint64(disk.Bsize), err
}

// goBuild builds all in one call of go build, so that the linker, which uses one core, works while others compile.
func (p programs) goBuild(ctx context.Context, folder string, missing []string) error {
	start := time.Now()
	partial, err := os.MkdirTemp(folder, ".partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	ldflags := "-s -w"
	parts := strings.Split(strings.TrimPrefix(p.version(), "v"), ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		ldflags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s "+
			"-X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s -X %[1]s.gitTreeState=clean",
			pkg, p.version(), parts[0], parts[1])
	}
	arguments := append([]string{"build", "-v", "-ldflags", ldflags, "-o", partial + "/"}, p.gcflags()...)
	cmd := exec.CommandContext(ctx, "go", append(arguments, missing...)...)
	cmd.Dir = p.module()
	cmd.Env = append(os.Environ(), "GOGC="+gogc())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	failed := p.showProgress(ctx, missing, stderr)
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		os.Stderr.Write(failed)
		return message("The build has failed, see above. Cure that, then run the same command again: it goes on from here.")
	}
	for _, pkg := range missing {
		name := path.Base(pkg)
		for _, other := range links[pkg] {
			if err := os.Symlink(name, filepath.Join(folder, other)); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		// Moved into its place when it is whole, so that half a program is never started.
		if err := os.Rename(filepath.Join(partial, name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	say("Built in %s.", minutes(time.Since(start)))
	return nil
}

// gogc is how far the compiler's heap may grow before it collects garbage. With much memory to each core, less often
// saves a seventh of the time; with little, swapping would cost far more.
func gogc() string {
	memory, err := mem.VirtualMemory()
	if err != nil {
		return "100"
	}
	switch perCore := memory.Available / uint64(runtime.NumCPU()) >> 20; {
	case perCore >= 2048:
		return "400"
	case perCore >= 1024:
		return "200"
	}
	return "100"
}

// showProgress shows how many of the packages are compiled, and returns what else go has said, when it has ended.
func (p programs) showProgress(ctx context.Context, missing []string, stderr io.Reader) (other []byte) {
	known := map[string]bool{}
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-deps"}, missing...)...)
	list.Dir = p.module()
	if output, err := list.Output(); err == nil {
		for name := range bytes.Lines(output) {
			known[string(bytes.TrimSpace(name))] = true
		}
	}
	var bar *progressbar.ProgressBar
	if term.IsTerminal(int(os.Stderr.Fd())) {
		bar = progressbar.NewOptions(len(known), progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetDescription("Packages"),
			progressbar.OptionShowCount(), progressbar.OptionSetElapsedTime(true), progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(500*time.Millisecond), progressbar.OptionSetRenderBlankState(true),
			progressbar.OptionClearOnFinish())
		defer bar.Finish()
	}
	start := time.Now()
	next, done := start.Add(time.Minute), 0
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if !known[lines.Text()] {
			other = append(append(other, lines.Bytes()...), '\n')
			continue
		}
		done++
		switch now := time.Now(); {
		case bar != nil:
			bar.Add(1)
		case now.After(next):
			say("  %d of %d packages after %s.", done, len(known), minutes(now.Sub(start)))
			next = next.Add(time.Minute)
		}
	}
	io.Copy(io.Discard, stderr) // behind a line that is too long; or go would wait for a reader
	return other
}

// minutes prints a duration as 6:32.
func minutes(d time.Duration) string {
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}
