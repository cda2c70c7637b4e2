//go:build !all

package sojourntest

// inFull says that all that sojourntest says of broken policies is looked at. See all_test.go.
const inFull = false

// share says how many histories the policies that break no law get: one in so many.
const share = 2
