package leastwork

// Options configure a [Policy]. There is nothing to configure yet.
type Options struct{}

// Validate returns nil: all options are valid.
func (Options) Validate() error { return nil }
