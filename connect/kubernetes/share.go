package kubernetes

import (
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Time is how policies are told an instant: the time since 2020.
func Time(t time.Time) sojourn.Time { return sojourn.Time(t.Sub(epoch)) }

// Refusal says to users why a policy has refused a job, and which deadline it would accept.
func Refusal(err error) string { return explain(err) }
