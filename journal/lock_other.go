//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package journal

import "os"

const locksFiles = false

// lockFile locks nothing: the standard library has no lock for this platform.
func lockFile(*os.File) error { return nil }
