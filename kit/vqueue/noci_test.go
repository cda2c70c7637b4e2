//go:build !ci

package vqueue_test

const thorough = false // see ci_test.go
