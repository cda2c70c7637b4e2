module github.com/sojourn-sched/sojourn/cmd/sojourn

go 1.25.0

require (
	github.com/rogpeppe/go-internal v1.16.0
	github.com/sojourn-sched/sojourn v0.1.0
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/term v0.45.0
	gonum.org/v1/gonum v0.17.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/google/btree v1.1.3 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/tools v0.30.0 // indirect
)
