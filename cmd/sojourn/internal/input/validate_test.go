package input

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strings"
	"testing"
)

// The beginning of a file tells its kind, also under gzip.
func TestFirstKeyOfABomb(t *testing.T) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	for range 8 {
		if _, err := io.WriteString(z, strings.Repeat(" ", 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	key := firstKey(buf.Bytes())
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; key != "" || taken > 1<<20 {
		t.Errorf("%q, and %d bytes were taken", key, taken)
	}
}
