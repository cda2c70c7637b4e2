package trial

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// named is how many pools of the workload and how many others a message names at most.
const named = 3

// UnnamedPools returns a message about pools that policies or changes of pools describe, and that no job is in; "" if there is none.
// If there may be some, it reads the workload.
func (s *Scenario) UnnamedPools(ctx context.Context, specs []catalog.Spec) (string, error) {
	var described []string
	for _, spec := range specs {
		paths, err := s.Policies.Pools(spec)
		if err != nil {
			return "", err
		}
		described = append(described, paths...)
	}
	for _, ev := range s.changes {
		described = append(described, ev.Pool.Name)
	}
	slices.Sort(described)
	described = slices.Compact(described)
	var of []string // some pools that jobs are in
	for j, err := range until(ctx, s.Workload.All()) {
		if len(described) == 0 {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		described = slices.DeleteFunc(described, func(path string) bool { return around(path, j.Pool) })
		if len(of) <= named && !slices.Contains(of, j.Pool) {
			of = append(of, j.Pool)
		}
	}
	switch {
	case len(described) == 0:
		return "", nil
	case len(of) == 1 && of[0] == "":
		return fmt.Sprintf("No job of %s names a pool; described: %s.\n", format.Visible(s.Workload.Name), listed(described)), nil
	}
	return fmt.Sprintf("No job of %s is in a pool %s; jobs are in %s.\n", format.Visible(s.Workload.Name), listed(described), listed(of)), nil
}

// listed quotes the first names of a list.
func listed(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == named:
			return b.String() + ", ..."
		case i > 0:
			b.WriteString(", ")
		}
		if name == "" {
			b.WriteString("no pool")
			continue
		}
		fmt.Fprintf(&b, "%q", name)
	}
	return b.String()
}

// around reports whether a path, in which "*" is any name, is that of a pool or of one around it, as the root is.
func around(path, pool string) bool {
	if path == "" {
		return true
	}
	for {
		want, more, deeper := strings.Cut(path, "/")
		name, below, nested := strings.Cut(pool, "/")
		if want != name && want != "*" {
			return false
		}
		if !deeper || !nested {
			return !deeper
		}
		path, pool = more, below
	}
}
