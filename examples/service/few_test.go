//go:build !all

package main

import "time"

const (
	kills     = 20
	faultsFor = 20 * time.Second
)
