// Package usage tells wrong usage of the command from other errors: [Error] makes the exit
// status 2, and the command names its help text. Any package may find that a value that was
// given makes no sense; only cli knows of exit statuses.
package usage
