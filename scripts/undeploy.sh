#!/usr/bin/env bash
# Removes what deploy.sh has put on the cluster, with the CRD and so all DatabaseManagers. They are deleted while the
# controller runs: it removes their finalizers. For one that does not run, or not well, this does it.
set -euo pipefail
. "$(dirname "$0")/lib.sh"

export KUBERC=off # the reader's ~/.kube/kuberc is for his own calls
require_kind
kubectl=$scripts/kubectl

# databases: a line for each DatabaseManager: namespace, name, and the position of the controller's finalizer if it has one.
databases() {
	# shellcheck disable=SC2016 # it is a template: its variables are not the shell's
	"$kubectl" get databasemanagers.coolops.cn -A -o go-template='{{range .items}}{{$o := .metadata}}{{$o.namespace}} {{$o.name}}{{
		range $i, $f := $o.finalizers}}{{if eq $f "coolops.cn/retain"}} {{$i}}{{end}}{{end}}{{"\n"}}{{end}}'
}

# children: a line for each object that a DatabaseManager owns.
children() {
	"$kubectl" get deployments,services,secrets,persistentvolumeclaims -A -l app.kubernetes.io/managed-by=databasemanager-controller \
		-o go-template='{{range .items}}{{if .metadata.ownerReferences}}{{.kind}} {{.metadata.name}}{{"\n"}}{{end}}{{end}}'
}

timeout=1m
# A CRD that an earlier undeploy has deleted can go at any moment, and with it what is asked here.
if [ -n "$("$kubectl" get crd databasemanagers.coolops.cn --ignore-not-found -o name)" ]; then
	"$kubectl" delete databasemanagers.coolops.cn --all -A --wait=false || true
	ready=$("$kubectl" get deployments,statefulsets -n databasemanager-system -o jsonpath='{.items[*].status.readyReplicas}')
	if [ -n "$ready" ]; then
		for _ in {1..30}; do
			[ -n "$(databases 2>/dev/null | awk 'NF == 3')" ] || break
			sleep 1
		done
	fi
	while read -r namespace name position; do
		[ -n "$position" ] || continue
		say "No controller has removed the finalizer of $namespace/$name: it is removed here."
		at=/metadata/finalizers/$position
		"$kubectl" patch databasemanagers.coolops.cn "$name" -n "$namespace" --type=json -p \
			"[{\"op\":\"test\",\"path\":\"$at\",\"value\":\"coolops.cn/retain\"},{\"op\":\"remove\",\"path\":\"$at\"}]" >/dev/null ||
			true # it is gone by now
	done < <(databases)
	# The garbage collector looks for new types every 30 seconds. If a type is deleted before, it never deletes the children
	# of its objects: it cannot find out that the owner is gone.
	for _ in {1..60}; do
		if [ -n "$(databases)" ] || [ -z "$(children)" ]; then break; fi
		sleep 1
	done
	[ -z "$(databases)" ] || timeout=10s # the CRD cannot go: its DatabaseManagers have finalizers of others
fi
if ! "$kubectl" delete -k "$root/06-crd-codegen/deploy" --ignore-not-found --timeout="$timeout"; then
	left=$(databases 2>/dev/null | cut -d ' ' -f 1,2 | tr ' \n' '/ ' || true)
	[ -z "$left" ] || say "These DatabaseManagers have finalizers of others: $left"
	fail "Not all is gone yet: run make undeploy again."
fi
kept=$("$kubectl" get deployments -A -l app.kubernetes.io/managed-by=databasemanager-controller -o go-template='{{
	range .items}}{{if not .metadata.ownerReferences}}{{.metadata.namespace}}/{{.metadata.name}} {{end}}{{end}}')
[ -z "$kept" ] || say "Kept, because of deletionPolicy Retain, with Secret, Service and claim: $kept"
