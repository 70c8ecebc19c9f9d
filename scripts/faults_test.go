package scripts_test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// in returns a cluster in a folder of the test's choice.
func (c *cluster) in(folder string) *cluster {
	other := *c
	other.folder = folder
	other.env = append(append([]string{}, c.env...), "CLUSTER_DIR="+folder)
	return &other
}

// refused checks that a script ends with one line, and code 1.
func refused(t *testing.T, got result, want ...string) {
	t.Helper()
	if got.code != 1 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("got %+v, want one line and code 1", got)
	}
	for _, text := range want {
		if !strings.Contains(got.stderr, text) {
			t.Errorf("%q is not in %q", text, got.stderr)
		}
	}
}

// asRoot skips a test that only root can make the conditions for.
func asRoot(t *testing.T, what string, err error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("only root can %s", what)
	}
	if err != nil {
		t.Fatalf("root cannot %s: %v", what, err)
	}
}

// mount mounts something for this test.
func mount(t *testing.T, arguments ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		asRoot(t, "mount", nil)
	}
	target := arguments[len(arguments)-1]
	output, err := exec.Command("mount", arguments...).CombinedOutput()
	if err != nil {
		t.Skipf("this machine lets nobody mount: %s", output)
	}
	t.Cleanup(func() { exec.Command("umount", target).Run() })
}

func TestAFolderThatCannotBeMadeIsSaid(t *testing.T) {
	c := newCluster(t)
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		write(t, file, "precious")
		refused(t, run(t, c.in(file).env, "./cluster-up.sh"), file, "is a file")
		refused(t, run(t, c.in(file).env, "./cluster-down.sh"), file, "is a file")
		refused(t, run(t, c.in(filepath.Join(file, "x")).env, "./cluster-up.sh"), "not a directory")
	})
	t.Run("a link to nowhere", func(t *testing.T) {
		folder := t.TempDir()
		link := filepath.Join(folder, "link")
		if err := os.Symlink(filepath.Join(folder, "gone"), link); err != nil {
			t.Fatal(err)
		}
		refused(t, run(t, c.in(link).env, "./cluster-up.sh"), link, "does not exist")
	})
	t.Run("a disk that cannot be written", func(t *testing.T) {
		folder := t.TempDir()
		mount(t, "-t", "tmpfs", "-o", "ro", "none", folder)
		refused(t, run(t, c.in(filepath.Join(folder, "x")).env, "./cluster-up.sh"), "read-only", "set CLUSTER_DIR")
	})
	t.Run("another user's", func(t *testing.T) {
		folder := t.TempDir()
		asRoot(t, "give a folder away", os.Chown(folder, 12345, -1))
		refused(t, run(t, c.in(folder).env, "./cluster-up.sh"), "belongs to another user")
		refused(t, run(t, c.in(folder).env, "./cluster-down.sh"), "belongs to another user")
	})
	if strays := run(t, nil, "bash", "-c", "ls -d /type /kwokctl.log /.kwok /tmp/kwok 2>/dev/null"); strays.stdout != "" {
		t.Errorf("files in the wrong place: %s", strays.stdout)
	}
}

func TestDownRemovesNothingThatUpHasNotMade(t *testing.T) {
	c := newCluster(t)
	foreign := c.in(filepath.Join(t.TempDir(), "foreign"))
	write(t, filepath.Join(foreign.folder, "thesis.txt"), "precious")
	for _, script := range []string{"./cluster-down.sh", "./cluster-up.sh"} {
		refused(t, run(t, foreign.env, script), foreign.folder, "is not a cluster of the workbook")
	}
	if got, err := os.ReadFile(filepath.Join(foreign.folder, "thesis.txt")); err != nil || string(got) != "precious" {
		t.Errorf("%q, %v", got, err)
	}

	// In a cluster's own folder, too, and through a link to it.
	target, link := filepath.Join(t.TempDir(), "big disk"), filepath.Join(t.TempDir(), "link")
	if err := os.Mkdir(target, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	linked := c.in(link)
	linked.run(t, "./cluster-up.sh")
	write(t, filepath.Join(target, "notes.txt"), "precious")
	linked.run(t, "./cluster-down.sh")
	entries, err := os.ReadDir(target)
	if err != nil || len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("left: %v, %v", entries, err)
	}
	if err := os.Remove(filepath.Join(target, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	linked.run(t, "./cluster-up.sh")
	linked.run(t, "./cluster-down.sh")
}

// block is the number of the ports that a folder's cluster tries first, as scripts/cluster/ports.go has it.
func block(folder string) uint32 {
	hash := fnv.New32a()
	hash.Write([]byte(folder))
	return hash.Sum32() % 1500
}

// TestTwoUsersAtOnce starts two clusters at the same time that want the same ports, with nothing in common that they
// could lock: two users of one machine.
func TestTwoUsersAtOnce(t *testing.T) {
	c := newCluster(t)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	one := c.in(filepath.Join(base, "one"))
	two := one
	for i := 0; two == one || block(two.folder) != block(one.folder); i++ {
		two = c.in(filepath.Join(base, fmt.Sprint("two", i)))
	}
	var group sync.WaitGroup
	for i, user := range []*cluster{one, two} {
		user.env = append(user.env, "TMPDIR="+t.TempDir()) // another place for locks
		t.Cleanup(func() { run(t, user.env, "./cluster-down.sh") })
		group.Go(func() {
			if output, err := command(user.env, "./cluster-up.sh").CombinedOutput(); err != nil {
				t.Errorf("user %d: %v: %s", i, err, output)
			}
		})
	}
	group.Wait()
	for _, user := range []*cluster{one, two} {
		user.isWhole(t)
		user.mark(t)
	}
	if one.address(t) == two.address(t) {
		t.Errorf("both are at %s", one.address(t))
	}
}

// A port other than the API server's is taken by a program that starts to listen after the ports were looked at.
func TestATakenPortIsNoFailure(t *testing.T) {
	c := newCluster(t)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+8*block(c.folder)+1)) // etcd's
	if err != nil {
		t.Skipf("another program has the port: %v", err)
	}
	defer listener.Close()
	c.run(t, "./cluster-up.sh")
	c.isWhole(t)
}

func TestTheCauseOfAFailedStartIsNamed(t *testing.T) {
	c := newCluster(t)
	t.Run("a full disk", func(t *testing.T) {
		folder := t.TempDir()
		mount(t, "-t", "tmpfs", "-o", "size=5m", "none", folder)
		full := c.in(folder)
		t.Cleanup(func() { run(t, full.env, "./cluster-down.sh") })
		got := run(t, full.env, "./cluster-up.sh")
		if lines := strings.Split(strings.TrimSpace(got.stderr), "\n"); got.code != 1 || !strings.Contains(lines[len(lines)-1], "is full") {
			t.Errorf("got %+v, want that the disk is full", got)
		}
		if pids := full.processes(t); len(pids) != 0 {
			t.Errorf("still running: %v", pids)
		}
	})
	t.Run("too few files", func(t *testing.T) {
		few := c.in(filepath.Join(t.TempDir(), "few"))
		t.Cleanup(func() { run(t, few.env, "./cluster-down.sh") })
		got := run(t, few.env, "bash", "-c", "ulimit -n 64 && ./cluster-up.sh")
		if got.code != 1 || !strings.Contains(got.stderr, "ulimit -n") {
			t.Errorf("got %+v, want that it may open too few files", got)
		}
	})
}

func TestStrangePaths(t *testing.T) {
	c := newCluster(t)
	for _, name := range []string{`a,b`, `O'Brien "ü" [x]*`, `$HOME%d&;`} {
		t.Run(name, func(t *testing.T) {
			base, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			strange := c.in(filepath.Join(base, name))
			t.Cleanup(func() { run(t, strange.env, "./cluster-down.sh") })
			strange.run(t, "./cluster-up.sh")
			strange.isWhole(t)
			strange.run(t, "./cluster-down.sh")
			if _, err := os.Stat(strange.folder); err == nil {
				t.Errorf("%s is still there", strange.folder)
			}
		})
	}
}

// The programs may be somebody else's, in a folder that this user can only read; locks have their own place.
func TestACacheThatCannotBeWritten(t *testing.T) {
	c := newCluster(t)
	programs := strings.TrimSpace(c.run(t, "./cluster.sh", "programs"))
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.MkdirAll(filepath.Join(cache, "client-go-workbook"), 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "--bind", filepath.Dir(programs), filepath.Join(cache, "client-go-workbook"))
	if output, err := exec.Command("mount", "-o", "remount,ro,bind", filepath.Join(cache, "client-go-workbook")).CombinedOutput(); err != nil {
		t.Skipf("this machine lets nobody mount: %s", output)
	}
	readOnly := c.in(filepath.Join(t.TempDir(), "c"))
	readOnly.env = append(readOnly.env, "XDG_CACHE_HOME="+cache)
	t.Cleanup(func() { run(t, readOnly.env, "./cluster-down.sh") })
	if got := readOnly.run(t, "./cluster-up.sh"); strings.Contains(got, "Permission denied") || strings.Contains(got, "Waiting for another") {
		t.Errorf("it said %q", got)
	}
	readOnly.isWhole(t)

	empty := t.TempDir()
	mount(t, "-t", "tmpfs", "-o", "ro", "none", empty)
	refusing := c.in(filepath.Join(t.TempDir(), "c"))
	refusing.env = append(refusing.env, "XDG_CACHE_HOME="+empty)
	t.Cleanup(func() { run(t, refusing.env, "./cluster-down.sh") })
	refused(t, run(t, refusing.env, "./cluster-up.sh"), "set XDG_CACHE_HOME")
}

// Nothing but what the README asks for is on this PATH.
func TestABareMachineHasAllThatIsNeeded(t *testing.T) {
	c := newCluster(t)
	path := t.TempDir()
	for _, name := range needed {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	bare := c.in(c.folder)
	bare.env = append(bare.env, "PATH="+path)
	for _, arguments := range [][]string{
		{"make", "doctor"}, {"make", "cluster"}, {"make", "cluster-status"}, {"make", "samples"}, {"make", "diff", "2"},
		{"scripts/kubectl", "get", "nodes"}, {"scripts/apiserver.sh", "stop"}, {"scripts/apiserver.sh", "start"},
		{"make", "chapter", "1", "ARGS=--duration 1s"}, {"make", "cluster-down"},
	} {
		// /usr/bin/env in the scripts' first lines is an absolute path, as it is everywhere.
		cmd := command(bare.env, filepath.Join(path, "bash"), "-c", `cd .. && "$@"`, "bash")
		cmd.Args = append(cmd.Args, arguments...)
		if output, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(output), "command not found") {
			t.Errorf("%v: %v: %s", arguments, err, output)
		}
	}
}

// needed are the programs that the README asks for: Go, git, make, and what every Linux and macOS has.
var needed = strings.Fields("go git make bash sh awk basename cat cmp cut df dirname env find grep head ls mkdir mktemp paste rm sed sort tr uname wc xargs")

var starts = flag.Int("starts", 1, "how many clusters TestStartsUnderLoad starts, one after the other")

// oneCore keeps a core busy, and ends by itself after some minutes: a test that is killed leaves nothing behind for long.
const oneCore = "{ i=0; while [ $i -lt 100000000 ]; do i=$((i+1)); done; } & "

// TestStartsUnderLoad starts clusters beside eight processes that each want a core.
func TestStartsUnderLoad(t *testing.T) {
	c := newCluster(t)
	for i := range *starts {
		busy := exec.Command("sh", "-c", oneCore+oneCore+oneCore+oneCore+oneCore+oneCore+oneCore+oneCore+"wait")
		busy.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := run(t, c.env, "./cluster-up.sh")
		syscall.Kill(-busy.Process.Pid, syscall.SIGKILL)
		busy.Wait()
		if got.code != 0 {
			t.Errorf("start %d of %d: %+v", i+1, *starts, got)
		} else {
			t.Logf("start %d of %d: up after %.1f s", i+1, *starts, time.Since(start).Seconds())
			c.isWhole(t)
		}
		c.run(t, "./cluster-down.sh")
	}
}
