//go:build !all

package vqueue_test

const thorough = false // see all_test.go
