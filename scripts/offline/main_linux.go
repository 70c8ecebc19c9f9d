// Command offline runs a command on a machine without a network: in a network namespace that has its own loopback and
// nothing else. What listens outside is not reached from there, 127.0.0.1 included.
//
//	go run ./scripts/offline make cluster
//
// It takes root, or a system that lets everybody make user namespaces.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// inside is set in the namespace, where this program becomes the command.
const inside = "WORKBOOK_OFFLINE"

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("usage: offline COMMAND [ARGUMENT...]"))
	}
	if os.Getenv(inside) != "" {
		os.Unsetenv(inside)
		if err := loopbackUp(); err != nil {
			fail(fmt.Errorf("the loopback of the network namespace does not come up: %w", err))
		}
		program, err := exec.LookPath(os.Args[1])
		if err != nil {
			fail(err)
		}
		fail(syscall.Exec(program, os.Args[1:], os.Environ()))
	}
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if user := os.Getuid(); user != 0 {
		// In a user namespace anybody may make one. The user stays who it is.
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: user, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // for the loopback
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // Ctrl-C ends the command, and so this program
	err = cmd.Start()
	if errors.Is(err, os.ErrPermission) {
		fail(fmt.Errorf("this machine lets this user make no network namespace (%w): "+
			"become root, or allow user namespaces (sysctl user.max_user_namespaces)", err))
	} else if err != nil {
		fail(err)
	}
	_ = cmd.Wait() // ProcessState has what it returns
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		os.Exit(code)
	}
	fail(errors.New(cmd.ProcessState.String()))
}

// loopbackUp does what `ip link set lo up` does.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "offline:", err)
	os.Exit(125)
}
