//go:build all

package sojourntest

// inFull says that all that sojourntest says of broken policies is looked at.
const inFull = true

// share says how many histories the policies that break no law get: all.
const share = 1
