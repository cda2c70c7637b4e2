// Package progress shows progress bars on a terminal, and nothing elsewhere.
package progress
