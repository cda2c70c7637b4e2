package release

import "github.com/sojourn-sched/sojourn"

// Looks returns how often a policy has looked at a job that might have room.
func Looks(p sojourn.Policy) int { return p.(*policy).looks }
