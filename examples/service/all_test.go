//go:build all

package main

import "time"

const (
	kills     = 400
	faultsFor = time.Hour
)
