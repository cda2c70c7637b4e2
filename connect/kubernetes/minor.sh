#!/usr/bin/env bash
# Runs a command of connect/kubernetes with another version of Kubernetes than the one that its go.mod files name, in a copy of this
# repository.
#
#   connect/kubernetes/minor.sh 1.35.4                                                 all tests, on servers of that version
#   connect/kubernetes/minor.sh 1.35.4 plugin/build.sh "$PWD/sojourn-kube-scheduler"   kube-scheduler of that version, with the plugin
#
# The first time it loads the modules of that version, and builds them: about 20 minutes of processor time.
set -euo pipefail
version=${1:?usage: minor.sh 1.MINOR.PATCH [COMMAND...]}
shift
[[ $version =~ ^1\.([0-9]+)\.([0-9]+)$ ]] || { echo "minor.sh: version \"$version\", want one such as 1.35.4" >&2; exit 2; }
staging=v0.${version#1.} # of k8s.io/api and its siblings

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$tmp"
cd "$tmp/connect/kubernetes"

export GOWORK=off
library=github.com/sojourn-sched/sojourn
was=$(sed -n 's,^[[:blank:]]*k8s.io/kubernetes v1\.\([^ ]*\)$,\1,p' internal/testbed/go.mod)
for m in . plugin plugin/sojourn-kube-scheduler internal/testbed; do
	sed -i -e '/^[[:blank:]].* \/\/ indirect$/d' -e "s,\(k8s.io/.*\) v\([01]\)\.${was//./\\.}\b,\1 v\2.${version#1.},g" "$m/go.mod"
	for r in $(sed -n 's,^replace \(k8s.io/[^ ]*\) =>.*,\1,p' "$m/go.mod"); do # some modules came with a later version
		go list -m "$r@$staging" >/dev/null 2>&1 || go -C "$m" mod edit -dropreplace "$r" -droprequire "$r"
	done
	if [ $m != internal/testbed ]; then
		for r in '' /cmd/sojourn /connect/kubernetes /connect/kubernetes/plugin; do
			go -C "$m" mod edit -replace "$library$r=$tmp$r"
		done
	fi
	go -C "$m" mod tidy
done
export GOFLAGS="${GOFLAGS:-} -tags=kubernetes${version%.*}"
if [ $# -gt 0 ]; then
	"$@"
else
	go -C plugin test ./...
	./test.sh
fi
