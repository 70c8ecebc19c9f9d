package main

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"time"
)

// ports are the TCP ports of a local cluster, all on 127.0.0.1.
type ports struct {
	Etcd, EtcdPeer, APIServer, ControllerManager, Scheduler, Kwok int
}

// Below 32768, where systems begin to hand out ports of their own.
const (
	firstPort  = 20000
	portBlocks = 1500
	blockSize  = 8
)

// portsOf returns a cluster's ports. They come from its number, so that a cluster that is stopped for a while finds its
// own again, and two clusters seldom want the same; try counts up where they do.
func portsOf(number uint32, try int) ports {
	first := firstPort + blockSize*int((uint64(number)+uint64(try))%portBlocks)
	return ports{APIServer: first, Etcd: first + 1, EtcdPeer: first + 2, ControllerManager: first + 3, Scheduler: first + 4, Kwok: first + 5}
}

// list returns all ports that are known.
func (p ports) list() []int {
	var all []int
	for _, field := range reflect.ValueOf(p).Fields() {
		if port := int(field.Int()); port != 0 {
			all = append(all, port)
		}
	}
	return all
}

// allFree waits until programs could listen at all these ports, and gives up after that time.
func allFree(ports []int, patience time.Duration) bool {
	for deadline := time.Now().Add(patience); slices.ContainsFunc(ports, taken); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// taken reports whether a program listens at this port.
func taken(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return true
	}
	listener.Close()
	return false
}
