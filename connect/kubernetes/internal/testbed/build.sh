#!/usr/bin/env bash
# Builds etcd, kube-apiserver, kube-scheduler and kube-controller-manager, unless that was done
# before, and prints the folder that they are in. It says on standard error what it does and
# how long that took: about 12 minutes of processor time with an empty build cache.
#
#   KUBEBUILDER_ASSETS=$(connect/kubernetes/internal/testbed/build.sh) go test ./...
#
# If KUBEBUILDER_ASSETS names a folder with all four servers, it builds nothing. Otherwise they
# go to a folder below XDG_CACHE_HOME, $HOME/.cache by default, named after what they are built
# from: these files and the version of Go.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
servers='etcd kube-apiserver kube-scheduler kube-controller-manager'

# complete DIR reports whether all servers are there.
complete() {
	local s
	for s in $servers; do [ -x "$1/$s" ] || return 1; done
}

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
	if complete "$KUBEBUILDER_ASSETS"; then
		echo "testbed: the servers in KUBEBUILDER_ASSETS, $KUBEBUILDER_ASSETS" >&2
		echo "$KUBEBUILDER_ASSETS"
		exit
	fi
	echo "testbed: $KUBEBUILDER_ASSETS does not hold all of $servers: building them" >&2
fi

version=$(sed -n 's,^[[:blank:]]*k8s.io/kubernetes \(v[^ ]*\)$,\1,p' go.mod)
[ -n "$version" ] || { echo 'testbed: go.mod does not require k8s.io/kubernetes' >&2; exit 1; }
export GOWORK=off
key=$({ go version && cat go.mod go.sum build.sh cmd/kubetestd/main.go; } | git hash-object --stdin)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/sojourn
dir=$cache/testbed-$version-${key:0:12}

if ! complete "$dir"; then
	echo "testbed: building Kubernetes $version into $dir" >&2
	mkdir -p "$cache"
	tmp=$(mktemp -d -p "$cache")
	trap 'rm -rf "$tmp"' EXIT
	start=$SECONDS
	go build -trimpath -buildvcs=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$tmp/kubetestd" ./cmd/kubetestd
	for s in $servers; do ln -s kubetestd "$tmp/$s"; done
	chmod 755 "$tmp"
	rm -rf "$dir"
	mv -T "$tmp" "$dir" || complete "$dir" # another build may have been faster
	echo "testbed: built in $((SECONDS - start)) s" >&2
else
	echo "testbed: Kubernetes $version was built before, in $dir" >&2
fi
echo "$dir"
