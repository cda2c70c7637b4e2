module github.com/sojourn-sched/sojourn/connect/gate

go 1.25.0

require (
	github.com/sojourn-sched/sojourn v0.1.0
	pgregory.net/rapid v1.3.0
)

require github.com/google/btree v1.1.3 // indirect
