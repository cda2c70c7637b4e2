module github.com/sojourn-sched/sojourn

go 1.25.0
