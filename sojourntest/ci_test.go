//go:build ci

package sojourntest

// inFull says that all that the kit says of broken policies is looked at.
const inFull = true
