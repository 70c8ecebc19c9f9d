package main

import (
	"context"
)

// apiserver stops the local cluster's API server, and only that, or starts it again: to see what its clients do.
func (c *cluster) apiserver(ctx context.Context, arguments []string) error {
	switch c.clusterType() {
	case "":
		return message("There is no local cluster here: run CLUSTER=local make cluster.")
	case "kind":
		return message("The API server of a kind cluster cannot be stopped alone: run make cluster-down, then CLUSTER=local make cluster.")
	}
	if len(arguments) != 1 || arguments[0] != "stop" && arguments[0] != "start" {
		return usageError("usage: scripts/apiserver.sh stop|start")
	}
	if err := c.checkOurs(); err != nil {
		return err
	}
	unlock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	l := c.local()
	if arguments[0] == "stop" {
		if err := l.stop("kube-apiserver"); err != nil {
			return err
		}
		say("The API server is stopped. scripts/apiserver.sh start starts it again.")
		return nil
	}
	patience := 8 * silence
	if l.running()["kube-apiserver"] != 0 {
		patience = 2 * silence
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = l.wait(patient, l.logs(), "the API server to be ready", nil)
	if err != nil && patient.Err() != nil && ctx.Err() == nil { // it stands still, or its etcd does
		say("The API server is not ready: starting all of the cluster again.")
		p := newPrograms(c.root, c.cache)
		if err = p.build(ctx); err == nil {
			err = l.startAll(ctx, p)
		}
	}
	if err != nil {
		return err
	}
	say("The API server runs.")
	return nil
}
