module github.com/sojourn-sched/sojourn/research/benchmarks

go 1.25.0

require (
	github.com/alitto/pond/v2 v2.7.1
	github.com/sojourn-sched/sojourn v0.1.0
	github.com/sourcegraph/conc v0.3.0
)

require (
	github.com/google/btree v1.1.3 // indirect
	go.uber.org/atomic v1.7.0 // indirect
	go.uber.org/multierr v1.9.0 // indirect
)
