//go:build ci

package journal_test

const kills = 200
