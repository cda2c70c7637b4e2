package fifo

// Options configure a [Policy].
type Options struct {
	// PreferLocal makes the job whose turn it is run the task whose input is
	// closest to the slot: on its node, then on its rack, then anywhere. No job
	// waits for a closer slot, and the order of the jobs is the same. Without it,
	// tasks start in the order of their index.
	PreferLocal bool
}
