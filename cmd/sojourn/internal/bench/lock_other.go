//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package bench

import "os"

const locksFiles = false

// locked locks nothing: the standard library has no lock for this platform.
func locked(*os.File) bool { return false }
