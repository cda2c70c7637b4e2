//go:build all

package journal_test

const kills = 200
