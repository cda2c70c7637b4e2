//go:build ci

package live_test

const kills = 20
