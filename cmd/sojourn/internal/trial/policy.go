package trial

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/research/trace"
)

// ParsePolicies reads the values of -p, and checks that each names a policy that
// can be made.
func ParsePolicies(policies catalog.Catalog, values []string) ([]catalog.Spec, error) {
	specs, err := catalog.Parse(strings.Join(values, ","))
	if err != nil {
		return nil, usage.Wrap(err)
	}
	names := make([]string, len(specs))
	for i, s := range specs {
		if _, err := newPolicy(policies, s); err != nil {
			return nil, err
		}
		names[i] = s.String()
	}
	if twice := repeated(names); twice != "" {
		return nil, usage.Errorf("policy %v is named twice", twice)
	}
	return specs, nil
}

// repeated returns the first text that is in a list more than once, or "".
func repeated(list []string) string {
	seen := map[string]bool{}
	for _, text := range list {
		if seen[text] {
			return text
		}
		seen[text] = true
	}
	return ""
}

// newPolicy makes a policy.
func newPolicy(policies catalog.Catalog, s catalog.Spec) (sojourn.Policy, error) {
	p, err := policies.New(s)
	if err == nil {
		return p, nil
	}
	if bad := (*trace.Error)(nil); errors.As(err, &bad) {
		return nil, bad // in a file that an option names
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, err
	}
	return nil, usage.Wrap(err)
}
