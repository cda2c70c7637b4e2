package catalog

import (
	"cmp"
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/release"
)

// releaseOptions are the options of policy release as text.
type releaseOptions struct {
	// Inner is the policy that serves the jobs that are released, with its first option behind a colon, as in
	// inner=hfsp:xi=2. The default is default.
	Inner string
}

// newRelease makes policy release.
func newRelease(o releaseOptions) (sojourn.Policy, error) {
	p, err := Builtin().Make(cmp.Or(o.Inner, "default"))
	if err != nil {
		return nil, fmt.Errorf("option inner: %w", err)
	}
	return release.New(p), nil
}
