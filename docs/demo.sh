#!/bin/sh
# A tour of sojourn in half a minute: run it in a clone. It writes to a temporary folder, or to the one that is named.
set -eu
clone=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$(mktemp -d)}
mkdir -p "$out"
(cd "$clone" && go build -o "$out/sojourn" ./cmd/sojourn)
cd "$out"
say() { printf '\n# %s\n$ %s\n' "$1" "$2"; sh -c "PATH=.:\$PATH; $2"; }

say 'A log of four jobs, one a line, becomes a workload.' 'cat > log.csv <<END
name,arrival,tasks,duration
nightly,0,200,30
thumbnail,60,4,5
report,90,20,10
thumbnail,120,4,5
END
sojourn convert --from csv log.csv > jobs.jsonl'
say 'Who waits under which policy? Nobody says how long tasks take.' 'sojourn compare -w jobs.jsonl -c 8x1 -p fifo,fair,default --estimates none -q -o runs | head -9'
say 'Why did the first thumbnail wait?' 'sojourn explain runs/1-fifo 2'
say 'It is minute 2: who will finish when, and what would the default policy change?' 'sojourn forecast runs/1-fifo --at 2m --with default'
printf '\n# Open %s/runs/report.html in a browser: verdict, plots, and a chart to click on.\n' "$out"
