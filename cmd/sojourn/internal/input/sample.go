package input

import _ "embed"

// The built-in workload is made up: many short jobs among a few long ones, as
// clusters see them, at a load of 0.85 of the map slots of its cluster. The test
// TestSample makes it.
const (
	sampleName    = "sample"
	sampleCluster = "10x2+1"
)

//go:embed sample.jsonl
var SampleWorkload []byte
