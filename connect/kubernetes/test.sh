#!/usr/bin/env bash
# Tests this module against a real etcd and API server, which it builds if need be.
#
#   connect/kubernetes/test.sh                    all tests
#   connect/kubernetes/test.sh -race ./...        with other flags and packages for go test
#   COMMAND='go run ./internal/bench' connect/kubernetes/test.sh -pods 2000    another command than go test
#
# The first run builds the servers, and says how long that took; internal/testbed/build.sh says
# where they go. Sibling modules are taken from this repository.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
KUBEBUILDER_ASSETS=$(internal/testbed/build.sh)
export KUBEBUILDER_ASSETS

if [ -z "${GOWORK:-}" ]; then
	tmp=$(mktemp -d)
	trap 'rm -rf "$tmp"' EXIT
	library=github.com/sojourn-sched/sojourn
	{
		printf 'go %s\nuse %s\n' "$(sed -n 's/^go //p' go.mod)" "$PWD"
		sed -nE "s,^(require)?[[:blank:]]*$library(/[^ ]*)? v.*,replace $library\2 => $(realpath ../..)\2,p" go.mod
	} >"$tmp/go.work"
	export GOWORK=$tmp/go.work
fi
if [ -n "${COMMAND:-}" ]; then
	$COMMAND "$@"
else
	[ $# -gt 0 ] || set -- ./...
	# Tests wait for the servers, most of their time: four at a time, also where there are two processors.
	go test -count=1 -timeout 1h -parallel 4 "$@"
fi
