// Package cli is the sojourn command as a package, so that a program of a few
// lines outside this project can have its own policies in compare, run and all
// other commands:
//
//	func main() {
//		cli.Main(cli.NewPolicy("mine", "what it does", mine.New))
//	}
//
// Tier: kit.
//
// Data goes to stdout, messages and progress to stderr. The same command writes
// the same bytes every time, whatever the number of processors. The exit status
// is 0 for success, 1 for a failure, 2 for wrong usage, and 3 for bad input. An
// error of bad input names the place as file:line:column.
package cli
