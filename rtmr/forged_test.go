package rtmr

import "testing"

// Counters must be far from the numbers at which they wrap around.
func TestForgedCounters(t *testing.T) {
	for n, bad := range map[uint64]bool{1<<63 - 1: false, 1 << 63: true, 1<<64 - 1: true} {
		p, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.starts = n
		data, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		q, _ := New(Options{})
		if err := q.UnmarshalBinary(data); (err != nil) != bad {
			t.Errorf("%d: %v, want an error: %v", n, err, bad)
		}
	}
}
