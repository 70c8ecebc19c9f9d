package scripts_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"example.com/client-go-workbook/internal/test/testkit"
	"example.com/client-go-workbook/scripts/cluster/ports"
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

// mount mounts something for this test, or skips it.
func mount(t *testing.T, arguments ...string) {
	t.Helper()
	if err := tryMount(t, arguments...); err != nil {
		t.Skipf("this machine lets nobody mount: %v", err)
	}
}

// tryMount mounts something for this test. Only root can, and in a container not even root.
func tryMount(t *testing.T, arguments ...string) error {
	t.Helper()
	target := arguments[len(arguments)-1]
	if output, err := exec.Command("mount", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	t.Cleanup(func() {
		// The system closes the files of a killed process a little later than it ends.
		testkit.Await(t, "umount "+target, func() bool { return exec.Command("umount", target).Run() == nil })
	})
	return nil
}

func TestAFolderThatCannotBeMadeIsSaid(t *testing.T) {
	t.Parallel()
	c := noCluster(t)
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

func TestAForeignFolderStaysAsItIs(t *testing.T) {
	t.Parallel()
	c := noCluster(t)
	foreign := c.in(filepath.Join(t.TempDir(), "foreign"))
	write(t, filepath.Join(foreign.folder, "thesis.txt"), "precious")
	write(t, filepath.Join(foreign.folder, "test-kind", "type"), "local\n") // nor does a cluster of the tests beside it help
	for _, script := range []string{"./cluster-down.sh", "./cluster-up.sh"} {
		refused(t, run(t, foreign.env, script), foreign.folder, "is not a cluster of the workbook")
	}
	if got, err := os.ReadFile(filepath.Join(foreign.folder, "thesis.txt")); err != nil || string(got) != "precious" {
		t.Errorf("%q, %v", got, err)
	}
}

// twoUsersAtOnce starts two clusters at the same time that want the same ports, with nothing in common that they could lock: two users
// of one machine. Another program has one of these ports. The first user calls up twice at once. The second one can only read the
// programs, which are the first one's, and his cluster's folder is on another disk, behind a link.
func twoUsersAtOnce(t *testing.T, one *cluster) {
	two, disk := one.in(filepath.Join(t.TempDir(), "link")), ""
	for i := 0; disk == "" || ports.Of(disk, 0) != ports.Of(one.folder, 0); i++ {
		disk = filepath.Join(filepath.Dir(one.folder), fmt.Sprint("big disk ", i))
	}
	if err := errors.Join(os.Mkdir(disk, 0o755), os.Symlink(disk, two.folder)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(disk) })
	two.env = append(two.env, "TMPDIR="+t.TempDir()) // another place for locks
	if cache := readOnlyCache(t, one); cache != "" {
		two.env = append(two.env, "XDG_CACHE_HOME="+cache)
	}
	t.Cleanup(func() { run(t, two.env, "./cluster-down.sh") })
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", ports.Of(disk, 0).Etcd))
	if err == nil { // or another program has it already
		defer listener.Close()
	}
	write(t, filepath.Join(one.folder, "test-kind", "type"), "local\n") // The first has run the tests before.
	var group sync.WaitGroup
	said := map[*cluster]*testkit.Buffer{one: {}, two: {}}
	for _, user := range []*cluster{one, one, two} {
		group.Go(func() {
			output, err := command(user.env, "./cluster-up.sh").CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v: %s", user.folder, err, output)
			}
			_, _ = said[user].Write(output)
		})
	}
	group.Wait()
	if n := strings.Count(said[one].String(), "Starting a local cluster"); n != 1 {
		t.Errorf("%d clusters of the first user started:\n%s", n, said[one])
	}
	if err := os.RemoveAll(filepath.Join(one.folder, "test-kind")); err != nil {
		t.Fatal(err)
	}
	if got := said[two].String(); strings.Contains(got, "Permission denied") || strings.Contains(got, "Waiting for another") {
		t.Errorf("the second user was told %q", got)
	}
	one.isWhole(t)
	two.in(disk).isWhole(t)
	if one.address(t) == two.address(t) {
		t.Errorf("both are at %s", one.address(t))
	}

	write(t, filepath.Join(disk, "notes.txt"), "precious")
	two.run(t, "./cluster-down.sh")
	if entries, err := os.ReadDir(disk); err != nil || len(entries) != 1 || entries[0].Name() != "notes.txt" {
		t.Errorf("the second user's folder has %v, %v", entries, err)
	}
	if pids := two.in(disk).processes(t); len(pids) != 0 {
		t.Errorf("the second user's processes: %v", pids)
	}
	one.isWhole(t)
}

// readOnlyCache returns a folder for $XDG_CACHE_HOME with the programs, in which nothing can be written; none where nobody may mount.
func readOnlyCache(t *testing.T, c *cluster) string {
	t.Helper()
	cache := t.TempDir()
	mounted := filepath.Join(cache, "client-go-workbook")
	if err := os.Mkdir(mounted, 0o755); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Dir(strings.TrimSpace(c.run(t, "./cluster.sh", "programs")))
	if err := tryMount(t, "--bind", programs, mounted); err != nil {
		t.Logf("the cache is not read-only: %v", err)
		return ""
	}
	if output, err := exec.Command("mount", "-o", "remount,ro,bind", mounted).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return cache
}

func isLeftAlone(t *testing.T, c *cluster) {
	if got := run(t, c.env, "./cluster-up.sh"); got != (result{}) {
		t.Errorf("on a cluster that is up: %+v, want nothing", got)
	}
	other := append(c.env, "CLUSTER=kind")
	want := result{"", "There is a local cluster already: unset CLUSTER, or run make cluster-down, then CLUSTER=kind make cluster.\n", 1}
	if got := run(t, other, "./cluster-up.sh"); got != want {
		t.Errorf("CLUSTER=kind: got %+v, want %+v", got, want)
	}
	if got := c.run(t, "./kubectl", "config", "get-contexts", "-o", "name"); got != "workbook\n" {
		t.Errorf("contexts %q, want workbook", got)
	}
	if got := c.run(t, "./kubectl", "config", "current-context"); got != "workbook\n" {
		t.Errorf("current context %q, want workbook", got)
	}
}

func (c *cluster) leavesNothing(t *testing.T) {
	address := c.address(t)

	c.run(t, "./cluster-down.sh")
	if pids := c.processes(t); len(pids) != 0 {
		t.Errorf("still running: %v", pids)
	}
	if connection, err := net.Dial("tcp", address); err == nil {
		connection.Close()
		t.Errorf("something still answers at %s", address)
	}
	if _, err := os.Stat(c.folder); err == nil {
		t.Errorf("%s is still there", c.folder)
	}
	entries, err := os.ReadDir(c.home)
	for _, entry := range entries {
		if entry.Name() != ".config" { // go's own
			t.Errorf("in the home folder: %v", entry)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

func theCauseOfAFailedStartIsNamed(t *testing.T) {
	c := noCluster(t)
	t.Run("a full disk", func(t *testing.T) {
		folder := t.TempDir()
		mount(t, "-t", "tmpfs", "-o", "size=5m", "none", folder)
		full := c.in(folder)
		t.Cleanup(func() { run(t, full.env, "./cluster-down.sh") })
		got := run(t, full.env, "./cluster-up.sh")
		if lines := strings.Split(strings.TrimSpace(got.stderr), "\n"); got.code != 1 || !strings.Contains(lines[len(lines)-1], "is full") {
			t.Errorf("got %+v, want that the disk is full", got)
		}
		// It has data of etcd's by now, but never was up.
		first := "Starting a local cluster: Kubernetes "
		if again := run(t, full.env, "./cluster-up.sh"); !strings.HasPrefix(again.stderr, first) {
			t.Errorf("the second time: %+v, want %q", again, first)
		}
		if pids := full.processes(t); len(pids) != 0 {
			t.Errorf("still running: %v", pids)
		}
	})
	t.Run("a disk that is full before a repair", func(t *testing.T) {
		folder := t.TempDir()
		mount(t, "-t", "tmpfs", "-o", "size=1m", "none", folder)
		full := c.in(folder)
		write(t, filepath.Join(folder, "type"), "local workbook "+folder+"\n")
		if err := os.WriteFile(filepath.Join(folder, "kwokctl.log"), make([]byte, 2<<20), 0o600); err == nil {
			t.Fatal("there is room for 2 MB on a disk of 1 MB")
		}
		refused(t, run(t, full.env, "./cluster-up.sh"), "The disk of "+folder+" is full: free some, then run make cluster.")
	})
	t.Run("a disk without room for the keys", func(t *testing.T) {
		folder := t.TempDir()
		mount(t, "-t", "tmpfs", "-o", "size=60k", "none", folder)
		full := c.in(folder)
		t.Cleanup(func() { run(t, full.env, "./cluster-down.sh") })
		want := "The disk of " + folder + " is full: free some, then run make cluster.\n"
		if got := run(t, full.env, "./cluster-up.sh"); got.code != 1 || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("got %+v, want %q", got, want)
		}
	})
	t.Run("too few files", func(t *testing.T) {
		few := c.in(filepath.Join(t.TempDir(), "few"))
		t.Cleanup(func() { run(t, few.env, "./cluster-down.sh") })
		if got := run(t, few.env, "bash", "-c", "ulimit -n 128 && ./doctor.sh"); toCorrect(got.stdout) != "open files" {
			t.Errorf("make doctor: %+v", got)
		}
		got := run(t, few.env, "bash", "-c", "ulimit -n 128 && ./cluster-up.sh")
		if got.code != 1 || !strings.Contains(got.stderr, "ulimit -Hn") {
			t.Errorf("got %+v, want that it may open too few files", got)
		}
	})
	t.Run("a cache that nobody can write", func(t *testing.T) {
		empty := t.TempDir()
		mount(t, "-t", "tmpfs", "-o", "ro", "none", empty)
		refusing := c.in(filepath.Join(t.TempDir(), "c"))
		refusing.env = append(refusing.env, "XDG_CACHE_HOME="+empty)
		t.Cleanup(func() { run(t, refusing.env, "./cluster-down.sh") })
		refused(t, run(t, refusing.env, "./cluster-up.sh"), "set XDG_CACHE_HOME")
	})
}

// killedUp kills cluster-up, and what it has started itself, as soon as etcd runs.
func (c *cluster) killedUp(t *testing.T) {
	t.Helper()
	up := command(c.env, "./cluster-up.sh")
	up.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "etcd runs", func() bool { return c.processes(t)["etcd"] != 0 })
	err := syscall.Kill(-up.Process.Pid, syscall.SIGKILL)
	if pid := c.find(t, "kwokctl")["kwokctl"]; pid != 0 { // it is in a session of its own
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = up.Wait()
}
