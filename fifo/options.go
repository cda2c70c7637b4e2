package fifo

// Options configure a [Policy]. The zero value is the default, and valid. A snapshot may be
// restored under any other.
type Options struct {
	// IgnoreLocality starts the tasks of a job in the order of their index, wherever
	// their inputs are. By default the job whose turn it is runs the task whose input is
	// closest to the slot. The order of the jobs is the same.
	IgnoreLocality bool
}

// Validate returns nil: all options are valid.
func (o Options) Validate() error { return nil }
