//go:build !all

package jetstream

import "time"

const (
	rounds = 6
	away   = 3 * time.Second
)
