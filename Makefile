# Shorthand for commands that work as well without it.

test:
	go test work

ci:
	.ci/run

# Look for what the fixed seed of .ci/run does not meet: random histories, many more than
# the tests make. make hunt PKG=./pfsp CHECKS=20000
PKG =
CHECKS = 10000
hunt:
	.ci/hunt $(CHECKS) $(PKG)

# Walk through all histories of larger small worlds than .ci/run does: three jobs, of which nothing, one or two seconds are told,
# failures, holds, revisions, slots and nodes that come and go. It prints how many there are.
all-histories:
	go test -count=1 -timeout 24h -v -run SmallHistories ./sojourntest -args -events 8
	go test -count=1 -timeout 24h -v -run SmallHistories -tags all ./research/baseline

# Compare two commits: make bench >old, then on the other commit make bench >new,
# then GOWORK=off go tool -modfile=internal/tools/go.mod benchstat old new.
bench:
	@go test -run '^$$' -bench . -count 10 ./...

# Compare the instructions of a finish and a decision with another commit: make speed BASE=main
BASE = HEAD
speed:
	.ci/speed $(BASE)

# Rewrite the golden of the exported API, then look at what changed.
api:
	go test -run '^TestAPI$$' . -update
	git diff --stat testdata/api.txt

# Rewrite what the command says of the options of policies, from their comments.
options:
	go test -run '^TestOptionDocs$$' ./cmd/sojourn/catalog -update

# go test -fuzz takes one target of one package at a time:
# make fuzz PKG=./research/trace TARGET=FuzzReader
fuzz:
	go test -run '^$$' -fuzz '^$(TARGET)$$' -fuzztime 5m $(PKG)

.PHONY: test ci hunt all-histories bench speed api options fuzz
