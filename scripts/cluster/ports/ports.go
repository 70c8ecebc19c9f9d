// Package ports chooses the TCP ports of a local cluster.
package ports

import (
	"fmt"
	"hash/fnv"
	"net"
	"reflect"
	"slices"
	"time"
)

// Ports are the ports of a local cluster, all on 127.0.0.1.
type Ports struct {
	Etcd, EtcdPeer, APIServer, ControllerManager, Scheduler, Kwok int
}

// Below 32768, where systems begin to hand out ports of their own.
const (
	firstPort = 20000
	blocks    = 1500
	blockSize = 8
)

// Of returns the ports of the cluster in a folder, a path without symbolic links. They come from the path, so that a
// cluster that is stopped for a while finds its own again, and two clusters seldom want the same; try counts up where they
// do.
func Of(folder string, try int) Ports {
	first := firstPort + blockSize*int((uint64(Number(folder))+uint64(try))%blocks)
	return Ports{APIServer: first, Etcd: first + 1, EtcdPeer: first + 2,
		ControllerManager: first + 3, Scheduler: first + 4, Kwok: first + 5}
}

// Number turns a folder's path into a number, which distinguishes its cluster from the others on the machine.
func Number(folder string) uint32 {
	hash := fnv.New32a()
	hash.Write([]byte(folder))
	return hash.Sum32()
}

// List returns all ports that are known.
func (p Ports) List() []int {
	var all []int
	for _, field := range reflect.ValueOf(p).Fields() {
		if port := int(field.Int()); port != 0 {
			all = append(all, port)
		}
	}
	return all
}

// AllFree waits until programs could listen at all these ports, and gives up after that time.
func AllFree(ports []int, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); slices.ContainsFunc(ports, Taken); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Taken reports whether a program listens at this port.
func Taken(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return true
	}
	listener.Close()
	return false
}
