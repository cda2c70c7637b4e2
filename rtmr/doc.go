// Package rtmr admits jobs by their deadlines: an accepted job meets it.
package rtmr
