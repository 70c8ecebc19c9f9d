package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
)

// audit prints the API server's audit log, a line of JSON for each request. audit.yaml says for which. The file before the
// current one comes first: audit-2026-01-02T03-04-05.678.log, audit.log.
func (c *cluster) audit(ctx context.Context) error {
	none := fmt.Sprintf("The %s cluster is older than its audit log: run make cluster-down, then make cluster.", c.clusterType())
	switch c.clusterType() {
	case "kind":
		provider, _, err := kindProvider(ctx)
		if err != nil {
			return err
		}
		all, err := provider.ListNodes(c.kindName())
		if err != nil {
			return err
		}
		nodes, err := nodeutils.ControlPlaneNodes(all)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			if node.CommandContext(ctx, "sh", "-c", "cat /var/log/kubernetes/audit*.log").SetStdout(os.Stdout).Run() != nil {
				return message(cmp.Or(c.missing(ctx), none))
			}
		}
		return nil
	case "local":
		files, err := filepath.Glob(filepath.Join(escapeGlob(c.local().folder), "logs", "audit*.log"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			return message(cmp.Or(c.missing(ctx), none))
		}
		for _, name := range files {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer file.Close()
			if _, err := io.Copy(os.Stdout, file); err != nil {
				return err
			}
		}
		return nil
	}
	return message(c.missing(ctx))
}
