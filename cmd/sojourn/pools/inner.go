package pools

import (
	"maps"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// SetInner gives a policy to all pools that opts does not describe, and to described pools
// that do not say how their jobs are served. It leaves out pools that have described pools
// below them, and pools that limit their jobs, with all pools below these.
func SetInner(opts *fair.Options, policy func() sojourn.Policy) {
	parents := map[string]bool{}
	limited := map[string]bool{}
	paths := slices.Sorted(maps.Keys(opts.Pools))
	for _, path := range paths {
		for p := path; ; {
			i := strings.LastIndexByte(p, '/')
			if i < 0 {
				break
			}
			p = p[:i]
			parents[p] = true
		}
		limited[path] = opts.Pools[path].MaxJobs > 0
	}
	for _, path := range paths {
		p := opts.Pools[path]
		above := false
		for i := range path {
			above = above || path[i] == '/' && limited[path[:i]]
		}
		if !parents[path] && !p.FIFO && p.Policy == nil && !limited[path] && !above {
			p.Policy = policy
			opts.Pools[path] = p
		}
	}
	if opts.Pools == nil {
		opts.Pools = map[string]fair.Pool{}
	}
	if _, ok := opts.Pools["*"]; !ok && !parents["*"] {
		opts.Pools["*"] = fair.Pool{Policy: policy}
	}
}
