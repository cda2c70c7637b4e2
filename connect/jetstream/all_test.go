//go:build all

package jetstream

import "time"

const (
	rounds = 60
	away   = time.Minute
)
