package fifo

// Options configure a [Policy]. There is nothing to configure yet.
type Options struct{}
