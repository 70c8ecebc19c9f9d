# shellcheck shell=bash disable=SC2154,SC2034 # its variables come from lib.sh, and cluster-up.sh uses some
# The kind cluster: Kubernetes in a container, with a kubelet that runs containers. cluster-up.sh and
# cluster-down.sh source this.

# image: the node image, pinned in kind-config.yaml; KIND_NODE_IMAGE takes another.
image=${KIND_NODE_IMAGE-}
image=${image:-$(sed -n 's/^ *image: *//p' "$root/kind-config.yaml" | head -n 1)}

# choose: sets type to kind where a container runtime can run it, else to local, and says why.
choose() {
	local runtime
	runtime=$(container_runtime)
	type=local
	if [ -z "$runtime" ]; then
		say "Choosing the local cluster: neither Docker nor Podman answers (CLUSTER=kind|local decides)."
	elif has_image "$runtime" || pull_image "$runtime"; then
		type=kind
		say "Choosing a kind cluster: $runtime answers and has the node image (CLUSTER=kind|local decides)."
	else
		say "Choosing the local cluster: $runtime answers, but the node image cannot be pulled (CLUSTER=kind|local decides)."
	fi
}

has_image() { "$1" image inspect "$image" >/dev/null 2>&1; }

pull_image() {
	say "Pulling kind's node image with $1, for 5 minutes at most: $image"
	within 300 "$1" pull -q "$image" >/dev/null
}

# kind_runtime: sets runtime to the one that answers, and tells kind.
kind_runtime() {
	runtime=$(container_runtime)
	if [ -z "$runtime" ]; then
		fail "The kind cluster needs Docker or Podman, and neither answers: start one, or run make cluster-down and CLUSTER=local make cluster."
	fi
	[ "$runtime" = docker ] || export KIND_EXPERIMENTAL_PROVIDER=$runtime
}

kind_bring_up() {
	local runtime name containers
	kind_runtime
	name=$(kind_name)
	"$scripts/localcluster/build.sh" kubectl >/dev/null || exit 1
	containers=$("$runtime" ps -aq --filter "label=io.x-k8s.kind.cluster=$name")
	if [ -n "$containers" ] && [ "$(cluster_type)" = kind ]; then
		say "The kind cluster does not answer: starting its containers again."
		# shellcheck disable=SC2086
		if "$runtime" start $containers >/dev/null && kind_settle "$name"; then
			say "The cluster is up again, its objects are still there."
			return
		fi
		say "The cluster cannot be repaired: making a new one. The objects in it are lost."
	elif [ "$(cluster_type)" = kind ]; then
		say "The kind cluster's containers are gone: making a new one."
	fi
	if [ -n "$containers" ]; then
		kind delete cluster --name="$name" --kubeconfig="$kubeconfig" || exit 1
	fi
	rm -f "$state/type" "$kubeconfig"
	# kind's last lines name its own context, which gets another name below.
	kind create cluster --name="$name" --image="$image" --config="$root/kind-config.yaml" \
		--kubeconfig="$kubeconfig" --wait=180s 2>&1 | sed '/^Set kubectl context/,$d' >&2 ||
		fail "kind could not make the cluster: see above, run make doctor, or take CLUSTER=local make cluster."
	kind_settle "$name" || fail "The kind cluster does not answer: run make cluster-down, then make cluster."
	say "The cluster is up."
}

# kind_settle NAME: waits until the cluster answers and a pod can be placed on it, and writes down that it's there.
kind_settle() {
	local until=$((SECONDS + 90))
	kind get kubeconfig --name="$1" >"$kubeconfig.partial" 2>/dev/null &&
		"$bin/kubectl" --kubeconfig="$kubeconfig.partial" config rename-context "kind-$1" workbook >/dev/null &&
		chmod 600 "$kubeconfig.partial" &&
		mv "$kubeconfig.partial" "$kubeconfig" || return
	until ready; do
		[ $SECONDS -lt $until ] || return
		sleep 0.2
	done
	# A pod made before its namespace has a service account is refused.
	until kubectl get serviceaccount default >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return
		sleep 0.2
	done
	kubectl wait --for=condition=Ready node --all --timeout=90s >/dev/null || return
	echo kind >"$state/type"
}

kind_remove() {
	local runtime
	kind_runtime
	kind delete cluster --name="$(kind_name)" --kubeconfig="$kubeconfig"
}
