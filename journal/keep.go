package journal

import (
	"bytes"
	"iter"
	"maps"
	"slices"
)

// keys are what the driver keeps besides what belongs to live jobs.
type keys map[string][]byte

// set keeps a copy of data under a key, or forgets what is kept if data is empty.
func (k *keys) set(key string, data []byte) {
	if len(data) == 0 {
		delete(*k, key)
		return
	}
	if *k == nil {
		*k = keys{}
	}
	(*k)[key] = bytes.Clone(data)
}

// append writes what is kept.
func (k keys) append(e *encoder) {
	for _, key := range slices.Sorted(maps.Keys(k)) {
		e.keepBytes(key, k[key])
	}
}

// Keep keeps bytes under a key, for the driver, until other bytes replace them. Empty data takes them away. They do not end
// with any job. Like an event, they are durable when Wait of a later End has returned, and they are there after a crash
// if anything is that was reported later. Keep returns the error of the store after it has failed.
//
// TestKeep
func (j *Journal) Keep(key string, data []byte) error {
	if len(j.shadows) > 0 {
		j.mu.Lock()
		defer j.mu.Unlock()
	}
	if j.log.failed.Load() {
		return j.log.failure()
	}
	j.kept.set(key, data)
	l := &j.log
	l.mu.Lock()
	at := len(l.buf)
	l.keepBytes(key, data)
	j.appended(len(l.buf) - at)
	return nil
}

// Kept iterates over what is kept, by key. The bytes are not to be changed.
func (j *Journal) Kept() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, key := range slices.Sorted(maps.Keys(j.kept)) {
			if !yield(key, j.kept[key]) {
				return
			}
		}
	}
}
