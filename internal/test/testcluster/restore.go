package testcluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/shirou/gopsutil/v4/process"

	"example.com/client-go-workbook/internal/test/testkit"
)

// SaveEtcd copies etcd's data, and returns the copy's path. etcd stands still meanwhile, so the copy is what it would find
// after a crash at this moment.
func (c *Cluster) SaveEtcd(t testing.TB) (saved string) {
	t.Helper()
	saved = filepath.Join(t.TempDir(), "etcd")
	pid := c.etcdPID()
	c.kill(t, pid, syscall.SIGSTOP)
	defer c.kill(t, pid, syscall.SIGCONT)
	if output, err := exec.Command("cp", "-Rp", c.etcd()+"/.", saved).CombinedOutput(); err != nil {
		t.Fatalf("copying etcd's data: %v: %s", err, output)
	}
	return saved
}

// RestoreEtcd stops the API server and etcd, puts back what SaveEtcd has copied, which it can do once, and starts them again,
// at the same ports. New resourceVersions then follow those of the copy. The controller manager and the scheduler run on, and
// their informers hang.
func (c *Cluster) RestoreEtcd(t testing.TB, saved string) {
	t.Helper()
	c.StopAPIServer(t)
	c.kill(t, c.etcdPID(), syscall.SIGKILL)
	testkit.Await(t, "the end of etcd", func() bool { return c.etcdPID() == 0 })
	if err := os.RemoveAll(c.etcd()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(saved, c.etcd()); err != nil {
		t.Fatal(err)
	}
	c.StartAPIServer(t) // and etcd
}

func (c *Cluster) etcd() string { return filepath.Join(c.dir, ".kwok", "clusters", "workbook", "etcd") }

// etcdPID returns the process id of this cluster's etcd, or 0 if it does not run. It is found by its arguments, as the scripts
// find it: a file with the process id is old after a restart.
func (c *Cluster) etcdPID() int {
	all, _ := process.Processes()
	for _, p := range all {
		arguments, _ := p.CmdlineSlice() // fails if it has just ended
		if len(arguments) > 0 && filepath.Base(arguments[0]) == "etcd" && slices.Contains(arguments, "--data-dir="+c.etcd()) {
			return int(p.Pid)
		}
	}
	return 0
}

func (c *Cluster) kill(t testing.TB, pid int, signal syscall.Signal) {
	t.Helper()
	if pid == 0 {
		t.Fatal("etcd does not run")
	}
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatalf("sending %s to etcd: %v", signal, err)
	}
}
