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
	for _, s := range specs {
		if _, err := newPolicy(policies, s); err != nil {
			return nil, err
		}
	}
	return specs, nil
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
