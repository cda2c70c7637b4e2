package snapshot_test

import (
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A counter represents the state of a policy. Damaged bytes are refused, and the state does
// not change.
func ExampleRestore() {
	header := snapshot.Header{Policy: "mypolicy", Version: 1}
	data, err := snapshot.Append(nil, header, func(w *snapshot.Writer) { w.Uint(42) })
	if err != nil {
		log.Fatal(err)
	}

	var count uint64
	restore := func(data []byte) error {
		return snapshot.Restore(&count, data, header, func() { count = 0 }, func(r *snapshot.Reader) { count = r.Uint() })
	}
	fmt.Println(restore(data), count)
	data[len(data)-1] ^= 1
	fmt.Println(restore(data), count)

	// Output:
	// <nil> 42
	// snapshot of mypolicy: the checksum is wrong 42
}
