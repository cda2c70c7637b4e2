#!/usr/bin/env bash
# Builds kube-scheduler with the plugin from this repository, with the flags of the test bed, so that both share the build cache.
#
#   connect/kubernetes/plugin/build.sh FILE
set -euo pipefail
out=$(realpath "${1:?usage: build.sh FILE}")
cd "$(dirname "${BASH_SOURCE[0]}")/sojourn-kube-scheduler"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
library=github.com/sojourn-sched/sojourn
version=$(sed -n 's,^[[:blank:]]*k8s.io/kubernetes \(v[^ ]*\)$,\1,p' go.mod)
{
	printf 'go %s\nuse %s\n' "$(sed -n 's/^go //p' go.mod)" "$PWD"
	for m in '' /cmd/sojourn /connect/kubernetes /connect/kubernetes/plugin; do
		echo "replace $library$m v0.1.0 => $(realpath ../../../..)$m"
	done
} >"$tmp/go.work"
GOWORK=$tmp/go.work go build -trimpath -buildvcs=false -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$out" .
