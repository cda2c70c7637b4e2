module github.com/sojourn-sched/sojourn

go 1.25.0

require github.com/google/btree v1.1.3

// Tests, and the conformance kit that tests import.
require pgregory.net/rapid v1.3.0
