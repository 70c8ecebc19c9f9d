# shellcheck shell=bash disable=SC2154 # its variables come from lib.sh
# The local cluster: a real etcd and Kubernetes control plane, run as plain processes by kwokctl, with kwok in the
# place of the kubelets: it marks pods as running, but runs no containers. cluster-up.sh sources this.

# So many pods find room on it: 4 nodes with 4000 each, whose addresses 10.244.x.x a /20 just holds.
nodes=4
node_parameters=(
	--param=.allocatable.pods=4000
	--param=.allocatable.cpu=400
	--param='.allocatable.memory="4Ti"'
	--param='.podCIDRs=["10.244.0.0/20"]'
	--param='.nodeIPs=["192.0.2.1"]'
)

# The build's peak: Go's module and build caches, and the programs themselves.
build_gb=8

# kwokctl ARGUMENT...: keeps its files in ~/.kwok, hence the other HOME (its KWOK_WORKDIR ends at the first space).
# It takes the first kubectl on PATH, and what it starts must not keep the lock.
kwokctl() {
	PATH=$bin:$PATH HOME=$state KWOK_WORKDIR='' "$bin/kwokctl" --name=workbook "$@" >>"$state/kwokctl.log" 2>&1 9>&-
}

local_up() { [ -z "$(missing)" ] && ready; }

local_bring_up() {
	build || exit 1
	if [ "$(cluster_type)" = local ]; then
		if local_repair; then
			return
		fi
		say "The cluster cannot be repaired: making a new one. The objects in it are lost."
		stop '.*'
	fi
	# Also what an interrupted first try left behind.
	stop '.*'
	rm -rf "$state/kwokctl.log" "$state/type" "$kubeconfig" "$kwok"
	say "Starting a local cluster: Kubernetes $kubernetes, without containers."
	local_create || fail "The cluster does not start: see $state/kwokctl.log and $kwok/clusters/workbook/logs."
	say "The cluster is up."
}

# built: whether all of the local cluster's programs are there.
built() {
	local name
	for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kwok kwokctl; do
		[ -x "$bin/$name" ] || return
	done
}

build() {
	built && return
	if [ "$(free_gb "$cache")" -lt $build_gb ]; then
		say "Building the local cluster takes $build_gb GB of disk, and $cache has $(free_gb "$cache")."
		fail "Free some, or start Docker or Podman and run CLUSTER=kind make cluster."
	fi
	"$scripts/localcluster/build.sh" >/dev/null
}

local_create() {
	kwokctl create cluster \
		--kube-apiserver-port="$(free_port)" \
		--config="$scripts/localcluster/kwokctl.yaml" \
		--kubeconfig="$kwok/kubeconfig" \
		--timeout=60s \
		--etcd-binary="$bin/etcd" \
		--kube-apiserver-binary="$bin/kube-apiserver" \
		--kube-controller-manager-binary="$bin/kube-controller-manager" \
		--kube-scheduler-binary="$bin/kube-scheduler" \
		--kwok-controller-binary="$bin/kwok" &&
		local_settle
}

# local_settle: waits until the started processes make a whole cluster, and writes down that they do.
local_settle() {
	local until=$((SECONDS + 60))
	"$bin/kubectl" --kubeconfig="$kwok/kubeconfig" config rename-context kwok-workbook workbook >/dev/null 2>&1
	# Moved into its place when whole, with the certificates in it, so nobody ever reads half of it.
	(umask 077 && "$bin/kubectl" --kubeconfig="$kwok/kubeconfig" config view --raw --flatten >"$kubeconfig.partial") &&
		mv "$kubeconfig.partial" "$kubeconfig" || return
	until local_up; do
		# Without one of these two nothing comes up any more; the others wait for them.
		if [ $SECONDS -ge $until ] || missing | grep -qE '^(etcd|kube-apiserver)$'; then
			return 1
		fi
		sleep 0.1
	done
	kwokctl scale node --replicas=$nodes "${node_parameters[@]}" || return
	echo local >"$state/type"
}

# local_repair: starts what does not run, on the data that are there.
local_repair() {
	local gone
	gone=$(missing | tr '\n' ' ')
	say "The local cluster is not whole, starting it again. Not running: ${gone:-none, but it does not answer.}"
	if local_start; then
		say "The cluster is up again, its objects are still there."
		return
	fi
	if [ -z "$(missing)" ]; then
		fail "It runs, but does not answer: see $kwok/clusters/workbook/logs, or run make cluster again."
	fi
	stop '.*'
	if port_taken; then
		# Without its settings, but with its data and certificates, kwokctl makes the same cluster at other ports.
		rm -rf "$kwok/clusters/workbook/kwok.yaml" "$kwok/clusters/workbook/pids" "$kwok/kubeconfig"
		if local_create; then
			say "Another program had taken a port of it. The cluster is up again at another, its objects are still there."
			return
		fi
	fi
	return 1
}

# free_port: one for the API server. It comes from the folder's name, so that a cluster that is stopped for a while
# finds its own again: kwokctl would give all clusters the same one, the highest that is free just now.
free_port() {
	local port=$((20000 + $(printf %s "$state" | cksum | cut -d' ' -f1) % 10000))
	while listens $port; do
		port=$((port + 1))
	done
	echo $port
}

# listens PORT: whether a program listens there.
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# port_taken: whether anything listens at a port of this cluster, which does not run.
port_taken() {
	local port
	while read -r port; do
		listens "$port" && return
	done < <(sed -n 's/^  [a-zA-Z]*Port: \([0-9]*\)$/\1/p' "$kwok/clusters/workbook/kwok.yaml")
	return 1
}

# local_start: starts the programs that don't run, or the API server again if it runs and does not answer.
local_start() {
	local pids=$kwok/clusters/workbook/pids name
	if [ -z "$(missing)" ]; then
		stop kube-apiserver
	fi
	for name in $(missing); do
		# kwokctl takes any process with the number in this file for the one that it started.
		rm -f "$pids/$name.pid"
	done
	kwokctl start cluster --timeout=1s && local_settle
}
