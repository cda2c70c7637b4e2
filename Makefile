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

.PHONY: test ci hunt bench speed api options fuzz
