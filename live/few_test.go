//go:build !all

package live_test

const kills = 3
