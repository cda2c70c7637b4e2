//go:build all

package nats_test

import "testing"

func TestMillionHeld(t *testing.T) { testManyHeld(t, 1_000_000) }
