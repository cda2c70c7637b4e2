module github.com/sojourn-sched/sojourn/connect/bolt

go 1.25.0

require (
	github.com/sojourn-sched/sojourn v0.1.0
	go.etcd.io/bbolt v1.4.3
)

require golang.org/x/sys v0.29.0 // indirect
